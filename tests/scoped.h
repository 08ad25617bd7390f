/* Tests that make tensors in a scope of their own, which ends with them whatever happens. */
#ifndef WF_TESTS_SCOPED_H
#define WF_TESTS_SCOPED_H

#include "test.h"

#include <weft/tensor.h>

static wf_scope scope;

static inline int open_scope(void **state) {
  (void)state;
  scope = wf_scope_begin();
  return 0;
}

static inline int end_scope(void **state) {
  (void)state;
  wf_error_take();
  wf_scope_end(scope, NULL);
  return 0;
}

#define SCOPED(test) cmocka_unit_test_setup_teardown(test, open_scope, end_scope)

#endif
