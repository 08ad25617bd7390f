/* Rows of the operand are cut into blocks; a block is made in place or, where the operand has gaps, on the stack. */
#include "exec/generate.h"

#include "exec/threads.h"
#include "exec/walk.h"
#include "kernel/tables.h"

typedef struct job {
  wf__walk walk;
  wf__generate_fn fn;
  const void *context;
  wf__scatter_fn scatter;
  int64_t size, n, stride, blocks;
} job;

static void do_blocks(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  char gathered[WF__GENERATE_BLOCK * 8] __attribute__((aligned(64)));
  wf__cursor at;
  int64_t row = begin / j->blocks;
  wf__walk_seek(&j->walk, row, &at);
  for (int64_t unit = begin, block = begin % j->blocks; unit < end; unit++) {
    int64_t first = block * WF__GENERATE_BLOCK,
            n = j->n - first < WF__GENERATE_BLOCK ? j->n - first : WF__GENERATE_BLOCK;
    char *dst = at.at[0] + first * j->stride;
    bool direct = j->stride == j->size;
    j->fn(j->context, direct ? dst : gathered, row * j->n + first, n);
    if (!direct) j->scatter(dst, j->stride, gathered, n);
    if (++block < j->blocks) continue;
    block = 0;
    row++;
    wf__walk_next(&j->walk, &at);
  }
}

void wf__generate(const wf_plan *plan, wf__generate_fn fn, const void *context) {
  int last = plan->ndim - 1;
  int64_t size = (int64_t)wf_dtype_size(plan->operand[0].dtype), count = 1;
  for (int d = 0; d < plan->ndim; d++) count *= plan->size[d];
  if (count == 0) return;
  job j = {
      .fn = fn, .context = context, .size = size, .scatter = wf__kernels_now()->scatter[__builtin_ctz((unsigned)size)]};
  j.n = last >= 0 ? plan->size[last] : 1;
  j.stride = last >= 0 ? plan->operand[0].stride[last] : size;
  j.blocks = (j.n + WF__GENERATE_BLOCK - 1) / WF__GENERATE_BLOCK;
  wf__walk_of(&j.walk, plan, 1, last >= 0 ? 1u << last : 0);
  int64_t unit = j.n < WF__GENERATE_BLOCK ? j.n : WF__GENERATE_BLOCK;
  /* An element costs tens of cycles here, so a team pays from an eighth of the usual grain on. */
  wf__parallel(j.walk.count * j.blocks, (WF__GRAIN / 8 + unit - 1) / unit, do_blocks, &j);
}
