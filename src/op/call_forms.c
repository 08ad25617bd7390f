/* See call_forms.h. Nothing but the translation of arguments. */
#include "op/call_forms.h"

#include "op/view_make.h"

static wf_tensor_options with_dtype(wf_dtype dtype) {
  wf_tensor_options o = wf_tensor_defaults();
  o.dtype = dtype;
  return o;
}

wf_tensor *wf__call_empty(wf_dims size, wf_dtype dtype, wf_memory_format format) {
  wf_tensor_options o = with_dtype(dtype);
  o.format = format;
  return wf_empty(size, &o);
}
wf_tensor *wf__call_empty_strided(wf_dims size, wf_dims stride, wf_dtype dtype) {
  wf_tensor_options o = with_dtype(dtype);
  return wf_empty_strided(size, stride, &o);
}
wf_tensor *wf__call_zeros(wf_dims size, wf_dtype dtype) {
  wf_tensor_options o = with_dtype(dtype);
  return wf_zeros(size, &o);
}
wf_tensor *wf__call_ones(wf_dims size, wf_dtype dtype) {
  wf_tensor_options o = with_dtype(dtype);
  return wf_ones(size, &o);
}
wf_tensor *wf__call_full(wf_dims size, wf_scalar value, wf_dtype dtype) {
  wf_tensor_options o = with_dtype(dtype);
  return wf_full(size, value, &o);
}
wf_tensor *wf__call_arange(wf_scalar start, wf_scalar end, wf_scalar step, wf_dtype dtype) {
  wf_tensor_options o = with_dtype(dtype);
  return wf_arange(start, end, step, &o);
}
wf_tensor *wf__call_linspace(wf_scalar start, wf_scalar end, int64_t steps, wf_dtype dtype) {
  wf_tensor_options o = with_dtype(dtype);
  return wf_linspace(start, end, steps, &o);
}
wf_tensor *wf__call_eye(int64_t n, int64_t m, wf_dtype dtype) {
  wf_tensor_options o = with_dtype(dtype);
  return wf_eye(n, m, &o);
}

wf_tensor *wf__call_rand(wf_dims size, wf_dtype dtype) {
  wf_tensor_options o = with_dtype(dtype);
  return wf_rand(size, &o);
}
wf_tensor *wf__call_randn(wf_dims size, wf_dtype dtype) {
  wf_tensor_options o = with_dtype(dtype);
  return wf_randn(size, &o);
}
wf_tensor *wf__call_randint(int64_t low, int64_t high, wf_dims size, wf_dtype dtype) {
  wf_tensor_options o = with_dtype(dtype);
  return wf_randint(low, high, size, &o);
}
wf_tensor *wf__call_randperm(int64_t n, wf_dtype dtype) {
  wf_tensor_options o = with_dtype(dtype);
  return wf_randperm(n, &o);
}

static wf__squeeze_form form_of(wf__ints dim) {
  return dim.single ? WF__SQUEEZE_DIM : dim.dims.at || dim.dims.n ? WF__SQUEEZE_DIMS : WF__SQUEEZE_ALL;
}
wf_tensor *wf__call_squeeze(const wf_tensor *self, wf__ints dim) { return wf__squeeze(self, dim.dims, form_of(dim)); }
wf_status wf__call_squeeze_(wf_tensor *self, wf__ints dim) { return wf__squeeze_(self, dim.dims, form_of(dim)); }

wf_tensors wf__call_split(const wf_tensor *self, wf__ints sizes, int64_t dim) {
  return sizes.single ? wf_split(self, sizes.dims.at[0], dim) : wf_split_with_sizes(self, sizes.dims, dim);
}
wf_tensors wf__call_tensor_split(const wf_tensor *self, wf__ints indices, int64_t dim) {
  return indices.single ? wf_tensor_split(self, indices.dims.at[0], dim) : wf_tensor_split_at(self, indices.dims, dim);
}

wf_status wf__call_resize_(wf_tensor *self, wf_dims size, wf_memory_format format) {
  WF__OP("resize_", wf__self.pending);
  WF__CHECK(format != WF_FORMAT_PRESERVE || wf_requires_grad(self), WF_RUNTIME, "Unsupported memory formatPreserve");
  return wf_resize_(self, size, format == WF__FORMAT_NOT_GIVEN ? WF_FORMAT_PRESERVE : format);
}
