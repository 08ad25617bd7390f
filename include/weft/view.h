/* Views: tensors that show elements of another without copying any. They share its storage and version counter; a change of one is
 * seen by all, and gradients flow through them. Negative dimensions count from the end.
 *
 * Each result is a new tensor and a tracked view of self (also where nothing changes), unless its comment says otherwise. Common errors:
 * WF_INDEX for a dimension out of range; more than WF_MAX_DIMS dimensions. */
#ifndef WEFT_VIEW_H
#define WEFT_VIEW_H

#include <weft/tensor.h>

WF_EXTERN_C_BEGIN

/* ---- other sizes, same elements --------------------------------------------------------------------------------------- */

/** View of self as `size`; one size may be -1. Errors: WF_RUNTIME when the counts differ or the strides allow no such view. */
WF_API wf_tensor *wf_view(const wf_tensor *self, wf_dims size);
/** View of self with other's sizes. */
WF_API wf_tensor *wf_view_as(const wf_tensor *self, const wf_tensor *other);
/** self's bytes read as `dtype`: the last size and the strides change with the element size. Shares storage and version counter, but isn't
 *  a tracked view and cuts the graph. Errors: WF_RUNTIME for sizes, strides or an offset that don't divide. */
WF_API wf_tensor *wf_view_dtype(const wf_tensor *self, wf_dtype dtype);
/** self as `shape`: a view wherever wf_view can make one, else a contiguous copy (an implicit copy, subject to wf_copy_policy). */
WF_API wf_tensor *wf_reshape(const wf_tensor *self, wf_dims shape);
/** wf_reshape to other's sizes. May copy likewise. */
WF_API wf_tensor *wf_reshape_as(const wf_tensor *self, const wf_tensor *other);
/** Dims start to end, both included, as one; by wf_reshape, so it may copy. self itself when start equals end. 0, -1: all dims. */
WF_API wf_tensor *wf_flatten(const wf_tensor *self, int64_t start_dim, int64_t end_dim);
/** Dimension `dim` as several of `sizes`, of which one may be -1. */
WF_API wf_tensor *wf_unflatten(const wf_tensor *self, int64_t dim, wf_dims sizes);
/** Drops the dims among `dims` that have size 1; WF_SHAPE0: all dims of size 1. */
WF_API wf_tensor *wf_squeeze(const wf_tensor *self, wf_dims dims);
/** Puts a dimension of size 1 before `dim`, which may be ndim. */
WF_API wf_tensor *wf_unsqueeze(const wf_tensor *self, int64_t dim);

/* ---- other order -------------------------------------------------------------------------------------------------------- */

/** Swaps two dimensions. */
WF_API wf_tensor *wf_transpose(const wf_tensor *self, int64_t dim0, int64_t dim1);
/** Transpose of a matrix; vectors and numbers stay as they are. Errors: WF_RUNTIME for rank 3 and more. */
WF_API wf_tensor *wf_t(const wf_tensor *self);
/** Dimension i of the result is dimension dims[i] of self. */
WF_API wf_tensor *wf_permute(const wf_tensor *self, wf_dims dims);
/** Moves dimensions `source` to the places `destination`; the others keep their order. */
WF_API wf_tensor *wf_movedim(const wf_tensor *self, wf_dims source, wf_dims destination);

/* ---- parts ---------------------------------------------------------------------------------------------------------------- */

/** Elements start to start + length - 1 of a dimension. start may be negative. Errors: WF_RUNTIME, WF_INDEX for a range that doesn't fit. */
WF_API wf_tensor *wf_narrow(const wf_tensor *self, int64_t dim, int64_t start, int64_t length);
/** Element `index` of a dimension, which goes. Errors: WF_INDEX for an index out of range. */
WF_API wf_tensor *wf_select(const wf_tensor *self, int64_t dim, int64_t index);
/** self[start:end:step] in a dimension, bounds clamped as in Python; WF_NONE: from the start, to the end. Errors: WF_RUNTIME for a step
 *  below 1. */
WF_API wf_tensor *wf_slice(const wf_tensor *self, int64_t dim, int64_t start, int64_t end, int64_t step);
/** The diagonal `offset` above the main one (below for negative) of dims dim1 and dim2, as the last dimension. */
WF_API wf_tensor *wf_diagonal(const wf_tensor *self, int64_t offset, int64_t dim1, int64_t dim2);
/** All windows of `size` elements, `step` apart, of a dimension; a window's elements form a new last dimension. Windows may overlap. */
WF_API wf_tensor *wf_unfold(const wf_tensor *self, int64_t dimension, int64_t size, int64_t step);

/** Pieces of `split_size` along a dimension, the last one smaller. The pieces may not be changed in place where gradients are recorded. */
WF_API wf_tensors wf_split(const wf_tensor *self, int64_t split_size, int64_t dim);
/** Pieces of the given sizes, which add up to the dimension's. As above. */
WF_API wf_tensors wf_split_with_sizes(const wf_tensor *self, wf_dims split_sizes, int64_t dim);
/** At most `chunks` pieces of equal size, the last one smaller. As above. */
WF_API wf_tensors wf_chunk(const wf_tensor *self, int64_t chunks, int64_t dim);
/** Exactly `sections` pieces, the first ones larger by 1. Plain slices: they may be changed in place. */
WF_API wf_tensors wf_tensor_split(const wf_tensor *self, int64_t sections, int64_t dim);
/** The slices before, between and behind `indices`. Plain slices. */
WF_API wf_tensors wf_tensor_split_at(const wf_tensor *self, wf_dims indices, int64_t dim);
/** All elements of a dimension, each without it. As wf_split. */
WF_API wf_tensors wf_unbind(const wf_tensor *self, int64_t dim);

/* ---- repetition and free geometry -------------------------------------------------------------------------------------------- */

/** Repeats dims of size 1, by stride 0, to `size`; -1 keeps a size; new dims may come in front. Writing to the result is refused. */
WF_API wf_tensor *wf_expand(const wf_tensor *self, wf_dims size);
/** wf_expand to other's sizes. */
WF_API wf_tensor *wf_expand_as(const wf_tensor *self, const wf_tensor *other);
/** wf_expand under its other name. */
WF_API wf_tensor *wf_broadcast_to(const wf_tensor *self, wf_dims size);
/** View of self's storage by sizes, strides and offset in elements; only the storage bounds it. storage_offset WF_NONE: self's. Errors:
 *  WF_RUNTIME for negative strides or a view that leaves the storage. */
WF_API wf_tensor *wf_as_strided(const wf_tensor *self, wf_dims size, wf_dims stride, int64_t storage_offset);

/** self cut from the graph: shares storage and version counter, requires no grad, isn't a tracked view. */
WF_API wf_tensor *wf_detach(const wf_tensor *self);
/** A fresh view of the whole of self. */
WF_API wf_tensor *wf_alias(const wf_tensor *self);
/** self's data alone (PyTorch's .data): as wf_detach, but with a version counter of its own, so that changes through it aren't noticed. */
WF_API wf_tensor *wf_data_of(const wf_tensor *self);

/* ---- in place: self's own geometry changes ------------------------------------------------------------------------------------
 * Version +1, also when nothing changes. Errors: those of the views above; WF_RUNTIME for a leaf that requires grad. */

/** wf_t in place. */
WF_API wf_status wf_t_(wf_tensor *self);
/** wf_transpose in place. */
WF_API wf_status wf_transpose_(wf_tensor *self, int64_t dim0, int64_t dim1);
/** wf_squeeze in place. */
WF_API wf_status wf_squeeze_(wf_tensor *self, wf_dims dims);
/** wf_unsqueeze in place. */
WF_API wf_status wf_unsqueeze_(wf_tensor *self, int64_t dim);
/** wf_as_strided in place. */
WF_API wf_status wf_as_strided_(wf_tensor *self, wf_dims size, wf_dims stride, int64_t storage_offset);
/** Gives self other sizes, row-major, at its offset; the storage grows where needed and never shrinks; elements keep their places in
 *  memory, new ones are undefined. Equal sizes: nothing happens, unless format isn't WF_FORMAT_PRESERVE, which is then applied. Version +1
 *  if the sizes change. Errors: WF_RUNTIME when self requires grad, or the storage must grow and can't. */
WF_API wf_status wf_resize_(wf_tensor *self, wf_dims size, wf_memory_format format);
/** Makes self show source's storage, from `storage_offset` elements behind source's own offset, with the given sizes and strides
 *  (WF_SHAPE0: row-major); the storage grows where needed. Errors: WF_RUNTIME for another dtype or device, a leaf that requires grad. */
WF_API wf_status wf_set_(wf_tensor *self, wf_tensor *source, int64_t storage_offset, wf_dims size, wf_dims stride);
/** Makes self show what source shows: its storage, sizes and strides. self keeps its version counter. Errors as above. */
WF_API wf_status wf_set_to_(wf_tensor *self, const wf_tensor *source);

WF_EXTERN_C_END
#endif
