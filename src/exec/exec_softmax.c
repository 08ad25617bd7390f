/* softmax, log_softmax and their derivatives along the plan's last dim.
 *
 *   rows     that dim is consecutive: a row that fits L1 is read, kept there and written once; a longer one is read twice, block by block
 *   columns  another dim is, or rows are short and many: neighbours are reduced together, a vector at a time, in two passes over blocks of rows
 *
 * An operand that a kernel can't read or write where it lies is gathered, transposed or cast by way of a block. Sums are f32 for f32 and halves:
 * 32 lanes of them in rows, parts of 8 in columns. */
#include <math.h>
#include <string.h>

#include "exec/families.h"
#include "exec/past_cache.h"
#include "exec/threads.h"
#include "exec/walk.h"
#include "kernel/neural.h"
#include "kernel/tables.h"

#define KEEP 32768 /* bytes of the longest row that is kept in L1 */
#define PIECE 2048 /* elements of a longer one at a time */
#define COLUMNS \
  256 /* columns reduced together at least: runs of 1 KiB of f32, so that whole pages aren't opened for a line */
#define MOST_COLUMNS 2048    /* and at most, where they are used in place: longer runs are fetched better, … */
#define IN_CACHE (512 << 10) /* … but the second pass should find what the first has read */
#define SHORT_ROW 16         /* elements of rows that are turned round and taken as columns */
#define MANY_ROWS 32         /* where there are so many of them */
#define ROWS 32              /* of them at a time, where they go through a block: 32 KiB of f32 an operand */
#define OPERANDS 3

typedef struct job {
  const wf_plan *plan;
  const wf__kernels *kernels;
  const wf__softmax_kernels *soft;
  wf__convert_fn widen, narrow; /* halves from and to f32; else NULL */
  int64_t size, wide;           /* bytes of an element in memory and in the kernel */
  int log_size;
  int inputs;
  wf__walk walk;
  int64_t n, stride[OPERANDS];        /* along the dim */
  int64_t cols, col_stride[OPERANDS]; /* columns: the dim that is consecutive */
  int64_t blocks, block;              /* it is cut into blocks of `block` columns */
  bool stream;
} job;

/* Room for blocks: as they lie in memory, and as the kernel sees them. */
typedef struct room {
  char raw[ROWS * COLUMNS * 8] __attribute__((aligned(64)));
  char block[OPERANDS][ROWS * COLUMNS * 8] __attribute__((aligned(64)));
} room;

static bool is_wide(const job *j) { return !j->widen; }

/* n pairs (-inf, 0) of the class's type. */
static void begin_sums(const job *j, char *top, char *sum, int64_t n) {
  const float least_f32 = -INFINITY;
  const double least_f64 = -INFINITY;
  for (int64_t i = 0; i < n; i++)
    memcpy(top + i * j->wide, j->wide == 4 ? (const void *)&least_f32 : &least_f64, (size_t)j->wide);
  memset(sum, 0, (size_t)(n * j->wide));
}

/* ---- rows ------------------------------------------------------------------------------------------------------------------ */

/* n elements of operand o as the kernel reads them: where they are, or in the operand's block. */
static const void *load(const job *j, int o, const char *src, int64_t n, room *r) {
  const char *now = src;
  if (j->stride[o] != j->size) {
    char *to = is_wide(j) ? r->block[o] : r->raw;
    j->kernels->gather[j->log_size](to, src, j->stride[o], n);
    now = to;
  }
  if (is_wide(j)) return now;
  j->widen(r->block[o], now, n);
  return r->block[o];
}

static void store(const job *j, char *dst, const char *block, int64_t n, room *r) {
  const char *now = block;
  if (!is_wide(j)) {
    j->narrow(r->raw, block, n);
    now = r->raw;
  }
  if (j->stride[0] != j->size) j->kernels->scatter[j->log_size](dst, j->stride[0], now, n);
  else if (j->stream) j->kernels->stream(dst, now, n * j->size);
  else memcpy(dst, now, (size_t)(n * j->size));
}

static bool writes_in_place(const job *j) { return is_wide(j) && j->stride[0] == j->size; }

static void short_row(const job *j, char *const *at, const char *next, room *r) {
  const void *x = load(j, 1, at[1], j->n, r);
  if (x != at[1]) next = NULL;
  if (writes_in_place(j)) {
    j->soft->row(at[0], x, r->block[0], j->n, next, j->stream);
    return;
  }
  j->soft->row(r->block[0], x, r->block[0], j->n, next, false);
  store(j, at[0], r->block[0], j->n, r);
}

static void long_row(const job *j, char *const *at, room *r) {
  char top[8] __attribute__((aligned(8))), sum[8] __attribute__((aligned(8)));
  const void *in[OPERANDS - 1];
  begin_sums(j, top, sum, 1);
  for (int pass = 0; pass < 2; pass++) {
    for (int64_t i = 0; i < j->n; i += PIECE) {
      int64_t n = j->n - i < PIECE ? j->n - i : PIECE;
      for (int k = 0; k < j->inputs; k++) in[k] = load(j, k + 1, at[k + 1] + i * j->stride[k + 1], n, r);
      if (pass == 0) {
        j->soft->take(top, sum, in, n);
        continue;
      }
      char *dst = at[0] + i * j->stride[0];
      bool direct = writes_in_place(j);
      j->soft->map(direct ? dst : r->block[0], in, n, top, sum, false, direct && j->stream);
      if (!direct) store(j, dst, r->block[0], n, r);
    }
    if (pass == 0 && j->soft->finish) j->soft->finish(sum, 1);
  }
}

static void do_rows(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  room r;
  wf__cursor at;
  bool is_short = j->soft->row && j->n * j->wide <= KEEP;
  wf__walk_seek(&j->walk, begin, &at);
  for (int64_t row = begin; row < end; row++) {
    char *now[OPERANDS];
    memcpy(now, at.at, sizeof now);
    wf__walk_next(&j->walk, &at);
    if (is_short) short_row(j, now, at.at[1], &r);
    else long_row(j, now, &r);
  }
  if (j->stream) wf__stream_fence();
}

/* ---- columns ------------------------------------------------------------------------------------------------------------------ */

/* `rows` rows of operand o: where they are, or in its block. */
static const void *load_tile(const job *j, int o, const char *src, int64_t rows, int64_t cols, room *r,
                             int64_t *stride) {
  int64_t row = j->stride[o], col = j->col_stride[o];
  *stride = row;
  if (col != j->size) {
    char *to = is_wide(j) ? r->block[o] : r->raw;
    if (row == j->size) j->kernels->transpose[j->log_size](to, COLUMNS * j->size, src, col, rows, cols);
    else
      for (int64_t i = 0; i < rows; i++)
        j->kernels->gather[j->log_size](to + i * COLUMNS * j->size, src + i * row, col, cols);
    src = to;
    row = *stride = COLUMNS * j->size;
  }
  if (is_wide(j)) return src;
  *stride = COLUMNS * j->wide;
  for (int64_t i = 0; i < rows; i++) j->widen(r->block[o] + i * *stride, src + i * row, cols);
  return r->block[o];
}

static void store_tile(const job *j, char *dst, const char *block, int64_t rows, int64_t cols, room *r) {
  int64_t row = j->stride[0], col = j->col_stride[0], stride = COLUMNS * j->size;
  const char *now = block;
  if (!is_wide(j)) {
    for (int64_t i = 0; i < rows; i++) j->narrow(r->raw + i * stride, block + i * COLUMNS * j->wide, cols);
    now = r->raw;
  }
  if (row == j->size && col != j->size) {
    j->kernels->transpose[j->log_size](dst, col, now, stride, cols, rows);
    return;
  }
  for (int64_t i = 0; i < rows; i++) {
    if (col != j->size) j->kernels->scatter[j->log_size](dst + i * row, col, now + i * stride, cols);
    else if (j->stream) j->kernels->stream(dst + i * row, now + i * stride, cols * j->size);
    else memcpy(dst + i * row, now + i * stride, (size_t)(cols * j->size));
  }
}

static void map_tile(const job *j, char *dst, const void *const *in, const int64_t *stride, const void *top,
                     const void *factor, int64_t rows, int64_t cols, room *r) {
  bool direct = is_wide(j) && j->col_stride[0] == j->size;
  char *to = direct ? dst : r->block[0];
  int64_t step = direct ? j->stride[0] : COLUMNS * j->wide;
  for (int64_t i = 0; i < rows; i++) {
    const void *row[OPERANDS - 1];
    for (int k = 0; k < j->inputs; k++) row[k] = (const char *)in[k] + i * stride[k];
    j->soft->map(to + i * step, row, cols, top, factor, true, direct && j->stream);
  }
  if (!direct) store_tile(j, dst, r->block[0], rows, cols, r);
}

static void reduce_columns(const job *j, char *const *at, int64_t cols, room *r) {
  char top[MOST_COLUMNS * 8] __attribute__((aligned(64))), sum[MOST_COLUMNS * 8] __attribute__((aligned(64)));
  begin_sums(j, top, sum, cols);
  for (int pass = 0; pass < 2; pass++) {
    for (int64_t i = 0; i < j->n; i += ROWS) {
      const void *in[OPERANDS - 1];
      int64_t stride[OPERANDS - 1], rows = j->n - i < ROWS ? j->n - i : ROWS;
      for (int k = 0; k < j->inputs; k++)
        in[k] = load_tile(j, k + 1, at[k + 1] + i * j->stride[k + 1], rows, cols, r, &stride[k]);
      if (pass == 0) j->soft->take_columns(top, sum, in, stride, rows, cols);
      else map_tile(j, at[0] + i * j->stride[0], in, stride, top, sum, rows, cols, r);
    }
    if (pass == 0 && j->soft->finish) j->soft->finish(sum, cols);
  }
}

static void do_columns(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  room r;
  wf__cursor at;
  wf__walk_seek(&j->walk, begin / j->blocks, &at);
  for (int64_t unit = begin, block = begin % j->blocks; unit < end; unit++) {
    char *corner[OPERANDS];
    int64_t first = block * j->block;
    for (int o = 0; o <= j->inputs; o++) corner[o] = at.at[o] + first * j->col_stride[o];
    reduce_columns(j, corner, j->cols - first < j->block ? j->cols - first : j->block, &r);
    if (++block < j->blocks) continue;
    block = 0;
    wf__walk_next(&j->walk, &at);
  }
  if (j->stream) wf__stream_fence();
}

/* ---- which --------------------------------------------------------------------------------------------------------------------- */

/* A dim other than the last along which the input is consecutive, or else the result; -1 when rows are as good. */
static int column_dim(const job *j) {
  const wf_plan *p = j->plan;
  bool rows = true;
  for (int o = 0; o <= j->inputs; o++) rows = rows && j->stride[o] == j->size;
  if (rows || j->n == 1) return -1;
  for (int o = 1; o >= 0; o--)
    for (int d = p->ndim - 2; d >= 0; d--)
      if (p->operand[o].stride[d] == j->size && p->size[d] > 1) return d;
  return -1;
}

/* Merges dims before the last that are consecutive in all operands. */
static void merge_dims(wf_plan *p, int operands) {
  int last = p->ndim - 1, kept = 0;
  for (int d = 0; d < last; d++) {
    if (p->size[d] == 1) continue;
    bool merges = kept > 0;
    for (int o = 0; o < operands && merges; o++)
      merges = p->operand[o].stride[kept - 1] == p->operand[o].stride[d] * p->size[d];
    int to = merges ? kept - 1 : kept++;
    p->size[to] = merges ? p->size[to] * p->size[d] : p->size[d];
    for (int o = 0; o < operands; o++) p->operand[o].stride[to] = p->operand[o].stride[d];
  }
  p->size[kept] = p->size[last];
  for (int o = 0; o < operands; o++) p->operand[o].stride[kept] = p->operand[o].stride[last];
  p->ndim = (uint8_t)(kept + 1);
}

static int64_t columns_together(const job *j) {
  bool in_place = is_wide(j);
  for (int o = 0; o <= j->inputs; o++) in_place = in_place && j->col_stride[o] == j->size;
  int64_t fit = IN_CACHE / (j->n * j->size) / COLUMNS * COLUMNS;
  if (!in_place || fit < COLUMNS) return COLUMNS;
  return fit < MOST_COLUMNS ? fit : MOST_COLUMNS;
}

static void run_columns(job *j, int col, int64_t grain) {
  const wf_plan *p = j->plan;
  j->cols = p->size[col];
  for (int o = 0; o <= j->inputs; o++) j->col_stride[o] = p->operand[o].stride[col];
  j->block = columns_together(j);
  j->blocks = (j->cols + j->block - 1) / j->block;
  wf__walk_of(&j->walk, p, j->inputs + 1, 1u << (p->ndim - 1) | 1u << col);
  wf__parallel(j->walk.count * j->blocks, grain / (j->cols < j->block ? j->cols : j->block) + 1, do_columns, j);
}

static void run(job *j, const wf_plan *plan, int64_t count) {
  wf_plan merged;
  int last = plan->ndim - 1;
  int64_t grain = WF__GRAIN / 16 / j->n;
  j->plan = plan;
  for (int o = 0; o <= j->inputs; o++) j->stride[o] = plan->operand[o].stride[last];
  int col = column_dim(j);
  j->stream = wf__past_cache(plan->operand[0].data, j->size, count * j->size);
  if (col >= 0) {
    merged = *plan;
    merge_dims(&merged, j->inputs + 1);
    j->plan = &merged;
    col = column_dim(j);
    run_columns(j, col, grain);
    return;
  }
  if (j->n <= SHORT_ROW && last > 0) {
    merged = *plan;
    merge_dims(&merged, j->inputs + 1);
    if (merged.ndim > 1 && merged.size[merged.ndim - 2] >= MANY_ROWS) {
      j->plan = &merged;
      run_columns(j, merged.ndim - 2, grain);
      return;
    }
  }
  j->stream = j->stream && (j->n * j->size >= 1024 || j->n * j->size % 64 == 0); /* else lines are stored in parts */
  wf__walk_of(&j->walk, plan, j->inputs + 1, 1u << last);
  wf__parallel(j->walk.count, grain + 1, do_rows, j);
}

/* The loops that take any plan, where there are no others. */
static void do_reference(void *context, int64_t begin, int64_t end) { wf__ref_softmax(context, begin, end); }

wf_status wf__exec_softmax(const wf_plan *plan) {
  wf_dtype dtype = (wf_dtype)plan->operand[0].dtype;
  bool logs = plan->op == WF__LOG_SOFTMAX || plan->op == WF__LOG_SOFTMAX_BACKWARD;
  if (!wf_dtype_is_float(dtype)) return wf__no_kernel(logs ? "log_softmax_kernel_impl" : "softmax_kernel_impl", dtype);
  int64_t count = 1, length = plan->size[plan->ndim - 1];
  for (int d = 0; d < plan->ndim; d++) count *= plan->size[d];
  if (count == 0) return WF_OK;
  job j;
  j.kernels = wf__kernels_now();
  j.soft = &j.kernels->softmax[dtype == WF_F64 ? WF__CLASS_F64 : WF__CLASS_F32][plan->op];
  if (!j.soft->take) {
    wf__parallel(count / length, WF__GRAIN / 16 / length + 1, do_reference, (void *)plan);
    return WF_OK;
  }
  j.inputs = plan->op == WF__SOFTMAX || plan->op == WF__LOG_SOFTMAX ? 1 : 2;
  j.size = (int64_t)wf_dtype_size(dtype);
  j.wide = dtype == WF_F64 ? 8 : 4;
  j.log_size = __builtin_ctz((unsigned)j.size);
  bool is_half = j.size == 2;
  j.widen = is_half ? j.kernels->convert[dtype][WF_F32] : NULL;
  j.narrow = is_half ? j.kernels->convert[WF_F32][dtype] : NULL;
  j.n = length;
  run(&j, plan, count);
  return WF_OK;
}
