/* Reductions over any set of dims, reading memory in its own order.
 *
 * The dim of the input's smallest stride decides. If it is reduced, each result is made of consecutive stretches (stretches()); many sums of
 * short ones are made together. If it is kept, a block of results is made together: sums add whole rows into totals, everything else turns
 * tiles round in L1 and takes them as stretches (columns()). Sums: reduce_rows.c.
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
#define SHORT 512      /* shorter stretches are summed many at a time */

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

static void stretches(const job *j, char *input, int64_t cols, wf__reduce_state *state, int64_t begin, int64_t end) {
  wf__cursor at;
  (void)cols;
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

static void store(const job *j, const wf__reduce_state *state, char *out, char *index_out) {
  int64_t integer;
  char element[8];
  wf_dtype out_dtype = j->plan->operand[0].dtype;
  double value = wf__reduce_end(j->op, state, j->total, j->parameter, &integer);
  bool counts = j->op == WF__RED_ANY || j->op == WF__RED_ALL || j->op == WF__RED_COUNT_NONZERO ||
                j->op == WF__RED_ARGMAX || j->op == WF__RED_ARGMIN;
  if (index_out) memcpy(index_out, &state->index, 8);
  if (counts) {
    wf__scalar_store(wf_int(integer), out_dtype, out);
    return;
  }
  wf__scalar_store(j->is_integer ? wf_int(integer) : wf_float(value), j->compute, element);
  if (j->to_out) j->to_out(out, element, 1);
  else memcpy(out, element, wf_dtype_size(out_dtype));
}

/* Sums, means and extremes as f32, the most common: without the detours of store(). */
static void store_floats(const job *j, const wf__reduce_state *state, char *out, int64_t cols) {
  double count = (double)j->total;
  for (int64_t c = 0; c < cols; c++) {
    double sum = state[c].value + state[c].second; /* second: 0 for extremes */
    float value = (float)(j->op == WF__RED_MEAN ? sum / count : sum);
    memcpy(out + c * j->col_stride[0], &value, sizeof value);
  }
}

static void store_block(const job *j, const wf__reduce_state *state, char *const *corner, int64_t cols) {
  bool plain = j->compute == WF_F32 && !j->to_out;
  if (plain && (j->op == WF__RED_SUM || j->op == WF__RED_MEAN || j->op == WF__RED_AMAX || j->op == WF__RED_AMIN)) {
    store_floats(j, state, corner[0], cols);
    return;
  }
  bool pair = j->op == WF__RED_MAX_INDEX || j->op == WF__RED_MIN_INDEX;
  for (int64_t c = 0; c < cols; c++)
    store(j, &state[c], corner[0] + c * j->col_stride[0], pair ? corner[2] + c * j->col_stride[2] : NULL);
}

static int64_t corner_of(const job *j, const wf__cursor *at, int64_t block, char **corner) {
  int64_t first = block * j->block;
  for (int o = 0; o < 3; o++) corner[o] = at->at[o] ? at->at[o] + first * j->col_stride[o] : NULL;
  return j->cols - first < j->block ? j->cols - first : j->block;
}

/* Many results: blocks of them, each reduced from beginning to end by one thread. */
static void do_blocks(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  wf__reduce_state state[WF__ROW_RESULTS];
  wf__cursor at;
  wf__walk_seek(&j->kept, begin / j->blocks, &at);
  for (int64_t unit = begin, block = begin % j->blocks; unit < end; unit++) {
    char *corner[3];
    int64_t cols = corner_of(j, &at, block, corner);
    reduce_units(j, corner[1], cols, state, 0, j->units);
    store_block(j, state, corner, cols);
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
      store_block(j, segment, corner, j->now);
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

/* Columns when a kept dim is consecutive; sums of short stretches together, along the fastest kept dim; else one result at a time. */
static void choose(job *j) {
  const wf_plan *plan = j->plan;
  int reduced = fastest(plan, true), kept = fastest(plan, false);
  bool kept_is_faster = reduced >= 0 && kept >= 0 && plan->operand[1].stride[kept] == j->size &&
                        plan->operand[1].stride[kept] < plan->operand[1].stride[reduced] && plan->size[kept] > 1;
  bool extremes = !j->has_index && (j->kind == WF__REDUCE_MAX || j->kind == WF__REDUCE_MIN);
  bool many = kept >= 0 && plan->size[kept] >= 8, sums = many && j->kind == WF__REDUCE_SUM;
  bool by_rows = sums || (many && extremes);
  set_reduced(j, reduced);
  bool together = sums && !kept_is_faster && j->stride == j->size && j->n <= SHORT;
  set_kept(j, kept_is_faster || together ? kept : -1);
  if (together) {
    j->reduce = wf__sums_of_stretches;
    j->block = WF__ROW_RESULTS;
    j->piece = j->n;
  } else if (!kept_is_faster) {
    j->reduce = stretches;
    j->block = 1;
    j->piece = CHUNK;
  } else if (by_rows) {
    j->reduce = j->kind == WF__REDUCE_SUM ? wf__sums_by_rows : wf__extremes_by_rows;
    j->block = WF__ROW_RESULTS;
    j->piece = WF__ROWS;
  } else {
    j->reduce = columns;
    j->block = COLUMNS;
    j->piece = TILE;
  }
  j->begins = j->block != WF__ROW_RESULTS;
  j->pieces = j->n ? (j->n + j->piece - 1) / j->piece : 0;
  j->units = j->reduced.count * j->pieces;
}

static void run(job *j) {
  choose(j);
  bool rows = j->block == WF__ROW_RESULTS;
  int64_t work = j->total * (j->cols < j->block ? j->cols : j->block);
  j->blocks = (j->cols + j->block - 1) / j->block;
  j->segments = rows ? FEW_SEGMENTS : SEGMENTS;
  if (j->kept.count * j->blocks < j->segments / 2 && work >= 2 * WF__GRAIN && j->units >= j->segments) {
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
  if (!(kind == WF__REDUCE_SUM || counts || extreme) || (in != compute && (extreme || compute != WF_I64)))
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
