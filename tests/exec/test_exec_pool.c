/* Pooling as plans: the loops against numbers of PyTorch, the kernels for consecutive channels against the loops. */
#include "buffers.h"

#include <math.h>

#include "kernel/kernel.h"
#include "kernel/neural.h"

static const int last[4] = {0, 2, 3, 1};

static wf_plan plan_of(int op, const wf_conv_param *conv, const buffer *a, const buffer *b, const buffer *c) {
  wf_plan p = {.family = WF_FAMILY_POOL, .op = (uint16_t)op, .operands = 3, .outputs = 1};
  p.param.conv = *conv;
  set_operand(&p, 0, a);
  set_operand(&p, 1, b);
  set_operand(&p, 2, c);
  return p;
}

/* x = ((arange(80) * 7) % 11 - 5.).reshape(2, 2, 5, 4) */
static buffer pytorchs_input(const int *order) {
  buffer x = buffer_new(WF_F32, 4, (int64_t[]){2, 2, 5, 4}, order, 0);
  for (int64_t i = 0; i < 80; i++) buffer_set(&x, i, (double)(i * 7 % 11 - 5));
  return x;
}

/* torch.nn.functional.max_pool2d(x, (3, 2), stride=(2, 1), padding=(1, 0), return_indices=True) */
static void maxima_and_their_places_are_pytorchs(void **state) {
  static const double values[36] = {2, 4, 5, 3, 5, 5, 4, 5, 5, 5, 5, 2, 5, 5, 3, 5, 2, 4,
                                    2, 3, 5, 3, 4, 5, 3, 5, 5, 4, 4, 2, 5, 5, 3, 4, 2, 3};
  static const double places[36] = {1, 6, 3, 9,  14, 14, 17, 14, 14, 5, 5, 3, 5, 5, 11, 16, 14, 19,
                                    5, 2, 7, 13, 10, 7,  13, 18, 18, 1, 1, 7, 9, 9, 15, 12, 18, 15};
  wf_conv_param conv = {.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 1}};
  for (int format = 0; format < 2; format++) {
    buffer x = pytorchs_input(format ? last : NULL),
           y = buffer_new(WF_F32, 4, (int64_t[]){2, 2, 3, 3}, format ? last : NULL, 0);
    buffer index = buffer_new(WF_I64, 4, (int64_t[]){2, 2, 3, 3}, NULL, 0);
    wf_plan p = plan_of(WF__POOL_MAX, &conv, &y, &index, &x);
    assert_ok(run_with_workspace(&p));
    for (int64_t i = 0; i < 36; i++) {
      assert_float_equal(buffer_get(&y, i), values[i], 0);
      assert_float_equal(buffer_get(&index, i), places[i], 0);
    }
    buffer_free(&x);
    buffer_free(&y);
    buffer_free(&index);
  }
}

/* avg_pool2d(x, (3, 2), stride=2, padding=1, ceil_mode=True, count_include_pad=False), then with ceil_mode=False, count_include_pad=True */
static void averages_are_pytorchs(void **state) {
  static const double without[36] = {-2,   .25,  2.5, -0.333333, 1,         -1.333333, -.5, 1.75,  -1.5,
                                     .5,   0,    -.5, 0.333333,  -0.166667, -0.666667, 2,   -1.25, 1,
                                     -2.5, -.25, 2,   -2.666667, .5,        0,         -1,  1.25,  -2,
                                     0,    -.5,  -1,  1.666667,  -0.666667, 0.666667,  1.5, -1.75, .5};
  static const double with[36] = {-0.666667, 0.166667, 0.833333,  -0.166667, 1,         -0.666667, -0.166667, 1.166667,
                                  -.5,       0.166667, 0,         -0.166667, 0.166667,  -0.166667, -0.333333, 0.666667,
                                  -0.833333, 0.333333, -0.833333, -0.166667, 0.666667,  -1.333333, .5,        0,
                                  -0.333333, 0.833333, -0.666667, 0,         -0.333333, -0.333333, 0.833333,  -0.666667,
                                  0.333333,  .5,       -1.166667, 0.166667};
  wf_conv_param conv = {.kernel = {3, 2}, .stride = {2, 2}, .padding = {1, 1}, .dilation = {1, 1}};
  buffer x = pytorchs_input(last), y = buffer_new(WF_F32, 4, (int64_t[]){2, 2, 3, 3}, last, 0);
  for (int pad = 0; pad < 2; pad++) {
    conv.count_include_pad = pad;
    wf_plan p = plan_of(WF__POOL_AVG, &conv, &y, &x, NULL);
    assert_ok(run_with_workspace(&p));
    for (int64_t i = 0; i < 36; i++) assert_float_equal(buffer_get(&y, i), pad ? with[i] : without[i], 1e-6);
  }
  buffer_free(&x);
  buffer_free(&y);
}

/* Averaging is linear: <g, avg(x)> = <x, backward(g)>. Divided by powers of two only, so that f64 is exact. */
static void the_derivative_of_the_average_is_its_adjoint(void **state) {
  wf_conv_param conv = {
      .kernel = {2, 4}, .stride = {1, 3}, .padding = {1, 1}, .dilation = {1, 1}, .count_include_pad = true};
  buffer x = buffer_new(WF_F64, 4, (int64_t[]){2, 3, 5, 9}, last, 0), dx = buffer_new(WF_F64, 4, x.size, NULL, 0);
  buffer y = buffer_new(WF_F64, 4, (int64_t[]){2, 3, 6, 3}, NULL, 0), g = buffer_new(WF_F64, 4, y.size, last, 0);
  buffer_fill(&x);
  buffer_fill(&g);
  wf_plan p = plan_of(WF__POOL_AVG, &conv, &y, &x, NULL), b = plan_of(WF__POOL_AVG_BACKWARD, &conv, &dx, &g, NULL);
  assert_ok(run_with_workspace(&p));
  assert_ok(run_with_workspace(&b));
  assert_float_equal(buffer_dot(&g, &y), buffer_dot(&x, &dx), 0);
  buffer *all[] = {&x, &dx, &y, &g};
  for (int i = 0; i < 4; i++) buffer_free(all[i]);
}

/* Random windows over images with ties, infinities and NaN; the result in the format of the input or turned to row-major. */
static void kernels_for_consecutive_channels_agree_with_the_loops(void **state) {
  for (int trial = 0; trial < 150; trial++) {
    wf_conv_param conv = {.dilation = {1, 1}};
    int64_t in[4] = {1 + next(3), 1 + next(150), 0, 0}, out[4] = {in[0], in[1], 0, 0};
    for (int d = 0; d < 2; d++) {
      conv.kernel[d] = 1 + next(3);
      conv.stride[d] = next(2) ? conv.kernel[d] : 1 + next(3);
      conv.padding[d] = next(2) * (conv.kernel[d] / 2);
      in[2 + d] = conv.kernel[d] + next(12);
      out[2 + d] = (in[2 + d] + 2 * conv.padding[d] - conv.kernel[d]) / conv.stride[d] + 1;
    }
    const int *order = next(2) ? last : NULL;
    buffer x = buffer_new(WF_F32, 4, in, last, 0), y = buffer_new(WF_F32, 4, out, order, 0),
           index = buffer_new(WF_U8, 4, out, last, 0);
    buffer y2 = buffer_new(WF_F32, 4, out, order, 0), index2 = buffer_new(WF_U8, 4, out, last, 0);
    buffer g = buffer_new(WF_F32, 4, out, order, 0), dx = buffer_new(WF_F32, 4, in, last, 0),
           dx2 = buffer_new(WF_F32, 4, in, last, 0);
    buffer_fill(&x);
    buffer_fill(&g);
    for (int i = 0; i < 5; i++) buffer_set(&x, next((int)buffer_numel(&x)), i % 2 ? NAN : -INFINITY);
    wf_plan p = plan_of(WF__POOL_MAX, &conv, &y, &index, &x), p2 = plan_of(WF__POOL_MAX, &conv, &y2, &index2, &x);
    assert_ok(run_with_workspace(&p));
    wf__ref_pool_max(&p2, 0, out[0] * out[1]);
    for (int64_t i = 0; i < buffer_numel(&y); i++) {
      double a = buffer_get(&y, i), b = buffer_get(&y2, i);
      assert_true(a == b || (isnan(a) && isnan(b)));
      assert_float_equal(buffer_get(&index, i), buffer_get(&index2, i), 0);
    }
    wf_plan d = plan_of(WF__POOL_MAX_BACKWARD, &conv, &dx, &g, &index),
            d2 = plan_of(WF__POOL_MAX_BACKWARD, &conv, &dx2, &g, &index);
    assert_ok(run_with_workspace(&d));
    wf__ref_pool_max_backward(&d2, 0, in[0] * in[1]);
    assert_close(&dx, &dx2, 0);
    wf_plan no_index = plan_of(WF__POOL_MAX, &conv, &y2, NULL, &x);
    assert_ok(run_with_workspace(&no_index));
    assert_memory_equal(y.bytes, y2.bytes, (size_t)y.room * 4);
    buffer *all[] = {&x, &y, &index, &y2, &index2, &g, &dx, &dx2};
    for (int i = 0; i < 8; i++) buffer_free(all[i]);
  }
}

static void dtypes_without_pooling_are_refused(void **state) {
  wf_plan p = {.family = WF_FAMILY_POOL, .op = WF__POOL_AVG, .operands = 2, .outputs = 1};
  p.operand[0].dtype = WF_U8;
  assert_int_equal(wf__exec(&p), WF_NOT_IMPLEMENTED);
  assert_error(WF_NOT_IMPLEMENTED, "\"avg_pool2d\" not implemented for 'Byte'");
  p.op = WF__POOL_MAX;
  p.operand[0].dtype = WF_BOOL;
  assert_int_equal(wf__exec(&p), WF_NOT_IMPLEMENTED);
  assert_error(WF_NOT_IMPLEMENTED, "\"max_pool2d\" not implemented for 'Bool'");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(maxima_and_their_places_are_pytorchs),
    cmocka_unit_test(averages_are_pytorchs),
    cmocka_unit_test(the_derivative_of_the_average_is_its_adjoint),
    cmocka_unit_test(kernels_for_consecutive_channels_agree_with_the_loops),
    cmocka_unit_test(dtypes_without_pooling_are_refused),
};
WF_TEST_MAIN("exec/exec_pool", tests)
