/* How every view operator ends: the new tensor or the changed one, its place in the graph. */
#ifndef WF_OP_VIEW_MAKE_H
#define WF_OP_VIEW_MAKE_H

#include <weft/view.h>
#include "autograd/node.h"
#include "op/check.h"

/* The node of a view of self, with a copy of the payload; NULL when no gradient is recorded, or with an error record. */
wf__node *wf__view_node(const wf_tensor *self, const wf__node_class *cls, const void *payload, size_t bytes);
/* A tracked view of self with that layout and derivative. Caller's reference. Fronts that would have to fill a payload for nothing
 * ask wf__may_need_grad first, and call wf__tensor_view. */
wf_tensor *wf__view_of(const wf_tensor *self, const wf__layout *layout, const wf__node_class *cls, const void *payload,
                       size_t bytes);
/* Before self's geometry is changed in place: refuses a missing tensor and what autograd refuses. */
wf_status wf__view_in_place_begin(const wf_tensor *self);
/* Gives self that layout: version +1, history. */
wf_status wf__view_in_place(wf_tensor *self, const wf__layout *layout, const wf__node_class *cls, const void *payload,
                            size_t bytes);

/* Error unless self's storage holds what such a window shows: "setStorage: sizes …". */
wf_status wf__window_check(const wf_tensor *self, wf_dims size, wf_dims stride, int64_t offset);
/* wf_slice, wf_expand of a tensor that is there; caller's reference. */
wf_tensor *wf__slice(const wf_tensor *self, int64_t dim, int64_t start, int64_t end, int64_t step);
wf_tensor *wf__expand(const wf_tensor *self, wf_dims size);

/* squeeze() of all dims of size 1, of one dim, of a list of them: they differ in what an empty list means, and in the node's name. */
typedef enum wf__squeeze_form { WF__SQUEEZE_ALL, WF__SQUEEZE_DIM, WF__SQUEEZE_DIMS } wf__squeeze_form;
wf_tensor *wf__squeeze(const wf_tensor *self, wf_dims dims, wf__squeeze_form form);
wf_status wf__squeeze_(wf_tensor *self, wf_dims dims, wf__squeeze_form form);

/* Sizes as a derivative keeps them. */
typedef struct wf__sizes {
  int32_t n;
  int64_t at[WF_MAX_DIMS];
} wf__sizes;
wf__sizes wf__sizes_of(const wf_tensor *t);
static inline wf_dims wf__sizes_dims(const wf__sizes *s) { return wf_dims_of(s->at, s->n); }

/* Derivative of what gives elements another shape alone: the payload is a wf__sizes, the gradient is reshaped to it. */
wf_status wf__reshape_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out);
/* Zeros of those sizes, on grad's device and of its dtype: what the gradient of a part is put into. */
wf_tensor *wf__zeros_for(const wf_tensor *grad, const wf__sizes *sizes);

#endif
