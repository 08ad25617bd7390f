/* The loops of pointwise plans.
 *
 *   rows    along the last dim: an operand that already is what the kernel wants is read and written in place; another is gathered, cast or spread
 *           into a block on the stack first, so that kernels exist per operator and class only
 *   packed  short rows whose results are consecutive: as many as fill a block are done in one call
 *   tiles   an input is consecutive along another dim: two dims are walked in tiles, and it is transposed into a block that stays in the
 *           cache, so that all memory is read in whole lines
 *
 * Results of some size go past the cache: the kernel writes a block in L1, which is then stored in whole lines. A second operation in L1
 * costs less than fetching each line of the result before writing it. */
#include <string.h>

#include "exec/past_cache.h"
#include "exec/pointwise_job.h"
#include "exec/threads.h"
#include "kernel/ahead.h"

#define BLOCK_BYTES (WF__PW_BLOCK * 8)
#define CHUNK 16384  /* elements of a row that a thread takes at a time */
#define SHORT_ROW 64 /* shorter rows are packed */
/* Bytes of a tile's row and column: long enough to be worth going to memory for, few enough for the caches. 4096 squared, f32, plus a transpose
 * takes on a Zen 5, where memcpy moves as much in 4.9 ms, 7.4 with 256 x 64 elements, 7.1 with 128 and 8.1 with 64 columns; without columns brought
 * side by side or lines asked for 14.3. Rows that end within lines (4099 squared) take 11.0, 15.7 with 128 columns. Bytes: 512 x 256. */
#define TILE_ROW 1024
#define TILE_COLUMN 256
#define TILE_COLS 512
#define TILE_SPACE (168 << 10) /* halves need most: 512 columns of 128 rows brought together, and GROUP rows of them */
#define GROUP 16               /* rows that are turned at a time, and asked for before they are read */
#define LINE 64

typedef wf__pw_job job;
typedef wf__pw_input input;
typedef wf__pw_blocks blocks;

/* ---- blocks of operands ------------------------------------------------------------------------------------------------------ */

/* Fills the block of an operand that doesn't vary along the row. */
static void fill_constant(const job *j, int k, const char *src, blocks *b, int64_t n) {
  const input *in = &j->in[k];
  char one[8], spare[8];
  char pattern[LINE];
  const char *now = one;
  if (!in->present) now = in->number;
  else if (wf__casts(&in->cast)) wf__cast_into(&in->cast, one, src, spare, 1);
  else now = src;
  int64_t size = (int64_t)1 << in->log_wide;
  for (int64_t i = 0; i < LINE; i += size) memcpy(pattern + i, now, (size_t)size);
  j->kernels->fill(b->value[k], pattern, n * size, false);
}

const void *wf__pw_load(const job *j, int k, const char *src, int64_t stride, blocks *b, int64_t n) {
  const input *in = &j->in[k];
  const char *consecutive = src;
  bool cast = wf__casts(&in->cast);
  if (stride != in->size) {
    char *where = cast ? b->raw : b->value[k];
    j->kernels->gather[in->log_size](where, src, stride, n);
    consecutive = where;
  }
  if (!cast) return consecutive;
  char spare[BLOCK_BYTES];
  wf__cast_into(&in->cast, b->value[k], consecutive, spare, n);
  return b->value[k];
}

/* The result in its block goes to the output: cast, then stored past the cache, placed or scattered. */
static void store_block(const job *j, char *dst, int64_t stride, blocks *b, int64_t n, bool stream) {
  char *now = b->result;
  bool direct = stride == j->out_size && !stream;
  if (j->from_class) {
    char *to = !j->from_compute && direct ? dst : b->raw;
    j->from_class(to, now, n);
    now = to;
  }
  if (j->from_compute) {
    char *to = direct ? dst : now == b->raw ? b->result : b->raw;
    j->from_compute(to, now, n);
    now = to;
  }
  if (stream) j->kernels->stream(dst, now, n * j->out_size);
  else if (!direct) j->kernels->scatter[j->out_log](dst, stride, now, n);
}

/* ---- a row ----------------------------------------------------------------------------------------------------------------- */

static bool is_used_in_place(const input *in, int64_t stride) {
  return in->present && !wf__casts(&in->cast) && stride == in->size;
}
static bool is_constant(const input *in, int64_t stride) { return !in->present || stride == 0; }

/* Elements until the output is at a whole line, at most a block. */
static int64_t first_block(const job *j, const char *dst, int64_t most) {
  int64_t head = (int64_t)(-(uintptr_t)dst % LINE) / j->out_size;
  return head && head < most ? head : most;
}

/* n elements of one row; at[] and stride[] by operand, the output first. */
static void do_row(const job *j, char *const *at, const int64_t *stride, blocks *b, int64_t n) {
  const void *in[WF__PW_INPUTS];
  bool in_place[WF__PW_INPUTS], direct = !j->has_result_copy && stride[0] == j->out_size, whole = direct;
  bool stream = j->stream && stride[0] == j->out_size;
  int64_t most = j->block;
  for (int k = 0; k < j->inputs; k++) {
    const input *o = &j->in[k];
    bool constant = is_constant(o, stride[k + 1]);
    in_place[k] = !constant && is_used_in_place(o, stride[k + 1]);
    whole = whole && (in_place[k] || o->missing);
    in[k] = b->value[k];
    if (in_place[k]) in[k] = at[k + 1];
    else if (o->missing) in[k] = NULL;
    else if (constant) fill_constant(j, k, at[k + 1], b, n < most ? n : most);
  }
  if (whole && !stream) {
    j->fn(at[0], in, n, &j->args);
    return;
  }
  direct = direct && !stream;
  for (int64_t i = 0, count; i < n; i += count) {
    char *dst = at[0] + i * stride[0];
    count = stream && i == 0 ? first_block(j, dst, most) : most;
    count = n - i < count ? n - i : count;
    for (int k = 0; k < j->inputs; k++) {
      if (in_place[k]) in[k] = at[k + 1] + i * stride[k + 1];
      else if (!is_constant(&j->in[k], stride[k + 1]))
        in[k] = wf__pw_load(j, k, at[k + 1] + i * stride[k + 1], stride[k + 1], b, count);
    }
    j->fn(direct ? dst : b->result, in, count, &j->args);
    if (!direct) store_block(j, dst, stride[0], b, count, stream);
  }
}

/* Whether the kernel reads every operand as it is and could write to the output. */
static bool is_plain(const job *j, const int64_t *stride) {
  bool plain = !j->has_result_copy && stride[0] == j->out_size;
  for (int k = 0; k < j->inputs; k++) plain = plain && is_used_in_place(&j->in[k], stride[k + 1]);
  return plain;
}

/* At most a block of such a row, of a tile: what do_row() decides for each row would be a fifth of the time. */
static inline void do_plain_row(const job *j, char *const *at, blocks *b, int64_t n) {
  const void *in[WF__PW_INPUTS] = {at[1], at[2], at[3]};
  j->fn(j->stream ? b->result : at[0], in, n, &j->args);
  if (j->stream) j->kernels->stream(at[0], b->result, n * j->out_size);
}

static void do_rows(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  blocks b;
  wf__cursor at;
  wf__walk_seek(&j->walk, begin / j->chunks, &at);
  for (int64_t unit = begin, piece = begin % j->chunks; unit < end; unit++) {
    int64_t first = piece * CHUNK, n = j->n - first < CHUNK ? j->n - first : CHUNK;
    char *row[1 + WF__PW_INPUTS];
    for (int o = 0; o <= j->inputs; o++) row[o] = at.at[o] + first * j->stride[o];
    do_row(j, row, j->stride, &b, n);
    if (++piece < j->chunks) continue;
    piece = 0;
    wf__walk_next(&j->walk, &at);
  }
  if (j->stream) wf__stream_fence();
}

/* ---- packed rows ------------------------------------------------------------------------------------------------------------- */

/* `rows` rows of input k as consecutive elements: where they are, or in a block. */
static const void *pack(const job *j, int k, const char *src, int64_t rows, blocks *b) {
  const input *in = &j->in[k];
  int64_t stride = j->stride[k + 1], row = j->row_stride[k + 1], bytes = j->n * in->size;
  bool cast = wf__casts(&in->cast);
  if (stride == in->size && row == bytes) return wf__pw_load(j, k, src, stride, b, rows * j->n);
  char *to = cast ? b->raw : b->value[k];
  bool turned = row == in->size && stride != in->size;
  if (turned) j->kernels->transpose[in->log_size](to, bytes, src, stride, rows, j->n);
  for (int64_t r = 0; r < rows && !turned; r++) {
    if (r && row == 0) memcpy(to + r * bytes, to, (size_t)bytes);
    else j->kernels->gather[in->log_size](to + r * bytes, src + r * row, stride, j->n);
  }
  if (!cast) return to;
  char spare[BLOCK_BYTES];
  wf__cast_into(&in->cast, b->value[k], to, spare, rows * j->n);
  return b->value[k];
}

static void do_packed(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  blocks b;
  wf__cursor at;
  const void *in[WF__PW_INPUTS];
  bool stays[WF__PW_INPUTS]; /* the block of an input that is the same for all rows is filled once */
  wf__walk_seek(&j->walk, begin / j->chunks, &at);
  for (int64_t unit = begin, piece = begin % j->chunks; unit < end; unit++) {
    int64_t first = piece * j->tile_rows, rows = j->rows - first < j->tile_rows ? j->rows - first : j->tile_rows;
    int64_t n = rows * j->n;
    for (int k = 0; k < j->inputs; k++) {
      const input *o = &j->in[k];
      bool same = !o->present || (j->row_stride[k + 1] == 0 && j->walk.count == 1);
      stays[k] = same && unit > begin;
      if (stays[k]) continue;
      if (o->missing) in[k] = NULL;
      else if (!o->present) {
        fill_constant(j, k, NULL, &b, j->tile_rows * j->n);
        in[k] = b.value[k];
      } else {
        in[k] = pack(j, k, at.at[k + 1] + first * j->row_stride[k + 1], same ? j->tile_rows : rows, &b);
      }
    }
    char *dst = at.at[0] + first * j->row_stride[0];
    bool direct = !j->has_result_copy && !j->stream;
    j->fn(direct ? dst : b.result, in, n, &j->args);
    if (!direct) store_block(j, dst, j->out_size, &b, n, j->stream);
    if (++piece < j->chunks) continue;
    piece = 0;
    wf__walk_next(&j->walk, &at);
  }
  if (j->stream) wf__stream_fence();
}

/* ---- tiles ----------------------------------------------------------------------------------------------------------------- */

typedef struct tile {
  char *corner[1 + WF__PW_INPUTS];
  int64_t rows, cols;
} tile;

static bool is_read_in_place(const job *j, int o) {
  return j->in[o - 1].present && !j->turned[o] && j->stride[o] == j->in[o - 1].size;
}

/* Asks for a row, counted from this tile's first into the next, of the inputs that are read where they are: it is too short for the CPU's own
 * prefetcher to see it coming. */
static void fetch_row(const job *j, const tile *t, const tile *next, int64_t row) {
  if (row >= t->rows) {
    row -= t->rows;
    t = next;
  }
  if (row >= t->rows) return;
  for (int o = 1; o <= j->inputs; o++)
    if (is_read_in_place(j, o)) wf__fetch(t->corner[o] + row * j->row_stride[o], t->cols * j->in[o - 1].size);
}

/* An operand that is transposed, some rows of the tile at a time. Its lines are brought side by side first, so that each is read once however their
 * addresses meet in the cache; columns of less than a line aren't worth that: pictures of 3 channels, of which one operand has them last, take 0.5
 * to 0.7 of the time from where they are, f32 with 8 channels 0.8, and from a line on both are the same (Zen 5). */
typedef struct turning {
  int operand;
  int64_t size, stride, pitch; /* stride: from column to column */
  const char *from;
  char *rows;
  wf__ahead next; /* what the next tile will read, asked for while this one's rows are done, */
  int64_t lines;  /* so many lines a row */
} turning;

static void bring_together(turning *u, const tile *t, int64_t pitch, char *stage) {
  for (int64_t c = 0; c < t->cols; c++) memcpy(stage + c * pitch, u->from + c * u->stride, (size_t)(t->rows * u->size));
  u->from = stage;
  u->stride = pitch;
}

static void begin_turning(const job *j, turning *u, int o, const tile *t, const tile *next, char **space) {
  int64_t size = j->in[o - 1].size, stage_pitch = wf__lines_pitch(j->tile_rows * size);
  *u = (turning){.operand = o,
                 .size = size,
                 .stride = j->stride[o],
                 .pitch = wf__lines_pitch((j->tile_cols * size + LINE - 1) / LINE * LINE),
                 .from = t->corner[o],
                 .rows = *space + j->tile_cols * stage_pitch,
                 .next = {next->corner[o], j->stride[o], next->rows * size, next->cols, 0, false}};
  if (t->rows * size >= LINE) bring_together(u, t, stage_pitch, *space);
  u->lines = next->cols * (next->rows * size / LINE + 1) / t->rows + 1;
  *space = u->rows + GROUP * u->pitch;
}

static void do_tile(const job *j, const tile *t, const tile *next, blocks *b, char *space) {
  turning turned[WF__PW_INPUTS];
  int count = 0;
  char *at[1 + WF__PW_INPUTS] = {NULL};
  int64_t step[1 + WF__PW_INPUTS];
  for (int o = 0; o <= j->inputs; o++) {
    at[o] = t->corner[o];
    step[o] = j->row_stride[o];
    if (!j->turned[o]) continue;
    begin_turning(j, &turned[count], o, t, next, &space);
    step[o] = turned[count++].pitch;
  }
  for (int64_t first = 0; first < t->rows; first += GROUP) {
    int64_t rows = t->rows - first < GROUP ? t->rows - first : GROUP;
    for (turning *u = turned; u < turned + count; u++) {
      j->kernels->transpose[j->in[u->operand - 1].log_size](u->rows, u->pitch, u->from + first * u->size, u->stride,
                                                            rows, t->cols);
      at[u->operand] = u->rows;
    }
    for (int64_t r = first; r < first + rows; r++) {
      fetch_row(j, t, next, r + GROUP);
      for (turning *u = turned; u < turned + count; u++) wf__ask(&u->next, u->lines);
      if (j->plain) do_plain_row(j, at, b, t->cols);
      else do_row(j, at, j->tile_stride, b, t->cols);
      for (int o = 0; o <= j->inputs; o++) at[o] += step[o];
    }
  }
}

/* The tile at row r and column c of those that the cursor is at. */
static void set_tile(const job *j, tile *t, const wf__cursor *at, int64_t r, int64_t c) {
  int64_t rows = j->rows - r, cols = j->n - c;
  t->rows = rows < j->tile_rows ? rows : j->tile_rows;
  t->cols = cols < j->tile_cols ? cols : j->tile_cols;
  for (int o = 0; o <= j->inputs; o++) t->corner[o] = at->at[o] + r * j->row_stride[o] + c * j->stride[o];
}

static void do_tiles(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  blocks b;
  char space[TILE_SPACE] __attribute__((aligned(LINE)));
  wf__cursor at;
  wf__walk_seek(&j->walk, begin / j->chunks, &at);
  for (int64_t unit = begin, piece = begin % j->chunks; unit < end; unit++) {
    int64_t r = piece * j->tile_rows;
    bool goes_on = piece + 1 < j->chunks && unit + 1 < end;
    tile t, next;
    set_tile(j, &next, &at, r, 0);
    for (int64_t c = 0; c < j->n; c += j->tile_cols) {
      t = next;
      if (c + j->tile_cols < j->n) set_tile(j, &next, &at, r, c + j->tile_cols);
      else if (goes_on) set_tile(j, &next, &at, r + j->tile_rows, 0);
      else next.rows = next.cols = 0;
      do_tile(j, &t, &next, &b, space);
    }
    if (++piece < j->chunks) continue;
    piece = 0;
    wf__walk_next(&j->walk, &at);
  }
  if (j->stream) wf__stream_fence();
}

/* ---- which ------------------------------------------------------------------------------------------------------------------ */

/* The dim along which an input is consecutive that isn't consecutive along the row; -1 when all agree. */
static int other_fastest(const job *j, const wf_plan *plan) {
  int last = plan->ndim - 1;
  for (int k = 0; k < j->inputs; k++) {
    const wf_operand *o = &plan->operand[k + 1];
    if (!j->in[k].present || o->stride[last] == 0 || o->stride[last] == j->in[k].size) continue;
    for (int d = last - 1; d >= 0; d--)
      if (o->stride[d] == j->in[k].size && plan->size[d] > 1) return d;
  }
  return -1;
}

static void set_second_dim(job *j, const wf_plan *plan, int dim) {
  j->rows = plan->size[dim];
  for (int o = 0; o <= j->inputs; o++)
    j->row_stride[o] = o == 0 || j->in[o - 1].present ? plan->operand[o].stride[dim] : 0;
}

static void run_tiles(job *j, const wf_plan *plan, int other) {
  int64_t widest = 1;
  int turned = 0;
  set_second_dim(j, plan, other);
  for (int o = 0; o <= j->inputs; o++) {
    j->turned[o] = o > 0 && j->in[o - 1].present && j->row_stride[o] == j->in[o - 1].size && j->stride[o] != 0 &&
                   j->stride[o] != j->in[o - 1].size;
    j->tile_stride[o] = j->turned[o] ? j->in[o - 1].size : j->stride[o];
    if (!j->turned[o]) continue;
    turned++;
    if (j->in[o - 1].size > widest) widest = j->in[o - 1].size;
  }
  j->plain = is_plain(j, j->tile_stride);
  int64_t most = TILE_ROW / widest < TILE_COLS ? TILE_ROW / widest : TILE_COLS;
  j->tile_cols = j->n < most / turned ? j->n : most / turned;
  j->tile_rows = TILE_COLUMN / widest > 64 ? TILE_COLUMN / widest : 64;
  j->chunks = (j->rows + j->tile_rows - 1) / j->tile_rows;
  j->stream = j->stream && j->tile_cols * j->out_size >= 4 * LINE;
  wf__walk_of(&j->walk, plan, j->inputs + 1, 1u << (plan->ndim - 1) | 1u << other);
  int64_t unit = j->n * (j->rows < j->tile_rows ? j->rows : j->tile_rows);
  wf__parallel(j->walk.count * j->chunks, (WF__GRAIN + unit - 1) / unit, do_tiles, j);
}

/* Whether rows are short and their results follow each other. */
static bool packs(const job *j, const wf_plan *plan) {
  int last = plan->ndim - 1;
  return last > 0 && j->n < SHORT_ROW && j->stride[0] == j->out_size &&
         plan->operand[0].stride[last - 1] == j->n * j->out_size && plan->size[last - 1] > 1;
}

static void run_packed(job *j, const wf_plan *plan) {
  int last = plan->ndim - 1;
  set_second_dim(j, plan, last - 1);
  j->tile_rows = j->block / j->n < j->rows ? j->block / j->n : j->rows;
  j->chunks = (j->rows + j->tile_rows - 1) / j->tile_rows;
  wf__walk_of(&j->walk, plan, j->inputs + 1, 3u << (last - 1));
  int64_t unit = j->n * (j->rows < j->tile_rows ? j->rows : j->tile_rows);
  wf__parallel(j->walk.count * j->chunks, (WF__GRAIN + unit - 1) / unit, do_packed, j);
}

static bool overwrites_input(const job *j, const wf_plan *plan) {
  for (int k = 0; k < j->inputs; k++)
    if (j->in[k].present && plan->operand[k + 1].data == plan->operand[0].data) return true;
  return false;
}

/* Elements of the widest form that any operand has between memory and the kernel fill a block. */
static int64_t block_of(const job *j, const wf_plan *plan) {
  int64_t widest = (int64_t)wf_dtype_size((wf_dtype)plan->compute), wide = (int64_t)wf_dtype_size(j->wide);
  if (wide > widest) widest = wide;
  if (j->out_size > widest) widest = j->out_size;
  for (int k = 0; k < j->inputs; k++)
    if (j->in[k].present && j->in[k].size > widest) widest = j->in[k].size;
  return BLOCK_BYTES / widest;
}

void wf__pw_run(job *j, const wf_plan *plan, int64_t count) {
  int last = plan->ndim - 1;
  j->block = block_of(j, plan);
  j->n = last >= 0 ? plan->size[last] : 1;
  for (int o = 0; o <= j->inputs; o++)
    j->stride[o] = last >= 0 && (o == 0 || j->in[o - 1].present) ? plan->operand[o].stride[last] : 0;
  if (j->n == 1) j->stride[0] = j->out_size;
  j->stream = wf__past_cache(plan->operand[0].data, j->out_size, count * j->out_size) && j->stride[0] == j->out_size &&
              !overwrites_input(j, plan);
  int other = last > 0 && j->n > 1 ? other_fastest(j, plan) : -1;
  if (packs(j, plan) && (other < 0 || other == last - 1)) {
    run_packed(j, plan);
    return;
  }
  if (other >= 0) {
    run_tiles(j, plan, other);
    return;
  }
  int64_t unit = j->n < CHUNK ? j->n : CHUNK;
  j->stream = j->stream && unit >= 4 * SHORT_ROW; /* else half of the lines would be stored in parts */
  j->chunks = (j->n + CHUNK - 1) / CHUNK;
  wf__walk_of(&j->walk, plan, j->inputs + 1, last >= 0 ? 1u << last : 0);
  wf__parallel(j->walk.count * j->chunks, (WF__GRAIN + unit - 1) / unit, do_rows, j);
}
