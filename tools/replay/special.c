/* Steps that aren't plain operators. */
#include <stdlib.h>
#include <string.h>

#include "halves.h"
#include "replay.h"

#define MAX_GRADS 32

/* What must live as long as its case: a hook, or a region that backward runs again. */
struct handle {
  struct handle *next;
  wf_tensor *tensor; /* hook: where it is registered */
  uint64_t number;
  double scale;
  runner *runner; /* region */
  const json_t *step;
  wf_tensor *results[MAX_GRADS];
};

static struct handle *new_handle(runner *r) {
  struct handle *h = calloc(1, sizeof *h);
  if (!h) return NULL;
  h->next = r->handles;
  r->handles = h;
  return h;
}

void free_handles(runner *r) {
  while (r->handles) {
    struct handle *h = r->handles;
    r->handles = h->next;
    free(h);
  }
}

static const json_t *arg_of(const json_t *step, const char *name) {
  return json_object_get(json_object_get(step, "args"), name);
}

static wf_tensor *input(registers *set, const json_t *list, size_t i) {
  const char *name = json_string_value(json_array_get(list, i));
  reg *r = name ? find_register(set, name) : NULL;
  return r && r->kind == REGISTER_TENSOR ? r->tensor : NULL;
}

static wf_tensor *step_input(registers *set, const json_t *step, size_t i) {
  return input(set, json_object_get(step, "in"), i);
}

static reg *output(registers *set, const json_t *step, size_t i) {
  const char *name = json_string_value(json_array_get(json_object_get(step, "out"), i));
  return name ? bind_register(set, name) : NULL;
}

static void bind_output(registers *set, const json_t *step, size_t i, wf_tensor *t) {
  reg *r = output(set, step, i);
  if (!r) return;
  r->kind = t ? REGISTER_TENSOR : REGISTER_NOTHING;
  r->tensor = t;
}

/* ---- tensor(data): converted here, so that the library's own conversions aren't needed to state what it must give -------------- */

void store_element(void *to, size_t i, wf_dtype dtype, wf_scalar s) {
  double f = s.kind == WF_SCALAR_FLOAT ? s.as.f : (double)s.as.i;
  int64_t n = s.kind == WF_SCALAR_FLOAT ? (int64_t)s.as.f : s.as.i;
  switch (dtype) {
    case WF_F64: ((double *)to)[i] = f; break;
    case WF_F32: ((float *)to)[i] = (float)f; break;
    case WF_F16: ((uint16_t *)to)[i] = half_of(f); break;
    case WF_BF16: ((uint16_t *)to)[i] = bfloat_of(f); break;
    case WF_I64: ((int64_t *)to)[i] = n; break;
    case WF_I32: ((int32_t *)to)[i] = (int32_t)n; break;
    case WF_I16: ((int16_t *)to)[i] = (int16_t)n; break;
    case WF_BOOL: ((uint8_t *)to)[i] = f != 0; break;
    default: ((uint8_t *)to)[i] = (uint8_t)n; break;
  }
}

static void make_tensor(registers *set, const json_t *step) {
  const json_t *data = arg_of(step, "data"), *shape = arg_of(step, "shape");
  wf_dtype dtype = wf_dtype_parse(json_string_value(arg_of(step, "dtype")));
  int64_t size[WF_MAX_DIMS];
  size_t rank = json_array_size(shape), n = json_array_size(data), i;
  json_t *value;
  json_array_foreach(shape, i, value) if (i < WF_MAX_DIMS) size[i] = json_integer_value(value);
  void *memory = calloc(n + 1, 8);
  if (!memory || rank > WF_MAX_DIMS) {
    free(memory);
    return;
  }
  json_array_foreach(data, i, value) store_element(memory, i, dtype, json_scalar(value));
  wf_tensor *t = wf_from_data(memory, wf_dims_of(size, (int)rank), dtype);
  free(memory);
  if (t && json_is_true(arg_of(step, "requires_grad")) && wf_requires_grad_(t, true)) return;
  if (t) bind_output(set, step, 0, t);
}

/* ---- gradients ------------------------------------------------------------------------------------------------------------------ */

static wf_backward_options backward_options(const json_t *step) {
  wf_backward_options o = wf_backward_defaults();
  o.create_graph = json_is_true(arg_of(step, "create_graph"));
  const json_t *retain = arg_of(step, "retain_graph");
  o.retain_graph = retain ? json_is_true(retain) : o.create_graph;
  return o;
}

static void run_backward(registers *set, const json_t *step) {
  wf_backward_options o = backward_options(step);
  wf_backward(step_input(set, step, 0), step_input(set, step, 1), &o);
}

static wf_tensors tensors_of(registers *set, const json_t *list, wf_tensor **room) {
  int n = (int)json_array_size(list);
  if (n > MAX_GRADS) n = MAX_GRADS;
  for (int i = 0; i < n; i++) room[i] = input(set, list, (size_t)i);
  return (wf_tensors){room, n};
}

static void run_grad_of(registers *set, const json_t *step) {
  wf_tensor *room[3][MAX_GRADS];
  const json_t *in = json_object_get(step, "in");
  wf_tensors outputs = tensors_of(set, json_array_get(in, 0), room[0]),
             inputs = tensors_of(set, json_array_get(in, 1), room[1]),
             grads = tensors_of(set, json_array_get(in, 2), room[2]);
  wf_backward_options o = backward_options(step);
  wf_tensors result = wf_autograd_grad(outputs, inputs, grads, json_is_true(arg_of(step, "allow_unused")), &o);
  for (int i = 0; i < result.n; i++) bind_output(set, step, (size_t)i, result.at[i]);
}

static wf_tensor *scale_gradient(wf_tensor *grad, void *context) {
  const struct handle *h = context;
  wf_arg args[2] = {{.kind = WF_VALUE_TENSOR, .as.tensor = grad},
                    {.name = "other", .kind = WF_VALUE_SCALAR, .as.scalar = wf_float(h->scale)}};
  wf_result result;
  return wf_call("mul", args, 2, &result) ? NULL : result.tensor[0];
}

static void register_hook(runner *r, registers *set, const json_t *step) {
  struct handle *h = new_handle(r);
  if (!h) return;
  h->tensor = step_input(set, step, 0);
  h->scale = json_number_value(arg_of(step, "scale"));
  h->number = wf_register_hook(h->tensor, scale_gradient, h);
  reg *out = h->number ? output(set, step, 0) : NULL;
  if (!out) return;
  out->kind = REGISTER_HANDLE;
  out->handle = h;
}

static void remove_hook(registers *set, const json_t *step) {
  reg *r = find_register(set, json_string_value(json_array_get(json_object_get(step, "in"), 0)));
  if (r && r->handle) wf_remove_hook(r->handle->tensor, r->handle->number);
}

/* ---- checkpoint ----------------------------------------------------------------------------------------------------------------- */

static wf_tensors run_region(wf_tensors inputs, void *context) {
  struct handle *h = context;
  registers *inner = calloc(1, sizeof *inner);
  wf_tensors result = {h->results, 0};
  if (!inner) return result;
  const json_t *params = arg_of(h->step, "params"), *returns = arg_of(h->step, "returns");
  for (int i = 0; i < inputs.n; i++) {
    reg *r = bind_register(inner, json_string_value(json_array_get(params, (size_t)i)));
    r->kind = REGISTER_TENSOR;
    r->tensor = inputs.at[i];
  }
  int failed;
  run_steps(h->runner, inner, arg_of(h->step, "steps"), &failed);
  if (failed < 0) result = tensors_of(inner, returns, h->results);
  free(inner);
  return result;
}

static void run_checkpoint(runner *r, registers *set, const json_t *step) {
  struct handle *h = new_handle(r);
  if (!h) return;
  h->runner = r;
  h->step = step;
  wf_tensor *room[MAX_GRADS];
  wf_tensors result = wf_checkpoint(run_region, h, tensors_of(set, json_object_get(step, "in"), room));
  for (int i = 0; i < result.n; i++) bind_output(set, step, (size_t)i, result.at[i]);
}

/* ---- table ---------------------------------------------------------------------------------------------------------------------- */

bool run_special(runner *r, registers *set, const json_t *step, const char *op) {
  if (!strcmp(op, "tensor")) make_tensor(set, step);
  else if (!strcmp(op, "backward")) run_backward(set, step);
  else if (!strcmp(op, "autograd.grad")) run_grad_of(set, step);
  else if (!strcmp(op, "register_hook")) register_hook(r, set, step);
  else if (!strcmp(op, "remove_hook")) remove_hook(set, step);
  else if (!strcmp(op, "grad")) bind_output(set, step, 0, wf_grad(step_input(set, step, 0)));
  else if (!strcmp(op, "set_grad")) wf_set_grad(step_input(set, step, 0), step_input(set, step, 1));
  else if (!strcmp(op, "set_grad_enabled")) wf_grad_set_enabled(json_is_true(arg_of(step, "mode")));
  else if (!strcmp(op, "checkpoint")) run_checkpoint(r, set, step);
  else return false;
  return true;
}
