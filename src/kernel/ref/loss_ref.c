/* Negative log likelihood and its derivative in plain C. Sums are in double and rounded once. */
#include "kernel/neural.h"
#include "kernel/ref/ref_types.h"

/* Target of place s of sample n: operand 3. */
static int64_t target_at(const wf_plan *plan, int64_t n, int64_t s) {
  const wf_operand *o = &plan->operand[3];
  const char *p = (char *)o->data + n * o->stride[0] + s * o->stride[1];
  return o->dtype == WF_U8 ? *(const uint8_t *)p : *(const int64_t *)p;
}

static double number(const wf_operand *o, int64_t byte) {
  return wf__scalar_double(wf__scalar_load((wf_dtype)o->dtype, (char *)o->data + byte));
}
static void set_number(const wf_operand *o, int64_t byte, double value) {
  wf__scalar_store(wf_float(value), (wf_dtype)o->dtype, (char *)o->data + byte);
}

/* Weight of a class, 0 for the target that is left out: operand 4. */
static double weight_of(const wf_plan *plan, int64_t target) {
  const wf_operand *o = &plan->operand[4];
  if (target == plan->param.index.step) return 0;
  return o->data ? number(o, target * o->stride[0]) : 1;
}

/* Operand with the [n, c, s] shape: the input, or its gradient. */
static int wide(const wf_plan *plan) { return plan->rank[2] == 3 ? 2 : 0; }

bool wf__ref_nll_targets_fit(const wf_plan *plan, int64_t *bad) {
  const int64_t *size = plan->shape[wide(plan)];
  for (int64_t n = 0; n < size[0]; n++)
    for (int64_t s = 0; s < size[2]; s++) {
      *bad = target_at(plan, n, s);
      if (*bad != plan->param.index.step && (*bad < 0 || *bad >= size[1])) return false;
    }
  return true;
}

static double loss_at(const wf_plan *plan, int64_t n, int64_t s, double *weight) {
  const wf_operand *o = &plan->operand[2];
  int64_t t = target_at(plan, n, s);
  *weight = weight_of(plan, t);
  if (t == plan->param.index.step) return 0;
  return -*weight * number(o, n * o->stride[0] + t * o->stride[1] + s * o->stride[2]);
}

void wf__ref_nll(const wf_plan *plan, int64_t begin, int64_t end) {
  const wf_operand *out = &plan->operand[0];
  double weight;
  for (int64_t n = begin; n < end; n++)
    for (int64_t s = 0; s < plan->shape[2][2]; s++)
      set_number(out, n * out->stride[0] + s * out->stride[1], loss_at(plan, n, s, &weight));
}

void wf__ref_nll_reduced(const wf_plan *plan) {
  double total = 0, weights = 0, weight;
  for (int64_t n = 0; n < plan->shape[2][0]; n++)
    for (int64_t s = 0; s < plan->shape[2][2]; s++) {
      total += loss_at(plan, n, s, &weight);
      weights += weight;
    }
  set_number(&plan->operand[0], 0, plan->param.index.count == 1 ? total / weights : total);
  set_number(&plan->operand[1], 0, weights);
}

void wf__ref_nll_backward(const wf_plan *plan, int64_t begin, int64_t end) {
  const wf_operand *in = &plan->operand[0], *grad = &plan->operand[1];
  const int64_t *size = plan->shape[0];
  double divisor = plan->param.index.count == 1 ? number(&plan->operand[2], 0) : 1;
  for (int64_t n = begin; n < end; n++)
    for (int64_t s = 0; s < size[2]; s++) {
      for (int64_t c = 0; c < size[1]; c++)
        set_number(in, n * in->stride[0] + c * in->stride[1] + s * in->stride[2], 0);
      int64_t t = target_at(plan, n, s);
      if (t == plan->param.index.step) continue;
      double g = number(grad, plan->param.index.count ? 0 : n * grad->stride[0] + s * grad->stride[1]);
      set_number(in, n * in->stride[0] + t * in->stride[1] + s * in->stride[2], -weight_of(plan, t) * g / divisor);
    }
}
