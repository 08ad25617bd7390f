/* In which order of dims an operand of a plan fills its extent. */
#ifndef WF_EXEC_FORMAT_H
#define WF_EXEC_FORMAT_H

#include <weft/sys/plan.h>

/* Whether operand i has all its elements one after the other, channels (dim 1) fastest and the other dims row by row. */
static inline bool wf__is_channels_last(const wf_plan *plan, int i) {
  const wf_operand *o = &plan->operand[i];
  int64_t expected = (int64_t)wf_dtype_size((wf_dtype)o->dtype);
  for (int k = plan->rank[i] - 1; k >= 0; k--) {
    int d = k == plan->rank[i] - 1 ? 1 : k == 0 ? 0 : k + 1;
    if (plan->rank[i] == 1) d = 0;
    if (plan->shape[i][d] != 1 && o->stride[d] != expected) return false;
    expected *= plan->shape[i][d];
  }
  return true;
}

/* The same, row by row in the order of the dims. */
static inline bool wf__is_row_major(const wf_plan *plan, int i) {
  const wf_operand *o = &plan->operand[i];
  int64_t expected = (int64_t)wf_dtype_size((wf_dtype)o->dtype);
  for (int d = plan->rank[i] - 1; d >= 0; d--) {
    if (plan->shape[i][d] != 1 && o->stride[d] != expected) return false;
    expected *= plan->shape[i][d];
  }
  return true;
}

#endif
