/* Tensors and storages: making from host memory, metadata, versions, host access, growth, overlap, words for hints. */
#include "test.h"

#include "base/host.h"
#include "tensor/tensor.h"

static int frees;
static void note_free(void *data, void *context) {
  (void)data;
  frees += *(int *)context;
}

static wf_tensor *window(const wf_tensor *base, wf_dims size, wf_dims stride, int64_t offset) {
  wf__layout l;
  assert_ok(wf__layout_strided(&l, size, stride, offset));
  return wf__tensor_alias(base, (wf_dtype)base->dtype, &l);
}

static void data_is_copied_in_row_major_order(void **state) {
  (void)state;
  int16_t data[6] = {1, 2, 3, 4, 5, 6};
  wf_tensor *t = wf_from_data(data, WF_SHAPE(2, 3), WF_I16);
  data[0] = 9;
  const int16_t *at = wf_tensor_map(t, WF_READ);
  assert_int_equal(at[0], 1);
  assert_int_equal(at[1 * wf_stride(t, 0) + 2 * wf_stride(t, 1)], 6);
  wf_tensor_unmap(t);
  assert_int_equal(wf_ndim(t), 2);
  assert_int_equal(wf_size(t, -1), 3);
  assert_int_equal(wf_stride(t, 0), 3);
  assert_int_equal(wf_numel(t), 6);
  assert_int_equal(wf_dtype_of(t), WF_I16);
  assert_int_equal(wf_storage_nbytes(t), 12);
  assert_int_equal(wf_storage_offset(t), 0);
  assert_int_equal(wf_device_of(t).type, WF_DEVICE_CPU);
  assert_int_equal((uintptr_t)wf__data(t) % 128, 0);
  assert_false(wf_is_pinned(t));
  wf_free(t);
}

static void dimensions_out_of_range_are_index_errors(void **state) {
  (void)state;
  wf_tensor *t = wf_from_data((float[]){1}, WF_SHAPE0, WF_F32);
  assert_int_equal(wf_size(t, 0), -1);
  assert_error(WF_INDEX, "Dimension specified as 0 but tensor has no dimensions");
  wf_free(t);
  t = wf_from_data((float[]){1, 2}, WF_SHAPE(2, 1), WF_F32);
  assert_int_equal(wf_stride(t, 2), -1);
  assert_error(WF_INDEX, "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
  wf_free(t);
}

static void getters_accept_null(void **state) {
  (void)state;
  assert_int_equal(wf_ndim(NULL), 0);
  assert_int_equal(wf_size(NULL, 3), 0);
  assert_int_equal(wf_sizes(NULL).n, 0);
  assert_int_equal(wf_numel(NULL), 0);
  assert_int_equal(wf_dtype_of(NULL), WF_DTYPE_NONE);
  assert_int_equal(wf_storage_nbytes(NULL), 0);
  assert_false(wf_is_contiguous(NULL, WF_FORMAT_CONTIGUOUS));
  assert_false(wf_shares_storage(NULL, NULL));
  assert_int_equal(wf_version_of(NULL), 0);
  assert_null(wf_retain(NULL));
}

static void foreign_memory_is_shown_in_place_and_given_back_once(void **state) {
  (void)state;
  float data[12] = {0};
  int one = 1;
  frees = 0;
  wf_tensor *t = wf_from_memory(data, sizeof data, WF_SHAPE(3, 2), WF_SHAPE(4, 2), WF_F32, note_free, &one);
  assert_ptr_equal(wf__data(t), data);
  wf_tensor *part = window(t, WF_SHAPE(2), WF_SHAPE(1), 3);
  float *at = wf_tensor_map(part, WF_WRITE);
  at[1] = 7;
  wf_tensor_unmap(part);
  assert_true(data[4] == 7);
  assert_int_equal(wf__storage_grow(t->storage, 100), WF_RUNTIME);
  assert_error(WF_RUNTIME, "Trying to resize storage that is not resizable");
  wf_free(t);
  assert_int_equal(frees, 0);
  wf_free(part);
  assert_int_equal(frees, 1);
}

static void foreign_memory_that_is_too_small_or_misaligned_is_refused_and_kept_by_its_owner(void **state) {
  (void)state;
  float data[12];
  int one = 1;
  frees = 0;
  assert_null(wf_from_memory(data, 40, WF_SHAPE(3, 2), WF_SHAPE(4, 3), WF_F32, note_free, &one));
  assert_error(
      WF_RUNTIME,
      "setStorage: sizes [3, 2], strides [4, 3], storage offset 0, and itemsize 4 requiring a storage size of 48 are out "
      "of bounds for storage of size 40");
  assert_null(wf_from_memory(data, sizeof data, WF_SHAPE(2), WF_SHAPE(-1), WF_F32, note_free, &one));
  assert_error(WF_RUNTIME, "as_strided: Negative strides are not supported at the moment, got strides: [-1]");
  assert_null(wf_from_memory((char *)data + 1, 40, WF_SHAPE(2), WF_SHAPE0, WF_F32, note_free, &one));
  assert_int_equal(wf_error_take().status, WF_VALUE);
  assert_null(wf_from_memory(NULL, 40, WF_SHAPE(2), WF_SHAPE0, WF_F32, note_free, &one));
  assert_int_equal(wf_error_take().status, WF_VALUE);
  assert_int_equal(frees, 0);
}

static void writing_by_the_host_counts_as_a_change(void **state) {
  (void)state;
  wf_tensor *t = wf_from_data((float[]){1, 2}, WF_SHAPE(2), WF_F32), *view = window(t, WF_SHAPE(1), WF_SHAPE(1), 1);
  wf_tensor_unmap(t); /* nothing is open: harmless */
  assert_non_null(wf_tensor_map(t, WF_READ));
  assert_int_equal(wf_version_of(t), 0);
  assert_non_null(wf_tensor_map(view, WF_READ_WRITE));
  assert_int_equal(wf_version_of(t), 1);
  assert_int_equal(view->maps, 1);
  wf_tensor_unmap(view);
  assert_int_equal(view->maps, 0);
  wf_tensor_unmap(t);
  wf_free(t);
  wf_free(view);
}

static void an_empty_tensor_maps_to_something(void **state) {
  (void)state;
  wf_tensor *t = wf_from_data(NULL, WF_SHAPE(0, 3), WF_F64);
  assert_non_null(wf_tensor_map(t, WF_READ_WRITE));
  wf_tensor_unmap(t);
  wf_free(t);
}

static void growing_keeps_the_bytes_and_every_view_sees_the_new_memory(void **state) {
  (void)state;
  wf_tensor *t = wf_from_data((int32_t[]){1, 2, 3, 4}, WF_SHAPE(4), WF_I32),
            *view = window(t, WF_SHAPE(2), WF_SHAPE(1), 2);
  assert_ok(wf__storage_grow(t->storage, 8)); /* never shrinks */
  assert_int_equal(wf_storage_nbytes(t), 16);
  assert_ok(wf__storage_grow(t->storage, 4 << 20));
  assert_int_equal(wf_storage_nbytes(view), 4 << 20);
  const int32_t *at = wf__data(view);
  assert_int_equal(at[0], 3);
  assert_int_equal(at[1], 4);
  wf_free(t);
  wf_free(view);
}

static void pairs_overlap_by_pytorchs_rules(void **state) {
  (void)state;
  wf_tensor *base = wf__tensor_empty_sized(wf__device_get(wf_cpu()), WF_F32, WF_SHAPE(16));
  wf_tensor *other = wf__tensor_empty_sized(wf__device_get(wf_cpu()), WF_F32, WF_SHAPE(16));
  wf_tensor *low = window(base, WF_SHAPE(8), WF_SHAPE(1), 0), *high = window(base, WF_SHAPE(8), WF_SHAPE(1), 8);
  wf_tensor *middle = window(base, WF_SHAPE(8), WF_SHAPE(1), 4), *again = window(base, WF_SHAPE(8), WF_SHAPE(1), 0);
  wf_tensor *square = window(base, WF_SHAPE(2, 4), WF_SHAPE(4, 1), 0),
            *turned = window(base, WF_SHAPE(2, 4), WF_SHAPE(1, 2), 0);
  wf_tensor *gaps = window(base, WF_SHAPE(4), WF_SHAPE(2), 0), *none = window(base, WF_SHAPE(0), WF_SHAPE(1), 0);
  assert_int_equal(wf__overlap_between(gaps, gaps), WF__OVERLAP_FULL);
  assert_int_equal(wf__overlap_between(low, high), WF__OVERLAP_NO);
  assert_int_equal(wf__overlap_between(low, middle), WF__OVERLAP_PARTIAL);
  assert_int_equal(wf__overlap_between(middle, high), WF__OVERLAP_PARTIAL);
  assert_int_equal(wf__overlap_between(low, again), WF__OVERLAP_FULL);
  assert_int_equal(wf__overlap_between(square, turned), WF__OVERLAP_PARTIAL);
  assert_int_equal(wf__overlap_between(low, square), WF__OVERLAP_PARTIAL); /* equal ranges, other strides */
  assert_int_equal(wf__overlap_between(low, gaps), WF__OVERLAP_TOO_HARD);
  assert_int_equal(wf__overlap_between(low, none), WF__OVERLAP_NO);
  assert_int_equal(wf__overlap_between(base, other), WF__OVERLAP_NO);
  assert_ok(wf__check_partial_overlap(low, again));
  assert_int_equal(wf__check_no_overlap(low, again), WF_RUNTIME);
  wf_error_take();
  wf_tensor *all[] = {base, other, low, high, middle, again, square, turned, gaps, none};
  for (int i = 0; i < 10; i++) wf_free(all[i]);
}

static void tensors_are_described_with_strides_only_when_they_are_not_row_major(void **state) {
  (void)state;
  char text[WF__DESC_TEXT];
  wf_tensor *t = wf__tensor_empty_sized(wf__device_get(wf_cpu()), WF_BF16, WF_SHAPE(4, 7, 64));
  assert_string_equal(wf__describe(t, text), "bf16[4,7,64] cpu");
  wf_tensor *turned = window(t, WF_SHAPE(64, 7), WF_SHAPE(1, 64), 0);
  assert_string_equal(wf__describe(turned, text), "bf16[64,7] strides [1,64] cpu");
  assert_string_equal(wf__describe(NULL, text), "none");
  assert_string_equal(wf__type_text(t), "CPUBFloat16Type");
  wf_free(t);
  wf_free(turned);
}

static void failing_any_allocation_of_a_copy_leaks_nothing(void **state) {
  (void)state;
  const double data[3] = {1, 2, 3};
  wf_allocator_stats before, after;
  assert_ok(wf_memory_stats(wf_cpu(), false, &before));
  for (int64_t k = 1;; k++) {
    wf__fault_at(k);
    wf_tensor *t = wf_from_data(data, WF_SHAPE(3), WF_F64);
    bool reached = wf__fault_count() >= k;
    wf__fault_at(0);
    assert_int_equal(wf_error_take().status, t ? WF_OK : WF_NO_MEMORY);
    wf_free(t);
    assert_ok(wf_memory_stats(wf_cpu(), false, &after));
    assert_int_equal(after.allocated_bytes[0].current, before.allocated_bytes[0].current);
    if (!reached) break;
  }
}

/* ---- counting: who keeps which memory ----------------------------------------------------------------------------------- */

static int freed[3];
static void note_which(void *data, void *context) {
  (void)data;
  freed[*(int *)context]++;
}
static wf_tensor *over(float *data, int *which) {
  freed[*which] = 0;
  return wf_from_memory(data, 4 * sizeof *data, WF_SHAPE(4), WF_SHAPE0, WF_F32, note_which, which);
}
static float first_of(wf_tensor *t) {
  float v = *(const float *)wf_tensor_map(t, WF_READ);
  wf_tensor_unmap(t);
  return v;
}
static wf_tensor *view_of(const wf_tensor *t) { return wf__tensor_view(t, &t->layout); }

static void a_view_alone_keeps_base_and_memory_and_counts_once(void **state) {
  (void)state;
  float data[4] = {5};
  int which = 0;
  wf_tensor *base = over(data, &which), *view = view_of(base), *again = view_of(view);
  assert_ptr_equal(again->base, base);
  assert_int_equal(base->storage->refs, 1); /* both borrow it */
  assert_true(base->refs == 1 + 2 * WF__ONE_VIEW);
  wf_free(base);
  wf_free(view);
  assert_int_equal(freed[0], 0);
  assert_true(first_of(again) == 5);
  wf_free(again);
  assert_int_equal(freed[0], 1);
}

static void views_keep_the_memory_that_their_base_showed_when_they_were_made(void **state) {
  (void)state;
  float data[3][4] = {{1}, {2}, {3}};
  int which[3] = {0, 1, 2};
  wf_tensor *base = over(data[0], &which[0]), *second = over(data[1], &which[1]), *third = over(data[2], &which[2]);
  wf_tensor *old = view_of(base);
  assert_ok(wf__tensor_set_storage(base, second->storage));
  wf_tensor *new = view_of(base), *older = view_of(old);
  assert_ok(wf__tensor_set_storage(base, third->storage));
  wf_free(second);
  wf_free(third);
  assert_true(first_of(base) == 3 && first_of(old) == 1 && first_of(older) == 1 && first_of(new) == 2);
  wf_free(old);
  wf_free(new);
  assert_int_equal(freed[0] + freed[1] + freed[2], 0);
  wf_free(older); /* the last view: the base lets go of what only views showed */
  assert_int_equal(freed[0], 1);
  assert_int_equal(freed[1], 1);
  assert_int_equal(freed[2], 0);
  assert_true(first_of(base) == 3);
  wf_free(base);
  assert_int_equal(freed[2], 1);
}

static void a_base_that_dies_before_its_views_takes_all_memory_with_the_last_of_them(void **state) {
  (void)state;
  float data[2][4] = {{1}, {2}};
  int which[2] = {0, 1};
  wf_tensor *base = over(data[0], &which[0]), *second = over(data[1], &which[1]), *old = view_of(base);
  assert_ok(wf__tensor_set_storage(base, second->storage));
  wf_free(second);
  wf_free(base);
  assert_true(first_of(old) == 1);
  assert_int_equal(freed[0] + freed[1], 0);
  wf_free(old);
  assert_int_equal(freed[0], 1);
  assert_int_equal(freed[1], 1);
}

static void without_views_the_memory_shown_before_goes_at_once_and_the_version_stays(void **state) {
  (void)state;
  float data[2][4] = {{1}, {2}};
  int which[2] = {0, 1};
  wf_tensor *t = over(data[0], &which[0]), *same = wf__tensor_alias(t, WF_F32, &t->layout);
  wf_tensor *other = over(data[1], &which[1]);
  wf__bump(t);
  assert_ok(wf__tensor_set_storage(t, other->storage));
  assert_int_equal(freed[0], 0); /* `same` shows it */
  wf_free(same);
  assert_int_equal(freed[0], 1);
  assert_int_equal(wf_version_of(t), 1);
  assert_int_equal(wf_version_of(other), 0);
  wf_tensor *detached = wf__tensor_alias(t, WF_F32, &t->layout);
  wf__bump(detached);
  assert_int_equal(wf_version_of(t), 2);
  wf_free(t);
  wf_free(other);
  assert_int_equal(wf_version_of(detached), 2);
  assert_int_equal(freed[1], 0);
  wf_free(detached);
  assert_int_equal(freed[1], 1);
}

static void data_counts_its_own_versions(void **state) {
  (void)state;
  wf_tensor *t = wf_from_data((float[]){1}, WF_SHAPE(1), WF_F32), *data = wf__tensor_data_of(t);
  wf__bump(t);
  wf_tensor *view = view_of(data);
  wf__bump(view);
  wf__bump(view);
  assert_int_equal(wf_version_of(t), 1);
  wf_free(t);
  assert_int_equal(wf_version_of(data), 2);
  wf_free(data);
  assert_int_equal(wf_version_of(view), 2);
  wf_free(view);
}

static void failing_to_keep_memory_for_views_changes_nothing(void **state) {
  (void)state;
  float data[2][4] = {{1}, {2}};
  int which[2] = {0, 1};
  wf_tensor *base = over(data[0], &which[0]), *second = over(data[1], &which[1]), *view = view_of(base);
  wf__fault_at(1);
  assert_int_equal(wf__tensor_set_storage(base, second->storage), WF_NO_MEMORY);
  wf__fault_at(0);
  wf_error_take();
  assert_true(first_of(base) == 1);
  assert_ok(wf__tensor_prepare_storage(base));
  wf__fault_at(1);
  assert_ok(wf__tensor_set_storage(base, second->storage));
  wf__fault_at(0);
  assert_true(first_of(base) == 2 && first_of(view) == 1);
  wf_free(second);
  wf_free(base);
  wf_free(view);
  assert_int_equal(freed[0] + freed[1], 2);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(data_is_copied_in_row_major_order),
    cmocka_unit_test(dimensions_out_of_range_are_index_errors),
    cmocka_unit_test(getters_accept_null),
    cmocka_unit_test(foreign_memory_is_shown_in_place_and_given_back_once),
    cmocka_unit_test(foreign_memory_that_is_too_small_or_misaligned_is_refused_and_kept_by_its_owner),
    cmocka_unit_test(writing_by_the_host_counts_as_a_change),
    cmocka_unit_test(an_empty_tensor_maps_to_something),
    cmocka_unit_test(growing_keeps_the_bytes_and_every_view_sees_the_new_memory),
    cmocka_unit_test(pairs_overlap_by_pytorchs_rules),
    cmocka_unit_test(tensors_are_described_with_strides_only_when_they_are_not_row_major),
    cmocka_unit_test(failing_any_allocation_of_a_copy_leaks_nothing),
    cmocka_unit_test(a_view_alone_keeps_base_and_memory_and_counts_once),
    cmocka_unit_test(views_keep_the_memory_that_their_base_showed_when_they_were_made),
    cmocka_unit_test(a_base_that_dies_before_its_views_takes_all_memory_with_the_last_of_them),
    cmocka_unit_test(without_views_the_memory_shown_before_goes_at_once_and_the_version_stays),
    cmocka_unit_test(data_counts_its_own_versions),
    cmocka_unit_test(failing_to_keep_memory_for_views_changes_nothing),
};
WF_TEST_MAIN("tensor/tensor", tests)
