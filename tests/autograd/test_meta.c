/* Leaves, flags, gradients read and assigned: rules and texts of torch 2.15. */
#include "autograd/scoped.h"

static void leaves_and_results_know_what_they_are(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *c = CONST(3, 4), *y = wf_mul(x, c), *z = wf_mul(c, c);
  assert_true(wf_is_leaf(x) && wf_requires_grad(x) && !wf_has_grad_fn(x));
  assert_false(wf_is_leaf(y));
  assert_true(wf_requires_grad(y));
  assert_string_equal(wf_grad_fn_name(y), "MulBackward0");
  assert_true(wf_is_leaf(z) && !wf_requires_grad(z));
  assert_string_equal(wf_grad_fn_name(z), "");
  wf_tensor *compared = wf_gt(x, c);
  assert_true(wf_is_leaf(compared) && !wf_requires_grad(compared));
}

static void getters_accept_null(void **state) {
  (void)state;
  assert_false(wf_requires_grad(NULL));
  assert_false(wf_has_grad_fn(NULL));
  assert_null(wf_grad(NULL));
  assert_string_equal(wf_grad_fn_name(NULL), "");
}

static void nothing_is_recorded_without_gradient_mode(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1);
  assert_true(wf_grad_set_enabled(false));
  wf_tensor *y = wf_mul(x, x);
  assert_false(wf_grad_set_enabled(true));
  assert_true(wf_is_leaf(y) && !wf_requires_grad(y));
}

static void only_floating_point_can_require_grad(void **state) {
  (void)state;
  wf_tensor *x = wf_from_data((int64_t[]){1}, WF_SHAPE(1), WF_I64);
  assert_int_equal(wf_requires_grad_(x, true), WF_RUNTIME);
  assert_error(WF_RUNTIME, "only Tensors of floating point dtype can require gradients");
  assert_ok(wf_requires_grad_(x, false));
}

static void a_computed_tensor_keeps_its_flag(void **state) {
  (void)state;
  wf_tensor *y = wf_mul(LEAF(1), LEAF(2));
  assert_ok(wf_requires_grad_(y, true));
  assert_int_equal(wf_requires_grad_(y, false), WF_RUNTIME);
  assert_error(
      WF_RUNTIME,
      "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that "
      "doesn't require differentiation use var_no_grad = var.detach().");
}

static void detach_in_place_cuts_the_tensor_off(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *y = wf_mul(x, x);
  assert_ok(wf_detach_(y));
  assert_true(wf_is_leaf(y) && !wf_requires_grad(y));
  wf_tensor *z = wf_mul(x, x);
  assert_int_equal(wf_detach_(wf_select(z, 0, 0)), WF_RUNTIME);
  assert_int_equal(wf_error_take().status, WF_RUNTIME);
  assert_true(wf_has_grad_fn(z));
}

static void an_assigned_gradient_is_checked_in_torchs_order(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *wide = CONST(1, 2, 3), *whole = wf_from_data((int64_t[]){1, 2}, WF_SHAPE(2), WF_I64),
            *g = CONST(5, 6);
  assert_int_equal(wf_set_grad(x, x), WF_RUNTIME);
  assert_error(WF_RUNTIME, "can't assign Variable as its own grad");
  assert_int_equal(wf_set_grad(x, wide), WF_RUNTIME);
  assert_error(
      WF_RUNTIME,
      "attempting to assign a gradient of size '[3]' to a tensor of size '[2]'. Please ensure that the gradient and the tensor "
      "are the same size");
  assert_int_equal(wf_set_grad(x, whole), WF_RUNTIME);
  assert_error(
      WF_RUNTIME,
      "attempting to assign a gradient with dtype 'long int' to a tensor with grad_dtype 'Float'. The gradient must match the "
      "tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, "
      "or None to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
      "downstream systems that assume they match.");
  assert_null(wf_grad(x));
  assert_ok(wf_set_grad(x, g));
  assert_ptr_equal(wf_grad(x), g);
  assert_ok(wf_set_grad(x, NULL));
  assert_null(wf_grad(x));
}

static char logged[1024];
static void keep_log(wf_log_level level, const char *text, void *context) {
  (void)level;
  (void)context;
  snprintf(logged, sizeof logged, "%s", text);
}

static void reading_the_gradient_of_a_computed_tensor_warns(void **state) {
  (void)state;
  wf_tensor *y = wf_mul(LEAF(1), LEAF(2));
  logged[0] = 0;
  wf_log_set(keep_log, NULL);
  assert_null(wf_grad(y));
  wf_log_set(NULL, NULL);
  assert_true(strstr(logged, "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed.") == logged);
}

static void a_gradient_outlives_its_leafs_handle_only_as_long_as_the_graph(void **state) {
  (void)state;
  wf_tensor *kept = NULL;
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = LEAF(2, 3), *y = wf_sum(wf_mul(x, x));
  assert_ok(wf_backward(y, NULL, NULL));
  kept = wf_retain(wf_grad(x));
  wf_scope_end(scope, NULL);
  assert_values(kept, 4, 6);
  wf_free(kept);
}

static void a_leaf_may_be_freed_before_backward(void **state) {
  (void)state;
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = LEAF(2, 3), *w = LEAF(5, 7);
  wf_tensor *y = wf_retain(wf_sum(wf_mul(x, w)));
  wf_retain(w);
  wf_scope_end(scope, NULL); /* x's handle goes: its data is kept by the graph */
  assert_ok(wf_backward(y, NULL, NULL));
  assert_values(wf_grad(w), 2, 3);
  wf_free(y);
  wf_free(w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      SCOPED(leaves_and_results_know_what_they_are),
      SCOPED(getters_accept_null),
      SCOPED(nothing_is_recorded_without_gradient_mode),
      SCOPED(only_floating_point_can_require_grad),
      SCOPED(a_computed_tensor_keeps_its_flag),
      SCOPED(detach_in_place_cuts_the_tensor_off),
      SCOPED(an_assigned_gradient_is_checked_in_torchs_order),
      SCOPED(reading_the_gradient_of_a_computed_tensor_warns),
      SCOPED(a_gradient_outlives_its_leafs_handle_only_as_long_as_the_graph),
      SCOPED(a_leaf_may_be_freed_before_backward),
  };
  return cmocka_run_group_tests_name("autograd/meta", tests, NULL, NULL);
}
