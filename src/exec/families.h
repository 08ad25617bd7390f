/* The runners behind wf__exec: one function a family, each in exec/exec_<family>.c, and the table row that exec.c keeps of it. */
#ifndef WF_EXEC_FAMILIES_H
#define WF_EXEC_FAMILIES_H

#include <weft/sys/plan.h>
#include "base/error.h"

typedef struct wf__family_row {
  const char *name;                                   /* for error texts and printed plans */
  wf_status (*run)(const wf_plan *plan);              /* NULL: no kernels yet */
  size_t (*workspace)(const wf_plan *plan);           /* NULL: never wants any */
  bool (*prefers_channels_last)(const wf_plan *plan); /* NULL: never */
} wf__family_row;

/* The row of a family; never NULL, name "unknown" and no run for a number that isn't one. */
const wf__family_row *wf__family_of(const wf_plan *plan);

/* What a runner says that has no kernel for the plan: `"<kernel>" not implemented for '<T>'`. */
wf_status wf__no_kernel(const char *kernel, wf_dtype dtype);
/* "Float", "Long", …: PyTorch's ScalarType name, "Undefined" for none. */
const char *wf__scalar_type_name(wf_dtype dtype);

/* The runners, by family. */
wf_status wf__exec_copy(const wf_plan *plan);
wf_status wf__exec_pointwise(const wf_plan *plan);
wf_status wf__exec_optim(const wf_plan *plan);
wf_status wf__exec_random(const wf_plan *plan);
wf_status wf__exec_range(const wf_plan *plan);
wf_status wf__exec_reduce(const wf_plan *plan);
wf_status wf__exec_matmul(const wf_plan *plan);
wf_status wf__exec_conv(const wf_plan *plan);
size_t wf__exec_conv_workspace(const wf_plan *plan);
wf_status wf__exec_pool(const wf_plan *plan);
wf_status wf__exec_norm(const wf_plan *plan);
size_t wf__exec_norm_workspace(const wf_plan *plan);
wf_status wf__exec_softmax(const wf_plan *plan);
wf_status wf__exec_loss(const wf_plan *plan);
wf_status wf__exec_index(const wf_plan *plan);
wf_status wf__exec_scan(const wf_plan *plan);
size_t wf__exec_scan_workspace(const wf_plan *plan);

/* INDEX by several index tensors or by a mask (exec_advanced_index.c), and how an index out of range is refused. */
wf_status wf__exec_advanced_index(const wf_plan *plan);
wf_status wf__refuse_index(const wf_plan *plan, int refusal, int64_t bad, int64_t dim, int64_t entries);

#endif
