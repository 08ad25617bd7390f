/* Memory formats: which order of dimensions a layout has, and which one a copy of it gets. */
#include "tensor/layout.h"

/* Dims from the innermost outwards. */
static const uint8_t channels_last_order[] = {1, 3, 2, 0};
static const uint8_t channels_last_3d_order[] = {1, 4, 3, 2, 0};

/* Packed along `order`; dims of size 1 have no say. */
static bool packed_along(const wf__layout *l, const uint8_t *order) {
  int64_t expected = 1;
  for (int i = 0; i < l->ndim; i++) {
    int d = order[i];
    if (l->size[d] == 1) continue;
    if (l->stride[d] != expected) return false;
    expected *= l->size[d];
  }
  return true;
}

static bool contiguous_row_major(const wf__layout *l) {
  if (l->numel == 0) return true;
  int64_t expected = 1;
  for (int d = l->ndim - 1; d >= 0; d--) {
    if (l->size[d] == 1) continue;
    if (l->stride[d] != expected) return false;
    expected *= l->size[d];
  }
  return true;
}

bool wf__is_contiguous(const wf__layout *l, wf_memory_format format) {
  switch (format) {
    case WF_FORMAT_CHANNELS_LAST: return l->ndim == 4 && packed_along(l, channels_last_order);
    case WF_FORMAT_CHANNELS_LAST_3D: return l->ndim == 5 && packed_along(l, channels_last_3d_order);
    case WF_FORMAT_CONTIGUOUS:
    case WF_FORMAT_PRESERVE: return contiguous_row_major(l);
    default: return false;
  }
}

bool wf__is_dense(const wf__layout *l) {
  if (contiguous_row_major(l)) return true;
  /* Each dim's stride must be the product of the sizes of the dims inside it. Quadratic, but ranks are small and nothing is sorted:
   * find the dim that continues the packed block until all dims of size 2 and more are in it. */
  uint32_t left = 0;
  for (int d = 0; d < l->ndim; d++)
    if (l->size[d] > 1) left |= 1u << d;
  for (int64_t expected = 1; left;) {
    int next = -1;
    for (int d = 0; d < l->ndim && next < 0; d++)
      if (left >> d & 1 && l->stride[d] == expected) next = d;
    if (next < 0) return false;
    expected *= l->size[next];
    left &= ~(1u << next);
  }
  return true;
}

/* PyTorch's is_channels_last_strides: unlike the contiguity test, strides of size-1 dims take part, and gaps are fine. */
static bool looks_like(const wf__layout *l, const uint8_t *order) {
  int64_t least = 0;
  if (l->stride[1] == 0) return false;
  for (int i = 0; i < l->ndim; i++) {
    int d = order[i];
    if (l->size[d] == 0 || l->stride[d] < least) return false;
    if (d == 0 && least == l->stride[1]) return false; /* N111 counts as row-major */
    least = l->stride[d];
    if (l->size[d] > 1 && __builtin_mul_overflow(least, l->size[d], &least)) return false;
  }
  return true;
}

wf_memory_format wf__suggest_format(const wf__layout *l) {
  if (l->ndim == 4 && looks_like(l, channels_last_order)) return WF_FORMAT_CHANNELS_LAST;
  if (l->ndim == 5 && looks_like(l, channels_last_3d_order)) return WF_FORMAT_CHANNELS_LAST_3D;
  return WF_FORMAT_CONTIGUOUS;
}

/* -1: a stays inside b, 1: they change places, 0: no decision. A stride of 0 says nothing, as in the iterator. */
static int compare_dims(const wf__layout *l, int a, int b) {
  if (l->stride[a] == 0 || l->stride[b] == 0) return 0;
  if (l->stride[a] != l->stride[b]) return l->stride[a] < l->stride[b] ? -1 : 1;
  return l->size[a] > l->size[b] ? 1 : 0;
}

/* Strides of a gapless layout with the same order of dims: PyTorch's infer_dense_strides. */
static void infer_dense(const wf__layout *l, wf__layout *out) {
  int order[WF_MAX_DIMS], n = l->ndim;
  for (int i = 0; i < n; i++) order[i] = n - 1 - i;
  for (int i = 1; i < n; i++) {
    int at = i;
    for (int j = i - 1; j >= 0; j--) {
      int c = compare_dims(l, order[j], order[at]);
      if (c < 0) break;
      if (c == 0) continue; /* a tie doesn't move, but looks one further */
      int moved = order[j];
      order[j] = order[at];
      order[at] = moved;
      at = j;
    }
  }
  uint64_t stride = 1; /* wraps only where the sizes' product does, which the bytes of the storage are checked for */
  for (int i = 0; i < n; i++) {
    out->stride[order[i]] = (int64_t)stride;
    if (l->size[order[i]] > 1) stride *= (uint64_t)l->size[order[i]];
  }
}

void wf__layout_preserve(const wf__layout *l, wf__layout *out) {
  bool dense = wf__is_dense(l);
  if (out != l) *out = *l;
  out->offset = 0;
  if (!dense) infer_dense(l, out);
}

wf_status wf__layout_like(const wf__layout *l, wf_memory_format format, size_t itemsize, wf__layout *out) {
  size_t nbytes;
  if (format != WF_FORMAT_PRESERVE) {
    WF__TRY(wf__layout_contiguous(out, wf__layout_sizes(l), itemsize));
    return wf__layout_restride(out, format);
  }
  wf__layout_preserve(l, out);
  return wf__layout_nbytes(out, itemsize, &nbytes);
}
