/* Copies, casts and fills. How one is done follows from the form that the plan is in, never from who asks: copy_method.c chooses, this file runs
 * rows, fills and what is transposed straight into place, copy_tiles.c the rest. Right for any order of dims; fast for the normal form of copy/. */
#include <string.h>

#include "base/convert.h"
#include "exec/copy_rows.h"
#include "exec/families.h"
#include "exec/threads.h"
#include "exec/walk.h"

#define BLOCK 512              /* elements of a block on the stack: 4 KiB of f64, so that two blocks stay in L1 */
#define SMALL_BYTES (16 << 10) /* of runs that are copied without looking for a method */
#define FEW_ELEMENTS 200       /* that are copied one by one; a method costs some 200 ns, an element less than one */
#define CHUNK 65536            /* elements of a row that one thread takes at a time */

/* ---- one row ------------------------------------------------------------------------------------------------------------- */

static bool converts(const wf__copy_row *row) { return row->convert || row->scale; }

static void convert(const wf__copy_row *row, char *dst, const char *src, int64_t n, int64_t by) {
  if (row->scale) wf__copy_scaled(row->scale, dst, src, n, by);
  else row->convert(dst, src, n);
}

/* Elements that aren't consecutive, or are converted on their way past the cache, go through blocks. */
static void move_block(const wf__copy_row *row, char *dst, const char *src, int64_t from_stride, int64_t n,
                       int64_t by) {
  char from[BLOCK * 16], to[BLOCK * 16];
  const char *consecutive = src;
  bool in_place = row->to_stride == row->to_size && !row->stream;
  if (from_stride != row->from_size) {
    char *gathered = !converts(row) && in_place ? dst : from;
    row->kernels->gather[row->from_log](gathered, src, from_stride, n);
    if (gathered == dst) return;
    consecutive = from;
  }
  if (converts(row)) {
    convert(row, in_place ? dst : to, consecutive, n, by);
    if (in_place) return;
    consecutive = to;
  }
  if (row->to_stride == row->to_size) row->kernels->stream(dst, consecutive, n * row->to_size);
  else row->kernels->scatter[row->to_log](dst, row->to_stride, consecutive, n);
}

/* A row of one element. */
static void repeat_element(const wf__copy_row *row, char *dst, const char *src, int64_t n) {
  char pattern[WF__COPY_LINE];
  if (row->convert) row->convert(pattern, src, 1);
  else memcpy(pattern, src, (size_t)row->to_size);
  for (int64_t done = row->to_size; done < WF__COPY_LINE; done *= 2) memcpy(pattern + done, pattern, (size_t)done);
  row->kernels->fill(dst, pattern, n * row->to_size, row->stream);
}

/* So that blocks that go past the cache begin on lines. */
static int64_t elements_to_line(const wf__copy_row *row, const char *dst) {
  int64_t elements = (int64_t)(-(uintptr_t)dst % WF__COPY_LINE) / row->to_size;
  return elements ? elements : BLOCK;
}

void wf__copy_row_move(const wf__copy_row *row, char *dst, const char *src, int64_t from_stride, int64_t n,
                       int64_t by) {
  bool from_consecutive = from_stride == row->from_size, to_consecutive = row->to_stride == row->to_size;
  if (from_consecutive && to_consecutive && !(converts(row) && row->stream)) {
    if (converts(row)) convert(row, dst, src, n, by);
    else if (row->stream) row->kernels->stream(dst, src, n * row->to_size);
    else memcpy(dst, src, (size_t)(n * row->to_size));
  } else if (from_stride == 0 && to_consecutive && !row->scale) {
    repeat_element(row, dst, src, n);
  } else if (!converts(row) && from_consecutive) {
    row->kernels->scatter[row->to_log](dst, row->to_stride, src, n);
  } else {
    int64_t step = row->scale ? row->scale->step * (int64_t)sizeof(float) : 0;
    int64_t count = to_consecutive && row->stream ? elements_to_line(row, dst) : BLOCK;
    for (int64_t i = 0; i < n; i += count, count = BLOCK) {
      if (count > n - i) count = n - i;
      move_block(row, dst + i * row->to_stride, src + i * from_stride, from_stride, count, by + i * step);
    }
  }
}

void wf__copy_row_of(wf__copy_row *row, const wf__copy_method *m, const wf_plan *plan, wf__copy_scale *scale) {
  *row = (wf__copy_row){.kernels = wf__kernels_now(),
                        .to_size = m->to_size,
                        .from_size = m->from_size,
                        .to_log = wf__copy_log(m->to_size),
                        .from_log = wf__copy_log(m->from_size),
                        .stream = m->stream};
  if (m->scaled) {
    wf__copy_scale_of(scale, m, plan);
    row->scale = scale;
  } else if (m->converts) {
    row->convert = row->kernels->convert[m->from][m->to];
  }
}

/* ---- rows ------------------------------------------------------------------------------------------------------------------ */

typedef struct job {
  wf__walk walk;
  wf__copy_row row;
  int64_t n, from_stride, by; /* of a row: elements, and byte strides in source and factors */
  int64_t chunks;             /* pieces that each row is cut into; of STRAIGHT: of each of the source's rows */
  const char *pattern;        /* fill: BLOCK elements */
  /* STRAIGHT */
  int64_t band, rows, row_stride;
  wf__lines_how lines;
} job;

static void fill_row(const job *j, char *dst, int64_t n) {
  const wf__copy_row *row = &j->row;
  if (row->to_stride == row->to_size) {
    row->kernels->fill(dst, j->pattern, n * row->to_size, row->stream);
    return;
  }
  for (int64_t i = 0; i < n; i += BLOCK)
    row->kernels->scatter[row->to_log](dst + i * row->to_stride, row->to_stride, j->pattern,
                                       n - i < BLOCK ? n - i : BLOCK);
}

static void do_rows(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  wf__cursor at;
  wf__walk_seek(&j->walk, begin / j->chunks, &at);
  for (int64_t unit = begin, piece = begin % j->chunks; unit < end; unit++) {
    int64_t first = piece * CHUNK, n = j->n - first < CHUNK ? j->n - first : CHUNK;
    char *dst = at.at[0] + first * j->row.to_stride;
    if (j->pattern) fill_row(j, dst, n);
    else
      wf__copy_row_move(&j->row, dst, at.at[1] + first * j->from_stride, j->from_stride, n,
                        (j->row.scale ? at.at[2] - j->walk.base[2] : 0) + first * j->by);
    if (++piece < j->chunks) continue;
    piece = 0;
    wf__walk_next(&j->walk, &at);
  }
  if (j->row.stream) wf__stream_fence();
}

/* All dims but those whose bit is set in `inner`. */
static void walk_of(wf__walk *walk, const wf__copy_method *m, const wf_plan *plan, uint32_t inner) {
  walk->ndim = 0;
  walk->operands = m->scaled ? 3 : plan->operands > 1 ? 2 : 1;
  walk->count = 1;
  for (int o = 0; o < walk->operands; o++) walk->base[o] = plan->operand[o].data;
  for (int d = 0; d < m->ndim; d++) {
    if (inner >> d & 1) continue;
    int k = walk->ndim++;
    walk->size[k] = m->dim[d].size;
    walk->stride[0][k] = m->dim[d].to;
    walk->stride[1][k] = m->dim[d].from;
    walk->stride[2][k] = m->dim[d].by;
    walk->count *= m->dim[d].size;
  }
}

static void run_rows(job *j, const wf__copy_method *m, const wf_plan *plan) {
  int last = m->ndim - 1;
  j->n = last >= 0 ? m->dim[last].size : 1;
  j->row.to_stride = last >= 0 ? m->dim[last].to : m->to_size;
  j->from_stride = last >= 0 ? m->dim[last].from : m->from_size;
  j->by = last >= 0 ? m->dim[last].by : 0;
  walk_of(&j->walk, m, plan, last >= 0 ? 1u << last : 0);
  j->chunks = (j->n + CHUNK - 1) / CHUNK;
  int64_t unit = j->n < CHUNK ? j->n : CHUNK;
  wf__parallel(j->walk.count * j->chunks, (WF__GRAIN + unit - 1) / unit, do_rows, j);
}

static void run_fill(job *j, const wf__copy_method *m, const wf_plan *plan) {
  char pattern[BLOCK * 8] __attribute__((aligned(WF__COPY_LINE)));
  int64_t size = m->to_size;
  wf__scalar_store(plan->scalar[0], m->to, pattern);
  for (int64_t done = size; done < BLOCK * size; done *= 2)
    memcpy(pattern + done, pattern, (size_t)done); /* BLOCK: 2^k */
  j->pattern = pattern;
  run_rows(j, m, plan);
}

/* ---- straight into place ----------------------------------------------------------------------------------------------------- */

/* Where the band after this one is read from; NULL when it belongs to no band of this thread. */
static const char *next_band(const job *j, const wf__cursor *at, int64_t piece, bool last) {
  if (last) return NULL;
  if (piece + 1 < j->chunks) return at->at[1] + (piece + 1) * j->band * j->row.from_size;
  wf__cursor next = *at;
  wf__walk_next(&j->walk, &next);
  return next.at[1];
}

static void do_straight(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  char stage[WF__COPY_LINES_STAGE] __attribute__((aligned(WF__COPY_LINE)));
  wf__lines_how how = j->lines;
  how.stage = stage;
  wf__cursor at;
  wf__walk_seek(&j->walk, begin / j->chunks, &at);
  for (int64_t unit = begin, piece = begin % j->chunks; unit < end; unit++) {
    int64_t first = piece * j->band, rows = j->rows - first < j->band ? j->rows - first : j->band;
    how.next = next_band(j, &at, piece, unit + 1 == end);
    j->row.kernels->transpose_lines[j->row.to_log](at.at[0] + first * j->row_stride, j->row_stride,
                                                   at.at[1] + first * j->row.from_size, j->from_stride, rows, j->n,
                                                   &how);
    if (++piece < j->chunks) continue;
    piece = 0;
    wf__walk_next(&j->walk, &at);
  }
  wf__stream_fence();
}

static void run_straight(job *j, const wf__copy_method *m, const wf_plan *plan) {
  int last = m->ndim - 1;
  j->n = m->dim[last].size;
  j->from_stride = m->dim[last].from;
  j->rows = m->dim[m->fastest].size;
  j->row_stride = m->dim[m->fastest].to;
  j->chunks = (j->rows + m->band - 1) / m->band;
  j->band = (j->rows + j->chunks - 1) / j->chunks;
  /* Blocks that don't begin on a line read one more: 4080 squared in bands of 1020 makes 0.82 of memcpy, of 1024 0.89 (Zen 5). */
  j->band = (j->band + m->staged_rows - 1) / m->staged_rows * m->staged_rows;
  j->chunks = (j->rows + j->band - 1) / j->band;
  j->lines = (wf__lines_how){.convert = j->row.convert,
                             .from_size = m->from_size,
                             .lines = m->lines,
                             .staged = m->staged_rows,
                             .ahead = m->ahead};
  walk_of(&j->walk, m, plan, 1u << last | 1u << m->fastest);
  wf__parallel(j->walk.count * j->chunks, 1, do_straight, j);
}

/* ---- few elements -------------------------------------------------------------------------------------------------------------- */

#define FEW(bytes)                       \
  for (int64_t i = 0; i < n[0]; i++)     \
    for (int64_t k = 0; k < n[1]; k++)   \
      for (int64_t l = 0; l < n[2]; l++) \
        memcpy(dst + i * to[0] + k * to[1] + l * to[2], src + i * from[0] + k * from[1] + l * from[2], bytes);

static void move_few(const wf_plan *plan, int64_t size) {
  char *dst = plan->operand[0].data;
  const char *src = plan->operand[1].data;
  int64_t n[3] = {1, 1, 1}, to[3] = {0}, from[3] = {0};
  for (int d = 0, at = 3 - plan->ndim; d < plan->ndim; d++, at++) {
    n[at] = plan->size[d];
    to[at] = plan->operand[0].stride[d];
    from[at] = plan->operand[1].stride[d];
  }
  switch (size) {
    case 1: FEW(1) break;
    case 2: FEW(2) break;
    case 4: FEW(4) break;
    default: FEW(8) break;
  }
}

/* What isn't worth a choice: one run, equal rows, few elements. A copy of 64 floats is a call of memcpy. */
static bool copy_small(const wf_plan *plan) {
  const wf_operand *to = &plan->operand[0], *from = &plan->operand[1];
  if (plan->operands != 2 || plan->ndim > 3 || to->dtype != from->dtype || !from->data) return false;
  int64_t size = (int64_t)wf_dtype_size(to->dtype), count = 1;
  for (int d = 0; d < plan->ndim; d++) count *= plan->size[d];
  if (count * size > SMALL_BYTES || count == 0) return count == 0;
  int last = plan->ndim - 1;
  bool runs = last < 0 || (to->stride[last] == size && from->stride[last] == size);
  if (runs && plan->ndim <= 1) memcpy(to->data, from->data, (size_t)(count * size));
  else if (runs && plan->ndim == 2)
    wf__kernels_now()->move_units(to->data, to->stride[0], from->data, from->stride[0], plan->size[0],
                                  plan->size[1] * size);
  else if (count <= FEW_ELEMENTS) move_few(plan, size);
  else return false;
  return true;
}

wf_status wf__exec_copy(const wf_plan *plan) {
  if (copy_small(plan)) return WF_OK;
  wf__copy_method m;
  wf__copy_choose(plan, &m);
  if (m.how == WF__COPY_NOTHING) return WF_OK;
  if (m.how == WF__COPY_TILES) {
    wf__copy_tiles(&m, plan);
    return WF_OK;
  }
  job j;
  wf__copy_scale scale;
  wf__copy_row_of(&j.row, &m, plan, &scale);
  j.pattern = NULL;
  if (m.how == WF__COPY_FILL) run_fill(&j, &m, plan);
  else if (m.how == WF__COPY_STRAIGHT) run_straight(&j, &m, plan);
  else run_rows(&j, &m, plan);
  return WF_OK;
}
