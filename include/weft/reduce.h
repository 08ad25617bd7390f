/* Reductions: one result from many elements.
 *
 * `dims` names the dims that go, negative ones from the end; WF_SHAPE0 means all. keepdim leaves them with size 1. Results are new and
 * row-major; no wait for the device; differentiable unless said otherwise. Errors: WF_INDEX for a dim out of range, WF_RUNTIME for a dim named
 * twice, WF_NOT_IMPLEMENTED for a dtype that the operator doesn't take. Half sums are added up in float32.
 *
 * wf_x_into writes to dst instead, whose strides it keeps and which is resized if its shape differs; no gradients are recorded, and none may be
 * required. It may share memory with self: the result is right all the same, by way of a temporary. dst with one place for several
 * elements is refused (WF_RUNTIME). */
#ifndef WEFT_REDUCE_H
#define WEFT_REDUCE_H

#include <weft/tensor.h>

WF_EXTERN_C_BEGIN

/** Sum of all elements. Integers and bool give int64. New. */
WF_API wf_tensor *wf_sum(const wf_tensor *self);
/** Sum over dims. dtype (WF_DTYPE_NONE: as wf_sum): elements are cast to it first. New. */
WF_API wf_tensor *wf_sum_dims(const wf_tensor *self, wf_dims dims, bool keepdim, wf_dtype dtype);
/** Mean of all elements; floating point only. NaN of no elements. New. */
WF_API wf_tensor *wf_mean(const wf_tensor *self);
/** Mean over dims; dtype as wf_sum_dims. New. */
WF_API wf_tensor *wf_mean_dims(const wf_tensor *self, wf_dims dims, bool keepdim, wf_dtype dtype);
/** Product of all elements. Integers and bool give int64. New. */
WF_API wf_tensor *wf_prod(const wf_tensor *self);
/** Product over one dim (WF_NONE: all); dtype as wf_sum_dims. New. */
WF_API wf_tensor *wf_prod_dim(const wf_tensor *self, int64_t dim, bool keepdim, wf_dtype dtype);

/** Greatest element over dims; NaN if there is one. Equal ones share the gradient. No elements: WF_RUNTIME, WF_INDEX. New. */
WF_API wf_tensor *wf_amax(const wf_tensor *self, wf_dims dims, bool keepdim);
/** Least element over dims, likewise. New. */
WF_API wf_tensor *wf_amin(const wf_tensor *self, wf_dims dims, bool keepdim);
/** Greatest of all elements. New. */
WF_API wf_tensor *wf_max(const wf_tensor *self);
/** Least of all elements. New. */
WF_API wf_tensor *wf_min(const wf_tensor *self);

/** Extremes and where they are. Both NULL on error. */
typedef struct wf_value_index {
  wf_tensor *values;
  wf_tensor *indices; /* int64, the first place of each extreme; no gradient */
} wf_value_index;
/** Greatest elements along dim and their indices. The gradient goes to the places named. New. */
WF_API wf_value_index wf_max_dim(const wf_tensor *self, int64_t dim, bool keepdim);
/** Least elements along dim and their indices. New. */
WF_API wf_value_index wf_min_dim(const wf_tensor *self, int64_t dim, bool keepdim);
/** wf_max_dim to values (of self's dtype) and indices (int64), which are resized if their shapes differ, and may share memory with self; where they
 *  share it with each other, the indices are there at the end. No gradients (WF_RUNTIME). */
WF_API wf_status wf_max_dim_into(wf_tensor *values, wf_tensor *indices, const wf_tensor *self, int64_t dim,
                                 bool keepdim);
/** wf_min_dim to values and indices, likewise. */
WF_API wf_status wf_min_dim_into(wf_tensor *values, wf_tensor *indices, const wf_tensor *self, int64_t dim,
                                 bool keepdim);
/** Index (int64) of the greatest element along dim, WF_NONE: in the flattened tensor. bool is refused. No gradient. New. */
WF_API wf_tensor *wf_argmax(const wf_tensor *self, int64_t dim, bool keepdim);
/** Index of the least element, likewise. New. */
WF_API wf_tensor *wf_argmin(const wf_tensor *self, int64_t dim, bool keepdim);

/** Variance over dims, the sum of squares divided by count - correction (kind none: 1). Floating point only. New. */
WF_API wf_tensor *wf_var(const wf_tensor *self, wf_dims dims, wf_scalar correction, bool keepdim);
/** Square root of the variance. New. */
WF_API wf_tensor *wf_std(const wf_tensor *self, wf_dims dims, wf_scalar correction, bool keepdim);
/** p-norm over dims (kind none: 2; 0 counts, ±inf is the greatest and the least size). Floating point only. Gradient 0 at 0. New. */
WF_API wf_tensor *wf_norm(const wf_tensor *self, wf_scalar p, wf_dims dims, bool keepdim);
/** log of the sum of exp over dims, without overflow. Integers give float32. New. */
WF_API wf_tensor *wf_logsumexp(const wf_tensor *self, wf_dims dims, bool keepdim);

/** Whether any element is not 0, as bool (uint8 stays uint8). No gradient. New. */
WF_API wf_tensor *wf_any(const wf_tensor *self, wf_dims dims, bool keepdim);
/** Whether all elements are not 0, likewise. New. */
WF_API wf_tensor *wf_all(const wf_tensor *self, wf_dims dims, bool keepdim);
/** How many elements are not 0, as int64. No gradient. New. */
WF_API wf_tensor *wf_count_nonzero(const wf_tensor *self, wf_dims dims);

/* ---- to a given result ------------------------------------------------------------------------------------------------ */

/** wf_sum_dims to dst, computed in dst's dtype; dtype, if given, must be that one. */
WF_API wf_status wf_sum_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, bool keepdim, wf_dtype dtype);
/** wf_mean_dims to dst, computed in dst's dtype, a floating-point one; dtype, if given, must be that one. */
WF_API wf_status wf_mean_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, bool keepdim, wf_dtype dtype);
/** wf_prod_dim to dst; dtypes as wf_sum_into. */
WF_API wf_status wf_prod_into(wf_tensor *dst, const wf_tensor *self, int64_t dim, bool keepdim, wf_dtype dtype);
/** wf_amax to dst, of self's dtype. */
WF_API wf_status wf_amax_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, bool keepdim);
/** wf_amin to dst, of self's dtype. */
WF_API wf_status wf_amin_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, bool keepdim);
/** wf_argmax to dst, int64. */
WF_API wf_status wf_argmax_into(wf_tensor *dst, const wf_tensor *self, int64_t dim, bool keepdim);
/** wf_argmin to dst, int64. */
WF_API wf_status wf_argmin_into(wf_tensor *dst, const wf_tensor *self, int64_t dim, bool keepdim);
/** wf_var to dst, computed in dst's dtype, a floating-point one. */
WF_API wf_status wf_var_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, wf_scalar correction, bool keepdim);
/** wf_std to dst, likewise. */
WF_API wf_status wf_std_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, wf_scalar correction, bool keepdim);
/** wf_norm to dst, of self's dtype. */
WF_API wf_status wf_norm_into(wf_tensor *dst, const wf_tensor *self, wf_scalar p, wf_dims dims, bool keepdim);
/** wf_logsumexp to dst, computed in dst's dtype, a floating-point one. */
WF_API wf_status wf_logsumexp_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, bool keepdim);
/** wf_any to dst, bool or uint8. */
WF_API wf_status wf_any_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, bool keepdim);
/** wf_all to dst, bool or uint8. */
WF_API wf_status wf_all_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, bool keepdim);

WF_EXTERN_C_END
#endif
