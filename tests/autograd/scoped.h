/* What the tests of autograd share: a scope around each test, small tensors, comparisons. */
#ifndef WF_TESTS_AUTOGRAD_SCOPED_H
#define WF_TESTS_AUTOGRAD_SCOPED_H

#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <weft/weft.h>

static inline int scope_begin(void **state) {
  wf_scope *scope = malloc(sizeof *scope);
  *scope = wf_scope_begin();
  *state = scope;
  return 0;
}

/* Fails when a test leaves an error pending. */
static inline int scope_end(void **state) {
  wf_scope_end(*(wf_scope *)*state, NULL);
  free(*state);
  return wf_error_take().status;
}

#define SCOPED(name) cmocka_unit_test_setup_teardown(name, scope_begin, scope_end)

/* A float32 leaf [n] of those numbers. */
static inline wf_tensor *leaf(int64_t n, const float *data, bool requires_grad) {
  wf_tensor *t = wf_from_data(data, wf_dims_of(&n, 1), WF_F32);
  assert_non_null(t);
  if (requires_grad) assert_ok(wf_requires_grad_(t, true));
  return t;
}
#define LEAF(...) leaf((int64_t)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), (float[]){__VA_ARGS__}, true)
#define CONST(...) leaf((int64_t)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), (float[]){__VA_ARGS__}, false)

static inline void check_values(const char *where, int line, const wf_tensor *t, int n, const float *want) {
  float got[64];
  if (!t) fail_msg("%s:%d: no tensor (%s)", where, line, wf_error_peek().text);
  if (wf_numel(t) != n) fail_msg("%s:%d: %d elements, not %d", where, line, (int)wf_numel(t), n);
  assert_ok(wf_to_host(t, got, (size_t)n * sizeof *got));
  for (int i = 0; i < n; i++)
    if (!(fabsf(got[i] - want[i]) <= 1e-5f * (1 + fabsf(want[i]))) && !(isnan(got[i]) && isnan(want[i])))
      fail_msg("%s:%d: element %d is %g, not %g", where, line, i, (double)got[i], (double)want[i]);
}
#define assert_values(t, ...) \
  check_values(__FILE__, __LINE__, (t), (int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), (float[]){__VA_ARGS__})

static inline wf_tensors one(wf_tensor **t) { return (wf_tensors){t, 1}; }

#endif
