/* Factories that take size, dtype, device or layout from another tensor. */
#include "op/check.h"
#include "op/factory.h"

/* ---- *_like: self's size ----------------------------------------------------------------------------------------------------- */

static wf_tensor *like(const wf_tensor *self, wf_dtype dtype, wf_memory_format format) {
  wf__layout layout;
  WF__TRY_OR(wf__given(self, "self"), NULL);
  wf_tensor_options given = {.dtype = dtype, .device = wf__device_of(self)->id}, o;
  WF__TRY_OR(wf__factory_options(&given, (wf_dtype)self->dtype, &o), NULL);
  WF__TRY_OR(wf__layout_like(&self->layout, format, wf_dtype_size(o.dtype), &layout), NULL);
  return wf__factory_laid_out(&layout, &o);
}

wf_tensor *wf_empty_like(const wf_tensor *self, wf_dtype dtype, wf_memory_format format) {
  WF__OP("empty_like", NULL);
  return wf__give(like(self, dtype, format));
}

wf_tensor *wf_zeros_like(const wf_tensor *self, wf_dtype dtype, wf_memory_format format) {
  WF__OP("zeros_like", NULL);
  return wf__give(wf__filled(like(self, dtype, format), wf_int(0)));
}

wf_tensor *wf_ones_like(const wf_tensor *self, wf_dtype dtype, wf_memory_format format) {
  WF__OP("ones_like", NULL);
  return wf__give(wf__filled(like(self, dtype, format), wf_int(1)));
}

wf_tensor *wf_full_like(const wf_tensor *self, wf_scalar value, wf_dtype dtype, wf_memory_format format) {
  WF__OP("full_like", NULL);
  return wf__give(wf__filled(like(self, dtype, format), value));
}

/* ---- new_*: another size --------------------------------------------------------------------------------------------------------- */

static wf_tensor *like_sized(const wf_tensor *self, wf_dims size, wf_dtype dtype) {
  WF__TRY_OR(wf__given(self, "self"), NULL);
  wf_tensor_options given = {.dtype = dtype, .device = wf__device_of(self)->id}, o;
  WF__TRY_OR(wf__factory_options(&given, (wf_dtype)self->dtype, &o), NULL);
  return wf__factory_sized(size, &o);
}

wf_tensor *wf_new_empty(const wf_tensor *self, wf_dims size, wf_dtype dtype) {
  WF__OP("new_empty", NULL);
  return wf__give(like_sized(self, size, dtype));
}

wf_tensor *wf_new_zeros(const wf_tensor *self, wf_dims size, wf_dtype dtype) {
  WF__OP("new_zeros", NULL);
  return wf__give(wf__filled(like_sized(self, size, dtype), wf_int(0)));
}

wf_tensor *wf_new_ones(const wf_tensor *self, wf_dims size, wf_dtype dtype) {
  WF__OP("new_ones", NULL);
  return wf__give(wf__filled(like_sized(self, size, dtype), wf_int(1)));
}

wf_tensor *wf_new_full(const wf_tensor *self, wf_dims size, wf_scalar value, wf_dtype dtype) {
  WF__OP("new_full", NULL);
  return wf__give(wf__filled(like_sized(self, size, dtype), value));
}
