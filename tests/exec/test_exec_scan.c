/* Cumulative sums and products, sort and topk as plans, against loops over plain arrays. */
#include <math.h>

#include "buffers.h"

#include "kernel/indexing.h"
#include "kernel/kernel.h"

static const wf_dtype dtypes[] = {WF_F64, WF_F32, WF_F16, WF_BF16, WF_I64, WF_I32, WF_I16, WF_I8, WF_U8};

static buffer matrix(wf_dtype dtype, int64_t rows, int64_t columns) {
  static const int turned[2] = {1, 0};
  return buffer_new(dtype, 2, (int64_t[]){rows, columns}, next(2) ? turned : NULL, next(2));
}

static wf_plan plan_of(int op, const buffer *a, const buffer *b, const buffer *c, int64_t dim) {
  wf_plan p = {.family = WF_FAMILY_SCAN, .op = (uint16_t)op, .operands = c ? 3 : 2, .outputs = c ? 2 : 1, .ndim = 2};
  set_operand(&p, 0, a);
  set_operand(&p, 1, b);
  set_operand(&p, 2, c);
  for (int d = 0; d < 2; d++) p.size[d] = a->size[d];
  p.param.index.dim = dim;
  p.param.index.count = (c ? c : b)->size[dim];
  return p;
}

static int64_t at(int64_t dim, const buffer *b, int64_t i, int64_t j) {
  return dim ? j * b->size[1] + i : i * b->size[1] + j;
}

static void sums_and_products_go_along_the_dim(void **state) {
  for (int trial = 0; trial < 90; trial++) {
    wf_dtype to = dtypes[trial % 9], from = trial % 4 ? to : WF_I32;
    int64_t dim = next(2), n = trial % 7 ? 1 + next(9) : 1100; /* longer than a block */
    bool product = next(2) && n < 10;
    buffer in = dim ? matrix(from, 3, n) : matrix(from, n, 3), out = dim ? matrix(to, 3, n) : matrix(to, n, 3);
    for (int64_t i = 0; i < 3 * n; i++)
      buffer_set(&in, i, product ? 1 + (next(4) == 0) : n > 9 ? next(40) == 0 : next(4));
    wf_plan p = plan_of(product ? WF__SCAN_CUMPROD : WF__SCAN_CUMSUM, &out, &in, NULL, dim);
    assert_ok(wf__exec(&p));
    for (int64_t j = 0; j < 3; j++) {
      double kept = product;
      for (int64_t i = 0; i < n; i++) {
        double v = buffer_get(&in, at(dim, &in, i, j));
        kept = product ? kept * v : kept + v;
        char stored[8];
        wf__scalar_store(wf_dtype_is_float(to) ? wf_float(kept) : wf_int((int64_t)kept), to, stored);
        assert_float_equal(buffer_get(&out, at(dim, &out, i, j)), wf__scalar_double(wf__scalar_load(to, stored)), 0);
      }
    }
    buffer_free(&in);
    buffer_free(&out);
  }
}

/* 1 + 2^-30 · 1000: an f32 sum would stay at 1. */
static void f32_sums_are_kept_in_double(void **state) {
  int64_t n = 1 << 14;
  buffer in = buffer_new(WF_F32, 2, (int64_t[]){1, n}, NULL, 0),
         out = buffer_new(WF_F32, 2, (int64_t[]){1, n}, NULL, 0);
  for (int64_t i = 0; i < n; i++) buffer_set(&in, i, i ? ldexp(1, -30) : 1);
  wf_plan p = plan_of(WF__SCAN_CUMSUM, &out, &in, NULL, 1);
  assert_ok(wf__exec(&p));
  assert_float_equal(buffer_get(&out, n - 1), (float)(1 + (double)(n - 1) * ldexp(1, -30)), 0);
  buffer_free(&in);
  buffer_free(&out);
}

/* Whether x comes before y: NaN is the greatest. */
static bool is_before(double x, double y, bool descending) {
  double a = descending ? y : x, b = descending ? x : y;
  return isnan(b) ? !isnan(a) : a < b;
}

static void sorting_is_stable_and_puts_nan_last(void **state) {
  for (int trial = 0; trial < 120; trial++) {
    wf_dtype dtype = dtypes[trial % 9];
    int64_t dim = next(2), n = trial % 5 ? 1 + next(12) : 200, k = 1 + next((int)n);
    bool descending = next(2), is_float = wf_dtype_is_float(dtype);
    buffer in = dim ? matrix(dtype, 3, n) : matrix(dtype, n, 3),
           values = dim ? matrix(dtype, 3, k) : matrix(dtype, k, 3);
    buffer indices = dim ? matrix(WF_I64, 3, k) : matrix(WF_I64, k, 3);
    for (int64_t i = 0; i < 3 * n; i++)
      buffer_set(&in, i,
                 is_float && next(8) == 0 ? (next(2) ? NAN : -0.0)
                 : dtype == WF_U8         ? next(200)
                                          : next(60) - 30);
    wf_plan p = plan_of(k == n ? WF__SCAN_SORT : WF__SCAN_TOPK, &values, &indices, &in, dim);
    p.param.index.flag = descending;
    assert_ok(run_with_workspace(&p));
    for (int64_t j = 0; j < 3; j++) {
      int64_t order[200];
      for (int64_t i = 0; i < n; i++) { /* insertion keeps equal elements in order */
        int64_t place = i;
        double v = buffer_get(&in, at(dim, &in, i, j));
        for (; place > 0 && is_before(v, buffer_get(&in, at(dim, &in, order[place - 1], j)), descending); place--)
          order[place] = order[place - 1];
        order[place] = i;
      }
      for (int64_t i = 0; i < k; i++) {
        double want = buffer_get(&in, at(dim, &in, order[i], j)), got = buffer_get(&values, at(dim, &values, i, j));
        assert_int_equal((int64_t)buffer_get(&indices, at(dim, &indices, i, j)), order[i]);
        assert_true(isnan(want) ? isnan(got) : want == got && signbit(want) == signbit(got));
      }
    }
    buffer *all[] = {&in, &values, &indices};
    for (int i = 0; i < 3; i++) buffer_free(all[i]);
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(sums_and_products_go_along_the_dim),
    cmocka_unit_test(f32_sums_are_kept_in_double),
    cmocka_unit_test(sorting_is_stable_and_puts_nan_last),
};
WF_TEST_MAIN("exec/exec_scan", tests)
