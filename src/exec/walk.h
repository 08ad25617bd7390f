/* Walking the outer dims of a plan: a mixed-radix counter over sizes and byte strides of all operands. Inner loops belong to the
 * families; each step costs a few additions an operand, so rows should be long or the family should take two dims inside. */
#ifndef WF_EXEC_WALK_H
#define WF_EXEC_WALK_H

#include <weft/sys/plan.h>

typedef struct wf__walk {
  int ndim, operands;
  int64_t count;                                 /* product of size; 1 without dims */
  int64_t size[WF_MAX_DIMS];                     /* fastest last */
  int64_t stride[WF_PLAN_OPERANDS][WF_MAX_DIMS]; /* bytes */
  char *base[WF_PLAN_OPERANDS];
} wf__walk;

typedef struct wf__cursor {
  int64_t index[WF_MAX_DIMS];
  char *at[WF_PLAN_OPERANDS];
} wf__cursor;

/* All dims of the plan but those whose bit is set in `inner`, for its first `operands` operands. */
void wf__walk_of(wf__walk *walk, const wf_plan *plan, int operands, uint32_t inner);
/* Stands at step n of the walk. */
void wf__walk_seek(const wf__walk *walk, int64_t n, wf__cursor *cursor);

static inline void wf__walk_next(const wf__walk *walk, wf__cursor *cursor) {
  for (int d = walk->ndim - 1; d >= 0; d--) {
    if (++cursor->index[d] < walk->size[d]) {
      for (int o = 0; o < walk->operands; o++) cursor->at[o] += walk->stride[o][d];
      return;
    }
    cursor->index[d] = 0;
    for (int o = 0; o < walk->operands; o++) cursor->at[o] -= walk->stride[o][d] * (walk->size[d] - 1);
  }
}

#endif
