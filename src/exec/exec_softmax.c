/* softmax, log_softmax and their derivatives: rows over the team. */
#include "exec/families.h"
#include "exec/threads.h"
#include "kernel/kernel.h"
#include "kernel/neural.h"

static void rows(void *context, int64_t begin, int64_t end) { wf__ref_softmax(context, begin, end); }

wf_status wf__exec_softmax(const wf_plan *plan) {
  wf_dtype dtype = (wf_dtype)plan->operand[0].dtype;
  bool logs = plan->op == WF__LOG_SOFTMAX || plan->op == WF__LOG_SOFTMAX_BACKWARD;
  if (!wf_dtype_is_float(dtype)) return wf__no_kernel(logs ? "log_softmax_kernel_impl" : "softmax_kernel_impl", dtype);
  int64_t n = 1, length = plan->size[plan->ndim - 1];
  for (int d = 0; d < plan->ndim - 1; d++) n *= plan->size[d];
  if (n == 0 || length == 0) return WF_OK;
  wf__parallel(n, WF__GRAIN / 16 / length + 1, rows, (void *)plan);
  return WF_OK;
}
