/* The normal form of copies. */
#include "test.h"

#include "copy/form.h"

static wf_plan plan_of(int ndim, const int64_t *size, const int64_t *to, const int64_t *from) {
  wf_plan plan = {.family = WF_FAMILY_COPY, .operands = from ? 2 : 1, .ndim = (uint8_t)ndim};
  plan.operand[0].dtype = plan.operand[1].dtype = WF_F32;
  for (int d = 0; d < ndim; d++) {
    plan.size[d] = size[d];
    plan.operand[0].stride[d] = to[d];
    if (from) plan.operand[1].stride[d] = from[d];
  }
  return plan;
}

static void check(const wf_plan *plan, int ndim, const int64_t *size, const int64_t *to, const int64_t *from) {
  assert_int_equal(plan->ndim, ndim);
  for (int d = 0; d < ndim; d++) {
    assert_int_equal(plan->size[d], size[d]);
    assert_int_equal(plan->operand[0].stride[d], to[d]);
    if (from) assert_int_equal(plan->operand[1].stride[d], from[d]);
  }
}
#define LIST(...) ((const int64_t[]){__VA_ARGS__})

static void merges_dims_that_are_consecutive_in_both(void **state) {
  (void)state;
  wf_plan plan = plan_of(3, LIST(2, 3, 4), LIST(48, 16, 4), LIST(96, 16, 4));
  wf__copy_form(&plan);
  check(&plan, 2, LIST(2, 12), LIST(48, 4), LIST(96, 4));
  assert_false(wf__copy_is_run(&plan));
}

static void a_contiguous_copy_of_any_rank_is_one_run(void **state) {
  (void)state;
  wf_plan plan = plan_of(4, LIST(2, 3, 1, 4), LIST(48, 16, 999, 4), LIST(48, 16, 7, 4));
  wf__copy_form(&plan);
  check(&plan, 1, LIST(24), LIST(4), LIST(4));
  assert_true(wf__copy_is_run(&plan));
}

static void equal_transposes_are_one_run_and_opposite_ones_are_not(void **state) {
  (void)state;
  wf_plan plan = plan_of(2, LIST(3, 5), LIST(4, 12), LIST(4, 12));
  wf__copy_form(&plan);
  assert_true(wf__copy_is_run(&plan));
  plan = plan_of(2, LIST(3, 5), LIST(4, 12), LIST(20, 4));
  wf__copy_form(&plan);
  check(&plan, 2, LIST(5, 3), LIST(12, 4), LIST(4, 20));
  assert_false(wf__copy_is_run(&plan));
}

static void dims_are_ordered_by_the_destination(void **state) {
  (void)state; /* NCHW source, NHWC destination: H and W merge, C becomes the fastest */
  wf_plan plan = plan_of(4, LIST(2, 3, 5, 7), LIST(420, 4, 84, 12), LIST(420, 140, 28, 4));
  wf__copy_form(&plan);
  check(&plan, 3, LIST(2, 35, 3), LIST(420, 12, 4), LIST(420, 4, 140));
}

static void a_repeated_source_merges_with_itself(void **state) {
  (void)state;
  wf_plan plan = plan_of(2, LIST(3, 5), LIST(20, 4), LIST(0, 0));
  wf__copy_form(&plan);
  check(&plan, 1, LIST(15), LIST(4), LIST(0));
}

static void a_fill_forgets_where_its_destination_repeats(void **state) {
  (void)state;
  wf_plan plan = plan_of(3, LIST(4, 3, 5), LIST(0, 20, 4), NULL);
  wf__copy_form(&plan);
  check(&plan, 1, LIST(15), LIST(4), NULL);
}

static void a_number_has_no_dims_and_is_a_run(void **state) {
  (void)state;
  wf_plan plan = plan_of(2, LIST(1, 1), LIST(0, 8), LIST(4, 4));
  wf__copy_form(&plan);
  assert_int_equal(plan.ndim, 0);
  assert_true(wf__copy_is_run(&plan));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(merges_dims_that_are_consecutive_in_both),
    cmocka_unit_test(a_contiguous_copy_of_any_rank_is_one_run),
    cmocka_unit_test(equal_transposes_are_one_run_and_opposite_ones_are_not),
    cmocka_unit_test(dims_are_ordered_by_the_destination),
    cmocka_unit_test(a_repeated_source_merges_with_itself),
    cmocka_unit_test(a_fill_forgets_where_its_destination_repeats),
    cmocka_unit_test(a_number_has_no_dims_and_is_a_run),
};
WF_TEST_MAIN("copy/form", tests)
