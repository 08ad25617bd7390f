/* softmax and log_softmax as plans against numbers of PyTorch, along any dim and through any strides. */
#include "buffers.h"

#include <math.h>

#include "exec/past_cache.h"
#include "kernel/kernel.h"
#include "kernel/neural.h"

/* x = ((arange(12) * 7) % 11 - 5.).reshape(3, 4), g = ((arange(12) * 5) % 7 - 3.).reshape(3, 4)
 * y = torch.softmax(x, 1); y.backward(g); the same with torch.log_softmax */
static const double soft[12] = {4.32073984e-05,  0.04738266578,   0.000867843796, 0.951706283,
                                0.04657286146,   0.0008530117126, 0.9354409286,   0.01713319825,
                                0.0008943851241, 0.9808123835,    0.01796420543,  0.0003290258997};
static const double soft_grad[12] = {-5.146965294e-05, 0.1804700008,  0.001569735773, -0.1819882669,
                                     0.1791317499,     0.00157488902, -0.1438063375,  -0.03690030145,
                                     0.001818421407,   0.03251644426, -0.03533285142, 0.0009979857508};
static const double logs[12] = {-10.04949882,   -3.049498818, -7.049498818, -0.04949881803, -3.066737279, -7.066737279,
                                -0.06673727949, -4.066737279, -7.019374088, -0.01937408792, -4.019374088, -8.019374088};
static const double logs_grad[12] = {-2.999870378, 2.142147997, 0.002603531388, 0.8551188491, 3,          1, -1,
                                     -3,           1.997316845, -2.942437151,   -2.053892616, 2.999012922};

static wf_plan plan_of(int op, const buffer *a, const buffer *b, const buffer *c) {
  wf_plan p = {
      .family = WF_FAMILY_SOFTMAX, .op = (uint16_t)op, .operands = c ? 3 : 2, .outputs = 1, .ndim = (uint8_t)a->rank};
  for (int d = 0; d < a->rank; d++) p.size[d] = a->size[d];
  set_operand(&p, 0, a);
  set_operand(&p, 1, b);
  if (c) set_operand(&p, 2, c);
  return p;
}

static void check(wf_dtype dtype, const int *order, double limit) {
  int64_t size[2] = {3, 4};
  buffer x = buffer_new(dtype, 2, size, order, 1), y = buffer_new(dtype, 2, size, NULL, 0),
         g = buffer_new(dtype, 2, size, order, 0);
  buffer dx = buffer_new(dtype, 2, size, order, 2);
  for (int i = 0; i < 12; i++) {
    buffer_set(&x, i, i * 7 % 11 - 5);
    buffer_set(&g, i, i * 5 % 7 - 3);
  }
  for (int log = 0; log < 2; log++) {
    wf_plan p = plan_of(log ? WF__LOG_SOFTMAX : WF__SOFTMAX, &y, &x, NULL);
    wf_plan b = plan_of(log ? WF__LOG_SOFTMAX_BACKWARD : WF__SOFTMAX_BACKWARD, &dx, &g, &y);
    assert_ok(wf__exec(&p));
    assert_ok(wf__exec(&b));
    for (int i = 0; i < 12; i++) {
      assert_float_equal(buffer_get(&y, i), (log ? logs : soft)[i], limit);
      assert_float_equal(buffer_get(&dx, i), (log ? logs_grad : soft_grad)[i], limit);
    }
  }
  buffer *all[] = {&x, &y, &g, &dx};
  for (int i = 0; i < 4; i++) buffer_free(all[i]);
}

static void values_and_gradients_are_pytorchs(void **state) {
  static const int turned[2] = {1, 0};
  for (int t = 0; t < 2; t++) {
    check(WF_F64, t ? turned : NULL, 1e-8);
    check(WF_F32, t ? turned : NULL, 1e-6);
    check(WF_BF16, t ? turned : NULL, 0.05);
    check(WF_F16, t ? turned : NULL, 0.01);
  }
}

/* torch.softmax of [inf, 0] and [-inf, -inf] is NaN, of [-inf, 0] is [0, 1]; large inputs don't overflow */
static void infinities_behave_as_pytorchs(void **state) {
  buffer x = buffer_new(WF_F32, 2, (int64_t[]){4, 2}, NULL, 0), y = buffer_new(WF_F32, 2, (int64_t[]){4, 2}, NULL, 0);
  const double in[8] = {INFINITY, 0, -INFINITY, -INFINITY, -INFINITY, 0, 1000, 1000};
  for (int i = 0; i < 8; i++) buffer_set(&x, i, in[i]);
  wf_plan p = plan_of(WF__SOFTMAX, &y, &x, NULL);
  assert_ok(wf__exec(&p));
  assert_true(isnan(buffer_get(&y, 0)) && isnan(buffer_get(&y, 2)) && isnan(buffer_get(&y, 3)));
  assert_float_equal(buffer_get(&y, 4), 0, 0);
  assert_float_equal(buffer_get(&y, 5), 1, 0);
  assert_float_equal(buffer_get(&y, 6), .5, 0);
  buffer_free(&x);
  buffer_free(&y);
}

static void integers_are_refused(void **state) {
  wf_plan p = {.family = WF_FAMILY_SOFTMAX, .op = WF__LOG_SOFTMAX, .ndim = 1};
  p.operand[0].dtype = WF_I64;
  assert_int_equal(wf__exec(&p), WF_NOT_IMPLEMENTED);
  assert_error(WF_NOT_IMPLEMENTED, "\"log_softmax_kernel_impl\" not implemented for 'Long'");
}

/* ---- random layouts against the loops of ref/, which know no rows, columns, blocks or streams --------------------------------------- */

static void check_against_reference(wf_dtype dtype, int op, const int64_t *size, int rank, const int (*order)[4],
                                    const int64_t *gap) {
  int inputs = op <= WF__LOG_SOFTMAX ? 1 : 2;
  buffer b[3], want = buffer_new(dtype, rank, size, order[0], gap[0]);
  for (int o = 0; o <= inputs; o++) b[o] = buffer_new(dtype, rank, size, order[o], gap[o]);
  int64_t n = buffer_numel(&b[0]), length = size[rank - 1];
  for (int64_t i = 0; i < n; i++)
    for (int o = 1; o <= inputs; o++)
      buffer_set(&b[o], i, o == 1 ? next(11) == 0 ? -INFINITY : next(2000) / 100.0 - 10 : next(100) / -100.0);
  if (inputs == 2)
    for (int64_t i = 0; i < n; i++) buffer_set(&b[1], i, next(200) / 100.0 - 1);
  wf_plan p = plan_of(op, &b[0], &b[1], inputs == 2 ? &b[2] : NULL);
  assert_ok(wf__exec(&p));
  set_operand(&p, 0, &want);
  wf__ref_softmax(&p, 0, n / length);
  double last = dtype == WF_F64 ? 1e-14 : dtype == WF_F32 ? 3e-6 : dtype == WF_F16 ? 2e-3 : 1.6e-2;
  for (int64_t i = 0; i < n; i++) {
    double x = buffer_get(&b[0], i), y = buffer_get(&want, i);
    if (x == y || (isnan(x) && isnan(y)) ||
        fabs(x - y) <= last * (fabs(y) + (op == WF__SOFTMAX ? 1e-6 : 1 + (double)length / 300)))
      continue;
    fail_msg("%s, operator %d, rank %d, length %d, element %d: %.9g, not %.9g", wf_dtype_name(dtype), op, rank,
             (int)length, (int)i, x, y);
  }
  for (int64_t i = 0; i < n; i++) buffer_set(&b[0], i, buffer_get(&want, i));
  assert_memory_equal(b[0].bytes, want.bytes,
                      (size_t)(b[0].room * (int64_t)wf_dtype_size(dtype))); /* gaps are untouched */
  for (int o = 0; o <= inputs; o++) buffer_free(&b[o]);
  buffer_free(&want);
}

static void random_orders(int rank, int (*order)[4], int64_t *gap) {
  for (int o = 0; o < 3; o++) {
    for (int d = 0; d < rank; d++) order[o][d] = d;
    for (int d = rank - 1; d > 0 && next(2); d--) {
      int k = next(d + 1), t = order[o][d];
      order[o][d] = order[o][k];
      order[o][k] = t;
    }
    gap[o] = next(3) ? 0 : next(4);
  }
}

static void random_layouts_give_what_the_reference_gives(void **state) {
  static const wf_dtype dtypes[] = {WF_F32, WF_F16, WF_BF16, WF_F64};
  int order[3][4];
  int64_t size[4], gap[3];
  buffer_seed = 12;
  for (int i = 0; i < 1200; i++) {
    int rank = 1 + next(4);
    for (int d = 0; d < rank; d++) size[d] = 1 + next(i % 10 ? 12 : 60 / rank + 20);
    random_orders(rank, order, gap);
    check_against_reference(dtypes[next(4)], next(4), size, rank, order, gap);
  }
}

static void short_rows_give_what_the_reference_gives(void **state) {
  static const wf_dtype dtypes[] = {WF_F32, WF_F16, WF_BF16, WF_F64};
  static const int64_t sizes[][3] = {{1, 1000, 3}, {7, 40, 16}, {3, 300, 2}, {40, 5, 4},
                                     {2, 33, 17},  {1, 31, 5},  {2, 50, 1}};
  int order[3][4];
  (void)state;
  buffer_seed = 5;
  for (int s = 0; s < 7; s++)
    for (int op = 0; op < 4; op++)
      for (int t = 0; t < 4; t++) {
        int64_t gap[3] = {t == 1, t == 2, t == 3}; /* rows that don't follow each other */
        for (int o = 0; o < 3; o++)
          for (int d = 0; d < 3; d++) order[o][d] = d;
        check_against_reference(dtypes[(s + t) % 4], op, sizes[s], 3, order, gap);
      }
}

/* Longer than what is kept of a row; more columns than a block; results past the cache, on one thread and on two. */
static void long_and_large_ones_are_right_on_any_number_of_threads(void **state) {
  static const int64_t sizes[][2] = {{3, 20000}, {20, 600}, {300, 5000}, {2100, 600}, {700, 1700}};
  int order[3][4] = {{0, 1}, {0, 1}, {0, 1}};
  int64_t gap[3] = {0, 0, 0};
  int threads = wf_num_threads();
  wf__past_cache_from = 0;
  for (int t = 1; t <= 2; t++) {
    assert_ok(wf_set_num_threads(t));
    for (int s = 0; s < 5; s++)
      for (int op = s % 4; op < 4; op += 3)          /* not all of them: these are many elements */
        for (int turned = 0; turned < 3; turned++) { /* rows, columns, and columns whose result is in rows */
          for (int o = 0; o < 3; o++) {
            order[o][0] = turned == 1 || (turned == 2 && o);
            order[o][1] = !order[o][0];
            gap[o] = turned == 0 && s == 4 ? 1 : 0;
          }
          check_against_reference(s == 1 ? WF_BF16 : WF_F32, op, sizes[s], 2, order, gap);
        }
  }
  assert_ok(wf_set_num_threads(threads));
  wf__past_cache_from = -1;
}

/* Foreign memory of bytes may be viewed as any dtype: stores past the cache, which need whole elements up to a line, aren't for that. */
static void results_that_are_not_aligned_to_their_elements_are_right(void **state) {
  static const wf_dtype dtypes[] = {WF_F32, WF_F64, WF_F16, WF_BF16};
  static const int turned[2] = {1, 0};
  int64_t size[2] = {24, 300};
  (void)state;
  wf__past_cache_from = 0;
  for (int i = 0; i < 16; i++) {
    const int *order = i & 4 ? turned : NULL;
    buffer x = buffer_new(dtypes[i % 4], 2, size, order, 0), y = buffer_new(dtypes[i % 4], 2, size, order, 0);
    size_t bytes = (size_t)buffer_numel(&y) * wf_dtype_size(y.dtype);
    char *room = malloc(bytes + 1);
    buffer_fill(&x);
    wf_plan p = plan_of(i & 8 ? WF__LOG_SOFTMAX : WF__SOFTMAX, &y, &x, NULL);
    assert_ok(wf__exec(&p));
    p.operand[0].data = room + 1;
    assert_ok(wf__exec(&p));
    assert_memory_equal(room + 1, y.bytes, bytes);
    free(room);
    buffer_free(&x);
    buffer_free(&y);
  }
  wf__past_cache_from = -1;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(values_and_gradients_are_pytorchs),
    cmocka_unit_test(infinities_behave_as_pytorchs),
    cmocka_unit_test(random_layouts_give_what_the_reference_gives),
    cmocka_unit_test(short_rows_give_what_the_reference_gives),
    cmocka_unit_test(long_and_large_ones_are_right_on_any_number_of_threads),
    cmocka_unit_test(results_that_are_not_aligned_to_their_elements_are_right),
    cmocka_unit_test(integers_are_refused),
};
WF_TEST_MAIN("exec/exec_softmax", tests)
