/* Reductions over any set of dims, reading memory in its own order.
 *
 * The dim of the input's smallest stride decides. If it is reduced, each result is made of consecutive stretches (stretches()); if it is kept, a
 * block of results is made together from tiles that are turned round in L1 (columns()). What can be taken row by row into a row of results is
 * (reduce_rows.c): sums, products, counts and extremes of columns, and of stretches so short that calls would cost more than elements.
 *
 * Results don't depend on the number of threads: work is cut by its shape alone. With many results the team shares those out; with few,
 * each reduction is cut into segments that are merged in order. */
#include <math.h>
#include <string.h>

#include "base/convert.h"
#include "exec/families.h"
#include "exec/reduce_job.h"
#include "exec/threads.h"

#define BLOCK 2048     /* elements that are cast at a time */
#define CHUNK 8192     /* elements of a stretch between merges */
#define SEGMENTS 32    /* parts of one large reduction … */
#define FEW_SEGMENTS 8 /* … of many sums */
#define COLUMNS 32     /* results made together from tiles … */
#define TILE 64        /* … of so many rows */
#define SHORT 4096     /* shorter stretches are summed many at a time */

typedef wf__reduce_job job;

/* ---- elements into states --------------------------------------------------------------------------------------------------- */

/* Consecutive elements of the class's type for n elements at src. */
static const void *load(const job *j, const char *src, int64_t stride, int64_t n, char (*block)[BLOCK * 8]) {
  const char *now = src;
  int next = 0;
  if (stride != j->size) {
    j->kernels->gather[j->log_size](block[0], src, stride, n);
    now = block[next++];
  }
  if (!wf__casts(&j->cast)) return now;
  wf__cast_into(&j->cast, block[next], now, block[2], n);
  return block[next];
}

static void take(const job *j, wf__reduce_state *state, const char *src, int64_t stride, int64_t n, int64_t first) {
  if (stride == j->size && !wf__casts(&j->cast)) {
    j->take(state, src, n, first, j->inner_step, j->parameter);
    return;
  }
  char block[3][BLOCK * 8] __attribute__((aligned(64)));
  for (int64_t i = 0; i < n; i += BLOCK) {
    int64_t count = n - i < BLOCK ? n - i : BLOCK;
    j->take(state, load(j, src + i * stride, stride, count, block), count, first + i * j->inner_step, j->inner_step,
            j->parameter);
  }
}

static int64_t index_of(const job *j, const wf__cursor *at) {
  int64_t index = 0;
  for (int d = 0; d < j->reduced.ndim; d++) index += at->index[d] * j->index_step[d];
  return index;
}

static void stretches_of(const job *j, char *input, wf__reduce_state *state, int64_t begin, int64_t end) {
  wf__cursor at;
  wf__walk_seek(&j->reduced, begin / j->pieces, &at);
  for (int64_t unit = begin, piece = begin % j->pieces; unit < end; unit++) {
    int64_t first = piece * j->piece, n = j->n - first < j->piece ? j->n - first : j->piece;
    char *src = input + (at.at[1] - j->reduced.base[1]) + first * j->stride;
    take(j, state, src, j->stride, n, j->has_index ? index_of(j, &at) + first * j->inner_step : 0);
    if (++piece < j->pieces) continue;
    piece = 0;
    wf__walk_next(&j->reduced, &at);
  }
}

static void stretches(const job *j, char *input, int64_t cols, wf__reduce_state *state, int64_t begin, int64_t end) {
  if (j->units == 1) {
    for (int64_t c = 0; c < cols; c++) take(j, &state[c], input + c * j->col_stride[1], j->stride, j->n, 0);
    return;
  }
  for (int64_t c = 0; c < cols; c++) stretches_of(j, input + c * j->col_stride[1], &state[c], begin, end);
}

static void columns(const job *j, char *input, int64_t cols, wf__reduce_state *state, int64_t begin, int64_t end) {
  char tile[COLUMNS * TILE * 8] __attribute__((aligned(64)));
  wf__cursor at;
  wf__walk_seek(&j->reduced, begin / j->pieces, &at);
  for (int64_t unit = begin, piece = begin % j->pieces; unit < end; unit++) {
    int64_t first = piece * j->piece, rows = j->n - first < j->piece ? j->n - first : j->piece;
    char *src = input + (at.at[1] - j->reduced.base[1]) + first * j->stride;
    int64_t index = j->has_index ? index_of(j, &at) + first * j->inner_step : 0;
    j->kernels->transpose[j->log_size](tile, TILE * j->size, src, j->stride, cols, rows);
    for (int64_t c = 0; c < cols; c++) take(j, &state[c], tile + c * TILE * j->size, j->size, rows, index);
    if (++piece < j->pieces) continue;
    piece = 0;
    wf__walk_next(&j->reduced, &at);
  }
}

static void reduce_units(const job *j, char *input, int64_t cols, wf__reduce_state *state, int64_t begin, int64_t end) {
  if (j->begins || begin == end)
    for (int64_t c = 0; c < cols; c++) wf__reduce_begin(j->kind, &state[c]);
  if (begin < end) j->reduce(j, input, cols, state, begin, end);
}

/* ---- results ------------------------------------------------------------------------------------------------------------------ */

/* What the operator makes of sums and counts. */
static void finish(const job *j, wf__row_values *v, int64_t cols) {
  double *f = (double *)(void *)v->value, total = (double)j->total;
  int64_t *i = (int64_t *)(void *)v->value;
  for (int64_t c = 0; c < cols && j->op == WF__RED_MEAN; c++) f[c] /= total;
  for (int64_t c = 0; c < cols && j->op == WF__RED_ANY; c++) i[c] = i[c] != 0;
  for (int64_t c = 0; c < cols && j->op == WF__RED_ALL; c++) i[c] = i[c] == j->total;
  for (int64_t c = 0; c < cols && j->kind == WF__REDUCE_SUM_SQUARE; c++) f[c] = sqrt(f[c]);
  if (j->op != WF__RED_NORM || j->kind != WF__REDUCE_COUNT) return;
  for (int64_t c = 0; c < cols; c++) f[c] = (double)i[c];
  v->dtype = WF_F64;
}

/* Numbers of one dtype, by way of another, to a row of operand o. */
static void store_row(const job *j, int o, char *dst, wf_dtype from, wf_dtype by, const void *values, int64_t cols) {
  char block[2][WF__ROW_RESULTS * 8] __attribute__((aligned(64)));
  wf_dtype to = j->plan->operand[o].dtype, steps[] = {from, by, to};
  const void *now = values;
  for (int k = 0; k < 2; k++) {
    if (steps[k] == steps[k + 1]) continue;
    j->kernels->convert[steps[k]][steps[k + 1]](block[k], now, cols);
    now = block[k];
  }
  int64_t size = (int64_t)wf_dtype_size(to);
  if (j->col_stride[o] == size) memcpy(dst, now, (size_t)(cols * size));
  else j->kernels->scatter[__builtin_ctz((unsigned)size)](dst, j->col_stride[o], now, cols);
}

static bool gives_place(const job *j) { return j->op == WF__RED_ARGMAX || j->op == WF__RED_ARGMIN; }

/* Finished values, and places, to operands 0 and 2. */
static void store_block(const job *j, const wf__row_values *v, char *const *corner, int64_t cols) {
  bool counts = j->op == WF__RED_ANY || j->op == WF__RED_ALL || j->op == WF__RED_COUNT_NONZERO;
  wf_dtype out = j->plan->operand[0].dtype;
  if (gives_place(j)) store_row(j, 0, corner[0], WF_I64, out, v->place, cols);
  else store_row(j, 0, corner[0], v->dtype, counts ? out : j->compute, v->value, cols);
  if (j->has_index && !gives_place(j)) store_row(j, 2, corner[2], WF_I64, WF_I64, v->place, cols);
}

static void store_rows(const job *j, wf__row_values *v, char *const *corner, int64_t cols) {
  finish(j, v, cols);
  for (int64_t c = 0; c < cols && j->has_index; c++) v->place[c] *= j->inner_step;
  store_block(j, v, corner, cols);
}

static void store_states(const job *j, const wf__reduce_state *state, char *const *corner, int64_t cols) {
  wf__row_values v;
  bool integers = j->op == WF__RED_ANY || j->op == WF__RED_ALL || j->op == WF__RED_COUNT_NONZERO || j->is_integer;
  v.dtype = integers ? WF_I64 : WF_F64;
  for (int64_t c = 0; c < cols; c++) {
    int64_t integer;
    double value = wf__reduce_end(j->op, &state[c], j->total, j->parameter, &integer);
    if (integers) memcpy(v.value + 8 * c, &integer, 8);
    else memcpy(v.value + 8 * c, &value, 8);
    if (j->has_index) v.place[c] = state[c].index;
  }
  store_block(j, &v, corner, cols);
}

static int64_t corner_of(const job *j, const wf__cursor *at, int64_t block, char **corner) {
  int64_t first = block * j->block;
  for (int o = 0; o < 3; o++) corner[o] = at->at[o] ? at->at[o] + first * j->col_stride[o] : NULL;
  return j->cols - first < j->block ? j->cols - first : j->block;
}

/* Many results: blocks of them, each reduced from beginning to end by one thread. */
static void do_blocks(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  bool by_rows = !j->begins && j->units;
  union {
    wf__reduce_state state[WF__ROW_RESULTS];
    wf__row_values values;
  } room;
  wf__cursor at;
  wf__walk_seek(&j->kept, begin / j->blocks, &at);
  for (int64_t unit = begin, block = begin % j->blocks; unit < end; unit++) {
    char *corner[3];
    int64_t cols = corner_of(j, &at, block, corner);
    if (by_rows) {
      wf__row_values_of(j, corner[1], cols, &room.values);
      store_rows(j, &room.values, corner, cols);
    } else {
      reduce_units(j, corner[1], cols, room.state, 0, j->units);
      store_states(j, room.state, corner, cols);
    }
    if (++block < j->blocks) continue;
    block = 0;
    wf__walk_next(&j->kept, &at);
  }
}

static void do_segments(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  for (int64_t s = begin; s < end; s++)
    reduce_units(j, j->at[1], j->now, j->segment + s * j->block, s * j->units / j->segments,
                 (s + 1) * j->units / j->segments);
}

/* Few results: each is cut into segments, which the team shares out. */
static void run_segments(job *j) {
  wf__reduce_state segment[FEW_SEGMENTS * WF__ROW_RESULTS > SEGMENTS * COLUMNS ? FEW_SEGMENTS * WF__ROW_RESULTS
                                                                               : SEGMENTS * COLUMNS];
  wf__cursor at;
  wf__walk_seek(&j->kept, 0, &at);
  j->segment = segment;
  for (int64_t k = 0; k < j->kept.count; k++, wf__walk_next(&j->kept, &at))
    for (int64_t block = 0; block < j->blocks; block++) {
      char *corner[3];
      j->now = corner_of(j, &at, block, corner);
      j->at = corner;
      wf__parallel(j->segments, 1, do_segments, j);
      for (int64_t s = 1; s < j->segments; s++)
        for (int64_t c = 0; c < j->now; c++)
          wf__reduce_merge(j->kind, j->is_integer, &segment[c], &segment[s * j->block + c]);
      store_states(j, segment, corner, j->now);
    }
  j->segment = NULL;
  j->at = NULL;
}

/* ---- the plan ------------------------------------------------------------------------------------------------------------------- */

static wf__reduce_kind kind_of(const wf_plan *plan, double p) {
  switch ((wf__reduce_op)plan->op) {
    case WF__RED_PROD: return WF__REDUCE_PROD;
    case WF__RED_AMAX:
    case WF__RED_ARGMAX:
    case WF__RED_MAX_INDEX: return WF__REDUCE_MAX;
    case WF__RED_AMIN:
    case WF__RED_ARGMIN:
    case WF__RED_MIN_INDEX: return WF__REDUCE_MIN;
    case WF__RED_ANY:
    case WF__RED_ALL:
    case WF__RED_COUNT_NONZERO: return WF__REDUCE_COUNT;
    case WF__RED_VAR:
    case WF__RED_STD: return WF__REDUCE_MOMENTS;
    case WF__RED_LOGSUMEXP: return WF__REDUCE_LOGSUMEXP;
    case WF__RED_NORM:
      if (isinf(p)) return p > 0 ? WF__REDUCE_MAX_ABS : WF__REDUCE_MIN_ABS;
      return p == 0   ? WF__REDUCE_COUNT
             : p == 1 ? WF__REDUCE_SUM_ABS
             : p == 2 ? WF__REDUCE_SUM_SQUARE
                      : WF__REDUCE_SUM_POWER;
    default: return WF__REDUCE_SUM;
  }
}

static bool is_reduced(const wf_plan *plan, int d) { return plan->operand[0].stride[d] == 0 && plan->size[d] != 1; }

/* The dim of the input's smallest stride among those that are reduced or kept, -1 without any. Equal strides: the faster one. */
static int fastest(const wf_plan *plan, bool reduced) {
  int best = -1;
  for (int d = 0; d < plan->ndim; d++) {
    if (is_reduced(plan, d) != reduced || plan->size[d] == 1) continue;
    if (best < 0 || plan->operand[1].stride[d] <= plan->operand[1].stride[best]) best = d;
  }
  return best;
}

/* The reduced dims: one inside, the others as a walk, with the steps that each makes the index take. */
static void set_reduced(job *j, int inner) {
  const wf_plan *plan = j->plan;
  uint32_t outside = inner >= 0 ? 1u << inner : 0;
  int64_t step = 1, steps[WF_MAX_DIMS];
  for (int d = plan->ndim - 1; d >= 0; d--) {
    steps[d] = step;
    if (is_reduced(plan, d)) step *= plan->size[d];
    else outside |= 1u << d;
  }
  j->total = step;
  wf__walk_of(&j->reduced, plan, 2, outside);
  for (int d = 0, k = 0; d < plan->ndim; d++)
    if (!(outside >> d & 1)) j->index_step[k++] = steps[d];
  j->n = inner >= 0 ? plan->size[inner] : 1;
  j->stride = inner >= 0 ? plan->operand[1].stride[inner] : j->size;
  j->inner_step = !j->has_index ? 0 : inner >= 0 ? steps[inner] : 1;
}

static void set_kept(job *j, int together) {
  const wf_plan *plan = j->plan;
  uint32_t outside = together >= 0 ? 1u << together : 0;
  for (int d = 0; d < plan->ndim; d++)
    if (is_reduced(plan, d)) outside |= 1u << d;
  wf__walk_of(&j->kept, plan, 3, outside);
  j->cols = together >= 0 ? plan->size[together] : 1;
  for (int o = 0; o < 3; o++)
    j->col_stride[o] = together >= 0 && plan->operand[o].data ? plan->operand[o].stride[together] : 0;
}

static bool extremes(const job *j) { return j->kind == WF__REDUCE_MAX || j->kind == WF__REDUCE_MIN; }

/* By rows: of the input or turned round where there is a kernel, sums of stretches longer than that. */
static bool chooses_rows(job *j, bool kept_is_faster, bool many) {
  bool fits = many && j->kernels->rows[j->class][j->kind] && (!j->has_index || j->reduced.count == 1);
  bool exponentials = many && j->kind == WF__REDUCE_LOGSUMEXP && j->reduced.count == 1 &&
                      j->kernels->softmax[j->class][WF__SOFTMAX].take_columns;
  bool consecutive = j->stride == j->size && j->reduced.count * j->n > 0;
  if (fits && kept_is_faster && !j->has_index) {
    j->form = WF__ROWS;
    j->piece = WF__ROWS_TOGETHER;
  } else if ((fits || exponentials) && !kept_is_faster && consecutive && j->n <= WF__TURNED &&
             (!j->has_index || extremes(j))) {
    j->form = WF__ROWS_TURNED;
    j->piece = j->n;
  } else if (fits && !kept_is_faster && consecutive && j->n <= SHORT && j->kind == WF__REDUCE_SUM) {
    j->form = WF__ROWS_STRETCHES;
    j->piece = j->n;
  } else {
    return false;
  }
  return true;
}

/* Results made together: as many as make a piece of work, which many threads share. */
static int64_t together(const job *j, int64_t most) {
  int64_t elements = j->total > 0 ? j->total : 1, fit = WF__GRAIN / elements;
  return fit < 1 ? 1 : fit < most ? fit : most;
}

/* Columns when a kept dim is consecutive; else stretches of the fastest reduced one. */
static void choose(job *j) {
  const wf_plan *plan = j->plan;
  int reduced = fastest(plan, true), kept = fastest(plan, false);
  bool kept_is_faster = reduced >= 0 && kept >= 0 && plan->operand[1].stride[kept] == j->size &&
                        plan->operand[1].stride[kept] < plan->operand[1].stride[reduced] && plan->size[kept] > 1;
  set_reduced(j, reduced);
  set_kept(j, kept);
  bool by_rows = chooses_rows(j, kept_is_faster, kept >= 0 && plan->size[kept] >= 8);
  j->begins = !by_rows;
  if (by_rows) {
    j->reduce = wf__reduce_by_rows;
    j->block = j->form == WF__ROWS ? WF__ROW_RESULTS : together(j, WF__ROW_RESULTS);
  } else if (!kept_is_faster) {
    j->reduce = stretches;
    j->block = together(j, COLUMNS);
    j->piece = CHUNK;
  } else {
    j->reduce = columns;
    j->block = COLUMNS;
    j->piece = TILE;
  }
  j->pieces = j->n ? (j->n + j->piece - 1) / j->piece : 0;
  j->units = j->reduced.count * j->pieces;
}

static void run(job *j) {
  choose(j);
  int64_t work = j->total * (j->cols < j->block ? j->cols : j->block);
  j->blocks = (j->cols + j->block - 1) / j->block;
  j->segments = j->begins ? SEGMENTS : FEW_SEGMENTS;
  bool merges_exactly = j->is_integer || j->kind == WF__REDUCE_COUNT || extremes(j);
  if (j->kept.count * j->blocks < j->segments / 2 && work >= 2 * WF__GRAIN && j->units >= j->segments &&
      !(merges_exactly && wf_num_threads() == 1)) {
    run_segments(j);
    return;
  }
  int64_t grain = work ? (WF__GRAIN + work - 1) / work : WF__GRAIN;
  wf__parallel(j->kept.count * j->blocks, grain, do_blocks, j);
}

/* The class in which integers are reduced as they are, or i64: where casting to `compute` first wouldn't change what is kept of the result. */
static wf__class integer_class(wf__reduce_kind kind, wf_dtype in, wf_dtype compute) {
  bool counts = kind == WF__REDUCE_COUNT, extreme = kind == WF__REDUCE_MAX || kind == WF__REDUCE_MIN;
  if (in == WF_BOOL && counts && (compute == WF_BOOL || compute == WF_I64)) return WF__CLASS_U8;
  if (!(kind == WF__REDUCE_SUM || kind == WF__REDUCE_PROD || counts || extreme) ||
      (in != compute && (extreme || compute != WF_I64)))
    return WF__CLASS_I64;
  switch (in) {
    case WF_I32: return WF__CLASS_I32;
    case WF_I16: return WF__CLASS_I16;
    case WF_I8: return WF__CLASS_I8;
    case WF_U8: return WF__CLASS_U8;
    default: return WF__CLASS_I64;
  }
}

wf_status wf__exec_reduce(const wf_plan *plan) {
  wf_dtype in = plan->operand[1].dtype, compute = (wf_dtype)plan->compute;
  job j;
  j.kernels = wf__kernels_now();
  j.plan = plan;
  j.op = (wf__reduce_op)plan->op;
  j.compute = compute;
  bool has_parameter = plan->op == WF__RED_VAR || plan->op == WF__RED_STD || plan->op == WF__RED_NORM;
  j.parameter = has_parameter ? wf__scalar_double(plan->scalar[0]) : 0;
  j.kind = kind_of(plan, j.parameter);
  j.class = compute == WF_F64            ? WF__CLASS_F64
            : wf_dtype_is_float(compute) ? WF__CLASS_F32
                                         : integer_class(j.kind, in, compute);
  j.is_integer = j.class != WF__CLASS_F32 && j.class != WF__CLASS_F64;
  j.has_index = plan->op >= WF__RED_ARGMAX && plan->op <= WF__RED_MIN_INDEX;
  if (plan->op >= WF__RED_COUNT || !j.kernels->reduce[j.class][j.kind]) return wf__no_kernel("reduce_cpu", compute);
  j.take = j.kernels->reduce[j.class][j.kind];
  bool as_it_is = j.class > WF__CLASS_I64; /* narrow integers */
  wf_dtype wide = wf__class_dtype[j.class];
  j.cast.to_compute = in != compute && !as_it_is ? j.kernels->convert[in][compute] : NULL;
  j.cast.to_class = compute != wide && !as_it_is ? j.kernels->convert[compute][wide] : NULL;
  j.to_out = compute != plan->operand[0].dtype ? j.kernels->convert[compute][plan->operand[0].dtype] : NULL;
  j.size = (int64_t)wf_dtype_size(in);
  j.wide = (int64_t)wf_dtype_size(wide);
  j.log_size = __builtin_ctz((unsigned)j.size);
  for (int d = 0; d < plan->ndim; d++)
    if (plan->size[d] == 0 && !is_reduced(plan, d)) return WF_OK;
  run(&j);
  return WF_OK;
}
