/* scale_shift: x · scale + shift into a floating dtype, in one pass. What turns an image's bytes into normalised numbers. */
#include <weft/math.h>

#include "autograd/node.h"
#include "op/check.h"
#include "op/op.h"
#include "tensor/iterator.h"

static wf_status affine_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  if (grad[0]) out[0] = wf_mul_scalar(grad[0], *(const wf_scalar *)node->payload);
  return wf__self.pending;
}

static const wf__node_class affine_class = {"ScaleShiftBackward0", affine_apply, NULL};

static wf_status record(wf_tensor *result, const wf_tensor *self, wf_scalar scale) {
  if (!wf__needs_grad(&self, 1)) return WF_OK;
  wf__node *node = wf__node_new(&affine_class, &self, 1, 0, sizeof scale);
  if (!node) return wf__self.pending;
  *(wf_scalar *)node->payload = scale;
  wf_status status = wf__set_history(result, node, 0);
  wf__node_release(node);
  return status;
}

wf_tensor *wf_scale_shift(const wf_tensor *self, double scale, double shift, wf_dtype dtype) {
  WF__OP("scale_shift", NULL);
  WF__TRY_OR(wf__given(self, "input"), NULL);
  if (!dtype) dtype = wf__float_of((wf_dtype)self->dtype);
  if (!wf_dtype_is_float(dtype))
    return wf__fail(WF_TYPE, "scale_shift gives floating point, not %s", wf_dtype_name(dtype)), NULL;
  wf__iter it = {.outputs = 1, .operands = 2, .tensor = {NULL, (wf_tensor *)self}, .dtype = {dtype}};
  wf_plan plan = {.family = WF_FAMILY_POINTWISE, .op = WF__PW_AFFINE, .compute = (uint8_t)dtype};
  WF__TRY_OR(wf__iter_build(&it, &plan), NULL);
  plan.scalar[0] = wf_float(scale);
  plan.scalar[1] = wf_float(shift);
  plan.tag.bytes_read = self->layout.numel * (int64_t)wf__itemsize(self);
  plan.tag.bytes_written = self->layout.numel * (int64_t)wf_dtype_size(dtype);
  wf_status status = wf__launch(wf__device_of(self), &plan);
  if (!status) status = record(it.tensor[0], self, plan.scalar[0]);
  if (!status) return wf__give(it.tensor[0]);
  wf__tensor_release(it.tensor[0]);
  return NULL;
}
