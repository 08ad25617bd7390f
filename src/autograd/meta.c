/* Metas: gradient connectivity of variables, and the public calls that read or set it.
 *
 * A leaf's accumulator belongs to its meta for good; what is counted is the other way round: while anything refers to the accumulator
 * (its count is above 0) it holds one reference of the meta, so a graph keeps its leaves' gradients alive without keeping the leaves'
 * memory. No lock is needed: whoever takes the count from 0 to 1 holds the meta through a tensor. */
#include "autograd/meta.h"

#include <string.h>
#include "base/host.h"
#include "base/log.h"
#include "tensor/free_list.h"

wf__meta *wf__meta_new(void) {
  _Static_assert(sizeof(wf__meta) == WF__META_BYTES, "free_list.h says how large a meta is");
  wf__meta *meta = wf__object_take(WF__OBJECT_META);
  if (!meta) return NULL;
  memset(meta, 0, sizeof *meta);
  atomic_init(&meta->refs, 1);
  return meta;
}

void wf__meta_release(wf__meta *meta) {
  if (!meta || !wf__count_down(&meta->refs, 1)) return;
  if (meta->retains_grad) wf__hooks_move_retain(meta, meta->grad_fn, NULL, 0);
  wf__hooks_release(meta->hooks);
  wf__node *accumulator = atomic_load_explicit(&meta->accumulator, memory_order_relaxed);
  if (accumulator) {
    wf__hooks_release(accumulator->hooks);
    wf__node_block_free(accumulator);
  }
  wf__tensor_release(meta->grad);
  wf__node_release(meta->grad_fn);
  wf__object_give(WF__OBJECT_META, meta);
}

wf__meta *wf__meta_of(wf_tensor *t) {
  if (!t->meta) t->meta = wf__meta_new();
  return t->meta;
}

/* ---- edges ----------------------------------------------------------------------------------------------------------- */

static bool connected(const wf__meta *meta) { return meta && (meta->requires_grad || meta->grad_fn); }

bool wf__requires_grad(const wf_tensor *t) {
  if (!t) return false;
  return connected(t->meta) || (t->base && connected(t->base->meta));
}

wf__node *wf__grad_fn(const wf_tensor *t) {
  if (!t) return NULL;
  if (t->base && wf__view_refresh(t)) return NULL;
  return t->meta ? t->meta->grad_fn : NULL;
}

wf__edge wf__edge_of(const wf_tensor *t) {
  wf__edge edge = {NULL, 0};
  wf__node *fn = wf__grad_fn(t);
  if (fn) {
    edge.node = wf__node_retain(fn);
    edge.input = t->meta->output;
  } else if (!wf__self.pending && t && t->meta &&
             t->meta->requires_grad) { /* a view made without recording leads nowhere */
    edge.node = wf__accumulator_of(t);
  }
  return edge;
}

/* ---- public ---------------------------------------------------------------------------------------------------------- */

bool wf_requires_grad(const wf_tensor *t) { return wf__requires_grad(t); }

bool wf_is_leaf(const wf_tensor *t) {
  WF__ENTER("is_leaf");
  return t && wf__grad_fn(t) == NULL;
}

bool wf_has_grad_fn(const wf_tensor *t) {
  WF__ENTER("grad_fn");
  return wf__grad_fn(t) != NULL;
}

const char *wf_grad_fn_name(const wf_tensor *t) {
  WF__ENTER("grad_fn");
  wf__node *fn = wf__grad_fn(t);
  return fn ? fn->cls->name : "";
}

wf_status wf_requires_grad_(wf_tensor *t, bool requires_grad) {
  WF__OP("requires_grad_", wf__self.pending);
  WF__CHECK(t, WF_TYPE, "requires_grad_(): argument 'self' must be Tensor, not None");
  wf__node *fn = wf__grad_fn(t);
  if (wf__self.pending) return wf__self.pending;
  if (fn) {
    WF__CHECK(
        requires_grad, WF_RUNTIME,
        "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that "
        "doesn't require differentiation use var_no_grad = var.detach().");
    return WF_OK;
  }
  WF__CHECK(!requires_grad || wf_dtype_is_float((wf_dtype)t->dtype), WF_RUNTIME,
            "only Tensors of floating point dtype can require gradients");
  if (!requires_grad && !t->meta) return WF_OK;
  wf__meta *meta = wf__meta_of(t);
  if (!meta) return wf__self.pending;
  meta->requires_grad = requires_grad;
  return WF_OK;
}

wf_tensor *wf_grad(const wf_tensor *t) {
  WF__OP("grad", NULL);
  if (!t || !t->meta) return NULL;
  if (!t->meta->grad && t->meta->grad_fn && !t->meta->retains_grad)
    wf__log(
        WF_LOG_WARNING,
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated during "
        "autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
        "non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead.");
  return wf__give(wf_retain(t->meta->grad));
}

static wf_status check_new_grad(const wf_tensor *t, const wf_tensor *grad) {
  WF__CHECK(grad != t, WF_RUNTIME, "can't assign Variable as its own grad");
  WF__CHECK(
      grad->dtype == t->dtype, WF_RUNTIME,
      "attempting to assign a gradient with dtype '%s' to a tensor with grad_dtype '%s'. The gradient must match the tensor's "
      "grad_dtype (defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None "
      "to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream "
      "systems that assume they match.",
      wf__cpp_type_text((wf_dtype)grad->dtype), wf__scalar_type_text((wf_dtype)t->dtype));
  wf_device have = wf__device_of(t)->id, came = wf__device_of(grad)->id;
  char a[32], b[32];
  WF__CHECK(
      have.type == came.type && have.index == came.index, WF_RUNTIME,
      "attempting to assign a gradient with device type '%s' to a tensor with device type '%s'. Please ensure that the gradient "
      "and the tensor are on the same device",
      wf_device_name(came, a, sizeof a), wf_device_name(have, b, sizeof b));
  char x[WF__DIMS_TEXT], y[WF__DIMS_TEXT];
  bool same = grad->layout.ndim == t->layout.ndim &&
              !memcmp(grad->layout.size, t->layout.size, (size_t)t->layout.ndim * sizeof *t->layout.size);
  WF__CHECK(
      same, WF_RUNTIME,
      "attempting to assign a gradient of size '%s' to a tensor of size '%s'. Please ensure that the gradient and the tensor are "
      "the same size",
      wf__dims_text(wf__layout_sizes(&grad->layout), x), wf__dims_text(wf__layout_sizes(&t->layout), y));
  return WF_OK;
}

wf_status wf_set_grad(wf_tensor *t, wf_tensor *grad) {
  WF__OP("set_grad", wf__self.pending);
  WF__CHECK(t, WF_TYPE, "set_grad(): argument 'self' must be Tensor, not None");
  if (!grad) {
    if (!t->meta) return WF_OK;
    wf_tensor *old = t->meta->grad;
    t->meta->grad = NULL;
    wf__tensor_release(old);
    return WF_OK;
  }
  WF__TRY(check_new_grad(t, grad));
  wf__meta *meta = wf__meta_of(t);
  if (!meta) return wf__self.pending;
  wf_tensor *old = meta->grad;
  meta->grad = wf_retain(grad);
  wf__tensor_release(old);
  return WF_OK;
}

wf_status wf_detach_(wf_tensor *t) {
  WF__OP("detach_", wf__self.pending);
  WF__CHECK(t, WF_TYPE, "detach_(): argument 'self' must be Tensor, not None");
  WF__CHECK(
      !t->base, WF_RUNTIME,
      "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, and "
      "gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be called on these "
      "gradients. To fix this error, please refer to the Optimizer.zero_grad() function in torch/optim/optimizer.py as the "
      "solution.");
  wf__meta *meta = t->meta;
  if (!meta) return WF_OK;
  wf__node *fn = meta->grad_fn;
  if (meta->retains_grad) wf__hooks_move_retain(meta, fn, NULL, 0);
  meta->retains_grad = false;
  meta->requires_grad = false;
  meta->grad_fn = NULL;
  meta->output = 0;
  wf__node_release(fn);
  return WF_OK;
}

/* ---- what tensor/ asks ------------------------------------------------------------------------------------------------- */

static wf_status write_check(const wf_tensor *self) {
  const wf_tensor *inputs[] = {self};
  return wf__inplace_check(self, inputs, 1);
}

__attribute__((constructor)) static void register_upward(void) {
  wf__upward_calls.meta_release = wf__meta_release;
  wf__upward_calls.write_check = write_check;
}
