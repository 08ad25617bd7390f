/* Choosing and writing elements by index or mask; searching, sorting, running sums.
 *
 * Indices are int64 or int32 unless said otherwise. An index out of range is found by the kernel, before anything is written: on the host at
 * once, on a device at the next wait. What returns a tensor leaves its inputs alone; what ends in _ writes self in place (version + 1; refused
 * for a leaf that requires grad, for expanded memory, for a source that shares self's memory). Results are row-major unless said otherwise.
 * Equal indices: the last one wins where elements are written; where they are added each counts, in order. Differentiable in all but
 * indices and masks. Common errors: WF_INDEX for a dim or an index out of range; WF_RUNTIME for dtypes or sizes that don't fit. */
#ifndef WEFT_INDEX_H
#define WEFT_INDEX_H

#include <weft/tensor.h>

WF_EXTERN_C_BEGIN

/* ---- by index tensors or masks over several dims, as x[i, j] does ------------------------------------------------------- */

/** self[indices]: indices.at[d] chooses in dim d; NULL, or left off at the end, takes the whole dim. The index tensors broadcast together;
 *  their dims stand where they stood when they are neighbours, else in front. Negative indices count from the end. A bool or uint8
 *  tensor is a mask over as many dims as it has (waits to count it). At most 6 index tensors, a mask counting once for each of its dims.
 *  Strides follow self's. New. */
WF_API wf_tensor *wf_index(const wf_tensor *self, wf_tensors indices);
/** self[indices] = values, or += with accumulate; values broadcast, and have self's dtype. In place. */
WF_API wf_status wf_index_put_(wf_tensor *self, wf_tensors indices, const wf_tensor *values, bool accumulate);
/** The same on a copy of self. New. */
WF_API wf_tensor *wf_index_put(const wf_tensor *self, wf_tensors indices, const wf_tensor *values, bool accumulate);

/* ---- along one dim -------------------------------------------------------------------------------------------------------- */

/** Entries index [n] of dim. Negative ones are refused. New. */
WF_API wf_tensor *wf_index_select(const wf_tensor *self, int64_t dim, const wf_tensor *index);
/** The same to dst, of self's dtype, which is resized if its shape differs, else keeps its strides. It must share no memory with self and index,
 *  and nothing may require a gradient (WF_RUNTIME). */
WF_API wf_status wf_index_select_into(wf_tensor *dst, const wf_tensor *self, int64_t dim, const wf_tensor *index);
/** self + alpha · source at index [n] of dim; source has self's sizes but for n in dim. alpha kind none: 1. New. */
WF_API wf_tensor *wf_index_add(const wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *source,
                               wf_scalar alpha);
/** The same in place. */
WF_API wf_status wf_index_add_(wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *source,
                               wf_scalar alpha);
/** self with source at index [n] of dim (int64). New. */
WF_API wf_tensor *wf_index_copy(const wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *source);
/** The same in place. */
WF_API wf_status wf_index_copy_(wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *source);
/** self with `value` at index [n] of dim (int64); negative ones count from the end. New. */
WF_API wf_tensor *wf_index_fill(const wf_tensor *self, int64_t dim, const wf_tensor *index, wf_scalar value);
/** The same in place. */
WF_API wf_status wf_index_fill_(wf_tensor *self, int64_t dim, const wf_tensor *index, wf_scalar value);

/** Element [p] of the result is self[p] with index[p] in place of p's coordinate in dim. index may be smaller than self elsewhere. New. */
WF_API wf_tensor *wf_gather(const wf_tensor *self, int64_t dim, const wf_tensor *index);
/** The same to dst, as wf_index_select_into. */
WF_API wf_status wf_gather_into(wf_tensor *dst, const wf_tensor *self, int64_t dim, const wf_tensor *index);
/** self, in which the place that gather would read for p holds src[p]. index may be smaller than self and src. New. */
WF_API wf_tensor *wf_scatter(const wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *src);
/** The same in place. */
WF_API wf_status wf_scatter_(wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *src);
/** self with a number at those places. New. */
WF_API wf_tensor *wf_scatter_value(const wf_tensor *self, int64_t dim, const wf_tensor *index, wf_scalar value);
/** The same in place. */
WF_API wf_status wf_scatter_value_(wf_tensor *self, int64_t dim, const wf_tensor *index, wf_scalar value);
/** self with src added at those places. New. */
WF_API wf_tensor *wf_scatter_add(const wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *src);
/** The same in place. */
WF_API wf_status wf_scatter_add_(wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *src);

/** Elements of the flattened self at index (int64) [any]; negative ones count from the end. May copy self when its dims don't merge into one.
 *  New. */
WF_API wf_tensor *wf_take(const wf_tensor *self, const wf_tensor *index);

/* ---- by mask -------------------------------------------------------------------------------------------------------------- */

/** The elements where mask (bool) holds, in order, [count]. self and mask broadcast. Waits for the count. New. */
WF_API wf_tensor *wf_masked_select(const wf_tensor *self, const wf_tensor *mask);
/** self with source's elements, in order, where mask (bool) holds. self and mask broadcast; source's dtype is self's. May copy source to make it
 *  row-major. New. */
WF_API wf_tensor *wf_masked_scatter(const wf_tensor *self, const wf_tensor *mask, const wf_tensor *source);
/** The coordinates of all elements that aren't 0, int64 [count, ndim], each coordinate consecutive in memory. Waits for the count. No
 *  gradient. New. */
WF_API wf_tensor *wf_nonzero(const wf_tensor *self);

/* ---- tables ----------------------------------------------------------------------------------------------------------------- */

/** Rows of weight [n, width] at input [any]: [any, width]. The row padding_idx (WF_NONE: none) gets no gradient. New. */
WF_API wf_tensor *wf_embedding(const wf_tensor *input, const wf_tensor *weight, int64_t padding_idx);
/** int64 [self's sizes, num_classes] with a 1 at each element of self (int64). num_classes -1: the greatest plus 1. Waits to check the range.
 *  No gradient. New. */
WF_API wf_tensor *wf_one_hot(const wf_tensor *self, int64_t num_classes);

/* ---- sorting and running sums ------------------------------------------------------------------------------------------------- */

/** Elements in order and where they were. Both NULL on error. */
typedef struct wf_sorted {
  wf_tensor *values;
  wf_tensor *indices; /* int64; no gradient */
} wf_sorted;
/** Sorted along dim, always stable; NaN is the greatest. Strides as clone gives them. `stable` only decides what the gradient function is
 *  called. New. */
WF_API wf_sorted wf_sort(const wf_tensor *self, int64_t dim, bool descending, bool stable);
/** wf_sort to values (of self's dtype) and indices (int64), which are resized if their shapes differ, and may share memory with self; where they
 *  share it with each other, the indices are there at the end. No gradients (WF_RUNTIME). */
WF_API wf_status wf_sort_into(wf_tensor *values, wf_tensor *indices, const wf_tensor *self, int64_t dim,
                              bool descending);
/** wf_sort's indices. New. */
WF_API wf_tensor *wf_argsort(const wf_tensor *self, int64_t dim, bool descending, bool stable);
/** The k greatest (or least) along dim, in order. New. */
WF_API wf_sorted wf_topk(const wf_tensor *self, int64_t k, int64_t dim, bool largest, bool sorted);
/** wf_topk to values and indices, as wf_sort_into. */
WF_API wf_status wf_topk_into(wf_tensor *values, wf_tensor *indices, const wf_tensor *self, int64_t k, int64_t dim,
                              bool largest, bool sorted);
/** Sums of all elements up to each along dim, in dtype (WF_DTYPE_NONE: integers and bool give int64). New. */
WF_API wf_tensor *wf_cumsum(const wf_tensor *self, int64_t dim, wf_dtype dtype);
/** Products likewise. New. */
WF_API wf_tensor *wf_cumprod(const wf_tensor *self, int64_t dim, wf_dtype dtype);
/** wf_cumsum to dst, computed in dst's dtype; dtype, if given, must be that one. dst is resized if its shape differs, and may share memory with self.
 *  No gradients (WF_RUNTIME). */
WF_API wf_status wf_cumsum_into(wf_tensor *dst, const wf_tensor *self, int64_t dim, wf_dtype dtype);
/** wf_cumprod to dst, likewise. */
WF_API wf_status wf_cumprod_into(wf_tensor *dst, const wf_tensor *self, int64_t dim, wf_dtype dtype);

WF_EXTERN_C_END
#endif
