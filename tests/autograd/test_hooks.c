/* Hooks and retained gradients. */
#include "autograd/scoped.h"

static wf_tensor *triple(wf_tensor *grad, void *context) {
  (void)context;
  return wf_mul_scalar(grad, wf_int(3));
}
static wf_tensor *count(wf_tensor *grad, void *context) {
  (void)grad;
  ++*(int *)context;
  return NULL;
}

static void a_hook_replaces_the_gradient(void **state) {
  (void)state;
  int calls = 0;
  wf_tensor *x = LEAF(1, 2), *h = wf_mul_scalar(x, wf_int(2));
  assert_true(wf_register_hook(h, triple, NULL) != 0);
  assert_true(wf_register_hook(h, count, &calls) != 0);
  assert_true(wf_register_hook(x, triple, NULL) != 0);
  assert_ok(wf_backward(wf_sum(h), NULL, NULL));
  assert_int_equal(calls, 1);
  assert_values(wf_grad(x), 18, 18);
}

static void a_removed_hook_is_not_called(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1), *h = wf_mul_scalar(x, wf_int(2));
  uint64_t first = wf_register_hook(h, triple, NULL), second = wf_register_hook(h, triple, NULL);
  assert_true(first != second);
  wf_remove_hook(h, first);
  wf_remove_hook(h, 12345);
  wf_remove_hook(NULL, first);
  assert_ok(wf_backward(h, NULL, NULL));
  assert_values(wf_grad(x), 6);
}

static void a_hook_sees_the_sum_of_all_paths_once(void **state) {
  (void)state;
  int calls = 0;
  wf_tensor *x = LEAF(2), *h = wf_exp(wf_mul_scalar(x, wf_int(0)));
  wf_register_hook(h, count, &calls);
  assert_ok(wf_backward(wf_add(wf_mul(h, h), h), NULL, NULL));
  assert_int_equal(calls, 1);
}

static void a_hook_stays_with_the_function_that_a_change_replaced(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1), *y = wf_mul_scalar(x, wf_int(2));
  wf_register_hook(y, triple, NULL);
  assert_ok(wf_mul_scalar_(y, wf_int(5)));
  assert_ok(wf_backward(y, NULL, NULL)); /* 1 · 5, tripled on its way into the first multiplication, · 2 */
  assert_values(wf_grad(x), 30);
}

static void only_tensors_that_require_grad_have_hooks(void **state) {
  (void)state;
  assert_true(wf_register_hook(CONST(1), triple, NULL) == 0);
  assert_error(WF_RUNTIME, "cannot register a hook on a tensor that doesn't require gradient");
  assert_int_equal(wf_retain_grad(CONST(1)), WF_RUNTIME);
  assert_error(WF_RUNTIME, "can't retain_grad on Tensor that has requires_grad=False");
}

static wf_tensor *reshape_it(wf_tensor *grad, void *context) {
  (void)context;
  return wf_view(grad, WF_SHAPE(2, 1));
}
static wf_tensor *widen_it(wf_tensor *grad, void *context) {
  (void)context;
  return wf_mul(grad, wf_full(WF_SHAPE(2), wf_float(1), &(wf_tensor_options){.dtype = WF_F64}));
}

static void a_hook_may_not_change_size_or_dtype(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *y = wf_exp(x);
  uint64_t number = wf_register_hook(y, reshape_it, NULL);
  assert_int_equal(wf_backward(wf_sum(y), NULL, NULL), WF_RUNTIME);
  assert_non_null(strstr(wf_error_take().text, "has changed the size of value"));
  wf_remove_hook(y, number);
  y = wf_exp(x);
  wf_register_hook(y, widen_it, NULL);
  assert_int_equal(wf_backward(wf_sum(y), NULL, NULL), WF_RUNTIME);
  assert_non_null(strstr(wf_error_take().text, "has changed the type of value"));
}

static void a_retained_gradient_is_the_one_behind_the_hooks(void **state) {
  (void)state;
  wf_backward_options keep = wf_backward_defaults();
  keep.retain_graph = true;
  wf_tensor *x = LEAF(1, 2), *y = wf_mul_scalar(x, wf_int(2)), *s = wf_sum(wf_mul_scalar(y, wf_int(5)));
  assert_ok(wf_retain_grad(y));
  assert_ok(wf_retain_grad(y));
  assert_ok(wf_retain_grad(x)); /* a leaf: nothing to do */
  wf_register_hook(y, triple, NULL);
  assert_ok(wf_backward(s, NULL, &keep));
  wf_tensor *first = wf_grad(y);
  assert_values(first, 15, 15);
  assert_ok(wf_backward(s, NULL, NULL)); /* added out of place: first may be the user's */
  assert_values(first, 15, 15);
  assert_values(wf_grad(y), 30, 30);
}

static void a_retaining_tensor_may_go_before_backward(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2);
  wf_scope scope = wf_scope_begin();
  wf_tensor *y = wf_exp(x);
  assert_ok(wf_retain_grad(y));
  wf_tensor *s = wf_scope_end(scope, wf_sum(y));
  assert_ok(wf_backward(s, NULL, NULL));
  assert_values(wf_grad(x), expf(1), expf(2));
}

static wf_tensor *double_in_place(wf_tensor *grad, void *context) {
  *(wf_status *)context = wf_mul_scalar_(grad, wf_int(2));
  wf_error_take();
  return NULL;
}

static void a_gradient_that_others_see_may_not_change_in_a_hook(void **state) {
  (void)state;
  wf_status changed = WF_OK;
  wf_tensor *x = LEAF(1, 1, 1), *y = LEAF(1, 1, 1), *u = CONST(1, 1, 1);
  wf_register_hook(x, double_in_place, &changed);
  assert_ok(wf_backward(wf_add(x, y), u, NULL));
  assert_int_equal(changed, WF_RUNTIME);
  assert_values(u, 1, 1, 1);
  assert_values(wf_grad(y), 1, 1, 1);
  assert_values(wf_grad(x), 1, 1, 1);
}

static void a_gradient_of_ones_own_may_change_in_a_hook(void **state) {
  (void)state;
  wf_status changed = WF_CANCELLED;
  wf_tensor *x = LEAF(1, 2), *y = wf_mul(x, CONST(3, 4));
  wf_register_hook(x, double_in_place, &changed);
  assert_ok(wf_backward(y, CONST(1, 1), NULL));
  assert_int_equal(changed, WF_OK);
  assert_values(wf_grad(x), 6, 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      SCOPED(a_hook_replaces_the_gradient),
      SCOPED(a_removed_hook_is_not_called),
      SCOPED(a_hook_sees_the_sum_of_all_paths_once),
      SCOPED(a_hook_stays_with_the_function_that_a_change_replaced),
      SCOPED(only_tensors_that_require_grad_have_hooks),
      SCOPED(a_hook_may_not_change_size_or_dtype),
      SCOPED(a_retained_gradient_is_the_one_behind_the_hooks),
      SCOPED(a_retaining_tensor_may_go_before_backward),
      SCOPED(a_gradient_that_others_see_may_not_change_in_a_hook),
      SCOPED(a_gradient_of_ones_own_may_change_in_a_hook),
  };
  return cmocka_run_group_tests_name("autograd/hooks", tests, NULL, NULL);
}
