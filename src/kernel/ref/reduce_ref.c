/* Reductions of a stretch of elements, one at a time in double, merged into the state by the rules of reduce_state.c. */
#include <math.h>

#include "kernel/tables.h"

/* What one element is as a state of its own. */
static wf__reduce_state single(wf__reduce_kind kind, double x, int64_t integer, int64_t index, double p) {
  wf__reduce_state s = {.value = x, .integer = integer, .index = index, .count = 1};
  switch (kind) {
    case WF__REDUCE_SUM_ABS:
    case WF__REDUCE_MAX_ABS:
    case WF__REDUCE_MIN_ABS: s.value = fabs(x); break;
    case WF__REDUCE_SUM_SQUARE: s.value = x * x; break;
    case WF__REDUCE_SUM_POWER: s.value = pow(fabs(x), p); break;
    case WF__REDUCE_MOMENTS: s.second = x - x; break; /* NaN for what isn't finite */
    case WF__REDUCE_LOGSUMEXP: s.second = 1; break;
    default: break;
  }
  return s;
}

static inline void take_floats(wf__reduce_kind kind, bool narrow, wf__reduce_state *state, const void *x, int64_t n,
                               int64_t first, int64_t step, double p) {
  for (int64_t i = 0; i < n; i++) {
    double value = narrow ? ((const float *)x)[i] : ((const double *)x)[i];
    wf__reduce_state one = single(kind, kind == WF__REDUCE_COUNT ? 0 : value, value != 0, first + i * step, p);
    wf__reduce_merge(kind, false, state, &one);
  }
}

static inline void take_integer(wf__reduce_kind kind, wf__reduce_state *state, int64_t x, int64_t index) {
  wf__reduce_state one = single(WF__REDUCE_SUM, 0, kind == WF__REDUCE_COUNT ? x != 0 : x, index, 0);
  wf__reduce_merge(kind, true, state, &one);
}

/* clang-format off */
#define FLOAT_KINDS(X) \
  X(SUM) X(SUM_ABS) X(SUM_SQUARE) X(SUM_POWER) X(PROD) X(MAX) X(MIN) X(MAX_ABS) X(MIN_ABS) X(COUNT) X(MOMENTS) X(LOGSUMEXP)
/* clang-format on */

#define WF_KIND(KIND)                                                                                                \
  static void KIND##_f32(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) { \
    take_floats(WF__REDUCE_##KIND, true, state, x, n, first, step, p);                                               \
  }                                                                                                                  \
  static void KIND##_f64(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) { \
    take_floats(WF__REDUCE_##KIND, false, state, x, n, first, step, p);                                              \
  }
FLOAT_KINDS(WF_KIND)
#undef WF_KIND
/* Integers of any width: kinds and rows of sums. */
#define INTEGER(KIND, T)                                                                                             \
  static void KIND##_##T(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) { \
    (void)p;                                                                                                         \
    for (int64_t i = 0; i < n; i++) take_integer(WF__REDUCE_##KIND, state, ((const T *)x)[i], first + i * step);     \
  }

/* Rows: EXPRESSION is what `now` becomes with the element y. */
#define ROW_KIND(KIND, T, RESULT, EXPRESSION)                                                         \
  static void KIND##_rows_##T(void *result, const void *x, int64_t stride, int64_t rows, int64_t n) { \
    for (int64_t r = 0; r < rows; r++)                                                                \
      for (int64_t i = 0; i < n; i++) {                                                               \
        T y = ((const T *)((const char *)x + r * stride))[i];                                         \
        RESULT now = ((RESULT *)result)[i];                                                           \
        ((RESULT *)result)[i] = (RESULT)(EXPRESSION);                                                 \
      }                                                                                               \
  }
#define PLACES(KIND, T, PLACE, OPERATOR)                                                                             \
  static void KIND##_places_##T(void *best, void *place, const void *x, int64_t stride, int64_t first, int64_t rows, \
                                int64_t n) {                                                                         \
    for (int64_t r = 0; r < rows; r++)                                                                               \
      for (int64_t i = 0; i < n; i++) {                                                                              \
        T y = ((const T *)((const char *)x + r * stride))[i], *now = (T *)best + i;                                  \
        if (!(y OPERATOR * now || (y != y && *now == *now))) continue;                                               \
        *now = y;                                                                                                    \
        ((PLACE *)place)[i] = (PLACE)(first + r);                                                                    \
      }                                                                                                              \
  }
#define ROWS(T, RESULT, PLACE)                                                                                        \
  ROW_KIND(SUM, T, RESULT, now + (RESULT)y)                                                                           \
  ROW_KIND(PROD, T, RESULT, now *(RESULT)y)                                                                           \
  ROW_KIND(COUNT, T, int64_t, now + (y != 0))                                                                         \
  ROW_KIND(MAX, T, T, y > now || y != y ? y : now)                                                                    \
  ROW_KIND(MIN, T, T, y < now || y != y ? y : now)                                                                    \
  PLACES(MAX, T, PLACE, >)                                                                                            \
  PLACES(MIN, T, PLACE, <)                                                                                            \
  static void add_each_##T(void *total, const void *x, int64_t stride, int64_t rows, int64_t n) {                     \
    for (int64_t r = 0; r < rows; r++)                                                                                \
      for (int64_t i = 0; i < n; i++) ((RESULT *)total)[r] += (RESULT)((const T *)((const char *)x + r * stride))[i]; \
  }
#define FLOAT_ROWS(T, PLACE)                          \
  ROWS(T, double, PLACE)                              \
  ROW_KIND(SUM_ABS, T, double, now + fabs((double)y)) \
  ROW_KIND(SUM_SQUARE, T, double, now + (double)y * y)
#define INTEGERS(T) \
  INTEGER(SUM, T) INTEGER(PROD, T) INTEGER(MAX, T) INTEGER(MIN, T) INTEGER(COUNT, T) ROWS(T, uint64_t, T)
INTEGERS(int64_t)
INTEGERS(int32_t)
INTEGERS(int16_t)
INTEGERS(int8_t)
INTEGERS(uint8_t)
FLOAT_ROWS(float, int32_t)
FLOAT_ROWS(double, int64_t)

void wf__reduce_ref(wf__kernels *table) {
#define WF_KIND(KIND)                                           \
  table->reduce[WF__CLASS_F32][WF__REDUCE_##KIND] = KIND##_f32; \
  table->reduce[WF__CLASS_F64][WF__REDUCE_##KIND] = KIND##_f64;
  FLOAT_KINDS(WF_KIND)
#undef WF_KIND
#define WF_ROW_KIND(CLASS, KIND, T) table->rows[WF__CLASS_##CLASS][WF__REDUCE_##KIND] = KIND##_rows_##T;
#define WF_ROWS(CLASS, T)                                            \
  WF_ROW_KIND(CLASS, SUM, T)                                         \
  WF_ROW_KIND(CLASS, PROD, T)                                        \
  WF_ROW_KIND(CLASS, COUNT, T)                                       \
  WF_ROW_KIND(CLASS, MAX, T)                                         \
  WF_ROW_KIND(CLASS, MIN, T)                                         \
  table->places[WF__CLASS_##CLASS][WF__REDUCE_MAX] = MAX_places_##T; \
  table->places[WF__CLASS_##CLASS][WF__REDUCE_MIN] = MIN_places_##T; \
  table->add_each[WF__CLASS_##CLASS] = add_each_##T;
#define WF_FLOAT_ROWS(CLASS, T)  \
  WF_ROWS(CLASS, T)              \
  WF_ROW_KIND(CLASS, SUM_ABS, T) \
  WF_ROW_KIND(CLASS, SUM_SQUARE, T)
#define WF_CLASS(CLASS, T)                                        \
  table->reduce[WF__CLASS_##CLASS][WF__REDUCE_SUM] = SUM_##T;     \
  table->reduce[WF__CLASS_##CLASS][WF__REDUCE_PROD] = PROD_##T;   \
  table->reduce[WF__CLASS_##CLASS][WF__REDUCE_MAX] = MAX_##T;     \
  table->reduce[WF__CLASS_##CLASS][WF__REDUCE_MIN] = MIN_##T;     \
  table->reduce[WF__CLASS_##CLASS][WF__REDUCE_COUNT] = COUNT_##T; \
  WF_ROWS(CLASS, T)
  WF_CLASS(I64, int64_t)
  WF_CLASS(I32, int32_t)
  WF_CLASS(I16, int16_t)
  WF_CLASS(I8, int8_t)
  WF_CLASS(U8, uint8_t)
  WF_FLOAT_ROWS(F32, float)
  WF_FLOAT_ROWS(F64, double)
#undef WF_CLASS
#undef WF_ROWS
#undef WF_FLOAT_ROWS
#undef WF_ROW_KIND
}
