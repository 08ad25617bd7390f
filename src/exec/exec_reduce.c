/* Reductions over any set of dims, reading memory in its own order.
 *
 * The dim of the input's smallest stride decides. If it is reduced, each result is made of consecutive stretches (stretches()). If it is
 * kept, a block of results is made together: sums add whole rows into totals (columns_of_sums()), everything else turns tiles round in L1
 * and takes them as stretches (columns()).
 *
 * Results don't depend on the number of threads: work is cut by its shape alone. With many results the team shares those out; with few,
 * each reduction is cut into SEGMENTS parts that are merged in order. */
#include <math.h>
#include <string.h>

#include "base/convert.h"
#include "exec/families.h"
#include "exec/threads.h"
#include "exec/walk.h"
#include "kernel/tables.h"

#define BLOCK 512       /* elements that are cast at a time */
#define CHUNK 8192      /* elements of a stretch between merges */
#define SEGMENTS 32     /* parts of one large reduction */
#define COLUMNS 32      /* results made together from tiles … */
#define TILE 64         /* … of so many rows */
#define SUM_COLUMNS 256 /* results made together from whole rows: 2 KiB of double, in L1 with its second level */
#define FEW_COLUMNS 64  /* the same when results are so few that each is cut into segments: 32 x 64 states are 80 KiB */
#define SUM_ROWS 128    /* rows that are added before the totals move to the second level */

typedef struct job job;
struct job {
  const wf__kernels *kernels;
  wf__reduce_fn take;
  /* Units [begin, end) of the reductions whose input begins at `input`, into the states of `cols` neighbouring results. */
  void (*reduce)(const job *j, char *input, int64_t cols, wf__reduce_state *state, int64_t begin, int64_t end);
  wf__reduce_op op;
  wf__reduce_kind kind;
  wf__class class;
  wf_dtype compute;
  bool is_integer, has_index;
  double parameter;
  wf__convert_fn to_compute, to_class; /* NULL: nothing to do */
  wf__convert_fn to_out;               /* compute to operand 0's dtype */
  int64_t size;                        /* bytes of an input element */
  int log_size;
  const wf_plan *plan;
  wf__walk kept;                   /* results: operands 0, 1, 2 */
  wf__walk reduced;                /* the outer reduced dims: operand 1 in slot 1 */
  int64_t index_step[WF_MAX_DIMS]; /* of the walk `reduced`: how far one step moves the index */
  int64_t n, stride, inner_step;   /* innermost reduced dim: elements, bytes, steps of the index */
  int64_t pieces, piece;           /* that dim is cut into pieces of `piece` elements */
  int64_t units;                   /* walk steps times pieces: what one reduction consists of */
  int64_t total;                   /* elements of one reduction */
  int64_t cols, col_stride[3];     /* kept dim along which results are made together; strides of operands 0, 1, 2 */
  int64_t blocks, block;           /* it is cut into blocks of `block` results */
  char *const *at;                 /* one result cut into segments: its corner, */
  wf__reduce_state *segment;       /* their states [SEGMENTS][block], */
  int64_t now;                     /* and the number of columns */
};

/* ---- elements into states --------------------------------------------------------------------------------------------------- */

/* Consecutive elements of the class's type for n elements at src. */
static const void *load(const job *j, const char *src, int64_t stride, int64_t n, char (*block)[BLOCK * 8]) {
  const char *now = src;
  int next = 0;
  if (stride != j->size) {
    j->kernels->gather[j->log_size](block[0], src, stride, n);
    now = block[next++];
  }
  if (j->to_compute) {
    j->to_compute(block[next], now, n);
    now = block[next++];
  }
  if (j->to_class) {
    j->to_class(block[next], now, n);
    now = block[next];
  }
  return now;
}

static void take(const job *j, wf__reduce_state *state, const char *src, int64_t stride, int64_t n, int64_t first) {
  if (stride == j->size && !j->to_compute && !j->to_class) {
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
    j->kernels->transpose[j->log_size](tile, TILE * j->size, src, j->stride, cols, rows, false);
    for (int64_t c = 0; c < cols; c++) take(j, &state[c], tile + c * TILE * j->size, j->size, rows, index);
    if (++piece < j->pieces) continue;
    piece = 0;
    wf__walk_next(&j->reduced, &at);
  }
}

static void move_totals(const job *j, wf__reduce_state *state, char *total, int64_t cols) {
  for (int64_t c = 0; c < cols; c++) {
    wf__reduce_state part = {0};
    if (j->is_integer) part.integer = ((int64_t *)total)[c];
    else part.value = ((double *)total)[c];
    wf__reduce_merge(WF__REDUCE_SUM, j->is_integer, &state[c], &part);
  }
  memset(total, 0, (size_t)cols * 8);
}

/* Here a unit is one row: the pieces are single. */
static void columns_of_sums(const job *j, char *input, int64_t cols, wf__reduce_state *state, int64_t begin,
                            int64_t end) {
  char total[SUM_COLUMNS * 8] __attribute__((aligned(64))) = {0}, block[3][BLOCK * 8] __attribute__((aligned(64)));
  wf__cursor at;
  wf__walk_seek(&j->reduced, begin / j->pieces, &at);
  for (int64_t unit = begin, piece = begin % j->pieces, rows = 0; unit < end; unit++) {
    const char *src = input + (at.at[1] - j->reduced.base[1]) + piece * j->stride;
    j->kernels->add_row[j->class](total, load(j, src, j->size, cols, block), cols);
    if (++rows == SUM_ROWS || unit + 1 == end) {
      move_totals(j, state, total, cols);
      rows = 0;
    }
    if (++piece < j->pieces) continue;
    piece = 0;
    wf__walk_next(&j->reduced, &at);
  }
}

static void reduce_units(const job *j, char *input, int64_t cols, wf__reduce_state *state, int64_t begin, int64_t end) {
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

static void store_block(const job *j, const wf__reduce_state *state, char *const *corner, int64_t cols) {
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
  wf__reduce_state state[SUM_COLUMNS];
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
    reduce_units(j, j->at[1], j->now, j->segment + s * j->block, s * j->units / SEGMENTS,
                 (s + 1) * j->units / SEGMENTS);
}

/* Few results: each is cut into segments, which the team shares out. */
static void run_segments(job *j) {
  wf__reduce_state segment[SEGMENTS * FEW_COLUMNS];
  wf__cursor at;
  wf__walk_seek(&j->kept, 0, &at);
  j->segment = segment;
  for (int64_t k = 0; k < j->kept.count; k++, wf__walk_next(&j->kept, &at))
    for (int64_t block = 0; block < j->blocks; block++) {
      char *corner[3];
      j->now = corner_of(j, &at, block, corner);
      j->at = corner;
      wf__parallel(SEGMENTS, 1, do_segments, j);
      for (int s = 1; s < SEGMENTS; s++)
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
  j->inner_step = inner >= 0 ? steps[inner] : 1;
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

static void choose(job *j) {
  const wf_plan *plan = j->plan;
  int reduced = fastest(plan, true), kept = fastest(plan, false);
  bool kept_is_faster = reduced >= 0 && kept >= 0 && plan->operand[1].stride[kept] == j->size &&
                        plan->operand[1].stride[kept] < plan->operand[1].stride[reduced] && plan->size[kept] > 1;
  set_reduced(j, reduced);
  set_kept(j, kept_is_faster ? kept : -1);
  bool sums = j->kind == WF__REDUCE_SUM && j->cols >= 8;
  j->reduce = !kept_is_faster ? stretches : sums ? columns_of_sums : columns;
  j->block = !kept_is_faster ? 1 : sums ? SUM_COLUMNS : COLUMNS;
  j->piece = !kept_is_faster ? CHUNK : sums ? 1 : TILE;
  j->pieces = (j->n + j->piece - 1) / j->piece;
  j->units = j->reduced.count * j->pieces;
}

static void run(job *j) {
  choose(j);
  int64_t work = j->total * (j->cols < j->block ? j->cols : j->block);
  j->blocks = (j->cols + j->block - 1) / j->block;
  if (j->kept.count * j->blocks < SEGMENTS / 2 && work >= 2 * WF__GRAIN && j->units >= SEGMENTS) {
    if (j->block > FEW_COLUMNS) j->block = FEW_COLUMNS;
    j->blocks = (j->cols + j->block - 1) / j->block;
    run_segments(j);
    return;
  }
  int64_t grain = work ? (WF__GRAIN + work - 1) / work : WF__GRAIN;
  wf__parallel(j->kept.count * j->blocks, grain, do_blocks, j);
}

wf_status wf__exec_reduce(const wf_plan *plan) {
  wf_dtype in = plan->operand[1].dtype, compute = (wf_dtype)plan->compute;
  job j = {.kernels = wf__kernels_now(), .plan = plan, .op = (wf__reduce_op)plan->op, .compute = compute};
  j.class = compute == WF_F64 ? WF__CLASS_F64 : wf_dtype_is_float(compute) ? WF__CLASS_F32 : WF__CLASS_I64;
  j.is_integer = j.class == WF__CLASS_I64;
  bool has_parameter = plan->op == WF__RED_VAR || plan->op == WF__RED_STD || plan->op == WF__RED_NORM;
  if (has_parameter) j.parameter = wf__scalar_double(plan->scalar[0]);
  j.kind = kind_of(plan, j.parameter);
  j.has_index = plan->op >= WF__RED_ARGMAX && plan->op <= WF__RED_MIN_INDEX;
  if (plan->op >= WF__RED_COUNT || !j.kernels->reduce[j.class][j.kind]) return wf__no_kernel("reduce_cpu", compute);
  j.take = j.kernels->reduce[j.class][j.kind];
  wf_dtype wide = j.class == WF__CLASS_F32 ? WF_F32 : j.class == WF__CLASS_F64 ? WF_F64 : WF_I64;
  if (in != compute) j.to_compute = j.kernels->convert[in][compute];
  if (compute != wide) j.to_class = j.kernels->convert[compute][wide];
  if (compute != plan->operand[0].dtype) j.to_out = j.kernels->convert[compute][plan->operand[0].dtype];
  j.size = (int64_t)wf_dtype_size(in);
  j.log_size = __builtin_ctz((unsigned)j.size);
  for (int d = 0; d < plan->ndim; d++)
    if (plan->size[d] == 0 && !is_reduced(plan, d)) return WF_OK;
  run(&j);
  return WF_OK;
}
