/* Operators of one input: values against libm, dtypes, forms in place, derivatives against finite differences. */
#include "gradcheck.h"

typedef struct row {
  const char *name;
  wf_tensor *(*make)(const wf_tensor *);
  wf_status (*change)(wf_tensor *);
  double (*reference)(double);
} row;

static double neg(double x) { return -x; }
static double sign(double x) { return (x > 0) - (x < 0); }
static double square(double x) { return x * x; }
static double rsqrt(double x) { return 1 / sqrt(x); }
static double reciprocal(double x) { return 1 / x; }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double relu(double x) { return x > 0 ? x : 0; }
static double silu(double x) { return x / (1 + exp(-x)); }

static const row rows[] = {
    {"neg", wf_neg, wf_neg_, neg},
    {"abs", wf_abs, wf_abs_, fabs},
    {"sign", wf_sign, wf_sign_, sign},
    {"square", wf_square, wf_square_, square},
    {"sqrt", wf_sqrt, wf_sqrt_, sqrt},
    {"rsqrt", wf_rsqrt, wf_rsqrt_, rsqrt},
    {"reciprocal", wf_reciprocal, wf_reciprocal_, reciprocal},
    {"exp", wf_exp, wf_exp_, exp},
    {"expm1", wf_expm1, wf_expm1_, expm1},
    {"log", wf_log, wf_log_, log},
    {"log1p", wf_log1p, wf_log1p_, log1p},
    {"log2", wf_log2, wf_log2_, log2},
    {"sin", wf_sin, wf_sin_, sin},
    {"cos", wf_cos, wf_cos_, cos},
    {"tan", wf_tan, wf_tan_, tan},
    {"atan", wf_atan, wf_atan_, atan},
    {"tanh", wf_tanh, wf_tanh_, tanh},
    {"sigmoid", wf_sigmoid, wf_sigmoid_, sigmoid},
    {"erf", wf_erf, wf_erf_, erf},
    {"floor", wf_floor, wf_floor_, floor},
    {"ceil", wf_ceil, wf_ceil_, ceil},
    {"round", wf_round, wf_round_, nearbyint},
    {"trunc", wf_trunc, wf_trunc_, trunc},
    {"relu", wf_relu, wf_relu_, relu},
    {"silu", wf_silu, wf_silu_, silu},
};
#define ROWS ((int)(sizeof rows / sizeof *rows))

static const double positive[6] = {0.31, 0.75, 1.2, 1.49, 0.05, 2.51};

static void gives_the_values_of_libm(void **state) {
  (void)state;
  for (int r = 0; r < ROWS; r++) {
    double got[6];
    wf_scope scope = wf_scope_begin();
    wf_tensor *y = rows[r].make(wf_from_data(positive, WF_SHAPE(2, 3), WF_F64));
    assert_non_null(y);
    assert_ok(wf_to_host(y, got, sizeof got));
    for (int i = 0; i < 6; i++) {
      double want = rows[r].reference(positive[i]);
      if (fabs(got[i] - want) > 1e-12 * (1 + fabs(want)))
        fail_msg("%s(%g): %.17g, not %.17g", rows[r].name, positive[i], got[i], want);
    }
    wf_scope_end(scope, NULL);
  }
}

static void in_place_writes_over_self_and_counts_one_version(void **state) {
  (void)state;
  for (int r = 0; r < ROWS; r++) {
    double out[6], in[6];
    wf_scope scope = wf_scope_begin();
    wf_tensor *x = wf_from_data(positive, WF_SHAPE(2, 3), WF_F64), *y = rows[r].make(x);
    assert_ok(rows[r].change(x));
    assert_int_equal(wf_version_of(x), 1);
    assert_ok(wf_to_host(y, out, sizeof out));
    assert_ok(wf_to_host(x, in, sizeof in));
    assert_memory_equal(out, in, sizeof in);
    wf_scope_end(scope, NULL);
  }
}

static wf_tensor *apply(wf_tensor *const *in, void *context) { return ((const row *)context)->make(in[0]); }

/* x · 1, so that the change happens to a tensor that is no leaf. */
static wf_tensor *apply_in_place(wf_tensor *const *in, void *context) {
  wf_tensor *x = wf_mul_scalar(in[0], wf_int(1));
  return ((const row *)context)->change(x) ? NULL : x;
}

static wf_tensor *apply_to_a_view_in_place(wf_tensor *const *in, void *context) {
  wf_tensor *x = wf_mul_scalar(in[0], wf_int(1));
  return ((const row *)context)->change(wf_select(x, 0, 1)) ? NULL : x;
}

static void derivatives_match_finite_differences(void **state) {
  (void)state;
  const gradcheck_input in = {WF_SHAPE(2, 3), positive};
  for (int r = 0; r < ROWS; r++) gradcheck_twice(rows[r].name, apply, (void *)&rows[r], &in, 1);
}

static void derivatives_of_changes_in_place_match_finite_differences(void **state) {
  (void)state;
  const gradcheck_input in = {WF_SHAPE(2, 3), positive};
  for (int r = 0; r < ROWS; r++) gradcheck_twice(rows[r].name, apply_in_place, (void *)&rows[r], &in, 1);
}

static void derivatives_of_changes_of_a_view_match_finite_differences(void **state) {
  (void)state;
  const gradcheck_input in = {WF_SHAPE(2, 3), positive};
  for (int r = 0; r < ROWS; r++) gradcheck(rows[r].name, apply_to_a_view_in_place, (void *)&rows[r], &in, 1);
}

static void integers_give_float32_or_stay(void **state) {
  (void)state;
  const int32_t data[2] = {4, 9};
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = wf_from_data(data, WF_SHAPE(2), WF_I32);
  assert_int_equal(wf_dtype_of(wf_sqrt(x)), WF_F32);
  assert_int_equal(wf_dtype_of(wf_neg(x)), WF_I32);
  assert_int_equal(wf_dtype_of(wf_floor(x)), WF_I32);
  assert_int_equal(wf_dtype_of(wf_isnan(x)), WF_BOOL);
  assert_int_equal(wf_sqrt_(x), WF_RUNTIME);
  assert_error(WF_RUNTIME, "result type Float can't be cast to the desired output type Int");
  assert_int_equal(wf_version_of(x), 0);
  wf_scope_end(scope, NULL);
}

static void refused_dtypes_are_told_the_kernel(void **state) {
  (void)state;
  const uint8_t data[2] = {1, 0};
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = wf_from_data(data, WF_SHAPE(2), WF_BOOL);
  assert_null(wf_floor(x));
  assert_error(WF_NOT_IMPLEMENTED, "\"floor_vml_cpu\" not implemented for 'Bool'");
  assert_null(wf_neg(x));
  assert_error(
      WF_NOT_IMPLEMENTED,
      "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
      "`logical_not()` operator instead.");
  assert_null(wf_relu(x));
  assert_error(WF_NOT_IMPLEMENTED, "Boolean inputs not supported for relu");
  wf_scope_end(scope, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gives_the_values_of_libm),
      cmocka_unit_test(in_place_writes_over_self_and_counts_one_version),
      cmocka_unit_test(derivatives_match_finite_differences),
      cmocka_unit_test(derivatives_of_changes_in_place_match_finite_differences),
      cmocka_unit_test(derivatives_of_changes_of_a_view_match_finite_differences),
      cmocka_unit_test(integers_give_float32_or_stay),
      cmocka_unit_test(refused_dtypes_are_told_the_kernel),
  };
  return cmocka_run_group_tests_name("op/unary", tests, NULL, NULL);
}
