/* Selecting, gathering, scattering and adding by index. Indices are checked before anything is written. */
#include "exec/families.h"
#include "exec/threads.h"
#include "kernel/indexing.h"
#include "kernel/kernel.h"
#include "kernel/neural.h"

static void columns(void *context, int64_t begin, int64_t end) { wf__ref_index(context, begin, end); }

wf_status wf__refuse_index(const wf_plan *plan, int refusal, int64_t bad, int64_t dim, int64_t entries) {
  const char *text = "%sindex %lld is out of bounds for dimension %lld with size %lld";
  bool by_vector = plan->op == WF__INDEX_SELECT || plan->op == WF__INDEX_ADD;
  if (refusal == WF__REFUSE_DEFAULT && by_vector) refusal = WF__REFUSE_SELF;
  switch ((wf__index_refusal)refusal) {
    case WF__REFUSE_SELF: return wf__fail(WF_INDEX, "index out of range in self");
    case WF__REFUSE_TAKE:
      return wf__fail(WF_INDEX, "out of range: tried to access index %lld on a tensor of %lld elements.",
                      (long long)bad, (long long)entries);
    case WF__REFUSE_BRACKET: return wf__fail(WF_INDEX, text, "", (long long)bad, (long long)dim, (long long)entries);
    case WF__REFUSE_COPY:
      return wf__fail(WF_INDEX, text, "index_copy_(): ", (long long)bad, (long long)dim, (long long)entries);
    case WF__REFUSE_DATA:
      return wf__fail(WF_RUNTIME, "INDICES element is out of DATA bounds, id=%lld axis_dim=%lld", (long long)bad,
                      (long long)entries);
    case WF__REFUSE_DEFAULT: break;
  }
  return wf__fail(WF_RUNTIME, text, "", (long long)bad, (long long)dim, (long long)entries);
}

wf_status wf__exec_index(const wf_plan *plan) {
  if (plan->op >= WF__INDEX_GET) return wf__exec_advanced_index(plan);
  int64_t n = 1, length = plan->size[plan->param.index.dim], bad = 0;
  for (int d = 0; d < plan->ndim; d++) n *= d == plan->param.index.dim ? 1 : plan->size[d];
  if (!wf__ref_index_in_range(plan, &bad))
    return wf__refuse_index(plan, (int)plan->param.index.step, bad, plan->param.index.dim, plan->param.index.count);
  if (n == 0 || length == 0) return WF_OK;
  wf__parallel(n, WF__GRAIN / 4 / length + 1, columns, (void *)plan);
  return WF_OK;
}
