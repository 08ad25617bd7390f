/* Convolutions as plans: the loops against numbers of PyTorch and against each other's adjoints, oneDNN against the loops. */
#include "buffers.h"

#include <pthread.h>

#include "exec/dnnl_cache.h"
#include "kernel/kernel.h"
#include "kernel/neural.h"

static const int last[4] = {0, 2, 3, 1};

static wf_plan plan_of(int op, int operands, int outputs) {
  wf_plan p = {
      .family = WF_FAMILY_CONV, .op = (uint16_t)op, .operands = (uint8_t)operands, .outputs = (uint8_t)outputs};
  p.param.conv = (wf_conv_param){.stride = {1, 1}, .dilation = {1, 1}, .groups = 1, .spatial = 2};
  return p;
}

/* x = (arange(1, 49) % 7 - 3).reshape(2, 2, 3, 4); w = (arange(24) * 3 % 5 - 2).reshape(4, 1, 2, 3); b = [1, -1, 2, .5]
 * torch.nn.functional.conv2d(x, w, b, stride=(2, 1), padding=(1, 0), groups=2).flatten().tolist() */
static void the_loops_give_pytorchs_numbers(void **state) {
  static const double expected[] = {-3, -3, -1, -10, 1,  0,   -7,  1, -5, 7, 9,  8,  2.5, -2.5, -6.5, -4.5,
                                    -3, 11, 14, 12,  -2, -10, -11, 4, 3,  1, -8, -2, 1.5, 3.5,  13.5, 1.5};
  buffer x = buffer_new(WF_F32, 4, (int64_t[]){2, 2, 3, 4}, last, 0),
         w = buffer_new(WF_F32, 4, (int64_t[]){4, 1, 2, 3}, NULL, 0);
  buffer b = buffer_new(WF_F32, 1, (int64_t[]){4}, NULL, 0),
         y = buffer_new(WF_F32, 4, (int64_t[]){2, 4, 2, 2}, NULL, 3);
  for (int64_t i = 0; i < 48; i++) buffer_set(&x, i, (double)((i + 1) % 7 - 3));
  for (int64_t i = 0; i < 24; i++) buffer_set(&w, i, (double)(i * 3 % 5 - 2));
  for (int64_t i = 0; i < 4; i++) buffer_set(&b, i, (double[]){1, -1, 2, .5}[i]);
  wf_plan p = plan_of(WF__CONV_FORWARD, 4, 1);
  p.param.conv.stride[0] = 2;
  p.param.conv.padding[0] = 1;
  p.param.conv.groups = 2;
  set_operand(&p, 0, &y);
  set_operand(&p, 1, &x);
  set_operand(&p, 2, &w);
  set_operand(&p, 3, &b);
  assert_ok(run_with_workspace(&p)); /* the gap between rows keeps it from oneDNN */
  for (int64_t i = 0; i < 32; i++) assert_float_equal(buffer_get(&y, i), expected[i], 0);
  buffer *all[] = {&x, &w, &b, &y};
  for (int i = 0; i < 4; i++) buffer_free(all[i]);
}

/* A random problem with all its tensors. */
typedef struct problem {
  wf_conv_param conv;
  buffer input, weight, bias, output;
} problem;

static problem random_problem(wf_dtype dtype, bool input_last, bool output_last, int64_t gap) {
  problem q = {0};
  int64_t groups = 1 + next(3), ci = groups * (1 + next(9)), co = groups * (1 + next(9)), kernel[2], size[2], out[2];
  q.conv = (wf_conv_param){.groups = groups, .spatial = 2};
  for (int d = 0; d < 2; d++) {
    kernel[d] = 1 + next(3);
    q.conv.stride[d] = 1 + next(2);
    q.conv.dilation[d] = 1 + next(2);
    q.conv.padding[d] = next(3);
    size[d] = (kernel[d] - 1) * q.conv.dilation[d] + 1 + next(6);
    out[d] = (size[d] + 2 * q.conv.padding[d] - q.conv.dilation[d] * (kernel[d] - 1) - 1) / q.conv.stride[d] + 1;
  }
  int64_t n = 1 + next(3);
  q.input = buffer_new(dtype, 4, (int64_t[]){n, ci, size[0], size[1]}, input_last ? last : NULL, gap);
  q.weight = buffer_new(dtype, 4, (int64_t[]){co, ci / groups, kernel[0], kernel[1]}, next(2) ? last : NULL, 0);
  q.bias = buffer_new(dtype, 1, (int64_t[]){co}, NULL, 0);
  q.output = buffer_new(dtype, 4, (int64_t[]){n, co, out[0], out[1]}, output_last ? last : NULL, gap);
  buffer *all[] = {&q.input, &q.weight, &q.bias, &q.output};
  for (int i = 0; i < 4; i++) buffer_fill(all[i]);
  return q;
}

static void free_problem(problem *q) {
  buffer *all[] = {&q->input, &q->weight, &q->bias, &q->output};
  for (int i = 0; i < 4; i++) buffer_free(all[i]);
}

static buffer like(const buffer *b) {
  buffer c = *b;
  size_t bytes = (size_t)(b->room * 8 / 128 + 1) * 128;
  c.bytes = memcpy(aligned_alloc(128, bytes), b->bytes, bytes);
  return c;
}

static wf_plan forward(const problem *q, const buffer *out, bool with_bias) {
  wf_plan p = plan_of(WF__CONV_FORWARD, 4, 1);
  p.param.conv = q->conv;
  set_operand(&p, 0, out);
  set_operand(&p, 1, &q->input);
  set_operand(&p, 2, &q->weight);
  set_operand(&p, 3, with_bias ? &q->bias : NULL);
  return p;
}
static wf_plan backward_data(const problem *q, const buffer *grad) {
  wf_plan p = plan_of(WF__CONV_BACKWARD_DATA, 4, 1);
  p.param.conv = q->conv;
  set_operand(&p, 0, grad);
  set_operand(&p, 1, &q->output);
  set_operand(&p, 2, &q->weight);
  return p;
}
static wf_plan backward_weight(const problem *q, const buffer *weight, const buffer *bias) {
  wf_plan p = plan_of(WF__CONV_BACKWARD_WEIGHT, 4, 2);
  p.param.conv = q->conv;
  set_operand(&p, 0, weight);
  set_operand(&p, 1, bias);
  set_operand(&p, 2, &q->output);
  set_operand(&p, 3, &q->input);
  return p;
}

/* Convolution is linear in each argument: <g, conv(x, w)> = <x, data(g, w)> = <w, weight(g, x)>. Exact in f64 for these numbers. */
static void derivatives_of_the_loops_are_the_adjoints_of_the_forward(void **state) {
  for (int trial = 0; trial < 60; trial++) {
    problem q = random_problem(WF_F64, next(2), next(2), next(2));
    buffer y = like(&q.output), dx = like(&q.input), dw = like(&q.weight), db = like(&q.bias);
    wf_plan p = forward(&q, &y, false), d = backward_data(&q, &dx), w = backward_weight(&q, &dw, &db);
    assert_ok(run_with_workspace(&p));
    assert_ok(run_with_workspace(&d));
    assert_ok(run_with_workspace(&w));
    double whole = buffer_dot(&q.output, &y);
    assert_float_equal(buffer_dot(&q.input, &dx), whole, 0);
    assert_float_equal(buffer_dot(&q.weight, &dw), whole, 0);
    p = forward(&q, &y, true);
    assert_ok(run_with_workspace(&p));
    assert_float_equal(buffer_dot(&q.bias, &db), buffer_dot(&q.output, &y) - whole, 0);
    buffer *all[] = {&y, &dx, &dw, &db};
    for (int i = 0; i < 4; i++) buffer_free(all[i]);
    free_problem(&q);
  }
}

static void the_library_agrees_with_the_loops_in_every_format(void **state) {
  for (int trial = 0; trial < 80; trial++) {
    bool channels_last = next(3) > 0;
    problem q = random_problem(WF_F32, channels_last, channels_last, 0);
    bool with_bias = next(2);
    buffer y = like(&q.output), dx = like(&q.input), dw = like(&q.weight), db = like(&q.bias);
    buffer y2 = like(&y), dx2 = like(&dx), dw2 = like(&dw), db2 = like(&db);
    wf_plan p = forward(&q, &y, with_bias), d = backward_data(&q, &dx),
            w = backward_weight(&q, &dw, with_bias ? &db : NULL);
    assert_ok(run_with_workspace(&p));
    assert_ok(run_with_workspace(&d));
    assert_ok(run_with_workspace(&w));
    p = forward(&q, &y2, with_bias);
    wf__ref_conv_forward(&p, 0, y.size[0] * y.size[1]);
    d = backward_data(&q, &dx2);
    wf__ref_conv_backward_data(&d, 0, dx.size[0] * dx.size[1]);
    w = backward_weight(&q, &dw2, with_bias ? &db2 : NULL);
    wf__ref_conv_backward_weight(&w, 0, dw.size[0] * dw.size[1]);
    if (with_bias) wf__ref_conv_backward_bias(&w, 0, db.size[0]);
    assert_close(&y, &y2, 1e-4);
    assert_close(&dx, &dx2, 1e-4);
    assert_close(&dw, &dw2, 1e-3);
    assert_close(&db, &db2, 1e-3);
    buffer *all[] = {&y, &dx, &dw, &db, &y2, &dx2, &dw2, &db2};
    for (int i = 0; i < 8; i++) buffer_free(all[i]);
    free_problem(&q);
  }
}

#ifdef WF_HAVE_DNNL
static void a_second_run_makes_no_primitive(void **state) {
  problem q = random_problem(WF_F32, true, true, 0);
  buffer y = like(&q.output);
  wf_plan p = forward(&q, &y, false);
  assert_ok(run_with_workspace(&p));
  int64_t made = wf__dnnl_made();
  for (int i = 0; i < 5; i++) assert_ok(run_with_workspace(&p));
  assert_int_equal(wf__dnnl_made(), made);
  buffer_free(&y);
  free_problem(&q);
}

/* Conv 1 of a network on grey images: with one channel, row-major input is channels last as well, and its partner decides. */
static void one_channel_in_goes_to_the_library_with_channels_last_out(void **state) {
  problem q = {.conv = {.stride = {1, 1}, .padding = {1, 1}, .dilation = {1, 1}, .groups = 1, .spatial = 2}};
  q.input = buffer_new(WF_F32, 4, (int64_t[]){2, 1, 9, 9}, NULL, 0);
  q.weight = buffer_new(WF_F32, 4, (int64_t[]){16, 1, 3, 3}, NULL, 0);
  q.bias = buffer_new(WF_F32, 1, (int64_t[]){16}, NULL, 0);
  q.output = buffer_new(WF_F32, 4, (int64_t[]){2, 16, 9, 9}, last, 0);
  buffer y = like(&q.output);
  buffer_fill(&q.input);
  buffer_fill(&q.weight);
  wf_plan p = forward(&q, &y, false);
  int64_t made = wf__dnnl_made();
  assert_ok(run_with_workspace(&p));
  assert_true(wf__dnnl_made() > made);
  buffer_free(&y);
  free_problem(&q);
}

typedef struct runner {
  const problem *q;
  buffer out;
  int failures;
} runner;

static void *run_often(void *context) {
  runner *r = context;
  wf_plan p = forward(r->q, &r->out, true);
  for (int i = 0; i < 30; i++) r->failures += run_with_workspace(&p) != WF_OK;
  return NULL;
}

/* The thread that trains and the one of a device's executor meet in the cache: each has an entry of its own while it runs. */
static void two_threads_run_the_same_convolution_at_once(void **state) {
  int before = wf_num_threads();
  assert_ok(wf_set_num_threads(1));
  problem q = random_problem(WF_F32, true, true, 0);
  buffer expected = like(&q.output);
  wf_plan p = forward(&q, &expected, true);
  wf__ref_conv_forward(&p, 0, expected.size[0] * expected.size[1]);
  runner r[2] = {{&q, like(&q.output), 0}, {&q, like(&q.output), 0}};
  pthread_t thread[2];
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&thread[i], NULL, run_often, &r[i]), 0);
  for (int i = 0; i < 2; i++) {
    pthread_join(thread[i], NULL);
    assert_int_equal(r[i].failures, 0);
    assert_close(&r[i].out, &expected, 1e-4);
    buffer_free(&r[i].out);
  }
  buffer_free(&expected);
  free_problem(&q);
  assert_ok(wf_set_num_threads(before));
}

static void the_cache_is_bounded(void **state) {
  for (int i = 0; i < 300; i++) {
    int64_t n = 1 + i;
    problem q = {.conv = {.stride = {1, 1}, .dilation = {1, 1}, .groups = 1, .spatial = 2}};
    q.input = buffer_new(WF_F32, 4, (int64_t[]){n, 1, 1, 1}, NULL, 0);
    q.weight = buffer_new(WF_F32, 4, (int64_t[]){1, 1, 1, 1}, NULL, 0);
    q.bias = buffer_new(WF_F32, 1, (int64_t[]){1}, NULL, 0);
    q.output = buffer_new(WF_F32, 4, (int64_t[]){n, 1, 1, 1}, NULL, 0);
    buffer_fill(&q.input);
    buffer_fill(&q.weight);
    wf_plan p = forward(&q, &q.output, false);
    assert_ok(run_with_workspace(&p));
    for (int64_t k = 0; k < n; k++)
      assert_float_equal(buffer_get(&q.output, k), buffer_get(&q.input, k) * buffer_get(&q.weight, 0), 0);
    free_problem(&q);
  }
  assert_true(wf__dnnl_kept() <= 256);
}
#endif

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_loops_give_pytorchs_numbers),
    cmocka_unit_test(derivatives_of_the_loops_are_the_adjoints_of_the_forward),
    cmocka_unit_test(the_library_agrees_with_the_loops_in_every_format),
#ifdef WF_HAVE_DNNL
    cmocka_unit_test(a_second_run_makes_no_primitive),
    cmocka_unit_test(one_channel_in_goes_to_the_library_with_channels_last_out),
    cmocka_unit_test(two_threads_run_the_same_convolution_at_once),
    cmocka_unit_test(the_cache_is_bounded),
#endif
};
WF_TEST_MAIN("exec/exec_conv", tests)
