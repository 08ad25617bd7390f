/* Adam and AdamW: they differ in where weight decay goes, and in its default. */
#include "kernel/kernel.h"
#include "optim/optimizer.h"

wf_adam_options wf_adam_defaults(void) { return (wf_adam_options){.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8}; }

wf_adam_options wf_adamw_defaults(void) {
  wf_adam_options o = wf_adam_defaults();
  o.weight_decay = 0.01;
  return o;
}

static wf_status check(double lr, const wf_adam_options *o) {
  char number[32];
  WF__CHECK(lr >= 0, WF_VALUE, "Invalid learning rate: %s", wf__python_number(lr, number));
  WF__CHECK(o->eps >= 0, WF_VALUE, "Invalid epsilon value: %s", wf__python_number(o->eps, number));
  WF__CHECK(o->beta1 >= 0 && o->beta1 < 1, WF_VALUE, "Invalid beta parameter at index 0: %s",
            wf__python_number(o->beta1, number));
  WF__CHECK(o->beta2 >= 0 && o->beta2 < 1, WF_VALUE, "Invalid beta parameter at index 1: %s",
            wf__python_number(o->beta2, number));
  WF__CHECK(o->weight_decay >= 0, WF_VALUE, "Invalid weight_decay value: %s",
            wf__python_number(o->weight_decay, number));
  return WF_OK;
}

static wf_optimizer *new_adam(uint16_t op, wf_tensors params, double lr, wf_adam_options a) {
  WF__TRY_OR(check(lr, &a), NULL);
  wf_optimizer *o = wf__optimizer_new(params, lr);
  if (!o) return NULL;
  o->op = op;
  o->states = a.amsgrad ? 3 : 2;
  o->plan.param.optim.beta1 = a.beta1;
  o->plan.param.optim.beta2 = a.beta2;
  o->plan.param.optim.eps = a.eps;
  o->plan.param.optim.weight_decay = a.weight_decay;
  o->plan.param.optim.amsgrad = a.amsgrad;
  o->plan.param.optim.maximize = a.maximize;
  return o;
}

wf_optimizer *wf_adam_new(wf_tensors params, double lr, const wf_adam_options *options) {
  WF__OP("adam_new", NULL);
  return new_adam(WF__OPTIM_ADAM, params, lr, options ? *options : wf_adam_defaults());
}

wf_optimizer *wf_adamw_new(wf_tensors params, double lr, const wf_adam_options *options) {
  WF__OP("adamw_new", NULL);
  return new_adam(WF__OPTIM_ADAMW, params, lr, options ? *options : wf_adamw_defaults());
}
