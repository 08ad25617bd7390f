/* arange, linspace, eye. */
#include "base/convert.h"
#include "exec/families.h"
#include "exec/generate.h"
#include "kernel/tables.h"

typedef struct range {
  wf__range_kernel_fn fn;
  wf__range_args args;
} range;

static void make(const void *context, void *block, int64_t first, int64_t n) {
  const range *r = context;
  r->fn(&r->args, block, first, n);
}

wf_status wf__exec_range(const wf_plan *plan) {
  static const char *const names[] = {"arange_cpu", "linspace_cpu", "eye"};
  wf_dtype dtype = plan->operand[0].dtype;
  if (plan->op > WF__RANGE_EYE) return wf__no_kernel("range_cpu", dtype);
  if (dtype == WF_BOOL && plan->op != WF__RANGE_EYE) return wf__no_kernel(names[plan->op], dtype);
  const wf_scalar *s = plan->scalar;
  int64_t count = 1, last = plan->ndim - 1;
  for (int d = 0; d < plan->ndim; d++) count *= plan->size[d];
  range r = {.fn = wf__kernels_now()->range[plan->op],
             .args = {.dtype = dtype,
                      .start = wf__scalar_double(s[0]),
                      .end = wf__scalar_double(s[1]),
                      .step = wf__scalar_double(s[2]),
                      .first_integer = wf__scalar_int(s[0]),
                      .step_integer = wf__scalar_int(s[2]),
                      .count = count,
                      .columns = last >= 0 ? plan->size[last] : 1}};
  r.args.has_gaps = last >= 0 && plan->operand[0].stride[last] != (int64_t)wf_dtype_size(dtype);
  wf__generate(plan, make, &r);
  return WF_OK;
}
