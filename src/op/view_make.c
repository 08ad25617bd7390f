/* See view_make.h. A view costs a tensor object, and a node where gradients are recorded; no element is touched. */
#include "op/view_make.h"

#include <string.h>

wf__node *wf__view_node(const wf_tensor *self, const wf__node_class *cls, const void *payload, size_t bytes) {
  if (!wf__needs_grad(&self, 1)) return NULL;
  wf__node *node = wf__node_new(cls, &self, 1, 0, bytes);
  if (node && bytes) memcpy(node->payload, payload, bytes);
  return node;
}

wf_tensor *wf__view_of(const wf_tensor *self, const wf__layout *layout, const wf__node_class *cls, const void *payload,
                       size_t bytes) {
  if (WF__LIKELY(!wf__may_need_grad(self))) return wf__tensor_view(self, layout);
  wf_tensor *view = wf__tensor_view(self, layout);
  wf__node *node = view ? wf__view_node(self, cls, payload, bytes) : NULL;
  if (view && !wf__self.pending) wf__view_made(view, self, WF__VIEW_DEFAULT, node, 0);
  wf__node_release(node);
  if (!wf__self.pending) return view;
  wf__tensor_release(view);
  return NULL;
}

wf_status wf__view_in_place_begin(const wf_tensor *self) {
  WF__TRY(wf__given(self, "self"));
  return wf__inplace_check(self, &self, 1);
}

wf_status wf__view_in_place(wf_tensor *self, const wf__layout *layout, const wf__node_class *cls, const void *payload,
                            size_t bytes) {
  wf__node *node = wf__view_node(self, cls, payload, bytes);
  if (wf__self.pending) return wf__self.pending;
  self->layout = *layout;
  wf_status status = wf__inplace_done(self, node);
  wf__node_release(node);
  return status;
}

wf__sizes wf__sizes_of(const wf_tensor *t) {
  wf__sizes s;
  s.n = t->layout.ndim;
  for (int d = 0; d < s.n; d++) s.at[d] = t->layout.size[d];
  return s;
}

wf_status wf__reshape_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  out[0] = wf_reshape(grad[0], wf__sizes_dims(node->payload));
  return wf__self.pending;
}

wf_tensor *wf__zeros_for(const wf_tensor *grad, const wf__sizes *sizes) {
  return wf__ops.zeros(wf__device_of(grad), (wf_dtype)grad->dtype, wf__sizes_dims(sizes));
}
