/* Index tensors over several dims, as wf_index, padding and embedding use them. */
#ifndef WF_OP_INDEXED_H
#define WF_OP_INDEXED_H

#include "kernel/indexing.h"
#include "tensor/tensor.h"

#define WF__INDEX_TENSORS (WF_PLAN_OPERANDS - 2)

/* at[d]: int64 or int32 tensor that chooses in dim d; NULL: the whole dim. */
typedef struct wf__indices {
  const wf_tensor *at[WF_MAX_DIMS];
  bool wraps; /* negative ones count from the end */
  wf__index_refusal refusal;
  bool ordinal; /* errors call the k-th index tensor's dim k, as PyTorch does for x[…] */
} wf__indices;

/* self at the indices, with the strides that PyTorch gives; the caller's reference, no history. */
wf_tensor *wf__index_get(const wf_tensor *self, const wf__indices *indices);
/* The same into `out`, which has the result's size. */
wf_status wf__index_get_into(wf_tensor *out, const wf_tensor *self, const wf__indices *indices);
/* self at the indices := values, += with accumulate. No history, no version. */
wf_status wf__index_put(wf_tensor *self, const wf__indices *indices, const wf_tensor *values, bool accumulate);

#endif
