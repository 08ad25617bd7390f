/* Rules of views that need no tensor: wrapping of dimensions, sizes with a -1, and when new sizes fit old strides. */
#include "tensor/layout.h"

wf_status wf__wrap_dim(int64_t *dim, int64_t ndim, bool wrap_scalar) {
  int64_t d = *dim, n = ndim;
  if (n <= 0) {
    WF__CHECK(wrap_scalar, WF_INDEX, "Dimension specified as %lld but tensor has no dimensions", (long long)d);
    n = 1;
  }
  WF__CHECK(d >= -n && d < n, WF_INDEX,
            "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)", (long long)-n,
            (long long)(n - 1), (long long)d);
  *dim = d < 0 ? d + n : d;
  return WF_OK;
}

wf_status wf__infer_size(wf_dims size, int64_t numel, int64_t *out) {
  char text[WF__DIMS_TEXT];
  int inferred = -1;
  uint64_t known = 1;
  WF__TRY(wf__list_check(size));
  if (size.n == 1 && (size.at[0] == -1 || size.at[0] == numel)) { /* without a division */
    out[0] = numel;
    return WF_OK;
  }
  bool overflow = false;
  WF__CHECK(size.n <= WF_MAX_DIMS, WF_RUNTIME, "tensors have at most %d dimensions, but got %d", WF_MAX_DIMS, size.n);
  for (int i = 0; i < size.n; i++) {
    int64_t v = out[i] = size.at[i];
    if (v == -1) {
      WF__CHECK(inferred < 0, WF_RUNTIME, "only one dimension can be inferred");
      inferred = i;
      continue;
    }
    WF__CHECK(v >= 0, WF_RUNTIME, "invalid shape dimension %lld at index %d of shape %s", (long long)v, i,
              wf__dims_text(size, text));
    overflow |= __builtin_mul_overflow(known, (uint64_t)v, &known);
  }
  uint64_t n = (uint64_t)numel;
  bool ambiguous = !overflow && inferred >= 0 && known == 0 && n == 0;
  WF__CHECK(
      !ambiguous, WF_RUNTIME,
      "cannot reshape tensor of 0 elements into shape %s because the unspecified dimension size -1 can be any value and is ambiguous",
      wf__dims_text(size, text));
  bool fits = !overflow && (known == n || (inferred >= 0 && known > 0 && n % known == 0));
  WF__CHECK(fits, WF_RUNTIME, "shape '%s' is invalid for input of size %lld", wf__dims_text(size, text),
            (long long)numel);
  if (inferred >= 0) out[inferred] = (int64_t)(n / known);
  return WF_OK;
}

static void packed(wf_dims size, int64_t *stride) {
  int64_t step = 1;
  for (int i = size.n - 1; i >= 0; i--) {
    stride[i] = step;
    if (size.at[i] > 1 && __builtin_mul_overflow(step, size.at[i], &step))
      step = INT64_MAX; /* the sizes hold a 0: any stride will do */
  }
}

static bool same_sizes(const wf__layout *l, wf_dims size) {
  if (l->ndim != size.n) return false;
  for (int i = 0; i < size.n; i++)
    if (l->size[i] != size.at[i]) return false;
  return true;
}

/* Cuts the source, from its last dim, into the largest chunks of evenly spaced elements; each chunk must be used up by whole new dims. */
bool wf__view_strides(const wf__layout *l, wf_dims size, int64_t *stride) {
  if (l->numel == 0) {
    if (same_sizes(l, size)) {
      for (int i = 0; i < size.n; i++) stride[i] = l->stride[i];
    } else {
      packed(size, stride);
    }
    return true;
  }
  if (WF__LIKELY(wf__is_packed(l))) { /* the usual case, of one chunk */
    packed(size, stride);
    return true;
  }
  int next = size.n - 1; /* new dim to place */
  if (l->ndim == 0) {
    while (next >= 0) stride[next--] = 1;
    return true;
  }
  int64_t base = l->stride[l->ndim - 1], chunk = 1, taken = 1;
  for (int d = l->ndim - 1; d >= 0; d--) {
    chunk *= l->size[d];
    bool chunk_ends = d == 0 || (l->size[d - 1] != 1 && l->stride[d - 1] != chunk * base);
    if (!chunk_ends) continue;
    while (next >= 0 && (taken < chunk || size.at[next] == 1)) {
      stride[next] = taken * base;
      taken *= size.at[next--];
    }
    if (taken != chunk) return false;
    if (d > 0) {
      base = l->stride[d - 1];
      chunk = taken = 1;
    }
  }
  return next < 0;
}
