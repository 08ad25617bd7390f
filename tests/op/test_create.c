/* Factories: dtypes, strides and refusals as torch 2.15 gave them; values by arithmetic. */
#include "op/geometry.h"

#include <math.h>
#include <weft/autograd.h>
#include <weft/copy.h>
#include <weft/create.h>
#include <weft/view.h>
#include "base/host.h"
#include "tensor/tensor.h"

#define BIG ((int64_t)1 << 40)

static wf_tensor_options typed(wf_dtype dtype) {
  wf_tensor_options o = wf_tensor_defaults();
  o.dtype = dtype;
  return o;
}
static wf_tensor *range(wf_scalar start, wf_scalar end, wf_scalar step, wf_dtype dtype) {
  wf_tensor_options o = typed(dtype);
  return wf_arange(start, end, step, &o);
}
static wf_tensor *line(wf_scalar start, wf_scalar end, int64_t steps, wf_dtype dtype) {
  wf_tensor_options o = typed(dtype);
  return wf_linspace(start, end, steps, &o);
}
static wf_tensor *filled(wf_scalar value, wf_dtype dtype) {
  wf_tensor_options o = typed(dtype);
  return wf_full(WF_SHAPE(2), value, &o);
}

static void numbers_decide_the_dtype_that_is_not_given(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  assert_int_equal(wf_dtype_of(wf_zeros(WF_SHAPE(1), NULL)), WF_F32);
  assert_int_equal(wf_dtype_of(wf_full(WF_SHAPE(1), wf_int(3), NULL)), WF_I64);
  assert_int_equal(wf_dtype_of(wf_full(WF_SHAPE(1), wf_bool(true), NULL)), WF_BOOL);
  assert_int_equal(wf_dtype_of(wf_full(WF_SHAPE(1), wf_float(2.5), NULL)), WF_F32);
  assert_int_equal(wf_dtype_of(wf_arange(wf_int(0), wf_int(5), wf_int(2), NULL)), WF_I64);
  assert_int_equal(wf_dtype_of(wf_arange(wf_int(0), wf_int(5), wf_float(2), NULL)), WF_F32);
  assert_int_equal(wf_dtype_of(wf_linspace(wf_int(0), wf_int(5), 2, NULL)), WF_F32);
  wf_scope_end(s, NULL);
}

static void sizes_are_checked_before_memory_is_taken(void **state) {
  (void)state;
  wf_tensor_options last = typed(WF_F32), bytes = typed(WF_U8);
  last.format = WF_FORMAT_CHANNELS_LAST;
  assert_geometry(wf_empty(WF_SHAPE(2, 3, 4, 5), &last), "[2, 3, 4, 5] [60, 1, 15, 3] +0");
  assert_geometry(wf_zeros(WF_SHAPE(BIG, 0, BIG), NULL),
                  "[1099511627776, 0, 1099511627776] [1099511627776, 1099511627776, 1] +0");
  assert_refused(wf_zeros(WF_SHAPE(2, -3), NULL), WF_RUNTIME, "zeros: Dimension size must be non-negative.");
  assert_refused(wf_ones(WF_SHAPE(2, -3), NULL), WF_RUNTIME,
                 "Trying to create tensor with negative dimension -3: [2, -3]");
  assert_refused(wf_full(WF_SHAPE(-7), wf_int(300), &bytes), WF_RUNTIME,
                 "Trying to create tensor with negative dimension -7: [-7]");
  assert_refused(wf_ones(WF_SHAPE(2, 2, 1, (int64_t)1 << 61), NULL), WF_RUNTIME,
                 "Storage size calculation overflowed with sizes=[2, 2, 1, 2305843009213693952]");
  assert_refused(wf_empty(WF_SHAPE(2, 3), &last), WF_RUNTIME, "required rank 4 tensor to use channels_last format");
  assert_refused(wf_empty_strided(WF_SHAPE(2, -4), WF_SHAPE(1), NULL), WF_RUNTIME,
                 "Trying to create tensor with negative dimension -4: [2, -4]");
  assert_refused(wf_empty_strided(WF_SHAPE(2, 4), WF_SHAPE(1), NULL), WF_RUNTIME,
                 "dimensionality of sizes (2) must match dimensionality of strides (1)");
  assert_refused(wf_empty_strided(WF_SHAPE(2, 4), WF_SHAPE(1, -1), NULL), WF_RUNTIME,
                 "Storage size calculation overflowed with sizes=[2, 4] and strides=[1, -1]");
  assert_refused(wf_empty_strided(WF_SHAPE((int64_t)1 << 31, (int64_t)1 << 32), WF_SHAPE(1, 1), &bytes), WF_RUNTIME,
                 "numel: integer multiplication overflow");
  wf_tensor *gaps = wf_empty_strided(WF_SHAPE(2, 3), WF_SHAPE(7, 2), NULL);
  assert_int_equal(wf_storage_nbytes(gaps), 4 * (7 + 4 + 1));
  wf_free(gaps);
}

static void values_must_fit_the_dtype(void **state) {
  (void)state;
  assert_elements(filled(wf_int(-255), WF_U8), 1, 1);
  assert_elements(filled(wf_float(255.5), WF_U8), 255, 255);
  assert_elements(filled(wf_float(-29.5), WF_I32), -29, -29);
  assert_elements(filled(wf_float(NAN), WF_BOOL), 1, 1);
  assert_elements(filled(wf_float(INFINITY), WF_F32), INFINITY, INFINITY);
  assert_refused(filled(wf_int(-256), WF_U8), WF_RUNTIME, "value cannot be converted to type uint8_t without overflow");
  assert_refused(filled(wf_float(-0.5), WF_U8), WF_RUNTIME,
                 "value cannot be converted to type uint8_t without overflow");
  assert_refused(filled(wf_int(65505), WF_F16), WF_RUNTIME,
                 "value cannot be converted to type c10::Half without overflow");
  assert_refused(filled(wf_float(3.5e38), WF_F32), WF_RUNTIME,
                 "value cannot be converted to type float without overflow");
  wf_tensor_options bytes = typed(WF_U8);
  assert_refused(wf_full(WF_SHAPE(0), wf_int(300), &bytes), WF_RUNTIME,
                 "value cannot be converted to type uint8_t without overflow");
}

static void ranges_count_in_double_and_integers_exactly(void **state) {
  (void)state; /* counts as torch and numpy give them */
  wf_scope s = wf_scope_begin();
  assert_int_equal(wf_numel(range(wf_float(0.1), wf_float(0.5), wf_float(0.05), WF_F32)), 8);
  assert_int_equal(wf_numel(range(wf_float(0), wf_float(1.3), wf_float(0.1), WF_F32)), 13);
  assert_int_equal(wf_numel(range(wf_float(0.6), wf_float(0.9), wf_float(0.1), WF_F32)), 4);
  assert_elements(range(wf_int(0), wf_int(3), wf_float(0.5), WF_I64), 0, 0, 0, 0, 0, 0);
  assert_elements(range(wf_int(0), wf_int(3), wf_float(1.5), WF_I64), 0, 1);
  assert_elements(range(wf_float(-1.5), wf_float(3.5), wf_int(1), WF_I64), -1, 0, 1, 2, 3);
  assert_elements(range(wf_int(5), wf_int(-3), wf_int(-3), WF_I32), 5, 2, -1);
  assert_elements(range(wf_int(0), wf_int(300), wf_int(100), WF_U8), 0, 100, 200);
  assert_elements(range(wf_float(-0.5), wf_float(1), wf_float(0.5), WF_F64), -0.5, 0, 0.5);
  wf_tensor *big = range(wf_int((int64_t)1 << 53), wf_int(((int64_t)1 << 53) + 3), wf_int(1), WF_I64);
  int64_t found[3];
  assert_ok(wf_to_host(big, found, sizeof found));
  assert_int_equal(found[1], ((int64_t)1 << 53) + 1);
  assert_int_equal(wf_numel(range(wf_int(0), wf_int(INT64_MAX), wf_int((int64_t)1 << 62), WF_I64)), 2);
  assert_int_equal(wf_numel(range(wf_int(1), wf_int(1), wf_int(1), WF_I64)), 0);
  wf_scope_end(s, NULL);
}

static void ranges_are_refused_in_pytorchs_order(void **state) {
  (void)state;
  assert_refused(range(wf_float(INFINITY), wf_int(3), wf_int(0), WF_F32), WF_RUNTIME, "step must be nonzero");
  assert_refused(range(wf_float(INFINITY), wf_int(3), wf_float(NAN), WF_F32), WF_RUNTIME,
                 "step must be finite but got nan");
  assert_refused(range(wf_int(0), wf_float(INFINITY), wf_int(-1), WF_F32), WF_RUNTIME, "unsupported range: 0 -> inf");
  assert_refused(range(wf_float(1.23456789), wf_float(NAN), wf_int(1), WF_F32), WF_RUNTIME,
                 "unsupported range: 1.23457 -> nan");
  assert_refused(range(wf_int(0), wf_int(1), wf_int(-1), WF_F32), WF_RUNTIME,
                 "upper bound and lower bound inconsistent with step sign");
  assert_refused(range(wf_int(0), wf_int(3), wf_float(1e-30), WF_F32), WF_RUNTIME, "invalid size, possible overflow?");
  assert_refused(range(wf_int(0), wf_int(3), wf_int(0), WF_BOOL), WF_NOT_IMPLEMENTED,
                 "\"arange_cpu\" not implemented for 'Bool'");
  assert_refused(range(wf_float(1e19), wf_float(2e19), wf_float(1e18), WF_I64), WF_RUNTIME,
                 "value cannot be converted to type int64_t without overflow");
}

static void lines_end_where_they_are_told(void **state) {
  (void)state;
  assert_elements(line(wf_int(0), wf_int(1), 5, WF_F32), 0, 0.25, 0.5, 0.75, 1);
  assert_elements(line(wf_int(3), wf_int(1), 3, WF_F64), 3, 2, 1);
  assert_elements(line(wf_int(0), wf_int(1), 1, WF_F32), 0);
  assert_elements(line(wf_int(0), wf_int(10), 5, WF_I64), 0, 2, 5, 7, 10);
  assert_elements(line(wf_float(-3.7), wf_float(3.7), 6, WF_I64), -3, -1, 0, 0, 1, 3);
  assert_elements(line(wf_int(-1), wf_int(3), 3, WF_U8), 255, 129, 3);
  assert_geometry(line(wf_int(300), wf_int(1), 0, WF_U8), "[0] [1] +0");
  assert_refused(line(wf_int(0), wf_int(1), -1, WF_F32), WF_RUNTIME, "number of steps must be non-negative");
  assert_refused(line(wf_int(0), wf_int(300), 2, WF_U8), WF_RUNTIME,
                 "value cannot be converted to type uint8_t without overflow");
  assert_refused(line(wf_int(0), wf_int(1), 2, WF_BOOL), WF_NOT_IMPLEMENTED,
                 "\"linspace_cpu\" not implemented for 'Bool'");
  assert_elements(line(wf_int(0), wf_int(1), 1, WF_BOOL), 0);
}

static void identities(void **state) {
  (void)state;
  assert_elements(wf_eye(2, 3, NULL), 1, 0, 0, 0, 1, 0);
  assert_elements(wf_eye(2, WF_NONE, NULL), 1, 0, 0, 1);
  assert_geometry(wf_eye(0, WF_NONE, NULL), "[0, 0] [1, 1] +0");
  assert_refused(wf_eye(-1, -1, NULL), WF_RUNTIME, "n must be greater or equal to 0, got -1");
  assert_refused(wf_eye(2, -3, NULL), WF_RUNTIME, "m must be greater or equal to 0, got -3");
}

static void like_tensors_take_size_layout_and_dtype(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  wf_tensor_options integers = typed(WF_I32);
  wf_tensor *x = wf_ones(WF_SHAPE(2, 3), &integers), *turned = wf_t(x),
            *gaps = wf_slice(wf_ones(WF_SHAPE(5, 5), NULL), 0, 0, 5, 2);
  assert_geometry(wf_zeros_like(turned, WF_DTYPE_NONE, WF_FORMAT_PRESERVE), "[3, 2] [1, 3] +0");
  assert_geometry(wf_zeros_like(turned, WF_DTYPE_NONE, WF_FORMAT_CONTIGUOUS), "[3, 2] [2, 1] +0");
  assert_geometry(wf_ones_like(wf_expand(x, WF_SHAPE(4, 2, 3)), WF_DTYPE_NONE, WF_FORMAT_PRESERVE),
                  "[4, 2, 3] [6, 3, 1] +0");
  assert_geometry(wf_empty_like(gaps, WF_DTYPE_NONE, WF_FORMAT_PRESERVE), "[3, 5] [5, 1] +0");
  assert_elements(wf_full_like(x, wf_float(2.75), WF_DTYPE_NONE, WF_FORMAT_PRESERVE), 2, 2, 2, 2, 2, 2);
  assert_int_equal(wf_dtype_of(wf_full_like(x, wf_float(2.75), WF_F64, WF_FORMAT_PRESERVE)), WF_F64);
  assert_elements(wf_new_full(x, WF_SHAPE(2), wf_float(3.5), WF_DTYPE_NONE), 3, 3);
  assert_elements(wf_new_ones(turned, WF_SHAPE(1, 2), WF_DTYPE_NONE), 1, 1);
  assert_refused(wf_zeros_like(x, WF_DTYPE_NONE, WF_FORMAT_CHANNELS_LAST), WF_RUNTIME,
                 "required rank 4 tensor to use channels_last format");
  assert_refused(wf_new_zeros(x, WF_SHAPE(-2), WF_DTYPE_NONE), WF_RUNTIME,
                 "Trying to create tensor with negative dimension -2: [-2]");
  assert_refused(wf_zeros_like(NULL, WF_DTYPE_NONE, WF_FORMAT_PRESERVE), WF_TYPE,
                 "zeros_like(): argument 'self' must be Tensor, not None");
  wf_scope_end(s, NULL);
}

static void only_floats_may_require_grad(void **state) {
  (void)state;
  wf_tensor_options o = typed(WF_F64);
  o.requires_grad = true;
  wf_tensor *t = wf_ones(WF_SHAPE(2), &o);
  assert_true(wf_requires_grad(t));
  assert_true(wf_is_leaf(t));
  assert_int_equal(wf_version_of(t), 0);
  wf_free(t);
  o.dtype = WF_I32;
  assert_refused(wf_ones(WF_SHAPE(2), &o), WF_RUNTIME,
                 "Only Tensors of floating point and complex dtype can require gradients");
  assert_refused(wf_zeros(WF_SHAPE(-2), &o), WF_RUNTIME, "zeros: Dimension size must be non-negative.");
}

static void devices_get_the_same_numbers(void **state) {
  (void)state;
  wf_tensor_options o = wf_tensor_defaults();
  o.device = wf_sim(0);
  assert_elements(wf_arange(wf_float(-1), wf_float(1), wf_float(0.5), &o), -1, -0.5, 0, 0.5);
  assert_elements(wf_full(WF_SHAPE(3), wf_float(2.5), &o), 2.5, 2.5, 2.5);
  wf_tensor *t = wf_ones(WF_SHAPE(2), &o);
  wf_tensor *zero = wf_new_zeros(t, WF_SHAPE(1), WF_DTYPE_NONE);
  assert_int_equal(wf_device_of(zero).type, WF_DEVICE_SIM);
  wf_free(zero);
  wf_free(t);
  o.pinned = true;
  assert_refused(wf_ones(WF_SHAPE(2), &o), WF_RUNTIME, "Only dense CPU tensors can be pinned");
  o.device = wf_cpu();
  t = wf_ones(WF_SHAPE(2), &o);
  assert_true(wf_is_pinned(t));
  assert_elements(t, 1, 1);
}

static void failing_any_allocation_leaks_nothing(void **state) {
  (void)state;
  wf_allocator_stats before, after;
  assert_ok(wf_memory_stats(wf_cpu(), false, &before));
  wf_tensor_options o = wf_tensor_defaults();
  o.requires_grad = true;
  for (int64_t k = 1, reached = 1; reached; k++) {
    wf__fault_at(k);
    wf_scope s = wf_scope_begin();
    wf_tensor *t = wf_ones(WF_SHAPE(3), &o);
    wf_zeros_like(t, WF_F64, WF_FORMAT_PRESERVE);
    wf_new_full(t, WF_SHAPE(2, 2), wf_int(3), WF_DTYPE_NONE);
    wf_eye(3, 3, &o);
    wf_scope_end(s, NULL);
    reached = wf__fault_count() >= k;
    wf__fault_at(0);
    assert_int_equal(wf_error_take().status, reached ? WF_NO_MEMORY : WF_OK);
  }
  assert_ok(wf_memory_stats(wf_cpu(), false, &after));
  assert_int_equal(after.allocation[0].current, before.allocation[0].current);
}

static void sizes_that_are_announced_but_not_given_are_refused(void **state) {
  (void)state;
  wf_dims none = wf_dims_of(NULL, 3);
  assert_refused(wf_empty(none, NULL), WF_VALUE, "empty(): a list of 3 entries was announced, but none given");
  assert_refused(wf_empty_strided(none, none, NULL), WF_VALUE,
                 "empty_strided(): a list of 3 entries was announced, but none given");
  assert_refused(wf_zeros(wf_dims_of(NULL, -1), NULL), WF_VALUE, "zeros(): a list can't have -1 entries");
}

static void a_memory_format_that_does_not_exist_is_refused(void **state) {
  (void)state;
  const int odd[] = {-1, 4, 99};
  wf_scope scope = wf_scope_begin();
  wf_tensor *t = wf_ones(WF_SHAPE(2, 3, 4, 5), NULL);
  for (int i = 0; i < 3; i++) {
    wf_memory_format format = (wf_memory_format)odd[i];
    wf_tensor_options o = wf_tensor_defaults();
    char text[40];
    snprintf(text, sizeof text, "Unknown memory format %d", odd[i]);
    o.format = format;
    assert_refused(wf_empty(WF_SHAPE(2), &o), WF_RUNTIME, text);
    assert_refused(wf_ones_like(t, WF_DTYPE_NONE, format), WF_RUNTIME, text);
    assert_refused(wf_clone(t, format), WF_RUNTIME, text);
    assert_refused(wf_contiguous(t, format), WF_RUNTIME, text);
    assert_refused(wf_to_with(t, &(wf_to_options){.format = format}), WF_RUNTIME, text);
    assert_int_equal(wf_resize_(t, WF_SHAPE(120), format), WF_RUNTIME);
    assert_error(WF_RUNTIME, text);
    assert_false(wf_is_contiguous(t, format));
  }
  assert_string_equal(geometry_text(t), "[2, 3, 4, 5] [60, 20, 5, 1] +0");
  wf_scope_end(scope, NULL);
}

static void what_pin_memory_gives_cannot_grow_but_what_a_factory_pins_can(void **state) {
  (void)state;
  wf_tensor *t = wf_ones(WF_SHAPE(4), NULL), *pinned = wf_pin_memory(t);
  assert_true(wf_is_pinned(pinned));
  assert_int_equal(wf_resize_(pinned, WF_SHAPE(8), WF_FORMAT_CONTIGUOUS), WF_RUNTIME);
  assert_error(WF_RUNTIME, "Trying to resize storage that is not resizable");
  assert_ok(wf_resize_(pinned, WF_SHAPE(2), WF_FORMAT_CONTIGUOUS));
  wf_tensor_options o = wf_tensor_defaults();
  o.pinned = true;
  wf_tensor *made = wf_empty(WF_SHAPE(4), &o);
  assert_ok(wf_resize_(made, WF_SHAPE(4096), WF_FORMAT_CONTIGUOUS));
  assert_true(wf_is_pinned(made));
  wf_free(made);
  wf_free(pinned);
  wf_free(t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(numbers_decide_the_dtype_that_is_not_given),
    cmocka_unit_test(sizes_are_checked_before_memory_is_taken),
    cmocka_unit_test(values_must_fit_the_dtype),
    cmocka_unit_test(ranges_count_in_double_and_integers_exactly),
    cmocka_unit_test(ranges_are_refused_in_pytorchs_order),
    cmocka_unit_test(lines_end_where_they_are_told),
    cmocka_unit_test(identities),
    cmocka_unit_test(like_tensors_take_size_layout_and_dtype),
    cmocka_unit_test(only_floats_may_require_grad),
    cmocka_unit_test(devices_get_the_same_numbers),
    cmocka_unit_test(failing_any_allocation_leaks_nothing),
    cmocka_unit_test(sizes_that_are_announced_but_not_given_are_refused),
    cmocka_unit_test(a_memory_format_that_does_not_exist_is_refused),
    cmocka_unit_test(what_pin_memory_gives_cannot_grow_but_what_a_factory_pins_can),
};
WF_TEST_MAIN("op/create", tests)
