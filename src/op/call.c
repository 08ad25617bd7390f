/* Operators by name. The rows of op.def are expanded three times: into schemas, into the parameter tables that bind arguments, and into
 * one adapter each that calls the function with the bound arguments. */
#include <weft/call.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/autograd.h>
#include <weft/copy.h>
#include <weft/create.h>
#include <weft/functional.h>
#include <weft/linalg.h>
#include <weft/math.h>
#include <weft/random.h>
#include <weft/reduce.h>
#include <weft/view.h>
#include "base/error.h"
#include "op/args.h"
#include "op/call_forms.h"
#include "op/network.h"
#include "op/op.h"
#include "trace/trace.h"

#define MAX_PARAMS 20

/* One bound argument. Which member holds depends on the parameter's kind. */
typedef struct bound {
  bool given;
  wf_tensor *tensor;
  wf_scalar scalar;
  wf_tensors tensors;
  wf__ints ints;
  wf__floats floats;
  wf_dtype dtype;
  wf_memory_format format;
  const char *word;
  int64_t one; /* storage behind ints.dims and floats when the argument was a single number */
  double one_float;
} bound;

typedef struct param {
  char kind;
  const char *name;
  const char *fallback; /* text of the default, NULL: required */
} param;

typedef struct operator_row {
  const char *name;
  const char *result;
  const param *params;
  int count;
  void (*adapter)(const bound *b, wf_result *r);
} operator_row;

/* ---- macros over the parameter tuples of a row ------------------------------------------------------------------------ */

#define COUNT_(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, N, ...) N
#define COUNT(...) COUNT_(__VA_ARGS__, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
/* EACH(f, t0, t1, …): f(0, t0), f(1, t1), … separated by commas */
#define EACH_1(f, i, t) f(i, t)
#define EACH_2(f, i, t, ...) f(i, t), EACH_1(f, i + 1, __VA_ARGS__)
#define EACH_3(f, i, t, ...) f(i, t), EACH_2(f, i + 1, __VA_ARGS__)
#define EACH_4(f, i, t, ...) f(i, t), EACH_3(f, i + 1, __VA_ARGS__)
#define EACH_5(f, i, t, ...) f(i, t), EACH_4(f, i + 1, __VA_ARGS__)
#define EACH_6(f, i, t, ...) f(i, t), EACH_5(f, i + 1, __VA_ARGS__)
#define EACH_7(f, i, t, ...) f(i, t), EACH_6(f, i + 1, __VA_ARGS__)
#define EACH_8(f, i, t, ...) f(i, t), EACH_7(f, i + 1, __VA_ARGS__)
#define EACH_9(f, i, t, ...) f(i, t), EACH_8(f, i + 1, __VA_ARGS__)
#define EACH_10(f, i, t, ...) f(i, t), EACH_9(f, i + 1, __VA_ARGS__)
#define EACH_11(f, i, t, ...) f(i, t), EACH_10(f, i + 1, __VA_ARGS__)
#define EACH_12(f, i, t, ...) f(i, t), EACH_11(f, i + 1, __VA_ARGS__)
#define EACH_13(f, i, t, ...) f(i, t), EACH_12(f, i + 1, __VA_ARGS__)
#define EACH_14(f, i, t, ...) f(i, t), EACH_13(f, i + 1, __VA_ARGS__)
#define EACH(f, ...) JOIN(EACH_, COUNT(__VA_ARGS__))(f, 0, __VA_ARGS__)

#define UNPACK(...) __VA_ARGS__
/* PARAM(i, (KIND, name)) or PARAM(i, (KIND, name, default)): a row of the parameter table */
#define PARAM(i, tuple) PARAM_SPLIT(UNPACK tuple)
#define PARAM_SPLIT(...) PARAM_COUNT(COUNT(__VA_ARGS__), __VA_ARGS__)
#define PARAM_COUNT(n, ...) JOIN(PARAM_, n)(__VA_ARGS__)
#define PARAM_2(KIND, name) \
  { #KIND[0], #name, NULL }
#define PARAM_3(KIND, name, fallback) \
  { #KIND[0], #name, #fallback }

/* VALUE(i, tuple): the C expression of the i-th argument */
#define VALUE(i, tuple) VALUE_SPLIT(i, UNPACK tuple)
#define VALUE_SPLIT(i, ...) VALUE_COUNT(i, COUNT(__VA_ARGS__), __VA_ARGS__)
#define VALUE_COUNT(i, n, ...) JOIN(VALUE_, n)(i, __VA_ARGS__)
#define VALUE_2(i, KIND, name) GET_##KIND(b[i])
#define VALUE_3(i, KIND, name, fallback) (b[i].given ? GET_##KIND(b[i]) : (fallback))

#define GET_T(x) (x).tensor
#define GET_O(x) (x).tensor
#define GET_L(x) (x).tensors
#define GET_X(x) ((wf__operand_arg){(x).tensor, (x).scalar})
#define GET_S(x) (x).scalar
#define GET_I(x) (x).scalar.as.i
#define GET_B(x) ((x).scalar.as.i != 0)
#define GET_F(x) number_of((x).scalar)
#define GET_D(x) (x).ints.dims
#define GET_E(x) (x).ints
#define GET_G(x) (x).floats
#define GET_Y(x) (x).dtype
#define GET_M(x) (x).format
#define GET_C(x) (x).word

static double number_of(wf_scalar s) { return s.kind == WF_SCALAR_FLOAT ? s.as.f : (double)s.as.i; }

#define RESULT_T(call) give_tensors(r, (wf_tensor *[]){call}, 1)
#define RESULT_T2(call)                         \
  do {                                          \
    __typeof__(call) v = call;                  \
    give_tensors(r, (wf_tensor *const *)&v, 2); \
  } while (0)
#define RESULT_T3(call)                         \
  do {                                          \
    __typeof__(call) v = call;                  \
    give_tensors(r, (wf_tensor *const *)&v, 3); \
  } while (0)
#define RESULT_TL(call)         \
  do {                          \
    r->tensors = call;          \
    r->kind = WF_VALUE_TENSORS; \
  } while (0)
#define RESULT_ST(call)      \
  do {                       \
    r->kind = WF_VALUE_NONE; \
    (void)(call);            \
  } while (0)
#define RESULT_V(call)         \
  do {                         \
    r->scalar = call;          \
    r->kind = WF_VALUE_SCALAR; \
  } while (0)
#define RESULT_N(call)         \
  do {                         \
    r->string = call;          \
    r->kind = WF_VALUE_STRING; \
  } while (0)

static void give_tensors(wf_result *r, wf_tensor *const *at, int n) {
  r->kind = WF_VALUE_TENSOR;
  for (r->n = 0; r->n < n && at[r->n]; r->n++) r->tensor[r->n] = at[r->n];
}

#define OP(name, function, RESULT, ...) \
  static void adapter_##name(const bound *b, wf_result *r) { RESULT_##RESULT(function(EACH(VALUE, __VA_ARGS__))); }
#include "op/op.def"
#undef OP

#define OP(name, function, RESULT, ...) static const param params_##name[] = {EACH(PARAM, __VA_ARGS__)};
#include "op/op.def"
#undef OP

static const operator_row operators[] = {
#define OP(name, function, RESULT, ...) {#name, #RESULT, params_##name, COUNT(__VA_ARGS__), adapter_##name},
#include "op/op.def"
#undef OP
};

/* ---- finding an operator ------------------------------------------------------------------------------------------------ */

#define OPERATORS ((int)(sizeof operators / sizeof *operators))

static const operator_row *sorted[OPERATORS];
static pthread_once_t sorted_once = PTHREAD_ONCE_INIT;

static int by_name(const void *a, const void *b) {
  return strcmp((*(const operator_row *const *)a)->name, (*(const operator_row *const *)b)->name);
}

static void sort_operators(void) {
  for (int i = 0; i < OPERATORS; i++) sorted[i] = &operators[i];
  qsort(sorted, (size_t)OPERATORS, sizeof *sorted, by_name);
}

static const operator_row *find_operator(const char *name) {
  pthread_once(&sorted_once, sort_operators);
  operator_row key = {.name = name};
  const operator_row *wanted = &key, **found = bsearch(&wanted, sorted, (size_t)OPERATORS, sizeof *sorted, by_name);
  return found ? *found : NULL;
}

bool wf_op_exists(const char *op) { return op && find_operator(op); }

/* ---- binding arguments --------------------------------------------------------------------------------------------------- */

static const char *kind_name(char kind) {
  switch (kind) {
    case 'T':
    case 'O': return "Tensor";
    case 'L': return "Tensor[]";
    case 'X': return "Tensor|Scalar";
    case 'S': return "Scalar";
    case 'I': return "int";
    case 'B': return "bool";
    case 'F': return "float";
    case 'D': return "int[]";
    case 'E': return "int|int[]|str";
    case 'G': return "float|float[]";
    case 'Y': return "ScalarType";
    case 'M': return "MemoryFormat";
    default: return "str";
  }
}

static bool scalar_of(const wf_arg *a, wf_scalar *s) {
  if (a->kind == WF_VALUE_SCALAR) return *s = a->as.scalar, true;
  if (a->kind != WF_VALUE_STRING || !a->as.string) return false;
  if (!strcmp(a->as.string, "nan")) return *s = wf_float(NAN), true;
  if (!strcmp(a->as.string, "inf")) return *s = wf_float(INFINITY), true;
  if (!strcmp(a->as.string, "-inf")) return *s = wf_float(-INFINITY), true;
  return false;
}

static bool format_of(const wf_arg *a, wf_memory_format *format) {
  static const char *const names[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
  if (a->kind == WF_VALUE_FORMAT) return *format = a->as.format, true;
  if (a->kind != WF_VALUE_STRING || !a->as.string) return false;
  for (int i = 0; i < 4; i++)
    if (!strcmp(a->as.string, names[i])) return *format = (wf_memory_format)i, true;
  return false;
}

static bool ints_of(const wf_arg *a, bound *b, bool word_allowed) {
  static const int64_t nothing;
  if (a->kind == WF_VALUE_DIMS) {
    b->ints = (wf__ints){wf_dims_of(a->as.dims.n ? a->as.dims.at : &nothing, a->as.dims.n), false, NULL};
    return true;
  }
  if (a->kind == WF_VALUE_SCALAR && a->as.scalar.kind == WF_SCALAR_INT) {
    b->one = a->as.scalar.as.i;
    b->ints = (wf__ints){wf_dims_of(&b->one, 1), true, NULL};
    return true;
  }
  if (!word_allowed || a->kind != WF_VALUE_STRING) return false;
  b->ints = (wf__ints){WF_SHAPE0, false, a->as.string};
  return true;
}

static bool floats_of(const wf_arg *a, bound *b) {
  if (a->kind == WF_VALUE_DOUBLES) return b->floats = (wf__floats){a->as.doubles.at, a->as.doubles.n, false}, true;
  if (!scalar_of(a, &b->scalar)) return false;
  b->one_float = number_of(b->scalar);
  b->floats = (wf__floats){&b->one_float, 1, true};
  return true;
}

/* Converts the argument to what the parameter's kind wants; false when it can't be. */
static bool convert(char kind, const wf_arg *a, bound *b) {
  switch (kind) {
    case 'T':
    case 'O': b->tensor = a->as.tensor; return a->kind == WF_VALUE_TENSOR;
    case 'L': b->tensors = a->as.tensors; return a->kind == WF_VALUE_TENSORS;
    case 'X':
      if (a->kind != WF_VALUE_TENSOR) return scalar_of(a, &b->scalar);
      b->tensor = a->as.tensor;
      return true;
    case 'S':
    case 'F': return scalar_of(a, &b->scalar);
    case 'I': return scalar_of(a, &b->scalar) && b->scalar.kind == WF_SCALAR_INT;
    case 'B': return scalar_of(a, &b->scalar) && b->scalar.kind != WF_SCALAR_FLOAT;
    case 'D': return ints_of(a, b, false);
    case 'E': return ints_of(a, b, true);
    case 'G': return floats_of(a, b);
    case 'Y':
      b->dtype = a->kind == WF_VALUE_DTYPE    ? a->as.dtype
                 : a->kind == WF_VALUE_STRING ? wf_dtype_parse(a->as.string)
                                              : WF_DTYPE_NONE;
      return b->dtype != WF_DTYPE_NONE;
    case 'M': return format_of(a, &b->format);
    default: b->word = a->as.string; return a->kind == WF_VALUE_STRING;
  }
}

static wf_status bind_one(const operator_row *op, int i, const wf_arg *a, bound *b) {
  const param *p = &op->params[i];
  if (b[i].given) return wf__fail(WF_TYPE, "%s() got multiple values for argument '%s'", op->name, p->name);
  if (a->kind == WF_VALUE_NONE) return WF_OK;
  if (!convert(p->kind, a, &b[i]))
    return wf__fail(WF_TYPE, "%s(): argument '%s' must be %s", op->name, p->name, kind_name(p->kind));
  b[i].given = !(p->kind == 'O' && !b[i].tensor);
  return WF_OK;
}

static wf_status bind_named(const operator_row *op, const wf_arg *a, bound *b) {
  for (int i = 0; i < op->count; i++)
    if (!strcmp(op->params[i].name, a->name)) return bind_one(op, i, a, b);
  return wf__fail(WF_NOT_IMPLEMENTED, "%s has no parameter '%s'", op->name, a->name);
}

static bool takes_tensor(char kind) { return kind == 'T' || kind == 'O' || kind == 'X' || kind == 'L'; }

/* Tensors without a name fill the tensor places that are left, in order; a list takes all that remain. `rest` has room for them. */
static wf_status bind_positional(const operator_row *op, const wf_arg *args, int n, bound *b, wf_tensor **rest) {
  int at = 0;
  for (int i = 0; i < op->count; i++) {
    const param *p = &op->params[i];
    if (!takes_tensor(p->kind) || b[i].given) continue;
    while (at < n && args[at].name) at++;
    if (p->kind == 'L' && (at == n || args[at].kind != WF_VALUE_TENSORS)) {
      int count = 0;
      for (; at < n; at++)
        if (!args[at].name) rest[count++] = args[at].as.tensor;
      b[i].tensors = (wf_tensors){rest, count};
      b[i].given = true;
      return WF_OK;
    }
    if (at < n) WF__TRY(bind_one(op, i, &args[at++], b));
  }
  while (at < n && args[at].name) at++;
  return at == n ? WF_OK : wf__fail(WF_TYPE, "%s() takes fewer tensors than were given", op->name);
}

static wf_status check_required(const operator_row *op, const bound *b) {
  for (int i = 0; i < op->count; i++) {
    const param *p = &op->params[i];
    if (!b[i].given && !p->fallback && p->kind != 'O')
      return wf__fail(WF_TYPE, "%s() missing 1 required positional arguments: \"%s\"", op->name, p->name);
  }
  return WF_OK;
}

#define MAX_ARGS 256

wf_status wf_call(const char *op, const wf_arg *args, int n, wf_result *result) {
  WF__OP("call", wf__self.pending);
  WF__CHECK(result, WF_VALUE, "call: no place for the result given");
  *result = (wf_result){0};
  const operator_row *row = op ? find_operator(op) : NULL;
  WF__CHECK(row, WF_NOT_IMPLEMENTED, "no operator named '%s'", op ? op : "");
  WF__CHECK(n <= MAX_ARGS, WF_VALUE, "%s(): %d arguments are more than the %d that can be passed by position", op, n,
            MAX_ARGS);
  bound b[MAX_PARAMS] = {0};
  wf_tensor *rest[MAX_ARGS];
  for (int i = 0; i < n; i++)
    if (args[i].name) WF__TRY(bind_named(row, &args[i], b));
  WF__TRY(bind_positional(row, args, n, b, rest));
  WF__TRY(check_required(row, b));
  row->adapter(b, result);
  if (wf__self.pending) *result = (wf_result){0};
  return wf__self.pending;
}

/* ---- schemas ---------------------------------------------------------------------------------------------------------------- */

static const char *result_name(const char *result) {
  static const char *const names[][2] = {{"T", "Tensor"},
                                         {"T2", "(Tensor, Tensor)"},
                                         {"T3", "(Tensor, Tensor, Tensor)"},
                                         {"TL", "Tensor[]"},
                                         {"ST", "()"},
                                         {"V", "Scalar"},
                                         {"N", "str"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(result, names[i][0])) return names[i][1];
  return "()";
}

/* Defaults are C expressions; schemas show them as PyTorch would. */
static const char *default_name(const char *fallback) {
  static const char *const names[][2] = {{"WF_NONE", "None"},
                                         {"WF_SHAPE0", "[]"},
                                         {"WF_DTYPE_NONE", "None"},
                                         {"wf_no_scalar()", "None"},
                                         {"true", "True"},
                                         {"false", "False"},
                                         {"wf_int(1)", "1"},
                                         {"wf_int(0)", "0"},
                                         {"WF_FORMAT_PRESERVE", "preserve_format"},
                                         {"WF_FORMAT_CONTIGUOUS", "contiguous_format"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(fallback, names[i][0])) return names[i][1];
  return fallback;
}

const char *wf_op_schema(int i) {
  if (i < 0 || i >= OPERATORS) return NULL;
  const operator_row *op = &operators[i];
  char text[1024];
  int at = snprintf(text, sizeof text, "%s(", op->name);
  for (int k = 0; k < op->count; k++) {
    const param *p = &op->params[k];
    at += snprintf(text + at, sizeof text - (size_t)at, "%s%s%s %s%s%s", k ? ", " : "", kind_name(p->kind),
                   p->kind == 'O' ? "?" : "", p->name, p->fallback ? "=" : "",
                   p->fallback ? default_name(p->fallback) : "");
  }
  snprintf(text + at, sizeof text - (size_t)at, ") -> %s", result_name(op->result));
  return wf__intern(text);
}
