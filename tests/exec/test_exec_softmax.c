/* softmax and log_softmax as plans against numbers of PyTorch, along any dim and through any strides. */
#include "buffers.h"

#include <math.h>

#include "kernel/kernel.h"

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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(values_and_gradients_are_pytorchs),
    cmocka_unit_test(infinities_behave_as_pytorchs),
    cmocka_unit_test(integers_are_refused),
};
WF_TEST_MAIN("exec/exec_softmax", tests)
