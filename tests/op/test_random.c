/* Random tensors: numbers from Philox by hand, the same for every device, layout and number of threads; moments; refusals as in torch 2.15. */
#include "op/geometry.h"

#include <math.h>
#include <stdlib.h>
#include <weft/autograd.h>
#include <weft/create.h>
#include <weft/random.h>
#include <weft/view.h>
#include "base/rng.h"
#include "op/call_forms.h"
#include "tensor/tensor.h"

static wf_tensor_options typed(wf_dtype dtype) {
  wf_tensor_options o = wf_tensor_defaults();
  o.dtype = dtype;
  return o;
}

static float nth_uniform(uint64_t seed, uint64_t offset, int64_t i) {
  uint32_t word[4];
  wf__philox(seed, offset + (uint64_t)i / 2, 0, word);
  return (float)(word[2 * (i % 2)] >> 8) * 0x1p-24f;
}

static void numbers_come_from_seed_and_offset_alone(void **state) {
  (void)state;
  float found[9];
  assert_ok(wf_manual_seed(42));
  assert_int_equal(wf_initial_seed(), 42);
  wf_tensor *a = wf_rand(WF_SHAPE(3, 3), NULL);
  assert_ok(wf_to_host(a, found, sizeof found));
  for (int i = 0; i < 9; i++) assert_true(found[i] == nth_uniform(42, 0, i));
  assert_int_equal(wf_random_get_state().offset, 5); /* 9 numbers: (9 + 1) / 2 counters */
  wf_free(a);
  a = wf_rand(WF_SHAPE(9), NULL);
  assert_ok(wf_to_host(a, found, sizeof found));
  for (int i = 0; i < 9; i++) assert_true(found[i] == nth_uniform(42, 5, i));
  wf_free(a);
  wf_random_set_state((wf_random_state){42, 0});
  a = wf_rand(WF_SHAPE(2), NULL);
  assert_ok(wf_to_host(a, found, 2 * sizeof *found));
  assert_true(found[1] == nth_uniform(42, 0, 1));
  wf_free(a);
  a = wf_rand(WF_SHAPE(0), NULL);
  assert_int_equal(wf_random_get_state().offset, 1); /* nothing drawn, nothing used */
  wf_free(a);
}

static void draw_all(wf_device device, double *out) {
  wf_tensor_options o = wf_tensor_defaults();
  o.device = device;
  assert_ok(wf_manual_seed(7));
  wf_tensor *t[] = {wf_rand(WF_SHAPE(101), &o), wf_randn(WF_SHAPE(101), &o), wf_randint(-5, 1000, WF_SHAPE(101), &o),
                    NULL, NULL};
  t[3] = wf_bernoulli(t[0]);
  o.dtype = WF_I32;
  t[4] = wf_randperm(101, &o);
  for (int i = 0; i < 5; i++) {
    elements_of(t[i], out + 101 * i);
    wf_free(t[i]);
  }
}

static void devices_and_numbers_of_threads_draw_alike(void **state) {
  (void)state;
  double one[505], several[505], device[505];
  int threads = wf_num_threads();
  assert_ok(wf_set_num_threads(1));
  draw_all(wf_cpu(), one);
  wf_tensor *serial = wf_from_data((float[]){0}, WF_SHAPE(1), WF_F32), *split;
  wf_free(serial);
  assert_ok(wf_manual_seed(9));
  serial = wf_randn(WF_SHAPE(300, 1000), NULL);
  assert_ok(wf_set_num_threads(4));
  draw_all(wf_cpu(), several);
  assert_ok(wf_manual_seed(9));
  split = wf_randn(WF_SHAPE(300, 1000), NULL);
  assert_memory_equal(wf__data(serial), wf__data(split), 300 * 1000 * sizeof(float));
  draw_all(wf_sim(0), device);
  assert_ok(wf_set_num_threads(threads));
  assert_memory_equal(one, several, sizeof one);
  assert_memory_equal(one, device, sizeof one);
  wf_free(serial);
  wf_free(split);
}

static void the_layout_has_no_say(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  wf_tensor *plain = wf_empty(WF_SHAPE(4, 3), NULL), *turned = wf_t(wf_empty(WF_SHAPE(3, 4), NULL));
  double a[12], b[12];
  assert_ok(wf_manual_seed(3));
  assert_ok(wf_normal_(plain, 1, 2));
  assert_ok(wf_manual_seed(3));
  assert_ok(wf_normal_(turned, 1, 2));
  elements_of(plain, a);
  elements_of(turned, b);
  assert_memory_equal(a, b, sizeof a);
  assert_int_equal(wf_version_of(turned), 1);
  wf_scope_end(s, NULL);
}

/* Mean and deviation of 100,000 draws; bounds are 5 standard errors. */
static void check_moments(wf_tensor *t, double mean, double deviation) {
  const int64_t n = 100000;
  assert_int_equal(wf_numel(t), n);
  double *x = malloc((size_t)n * sizeof *x), sum = 0, squares = 0;
  assert_ok(wf_to_host(t, x, (size_t)n * sizeof *x));
  for (int64_t i = 0; i < n; i++) sum += x[i];
  for (int64_t i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
  assert_true(fabs(sum / (double)n - mean) < 5 * deviation / sqrt((double)n));
  assert_true(fabs(sqrt(squares / (double)n) - deviation) < 5 * deviation / sqrt((double)n));
  free(x);
  wf_free(t);
}

static void moments_are_those_of_the_distribution(void **state) {
  (void)state;
  wf_tensor_options o = typed(WF_F64);
  wf_dims size = WF_SHAPE(100000);
  assert_ok(wf_manual_seed(1));
  check_moments(wf_rand(size, &o), 0.5, sqrt(1.0 / 12));
  check_moments(wf_randn(size, &o), 0, 1);
  check_moments(wf_randint(0, 10, size, &o), 4.5, sqrt(99.0 / 12));
  wf_tensor *t = wf_empty(size, &o);
  assert_ok(wf_uniform_(t, -3, 5));
  check_moments(wf_retain(t), 1, 8 / sqrt(12));
  assert_ok(wf_normal_(t, 10, 0.5));
  check_moments(wf_retain(t), 10, 0.5);
  assert_ok(wf_bernoulli_(t, 0.2));
  check_moments(wf_retain(t), 0.2, 0.4);
  wf_free(t);
}

static void permutations_hold_each_number_once_and_all_occur(void **state) {
  (void)state;
  int64_t found[1000];
  bool seen[1000] = {false};
  wf_tensor *t = wf_randperm(1000, NULL);
  assert_ok(wf_to_host(t, found, sizeof found));
  for (int i = 0; i < 1000; i++) {
    assert_false(seen[found[i]]);
    seen[found[i]] = true;
  }
  wf_free(t);
  int counts[27] = {0}; /* of 3 numbers, 6 orders; 600 draws: 100 each, 5 deviations are 46 */
  for (int round = 0; round < 600; round++) {
    t = wf_randperm(3, NULL);
    assert_ok(wf_to_host(t, found, 3 * sizeof *found));
    counts[found[0] * 9 + found[1] * 3 + found[2]]++;
    wf_free(t);
  }
  int orders = 0;
  for (int i = 0; i < 27; i++) {
    if (!counts[i]) continue;
    orders++;
    assert_in_range(counts[i], 54, 146);
  }
  assert_int_equal(orders, 6);
}

static wf_tensor *zeros(wf_dtype dtype) {
  wf_tensor_options o = typed(dtype);
  return wf_zeros(WF_SHAPE(3), &o);
}

static void ranges_and_dtypes_are_refused_in_pytorchs_words(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  wf_tensor_options i32 = typed(WF_I32), u8 = typed(WF_U8), f16 = typed(WF_F16), b = typed(WF_BOOL), i8 = typed(WF_I8);
  wf_dims two = WF_SHAPE(2);
  assert_refused(wf_rand(WF_SHAPE(0), &i32), WF_NOT_IMPLEMENTED, "\"check_uniform_bounds\" not implemented for 'Int'");
  assert_geometry(wf_randn(WF_SHAPE(0), &i32), "[0] [1] +0");
  assert_refused(wf_randn(two, &i32), WF_NOT_IMPLEMENTED, "\"normal_kernel_cpu\" not implemented for 'Int'");
  assert_refused(wf_rand(WF_SHAPE(2, -1), NULL), WF_RUNTIME,
                 "Trying to create tensor with negative dimension -1: [2, -1]");
  assert_refused(wf_randint(5, 3, WF_SHAPE(0), NULL), WF_RUNTIME,
                 "random_ expects 'from' to be less than 'to', but got from=5 >= to=3");
  assert_refused(wf_randint(0, 300, two, &u8), WF_RUNTIME, "to - 1 is out of bounds for unsigned char");
  assert_refused(wf_randint(-3, 100, two, &u8), WF_RUNTIME, "from is out of bounds for unsigned char");
  assert_refused(wf_randint(0, 129, two, &i8), WF_RUNTIME, "to - 1 is out of bounds for signed char");
  assert_refused(wf_randint(0, 3, two, &b), WF_RUNTIME, "to - 1 is out of bounds for bool");
  assert_refused(wf_randint(0, 70000, two, &f16), WF_RUNTIME, "to - 1 is out of bounds for c10::Half");
  assert_non_null(wf_randint(INT64_MIN, INT64_MAX, two, NULL));
  assert_refused(wf_randperm(-1, NULL), WF_RUNTIME, "Trying to create tensor with negative dimension -1: [-1]");
  assert_refused(wf_randperm(257, &u8), WF_RUNTIME, "value cannot be converted to type uint8_t without overflow");
  assert_refused(wf_randperm(2050, &f16), WF_RUNTIME, "n cannot be greater than 2049 for Half type.");
  assert_refused(wf_randperm(2, &b), WF_NOT_IMPLEMENTED, "\"randperm\" not implemented for 'Bool'");
  assert_refused(wf_uniform_(zeros(WF_F32), 2, 1) == WF_OK, WF_RUNTIME,
                 "uniform_ expects to return a [from, to) range, but found from=2 > to=1");
  assert_refused(
      wf_uniform_(zeros(WF_F32), -3e38, 3e38) == WF_OK, WF_RUNTIME,
      "uniform_ expects to-from <= std::numeric_limits<Float>::max(), but found to=3e+38 and from=-3e+38 which result in to-from "
      "to exceed the limit");
  assert_refused(wf_uniform_(zeros(WF_F16), 0, 1e5) == WF_OK, WF_RUNTIME, "to is out of bounds for c10::Half");
  assert_refused(wf_normal_(zeros(WF_F32), 0, -1) == WF_OK, WF_RUNTIME, "normal expects std >= 0.0, but found std -1");
  assert_refused(wf_bernoulli(zeros(WF_I32)), WF_NOT_IMPLEMENTED,
                 "\"bernoulli_tensor_cpu_p_\" not implemented for 'Int'");
  assert_refused(wf_bernoulli_(zeros(WF_F32), 1.5) == WF_OK, WF_RUNTIME,
                 "bernoulli_ expects p to be in [0, 1], but got p=1.5");
  assert_refused(
      wf_bernoulli(wf_from_data((float[]){0, 1.5f}, two, WF_F32)), WF_RUNTIME,
      "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, please report an "
      "enhancement request to PyTorch.)");
  wf_tensor *same = wf_expand(wf_zeros(WF_SHAPE(1), NULL), WF_SHAPE(3));
  assert_int_equal(wf_uniform_(same, 0, 1), WF_RUNTIME);
  assert_memory_equal(wf_error_take().text, "unsupported operation: more than one element", 44);
  wf_scope_end(s, NULL);
}

static void leaves_are_refused_and_derivatives_are_zero(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  wf_tensor_options o = typed(WF_F64);
  o.requires_grad = true;
  wf_tensor *leaf = wf_ones(WF_SHAPE(3), &o);
  assert_refused(wf_uniform_(leaf, 0, 1) == WF_OK, WF_RUNTIME,
                 "a leaf Variable that requires grad is being used in an in-place operation.");
  assert_elements_of(leaf, 1, 1, 1);
  wf_tensor *computed = wf_expand(leaf, WF_SHAPE(3)), *b = wf_bernoulli(computed);
  assert_string_equal(wf_grad_fn_name(b), "BernoulliBackward0");
  assert_ok(wf_backward(b, wf_ones_like(b, WF_DTYPE_NONE, WF_FORMAT_PRESERVE), NULL));
  assert_elements_of(wf_grad(leaf), 0, 0, 0);
  wf_tensor *y =
      wf_reshape(wf_t(wf_expand(leaf, WF_SHAPE(2, 3))), WF_SHAPE(6)); /* a copy, so that no view is in the way */
  assert_ok(wf_normal_(y, 0, 1));
  assert_string_equal(wf_grad_fn_name(y), "NormalBackward0");
  wf_scope_end(s, NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(numbers_come_from_seed_and_offset_alone),
    cmocka_unit_test(devices_and_numbers_of_threads_draw_alike),
    cmocka_unit_test(the_layout_has_no_say),
    cmocka_unit_test(moments_are_those_of_the_distribution),
    cmocka_unit_test(permutations_hold_each_number_once_and_all_occur),
    cmocka_unit_test(ranges_and_dtypes_are_refused_in_pytorchs_words),
    cmocka_unit_test(leaves_are_refused_and_derivatives_are_zero),
};
WF_TEST_MAIN("op/random", tests)
