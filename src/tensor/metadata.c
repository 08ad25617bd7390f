/* Getters of a tensor's metadata. All accept NULL, so that they can stand behind a failed call. */
#include "tensor/tensor.h"

int wf_ndim(const wf_tensor *t) { return t ? t->layout.ndim : 0; }

int64_t wf_size(const wf_tensor *t, int64_t dim) {
  if (!t) return 0;
  WF__ENTER("size");
  return wf__wrap_dim(&dim, t->layout.ndim, false) ? -1 : t->layout.size[dim];
}

int64_t wf_stride(const wf_tensor *t, int64_t dim) {
  if (!t) return 0;
  WF__ENTER("stride");
  return wf__wrap_dim(&dim, t->layout.ndim, false) ? -1 : t->layout.stride[dim];
}

wf_dims wf_sizes(const wf_tensor *t) { return t ? wf__layout_sizes(&t->layout) : WF_SHAPE0; }
wf_dims wf_strides(const wf_tensor *t) { return t ? wf__layout_strides(&t->layout) : WF_SHAPE0; }
int64_t wf_storage_offset(const wf_tensor *t) { return t ? t->layout.offset : 0; }
int64_t wf_numel(const wf_tensor *t) { return t ? t->layout.numel : 0; }
wf_dtype wf_dtype_of(const wf_tensor *t) { return t ? (wf_dtype)t->dtype : WF_DTYPE_NONE; }
wf_device wf_device_of(const wf_tensor *t) { return t ? t->storage->device->id : wf_cpu(); }
size_t wf_storage_nbytes(const wf_tensor *t) { return t ? t->storage->nbytes : 0; }
bool wf_shares_storage(const wf_tensor *a, const wf_tensor *b) { return a && b && a->storage == b->storage; }
bool wf_is_contiguous(const wf_tensor *t, wf_memory_format format) {
  return t && wf__is_contiguous(&t->layout, format);
}
uint32_t wf_version_of(const wf_tensor *t) {
  return t ? atomic_load_explicit(&t->version->value, memory_order_relaxed) : 0;
}
bool wf_is_pinned(const wf_tensor *t) { return t && t->storage->pinned; }
