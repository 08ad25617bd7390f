/* Results that the caller gives (`wf_x_into`, PyTorch's out=): what is refused, the sizes they get, where they may lie. */
#ifndef WF_OP_INTO_H
#define WF_OP_INTO_H

#include "tensor/tensor.h"

/* Before anything else: refuses a missing result, and gradients; */
wf_status wf__into_given(const char *name, const wf_tensor *dst, const wf_tensor *const *inputs, int n);
/* another dtype than that of the result; */
wf_status wf__into_dtype(const wf_tensor *dst, wf_dtype result);
/* a dtype that the result's can't be cast to. */
wf_status wf__into_cast(const wf_tensor *dst, wf_dtype result);
/* Gives it the result's sizes. Warns when that changes a tensor with elements. */
wf_status wf__into_resize(wf_tensor *dst, wf_dims size);

/* A given result while it is being written. */
typedef struct wf__into {
  wf_tensor *dst, *out; /* what is written: dst, or a tensor beside it */
  wf__layout layout;
} wf__into;

/* Opens dst for a result laid out like `layout` (when dst has these sizes it keeps its strides). Returns the tensor to write to, of dst's dtype: dst
 * itself, or a tensor of its own where dst may share memory with an input that is still to be read. NULL on error, with dst as it was.
 * Refuses dst when several of its elements are one place, or it is on another device. Inputs may be NULL. */
wf_tensor *wf__into_open(wf__into *into, wf_tensor *dst, const wf__layout *layout, const wf_tensor *const *inputs,
                         int n);
/* After the writing, which may have failed with an error pending: puts the elements into dst if they aren't there yet, and counts the change. */
wf_status wf__into_close(wf__into *into);

/* The same for two results of one layout, values and indices: what is refused of them (values of another dtype than `result`, indices that aren't
 * int64), opening, closing. They may share memory with self; where they share it with each other, the indices are what is there at the end. */
wf_status wf__into_pair_check(const char *name, const wf_tensor *values, const wf_tensor *indices, wf_dtype result);
wf_status wf__into_pair_open(wf__into into[2], wf_tensor *values, wf_tensor *indices, const wf__layout *layout,
                             const wf_tensor *self);
wf_status wf__into_pair_close(wf__into into[2]);

#endif
