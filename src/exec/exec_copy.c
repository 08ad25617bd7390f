/* Copies, casts and fills. The method follows from the form that the plan is in, never from who asks:
 *
 *   rows   consecutive in both: memcpy, streaming stores or a conversion; a plan of one dim is one row
 *   tiles  the source's fastest dim isn't the destination's: blocks are transposed in registers or in L1
 *   gather neither: element by element through a block
 *   fill   no source
 *
 * Right for any order of dims; fast for the normal form of copy/ (dims by destination stride, merged). */
#include <string.h>

#include "base/convert.h"
#include "exec/copy_method.h"
#include "exec/families.h"
#include "exec/threads.h"
#include "exec/walk.h"
#include "kernel/tables.h"

#define BLOCK 512   /* elements of a block on the stack: 4 KiB of f64, so that two blocks stay in L1 */
#define CHUNK 65536 /* elements of a row that one thread takes at a time */
#define TILE 64     /* a block that is turned in L1 is TILE x TILE: 16 KiB of f32 */
/* Elements of the source's rows that one thread turns at a time straight into place. Longer stretches of the source are better: beside a
 * streaming store, 64 reach 0.75 to 1.0 of memcpy, 256 reach 0.9 to 1.3 (1024 to 4096 squared, f32, AVX-512, one core). */
#define BAND 256
/* Bytes of a destination from which on stores go past the cache. Measured with buffers that rotate, against memcpy: a copy gains 1.65 at 4
 * MiB, 1.4 at 64 MiB; a transpose goes from 0.3 to 0.9 at 4 MiB and from 0.35 to 1.2 at 64 MiB. Below, the reader finds the result in its
 * cache. The size of the last cache doesn't help: a virtual machine reports all of the host's. */
#define STREAM_FROM ((int64_t)4 << 20)
#define STREAM_ROW 4096 /* shorter rows aren't worth the fence at their end */
#define LINE 64         /* bytes of a cache line */

typedef struct job {
  wf__walk walk;
  const wf__kernels *kernels;
  wf__convert_fn convert;     /* NULL: the dtypes are equal */
  int64_t dst_size, src_size; /* bytes of an element */
  int dst_log, src_log;
  int64_t n; /* inner row: elements and byte strides */
  int64_t dst_stride, src_stride;
  int64_t chunks; /* pieces that each inner row is cut into */
  int64_t rows;   /* tiles: elements along the source's fastest dim, and the destination's stride there */
  int64_t row_stride;
  bool stream;
  const char *pattern; /* fill: BLOCK elements */
} job;

static int log_of(int64_t size) { return __builtin_ctzll((unsigned long long)size); }

/* ---- one row ------------------------------------------------------------------------------------------------------------- */

static void move_block(const job *j, char *dst, const char *src, int64_t src_stride, int64_t n) {
  char from[BLOCK * 16], to[BLOCK * 16];
  const char *consecutive = src;
  if (src_stride != j->src_size) {
    j->kernels->gather[j->src_log](from, src, src_stride, n);
    consecutive = from;
  }
  if (j->dst_stride == j->dst_size) {
    j->convert(dst, consecutive, n);
    return;
  }
  if (j->convert) {
    j->convert(to, consecutive, n);
    consecutive = to;
  }
  j->kernels->scatter[j->dst_log](dst, j->dst_stride, consecutive, n);
}

/* n elements from src to the destination's row at dst. */
static void move_row(const job *j, char *dst, const char *src, int64_t src_stride, int64_t n) {
  bool from_consecutive = src_stride == j->src_size, to_consecutive = j->dst_stride == j->dst_size;
  if (from_consecutive && to_consecutive) {
    if (j->convert) j->convert(dst, src, n);
    else if (j->stream) j->kernels->stream(dst, src, n * j->dst_size);
    else memcpy(dst, src, (size_t)(n * j->dst_size));
  } else if (!j->convert && to_consecutive) {
    j->kernels->gather[j->dst_log](dst, src, src_stride, n);
  } else if (!j->convert && from_consecutive) {
    j->kernels->scatter[j->dst_log](dst, j->dst_stride, src, n);
  } else {
    for (int64_t i = 0; i < n; i += BLOCK)
      move_block(j, dst + i * j->dst_stride, src + i * src_stride, src_stride, n - i < BLOCK ? n - i : BLOCK);
  }
}

static void fill_row(const job *j, char *dst, int64_t n) {
  if (j->dst_stride == j->dst_size) {
    j->kernels->fill(dst, j->pattern, n * j->dst_size, j->stream);
    return;
  }
  for (int64_t i = 0; i < n; i += BLOCK)
    j->kernels->scatter[j->dst_log](dst + i * j->dst_stride, j->dst_stride, j->pattern, n - i < BLOCK ? n - i : BLOCK);
}

static void do_rows(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  wf__cursor at;
  wf__walk_seek(&j->walk, begin / j->chunks, &at);
  for (int64_t unit = begin, piece = begin % j->chunks; unit < end; unit++) {
    int64_t first = piece * CHUNK, n = j->n - first < CHUNK ? j->n - first : CHUNK;
    char *dst = at.at[0] + first * j->dst_stride;
    if (j->pattern) fill_row(j, dst, n);
    else move_row(j, dst, at.at[1] + first * j->src_stride, j->src_stride, n);
    if (++piece < j->chunks) continue;
    piece = 0;
    wf__walk_next(&j->walk, &at);
  }
}

static wf_status run_rows(job *j) {
  j->chunks = (j->n + CHUNK - 1) / CHUNK;
  int64_t unit = j->n < CHUNK ? j->n : CHUNK;
  wf__parallel(j->walk.count * j->chunks, (WF__GRAIN + unit - 1) / unit, do_rows, j);
  return WF_OK;
}

/* ---- tiles --------------------------------------------------------------------------------------------------------------- */

/* rows x n elements of the destination, transposed straight into place. */
static void do_tiles(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  wf__cursor at;
  wf__walk_seek(&j->walk, begin / j->chunks, &at);
  for (int64_t unit = begin, piece = begin % j->chunks; unit < end; unit++) {
    int64_t first = piece * BAND, rows = j->rows - first < BAND ? j->rows - first : BAND;
    j->kernels->transpose[j->dst_log](at.at[0] + first * j->row_stride, j->row_stride, at.at[1] + first * j->src_size,
                                      j->src_stride, rows, j->n, j->stream);
    if (++piece < j->chunks) continue;
    piece = 0;
    wf__walk_next(&j->walk, &at);
  }
}

/* The same where elements are cast or the destination has gaps: tiles go through a block, from which rows are moved. */
static void do_tiles_by_block(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  char block[TILE * TILE * 16] __attribute__((aligned(LINE)));
  wf__cursor at;
  wf__walk_seek(&j->walk, begin / j->chunks, &at);
  for (int64_t unit = begin, piece = begin % j->chunks; unit < end; unit++) {
    int64_t first = piece * TILE, rows = j->rows - first < TILE ? j->rows - first : TILE;
    for (int64_t c = 0; c < j->n; c += TILE) {
      int64_t cols = j->n - c < TILE ? j->n - c : TILE;
      j->kernels->transpose[j->src_log](block, TILE * j->src_size, at.at[1] + first * j->src_size + c * j->src_stride,
                                        j->src_stride, rows, cols, false);
      for (int64_t r = 0; r < rows; r++)
        move_row(j, at.at[0] + (first + r) * j->row_stride + c * j->dst_stride, block + r * TILE * j->src_size,
                 j->src_size, cols);
    }
    if (++piece < j->chunks) continue;
    piece = 0;
    wf__walk_next(&j->walk, &at);
  }
}

static wf_status run_tiles(job *j) {
  bool direct = !j->convert && j->dst_stride == j->dst_size;
  int64_t piece = direct ? BAND : TILE, unit = j->n * (j->rows < piece ? j->rows : piece);
  j->chunks = (j->rows + piece - 1) / piece;
  wf__parallel(j->walk.count * j->chunks, (WF__GRAIN + unit - 1) / unit, direct ? do_tiles : do_tiles_by_block, j);
  return WF_OK;
}

/* ---- which ---------------------------------------------------------------------------------------------------------------- */

/* A dim other than the last along which the source is consecutive, -1 for none. */
static int source_fastest(const wf_plan *plan, int64_t src_size) {
  for (int d = plan->ndim - 2; d >= 0; d--)
    if (plan->operand[1].stride[d] == src_size && plan->size[d] > 1) return d;
  return -1;
}

static bool is_streamed(int64_t bytes) { return bytes >= STREAM_FROM || (size_t)bytes > wf__cpu_cache_bytes(); }

/* Whether the destination's rows begin on whole lines, as tiles must that are stored past the cache. */
static bool rows_on_lines(const wf_plan *plan) {
  if ((uintptr_t)plan->operand[0].data % LINE) return false;
  for (int d = 0; d < plan->ndim - 1; d++)
    if (plan->operand[0].stride[d] % LINE) return false;
  return true;
}

/* Short consecutive rows of the same bytes on both sides are one larger element: 4 x f32 is moved like one 16-byte number. */
static void widen_elements(wf_plan *plan, int64_t *size) {
  while (plan->ndim > 0) {
    int d = plan->ndim - 1;
    int64_t row = plan->size[d] * *size;
    if (plan->operand[0].stride[d] != *size || plan->operand[1].stride[d] != *size) return;
    if (plan->ndim == 1 || row > 16 || (row & (row - 1))) return;
    plan->ndim--;
    *size = row;
  }
}

static void set_inner(job *j, const wf_plan *plan) {
  int last = plan->ndim - 1;
  j->n = last >= 0 ? plan->size[last] : 1;
  j->dst_stride = last >= 0 ? plan->operand[0].stride[last] : j->dst_size;
  j->src_stride = last >= 0 ? plan->operand[1].stride[last] : j->src_size;
}

static void choose_rows(job *j, bool streamed, wf__copy_method *m) {
  bool from_consecutive = j->src_stride == j->src_size || j->n == 1, to_consecutive = j->dst_stride == j->dst_size;
  if (j->src_stride == 0) {
    m->why = "the source stands still along the destination's fastest dim: each element is repeated";
  } else if (!from_consecutive) {
    m->kind = WF__COPY_GATHER;
    m->why = "no dim of the source is consecutive, so its elements are collected one by one";
  } else {
    m->why = to_consecutive ? "the fastest dim is the same in both, and consecutive"
                            : "the source's rows are consecutive, the destination has gaps";
  }
  j->stream = streamed && j->n * j->dst_size >= STREAM_ROW;
  if (streamed && !j->stream) m->why_stream = "rows are too short for stores past the cache";
}

/* Fills what the choice decides of the job, and says what was chosen and why. The plan's innermost dims may become one wider element. */
static void choose(job *j, wf_plan *plan, int64_t count, wf__copy_method *m) {
  wf_dtype to = plan->operand[0].dtype, from = plan->operand[1].dtype;
  *j = (job){
      .kernels = wf__kernels_now(), .dst_size = (int64_t)wf_dtype_size(to), .src_size = (int64_t)wf_dtype_size(from)};
  *m = (wf__copy_method){.kind = WF__COPY_ROWS, .cast = from != to};
  if (from != to) {
    j->convert = j->kernels->convert[from][to];
  } else {
    widen_elements(plan, &j->dst_size);
    j->src_size = j->dst_size;
  }
  m->element = j->dst_size;
  j->dst_log = log_of(j->dst_size);
  j->src_log = log_of(j->src_size);
  set_inner(j, plan);
  bool streamed = is_streamed(count * (int64_t)wf_dtype_size(to));
  m->why_stream = streamed ? "the destination is larger than what a reader would find in the cache"
                           : "the destination is small enough to be read from the cache";
  int fastest = source_fastest(plan, j->src_size);
  if (j->n == 1 || j->src_stride == j->src_size || j->src_stride == 0 || fastest < 0) {
    choose_rows(j, streamed, m);
    bool is_run = plan->ndim <= 1 && m->kind == WF__COPY_ROWS && j->src_stride && j->dst_stride == j->dst_size;
    if (is_run) m->kind = WF__COPY_RUN, m->why = "both sides are one run of consecutive elements";
  } else {
    bool direct = !j->convert && j->dst_stride == j->dst_size;
    j->stream = direct && streamed && rows_on_lines(plan);
    j->rows = plan->size[fastest];
    j->row_stride = plan->operand[0].stride[fastest];
    m->kind = direct ? WF__COPY_TILES : WF__COPY_BLOCKS;
    m->tile_rows = direct ? BAND : TILE;
    m->tile_cols = direct ? j->n : TILE;
    m->why =
        direct ? "the source's fastest dim isn't the destination's: blocks are turned in registers"
        : j->convert
            ? "the source's fastest dim isn't the destination's, and elements are cast: blocks are turned in the first cache"
            : "the source's fastest dim isn't the destination's, which has gaps: blocks are turned in the first cache";
    if (streamed && !direct) m->why_stream = "rows of a block are too short for stores past the cache";
    else if (streamed && !j->stream) m->why_stream = "the destination's rows don't begin on whole cache lines";
  }
  m->stream = j->stream;
}

static wf_status run_copy(const wf_plan *given, int64_t count) {
  wf_plan plan = *given;
  wf__copy_method method;
  job j;
  choose(&j, &plan, count, &method);
  int last = plan.ndim - 1;
  if (!method.tile_rows) {
    wf__walk_of(&j.walk, &plan, 2, last >= 0 ? 1u << last : 0);
    return run_rows(&j);
  }
  wf__walk_of(&j.walk, &plan, 2, 1u << last | 1u << source_fastest(&plan, j.src_size));
  return run_tiles(&j);
}

static bool is_fill_streamed(const wf_plan *plan, int64_t count, int64_t size) {
  return is_streamed(count * size) && (plan->ndim ? plan->size[plan->ndim - 1] : 1) * size >= STREAM_ROW;
}

static wf_status run_fill(const wf_plan *plan, int64_t count) {
  wf_dtype to = plan->operand[0].dtype;
  char pattern[BLOCK * 8] __attribute__((aligned(LINE)));
  int64_t size = (int64_t)wf_dtype_size(to);
  wf__scalar_store(plan->scalar[0], to, pattern);
  for (int64_t done = size; done < BLOCK * size; done *= 2)
    memcpy(pattern + done, pattern, (size_t)done); /* BLOCK: 2^k */
  job j = {.kernels = wf__kernels_now(), .dst_size = size, .dst_log = log_of(size), .pattern = pattern};
  set_inner(&j, plan);
  j.stream = is_fill_streamed(plan, count, size);
  wf__walk_of(&j.walk, plan, 1, plan->ndim ? 1u << (plan->ndim - 1) : 0);
  return run_rows(&j);
}

static int64_t elements_of(const wf_plan *plan) {
  int64_t count = 1;
  for (int d = 0; d < plan->ndim; d++) count *= plan->size[d];
  return count;
}

static bool has_source(const wf_plan *plan) { return plan->operands > 1 && plan->operand[1].data; }

wf_status wf__exec_copy(const wf_plan *plan) {
  int64_t count = elements_of(plan);
  if (count == 0) return WF_OK;
  return has_source(plan) ? run_copy(plan, count) : run_fill(plan, count);
}

void wf__copy_method_of(const wf_plan *given, wf__copy_method *method) {
  wf_plan plan = *given;
  int64_t count = elements_of(&plan), size = (int64_t)wf_dtype_size(plan.operand[0].dtype);
  job j;
  if (has_source(&plan)) {
    choose(&j, &plan, count, method);
    return;
  }
  *method = (wf__copy_method){.kind = WF__COPY_FILL, .element = size, .why = "there is no source"};
  method->stream = is_fill_streamed(&plan, count, size);
  method->why_stream = method->stream ? "the destination is larger than what a reader would find in the cache"
                                      : "the destination is small, or its rows are";
}
