/* See factory.h. */
#include "op/factory.h"

#include "autograd/node.h"
#include "base/convert.h"
#include "copy/copy.h"
#include "op/op.h"

wf_status wf__factory_options(const wf_tensor_options *given, wf_dtype inferred, wf_tensor_options *out) {
  *out = given ? *given : wf_tensor_defaults();
  if (!out->dtype) out->dtype = inferred;
  WF__CHECK(wf_dtype_size(out->dtype) > 0, WF_TYPE, "dtype must be one of the ten element types, but got %d",
            (int)out->dtype);
  return WF_OK;
}

static wf_tensor *made(const wf__layout *layout, size_t nbytes, const wf_tensor_options *options) {
  wf__device *device = wf__device_get(options->device);
  if (!device) return NULL;
  if (options->pinned && device->id.type != WF_DEVICE_CPU) {
    wf__fail(WF_RUNTIME, "Only dense CPU tensors can be pinned");
    return NULL;
  }
  return wf__tensor_wrap(wf__storage_new(device, nbytes, options->pinned), options->dtype, layout);
}

wf_tensor *wf__factory_laid_out(const wf__layout *layout, const wf_tensor_options *options) {
  size_t nbytes;
  WF__TRY_OR(wf__layout_nbytes(layout, wf_dtype_size(options->dtype), &nbytes), NULL);
  return made(layout, nbytes, options);
}

wf_tensor *wf__factory_sized(wf_dims size, const wf_tensor_options *options) {
  wf__layout layout;
  size_t item = wf__dtype_bytes(options->dtype);
  WF__TRY_OR(wf__layout_contiguous(&layout, size, item), NULL);
  if (options->format != WF_FORMAT_CONTIGUOUS) WF__TRY_OR(wf__layout_restride(&layout, options->format), NULL);
  return made(&layout, (size_t)layout.numel * item, options); /* packed in both cases; the product has been checked */
}

wf_tensor *wf__factory_give(wf_tensor *t, const wf_tensor_options *options) {
  if (t && options->requires_grad) {
    if (!wf_dtype_is_float(options->dtype)) {
      wf__fail(WF_RUNTIME, "Only Tensors of floating point and complex dtype can require gradients");
    } else {
      wf_requires_grad_(t, true);
    }
  }
  return wf__give(t);
}

wf_tensor *wf__filled(wf_tensor *t, wf_scalar value) {
  if (!t) return NULL;
  wf_status status = wf__fill_check(t, value);
  if (!status && t->layout.numel) status = wf__fill(t, value);
  if (!status) return t;
  wf__tensor_release(t);
  return NULL;
}

wf_status wf__launch_on(wf_tensor *t, wf_plan *plan) {
  if (!t->layout.numel) return WF_OK;
  plan->outputs = 1;
  if (!plan->operands) plan->operands = 1;
  plan->ndim = (uint8_t)t->layout.ndim;
  plan->compute = t->dtype;
  for (int d = 0; d < t->layout.ndim; d++) plan->size[d] = t->layout.size[d];
  wf__operand_of(t, &plan->operand[0]);
  plan->tag.bytes_written = t->layout.numel * (int64_t)wf__itemsize(t);
  return wf__launch(wf__device_of(t), plan);
}
