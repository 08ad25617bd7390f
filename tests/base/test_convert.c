/* Half formats and scalar conversion against the bit patterns of the specification. */
#include "test.h"

#include <math.h>
#include "base/convert.h"

static void every_half_survives_the_way_to_f32_and_back(void **state) {
  (void)state;
  for (uint32_t h = 0; h < 0x10000; h++) {
    float f = wf__f16_to_f32((uint16_t)h);
    bool is_nan = (h & 0x7c00) == 0x7c00 && (h & 0x3ff);
    if (is_nan) {
      assert_true(isnan(f));
      continue;
    }
    double sign = h & 0x8000 ? -1 : 1, fraction = h & 0x3ff;
    int exponent = (h >> 10) & 31;
    double value = exponent == 31 ? INFINITY : exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    assert_true((double)f == sign * value);
    assert_int_equal(wf__f32_to_f16(f), h);
  }
}

static void halves_round_to_nearest_even(void **state) {
  (void)state;
  assert_int_equal(wf__f32_to_f16(65519.0f), 0x7bff);
  assert_int_equal(wf__f32_to_f16(65520.0f), 0x7c00);
  assert_int_equal(wf__f32_to_f16(0x1p-25f), 0x0000); /* tie to even zero */
  assert_int_equal(wf__f32_to_f16(0x1.000002p-25f), 0x0001);
  assert_int_equal(wf__f32_to_f16(0x1.8p-24f), 0x0002); /* tie between 1 and 2 */
  assert_int_equal(wf__f32_to_f16(2049.0f), 0x6800);    /* tie between 2048 and 2050 */
  assert_int_equal(wf__f32_to_f16(2051.0f), 0x6802);    /* tie between 2050 and 2052 */
}

static void bfloat_rounds_to_nearest_even(void **state) {
  (void)state;
  const uint32_t in[] = {0x3E89CCD5, 0x3F808000, 0x3F818000, 0x7F7F7FFF, 0x7F7F8000, 0x00008000, 0x00018000};
  const uint16_t out[] = {0x3E8A, 0x3F80, 0x3F82, 0x7F7F, 0x7F80, 0x0000, 0x0002};
  for (int i = 0; i < 7; i++) assert_int_equal(wf__f32_to_bf16(wf__bits_f32(in[i])), out[i]);
}

static void numbers_that_do_not_fit_are_refused(void **state) {
  (void)state;
  assert_int_equal(wf__scalar_check_fits(wf_int(-255), WF_U8), WF_OK);
  assert_int_equal(wf__scalar_check_fits(wf_int(-256), WF_U8), WF_RUNTIME);
  assert_error(WF_RUNTIME, "value cannot be converted to type uint8_t without overflow");
  assert_int_equal(wf__scalar_check_fits(wf_float(-0.5), WF_U8), WF_RUNTIME);
  wf_error_take();
  assert_int_equal(wf__scalar_check_fits(wf_float(255.5), WF_U8), WF_OK);
  assert_int_equal(wf__scalar_check_fits(wf_float(NAN), WF_I64), WF_RUNTIME);
  assert_error(WF_RUNTIME, "value cannot be converted to type int64_t without overflow");
  assert_int_equal(wf__scalar_check_fits(wf_float(INFINITY), WF_F16), WF_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_half_survives_the_way_to_f32_and_back),
    cmocka_unit_test(halves_round_to_nearest_even),
    cmocka_unit_test(bfloat_rounds_to_nearest_even),
    cmocka_unit_test(numbers_that_do_not_fit_are_refused),
};
WF_TEST_MAIN("base/convert", tests)
