/* Changes in place: what is refused, how a change of a view rewrites its base's history, renewal of views. Values of the gradients by
 * arithmetic; the functions' names as torch 2.15 gives them. */
#include "autograd/scoped.h"

#include "autograd/node.h"

#define LEAF_TEXT "a leaf Variable that requires grad is being used in an in-place operation."
#define VIEW_TEXT "a view of a leaf Variable that requires grad is being used in an in-place operation."
#define NO_GRAD_TAIL                                                                                                                   \
  " modified inplace with grad mode enabled. Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify " \
  "your code by moving both the view and the inplace either both inside the no_grad block (if you don't want the inplace to be "       \
  "tracked) or both outside (if you want the inplace to be tracked)."
#define MULTI_TAIL                                                                                                                      \
  " modified inplace. This view is the output of a function that returns multiple views. Such functions do not allow the output views " \
  "to be modified inplace. You should replace the inplace operation by an out-of-place one."

static void leaves_that_require_grad_and_their_views_are_refused(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2);
  assert_int_equal(wf_add_scalar_(x, wf_int(1)), WF_RUNTIME);
  assert_error(WF_RUNTIME, LEAF_TEXT);
  assert_int_equal(wf_add_scalar_(wf_narrow(x, 0, 0, 1), wf_int(1)), WF_RUNTIME);
  assert_error(WF_RUNTIME, VIEW_TEXT);
  assert_values(x, 1, 2);
  assert_int_equal(wf_version_of(x), 0);
  bool was = wf_grad_set_enabled(false);
  assert_ok(wf_add_scalar_(x, wf_int(1)));
  wf_grad_set_enabled(was);
  assert_values(x, 2, 3);
}

static void a_leaf_without_grad_may_take_in_what_requires_it(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *c = CONST(10, 20);
  assert_ok(wf_mul_(c, x));
  assert_false(wf_is_leaf(c));
  assert_string_equal(wf_grad_fn_name(c), "MulBackward0");
  assert_ok(wf_backward(wf_sum(c), NULL, NULL));
  assert_values(wf_grad(x), 10, 20);
}

static void a_change_of_a_view_becomes_history_of_the_base(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2, 3, 4), *base = wf_mul_scalar(x, wf_int(1)), *view = wf_narrow(base, 0, 1, 2);
  assert_ok(wf_square_(view)); /* base: x0, x1², x2², x3 */
  assert_string_equal(wf_grad_fn_name(base), "CopySlices");
  assert_string_equal(wf_grad_fn_name(view), "AsStridedBackward0");
  assert_ok(wf_backward(wf_sum(base), NULL, NULL));
  assert_values(wf_grad(x), 1, 4, 6, 1);
}

static void a_change_of_the_base_reaches_earlier_views(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2, 3, 4), *base = wf_mul_scalar(x, wf_int(1)), *view = wf_view(base, WF_SHAPE(2, 2));
  assert_string_equal(wf_grad_fn_name(view), "ViewBackward0");
  assert_ok(wf_mul_scalar_(base, wf_int(5)));
  assert_string_equal(wf_grad_fn_name(view), "AsStridedBackward0");
  assert_ptr_equal(wf__grad_fn(view), wf__grad_fn(view)); /* renewed once, not at each look */
  assert_ok(wf_backward(wf_sum(wf_t(view)), NULL, NULL));
  assert_values(wf_grad(x), 5, 5, 5, 5);
}

static void a_view_of_a_view_changes_the_base_behind_both(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2, 3, 4, 5, 6), *base = wf_view(wf_mul_scalar(x, wf_int(1)), WF_SHAPE(2, 3));
  wf_tensor *column = wf_select(wf_t(base), 0, 1), *other = wf_select(base, 0, 1);
  assert_ok(wf_square_(column));               /* x1 and x4 */
  assert_ok(wf_mul_scalar_(other, wf_int(3))); /* row 1: x3, x4², x5 */
  assert_ok(wf_backward(wf_sum(base), NULL, NULL));
  assert_values(wf_grad(x), 1, 4, 1, 3, 30, 3);
}

static void expanded_and_overlapping_views_are_renewed_by_summing(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2, 3), *base = wf_mul_scalar(x, wf_int(1));
  wf_tensor *wide = wf_expand(base, WF_SHAPE(4, 3)), *windows = wf_unfold(base, 0, 2, 1); /* rows (x0,x1), (x1,x2) */
  assert_ok(wf_mul_scalar_(base, wf_int(2)));
  assert_ok(wf_backward(wf_add(wf_sum(wide), wf_sum(windows)), NULL, NULL));
  assert_values(wf_grad(x), 2 * (4 + 1), 2 * (4 + 2), 2 * (4 + 1));
}

static void a_base_without_grad_takes_it_from_its_changed_view(void **state) {
  (void)state;
  wf_tensor *w = LEAF(3, 4), *base = CONST(1, 2, 5), *view = wf_narrow(base, 0, 0, 2),
            *sibling = wf_narrow(base, 0, 1, 2);
  assert_false(wf_requires_grad(sibling));
  assert_ok(wf_mul_(view, w));
  assert_true(wf_requires_grad(base));
  assert_true(wf_requires_grad(sibling));
  assert_false(wf_is_leaf(sibling));
  assert_ok(wf_backward(wf_sum(sibling), NULL, NULL));
  assert_values(wf_grad(w), 0, 2);
}

static void what_is_overwritten_gets_no_gradient(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2, 3), *mask = wf_gt_scalar(CONST(0, 1), wf_int(0)), *base = wf_mul(x, x);
  assert_ok(wf_masked_fill_(wf_narrow(base, 0, 1, 2), mask, wf_int(0)));
  assert_ok(wf_backward(wf_sum(base), NULL, NULL));
  assert_values(wf_grad(x), 2, 4, 0);
}

static void pieces_of_several_outputs_may_not_change(void **state) {
  (void)state;
  wf_tensor *y = wf_mul_scalar(LEAF(1, 2, 3, 4), wf_int(1));
  wf_tensors pieces = wf_split(y, 2, 0);
  assert_int_equal(wf_add_scalar_(pieces.at[1], wf_int(1)), WF_RUNTIME);
  assert_error(WF_RUNTIME, "Output 1 of Split is a view and is being" MULTI_TAIL);
  wf_tensors rows = wf_unbind(wf_view(y, WF_SHAPE(2, 2)), 0);
  assert_ok(wf_mul_scalar_(y, wf_int(2)));
  assert_false(wf_is_leaf(rows.at[1]) && false);
  assert_error(WF_RUNTIME, "Output 1 of Unbind is a view and its base or another view of its base has been" MULTI_TAIL);
}

static void views_made_without_recording_may_not_change_while_it_is_on(void **state) {
  (void)state;
  wf_tensor *c = CONST(1, 2), *w = LEAF(3);
  bool was = wf_grad_set_enabled(false);
  wf_tensor *view = wf_narrow(c, 0, 0, 1);
  wf_grad_set_enabled(was);
  assert_int_equal(wf_mul_(view, w), WF_RUNTIME);
  assert_error(WF_RUNTIME, "A view was created in no_grad mode and is being" NO_GRAD_TAIL);
  assert_ok(wf_mul_scalar_(view, wf_int(2))); /* nothing to record */
  assert_values(c, 2, 2);
  assert_ok(wf_mul_(c, w));
  assert_false(wf_has_grad_fn(view));
  assert_error(WF_RUNTIME,
               "A view was created in no_grad mode and its base or another view of its base has been" NO_GRAD_TAIL);
}

static void a_retained_gradient_follows_the_tensor_through_a_change(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *y = wf_mul_scalar(x, wf_int(2));
  assert_ok(wf_retain_grad(y));
  assert_ok(wf_mul_scalar_(y, wf_int(3)));
  assert_ok(wf_backward(wf_mul_scalar(y, wf_int(5)), CONST(1, 1), NULL));
  assert_values(wf_grad(y), 5, 5);
  assert_values(wf_grad(x), 30, 30);
}

static void data_written_by_the_host_counts_as_a_change(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *c = CONST(3, 4), *y = wf_mul(x, c);
  assert_null(wf_tensor_map(x, WF_WRITE));
  assert_error(WF_RUNTIME, LEAF_TEXT);
  float *p = wf_tensor_map(c, WF_WRITE);
  assert_non_null(p);
  p[0] = 9;
  wf_tensor_unmap(c);
  assert_int_equal(wf_backward(wf_sum(y), NULL, NULL), WF_RUNTIME);
  assert_int_equal(wf_error_take().status, WF_RUNTIME);
}

/* A tensor less its own norm: its function leads to the norm's, which kept the tensor. */
static void less_its_norm(wf_tensor *t, int times) {
  for (int i = 0; i < times; i++) assert_ok(wf_sub_(t, wf_norm(t, wf_no_scalar(), WF_SHAPE0, false)));
}

static void a_change_that_depends_on_what_it_overwrites_leaves_no_memory_behind(void **state) {
  (void)state;
  wf_tensor *x = LEAF(3, 4);
  wf_allocator_stats before, after;
  for (int round = 0; round < 2; round++) { /* the first fills caches */
    assert_ok(wf_memory_stats(wf_cpu(), false, &before));
    for (int form = 0; form < 3; form++) {
      wf_scope scope = wf_scope_begin();
      wf_tensor *y = wf_mul_scalar(x, wf_int(2));
      less_its_norm(form == 2 ? wf_narrow(y, 0, 0, 1) : y, form == 1 ? 3 : 1);
      if (form == 2) less_its_norm(y, 1);
      wf_scope_end(scope, NULL);
    }
    assert_ok(wf_memory_stats(wf_cpu(), false, &after));
    assert_int_equal(after.allocation[0].current, before.allocation[0].current);
  }
}

static wf_tensor *norm_of(wf_tensor *t) { return wf_norm(t, wf_no_scalar(), WF_SHAPE0, false); }

/* PyTorch names the function that the tensor has by then. */
static void a_kept_tensor_is_named_by_the_function_that_changed_it(void **state) {
  (void)state;
  for (int form = 0; form < 4; form++) {
    wf_tensor *y = wf_mul_scalar(LEAF(3, 4), wf_int(2)), *n = norm_of(y);
    const char *const expected[] = {"output 0 of Sub, is at version 1;", "output 0 of Mul, is at version 2;",
                                    "output 0 of torch::autograd::CopySlices, is at version 1;",
                                    "output 0 of Mul, is at version 1;"};
    bool was = wf_grad_set_enabled(form != 3);
    assert_ok(form == 2 ? wf_sub_scalar_(wf_narrow(y, 0, 0, 1), wf_int(1)) : wf_sub_(y, n));
    if (form == 1) assert_ok(wf_mul_scalar_(y, wf_int(3)));
    wf_grad_set_enabled(was);
    assert_int_equal(wf_backward(n, NULL, NULL), WF_RUNTIME);
    wf_error e = wf_error_take();
    if (!strstr(e.text, expected[form])) fail_msg("form %d: %s", form, e.text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      SCOPED(leaves_that_require_grad_and_their_views_are_refused),
      SCOPED(a_leaf_without_grad_may_take_in_what_requires_it),
      SCOPED(a_change_of_a_view_becomes_history_of_the_base),
      SCOPED(a_change_of_the_base_reaches_earlier_views),
      SCOPED(a_view_of_a_view_changes_the_base_behind_both),
      SCOPED(expanded_and_overlapping_views_are_renewed_by_summing),
      SCOPED(a_base_without_grad_takes_it_from_its_changed_view),
      SCOPED(what_is_overwritten_gets_no_gradient),
      SCOPED(pieces_of_several_outputs_may_not_change),
      SCOPED(views_made_without_recording_may_not_change_while_it_is_on),
      SCOPED(a_retained_gradient_follows_the_tensor_through_a_change),
      SCOPED(data_written_by_the_host_counts_as_a_change),
      SCOPED(a_change_that_depends_on_what_it_overwrites_leaves_no_memory_behind),
      SCOPED(a_kept_tensor_is_named_by_the_function_that_changed_it),
  };
  return cmocka_run_group_tests_name("autograd/inplace", tests, NULL, NULL);
}
