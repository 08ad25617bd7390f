/* The choice of how a copy is done. Reads numbers only, never what operands point to (but for the destination's alignment); costs some tens of
 * nanoseconds. */
#include "exec/copy_method.h"

#include "base/cpu.h"
#include "kernel/tables.h"

/* Measured with buffers that rotate, against memcpy: a copy gains 1.65 at 4 MiB, 1.4 at 64 MiB; a transpose goes from 0.3 to 0.9 at 4 MiB and
 * from 0.35 to 1.2 at 64 MiB. Below, the reader finds the result in its cache. The size of the last cache doesn't help: a virtual machine
 * reports all of the host's. */
int64_t wf__copy_stream_from = (int64_t)2 << 20;

#define LINE WF__COPY_LINE
#define LONG_ROW (16 << 10) /* bytes that are stored past the cache wherever they lie */
#define ROW_BYTES \
  512 /* rows that are written one by one: 0.84 of memcpy at 512 bytes, 1.13 at 768; in tiles 0.88, 0.93 */
/* Short runs that agree on both sides needn't be gathered for whole lines: by plain stores [8,512,12,64] f32 to [8,12,512,64], 12 MiB, runs
 * at 15 to 18 GB/s where both sides are in the cache, past it at 12 to 14; from memory both make 10 to 11. That is a Xeon; a Zen 5 makes 20 from
 * memory by plain stores, 31 past the cache, and past it is faster from the cache as well. */
#define SHORT_RUNS_STREAM_FROM (16 * wf__copy_stream_from)
/* Rows on AMD, whose last cache is fast: a copy of 4 MiB that lies there takes 66 us by plain stores and 100 past it, with a sum of the result 105 and 195;
 * of 16 MiB 403 and 519. From memory both are the same up to 8 MiB, 1.21 and 1.31 of memcpy at 16. */
#define AMD_ROWS_STREAM_FROM (8 * wf__copy_stream_from)
#define STRAIGHT_BYTES 256 /* of the source's rows, from which on transposing straight into place wins over tiles */
#define BAND_BYTES 4096    /* of the source's rows that are turned at a time: see kernel/transpose.isa.c */
#define NARROW 3           /* columns or rows from which on squares are worth it in a tile of more dims than those */
/* Smaller tiles cost more than what they move. Where elements become wider most of it is written: images of bytes to f32 make 0.80 of memcpy with 16
 * KiB of the result, 0.93 to 1.07 with 32, 0.88 to 0.97 with 64, with a factor a channel 0.67 to 0.75, 0.85 and 0.80 (Zen 5). */
#define TILE_BYTES (16 << 10)
#define WIDENED_TILE_BYTES (32 << 10)

static int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- the form ----------------------------------------------------------------------------------------------------------------- */

static void take_dims(const wf_plan *plan, bool has_source, wf__copy_method *m) {
  m->ndim = plan->ndim;
  m->count = 1;
  for (int d = 0; d < plan->ndim; d++) {
    m->dim[d] = (wf__copy_dim){.size = plan->size[d],
                               .to = plan->operand[0].stride[d],
                               .from = has_source ? plan->operand[1].stride[d] : 0,
                               .by = m->scaled ? plan->operand[2].stride[d] : 0,
                               .extent = 1,
                               .buffer = plan->operand[0].stride[d]};
    m->count *= plan->size[d];
  }
}

/* Short consecutive rows of the same bytes on both sides are one larger element: 4 x f32 is moved like one 16-byte number. */
static void widen_elements(wf__copy_method *m) {
  while (m->ndim > 1) {
    const wf__copy_dim *d = &m->dim[m->ndim - 1];
    int64_t row = d->size * m->to_size;
    if (d->to != m->to_size || d->from != m->to_size || row > 16 || (row & (row - 1))) return;
    m->ndim--;
    m->count /= d->size;
    m->to_size = m->from_size = row;
  }
}

/* Groups of channels that follow each other on both sides are one row, in which the factors go round. */
static void join_channels(wf__copy_method *m) {
  while (m->ndim > 1) {
    wf__copy_dim *last = &m->dim[m->ndim - 1], *outer = last - 1;
    if (!last->by || last->to != m->to_size || last->from != m->from_size) return;
    if (outer->to != last->to * last->size || outer->from != last->from * last->size) return;
    last->size *= outer->size;
    *outer = *last;
    m->ndim--;
  }
}

/* Among equals the one that the destination has faster, too. */
static int fastest_of_source(const wf__copy_method *m) {
  int fastest = -1;
  for (int d = m->ndim - 1; d >= 0; d--)
    if (m->dim[d].from > 0 && (fastest < 0 || m->dim[d].from < m->dim[fastest].from)) fastest = d;
  return fastest;
}

/* The dims in which the source moves, fastest first. */
static int by_source(const wf__copy_method *m, uint8_t *order) {
  int n = 0;
  for (int d = m->ndim - 1; d >= 0; d--) {
    if (m->dim[d].from <= 0) continue;
    int at = n++;
    for (; at > 0 && m->dim[order[at - 1]].from > m->dim[d].from; at--) order[at] = order[at - 1];
    order[at] = (uint8_t)d;
  }
  return n;
}

/* Whether the destination's rows begin on whole lines. */
static bool rows_on_lines(const wf__copy_method *m, const void *dst) {
  if ((uintptr_t)dst % LINE) return false;
  for (int d = 0; d < m->ndim - 1; d++)
    if (m->dim[d].to % LINE) return false;
  return true;
}

/* The lines at a row's ends that it shares with others go by way of the cache all the same. Rows that are converted, or gathered, are stored in blocks, where
 * each such line is waited for; that costs more than it saves unless rows are long: f32 to bf16, rows of 400 bytes 7 GB/s, by way of the cache 23; 2 KiB
 * 17 and 40; 8 KiB 34 and 41; rows on lines 48 past it (Zen 5, one core). */
static bool waits_for_ends(const wf__copy_method *m, int64_t run) {
  int64_t from = m->dim[m->ndim - 1].from;
  if (m->how == WF__COPY_ROWS && from == 0 && !m->scaled) return false; /* one element is repeated, without blocks */
  bool in_blocks = m->converts || (m->how == WF__COPY_ROWS && from != m->from_size);
  return in_blocks && !(m->on_lines && run % LINE == 0) && run < LONG_ROW;
}

/* ---- tiles -------------------------------------------------------------------------------------------------------------------- */

/* Lets the dims of one side grow, fastest first, until `bytes` of it are consecutive. Equal pieces, on whole lines where rows are. */
static void reach(wf__copy_method *m, const uint8_t *order, int n, int64_t size, bool source, int64_t bytes) {
  int64_t run = size, next = 0;
  for (int i = 0; i < n && run < bytes; i++) {
    wf__copy_dim *d = &m->dim[order[i]];
    int64_t stride = source ? d->from : d->to, want = (bytes + run - 1) / run;
    if (i > 0 && stride != next) return;
    if (want < d->size) {
      bool fastest = i == 0 || order[i] == m->ndim - 1;
      int64_t pieces = (d->size + want - 1) / want, line = fastest && LINE > size ? LINE / size : 1;
      want = (d->size + pieces - 1) / pieces;
      want = smaller((want + line - 1) / line * line, d->size);
    }
    d->extent = greater(d->extent, smaller(want, d->size));
    if (d->extent < d->size) return;
    run *= d->extent;
    next = stride * d->size;
  }
}

static int64_t extents_of(const wf__copy_method *m, const uint8_t *dims, int n) {
  int64_t count = 1;
  for (int i = 0; i < n; i++) count *= m->dim[dims[i]].extent;
  return count;
}

/* Whether the destination goes on from dim d + 1 to d without a gap, and no factor changes on the way: the two are one run. */
static bool continues(const wf__copy_method *m, int d) {
  const wf__copy_dim *dim = &m->dim[d];
  return dim->to == dim[1].to * dim[1].size && !dim->by;
}

/* Columns are dims that the destination has consecutive in a tile, up to the source's fastest; rows those of the source, up to a column. */
static void group_dims(wf__copy_method *m, const uint8_t *order, int n) {
  uint32_t taken = 0;
  m->columns = m->rows = m->others = m->run = 0;
  for (int d = m->ndim - 1; d >= 0 && d != m->fastest && m->dim[d].extent > 1; d--) {
    if (d < m->ndim - 1 && !continues(m, d)) break;
    m->column[m->columns++] = (uint8_t)d;
    taken |= 1u << d;
    if (m->dim[d].extent < m->dim[d].size) break;
  }
  for (int i = 0; i < n && !(taken >> order[i] & 1); i++) {
    const wf__copy_dim *d = &m->dim[order[i]], *inner = i ? &m->dim[order[i - 1]] : NULL;
    if (d->extent == 1 || (inner && d->from != inner->from * inner->size)) break;
    m->row[m->rows++] = order[i];
    taken |= 1u << order[i];
    if (d->extent < d->size) break;
  }
  for (int d = m->ndim - 1; d >= 0; d--) {
    const wf__copy_dim *dim = &m->dim[d];
    if (dim->extent > 1 && !(taken >> d & 1)) m->other[m->others++] = (uint8_t)d;
    bool goes_on = m->run == m->ndim - 1 - d && dim->extent > 1 &&
                   (m->run == 0 || (continues(m, d) && dim[1].extent == dim[1].size));
    if (goes_on) m->run++;
  }
}

/* Elements that are consecutive in memory dim by dim, from `size` bytes on. */
static bool is_chain(const wf__copy_method *m, const uint8_t *dims, int n, bool source, int64_t size) {
  for (int i = 0; i < n; i++) {
    const wf__copy_dim *d = &m->dim[dims[i]];
    if ((source ? d->from : d->buffer) != size) return false;
    size *= d->extent;
  }
  return true;
}

/* Places of a tile in its buffer, in the destination's order. Runs begin on lines, with room for a line before each, and don't meet in one place
 * of the cache. Returns its bytes. */
static int64_t lay_out_buffer(wf__copy_method *m, int64_t size) {
  int64_t stride = size;
  for (int d = m->ndim - 1; d >= 0; d--) {
    if (m->dim[d].extent == 1) continue;
    m->dim[d].buffer = stride;
    stride *= m->dim[d].extent;
    if (m->ndim - d == m->run) stride = wf__lines_pitch((stride + 2 * LINE - 1) / LINE * LINE);
  }
  return stride + LINE;
}

/* Rows of the source that many columns apart would meet in one place of the first cache (64 sets of 12 lines) before their lines are used up. */
static bool collides(const wf__copy_method *m, int64_t columns) {
  int64_t stride = m->dim[m->column[0]].from;
  if (stride % LINE || stride == 0) return false;
  int64_t sets = 64 / smaller(64, (stride / LINE) & -(stride / LINE));
  return columns > 8 * sets;
}

/* Alternating elements have shuffles of their own, when all of one side's are in the tile. */
static wf__copy_turn turn_of(const wf__copy_method *m, int64_t columns, int64_t rows, int64_t size) {
  if (m->dim[m->fastest].from != m->from_size || size > 8) return WF__TURN_SQUARES;
  const wf__copy_dim *row = &m->dim[m->row[m->rows - 1]], *column = &m->dim[m->column[m->columns - 1]];
  if (rows <= 4 && row->extent == row->size && is_chain(m, m->column, m->columns, true, rows * size))
    return WF__TURN_SPLIT;
  if (columns <= 4 && column->extent == column->size && is_chain(m, m->row, m->rows, false, columns * size))
    return WF__TURN_JOIN;
  return WF__TURN_SQUARES;
}

/* Rows that begin and end on lines in every tile needn't be gathered in a buffer: bytes of 3 channels make 0.81 of memcpy by way of one, 1.16 straight
 * from registers (Zen 5). Intel's processors haven't been measured so. */
static bool splits_onto_lines(const wf__copy_method *m, int64_t columns) {
  return m->turn == WF__TURN_SPLIT && m->stream && !m->converts && m->on_lines && columns * m->to_size % LINE == 0 &&
         wf__cpu_is_amd();
}

static void lay_out(wf__copy_method *m, int64_t size, bool buffered) {
  m->buffered = buffered;
  for (int d = 0; d < m->ndim && !buffered; d++) m->dim[d].buffer = m->dim[d].to;
  m->tile_bytes = buffered ? lay_out_buffer(m, size) : 0;
}

/* How a tile of these extents is turned. False when it is too large. */
static bool settle_tile(wf__copy_method *m, const uint8_t *order, int n) {
  group_dims(m, order, n);
  int64_t columns = extents_of(m, m->column, m->columns), rows = extents_of(m, m->row, m->rows);
  int64_t fewer = smaller(columns, rows);
  bool gaps = m->dim[m->ndim - 1].to != m->to_size, apart = m->dim[m->fastest].from != m->from_size;
  int64_t run = m->to_size;
  for (int d = m->ndim - 1; d >= m->ndim - m->run; d--) run *= m->dim[d].extent;
  m->stream = m->stream && run >= WF__COPY_RUN_BYTES && !gaps && !waits_for_ends(m, run);
  m->staged = false;
  m->cast = m->converts ? WF__CAST_AFTER : WF__CAST_NONE;
  bool lone = m->columns == 0 || m->rows == 0 || fewer < 2, narrow = lone || (m->others && fewer < NARROW);
  int64_t size = m->from_size;
  lay_out(m, size, m->stream || m->converts || gaps);
  m->turn = lone ? WF__TURN_MOVES : turn_of(m, columns, rows, size);
  if (m->turn == WF__TURN_SQUARES && narrow) m->turn = WF__TURN_MOVES;
  m->split_past = splits_onto_lines(m, columns);
  if (m->split_past) lay_out(m, size, false);
  if (m->turn == WF__TURN_MOVES) lay_out(m, size, m->stream || m->converts || m->fastest != m->ndim - 1);
  if (m->turn == WF__TURN_SQUARES && m->to_size < size && rows >= 16 && !m->scaled) {
    m->cast = WF__CAST_BEFORE;
    size = m->to_size;
    lay_out(m, size, m->stream || gaps);
  }
  int64_t stage = 0;
  if (m->turn == WF__TURN_SQUARES) {
    m->staged = apart || m->cast == WF__CAST_BEFORE || collides(m, smaller(columns, WF__COPY_STRIP));
    m->stage_pitch = wf__lines_pitch(rows * size);
    stage = m->staged ? smaller(columns, WF__COPY_STRIP) * m->stage_pitch : 0;
  }
  bool listed = m->turn == WF__TURN_SQUARES;
  return m->tile_bytes <= WF__COPY_BUFFER && stage <= WF__COPY_STAGE &&
         (!listed || (columns <= WF__COPY_PLACES && rows <= WF__COPY_PLACES));
}

static bool try_tile(wf__copy_method *m, const uint8_t *order, int n, int64_t to_bytes, int64_t from_bytes,
                     bool stream) {
  uint8_t by_destination[WF_MAX_DIMS] = {0};
  for (int d = 0; d < m->ndim; d++) {
    by_destination[d] = (uint8_t)(m->ndim - 1 - d);
    m->dim[d].extent = 1;
    m->dim[d].buffer = m->dim[d].to;
  }
  m->stream = stream;
  reach(m, by_destination, m->ndim, m->to_size, false, to_bytes);
  reach(m, order, n, m->from_size, true, from_bytes);
  return settle_tile(m, order, n);
}

static int64_t tile_elements(const wf__copy_method *m) {
  int64_t count = 1;
  for (int d = 0; d < m->ndim; d++) count *= m->dim[d].extent;
  return count;
}

/* A tile of a run of the destination by a run of the source, both long enough to be worth going to memory for: the longer the better until tiles
 * exceed a share of the second cache (4099 squared, one core, Zen 5: f32 512 by 128 bytes 0.39 of memcpy, 512 by 512 0.60, f16 0.39 and 0.56; bytes
 * 512 by 128 0.34, 256 by 512 0.46). */
static void choose_tile(wf__copy_method *m) {
  uint8_t order[WF_MAX_DIMS];
  int n = by_source(m, order);
  bool stream = m->stream;
  int64_t most = greater(m->to_size, m->from_size), to = most == 1 ? 512 : 1024, from = 1024;
  int64_t least = m->to_size > m->from_size ? WIDENED_TILE_BYTES : TILE_BYTES;
  if (m->to_size < m->from_size) from *= m->from_size / m->to_size; /* rows that are converted first should be long */
  if (m->count * most <= least && try_tile(m, order, n, INT64_MAX / 2, INT64_MAX / 2, stream)) return;
  while (!try_tile(m, order, n, to, from, stream) && (to > LINE || from > LINE)) {
    to = greater(to / 2, LINE);
    from = greater(from / 2, LINE);
  }
  while (tile_elements(m) * most < least && tile_elements(m) < m->count && to < (1 << 20)) {
    wf__copy_method larger = *m;
    to *= 2;
    from *= 2;
    if (!try_tile(&larger, order, n, to, from, stream)) return;
    *m = larger;
  }
}

/* ---- the choice --------------------------------------------------------------------------------------------------------------- */

static bool goes_straight(const wf__copy_method *m) {
  const wf__copy_dim *last = &m->dim[m->ndim - 1], *fastest = &m->dim[m->fastest];
  return m->stream && m->fastest != m->ndim - 1 && !m->scaled && last->to == m->to_size &&
         fastest->from == m->from_size && last->size * m->to_size >= LINE &&
         fastest->size * m->from_size >= STRAIGHT_BYTES && m->on_lines;
}

/* One line of each row at a time, 64 bytes of the source's rows read together, and nothing asked for, is best on Intel's processors (1.2 of memcpy,
 * 4096 squared, f32), and leaves AMD's Zen 5 at 0.55: it writes single lines at a third of its speed, and reads little ahead by itself. With more
 * of both, and the next lines asked for, it makes 0.85; wider elements write two lines more, since fewer rows of the source go together. */
static void set_lines(wf__copy_method *m) {
  bool amd = wf__cpu_is_amd();
  m->band = BAND_BYTES / m->from_size;
  m->lines = !amd ? 1 : m->to_size < 4 ? 2 : 4;
  m->staged_rows = (amd || m->converts ? WF__COPY_STAGED_ROW : LINE) / m->to_size;
  m->ahead = amd;
}

static void choose_transposed(wf__copy_method *m) {
  static const char *const why[] = {
      [WF__TURN_SQUARES] = "the source's fastest dim isn't the destination's, so tiles are transposed in registers",
      [WF__TURN_SPLIT] = "the source's fastest dim is short and alternates, so tiles are split into rows by shuffles",
      [WF__TURN_JOIN] = "the destination's fastest dim is short and alternates, so rows are joined by shuffles",
      [WF__TURN_MOVES] = "too few elements lie together for registers, so they are moved one by one within tiles"};
  if (goes_straight(m)) {
    m->how = WF__COPY_STRAIGHT;
    set_lines(m);
    m->why =
        "the source's fastest dim isn't the destination's, whose rows begin on whole lines: transposed straight into place";
    return;
  }
  m->how = WF__COPY_TILES;
  choose_tile(m);
  m->why = why[m->turn];
}

static void stream_from(wf__copy_method *m, int64_t bytes) {
  if (m->count * m->to_size >= bytes) return;
  m->stream = false;
  m->why_stream = "the destination is small enough to be found in the cache by its reader";
}

static void choose_rows(wf__copy_method *m, const char *why) {
  const wf__copy_dim *last = &m->dim[m->ndim ? m->ndim - 1 : 0];
  int64_t run = m->ndim ? last->size * m->to_size : m->to_size;
  m->how = WF__COPY_ROWS;
  m->stream = m->stream && run >= WF__COPY_RUN_BYTES && (m->ndim == 0 || last->to == m->to_size) &&
              !(m->ndim > 1 && waits_for_ends(m, run));
  if (wf__cpu_is_amd()) stream_from(m, AMD_ROWS_STREAM_FROM);
  m->why = why;
}

static void choose_copy(const wf_plan *plan, wf__copy_method *m) {
  m->from = plan->operand[1].dtype;
  m->from_size = (int64_t)wf_dtype_size(m->from);
  m->converts = m->scaled || m->to != m->from;
  m->channels = m->ndim ? m->dim[m->ndim - 1].size : 1;
  if (!m->converts) widen_elements(m);
  if (m->scaled) join_channels(m);
  m->fastest = fastest_of_source(m);
  m->on_lines = rows_on_lines(m, plan->operand[0].data);
  const wf__copy_dim *last = &m->dim[m->ndim ? m->ndim - 1 : 0];
  if (m->ndim == 0 || (m->ndim == 1 && last->to == m->to_size && last->from == m->from_size)) {
    choose_rows(m, "one run of consecutive elements on both sides");
  } else if (m->fastest < 0 || m->ndim == 1) {
    choose_rows(m, "one row of elements at equal distances");
  } else if (last->from == 0 && last->size * m->to_size >= LINE) {
    choose_rows(m, "the source is broadcast along the destination's fastest dim: rows of one element");
  } else if (m->fastest == m->ndim - 1 && last->size * m->to_size >= ROW_BYTES) {
    choose_rows(m, "the same dim is fastest on both sides: row by row");
  } else {
    bool alike = m->fastest == m->ndim - 1;
    if (alike && !wf__cpu_is_amd()) stream_from(m, SHORT_RUNS_STREAM_FROM);
    choose_transposed(m);
    if (alike) m->why = "short runs that are consecutive on both sides are gathered in tiles";
  }
}

void wf__copy_choose(const wf_plan *plan, wf__copy_method *m) {
  bool has_source = plan->operands > 1 && plan->operand[1].data;
  m->to = m->from = plan->operand[0].dtype;
  m->to_size = m->from_size = (int64_t)wf_dtype_size(m->to);
  m->fastest = -1;
  m->cast = WF__CAST_NONE;
  m->buffered = m->staged = m->converts = m->split_past = false;
  m->scaled = has_source && plan->op == WF__COPY_SCALED;
  take_dims(plan, has_source, m);
  m->stream = true;
  m->why_stream = NULL;
  stream_from(m, wf__copy_stream_from);
  if (m->count == 0) {
    m->how = WF__COPY_NOTHING;
    m->why = "there are no elements";
  } else if (has_source) {
    choose_copy(plan, m);
    if (m->how != WF__COPY_TILES && m->converts)
      m->cast = m->how == WF__COPY_STRAIGHT ? WF__CAST_BEFORE : WF__CAST_AFTER;
  } else {
    choose_rows(m, "there is no source: rows of one number");
    m->how = WF__COPY_FILL;
  }
  if (m->stream) m->why_stream = "whole lines go past the cache: the destination is larger than what is worth keeping";
  else if (!m->why_stream)
    m->why_stream = "runs of the destination are too short to be gathered into whole lines, or end within lines";
}
