/* Copies within the host: values, overlap, accounting, policy. */
#include "test.h"

#include <stdlib.h>
#include <weft/trace.h>
#include "base/host.h"
#include "copy/copy.h"

static wf_tensor *tensor_at(float *data, size_t n, wf_dims size, wf_dims stride) {
  wf_tensor *t = wf_from_memory(data, n * sizeof *data, size, stride, WF_F32, NULL, NULL);
  assert_non_null(t);
  return t;
}

/* Another view of the same storage, by geometry. */
static wf_tensor *view_of(wf_tensor *t, wf_dims size, wf_dims stride, int64_t offset) {
  wf__layout layout;
  assert_ok(wf__layout_strided(&layout, size, stride, offset));
  wf_tensor *view = wf__tensor_alias(t, WF_F32, &layout);
  assert_non_null(view);
  return view;
}

static void count_up(float *data, int n) {
  for (int i = 0; i < n; i++) data[i] = (float)i;
}

static void a_source_is_broadcast_to_its_destination(void **state) {
  (void)state;
  float d[6] = {0}, s[2] = {7, 8};
  wf_tensor *dst = tensor_at(d, 6, WF_SHAPE(2, 3), WF_SHAPE0), *src = tensor_at(s, 2, WF_SHAPE(2, 1), WF_SHAPE0);
  assert_ok(wf__copy(dst, src, false, false));
  const float expected[6] = {7, 7, 7, 8, 8, 8};
  assert_memory_equal(d, expected, sizeof d);
  wf_free(dst);
  wf_free(src);
}

static void shapes_that_do_not_broadcast_are_refused_in_pytorchs_words(void **state) {
  (void)state;
  float d[6], s[6];
  wf_tensor *dst = tensor_at(d, 6, WF_SHAPE(3), WF_SHAPE0), *src = tensor_at(s, 6, WF_SHAPE(1, 3), WF_SHAPE0);
  wf_tensor *other = tensor_at(s, 6, WF_SHAPE(2), WF_SHAPE0);
  assert_int_equal(wf__copy(dst, src, false, false), WF_RUNTIME);
  assert_error(WF_RUNTIME, "output with shape [3] doesn't match the broadcast shape [1, 3]");
  assert_int_equal(wf__copy(dst, other, false, false), WF_RUNTIME);
  assert_error(WF_RUNTIME, "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0");
  wf_free(dst);
  wf_free(src);
  wf_free(other);
}

/* x[:, 1:10] := x[:, 0:9] of [4, 10, 6]: every element moves by one column, none is read after it was overwritten. */
static void shifted_views_of_one_storage_copy_as_through_a_temporary(void **state) {
  (void)state;
  float data[240], expected[240];
  count_up(data, 240);
  memcpy(expected, data, sizeof data);
  for (int n = 0; n < 4; n++) memcpy(expected + n * 60 + 6, data + n * 60, 54 * sizeof *data);
  wf_tensor *t = tensor_at(data, 240, WF_SHAPE(4, 10, 6), WF_SHAPE0);
  wf_tensor *to = view_of(t, WF_SHAPE(4, 9, 6), WF_SHAPE(60, 6, 1), 6),
            *from = view_of(t, WF_SHAPE(4, 9, 6), WF_SHAPE(60, 6, 1), 0);
  assert_ok(wf__copy(to, from, false, false));
  assert_memory_equal(data, expected, sizeof data);
  wf_free(to);
  wf_free(from);
  wf_free(t);
}

/* The two halves of each row lie between each other but never meet: no temporary. */
static void interleaved_views_that_never_meet_copy_directly(void **state) {
  (void)state;
  float data[40];
  count_up(data, 40);
  wf_tensor *t = tensor_at(data, 40, WF_SHAPE(4, 10), WF_SHAPE0);
  wf_tensor *to = view_of(t, WF_SHAPE(4, 5), WF_SHAPE(10, 1), 0),
            *from = view_of(t, WF_SHAPE(4, 5), WF_SHAPE(10, 1), 5);
  assert_ok(wf_trace_start(WF_TRACE_LEDGER));
  assert_ok(wf__copy(to, from, false, false));
  wf_trace_stop();
  size_t n;
  wf_ledger_row *rows = wf_ledger_rows(&n);
  assert_int_equal(n, 1);
  assert_int_equal(rows[0].count, 1);
  assert_int_equal(rows[0].bytes_written, 80);
  wf_trace_release(rows);
  for (int r = 0; r < 4; r++)
    for (int c = 0; c < 10; c++) assert_true(data[r * 10 + c] == (float)(r * 10 + 5 + c % 5));
  wf_free(to);
  wf_free(from);
  wf_free(t);
}

static void random_overlapping_views_copy_as_through_a_temporary(void **state) {
  (void)state;
  srand(3);
  for (int round = 0; round < 2000; round++) {
    float data[700], before[700];
    count_up(data, 700);
    memcpy(before, data, sizeof data);
    int64_t size[3], to_stride[3], from_stride[3], last = 1;
    for (int d = 2; d >= 0; d--) {
      size[d] = 1 + rand() % 4;
      to_stride[d] = last * (1 + rand() % 2);
      last = to_stride[d] * size[d];
      from_stride[d] = rand() % 3 ? to_stride[d] : rand() % 20;
    }
    int64_t to_at = rand() % 60, from_at = rand() % 60;
    wf_tensor *t = tensor_at(data, 700, WF_SHAPE(700), WF_SHAPE0);
    wf_tensor *to = view_of(t, wf_dims_of(size, 3), wf_dims_of(to_stride, 3), to_at);
    wf_tensor *from = view_of(t, wf_dims_of(size, 3), wf_dims_of(from_stride, 3), from_at);
    assert_ok(wf__copy(to, from, false, false));
    for (int64_t i = 0; i < size[0]; i++)
      for (int64_t j = 0; j < size[1]; j++)
        for (int64_t k = 0; k < size[2]; k++)
          assert_true(data[to_at + i * to_stride[0] + j * to_stride[1] + k * to_stride[2]] ==
                      before[from_at + i * from_stride[0] + j * from_stride[1] + k * from_stride[2]]);
    wf_free(to);
    wf_free(from);
    wf_free(t);
  }
}

static void the_ledger_counts_what_each_operand_touches(void **state) {
  (void)state;
  float d[12], s[3] = {1, 2, 3};
  wf_tensor *dst = tensor_at(d, 12, WF_SHAPE(4, 3), WF_SHAPE0), *src = tensor_at(s, 3, WF_SHAPE(3), WF_SHAPE0);
  wf_tensor *half = wf__to(dst, WF_F16, NULL, false, false);
  assert_ok(wf_trace_start(WF_TRACE_LEDGER));
  assert_ok(wf__copy(dst, src, false, true));
  assert_ok(wf__copy(half, src, false, false));
  assert_ok(wf__fill(dst, wf_int(1)));
  wf_trace_stop();
  size_t n;
  wf_ledger_row *rows = wf_ledger_rows(&n);
  assert_int_equal(n, 3);
  for (size_t i = 0; i < n; i++) {
    bool copy = rows[i].kind == WF_EVENT_COPY, cast = rows[i].kind == WF_EVENT_CAST;
    assert_true(copy || cast || rows[i].kind == WF_EVENT_FILL);
    assert_int_equal(rows[i].bytes_read, copy || cast ? 12 : 0);
    assert_int_equal(rows[i].bytes_written, cast ? 24 : 48);
    assert_int_equal(rows[i].implicit, copy);
  }
  assert_int_equal(wf_ledger_implicit_copies(), 1);
  wf_trace_release(rows);
  wf_free(half);
  wf_free(dst);
  wf_free(src);
}

static void a_forbidden_implicit_copy_is_an_error_that_names_the_layout(void **state) {
  (void)state;
  float s[6] = {0};
  wf_tensor *src = tensor_at(s, 6, WF_SHAPE(2, 3), WF_SHAPE(1, 2));
  wf_copy_policy_set(WF_COPY_FORBID);
  assert_null(wf__contiguous(src, WF_FORMAT_CONTIGUOUS, true));
  assert_non_null(strstr(wf_error_peek().hint, "strides [3, 1]"));
  assert_error(WF_RUNTIME, "copy would copy f32[2,3] strides [1,2] cpu implicitly, and the copy policy forbids it");
  wf_tensor *asked = wf__contiguous(src, WF_FORMAT_CONTIGUOUS, false);
  assert_non_null(asked);
  wf_copy_policy_set(WF_COPY_ALLOW);
  wf_tensor *allowed = wf__contiguous(src, WF_FORMAT_CONTIGUOUS, true);
  assert_non_null(allowed);
  wf_free(asked);
  wf_free(allowed);
  wf_free(src);
}

static void contiguous_gives_the_tensor_itself_when_it_can(void **state) {
  (void)state;
  float s[6] = {0};
  wf_tensor *src = tensor_at(s, 6, WF_SHAPE(2, 3), WF_SHAPE0),
            *turned = tensor_at(s, 6, WF_SHAPE(3, 2), WF_SHAPE(1, 3));
  wf_tensor *same = wf__contiguous(src, WF_FORMAT_PRESERVE, false);
  assert_ptr_equal(same, src);
  wf_free(same);
  assert_null(wf__contiguous(turned, WF_FORMAT_PRESERVE, false));
  assert_error(WF_RUNTIME, "preserve memory format is unsupported by the contiguous operator");
  wf_tensor *cast = wf__to(turned, WF_I32, NULL, false, false);
  assert_int_equal(wf_stride(cast, 0), 1); /* the layout is preserved */
  wf_free(cast);
  wf_free(turned);
  wf_free(src);
}

static void a_failed_allocation_leaves_nothing_behind(void **state) {
  (void)state;
  float s[6] = {1, 2, 3, 4, 5, 6};
  wf_tensor *src = tensor_at(s, 6, WF_SHAPE(2, 3), WF_SHAPE(1, 2));
  for (int k = 1; k < 6; k++) {
    wf__fault_at(k);
    wf_tensor *t = wf__clone(src, WF_FORMAT_CONTIGUOUS, false);
    wf__fault_at(0);
    if (!t) assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
    wf_free(t);
  }
  wf_free(src);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_source_is_broadcast_to_its_destination),
    cmocka_unit_test(shapes_that_do_not_broadcast_are_refused_in_pytorchs_words),
    cmocka_unit_test(shifted_views_of_one_storage_copy_as_through_a_temporary),
    cmocka_unit_test(interleaved_views_that_never_meet_copy_directly),
    cmocka_unit_test(random_overlapping_views_copy_as_through_a_temporary),
    cmocka_unit_test(the_ledger_counts_what_each_operand_touches),
    cmocka_unit_test(a_forbidden_implicit_copy_is_an_error_that_names_the_layout),
    cmocka_unit_test(contiguous_gives_the_tensor_itself_when_it_can),
    cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
};
WF_TEST_MAIN("copy/copy", tests)
