/* Faults of numbers that other tensor libraries had: rounding, nan, the ends of the integers, counts, indices from behind. */
#include "op/geometry.h"
#include "scoped.h"

#include <math.h>
#include <weft/copy.h>
#include <weft/create.h>
#include <weft/index.h>
#include <weft/math.h>
#include <weft/reduce.h>
#include <weft/view.h>

static wf_tensor *row(wf_dtype dtype, int64_t n, const double *data) {
  return wf_to(wf_from_data(data, wf_dims_of(&n, 1), WF_F64), dtype);
}
#define ROW(dtype, ...) row(dtype, sizeof(double[]){__VA_ARGS__} / sizeof(double), (const double[]){__VA_ARGS__})

static wf_tensor_options of(wf_dtype dtype) {
  wf_tensor_options o = wf_tensor_defaults();
  o.dtype = dtype;
  return o;
}

static double number(const wf_tensor *t) { return wf_item_double(wf_to(t, WF_F64)); }

/* ---- conversions ---------------------------------------------------------------------------------------------------------------------- */

/* R124 */
static void bfloat16_rounds_to_the_nearest_even(void **state) {
  (void)state;
  const uint32_t f32[] = {0x3E89CCD5, 0x3F808000, 0x3F818000, 0x7F7F7FFF, 0x7F7F8000, 0x00008000, 0x00018000};
  const uint16_t expected[] = {0x3E8A, 0x3F80, 0x3F82, 0x7F7F, 0x7F80, 0x0000, 0x0002};
  uint16_t bits[7];
  assert_ok(wf_to_host(wf_to(wf_from_data(f32, WF_SHAPE(7), WF_F32), WF_BF16), bits, sizeof bits));
  assert_memory_equal(bits, expected, sizeof bits);
}

/* R125 */
static void every_half_survives_the_way_to_f32_and_back(void **state) {
  (void)state;
  static uint16_t half[65536], back[65536];
  static float wide[65536];
  for (int i = 0; i < 65536; i++) half[i] = (uint16_t)i;
  wf_tensor *h = wf_from_data(half, WF_SHAPE(65536), WF_F16), *f = wf_to(h, WF_F32);
  assert_ok(wf_to_host(f, wide, sizeof wide));
  assert_ok(wf_to_host(wf_to(f, WF_F16), back, sizeof back));
  assert_true(wide[0x0001] == 0x1p-24f && wide[0x01ff] == 0x1ffp-24f && wide[0x0200] == 0x200p-24f &&
              wide[0x03ff] == 0x3ffp-24f);
  int numbers = 0;
  for (int i = 0; i < 65536; i++) {
    bool is_nan = (i & 0x7c00) == 0x7c00 && (i & 0x3ff);
    numbers += !is_nan;
    if (is_nan) assert_true(isnan(wide[i]) && (back[i] & 0x7c00) == 0x7c00 && (back[i] & 0x3ff));
    else assert_int_equal(back[i], i);
  }
  assert_int_equal(numbers, 63490);
}

/* R128 */
static void a_fraction_is_true_and_so_is_nan(void **state) {
  (void)state;
  const wf_dtype from[] = {WF_F32, WF_F64, WF_F16, WF_BF16};
  for (int i = 0; i < 4; i++)
    assert_elements_of(wf_to(ROW(from[i], -0.3, 0, 0.3, 1, 3.0 / 7, NAN, -0.0), WF_BOOL), 1, 0, 1, 1, 1, 1, 0);
  wf_tensor *truth = wf_zeros(WF_SHAPE(2), &(wf_tensor_options){.dtype = WF_BOOL});
  assert_ok(wf_fill_(truth, wf_float(0.5)));
  assert_elements_of(truth, 1, 1);
  assert_elements_of(wf_masked_fill(wf_to(ROW(WF_F32, 0, 0), WF_BOOL), ROW(WF_BOOL, 1, 0), wf_float(0.5)), 1, 0);
}

/* Bytes that were never a bool's, shown as bools: whatever isn't 0 is true, and what operators compute is 0 or 1. */
static void a_byte_beyond_1_is_as_true_as_1(void **state) {
  (void)state;
  wf_tensor *b = wf_view_dtype(ROW(WF_U8, 0, 1, 2, 255), WF_BOOL), *yes = wf_full(WF_SHAPE(4), wf_bool(true), NULL),
            *no = wf_logical_not(yes);
  wf_tensor *same[] = {wf_to(b, WF_U8),        wf_to(b, WF_F32),
                       wf_eq(b, yes),          wf_bitwise_and(b, yes),
                       wf_bitwise_or(b, no),   wf_bitwise_xor(b, no),
                       wf_ge(b, yes),          wf_maximum(b, no),
                       wf_minimum(b, yes),     wf_mul(b, yes),
                       wf_add(b, no),          wf_where(b, yes, no),
                       wf_gt(b, no),           wf_mul_scalar(b, wf_int(1)),
                       wf_logical_and(b, yes), wf_logical_xor(b, no)};
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) assert_elements_of(same[i], 0, 1, 1, 1);
  wf_tensor *opposite[] = {wf_ne(b, yes), wf_lt(b, yes), wf_bitwise_xor(b, yes), wf_bitwise_not(b), wf_logical_not(b)};
  for (size_t i = 0; i < sizeof opposite / sizeof *opposite; i++) assert_elements_of(opposite[i], 1, 0, 0, 0);
  assert_elements_of(wf_cumsum(b, 0, WF_DTYPE_NONE), 0, 1, 2, 3);
  assert_elements_of(wf_sort(b, 0, false, true).indices, 0, 1, 2, 3);
  assert_elements_of(wf_nonzero(b), 1, 2, 3);
  assert_elements_of(wf_masked_select(ROW(WF_F32, 5, 6, 7, 8), b), 6, 7, 8);
  assert_true(number(wf_sum(b)) == 3 && number(wf_count_nonzero(b, WF_SHAPE0)) == 3);
  assert_true(wf_item(wf_select(b, 0, 3)).as.i == 1);
}

/* R130 */
static void a_negative_fraction_fills_integers_cut_off(void **state) {
  (void)state;
  wf_tensor_options i32 = of(WF_I32);
  assert_elements_of(wf_full(WF_SHAPE(4), wf_float(-29.5), &i32), -29, -29, -29, -29);
  wf_tensor *x = wf_zeros(WF_SHAPE(4), &i32);
  assert_ok(wf_fill_(x, wf_float(-29.5)));
  assert_elements_of(x, -29, -29, -29, -29);
  wf_tensor *small = ROW(WF_U8, 1, 2);
  assert_int_equal(wf_fill_(small, wf_float(-29.5)), WF_RUNTIME);
  assert_error(WF_RUNTIME, "value cannot be converted to type uint8_t without overflow");
  assert_elements_of(small, 1, 2);
}

/* ---- reductions ------------------------------------------------------------------------------------------------------------------------- */

/* R132, R133 */
static void halves_are_summed_in_something_wider(void **state) {
  (void)state;
  wf_tensor *both = ROW(WF_F16, 32000, 32000, 32000, 32000, -32000, -32000, -32000, -32000);
  assert_true(number(wf_sum_dims(both, WF_SHAPE(0), false, WF_DTYPE_NONE)) == 0);
  assert_true(number(wf_mean(ROW(WF_F16, 60000, 60000, 60000, 60000))) == 59968 + 32); /* 60000 is a half */
  wf_tensor_options bf16 = of(WF_BF16), f16 = of(WF_F16);
  wf_tensor *ones = wf_ones(WF_SHAPE(70000), &bf16);
  assert_true(number(wf_sum(ones)) == 70144); /* the nearest bfloat16 to 70000 */
  assert_true(number(wf_mean(ones)) == 1);
  assert_true(number(wf_sum(wf_ones(WF_SHAPE(20000), &f16))) == 20000);
  wf_tensor *columns = wf_expand(wf_ones(WF_SHAPE(1, 3), &bf16), WF_SHAPE(70000, 3));
  for (int i = 0; i < 3; i++)
    assert_true(number(wf_select(wf_sum_dims(columns, WF_SHAPE(0), false, WF_DTYPE_NONE), 0, i)) == 70144);
}

/* R135 */
static void nan_is_the_extreme_wherever_it_stands(void **state) {
  (void)state;
  const wf_dtype dtypes[] = {WF_F32, WF_F64, WF_F16, WF_BF16};
  for (int i = 0; i < 4; i++)
    for (int at = 0; at < 2; at++) {
      wf_tensor *x = at ? ROW(dtypes[i], 1, NAN) : ROW(dtypes[i], NAN, 1);
      wf_value_index most = wf_max_dim(x, 0, false), least = wf_min_dim(x, 0, false);
      assert_true(isnan(number(most.values)) && isnan(number(least.values)));
      assert_int_equal(wf_item(most.indices).as.i, at);
      assert_int_equal(wf_item(least.indices).as.i, at);
      assert_true(isnan(number(wf_max(x))) && isnan(number(wf_min(x))));
    }
  wf_tensor *x = ROW(WF_F32, 1, 2, -3, 4, NAN, INFINITY);
  assert_elements_of(wf_topk(x, 6, 0, true, true).indices, 4, 5, 3, 1, 0, 2);
  assert_elements_of(wf_topk(x, 6, 0, false, true).indices, 2, 0, 1, 3, 5, 4);
}

/* R137 */
static void the_first_nan_is_the_greatest_and_the_least(void **state) {
  (void)state;
  wf_tensor *all = wf_full(WF_SHAPE(58), wf_float(NAN), NULL);
  assert_int_equal(wf_item(wf_argmax(all, WF_NONE, false)).as.i, 0);
  assert_int_equal(wf_item(wf_argmin(all, WF_NONE, false)).as.i, 0);
  assert_int_equal(wf_item(wf_argmax(ROW(WF_F32, 1, NAN, NAN), 0, false)).as.i, 1);
  assert_int_equal(wf_item(wf_argmin(ROW(WF_F32, 1, NAN, NAN), 0, false)).as.i, 1);
}

/* R138, R141 */
static void a_stepped_range_has_the_elements_that_it_says(void **state) {
  (void)state;
  assert_int_equal(wf_numel(wf_arange(wf_float(0.1), wf_float(0.5), wf_float(0.05), NULL)), 8);
  assert_int_equal(wf_numel(wf_arange(wf_int(0), wf_float(1.3), wf_float(0.1), NULL)), 13);
  assert_int_equal(wf_numel(wf_arange(wf_float(0.6), wf_float(0.9), wf_float(0.1), NULL)), 4);
  wf_tensor_options i64 = of(WF_I64);
  assert_elements_of(wf_arange(wf_int(0), wf_int(3), wf_float(0.5), &i64), 0, 0, 0, 0, 0, 0);
  assert_elements_of(wf_arange(wf_int(0), wf_int(3), wf_float(1.5), &i64), 0, 1);
  assert_refused(wf_arange(wf_int(0), wf_int(3), wf_int(0), &i64), WF_RUNTIME, "step must be nonzero");
  assert_refused(wf_arange(wf_int(0), wf_int(3), wf_float(0), &i64), WF_RUNTIME, "step must be nonzero");
}

/* ---- integers ------------------------------------------------------------------------------------------------------------------------------ */

static const wf_dtype signed_types[] = {WF_I8, WF_I16, WF_I32, WF_I64};

/* R143 */
static void the_least_integer_has_no_remainder_by_minus_one(void **state) {
  (void)state;
  const double least[] = {-0x1p7, -0x1p15, -0x1p31, -0x1p63};
  const int64_t lengths[] = {1, 2, 17, 200};
  for (int d = 0; d < 4; d++)
    for (int k = 0; k < 4; k++) {
      wf_tensor_options o = of(signed_types[d]);
      wf_tensor *x = wf_full(wf_dims_of(&lengths[k], 1), wf_int((int64_t)least[d]), &o),
                *by = wf_full(wf_dims_of(&lengths[k], 1), wf_int(-1), &o);
      wf_tensor *results[] = {wf_remainder(x, by), wf_fmod(x, by), wf_remainder_scalar(x, wf_int(-1)),
                              wf_fmod_scalar(x, wf_int(-1))};
      for (int i = 0; i < 4; i++) assert_int_equal(wf_item(wf_count_nonzero(results[i], WF_SHAPE0)).as.i, 0);
      assert_non_null(wf_floor_divide(x, by)); /* wraps, whatever to: no trap */
      assert_non_null(wf_div_rounded(x, by, WF_ROUND_TRUNC));
    }
}

/* R144 */
static void dividing_integers_by_zero_is_refused_and_changes_nothing(void **state) {
  (void)state;
  const wf_dtype dtypes[] = {WF_I8, WF_I16, WF_I32, WF_I64, WF_U8};
  for (int d = 0; d < 5; d++) {
    wf_tensor *x = ROW(dtypes[d], 1, 1, 1), *zeros = ROW(dtypes[d], 0, 0, 0);
#define REFUSED(call) assert_refused(call, WF_RUNTIME, "ZeroDivisionError")
    REFUSED(wf_div_rounded(x, zeros, WF_ROUND_TRUNC));
    REFUSED(wf_floor_divide(x, zeros));
    REFUSED(wf_remainder(x, zeros));
    REFUSED(wf_fmod(x, zeros));
    REFUSED(wf_div_rounded_scalar(x, wf_int(0), WF_ROUND_TRUNC));
    REFUSED(wf_floor_divide_scalar(x, wf_int(0)));
    REFUSED(wf_remainder_scalar(x, wf_int(0)));
    REFUSED(wf_fmod_scalar(x, wf_int(0)));
    wf_tensor *three = ROW(dtypes[d], 4, 5, 6);
    assert_int_equal(wf_floor_divide_(three, ROW(dtypes[d], 2, 0, 3)), WF_RUNTIME);
    assert_error(WF_RUNTIME, "ZeroDivisionError");
    assert_elements_of(three, 4, 5, 6);
    assert_elements_of(wf_div(x, zeros), INFINITY, INFINITY, INFINITY);
  }
}

/* ---- indices -------------------------------------------------------------------------------------------------------------------------------- */

/* R146 */
static void some_operators_count_from_behind_and_others_refuse(void **state) {
  (void)state;
  wf_tensor *x = ROW(WF_F32, 10, 20, 30), *last = ROW(WF_I64, -1), *one = ROW(WF_F32, 5);
  assert_refused(wf_index_select(x, 0, last), WF_INDEX, "index out of range in self");
  assert_refused(wf_gather(x, 0, last), WF_RUNTIME, "index -1 is out of bounds for dimension 0 with size 3");
  assert_refused(wf_scatter(x, 0, last, one), WF_RUNTIME, "index -1 is out of bounds for dimension 0 with size 3");
  assert_int_equal(wf_index_add_(x, 0, last, one, wf_int(1)), WF_INDEX);
  assert_error(WF_INDEX, "index out of range in self");
  assert_int_equal(wf_index_copy_(x, 0, last, one), WF_INDEX);
  assert_error(WF_INDEX, "index_copy_(): index -1 is out of bounds for dimension 0 with size 3");
  assert_elements_of(x, 10, 20, 30);
  assert_elements_of(wf_index_fill(x, 0, last, wf_float(7)), 10, 20, 7);
  assert_elements_of(wf_take(x, last), 30);
  assert_elements_of(wf_index(x, (wf_tensors){&last, 1}), 30);
  wf_tensor *beyond = ROW(WF_I64, -4);
  assert_refused(wf_index(x, (wf_tensors){&beyond, 1}), WF_INDEX,
                 "index -4 is out of bounds for dimension 0 with size 3");
}

/* R150 */
static void a_slice_store_beside_an_index_broadcasts(void **state) {
  (void)state;
  wf_tensor *x = wf_zeros(WF_SHAPE(3, 4, 4, 4), NULL);
  wf_tensor *part = wf_slice(wf_select(wf_slice(wf_select(x, 0, 0), 0, 0, 4, 1), 1, 3), 1, 0, 4, 1);
  assert_ok(wf_copy_(part, wf_ones(WF_SHAPE(4, 4), NULL), false));
  assert_true(number(wf_sum(x)) == 16);
  assert_true(number(wf_sum(wf_select(wf_select(x, 0, 0), 1, 3))) == 16);
}

static void a_dtype_that_does_not_exist_is_refused(void **state) {
  (void)state;
  const wf_dtype odd[] = {(wf_dtype)99, (wf_dtype)-1, WF_DTYPE_COUNT};
  wf_tensor *x = ROW(WF_F32, 1, 2, 3);
  for (int i = 0; i < 3; i++) {
    assert_null(wf_to(x, odd[i]));
    wf_error e = wf_error_take();
    assert_int_equal(e.status, WF_TYPE);
    assert_non_null(strstr(e.text, "dtype must be one of the ten element types"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      SCOPED(bfloat16_rounds_to_the_nearest_even),
      SCOPED(every_half_survives_the_way_to_f32_and_back),
      SCOPED(a_fraction_is_true_and_so_is_nan),
      SCOPED(a_byte_beyond_1_is_as_true_as_1),
      SCOPED(a_negative_fraction_fills_integers_cut_off),
      SCOPED(halves_are_summed_in_something_wider),
      SCOPED(nan_is_the_extreme_wherever_it_stands),
      SCOPED(the_first_nan_is_the_greatest_and_the_least),
      SCOPED(a_stepped_range_has_the_elements_that_it_says),
      SCOPED(the_least_integer_has_no_remainder_by_minus_one),
      SCOPED(dividing_integers_by_zero_is_refused_and_changes_nothing),
      SCOPED(some_operators_count_from_behind_and_others_refuse),
      SCOPED(a_slice_store_beside_an_index_broadcasts),
      SCOPED(a_dtype_that_does_not_exist_is_refused),
  };
  return cmocka_run_group_tests_name("op/seen_numbers", tests, NULL, NULL);
}
