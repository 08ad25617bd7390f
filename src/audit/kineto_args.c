/* `args` of an event: a few numbers, the line that a Python function was called from, and the operands of copies. */
#include <string.h>

#include "audit/kineto.h"

#define MAX_DIMS 16
#define MAX_ELEMENTS ((INT64_C(1) << 50) - 2)

static const struct {
  const char *name;
  int bytes;
} types[] = {{"", 0},
             {"float", 4},
             {"double", 8},
             {"c10::Half", 2},
             {"c10::BFloat16", 2},
             {"long int", 8},
             {"long", 8},
             {"int", 4},
             {"short int", 2},
             {"short", 2},
             {"signed char", 1},
             {"unsigned char", 1},
             {"bool", 1},
             {"c10::complex<float>", 8},
             {"c10::complex<double>", 16},
             {"c10::Float8_e4m3fn", 1},
             {"c10::Float8_e5m2", 1},
             {"c10::complex<c10::Half>", 4},
             {"char", 1}};
#define TYPES ((int)(sizeof types / sizeof *types))

const char *wf__type_name(int type) { return type > 0 && type < TYPES ? types[type].name : ""; }
int wf__type_bytes(int type) { return type > 0 && type < TYPES ? types[type].bytes : 0; }

int64_t wf__shape_pack(const wf__shape *shape) {
  int64_t n = shape->elements > MAX_ELEMENTS ? MAX_ELEMENTS : shape->elements;
  return (n + 1) << 13 | (int64_t)shape->form << 10 | shape->to << 5 | shape->from;
}

wf__shape wf__shape_unpack(int64_t packed) {
  return (wf__shape){.form = (wf__copy_form)(packed >> 10 & 7),
                     .to = packed >> 5 & 31,
                     .from = packed & 31,
                     .elements = (packed >> 13) - 1};
}

/* Operands 0 and 1 of "Input Dims" and "Input Strides"; ndim -1: not a tensor, or not there. */
typedef struct lists {
  int64_t at[2][MAX_DIMS];
  int ndim[2];
} lists;

static bool read_ints(wf__scanner *s, int64_t *at, int *ndim) {
  *ndim = 0;
  for (;;) {
    wf__json_type type = wf__scan_value(s);
    int64_t value = 0;
    if (type == WF__JSON_CLOSE) return true;
    bool good = type == WF__JSON_NUMBER && wf__json_to_int(s->text, s->size, &value) && *ndim >= 0 && *ndim < MAX_DIMS;
    if (good) at[(*ndim)++] = value;
    else *ndim = -1; /* a list of tensors */
    if (!wf__scan_skip(s, type)) return false;
  }
}

static bool read_lists(wf__scanner *s, lists *out) {
  wf__json_type type = wf__scan_value(s);
  out->ndim[0] = out->ndim[1] = -1;
  if (type != WF__JSON_ARRAY) return wf__scan_skip(s, type);
  for (int i = 0;; i++) {
    type = wf__scan_value(s);
    if (type == WF__JSON_CLOSE) return true;
    if (type == WF__JSON_ARRAY && i < 2) {
      if (!read_ints(s, out->at[i], &out->ndim[i])) return false;
    } else if (!wf__scan_skip(s, type)) {
      return false;
    }
  }
}

static int type_of(const wf__scanner *s) {
  for (int i = 1; i < TYPES; i++)
    if (wf__scan_is(s, types[i].name, strlen(types[i].name))) return i;
  return 0;
}

static bool read_types(wf__scanner *s, wf__shape *shape) {
  wf__json_type type = wf__scan_value(s);
  if (type != WF__JSON_ARRAY) return wf__scan_skip(s, type);
  for (int i = 0;; i++) {
    type = wf__scan_value(s);
    if (type == WF__JSON_CLOSE) return true;
    if (type == WF__JSON_STRING && i == 0) shape->to = type_of(s);
    if (type == WF__JSON_STRING && i == 1) shape->from = type_of(s);
    if (!wf__scan_skip(s, type)) return false;
  }
}

static void judge_shape(wf__shape *shape, const lists *dims, const lists *strides) {
  if (dims->ndim[0] < 0) return;
  int64_t n = 1;
  for (int i = 0; i < dims->ndim[0]; i++)
    if (dims->at[0][i] < 0 || __builtin_mul_overflow(n, dims->at[0][i], &n)) return;
  shape->elements = n;
  if (n <= 1) shape->form = WF__FORM_SCALAR;
  else if (strides->ndim[0] == dims->ndim[0] && dims->ndim[1] >= 0 && strides->ndim[1] == dims->ndim[1]) {
    shape->form = WF__FORM_SAME;
    for (int i = 0; i < dims->ndim[0]; i++) {
      int from = i - (dims->ndim[0] - dims->ndim[1]); /* dimensions are aligned on the right */
      if (dims->at[0][i] == 1) continue;
      if (from < 0 || dims->at[1][from] == 1 || strides->at[1][from] == 0) {
        shape->form = WF__FORM_BROADCAST;
        return;
      }
      if (strides->at[0][i] != strides->at[1][from]) shape->form = WF__FORM_LAYOUT;
    }
  }
}

static bool read_int(wf__scanner *s, int64_t *value) {
  wf__json_type type = wf__scan_value(s);
  if (type == WF__JSON_NUMBER || type == WF__JSON_STRING) wf__json_to_int(s->text, s->size, value);
  return wf__scan_skip(s, type);
}

static bool read_name(wf__kineto *k, wf__scanner *s, uint32_t *name) {
  wf__json_type type = wf__scan_value(s);
  if (type == WF__JSON_STRING) {
    *name = wf__names_add(&k->names, s->text, s->size);
    return *name != WF__NO_NAME;
  }
  return wf__scan_skip(s, type);
}

/* Where the number of a key goes; NULL for keys that nobody wants. */
static int64_t *number_of(wf__arguments *a, const wf__scanner *s) {
  const struct {
    const char *key;
    int64_t *to;
  } keys[] = {{"correlation", &a->correlation},
              {"Sequence number", &a->sequence},
              {"Fwd thread id", &a->forward_thread},
              {"bytes", &a->bytes},
              {"Bytes", &a->bytes},
              {"device", &a->device},
              {"Device Type", &a->device_type},
              {"Device Id", &a->device_id},
              {"Total Allocated", &a->total}};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (s->size == strlen(keys[i].key) && !memcmp(s->text, keys[i].key, s->size)) return keys[i].to;
  return NULL;
}

bool wf__kineto_args(wf__kineto *k, wf__scanner *s, bool copy, wf__arguments *a) {
  lists dims = {.ndim = {-1, -1}}, strides = {.ndim = {-1, -1}};
  for (;;) {
    wf__json_type type = wf__scan_key(s);
    bool good;
    int64_t *number;
    if (type == WF__JSON_CLOSE) break;
    if (type != WF__JSON_STRING) return false;
    if (WF__SCAN_IS(s, "External id") || WF__SCAN_IS(s, "Ev Idx")) good = wf__scan_skip(s, wf__scan_value(s));
    else if (copy && WF__SCAN_IS(s, "Input Dims")) good = read_lists(s, &dims);
    else if (copy && WF__SCAN_IS(s, "Input Strides")) good = read_lists(s, &strides);
    else if (copy && WF__SCAN_IS(s, "Input type")) good = read_types(s, &a->shape);
    else if (WF__SCAN_IS(s, "CallFrom")) good = read_name(k, s, &a->call_from);
    else if ((number = number_of(a, s))) {
      if (number == &a->total) a->has_total = true;
      good = read_int(s, number);
    } else good = wf__scan_skip(s, wf__scan_value(s));
    if (!good) return false;
  }
  if (copy) judge_shape(&a->shape, &dims, &strides);
  return true;
}
