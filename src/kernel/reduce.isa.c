/* Reductions of consecutive elements with vectors of eight: the compiler splits them to what the CPU has. Products, powers, inf-norms and
 * f64's log-sum-exp stay ref/'s. */
#include "kernel/math_f32.h"
#include "kernel/tables.h"

#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed between static functions only */
#endif

typedef double lanes __attribute__((vector_size(64)));
typedef int64_t lane_bits __attribute__((vector_size(64)));
typedef float eight_f32 __attribute__((vector_size(32)));
typedef int32_t eight_i32 __attribute__((vector_size(32)));

static inline double total_of(lanes v) { return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7])); }
static inline lanes absolute(lanes v) { return (lanes)((lane_bits)v & INT64_MAX); }

static void take_sum(wf__reduce_state *state, double sum) {
  wf__reduce_state part = {.value = sum};
  wf__reduce_merge(WF__REDUCE_SUM, false, state, &part);
}

#define T float
#define V eight_f32
#define BITS int32_t
#define M eight_i32
#define WIDE(v) __builtin_convertvector((v), lanes)
#define LOOP(name) name##_f32
#include "kernel/reduce_loops.h"
#undef T
#undef V
#undef BITS
#undef M
#undef WIDE
#undef LOOP

#define T double
#define V lanes
#define BITS int64_t
#define M lane_bits
#define WIDE(v) (v)
#define LOOP(name) name##_f64
#include "kernel/reduce_loops.h"

/* Scaled by the stretch's own maximum, then merged. */
static void LOGSUMEXP_f32(wf__reduce_state *state, const void *values, int64_t n, int64_t first, int64_t step,
                          double p) {
  enum { BLOCK = 512 };
  const float *x = values;
  float block[BLOCK];
  (void)first, (void)step, (void)p;
  for (int64_t i = 0; i < n; i += BLOCK) {
    int64_t count = n - i < BLOCK ? n - i : BLOCK;
    bool nan;
    float top = most_f32(x + i, count, &nan);
    wf__reduce_state part = {.value = nan ? NAN : top, .second = (double)count};
    if (isfinite(part.value)) {
      for (int64_t k = 0; k < count; k++) block[k] = wf__expf(x[i + k] - top);
      part.second = sum_f32(block, count, 0);
    }
    wf__reduce_merge(WF__REDUCE_LOGSUMEXP, false, state, &part);
  }
}

static void SUM_i64(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  const uint64_t *v = x;
  uint64_t sum = (uint64_t)state->integer;
  (void)first, (void)step, (void)p;
  for (int64_t i = 0; i < n; i++) sum += v[i];
  state->integer = (int64_t)sum;
}

static void COUNT_i64(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  const int64_t *v = x;
  int64_t count = 0;
  (void)first, (void)step, (void)p;
  for (int64_t i = 0; i < n; i++) count += v[i] != 0;
  state->integer += count;
}

static void add_row_i64(void *total, const void *x, int64_t n) {
  uint64_t *t = total;
  const uint64_t *v = x;
  WF__VECTOR_LOOP
  for (int64_t i = 0; i < n; i++) t[i] += v[i];
}

void WFK(wf__reduce)(wf__kernels *table) {
#define WF_KIND(KIND)                                           \
  table->reduce[WF__CLASS_F32][WF__REDUCE_##KIND] = KIND##_f32; \
  table->reduce[WF__CLASS_F64][WF__REDUCE_##KIND] = KIND##_f64;
  /* clang-format off */
  WF_KIND(SUM)
  WF_KIND(SUM_ABS)
  WF_KIND(SUM_SQUARE) WF_KIND(MOMENTS) WF_KIND(COUNT) WF_KIND(MAX) WF_KIND(MIN)
#undef WF_KIND
      /* clang-format on */
      table->reduce[WF__CLASS_F32][WF__REDUCE_LOGSUMEXP] = LOGSUMEXP_f32;
  table->reduce[WF__CLASS_I64][WF__REDUCE_SUM] = SUM_i64;
  table->reduce[WF__CLASS_I64][WF__REDUCE_COUNT] = COUNT_i64;
  table->add_row[WF__CLASS_F32] = add_row_f32;
  table->add_row[WF__CLASS_F64] = add_row_f64;
  table->add_row[WF__CLASS_I64] = add_row_i64;
}
