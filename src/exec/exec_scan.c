/* Along one dim: cumulative sums and products, sort, topk. Columns (places in the other dims) are independent and shared out to threads;
 * elements go through blocks on the stack, so any strides and casts will do.
 *
 * Sorting wants room for its keys: 32 bytes an element of a column, for at most SLOTS columns at a time. */
#include "base/convert.h"
#include "exec/families.h"
#include "exec/threads.h"
#include "exec/walk.h"
#include "kernel/indexing.h"
#include "kernel/kernel.h"
#include "kernel/tables.h"

#define BLOCK 512
#define SLOTS 16

typedef struct job {
  const wf_plan *plan;
  wf__walk walk; /* all dims but the scanned one */
  int64_t slots; /* sorting: columns worked on at a time */
} job;

static int log_of(int64_t size) { return __builtin_ctzll((unsigned long long)size); }

/* ---- cumulation --------------------------------------------------------------------------------------------------------------------- */

static void cumulate_column(const wf_plan *p, char *out, const char *in) {
  const wf__kernels *kernels = wf__kernels_now();
  int dim = (int)p->param.index.dim;
  wf_dtype to = p->operand[0].dtype, from = p->operand[1].dtype;
  bool product = p->op == WF__SCAN_CUMPROD, is_float = wf_dtype_is_float(to);
  int64_t out_stride = p->operand[0].stride[dim], in_stride = p->operand[1].stride[dim];
  int to_log = log_of((int64_t)wf_dtype_size(to)), from_log = log_of((int64_t)wf_dtype_size(from));
  wf__carry carry = {.i = product};
  if (is_float) carry.f = product;
  char gathered[BLOCK * 8], block[BLOCK * 8];
  for (int64_t i = 0; i < p->size[dim]; i += BLOCK) {
    int64_t n = p->size[dim] - i < BLOCK ? p->size[dim] - i : BLOCK;
    kernels->gather[from_log](gathered, in + i * in_stride, in_stride, n);
    kernels->convert[from][to](block, gathered, n);
    wf__ref_cumulate(to, product, block, n, &carry);
    kernels->scatter[to_log](out + i * out_stride, out_stride, block, n);
  }
}

static void cumulate_columns(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  wf__cursor at;
  wf__walk_seek(&j->walk, begin, &at);
  for (int64_t c = begin; c < end; c++, wf__walk_next(&j->walk, &at)) cumulate_column(j->plan, at.at[0], at.at[1]);
}

/* ---- sorting ---------------------------------------------------------------------------------------------------------------------- */

static int64_t column_count(const wf_plan *plan) {
  int64_t n = 1;
  for (int d = 0; d < plan->ndim; d++) n *= d == plan->param.index.dim ? 1 : plan->size[d];
  return n;
}

static bool sorts(const wf_plan *plan) { return plan->op == WF__SCAN_SORT || plan->op == WF__SCAN_TOPK; }
static int64_t slots_of(int64_t columns) { return columns < SLOTS ? columns : SLOTS; }

size_t wf__exec_scan_workspace(const wf_plan *plan) {
  if (!sorts(plan) || plan->size[plan->param.index.dim] == 0) return 0;
  return (size_t)(slots_of(column_count(plan)) * 2 * plan->param.index.count) * sizeof(wf__sort_entry);
}

static void sort_column(const wf_plan *p, wf__sort_entry *scratch, char *values, char *indices, const char *in) {
  const wf__kernels *kernels = wf__kernels_now();
  int dim = (int)p->param.index.dim, log = log_of((int64_t)wf_dtype_size(p->operand[2].dtype));
  int64_t n = p->param.index.count, in_stride = p->operand[2].stride[dim];
  wf__ref_sort_keys(p->operand[2].dtype, in, in_stride, n, p->param.index.flag, scratch);
  const wf__sort_entry *sorted = wf__ref_sort(scratch, scratch + n, n, 1 << log);
  for (int64_t i = 0; i < p->size[dim]; i++) {
    kernels->gather[log](values + i * p->operand[0].stride[dim], in + sorted[i].at * in_stride, 0, 1);
    *(int64_t *)(indices + i * p->operand[1].stride[dim]) = sorted[i].at;
  }
}

/* Each slot has a range of columns and scratch of its own. */
static void sort_slots(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  int64_t columns = j->walk.count, step = (columns + j->slots - 1) / j->slots;
  for (int64_t slot = begin; slot < end; slot++) {
    wf__sort_entry *scratch = (wf__sort_entry *)j->plan->operand[3].data + slot * 2 * j->plan->param.index.count;
    int64_t first = slot * step, last = first + step < columns ? first + step : columns;
    if (first >= last) continue;
    wf__cursor at;
    wf__walk_seek(&j->walk, first, &at);
    for (int64_t c = first; c < last; c++, wf__walk_next(&j->walk, &at))
      sort_column(j->plan, scratch, at.at[0], at.at[1], at.at[2]);
  }
}

/* ---- which ------------------------------------------------------------------------------------------------------------------------ */

wf_status wf__exec_scan(const wf_plan *plan) {
  job j = {.plan = plan};
  int64_t length = plan->size[plan->param.index.dim];
  wf__walk_of(&j.walk, plan, sorts(plan) ? 3 : 2, 1u << plan->param.index.dim);
  if (j.walk.count == 0 || length == 0) return WF_OK;
  if (!sorts(plan)) {
    wf__parallel(j.walk.count, WF__GRAIN / length + 1, cumulate_columns, &j);
    return WF_OK;
  }
  j.slots = slots_of(j.walk.count);
  wf__parallel(j.slots, WF__GRAIN / 16 * j.slots / (j.walk.count * plan->param.index.count) + 1, sort_slots, &j);
  return WF_OK;
}
