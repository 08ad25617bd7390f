/* Printed tensors against what torch 2.15 printed (print_rows.h, made by print_rows.py from the same elements). */
#include "op/geometry.h"

#include <math.h>
#include <weft/autograd.h>
#include <weft/create.h>
#include <weft/view.h>

static const struct {
  const char *name, *text;
} rows[] = {
#include "print_rows.h"
};

static wf_tensor *steps(int n, wf_dtype dtype, wf_dims size) {
  static double d[3000];
  static float f[3000];
  for (int i = 0; i < n; i++) f[i] = (float)(d[i] = (i * 37 % 101 - 50) / 8.0);
  return wf_from_data(dtype == WF_F64 ? (const void *)d : f, size, dtype);
}

static wf_tensor *floats(int n, const float *f) { return wf_from_data(f, WF_SHAPE(n), WF_F32); }
#define FLOATS(...) floats((int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), (float[]){__VA_ARGS__})

static wf_tensor *summary_scientific(void) {
  static double d[1503];
  for (int i = 0; i < 1500; i++) d[i] = (i * 37 % 101 - 50) / 8.0 * 1e6;
  for (int i = 0; i < 3; i++) d[1500 + i] = (i * 37 % 101 - 50) / 8.0 * 1e-7;
  return wf_from_data(d, WF_SHAPE(501, 3), WF_F64);
}

static wf_tensor *zeros(wf_dims size, wf_dtype dtype, bool requires_grad) {
  wf_tensor_options o = wf_tensor_defaults();
  o.dtype = dtype;
  o.requires_grad = requires_grad;
  return wf_zeros(size, &o);
}

static void check(const char *name, wf_tensor *t) {
  static char text[20000];
  const char *expected = NULL;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].name, name)) expected = rows[i].text;
  assert_non_null(expected);
  if (!t) fail_msg("%s: %s", name, wf_error_take().text);
  size_t length = wf_tensor_print(t, text, sizeof text);
  if (strcmp(text, expected)) fail_msg("%s\n%s\nexpected\n%s", name, text, expected);
  assert_int_equal(length, strlen(expected));
}

static void tensors_print_as_in_pytorch(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  check("number", wf_from_data((float[]){3.5f}, WF_SHAPE0, WF_F32));
  check("whole", wf_from_data((float[]){3}, WF_SHAPE0, WF_F32));
  check("integer", wf_from_data((int64_t[]){7}, WF_SHAPE0, WF_I64));
  check("truth", wf_from_data((uint8_t[]){1}, WF_SHAPE0, WF_BOOL));
  check("zeros", FLOATS(0, 0, 0));
  check("minus_zero", FLOATS(-0.0f, 1));
  check("nans", FLOATS(-NAN, INFINITY, -INFINITY));
  check("nan_whole", FLOATS(NAN, 12, -INFINITY));
  check("nan_fraction", FLOATS(NAN, 12.5f, -INFINITY, 0));
  check("wide_range", FLOATS(1e-3f, 2, 1e3f, NAN));
  check("large", FLOATS(1e9f, 2));
  check("small", FLOATS(1e-5f));
  check("whole_scientific", FLOATS(1, 5000, INFINITY));
  check("doubles", wf_from_data((double[]){0.1, 1.0 / 3}, WF_SHAPE(2), WF_F64));
  check("halves", wf_from_data((uint16_t[]){0x2e66, 0x7bff}, WF_SHAPE(2), WF_F16));
  check("bfloats", wf_from_data((uint16_t[]){0x3dcd, 0x4040}, WF_SHAPE(2), WF_BF16));
  check("bytes", wf_from_data((uint8_t[]){1, 200, 3}, WF_SHAPE(3), WF_U8));
  check("truths", wf_from_data((uint8_t[]){1, 0}, WF_SHAPE(2), WF_BOOL));
  check("int_min", wf_from_data((int64_t[]){INT64_MIN, INT64_MAX}, WF_SHAPE(2), WF_I64));
  check("empty", zeros(WF_SHAPE(0), WF_F32, false));
  check("empty_long", zeros(WF_SHAPE(0), WF_I64, false));
  check("empty_matrix", zeros(WF_SHAPE(0, 3), WF_F32, false));
  check("empty_bools", zeros(WF_SHAPE(2, 0, 4), WF_BOOL, false));
  check("matrix", steps(12, WF_F32, WF_SHAPE(3, 4)));
  check("transposed", wf_t(steps(12, WF_F32, WF_SHAPE(3, 4))));
  check("cube", steps(24, WF_F32, WF_SHAPE(2, 3, 4)));
  check("rank_4", steps(16, WF_F32, WF_SHAPE(2, 2, 2, 2)));
  check("long_row", steps(30, WF_F32, WF_SHAPE(30)));
  check("long_rows", steps(60, WF_F32, WF_SHAPE(2, 30)));
  check("row_1000", steps(1000, WF_F32, WF_SHAPE(1000)));
  wf_scope_end(s, NULL);
}

static void large_tensors_show_their_edges(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  check("row_1001", steps(1001, WF_F32, WF_SHAPE(1001)));
  check("summary", steps(3000, WF_F32, WF_SHAPE(50, 60)));
  check("summary_cube", steps(2100, WF_F32, WF_SHAPE(7, 30, 10)));
  check("summary_thin", steps(2004, WF_F32, WF_SHAPE(2, 1002)));
  check("summary_scientific", summary_scientific());
  wf_scope_end(s, NULL);
}

static void suffixes_tell_of_gradients(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  check("leaf", zeros(WF_SHAPE(2), WF_F32, true));
  check("computed", wf_t(zeros(WF_SHAPE(2, 2), WF_F32, true)));
  check("long_suffix", wf_view(zeros(WF_SHAPE(9), WF_F64, true), WF_SHAPE(9)));
  wf_tensor *leaf = wf_view(steps(7, WF_F64, WF_SHAPE(7)), WF_SHAPE(7));
  assert_ok(wf_requires_grad_(leaf, true));
  check("wrapped_suffix", wf_view(leaf, WF_SHAPE(7)));
  wf_scope_end(s, NULL);
}

static void a_short_buffer_gets_what_fits_and_the_length_of_all(void **state) {
  (void)state;
  char text[8];
  memset(text, 'x', sizeof text);
  wf_tensor *t = FLOATS(1, 2, 3);
  assert_int_equal(wf_tensor_print(t, text, 7), strlen("tensor([1., 2., 3.])"));
  assert_string_equal(text, "tensor");
  assert_int_equal(text[7], 'x');
  assert_int_equal(wf_tensor_print(t, NULL, 0), strlen("tensor([1., 2., 3.])"));
  wf_free(t);
  assert_int_equal(wf_tensor_print(NULL, text, sizeof text), 0);
  assert_string_equal(text, "");
}

static void a_tensor_on_a_device_names_it(void **state) {
  (void)state;
  char text[200];
  wf_tensor_options o = wf_tensor_defaults();
  o.device = wf_sim(0);
  wf_tensor *t = wf_ones(WF_SHAPE(2, 2), &o);
  wf_tensor_print(t, text, sizeof text);
  assert_string_equal(text, "tensor([[1., 1.],\n        [1., 1.]], device='sim:0')");
  wf_free(t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(tensors_print_as_in_pytorch),
    cmocka_unit_test(large_tensors_show_their_edges),
    cmocka_unit_test(suffixes_tell_of_gradients),
    cmocka_unit_test(a_short_buffer_gets_what_fits_and_the_length_of_all),
    cmocka_unit_test(a_tensor_on_a_device_names_it),
};
WF_TEST_MAIN("op/print", tests)
