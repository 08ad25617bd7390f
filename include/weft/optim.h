/* Optimisers: PyTorch's update rules, one fused pass over each parameter. */
#ifndef WEFT_OPTIM_H
#define WEFT_OPTIM_H

#include <weft/tensor.h>

WF_EXTERN_C_BEGIN

/** Parameters with an update rule and its state. Used by one thread at a time. */
typedef struct wf_optimizer wf_optimizer;

/** Options of SGD; zero is the default of each. */
typedef struct wf_sgd_options {
  double momentum, dampening, weight_decay;
  bool nesterov; /* needs momentum, and dampening 0 */
  bool maximize;
} wf_sgd_options;
/** The defaults. */
WF_API wf_sgd_options wf_sgd_defaults(void);
/** Stochastic gradient descent over leaf tensors `params`, which it retains. Yours. NULL on error: WF_VALUE for an empty list, a tensor that
 *  isn't a leaf, options out of range. */
WF_API wf_optimizer *wf_sgd_new(wf_tensors params, double lr, const wf_sgd_options *options);

/** Options of Adam and AdamW. */
typedef struct wf_adam_options {
  double beta1, beta2; /* 0.9, 0.999 */
  double eps;          /* 1e-8 */
  double weight_decay; /* Adam 0, AdamW 0.01 */
  bool amsgrad, maximize;
} wf_adam_options;
/** Adam's defaults. */
WF_API wf_adam_options wf_adam_defaults(void);
/** Adam with weight decay added to the gradient. As wf_sgd_new. */
WF_API wf_optimizer *wf_adam_new(wf_tensors params, double lr, const wf_adam_options *options);
/** AdamW's defaults. */
WF_API wf_adam_options wf_adamw_defaults(void);
/** Adam with decoupled weight decay. As wf_sgd_new. */
WF_API wf_optimizer *wf_adamw_new(wf_tensors params, double lr, const wf_adam_options *options);

/** Gives back the optimiser, its state and its references to the parameters. NULL is accepted. */
WF_API void wf_optimizer_free(wf_optimizer *optimizer);
/** One update of every parameter that has a gradient. In place on the parameters (version +1) and the state; enqueues on the current
 *  stream of each parameter's device. State is made at a parameter's first update. On error no parameter behind the failing one changed. */
WF_API wf_status wf_optimizer_step(wf_optimizer *optimizer);
/** Takes the gradients of all parameters away, or sets them to zero in place when `set_to_none` is false. */
WF_API wf_status wf_optimizer_zero_grad(wf_optimizer *optimizer, bool set_to_none);
/** The learning rate; 0 for NULL. */
WF_API double wf_optimizer_lr(const wf_optimizer *optimizer);
/** Sets the learning rate for the next steps. Errors: WF_VALUE below 0. */
WF_API wf_status wf_optimizer_set_lr(wf_optimizer *optimizer, double lr);

WF_EXTERN_C_END
#endif
