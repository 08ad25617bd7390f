/* POINTWISE plans of random operators, dtypes and strides against the same operator on one element at a time. */
#include "test.h"

#include <math.h>
#include "../kernel/guarded.h"
#include "exec/exec.h"
#include "exec/past_cache.h"
#include "kernel/tables.h"

typedef struct value {
  char bytes[8];
} value;

static wf_dtype wide_of(wf_dtype compute) {
  return compute == WF_F64 ? WF_F64 : wf_dtype_is_float(compute) ? WF_F32 : WF_I64;
}
static void convert(wf_dtype from, wf_dtype to, const void *src, void *dst) {
  wf__kernels_of(WF__ISA_REF)->convert[from][to](dst, src, 1);
}

static char *element(const wf_plan *plan, int o, int64_t linear) {
  char *p = plan->operand[o].data;
  for (int d = plan->ndim - 1; d >= 0; d--) {
    p += linear % plan->size[d] * plan->operand[o].stride[d];
    linear /= plan->size[d];
  }
  return p;
}

/* One element by the documented road: cast to compute, widen, apply, narrow, cast to the output. */
static void expect(const wf_plan *plan, int64_t i, char *out) {
  wf_dtype compute = (wf_dtype)plan->compute, wide = wide_of(compute);
  int class = wide == WF_F32 ? WF__CLASS_F32 : wide == WF_F64 ? WF__CLASS_F64 : WF__CLASS_I64;
  value in[3], narrow;
  const void *inputs[3] = {&in[0], &in[1], &in[2]};
  for (int k = 0; k + 1 < plan->operands; k++) {
    if (wf__pointwise_is_mask(plan->op, k)) {
      convert(plan->operand[k + 1].dtype, WF_BOOL, element(plan, k + 1, i), &in[k]);
      continue;
    }
    convert(plan->operand[k + 1].dtype, compute, element(plan, k + 1, i), &narrow);
    convert(compute, wide, &narrow, &in[k]);
  }
  wf__pointwise_args args = {.f = {1, 1, 1, 1}, .i = {1, 1, 1, 1}};
  value result;
  wf__kernels_now()->pointwise[class][plan->op](&result, inputs, 1, &args);
  if (wf__pointwise_gives_bool(plan->op)) {
    convert(WF_BOOL, plan->operand[0].dtype, &result, out);
  } else {
    convert(wide, compute, &result, &narrow);
    convert(compute, plan->operand[0].dtype, &narrow, out);
  }
}

static int64_t random_layout(wf_operand *operand, const int64_t *sizes, int ndim, bool input, uint64_t *seed) {
  int order[4] = {0, 1, 2, 3};
  for (int i = ndim - 1; i > 0 && random_next(seed) % 2; i--) {
    int j = (int)(random_next(seed) % (uint64_t)(i + 1)), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  int64_t stride = (int64_t)wf_dtype_size(operand->dtype);
  if (random_next(seed) % 8 == 0) stride *= 2;
  for (int i = ndim - 1; i >= 0; i--) {
    bool repeat = input && random_next(seed) % 6 == 0;
    operand->stride[order[i]] = repeat ? 0 : stride;
    if (!repeat) stride *= sizes[order[i]] + (random_next(seed) % 4 == 0);
  }
  return stride;
}

static void run_and_compare(wf_plan *plan, guarded *buffer) {
  int64_t count = 1;
  for (int d = 0; d < plan->ndim; d++) count *= plan->size[d];
  char *expected = malloc(buffer[0].bytes);
  memcpy(expected, buffer[0].data, buffer[0].bytes);
  for (int64_t i = 0; i < count; i++) expect(plan, i, expected + (element(plan, 0, i) - buffer[0].data));
  assert_ok(wf__exec(plan));
  for (int64_t i = 0; i < count; i++) {
    char *got = element(plan, 0, i), *want = expected + (got - buffer[0].data);
    wf_dtype out = plan->operand[0].dtype;
    bool same = !memcmp(got, want, wf_dtype_size(out));
    if (wf_dtype_is_float(out)) {
      double a = wf__scalar_load(out, got).as.f, b = wf__scalar_load(out, want).as.f;
      same = same || a == b || (isnan(a) && isnan(b));
    }
    assert_true(same);
    memcpy(got, want, wf_dtype_size(out));
  }
  assert_memory_equal(buffer[0].data, expected, buffer[0].bytes); /* gaps are untouched */
  free(expected);
}

/* Operands in random layouts, filled; one of them (the first input) may be the output itself. */
static void make_operands(wf_plan *plan, guarded *buffer, bool mixed, uint64_t *seed) {
  for (int o = 0; o < plan->operands; o++) {
    bool half_compute = wf_dtype_size((wf_dtype)plan->compute) == 2;
    plan->operand[o].dtype = !mixed || random_next(seed) % 2 || half_compute ? (wf_dtype)plan->compute
                                                                             : (wf_dtype)(1 + random_next(seed) % 10);
    if (!mixed && o == 0 && wf__pointwise_gives_bool(plan->op)) plan->operand[o].dtype = WF_BOOL;
    int64_t bytes = random_layout(&plan->operand[o], plan->size, plan->ndim, o > 0, seed);
    buffer[o] = guarded_new((size_t)bytes, random_next(seed) % 4 * wf_dtype_size(plan->operand[o].dtype));
    plan->operand[o].data = buffer[o].data;
    if (o > 0)
      random_fill(buffer[o].data, plan->operand[o].dtype, bytes / (int64_t)wf_dtype_size(plan->operand[o].dtype), seed);
  }
}

static void free_operands(const wf_plan *plan, guarded *buffer) {
  for (int o = 0; o < plan->operands; o++) {
    assert_true(guarded_intact(&buffer[o]));
    guarded_free(&buffer[o]);
  }
}

static wf_plan random_operator(uint64_t *seed) {
  static const int ops[] = {WF__PW_ADD, WF__PW_MUL,     WF__PW_WHERE,        WF__PW_MASKED_FILL,
                            WF__PW_LT,  WF__PW_SQUARE,  WF__PW_LOGICAL_AND,  WF__PW_MAXIMUM,
                            WF__PW_SUB, WF__PW_ADDCMUL, WF__PW_CLAMP_TENSOR, WF__PW_RELU};
  wf_plan plan = {.family = WF_FAMILY_POINTWISE, .outputs = 1};
  plan.op = (uint16_t)ops[random_next(seed) % 12];
  plan.operands = (uint8_t)(1 + wf__pointwise_arity[plan.op]);
  plan.compute = (uint8_t)(1 + random_next(seed) % 9); /* not bool: half of the operators refuse it */
  return plan;
}

static void check_random_plan(uint64_t *seed, uint64_t ndim, int64_t most) {
  wf_plan plan = random_operator(seed);
  guarded buffer[4];
  plan.ndim = (uint8_t)ndim;
  for (int d = 0; d < plan.ndim; d++) plan.size[d] = 1 + (int64_t)(random_next(seed) % (uint64_t)most);
  make_operands(&plan, buffer, true, seed);
  run_and_compare(&plan, buffer);
  free_operands(&plan, buffer);
}

static void random_plans_equal_one_element_at_a_time(void **state) {
  (void)state;
  uint64_t seed = 31;
  for (int past = 0; past < 2; past++) {
    wf__past_cache_from = past ? 0 : -1;
    for (int i = 0; i < 4000; i++) check_random_plan(&seed, random_next(&seed) % 5, 7);
    for (int i = 0; i < 200; i++) check_random_plan(&seed, random_next(&seed) % 5, 24);
    for (int i = 0; i < 60; i++) check_random_plan(&seed, 2, 700); /* several tiles */
  }
  wf__past_cache_from = -1;
}

/* Results of some size that go past the cache: rows, packed rows and tiles, on one thread and on two. */
static void large_plans_equal_one_element_at_a_time(void **state) {
  (void)state;
  uint64_t seed = 77;
  int threads = wf_num_threads();
  wf__past_cache_from = 0;
  for (int i = 0; i < 24; i++) {
    wf_plan plan = random_operator(&seed);
    guarded buffer[4];
    int64_t size = wf__pointwise_gives_bool(plan.op) ? 1 : (int64_t)wf_dtype_size((wf_dtype)plan.compute);
    if (size == 1) continue; /* too many elements for one at a time */
    plan.ndim = (uint8_t)(1 + i % 3);
    int64_t rest = (5 << 20) / size;
    for (int d = 0; d < plan.ndim - 1; d++) {
      plan.size[d] = i % 4 == 3 ? 5000 / plan.ndim : 300 + (int64_t)(random_next(&seed) % 300);
      if (d) plan.size[d] = 7;
      rest = rest / plan.size[d] + 1;
    }
    plan.size[plan.ndim - 1] = rest;
    make_operands(&plan, buffer, i % 2, &seed);
    assert_ok(wf_set_num_threads(1 + i / 2 % 2));
    run_and_compare(&plan, buffer);
    free_operands(&plan, buffer);
  }
  assert_ok(wf_set_num_threads(threads));
  wf__past_cache_from = -1;
}

/* Over an input, nothing may go past the cache before it was read. */
static void a_large_result_may_be_an_input(void **state) {
  (void)state;
  enum { N = 1 << 20 };
  float *x = aligned_alloc(64, N * 4 + 64);
  for (int i = 0; i < N; i++) x[i] = (float)(i % 1000);
  wf_plan plan = {.family = WF_FAMILY_POINTWISE,
                  .op = WF__PW_ADD,
                  .compute = WF_F32,
                  .operands = 3,
                  .outputs = 1,
                  .ndim = 1,
                  .size = {N}};
  for (int o = 0; o < 3; o++) plan.operand[o] = (wf_operand){x, WF_F32, {4}};
  wf__past_cache_from = 0;
  assert_ok(wf__exec(&plan));
  wf__past_cache_from = -1;
  for (int i = 0; i < N; i++) assert_true(x[i] == 2 * (float)(i % 1000));
  free(x);
}

static wf_plan plan_of(int op, wf_dtype compute, int64_t n) {
  return (wf_plan){.family = WF_FAMILY_POINTWISE,
                   .op = (uint16_t)op,
                   .compute = (uint8_t)compute,
                   .outputs = 1,
                   .ndim = 1,
                   .size = {n}};
}

static void zero_divisors_are_refused_before_anything_is_written(void **state) {
  (void)state;
  int32_t x[] = {1, 2, 3, 4};
  int64_t y[] = {1, 2, 3, 256}; /* 256 is 0 as u8 */
  wf_plan plan = plan_of(WF__PW_DIV_FLOOR, WF_U8, 4);
  plan.operands = 3;
  plan.operand[0] = (wf_operand){x, WF_I32, {4}};
  plan.operand[1] = (wf_operand){x, WF_I32, {4}};
  plan.operand[2] = (wf_operand){y, WF_I64, {8}};
  assert_int_equal(wf__exec(&plan), WF_RUNTIME);
  assert_error(WF_RUNTIME, "ZeroDivisionError");
  const int32_t before[] = {1, 2, 3, 4};
  assert_memory_equal(x, before, sizeof x);
}

/* torch: (h * 0.1), (h + 0.1) with h = 3.0 and 2047 in float16: 0.1 multiplies in f32 and is rounded to half before it is added. */
static void numbers_beside_halves_are_rounded_where_pytorch_rounds_them(void **state) {
  (void)state;
  uint16_t h = wf__f32_to_f16(0.0101013184f), out;
  wf_plan plan = plan_of(WF__PW_MUL, WF_F16, 1);
  plan.operands = 2;
  plan.operand[0] = (wf_operand){&out, WF_F16, {2}};
  plan.operand[1] = (wf_operand){&h, WF_F16, {2}};
  plan.scalar[2] = wf_float(0.1);
  assert_ok(wf__exec(&plan));
  assert_int_equal(out, wf__f32_to_f16(wf__f16_to_f32(h) * 0.1f));
  plan.op = WF__PW_ADD;
  assert_ok(wf__exec(&plan));
  assert_int_equal(out, wf__f32_to_f16(wf__f16_to_f32(h) + wf__f16_to_f32(wf__f32_to_f16(0.1f))));
}

static void an_absent_operand_is_the_number_at_its_index(void **state) {
  (void)state;
  float x[3] = {1, 2, 3}, out[3];
  wf_plan plan = plan_of(WF__PW_SUB, WF_F32, 3);
  plan.operands = 3;
  plan.operand[0] = (wf_operand){out, WF_F32, {4}};
  plan.operand[2] = (wf_operand){x, WF_F32, {4}};
  plan.scalar[0] = wf_int(2); /* 10 - 2 x */
  plan.scalar[1] = wf_int(10);
  assert_ok(wf__exec(&plan));
  assert_true(out[0] == 8 && out[1] == 6 && out[2] == 4);
}

static void missing_kernels_are_named_as_in_pytorch(void **state) {
  (void)state;
  uint8_t x[1] = {1};
  wf_plan plan = plan_of(WF__PW_FLOOR, WF_BOOL, 1);
  plan.operands = 2;
  plan.operand[0] = plan.operand[1] = (wf_operand){x, WF_BOOL, {1}};
  assert_int_equal(wf__exec(&plan), WF_NOT_IMPLEMENTED);
  assert_error(WF_NOT_IMPLEMENTED, "\"floor_vml_cpu\" not implemented for 'Bool'");
  plan.op = WF__PW_BITWISE_NOT;
  plan.compute = WF_F16;
  assert_int_equal(wf__exec(&plan), WF_NOT_IMPLEMENTED);
  assert_error(WF_NOT_IMPLEMENTED, "\"bitwise_not_cpu\" not implemented for 'Half'");
  plan.compute = WF_BOOL;
  assert_ok(wf__exec(&plan));
  assert_int_equal(x[0], 0);
}

static void a_large_plan_is_the_same_on_any_number_of_threads(void **state) {
  (void)state;
  enum { ROWS = 401, COLS = 307 };
  static float a[ROWS * COLS], b[COLS * ROWS], out[ROWS * COLS];
  for (int i = 0; i < ROWS * COLS; i++) a[i] = (float)i, b[i] = (float)(i % 1000);
  for (int threads = 1; threads <= 4; threads += 3) {
    assert_ok(wf_set_num_threads(threads));
    memset(out, 0, sizeof out);
    wf_plan plan = plan_of(WF__PW_ADD, WF_F32, ROWS);
    plan.ndim = 2;
    plan.size[1] = COLS;
    plan.operands = 3;
    plan.operand[0] = (wf_operand){out, WF_F32, {COLS * 4, 4}};
    plan.operand[1] = (wf_operand){a, WF_F32, {COLS * 4, 4}};
    plan.operand[2] = (wf_operand){b, WF_F32, {4, ROWS * 4}}; /* transposed */
    assert_ok(wf__exec(&plan));
    for (int r = 0; r < ROWS; r++)
      for (int c = 0; c < COLS; c++) assert_true(out[r * COLS + c] == a[r * COLS + c] + b[c * ROWS + r]);
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_plans_equal_one_element_at_a_time),
    cmocka_unit_test(large_plans_equal_one_element_at_a_time),
    cmocka_unit_test(a_large_result_may_be_an_input),
    cmocka_unit_test(zero_divisors_are_refused_before_anything_is_written),
    cmocka_unit_test(numbers_beside_halves_are_rounded_where_pytorch_rounds_them),
    cmocka_unit_test(an_absent_operand_is_the_number_at_its_index),
    cmocka_unit_test(missing_kernels_are_named_as_in_pytorch),
    cmocka_unit_test(a_large_plan_is_the_same_on_any_number_of_threads),
};
WF_TEST_MAIN("exec/pointwise", tests)
