/* Helpers of the fronts of matrix products and neural-network functions. */
#include "op/network.h"

void wf__plan_tensor(wf_plan *plan, int i, const wf_tensor *t) {
  plan->operand[i] = (wf_operand){0};
  plan->rank[i] = 0;
  if (!t) return;
  wf__operand_of(t, &plan->operand[i]);
  plan->rank[i] = (uint8_t)t->layout.ndim;
  for (int d = 0; d < t->layout.ndim && d < 6; d++) plan->shape[i][d] = t->layout.size[d];
  *(i < plan->outputs ? &plan->tag.bytes_written : &plan->tag.bytes_read) += t->layout.numel * (int64_t)wf__itemsize(t);
}

wf_status wf__plan_run(wf_plan *plan, const wf_tensor *const *operands, int n) {
  const wf_tensor *on = NULL;
  for (int i = 0; i < n; i++) {
    wf__plan_tensor(plan, i, operands[i]);
    if (!on) on = operands[i];
  }
  plan->operands = (uint8_t)n;
  return wf__launch(wf__device_of(on), plan);
}

wf_tensor *wf__empty_in(const wf_tensor *on, wf_dims size, wf_memory_format format) {
  wf__layout l;
  WF__TRY_OR(wf__layout_contiguous(&l, size, wf__itemsize(on)), NULL);
  WF__TRY_OR(wf__layout_restride(&l, format), NULL);
  return wf__tensor_empty(wf__device_of(on), (wf_dtype)on->dtype, &l);
}

wf_status wf__require(const char *name, const wf_tensor *t, const char *argument, int position) {
  WF__CHECK(t, WF_TYPE, "%s(): argument '%s' (position %d) must be Tensor, not NoneType", name, argument, position);
  return WF_OK;
}

wf_status wf__same_scalar_type(const wf_tensor *a, const wf_tensor *b) {
  WF__CHECK(!b || a->dtype == b->dtype, WF_RUNTIME, "expected scalar type %s but found %s",
            wf__scalar_type_text((wf_dtype)a->dtype), wf__scalar_type_text((wf_dtype)b->dtype));
  return WF_OK;
}

static wf_status refuse(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  return wf__fail(WF_NOT_IMPLEMENTED, "%s is not differentiable twice", *(const char *const *)node->payload);
}
static const wf__node_class refuse_class = {"NotDifferentiableBackward0", refuse, NULL};

wf_status wf__not_twice(wf_tensor *result, const wf_tensor *const *inputs, int n, const char *name) {
  if (!result || !wf__needs_grad(inputs, n)) return wf__self.pending;
  wf__node *node = wf__node_new(&refuse_class, inputs, n, 0, sizeof name);
  if (!node) return wf__self.pending;
  *(const char **)node->payload = name;
  wf_status status = wf__set_history(result, node, 0);
  wf__node_release(node);
  return status;
}

bool wf__ints_expand(wf__ints ints, int n, int64_t otherwise, int64_t *out) {
  if (!ints.dims.at && !ints.dims.n) ints = wf__ints_of(&otherwise, 1);
  if (!ints.dims.at || (ints.dims.n != n && ints.dims.n != 1)) return false;
  for (int i = 0; i < n; i++) out[i] = ints.dims.at[ints.dims.n == 1 ? 0 : i];
  return true;
}
