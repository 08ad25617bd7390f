/* Shared by the files of copy/. */
#ifndef WF_COPY_INTERNAL_H
#define WF_COPY_INTERNAL_H

#include "copy/copy.h"
#include "copy/form.h"

/* The COPY plan dst := src with src broadcast to dst, in dst's own dims. Errors: PyTorch's texts for shapes that don't broadcast. */
wf_status wf__copy_plan(wf_plan *plan, const wf_tensor *dst, const wf_tensor *src);
/* The COPY plan of a fill, in dst's own dims, without the number. */
void wf__copy_fill_plan(wf_plan *plan, const wf_tensor *dst);
/* Stamps kind, bytes and asked-for on a plan and refuses or reports an implicit copy as the thread's policy says. */
wf_status wf__copy_account(wf_plan *plan, const wf_tensor *src, bool implicit);
/* Of a plan in normal form: whether a write may hit an element that is still to be read, whether each element is copied onto itself, and how
 * many elements operand o has at different places. */
bool wf__copy_disturbs_source(const wf_plan *plan);
bool wf__copy_is_onto_itself(const wf_plan *plan);
int64_t wf__copy_distinct(const wf_plan *plan, int o);
/* dst := src between a host and a device or two devices; the plan is in normal form and has elements. */
wf_status wf__copy_between(wf_tensor *dst, const wf_tensor *src, const wf_plan *plan, bool non_blocking, bool implicit);

#endif
