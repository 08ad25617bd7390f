/* Optimisers: life, gradients, and the step, which is one plan a parameter. */
#include "optim/optimizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/autograd.h>
#include "base/host.h"
#include "copy/copy.h"
#include "kernel/kernel.h"
#include "tensor/iterator.h"

char *wf__python_number(double value, char buffer[32]) {
  int used = 0;
  for (int digits = 1; digits <= 17; digits++) {
    used = snprintf(buffer, 32, "%.*g", digits, value);
    if (strtod(buffer, NULL) == value) break;
  }
  if (!strpbrk(buffer, ".en")) snprintf(buffer + used, 32 - (size_t)used, ".0");
  return buffer;
}

/* ---- life --------------------------------------------------------------------------------------------------------------------- */

static wf_status check_params(wf_tensors params, double lr) {
  char number[32];
  WF__CHECK(lr >= 0, WF_VALUE, "Invalid learning rate: %s", wf__python_number(lr, number));
  WF__CHECK(params.n > 0 && params.at, WF_VALUE, "optimizer got an empty parameter list");
  for (int i = 0; i < params.n; i++) {
    WF__CHECK(params.at[i], WF_TYPE, "optimizer can only optimize Tensors, but one of the params is NULL");
    WF__CHECK(wf_is_leaf(params.at[i]), WF_VALUE, "can't optimize a non-leaf Tensor");
  }
  return WF_OK;
}

wf_optimizer *wf__optimizer_new(wf_tensors params, double lr) {
  WF__TRY_OR(check_params(params, lr), NULL);
  wf_optimizer *o = wf__calloc(1, sizeof *o);
  if (!o) return NULL;
  o->params = wf__calloc((size_t)params.n, sizeof *o->params);
  if (!o->params) {
    wf__release(o);
    return NULL;
  }
  o->lr = lr;
  o->n = params.n;
  for (int i = 0; i < params.n; i++) o->params[i].tensor = wf_retain(params.at[i]);
  return o;
}

void wf_optimizer_free(wf_optimizer *o) {
  if (!o) return;
  for (int i = 0; i < o->n; i++) {
    wf__tensor_release(o->params[i].tensor);
    for (int k = 0; k < WF__OPTIM_STATES; k++) wf__tensor_release(o->params[i].state[k]);
  }
  wf__release(o->params);
  wf__release(o);
}

double wf_optimizer_lr(const wf_optimizer *o) { return o ? o->lr : 0; }

wf_status wf_optimizer_set_lr(wf_optimizer *o, double lr) {
  WF__OP("set_lr", wf__self.pending);
  char number[32];
  WF__CHECK(lr >= 0, WF_VALUE, "Invalid learning rate: %s", wf__python_number(lr, number));
  o->lr = lr;
  return WF_OK;
}

/* ---- gradients ---------------------------------------------------------------------------------------------------------------- */

wf_status wf_optimizer_zero_grad(wf_optimizer *o, bool set_to_none) {
  WF__OP("zero_grad", wf__self.pending);
  for (int i = 0; i < o->n; i++) {
    wf_tensor *t = o->params[i].tensor;
    if (set_to_none) {
      WF__TRY(wf_set_grad(t, NULL));
      continue;
    }
    wf_scope scope = wf_scope_begin();
    wf_tensor *grad = wf_grad(t);
    if (grad && !wf__fill(grad, wf_int(0))) wf__bump(grad);
    wf_scope_end(scope, NULL);
    WF__TRY(wf__self.pending);
  }
  return WF_OK;
}

/* ---- the step ------------------------------------------------------------------------------------------------------------------ */

/* Zeros in the parameter's own layout: state is walked together with it. */
static wf_tensor *new_state(const wf_tensor *param) {
  wf__layout layout;
  wf__layout_preserve(&param->layout, &layout);
  wf_tensor *t = wf__tensor_empty(wf__device_of(param), (wf_dtype)param->dtype, &layout);
  if (!t || !wf__fill(t, wf_int(0))) return t;
  wf__tensor_release(t);
  return NULL;
}

static wf_status ensure_state(wf__optim_param *p, int states) {
  for (int k = 0; k < states; k++) {
    if (!p->state[k]) p->state[k] = new_state(p->tensor);
    if (!p->state[k]) return wf__self.pending;
  }
  return WF_OK;
}

/* The iterator takes the operands that are there in a row; the plan wants each in its own place. */
static wf_status fill_operands(wf_plan *plan, wf__optim_param *p, wf_tensor *grad) {
  wf_tensor *all[5] = {p->tensor, p->state[0], p->state[1], p->state[2], grad};
  wf__iter it = {0};
  for (int i = 0; i < 5; i++)
    if (all[i]) it.tensor[it.operands++] = all[i];
  it.outputs = it.operands - 1;
  WF__TRY(wf__iter_build(&it, plan));
  wf_operand packed[5];
  memcpy(packed, plan->operand, sizeof packed);
  for (int i = 0, from = 0; i < 5; i++) plan->operand[i] = all[i] ? packed[from++] : (wf_operand){0};
  plan->operands = 5;
  plan->outputs = 4;
  return WF_OK;
}

static wf_status step_one(wf_optimizer *o, wf__optim_param *p, wf_tensor *grad) {
  bool first = !p->steps;
  WF__TRY(ensure_state(p, o->states));
  wf_plan plan = o->plan;
  WF__TRY(fill_operands(&plan, p, grad));
  plan.family = WF_FAMILY_OPTIM;
  plan.op = o->op;
  plan.compute = p->tensor->dtype;
  plan.scalar[0] = wf_float(o->lr);
  plan.param.optim = o->plan.param.optim;
  plan.param.optim.step = p->steps + 1;
  plan.param.optim.first = first;
  WF__TRY(wf__launch(wf__device_of(p->tensor), &plan));
  p->steps++;
  wf__bump(p->tensor);
  return WF_OK;
}

wf_status wf_optimizer_step(wf_optimizer *o) {
  WF__OP("optimizer_step", wf__self.pending);
  for (int i = 0; i < o->n; i++) {
    wf_scope scope = wf_scope_begin();
    wf_tensor *grad = wf_grad(o->params[i].tensor);
    if (grad) step_one(o, &o->params[i], grad);
    wf_scope_end(scope, NULL);
    WF__TRY(wf__self.pending);
  }
  return WF_OK;
}
