/* Optimiser steps against torch.optim: three steps from [1, -2, 0.5, 3] with the gradients below, in float64. */
#include "test.h"

#include <math.h>
#include "base/convert.h"
#include "exec/exec.h"
#include "kernel/tables.h"

static const double gradients[3][4] = {{0.1, -0.2, 0.3, -4}, {0.5, 0.5, -1, 2}, {-0.3, 0, 1, 1}};

typedef struct run {
  int op;
  bool momentum_buffer, nesterov, maximize, amsgrad;
  double beta1, beta2, weight_decay, momentum, dampening;
  double expected[4];
} run;

/* torch.optim.SGD, Adam, AdamW of PyTorch 2.15 with lr=0.1 and the arguments that the rows name; repr of the parameter. */
static const run runs[] = {
    {WF__OPTIM_SGD, false, false, false, false, 0, 0, 0, 0, 0, {0.97, -2.03, 0.47, 3.0999999999999996}},
    {WF__OPTIM_SGD,
     false,
     false,
     true,
     false,
     0,
     0,
     0.01,
     0,
     0,
     {1.026933009, -1.964016018, 0.5285415295, 2.891608597}},
    {WF__OPTIM_SGD,
     true,
     false,
     false,
     false,
     0,
     0,
     0.1,
     0.9,
     0.2,
     {0.8715907199999999, -1.92222144, 0.46600376, 3.53934768}},
    {WF__OPTIM_SGD,
     true,
     true,
     false,
     false,
     0,
     0,
     0,
     0.9,
     0,
     {0.88711, -2.06672, 0.47783000000000003, 3.6435999999999997}},
    {WF__OPTIM_ADAM,
     false,
     false,
     false,
     false,
     0.9,
     0.999,
     0.1,
     0,
     0,
     {0.7621668996303519, -1.8649277661693324, 0.4266773327076362, 3.111880896972814}},
    {WF__OPTIM_ADAM,
     false,
     false,
     false,
     true,
     0.8,
     0.9,
     0,
     0,
     0,
     {0.7932608028980543, -1.983000305131444, 0.43714736520998154, 3.12079368127426}},
    {WF__OPTIM_ADAMW,
     false,
     false,
     false,
     false,
     0.9,
     0.999,
     0.3,
     0,
     0,
     {0.710108702218532, -1.808334251123913, 0.3975580359579164, 2.864082578786096}},
    {WF__OPTIM_ADAMW,
     false,
     false,
     true,
     true,
     0.9,
     0.999,
     0.01,
     0,
     0,
     {1.2077744303012152, -2.0154625183172703, 0.5614811012597672, 2.858462940815606}},
};

/* Three steps in `dtype` with `gap` elements between neighbours; the parameter as doubles. */
static void play(const run *r, wf_dtype dtype, int64_t gap, double result[4]) {
  char data[5][4 * 3 * 8];
  memset(data, 0, sizeof data);
  const double start[] = {1, -2, 0.5, 3};
  int64_t size = (int64_t)wf_dtype_size(dtype), stride = size * gap;
  wf_plan plan = {.family = WF_FAMILY_OPTIM,
                  .op = (uint16_t)r->op,
                  .compute = (uint8_t)dtype,
                  .operands = 5,
                  .outputs = 4,
                  .ndim = 1,
                  .size = {4},
                  .scalar = {wf_float(0.1)}};
  bool adam = r->op != WF__OPTIM_SGD, present[5] = {true, adam || r->momentum_buffer, adam, r->amsgrad, true};
  for (int o = 0; o < 5; o++)
    if (present[o]) plan.operand[o] = (wf_operand){data[o], dtype, {stride}};
  for (int i = 0; i < 4; i++) wf__scalar_store(wf_float(start[i]), dtype, data[0] + i * stride);
  plan.param.optim.beta1 = r->beta1, plan.param.optim.beta2 = r->beta2, plan.param.optim.eps = 1e-8;
  plan.param.optim.weight_decay = r->weight_decay, plan.param.optim.momentum = r->momentum,
  plan.param.optim.dampening = r->dampening;
  plan.param.optim.nesterov = r->nesterov, plan.param.optim.maximize = r->maximize,
  plan.param.optim.amsgrad = r->amsgrad;
  for (int step = 0; step < 3; step++) {
    for (int i = 0; i < 4; i++) wf__scalar_store(wf_float(gradients[step][i]), dtype, data[4] + i * stride);
    plan.param.optim.step = step + 1;
    plan.param.optim.first = step == 0;
    assert_ok(wf__exec(&plan));
  }
  for (int i = 0; i < 4; i++) result[i] = wf__scalar_load(dtype, data[0] + i * stride).as.f;
}

static void steps_are_those_of_pytorch(void **state) {
  (void)state;
  const struct {
    wf_dtype dtype;
    double tolerance;
  } kinds[] = {{WF_F64, 1e-14}, {WF_F32, 1e-6}, {WF_BF16, 0.05}};
  for (size_t r = 0; r < sizeof runs / sizeof *runs; r++)
    for (int k = 0; k < 3; k++)
      for (int64_t gap = 1; gap <= 3; gap++) {
        double result[4];
        play(&runs[r], kinds[k].dtype, gap, result);
        for (int i = 0; i < 4; i++)
          if (!(fabs(result[i] - runs[r].expected[i]) <= kinds[k].tolerance * 4))
            fail_msg("row %d, %s, element %d: %.17g, not %.17g", (int)r, wf_dtype_name(kinds[k].dtype), i, result[i],
                     runs[r].expected[i]);
      }
}

static void integers_cannot_be_optimised(void **state) {
  (void)state;
  int64_t x = 1;
  wf_plan plan = {.family = WF_FAMILY_OPTIM, .operands = 5};
  plan.operand[0] = (wf_operand){&x, WF_I64, {8}};
  assert_int_equal(wf__exec(&plan), WF_NOT_IMPLEMENTED);
  assert_error(WF_NOT_IMPLEMENTED, "\"optimizer_step_cpu\" not implemented for 'Long'");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(steps_are_those_of_pytorch),
    cmocka_unit_test(integers_cannot_be_optimised),
};
WF_TEST_MAIN("exec/optim", tests)
