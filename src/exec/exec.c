/* Dispatch of a plan to its family's runner. The table is the only place that knows all families. */
#include "exec/exec.h"

#include <stdio.h>

#include "exec/families.h"
#include "exec/threads.h"

static const wf__family_row families[] = {
    [WF_FAMILY_COPY] = {.name = "copy", .run = wf__exec_copy},
    [WF_FAMILY_POINTWISE] = {.name = "pointwise", .run = wf__exec_pointwise},
    [WF_FAMILY_REDUCE] = {.name = "reduce", .run = wf__exec_reduce},
    [WF_FAMILY_RANDOM] = {.name = "random", .run = wf__exec_random},
    [WF_FAMILY_RANGE] = {.name = "range", .run = wf__exec_range},
    [WF_FAMILY_MATMUL] = {.name = "matmul", .run = wf__exec_matmul},
    [WF_FAMILY_CONV] = {.name = "conv", .run = wf__exec_conv, .workspace = wf__exec_conv_workspace},
    [WF_FAMILY_POOL] = {.name = "pool", .run = wf__exec_pool},
    [WF_FAMILY_NORM] = {.name = "norm", .run = wf__exec_norm, .workspace = wf__exec_norm_workspace},
    [WF_FAMILY_SOFTMAX] = {.name = "softmax", .run = wf__exec_softmax},
    [WF_FAMILY_LOSS] = {.name = "loss", .run = wf__exec_loss},
    [WF_FAMILY_INDEX] = {.name = "index", .run = wf__exec_index},
    [WF_FAMILY_SCAN] = {.name = "scan", .run = wf__exec_scan, .workspace = wf__exec_scan_workspace},
    [WF_FAMILY_OPTIM] = {.name = "optim", .run = wf__exec_optim},
};

const wf__family_row *wf__family_of(const wf_plan *plan) {
  static const wf__family_row unknown = {.name = "unknown"};
  if (plan->family >= sizeof families / sizeof *families || !families[plan->family].name) return &unknown;
  return &families[plan->family];
}

const char *wf__scalar_type_name(wf_dtype dtype) {
  static const char *const names[WF_DTYPE_COUNT] = {[WF_DTYPE_NONE] = "Undefined",
#define WF_X(NAME, value, bytes, kind, brief, name, scalar_type, ...) [value] = scalar_type,
                                                    WF_DTYPE_TABLE(WF_X)
#undef WF_X
  };
  return names[(unsigned)dtype < WF_DTYPE_COUNT ? dtype : WF_DTYPE_NONE];
}

wf_status wf__no_kernel(const char *kernel, wf_dtype dtype) {
  return wf__fail(WF_NOT_IMPLEMENTED, "\"%s\" not implemented for '%s'", kernel, wf__scalar_type_name(dtype));
}

/* The dtype that a kernel of the plan would be chosen by. */
static wf_dtype deciding_dtype(const wf_plan *plan) {
  if (plan->compute) return (wf_dtype)plan->compute;
  return plan->operands ? plan->operand[0].dtype : WF_DTYPE_NONE;
}

wf_status wf__exec(const wf_plan *plan) {
  const wf__family_row *family = wf__family_of(plan);
  wf__team_used();
  if (family->run) return family->run(plan);
  char kernel[40];
  snprintf(kernel, sizeof kernel, "%s_cpu", plan->tag.op ? plan->tag.op : family->name);
  return wf__no_kernel(kernel, deciding_dtype(plan));
}

size_t wf__exec_workspace(const wf_plan *plan) {
  const wf__family_row *family = wf__family_of(plan);
  return family->workspace ? family->workspace(plan) : 0;
}

bool wf__exec_prefers_channels_last(const wf_plan *plan) {
  const wf__family_row *family = wf__family_of(plan);
  return family->prefers_channels_last && family->prefers_channels_last(plan);
}
