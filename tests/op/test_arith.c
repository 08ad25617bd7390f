/* Arithmetic of two operands: values, promotion, factors, division of integers, refusals that change nothing, derivatives. */
#include "gradcheck.h"

static const float f32_data[6] = {1, -2, 3.5f, 4, 0.5f, -6};
static const int32_t i32_data[6] = {7, -7, 5, -5, 0, 9};

static wf_tensor *floats(void) { return wf_from_data(f32_data, WF_SHAPE(2, 3), WF_F32); }
static wf_tensor *ints(void) { return wf_from_data(i32_data, WF_SHAPE(2, 3), WF_I32); }

static void check_f32(wf_tensor *t, const float *want, int n) {
  float got[32];
  if (!t) print_error("%s\n", wf_error_peek().text);
  assert_non_null(t);
  assert_int_equal(wf_dtype_of(t), WF_F32);
  assert_ok(wf_to_host(t, got, (size_t)n * sizeof *got));
  for (int i = 0; i < n; i++) assert_float_equal(got[i], want[i], 1e-6f);
}

static void check_i32(wf_tensor *t, const int32_t *want, int n) {
  int32_t got[32];
  if (!t) print_error("%s\n", wf_error_peek().text);
  assert_non_null(t);
  assert_int_equal(wf_dtype_of(t), WF_I32);
  assert_ok(wf_to_host(t, got, (size_t)n * sizeof *got));
  for (int i = 0; i < n; i++) assert_int_equal(got[i], want[i]);
}

static int scope_begin(void **state) {
  wf_scope *scope = malloc(sizeof *scope);
  *scope = wf_scope_begin();
  *state = scope;
  return 0;
}

static int scope_end(void **state) {
  wf_scope_end(*(wf_scope *)*state, NULL);
  free(*state);
  return wf_error_take().status;
}

/* ---- values ------------------------------------------------------------------------------------------------------------- */

static void rows_broadcast_over_a_matrix(void **state) {
  (void)state;
  const float row[3] = {10, 20, 30}, sum[6] = {11, 18, 33.5f, 14, 20.5f, 24}, product[6] = {10, -40, 105, 40, 10, -180};
  wf_tensor *r = wf_from_data(row, WF_SHAPE(3), WF_F32);
  check_f32(wf_add(floats(), r), sum, 6);
  check_f32(wf_add(r, floats()), sum, 6);
  check_f32(wf_mul(floats(), r), product, 6);
}

static void a_factor_scales_the_second_operand(void **state) {
  (void)state;
  const float added[6] = {3, -6, 10.5f, 12, 1.5f, -18}, taken[6] = {-1, 2, -3.5f, -4, -0.5f, 6};
  check_f32(wf_add_scaled(floats(), floats(), wf_int(2)), added, 6);
  check_f32(wf_sub_scaled(floats(), floats(), wf_float(2)), taken, 6);
  check_f32(wf_rsub_scaled(floats(), floats(), wf_int(2)), taken, 6);
}

static void a_fractional_factor_of_integers_is_refused(void **state) {
  (void)state;
  assert_null(wf_add_scaled(ints(), ints(), wf_float(1.5)));
  assert_error(WF_RUNTIME, "For integral input tensors, argument alpha must not be a floating point number.");
  assert_null(wf_add_scaled(ints(), ints(), wf_bool(true)));
  assert_error(WF_RUNTIME, "Boolean alpha only supported for Boolean results.");
}

static void numbers_raise_the_kind_but_not_the_width(void **state) {
  (void)state;
  const uint8_t bytes[2] = {250, 3};
  wf_tensor *u8 = wf_from_data(bytes, WF_SHAPE(2), WF_U8);
  uint8_t got[2];
  wf_tensor *y = wf_add_scalar(u8, wf_int(300)); /* 300 wraps to 44 */
  assert_int_equal(wf_dtype_of(y), WF_U8);
  assert_ok(wf_to_host(y, got, sizeof got));
  assert_int_equal(got[0], 38);
  assert_int_equal(got[1], 47);
  assert_int_equal(wf_dtype_of(wf_add_scalar(u8, wf_float(1))), WF_F32);
  assert_int_equal(wf_dtype_of(wf_mul_scalar(floats(), wf_int(3))), WF_F32);
}

static void integer_quotients_round_as_asked(void **state) {
  (void)state;
  const int32_t truncated[6] = {3, -3, 2, -2, 0, 4}, floored[6] = {3, -4, 2, -3, 0, 4};
  const int32_t fmods[6] = {1, -1, 1, -1, 0, 1}, remainders[6] = {1, 1, 1, 1, 0, 1};
  const float quotients[6] = {3.5f, -3.5f, 2.5f, -2.5f, 0, 4.5f};
  check_i32(wf_div_rounded_scalar(ints(), wf_int(2), WF_ROUND_TRUNC), truncated, 6);
  check_i32(wf_div_rounded_scalar(ints(), wf_int(2), WF_ROUND_FLOOR), floored, 6);
  check_i32(wf_floor_divide_scalar(ints(), wf_int(2)), floored, 6);
  check_i32(wf_fmod_scalar(ints(), wf_int(2)), fmods, 6);
  check_i32(wf_remainder_scalar(ints(), wf_int(2)), remainders, 6);
  check_f32(wf_div_scalar(ints(), wf_int(2)), quotients, 6);
}

static void extremes_keep_nan(void **state) {
  (void)state;
  const float a[3] = {1, NAN, 2}, b[3] = {NAN, 1, 5};
  float got[3];
  assert_ok(wf_to_host(wf_maximum(wf_from_data(a, WF_SHAPE(3), WF_F32), wf_from_data(b, WF_SHAPE(3), WF_F32)), got,
                       sizeof got));
  assert_true(isnan(got[0]) && isnan(got[1]) && got[2] == 5);
}

/* ---- integers by zero, and the smallest by minus one -------------------------------------------------------------- */

static void integer_division_by_zero_is_an_error_and_changes_nothing(void **state) {
  (void)state;
  const int32_t data[3] = {4, 5, 6}, by[3] = {2, 0, 3};
  wf_tensor *x = wf_from_data(data, WF_SHAPE(3), WF_I32), *z = wf_from_data(by, WF_SHAPE(3), WF_I32);
  wf_tensor *(*const makers[])(const wf_tensor *, const wf_tensor *) = {wf_floor_divide, wf_fmod, wf_remainder};
  for (int i = 0; i < 3; i++) {
    assert_null(makers[i](x, z));
    assert_error(WF_RUNTIME, "ZeroDivisionError");
  }
  assert_int_equal(wf_floor_divide_(x, z), WF_RUNTIME);
  assert_error(WF_RUNTIME, "ZeroDivisionError");
  check_i32(x, data, 3);
  assert_int_equal(wf_version_of(x), 0);
  assert_int_equal(wf_remainder_scalar_(x, wf_int(0)), WF_RUNTIME);
  assert_error(WF_RUNTIME, "ZeroDivisionError");
  const float quotients[3] = {2, INFINITY, 2};
  float got[3];
  assert_ok(wf_to_host(wf_div(x, z), got, sizeof got));
  assert_memory_equal(got, quotients, sizeof got);
}

static void the_smallest_integer_divided_by_minus_one_does_not_trap(void **state) {
  (void)state;
  for (int n = 2; n <= 17; n += 15) {
    int64_t data[17], got[17];
    for (int i = 0; i < n; i++) data[i] = INT64_MIN;
    wf_tensor *x = wf_from_data(data, wf_dims_of((int64_t[]){n}, 1), WF_I64);
    wf_tensor *both[] = {wf_remainder_scalar(x, wf_int(-1)), wf_fmod_scalar(x, wf_int(-1))};
    for (int k = 0; k < 2; k++) {
      assert_ok(wf_to_host(both[k], got, (size_t)n * sizeof *got));
      for (int i = 0; i < n; i++) assert_int_equal(got[i], 0);
    }
  }
}

/* ---- refusals -------------------------------------------------------------------------------------------------------------------- */

static void shapes_that_do_not_broadcast_are_refused(void **state) {
  (void)state;
  wf_tensor *x = floats(), *four = wf_zeros(WF_SHAPE(4), NULL);
  assert_null(wf_add(x, four));
  assert_string_equal(wf_error_peek().hint, "operands: f32[2,3] cpu, f32[4] cpu");
  assert_error(WF_RUNTIME, "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1");
  wf_tensor *row = wf_zeros(WF_SHAPE(3), NULL);
  assert_int_equal(wf_add_(row, x), WF_RUNTIME);
  assert_error(WF_RUNTIME, "output with shape [3] doesn't match the broadcast shape [2, 3]");
  assert_int_equal(wf_version_of(row), 0);
}

static void bools_are_not_subtracted(void **state) {
  (void)state;
  wf_tensor *b = wf_gt_scalar(floats(), wf_int(0));
  assert_null(wf_sub(b, b));
  assert_error(
      WF_NOT_IMPLEMENTED,
      "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.");
}

static void a_shifted_view_of_self_is_refused(void **state) {
  (void)state;
  const float data[8] = {10, 11, 12, 13, 14, 13, 12, 11};
  float got[8];
  wf_tensor *x = wf_from_data(data, WF_SHAPE(8), WF_F32);
  assert_int_equal(wf_div_(wf_narrow(x, 0, 1, 7), wf_narrow(x, 0, 0, 7)), WF_RUNTIME);
  assert_error(
      WF_RUNTIME,
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. "
      "Please clone() the tensor before performing the operation.");
  assert_ok(wf_to_host(x, got, sizeof got));
  assert_memory_equal(got, data, sizeof got);
}

static void an_expanded_tensor_is_not_written(void **state) {
  (void)state;
  wf_tensor *one = wf_ones(WF_SHAPE(1), NULL);
  assert_int_equal(wf_add_scalar_(wf_expand(one, WF_SHAPE(3)), wf_int(1)), WF_RUNTIME);
  assert_error(
      WF_RUNTIME,
      "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() "
      "the tensor before performing the operation.");
  assert_float_equal(wf_item_double(one), 1, 0);
}

static void a_missing_operand_is_a_type_error(void **state) {
  (void)state;
  assert_null(wf_add(NULL, floats()));
  assert_int_equal(wf_error_take().status, WF_TYPE);
  assert_null(wf_mul(floats(), NULL));
  assert_int_equal(wf_error_take().status, WF_TYPE);
}

/* ---- results given ---------------------------------------------------------------------------------------------------------------- */

static void a_given_result_is_resized_and_counts_one_version(void **state) {
  (void)state;
  const float sum[6] = {2, -4, 7, 8, 1, -12};
  wf_tensor *dst = wf_empty(WF_SHAPE(0), NULL);
  assert_ok(wf_add_into(dst, floats(), floats()));
  check_f32(dst, sum, 6);
  assert_int_equal(wf_ndim(dst), 2);
  assert_int_equal(wf_version_of(dst), 1);
  wf_tensor *whole = wf_from_data(i32_data, WF_SHAPE(2, 3), WF_I32);
  assert_int_equal(wf_add_into(whole, floats(), floats()), WF_RUNTIME);
  assert_error(WF_RUNTIME, "result type Float can't be cast to the desired output type Int");
}

/* torch.add(y, 1, out=o) with y = ones(3, 4).t(): o.stride() is (1, 4) where o had another shape, and o's own where it hadn't. */
static void a_given_result_that_is_resized_is_laid_out_as_a_new_one(void **state) {
  (void)state;
  wf_tensor *y = wf_t(wf_ones(WF_SHAPE(3, 4), NULL)), *gap = wf_slice(wf_zeros(WF_SHAPE(50), NULL), 0, 3, 5, 1);
  wf_tensor *given[] = {wf_empty(WF_SHAPE(0), NULL), wf_empty(WF_SHAPE(3, 4, 1), NULL), gap};
  for (int i = 0; i < 3; i++) {
    assert_ok(wf_add_into(given[i], y, y));
    assert_true(wf_size(given[i], 0) == 4 && wf_size(given[i], 1) == 3);
    assert_true(wf_stride(given[i], 0) == 1 && wf_stride(given[i], 1) == 4);
    assert_true(wf_item_double(wf_sum(given[i])) == 24);
  }
  assert_true(wf_storage_offset(gap) == 3);
  wf_tensor *own = wf_empty(WF_SHAPE(4, 3), NULL);
  assert_ok(wf_add_into(own, y, y));
  assert_true(wf_stride(own, 0) == 3);
  wf_tensor *wide = wf_expand(wf_ones(WF_SHAPE(1), NULL), WF_SHAPE(5));
  assert_int_equal(wf_add_into(wide, y, y), WF_RUNTIME); /* refused before it is resized */
  wf_error_take();
  assert_true(wf_ndim(wide) == 1 && wf_size(wide, 0) == 5);
}

static void a_given_result_takes_no_gradients(void **state) {
  (void)state;
  wf_tensor *x = floats(), *dst = wf_empty(WF_SHAPE(2, 3), NULL);
  assert_ok(wf_requires_grad_(x, true));
  assert_int_equal(wf_add_into(dst, x, x), WF_RUNTIME);
  assert_error(
      WF_RUNTIME,
      "add(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad.");
  bool was = wf_grad_set_enabled(false);
  assert_ok(wf_add_into(dst, x, x));
  wf_grad_set_enabled(was);
}

/* ---- derivatives ---------------------------------------------------------------------------------------------------------------------- */

static wf_tensor *f_add(wf_tensor *const *in, void *c) { return wf_add_scaled(in[0], in[1], wf_float(-1.5)); }
static wf_tensor *f_sub(wf_tensor *const *in, void *c) { return wf_sub_scaled(in[0], in[1], wf_float(0.5)); }
static wf_tensor *f_rsub(wf_tensor *const *in, void *c) { return wf_rsub_scaled(in[0], in[1], wf_int(3)); }
static wf_tensor *f_mul(wf_tensor *const *in, void *c) { return wf_mul(in[0], in[1]); }
static wf_tensor *f_div(wf_tensor *const *in, void *c) { return wf_div(in[0], in[1]); }
static wf_tensor *f_fmod(wf_tensor *const *in, void *c) { return wf_fmod(in[0], in[1]); }
static wf_tensor *f_remainder(wf_tensor *const *in, void *c) { return wf_remainder(wf_neg(in[0]), in[1]); }
static wf_tensor *f_atan2(wf_tensor *const *in, void *c) { return wf_atan2(in[0], in[1]); }
static wf_tensor *f_maximum(wf_tensor *const *in, void *c) { return wf_maximum(in[0], in[1]); }
static wf_tensor *f_minimum(wf_tensor *const *in, void *c) { return wf_minimum(in[0], in[1]); }
static wf_tensor *f_pow(wf_tensor *const *in, void *c) { return wf_pow(in[0], in[1]); }
static wf_tensor *f_pow_number(wf_tensor *const *in, void *c) { return wf_pow_scalar(in[0], wf_float(2.5)); }
static wf_tensor *f_number_pow(wf_tensor *const *in, void *c) { return wf_scalar_pow(wf_float(1.7), in[0]); }
static wf_tensor *f_numbers(wf_tensor *const *in, void *c) {
  return wf_rsub_scalar(wf_div_scalar(wf_mul_scalar(wf_add_scalar(in[0], wf_int(2)), wf_float(0.7)), wf_int(3)),
                        wf_float(1.25));
}
static wf_tensor *f_mul_in_place(wf_tensor *const *in, void *c) {
  wf_tensor *x = wf_mul_scalar(in[0], wf_int(1));
  return wf_mul_(x, in[1]) ? NULL : x;
}
static wf_tensor *f_div_view_in_place(wf_tensor *const *in, void *c) {
  wf_tensor *x = wf_mul_scalar(in[0], wf_int(1));
  return wf_div_(wf_transpose(x, 0, 1), wf_unsqueeze(in[1], 1)) ? NULL : x;
}
static wf_tensor *f_same_twice(wf_tensor *const *in, void *c) { return wf_mul(in[0], wf_add(in[0], in[0])); }

static void derivatives_match_finite_differences(void **state) {
  (void)state;
  const struct {
    const char *name;
    gradcheck_fn fn;
    int n;
  } checks[] = {
      {"add", f_add, 2},
      {"sub", f_sub, 2},
      {"rsub", f_rsub, 2},
      {"mul", f_mul, 2},
      {"div", f_div, 2},
      {"fmod", f_fmod, 2},
      {"remainder", f_remainder, 2},
      {"atan2", f_atan2, 2},
      {"maximum", f_maximum, 2},
      {"minimum", f_minimum, 2},
      {"pow", f_pow, 2},
      {"pow number", f_pow_number, 1},
      {"number pow", f_number_pow, 1},
      {"numbers", f_numbers, 1},
      {"mul_", f_mul_in_place, 2},
      {"div_ of a view", f_div_view_in_place, 2},
      {"the same tensor twice", f_same_twice, 1},
  };
  const gradcheck_input in[2] = {{WF_SHAPE(2, 3), NULL}, {WF_SHAPE(3), NULL}};
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
    gradcheck_input swapped[2] = {in[1], in[0]};
    gradcheck_twice(checks[i].name, checks[i].fn, NULL, in, checks[i].n);
    if (checks[i].n == 2 && !strchr(checks[i].name, '_')) gradcheck(checks[i].name, checks[i].fn, NULL, swapped, 2);
  }
}

static void equal_operands_share_the_gradient_of_an_extreme(void **state) {
  (void)state;
  const float a[2] = {1, 2}, half[2] = {0.5f, 1}, other[2] = {0.5f, 0};
  wf_tensor *x = wf_from_data(a, WF_SHAPE(2), WF_F32), *y = wf_from_data((float[]){1, 0}, WF_SHAPE(2), WF_F32);
  assert_ok(wf_requires_grad_(x, true));
  assert_ok(wf_requires_grad_(y, true));
  assert_ok(wf_backward(wf_sum(wf_maximum(x, y)), NULL, NULL));
  check_f32(wf_grad(x), half, 2);
  check_f32(wf_grad(y), other, 2);
}

static void a_power_of_zero_has_a_finite_gradient(void **state) {
  (void)state;
  const double zeros[2] = {0, 0}, want_base[2] = {0, 1}, want_exponent[2] = {0, 0};
  const double exponents[2] = {0, 1};
  double got[2];
  wf_tensor *x = wf_from_data(zeros, WF_SHAPE(2), WF_F64), *e = wf_from_data(exponents, WF_SHAPE(2), WF_F64);
  assert_ok(wf_requires_grad_(x, true));
  assert_ok(wf_requires_grad_(e, true));
  assert_ok(wf_backward(wf_sum(wf_pow(x, e)), NULL, NULL));
  assert_ok(wf_to_host(wf_grad(x), got, sizeof got));
  assert_memory_equal(got, want_base, sizeof got);
  assert_ok(wf_to_host(wf_grad(e), got, sizeof got));
  assert_memory_equal(got, want_exponent, sizeof got);
}

static void floor_divide_has_no_derivative(void **state) {
  (void)state;
  wf_tensor *x = floats();
  assert_ok(wf_requires_grad_(x, true));
  wf_tensor *y = wf_sum(wf_floor_divide_scalar(x, wf_int(2)));
  assert_true(wf_requires_grad(y));
  assert_int_equal(wf_backward(y, NULL, NULL), WF_RUNTIME);
  assert_error(WF_RUNTIME, "derivative for aten::floor_divide is not implemented");
}

static void backward_of_a_mixed_dtype_comes_in_each_operands_own(void **state) {
  (void)state;
  wf_tensor *x = floats(), *y = wf_full(WF_SHAPE(2, 3), wf_float(2), &(wf_tensor_options){.dtype = WF_F64});
  assert_ok(wf_requires_grad_(x, true));
  assert_ok(wf_requires_grad_(y, true));
  wf_tensor *z = wf_mul(x, y);
  assert_int_equal(wf_dtype_of(z), WF_F64);
  assert_ok(wf_backward(wf_sum(z), NULL, NULL));
  assert_int_equal(wf_dtype_of(wf_grad(x)), WF_F32);
  assert_int_equal(wf_dtype_of(wf_grad(y)), WF_F64);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scope_begin, scope_end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(rows_broadcast_over_a_matrix),
      TEST(a_factor_scales_the_second_operand),
      TEST(a_fractional_factor_of_integers_is_refused),
      TEST(numbers_raise_the_kind_but_not_the_width),
      TEST(integer_quotients_round_as_asked),
      TEST(extremes_keep_nan),
      TEST(integer_division_by_zero_is_an_error_and_changes_nothing),
      TEST(the_smallest_integer_divided_by_minus_one_does_not_trap),
      TEST(shapes_that_do_not_broadcast_are_refused),
      TEST(bools_are_not_subtracted),
      TEST(a_shifted_view_of_self_is_refused),
      TEST(an_expanded_tensor_is_not_written),
      TEST(a_missing_operand_is_a_type_error),
      TEST(a_given_result_is_resized_and_counts_one_version),
      TEST(a_given_result_that_is_resized_is_laid_out_as_a_new_one),
      TEST(a_given_result_takes_no_gradients),
      TEST(derivatives_match_finite_differences),
      TEST(equal_operands_share_the_gradient_of_an_extreme),
      TEST(a_power_of_zero_has_a_finite_gradient),
      TEST(floor_divide_has_no_derivative),
      TEST(backward_of_a_mixed_dtype_comes_in_each_operands_own),
  };
  return cmocka_run_group_tests_name("op/arith", tests, NULL, NULL);
}
