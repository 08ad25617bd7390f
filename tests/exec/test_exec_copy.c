/* COPY plans of random shapes, dtypes and strides against a loop over indices. */
#include "test.h"

#include "../kernel/guarded.h"
#include "copy/form.h"
#include "exec/copy_method.h"
#include "exec/exec.h"
#include "kernel/plan_print.h"
#include "kernel/tables.h"

/* A layout of `sizes` in which dims lie in a random order with random gaps; some sources repeat (stride 0). Returns bytes. */
static int64_t random_layout(wf_operand *operand, const int64_t *sizes, int ndim, bool source, uint64_t *seed) {
  int order[6] = {0, 1, 2, 3, 4, 5};
  for (int i = ndim - 1; i > 0; i--) {
    int j = (int)(random_next(seed) % (uint64_t)(i + 1)), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  int64_t stride = (int64_t)wf_dtype_size(operand->dtype);
  if (random_next(seed) % 8 == 0) stride *= 1 + (int64_t)(random_next(seed) % 4);
  for (int i = 0; i < ndim; i++) {
    bool repeat = source && random_next(seed) % 10 == 0;
    operand->stride[order[i]] = repeat ? 0 : stride;
    if (!repeat) stride *= sizes[order[i]] + (random_next(seed) % 4 == 0);
  }
  return stride;
}

static char *element(const wf_plan *plan, int o, int64_t linear) {
  char *p = plan->operand[o].data;
  for (int d = plan->ndim - 1; d >= 0; d--) {
    p += linear % plan->size[d] * plan->operand[o].stride[d];
    linear /= plan->size[d];
  }
  return p;
}

static void fail_with(const wf_plan *plan) {
  char text[1024];
  wf__copy_method m;
  wf__plan_print(plan, text, sizeof text);
  wf__copy_choose(plan, &m);
  fail_msg("wrong: %s (%s)", text, m.why);
}

/* Runs a plan whose strides and dtypes are set, on memory of so many bytes. */
static void check_plan(wf_plan *plan, const int64_t bytes[2], const size_t offset[2], bool normal, uint64_t *seed) {
  guarded buffer[2];
  int64_t count = 1;
  for (int d = 0; d < plan->ndim; d++) count *= plan->size[d];
  for (int o = 0; o < 2; o++) {
    buffer[o] = guarded_new((size_t)bytes[o], offset[o]);
    plan->operand[o].data = buffer[o].data;
  }
  wf_dtype to = plan->operand[0].dtype, from = plan->operand[1].dtype;
  random_fill(buffer[1].data, from, bytes[1] / (int64_t)wf_dtype_size(from), seed);
  char *expected = malloc((size_t)bytes[0]);
  memcpy(expected, buffer[0].data, (size_t)bytes[0]);
  for (int64_t i = 0; i < count; i++)
    wf__kernels_of(WF__ISA_REF)
        ->convert[from][to](expected + (element(plan, 0, i) - buffer[0].data), element(plan, 1, i), 1);
  if (normal) wf__copy_form(plan);
  assert_ok(wf__exec(plan));
  if (memcmp(buffer[0].data, expected, (size_t)bytes[0])) fail_with(plan);
  assert_true(guarded_intact(&buffer[0]) && guarded_intact(&buffer[1]));
  free(expected);
  for (int o = 0; o < 2; o++) guarded_free(&buffer[o]);
}

static void draw_dtypes(wf_plan *plan, uint64_t *seed) {
  plan->operand[0].dtype = (wf_dtype)(1 + random_next(seed) % 10);
  plan->operand[1].dtype = random_next(seed) % 2 ? plan->operand[0].dtype : (wf_dtype)(1 + random_next(seed) % 10);
}

static void check_random_copy(uint64_t *seed, int64_t most, bool normal) {
  wf_plan plan = {.family = WF_FAMILY_COPY, .operands = 2, .outputs = 1};
  plan.ndim = (uint8_t)(random_next(seed) % 7);
  int64_t count = 1;
  for (int d = 0; d < plan.ndim; d++) {
    plan.size[d] = 1 + (int64_t)(random_next(seed) % (uint64_t)most);
    if (count * plan.size[d] > 20000) plan.size[d] = 1;
    count *= plan.size[d];
  }
  draw_dtypes(&plan, seed);
  int64_t bytes[2];
  size_t offset[2];
  for (int o = 0; o < 2; o++) {
    bytes[o] = random_layout(&plan.operand[o], plan.size, plan.ndim, o == 1, seed);
    offset[o] = random_next(seed) % 4 * wf_dtype_size(plan.operand[o].dtype);
  }
  check_plan(&plan, bytes, offset, normal, seed);
}

/* Plans in any order of dims, then in the normal form, and with stores past the cache from the first byte on. */
static void random_copies_equal_a_loop_over_indices(void **state) {
  (void)state;
  uint64_t seed = 2024;
  int64_t stream_from = wf__copy_stream_from;
  for (int threads = 1; threads <= 2; threads++) {
    assert_ok(wf_set_num_threads(threads));
    for (int streamed = 0; streamed < 2; streamed++) {
      wf__copy_stream_from = streamed ? 0 : stream_from;
      for (int i = 0; i < 2500; i++) check_random_copy(&seed, 9, i % 2);
      for (int i = 0; i < 150; i++) check_random_copy(&seed, 40, i % 2);
      for (int i = 0; i < 60; i++) check_random_copy(&seed, 300, i % 2);
    }
  }
  wf__copy_stream_from = stream_from;
  assert_ok(wf_set_num_threads(1));
}

/* [outer, rows, columns] from [outer, columns, rows], each row of the destination on a line. */
static void check_rows_on_lines(uint64_t *seed) {
  wf_plan plan = {.family = WF_FAMILY_COPY, .operands = 2, .outputs = 1, .ndim = 3};
  draw_dtypes(&plan, seed);
  int64_t to = (int64_t)wf_dtype_size(plan.operand[0].dtype), from = (int64_t)wf_dtype_size(plan.operand[1].dtype);
  int64_t outer = 1 + (int64_t)(random_next(seed) % 3), rows = 1 + (int64_t)(random_next(seed) % 700);
  int64_t columns = 1 + (int64_t)(random_next(seed) % 200);
  int64_t row = (columns * to + 63) / 64 * 64, column = (rows + (int64_t)(random_next(seed) % 3)) * from;
  const int64_t size[] = {outer, rows, columns}, dst[] = {rows * row, row, to},
                src[] = {columns * column, from, column};
  memcpy(plan.size, size, sizeof size);
  memcpy(plan.operand[0].stride, dst, sizeof dst);
  memcpy(plan.operand[1].stride, src, sizeof src);
  const int64_t bytes[] = {outer * rows * row, outer * columns * column};
  const size_t offset[] = {0, random_next(seed) % 4 * (size_t)from};
  check_plan(&plan, bytes, offset, true, seed);
}

static void transposes_onto_whole_lines_convert_on_the_way(void **state) {
  (void)state;
  uint64_t seed = 77;
  int64_t stream_from = wf__copy_stream_from;
  wf__copy_stream_from = 0;
  for (int threads = 1; threads <= 2; threads++) {
    assert_ok(wf_set_num_threads(threads));
    for (int i = 0; i < 60; i++) check_rows_on_lines(&seed);
  }
  wf__copy_stream_from = stream_from;
  assert_ok(wf_set_num_threads(1));
}

/* [outer, 2 to 4 rows, columns] from [outer, columns, rows]: each row begins and ends on a line, and many tiles share it. */
static void check_few_rows_on_lines(uint64_t *seed) {
  wf_plan plan = {.family = WF_FAMILY_COPY, .operands = 2, .outputs = 1, .ndim = 3};
  draw_dtypes(&plan, seed);
  int64_t to = (int64_t)wf_dtype_size(plan.operand[0].dtype), from = (int64_t)wf_dtype_size(plan.operand[1].dtype);
  int64_t outer = 1 + (int64_t)(random_next(seed) % 3), rows = 2 + (int64_t)(random_next(seed) % 3);
  int64_t row = 64 * (1 + (int64_t)(random_next(seed) % 600)), columns = row / to;
  const int64_t size[] = {outer, rows, columns}, dst[] = {rows * row, row, to},
                src[] = {columns * rows * from, from, rows * from};
  memcpy(plan.size, size, sizeof size);
  memcpy(plan.operand[0].stride, dst, sizeof dst);
  memcpy(plan.operand[1].stride, src, sizeof src);
  const int64_t bytes[] = {outer * rows * row, outer * columns * rows * from};
  const size_t offset[] = {0, random_next(seed) % 4 * (size_t)from};
  check_plan(&plan, bytes, offset, true, seed);
}

static void few_rows_are_split_onto_whole_lines(void **state) {
  (void)state;
  uint64_t seed = 79;
  int64_t stream_from = wf__copy_stream_from;
  wf__copy_stream_from = 0;
  for (int threads = 1; threads <= 2; threads++) {
    assert_ok(wf_set_num_threads(threads));
    for (int i = 0; i < 40; i++) check_few_rows_on_lines(&seed);
  }
  wf__copy_stream_from = stream_from;
  assert_ok(wf_set_num_threads(1));
}

/* Rows of the destination that are cut by tiles and begin anywhere in a line, the source's fastest dim outside or in the middle. */
static void check_cut_rows(uint64_t *seed) {
  wf_plan plan = {.family = WF_FAMILY_COPY, .operands = 2, .outputs = 1, .ndim = 3};
  draw_dtypes(&plan, seed);
  int64_t to = (int64_t)wf_dtype_size(plan.operand[0].dtype), from = (int64_t)wf_dtype_size(plan.operand[1].dtype);
  const int64_t size[] = {1 + (int64_t)(random_next(seed) % 5), 100 + (int64_t)(random_next(seed) % 500),
                          300 + (int64_t)(random_next(seed) % 1200)};
  int64_t gap = random_next(seed) % 2 ? to * (int64_t)(random_next(seed) % 5) : 0;
  const int64_t dst[] = {size[1] * (size[2] * to + gap), size[2] * to + gap, to};
  const int64_t by_planes[] = {from, from * size[0], from * size[0] * size[1]};
  const int64_t by_rows[] = {size[1] * size[2] * from, from, from * size[1]};
  memcpy(plan.size, size, sizeof size);
  memcpy(plan.operand[0].stride, dst, sizeof dst);
  memcpy(plan.operand[1].stride, random_next(seed) % 2 ? by_planes : by_rows, sizeof by_rows);
  const int64_t bytes[] = {size[0] * dst[0], size[0] * size[1] * size[2] * from};
  const size_t offset[] = {random_next(seed) % 8 * (size_t)to, random_next(seed) % 8 * (size_t)from};
  check_plan(&plan, bytes, offset, true, seed);
}

static void lines_that_tiles_share_are_stored_whole(void **state) {
  (void)state;
  uint64_t seed = 78;
  int64_t stream_from = wf__copy_stream_from;
  wf__copy_stream_from = 0;
  for (int threads = 1; threads <= 3; threads++) {
    assert_ok(wf_set_num_threads(threads));
    for (int i = 0; i < 8; i++) check_cut_rows(&seed);
  }
  wf__copy_stream_from = stream_from;
  assert_ok(wf_set_num_threads(1));
}

static void a_large_copy_is_the_same_on_any_number_of_threads(void **state) {
  (void)state;
  enum { ROWS = 517, COLS = 803 };
  static float src[ROWS * COLS], dst[ROWS * COLS];
  for (int i = 0; i < ROWS * COLS; i++) src[i] = (float)i;
  for (int threads = 1; threads <= 5; threads += 2) {
    assert_ok(wf_set_num_threads(threads));
    memset(dst, 0, sizeof dst);
    wf_plan plan = {.family = WF_FAMILY_COPY, .operands = 2, .outputs = 1, .ndim = 2, .size = {COLS, ROWS}};
    plan.operand[0] = (wf_operand){dst, WF_F32, {ROWS * 4, 4}};
    plan.operand[1] = (wf_operand){src, WF_F32, {4, COLS * 4}};
    assert_ok(wf__exec(&plan));
    for (int r = 0; r < ROWS; r++)
      for (int c = 0; c < COLS; c++) assert_true(dst[c * ROWS + r] == (float)(r * COLS + c));
  }
}

/* Beyond 4 MiB stores go past the cache: aligned rows by whole tiles with edges, rows off the lines without. */
static void copies_beyond_the_cache_arrive_as_well(void **state) {
  (void)state;
  enum { ROWS = 1100, COLS = 1040 };
  static float src[ROWS * COLS] __attribute__((aligned(64))), dst[ROWS * (COLS + 16)] __attribute__((aligned(64)));
  for (int i = 0; i < ROWS * COLS; i++) src[i] = (float)i;
  for (int shift = 0; shift < 2; shift++) {
    memset(dst, 0, sizeof dst);
    wf_plan plan = {.family = WF_FAMILY_COPY, .operands = 2, .outputs = 1, .ndim = 2, .size = {ROWS, COLS}};
    plan.operand[0] = (wf_operand){dst + shift, WF_F32, {(COLS + 16 - shift) * 4, 4}};
    plan.operand[1] = (wf_operand){src, WF_F32, {4, ROWS * 4}};
    assert_ok(wf__exec(&plan));
    for (int r = 0; r < ROWS; r++)
      for (int c = 0; c < COLS; c++) assert_true(dst[shift + r * (COLS + 16 - shift) + c] == (float)(c * ROWS + r));
    plan = (wf_plan){.family = WF_FAMILY_COPY, .operands = 2, .outputs = 1, .ndim = 1, .size = {ROWS * COLS}};
    plan.operand[0] = (wf_operand){dst + shift, WF_F32, {4}};
    plan.operand[1] = (wf_operand){src, WF_F32, {4}};
    assert_ok(wf__exec(&plan));
    assert_memory_equal(dst + shift, src, sizeof src);
    plan.operands = 1;
    plan.scalar[0] = wf_float(1.5);
    assert_ok(wf__exec(&plan));
    for (int i = 0; i < ROWS * COLS; i++) assert_true(dst[shift + i] == 1.5f);
  }
}

static void a_plan_without_a_source_fills(void **state) {
  (void)state;
  int16_t data[6] = {1, 2, 3, 4, 5, 6};
  wf_plan plan = {
      .family = WF_FAMILY_COPY, .operands = 1, .outputs = 1, .ndim = 2, .size = {2, 2}, .scalar = {wf_float(-7.9)}};
  plan.operand[0] = (wf_operand){data, WF_I16, {6, 4}};
  assert_ok(wf__exec(&plan));
  const int16_t expected[6] = {-7, 2, -7, -7, 5, -7};
  assert_memory_equal(data, expected, sizeof data);
}

static void nothing_is_touched_when_a_size_is_zero(void **state) {
  (void)state;
  float one = 1;
  wf_plan plan = {
      .family = WF_FAMILY_COPY, .operands = 1, .outputs = 1, .ndim = 2, .size = {0, 5}, .scalar = {wf_int(3)}};
  plan.operand[0] = (wf_operand){&one, WF_F32, {4, 4}};
  assert_ok(wf__exec(&plan));
  assert_true(one == 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_copies_equal_a_loop_over_indices),
    cmocka_unit_test(transposes_onto_whole_lines_convert_on_the_way),
    cmocka_unit_test(few_rows_are_split_onto_whole_lines),
    cmocka_unit_test(lines_that_tiles_share_are_stored_whole),
    cmocka_unit_test(a_large_copy_is_the_same_on_any_number_of_threads),
    cmocka_unit_test(copies_beyond_the_cache_arrive_as_well),
    cmocka_unit_test(a_plan_without_a_source_fills),
    cmocka_unit_test(nothing_is_touched_when_a_size_is_zero),
};
WF_TEST_MAIN("exec/copy", tests)
