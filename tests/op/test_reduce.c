/* Reductions: values, dims, dtypes, empty tensors, refusals, derivatives. */
#include "gradcheck.h"

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

static const wf_scalar none = {WF_SCALAR_NONE, {0}};
static const double data[24] = {0.3, 1.2,  -0.7, 2.1, -1.4, 0.9, 1.7,  -0.2, 0.6, -2.3, 1.1, 0.4,
                                1.9, -0.8, 0.1,  1.3, -1.6, 2.2, -0.5, 0.8,  1.5, -1.1, 0.7, -0.9};
static wf_tensor *cube(void) { return wf_from_data(data, WF_SHAPE(2, 3, 4), WF_F64); }

static void check(wf_tensor *t, wf_dims size, const double *want) {
  double got[24];
  int64_t n = gradcheck_numel(size);
  if (!t) print_error("%s\n", wf_error_peek().text);
  assert_non_null(t);
  assert_int_equal(wf_ndim(t), size.n);
  for (int d = 0; d < size.n; d++) assert_int_equal(wf_size(t, d), size.at[d]);
  assert_ok(wf_to_host(t, got, (size_t)n * sizeof *got));
  for (int64_t i = 0; i < n; i++)
    if (fabs(got[i] - want[i]) > 1e-12) fail_msg("element %d: %.17g, not %.17g", (int)i, got[i], want[i]);
}

/* The reduction of dims 0 and 2 of the cube, by loops. */
static void over_0_and_2(double (*step)(double, double), double start, double want[3]) {
  for (int j = 0; j < 3; j++) {
    want[j] = start;
    for (int i = 0; i < 2; i++)
      for (int k = 0; k < 4; k++) want[j] = step(want[j], data[(i * 3 + j) * 4 + k]);
  }
}
static double plus(double a, double b) { return a + b; }

static void sums_over_dims_equal_loops(void **state) {
  (void)state;
  double want[3];
  over_0_and_2(plus, 0, want);
  check(wf_sum_dims(cube(), WF_SHAPE(0, -1), false, WF_DTYPE_NONE), WF_SHAPE(3), want);
  check(wf_sum_dims(cube(), WF_SHAPE(2, 0), true, WF_DTYPE_NONE), WF_SHAPE(1, 3, 1), want);
  over_0_and_2(fmax, -INFINITY, want);
  check(wf_amax(cube(), WF_SHAPE(0, 2), false), WF_SHAPE(3), want);
  over_0_and_2(fmin, INFINITY, want);
  check(wf_amin(cube(), WF_SHAPE(0, 2), false), WF_SHAPE(3), want);
  double total = 0;
  for (int i = 0; i < 24; i++) total += data[i];
  check(wf_sum(wf_permute(cube(), WF_SHAPE(2, 0, 1))), WF_SHAPE0, &total);
  total /= 24;
  check(wf_mean(cube()), WF_SHAPE0, &total);
}

static void spread_equals_its_definition(void **state) {
  (void)state;
  double mean = 0, squares = 0, norm3 = 0;
  for (int i = 0; i < 24; i++) mean += data[i] / 24;
  for (int i = 0; i < 24; i++) squares += (data[i] - mean) * (data[i] - mean), norm3 += pow(fabs(data[i]), 3);
  double variance = squares / 23, deviation = sqrt(squares / 24), root = cbrt(norm3), greatest = 2.3, count = 24;
  check(wf_var(cube(), WF_SHAPE0, none, false), WF_SHAPE0, &variance);
  check(wf_std(cube(), WF_SHAPE0, wf_int(0), false), WF_SHAPE0, &deviation);
  check(wf_norm(cube(), wf_int(3), WF_SHAPE0, false), WF_SHAPE0, &root);
  check(wf_norm(cube(), wf_float(INFINITY), WF_SHAPE0, false), WF_SHAPE0, &greatest);
  check(wf_norm(cube(), wf_int(0), WF_SHAPE0, false), WF_SHAPE0, &count);
}

static void extremes_name_their_first_place(void **state) {
  (void)state;
  const float rows[6] = {1, 3, 3, NAN, 5, NAN};
  int64_t places[2];
  wf_tensor *x = wf_from_data(rows, WF_SHAPE(2, 3), WF_F32);
  wf_value_index r = wf_max_dim(x, 1, false);
  assert_ok(wf_to_host(r.indices, places, sizeof places));
  assert_int_equal(places[0], 1);
  assert_int_equal(places[1], 0);
  assert_int_equal(wf_item(wf_argmax(x, WF_NONE, false)).as.i, 3);
  assert_int_equal(wf_item(wf_argmin(wf_select(x, 0, 0), WF_NONE, false)).as.i, 0);
}

static void half_sums_are_added_up_in_float32(void **state) {
  (void)state;
  wf_tensor_options half = {.dtype = WF_F16}, brain = {.dtype = WF_BF16};
  assert_float_equal(wf_item_double(wf_sum(wf_ones(WF_SHAPE(20000), &half))), 20000, 0);
  assert_float_equal(wf_item_double(wf_sum(wf_ones(WF_SHAPE(70000), &brain))), 70144, 0);
  assert_float_equal(wf_item_double(wf_mean(wf_ones(WF_SHAPE(70000), &brain))), 1, 0);
  assert_float_equal(wf_item_double(wf_mean(wf_full(WF_SHAPE(4), wf_float(60000), &half))), 60000, 0);
}

static void integers_are_added_up_in_int64(void **state) {
  (void)state;
  const int8_t bytes[3] = {100, 100, 100};
  wf_tensor *s = wf_sum(wf_from_data(bytes, WF_SHAPE(3), WF_I8));
  assert_int_equal(wf_dtype_of(s), WF_I64);
  assert_int_equal(wf_item(s).as.i, 300);
  assert_null(wf_mean(wf_from_data(bytes, WF_SHAPE(3), WF_I8)));
  assert_error(
      WF_NOT_IMPLEMENTED,
      "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Char");
  assert_null(wf_norm(wf_from_data(bytes, WF_SHAPE(3), WF_I8), none, WF_SHAPE0, false));
  assert_error(WF_NOT_IMPLEMENTED,
               "linalg.vector_norm: Expected a floating point or complex tensor as input. Got Char");
}

static void nothing_reduces_to_the_neutral_element(void **state) {
  (void)state;
  const double zero[3] = {0, 0, 0}, one[3] = {1, 1, 1}, least[3] = {-INFINITY, -INFINITY, -INFINITY};
  double got[3];
  wf_tensor *x = wf_empty(WF_SHAPE(0, 3), &(wf_tensor_options){.dtype = WF_F64});
  check(wf_sum_dims(x, WF_SHAPE(0), false, WF_DTYPE_NONE), WF_SHAPE(3), zero);
  check(wf_prod_dim(x, 0, false, WF_DTYPE_NONE), WF_SHAPE(3), one);
  assert_ok(wf_to_host(wf_logsumexp(x, WF_SHAPE(0), false), got, sizeof got));
  assert_memory_equal(got, least, sizeof got);
  assert_true(isnan(wf_item_double(wf_mean(x))));
  assert_int_equal(wf_item(wf_all(x, WF_SHAPE0, false)).as.i, 1);
  assert_int_equal(wf_item(wf_any(x, WF_SHAPE0, false)).as.i, 0);
  assert_null(wf_amax(x, WF_SHAPE0, false));
  assert_error(
      WF_RUNTIME,
      "amax(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.");
  assert_null(wf_max_dim(x, 0, false).values);
  assert_error(WF_INDEX, "max(): Expected reduction dim 0 to have non-zero size.");
  assert_null(wf_argmin(x, WF_NONE, false));
  assert_error(WF_INDEX, "argmin(): Expected reduction dim to be specified for input.numel() == 0.");
  assert_int_equal(wf_numel(wf_amax(x, WF_SHAPE(1), false)), 0);
}

static void dims_are_checked(void **state) {
  (void)state;
  assert_null(wf_sum_dims(cube(), WF_SHAPE(1, -2), false, WF_DTYPE_NONE));
  assert_error(WF_RUNTIME, "dim 1 appears multiple times in the list of dims");
  assert_null(wf_prod_dim(cube(), 3, false, WF_DTYPE_NONE));
  assert_error(WF_INDEX, "Dimension out of range (expected to be in range of [-3, 2], but got 3)");
  assert_null(wf_argmax(wf_gt_scalar(cube(), wf_int(0)), WF_NONE, false));
  assert_error(WF_NOT_IMPLEMENTED, "argmax(): does not support bool input");
}

/* ---- derivatives ---------------------------------------------------------------------------------------------------------- */

static wf_tensor *f_sum(wf_tensor *const *in, void *c) { return wf_sum(wf_mul(in[0], in[0])); }
static wf_tensor *f_sum_dims(wf_tensor *const *in, void *c) {
  return wf_sum_dims(wf_mul(in[0], in[0]), WF_SHAPE(0, 2), false, WF_DTYPE_NONE);
}
static wf_tensor *f_sum_kept(wf_tensor *const *in, void *c) {
  return wf_sum_dims(wf_mul(in[0], in[0]), WF_SHAPE(1), true, WF_DTYPE_NONE);
}
static wf_tensor *f_mean(wf_tensor *const *in, void *c) { return wf_mean(wf_mul(in[0], in[0])); }
static wf_tensor *f_mean_dims(wf_tensor *const *in, void *c) {
  return wf_mean_dims(wf_mul(in[0], in[0]), WF_SHAPE(2), false, WF_DTYPE_NONE);
}
static wf_tensor *f_prod(wf_tensor *const *in, void *c) { return wf_prod(in[0]); }
static wf_tensor *f_prod_dim(wf_tensor *const *in, void *c) { return wf_prod_dim(in[0], 1, false, WF_DTYPE_NONE); }
static wf_tensor *f_amax(wf_tensor *const *in, void *c) { return wf_amax(in[0], WF_SHAPE(0, 2), false); }
static wf_tensor *f_amin(wf_tensor *const *in, void *c) { return wf_amin(in[0], WF_SHAPE(1), true); }
static wf_tensor *f_max(wf_tensor *const *in, void *c) { return wf_mul(wf_max(in[0]), wf_min(in[0])); }
static wf_tensor *f_max_dim(wf_tensor *const *in, void *c) { return wf_max_dim(in[0], 1, false).values; }
static wf_tensor *f_min_dim(wf_tensor *const *in, void *c) { return wf_min_dim(in[0], -1, true).values; }
static wf_tensor *f_var(wf_tensor *const *in, void *c) { return wf_var(in[0], WF_SHAPE(1), none, false); }
static wf_tensor *f_std(wf_tensor *const *in, void *c) { return wf_std(in[0], WF_SHAPE(0, 1), wf_int(0), true); }
static wf_tensor *f_norm(wf_tensor *const *in, void *c) {
  return wf_norm(in[0], *(wf_scalar *)c, WF_SHAPE(1, 2), false);
}
static wf_tensor *f_logsumexp(wf_tensor *const *in, void *c) { return wf_logsumexp(in[0], WF_SHAPE(2), false); }

static void derivatives_match_finite_differences(void **state) {
  (void)state;
  const struct {
    const char *name;
    gradcheck_fn fn;
  } checks[] = {
      {"sum", f_sum},
      {"sum over dims", f_sum_dims},
      {"sum kept", f_sum_kept},
      {"mean", f_mean},
      {"mean over dims", f_mean_dims},
      {"prod over a dim", f_prod_dim},
      {"amax", f_amax},
      {"amin", f_amin},
      {"max and min", f_max},
      {"max over a dim", f_max_dim},
      {"min over a dim", f_min_dim},
      {"var", f_var},
      {"std", f_std},
      {"logsumexp", f_logsumexp},
  };
  const gradcheck_input in = {WF_SHAPE(2, 3, 4), data}, few = {WF_SHAPE(5), NULL};
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
    gradcheck_twice(checks[i].name, checks[i].fn, NULL, &in, 1);
  gradcheck_twice("prod", f_prod, NULL, &few, 1);
  wf_scalar orders[] = {wf_int(2),     wf_int(1),          wf_float(3),        wf_float(1.5),
                        wf_float(0.5), wf_float(INFINITY), wf_float(-INFINITY)};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    char name[32];
    snprintf(name, sizeof name, "norm %g", orders[i].kind == WF_SCALAR_INT ? (double)orders[i].as.i : orders[i].as.f);
    gradcheck_twice(name, f_norm, &orders[i], &in, 1);
  }
}

static void check_gradient(const double *x, int n, wf_tensor *(*fn)(const wf_tensor *), const double *want) {
  wf_tensor *t = wf_from_data(x, wf_dims_of((int64_t[]){n}, 1), WF_F64);
  assert_ok(wf_requires_grad_(t, true));
  assert_ok(wf_backward(fn(t), NULL, NULL));
  check(wf_grad(t), wf_dims_of((int64_t[]){n}, 1), want);
}

static void a_product_with_zeros_has_the_gradient_of_the_others(void **state) {
  (void)state;
  check_gradient((double[]){2, 0, 3, 4}, 4, wf_prod, (double[]){0, 24, 0, 0});
  check_gradient((double[]){0, 2, 3}, 3, wf_prod, (double[]){6, 0, 0});
  check_gradient((double[]){0, 0, 3}, 3, wf_prod, (double[]){0, 0, 0});
  check_gradient((double[]){0}, 1, wf_prod, (double[]){1});
}

static wf_tensor *norm2(const wf_tensor *t) { return wf_norm(t, none, WF_SHAPE0, false); }

static void the_gradient_of_a_zero_norm_is_zero(void **state) {
  (void)state;
  check_gradient((double[]){0}, 1, norm2, (double[]){0});
  const double rows[6] = {0, 0, 0, 1, 2, 2}, want[6] = {0, 0, 0, 1. / 3, 2. / 3, 2. / 3};
  wf_tensor *t = wf_from_data(rows, WF_SHAPE(2, 3), WF_F64);
  assert_ok(wf_requires_grad_(t, true));
  assert_ok(wf_backward(wf_sum(wf_norm(t, none, WF_SHAPE(1), false)), NULL, NULL));
  check(wf_grad(t), WF_SHAPE(2, 3), want);
}

static void equal_extremes_share_the_gradient(void **state) {
  (void)state;
  check_gradient((double[]){3, 1, 3, 3}, 4, wf_max, (double[]){1. / 3, 0, 1. / 3, 1. / 3});
}

static void the_gradient_of_nothing_is_empty(void **state) {
  (void)state;
  wf_tensor *x = wf_empty(WF_SHAPE(2, 0), &(wf_tensor_options){.dtype = WF_F64});
  assert_ok(wf_requires_grad_(x, true));
  wf_tensor *(*const fns[])(const wf_tensor *) = {wf_sum, wf_prod, norm2, wf_mean};
  for (int i = 0; i < 4; i++) {
    assert_ok(wf_set_grad(x, NULL));
    assert_ok(wf_backward(fns[i](x), NULL, NULL));
    check(wf_grad(x), WF_SHAPE(2, 0), NULL);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scope_begin, scope_end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(sums_over_dims_equal_loops),
      TEST(spread_equals_its_definition),
      TEST(extremes_name_their_first_place),
      TEST(half_sums_are_added_up_in_float32),
      TEST(integers_are_added_up_in_int64),
      TEST(nothing_reduces_to_the_neutral_element),
      TEST(dims_are_checked),
      TEST(derivatives_match_finite_differences),
      TEST(a_product_with_zeros_has_the_gradient_of_the_others),
      TEST(the_gradient_of_a_zero_norm_is_zero),
      TEST(equal_extremes_share_the_gradient),
      TEST(the_gradient_of_nothing_is_empty),
  };
  return cmocka_run_group_tests_name("op/reduce", tests, NULL, NULL);
}
