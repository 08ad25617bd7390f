/* Views of the same elements under other sizes: view, reshape, flatten, unflatten. */
#include <stdio.h>
#include "copy/copy.h"
#include "op/view_make.h"

static const wf__node_class view_class = {"ViewBackward0", wf__reshape_apply, NULL};
static const wf__node_class unsafe_view_class = {"UnsafeViewBackward0", wf__reshape_apply, NULL};

/* Layout of self as `size`, in which a -1 has been filled in. */
static bool view_layout(const wf_tensor *self, wf_dims size, wf__layout *out) {
  int64_t stride[WF_MAX_DIMS];
  if (WF__LIKELY(self->layout.numel)) { /* the sizes have been checked: their product is the same */
    out->ndim = size.n;
    out->numel = self->layout.numel;
    out->offset = self->layout.offset;
    for (int i = 0; i < size.n; i++) out->size[i] = size.at[i];
    return wf__view_strides(&self->layout, size, out->stride);
  }
  if (!wf__view_strides(&self->layout, size, stride)) return false;
  return wf__layout_strided(out, size, wf_dims_of(stride, size.n), self->layout.offset) == WF_OK;
}

static wf_tensor *view(const wf_tensor *self, const wf__layout *layout) {
  if (WF__LIKELY(!wf__may_need_grad(self))) return wf__tensor_view(self, layout);
  wf__sizes sizes = wf__sizes_of(self);
  return wf__view_of(self, layout, &view_class, &sizes, sizeof sizes);
}

static wf_tensor *view_sized(const wf_tensor *self, wf_dims size) {
  char text[WF__DESC_TEXT];
  int64_t full[WF_MAX_DIMS];
  wf__layout layout;
  WF__TRY_OR(wf__infer_size(size, self->layout.numel, full), NULL);
  if (view_layout(self, wf_dims_of(full, size.n), &layout)) return view(self, &layout);
  wf__fail(WF_RUNTIME,
           "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
           "contiguous subspaces). Use .reshape(...) instead.");
  wf__hint("%s; wf_reshape copies where no view exists", wf__describe(self, text));
  return NULL;
}

wf_tensor *wf_view(const wf_tensor *self, wf_dims size) {
  WF__OP("view", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  return wf__give(view_sized(self, size));
}

wf_tensor *wf_view_as(const wf_tensor *self, const wf_tensor *other) {
  WF__OP("view_as", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(wf__given(other, "other"), NULL);
  return wf__give(view_sized(self, wf_sizes(other)));
}

/* A copy that isn't a view of anything; its storage is its own. */
static wf_tensor *copied_reshape(const wf_tensor *self, wf_dims size) {
  wf__layout layout;
  WF__TRY_OR(wf__layout_contiguous(&layout, size, wf__itemsize(self)), NULL);
  wf__sizes sizes = wf__sizes_of(self);
  wf__node *node = wf__view_node(self, &unsafe_view_class, &sizes, sizeof sizes);
  wf_tensor *copy = wf__self.pending ? NULL : wf__clone(self, WF_FORMAT_CONTIGUOUS, true);
  if (copy) {
    copy->layout = layout;
    if (node) wf__set_history(copy, node, 0);
  }
  wf__node_release(node);
  if (!wf__self.pending) return copy;
  wf__tensor_release(copy);
  return NULL;
}

static wf_tensor *reshape(const wf_tensor *self, wf_dims size) {
  int64_t full[WF_MAX_DIMS];
  wf__layout layout;
  WF__TRY_OR(wf__infer_size(size, self->layout.numel, full), NULL);
  wf_dims filled = wf_dims_of(full, size.n);
  if (view_layout(self, filled, &layout)) return view(self, &layout);
  return wf__self.pending ? NULL : copied_reshape(self, filled);
}

wf_tensor *wf_reshape(const wf_tensor *self, wf_dims shape) {
  WF__OP("reshape", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  return wf__give(reshape(self, shape));
}

wf_tensor *wf_reshape_as(const wf_tensor *self, const wf_tensor *other) {
  WF__OP("reshape_as", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(wf__given(other, "other"), NULL);
  return wf__give(reshape(self, wf_sizes(other)));
}

static wf_tensor *flatten(const wf_tensor *self, int64_t start, int64_t end) {
  const wf__layout *l = &self->layout;
  int64_t size[WF_MAX_DIMS], joined = 1;
  WF__TRY_OR(wf__wrap_dim(&start, l->ndim, true), NULL);
  WF__TRY_OR(wf__wrap_dim(&end, l->ndim, true), NULL);
  if (start > end) {
    wf__fail(WF_RUNTIME, "flatten() has invalid args: start_dim cannot come after end_dim");
    return NULL;
  }
  if (l->ndim == 0) return reshape(self, WF_SHAPE(1));
  if (start == end) return wf_retain((wf_tensor *)self);
  for (int64_t d = start; d <= end; d++) {
    if (!__builtin_mul_overflow(joined, l->size[d], &joined)) continue;
    wf__fail(WF_RUNTIME, "Stride calculation overflowed"); /* only next to a size of 0 */
    return NULL;
  }
  int n = 0;
  for (int d = 0; d < start; d++) size[n++] = l->size[d];
  size[n++] = joined;
  for (int64_t d = end + 1; d < l->ndim; d++) size[n++] = l->size[d];
  return reshape(self, wf_dims_of(size, n));
}

wf_tensor *wf_flatten(const wf_tensor *self, int64_t start_dim, int64_t end_dim) {
  WF__OP("flatten", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  return wf__give(flatten(self, start_dim, end_dim));
}

/* Sizes that fit dimension `dim`. PyTorch wraps the texts that size inference gives, and says itself when the count is wrong. */
static wf_status unflatten_sizes(const wf_tensor *self, int64_t dim, wf_dims sizes, int64_t *full) {
  int64_t n = self->layout.ndim ? self->layout.size[dim] : 1, known = 1;
  char text[WF__DIMS_TEXT], inner[600];
  bool inferred = false, sound = self->layout.ndim > 0;
  WF__TRY(wf__list_check(sizes));
  for (int i = 0; i < sizes.n && sound; i++) {
    sound = sizes.at[i] >= 0 || (sizes.at[i] == -1 && !inferred);
    inferred |= sizes.at[i] == -1;
    if (sizes.at[i] >= 0 && __builtin_mul_overflow(known, sizes.at[i], &known)) known = INT64_MAX;
  }
  bool fits = known == n || (inferred && known > 0 && n % known == 0);
  bool ambiguous = inferred && known == 0 && n == 0;
  WF__CHECK(!sound || fits || ambiguous, WF_RUNTIME,
            "unflatten: Provided sizes %s don't multiply up to the size of dim %lld (%lld) in the input tensor",
            wf__dims_text(sizes, text), (long long)dim, (long long)n);
  int64_t first = 0;
  if (!wf__wrap_dim(&first, self->layout.ndim, false) && !wf__infer_size(sizes, n, full)) return WF_OK;
  snprintf(inner, sizeof inner, "%s", wf_error_take().text);
  return wf__fail(WF_RUNTIME, "unflatten got an unexpected error:\n%s", inner);
}

static wf_tensor *unflatten(const wf_tensor *self, int64_t dim, wf_dims sizes) {
  const wf__layout *l = &self->layout;
  int64_t full[WF_MAX_DIMS], size[2 * WF_MAX_DIMS];
  if (!sizes.n) {
    wf__fail(WF_RUNTIME, "unflatten: sizes must be non-empty");
    return NULL;
  }
  WF__TRY_OR(wf__wrap_dim(&dim, l->ndim, true), NULL);
  WF__TRY_OR(unflatten_sizes(self, dim, sizes, full), NULL);
  int n = 0;
  for (int d = 0; d < dim; d++) size[n++] = l->size[d];
  for (int i = 0; i < sizes.n; i++) size[n++] = full[i];
  for (int64_t d = dim + 1; d < l->ndim; d++) size[n++] = l->size[d];
  return view_sized(self, wf_dims_of(size, n));
}

wf_tensor *wf_unflatten(const wf_tensor *self, int64_t dim, wf_dims sizes) {
  WF__OP("unflatten", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  return wf__give(unflatten(self, dim, sizes));
}
