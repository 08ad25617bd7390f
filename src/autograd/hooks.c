/* Hooks on gradients: lists that hang on nodes (a leaf's on its accumulator), in order of registration.
 *
 * A tensor hook belongs to the function that computed the tensor when it was registered, and stays there when the tensor is changed in
 * place; retain_grad follows the tensor. A hook may change the gradient in place only when no other consumer would see it: else what
 * it gets is frozen, and changing it is an error. */
#include "autograd/meta.h"

#include <pthread.h>
#include <string.h>
#include "base/host.h"

typedef struct hook {
  atomic_int refs; /* of the node's list and the tensor's */
  uint64_t number; /* 0: removed */
  wf__hook_kind kind;
  uint32_t output;
  wf_grad_hook fn;
  void *context;
  wf__meta *meta; /* RETAIN: whose gradient is kept; weak, under retain_lock */
} hook;

typedef struct wf__hooks {
  int n, room;
  hook **at;
} wf__hooks;

/* A meta may go on another thread while backward runs over the node that its retain hook hangs on. */
static pthread_mutex_t retain_lock = PTHREAD_MUTEX_INITIALIZER;

static void hook_release(hook *h) {
  if (h && atomic_fetch_sub(&h->refs, 1) == 1) wf__release(h);
}

void wf__hooks_release(wf__hooks *hooks) {
  if (!hooks) return;
  for (int i = 0; i < hooks->n; i++) hook_release(hooks->at[i]);
  wf__release(hooks->at);
  wf__release(hooks);
}

/* Room for one more in *list. */
static wf_status reserve(wf__hooks **list) {
  if (!*list && !(*list = wf__calloc(1, sizeof **list))) return wf__self.pending;
  wf__hooks *l = *list;
  if (l->n < l->room) return WF_OK;
  int room = l->room ? l->room * 2 : 4;
  hook **at = wf__realloc(l->at, (size_t)room * sizeof *at);
  if (!at) return wf__self.pending;
  l->at = at;
  l->room = room;
  return WF_OK;
}

static void take_out(wf__hooks *list, int i) {
  hook *h = list->at[i];
  memmove(list->at + i, list->at + i + 1, (size_t)(list->n - i - 1) * sizeof *list->at);
  list->n--;
  hook_release(h);
}

/* Hangs h on the node's list and, for tensor hooks, on the tensor's. Takes the reference over. */
static wf_status hang(hook *h, wf__hooks **node_list, wf__hooks **tensor_list) {
  if (reserve(node_list) || (tensor_list && reserve(tensor_list))) {
    hook_release(h);
    return wf__self.pending;
  }
  (*node_list)->at[(*node_list)->n++] = h;
  if (tensor_list) {
    atomic_fetch_add(&h->refs, 1);
    (*tensor_list)->at[(*tensor_list)->n++] = h;
  }
  return WF_OK;
}

/* ---- registering ------------------------------------------------------------------------------------------------------- */

static hook *hook_new(wf__hook_kind kind, uint32_t output) {
  static _Atomic uint64_t last;
  hook *h = wf__calloc(1, sizeof *h);
  if (!h) return NULL;
  atomic_init(&h->refs, 1);
  h->kind = kind;
  h->output = output;
  h->number = atomic_fetch_add(&last, 1) + 1;
  return h;
}

uint64_t wf_register_hook(wf_tensor *t, wf_grad_hook fn, void *context) {
  WF__OP("register_hook", 0);
  if (!t || !fn) return wf__fail(WF_TYPE, "register_hook(): needs a tensor and a function"), 0;
  if (!wf__requires_grad(t))
    return wf__fail(WF_RUNTIME, "cannot register a hook on a tensor that doesn't require gradient"), 0;
  wf__meta *meta = wf__meta_of(t);
  wf__edge edge = meta ? wf__edge_of(t) : (wf__edge){NULL, 0};
  if (!edge.node) return wf__fail(WF_RUNTIME, "cannot register a hook on a tensor that doesn't require gradient"), 0;
  hook *h = hook_new(WF__HOOK_TENSOR, edge.input);
  uint64_t number = h ? h->number : 0;
  if (h) {
    h->fn = fn;
    h->context = context;
    if (hang(h, &edge.node->hooks, &meta->hooks)) number = 0;
  }
  wf__node_release(edge.node);
  return number;
}

void wf_remove_hook(wf_tensor *t, uint64_t number) {
  wf__hooks *list = t && t->meta ? t->meta->hooks : NULL;
  for (int i = 0; list && number && i < list->n; i++)
    if (list->at[i]->number == number) {
      list->at[i]->number = 0;
      take_out(list, i);
      return;
    }
}

wf_status wf_retain_grad(wf_tensor *t) {
  WF__OP("retain_grad", wf__self.pending);
  WF__CHECK(t && wf__requires_grad(t), WF_RUNTIME, "can't retain_grad on Tensor that has requires_grad=False");
  wf__node *fn = wf__grad_fn(t);
  if (!fn || t->meta->retains_grad) return wf__self.pending;
  hook *h = hook_new(WF__HOOK_RETAIN, t->meta->output);
  if (!h) return wf__self.pending;
  h->meta = t->meta;
  WF__TRY(hang(h, &fn->hooks, NULL));
  t->meta->retains_grad = true;
  return WF_OK;
}

void wf__hooks_move_retain(wf__meta *meta, wf__node *from, wf__node *to, uint32_t output) {
  if (!from || !from->hooks) return;
  pthread_mutex_lock(&retain_lock);
  for (int i = 0; i < from->hooks->n; i++) {
    hook *h = from->hooks->at[i];
    if (h->kind != WF__HOOK_RETAIN || h->meta != meta) continue;
    if (to && !reserve(&to->hooks)) {
      atomic_fetch_add(&h->refs, 1);
      h->output = output;
      to->hooks->at[to->hooks->n++] = h;
    } else {
      h->meta = NULL;
    }
    take_out(from->hooks, i);
    break;
  }
  pthread_mutex_unlock(&retain_lock);
}

/* ---- running ----------------------------------------------------------------------------------------------------------- */

static wf_status check_result(const wf_tensor *was, const wf_tensor *now, uint64_t number) {
  bool same = was->layout.ndim == now->layout.ndim &&
              !memcmp(was->layout.size, now->layout.size, (size_t)was->layout.ndim * sizeof *was->layout.size);
  WF__CHECK(was->dtype == now->dtype && wf__device_of(was) == wf__device_of(now), WF_RUNTIME,
            "hook '%llu' has changed the type of value (was %s got %s)", (unsigned long long)number,
            wf_dtype_name((wf_dtype)was->dtype), wf_dtype_name((wf_dtype)now->dtype));
  WF__CHECK(same, WF_RUNTIME, "hook '%llu' has changed the size of value", (unsigned long long)number);
  return WF_OK;
}

static wf_status run_tensor_hook(hook *h, wf_tensor **grad) {
  wf_tensor *g = *grad, *shown = g;
  if (!wf__tensor_is_alone(g)) {
    shown = wf__tensor_alias(g, (wf_dtype)g->dtype, &g->layout);
    if (!shown) return wf__self.pending;
    if (!wf__self.grad_disabled) shown->meta = wf__meta_retain(g->meta);
    shown->creation = WF__VIEW_FROZEN;
  }
  wf_tensor *result = h->fn(shown, h->context);
  wf_status status = wf__self.pending;
  if (!status && result && result != shown) status = check_result(g, result, h->number);
  if (!status && result && result != shown) {
    *grad = wf_retain(result);
    wf__tensor_release(g);
  }
  if (shown != g) wf__tensor_release(shown);
  return status;
}

/* The first gradient is kept as a clone of its own; later ones are added out of place, since the user may hold what was there. */
static wf_status run_retain(hook *h, wf_tensor *grad) {
  pthread_mutex_lock(&retain_lock);
  wf__meta *meta = wf__meta_retain(h->meta);
  pthread_mutex_unlock(&retain_lock);
  if (!meta) return WF_OK;
  wf_tensor *sum = meta->grad ? wf__ops.add(meta->grad, grad) : wf__ops.clone(grad);
  if (sum) {
    wf_tensor *old = meta->grad;
    meta->grad = wf_retain(sum);
    wf__tensor_release(old);
  }
  wf__meta_release(meta);
  return wf__self.pending;
}

static wf_status run_kind(wf__node *node, wf_tensor **grad, uint32_t n, wf__hook_kind kind) {
  for (int i = 0; i < node->hooks->n; i++) { /* hooks that a hook adds run as well, from where the list stands then */
    hook *h = node->hooks->at[i];
    if (h->kind != kind || h->output >= n || !grad[h->output]) continue;
    if (kind == WF__HOOK_RETAIN) WF__TRY(run_retain(h, grad[h->output]));
    else if (h->number) WF__TRY(run_tensor_hook(h, &grad[h->output]));
  }
  return WF_OK;
}

wf_status wf__hooks_run(wf__node *node, wf_tensor **grad, uint32_t n) {
  WF__TRY(run_kind(node, grad, n, WF__HOOK_TENSOR));
  return run_kind(node, grad, n, WF__HOOK_RETAIN);
}
