/* Batch normalisation as plans: the loops against numbers of PyTorch, the kernels for consecutive channels against the loops. */
#include "buffers.h"

#include <math.h>

#include "kernel/kernel.h"
#include "kernel/neural.h"

static const int last[4] = {0, 2, 3, 1};

/* All tensors of one problem. */
typedef struct problem {
  buffer x, y, g, dx, stats, mean, var, weight, bias, dweight, dbias;
  bool training, relu;
} problem;

static problem problem_new(wf_dtype dtype, int rank, const int64_t *size, const int *order) {
  problem q = {.training = true};
  wf_dtype stats = dtype == WF_F64 ? WF_F64 : WF_F32;
  buffer *like_input[] = {&q.x, &q.y, &q.g, &q.dx},
         *vectors[] = {&q.mean, &q.var, &q.weight, &q.bias, &q.dweight, &q.dbias};
  for (int i = 0; i < 4; i++) *like_input[i] = buffer_new(dtype, rank, size, order, 0);
  for (int i = 0; i < 6; i++) *vectors[i] = buffer_new(stats, 1, (int64_t[]){size[1]}, NULL, 0);
  q.stats = buffer_new(stats, 2, (int64_t[]){4, size[1]}, NULL, 0);
  return q;
}
static void problem_free(problem *q) {
  buffer *all[] = {&q->x,   &q->y,      &q->g,    &q->dx,      &q->stats, &q->mean,
                   &q->var, &q->weight, &q->bias, &q->dweight, &q->dbias};
  for (int i = 0; i < 11; i++) buffer_free(all[i]);
}

static wf_plan forward(const problem *q) {
  wf_plan p = {.family = WF_FAMILY_NORM, .op = WF__NORM_BATCH, .operands = 7, .outputs = q->training ? 4 : 1};
  const buffer *operands[] = {&q->y, &q->stats, &q->mean, &q->var, &q->x, &q->weight, &q->bias};
  for (int i = 0; i < 7; i++) set_operand(&p, i, operands[i]);
  p.param.norm.training = q->training;
  p.param.norm.relu = q->relu;
  p.param.norm.eps = .5;
  p.param.norm.momentum = .25;
  return p;
}
static wf_plan backward(const problem *q) {
  wf_plan p = {.family = WF_FAMILY_NORM, .op = WF__NORM_BATCH_BACKWARD, .operands = 6, .outputs = 3};
  const buffer *operands[] = {&q->dx, &q->dweight, &q->dbias, &q->g, &q->x, &q->stats};
  for (int i = 0; i < 6; i++) set_operand(&p, i, operands[i]);
  p.param.norm.training = q->training;
  p.param.norm.relu = q->relu;
  return p;
}

static void assert_equals(const buffer *b, const double *expected, int n, double limit) {
  for (int i = 0; i < n; i++) assert_float_equal(buffer_get(b, i), expected[i], limit);
}

/* x = ((arange(24) * 7) % 11 - 5.).reshape(2, 3, 2, 2); running mean [1, 2, 3], var [2, 1, .5]; w = [1, -2, .5]; b = [0, 1, -.25]
 * y = relu(batch_norm(x, mean, var, w, b, training=True, momentum=.25, eps=.5)); y.backward(((arange(24) * 5) % 7 - 3.).reshape(...))
 * then y = batch_norm(x, mean, var, w, b, eps=.5); y.backward(...) */
static void values_gradients_and_running_values_are_pytorchs(void **state) {
  static const double y[] = {
      0, 0.3696106355, 0, 1.256676161, 0.244071054,  2.931818418, 0, 0.9160078949, 0,           0.3599942813, 0,
      0, 0.3696106355, 0, 1.256676161, 0.0739221271, 2.931818418, 0, 0.9160078949, 3.603755259, 0.3599942813, 0,
      0, 0.207495711};
  static const double dx[] = {-0.3158858109, 0.6600478452,    -0.1510758226,   -0.3578962,      -1.631846614,
                              -0.1599849621, 0.2879729318,    2.431771424,     -0.002216548987, 0.04743414833,
                              0.01906232129, -0.009309505747, 0.3643593368,    -0.1510758226,   -0.6535847084,
                              0.6051111825,  0.5119518788,    0.2879729318,    -1.599849621,    -0.1279879697,
                              -0.105064422,  0.01906232129,   -0.009309505747, 0.04034119157};
  static const double eval_y[] = {-2.622748744,   0.4693339858, -1.297570431, 1.794512299,  1.491492032,
                                  5.685557368,    -1.654056971, 2.540008366,  -1.788244838, 0.006374139746,
                                  -1.019122419,   -2.044618978, 0.4693339858, -1.297570431, 1.794512299,
                                  0.02760788152,  5.685557368,  -1.654056971, 2.540008366,  6.734073703,
                                  0.006374139746, -1.019122419, -2.044618978, -0.25};
  static const double eval_dx[] = {
      -1.325178313,  0.8834522086, 0, -0.8834522086, -3.145549003, -1.048516334, 1.048516334,
      3.145549003,   0.5127482795, 0, -0.5127482795, 0.7691224192, 0.4417261043, -0.4417261043,
      -1.325178313,  0.8834522086, 0, 2.097032668,   -3.145549003, -1.048516334, -0.2563741397,
      -0.7691224192, 0.5127482795, 0};
  static const wf_dtype dtypes[] = {WF_F64, WF_F32, WF_F32};
  for (int i = 0; i < 3; i++) {
    double limit = dtypes[i] == WF_F64 ? 1e-8 : 2e-5;
    problem q = problem_new(dtypes[i], 4, (int64_t[]){2, 3, 2, 2}, i == 2 ? last : NULL);
    for (int k = 0; k < 24; k++) {
      buffer_set(&q.x, k, k * 7 % 11 - 5);
      buffer_set(&q.g, k, k * 5 % 7 - 3);
    }
    for (int c = 0; c < 3; c++) {
      buffer_set(&q.mean, c, c + 1);
      buffer_set(&q.var, c, (double[]){2, 1, .5}[c]);
      buffer_set(&q.weight, c, (double[]){1, -2, .5}[c]);
      buffer_set(&q.bias, c, (double[]){0, 1, -.25}[c]);
    }
    q.relu = true;
    wf_plan p = forward(&q), b = backward(&q);
    assert_ok(run_with_workspace(&p));
    assert_ok(run_with_workspace(&b));
    assert_equals(&q.y, y, 24, limit);
    assert_equals(&q.mean, (double[]){0.9375, 1.46875, 2}, 3, limit);
    assert_equals(&q.var, (double[]){4.625, 3.138392857, 3.303571429}, 3, limit);
    assert_equals(&q.dx, dx, 24, limit);
    assert_equals(&q.dweight, (double[]){-5.026704642, -1.133893419, -1.219988563}, 3, limit);
    assert_equals(&q.dbias, (double[]){0, 5, -1}, 3, limit);
    q.relu = q.training = false;
    p = forward(&q);
    b = backward(&q);
    assert_ok(run_with_workspace(&p));
    assert_ok(run_with_workspace(&b));
    assert_equals(&q.y, eval_y, 24, limit);
    assert_equals(&q.dx, eval_dx, 24, limit);
    assert_equals(&q.dweight, (double[]){1.656472891, -9.928139039, -16.92069322}, 3, limit * 10);
    assert_equals(&q.dbias, (double[]){-4, 2, 1}, 3, limit);
    problem_free(&q);
  }
}

static void kernels_for_consecutive_channels_agree_with_the_loops(void **state) {
  static const int last3[3] = {0, 2, 1};
  for (int trial = 0; trial < 60; trial++) {
    int rank = 2 + next(3);
    int64_t size[4] = {2 + next(40), 1 + next(90), 1 + next(20), 1 + next(20)};
    const int *order = rank == 4 ? last : rank == 3 ? last3 : NULL;
    problem q = problem_new(WF_F32, rank, size, order), r = problem_new(WF_F32, rank, size, order);
    q.training = r.training = next(4) > 0;
    q.relu = r.relu = next(2);
    buffer *mine[] = {&q.x, &q.g, &q.mean, &q.var, &q.weight, &q.bias},
           *theirs[] = {&r.x, &r.g, &r.mean, &r.var, &r.weight, &r.bias};
    for (int i = 0; i < 6; i++) {
      buffer_fill(mine[i]);
      for (int64_t k = 0; k < buffer_numel(mine[i]); k++) {
        if (i == 3) buffer_set(mine[i], k, 1.5);
        if (i == 0) buffer_set(mine[i], k, buffer_get(mine[i], k) + 100); /* a mean far from 0 */
        buffer_set(theirs[i], k, buffer_get(mine[i], k));
      }
    }
    wf_plan p = forward(&q), p2 = forward(&r), b = backward(&q), b2 = backward(&r);
    assert_ok(run_with_workspace(&p));
    wf__ref_norm_batch(&p2, 0, size[1]);
    assert_close(&q.y, &r.y, 1e-4);
    assert_close(&q.stats, &r.stats, 1e-3);
    assert_close(&q.mean, &r.mean, 1e-4);
    assert_close(&q.var, &r.var, 1e-4);
    memcpy(r.stats.bytes, q.stats.bytes, (size_t)r.stats.room * 4); /* so that both see the same mask */
    assert_ok(run_with_workspace(&b));
    wf__ref_norm_batch_backward(&b2, 0, size[1]);
    assert_close(&q.dx, &r.dx, 1e-4);
    assert_close(&q.dbias, &r.dbias, 1e-2);
    assert_close(&q.dweight, &r.dweight, 2e-2);
    problem_free(&q);
    problem_free(&r);
  }
}

static void the_result_does_not_depend_on_the_number_of_threads(void **state) {
  int before = wf_num_threads();
  problem q = problem_new(WF_F32, 4, (int64_t[]){16, 20, 25, 25}, last),
          r = problem_new(WF_F32, 4, (int64_t[]){16, 20, 25, 25}, last);
  problem *both[] = {&q, &r};
  for (int i = 0; i < 2; i++) {
    assert_ok(wf_set_num_threads(i ? 3 : 1));
    buffer_seed = 7;
    buffer *in[] = {&both[i]->x, &both[i]->g, &both[i]->mean, &both[i]->var, &both[i]->weight, &both[i]->bias};
    for (int k = 0; k < 6; k++) buffer_fill(in[k]);
    wf_plan p = forward(both[i]), b = backward(both[i]);
    assert_ok(run_with_workspace(&p));
    assert_ok(run_with_workspace(&b));
  }
  assert_ok(wf_set_num_threads(before));
  assert_memory_equal(q.y.bytes, r.y.bytes, (size_t)q.y.room * 4);
  assert_memory_equal(q.dx.bytes, r.dx.bytes, (size_t)q.dx.room * 4);
  assert_memory_equal(q.dweight.bytes, r.dweight.bytes, 20 * 4);
  problem_free(&q);
  problem_free(&r);
}

static void relu_passes_nan_on(void **state) {
  problem q = problem_new(WF_F32, 2, (int64_t[]){4, 40}, NULL);
  q.relu = true;
  buffer *in[] = {&q.x, &q.mean, &q.var, &q.weight, &q.bias};
  for (int k = 0; k < 5; k++) buffer_fill(in[k]);
  buffer_set(&q.x, 3, NAN);
  wf_plan p = forward(&q);
  assert_ok(run_with_workspace(&p));
  for (int row = 0; row < 4; row++) {
    assert_true(isnan(buffer_get(&q.y, row * 40 + 3)));
    assert_false(isnan(buffer_get(&q.y, row * 40 + 4)));
  }
  problem_free(&q);
}

static void integers_are_refused(void **state) {
  wf_plan p = {.family = WF_FAMILY_NORM, .op = WF__NORM_BATCH};
  p.operand[4].dtype = WF_I64;
  assert_int_equal(wf__exec(&p), WF_NOT_IMPLEMENTED);
  assert_error(WF_NOT_IMPLEMENTED, "\"batch_norm\" not implemented for 'Long'");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(values_gradients_and_running_values_are_pytorchs),
    cmocka_unit_test(kernels_for_consecutive_channels_agree_with_the_loops),
    cmocka_unit_test(the_result_does_not_depend_on_the_number_of_threads),
    cmocka_unit_test(relu_passes_nan_on),
    cmocka_unit_test(integers_are_refused),
};
WF_TEST_MAIN("exec/exec_norm", tests)
