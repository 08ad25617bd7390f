/* The broadcasting iterator: from operands to the sizes and byte strides of a plan, by the rules of PyTorch's TensorIterator
 * (reference, section 14): shapes, dtypes, overlap, order of dims, strides of new outputs, coalescing. */
#ifndef WF_TENSOR_ITERATOR_H
#define WF_TENSOR_ITERATOR_H

#include "tensor/tensor.h"

#define WF__ITER_OPERANDS WF_PLAN_OPERANDS

typedef struct wf__iter {
  int outputs, operands; /* outputs come first */
  wf_tensor
      *tensor[WF__ITER_OPERANDS]; /* borrowed. NULL output: made by wf__iter_build (then one reference, the caller's).
                                                * NULL input: a number in the plan's scalar[], which counts as an operand of rank 0 */
  /* Of outputs to be made; of inputs: what PyTorch would convert them to beforehand, NONE for none. The conversion packs what has gaps
   * or stride 0, and that decides about the strides of results. */
  wf_dtype dtype[WF__ITER_OPERANDS];
  bool reduction;    /* outputs are given and have size 1 in reduced dims, which get stride 0 */
  bool linear;       /* keep row-major order: enforce_linear_iteration */
  bool parameters;   /* NULL inputs are parameters and no operands at all */
  bool joins_number; /* strides of results as if a number were among the operands */
  bool row_major;    /* outputs to be made are contiguous, whatever the order of the walk */
  wf_tensor
      *into; /* stands for the output that would be made: it gets that one's strides. Its sizes are the result's */
  bool no_overlap_check;
  /* result */
  wf__device *device;
  int ndim;
  int64_t shape[WF_MAX_DIMS]; /* broadcast shape, before coalescing */
  int made;                   /* bit i: output i was made here */
} wf__iter;

/* Computes the broadcast shape, checks overlap and device, makes missing outputs with PyTorch's strides, and fills the plan's ndim, size,
 * operands, outputs and operand[] with coalesced dims, fastest last. On error nothing has been made. With no tensor at all the device
 * must be set. */
wf_status wf__iter_build(wf__iter *it, wf_plan *plan);

#endif
