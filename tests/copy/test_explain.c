/* What a copy would do, as wf_copy_explain tells it: forms by arithmetic, methods by what must hold for any engine, errors as copy_'s. */
#include "test.h"

#include <weft/weft.h>

/* A tensor over addresses that hold nothing: explaining reads none. */
static wf_tensor *at(uintptr_t address, wf_dims size, wf_dims stride, wf_dtype dtype) {
  return wf_from_memory((void *)address, (size_t)1 << 40, size, stride, dtype, NULL, NULL);
}
#define HERE ((uintptr_t)1 << 30)
#define THERE ((uintptr_t)1 << 41)

static void check_list(const int64_t *list, wf_dims expected) {
  for (int d = 0; d < expected.n; d++) assert_int_equal(list[d], expected.at[d]);
}

static void tells_the_normal_form_and_bytes_of_images_that_become_planes(void **state) {
  (void)state;
  wf_scope scope = wf_scope_begin();
  wf_tensor *src = at(HERE, WF_SHAPE(32, 224, 224, 3), WF_SHAPE0, WF_U8);
  wf_tensor *dst = at(THERE, WF_SHAPE(32, 3, 224, 224), WF_SHAPE0, WF_F32);
  wf_copy_explanation e;
  assert_ok(wf_copy_explain(dst, wf_permute(src, WF_SHAPE(0, 3, 1, 2)), &e));
  assert_int_equal(e.ndim, 3); /* height and width merge */
  check_list(e.size, WF_SHAPE(32, 3, 224 * 224));
  check_list(e.dst_step, WF_SHAPE(4 * 3 * 224 * 224, 4 * 224 * 224, 4));
  check_list(e.src_step, WF_SHAPE(3 * 224 * 224, 1, 3));
  assert_int_equal(e.bytes_read, 32 * 3 * 224 * 224);
  assert_int_equal(e.bytes_written, 4 * 32 * 3 * 224 * 224);
  assert_true(e.method == WF_METHOD_STRAIGHT || e.method == WF_METHOD_TILES);
  wf_scope_end(scope, NULL);
}

/* Rows that end within lines, but are filled as they come. */
static void a_repeated_element_is_stored_past_the_cache(void **state) {
  (void)state;
  wf_scope scope = wf_scope_begin();
  wf_copy_explanation e;
  wf_tensor *rows = at(THERE, WF_SHAPE(1 << 20, 300), WF_SHAPE(301, 1), WF_F32);
  assert_ok(wf_copy_explain(rows, wf_expand(at(HERE, WF_SHAPE(1), WF_SHAPE0, WF_F32), wf_sizes(rows)), &e));
  assert_true(e.streaming);
  wf_scope_end(scope, NULL);
}

static void a_transpose_is_turned_and_a_large_one_stored_past_the_cache(void **state) {
  (void)state;
  wf_scope scope = wf_scope_begin();
  wf_copy_explanation e;
  wf_tensor *small = at(HERE, WF_SHAPE(64, 64), WF_SHAPE0, WF_F32);
  assert_ok(wf_copy_explain(at(THERE, WF_SHAPE(64, 64), WF_SHAPE0, WF_F32), wf_t(small), &e));
  assert_false(e.streaming);
  wf_tensor *large = at(HERE, WF_SHAPE(4096, 4096), WF_SHAPE0, WF_F32);
  assert_ok(wf_copy_explain(at(THERE, WF_SHAPE(4096, 4096), WF_SHAPE0, WF_F32), wf_t(large), &e));
  assert_true(e.streaming);
  assert_true(e.method == WF_METHOD_STRAIGHT || e.method == WF_METHOD_TILES);
  assert_true(*e.name && *e.why);
  wf_scope_end(scope, NULL);
}

static void a_contiguous_copy_is_one_row_and_a_broadcast_one_reads_less(void **state) {
  (void)state;
  wf_scope scope = wf_scope_begin();
  wf_copy_explanation e;
  wf_tensor *dst = at(THERE, WF_SHAPE(3, 5, 7), WF_SHAPE0, WF_I16);
  assert_ok(wf_copy_explain(dst, at(HERE, WF_SHAPE(3, 5, 7), WF_SHAPE0, WF_I16), &e));
  assert_int_equal(e.method, WF_METHOD_ROWS);
  assert_int_equal(e.ndim, 1);
  assert_int_equal(e.size[0], 105);
  assert_ok(wf_copy_explain(dst, at(HERE, WF_SHAPE(7), WF_SHAPE0, WF_I16), &e));
  assert_int_equal(e.ndim, 2);
  check_list(e.src_step, WF_SHAPE(0, 2));
  assert_int_equal(e.bytes_read, 14);
  assert_int_equal(e.bytes_written, 210);
  wf_scope_end(scope, NULL);
}

static void tells_a_fill_and_what_needs_nothing(void **state) {
  (void)state;
  wf_scope scope = wf_scope_begin();
  wf_copy_explanation e;
  wf_tensor *x = at(HERE, WF_SHAPE(3, 5), WF_SHAPE0, WF_F64);
  assert_ok(wf_copy_explain(x, NULL, &e));
  assert_int_equal(e.method, WF_METHOD_FILL);
  assert_int_equal(e.bytes_read, 0);
  assert_int_equal(e.bytes_written, 120);
  assert_ok(wf_copy_explain(x, x, &e));
  assert_int_equal(e.method, WF_METHOD_NOTHING);
  wf_tensor *none = at(HERE, WF_SHAPE(0, 5), WF_SHAPE0, WF_F64);
  assert_ok(wf_copy_explain(none, at(THERE, WF_SHAPE(1), WF_SHAPE0, WF_F32), &e));
  assert_int_equal(e.method, WF_METHOD_NOTHING);
  wf_scope_end(scope, NULL);
}

static void tells_that_overlapping_sides_take_a_temporary(void **state) {
  (void)state;
  wf_scope scope = wf_scope_begin();
  wf_copy_explanation e;
  wf_tensor *x = at(HERE, WF_SHAPE(20), WF_SHAPE0, WF_F32);
  /* Every second element, shifted by two places: elements are written that are still to be read. Shifted by one, none is. */
  wf_tensor *to = wf_slice(x, 0, 2, 12, 2);
  assert_ok(wf_copy_explain(to, wf_slice(x, 0, 0, 10, 2), &e));
  assert_true(e.temporary);
  check_list(e.dst_step, WF_SHAPE(8));
  check_list(e.src_step, WF_SHAPE(4)); /* of the temporary, which is packed */
  assert_ok(wf_copy_explain(to, wf_slice(x, 0, 1, 11, 2), &e));
  assert_false(e.temporary);
  wf_scope_end(scope, NULL);
}

static void refuses_what_copy_refuses(void **state) {
  (void)state;
  wf_scope scope = wf_scope_begin();
  wf_copy_explanation e;
  wf_tensor *a = wf_zeros(WF_SHAPE(3, 4), NULL), *b = wf_zeros(WF_SHAPE(3, 5), NULL),
            *line = wf_zeros(WF_SHAPE(12), NULL);
  wf_tensor *const pairs[][2] = {{a, b},
                                 {wf_slice(line, 0, 0, 10, 1), wf_slice(line, 0, 2, 12, 1)},
                                 {wf_expand(wf_zeros(WF_SHAPE(1, 4), NULL), WF_SHAPE(3, 4)), a}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    char text[256];
    assert_int_equal(wf_copy_explain(pairs[i][0], pairs[i][1], &e), WF_RUNTIME);
    snprintf(text, sizeof text, "%s", wf_error_take().text);
    assert_int_equal(wf_copy_(pairs[i][0], pairs[i][1], false), WF_RUNTIME);
    assert_string_equal(wf_error_take().text, text);
  }
  wf_scope_end(scope, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tells_the_normal_form_and_bytes_of_images_that_become_planes),
      cmocka_unit_test(a_repeated_element_is_stored_past_the_cache),
      cmocka_unit_test(a_transpose_is_turned_and_a_large_one_stored_past_the_cache),
      cmocka_unit_test(a_contiguous_copy_is_one_row_and_a_broadcast_one_reads_less),
      cmocka_unit_test(tells_a_fill_and_what_needs_nothing),
      cmocka_unit_test(tells_that_overlapping_sides_take_a_temporary),
      cmocka_unit_test(refuses_what_copy_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
