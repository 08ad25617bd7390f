/* Modules: parameters and buffers with a forward function. Names of parameters are PyTorch's, so state dicts travel both ways. */
#ifndef WEFT_NN_H
#define WEFT_NN_H

#include <weft/io.h>
#include <weft/tensor.h>

WF_EXTERN_C_BEGIN

/** A layer, or a tree of layers. Used by one thread at a time. */
typedef struct wf_module wf_module;

/* ---- modules ------------------------------------------------------------------------------------------------------------------- */

/** y = x wᵀ + b. Parameters weight [out, in] and, with bias, bias [out], uniform in ±1/√in. x [..., in] → [..., out]. Yours. */
WF_API wf_module *wf_nn_linear(int64_t in, int64_t out, bool bias);

/** Options of a 2-D convolution. */
typedef struct wf_nn_conv2d_options {
  int64_t stride[2];       /* 1 */
  int64_t padding[2];      /* 0 */
  int64_t dilation[2];     /* 1 */
  int64_t groups;          /* 1 */
  bool bias;               /* true */
  wf_memory_format format; /* contiguous; channels last: memory order of the weight, which results then have as well */
} wf_nn_conv2d_options;
/** The defaults. */
WF_API wf_nn_conv2d_options wf_nn_conv2d_defaults(void);
/** 2-D convolution with square kernel. Parameters weight [out, in/groups, kernel, kernel], bias [out], uniform in ±1/√fan_in.
 *  x [n, in, h, w] → [n, out, h', w']. Yours. Errors: WF_VALUE for sizes below 1 or channels not divisible by groups. */
WF_API wf_module *wf_nn_conv2d(int64_t in, int64_t out, int64_t kernel, const wf_nn_conv2d_options *options);

/** Options of batch normalisation. */
typedef struct wf_nn_batch_norm2d_options {
  double eps;      /* 1e-5 */
  double momentum; /* 0.1 */
  bool relu;       /* false; applies relu to the result in the same pass */
} wf_nn_batch_norm2d_options;
/** The defaults. */
WF_API wf_nn_batch_norm2d_options wf_nn_batch_norm2d_defaults(void);
/** Batch normalisation over [n, channels, h, w]. Parameters weight, bias; buffers running_mean, running_var, num_batches_tracked. Yours. */
WF_API wf_module *wf_nn_batch_norm2d(int64_t channels, const wf_nn_batch_norm2d_options *options);

/** Rectified linear unit. Yours. */
WF_API wf_module *wf_nn_relu(void);
/** Does nothing. Keeps numbers of a Sequential in step with PyTorch's where two modules are one here. Yours. */
WF_API wf_module *wf_nn_identity(void);
/** Max pooling, stride = kernel. `format`: memory order of the result (PRESERVE: as x); contiguous makes a flatten behind it a view.
 *  Yours. */
WF_API wf_module *wf_nn_max_pool2d(int64_t kernel, wf_memory_format format);
/** [n, …] → [n, rest]; a view where the layout allows. Yours. */
WF_API wf_module *wf_nn_flatten(void);
/** Runs the modules one after the other, and frees each result that the next has consumed. Takes the `n` modules over, also on failure.
 *  Children are named "0", "1", …. Yours. */
WF_API wf_module *wf_nn_sequential(wf_module *const *modules, int n);

/* ---- modules of your own ----------------------------------------------------------------------------------------------------------- */

/** What a module of your own does. */
typedef struct wf_module_ops {
  const char *kind;                                       /* "Block": shown in paths and errors */
  wf_tensor *(*forward)(wf_module *module, wf_tensor *x); /* runs in a scope of its own */
  void (*release)(void *context);                         /* may be NULL */
} wf_module_ops;
/** A module of your own; `context` is released with it. Yours. */
WF_API wf_module *wf_module_new(const wf_module_ops *ops, void *context);
/** What wf_module_new was given; NULL for NULL. */
WF_API void *wf_module_context(const wf_module *module);
/** Registers a parameter (requires_grad is set), and retains it. The name is copied. Errors: WF_VALUE for a name in use. */
WF_API wf_status wf_module_add_parameter(wf_module *module, const char *name, wf_tensor *parameter);
/** The same for a buffer: state that isn't trained. */
WF_API wf_status wf_module_add_buffer(wf_module *module, const char *name, wf_tensor *buffer);
/** Takes the child over, also on failure. */
WF_API wf_status wf_module_add_child(wf_module *module, const char *name, wf_module *child);
/** Parameter or buffer by its own name ("weight"). Borrowed; NULL when there is none. */
WF_API wf_tensor *wf_module_tensor(const wf_module *module, const char *name);
/** Child by its own name. Borrowed; NULL when there is none. */
WF_API wf_module *wf_module_child(const wf_module *module, const char *name);

/* ---- using ---------------------------------------------------------------------------------------------------------------------------- */

/** Frees the module and its children. NULL is accepted. */
WF_API void wf_module_free(wf_module *module);
/** Runs the module. New, or x itself where nothing is done. */
WF_API wf_tensor *wf_module_forward(wf_module *module, wf_tensor *x);
/** Switches the module and its children between training and evaluation. */
WF_API void wf_module_train(wf_module *module, bool training);
/** Whether it is training; false for NULL. */
WF_API bool wf_module_training(const wf_module *module);
/** Moves parameters and buffers to the device; handles stay valid and gradients are dropped. In place. Sync. */
WF_API wf_status wf_module_to(wf_module *module, wf_device device);
/** All parameters, children's behind their own. The array is yours (wf_module_list_free), the tensors are borrowed. */
WF_API wf_tensors wf_module_parameters(const wf_module *module);
/** Gives back the array of wf_module_parameters. */
WF_API void wf_module_list_free(wf_tensors list);
/** Names ("0.weight") and tensors of all parameters and buffers in PyTorch's order. *n entries; the array with its names is yours
 *  (wf_module_state_free), the tensors are borrowed. NULL on error. */
WF_API wf_named_tensor *wf_module_state(const wf_module *module, int *n);
/** Gives back what wf_module_state gave. */
WF_API void wf_module_state_free(wf_named_tensor *state, int n);
/** Saves the state as safetensors. As wf_safetensors_save. */
WF_API wf_status wf_module_save(const wf_module *module, const char *path);
/** Loads the state: everything fits or nothing changes. Errors: WF_RUNTIME with PyTorch's list of missing and unexpected keys and of sizes
 *  that don't match; WF_IO for the file. In place: parameters' versions +1. Sync. */
WF_API wf_status wf_module_load(wf_module *module, const char *path);

/* ---- initialisers (torch.nn.init): in place, drawn from the global generator ----------------------------------------------------------- */

/** Uniform in [low, high). */
WF_API wf_status wf_init_uniform_(wf_tensor *t, double low, double high);
/** Normal with mean and standard deviation. */
WF_API wf_status wf_init_normal_(wf_tensor *t, double mean, double deviation);
/** The same number everywhere. */
WF_API wf_status wf_init_constant_(wf_tensor *t, double value);
/** Uniform in ±√(6 / ((1 + a²) fan_in)): PyTorch's default for linear and convolution with a = √5. t has rank 2 or more. */
WF_API wf_status wf_init_kaiming_uniform_(wf_tensor *t, double a);
/** Uniform in ±√(6 / (fan_in + fan_out)). */
WF_API wf_status wf_init_xavier_uniform_(wf_tensor *t);

WF_EXTERN_C_END
#endif
