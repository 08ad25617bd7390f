/* Setting up and positioning of walks. */
#include "exec/walk.h"

void wf__walk_of(wf__walk *walk, const wf_plan *plan, int operands, uint32_t inner) {
  walk->ndim = 0;
  walk->operands = operands;
  walk->count = 1;
  for (int o = 0; o < operands; o++) walk->base[o] = plan->operand[o].data;
  for (int d = 0; d < plan->ndim; d++) {
    if (inner >> d & 1) continue;
    int k = walk->ndim++;
    walk->size[k] = plan->size[d];
    walk->count *= plan->size[d];
    for (int o = 0; o < operands; o++) walk->stride[o][k] = plan->operand[o].data ? plan->operand[o].stride[d] : 0;
  }
}

void wf__walk_seek(const wf__walk *walk, int64_t n, wf__cursor *cursor) {
  for (int o = 0; o < walk->operands; o++) cursor->at[o] = walk->base[o];
  for (int d = walk->ndim - 1; d >= 0; d--) {
    int64_t i = n % walk->size[d];
    n /= walk->size[d];
    cursor->index[d] = i;
    for (int o = 0; o < walk->operands; o++) cursor->at[o] += i * walk->stride[o][d];
  }
}
