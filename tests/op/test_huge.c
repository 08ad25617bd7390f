/* Tensors of more than 2^31 elements and offsets past 2^32, over memory that is mapped but hardly touched: pages that nobody wrote are all the
 * one page of zeros, so the tests need some megabytes and no time. */
#include "test.h"

#include <errno.h>
#include <sys/mman.h>
#include <weft/copy.h>
#include <weft/create.h>
#include <weft/index.h>
#include <weft/join.h>
#include <weft/math.h>
#include <weft/reduce.h>
#include <weft/view.h>

#define GIB (INT64_C(1) << 30)
#define BYTES (10 * GIB)

static uint8_t *memory;
static int unmapped;
static wf_scope scope;

static void unmap(void *data, void *context) {
  (void)context;
  unmapped += !munmap(data, BYTES);
}

static int map(void **state) {
  (void)state;
  scope = wf_scope_begin();
  memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    memory = NULL;
    print_message("%lld GiB of address space aren't to be had: %s\n", (long long)(BYTES / GIB), strerror(errno));
    return 0;
  }
  /* Whole pages of 2 MiB for a byte here and there would be gigabytes. */
  madvise(memory, BYTES, MADV_NOHUGEPAGE);
  unmapped = 0;
  return 0;
}

static int check_unmapped(void **state) {
  (void)state;
  wf_error_take();
  wf_scope_end(scope, NULL);
  assert_true(!memory || unmapped == 1); /* the last tensor gave it back */
  return 0;
}

/* The mapping as a tensor. */
static wf_tensor *adopt(wf_dims size, wf_dtype dtype) {
  if (!memory) skip();
  wf_tensor *t = wf_from_memory(memory, BYTES, size, WF_SHAPE0, dtype, unmap, NULL);
  assert_non_null(t);
  return t;
}

static int64_t whole(const wf_tensor *t) { return wf_item(t).as.i; }

static void views_reach_places_past_four_gibibytes(void **state) {
  (void)state;
  wf_tensor *x = adopt(WF_SHAPE(3, 3 * GIB), WF_I8); /* offsets up to 9 GiB */
  assert_true(wf_numel(x) == 9 * GIB);
  const int64_t row[] = {0, 1, 2, 2}, column[] = {7, 2 * GIB + 5, GIB + 1, 3 * GIB - 1};
  for (int i = 0; i < 4; i++) memory[row[i] * 3 * GIB + column[i]] = (uint8_t)(10 + i);
  for (int i = 0; i < 4; i++) {
    int64_t at = row[i] * 3 * GIB + column[i];
    wf_tensor *one = wf_select(wf_select(x, 0, row[i]), 0, column[i]);
    assert_true(wf_storage_offset(one) == at);
    assert_int_equal(whole(one), 10 + i);
    assert_int_equal(whole(wf_select(wf_t(wf_select(wf_t(x), 0, column[i])), 0, row[i] - 3)), 10 + i);
    wf_tensor *near = wf_slice(wf_select(x, 0, row[i]), 0, column[i] - (i == 3 ? 3 : 1), WF_NONE, 1);
    assert_int_equal(whole(wf_sum(wf_narrow(near, 0, 0, i == 3 ? 4 : 3))), 10 + i);
    assert_int_equal(whole(wf_select(wf_view(x, WF_SHAPE(-1)), 0, at)), 10 + i);
  }
  assert_int_equal(whole(wf_select(wf_select(wf_view(x, WF_SHAPE(9, GIB)), 0, 8), 0, -1)), 13);
  wf_tensor *steps = wf_slice(wf_view(x, WF_SHAPE(-1)), 0, 7, WF_NONE, 3 * GIB); /* 7, 3 GiB + 7, 6 GiB + 7 */
  assert_true(wf_stride(steps, 0) == 3 * GIB && wf_numel(steps) == 3);
  assert_int_equal(whole(wf_sum(steps)), 10);
  assert_null(wf_select(wf_select(x, 0, 0), 0, 3 * GIB));
  assert_error(WF_INDEX, "select(): index 3221225472 out of range for tensor of size [3221225472] at dimension 0");
  assert_null(wf_as_strided(x, WF_SHAPE(2), WF_SHAPE(BYTES), 0));
  assert_int_equal(wf_error_take().status, WF_RUNTIME);
}

static void pieces_far_apart_are_copied_and_written(void **state) {
  (void)state;
  wf_tensor *x = adopt(WF_SHAPE(9 * GIB), WF_U8);
  wf_tensor *low = wf_narrow(x, 0, 100, 5000), *high = wf_narrow(x, 0, 8 * GIB + 33, 5000);
  assert_ok(wf_copy_(high, wf_to(wf_arange(wf_int(0), wf_int(5000), wf_int(1), NULL), WF_U8), false));
  assert_ok(wf_copy_(low, high, false));
  for (int i = 0; i < 5000; i++) assert_true(memory[100 + i] == (uint8_t)i && memory[8 * GIB + 33 + i] == (uint8_t)i);
  assert_true(memory[8 * GIB + 32] == 0 && memory[8 * GIB + 5033] == 0);
  wf_tensor *columns = wf_as_strided(x, WF_SHAPE(70, 8), WF_SHAPE(1, GIB + 4096), 50); /* turned, 1 GiB apart */
  assert_ok(wf_copy_(
      columns, wf_to(wf_view(wf_arange(wf_int(1), wf_int(561), wf_int(1), NULL), WF_SHAPE(70, 8)), WF_U8), false));
  for (int64_t r = 0; r < 70; r++)
    for (int64_t c = 0; c < 8; c++) assert_int_equal(memory[50 + r + c * (GIB + 4096)], (uint8_t)(1 + 8 * r + c));
  wf_tensor *packed = wf_clone(columns, WF_FORMAT_CONTIGUOUS);
  for (int64_t r = 0; r < 70; r++)
    assert_int_equal(whole(wf_select(wf_select(packed, 0, r), 0, 7)), (uint8_t)(8 + 8 * r));
  assert_ok(wf_fill_(wf_slice(wf_narrow(x, 0, 5 * GIB, 300), 0, 0, WF_NONE, 100), wf_int(9)));
  assert_true(memory[5 * GIB] == 9 && memory[5 * GIB + 100] == 9 && memory[5 * GIB + 200] == 9 && !memory[5 * GIB + 1]);
  assert_int_equal(
      whole(wf_sum(
          wf_cat((wf_tensors){(wf_tensor *[]){wf_narrow(x, 0, 5 * GIB, 2), wf_narrow(x, 0, 5 * GIB + 99, 2)}, 2}, 0))),
      18);
}

static void indices_past_two_to_the_31_are_found(void **state) {
  (void)state;
  wf_tensor *x = adopt(WF_SHAPE(2 * GIB + GIB / 2), WF_F32); /* 10 GiB */
  const int64_t at[] = {2 * GIB + 7, 5, 2 * GIB + GIB / 2 - 1};
  wf_tensor *index = wf_from_data(at, WF_SHAPE(3), WF_I64),
            *values = wf_to(wf_arange(wf_int(1), wf_int(4), wf_int(1), NULL), WF_F32);
  assert_ok(wf_index_put_(x, (wf_tensors){&index, 1}, values, false));
  for (int i = 0; i < 3; i++) assert_true(((const float *)(const void *)memory)[at[i]] == (float)(i + 1));
  assert_true(wf_item_double(wf_sum(wf_index_select(x, 0, index))) == 6);
  assert_true(wf_item_double(wf_sum(wf_take(x, index))) == 6);
  assert_true(wf_item_double(wf_sum(wf_gather(x, 0, index))) == 6);
  assert_true(wf_item_double(wf_sum(wf_index(x, (wf_tensors){&index, 1}))) == 6);
  assert_ok(wf_index_add_(x, 0, index, values, wf_int(1)));
  assert_ok(wf_index_fill_(x, 0, wf_narrow(index, 0, 1, 1), wf_float(0.5)));
  assert_true(wf_item_double(wf_sum(wf_index_select(x, 0, index))) == 2 + 0.5 + 6);
  const int64_t beyond = 2 * GIB + GIB / 2;
  wf_tensor *wrong = wf_from_data(&beyond, WF_SHAPE(1), WF_I64);
  assert_null(wf_index(x, (wf_tensors){&wrong, 1}));
  assert_error(WF_INDEX, "index 2684354560 is out of bounds for dimension 0 with size 2684354560");
}

static void counts_past_two_to_the_31_come_out_whole(void **state) {
  (void)state;
  (void)adopt(WF_SHAPE(1), WF_I8);
  wf_tensor *one = wf_ones(WF_SHAPE(1, 1), NULL), *wide = wf_expand(one, WF_SHAPE(3 * GIB, 4));
  assert_true(wf_numel(wide) == 12 * GIB);
  assert_null(
      wf_clone(wf_expand(one, WF_SHAPE(INT64_C(1) << 40, INT64_C(1) << 22)), WF_FORMAT_CONTIGUOUS)); /* 2^64 bytes */
  wf_error_take();
  wf_tensor *row = wf_select(wide, 0, 3 * GIB - 1);
  assert_true(wf_item_double(wf_sum(row)) == 4);
  assert_int_equal(wf_add_scalar_(wide, wf_int(1)), WF_RUNTIME); /* refused before anything is walked */
  wf_error_take();
  wf_tensor *folded = wf_view(wf_expand(wf_ones(WF_SHAPE(1), NULL), WF_SHAPE(6 * GIB)), WF_SHAPE(3, 2, GIB));
  assert_true(wf_numel(folded) == 6 * GIB && wf_stride(folded, 0) == 0);
  assert_null(wf_view(wide, WF_SHAPE(5, -1)));
  assert_error(WF_RUNTIME, "shape '[5, -1]' is invalid for input of size 12884901888");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, map, check_unmapped)
static const struct CMUnitTest tests[] = {
    TEST(views_reach_places_past_four_gibibytes),
    TEST(pieces_far_apart_are_copied_and_written),
    TEST(indices_past_two_to_the_31_are_found),
    TEST(counts_past_two_to_the_31_come_out_whole),
};
WF_TEST_MAIN("op/huge", tests)
