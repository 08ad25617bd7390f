/* What operators share that move elements to other places: making the result, writing parts of it, ending the call. */
#ifndef WF_OP_PLACE_H
#define WF_OP_PLACE_H

#include "autograd/node.h"
#include "op/check.h"

/* The node of an operator with these inputs and a copy of the payload; NULL when no gradient is recorded, or with an error record. */
wf__node *wf__node_for(const wf__node_class *cls, const wf_tensor *const *inputs, int n, int saves, const void *payload,
                       size_t bytes);
/* Last step: `node` (may be NULL; the caller's reference is taken over) becomes the history of `out`, which goes into the scope; NULL with an
 * error pending. */
wf_tensor *wf__finish(wf_tensor *out, wf__node *node);

/* A new tensor of `size` in `format`; the caller's reference. */
wf_tensor *wf__new(const wf_tensor *like, wf_dtype dtype, wf_dims size, wf_memory_format format);
/* t's elements start … start + length - 1 of dimension `dim`, as a plain tensor without view relation; the caller's reference. */
wf_tensor *wf__part(const wf_tensor *t, int64_t dim, int64_t start, int64_t length);
/* Copies `source` to that part of `out`: a copy that was asked for. */
wf_status wf__put_part(wf_tensor *out, int64_t dim, int64_t start, int64_t length, const wf_tensor *source);
/* Copies the elements of self that `from` describes to where `to` describes them in `out`: layouts of the same sizes, whose elements are counted
 * here; a copy that was asked for. */
wf_status wf__copy_layouts(const wf_tensor *out, wf__layout *to, const wf_tensor *self, wf__layout *from);
/* A copy of t in that format, which was asked for; the caller's reference. */
wf_tensor *wf__copied(const wf_tensor *t, wf_memory_format format);
/* Zeros of t's dtype on its device, in the scope, cut off from everything: what a derivative writes into. */
wf_tensor *wf__fresh_zeros(const wf_tensor *like, wf_dims size);

/* Byte strides of t over `shape` by broadcasting; t must broadcast to it. */
void wf__operand_over(const wf_tensor *t, wf_dims shape, wf_operand *operand);
/* Launches a plan that writes `written` after reading the others (NULLs allowed), counting their bytes. */
wf_status wf__launch_counted(wf_plan *plan, const wf_tensor *written, const wf_tensor *const *read, int n);

#endif
