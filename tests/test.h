/* What every test file includes: cmocka with the headers that it wants, and the library's error in failure messages. */
#ifndef WF_TESTS_TEST_H
#define WF_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <weft/base.h>

/* A step that must succeed; prints the library's error text when it doesn't. */
#define assert_ok(step)                                                       \
  do {                                                                        \
    wf_status wf_test_status = (step);                                        \
    if (wf_test_status) print_error("%s: %s\n", #step, wf_error_peek().text); \
    assert_int_equal(wf_test_status, WF_OK);                                  \
  } while (0)

/* The pending error must be of this kind and text; takes it. */
#define assert_error(kind, expected)                     \
  do {                                                   \
    wf_error wf_test_error = wf_error_take();            \
    assert_int_equal(wf_test_error.status, (kind));      \
    assert_string_equal(wf_test_error.text, (expected)); \
  } while (0)

/* Last line of each test file: WF_TEST_MAIN("tensor/layout", tests) runs the cmocka array. */
#define WF_TEST_MAIN(group, tests) \
  int main(void) { return cmocka_run_group_tests_name(group, tests, NULL, NULL); }

#endif
