/* Losses. Targets are checked before anything is written; reduced losses are summed in one order on one thread. */
#include "exec/families.h"
#include "exec/threads.h"
#include "kernel/kernel.h"
#include "kernel/neural.h"

static void losses(void *context, int64_t begin, int64_t end) { wf__ref_nll(context, begin, end); }
static void gradients(void *context, int64_t begin, int64_t end) { wf__ref_nll_backward(context, begin, end); }

wf_status wf__exec_loss(const wf_plan *plan) {
  if (plan->op != WF__LOSS_NLL && plan->op != WF__LOSS_NLL_BACKWARD)
    return wf__no_kernel("loss", (wf_dtype)plan->operand[0].dtype);
  bool backward = plan->op == WF__LOSS_NLL_BACKWARD;
  const int64_t *size = plan->shape[backward ? 0 : 2];
  wf_dtype dtype = (wf_dtype)plan->operand[backward ? 0 : 2].dtype;
  if (!wf_dtype_is_float(dtype)) return wf__no_kernel("nll_loss_out_frame", dtype);
  int64_t bad = 0;
  if (!wf__ref_nll_targets_fit(plan, &bad)) return wf__fail(WF_INDEX, "Target %lld is out of bounds.", (long long)bad);
  if (backward) wf__parallel(size[0], WF__GRAIN / 16 / (size[1] * size[2] + 1) + 1, gradients, (void *)plan);
  else if (plan->param.index.count) wf__ref_nll_reduced(plan);
  else wf__parallel(size[0], WF__GRAIN / 16 / (size[2] + 1) + 1, losses, (void *)plan);
  return WF_OK;
}
