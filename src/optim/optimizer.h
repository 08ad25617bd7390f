/* What all optimisers share: parameters, their state, and the plan of one step. */
#ifndef WF_OPTIM_OPTIMIZER_H
#define WF_OPTIM_OPTIMIZER_H

#include <weft/optim.h>
#include "tensor/tensor.h"

#define WF__OPTIM_STATES 3

/* One parameter and its state: SGD's momentum buffer; Adam's exp_avg, exp_avg_sq, max_exp_avg_sq. NULL until the first step. */
typedef struct wf__optim_param {
  wf_tensor *tensor;
  wf_tensor *state[WF__OPTIM_STATES];
  int64_t steps;
} wf__optim_param;

struct wf_optimizer {
  uint16_t op; /* wf__optim_op */
  double lr;
  wf_plan plan;   /* the numbers of a step; operands are filled in for each parameter */
  uint8_t states; /* how many state tensors the rule keeps */
  int n;
  wf__optim_param *params;
};

/* An optimiser with its parameters retained; the caller fills in the rule. NULL on error. */
wf_optimizer *wf__optimizer_new(wf_tensors params, double lr);
/* A number as Python prints it, for error texts. */
char *wf__python_number(double value, char buffer[32]);

#endif
