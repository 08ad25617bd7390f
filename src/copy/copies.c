/* New tensors that are copies: clone, contiguous, to. All of them end in wf__copy. */
#include "copy/internal.h"

/* Frees the new tensor when the copy into it failed. */
static wf_tensor *filled_from(wf_tensor *t, const wf_tensor *src, bool non_blocking, bool implicit) {
  if (t && wf__copy(t, src, non_blocking, implicit)) {
    wf__tensor_release(t);
    return NULL;
  }
  return t;
}

wf_tensor *wf__clone(const wf_tensor *self, wf_memory_format format, bool implicit) {
  wf__layout layout;
  WF__TRY_OR(wf__layout_like(&self->layout, format, wf__itemsize(self), &layout), NULL);
  return filled_from(wf__tensor_empty(wf__device_of(self), (wf_dtype)self->dtype, &layout), self, false, implicit);
}

wf_tensor *wf__contiguous(const wf_tensor *self, wf_memory_format format, bool implicit) {
  wf_memory_format tested = format == WF_FORMAT_PRESERVE ? WF_FORMAT_CONTIGUOUS : format;
  if (wf__is_contiguous(&self->layout, tested)) return wf_retain((wf_tensor *)self);
  if (format == WF_FORMAT_PRESERVE) {
    wf__fail(WF_RUNTIME, "preserve memory format is unsupported by the contiguous operator");
    return NULL;
  }
  return wf__clone(self, format, implicit);
}

/* Where a copy to the host lands that nobody waits for: pinned memory, which the device can write by itself. */
static wf_tensor *pinned_like(wf__device *host, wf_dtype dtype, const wf__layout *layout) {
  size_t nbytes;
  WF__TRY_OR(wf__layout_nbytes(layout, wf_dtype_size(dtype), &nbytes), NULL);
  wf__storage *storage = wf__storage_new(host, nbytes, true);
  return storage ? wf__tensor_wrap(storage, dtype, layout) : NULL;
}

wf_tensor *wf__to(const wf_tensor *self, wf_dtype dtype, wf__device *device, bool non_blocking, bool implicit) {
  wf__device *here = wf__device_of(self), *there = device ? device : here;
  if (!dtype) dtype = (wf_dtype)self->dtype;
  if (there == here && dtype == self->dtype) return wf_retain((wf_tensor *)self);
  wf__layout layout;
  wf__layout_preserve(&self->layout, &layout);
  bool pinned = non_blocking && there->id.type == WF_DEVICE_CPU && there != here;
  wf_tensor *t = pinned ? pinned_like(there, dtype, &layout) : wf__tensor_empty(there, dtype, &layout);
  return filled_from(t, self, non_blocking, implicit);
}
