/* where, masked_fill, lerp, addcmul, addcdiv, clamp, activations: values, refusals, derivatives. */
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

static const uint8_t mask_data[6] = {1, 0, 1, 0, 0, 1};
static wf_tensor *mask(void) { return wf_from_data(mask_data, WF_SHAPE(2, 3), WF_BOOL); }
static const wf_scalar none = {WF_SCALAR_NONE, {0}};

static wf_tensor *f_where(wf_tensor *const *in, void *c) { return wf_where(mask(), in[0], in[1]); }
static wf_tensor *f_masked_fill(wf_tensor *const *in, void *c) { return wf_masked_fill(in[0], mask(), wf_float(3)); }
static wf_tensor *f_masked_fill_tensor(wf_tensor *const *in, void *c) {
  return wf_masked_fill_tensor(in[0], mask(), wf_sum(in[1]));
}
static wf_tensor *f_masked_fill_in_place(wf_tensor *const *in, void *c) {
  wf_tensor *x = wf_mul_scalar(in[0], wf_int(1));
  return wf_masked_fill_(x, mask(), wf_float(3)) ? NULL : wf_mul(x, x);
}
static wf_tensor *f_lerp(wf_tensor *const *in, void *c) { return wf_lerp(in[0], in[1], wf_float(0.3)); }
static wf_tensor *f_lerp_tensor(wf_tensor *const *in, void *c) { return wf_lerp_tensor(in[0], in[1], in[2]); }
static wf_tensor *f_addcmul(wf_tensor *const *in, void *c) { return wf_addcmul(in[0], in[1], in[2], wf_float(-2)); }
static wf_tensor *f_addcdiv(wf_tensor *const *in, void *c) { return wf_addcdiv(in[0], in[1], in[2], wf_float(0.5)); }
static wf_tensor *f_addcdiv_in_place(wf_tensor *const *in, void *c) {
  wf_tensor *x = wf_mul_scalar(in[0], wf_int(1));
  return wf_addcdiv_(x, in[1], in[2], none) ? NULL : x;
}
static wf_tensor *f_clamp(wf_tensor *const *in, void *c) { return wf_clamp(in[0], wf_float(0.6), wf_float(1.4)); }
static wf_tensor *f_clamp_most(wf_tensor *const *in, void *c) { return wf_clamp(in[0], none, wf_float(1.1)); }
static wf_tensor *f_clamp_tensor(wf_tensor *const *in, void *c) {
  return wf_clamp_tensor(in[0], wf_mul_scalar(in[1], wf_float(0.5)), in[2]);
}
static wf_tensor *f_gelu(wf_tensor *const *in, void *c) { return wf_gelu(wf_sub_scalar(in[0], wf_int(1)), NULL); }
static wf_tensor *f_gelu_tanh(wf_tensor *const *in, void *c) {
  return wf_gelu(wf_sub_scalar(in[0], wf_int(1)), "tanh");
}
static wf_tensor *f_leaky_relu(wf_tensor *const *in, void *c) {
  return wf_leaky_relu(wf_sub_scalar(in[0], wf_int(1)), 0.1);
}
static wf_tensor *f_elu(wf_tensor *const *in, void *c) { return wf_elu(wf_sub_scalar(in[0], wf_int(1)), 1.3); }
static wf_tensor *f_elu_in_place(wf_tensor *const *in, void *c) {
  wf_tensor *x = wf_sub_scalar(in[0], wf_int(1));
  return wf_elu_(x, 1.3) ? NULL : x;
}
static wf_tensor *f_softplus(wf_tensor *const *in, void *c) { return wf_softplus(in[0], 2, 2.5); }
static wf_tensor *f_hardtanh(wf_tensor *const *in, void *c) {
  return wf_hardtanh(in[0], wf_float(0.5), wf_float(1.25));
}

static void derivatives_match_finite_differences(void **state) {
  (void)state;
  const struct {
    const char *name;
    gradcheck_fn fn;
    int n;
  } checks[] = {
      {"where", f_where, 2},
      {"masked_fill", f_masked_fill, 1},
      {"masked_fill of a tensor", f_masked_fill_tensor, 2},
      {"masked_fill_", f_masked_fill_in_place, 1},
      {"lerp", f_lerp, 2},
      {"lerp of tensors", f_lerp_tensor, 3},
      {"addcmul", f_addcmul, 3},
      {"addcdiv", f_addcdiv, 3},
      {"addcdiv_", f_addcdiv_in_place, 3},
      {"clamp", f_clamp, 1},
      {"clamp without least", f_clamp_most, 1},
      {"clamp of tensors", f_clamp_tensor, 3},
      {"gelu", f_gelu, 1},
      {"gelu tanh", f_gelu_tanh, 1},
      {"leaky_relu", f_leaky_relu, 1},
      {"elu", f_elu, 1},
      {"elu_", f_elu_in_place, 1},
      {"softplus", f_softplus, 1},
      {"hardtanh", f_hardtanh, 1},
  };
  const gradcheck_input in[3] = {{WF_SHAPE(2, 3), NULL}, {WF_SHAPE(3), NULL}, {WF_SHAPE(2, 1), NULL}};
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
    gradcheck_twice(checks[i].name, checks[i].fn, NULL, in, checks[i].n);
}

static void where_promotes_its_choices_and_reads_bytes_as_truth(void **state) {
  (void)state;
  const int32_t ints[6] = {1, 2, 3, 4, 5, 6};
  float got[6];
  wf_tensor *x = wf_from_data(ints, WF_SHAPE(2, 3), WF_I32), *zero = wf_zeros(WF_SHAPE(1), NULL);
  wf_tensor *y = wf_where(wf_from_data(mask_data, WF_SHAPE(2, 3), WF_U8), x, zero);
  assert_int_equal(wf_dtype_of(y), WF_F32);
  assert_ok(wf_to_host(y, got, sizeof got));
  for (int i = 0; i < 6; i++) assert_float_equal(got[i], mask_data[i] ? ints[i] : 0, 0);
  assert_null(wf_where(x, x, x));
  assert_error(WF_RUNTIME, "where expected condition to be a boolean tensor, but got a tensor with dtype Int");
}

static void a_fill_must_fit_the_dtype(void **state) {
  (void)state;
  const uint8_t bytes[6] = {1, 2, 3, 4, 5, 6};
  uint8_t got[6];
  wf_tensor *x = wf_from_data(bytes, WF_SHAPE(2, 3), WF_U8);
  assert_int_equal(wf_masked_fill_(x, mask(), wf_int(300)), WF_RUNTIME);
  assert_error(WF_RUNTIME, "value cannot be converted to type uint8_t without overflow");
  assert_int_equal(wf_masked_fill_(x, mask(), wf_float(NAN)), WF_RUNTIME);
  assert_error(WF_RUNTIME, "value cannot be converted to type uint8_t without overflow");
  assert_ok(wf_masked_fill_(x, mask(), wf_float(9.7))); /* the fraction goes without notice */
  assert_ok(wf_to_host(x, got, sizeof got));
  for (int i = 0; i < 6; i++) assert_int_equal(got[i], mask_data[i] ? 9 : bytes[i]);
  const wf_tensor *half = wf_full(WF_SHAPE0, wf_float(-1.5), &(wf_tensor_options){.dtype = WF_F16});
  assert_null(wf_masked_fill_tensor(x, mask(), half)); /* a tensor of rank 0 stands for its number */
  assert_error(WF_RUNTIME, "value cannot be converted to type uint8_t without overflow");
  wf_tensor *wide = wf_ones(WF_SHAPE(4, 3), &(wf_tensor_options){.dtype = WF_BOOL});
  assert_int_equal(wf_masked_fill_(x, wide, wf_int(300)), WF_RUNTIME); /* sizes are looked at before */
  assert_error(WF_RUNTIME, "The size of tensor a (2) must match the size of tensor b (4) at non-singleton dimension 0");
  assert_null(wf_masked_fill(x, x, wf_int(1)));
  assert_error(WF_RUNTIME, "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char");
  assert_null(wf_masked_fill_tensor(x, mask(), x));
  assert_error(WF_RUNTIME,
               "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with 2 dimension(s).");
}

static void lerp_does_not_promote(void **state) {
  (void)state;
  wf_tensor *x = wf_ones(WF_SHAPE(3), NULL), *d = wf_ones(WF_SHAPE(3), &(wf_tensor_options){.dtype = WF_F64});
  assert_null(wf_lerp(x, d, wf_float(0.5)));
  assert_error(WF_RUNTIME, "expected dtype float for `end` but got dtype double");
  assert_null(wf_lerp_tensor(x, x, d));
  assert_error(WF_RUNTIME, "expected dtype float for `weight` but got dtype double");
}

static void crossed_bounds_give_the_upper_one(void **state) {
  (void)state;
  const float data[3] = {-1, 0, 5};
  float got[3];
  assert_ok(wf_to_host(wf_clamp(wf_from_data(data, WF_SHAPE(3), WF_F32), wf_int(3), wf_int(2)), got, sizeof got));
  for (int i = 0; i < 3; i++) assert_float_equal(got[i], 2, 0);
  assert_null(wf_clamp(wf_ones(WF_SHAPE(1), NULL), none, none));
  assert_error(WF_RUNTIME, "torch.clamp: At least one of 'min' or 'max' must not be None");
  assert_null(wf_hardtanh(wf_ones(WF_SHAPE(1), NULL), wf_int(3), wf_int(2)));
  assert_error(WF_VALUE, "min_val cannot be greater than max_val");
}

/* Made with torch 2.15: x = tensor([-1, 0, 1, .5], requires_grad=True); clamp(x, -1, 1).sum().backward(). */
static void a_bound_itself_has_no_gradient(void **state) {
  (void)state;
  const float data[4] = {-1, 0, 1, 0.5f}, want[4] = {0, 1, 0, 1};
  float got[4];
  wf_tensor *x = wf_from_data(data, WF_SHAPE(4), WF_F32);
  assert_ok(wf_requires_grad_(x, true));
  assert_ok(wf_backward(wf_sum(wf_clamp(x, wf_int(-1), wf_int(1))), NULL, NULL));
  assert_ok(wf_to_host(wf_grad(x), got, sizeof got));
  assert_memory_equal(got, want, sizeof got);
}

static void activations_take_floating_point_only(void **state) {
  (void)state;
  const int64_t data[1] = {1};
  wf_tensor *x = wf_from_data(data, WF_SHAPE(1), WF_I64);
  assert_null(wf_gelu(x, NULL));
  assert_error(WF_NOT_IMPLEMENTED, "\"GeluKernelImpl\" not implemented for 'Long'");
  assert_null(wf_gelu(wf_ones(WF_SHAPE(1), NULL), "sharp"));
  assert_error(WF_RUNTIME, "approximate argument must be either none or tanh.");
  assert_int_equal(wf_item(wf_relu(x)).as.i, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scope_begin, scope_end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(derivatives_match_finite_differences),
      TEST(where_promotes_its_choices_and_reads_bytes_as_truth),
      TEST(a_fill_must_fit_the_dtype),
      TEST(lerp_does_not_promote),
      TEST(crossed_bounds_give_the_upper_one),
      TEST(a_bound_itself_has_no_gradient),
      TEST(activations_take_floating_point_only),
  };
  return cmocka_run_group_tests_name("op/ternary", tests, NULL, NULL);
}
