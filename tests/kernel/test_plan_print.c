/* Plans as text. */
#include "test.h"

#include "kernel/kernel.h"
#include "kernel/plan_print.h"

static wf_plan sum_of_two(void *data) {
  wf_plan plan = {.family = WF_FAMILY_POINTWISE,
                  .op = WF__PW_ADD,
                  .operands = 3,
                  .outputs = 1,
                  .ndim = 2,
                  .compute = WF_F32,
                  .size = {2, 3}};
  plan.operand[0] = (wf_operand){data, WF_F32, {12, 4}};
  plan.operand[1] = (wf_operand){data, WF_F16, {6, 2}};
  plan.operand[2] = (wf_operand){data, WF_F32, {0, 4}};
  plan.scalar[0] = wf_float(0.5);
  return plan;
}

static void a_plan_names_its_operator_sizes_operands_and_numbers(void **state) {
  (void)state;
  char buffer[200];
  wf_plan plan = sum_of_two(buffer);
  const char *expected = "pointwise add f32 [2,3]: f32(12,4) := f16(6,2), f32(0,4), 0.5";
  assert_int_equal(wf__plan_print(&plan, buffer, sizeof buffer), strlen(expected));
  assert_string_equal(buffer, expected);
}

static void absent_operands_and_unknown_families_print_too(void **state) {
  (void)state;
  char buffer[200];
  wf_plan plan = sum_of_two(buffer);
  plan.operand[1].data = NULL;
  plan.scalar[1] = wf_int(-7);
  plan.family = 200;
  plan.op = 9;
  wf__plan_print(&plan, buffer, sizeof buffer);
  assert_string_equal(buffer, "unknown 9 f32 [2,3]: f32(12,4) := -, f32(0,4), 0.5, -7");
  wf_plan fill = {.family = WF_FAMILY_COPY, .operands = 1, .outputs = 1, .scalar = {wf_int(0)}};
  fill.operand[0] = (wf_operand){buffer, WF_BOOL, {0}};
  wf__plan_print(&fill, buffer, sizeof buffer);
  assert_string_equal(buffer, "copy []: bool(), 0");
}

static void a_short_buffer_is_filled_and_ended_and_the_need_is_told(void **state) {
  (void)state;
  char whole[200], cut[200];
  wf_plan plan = sum_of_two(whole);
  size_t need = wf__plan_print(&plan, whole, sizeof whole);
  for (size_t size = 0; size <= need + 1; size++) {
    memset(cut, '#', sizeof cut);
    assert_int_equal(wf__plan_print(&plan, cut, size), need);
    assert_int_equal(cut[size], '#');
    if (!size) continue;
    assert_int_equal(strlen(cut), size - 1);
    assert_memory_equal(cut, whole, size - 1);
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_plan_names_its_operator_sizes_operands_and_numbers),
    cmocka_unit_test(absent_operands_and_unknown_families_print_too),
    cmocka_unit_test(a_short_buffer_is_filled_and_ended_and_the_need_is_told),
};
WF_TEST_MAIN("kernel/plan_print", tests)
