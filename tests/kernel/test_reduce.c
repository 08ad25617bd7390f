/* Reduction kernels of every instruction set against ref/, stretch by stretch. */
#include "test.h"

#include <math.h>
#include "guarded.h"
#include "kernel/tables.h"

static bool close_to(double got, double want, double tolerance) {
  if (isnan(want)) return isnan(got);
  if (!isfinite(want)) return got == want;
  return fabs(got - want) <= tolerance;
}

/* The operator that shows what a kind has gathered. */
static const int shown_by[WF__REDUCE_KINDS] = {
    WF__RED_SUM,       WF__RED_SUM,       WF__RED_SUM,       WF__RED_SUM, WF__RED_PROD, WF__RED_MAX_INDEX,
    WF__RED_MIN_INDEX, WF__RED_MAX_INDEX, WF__RED_MIN_INDEX, WF__RED_ANY, WF__RED_VAR,  WF__RED_LOGSUMEXP};

static void fill(void *data, wf_dtype dtype, int64_t n, bool specials, uint64_t *seed) {
  for (int64_t i = 0; i < n; i++) {
    double x = (double)(int64_t)(random_next(seed) % 2001) / 100 - 10;
    if (specials && random_next(seed) % 50 == 0) x = random_number(seed);
    if (specials && random_next(seed) % 10 == 0) x = 0;
    wf__scalar_store(dtype == WF_I64 ? wf_int((int64_t)(x * 1000)) : wf_float(x), dtype,
                     (char *)data + i * (int64_t)wf_dtype_size(dtype));
  }
}

static void compare(int isa, int class, int kind, int64_t n, bool specials, uint64_t *seed) {
  static const wf_dtype dtypes[] = {WF_F32, WF_F64, WF_I64};
  wf_dtype dtype = dtypes[class];
  guarded x = guarded_new((size_t)n * wf_dtype_size(dtype), wf_dtype_size(dtype));
  fill(x.data, dtype, n, specials, seed);
  wf__reduce_state want, got;
  wf__reduce_begin((wf__reduce_kind)kind, &want);
  got = want;
  for (int part = 0; part < 2; part++) { /* two stretches, the second with lower indices than the first */
    int64_t from = part ? 0 : n / 3, count = part ? n / 3 : n - n / 3;
    const char *data = x.data + from * (int64_t)wf_dtype_size(dtype);
    wf__kernels_of(WF__ISA_REF)->reduce[class][kind](&want, data, count, 5 + from * 3, 3, 1.5);
    wf__kernels_of((wf__isa)isa)->reduce[class][kind](&got, data, count, 5 + from * 3, 3, 1.5);
  }
  int64_t want_integer, got_integer;
  double a = wf__reduce_end((wf__reduce_op)shown_by[kind], &want, n, 1, &want_integer);
  double b = wf__reduce_end((wf__reduce_op)shown_by[kind], &got, n, 1, &got_integer);
  bool places = kind == WF__REDUCE_MAX || kind == WF__REDUCE_MIN;
  bool by_polynomial = kind == WF__REDUCE_LOGSUMEXP && class == WF__CLASS_F32;
  double size = 100 * (double)(n + 1) + (isfinite(a) ? fabs(a) : 0),
         tolerance = by_polynomial ? 1e-6 * (1 + fabs(a)) : 1e-13 * size;
  if (!close_to(b, a, tolerance) || (class == WF__CLASS_I64 && want.integer != got.integer) ||
      (places && want.index != got.index) || (kind == WF__REDUCE_COUNT && want.integer != got.integer))
    fail_msg("%s, class %d, kind %d, %d elements: %.17g at %d, not %.17g at %d", wf__cpu_isa_name((wf__isa)isa), class,
             kind, (int)n, b, (int)got.index, a, (int)want.index);
  assert_true(guarded_intact(&x));
  guarded_free(&x);
}

static void every_instruction_set_reduces_as_ref_does(void **state) {
  (void)state;
  uint64_t seed = 8;
  const int64_t lengths[] = {0, 1, 2, 7, 16, 31, 32, 33, 100, 511, 1000, 4097};
  for (int isa = WF__ISA_BASE; isa <= (int)best_isa(); isa++)
    for (int class = 0; class < WF__CLASSES; class ++)
      for (int kind = 0; kind < WF__REDUCE_KINDS; kind++) {
        wf__reduce_fn ref = wf__kernels_of(WF__ISA_REF)->reduce[class][kind],
                      fast = wf__kernels_of((wf__isa)isa)->reduce[class][kind];
        assert_true((ref == NULL) == (fast == NULL));
        for (int l = 0; l < 12 && ref != fast; l++)
          for (int round = 0; round < 8; round++)
            compare(isa, class, kind, lengths[l],
                    round % 2 && kind != WF__REDUCE_MOMENTS && kind != WF__REDUCE_SUM_SQUARE, &seed);
      }
}

static void rows_are_added_to_their_totals(void **state) {
  (void)state;
  uint64_t seed = 9;
  static const wf_dtype dtypes[] = {WF_F32, WF_F64, WF_I64};
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++)
    for (int class = 0; class < WF__CLASSES; class ++)
      for (int64_t n = 0; n < 70; n += 3) {
        guarded x = guarded_new((size_t)n * wf_dtype_size(dtypes[class]), 0), total = guarded_new((size_t)n * 8, 8);
        fill(x.data, dtypes[class], n, false, &seed);
        fill(total.data, class == WF__CLASS_I64 ? WF_I64 : WF_F64, n, false, &seed);
        double before[70];
        memcpy(before, total.data, (size_t)n * 8);
        wf__kernels_of((wf__isa)isa)->add_row[class](total.data, x.data, n);
        for (int64_t i = 0; i < n; i++) {
          if (class == WF__CLASS_I64)
            assert_true(((int64_t *)total.data)[i] == ((int64_t *)before)[i] + ((int64_t *)x.data)[i]);
          else if (class == WF__CLASS_F64) assert_true(((double *)total.data)[i] == before[i] + ((double *)x.data)[i]);
          else assert_true(((double *)total.data)[i] == before[i] + ((float *)x.data)[i]);
        }
        assert_true(guarded_intact(&total));
        guarded_free(&x);
        guarded_free(&total);
      }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_instruction_set_reduces_as_ref_does),
    cmocka_unit_test(rows_are_added_to_their_totals),
};
WF_TEST_MAIN("kernel/reduce", tests)
