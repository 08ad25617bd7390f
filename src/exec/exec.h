/* Runs a plan on host memory: chooses the kernel, splits it over OpenMP threads, calls OpenBLAS and oneDNN. The cpu and sim
 * backends both stand on it. */
#ifndef WF_EXEC_EXEC_H
#define WF_EXEC_EXEC_H

#include <weft/base.h>
#include <weft/sys/plan.h>

/* Runs the plan to its end on this thread and its team. Operand pointers are host addresses. Errors: WF_NOT_IMPLEMENTED with
 * PyTorch's text (`"<kernel>" not implemented for '<T>'`), values that a kernel refuses (index out of range, ZeroDivisionError),
 * library failures. Outputs may hold anything after an error. */
wf_status wf__exec(const wf_plan *plan);
/* Bytes of workspace that wf__exec wants as the operand behind the plan's own; 0 none. */
size_t wf__exec_workspace(const wf_plan *plan);
/* Whether a library does this plan in these layouts without reordering activations; fronts use it to choose output layouts. */
bool wf__exec_prefers_channels_last(const wf_plan *plan);

#endif
