/* weft bench copy: GB/s of copies, casts and operators that memory bounds. Names and counted bytes are those of the same cases in libtorch;
 * names go without the remarks in brackets: contiguous_T_4096 allocates its result, memcpy_64MiB counts both directions.
 *
 * Cold, as is usual: each run takes the buffers that were unused for longest, and memcpy and a streaming copy run before each. Results that
 * a case allocates itself are kept until as many bytes lie between, so that the allocator gives a cold block back, not a fresh one.
 * Warm: the same buffers every time, 15 runs in a row, memcpy before and behind.
 *
 * cat_dim1_2x4096x2048 and u8nhwc_to_f32nchw_scaled (pictures to numbers with a factor and a summand a channel) allocate theirs as well.
 * cast_transpose_f32_f16_4096 is both at once. */
#include "bench.h"

#include <stdlib.h>

#include "bench_machine.h"

#define OPERANDS 3
#define SIDE 4096
#define SQUARE ((double)SIDE * SIDE)
#define IMAGES (32.0 * 3 * 224 * 224)
#define WARM_UP 2
#define LARGE ((size_t)1 << 20) /* results from here on are kept until they are cold */

typedef struct operand {
  wf_dtype dtype;
  int64_t size[4]; /* up to the first 0 */
} operand;

/* Returns the result if it is a new tensor, else NULL. Views are left to the scope that is open. */
typedef wf_tensor *(*case_fn)(wf_tensor *const *t);

typedef struct copy_case {
  const char *name;
  double bytes;
  case_fn run;
  operand operand[OPERANDS]; /* the destination first, where there is one */
} copy_case;

/* ---- cases ----------------------------------------------------------------------------------------------------------------- */

static wf_tensor *to(wf_tensor *dst, wf_tensor *src) { return wf_copy_(dst, src, false), NULL; }

static wf_tensor *plain(wf_tensor *const *t) { return to(t[0], t[1]); }
static wf_tensor *transposed(wf_tensor *const *t) { return to(t[0], wf_t(t[1])); }
static wf_tensor *contiguous(wf_tensor *const *t) { return wf_contiguous(wf_t(t[0]), WF_FORMAT_CONTIGUOUS); }
static wf_tensor *permuted_0231(wf_tensor *const *t) { return to(t[0], wf_permute(t[1], WF_SHAPE(0, 2, 3, 1))); }
static wf_tensor *permuted_0312(wf_tensor *const *t) { return to(t[0], wf_permute(t[1], WF_SHAPE(0, 3, 1, 2))); }
static wf_tensor *scaled(wf_tensor *const *t) {
  return wf_scale_shift_channels(wf_permute(t[0], WF_SHAPE(0, 3, 1, 2)), t[1], t[2], 1, WF_F32, WF_FORMAT_CONTIGUOUS);
}
static wf_tensor *swapped_12(wf_tensor *const *t) { return to(t[0], wf_transpose(t[1], 1, 2)); }
static wf_tensor *reversed(wf_tensor *const *t) { return to(t[0], wf_permute(t[1], WF_SHAPE(3, 2, 1, 0))); }
static wf_tensor *every_second(wf_tensor *const *t) { return to(t[0], wf_slice(t[1], 1, 0, SIDE, 2)); }
static wf_tensor *expanded(wf_tensor *const *t) { return to(t[0], wf_expand(t[1], WF_SHAPE(SIDE, SIDE))); }
static wf_tensor *added(wf_tensor *const *t) { return wf_add_into(t[0], t[1], t[2]), NULL; }
static wf_tensor *added_transposed(wf_tensor *const *t) { return wf_add_into(t[0], t[1], wf_t(t[2])), NULL; }
static wf_tensor *sum_of_rows(wf_tensor *const *t) { return wf_sum_dims(t[0], WF_SHAPE(0), false, WF_DTYPE_NONE); }
static wf_tensor *sum(wf_tensor *const *t) { return wf_sum(t[0]); }
static wf_tensor *softmax(wf_tensor *const *t) { return wf_softmax(t[0], 1, WF_DTYPE_NONE); }
static wf_tensor *joined(wf_tensor *const *t) {
  wf_tensor *parts[] = {t[0], t[1]};
  return wf_cat((wf_tensors){parts, 2}, 1);
}

#define F32_SQUARE         \
  {                        \
    WF_F32, { SIDE, SIDE } \
  }

static const copy_case cases[] = {
    {"copy_contig_4096", 2 * SQUARE * 4, plain, {F32_SQUARE, F32_SQUARE}},
    {"copy_transpose_4096", 2 * SQUARE * 4, transposed, {F32_SQUARE, F32_SQUARE}},
    {"copy_transpose_4080", 2.0 * 4080 * 4080 * 4, transposed, {{WF_F32, {4080, 4080}}, {WF_F32, {4080, 4080}}}},
    {"contiguous_T_4096", 2 * SQUARE * 4, contiguous, {F32_SQUARE}},
    {"permute0231_32x64x56x56",
     2.0 * 32 * 64 * 56 * 56 * 4,
     permuted_0231,
     {{WF_F32, {32, 56, 56, 64}}, {WF_F32, {32, 64, 56, 56}}}},
    {"nhwc_to_nchw_u8_32x224x224x3",
     2 * IMAGES,
     permuted_0312,
     {{WF_U8, {32, 3, 224, 224}}, {WF_U8, {32, 224, 224, 3}}}},
    {"u8nhwc_to_f32nchw", 5 * IMAGES, permuted_0312, {{WF_F32, {32, 3, 224, 224}}, {WF_U8, {32, 224, 224, 3}}}},
    {"u8nhwc_to_f32nchw_scaled", 5 * IMAGES, scaled, {{WF_U8, {32, 224, 224, 3}}, {WF_F32, {3}}, {WF_F32, {3}}}},
    {"bthd_to_bhtd_8x512x12x64",
     2.0 * 8 * 512 * 12 * 64 * 4,
     swapped_12,
     {{WF_F32, {8, 12, 512, 64}}, {WF_F32, {8, 512, 12, 64}}}},
    {"reverse_dims_64^4", 2 * SQUARE * 4, reversed, {{WF_F32, {64, 64, 64, 64}}, {WF_F32, {64, 64, 64, 64}}}},
    {"f16_transpose_4096", 2 * SQUARE * 2, transposed, {{WF_F16, {SIDE, SIDE}}, {WF_F16, {SIDE, SIDE}}}},
    {"cast_transpose_f32_f16_4096", SQUARE * 6, transposed, {{WF_F16, {SIDE, SIDE}}, F32_SQUARE}},
    {"cast_f32_bf16", SQUARE * 6, plain, {{WF_BF16, {SIDE, SIDE}}, F32_SQUARE}},
    {"cast_f16_f32", SQUARE * 6, plain, {F32_SQUARE, {WF_F16, {SIDE, SIDE}}}},
    {"slice_copy_stride2", 2 * SQUARE / 2 * 4, every_second, {{WF_F32, {SIDE, SIDE / 2}}, F32_SQUARE}},
    {"expand_copy_row", SQUARE * 4, expanded, {F32_SQUARE, {WF_F32, {1, SIDE}}}},
    {"add_contig_4096", 3 * SQUARE * 4, added, {F32_SQUARE, F32_SQUARE, F32_SQUARE}},
    {"add_transposed_4096", 3 * SQUARE * 4, added_transposed, {F32_SQUARE, F32_SQUARE, F32_SQUARE}},
    {"sum_dim0_4096", SQUARE * 4, sum_of_rows, {F32_SQUARE}},
    {"sum_all_4096", SQUARE * 4, sum, {F32_SQUARE}},
    {"softmax_4096", 2 * SQUARE * 4, softmax, {F32_SQUARE}},
    {"cat_dim1_2x4096x2048", 2 * SQUARE * 4, joined, {{WF_F32, {SIDE, SIDE / 2}}, {WF_F32, {SIDE, SIDE / 2}}}},
};

/* ---- operands --------------------------------------------------------------------------------------------------------------- */

static wf_dims size_of(const operand *o) {
  int n = 0;
  while (n < 4 && o->size[n]) n++;
  return wf_dims_of(o->size, n);
}

static size_t bytes_of(const operand *o) {
  wf_dims size = size_of(o);
  size_t bytes = wf_dtype_size(o->dtype);
  for (int d = 0; d < size.n; d++) bytes *= (size_t)size.at[d];
  return bytes;
}

static wf_tensor *allocated(const operand *o) {
  wf_tensor_options options = wf_tensor_defaults();
  options.dtype = o->dtype;
  wf_tensor *t = wf_empty(size_of(o), &options);
  void *data = wf_tensor_map(t, WF_WRITE);
  if (data) machine_fill(data, bytes_of(o));
  wf_tensor_unmap(t);
  return t;
}

static wf_tensor *cold(const operand *o, machine *m) {
  size_t bytes = bytes_of(o);
  return wf_from_memory(machine_take(m, bytes), bytes, size_of(o), WF_SHAPE0, o->dtype, NULL, NULL);
}

static void make_operands(const copy_case *c, machine *m, bool warm, wf_tensor *t[OPERANDS]) {
  for (int o = 0; o < OPERANDS && c->operand[o].dtype; o++)
    t[o] = warm ? allocated(&c->operand[o]) : cold(&c->operand[o], m);
}

static void free_operands(wf_tensor *t[OPERANDS]) {
  for (int o = 0; o < OPERANDS; o++) wf_free(t[o]);
}

/* ---- one run ---------------------------------------------------------------------------------------------------------------- */

/* Results that a case allocated, the oldest at `next`. A result is given back within the time, as a program would have to. */
typedef struct results {
  wf_tensor **at;
  int n, next;
} results;

static double run_once(const copy_case *c, wf_tensor *const *t, results *kept) {
  wf_scope scope = wf_scope_begin();
  int64_t start = wf_clock_ns();
  if (kept->n) wf_free(kept->at[kept->next]);
  wf_tensor *result = c->run(t);
  if (!kept->n) wf_free(result);
  int64_t end = wf_clock_ns();
  if (kept->n) {
    kept->at[kept->next] = wf_scope_end(scope, result);
    kept->next = (kept->next + 1) % kept->n;
  } else {
    wf_scope_end(scope, NULL);
  }
  return (double)(end - start) * 1e-9;
}

/* Makes room for as many results as lie in the arena, if the case allocates large ones. */
static bool keep_results(const copy_case *c, wf_tensor *const *t, const machine *m, results *kept) {
  wf_scope scope = wf_scope_begin();
  size_t bytes = wf_storage_nbytes(c->run(t));
  wf_scope_end(scope, NULL);
  if (bytes < LARGE) return true;
  kept->n = (int)(m->size / bytes) + 1;
  kept->at = calloc((size_t)kept->n, sizeof *kept->at);
  return kept->at;
}

static void free_results(results *kept) {
  for (int i = 0; i < kept->n; i++) wf_free(kept->at[i]);
  free(kept->at);
}

/* ---- a case ----------------------------------------------------------------------------------------------------------------- */

typedef struct timings {
  double run[BENCH_MOST_RUNS], memcpy[BENCH_MOST_RUNS], stream[BENCH_MOST_RUNS]; /* seconds */
  int runs;
} timings;

static bool measure_cold(const bench *b, const copy_case *c, machine *m, timings *s) {
  results kept = {0};
  bool good = true;
  for (int r = -WARM_UP; r < s->runs && good && !bench_stopped(); r++) {
    /* The streaming copy last: memcpy leaves lines in the cache that are still to be written, which the case would have to wait for. */
    if (r >= 0) s->memcpy[r] = machine_time(m, MACHINE_MEMCPY, MACHINE_BLOCK);
    if (r >= 0) s->stream[r] = machine_time(m, MACHINE_STREAM, MACHINE_BLOCK);
    wf_tensor *t[OPERANDS] = {0};
    make_operands(c, m, false, t);
    if (r == -WARM_UP) good = keep_results(c, t, m, &kept);
    bench_wake_threads(b);
    double seconds = run_once(c, t, &kept);
    for (int i = 1; i < kept.n && r < 0; i++) run_once(c, t, &kept); /* all are there, and none is fresh */
    if (r >= 0) s->run[r] = seconds;
    free_operands(t);
    good = good && !wf_error_peek().status;
  }
  free_results(&kept);
  return good && !bench_stopped();
}

/* Runs `from` to `to` of memcpy and the streaming copy, which use one pair of buffers. */
static void measure_neighbours(machine *m, timings *s, int from, int to) {
  for (int i = from; i < to && !bench_stopped(); i++) {
    machine_rewind(m);
    s->memcpy[i] = machine_time(m, MACHINE_MEMCPY, MACHINE_BLOCK);
  }
  for (int i = from; i < to && !bench_stopped(); i++) {
    machine_rewind(m);
    s->stream[i] = machine_time(m, MACHINE_STREAM, MACHINE_BLOCK);
  }
}

static bool measure_warm(const bench *b, const copy_case *c, machine *m, timings *s) {
  results kept = {0};
  wf_tensor *t[OPERANDS] = {0};
  measure_neighbours(m, s, 0, s->runs / 2);
  make_operands(c, m, true, t);
  bench_wake_threads(b);
  for (int r = -WARM_UP; r < s->runs && !bench_stopped(); r++) {
    double seconds = run_once(c, t, &kept);
    if (r >= 0) s->run[r] = seconds;
  }
  free_operands(t);
  measure_neighbours(m, s, s->runs / 2, s->runs);
  return !wf_error_peek().status && !bench_stopped();
}

static bool run_case(bench *b, const copy_case *c, machine *m) {
  timings s = {.runs = b->runs};
  if (!(b->warm ? measure_warm : measure_cold)(b, c, m, &s)) return false;
  double by_memcpy = 2e-9 * MACHINE_BLOCK / bench_median(s.memcpy, s.runs);
  double by_stream = 2e-9 * MACHINE_BLOCK / bench_median(s.stream, s.runs);
  bench_print(b, (bench_row){.name = c->name,
                             .unit = "GB/s",
                             .value = c->bytes * 1e-9 / bench_median(s.run, s.runs),
                             .limit = by_stream > by_memcpy ? by_stream : by_memcpy,
                             .by_memcpy = by_memcpy});
  return true;
}

/* The machine's own rows: what it does when nothing runs between. The limit of all rows is the better of the two copies; reading alone and
 * writing alone are what bounds an operator that only does one. */
static const struct {
  const char *name;
  int directions;
} kinds[] = {[MACHINE_MEMCPY] = {"memcpy_64MiB", 2},
             [MACHINE_STREAM] = {"stream_64MiB", 2},
             [MACHINE_READ] = {"read_64MiB", 1},
             [MACHINE_WRITE] = {"write_64MiB", 1}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool wants_machine(const bench *b) {
  for (int k = 0; k < KINDS; k++)
    if (bench_wants(b, kinds[k].name)) return true;
  return false;
}

static void run_machine(bench *b, machine *m) {
  double seconds[KINDS][BENCH_MOST_RUNS], value[KINDS];
  for (int r = -WARM_UP; r < b->runs && !bench_stopped(); r++)
    for (int k = 0; k < KINDS; k++) {
      if (b->warm) machine_rewind(m);
      double once = machine_time(m, (machine_traffic)k, MACHINE_BLOCK);
      if (r >= 0) seconds[k][r] = once;
    }
  if (bench_stopped()) return;
  for (int k = 0; k < KINDS; k++)
    value[k] = 1e-9 * MACHINE_BLOCK * kinds[k].directions / bench_median(seconds[k], b->runs);
  double limit = value[MACHINE_MEMCPY] > value[MACHINE_STREAM] ? value[MACHINE_MEMCPY] : value[MACHINE_STREAM];
  for (int k = 0; k < KINDS; k++)
    if (bench_wants(b, kinds[k].name))
      bench_print(b, (bench_row){.name = kinds[k].name,
                                 .unit = "GB/s",
                                 .value = value[k],
                                 .limit = limit,
                                 .by_memcpy = value[MACHINE_MEMCPY]});
}

static bool wants_case(const bench *b) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (bench_wants(b, cases[i].name)) return true;
  return false;
}

bool bench_copy(bench *b) {
  if (!wants_machine(b) && !wants_case(b)) return true;
  machine m;
  size_t largest = b->warm ? 2 * MACHINE_BLOCK : OPERANDS * MACHINE_BLOCK;
  if (!machine_open(&m, largest, !b->warm, b->threads)) return bench_no_memory();
  bench_note_memory(b, &m);
  if (wants_machine(b)) run_machine(b, &m);
  bool good = true;
  for (size_t i = 0; i < sizeof cases / sizeof *cases && good; i++)
    if (bench_wants(b, cases[i].name)) good = run_case(b, &cases[i], &m);
  if (good) bench_note_others(b, &m);
  machine_close(&m);
  return good;
}
