/* Views in use: what operators, copies and exports make of offsets, strides and orders of dims. Values by arithmetic. */
#include "op/geometry.h"

#include <weft/copy.h>
#include <weft/create.h>
#include <weft/math.h>
#include <weft/memory.h>
#include <weft/reduce.h>
#include <weft/view.h>

static wf_tensor *counted(wf_dims size, wf_device device) {
  wf_tensor_options o = wf_tensor_defaults();
  o.device = device;
  int64_t n = 1;
  for (int i = 0; i < size.n; i++) n *= size.at[i];
  return wf_view(wf_arange(wf_int(0), wf_float((double)n), wf_int(1), &o), size);
}

static void a_negative_end_and_an_index_leave_a_row(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  wf_tensor *x = wf_ones(WF_SHAPE(10, 10), NULL);
  assert_elements_of(wf_select(wf_slice(x, 0, 0, -1, 1), 1, 0), 1, 1, 1, 1, 1, 1, 1, 1, 1);
  wf_tensor *inner = wf_slice(wf_slice(x, 0, 1, -1, 1), 1, 1, -1, 1),
            *again = wf_slice(wf_slice(x, 0, 1, -1, 1), 1, 1, -1, 1);
  assert_string_equal(geometry_text(inner), "[8, 8] [10, 1] +11");
  assert_ok(wf_copy_(inner, again, false)); /* the same elements on both sides are no overlap to refuse */
  assert_true(wf_item_double(wf_sum(x)) == 100);
  wf_scope_end(s, NULL);
}

static void a_transposed_tensor_is_exported_in_its_own_order(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  wf_tensor *turned = wf_t(wf_from_data((float[]){1, 2, 3, 4, 5, 6}, WF_SHAPE(2, 3), WF_F32));
  float out[6];
  const float expected[] = {1, 4, 2, 5, 3, 6};
  assert_ok(wf_to_host(turned, out, sizeof out));
  assert_memory_equal(out, expected, sizeof out);
  assert_elements_of(wf_reshape(turned, WF_SHAPE(-1)), 1, 4, 2, 5, 3, 6);
  assert_null(wf_view(turned, WF_SHAPE(-1)));
  assert_int_equal(wf_error_take().status, WF_RUNTIME);
  wf_scope_end(s, NULL);
}

static void an_offset_counts_once_on_every_device(void **state) {
  (void)state;
  for (int d = 0; d < 2; d++) {
    wf_scope s = wf_scope_begin();
    wf_tensor *x = counted(WF_SHAPE(2, 3, 4), d ? wf_sim(0) : wf_cpu());
    wf_tensor *part = wf_slice(wf_slice(wf_slice(x, 0, 1, WF_NONE, 1), 1, 1, WF_NONE, 1), 2, 2, WF_NONE, 1);
    assert_string_equal(geometry_text(part), "[1, 2, 2] [12, 4, 1] +18");
    assert_elements_of(part, 18, 19, 22, 23);
    assert_elements_of(wf_add(part, part), 36, 38, 44, 46);
    wf_scope_end(s, NULL);
  }
}

static void writing_to_a_part_leaves_the_rest(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  wf_tensor *x = wf_from_data((float[]){1, 0}, WF_SHAPE(2), WF_F32);
  assert_ok(wf_copy_(wf_slice(x, 0, 1, 2, 1), wf_from_data((float[]){35}, WF_SHAPE(1), WF_F32), false));
  assert_elements_of(x, 1, 35);
  wf_scope_end(s, NULL);
}

static void copies_have_the_strides_that_were_asked_for_in_dims_of_size_1(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  wf_tensor *turned = wf_t(wf_ones(WF_SHAPE(4096, 1), NULL));
  assert_string_equal(geometry_text(turned), "[1, 4096] [1, 1] +0");
  assert_string_equal(geometry_text(wf_clone(turned, WF_FORMAT_CONTIGUOUS)), "[1, 4096] [4096, 1] +0");
  assert_string_equal(geometry_text(wf_clone(turned, WF_FORMAT_PRESERVE)), "[1, 4096] [1, 1] +0");
  assert_ptr_equal(wf_contiguous(turned, WF_FORMAT_CONTIGUOUS), turned);
  wf_tensor *gaps = wf_t(wf_slice(wf_ones(WF_SHAPE(4096, 2), NULL), 1, 0, 1, 1));
  assert_string_equal(geometry_text(gaps), "[1, 4096] [1, 2] +0");
  assert_string_equal(geometry_text(wf_contiguous(gaps, WF_FORMAT_CONTIGUOUS)), "[1, 4096] [4096, 1] +0");
  wf_scope_end(s, NULL);
}

static void operators_walk_a_transposed_tensor_in_its_logical_order(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  wf_tensor *doubled = wf_mul_scalar(wf_t(counted(WF_SHAPE(4, 3), wf_cpu())), wf_int(2));
  assert_elements_of(doubled, 0, 6, 12, 18, 2, 8, 14, 20, 4, 10, 16, 22);
  assert_elements_of(wf_sum(doubled), 132);
  assert_elements_of(wf_sum_dims(doubled, WF_SHAPE(0), false, WF_DTYPE_NONE), 6, 24, 42, 60);
  assert_elements_of(wf_sum_dims(doubled, WF_SHAPE(1), false, WF_DTYPE_NONE), 36, 44, 52);
  wf_scope_end(s, NULL);
}

static void a_batch_of_one_in_channels_last_keeps_its_format_when_viewed(void **state) {
  (void)
      state; /* as torch does: the view gives the size-1 dim another stride, and both tests of the format still hold */
  wf_scope s = wf_scope_begin();
  wf_tensor_options o = wf_tensor_defaults();
  o.format = WF_FORMAT_CHANNELS_LAST;
  wf_tensor *x = wf_zeros(WF_SHAPE(1, 2, 3, 4), &o), *view = wf_view(x, WF_SHAPE(1, 2, 3, 4));
  assert_string_equal(geometry_text(x), "[1, 2, 3, 4] [24, 1, 8, 2] +0");
  assert_string_equal(geometry_text(view), "[1, 2, 3, 4] [2, 1, 8, 2] +0");
  assert_string_equal(geometry_text(wf_unsqueeze(wf_select(x, 0, 0), 0)), "[1, 2, 3, 4] [2, 1, 8, 2] +0");
  assert_true(wf_is_contiguous(view, WF_FORMAT_CHANNELS_LAST));
  assert_false(wf_is_contiguous(view, WF_FORMAT_CONTIGUOUS));
  assert_ptr_equal(wf_contiguous(view, WF_FORMAT_CHANNELS_LAST), view);
  wf_scope_end(s, NULL);
}

static void impossible_sizes_leave_the_allocator_usable(void **state) {
  (void)state;
  wf_tensor_options o = wf_tensor_defaults();
  o.dtype = WF_U8;
  assert_null(wf_empty(WF_SHAPE(281474972520448), &o));
  wf_error e = wf_error_take();
  assert_int_equal(e.status, WF_NO_MEMORY);
  assert_non_null(strstr(e.text, "281474972520448"));
  assert_null(wf_empty(WF_SHAPE(INT64_MAX - 8), &o));
  assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
  wf_tensor *number = wf_ones(WF_SHAPE(1), NULL);
  assert_refused(wf_expand(number, WF_SHAPE(2, 2, 1, (int64_t)1 << 61)), WF_RUNTIME,
                 "numel: integer multiplication overflow");
  wf_free(number);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_negative_end_and_an_index_leave_a_row),
    cmocka_unit_test(a_transposed_tensor_is_exported_in_its_own_order),
    cmocka_unit_test(an_offset_counts_once_on_every_device),
    cmocka_unit_test(writing_to_a_part_leaves_the_rest),
    cmocka_unit_test(copies_have_the_strides_that_were_asked_for_in_dims_of_size_1),
    cmocka_unit_test(operators_walk_a_transposed_tensor_in_its_logical_order),
    cmocka_unit_test(a_batch_of_one_in_channels_last_keeps_its_format_when_viewed),
    cmocka_unit_test(impossible_sizes_leave_the_allocator_usable),
};
WF_TEST_MAIN("op/view_use", tests)
