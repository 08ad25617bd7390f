/* Views that repeat dims of size 1, and views by free geometry. */
#include "op/view_make.h"

static wf_status expand_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  out[0] = wf__ops.sum_to(grad[0], wf__sizes_dims(node->payload));
  return wf__self.pending;
}
static const wf__node_class expand_class = {"ExpandBackward0", expand_apply, NULL};

wf_tensor *wf__expand(const wf_tensor *self, wf_dims size) {
  wf__layout layout;
  WF__TRY_OR(wf__layout_expand(&self->layout, size, wf__type_text(self), &layout), NULL);
  wf__sizes sizes = wf__sizes_of(self);
  return wf__view_of(self, &layout, &expand_class, &sizes, sizeof sizes);
}

wf_tensor *wf_expand(const wf_tensor *self, wf_dims size) {
  WF__OP("expand", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  return wf__give(wf__expand(self, size));
}

wf_tensor *wf_broadcast_to(const wf_tensor *self, wf_dims size) {
  WF__OP("broadcast_to", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  return wf__give(wf__expand(self, size));
}

wf_tensor *wf_expand_as(const wf_tensor *self, const wf_tensor *other) {
  WF__OP("expand_as", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(wf__given(other, "other"), NULL);
  return wf__give(wf__expand(self, wf_sizes(other)));
}

/* ---- as_strided ---------------------------------------------------------------------------------------------------------------- */

wf_status wf__window_check(const wf_tensor *self, wf_dims size, wf_dims stride, int64_t offset) {
  char sizes[WF__DIMS_TEXT], strides[WF__DIMS_TEXT];
  size_t itemsize = wf__itemsize(self), needed, have = self->storage->nbytes;
  WF__TRY(wf__nbytes_strided(size, stride, offset, itemsize, &needed));
  WF__CHECK(
      needed <= have, WF_RUNTIME,
      "setStorage: sizes %s, strides %s, storage offset %lld, and itemsize %zu requiring a storage size of %zu are out of bounds for "
      "storage of size %zu",
      wf__dims_text(size, sizes), wf__dims_text(stride, strides), (long long)offset, itemsize, needed, have);
  return WF_OK;
}

static wf_status strided_layout(const wf_tensor *self, wf_dims size, wf_dims stride, int64_t offset, wf__layout *l) {
  char strides[WF__DIMS_TEXT];
  if (offset == WF_NONE) offset = self->layout.offset;
  WF__TRY(wf__list_check(size));
  WF__TRY(wf__list_check(stride));
  WF__CHECK(size.n == stride.n, WF_RUNTIME, "mismatch in length of strides and shape");
  for (int i = 0; i < stride.n; i++)
    WF__CHECK(stride.at[i] >= 0, WF_RUNTIME,
              "as_strided: Negative strides are not supported at the moment, got strides: %s",
              wf__dims_text(stride, strides));
  WF__CHECK(offset >= 0, WF_RUNTIME, "Tensor: invalid storage offset %lld", (long long)offset);
  WF__TRY(wf__window_check(self, size, stride, offset));
  return wf__layout_strided(l, size, stride, offset);
}

wf_tensor *wf_as_strided(const wf_tensor *self, wf_dims size, wf_dims stride, int64_t storage_offset) {
  WF__OP("as_strided", NULL);
  wf__layout layout;
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(strided_layout(self, size, stride, storage_offset, &layout), NULL);
  wf_tensor *view = wf__tensor_view(self, &layout);
  wf__node *node = view && wf__needs_grad(&self, 1) ? wf__node_as_strided(self, &layout, false) : NULL;
  if (view && !wf__self.pending) wf__view_made(view, self, WF__VIEW_DEFAULT, node, 0);
  wf__node_release(node);
  return wf__give(view);
}

wf_status wf_as_strided_(wf_tensor *self, wf_dims size, wf_dims stride, int64_t storage_offset) {
  WF__OP("as_strided_", wf__self.pending);
  wf__layout layout;
  WF__TRY(wf__view_in_place_begin(self));
  WF__TRY(strided_layout(self, size, stride, storage_offset, &layout));
  const wf_tensor *input = self;
  wf__node *node = wf__needs_grad(&input, 1) ? wf__node_as_strided(self, &layout, true) : NULL;
  if (wf__self.pending) return wf__self.pending;
  self->layout = layout;
  wf_status status = wf__inplace_done(self, node);
  wf__node_release(node);
  return status;
}
