/* What the fronts of matrix products and neural-network functions share: plans over tensors of different shapes, checks, recording.
 * Also declares the entries that only the table of operators calls. */
#ifndef WF_OP_NETWORK_H
#define WF_OP_NETWORK_H

#include <weft/functional.h>
#include <weft/linalg.h>
#include "autograd/node.h"
#include "kernel/kernel.h"
#include "kernel/neural.h"
#include "op/args.h"

/* ---- plans ----------------------------------------------------------------------------------------------------------------- */

/* Makes t operand i with its own shape, and counts its bytes; NULL: absent. plan->outputs is set before. */
void wf__plan_tensor(wf_plan *plan, int i, const wf_tensor *t);
/* The same for operands 0 to n - 1, then launches on the device of the first that is there. */
wf_status wf__plan_run(wf_plan *plan, const wf_tensor *const *operands, int n);
/* A new tensor on `on`'s device, with its dtype. One reference, the caller's; NULL on error. */
wf_tensor *wf__empty_in(const wf_tensor *on, wf_dims size, wf_memory_format format);

/* "<name>(): argument '<argument>' … must be Tensor, not NoneType" unless t is there. */
wf_status wf__require(const char *name, const wf_tensor *t, const char *argument, int position);
/* "expected scalar type <a's> but found <b's>". b may be NULL. */
wf_status wf__same_scalar_type(const wf_tensor *a, const wf_tensor *b);

/* ---- recording ------------------------------------------------------------------------------------------------------------- */

/* Makes result, computed in a derivative from inputs by a plan of its own, say so when it is differentiated again: an error of kind
 * NotImplementedError, `name` in the text. Nothing when no gradient is wanted. */
wf_status wf__not_twice(wf_tensor *result, const wf_tensor *const *inputs, int n, const char *name);
/* Releases an internal reference. NULL is accepted. */
static inline void wf__drop(wf_tensor *t) {
  if (t) wf__tensor_release(t);
}

/* ---- arguments ------------------------------------------------------------------------------------------------------------- */

/* Fills out[n] from one integer or a list; not given: all `otherwise`. false when the count differs. */
bool wf__ints_expand(wf__ints ints, int n, int64_t otherwise, int64_t *out);
/* A list or, when n is 1 and single, one number. */
static inline wf__ints wf__ints_of(const int64_t *at, int n) {
  wf__ints ints = {wf_dims_of(at, n), n == 1, NULL};
  return ints;
}

/* ---- entries of the table of operators --------------------------------------------------------------------------------------- */

wf_tensor *wf__op_batch_norm(wf_tensor *input, wf_tensor *running_mean, wf_tensor *running_var, wf_tensor *weight,
                             wf_tensor *bias, bool training, double momentum, double eps);
wf_tensor *wf__op_nll_loss(wf_tensor *input, wf_tensor *target, wf_tensor *weight, int64_t ignore_index,
                           const char *reduction);
wf_tensor *wf__op_cross_entropy(wf_tensor *input, wf_tensor *target, wf_tensor *weight, int64_t ignore_index,
                                const char *reduction, double label_smoothing);
wf_max_pool2d_result wf__op_max_pool2d(wf_tensor *input, wf__ints kernel_size, wf__ints stride, wf__ints padding,
                                       wf__ints dilation, bool ceil_mode, bool return_indices);
wf_tensor *wf__op_avg_pool2d(wf_tensor *input, wf__ints kernel_size, wf__ints stride, wf__ints padding, bool ceil_mode,
                             bool count_include_pad, wf_scalar divisor_override);
wf_tensor *wf__op_conv2d(wf_tensor *input, wf_tensor *weight, wf_tensor *bias, wf__ints stride, wf__ints padding,
                         wf__ints dilation, int64_t groups);
wf_tensor *wf__op_conv1d(wf_tensor *input, wf_tensor *weight, wf_tensor *bias, wf__ints stride, wf__ints padding,
                         wf__ints dilation, int64_t groups);

#endif
