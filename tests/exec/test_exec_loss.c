/* Negative log likelihood as plans against numbers of PyTorch. */
#include "buffers.h"

#include <math.h>

#include "kernel/kernel.h"

/* x = (((arange(24) * 7) % 11 - 5) / 4.).reshape(2, 3, 4); t = [[0, 2, 1, 1], [2, -5, 0, 2]]; w = [1, .5, 2]
 * l = nll_loss(x, t, w, ignore_index=-5, reduction=r); l.backward(2 * ones_like(l)) */
static const int64_t targets[8] = {0, 2, 1, 1, 2, -5, 0, 2};
static const double none[8] = {1.25, -1.5, -.5, 0, -1.5, 0, -1.25, -1};
static const double gradient[24] = {-2, 0, 0, 0, 0, 0, -1, -1, 0, -4, 0, 0, 0, 0, -2, 0, 0, 0, 0, 0, -4, 0, 0, -4};

typedef struct problem {
  buffer out, total, x, t, w, g, dx;
} problem;

static problem problem_new(wf_dtype dtype, const int *order, int reduction) {
  problem q;
  int64_t size[3] = {2, 3, 4};
  q.out = buffer_new(dtype, reduction ? 0 : 2, (int64_t[]){2, 4}, NULL, 0);
  q.g = buffer_new(dtype, reduction ? 0 : 2, (int64_t[]){2, 4}, NULL, 0);
  q.total = buffer_new(dtype, 0, NULL, NULL, 0);
  q.x = buffer_new(dtype, 3, size, order, 0);
  q.dx = buffer_new(dtype, 3, size, order, 0);
  q.t = buffer_new(WF_I64, 2, (int64_t[]){2, 4}, NULL, 0);
  q.w = buffer_new(dtype, 1, (int64_t[]){3}, NULL, 0);
  for (int i = 0; i < 24; i++) buffer_set(&q.x, i, (i * 7 % 11 - 5) / 4.0);
  for (int i = 0; i < 8; i++) buffer_set(&q.t, i, (double)targets[i]);
  for (int i = 0; i < 3; i++) buffer_set(&q.w, i, (double[]){1, .5, 2}[i]);
  for (int i = 0; i < (reduction ? 1 : 8); i++) buffer_set(&q.g, i, 2);
  return q;
}
static void problem_free(problem *q) {
  buffer *all[] = {&q->out, &q->total, &q->x, &q->t, &q->w, &q->g, &q->dx};
  for (int i = 0; i < 7; i++) buffer_free(all[i]);
}
static wf_plan plan_of(const problem *q, int op, int reduction) {
  wf_plan p = {.family = WF_FAMILY_LOSS, .op = (uint16_t)op, .operands = 5, .outputs = op == WF__LOSS_NLL ? 2 : 1};
  const buffer *forward[] = {&q->out, &q->total, &q->x, &q->t, &q->w},
               *backward[] = {&q->dx, &q->g, &q->total, &q->t, &q->w};
  for (int i = 0; i < 5; i++) set_operand(&p, i, op == WF__LOSS_NLL ? forward[i] : backward[i]);
  p.param.index.count = reduction;
  p.param.index.step = -5;
  return p;
}

static void losses_and_gradients_are_pytorchs(void **state) {
  static const int classes_last[3] = {0, 2, 1};
  static const wf_dtype dtypes[] = {WF_F64, WF_F32, WF_F16, WF_BF16};
  for (int i = 0; i < 4; i++)
    for (int reduction = 0; reduction < 3; reduction++) {
      problem q = problem_new(dtypes[i], reduction ? classes_last : NULL, reduction);
      wf_plan p = plan_of(&q, WF__LOSS_NLL, reduction), b = plan_of(&q, WF__LOSS_NLL_BACKWARD, reduction);
      assert_ok(wf__exec(&p));
      assert_ok(wf__exec(&b));
      double divisor = reduction == 1 ? 9 : 1, limit = dtypes[i] == WF_F64 ? 1e-12 : dtypes[i] == WF_F32 ? 1e-6 : 4e-3;
      if (reduction) assert_float_equal(buffer_get(&q.out, 0), -4.5 / divisor, limit);
      for (int k = 0; !reduction && k < 8; k++) assert_float_equal(buffer_get(&q.out, k), none[k], 0);
      for (int k = 0; k < 24; k++) assert_float_equal(buffer_get(&q.dx, k), gradient[k] / divisor, limit);
      problem_free(&q);
    }
}

static void a_target_that_is_no_class_is_refused_before_anything_is_written(void **state) {
  for (int bad = -1; bad <= 3; bad += 4) {
    problem q = problem_new(WF_F32, NULL, 1);
    buffer_set(&q.t, 7, bad);
    buffer_set(&q.out, 0, 42);
    wf_plan p = plan_of(&q, WF__LOSS_NLL, 1);
    assert_int_equal(wf__exec(&p), WF_INDEX);
    assert_error(WF_INDEX, bad < 0 ? "Target -1 is out of bounds." : "Target 3 is out of bounds.");
    assert_float_equal(buffer_get(&q.out, 0), 42, 0);
    problem_free(&q);
  }
}

/* torch: nll_loss with every target ignored is nan */
static void the_mean_of_nothing_is_nan(void **state) {
  problem q = problem_new(WF_F32, NULL, 1);
  for (int i = 0; i < 8; i++) buffer_set(&q.t, i, -5);
  wf_plan p = plan_of(&q, WF__LOSS_NLL, 1);
  assert_ok(wf__exec(&p));
  assert_true(isnan(buffer_get(&q.out, 0)));
  problem_free(&q);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(losses_and_gradients_are_pytorchs),
    cmocka_unit_test(a_target_that_is_no_class_is_refused_before_anything_is_written),
    cmocka_unit_test(the_mean_of_nothing_is_nan),
};
WF_TEST_MAIN("exec/exec_loss", tests)
