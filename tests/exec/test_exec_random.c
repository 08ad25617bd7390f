/* Random draws: distribution, range, independence of threads and layout; permutations. */
#include "test.h"

#include <math.h>
#include "base/convert.h"
#include "base/rng.h"
#include "exec/exec.h"
#include "kernel/kernel.h"

enum { MANY = 200000 };

static wf_plan plan_of(int op, void *out, wf_dtype dtype, int64_t n, wf_scalar a, wf_scalar b) {
  wf_plan plan = {.family = WF_FAMILY_RANDOM,
                  .op = (uint16_t)op,
                  .operands = 1,
                  .outputs = 1,
                  .ndim = 1,
                  .size = {n},
                  .scalar = {a, b}};
  plan.operand[0] = (wf_operand){out, dtype, {(int64_t)wf_dtype_size(dtype)}};
  plan.param.random.seed = 42;
  return plan;
}

static void uniform_draws_fill_their_range_evenly(void **state) {
  (void)state;
  static double x[MANY];
  wf_plan plan = plan_of(WF__RANDOM_UNIFORM, x, WF_F64, MANY, wf_int(-1), wf_int(3));
  assert_ok(wf__exec(&plan));
  int bins[16] = {0};
  for (int i = 0; i < MANY; i++) {
    assert_true(x[i] >= -1 && x[i] < 3);
    bins[(int)((x[i] + 1) * 4)]++;
  }
  double chi = 0, expected = MANY / 16.0;
  for (int b = 0; b < 16; b++) chi += (bins[b] - expected) * (bins[b] - expected) / expected;
  assert_true(chi < 37.7); /* 15 degrees of freedom: exceeded by one seed in a thousand */
}

static void no_dtype_ever_rounds_up_to_the_end_of_the_range(void **state) {
  (void)state;
  static uint16_t h[MANY];
  const wf_dtype dtypes[] = {WF_F16, WF_BF16};
  for (int d = 0; d < 2; d++) {
    wf_plan plan = plan_of(WF__RANDOM_UNIFORM, h, dtypes[d], MANY, wf_float(0.9), wf_int(1));
    assert_ok(wf__exec(&plan));
    for (int i = 0; i < MANY; i++) assert_true(wf__scalar_load(dtypes[d], &h[i]).as.f < 1);
  }
}

static void normal_draws_have_mean_deviation_and_tails(void **state) {
  (void)state;
  static float x[MANY];
  wf_plan plan = plan_of(WF__RANDOM_NORMAL, x, WF_F32, MANY, wf_float(5), wf_float(2));
  assert_ok(wf__exec(&plan));
  double sum = 0, square = 0, neighbours = 0;
  int beyond = 0;
  for (int i = 0; i < MANY; i++) {
    double z = (x[i] - 5.0) / 2;
    sum += z, square += z * z, beyond += fabs(z) > 2;
    if (i) neighbours += z * (x[i - 1] - 5.0) / 2;
  }
  assert_true(fabs(sum / MANY) < 0.01 && fabs(square / MANY - 1) < 0.02 && fabs(neighbours / MANY) < 0.01);
  assert_true(fabs((double)beyond / MANY - 0.0455) < 0.003);
}

static void integers_stay_in_their_span_even_when_it_is_all_of_64_bits(void **state) {
  (void)state;
  static int64_t x[MANY];
  wf_plan plan = plan_of(WF__RANDOM_INT, x, WF_I64, MANY, wf_int(-3), wf_int(4));
  assert_ok(wf__exec(&plan));
  int seen[7] = {0};
  for (int i = 0; i < MANY; i++) {
    assert_true(x[i] >= -3 && x[i] < 4);
    seen[x[i] + 3]++;
  }
  for (int k = 0; k < 7; k++) assert_true(fabs(seen[k] - MANY / 7.0) < 600);
  plan = plan_of(WF__RANDOM_INT, x, WF_I64, 100, wf_int(INT64_MIN), wf_int(INT64_MIN)); /* the end wraps round */
  assert_ok(wf__exec(&plan));
  int negative = 0;
  for (int i = 0; i < 100; i++) negative += x[i] < 0;
  assert_true(negative > 25 && negative < 75);
}

static void an_element_depends_on_seed_offset_and_index_alone(void **state) {
  (void)state;
  static float whole[MANY], again[MANY], gapped[2 * 1000];
  wf_plan plan = plan_of(WF__RANDOM_UNIFORM, whole, WF_F32, MANY, wf_int(0), wf_int(1));
  assert_ok(wf_set_num_threads(1));
  assert_ok(wf__exec(&plan));
  assert_ok(wf_set_num_threads(4));
  plan.operand[0].data = again;
  assert_ok(wf__exec(&plan));
  assert_memory_equal(whole, again, sizeof whole);
  plan.size[0] = 1000;
  plan.operand[0].data = gapped;
  plan.operand[0].stride[0] = 8;
  plan.param.random.offset = 500; /* counters: elements 1000 and on */
  assert_ok(wf__exec(&plan));
  for (int i = 0; i < 1000; i++) assert_true(gapped[2 * i] == whole[1000 + i]);
  uint32_t word[4];
  wf__philox(42, 3, 0, word);
  assert_true(whole[6] == wf__unit_float(word[0]) && whole[7] == wf__unit_float(word[2]));
}

static void bernoulli_draws_follow_their_own_probability(void **state) {
  (void)state;
  static uint8_t hits[MANY];
  float p[4] = {0, 0.25f, 0.75f, 1};
  wf_plan plan = plan_of(WF__RANDOM_BERNOULLI, hits, WF_BOOL, MANY, wf_no_scalar(), wf_no_scalar());
  plan.ndim = 2, plan.size[0] = MANY / 4, plan.size[1] = 4;
  plan.operand[0].stride[0] = 4, plan.operand[0].stride[1] = 1;
  plan.operands = 2;
  plan.operand[1] = (wf_operand){p, WF_F32, {0, 4}};
  assert_ok(wf__exec(&plan));
  int count[4] = {0};
  for (int i = 0; i < MANY; i++) count[i % 4] += hits[i];
  for (int k = 0; k < 4; k++) assert_true(fabs(count[k] - MANY / 4 * (double)p[k]) < 500);
  assert_int_equal(count[0], 0);
  assert_int_equal(count[3], MANY / 4);
  p[2] = NAN;
  hits[0] = 7;
  assert_int_equal(wf__exec(&plan), WF_RUNTIME);
  assert_error(
      WF_RUNTIME,
      "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, "
      "please report an enhancement request to PyTorch.)");
  assert_int_equal(hits[0], 7);
}

static void a_permutation_holds_every_number_once_and_moves_most(void **state) {
  (void)state;
  int64_t x[1000];
  wf_plan plan = plan_of(WF__RANDOM_PERMUTATION, x, WF_I64, 1000, wf_no_scalar(), wf_no_scalar());
  assert_ok(wf__exec(&plan));
  bool seen[1000] = {false};
  int unmoved = 0;
  for (int i = 0; i < 1000; i++) {
    assert_true(x[i] >= 0 && x[i] < 1000 && !seen[x[i]]);
    seen[x[i]] = true;
    unmoved += x[i] == i;
  }
  assert_true(unmoved < 8);
}

static void integers_have_no_uniform_distribution(void **state) {
  (void)state;
  int64_t x[2] = {1, 2};
  wf_plan plan = plan_of(WF__RANDOM_NORMAL, x, WF_I64, 2, wf_int(0), wf_int(1));
  assert_int_equal(wf__exec(&plan), WF_NOT_IMPLEMENTED);
  assert_error(WF_NOT_IMPLEMENTED, "\"normal_kernel_cpu\" not implemented for 'Long'");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(uniform_draws_fill_their_range_evenly),
    cmocka_unit_test(no_dtype_ever_rounds_up_to_the_end_of_the_range),
    cmocka_unit_test(normal_draws_have_mean_deviation_and_tails),
    cmocka_unit_test(integers_stay_in_their_span_even_when_it_is_all_of_64_bits),
    cmocka_unit_test(an_element_depends_on_seed_offset_and_index_alone),
    cmocka_unit_test(bernoulli_draws_follow_their_own_probability),
    cmocka_unit_test(a_permutation_holds_every_number_once_and_moves_most),
    cmocka_unit_test(integers_have_no_uniform_distribution),
};
WF_TEST_MAIN("exec/random", tests)
