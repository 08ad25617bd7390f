/* Stochastic gradient descent, with momentum. */
#include "kernel/kernel.h"
#include "optim/optimizer.h"

wf_sgd_options wf_sgd_defaults(void) { return (wf_sgd_options){0}; }

static wf_status check(const wf_sgd_options *o) {
  char number[32];
  WF__CHECK(o->momentum >= 0, WF_VALUE, "Invalid momentum value: %s", wf__python_number(o->momentum, number));
  WF__CHECK(o->weight_decay >= 0, WF_VALUE, "Invalid weight_decay value: %s",
            wf__python_number(o->weight_decay, number));
  WF__CHECK(!o->nesterov || (o->momentum > 0 && o->dampening == 0), WF_VALUE,
            "Nesterov momentum requires a momentum and zero dampening");
  return WF_OK;
}

wf_optimizer *wf_sgd_new(wf_tensors params, double lr, const wf_sgd_options *options) {
  WF__OP("sgd_new", NULL);
  wf_sgd_options s = options ? *options : wf_sgd_defaults();
  char number[32];
  if (lr < 0) return wf__fail(WF_VALUE, "Invalid learning rate: %s", wf__python_number(lr, number)), NULL;
  WF__TRY_OR(check(&s), NULL);
  wf_optimizer *o = wf__optimizer_new(params, lr);
  if (!o) return NULL;
  o->op = WF__OPTIM_SGD;
  o->states = s.momentum != 0;
  o->plan.param.optim.momentum = s.momentum;
  o->plan.param.optim.dampening = s.dampening;
  o->plan.param.optim.weight_decay = s.weight_decay;
  o->plan.param.optim.nesterov = s.nesterov;
  o->plan.param.optim.maximize = s.maximize;
  return o;
}
