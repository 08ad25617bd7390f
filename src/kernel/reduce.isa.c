/* Reductions of consecutive elements by vectors. Powers and inf-norms stay ref/'s. */
#include <math.h>

#include "kernel/lanes.h"
#include "kernel/tables.h"

#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed between static functions only */
#endif

typedef double lanes __attribute__((vector_size(64)));
typedef int64_t lane_bits __attribute__((vector_size(64)));
typedef float eight_f32 __attribute__((vector_size(32)));

static inline lanes absolute(lanes v) { return (lanes)((lane_bits)v & INT64_MAX); }

static void take_sum(wf__reduce_state *state, double sum) {
  wf__reduce_state part = {.value = sum};
  wf__reduce_merge(WF__REDUCE_SUM, false, state, &part);
}

/* Eight elements as doubles. The instruction by name: the compiler converts halves of the vector and joins them. */
static inline lanes wide_f32(const float *p) {
#if defined(__AVX512F__)
  return (lanes)_mm512_cvtps_pd(_mm256_loadu_ps(p));
#else
  eight_f32 v;
  memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, lanes);
#endif
}
static inline lanes wide_f64(const double *p) {
  lanes v;
  memcpy(&v, p, sizeof v);
  return v;
}

/* t += v, lane by lane in double. */
static inline void add_wide_f32(double *t, wf__f32s v) {
#if defined(__AVX512F__)
  _mm512_storeu_pd(t, _mm512_loadu_pd(t) + _mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v)));
  _mm512_storeu_pd(t + 8, _mm512_loadu_pd(t + 8) + _mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)v, 1)));
#else
  float part[WF__LANES];
  wf__store_f32(part, v);
  for (int k = 0; k < WF__LANES; k++) t[k] += part[k];
#endif
}
static inline void add_wide_f64(double *t, wf__f64s v) {
  wf__f64s now;
  memcpy(&now, t, sizeof now);
  now += v;
  memcpy(t, &now, sizeof now);
}

static double short_sum_f32(const float *x, int64_t n);
static double short_sum_f64(const double *x, int64_t n);
static wf__f32s block_f32(const float *x);
static wf__f64s block_f64(const double *x);

static double sum_f32(const float *x, int64_t n) {
  enum { BLOCK = 32 * WF__LANES };
  double total[WF__LANES] __attribute__((aligned(64))) = {0}, sum = 0;
  int64_t i = 0;
  for (; i + BLOCK <= n; i += BLOCK) add_wide_f32(total, block_f32(x + i));
  for (int half = WF__LANES / 2; half && i; half /= 2)
    for (int k = 0; k < half; k++) total[k] += total[k + half];
  if (i) sum = total[0];
  return i < n ? sum + short_sum_f32(x + i, n - i) : sum;
}

static double sum_f64(const double *x, int64_t n) {
  enum { BLOCK = 16 * WF__LANES, FEW = 4 * BLOCK };
  if (n > FEW) {
    int64_t half = n / 2 / BLOCK * BLOCK;
    return sum_f64(x, half) + sum_f64(x + half, n - half);
  }
  wf__f64s total = {0};
  int64_t i = 0;
  for (; i + BLOCK <= n; i += BLOCK) total += block_f64(x + i);
  return wf__total_f64(total) + (i < n ? short_sum_f64(x + i, n - i) : 0);
}

/* Rows of columns' elements go into results t[i], four at a time: a[i] to d[i], then one: a[i]. FOUR, ONE: what t[i] becomes. */
#define BY_FOUR_ROWS(FN, RESULT, FOUR, ONE)                                                    \
  static void NAME(FN)(void *result, const void *x, int64_t stride, int64_t rows, int64_t n) { \
    RESULT *t = result;                                                                        \
    const char *row = x;                                                                       \
    int64_t r = 0;                                                                             \
    for (; r + 4 <= rows; r += 4, row += 4 * stride) {                                         \
      const T *a = (const T *)row, *b = (const T *)(row + stride);                             \
      const T *c = (const T *)(row + 2 * stride), *d = (const T *)(row + 3 * stride);          \
      WF__VECTOR_LOOP for (int64_t i = 0; i < n; i++) t[i] = FOUR;                             \
    }                                                                                          \
    for (; r < rows; r++, row += stride) {                                                     \
      const T *a = (const T *)row;                                                             \
      WF__VECTOR_LOOP for (int64_t i = 0; i < n; i++) t[i] = ONE;                              \
    }                                                                                          \
  }

#define T float
#define V wf__f32s
#define LANES WF__LANES
#define PLACE int32_t
#define WIDE_LOAD(p) wide_f32(p)
#define NAME(x) x##_f32
#define TYPE(x) x##_f32
#define EXP(v) wf__exp_f32s(v)
#include "kernel/reduce_loops.h"
#undef T
#undef V
#undef LANES
#undef PLACE
#undef WIDE_LOAD
#undef NAME
#undef TYPE
#undef EXP
#undef SUMS
#undef EXTREME

#define T double
#define V wf__f64s
#define LANES (WF__LANES / 2)
#define PLACE int64_t
#define WIDE_LOAD(p) wide_f64(p)
#define NAME(x) x##_f64
#define TYPE(x) x##_f64
#define EXP(v) wf__exp_f64s(v)
#include "kernel/reduce_loops.h"
#undef T
#undef NAME
#undef EXTREME

#define T int64_t
#define NAME(x) x##_i64
#include "kernel/reduce_int_loops.h"
#undef T
#undef NAME

#define T int32_t
#define NAME(x) x##_i32
#include "kernel/reduce_int_loops.h"
#undef T
#undef NAME

#define T int16_t
#define NAME(x) x##_i16
#include "kernel/reduce_int_loops.h"
#undef T
#undef NAME

#define T int8_t
#define NAME(x) x##_i8
#include "kernel/reduce_int_loops.h"
#undef T
#undef NAME

#define T uint8_t
#define NAME(x) x##_u8
#include "kernel/reduce_int_loops.h"
#undef T
#undef NAME

void WFK(wf__reduce)(wf__kernels *table) {
#define WF_KIND(KIND)                                           \
  table->reduce[WF__CLASS_F32][WF__REDUCE_##KIND] = KIND##_f32; \
  table->reduce[WF__CLASS_F64][WF__REDUCE_##KIND] = KIND##_f64;
  /* clang-format off */
  WF_KIND(SUM) WF_KIND(SUM_ABS) WF_KIND(SUM_SQUARE) WF_KIND(PROD) WF_KIND(MOMENTS) WF_KIND(COUNT) WF_KIND(MAX) WF_KIND(MIN) WF_KIND(LOGSUMEXP)
  /* clang-format on */
#undef WF_KIND
#define WF_ROWS(CLASS, suffix)                                              \
  table->rows[CLASS][WF__REDUCE_SUM] = add_rows_##suffix;                   \
  table->rows[CLASS][WF__REDUCE_SUM_ABS] = add_sizes_of_rows_##suffix;      \
  table->rows[CLASS][WF__REDUCE_SUM_SQUARE] = add_squares_of_rows_##suffix; \
  table->rows[CLASS][WF__REDUCE_PROD] = multiply_rows_##suffix;             \
  table->rows[CLASS][WF__REDUCE_COUNT] = count_rows_##suffix;               \
  table->rows[CLASS][WF__REDUCE_MAX] = most_rows_##suffix;                  \
  table->rows[CLASS][WF__REDUCE_MIN] = least_rows_##suffix;                 \
  table->places[CLASS][WF__REDUCE_MAX] = most_places_##suffix;              \
  table->places[CLASS][WF__REDUCE_MIN] = least_places_##suffix;             \
  table->add_each[CLASS] = add_each_##suffix;
          WF_ROWS(WF__CLASS_F32, f32) WF_ROWS(WF__CLASS_F64, f64)
#undef WF_ROWS
              put_i64(table, WF__CLASS_I64);
  put_i32(table, WF__CLASS_I32);
  put_i16(table, WF__CLASS_I16);
  put_i8(table, WF__CLASS_I8);
  put_u8(table, WF__CLASS_U8);
}
