/* x · scale + shift into a floating dtype, in one pass: what turns an image's bytes into normalised numbers. scale_shift has one scale for all;
 * scale_shift_channels one a channel, and changes the layout on the way: it is a copy that is scaled. */
#include <weft/math.h>

#include <weft/copy.h>
#include <weft/trace.h>
#include <weft/view.h>
#include "autograd/node.h"
#include "copy/copy.h"
#include "copy/form.h"
#include "kernel/kernel.h"
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

/* ---- one scale a channel --------------------------------------------------------------------------------------------------------------- */

/* Slot 0: the scale, payload: the dim. */
static wf_status channels_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf_tensor *scale = wf__saved_get(node, 0);
  if (!grad[0] || !scale) return wf__self.pending;
  int64_t size[WF_MAX_DIMS];
  int ndim = wf_ndim(grad[0]);
  for (int d = 0; d < ndim; d++) size[d] = d == *(const int64_t *)node->payload ? scale->layout.numel : 1;
  out[0] = wf_mul(grad[0], wf_view(scale, wf_dims_of(size, ndim)));
  return wf__self.pending;
}

static const wf__node_class channels_class = {"ScaleShiftChannelsBackward0", channels_apply, NULL};

static wf_status record_channels(wf_tensor *result, const wf_tensor *self, const wf_tensor *scale, int64_t dim) {
  if (!wf__needs_grad(&self, 1)) return WF_OK;
  wf__node *node = wf__node_new(&channels_class, &self, 1, 1, sizeof dim);
  if (!node) return wf__self.pending;
  *(int64_t *)node->payload = dim;
  wf__save(node, 0, scale);
  wf_status status = wf__self.pending ? wf__self.pending : wf__set_history(result, node, 0);
  wf__node_release(node);
  return status;
}

static wf_status check_factors(const wf_tensor *t, const char *name, const wf_tensor *self, int64_t dim) {
  WF__TRY(wf__given(t, name));
  WF__CHECK(
      t->layout.ndim == 1 && t->layout.size[0] == self->layout.size[dim], WF_RUNTIME,
      "scale_shift_channels expects %s to have %lld elements, one for each channel, but got %d dimensions and %lld elements",
      name, (long long)self->layout.size[dim], t->layout.ndim, (long long)t->layout.numel);
  WF__CHECK(!wf__needs_grad(&t, 1), WF_RUNTIME, "scale_shift_channels has no derivative for %s: detach it", name);
  return WF_OK;
}

/* In f32, consecutive: itself when it is so. One reference, the caller's. */
static wf_tensor *factors_of(const wf_tensor *t) {
  wf_tensor *narrow = wf__to(t, WF_F32, NULL, false, true);
  wf_tensor *row = narrow ? wf__contiguous(narrow, WF_FORMAT_CONTIGUOUS, true) : NULL;
  if (narrow) wf__tensor_release(narrow);
  return row;
}

static wf_status launch_channels(wf_tensor *out, const wf_tensor *self, const wf_tensor *scale, const wf_tensor *shift,
                                 int64_t dim) {
  if (out->layout.numel == 0) return WF_OK;
  wf_plan plan = {.family = WF_FAMILY_COPY, .op = WF__COPY_SCALED, .operands = 4, .outputs = 1};
  plan.ndim = (uint8_t)out->layout.ndim;
  const wf_tensor *const operands[] = {out, self, scale, shift};
  for (int o = 0; o < 4; o++) {
    plan.operand[o].data = wf__data(operands[o]);
    plan.operand[o].dtype = (wf_dtype)operands[o]->dtype;
  }
  for (int d = 0; d < plan.ndim; d++) {
    plan.size[d] = out->layout.size[d];
    plan.operand[0].stride[d] = out->layout.stride[d] * (int64_t)wf__itemsize(out);
    plan.operand[1].stride[d] = self->layout.stride[d] * (int64_t)wf__itemsize(self);
    plan.operand[2].stride[d] = plan.operand[3].stride[d] = d == dim ? (int64_t)sizeof(float) : 0;
  }
  plan.tag.kind = WF_EVENT_CAST;
  plan.tag.bytes_read = self->layout.numel * (int64_t)wf__itemsize(self);
  plan.tag.bytes_written = out->layout.numel * (int64_t)wf__itemsize(out);
  wf__copy_form(&plan);
  return wf__launch(wf__device_of(out), &plan);
}

wf_tensor *wf_scale_shift_channels(const wf_tensor *self, const wf_tensor *scale, const wf_tensor *shift, int64_t dim,
                                   wf_dtype dtype, wf_memory_format format) {
  WF__OP("scale_shift_channels", NULL);
  wf__layout layout;
  if (!dtype) dtype = WF_F32;
  WF__TRY_OR(wf__given(self, "input"), NULL);
  if (dtype != WF_F32 && dtype != WF_BF16 && dtype != WF_F16)
    return wf__fail(WF_TYPE, "scale_shift_channels gives float32, bfloat16 or float16, not %s", wf_dtype_name(dtype)),
           NULL;
  WF__TRY_OR(wf__wrap_dim(&dim, self->layout.ndim, false), NULL);
  WF__TRY_OR(check_factors(scale, "scale", self, dim), NULL);
  WF__TRY_OR(check_factors(shift, "shift", self, dim), NULL);
  WF__TRY_OR(wf__check_same_device((const wf_tensor *const[]){self, scale, shift}, 3), NULL);
  WF__TRY_OR(wf__layout_like(&self->layout, format, wf_dtype_size(dtype), &layout), NULL);
  wf_tensor *factor = factors_of(scale), *more = factor ? factors_of(shift) : NULL;
  wf_tensor *out = more ? wf__tensor_empty(wf__device_of(self), dtype, &layout) : NULL;
  wf_status status = out ? launch_channels(out, self, factor, more, dim) : wf__self.pending;
  if (!status) status = record_channels(out, self, factor, dim);
  if (factor) wf__tensor_release(factor);
  if (more) wf__tensor_release(more);
  if (!status) return wf__give(out);
  if (out) wf__tensor_release(out);
  return NULL;
}
