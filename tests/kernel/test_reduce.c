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

static const wf_dtype dtypes[WF__PW_CLASSES] = {WF_F32, WF_F64, WF_I64, WF_I32, WF_I16, WF_I8, WF_U8};

static void fill(void *data, wf_dtype dtype, int64_t n, bool specials, uint64_t *seed) {
  for (int64_t i = 0; i < n; i++) {
    double x = (double)(int64_t)(random_next(seed) % 2001) / 100 - 10;
    if (specials && random_next(seed) % 50 == 0) x = random_number(seed);
    if (specials && random_next(seed) % 10 == 0) x = 0;
    wf__scalar_store(wf_dtype_is_float(dtype) ? wf_float(x) : wf_int((int64_t)(x * 1000)), dtype,
                     (char *)data + i * (int64_t)wf_dtype_size(dtype));
  }
}

static double sum_of_sizes(const void *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += fabs(((const float *)x)[i]);
  return sum;
}

static void compare(int isa, int class, int kind, int64_t n, bool specials, uint64_t *seed) {
  wf_dtype dtype = dtypes[class];
  guarded x = guarded_new((size_t)n * wf_dtype_size(dtype), wf_dtype_size(dtype));
  fill(x.data, dtype, n, specials, seed);
  for (int64_t i = 0; i < n && kind == WF__REDUCE_PROD && class <= WF__CLASS_F64; i++) { /* else all of them overflow */
    char *at = x.data + i * (int64_t)wf_dtype_size(dtype);
    wf__scalar_store(wf_float(1 + wf__scalar_double(wf__scalar_load(dtype, at)) / 1000), dtype, at);
  }
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
  if (kind == WF__REDUCE_SUM && class == WF__CLASS_F32) tolerance = 9 * 0x1p-24 * sum_of_sizes(x.data, n);
  if (kind == WF__REDUCE_PROD) tolerance = 1e-12 * fabs(a);
  if (!close_to(b, a, tolerance) || (class >= WF__CLASS_I64 && want.integer != got.integer) ||
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
    for (int class = 0; class < WF__PW_CLASSES; class ++)
      for (int kind = 0; kind < WF__REDUCE_KINDS; kind++) {
        wf__reduce_fn ref = wf__kernels_of(WF__ISA_REF)->reduce[class][kind],
                      fast = wf__kernels_of((wf__isa)isa)->reduce[class][kind];
        assert_true((ref == NULL) == (fast == NULL));
        for (int l = 0; l < 12 && ref != fast; l++)
          for (int round = 0; round < 8; round++)
            compare(isa, class, kind, lengths[l],
                    round % 2 && kind != WF__REDUCE_MOMENTS && kind != WF__REDUCE_PROD && kind != WF__REDUCE_SUM_SQUARE,
                    &seed);
      }
}

/* Rows of whole numbers: sums are exact, in whatever order. */
static void check_rows(int isa, int class, int64_t rows, int64_t n, bool each, uint64_t *seed) {
  int64_t size = (int64_t)wf_dtype_size(dtypes[class]), stride = (n + 3) * size, results = each ? rows : n;
  guarded x = guarded_new((size_t)(rows * stride), (size_t)size), total = guarded_new((size_t)results * 8, 8);
  int64_t want[600];
  memset(x.data, 0x7b, (size_t)(rows * stride));
  for (int64_t i = 0; i < results; i++) {
    want[i] = (int64_t)(random_next(seed) % 1000);
    wf__scalar_store(wf_int(want[i]), class <= WF__CLASS_F64 ? WF_F64 : WF_I64, total.data + i * 8);
  }
  for (int64_t r = 0; r < rows; r++)
    for (int64_t i = 0; i < n; i++) {
      int64_t v = (int64_t)(random_next(seed) % 100) - (class == WF__CLASS_U8 ? 0 : 50);
      wf__scalar_store(wf_int(v), dtypes[class], x.data + r * stride + i * size);
      want[each ? r : i] += v;
    }
  const wf__kernels *k = wf__kernels_of((wf__isa)isa);
  (each ? k->add_each[class] : k->rows[class][WF__REDUCE_SUM])(total.data, x.data, stride, rows, n);
  for (int64_t i = 0; i < results; i++)
    if (wf__scalar_int(wf__scalar_load(class <= WF__CLASS_F64 ? WF_F64 : WF_I64, total.data + i * 8)) != want[i])
      fail_msg("%s, class %d, %s, %d x %d: wrong at %d", wf__cpu_isa_name((wf__isa)isa), class, each ? "each" : "rows",
               (int)rows, (int)n, (int)i);
  assert_true(guarded_intact(&total));
  guarded_free(&x);
  guarded_free(&total);
}

static void rows_are_added_to_their_totals(void **state) {
  (void)state;
  uint64_t seed = 9;
  static const int64_t rows[] = {0, 1, 3, 7, 8, 9, 16, 21}, lengths[] = {0, 1, 3, 8, 15, 16, 17, 31, 64, 100, 530};
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++)
    for (int class = 0; class < WF__PW_CLASSES; class ++)
      for (int r = 0; r < 8; r++)
        for (int l = 0; l < 11; l++)
          for (int each = 0; each < 2; each++) check_rows(isa, class, rows[r], lengths[l], each, &seed);
}

/* 5 rows of n elements, and 9: rows are taken four at a time. */
static void check_row_kind(int isa, int class, int kind, int64_t rows, int64_t n, uint64_t *seed) {
  bool extreme = kind == WF__REDUCE_MAX || kind == WF__REDUCE_MIN;
  bool integers = class >= WF__CLASS_I64 || kind == WF__REDUCE_COUNT;
  wf_dtype dtype = dtypes[class], result = extreme ? dtype : integers ? WF_I64 : WF_F64;
  size_t size = wf_dtype_size(dtype), wide = wf_dtype_size(result);
  guarded x = guarded_new((size_t)(rows * n) * size, size), got = guarded_new((size_t)n * wide, wide),
          want = guarded_new((size_t)n * wide, wide);
  fill(x.data, dtype, rows * n, extreme, seed);
  fill(got.data, result, n, extreme, seed);
  memcpy(want.data, got.data, (size_t)n * wide);
  wf__kernels_of((wf__isa)isa)->rows[class][kind](got.data, x.data, n * (int64_t)size, rows, n);
  wf__kernels_of(WF__ISA_REF)->rows[class][kind](want.data, x.data, n * (int64_t)size, rows, n);
  for (int64_t i = 0; i < n; i++) {
    wf_scalar a = wf__scalar_load(result, got.data + i * (int64_t)wide),
              b = wf__scalar_load(result, want.data + i * (int64_t)wide);
    double u = wf__scalar_double(a), v = wf__scalar_double(b);
    double tolerance = kind == WF__REDUCE_SUM && class == WF__CLASS_F32 ? 5e-5 : 1e-13 * (10000 + fabs(v));
    if (!(integers ? a.as.i == b.as.i : close_to(u, v, tolerance)))
      fail_msg("%s, class %d, kind %d, %d x %d: %.17g, not %.17g at %d", wf__cpu_isa_name((wf__isa)isa), class, kind,
               (int)rows, (int)n, u, v, (int)i);
  }
  assert_true(guarded_intact(&got));
  guarded_free(&x);
  guarded_free(&got);
  guarded_free(&want);
}

static void rows_of_every_kind_follow_ref(void **state) {
  (void)state;
  uint64_t seed = 19;
  for (int isa = WF__ISA_BASE; isa <= (int)best_isa(); isa++)
    for (int class = 0; class < WF__PW_CLASSES; class ++)
      for (int kind = 0; kind < WF__REDUCE_KINDS; kind++) {
        wf__rows_fn ref = wf__kernels_of(WF__ISA_REF)->rows[class][kind];
        assert_true((ref == NULL) == (wf__kernels_of((wf__isa)isa)->rows[class][kind] == NULL));
        for (int64_t n = 1; n < 200 && ref; n += 13)
          for (int64_t rows = 1; rows < 10; rows += 4) check_row_kind(isa, class, kind, rows, n, &seed);
      }
}

/* Few different values, so that many are equal: the first row of the extreme counts, and that of the first NaN. */
static void places_are_those_of_the_first_extreme(void **state) {
  (void)state;
  uint64_t seed = 77;
  enum { ROWS = 7, N = 83 };
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++)
    for (int class = 0; class < WF__PW_CLASSES; class ++)
      for (int least = 0; least < 2; least++) {
        size_t size = wf_dtype_size(dtypes[class]);
        char x[ROWS * N * 8], best[N * 8], place[N * 8] = {0};
        for (int64_t i = 0; i < (int64_t)ROWS * N; i++)
          wf__scalar_store(wf_int((int64_t)(random_next(&seed) % 3)), dtypes[class], x + i * (int64_t)size);
        for (int64_t i = 0; i < 4 && class <= WF__CLASS_F64; i++)
          wf__scalar_store(wf_float(NAN), dtypes[class], x + (i * N * 3 / 2 + 5) * (int64_t)size);
        memcpy(best, x, N * size);
        wf__kernels_of((wf__isa)isa)
            ->places[class][least ? WF__REDUCE_MIN : WF__REDUCE_MAX](best, place, x + N * size, N * (int64_t)size, 1,
                                                                     ROWS - 1, N);
        for (int64_t c = 0; c < N; c++) {
          int64_t first = 0, got = 0;
          for (int64_t r = 1; r < ROWS; r++) {
            double v = wf__scalar_double(wf__scalar_load(dtypes[class], x + (r * N + c) * (int64_t)size)),
                   now = wf__scalar_double(wf__scalar_load(dtypes[class], x + (first * N + c) * (int64_t)size));
            if (!isnan(now) && (isnan(v) || (least ? v < now : v > now))) first = r;
          }
          memcpy(&got, place + c * (int64_t)size, size);
          assert_int_equal(got, first);
          assert_memory_equal(best + c * (int64_t)size, x + (first * N + c) * (int64_t)size, size);
        }
      }
}

/* The bound that reduce_loops.h states, on numbers of one sign and of both, against the exact sum in 128 bits. */
static void sums_of_f32_err_by_nine_roundings_at_most(void **state) {
  (void)state;
  enum { N = 100000 };
  float *x = malloc(N * sizeof *x);
  uint64_t seed = 404;
  for (int isa = WF__ISA_BASE; isa <= (int)best_isa(); isa++)
    for (int both = 0; both < 2; both++)
      for (int64_t n = 1; n <= N; n = n * 3 + 1) {
        __int128 exact = 0;
        for (int64_t i = 0; i < n; i++) {
          x[i] = (float)((double)(random_next(&seed) >> 40) * 0x1p-24 + 0x1p-24) *
                 (both && random_next(&seed) % 2 ? -1 : 1);
          exact += (__int128)((double)x[i] * 0x1p48); /* multiples of 2^-48: exact */
        }
        wf__reduce_state s;
        wf__reduce_begin(WF__REDUCE_SUM, &s);
        wf__kernels_of((wf__isa)isa)->reduce[WF__CLASS_F32][WF__REDUCE_SUM](&s, x, n, 0, 1, 0);
        double error = fabs(s.value + s.second - (double)exact * 0x1p-48);
        assert_true(error <= 9 * 0x1p-24 * sum_of_sizes(x, n));
      }
  free(x);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_instruction_set_reduces_as_ref_does),
    cmocka_unit_test(rows_are_added_to_their_totals),
    cmocka_unit_test(rows_of_every_kind_follow_ref),
    cmocka_unit_test(places_are_those_of_the_first_extreme),
    cmocka_unit_test(sums_of_f32_err_by_nine_roundings_at_most),
};
WF_TEST_MAIN("kernel/reduce", tests)
