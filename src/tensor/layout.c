/* Building layouts: element counts, strides, bytes. The one place that decides which sizes and strides can exist at all.
 *
 * Invariants of every layout made here: 0 <= ndim <= WF_MAX_DIMS, numel is the product of the sizes and fits int64, strides >= 0.
 * As in PyTorch products are taken in the order of the dimensions, and one that overflows isn't saved by a later size of 0. */
#include "tensor/layout.h"

wf_status wf__list_refuse(wf_dims list) {
  const char *op = wf__self.frame ? wf__self.frame->op : "?";
  WF__CHECK(list.n >= 0, WF_VALUE, "%s(): a list can't have %d entries", op, list.n);
  return wf__fail(WF_VALUE, "%s(): a list of %d entries was announced, but none given", op, list.n);
}

static wf_status check_rank(wf_dims size) {
  WF__TRY(wf__list_check(size));
  WF__CHECK(size.n <= WF_MAX_DIMS, WF_RUNTIME, "tensors have at most %d dimensions, but got %d", WF_MAX_DIMS, size.n);
  return WF_OK;
}

/* A negative size that got this far ends in the text of an overflow, whatever the others are. */
static wf_status count_elements(wf_dims size, int64_t *numel) {
  uint64_t n = 1;
  bool overflow = false;
  for (int i = 0; i < size.n; i++) overflow |= size.at[i] < 0 || __builtin_mul_overflow(n, (uint64_t)size.at[i], &n);
  WF__CHECK(!overflow && n <= INT64_MAX, WF_RUNTIME, "numel: integer multiplication overflow");
  *numel = (int64_t)n;
  return WF_OK;
}

wf_status wf__layout_recount(wf__layout *l) { return count_elements(wf__layout_sizes(l), &l->numel); }

void wf__layout_drop(wf__layout *l, int64_t dim) {
  l->ndim--;
  for (int64_t d = dim; d < l->ndim; d++) {
    l->size[d] = l->size[d + 1];
    l->stride[d] = l->stride[d + 1];
  }
}

static void set_sizes(wf__layout *l, wf_dims size) {
  l->ndim = size.n;
  for (int i = 0; i < size.n; i++) l->size[i] = size.at[i];
}

/* Stride of dim i when everything behind it is packed: that of its neighbour times the neighbour's size, which counts as 1 when 0. */
static bool packed_stride(wf__layout *l, int i) {
  if (i == l->ndim - 1) {
    l->stride[i] = 1;
    return true;
  }
  int64_t inner = l->size[i + 1] > 1 ? l->size[i + 1] : 1;
  return !__builtin_mul_overflow(l->stride[i + 1], inner, &l->stride[i]);
}

static wf_status restride_contiguous(wf__layout *l) {
  for (int i = l->ndim - 1; i >= 0; i--)
    if (!packed_stride(l, i)) return wf__fail(WF_RUNTIME, "Stride calculation overflowed");
  return WF_OK;
}

/* Strides running along `order`, innermost dim first. A size of 0 makes the strides behind it 0, as in PyTorch. */
static wf_status restride_along(wf__layout *l, const uint8_t *order) {
  int64_t stride = 1;
  for (int i = 0; i < l->ndim; i++) {
    l->stride[order[i]] = stride;
    WF__CHECK(!__builtin_mul_overflow(stride, l->size[order[i]], &stride), WF_RUNTIME, "Stride calculation overflowed");
  }
  return WF_OK;
}

wf_status wf__layout_restride(wf__layout *l, wf_memory_format format) {
  switch (format) {
    case WF_FORMAT_CONTIGUOUS: return restride_contiguous(l);
    case WF_FORMAT_CHANNELS_LAST:
      WF__CHECK(l->ndim == 4, WF_RUNTIME, "required rank 4 tensor to use channels_last format");
      return restride_along(l, (const uint8_t[]){1, 3, 2, 0});
    case WF_FORMAT_CHANNELS_LAST_3D:
      WF__CHECK(l->ndim == 5, WF_RUNTIME, "required rank 5 tensor to use channels_last_3d format");
      return restride_along(l, (const uint8_t[]){1, 4, 3, 2, 0});
    case WF_FORMAT_PRESERVE: return wf__fail(WF_RUNTIME, "unsupported memory format Preserve");
    default: return wf__fail(WF_RUNTIME, "Unknown memory format %d", (int)format);
  }
}

static wf_status overflowed(wf_dims size) {
  char text[WF__DIMS_TEXT];
  return wf__fail(WF_RUNTIME, "Storage size calculation overflowed with sizes=%s", wf__dims_text(size, text));
}

/* All at once, from the last dim on. False: something is wrong, or there are no elements, which hides what would be. */
static inline bool lay_out(wf__layout *l, wf_dims size, size_t itemsize) {
  int64_t step = 1, bytes;
  bool overflow = false;
  for (int i = size.n - 1; i >= 0; i--) {
    l->size[i] = size.at[i];
    l->stride[i] = step;
    if (size.at[i] <= 0) return false;
    overflow |= __builtin_mul_overflow(step, size.at[i], &step);
  }
  if (overflow || __builtin_mul_overflow(step, (int64_t)itemsize, &bytes)) return false;
  l->ndim = size.n;
  l->numel = step;
  l->offset = 0;
  return true;
}

wf_status wf__layout_contiguous(wf__layout *l, wf_dims size, size_t itemsize) {
  if (WF__LIKELY(size.at && (unsigned)size.n <= WF_MAX_DIMS && lay_out(l, size, itemsize))) return WF_OK;
  char text[WF__DIMS_TEXT];
  WF__TRY(check_rank(size));
  uint64_t n = 1, bytes;
  bool overflow = false;
  for (int i = 0; i < size.n; i++) {
    WF__CHECK(size.at[i] >= 0, WF_RUNTIME, "Trying to create tensor with negative dimension %lld: %s",
              (long long)size.at[i], wf__dims_text(size, text));
    overflow |= __builtin_mul_overflow(n, (uint64_t)size.at[i], &n);
  }
  overflow |= __builtin_mul_overflow(n, (uint64_t)itemsize, &bytes);
  if (overflow || n > INT64_MAX || bytes > INT64_MAX) return overflowed(size);
  set_sizes(l, size);
  l->numel = (int64_t)n;
  l->offset = 0;
  return restride_contiguous(l);
}

wf_status wf__layout_strided(wf__layout *l, wf_dims size, wf_dims stride, int64_t offset) {
  WF__TRY(wf__list_check(size));
  WF__TRY(wf__list_check(stride));
  WF__CHECK(size.n == stride.n, WF_RUNTIME, "mismatch in length of strides and shape");
  WF__TRY(check_rank(size));
  WF__TRY(count_elements(size, &l->numel));
  set_sizes(l, size);
  l->offset = offset;
  for (int i = size.n - 1; i >= 0; i--) {
    l->stride[i] = stride.at[i];
    if (stride.at[i] >= 0) continue;
    /* There are no negative strides; where PyTorch lets one through (a dim of size 0 or 1) it becomes the packed stride. */
    WF__CHECK(packed_stride(l, i), WF_RUNTIME, "Stride calculation overflowed");
  }
  return WF_OK;
}

wf_status wf__nbytes_strided(wf_dims size, wf_dims stride, int64_t offset, size_t itemsize, size_t *nbytes) {
  WF__TRY(check_rank(size));
  WF__TRY(check_rank(stride));
  char sizes[WF__DIMS_TEXT], strides[WF__DIMS_TEXT];
  uint64_t last = (uint64_t)offset + 1, span; /* index of the last element, plus one */
  bool overflow = offset < 0;
  *nbytes = 0;
  for (int i = 0; i < size.n; i++) {
    if (size.at[i] == 0) return WF_OK;
    overflow |= __builtin_mul_overflow((uint64_t)stride.at[i], (uint64_t)(size.at[i] - 1), &span);
    overflow |= __builtin_add_overflow(last, span, &last);
  }
  overflow |= __builtin_mul_overflow(last, (uint64_t)itemsize, &last);
  if (overflow || last > INT64_MAX) /* PyTorch leaves the strides of a number away */
    return size.n ? wf__fail(WF_RUNTIME, "Storage size calculation overflowed with sizes=%s and strides=%s",
                             wf__dims_text(size, sizes), wf__dims_text(stride, strides))
                  : overflowed(size);
  *nbytes = (size_t)last;
  return WF_OK;
}

wf_status wf__layout_nbytes(const wf__layout *l, size_t itemsize, size_t *nbytes) {
  return wf__nbytes_strided(wf__layout_sizes(l), wf__layout_strides(l), l->offset, itemsize, nbytes);
}
