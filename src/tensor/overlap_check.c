/* Whether the memory of tensors overlaps, and the refusals that follow. PyTorch's cheap rules: sure answers for dense tensors only. */
#include "tensor/tensor.h"

typedef struct range {
  uintptr_t begin, end;
} range;

/* Bytes of a dense tensor. Compared within one storage only. */
static range bytes_of(const wf_tensor *t) {
  uintptr_t begin = (uintptr_t)wf__data(t);
  return (range){begin, begin + (uintptr_t)t->layout.numel * wf__itemsize(t)};
}

static bool equal_strides(const wf__layout *a, const wf__layout *b) {
  if (a->ndim != b->ndim) return false;
  for (int d = 0; d < a->ndim; d++)
    if (a->stride[d] != b->stride[d]) return false;
  return true;
}

wf__overlap wf__overlap_between(const wf_tensor *a, const wf_tensor *b) {
  if (a == b) return WF__OVERLAP_FULL;
  if (a->layout.numel == 0 || b->layout.numel == 0) return WF__OVERLAP_NO;
  if (!wf__is_dense(&a->layout) || !wf__is_dense(&b->layout)) return WF__OVERLAP_TOO_HARD;
  if (a->storage != b->storage) return WF__OVERLAP_NO;
  range x = bytes_of(a), y = bytes_of(b);
  if (x.begin == y.begin && x.end == y.end)
    return equal_strides(&a->layout, &b->layout) ? WF__OVERLAP_FULL : WF__OVERLAP_PARTIAL;
  return x.begin < y.end && y.begin < x.end ? WF__OVERLAP_PARTIAL : WF__OVERLAP_NO;
}

wf_status wf__check_internal_overlap(const wf_tensor *t) {
  WF__CHECK(
      wf__overlap_within(&t->layout) != WF__OVERLAP_YES, WF_RUNTIME,
      "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the "
      "tensor before performing the operation.");
  return WF_OK;
}

static wf_status refuse_overlap(void) {
  return wf__fail(
      WF_RUNTIME,
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. "
      "Please clone() the tensor before performing the operation.");
}

wf_status wf__check_partial_overlap(const wf_tensor *written, const wf_tensor *read) {
  return wf__overlap_between(written, read) == WF__OVERLAP_PARTIAL ? refuse_overlap() : WF_OK;
}

wf_status wf__check_no_overlap(const wf_tensor *written, const wf_tensor *read) {
  wf__overlap found = wf__overlap_between(written, read);
  return found == WF__OVERLAP_PARTIAL || found == WF__OVERLAP_FULL ? refuse_overlap() : WF_OK;
}
