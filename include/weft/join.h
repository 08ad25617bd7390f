/* Joining tensors, and moving elements to other places of a tensor of their own: cat, stack, repeat, flip, roll, triangles, padding.
 *
 * Results are new; each element is written once, straight to its place. Differentiable. No wait for the device unless said otherwise.
 * Negative dims count from the end. Common errors: WF_INDEX for a dim out of range; WF_RUNTIME for a dim named twice. */
#ifndef WEFT_JOIN_H
#define WEFT_JOIN_H

#include <weft/tensor.h>

WF_EXTERN_C_BEGIN

/** The tensors one behind the other along `dim`, in the promoted dtype; row-major, or channels_last where all are. Empty tensors of rank
 *  1 are skipped whatever the rank of the others. Errors: WF_RUNTIME for sizes that differ elsewhere, a number among them; WF_VALUE for an
 *  empty list. New. */
WF_API wf_tensor *wf_cat(wf_tensors tensors, int64_t dim);
/** The same written straight to dst, converted to its dtype; dst is resized if its shape differs, else keeps its strides. It must share no memory
 *  with the tensors, and nothing may require a gradient (WF_RUNTIME); WF_TYPE for a dtype that theirs can't be cast to. */
WF_API wf_status wf_cat_into(wf_tensor *dst, wf_tensors tensors, int64_t dim);
/** The tensors, all of one size, along a new dimension before `dim`. Errors: WF_RUNTIME for sizes that differ, an empty list. New. */
WF_API wf_tensor *wf_stack(wf_tensors tensors, int64_t dim);
/** The same to dst, as wf_cat_into. */
WF_API wf_status wf_stack_into(wf_tensor *dst, wf_tensors tensors, int64_t dim);

/** self repeated repeats[i] times along dim i; further repeats in front make new dims. Row-major. Errors: WF_RUNTIME for too few repeats
 *  or a negative one. New. */
WF_API wf_tensor *wf_repeat(const wf_tensor *self, wf_dims repeats);
/** Each element along `dim` (WF_NONE: of the flattened tensor) `repeats` times in a row. Row-major. New. */
WF_API wf_tensor *wf_repeat_interleave(const wf_tensor *self, int64_t repeats, int64_t dim);
/** The same with a number of repeats for each element: `repeats` [n] int64 or int32, n 1 or the dim's size. Waits for repeats. New. */
WF_API wf_tensor *wf_repeat_interleave_each(const wf_tensor *self, const wf_tensor *repeats, int64_t dim);

/** self with the order of the elements along `dims` turned round. Strides as clone gives them. New. */
WF_API wf_tensor *wf_flip(const wf_tensor *self, wf_dims dims);
/** self with elements moved on by shifts[i] along dims[i], those that leave at the end coming in at the start. dims WF_SHAPE0: one shift, of
 *  the flattened tensor. Errors: WF_RUNTIME when the counts differ. New. */
WF_API wf_tensor *wf_roll(const wf_tensor *self, wf_dims shifts, wf_dims dims);
/** Elements on and below diagonal `diagonal` of the last two dims, zeros above. Row-major. Errors: WF_RUNTIME for rank below 2. New. */
WF_API wf_tensor *wf_tril(const wf_tensor *self, int64_t diagonal);
/** Elements on and above the diagonal, zeros below. New. */
WF_API wf_tensor *wf_triu(const wf_tensor *self, int64_t diagonal);

/** How wf_pad fills what it adds. */
typedef enum wf_pad_mode {
  WF_PAD_CONSTANT = 0, /* with a number */
  WF_PAD_REFLECT,      /* with the elements next to the edge, mirrored, the edge not repeated */
  WF_PAD_REPLICATE,    /* with the edge */
  WF_PAD_CIRCULAR      /* with the other end */
} wf_pad_mode;
/** self with pad[0] elements before and pad[1] behind in the last dim, pad[2] and pad[3] in the last but one, …; negative numbers crop. value
 *  (kind none: 0) is for WF_PAD_CONSTANT alone. The other modes pad the last 1 to 3 dims of tensors with 1 or 2 dims before these. Row-major,
 *  or channels_last like self. Errors: WF_RUNTIME, WF_NOT_IMPLEMENTED. New. */
WF_API wf_tensor *wf_pad(const wf_tensor *self, wf_dims pad, wf_pad_mode mode, wf_scalar value);

WF_EXTERN_C_END
#endif
