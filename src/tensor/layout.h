/* Layout algebra: sizes, strides, offset in elements. Knows no tensors and no memory. Every product is checked for overflow. */
#ifndef WF_TENSOR_LAYOUT_H
#define WF_TENSOR_LAYOUT_H

#include <string.h>
#include <weft/dtype.h>
#include "base/error.h"

typedef struct wf__layout {
  int32_t ndim;
  int64_t numel; /* product of sizes, kept up to date by whoever changes them */
  int64_t offset;
  int64_t size[WF_MAX_DIMS];
  int64_t stride[WF_MAX_DIMS];
} wf__layout;

/* Copies what counts: a whole struct is 280 bytes, of which a matrix uses 56. Four dims at a time, which takes no call. */
static inline void wf__layout_copy(wf__layout *to, const wf__layout *from) {
  if (to == from) return;
  to->ndim = from->ndim;
  to->numel = from->numel;
  to->offset = from->offset;
  int d = 0;
  do {
    memcpy(&to->size[d], &from->size[d], 4 * sizeof *to->size);
    memcpy(&to->stride[d], &from->stride[d], 4 * sizeof *to->stride);
  } while (WF__UNLIKELY((d += 4) < from->ndim));
}
_Static_assert(WF_MAX_DIMS % 4 == 0, "layouts are copied four dims at a time");
static inline wf_dims wf__layout_sizes(const wf__layout *l) { return wf_dims_of(l->size, l->ndim); }
static inline wf_dims wf__layout_strides(const wf__layout *l) { return wf_dims_of(l->stride, l->ndim); }

/* wf_dtype_size for inner paths: a shift, no call. */
static inline size_t wf__dtype_bytes(wf_dtype d) {
#define WF_X(NAME, value, bytes, ...) (uint64_t)(bytes) << 4 * (value) |
  return ((WF_DTYPE_TABLE(WF_X) 0) >> 4 * (unsigned)d) & 15;
#undef WF_X
}

/* wf_dtype_is_float likewise. */
static inline bool wf__dtype_floats(wf_dtype d) {
#define WF_X(NAME, value, bytes, kind, ...) (WF_KIND_##kind == WF_KIND_FLOAT) << (value) |
  return ((WF_DTYPE_TABLE(WF_X) 0) >> (unsigned)d) & 1;
#undef WF_X
}

/* The one check of a list that a caller handed in: of a count below 0, or without the numbers that it counts. Whoever reads such a list
 * first asks this; how many it may have is up to what it says. */
wf_status wf__list_refuse(wf_dims list);
static inline wf_status wf__list_check(wf_dims list) {
  return WF__LIKELY(list.n >= 0 && (list.at || !list.n)) ? WF_OK : wf__list_refuse(list);
}

/* Row-major layout. Errors: more than WF_MAX_DIMS; negative sizes ("Trying to create tensor with negative dimension <n>: [..]");
 * overflow ("Storage size calculation overflowed …" by itemsize, "Stride calculation overflowed"). */
wf_status wf__layout_contiguous(wf__layout *l, wf_dims size, size_t itemsize);
/* Strides of `format` for the sizes l already has; PRESERVE isn't accepted. "required rank 4 tensor to use channels_last format". */
wf_status wf__layout_restride(wf__layout *l, wf_memory_format format);
/* Given sizes and strides, no checks beyond length, rank and overflow; a negative stride becomes the packed one, as in PyTorch. */
wf_status wf__layout_strided(wf__layout *l, wf_dims size, wf_dims stride, int64_t offset);
/* Sets numel after sizes were changed; they must be no negative ones. "numel: integer multiplication overflow". */
wf_status wf__layout_recount(wf__layout *l);
/* Takes dimension `dim` out; numel is left to the caller. */
void wf__layout_drop(wf__layout *l, int64_t dim);
/* Bytes of storage that the layout needs, offset included. "Storage size calculation overflowed with sizes=[..] and strides=[..]". */
wf_status wf__layout_nbytes(const wf__layout *l, size_t itemsize, size_t *nbytes);
/* The same before there is a layout: sizes and strides as the caller gave them. */
wf_status wf__nbytes_strided(wf_dims size, wf_dims stride, int64_t offset, size_t itemsize, size_t *nbytes);

/* Row-major to the letter: the strides of dims of size 1 as well. Any order of dims that is derived from such strides is the given one. */
static inline bool wf__is_packed(const wf__layout *l) {
  int64_t step = 1;
  for (int i = l->ndim - 1; i >= 0; i--) {
    if (l->stride[i] != step) return false;
    step *= l->size[i];
  }
  return true;
}
bool wf__is_contiguous(const wf__layout *l, wf_memory_format format);
/* Fills its extent without gaps or overlaps, in some order of dims. */
bool wf__is_dense(const wf__layout *l);
/* PyTorch's suggest_memory_format. */
wf_memory_format wf__suggest_format(const wf__layout *l);
/* Strides that preserve_format gives a copy of `l` (reference: "Preserve-format strides"). out has offset 0. */
void wf__layout_preserve(const wf__layout *l, wf__layout *out);
/* The layout of a new tensor shaped like `l` in `format`, PRESERVE included. */
wf_status wf__layout_like(const wf__layout *l, wf_memory_format format, size_t itemsize, wf__layout *out);

typedef enum wf__overlap {
  WF__OVERLAP_NO,
  WF__OVERLAP_YES,
  WF__OVERLAP_PARTIAL,
  WF__OVERLAP_FULL,
  WF__OVERLAP_TOO_HARD
} wf__overlap;
/* Whether an index range can hit one element twice: NO, YES or TOO_HARD. */
wf__overlap wf__overlap_within(const wf__layout *l);

/* Wraps dim into [0, n), rank 0 counts as 1 when wrap_scalar. PyTorch's IndexError texts. */
wf_status wf__wrap_dim(int64_t *dim, int64_t ndim, bool wrap_scalar);
/* Fills in a -1 and checks the count: view's and reshape's size argument. out has room for size.n. */
wf_status wf__infer_size(wf_dims size, int64_t numel, int64_t *out);
/* Strides with which a view of `l` as `size` needs no copy. false when there are none. */
bool wf__view_strides(const wf__layout *l, wf_dims size, int64_t *stride);
/* Broadcast of two shapes. "The size of tensor a (<x>) must match the size of tensor b (<y>) at non-singleton dimension <i>". */
wf_status wf__broadcast(wf_dims a, wf_dims b, int64_t *out, int *n);
/* Layout of l expanded to `size` (-1 keeps). `type` is what error texts call the tensor: "torch.FloatTensor". */
wf_status wf__layout_expand(const wf__layout *l, wf_dims size, const char *type, wf__layout *out);

#endif
