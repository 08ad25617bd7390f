/* The copy engine: every copy of the library goes through wf__copy.
 *   form.c     the normal form that a copy is brought to       copy.c    within one device, fills, overlap, policy
 *   between.c  between devices                                 copies.c  new tensors that are copies
 *   explain.c  what a copy would do, for people */
#ifndef WF_COPY_COPY_H
#define WF_COPY_COPY_H

#include "tensor/tensor.h"

/* dst := src, broadcast and cast, within or between devices; no autograd, no version bump, no overlap check of views (fronts do
 * those). non_blocking as in PyTorch: transfers between devices return before they are done when the host side is pinned.
 * implicit: nobody asked for this copy; subject to wf_copy_policy. */
wf_status wf__copy(wf_tensor *dst, const wf_tensor *src, bool non_blocking, bool implicit);
/* The part of `out`, a new tensor on the same device, that begins at index `start` of `dim` := part. stacked: part lacks that dim and fills one
 * index of it. The sizes fit. As cheap as a copy can be: no view is made. */
wf_status wf__copy_part(wf_tensor *out, int64_t dim, bool stacked, int64_t start, const wf_tensor *part);
/* dst := number in every element. */
wf_status wf__fill(wf_tensor *dst, wf_scalar value);
/* A contiguous copy in `format`, or self with one more reference when it already is. Caller's reference. */
wf_tensor *wf__contiguous(const wf_tensor *self, wf_memory_format format, bool implicit);
/* A new tensor with self's elements in the layout that `format` gives (PRESERVE: as clone does). Caller's reference. */
wf_tensor *wf__clone(const wf_tensor *self, wf_memory_format format, bool implicit);
/* self as another dtype and device (NONE, NULL: unchanged), preserving layout. Caller's reference; self when nothing changes. */
wf_tensor *wf__to(const wf_tensor *self, wf_dtype dtype, wf__device *device, bool non_blocking, bool implicit);

#endif
