/* Selecting, gathering, scattering and adding by index. Indices are checked before anything is written. */
#include "exec/families.h"
#include "exec/threads.h"
#include "kernel/kernel.h"
#include "kernel/neural.h"

static void columns(void *context, int64_t begin, int64_t end) { wf__ref_index(context, begin, end); }

static wf_status out_of_range(const wf_plan *plan, int64_t bad) {
  if (plan->op == WF__INDEX_SELECT || plan->op == WF__INDEX_ADD) return wf__fail(WF_INDEX, "index out of range in self");
  return wf__fail(WF_INDEX, "index %lld is out of bounds for dimension %lld with size %lld", (long long)bad,
                  (long long)plan->param.index.dim, (long long)plan->param.index.count);
}

wf_status wf__exec_index(const wf_plan *plan) {
  int64_t n = 1, length = plan->size[plan->param.index.dim], bad = 0;
  for (int d = 0; d < plan->ndim; d++) n *= d == plan->param.index.dim ? 1 : plan->size[d];
  if (!wf__ref_index_in_range(plan, &bad)) return out_of_range(plan, bad);
  if (n == 0 || length == 0) return WF_OK;
  wf__parallel(n, WF__GRAIN / 4 / length + 1, columns, (void *)plan);
  return WF_OK;
}
