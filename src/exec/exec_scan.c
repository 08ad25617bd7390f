/* Along one dim: cumulative sums and products, sort, topk. Columns (places in the other dims) are independent and shared out to threads;
 * elements that have to be cast go through blocks on the stack.
 *
 * Sorting wants room for its keys: 32 bytes an element of a column, for at most SLOTS columns at a time. */
#include <stdlib.h>
#include <string.h>

#include "base/convert.h"
#include "exec/families.h"
#include "exec/threads.h"
#include "exec/walk.h"
#include "kernel/indexing.h"
#include "kernel/kernel.h"
#include "kernel/tables.h"

#define SLOTS 16
#define FEW 128        /* topk of at most so many, and at most an eighth, selects; else it sorts */
#define RUNS 8         /* columns side by side … */
#define NEIGHBOURS 256 /* … or so many, if they lie side by side in memory; COLUMNS may be one */
#define BLOCK 2048     /* elements of all of them that are cast at a time */

typedef struct job {
  const wf_plan *plan;
  wf__walk walk; /* all dims but the scanned one, and `side` */
  int64_t slots; /* sorting: columns worked on at a time */
  /* cumulation */
  const wf__kernels *kernels;
  wf__cumulate_fn cumulate;
  wf_dtype wide; /* what the kernel's elements are */
  int side;      /* the dim along which columns are taken side by side; -1: none */
  bool neighbours;
  int64_t together, groups;
} job;

static int log_of(int64_t size) { return __builtin_ctzll((unsigned long long)size); }

/* ---- cumulation --------------------------------------------------------------------------------------------------------------------- */

/* n elements into the block, and back. */
static void load(const job *j, char *to, const char *from, int64_t stride, int64_t n) {
  wf_dtype dtype = j->plan->operand[1].dtype, result = j->plan->operand[0].dtype;
  char gathered[BLOCK * 8], cast[BLOCK * 8];
  const char *now = from;
  int64_t size = (int64_t)wf_dtype_size(dtype);
  if (stride != size) {
    j->kernels->gather[log_of(size)](gathered, from, stride, n);
    now = gathered;
  }
  bool twice = dtype != result && result != j->wide;
  if (twice) j->kernels->convert[dtype][result](cast, now, n);
  j->kernels->convert[twice ? result : dtype][j->wide](to, twice ? cast : now, n);
}

static void store(const job *j, char *to, int64_t stride, const char *from, int64_t n) {
  wf_dtype result = j->plan->operand[0].dtype;
  int64_t size = (int64_t)wf_dtype_size(result);
  char cast[BLOCK * 8];
  bool follow = stride == size;
  j->kernels->convert[j->wide][result](follow ? to : cast, from, n);
  if (!follow) j->kernels->scatter[log_of(size)](to, stride, cast, n);
}

/* Lines of elements that lie as they will in the block, where neighbours stay neighbours: steps or runs, or all in one line. */
typedef struct lines {
  int64_t count, length, in, in_step, out, out_step;
} lines;

static lines lines_of(const job *j, const wf__runs *r, int64_t n) {
  int64_t in = (int64_t)wf_dtype_size(j->plan->operand[1].dtype),
          out = (int64_t)wf_dtype_size(j->plan->operand[0].dtype);
  if (j->neighbours) return (lines){n, r->runs, r->in_step, r->in_run, r->out_step, r->out_run};
  bool follow = n == r->n && r->in_step == in && r->out_step == out && r->in_run == n * in && r->out_run == n * out;
  if (follow) return (lines){1, r->runs * n, 0, in, 0, out};
  return (lines){r->runs, n, r->in_run, r->in_step, r->out_run, r->out_step};
}

/* A group of runs by way of a block. */
static void cumulate_cast(const job *j, const wf__runs *all, void *carry) {
  char block[BLOCK * 8] __attribute__((aligned(64)));
  int64_t wide = (int64_t)wf_dtype_size(j->wide), most = BLOCK / all->runs;
  bool casts_result = j->plan->operand[0].dtype != j->wide;
  for (int64_t i = 0; i < all->n; i += most) {
    wf__runs r = *all;
    const char *from = (const char *)all->in + i * all->in_step;
    char *to = (char *)all->out + i * all->out_step;
    r.n = all->n - i < most ? all->n - i : most;
    lines l = lines_of(j, all, r.n);
    for (int64_t k = 0; k < l.count; k++) load(j, block + k * l.length * wide, from + k * l.in, l.in_step, l.length);
    r.in = block;
    r.in_run = j->neighbours ? wide : r.n * wide;
    r.in_step = j->neighbours ? r.runs * wide : wide;
    r.out = to;
    if (casts_result) {
      r.out = block;
      r.out_run = r.in_run;
      r.out_step = r.in_step;
    }
    j->cumulate(&r, carry);
    for (int64_t k = 0; k < l.count && casts_result; k++)
      store(j, to + k * l.out, l.out_step, block + k * l.length * wide, l.length);
  }
}

/* Bytes of what a run is added up in. */
static size_t carry_size(wf_dtype result) {
  bool wide = result == WF_F32 || result == WF_F64 || result == WF_I64 || result == WF_BOOL;
  return wide ? 8 : 4;
}

/* Sums begin at 0, products at 1. */
static void begin(const job *j, char *carry, int64_t runs) {
  wf_dtype dtype = j->plan->operand[0].dtype;
  size_t size = carry_size(dtype), bytes = (size_t)runs * size;
  if (j->plan->op != WF__SCAN_CUMPROD) {
    memset(carry, 0, bytes);
    return;
  }
  wf_dtype wide_one = wf_dtype_is_float(dtype) ? WF_F64 : WF_I64, one = wf_dtype_is_float(dtype) ? WF_F32 : WF_I32;
  wf__scalar_store(wf_int(1), size == 8 ? wide_one : one, carry);
  for (size_t done = size; done < bytes; done *= 2)
    memcpy(carry + done, carry, done < bytes - done ? done : bytes - done);
}

static void cumulate_groups(void *context, int64_t first, int64_t last) {
  const job *j = context;
  const wf_plan *p = j->plan;
  char carry[NEIGHBOURS * 8] __attribute__((aligned(64)));
  int dim = (int)p->param.index.dim, side = j->side;
  bool direct = p->operand[0].dtype == p->operand[1].dtype && p->operand[0].dtype == j->wide;
  int64_t size = side >= 0 ? p->size[side] : 1;
  wf__cursor at;
  wf__walk_seek(&j->walk, first / j->groups, &at);
  for (int64_t unit = first, group = first % j->groups; unit < last; unit++) {
    int64_t run = group * j->together;
    wf__runs r = {.runs = size - run < j->together ? size - run : j->together, .n = p->size[dim]};
    r.out_run = side >= 0 ? p->operand[0].stride[side] : 0;
    r.in_run = side >= 0 ? p->operand[1].stride[side] : 0;
    r.out_step = p->operand[0].stride[dim];
    r.in_step = p->operand[1].stride[dim];
    r.out = at.at[0] + run * r.out_run;
    r.in = at.at[1] + run * r.in_run;
    begin(j, carry, r.runs);
    if (direct) j->cumulate(&r, carry);
    else cumulate_cast(j, &r, carry);
    if (++group < j->groups) continue;
    group = 0;
    wf__walk_next(&j->walk, &at);
  }
}

/* The kept dim that is fastest in the input. */
static int side_of(const wf_plan *p) {
  int side = -1;
  for (int d = 0; d < p->ndim; d++)
    if (d != p->param.index.dim && p->size[d] > 1 &&
        (side < 0 || llabs(p->operand[1].stride[d]) < llabs(p->operand[1].stride[side])))
      side = d;
  return side;
}

static void cumulate(job *j) {
  const wf_plan *p = j->plan;
  wf_dtype to = p->operand[0].dtype;
  int dim = (int)p->param.index.dim;
  j->kernels = wf__kernels_now();
  j->wide = to == WF_BOOL ? WF_I64 : wf_dtype_is_float(to) && to != WF_F64 ? WF_F32 : to;
  j->cumulate = j->kernels->cumulate[to][p->op == WF__SCAN_CUMPROD];
  j->side = side_of(p);
  j->neighbours = j->side >= 0 && p->operand[1].stride[j->side] == (int64_t)wf_dtype_size(p->operand[1].dtype) &&
                  p->operand[0].stride[j->side] == (int64_t)wf_dtype_size(to);
  int64_t fit = BLOCK / p->size[dim]; /* short ones fill a block */
  j->together = j->neighbours || fit > NEIGHBOURS ? NEIGHBOURS : fit > RUNS ? fit : RUNS;
  int64_t runs = j->side >= 0 ? p->size[j->side] : 1;
  j->groups = (runs + j->together - 1) / j->together;
  wf__walk_of(&j->walk, p, 2, 1u << dim | (j->side >= 0 ? 1u << j->side : 0));
  int64_t work = p->size[dim] * (runs < j->together ? runs : j->together);
  wf__parallel(j->walk.count * j->groups, WF__GRAIN / work + 1, cumulate_groups, j);
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

static void move(char *to, const char *from, int log) {
  switch (log) {
    case 0: *to = *from; break;
    case 1: memcpy(to, from, 2); break;
    case 2: memcpy(to, from, 4); break;
    default: memcpy(to, from, 8); break;
  }
}

static void sort_column(const wf_plan *p, wf__sort_entry *scratch, char *values, char *indices, const char *in) {
  int dim = (int)p->param.index.dim, log = log_of((int64_t)wf_dtype_size(p->operand[2].dtype));
  int64_t n = p->param.index.count, k = p->size[dim], in_stride = p->operand[2].stride[dim];
  const wf__sort_entry *sorted = scratch;
  if (k <= FEW && k <= n / 8) {
    wf__ref_select(p->operand[2].dtype, in, in_stride, n, p->param.index.flag, k, scratch);
  } else {
    wf__ref_sort_keys(p->operand[2].dtype, in, in_stride, n, p->param.index.flag, scratch);
    sorted = wf__ref_sort(scratch, scratch + n, n, 1 << log);
  }
  for (int64_t i = 0; i < k; i++) {
    move(values + i * p->operand[0].stride[dim], in + sorted[i].at * in_stride, log);
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
  if (length == 0 || column_count(plan) == 0) return WF_OK;
  if (!sorts(plan)) {
    cumulate(&j);
    return WF_OK;
  }
  wf__walk_of(&j.walk, plan, 3, 1u << plan->param.index.dim);
  j.slots = slots_of(j.walk.count);
  wf__parallel(j.slots, WF__GRAIN / 16 * j.slots / (j.walk.count * plan->param.index.count) + 1, sort_slots, &j);
  return WF_OK;
}
