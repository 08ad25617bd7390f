/* TILES: the destination is cut into tiles whose extents in copy_method.h say which dims are turned against each other. A tile is turned within
 * the cache, into a buffer when it is converted or goes past the cache, else straight into place; runs of the buffer are then written out.
 *
 * Reading and writing take turns: a store past the cache holds up loads that miss, so a mix of both runs at half the speed. Lines of the next tile's
 * source are asked for while a tile is written, though: that takes 4099 squared, f32, from 0.42 of memcpy to 0.5 on a Zen 5. Lines that runs of a tile
 * share with the next tile wait for it and are stored whole (to 0.6); those at the ends are asked for before (0.5 to 0.7 on a Xeon). */
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
  bool borders, seams;
  /* The source's dims in a tile, fastest first: those that make one run of it, and the others. */
  int source_runs, source_outers;
  uint8_t source_run[WF_MAX_DIMS], source_outer[WF_MAX_DIMS];
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
      (m->split_past ? j->row.kernels->deinterleave_lines : j->row.kernels->deinterleave)[j->size_log](
          to + at.buffer, j->to, t->src + at.from, columns, (int)rows);
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

/* Lines of the source that the next tile will read, asked for while this one is written: run by run of the source. */
typedef struct asking {
  const tile *next; /* NULL: none */
  int64_t index[WF_MAX_DIMS], bytes, at, lines;
  place from;
} asking;

static void begin_asking(const job *j, const tile *next, asking *a) {
  *a = (asking){.next = next};
  if (!next) return;
  a->bytes = extents_of(next, j->source_run, j->source_runs) * j->m->from_size;
  a->lines = ((a->bytes + 2 * WF__COPY_LINE - 2) / WF__COPY_LINE) * extents_of(next, j->source_outer, j->source_outers);
}

static void ask(const job *j, asking *a, int64_t lines) {
  for (; a->next && lines > 0; lines--) {
    const char *run = a->next->src + a->from.from;
    __builtin_prefetch(run + a->at, 0, 3);
    a->at += WF__COPY_LINE - ((uintptr_t)(run + a->at) & (WF__COPY_LINE - 1));
    if (a->at < a->bytes) continue;
    a->at = 0;
    if (!step(j, a->next, j->source_outer, j->source_outers, a->index, &a->from)) a->next = NULL;
  }
}

/* Runs that go on in the next tile end within a line. What they have of it waits for the rest: a line is stored once, and whole. */
typedef struct seam {
  bool before,
      after; /* whether the tile before ended with the beginning of this one's lines, and this one's end waits for the next */
  char *tails; /* the last line's bytes of each run */
} seam;

/* A run whose bytes are in the buffer as they shall be; there is room for a line before them. */
static void write_run(const job *j, char *dst, char *src, int64_t bytes, const seam *s, char *tail) {
  if (s->before) {
    int64_t begun = (int64_t)((uintptr_t)dst % WF__COPY_LINE);
    memcpy(src - WF__COPY_LINE, tail, WF__COPY_LINE);
    dst -= begun;
    src -= begun;
    bytes += begun;
  }
  if (s->after) {
    memcpy(tail, src + bytes - WF__COPY_LINE, WF__COPY_LINE);
    bytes -= (int64_t)((uintptr_t)(dst + bytes) % WF__COPY_LINE);
  }
  j->row.kernels->stream(dst, src, bytes);
}

static void write_out(const job *j, const tile *t, char *block, const seam *s, asking *next) {
  uint8_t dims[WF_MAX_DIMS];
  int n = outer_dims(j, dims);
  int64_t index[WF_MAX_DIMS] = {0}, run = run_elements(j, t);
  place at = {0};
  int64_t lines_asked = next->lines / extents_of(t, dims, n) + 1;
  char *tail = s->tails;
  do {
    ask(j, next, lines_asked);
    if (j->seams) {
      write_run(j, t->dst + at.to, block + at.buffer, run * j->size, s, tail);
      tail += WF__COPY_LINE;
    } else {
      wf__copy_row_move(&j->row, t->dst + at.to, block + at.buffer, j->size, run, t->by + at.by);
    }
  } while (step(j, t, dims, n, index, &at));
}

/* Asks for the lines that runs of the tile share with what lies before and behind. */
static void ask_for_borders(const job *j, const tile *t, const seam *s) {
  if (s->before && s->after) return;
  uint8_t dims[WF_MAX_DIMS];
  int n = outer_dims(j, dims);
  int64_t index[WF_MAX_DIMS] = {0}, bytes = run_elements(j, t) * j->m->to_size;
  place at = {0};
  do {
    if (!s->before) __builtin_prefetch(t->dst + at.to, 1);
    if (!s->after) __builtin_prefetch(t->dst + at.to + bytes, 1);
  } while (step(j, t, dims, n, index, &at));
}

static void do_tile(const job *j, const tile *t, const tile *next, char *block, const seam *s) {
  asking a;
  begin_asking(j, next, &a);
  if (!j->m->buffered && !j->m->split_past) ask(j, &a, a.lines);
  if (j->borders) ask_for_borders(j, t, s);
  char *to = j->m->buffered ? block : t->dst;
  if (j->m->turn == WF__TURN_MOVES) turn_by_moves(j, t, to);
  else turn_by_dims(j, t, to);
  if (j->m->buffered) write_out(j, t, block, s, &a);
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

static void do_tiles(const job *j, int64_t begin, int64_t end, char *block, char *tails) {
  tile t = {.dst = j->dst, .src = j->src};
  int64_t rest = begin;
  for (int d = j->m->ndim - 1; d >= 0; d--) {
    set_tile(j, &t, d, rest % j->tiles[d]);
    rest /= j->tiles[d];
  }
  seam s = {.tails = tails};
  int along = j->m->ndim - j->m->run; /* the dim in which runs go on */
  for (int64_t n = begin; n < end; n++) {
    tile next = t;
    for (int d = j->m->ndim - 1; d >= 0; d--) {
      bool on = t.index[d] + 1 < j->tiles[d];
      set_tile(j, &next, d, on ? t.index[d] + 1 : 0);
      if (on) break;
    }
    s.before = s.after;
    s.after = j->seams && n + 1 < end && t.index[along] + 1 < j->tiles[along];
    do_tile(j, &t, n + 1 < end ? &next : NULL, block, &s);
    t = next;
  }
  if (j->m->stream) wf__stream_fence();
}

static void do_buffered(void *context, int64_t begin, int64_t end) {
  char block[WF__COPY_BUFFER] __attribute__((aligned(WF__COPY_LINE)));
  char tails[WF__COPY_BUFFER / WF__COPY_RUN_BYTES * WF__COPY_LINE] __attribute__((aligned(WF__COPY_LINE)));
  do_tiles(context, begin, end, block + WF__COPY_LINE, tails);
}

static void do_in_place(void *context, int64_t begin, int64_t end) { do_tiles(context, begin, end, NULL, NULL); }

/* Dims that the source has consecutive in a tile, fastest first, and the others. */
static void group_source(job *j) {
  const wf__copy_method *m = j->m;
  uint32_t taken = 0;
  int64_t next = m->from_size;
  j->source_runs = j->source_outers = 0;
  for (;;) {
    int best = -1;
    for (int d = 0; d < m->ndim; d++)
      if (!(taken >> d & 1) && m->dim[d].extent > 1 && m->dim[d].from > 0 &&
          (best < 0 || m->dim[d].from < m->dim[best].from))
        best = d;
    if (best < 0) return;
    taken |= 1u << best;
    if (j->source_outers == 0 && m->dim[best].from == next) {
      j->source_run[j->source_runs++] = (uint8_t)best;
      next = m->dim[best].extent == m->dim[best].size ? next * m->dim[best].size : -1;
    } else j->source_outer[j->source_outers++] = (uint8_t)best;
  }
}

static void run_tiles(job *j) {
  const wf__copy_method *m = j->m;
  group_source(j);
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

static bool converts_at_end(const job *j) { return j->row.convert || j->row.scale; }

void wf__copy_tiles(const wf__copy_method *m, const wf_plan *plan) {
  job j = {.m = m, .dst = plan->operand[0].data, .src = plan->operand[1].data, .borders = m->stream && m->buffered};
  wf__copy_scale scale;
  wf__copy_row_of(&j.row, m, plan, &scale);
  j.convert = j.row.convert;
  j.size = m->cast == WF__CAST_BEFORE ? m->to_size : m->from_size;
  j.size_log = wf__copy_log(j.size);
  /* What is written out has been turned, and perhaps converted. */
  if (m->cast != WF__CAST_AFTER) j.row.convert = NULL;
  j.seams = m->stream && !converts_at_end(&j);
  j.row.from_size = j.size;
  j.row.from_log = j.size_log;
  j.row.to_stride = m->dim[m->ndim - 1].to;
  if (m->turn == WF__TURN_SQUARES) run_squares(&j);
  else if (m->turn == WF__TURN_MOVES) run_tiles(&j);
  else run_alternating(&j);
}
