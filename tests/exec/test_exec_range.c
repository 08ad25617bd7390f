/* arange, linspace and eye against PyTorch's numbers, to the last bit. */
#include "test.h"

#include "base/convert.h"
#include "exec/exec.h"
#include "kernel/kernel.h"

static wf_plan plan_of(int op, void *out, wf_dtype dtype, int64_t n, wf_scalar a, wf_scalar b, wf_scalar c) {
  wf_plan plan = {.family = WF_FAMILY_RANGE,
                  .op = (uint16_t)op,
                  .operands = 1,
                  .outputs = 1,
                  .ndim = 1,
                  .size = {n},
                  .scalar = {a, b, c}};
  plan.operand[0] = (wf_operand){out, dtype, {(int64_t)wf_dtype_size(dtype)}};
  return plan;
}

static double at(const void *out, wf_dtype dtype, int64_t i) {
  return wf__scalar_double(wf__scalar_load(dtype, (const char *)out + i * (int64_t)wf_dtype_size(dtype)));
}

/* torch.arange(0.1, 12, 0.3), elements 14 to 17 and 30 to 39; torch.arange(-1, 2.5, 0.3, dtype=torch.float64); PyTorch 2.15, AVX2 loop. */
static void fractional_steps_round_as_in_pytorch(void **state) {
  (void)state;
  float f[40];
  wf_plan plan = plan_of(WF__RANGE_ARANGE, f, WF_F32, 40, wf_float(0.1), wf_float(12), wf_float(0.3));
  assert_ok(wf__exec(&plan));
  const double middle[] = {0x1.133334p+2, 0x1.266666p+2, 0x1.39999ap+2, 0x1.4cccce0000000p+2};
  const double last[] = {0x1.233334p+3, 0x1.2cccce0000000p+3, 0x1.366666p+3, 0x1.4p+3,       0x1.49999ap+3,
                         0x1.533334p+3, 0x1.5cccccp+3,        0x1.666666p+3, 0x1.7000000p+3, 0x1.79999ap+3};
  for (int i = 0; i < 4; i++) assert_true(f[14 + i] == middle[i]);
  for (int i = 0; i < 10; i++) assert_true(f[30 + i] == last[i]);
  double d[12];
  plan = plan_of(WF__RANGE_ARANGE, d, WF_F64, 12, wf_int(-1), wf_float(2.5), wf_float(0.3));
  assert_ok(wf__exec(&plan));
  const double expected[] = {-0x1.0000000000000p+0, -0x1.6666666666666p-1, -0x1.999999999999ap-2, -0x1.999999999999cp-4,
                             0x1.9999999999998p-3,  0x1.fffffffffffffp-2,  0x1.9999999999999p-1,  0x1.1999999999999p+0,
                             0x1.6666666666666p+0,  0x1.b333333333333p+0,  0x1.0000000000000p+1,  0x1.2666666666666p+1};
  assert_memory_equal(d, expected, sizeof d);
}

/* torch.linspace(0.1, 7.3, 11); (-3, 10, 7) as float16 and float64; (0, 10, 7) as int32. */
static void linspace_counts_from_both_ends(void **state) {
  (void)state;
  float f[11];
  wf_plan plan = plan_of(WF__RANGE_LINSPACE, f, WF_F32, 11, wf_float(0.1), wf_float(7.3), wf_no_scalar());
  assert_ok(wf__exec(&plan));
  const double expected[] = {0x1.99999ap-4, 0x1.a3d70cp-1, 0x1.8a3d72p+0, 0x1.2147aep+1, 0x1.7d70a4p+1, 0x1.d9999ap+1,
                             0x1.1ae148p+2, 0x1.48f5c4p+2, 0x1.770a3ep+2, 0x1.a51eb8p+2, 0x1.d33334p+2};
  for (int i = 0; i < 11; i++) assert_true(f[i] == expected[i]);
  uint16_t h[7];
  plan = plan_of(WF__RANGE_LINSPACE, h, WF_F16, 7, wf_int(-3), wf_int(10), wf_no_scalar());
  assert_ok(wf__exec(&plan));
  const double halves[] = {-0x1.8p+1, -0x1.aacp-1, 0x1.554p+0, 0x1.cp+1, 0x1.6acp+2, 0x1.f54p+2, 0x1.4p+3};
  for (int i = 0; i < 7; i++) assert_true(at(h, WF_F16, i) == halves[i]);
  double d[7];
  plan = plan_of(WF__RANGE_LINSPACE, d, WF_F64, 7, wf_int(-3), wf_int(10), wf_no_scalar());
  assert_ok(wf__exec(&plan));
  const double doubles[] = {-0x1.8p+1,
                            -0x1.aaaaaaaaaaaacp-1,
                            0x1.5555555555554p+0,
                            0x1.c000000000001p+1,
                            0x1.6aaaaaaaaaaabp+2,
                            0x1.f555555555556p+2,
                            0x1.4p+3};
  assert_memory_equal(d, doubles, sizeof d);
  int32_t n[7];
  plan = plan_of(WF__RANGE_LINSPACE, n, WF_I32, 7, wf_int(0), wf_int(10), wf_no_scalar());
  assert_ok(wf__exec(&plan));
  const int32_t integers[] = {0, 1, 3, 5, 6, 8, 10};
  assert_memory_equal(n, integers, sizeof n);
  plan = plan_of(WF__RANGE_LINSPACE, f, WF_F32, 1, wf_float(2), wf_float(5), wf_no_scalar());
  assert_ok(wf__exec(&plan));
  assert_true(f[0] == 2);
}

static void integer_ranges_cut_their_step_off_and_wrap(void **state) {
  (void)state;
  int64_t n[6];
  wf_plan plan = plan_of(WF__RANGE_ARANGE, n, WF_I64, 6, wf_int(0), wf_int(3), wf_float(0.5));
  assert_ok(wf__exec(&plan));
  for (int i = 0; i < 6; i++) assert_int_equal(n[i], 0);
  uint8_t u[3];
  plan = plan_of(WF__RANGE_ARANGE, u, WF_U8, 3, wf_int(250), wf_int(300), wf_int(5));
  assert_ok(wf__exec(&plan));
  assert_int_equal(u[0], 250);
  assert_int_equal(u[1], 255);
  assert_int_equal(u[2], 4);
}

static void eye_fills_any_strides_in_row_major_order(void **state) {
  (void)state;
  int16_t m[24];
  memset(m, 0x7f, sizeof m);
  wf_plan plan = plan_of(WF__RANGE_EYE, m, WF_I16, 3, wf_no_scalar(), wf_no_scalar(), wf_no_scalar());
  plan.ndim = 2;
  plan.size[1] = 4;
  plan.operand[0].stride[0] = 4; /* column-major with a gap behind each element */
  plan.operand[0].stride[1] = 12;
  assert_ok(wf__exec(&plan));
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) {
      assert_int_equal(m[r * 2 + c * 6], r == c);
      assert_int_equal(m[r * 2 + c * 6 + 1], 0x7f7f);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(fractional_steps_round_as_in_pytorch),
    cmocka_unit_test(linspace_counts_from_both_ends),
    cmocka_unit_test(integer_ranges_cut_their_step_off_and_wrap),
    cmocka_unit_test(eye_fills_any_strides_in_row_major_order),
};
WF_TEST_MAIN("exec/range", tests)
