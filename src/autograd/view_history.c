/* Views and the graph: which tensor is whose view, and the renewal of a view's history after its base was changed.
 *
 * A view remembers the version at which its function was right. Once the data has moved on, the function is replaced, when somebody next
 * asks, by AsStridedBackward0 over the base's present history. */
#include "autograd/meta.h"

#include <pthread.h>
#include <stdio.h>
#include "base/host.h"

static wf__creation stricter(wf__creation old, wf__creation made) {
  bool old_counts = old == WF__VIEW_MULTI_OUTPUT || old == WF__VIEW_NO_GRAD;
  return made == WF__VIEW_DEFAULT && old_counts ? old : made;
}

wf_status wf__view_made(wf_tensor *view, const wf_tensor *self, wf__creation creation, wf__node *node, int output) {
  const wf_tensor *base = self->base ? self->base : self;
  wf__tensor_set_base(view, (wf_tensor *)base);
  view->creation = (uint8_t)stricter(self->creation, wf__self.grad_disabled ? WF__VIEW_NO_GRAD : creation);
  view->seen_version = atomic_load_explicit(&view->version->value, memory_order_relaxed);
  return node ? wf__set_history(view, node, output) : WF_OK;
}

wf_status wf__view_refuse(const wf_tensor *view, bool indirect) {
  const char *how = indirect ? "its base or another view of its base has been" : "is being";
  char head[256], name[WF__NODE_TEXT];
  const wf__node *fn = view->meta ? view->meta->grad_fn : NULL;
  bool multi = view->creation == WF__VIEW_MULTI_OUTPUT;
  if (!fn) {
    snprintf(head, sizeof head, "A view was created in no_grad mode and %s modified inplace with grad mode enabled.",
             how);
  } else if (multi) {
    snprintf(head, sizeof head, "Output %u of %s is a view and %s modified inplace.", view->meta->output,
             wf__node_short_name(fn, name), how);
  } else {
    snprintf(
        head, sizeof head,
        "Output %u of %s is a view of a view which was created in no_grad mode and %s modified inplace with grad mode enabled.",
        view->meta->output, wf__node_short_name(fn, name), how);
  }
  wf__fail(
      WF_RUNTIME, "%s%s", head,
      multi
          ? " This view is the output of a function that returns multiple views. Such functions do not allow the output views to "
            "be modified inplace. You should replace the inplace operation by an out-of-place one."
          : " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
            "view and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both "
            "outside (if you want the inplace to be tracked).");
  char text[WF__DESC_TEXT];
  wf__hint("the view is %s", wf__describe(view, text));
  return wf__self.pending;
}

/* ---- renewal --------------------------------------------------------------------------------------------------------- */

typedef struct strided {
  wf__device *device;
  uint8_t dtype;
  wf__layout base, view;
} strided;

const size_t wf__as_strided_payload = sizeof(strided);

/* Two threads that read one view would both renew it. */
static pthread_mutex_t renew_lock = PTHREAD_MUTEX_INITIALIZER;

static wf_status renew(wf_tensor *view, uint32_t version) {
  wf__meta *meta = wf__meta_of(view);
  wf__node *node = meta ? wf__node_raw(&wf__as_strided_class, 1, 0, sizeof(strided)) : NULL;
  if (!node) return wf__self.pending;
  *(strided *)node->payload = (strided){wf__device_of(view), view->dtype, view->base->layout, view->layout};
  node->edge[0] = wf__edge_of(view->base);
  if (!wf__self.pending && !wf__set_history(view, node, 0)) view->seen_version = version;
  wf__node_release(node);
  return wf__self.pending;
}

wf_status wf__view_refresh(const wf_tensor *view) {
  if (!view->base || (!(view->meta && view->meta->grad_fn) && !wf__requires_grad(view->base))) return WF_OK;
  uint32_t version = atomic_load_explicit(&view->version->value, memory_order_relaxed);
  if (WF__LIKELY(view->seen_version == version)) return WF_OK;
  if (view->creation != WF__VIEW_DEFAULT) return wf__view_refuse(view, true);
  pthread_mutex_lock(&renew_lock);
  wf_status status = view->seen_version == version ? WF_OK : renew((wf_tensor *)view, version);
  pthread_mutex_unlock(&renew_lock);
  return status;
}

/* ---- derivative of a view by geometry ----------------------------------------------------------------------------------- */

/* One past the last element that the layout reaches, from its offset. */
static int64_t extent(const wf__layout *l) {
  int64_t last = 0;
  for (int i = 0; i < l->ndim; i++) last += (l->size[i] - 1) * l->stride[i];
  return l->numel ? last + 1 : 0;
}

/* Whether two elements of the layout can lie on each other: no, when each dim steps over all that the dims of smaller strides reach. */
static bool may_overlap(const wf__layout *l) {
  uint32_t left = 0;
  for (int i = 0; i < l->ndim; i++)
    if (l->size[i] > 1) left |= 1u << i;
  for (int64_t reach = 0; left && l->numel;) {
    int next = -1;
    for (int i = 0; i < l->ndim; i++)
      if (left >> i & 1 && (next < 0 || l->stride[i] < l->stride[next])) next = i;
    if (l->stride[next] <= reach) return true;
    reach += (l->size[next] - 1) * l->stride[next];
    left &= ~(1u << next);
  }
  return false;
}

/* Adds grad, shown by `l`, to the flat buffer. Where the view hits an element twice it is taken apart along the dim of the smallest
 * stride until it doesn't: a dim of stride 0 alone is summed by the broadcast rules first. */
static wf_status add_view(wf_tensor *flat, const wf_tensor *grad, const wf__layout *l, int64_t offset) {
  if (!may_overlap(l)) {
    wf_tensor *part = wf__ops.as_strided(flat, wf__layout_sizes(l), wf__layout_strides(l), offset);
    return part ? wf__ops.add_(part, grad) : wf__self.pending;
  }
  int dim = -1;
  for (int i = 0; i < l->ndim; i++)
    if (l->size[i] > 1 && (dim < 0 || l->stride[i] < l->stride[dim])) dim = i;
  if (dim < 0) return WF_OK;
  wf__layout rest = *l, from = grad->layout;
  rest.size[dim] = from.size[dim] = 1;
  rest.numel = l->numel / l->size[dim];
  for (int64_t k = 0; k < l->size[dim]; k++) {
    wf_tensor *slice = wf__ops.as_strided(grad, wf__layout_sizes(&from), wf__layout_strides(&from),
                                          grad->layout.offset + k * grad->layout.stride[dim]);
    if (!slice) return wf__self.pending;
    WF__TRY(add_view(flat, slice, &rest, offset + k * l->stride[dim]));
  }
  return WF_OK;
}

/* The view's gradient with dims of stride 0 summed to size 1. */
static wf_tensor *sum_broadcast(wf_tensor *grad, wf__layout *l) {
  bool summed = false;
  for (int i = 0; i < l->ndim; i++) {
    if (l->stride[i] || l->size[i] <= 1) continue;
    l->numel /= l->size[i];
    l->size[i] = 1;
    summed = true;
  }
  return summed ? wf__ops.sum_to(grad, wf__layout_sizes(l)) : grad;
}

/* The base itself shows elements more than once: each showing gets its share, so that they add up to the element's gradient. */
static wf_status share_out(wf_tensor *flat, const strided *p, int64_t offset) {
  wf__layout base = p->base;
  wf_tensor *count = wf__ops.zeros(p->device, (wf_dtype)p->dtype, wf_sizes(flat));
  wf_tensor *zeros = count ? wf__ops.zeros(p->device, (wf_dtype)p->dtype, wf__layout_sizes(&base)) : NULL;
  wf_tensor *ones = zeros ? wf__ops.ones_like(zeros) : NULL, *sums = ones ? sum_broadcast(ones, &base) : NULL;
  if (!sums) return wf__self.pending;
  WF__TRY(add_view(count, sums, &base, offset));
  return wf__ops.div_(flat, count); /* 0 / 0 where the base doesn't reach: never seen */
}

static wf_status as_strided_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const strided *p = node->payload;
  if (!wf__node_wants(node, 0)) return WF_OK;
  wf__layout view = p->view;
  int64_t start = view.offset < p->base.offset ? view.offset : p->base.offset;
  int64_t end_view = view.offset + extent(&view), end_base = p->base.offset + extent(&p->base);
  int64_t total = (end_view > end_base ? end_view : end_base) - start;
  wf_tensor *flat = wf__ops.zeros(p->device, (wf_dtype)p->dtype, wf_dims_of(&total, 1));
  if (!flat) return wf__self.pending;
  if (view.numel) {
    wf_tensor *g = sum_broadcast(grad[0], &view);
    if (!g) return wf__self.pending;
    if (!may_overlap(&view)) { /* the usual case: a copy instead of a sum */
      wf_tensor *part =
          wf__ops.as_strided(flat, wf__layout_sizes(&view), wf__layout_strides(&view), view.offset - start);
      if (!part) return wf__self.pending;
      WF__TRY(wf__ops.copy_(part, g));
    } else {
      WF__TRY(add_view(flat, g, &view, view.offset - start));
    }
  }
  if (may_overlap(&p->base)) WF__TRY(share_out(flat, p, p->base.offset - start));
  out[0] = wf__ops.as_strided(flat, wf__layout_sizes(&p->base), wf__layout_strides(&p->base), p->base.offset - start);
  return wf__self.pending;
}

const wf__node_class wf__as_strided_class = {"AsStridedBackward0", as_strided_apply, NULL};
static const wf__node_class as_strided_in_place_class = {"AsStridedBackward1", as_strided_apply, NULL};

wf__node *wf__node_as_strided(const wf_tensor *self, const wf__layout *view, bool in_place) {
  wf__node *node =
      wf__node_new(in_place ? &as_strided_in_place_class : &wf__as_strided_class, &self, 1, 0, sizeof(strided));
  if (node) *(strided *)node->payload = (strided){wf__device_of(self), self->dtype, self->layout, *view};
  return node;
}
