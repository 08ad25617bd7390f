/* Leaves: the node that adds what arrives to the variable's gradient.
 *
 * The first gradient is kept as it is when nobody else holds the handle and its layout is the variable's (the layout contract: dense
 * variables have gradients of their own strides, others row-major ones); else it is copied into that layout. As in PyTorch, a view of a
 * gradient that the caller gave counts as held by nobody: leaf and caller then share its storage. Later ones are added in
 * place, or out of place when the sum is itself recorded. */
#include "autograd/meta.h"

#include <string.h>
#include "base/host.h"
#include "base/log.h"

typedef struct accumulator {
  wf__meta *meta;    /* counted only while the node is referred to: meta.c */
  wf__layout layout; /* of the variable */
} accumulator;

static wf_status apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  (void)out;
  return wf__accumulate(node, wf_retain(grad[0]));
}

static const wf__node_class accumulate_class = {"AccumulateGrad", apply, NULL};

bool wf__is_accumulator(const wf__node *node) { return node->cls == &accumulate_class; }
wf__meta *wf__accumulator_meta(const wf__node *node) { return ((const accumulator *)node->payload)->meta; }
void wf__accumulator_idle(wf__node *node) { wf__meta_release(wf__accumulator_meta(node)); }

static wf__node *make(wf__meta *meta, const wf_tensor *leaf) {
  wf__node *node = wf__node_raw(&accumulate_class, 0, 0, sizeof(accumulator));
  if (!node) return NULL;
  *(accumulator *)node->payload = (accumulator){meta, leaf->layout};
  node->sequence = UINT64_MAX;
  atomic_store(&node->refs, 0);
  wf__node_describe(node, 0, leaf); /* output 0 needs no memory */
  wf__node *none = NULL;
  if (atomic_compare_exchange_strong(&meta->accumulator, &none, node)) return node;
  wf__node_block_free(node);
  return none;
}

/* A leaf may have been given another shape since, while recording was off, or moved to another device. */
static void follow(wf__node *node, const wf_tensor *leaf) {
  wf__layout *known = &((accumulator *)node->payload)->layout;
  const wf__layout *now = &leaf->layout;
  size_t bytes = (size_t)now->ndim * sizeof *now->size;
  bool same_device = wf__node_result(node, 0)->device == wf__device_of(leaf);
  if (same_device && known->ndim == now->ndim && !memcmp(known->size, now->size, bytes) &&
      !memcmp(known->stride, now->stride, bytes))
    return;
  *known = *now;
  wf__node_describe(node, 0, leaf);
}

wf__node *wf__accumulator_of(const wf_tensor *leaf) {
  wf__meta *meta = wf__meta_of((wf_tensor *)leaf);
  if (!meta) return NULL;
  wf__node *node = atomic_load_explicit(&meta->accumulator, memory_order_acquire);
  if (!node && !(node = make(meta, leaf))) return NULL;
  bool idle = atomic_fetch_add_explicit(&node->refs, 1, memory_order_relaxed) == 0;
  if (idle) wf__meta_retain(meta);
  if (idle || wf__node_result(node, 0)->device != wf__device_of(leaf)) follow(node, leaf);
  return node;
}

/* ---- accumulation ------------------------------------------------------------------------------------------------------ */

static bool obeys_contract(const wf__layout *grad, const wf__layout *variable) {
  if (!wf__is_dense(variable)) return wf__is_contiguous(grad, WF_FORMAT_CONTIGUOUS);
  for (int i = 0; i < grad->ndim; i++) {
    if (grad->size[i] == 1 ? grad->stride[i] == 0 : grad->stride[i] != variable->stride[i]) return false;
  }
  return true;
}

static bool may_steal(const wf_tensor *grad, const accumulator *a) {
  return wf__self.grad_disabled && atomic_load_explicit(&grad->refs, memory_order_relaxed) == 1 &&
         obeys_contract(&grad->layout, &a->layout);
}

/* A copy in the contract's layout; the caller's reference. */
static wf_tensor *contract_copy(const wf_tensor *grad, const accumulator *a) {
  wf__layout layout;
  size_t itemsize = wf__itemsize(grad);
  if (wf__is_dense(&a->layout)) {
    layout = a->layout;
    layout.offset = 0;
  } else {
    WF__TRY_OR(wf__layout_contiguous(&layout, wf__layout_sizes(&grad->layout), itemsize), NULL);
  }
  wf_tensor *copy = wf__tensor_empty(wf__device_of(grad), (wf_dtype)grad->dtype, &layout);
  if (copy && wf__ops.copy_(copy, grad)) {
    wf__tensor_release(copy);
    return NULL;
  }
  return copy;
}

static wf_status first(wf__meta *meta, const accumulator *a, wf_tensor *grad) {
  if (!may_steal(grad, a)) {
    wf_tensor *copy = contract_copy(grad, a);
    wf__tensor_release(grad);
    if (!copy) return wf__self.pending;
    grad = copy;
  } else if (grad->meta || grad->base) { /* the gradient is data, no part of a graph and nobody's view */
    wf_tensor *bare = wf__tensor_alias(grad, (wf_dtype)grad->dtype, &grad->layout);
    wf__tensor_release(grad);
    if (!bare) return wf__self.pending;
    grad = bare;
  }
  meta->grad = grad;
  return WF_OK;
}

static void warn_contract(const wf_tensor *grad, const accumulator *a) {
  static atomic_flag warned = ATOMIC_FLAG_INIT;
  if (obeys_contract(&grad->layout, &a->layout) || atomic_flag_test_and_set(&warned)) return;
  char gs[WF__DIMS_TEXT], gt[WF__DIMS_TEXT], ps[WF__DIMS_TEXT], pt[WF__DIMS_TEXT];
  wf__log(WF_LOG_WARNING,
          "grad and param do not obey the gradient layout contract. This is not an error, but may impair performance.\n"
          "grad.sizes() = %s, strides() = %s\nparam.sizes() = %s, strides() = %s",
          wf__dims_text(wf__layout_sizes(&grad->layout), gs), wf__dims_text(wf__layout_strides(&grad->layout), gt),
          wf__dims_text(wf__layout_sizes(&a->layout), ps), wf__dims_text(wf__layout_strides(&a->layout), pt));
}

static wf_status further(wf__meta *meta, wf_tensor *grad) {
  if (wf__self.grad_disabled) return wf__ops.add_(meta->grad, grad);
  wf_tensor *sum = wf__ops.add(meta->grad, grad);
  if (!sum) return wf__self.pending;
  wf_tensor *old = meta->grad;
  meta->grad = wf_retain(sum);
  wf__tensor_release(old);
  return WF_OK;
}

wf_status wf__accumulate(wf__node *node, wf_tensor *grad) {
  const accumulator *a = node->payload;
  wf__meta *meta = a->meta;
  if (meta->grad_fn) {
    wf__tensor_release(grad);
    return wf__fail(WF_RUNTIME, "leaf variable has been moved into the graph interior");
  }
  if (!meta->grad) {
    WF__TRY(first(meta, a, grad));
  } else {
    wf_status status = further(meta, grad);
    wf__tensor_release(grad);
    if (status) return status;
  }
  warn_contract(meta->grad, a);
  return WF_OK;
}
