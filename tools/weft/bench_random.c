/* weft bench copy --random N: layouts drawn by chance, each copied to row-major order, cold, beside memcpy of the same bytes.
 *
 * A layout is a contiguous tensor of rank 2 to 6 whose dims are permuted, never to the same order. No size is a power of two. Bytes are spread
 * evenly over the magnitudes from 1 to 64 MiB, dtypes and ranks evenly over what there is. The same seed gives the same layouts on every
 * machine. What is printed of a layout is what `weft copy-plan` takes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_machine.h"

#define MOST_RANK 6
#define LEAST_BYTES (double)((size_t)1 << 20)
#define MOST_BYTES (double)((size_t)64 << 20)
#define SLOWEST 5 /* layouts that are told in words */
#define WARM_UP 1

typedef struct layout {
  wf_dtype dtype;
  int rank;
  int64_t size[MOST_RANK], order[MOST_RANK];
  size_t bytes;
  double value, by_memcpy; /* GB/s */
} layout;

/* ---- drawing ---------------------------------------------------------------------------------------------------------------- */

/* splitmix64: small, and the same everywhere. */
static uint64_t draw(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static double draw_share(uint64_t *state) { return ((double)(draw(state) >> 11) + 0.5) / 9007199254740992.0; }
static int draw_below(uint64_t *state, int n) { return (int)(draw(state) % (uint64_t)n); }

/* Sizes with the wanted product, more or less: shares of its logarithm. */
static void draw_sizes(layout *l, double elements, uint64_t *state) {
  double share[MOST_RANK], sum = 0;
  for (int d = 0; d < l->rank; d++) sum += share[d] = -log(draw_share(state));
  for (int d = 0; d < l->rank; d++) {
    int64_t size = llround(pow(elements, share[d] / sum));
    if (size < 3) size = 3;
    if ((size & (size - 1)) == 0) size++;
    l->size[d] = size;
  }
}

static bool is_identity(const layout *l) {
  for (int d = 0; d < l->rank; d++)
    if (l->order[d] != d) return false;
  return true;
}

static void draw_order(layout *l, uint64_t *state) {
  do {
    for (int d = 0; d < l->rank; d++) l->order[d] = d;
    for (int d = l->rank - 1; d > 0; d--) {
      int other = draw_below(state, d + 1);
      int64_t kept = l->order[d];
      l->order[d] = l->order[other];
      l->order[other] = kept;
    }
  } while (is_identity(l));
}

static void draw_layout(layout *l, uint64_t *state) {
  for (;;) {
    *l = (layout){.dtype = (wf_dtype)(1 + draw_below(state, WF_DTYPE_COUNT - 1)),
                  .rank = 2 + draw_below(state, MOST_RANK - 1)};
    double bytes = LEAST_BYTES * pow(MOST_BYTES / LEAST_BYTES, draw_share(state));
    draw_sizes(l, bytes / (double)wf_dtype_size(l->dtype), state);
    draw_order(l, state);
    double exact = (double)wf_dtype_size(l->dtype);
    for (int d = 0; d < l->rank; d++) exact *= (double)l->size[d];
    l->bytes = (size_t)exact;
    if (exact >= LEAST_BYTES && exact <= MOST_BYTES) return;
  }
}

/* "f32[3,5,7] permute 2,0,1" */
static const char *in_words(const layout *l, char text[256]) {
  int at = snprintf(text, 256, "%s[", short_dtype(l->dtype));
  for (int d = 0; d < l->rank; d++)
    at += snprintf(text + at, 256 - (size_t)at, "%s%lld", d ? "," : "", (long long)l->size[d]);
  at += snprintf(text + at, 256 - (size_t)at, "] permute ");
  for (int d = 0; d < l->rank; d++)
    at += snprintf(text + at, 256 - (size_t)at, "%s%lld", d ? "," : "", (long long)l->order[d]);
  return text;
}

/* ---- measuring -------------------------------------------------------------------------------------------------------------- */

static double run_once(const bench *b, const layout *l, machine *m) {
  int64_t sizes[MOST_RANK];
  for (int d = 0; d < l->rank; d++) sizes[d] = l->size[l->order[d]];
  wf_scope scope = wf_scope_begin();
  wf_tensor *from = wf_from_memory(machine_take(m, l->bytes), l->bytes, wf_dims_of(l->size, l->rank), WF_SHAPE0,
                                   l->dtype, NULL, NULL);
  wf_tensor *to =
      wf_from_memory(machine_take(m, l->bytes), l->bytes, wf_dims_of(sizes, l->rank), WF_SHAPE0, l->dtype, NULL, NULL);
  wf_tensor *permuted = wf_permute(from, wf_dims_of(l->order, l->rank));
  bench_wake_threads(b);
  int64_t start = wf_clock_ns();
  wf_copy_(to, permuted, false);
  int64_t end = wf_clock_ns();
  wf_scope_end(scope, NULL);
  return (double)(end - start) * 1e-9;
}

static bool measure(const bench *b, layout *l, machine *m) {
  int runs = b->runs;
  double run[BENCH_MOST_RUNS], by_memcpy[BENCH_MOST_RUNS];
  for (int r = -WARM_UP; r < runs && !bench_stopped(); r++) {
    double first = machine_time(m, MACHINE_MEMCPY, l->bytes), second = run_once(b, l, m);
    if (r < 0) continue;
    by_memcpy[r] = first;
    run[r] = second;
  }
  if (bench_stopped()) return false;
  l->value = 2e-9 * (double)l->bytes / bench_median(run, runs);
  l->by_memcpy = 2e-9 * (double)l->bytes / bench_median(by_memcpy, runs);
  return !wf_error_peek().status;
}

/* ---- what came out ------------------------------------------------------------------------------------------------------------ */

static double ratio(const layout *l) { return l->value / l->by_memcpy; }

static int slower_first(const void *a, const void *b) {
  double x = ratio(a), y = ratio(b);
  return (x > y) - (x < y);
}

/* Between the two nearest of n sorted layouts. */
static double percentile(const layout *sorted, int64_t n, double p) {
  double at = p / 100 * (double)(n - 1);
  int64_t below = (int64_t)at, above = below + 1 < n ? below + 1 : below;
  return ratio(&sorted[below]) + (at - (double)below) * (ratio(&sorted[above]) - ratio(&sorted[below]));
}

static void print_distribution(bench *b, layout *l, int64_t n) {
  static const struct {
    const char *name;
    double at;
  } points[] = {{"min", 0}, {"p10", 10}, {"p25", 25}, {"median", 50}, {"p75", 75}, {"max", 100}};
  qsort(l, (size_t)n, sizeof *l, slower_first);
  bench_note(b, "\nof memcpy of the same bytes, %lld layouts, seed %lld\n", (long long)n, (long long)b->seed);
  for (size_t i = 0; i < sizeof points / sizeof *points; i++)
    bench_note(b, "  %-8s %.2f\n", points[i].name, percentile(l, n, points[i].at));
  bench_note(b, "\nthe slowest\n");
  char text[256];
  for (int64_t i = 0; i < n && i < SLOWEST; i++) bench_note(b, "  %.2f  %s\n", ratio(&l[i]), in_words(&l[i], text));
}

/* Draws as many layouts as are asked for, and keeps those that the filter wants; returns how many. */
static int64_t draw_layouts(const bench *b, layout *l) {
  uint64_t state = (uint64_t)b->seed;
  char text[256];
  int64_t n = 0;
  for (int64_t i = 0; i < b->random; i++) {
    draw_layout(&l[n], &state);
    n += bench_wants(b, in_words(&l[n], text));
  }
  return n;
}

static bool run_layouts(bench *b, machine *m, layout *l, int64_t n) {
  char text[256];
  for (int64_t i = 0; i < n; i++) {
    if (!measure(b, &l[i], m)) return false;
    bench_print(b, (bench_row){.name = in_words(&l[i], text),
                               .unit = "GB/s",
                               .value = l[i].value,
                               .limit = l[i].by_memcpy,
                               .by_memcpy = l[i].by_memcpy});
  }
  print_distribution(b, l, n);
  return true;
}

static bool measure_layouts(bench *b, layout *l, int64_t n) {
  machine m;
  if (!machine_open(&m, 2 * (size_t)MOST_BYTES, true, b->threads)) return bench_no_memory();
  bench_note_memory(b, &m);
  bool good = run_layouts(b, &m, l, n);
  if (good) bench_note_others(b, &m);
  machine_close(&m);
  return good;
}

bool bench_random(bench *b) {
  layout *l = calloc((size_t)b->random, sizeof *l);
  if (!l) return bench_no_memory();
  int64_t n = draw_layouts(b, l);
  bool good = !n || measure_layouts(b, l, n);
  free(l);
  return good;
}
