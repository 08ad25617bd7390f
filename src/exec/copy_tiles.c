/* TILES: the destination is cut into tiles whose extents in copy_method.h say which dims are turned against each other. A tile is turned within
 * the cache, into a buffer when it is converted or goes past the cache, else straight into place; runs of the buffer are then written out.
 *
 * Reading and writing take turns: a store past the cache holds up loads that miss, so a mix of both runs at half the speed. The lines that runs
 * of a tile share with their neighbours are asked for before (from 0.5 to 0.7 of memcpy, 4099 squared, f32, one core); asking for the
 * source's lines as well changes nothing that can be measured. */
#include <string.h>

#include "exec/copy_rows.h"
#include "exec/threads.h"

typedef struct job {
  const wf__copy_method *m;
  wf__copy_row row; /* how a run is written out, and a row is staged */
  wf__convert_fn convert;
  char *dst;
  const char *src;
  int64_t tiles[WF_MAX_DIMS]; /* along each dim */
  int64_t count;
  int64_t size; /* bytes of an element while it is turned */
  int size_log;
  bool borders;
  const int64_t *from, *to, *stage_from; /* places of columns in the source and in the stage, of rows in the buffer */
} job;

typedef struct tile {
  int64_t index[WF_MAX_DIMS]; /* in tiles */
  int64_t extent[WF_MAX_DIMS];
  char *dst;
  const char *src;
  int64_t by; /* bytes from the first factor */
} tile;

/* ---- counting through a few dims ------------------------------------------------------------------------------------------------ */

/* Bytes from where counting began: in destination, source, buffer and factors. */
typedef struct place {
  int64_t to, from, buffer, by;
} place;

/* Steps through the dims listed, fastest first; false when they are through. */
static bool step(const job *j, const tile *t, const uint8_t *dims, int n, int64_t *index, place *at) {
  for (int i = 0; i < n; i++) {
    const wf__copy_dim *d = &j->m->dim[dims[i]];
    bool on = ++index[i] < t->extent[dims[i]];
    int64_t steps = on ? 1 : 1 - index[i];
    at->to += steps * d->to;
    at->from += steps * d->from;
    at->buffer += steps * d->buffer;
    at->by += steps * d->by;
    if (on) return true;
    index[i] = 0;
  }
  return false;
}

static int64_t extents_of(const tile *t, const uint8_t *dims, int n) {
  int64_t count = 1;
  for (int i = 0; i < n; i++) count *= t->extent[dims[i]];
  return count;
}

/* Places of the whole dims listed; those of a smaller tile are the first ones, since only the last dim may be cut. */
static void list_places(const wf__copy_method *m, const uint8_t *dims, int n, bool source, int64_t *place) {
  int64_t count = 1;
  place[0] = 0;
  for (int i = 0; i < n; i++) {
    const wf__copy_dim *d = &m->dim[dims[i]];
    int64_t stride = source ? d->from : d->buffer;
    for (int64_t k = 1; k < d->extent; k++)
      for (int64_t p = 0; p < count; p++) place[k * count + p] = place[p] + k * stride;
    count *= d->extent;
  }
}

/* ---- turning -------------------------------------------------------------------------------------------------------------------- */

/* Brings the rows of the source of one strip side by side, as elements of the size that is turned; factors come when the tile is written. */
static void stage_rows(const job *j, char *stage, const char *src, const int64_t *from, int64_t columns, int64_t rows) {
  const wf__copy_method *m = j->m;
  int64_t stride = m->dim[m->fastest].from;
  wf__copy_row row = j->row;
  row.convert = m->cast == WF__CAST_BEFORE ? j->convert : NULL;
  row.scale = NULL;
  row.from_size = m->from_size;
  row.from_log = wf__copy_log(m->from_size);
  row.to_size = row.to_stride = j->size;
  row.to_log = j->size_log;
  row.stream = false;
  for (int64_t c = 0; c < columns; c++)
    wf__copy_row_move(&row, stage + c * m->stage_pitch, src + from[c], stride, rows, 0);
}

/* Strip by strip of columns. */
static void turn_squares(const job *j, char *to, const char *src, int64_t columns, int64_t rows) {
  const wf__copy_method *m = j->m;
  wf__transpose_at_fn transpose = j->row.kernels->transpose_at[j->size_log];
  char stage[WF__COPY_STAGE] __attribute__((aligned(WF__COPY_LINE)));
  for (int64_t c = 0; c < columns; c += WF__COPY_STRIP) {
    int64_t strip = columns - c < WF__COPY_STRIP ? columns - c : WF__COPY_STRIP;
    if (m->staged) {
      stage_rows(j, stage, src, j->from + c, strip, rows);
      transpose(to + c * j->size, j->to, stage, j->stage_from, rows, strip);
    } else {
      transpose(to + c * j->size, j->to, src, j->from + c, rows, strip);
    }
  }
}

static void turn_by_dims(const job *j, const tile *t, char *to) {
  const wf__copy_method *m = j->m;
  int64_t columns = extents_of(t, m->column, m->columns), rows = extents_of(t, m->row, m->rows);
  int64_t index[WF_MAX_DIMS] = {0};
  place at = {0};
  do {
    if (m->turn == WF__TURN_SPLIT)
      j->row.kernels->deinterleave[j->size_log](to + at.buffer, j->to, t->src + at.from, columns, (int)rows);
    else if (m->turn == WF__TURN_JOIN)
      j->row.kernels->interleave[j->size_log](to + at.buffer, t->src + at.from, j->from, rows, (int)columns);
    else turn_squares(j, to + at.buffer, t->src + at.from, columns, rows);
  } while (step(j, t, m->other, m->others, index, &at));
}

/* Along the longest dim inside, the others around it. */
static void turn_by_moves(const job *j, const tile *t, char *to) {
  const wf__copy_method *m = j->m;
  int last = m->ndim - 1, inner = -1, n = 0;
  bool runs = m->dim[last].from == m->from_size && m->dim[last].buffer == j->size;
  int64_t unit = runs ? t->extent[last] * j->size : j->size;
  uint8_t dims[WF_MAX_DIMS];
  for (int d = last - runs; d >= 0; d--)
    if (inner < 0 || t->extent[d] > t->extent[inner]) inner = d;
  for (int d = last - runs; d >= 0; d--)
    if (d != inner && t->extent[d] > 1) dims[n++] = (uint8_t)d;
  int64_t index[WF_MAX_DIMS] = {0};
  place at = {0};
  do {
    j->row.kernels->move_units(to + at.buffer, m->dim[inner].buffer, t->src + at.from, m->dim[inner].from,
                               t->extent[inner], unit);
  } while (step(j, t, dims, n, index, &at));
}

/* ---- reading and writing ---------------------------------------------------------------------------------------------------------- */

static int outer_dims(const job *j, uint8_t *dims) {
  int n = 0;
  for (int d = j->m->ndim - 1 - j->m->run; d >= 0; d--)
    if (j->m->dim[d].extent > 1) dims[n++] = (uint8_t)d;
  return n;
}

static int64_t run_elements(const job *j, const tile *t) {
  int64_t run = 1;
  for (int d = j->m->ndim - 1; d >= j->m->ndim - j->m->run; d--) run *= t->extent[d];
  return run;
}

static void write_out(const job *j, const tile *t, const char *block) {
  uint8_t dims[WF_MAX_DIMS];
  int n = outer_dims(j, dims);
  int64_t index[WF_MAX_DIMS] = {0}, run = run_elements(j, t);
  place at = {0};
  do {
    wf__copy_row_move(&j->row, t->dst + at.to, block + at.buffer, j->size, run, t->by + at.by);
  } while (step(j, t, dims, n, index, &at));
}

/* Asks for the lines that runs of the tile share with what lies before and behind. */
static void ask_for_borders(const job *j, const tile *t) {
  uint8_t dims[WF_MAX_DIMS];
  int n = outer_dims(j, dims);
  int64_t index[WF_MAX_DIMS] = {0}, bytes = run_elements(j, t) * j->m->to_size;
  place at = {0};
  do {
    __builtin_prefetch(t->dst + at.to, 1);
    __builtin_prefetch(t->dst + at.to + bytes, 1);
  } while (step(j, t, dims, n, index, &at));
}

static void do_tile(const job *j, const tile *t, char *block) {
  if (j->borders) ask_for_borders(j, t);
  char *to = j->m->buffered ? block : t->dst;
  if (j->m->turn == WF__TURN_MOVES) turn_by_moves(j, t, to);
  else turn_by_dims(j, t, to);
  if (j->m->buffered) write_out(j, t, block);
}

/* ---- all tiles -------------------------------------------------------------------------------------------------------------------- */

static void set_tile(const job *j, tile *t, int d, int64_t index) {
  const wf__copy_dim *dim = &j->m->dim[d];
  t->dst += (index - t->index[d]) * dim->extent * dim->to;
  t->src += (index - t->index[d]) * dim->extent * dim->from;
  t->by += (index - t->index[d]) * dim->extent * dim->by;
  t->index[d] = index;
  int64_t left = dim->size - index * dim->extent;
  t->extent[d] = left < dim->extent ? left : dim->extent;
}

static void do_tiles(const job *j, int64_t begin, int64_t end, char *block) {
  tile t = {.dst = j->dst, .src = j->src};
  int64_t rest = begin;
  for (int d = j->m->ndim - 1; d >= 0; d--) {
    set_tile(j, &t, d, rest % j->tiles[d]);
    rest /= j->tiles[d];
  }
  for (int64_t n = begin; n < end; n++) {
    do_tile(j, &t, block);
    for (int d = j->m->ndim - 1; d >= 0; d--) {
      bool on = t.index[d] + 1 < j->tiles[d];
      set_tile(j, &t, d, on ? t.index[d] + 1 : 0);
      if (on) break;
    }
  }
  if (j->m->stream) wf__stream_fence();
}

static void do_buffered(void *context, int64_t begin, int64_t end) {
  char block[WF__COPY_BUFFER] __attribute__((aligned(WF__COPY_LINE)));
  do_tiles(context, begin, end, block);
}

static void do_in_place(void *context, int64_t begin, int64_t end) { do_tiles(context, begin, end, NULL); }

static void run_tiles(job *j) {
  const wf__copy_method *m = j->m;
  int64_t elements = 1;
  j->count = 1;
  for (int d = 0; d < m->ndim; d++) {
    j->tiles[d] = (m->dim[d].size + m->dim[d].extent - 1) / m->dim[d].extent;
    j->count *= j->tiles[d];
    elements *= m->dim[d].extent;
  }
  wf__parallel(j->count, (WF__GRAIN + elements - 1) / elements, m->buffered ? do_buffered : do_in_place, j);
}

/* The lists are as long as this tile needs them. */
static void run_squares(job *j) {
  const wf__copy_method *m = j->m;
  int64_t columns = 1, rows = 1;
  for (int i = 0; i < m->columns; i++) columns *= m->dim[m->column[i]].extent;
  for (int i = 0; i < m->rows; i++) rows *= m->dim[m->row[i]].extent;
  int64_t from[columns], to[rows], stage_from[WF__COPY_STRIP];
  list_places(m, m->column, m->columns, true, from);
  list_places(m, m->row, m->rows, false, to);
  for (int64_t c = 0; c < WF__COPY_STRIP; c++) stage_from[c] = c * m->stage_pitch;
  j->from = from;
  j->to = to;
  j->stage_from = stage_from;
  run_tiles(j);
}

/* SPLIT lists its few rows, JOIN its few columns. */
static void run_alternating(job *j) {
  const wf__copy_method *m = j->m;
  int64_t places[4];
  if (m->turn == WF__TURN_SPLIT) {
    list_places(m, m->row, m->rows, false, places);
    j->to = places;
  } else {
    list_places(m, m->column, m->columns, true, places);
    j->from = places;
  }
  run_tiles(j);
}

void wf__copy_tiles(const wf__copy_method *m, const wf_plan *plan) {
  job j = {.m = m, .dst = plan->operand[0].data, .src = plan->operand[1].data, .borders = m->stream};
  wf__copy_scale scale;
  wf__copy_row_of(&j.row, m, plan, &scale);
  j.convert = j.row.convert;
  j.size = m->cast == WF__CAST_BEFORE ? m->to_size : m->from_size;
  j.size_log = wf__copy_log(j.size);
  /* What is written out has been turned, and perhaps converted. */
  if (m->cast != WF__CAST_AFTER) j.row.convert = NULL;
  j.row.from_size = j.size;
  j.row.from_log = j.size_log;
  j.row.to_stride = m->dim[m->ndim - 1].to;
  if (m->turn == WF__TURN_SQUARES) run_squares(&j);
  else if (m->turn == WF__TURN_MOVES) run_tiles(&j);
  else run_alternating(&j);
}
