/* Factories: new tensors that hold numbers by rule. All results are new leaves with a storage of their own. */
#ifndef WEFT_CREATE_H
#define WEFT_CREATE_H

#include <weft/tensor.h>

WF_EXTERN_C_BEGIN

/* ---- from sizes ------------------------------------------------------------------------------------------------------
 * options NULL: float32 (or as said), cpu, contiguous. Common errors: WF_RUNTIME for a negative size, for sizes whose bytes overflow, for a
 * format that wants another rank, for requires_grad of a dtype that isn't floating point; WF_NO_MEMORY. */

/** New tensor of `size`, elements undefined. */
WF_API wf_tensor *wf_empty(wf_dims size, const wf_tensor_options *options);
/** The same with given strides, in elements. The options' format has no say. Errors: WF_RUNTIME for a negative stride. */
WF_API wf_tensor *wf_empty_strided(wf_dims size, wf_dims stride, const wf_tensor_options *options);
/** New tensor of zeros. */
WF_API wf_tensor *wf_zeros(wf_dims size, const wf_tensor_options *options);
/** New tensor of ones. */
WF_API wf_tensor *wf_ones(wf_dims size, const wf_tensor_options *options);
/** New tensor with `value` everywhere. dtype not given: bool, int64 or float32, by the kind of `value`. Errors: WF_RUNTIME when the dtype
 *  can't hold the value. */
WF_API wf_tensor *wf_full(wf_dims size, wf_scalar value, const wf_tensor_options *options);

/** New tensor [ceil((end - start) / step)] of start, start + step, … below end. dtype not given: int64 if the three numbers are integers,
 *  else float32. Errors: WF_RUNTIME for step 0, a sign that leads away from end, numbers that aren't finite; WF_NOT_IMPLEMENTED for bool. */
WF_API wf_tensor *wf_arange(wf_scalar start, wf_scalar end, wf_scalar step, const wf_tensor_options *options);
/** New tensor [steps] of evenly spaced numbers from start to end, both included. Errors: WF_RUNTIME for negative steps or numbers that the
 *  dtype can't hold; WF_NOT_IMPLEMENTED for bool. */
WF_API wf_tensor *wf_linspace(wf_scalar start, wf_scalar end, int64_t steps, const wf_tensor_options *options);
/** New tensor [n, m] with ones on its diagonal, zeros elsewhere. m WF_NONE: n. */
WF_API wf_tensor *wf_eye(int64_t n, int64_t m, const wf_tensor_options *options);

/* ---- like another tensor -------------------------------------------------------------------------------------------------
 * On self's device; dtype WF_DTYPE_NONE: self's. format WF_FORMAT_PRESERVE: self's strides if it is dense, else dense ones in the same
 * order. Errors as above. */

/** New tensor of self's size, elements undefined. */
WF_API wf_tensor *wf_empty_like(const wf_tensor *self, wf_dtype dtype, wf_memory_format format);
/** New tensor of self's size, zeros. */
WF_API wf_tensor *wf_zeros_like(const wf_tensor *self, wf_dtype dtype, wf_memory_format format);
/** New tensor of self's size, ones. */
WF_API wf_tensor *wf_ones_like(const wf_tensor *self, wf_dtype dtype, wf_memory_format format);
/** New tensor of self's size with `value` everywhere. */
WF_API wf_tensor *wf_full_like(const wf_tensor *self, wf_scalar value, wf_dtype dtype, wf_memory_format format);

/** New contiguous tensor of `size` on self's device, elements undefined. dtype WF_DTYPE_NONE: self's. */
WF_API wf_tensor *wf_new_empty(const wf_tensor *self, wf_dims size, wf_dtype dtype);
/** The same, zeros. */
WF_API wf_tensor *wf_new_zeros(const wf_tensor *self, wf_dims size, wf_dtype dtype);
/** The same, ones. */
WF_API wf_tensor *wf_new_ones(const wf_tensor *self, wf_dims size, wf_dtype dtype);
/** The same with `value` everywhere. */
WF_API wf_tensor *wf_new_full(const wf_tensor *self, wf_dims size, wf_scalar value, wf_dtype dtype);

WF_EXTERN_C_END
#endif
