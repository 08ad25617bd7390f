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

static inline void take_integers(wf__reduce_kind kind, wf__reduce_state *state, const int64_t *x, int64_t n,
                                 int64_t first, int64_t step) {
  for (int64_t i = 0; i < n; i++) {
    wf__reduce_state one = single(WF__REDUCE_SUM, 0, kind == WF__REDUCE_COUNT ? x[i] != 0 : x[i], first + i * step, 0);
    wf__reduce_merge(kind, true, state, &one);
  }
}

/* clang-format off */
#define FLOAT_KINDS(X) \
  X(SUM) X(SUM_ABS) X(SUM_SQUARE) X(SUM_POWER) X(PROD) X(MAX) X(MIN) X(MAX_ABS) X(MIN_ABS) X(COUNT) X(MOMENTS) X(LOGSUMEXP)
#define INTEGER_KINDS(X) X(SUM) X(PROD) X(MAX) X(MIN) X(COUNT)
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
#define WF_KIND(KIND)                                                                                                \
  static void KIND##_i64(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) { \
    (void)p;                                                                                                         \
    take_integers(WF__REDUCE_##KIND, state, x, n, first, step);                                                      \
  }
INTEGER_KINDS(WF_KIND)
#undef WF_KIND

static void add_row_f32(void *total, const void *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) ((double *)total)[i] += ((const float *)x)[i];
}
static void add_row_f64(void *total, const void *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) ((double *)total)[i] += ((const double *)x)[i];
}
static void add_row_i64(void *total, const void *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) ((uint64_t *)total)[i] += ((const uint64_t *)x)[i];
}

void wf__reduce_ref(wf__kernels *table) {
#define WF_KIND(KIND)                                           \
  table->reduce[WF__CLASS_F32][WF__REDUCE_##KIND] = KIND##_f32; \
  table->reduce[WF__CLASS_F64][WF__REDUCE_##KIND] = KIND##_f64;
  FLOAT_KINDS(WF_KIND)
#undef WF_KIND
#define WF_KIND(KIND) table->reduce[WF__CLASS_I64][WF__REDUCE_##KIND] = KIND##_i64;
  INTEGER_KINDS(WF_KIND)
#undef WF_KIND
  table->add_row[WF__CLASS_F32] = add_row_f32;
  table->add_row[WF__CLASS_F64] = add_row_f64;
  table->add_row[WF__CLASS_I64] = add_row_i64;
}
