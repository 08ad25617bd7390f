/* Gradients: PyTorch's rules for leaves, views, versions and accumulation. */
#ifndef WEFT_AUTOGRAD_H
#define WEFT_AUTOGRAD_H

#include <weft/tensor.h>

WF_EXTERN_C_BEGIN

/** Whether operators on this thread record what a gradient needs. */
WF_API bool wf_grad_enabled(void);
/** Sets it and returns what was before: bool was = wf_grad_set_enabled(false); …; wf_grad_set_enabled(was); */
WF_API bool wf_grad_set_enabled(bool enabled);

/** Whether a gradient is computed for the tensor. false for NULL. */
WF_API bool wf_requires_grad(const wf_tensor *t);
/** Sets the flag of a leaf. Errors: WF_RUNTIME for a non-float dtype, or turning off a computed tensor. In place, metadata only. */
WF_API wf_status wf_requires_grad_(wf_tensor *t, bool requires_grad);
/** Whether backward accumulates into the tensor: it wasn't computed by a recorded operator. true for every tensor without grad. */
WF_API bool wf_is_leaf(const wf_tensor *t);
/** Whether the tensor was computed by a recorded operator. */
WF_API bool wf_has_grad_fn(const wf_tensor *t);
/** Name of the gradient function as PyTorch calls it ("MulBackward0"), or "" for none. Never NULL. */
WF_API const char *wf_grad_fn_name(const wf_tensor *t);
/** The accumulated gradient, NULL for none. A reference to it as with every call that returns a tensor. */
WF_API wf_tensor *wf_grad(const wf_tensor *t);
/** Assigns the gradient; NULL takes it away. Checks dtype, device and size as PyTorch does. */
WF_API wf_status wf_set_grad(wf_tensor *t, wf_tensor *grad);
/** Keeps the gradient of a computed tensor as well. */
WF_API wf_status wf_retain_grad(wf_tensor *t);
/** Takes the tensor out of its graph, in place. Errors: WF_RUNTIME for a view. */
WF_API wf_status wf_detach_(wf_tensor *t);

/** What a hook returns: the new gradient, or NULL to leave it as it is. Runs on the thread of backward. */
typedef wf_tensor *(*wf_grad_hook)(wf_tensor *grad, void *context);
/** Calls `hook` with each gradient that reaches `t` in backward. Returns the hook's number for wf_remove_hook, 0 on error. */
WF_API uint64_t wf_register_hook(wf_tensor *t, wf_grad_hook hook, void *context);
/** Takes the hook of that number (wf_register_hook) away. 0 is accepted. */
WF_API void wf_remove_hook(wf_tensor *t, uint64_t number);

/** How backward runs. */
typedef struct wf_backward_options {
  bool retain_graph; /* false; create_graph implies it */
  bool create_graph; /* false */
} wf_backward_options;
/** The default options: all false. */
WF_API wf_backward_options wf_backward_defaults(void);
/** Accumulates d(loss)/d(leaf) into each leaf's gradient. gradient [same as t] or NULL (t has one element: 1). */
WF_API wf_status wf_backward(wf_tensor *t, wf_tensor *gradient, const wf_backward_options *options);
/** Gradients of outputs with respect to inputs, without accumulating. grad_outputs may have n 0. Unused inputs: an error, or a
 *  NULL in the list when allow_unused. */
WF_API wf_tensors wf_autograd_grad(wf_tensors outputs, wf_tensors inputs, wf_tensors grad_outputs, bool allow_unused,
                                   const wf_backward_options *options);
/** Records the forward traceback of each node and checks gradients for NaN. Returns what was before. */
WF_API bool wf_detect_anomaly(bool enabled);

/** Runs fn(inputs, context) without recording and again during backward: memory for time. Random draws repeat. */
WF_API wf_tensors wf_checkpoint(wf_tensors (*fn)(wf_tensors inputs, void *context), void *context, wf_tensors inputs);

WF_EXTERN_C_END
#endif
