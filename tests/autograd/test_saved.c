/* Saved tensors: the version error with torch 2.15's text and a hint, what is no error, what detach_ does to them. */
#include "autograd/scoped.h"

#define HINT                                                                                         \
  " Hint: enable anomaly detection to find the operation that failed to compute its gradient, with " \
  "torch.autograd.set_detect_anomaly(True, check_nan=False)."

static void a_changed_input_is_an_error_that_names_its_function(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2, 3), *h = wf_exp(x), *y = wf_mul(h, h);
  assert_ok(wf_add_scalar_(h, wf_int(1)));
  assert_int_equal(wf_backward(wf_sum(y), NULL, NULL), WF_RUNTIME);
  assert_true(strstr(wf_error_peek().hint, "add_") != NULL);
  assert_true(strstr(wf_error_peek().hint, "MulBackward0") != NULL);
  assert_error(
      WF_RUNTIME,
      "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], "
      "which is output 0 of Add, is at version 1; expected version 0 instead." HINT);
  assert_null(wf_grad(x));
}

static void a_changed_result_is_named_by_its_own_function(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2, 3), *y = wf_exp(x), *s = wf_sum(y);
  bool was = wf_grad_set_enabled(false);
  assert_ok(wf_mul_scalar_(y, wf_int(2)));
  wf_grad_set_enabled(was);
  assert_int_equal(wf_backward(s, NULL, NULL), WF_RUNTIME);
  assert_error(
      WF_RUNTIME,
      "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], "
      "which is output 0 of Exp, is at version 1; expected version 0 instead." HINT);
}

static void a_changed_tensor_without_function_has_no_name(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *c = CONST(3, 4), *y = wf_mul(x, c);
  assert_ok(wf_add_scalar_(c, wf_int(1)));
  assert_int_equal(wf_backward(wf_sum(y), NULL, NULL), WF_RUNTIME);
  assert_error(
      WF_RUNTIME,
      "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [2]] is "
      "at version 1; expected version 0 instead." HINT);
}

static void changing_through_a_view_or_a_detached_alias_is_noticed(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *c = CONST(3, 4), *y = wf_mul(x, c);
  assert_ok(wf_add_scalar_(wf_narrow(c, 0, 0, 1), wf_int(1)));
  assert_int_equal(wf_backward(wf_sum(y), NULL, NULL), WF_RUNTIME);
  assert_int_equal(wf_error_take().status, WF_RUNTIME);
  wf_tensor *h = wf_exp(x), *z = wf_sum(wf_mul(h, h));
  assert_ok(wf_add_scalar_(wf_detach(h), wf_int(1)));
  assert_int_equal(wf_backward(z, NULL, NULL), WF_RUNTIME);
  assert_int_equal(wf_error_take().status, WF_RUNTIME);
}

static void what_the_derivative_does_not_need_may_change(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *h = wf_exp(x), *sum = wf_add(h, h);
  assert_ok(wf_mul_scalar_(sum, wf_int(2))); /* add keeps nothing */
  wf_tensor *c = CONST(3, 4), *y = wf_mul(c, x);
  bool was = wf_grad_set_enabled(false);
  assert_ok(wf_mul_scalar_(x, wf_int(1))); /* x is kept for c's gradient only, and c wants none */
  wf_grad_set_enabled(was);
  assert_ok(wf_backward(wf_sum(wf_add(sum, y)), NULL, NULL));
  assert_values(wf_grad(x), 4 * expf(1) + 3, 4 * expf(2) + 4);
}

static void an_operator_in_place_does_not_accuse_itself(void **state) {
  (void)state;
  wf_status (*const changes[])(wf_tensor *) = {wf_exp_,        wf_sigmoid_, wf_tanh_, wf_sqrt_,
                                               wf_reciprocal_, wf_rsqrt_,   wf_relu_};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    wf_tensor *x = LEAF(0.5f, 1), *y = wf_mul_scalar(x, wf_int(1));
    assert_ok(changes[i](y));
    assert_int_equal(wf_version_of(y), 1);
    assert_ok(wf_backward(wf_sum(y), NULL, NULL));
    assert_non_null(wf_grad(x));
  }
  wf_tensor *x = LEAF(0, 1), *y = wf_mul_scalar(x, wf_int(1));
  assert_ok(wf_exp_(y));
  assert_ok(wf_backward(wf_sum(y), NULL, NULL));
  assert_values(wf_grad(x), 1, 2.71828f);
}

static void the_operator_that_would_have_run_first_is_blamed(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *a = CONST(1, 1), *b = CONST(1, 1, 1, 1);
  wf_tensor *early = wf_mul(x, a), *late = wf_mul(wf_view(early, WF_SHAPE(2, 1)), wf_view(b, WF_SHAPE(2, 2)));
  assert_ok(wf_add_scalar_(a, wf_int(1)));
  assert_ok(wf_add_scalar_(b, wf_int(1)));
  assert_int_equal(wf_backward(wf_sum(late), NULL, NULL), WF_RUNTIME);
  assert_true(strstr(wf_error_take().text, "[torch.FloatTensor [2, 2]]") != NULL);
}

static void a_kept_input_that_was_detached_in_place_is_an_error(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *h = wf_exp(x), *y = wf_mul(h, h);
  assert_ok(wf_detach_(h));
  assert_int_equal(wf_backward(wf_sum(y), NULL, NULL), WF_RUNTIME);
  assert_error(
      WF_RUNTIME,
      "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, please use "
      "out-of-place `.detach()` instead");
  wf_tensor *own = wf_exp(x), *z = wf_sum(own);
  assert_ok(wf_detach_(own)); /* the function kept its own result: allowed */
  assert_ok(wf_backward(z, NULL, NULL));
}

static void anomaly_mode_has_another_hint(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1), *c = CONST(3), *y = wf_mul(x, c);
  assert_ok(wf_add_scalar_(c, wf_int(1)));
  wf_detect_anomaly(true);
  assert_int_equal(wf_backward(y, NULL, NULL), WF_RUNTIME);
  wf_detect_anomaly(false);
  assert_error(
      WF_RUNTIME,
      "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [1]] is "
      "at version 1; expected version 0 instead. Hint: the backtrace further above shows the operation that failed to compute its "
      "gradient. The variable in question was changed in there or anywhere later. Good luck!");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      SCOPED(a_changed_input_is_an_error_that_names_its_function),
      SCOPED(a_changed_result_is_named_by_its_own_function),
      SCOPED(a_changed_tensor_without_function_has_no_name),
      SCOPED(changing_through_a_view_or_a_detached_alias_is_noticed),
      SCOPED(what_the_derivative_does_not_need_may_change),
      SCOPED(an_operator_in_place_does_not_accuse_itself),
      SCOPED(the_operator_that_would_have_run_first_is_blamed),
      SCOPED(a_kept_input_that_was_detached_in_place_is_an_error),
      SCOPED(anomaly_mode_has_another_hint),
  };
  return cmocka_run_group_tests_name("autograd/saved", tests, NULL, NULL);
}
