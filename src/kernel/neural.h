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
 * Two spatial dims (param.conv; one-dimensional convolutions have height 1), all operands of one dtype, bool excepted.
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

/* ---- POOL -----------------------------------------------------------------------------------------------------------
 * Two spatial dims (param.conv: kernel, stride, padding, dilation of max, count_include_pad and divisor of avg).
 *   POOL_MAX           0 out [n,c,oh,ow]   1 index, like out, or absent   2 input [n,c,h,w]
 *   POOL_MAX_BACKWARD  0 input's gradient  1 out's gradient               2 index
 *   POOL_AVG           0 out               1 input
 *   POOL_AVG_BACKWARD  0 input's gradient  1 out's gradient
 * The index of a maximum counts through the plane of the input row by row (i64), or through the window row by row (u8): a window of at
 * most 255 places. The first of equal values is the maximum; NaN is greater than all. */

/* Planes [begin, end) of the n · c planes. */
void wf__ref_pool_max(const wf_plan *plan, int64_t begin, int64_t end);
void wf__ref_pool_max_backward(const wf_plan *plan, int64_t begin, int64_t end);
void wf__ref_pool_avg(const wf_plan *plan, int64_t begin, int64_t end);
void wf__ref_pool_avg_backward(const wf_plan *plan, int64_t begin, int64_t end);

/* ---- NORM -----------------------------------------------------------------------------------------------------------
 * Batch normalisation over channels (dim 1) of tensors [n,c] or [n,c,…] up to rank 5; param.norm: training, relu, eps, momentum.
 *   NORM_BATCH           0 out  1 stats [4,c]  2, 3 running mean and variance [c] or absent, changed when training, else read
 *                        4 input  5 weight [c] or absent  6 bias [c] or absent
 *   NORM_BATCH_BACKWARD  0 input's gradient or absent  1, 2 weight's and bias' gradient [c] or absent
 *                        3 out's gradient  4 input  5 stats
 * relu: the result is max(result, 0). The stats' rows are mean, 1/sqrt(variance + eps), and the scale and shift of the channel, in f64 for
 * f64 input, else f32; the derivative reads nothing else of the forward. Weight, bias and running values may have a dtype of their own. */

/* Channels [begin, end). */
void wf__ref_norm_batch(const wf_plan *plan, int64_t begin, int64_t end);
void wf__ref_norm_batch_backward(const wf_plan *plan, int64_t begin, int64_t end);

/* What remains to be done for each channel once a library or kernel has the sums: statistics of `count` values (mean and sum of squared
 * deviations, in f64) into stats and running values; without them (NULL) from the running values. */
void wf__norm_finish_stats(const wf_plan *plan, const double *mean, const double *squares, int64_t count);
/* Sums of g and of g · (x - mean) into the gradients of weight and bias, and into slope and offset of the input's gradient. */
void wf__norm_finish_backward(const wf_plan *plan, const double *sum, const double *product, int64_t count,
                              float *slope, float *offset);

/* ---- SOFTMAX --------------------------------------------------------------------------------------------------------
 * All operands share plan.size; the function runs along the last of its dims. Float dtypes, the same for all operands.
 *   SOFTMAX, LOG_SOFTMAX                    0 out               1 input
 *   SOFTMAX_BACKWARD, LOG_SOFTMAX_BACKWARD  0 input's gradient  1 out's gradient  2 out */

/* Rows [begin, end): all dims but the last, row by row. */
void wf__ref_softmax(const wf_plan *plan, int64_t begin, int64_t end);

/* ---- LOSS -----------------------------------------------------------------------------------------------------------
 * Negative log likelihood over n samples of s places with c classes. param.index.count: 0 no reduction, 1 mean, 2 sum;
 * param.index.step: the target that is left out.
 *   LOSS_NLL           0 out [n,s], reduced: a number      1 total weight, a number  2 input [n,c,s]  3 target [n,s] i64 or u8
 *                      4 weight [c] or absent
 *   LOSS_NLL_BACKWARD  0 input's gradient [n,c,s]          1 out's gradient          2 total weight   3 target   4 weight or absent */

/* Whether all targets are classes or left out; the first that isn't goes to *bad. */
bool wf__ref_nll_targets_fit(const wf_plan *plan, int64_t *bad);
/* The loss of every place of samples [begin, end). */
void wf__ref_nll(const wf_plan *plan, int64_t begin, int64_t end);
/* All samples at once: the reduced loss and the total weight. */
void wf__ref_nll_reduced(const wf_plan *plan);
void wf__ref_nll_backward(const wf_plan *plan, int64_t begin, int64_t end);

/* ---- INDEX ----------------------------------------------------------------------------------------------------------
 * Along dim param.index.dim of the table, which has param.index.count entries there; plan.size are the sizes of the part that is walked.
 * Operand `index` (i64 or i32) is a vector for SELECT and ADD, with its stride in that dim and 0 in the others. Any dtype; ADD: not bool.
 *   INDEX_SELECT   0 out[…i…] := table[…index[i]…]            1 table            2 index
 *   INDEX_ADD      0 table[…index[i]…] += scalar[0] · source[…i…]  1 source      2 index
 *   INDEX_GATHER   0 out[p] := table[p with index[p] in dim]  1 table            2 index, laid out over the sizes
 *   INDEX_SCATTER  0 table[p with index[p] in dim] := source[p], += when param.index.flag; 1 source, or scalar[0] when absent   2 index
 * A negative index counts from the end when param.index.flag2. */

/* Whether all indices are in range; the first that isn't goes to *bad. */
bool wf__ref_index_in_range(const wf_plan *plan, int64_t *bad);
/* Columns [begin, end): all places of the other dims, each with all its entries along the dim, in order. */
void wf__ref_index(const wf_plan *plan, int64_t begin, int64_t end);

#endif
