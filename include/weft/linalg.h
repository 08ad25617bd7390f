/* Matrix products and cross products. A factor that lies transposed is read as it lies; one whose rows and columns both have gaps may be copied first
 * (implicit). Results are new and row-major. grad: any number of times. */
#ifndef WEFT_LINALG_H
#define WEFT_LINALG_H

#include <weft/tensor.h>

WF_EXTERN_C_BEGIN

/** self [m, k] times mat2 [k, n]: [m, n]. New. Errors: WF_RUNTIME for ranks, shapes and dtypes that don't fit. */
WF_API wf_tensor *wf_mm(const wf_tensor *self, const wf_tensor *mat2);
/** The same to dst, of the factors' dtype, which is resized if its shape differs, else keeps its strides. It may share memory with the factors: the
 *  result is right all the same, by way of a temporary. No gradients (WF_RUNTIME). */
WF_API wf_status wf_mm_into(wf_tensor *dst, const wf_tensor *self, const wf_tensor *mat2);
/** Products of matching matrices: self [b, m, k], mat2 [b, k, n]: [b, m, n]. New. */
WF_API wf_tensor *wf_bmm(const wf_tensor *self, const wf_tensor *mat2);
/** The same to dst, as wf_mm_into. */
WF_API wf_status wf_bmm_into(wf_tensor *dst, const wf_tensor *self, const wf_tensor *mat2);
/** self [m, k] times vec [k]: [m]. New. */
WF_API wf_tensor *wf_mv(const wf_tensor *self, const wf_tensor *vec);
/** Inner product of two vectors [k]: a number. New. */
WF_API wf_tensor *wf_dot(const wf_tensor *self, const wf_tensor *tensor);
/** self [n] times vec2 [m], each with each: [n, m]. New. */
WF_API wf_tensor *wf_outer(const wf_tensor *self, const wf_tensor *vec2);
/** By the ranks: dot, mv, mm, or matrices in the last two dims with the dims before them broadcast; a vector at the left is a row, at the
 *  right a column. New. */
WF_API wf_tensor *wf_matmul(const wf_tensor *self, const wf_tensor *other);
/** beta · self + alpha · mat1 [m, k] @ mat2 [k, n]; self broadcasts to [m, n] and isn't read when beta is 0. New. */
WF_API wf_tensor *wf_addmm(const wf_tensor *self, const wf_tensor *mat1, const wf_tensor *mat2, wf_scalar beta,
                           wf_scalar alpha);
/** The same into self [m, n]. In place. */
WF_API wf_status wf_addmm_(wf_tensor *self, const wf_tensor *mat1, const wf_tensor *mat2, wf_scalar beta,
                           wf_scalar alpha);
/** wf_addmm to dst, as wf_mm_into; dst may be self. */
WF_API wf_status wf_addmm_into(wf_tensor *dst, const wf_tensor *self, const wf_tensor *mat1, const wf_tensor *mat2,
                               wf_scalar beta, wf_scalar alpha);
/** beta · self + alpha · mat [m, k] @ vec [k]; self broadcasts to [m]. New. */
WF_API wf_tensor *wf_addmv(const wf_tensor *self, const wf_tensor *mat, const wf_tensor *vec, wf_scalar beta,
                           wf_scalar alpha);
/** Cross products of the vectors that lie along `dim`, which has size 3 in both; the other dims broadcast, the ranks are the same. dim
 *  WF_NONE: the first of size 3 in self. One dtype, not bool. Row-major. Errors: WF_RUNTIME. New. */
WF_API wf_tensor *wf_cross(const wf_tensor *self, const wf_tensor *other, int64_t dim);
/** The same to dst, of the inputs' dtype, which is resized if its shape differs and must share no memory with them. No gradients. */
WF_API wf_status wf_cross_into(wf_tensor *dst, const wf_tensor *self, const wf_tensor *other, int64_t dim);
/** beta · self + alpha · batch1 [b, m, k] @ batch2 [b, k, n]; self broadcasts to [b, m, n]. New. */
WF_API wf_tensor *wf_baddbmm(const wf_tensor *self, const wf_tensor *batch1, const wf_tensor *batch2, wf_scalar beta,
                             wf_scalar alpha);
/** Products of the operands' elements, summed: `equation` gives each dim of each operand a letter, "ij,jk->ik". Dims of one letter go together
 *  (broadcasting), twice in one operand they are its diagonal, and letters that aren't behind the arrow are summed. "..." are the dims without a letter,
 *  broadcast from the right. Without an arrow the result has what "..." stands for, then the letters that come once, in their order. Operands are
 *  multiplied from the left to the right. One operand without a sum: a view of it, else new. Errors: WF_RUNTIME, WF_VALUE without operands. */
WF_API wf_tensor *wf_einsum(const char *equation, wf_tensors operands);

WF_EXTERN_C_END
#endif
