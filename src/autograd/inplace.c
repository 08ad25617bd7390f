/* Changing tensors in place: what is refused, and how the change enters the graph.
 *
 * A change of a tensor that is no view replaces its function. A change of a view is a change of the base: the base gets CopySlices, which
 * runs the operator's derivative on the view's part of the gradient and lets the rest through. */
#include "autograd/meta.h"
#include "base/host.h"

typedef struct slices {
  wf__layout base, view;
  wf__device *device;
  uint8_t dtype;
  wf__node *fn; /* the operator's own node; its edge 0 is the view's old history, which ours replaces */
} slices;

static bool is_grad_leaf(const wf_tensor *t) { return t->meta && t->meta->requires_grad && !t->meta->grad_fn; }

static wf_status check_frozen(const wf_tensor *self) {
  const wf_tensor *root = self->base ? self->base : self;
  if (WF__LIKELY(root->creation != WF__VIEW_FROZEN)) return WF_OK;
  wf__fail(WF_RUNTIME, "a gradient that other consumers share is being used in an in-place operation inside a hook.");
  wf__hint("return a new tensor from the hook instead of changing the gradient it was given");
  return wf__self.pending;
}

/* Whatever wf__inplace_done will allocate. */
static wf_status set_aside(wf_tensor *self, int inputs) {
  if (!wf_dtype_is_float((wf_dtype)self->dtype)) return WF_OK;
  if (!wf__meta_of(self)) return wf__self.pending;
  if (!self->base) return WF_OK;
  if (!wf__meta_of(self->base)) return wf__self.pending;
  WF__TRY(wf__node_reserve(1, wf__as_strided_payload, 2));
  return wf__node_reserve(inputs, sizeof(slices), 2);
}

wf_status wf__inplace_check(const wf_tensor *self, const wf_tensor *const *inputs, int n) {
  WF__TRY(check_frozen(self));
  if (!wf__needs_grad(inputs, n)) return WF_OK;
  if (self->base && self->creation != WF__VIEW_DEFAULT) return wf__view_refuse(self, false);
  if (self->base) {
    bool leaf = !self->base->meta ||
                !self->base->meta->grad_fn; /* also a base without gradient, when the view was asked for one */
    WF__CHECK(!leaf || !wf__requires_grad(self), WF_RUNTIME,
              "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  } else {
    WF__CHECK(!is_grad_leaf(self), WF_RUNTIME,
              "a leaf Variable that requires grad is being used in an in-place operation.");
  }
  return set_aside((wf_tensor *)self, n);
}

static wf_status rebase(wf_tensor *view, wf__node *fn) {
  wf_tensor *base = view->base;
  WF__TRY(wf__node_describe(fn, 0, view));
  wf__node *node = wf__node_raw(&wf__copy_slices_class, (int)(fn->edges ? fn->edges : 1), 0, sizeof(slices));
  if (!node) return wf__self.pending;
  *(slices *)node->payload =
      (slices){base->layout, view->layout, wf__device_of(base), base->dtype, wf__node_retain(fn)};
  for (uint32_t i = 1; i < fn->edges; i++)
    node->edge[i] = (wf__edge){wf__node_retain(fn->edge[i].node), fn->edge[i].input};
  node->edge[0] = wf__edge_of(base);
  if (!wf__self.pending) wf__set_history(base, node, 0);
  wf__node_release(node);
  return wf__self.pending ? wf__self.pending
                          : wf__view_refresh(view); /* now: the base may lose this history before somebody asks */
}

wf_status wf__inplace_done(wf_tensor *self, wf__node *node) {
  wf__bump(self);
  if (!node || !wf_dtype_is_float((wf_dtype)self->dtype)) return WF_OK;
  return self->base ? rebase(self, node) : wf__set_history(self, node, 0);
}

/* ---- CopySlices ---------------------------------------------------------------------------------------------------------- */

/* The gradient in a buffer of the base's own strides, which we may write to. */
static wf_tensor *base_buffer(const slices *p, const wf_tensor *grad) {
  wf__layout layout = p->base;
  layout.offset = 0;
  wf_tensor *buffer = wf__give(wf__tensor_empty(p->device, (wf_dtype)p->dtype, &layout));
  return buffer && !wf__ops.copy_(buffer, grad) ? buffer : NULL;
}

static wf_status slices_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const slices *p = node->payload;
  wf_tensor *buffer = base_buffer(p, grad[0]);
  if (!buffer) return wf__self.pending;
  wf_tensor *slice = wf__ops.as_strided(buffer, wf__layout_sizes(&p->view), wf__layout_strides(&p->view),
                                        p->view.offset - p->base.offset);
  wf_tensor *mine = slice ? wf__ops.clone(slice) : NULL;
  if (!mine) return wf__self.pending;
  WF__TRY(p->fn->cls->apply(p->fn, &mine, out));
  if (!wf__node_wants(node, 0)) {
    out[0] = NULL;
    return WF_OK;
  }
  wf_tensor *inner = out[0] ? out[0] : wf__ops.zeros(p->device, (wf_dtype)p->dtype, wf__layout_sizes(&p->view));
  if (!inner) return wf__self.pending;
  WF__TRY(wf__ops.copy_(slice, inner));
  out[0] = buffer;
  return WF_OK;
}

static void slices_destroy(wf__node *node) { wf__node_release(((slices *)node->payload)->fn); }

const wf__node_class wf__copy_slices_class = {"CopySlices", slices_apply, slices_destroy};

void wf__copy_slices_release_saved(wf__node *node) { wf__node_release_saved(((slices *)node->payload)->fn); }
wf__node *wf__copy_slices_inner(const wf__node *node) { return ((slices *)node->payload)->fn; }
