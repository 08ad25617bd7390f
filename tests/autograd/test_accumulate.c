/* Accumulation on leaves: what is kept as it comes, what is copied, which layout the gradient has (reference: "Gradient accumulation on
 * leaves"). */
#include "autograd/scoped.h"

static void check_strides(const wf_tensor *t, wf_dims want) {
  assert_non_null(t);
  for (int d = 0; d < want.n; d++) assert_int_equal(wf_stride(t, d), want.at[d]);
}

static void later_gradients_are_added_in_place(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2);
  assert_ok(wf_backward(wf_sum(wf_mul_scalar(x, wf_int(3))), NULL, NULL));
  wf_tensor *first = wf_grad(x);
  assert_ok(wf_backward(wf_sum(wf_mul_scalar(x, wf_int(4))), NULL, NULL));
  assert_ptr_equal(wf_grad(x), first);
  assert_values(first, 7, 7);
}

static void with_a_graph_of_the_gradient_the_sum_is_a_new_tensor(void **state) {
  (void)state;
  wf_backward_options create = wf_backward_defaults();
  create.create_graph = true;
  wf_tensor *x = LEAF(2);
  assert_ok(wf_backward(wf_mul(x, x), NULL, &create));
  wf_tensor *first = wf_grad(x);
  assert_true(wf_has_grad_fn(first));
  assert_ok(wf_backward(wf_mul(x, x), NULL, &create));
  assert_ptr_not_equal(wf_grad(x), first);
  assert_values(first, 4);
  assert_values(wf_grad(x), 8);
  assert_ok(wf_set_grad(x, NULL)); /* breaks the cycle of leaf, gradient and graph */
}

static void a_gradient_that_the_caller_holds_is_copied(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *g = CONST(3, 4);
  assert_ok(wf_backward(wf_add_scalar(x, wf_int(0)), g, NULL));
  assert_false(wf_shares_storage(wf_grad(x), g));
  assert_ok(wf_mul_scalar_(wf_grad(x), wf_int(0)));
  assert_values(g, 3, 4);
}

static void two_leaves_of_one_sum_do_not_share_their_gradient(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *y = LEAF(1, 2);
  assert_ok(wf_backward(wf_add(x, y), CONST(5, 6), NULL));
  assert_false(wf_shares_storage(wf_grad(x), wf_grad(y)));
  assert_values(wf_grad(x), 5, 6);
  assert_values(wf_grad(y), 5, 6);
}

static void a_dense_leafs_gradient_has_its_strides(void **state) {
  (void)state;
  wf_tensor *x = wf_empty_strided(WF_SHAPE(2, 3), WF_SHAPE(1, 2), NULL);
  assert_ok(wf_masked_fill_(x, wf_full(WF_SHAPE(1), wf_bool(true), NULL), wf_int(1)));
  assert_ok(wf_requires_grad_(x, true));
  assert_ok(
      wf_backward(wf_sum(wf_mul_scalar(x, wf_int(2))), NULL, NULL)); /* the gradient arrives expanded, with strides 0 */
  check_strides(wf_grad(x), WF_SHAPE(1, 2));
  wf_tensor *y = wf_ones(WF_SHAPE(2, 3), NULL);
  assert_ok(wf_requires_grad_(y, true));
  assert_ok(wf_backward(wf_t(y), wf_ones(WF_SHAPE(3, 2), NULL), NULL));
  check_strides(wf_grad(y), WF_SHAPE(3, 1));
}

static void a_leaf_with_gaps_gets_a_row_major_gradient(void **state) {
  (void)state;
  wf_tensor *wide = wf_ones(WF_SHAPE(3, 4), NULL), *x = wf_detach(wf_narrow(wide, 1, 0, 2));
  assert_ok(wf_requires_grad_(x, true));
  wf_tensor *three = wf_full(WF_SHAPE(3, 2), wf_float(3), NULL), *y = wf_mul(x, three),
            *ones = wf_ones(WF_SHAPE(3, 2), NULL);
  assert_ok(wf_trace_start(WF_TRACE_LEDGER));
  assert_ok(wf_backward(y, ones, NULL));
  wf_trace_stop();
  assert_int_equal(wf_ledger_implicit_copies(), 0); /* it came row-major */
  check_strides(wf_grad(x), WF_SHAPE(2, 1));
  assert_values(wf_grad(x), 3, 3, 3, 3, 3, 3);
  assert_ok(wf_set_grad(x, NULL));
  assert_ok(wf_backward(wf_sum(x), NULL, NULL)); /* expanded: copied to row-major */
  check_strides(wf_grad(x), WF_SHAPE(2, 1));
}

static void an_assigned_gradient_keeps_its_own_layout(void **state) {
  (void)state;
  wf_tensor *x = wf_ones(WF_SHAPE(2, 3), NULL), *g = wf_t(wf_ones(WF_SHAPE(3, 2), NULL));
  assert_ok(wf_requires_grad_(x, true));
  assert_ok(wf_set_grad(x, g));
  assert_ok(wf_backward(wf_sum(x), NULL, NULL));
  assert_ptr_equal(wf_grad(x), g);
  check_strides(g, WF_SHAPE(1, 2));
  assert_values(g, 2, 2, 2, 2, 2, 2);
}

static void a_fresh_gradient_is_kept_without_a_copy(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *w = CONST(3, 4);
  wf_tensor *y = wf_mul(x, w);
  assert_ok(wf_trace_start(WF_TRACE_LEDGER));
  assert_ok(wf_backward(y, CONST(1, 1), NULL));
  wf_trace_stop();
  assert_int_equal(wf_ledger_implicit_copies(), 0);
  assert_values(wf_grad(x), 3, 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      SCOPED(later_gradients_are_added_in_place),         SCOPED(with_a_graph_of_the_gradient_the_sum_is_a_new_tensor),
      SCOPED(a_gradient_that_the_caller_holds_is_copied), SCOPED(two_leaves_of_one_sum_do_not_share_their_gradient),
      SCOPED(a_dense_leafs_gradient_has_its_strides),     SCOPED(a_leaf_with_gaps_gets_a_row_major_gradient),
      SCOPED(an_assigned_gradient_keeps_its_own_layout),  SCOPED(a_fresh_gradient_is_kept_without_a_copy),
  };
  return cmocka_run_group_tests_name("autograd/accumulate", tests, NULL, NULL);
}
