/* Registers, and steps that are plain operators: turns a step's JSON into arguments of wf_call. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

reg *find_register(registers *set, const char *name) {
  for (int i = set->n - 1; i >= 0; i--)
    if (!strcmp(set->at[i].name, name)) return &set->at[i];
  return NULL;
}

reg *bind_register(registers *set, const char *name) {
  reg *r = find_register(set, name);
  if (!r && set->n < MAX_REGISTERS) r = &set->at[set->n++];
  if (r) *r = (reg){.name = name};
  return r;
}

wf_scalar json_scalar(const json_t *value) {
  if (json_is_integer(value)) return wf_int(json_integer_value(value));
  if (json_is_real(value)) return wf_float(json_real_value(value));
  if (json_is_boolean(value)) return wf_bool(json_is_true(value));
  const char *word = json_string_value(value);
  if (!word) return wf_no_scalar();
  if (!strcmp(word, "nan")) return wf_float(NAN);
  if (!strcmp(word, "inf")) return wf_float(INFINITY);
  if (!strcmp(word, "-inf")) return wf_float(-INFINITY);
  return wf_no_scalar();
}

void note_missing(runner *r, const char *op) {
  r->lacks = true;
  int i = 0;
  while (i < r->missing_count && strcmp(r->missing[i].name, op)) i++;
  if (i == (int)(sizeof r->missing / sizeof *r->missing)) return;
  if (i == r->missing_count) snprintf(r->missing[r->missing_count++].name, sizeof r->missing[i].name, "%s", op);
  r->missing[i].cases++;
}

#define MAX_STEP_ARGS 64
#define MAX_LIST 64

/* Arguments of one call with the memory that their lists point to. */
typedef struct arguments {
  wf_arg at[MAX_STEP_ARGS];
  int n;
  int64_t ints[8][MAX_LIST];
  double floats[2][MAX_LIST];
  int int_lists, float_lists;
} arguments;

static bool all_integers(const json_t *list) {
  for (size_t i = 0; i < json_array_size(list); i++)
    if (!json_is_integer(json_array_get(list, i))) return false;
  return true;
}

static bool add_list(arguments *a, wf_arg *arg, const json_t *list) {
  size_t n = json_array_size(list);
  if (n > MAX_LIST) return false;
  if (all_integers(list)) {
    if (a->int_lists == 8) return false;
    int64_t *to = a->ints[a->int_lists++];
    for (size_t i = 0; i < n; i++) to[i] = json_integer_value(json_array_get(list, i));
    arg->kind = WF_VALUE_DIMS;
    arg->as.dims = wf_dims_of(to, (int)n);
    return true;
  }
  if (a->float_lists == 2) return false;
  double *to = a->floats[a->float_lists++];
  for (size_t i = 0; i < n; i++) to[i] = json_number_value(json_array_get(list, i));
  arg->kind = WF_VALUE_DOUBLES;
  arg->as.doubles.at = to;
  arg->as.doubles.n = (int)n;
  return true;
}

static bool add_named(arguments *a, const char *name, const json_t *value) {
  if (a->n == MAX_STEP_ARGS) return false;
  wf_arg *arg = &a->at[a->n++];
  *arg = (wf_arg){.name = name};
  if (json_is_null(value)) return true;
  if (json_is_array(value)) return add_list(a, arg, value);
  if (json_is_string(value)) {
    arg->kind = WF_VALUE_STRING;
    arg->as.string = json_string_value(value);
    return true;
  }
  arg->kind = WF_VALUE_SCALAR;
  arg->as.scalar = json_scalar(value);
  return true;
}

static bool add_tensor(arguments *a, registers *set, const json_t *name) {
  if (a->n == MAX_STEP_ARGS) return false;
  wf_arg *arg = &a->at[a->n++];
  *arg = (wf_arg){.kind = WF_VALUE_TENSOR};
  if (json_is_null(name)) return true;
  reg *r = find_register(set, json_string_value(name));
  if (!r) return false;
  arg->as.tensor = r->kind == REGISTER_TENSOR ? r->tensor : NULL;
  return true;
}

static void bind_tensor(registers *set, const char *name, wf_tensor *t) {
  reg *r = bind_register(set, name);
  if (!r) return;
  r->kind = t ? REGISTER_TENSOR : REGISTER_NOTHING;
  r->tensor = t;
}

static void bind_results(runner *r, registers *set, const json_t *step, const wf_result *result) {
  const json_t *out = json_object_get(step, "out");
  int n = (int)json_array_size(out), came = result->kind == WF_VALUE_TENSORS ? result->tensors.n : result->n;
  const char *op = json_string_value(json_object_get(step, "op"));
  if (result->kind == WF_VALUE_SCALAR || result->kind == WF_VALUE_STRING) {
    reg *value = n == 1 ? bind_register(set, json_string_value(json_array_get(out, 0))) : NULL;
    if (!value) return;
    value->kind = REGISTER_VALUE;
    value->scalar = result->scalar;
    value->string = result->kind == WF_VALUE_STRING ? result->string : NULL;
    return;
  }
  if (n > came) mismatch(r, op, "results", "came %d, expected %d", came, n);
  for (int i = 0; i < n && i < came; i++)
    bind_tensor(set, json_string_value(json_array_get(out, (size_t)i)),
                result->kind == WF_VALUE_TENSORS ? result->tensors.at[i] : result->tensor[i]);
}

static void run_operator(runner *r, registers *set, const json_t *step, const char *op) {
  arguments a = {.n = 0};
  bool fits = true;
  size_t i;
  json_t *value;
  const char *name;
  json_array_foreach(json_object_get(step, "in"), i, value) fits &= add_tensor(&a, set, value);
  json_object_foreach(json_object_get(step, "args"), name, value) fits &= add_named(&a, name, value);
  if (!fits) {
    mismatch(r, op, "arguments", "can't be read");
    return;
  }
  wf_result result;
  wf_status status = wf_call(op, a.at, a.n, &result);
  if (!status) {
    bind_results(r, set, step, &result);
    return;
  }
  const char *text = wf_error_peek().text;
  if (status == WF_NOT_IMPLEMENTED && (!strncmp(text, "no operator named", 17) || strstr(text, " has no parameter '")))
    note_missing(r, op);
}

void run_steps(runner *r, registers *set, const json_t *steps, int *failed) {
  size_t i;
  json_t *step;
  *failed = -1;
  json_array_foreach(steps, i, step) {
    const char *op = json_string_value(json_object_get(step, "op"));
    if (!run_special(r, set, step, op)) run_operator(r, set, step, op);
    if (wf_error_peek().status || r->lacks) {
      *failed = (int)i;
      return;
    }
  }
}
