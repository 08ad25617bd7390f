/* How tests of views and factories look at a result: "[2, 3] [3, 1] +0", its sizes, strides and offset. */
#ifndef WF_TESTS_OP_GEOMETRY_H
#define WF_TESTS_OP_GEOMETRY_H

#include "test.h"

#include <weft/tensor.h>

static inline const char *geometry_text(const wf_tensor *t) {
  static char text[400];
  char *p = text;
  for (int part = 0; part < 2; part++) {
    wf_dims d = part ? wf_strides(t) : wf_sizes(t);
    p += sprintf(p, "[");
    for (int i = 0; i < d.n; i++) p += sprintf(p, "%s%lld", i ? ", " : "", (long long)d.at[i]);
    p += sprintf(p, "] ");
  }
  sprintf(p, "+%lld", (long long)wf_storage_offset(t));
  return text;
}

/* The expression gives a tensor of that geometry; frees it. */
#define assert_geometry(expression, expected)                                                  \
  do {                                                                                         \
    wf_tensor *wf_test_result = (expression);                                                  \
    if (!wf_test_result) fail_msg("%s: %s", #expression, wf_error_take().text);                \
    if (strcmp(geometry_text(wf_test_result), (expected)))                                     \
      fail_msg("%s: %s, expected %s", #expression, geometry_text(wf_test_result), (expected)); \
    wf_free(wf_test_result);                                                                   \
  } while (0)

/* The expression fails with that kind and text. */
#define assert_refused(expression, kind, expected) \
  do {                                             \
    assert_false((expression));                    \
    assert_error((kind), (expected));              \
  } while (0)

/* All elements of a tensor as doubles, row-major. */
static inline int64_t elements_of(const wf_tensor *t, double *out) {
  char bytes[8192];
  size_t size = wf_dtype_size(wf_dtype_of(t)), n = (size_t)wf_numel(t);
  assert_true(n * size <= sizeof bytes);
  assert_ok(wf_to_host(t, bytes, n * size));
  for (size_t i = 0; i < n; i++) {
    const char *at = bytes + i * size;
    switch (wf_dtype_of(t)) {
      case WF_F32: out[i] = *(const float *)at; break;
      case WF_F64: out[i] = *(const double *)at; break;
      case WF_I64: out[i] = (double)*(const int64_t *)at; break;
      case WF_I32: out[i] = *(const int32_t *)at; break;
      case WF_I16: out[i] = *(const int16_t *)at; break;
      case WF_I8: out[i] = *(const int8_t *)at; break;
      case WF_U8:
      case WF_BOOL: out[i] = *(const uint8_t *)at; break;
      default: fail_msg("dtype %s isn't read here", wf_dtype_name(wf_dtype_of(t)));
    }
  }
  return (int64_t)n;
}

/* The tensor has these elements; it stays. */
#define assert_elements_of(tensor, ...)                                                                \
  do {                                                                                                 \
    const wf_tensor *wf_test_shown = (tensor);                                                         \
    if (!wf_test_shown) fail_msg("%s: %s", #tensor, wf_error_take().text);                             \
    const double wf_test_expected[] = {__VA_ARGS__};                                                   \
    double wf_test_found[1024];                                                                        \
    int64_t wf_test_n = elements_of(wf_test_shown, wf_test_found);                                     \
    assert_int_equal(wf_test_n, sizeof wf_test_expected / sizeof *wf_test_expected);                   \
    for (int64_t i = 0; i < wf_test_n; i++)                                                            \
      if (wf_test_found[i] != wf_test_expected[i])                                                     \
        fail_msg("%s: element %lld is %.17g, expected %.17g", #tensor, (long long)i, wf_test_found[i], \
                 wf_test_expected[i]);                                                                 \
  } while (0)
/* The expression gives a tensor with these elements; frees it. */
#define assert_elements(expression, ...)             \
  do {                                               \
    wf_tensor *wf_test_result = (expression);        \
    assert_elements_of(wf_test_result, __VA_ARGS__); \
    wf_free(wf_test_result);                         \
  } while (0)

#endif
