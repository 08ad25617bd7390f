/* Changes of what a tensor shows: resize_ and set_. Storages grow where needed and never shrink. */
#include "op/view_make.h"

static wf_status check_unmapped(const wf_tensor *self) {
  WF__CHECK(!self->maps, WF_RUNTIME, "%s: the host accesses the tensor; call wf_tensor_unmap first",
            wf__self.frame->op);
  return WF_OK;
}

static bool has_sizes(const wf_tensor *t, wf_dims size) {
  if (t->layout.ndim != size.n) return false;
  for (int d = 0; d < size.n; d++)
    if (t->layout.size[d] != size.at[d]) return false;
  return true;
}

/* Row-major sizes at an offset: the count is checked first, then the strides, then the bytes, as PyTorch does. */
static wf_status row_major_at(wf_dims size, int64_t offset, size_t itemsize, wf__layout *l, size_t *nbytes) {
  static const int64_t zeros[WF_MAX_DIMS];
  char text[WF__DIMS_TEXT];
  WF__CHECK(size.n <= WF_MAX_DIMS, WF_RUNTIME, "tensors have at most %d dimensions, but got %d", WF_MAX_DIMS, size.n);
  WF__TRY(wf__layout_strided(l, size, wf_dims_of(zeros, size.n), offset));
  WF__TRY(wf__layout_restride(l, WF_FORMAT_CONTIGUOUS));
  uint64_t bytes;
  bool overflow = __builtin_add_overflow((uint64_t)l->numel, (uint64_t)offset, &bytes);
  overflow |= __builtin_mul_overflow(bytes, (uint64_t)itemsize, &bytes);
  WF__CHECK(!overflow && bytes <= INT64_MAX, WF_RUNTIME, "Storage size calculation overflowed with sizes=%s",
            wf__dims_text(size, text));
  *nbytes = l->numel ? (size_t)bytes : 0;
  return WF_OK;
}

static wf_status resize(wf_tensor *self, wf_dims size, wf_memory_format format) {
  wf__layout layout;
  size_t nbytes;
  WF__CHECK(!wf_requires_grad(self), WF_RUNTIME, "cannot resize variables that require grad");
  WF__TRY(wf__list_check(size));
  bool same = has_sizes(self, size);
  if (same && format == WF_FORMAT_PRESERVE) return WF_OK;
  WF__TRY(check_unmapped(self));
  WF__TRY(row_major_at(size, self->layout.offset, wf__itemsize(self), &layout, &nbytes));
  if (format != WF_FORMAT_PRESERVE) WF__TRY(wf__layout_restride(&layout, format));
  WF__TRY(wf__storage_grow(self->storage, nbytes));
  self->layout = layout;
  if (!same) wf__bump(self);
  return WF_OK;
}

wf_status wf_resize_(wf_tensor *self, wf_dims size, wf_memory_format format) {
  WF__OP("resize_", wf__self.pending);
  WF__TRY(wf__given(self, "self"));
  return resize(self, size, format);
}

/* ---- set_ -------------------------------------------------------------------------------------------------------------------------- */

static wf_status check_source(const wf_tensor *self, const wf_tensor *source) {
  char a[32], b[32];
  WF__TRY(wf__given(self, "self"));
  WF__TRY(wf__given(source, "source"));
  WF__CHECK(self->dtype == source->dtype, WF_RUNTIME, "Could not set tensor of type %s to a tensor of type %s",
            wf__cpp_type_text((wf_dtype)source->dtype), wf__cpp_type_text((wf_dtype)self->dtype));
  WF__TRY(wf__inplace_check(self, &self, 1));
  WF__TRY(check_unmapped(self));
  WF__CHECK(
      wf__device_of(self) == wf__device_of(source), WF_RUNTIME,
      "Attempted to set the storage of a tensor on device \"%s\" to a storage on different device \"%s\".  This is no longer allowed; "
      "the devices must match.",
      wf_device_name(wf__device_of(self)->id, a, sizeof a), wf_device_name(wf__device_of(source)->id, b, sizeof b));
  return WF_OK;
}

static wf_status show(wf_tensor *self, const wf_tensor *source, const wf__layout *layout) {
  WF__TRY(wf__tensor_set_storage(self, source->storage));
  self->layout = *layout;
  return wf__inplace_done(self, NULL);
}

wf_status wf_set_(wf_tensor *self, wf_tensor *source, int64_t storage_offset, wf_dims size, wf_dims stride) {
  WF__OP("set_", wf__self.pending);
  wf__layout layout;
  size_t nbytes;
  WF__TRY(check_source(self, source));
  int64_t offset;
  WF__TRY(wf__list_check(size));
  WF__TRY(wf__list_check(stride));
  bool overflow = __builtin_add_overflow(source->layout.offset, storage_offset, &offset);
  WF__CHECK(!overflow && offset >= 0, WF_RUNTIME, "Tensor: invalid storage offset %lld", (long long)storage_offset);
  if (stride.n == 0) {
    WF__TRY(row_major_at(size, offset, wf__itemsize(self), &layout, &nbytes));
  } else {
    WF__CHECK(size.n == stride.n, WF_RUNTIME, "unequal size length (%d) and stride length (%d)", size.n, stride.n);
    WF__TRY(wf__nbytes_strided(size, stride, offset, wf__itemsize(self), &nbytes));
    WF__TRY(wf__layout_strided(&layout, size, stride, offset));
  }
  WF__TRY(wf__storage_grow(source->storage, nbytes));
  return show(self, source, &layout);
}

wf_status wf_set_to_(wf_tensor *self, const wf_tensor *source) {
  WF__OP("set_", wf__self.pending);
  WF__TRY(check_source(self, source));
  return show(self, source, &source->layout);
}
