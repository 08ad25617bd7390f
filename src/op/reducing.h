/* What the reductions share: which dims go, the result's shape, the plan, and the way back to the unreduced shape. */
#ifndef WF_OP_REDUCING_H
#define WF_OP_REDUCING_H

#include "op/op.h"

typedef struct wf__reduction {
  uint8_t op; /* wf__reduce_op */
  const wf_tensor *self;
  uint32_t dims; /* bit d: dim d is reduced */
  bool keepdim;
  wf_dtype compute, result;
  wf_scalar number;  /* scalar[0] of the plan */
  wf_scalar neutral; /* what a reduction of nothing gives; kind NONE: it can't happen */
  bool in_order;     /* index results: dims keep their order */
  wf_tensor *index;  /* MAX_INDEX, MIN_INDEX: made by wf__reduce_run when wants_index; one reference */
  bool wants_index;
} wf__reduction;

/* Bits of the dims; none given: all. Negative ones count from the end. IndexError texts; "dim <d> appears multiple times in the list of
 * dims". */
wf_status wf__reduced_dims(const wf_tensor *self, wf_dims dims, uint32_t *bits);
/* One dim, or all for WF_NONE. */
wf_status wf__reduced_dim(const wf_tensor *self, int64_t dim, uint32_t *bits);
/* Error when `self` needs a gradient that a result of integers can't carry. */
wf_status wf__integers_need_no_grad(const wf_tensor *self, wf_dtype result);
/* How many elements one result comes from. */
int64_t wf__reduced_count(const wf_tensor *self, uint32_t dims);
/* Makes the result and enqueues the plan; the caller's reference, no history. NULL on error. */
wf_tensor *wf__reduce_run(wf__reduction *r);

/* What a reduction's derivative needs to know; the payload of its node. */
typedef struct wf__reduced {
  uint32_t dims;
  bool keepdim;
  wf_scalar number;
  wf__layout layout; /* of the input: sizes */
} wf__reduced;

typedef enum wf__reduce_keep {
  WF__KEEP_NOTHING = 0,
  WF__KEEP_INPUT = 1,
  WF__KEEP_RESULT = 2,
  WF__KEEP_BOTH = 3
} wf__reduce_keep;
/* Runs the reduction and records it: input in slot 0, result in slot 1. In the scope. */
wf_tensor *wf__reduce(wf__reduction *r, const wf__node_class *derivative, wf__reduce_keep keep);
/* What is refused of the dtype of a given result. */
typedef enum wf__into_rule {
  WF__INTO_ANY,   /* nothing: it is computed in dst's */
  WF__INTO_CAST,  /* what the result's can't be cast to; it is computed in dst's */
  WF__INTO_EXACT, /* any but the result's */
} wf__into_rule;
/* Runs the reduction into dst; the operator's name for texts is that of the call. */
wf_status wf__reduce_into(wf__reduction *r, wf_tensor *dst, wf__into_rule rule);
/* One that gives indices, MAX_INDEX or MIN_INDEX, into two of them. */
wf_status wf__reduce_into_pair(wf__reduction *r, wf_tensor *values, wf_tensor *indices);
/* A gradient or result of the reduction, broadcast back over the input's sizes. */
wf_tensor *wf__unreduce_for(const wf__node *node, const wf_tensor *t);

#endif
