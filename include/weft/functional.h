/* Neural-network functions: PyTorch's names, arguments, results and texts. */
#ifndef WEFT_FUNCTIONAL_H
#define WEFT_FUNCTIONAL_H

#include <weft/tensor.h>

WF_EXTERN_C_BEGIN

/** input [..., k] @ weight [n, k] transposed + bias [n] or NULL: [..., n]. A weight [k] gives [...]. New, row-major. grad: any number of
 *  times. */
WF_API wf_tensor *wf_linear(const wf_tensor *input, const wf_tensor *weight, const wf_tensor *bias);

/* ---- convolution ------------------------------------------------------------------------------------------------- */

/** What a convolution takes besides its tensors; NULL means all defaults. Numbers are for height and width; conv1d reads [0]. */
typedef struct wf_conv_options {
  int64_t stride[2];   /* 1, 1 */
  int64_t padding[2];  /* 0, 0: zeros at both sides */
  int64_t dilation[2]; /* 1, 1: distance between the places of the kernel */
  int64_t groups;      /* 1 */
} wf_conv_options;
/** The defaults. */
WF_API wf_conv_options wf_conv_defaults(void);

/** Cross-correlation over two dims: input [n, ci, h, w] or [ci, h, w], weight [co, ci/groups, kh, kw], bias [co] or NULL; result
 *  [n, co, oh, ow]. New; channels last when input or weight look so, else row-major. All of one dtype. May copy (implicit) an input
 *  or gradient that isn't dense in that format; packs the weights. grad: once. Errors: WF_RUNTIME for shapes, dtypes, options. */
WF_API wf_tensor *wf_conv2d(const wf_tensor *input, const wf_tensor *weight, const wf_tensor *bias,
                            const wf_conv_options *options);
/** The same over one dim: input [n, ci, l] or [ci, l], weight [co, ci/groups, k]. */
WF_API wf_tensor *wf_conv1d(const wf_tensor *input, const wf_tensor *weight, const wf_tensor *bias,
                            const wf_conv_options *options);

/* ---- pooling ------------------------------------------------------------------------------------------------------ */

/** What pooling takes besides the input and the kernel; NULL means all defaults. Numbers are for height and width. */
typedef struct wf_pool_options {
  int64_t stride[2];      /* 0, 0: the kernel's size */
  int64_t padding[2];     /* 0, 0 */
  int64_t dilation[2];    /* 1, 1; max only */
  bool ceil_mode;         /* false: a window that starts inside but ends outside is left out */
  bool count_include_pad; /* true: padding counts in averages */
  int64_t divisor;        /* 0: the number of places; else what sums are divided by */
  wf_memory_format
      format; /* preserve: the result has the input's format; contiguous or channels last: that one, without a further
                              pass over the data, so that a flatten behind it is a view */
} wf_pool_options;
/** The defaults. */
WF_API wf_pool_options wf_pool_defaults(void);

/** Maximum over windows of kernel [kh, kw] (one number for both): input [n, c, h, w] or [c, h, w]; result [n, c, oh, ow]. New. NaN is
 *  greater than everything. grad: once; a byte a result is kept for it. Errors: WF_RUNTIME for shapes and options. */
WF_API wf_tensor *wf_max_pool2d(const wf_tensor *input, wf_dims kernel, const wf_pool_options *options);
/** What wf_max_pool2d_with_indices gives. Both NULL on error. */
typedef struct wf_max_pool2d_result {
  wf_tensor *values, *indices;
} wf_max_pool2d_result;
/** The same with the place of each maximum in its plane of the input, counted row by row, as int64. */
WF_API wf_max_pool2d_result wf_max_pool2d_with_indices(const wf_tensor *input, wf_dims kernel,
                                                       const wf_pool_options *options);
/** Average over windows. As above. */
WF_API wf_tensor *wf_avg_pool2d(const wf_tensor *input, wf_dims kernel, const wf_pool_options *options);

/* ---- normalisation ------------------------------------------------------------------------------------------------ */

/** What batch_norm takes besides its tensors; NULL means all defaults. */
typedef struct wf_batch_norm_options {
  bool training;   /* false: normalise by the running values */
  double momentum; /* 0.1: share of the new statistics in the running ones */
  double eps;      /* 1e-5 */
} wf_batch_norm_options;
/** The defaults. */
WF_API wf_batch_norm_options wf_batch_norm_defaults(void);

/** Normalises each channel (dim 1) of input [n, c] or [n, c, …]; running_mean, running_var, weight, bias [c] or NULL. When training,
 *  the running values are changed in place. New, in the input's memory format. grad: once. Errors: WF_RUNTIME for sizes and dtypes. */
WF_API wf_tensor *wf_batch_norm(const wf_tensor *input, wf_tensor *running_mean, wf_tensor *running_var,
                                const wf_tensor *weight, const wf_tensor *bias, const wf_batch_norm_options *options);
/** relu of the same in one pass over the data; neither the value before relu nor a mask is kept. Not in PyTorch. */
WF_API wf_tensor *wf_batch_norm_relu(const wf_tensor *input, wf_tensor *running_mean, wf_tensor *running_var,
                                     const wf_tensor *weight, const wf_tensor *bias,
                                     const wf_batch_norm_options *options);

/* ---- softmax ------------------------------------------------------------------------------------------------------- */

/** exp(input) / sum of exp(input) along dim. New, row-major. dtype: what the input is cast to first; NONE: its own. */
WF_API wf_tensor *wf_softmax(const wf_tensor *input, int64_t dim, wf_dtype dtype);
/** The logarithm of the same, computed without overflow. */
WF_API wf_tensor *wf_log_softmax(const wf_tensor *input, int64_t dim, wf_dtype dtype);

/* ---- losses --------------------------------------------------------------------------------------------------------- */

/** How the losses of all places become the result. */
typedef enum wf_reduction { WF_REDUCE_NONE = 0, WF_REDUCE_MEAN = 1, WF_REDUCE_SUM = 2 } wf_reduction;
/** What losses over classes take besides their tensors; NULL means all defaults. */
typedef struct wf_loss_options {
  wf_reduction reduction; /* mean: divided by the total weight */
  int64_t ignore_index;   /* -100: targets of this value don't count */
  double label_smoothing; /* 0; cross-entropy only */
} wf_loss_options;
/** The defaults. */
WF_API wf_loss_options wf_loss_defaults(void);

/** Negative log likelihood of log probabilities input [n, c], [c] or [n, c, …] for target [n], [] or [n, …] of int64 or uint8; weight
 *  [c] or NULL. Result: a number, or target's shape without reduction. New. grad: once. Errors: WF_INDEX for a target out of bounds (on
 *  an asynchronous device at the next wait), WF_VALUE and WF_RUNTIME for shapes. */
WF_API wf_tensor *wf_nll_loss(const wf_tensor *input, const wf_tensor *target, const wf_tensor *weight,
                              const wf_loss_options *options);
/** nll_loss of log_softmax(input) along dim 1, for logits. target may also hold probabilities, of input's shape and dtype. */
WF_API wf_tensor *wf_cross_entropy(const wf_tensor *input, const wf_tensor *target, const wf_tensor *weight,
                                   const wf_loss_options *options);

WF_EXTERN_C_END
#endif
