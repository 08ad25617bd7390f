/* Dispatch by family. */
#include "test.h"

#include "exec/exec.h"

static void a_family_that_does_not_exist_is_not_implemented(void **state) {
  (void)state;
  wf_plan plan = {.family = 999, .operands = 1};
  plan.operand[0].dtype = WF_F32;
  assert_int_equal(wf__exec(&plan), WF_NOT_IMPLEMENTED);
  assert_error(WF_NOT_IMPLEMENTED, "\"unknown_cpu\" not implemented for 'Float'");
}

static void the_text_names_the_operator_and_the_dtype_of_arithmetic(void **state) {
  (void)state;
  wf_plan plan = {.family = 999, .operands = 1, .compute = WF_BF16, .tag = {.op = "add"}};
  plan.operand[0].dtype = WF_F32;
  assert_int_equal(wf__exec(&plan), WF_NOT_IMPLEMENTED);
  assert_error(WF_NOT_IMPLEMENTED, "\"add_cpu\" not implemented for 'BFloat16'");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_family_that_does_not_exist_is_not_implemented),
    cmocka_unit_test(the_text_names_the_operator_and_the_dtype_of_arithmetic),
};
WF_TEST_MAIN("exec/exec", tests)
