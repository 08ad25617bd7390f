/* Plans of matrix products and of neural-network functions: what stands in which operand, and their reference loops.
 *
 * Each operand has a shape of its own in plan.shape[i] with plan.rank[i] dims, and its byte strides in operand[i].stride, dim by dim in
 * the tensor's own order. An operand that may be absent has data NULL then. Reference loops take the plan and a range [begin, end) of
 * independent pieces of work, which exec/ cuts; they read any strides and are complete in dtypes. */
#ifndef WF_KERNEL_NEURAL_H
#define WF_KERNEL_NEURAL_H

#include <weft/sys/plan.h>

/* ---- MATMUL ---------------------------------------------------------------------------------------------------------
 * operand 0 [batch…, m, n] := scalar[0] · operand 1 [batch…, m, k] @ operand 2 [batch…, k, n] + scalar[1] · addend.
 * The addend is operand 3 [batch…, m, n]; when absent, operand 0 as it was. It isn't read when scalar[1] is 0.
 * plan.size has the ndim - 2 sizes of batch, then m, n; k is param.matmul.k. Strides follow: batch strides (0 broadcasts), row, column.
 * All operands have operand 0's dtype. Operand 0 may be operand 3, and overlaps no other. */
enum { WF__MATMUL = 0 };

/* Rows [begin, end) of all batch · m rows. Not for bool. */
void wf__ref_matmul(const wf_plan *plan, int64_t begin, int64_t end);
/* operand 0 := operand 3 in rows [begin, end). */
void wf__ref_matmul_addend(const wf_plan *plan, int64_t begin, int64_t end);

/* Byte offset of the batch-th matrix of operand i. */
static inline int64_t wf__matmul_batch_offset(const wf_plan *plan, int i, int64_t batch) {
  int64_t offset = 0;
  for (int d = plan->ndim - 3; d >= 0; d--) {
    offset += batch % plan->size[d] * plan->operand[i].stride[d];
    batch /= plan->size[d];
  }
  return offset;
}

/* ---- CONV -----------------------------------------------------------------------------------------------------------
 * Two spatial dims (param.conv; one-dimensional convolutions have height 1), all operands of one float dtype.
 *   CONV_FORWARD          0 out [n,co,oh,ow]          1 input [n,ci,h,w]       2 weight [co,ci/g,kh,kw]    3 bias [co] or absent
 *   CONV_BACKWARD_DATA    0 input's gradient          1 out's gradient         2 weight                    3 bias [ci] or absent, for
 *                         the forward of a transposed convolution
 *   CONV_BACKWARD_WEIGHT  0 weight's gradient  1 bias' gradient or absent      2 out's gradient            3 input */

/* Planes [begin, end) of the n · channels planes of operand 0. */
void wf__ref_conv_forward(const wf_plan *plan, int64_t begin, int64_t end);
void wf__ref_conv_backward_data(const wf_plan *plan, int64_t begin, int64_t end);
/* Pairs [begin, end) of the co · ci/g pairs of channels; and channels [begin, end) of the bias. */
void wf__ref_conv_backward_weight(const wf_plan *plan, int64_t begin, int64_t end);
void wf__ref_conv_backward_bias(const wf_plan *plan, int64_t begin, int64_t end);

#endif
