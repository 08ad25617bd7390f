/* The engine: runs a graph backwards on the calling thread.
 *
 * Nodes whose gradients are complete wait in a heap by sequence number; leaves have the highest, so gradients are accumulated, and their
 * buffers freed, as soon as they are there. What must fail for a saved tensor that was changed or released fails before anything runs: no
 * gradient has changed then. */
#include "autograd/task.h"

#include <string.h>
#include "base/host.h"
#include "base/log.h"
#include "trace/trace.h"

/* ---- ready queue -------------------------------------------------------------------------------------------------------- */

static bool before(const wf__task *task, uint32_t a, uint32_t b) {
  return task->item[a].node->sequence > task->item[b].node->sequence;
}

static void push(wf__task *task, uint32_t item) {
  uint32_t i = task->ready_n++;
  while (i && before(task, item, task->ready[(i - 1) / 2])) {
    task->ready[i] = task->ready[(i - 1) / 2];
    i = (i - 1) / 2;
  }
  task->ready[i] = item;
}

static uint32_t pop(wf__task *task) {
  uint32_t top = task->ready[0], last = task->ready[--task->ready_n], i = 0;
  for (uint32_t child; (child = 2 * i + 1) < task->ready_n; i = child) {
    if (child + 1 < task->ready_n && before(task, task->ready[child + 1], task->ready[child])) child++;
    if (!before(task, task->ready[child], last)) break;
    task->ready[i] = task->ready[child];
  }
  task->ready[i] = last;
  return top;
}

/* ---- gradients on their way ----------------------------------------------------------------------------------------------- */

static bool can_add_in_place(const wf_tensor *sum) {
  return wf__self.grad_disabled && wf__tensor_is_alone(sum) && wf__is_contiguous(&sum->layout, WF_FORMAT_CONTIGUOUS);
}

/* Adds grad (one reference, taken over) to *place. */
static wf_status add_up(wf_tensor **place, wf_tensor *grad) {
  if (!*place) {
    *place = grad;
    return WF_OK;
  }
  wf_status status = WF_OK;
  if (can_add_in_place(*place)) {
    status = wf__ops.add_(*place, grad);
  } else {
    wf_tensor *sum = wf__ops.add(*place, grad);
    if (sum) {
      wf__tensor_release(*place);
      *place = wf_retain(sum);
    } else {
      status = wf__self.pending;
    }
  }
  wf__tensor_release(grad);
  return status;
}

static bool expands_to(const wf__result *want, const wf__layout *have) {
  int extra = have->ndim - want->ndim;
  if (extra < 0) return false;
  for (int i = 0; i < want->ndim; i++)
    if (want->size[i] != have->size[i + extra] && want->size[i] != 1) return false;
  return true;
}

static bool same_size(const wf__result *want, const wf__layout *have) {
  return want->ndim == have->ndim && !memcmp(want->size, have->size, (size_t)have->ndim * sizeof *have->size);
}

/* The gradient as the function that takes it needs it: its size, dtype and device. Borrowed from the scope; NULL on error. */
static wf_tensor *validated(const wf__node *from, uint32_t index, const wf__result *want, wf_tensor *grad) {
  const char *name = from ? from->cls->name : "GraphRoot";
  if (WF__UNLIKELY(!same_size(want, &grad->layout))) {
    char have[WF__DIMS_TEXT], expected[WF__DIMS_TEXT];
    if (!expands_to(want, &grad->layout)) {
      wf__fail(WF_RUNTIME,
               "Function %s returned an invalid gradient at index %u - got %s but expected shape compatible with %s",
               name, index, wf__dims_text(wf__layout_sizes(&grad->layout), have),
               wf__dims_text(wf_dims_of(want->size, want->ndim), expected));
      return NULL;
    }
    if (!(grad = wf__ops.sum_to(grad, wf_dims_of(want->size, want->ndim)))) return NULL;
  }
  bool elsewhere = wf__device_of(grad) != want->device,
       may_move = elsewhere && grad->layout.ndim == 0; /* numbers travel silently */
  if (WF__UNLIKELY(grad->dtype != want->dtype || may_move) &&
      !(grad = wf__ops.to(grad, (wf_dtype)want->dtype, may_move ? want->device : wf__device_of(grad))))
    return NULL;
  if (WF__UNLIKELY(elsewhere && !may_move)) {
    char a[32], b[32];
    wf__fail(WF_RUNTIME, "Function %s returned an invalid gradient at index %u - expected device %s but got %s", name,
             index, wf_device_name(want->device->id, a, sizeof a),
             wf_device_name(wf__device_of(grad)->id, b, sizeof b));
    return NULL;
  }
  return grad;
}

static wf_status check_nan(const wf__node *node, wf_tensor *const *out) {
  for (uint32_t i = 0; i < node->edges; i++) {
    if (!out[i] || !wf__ops.has_nan) continue;
    bool nan = wf__ops.has_nan(out[i]);
    if (wf__self.pending) return wf__self.pending;
    WF__CHECK(!nan, WF_RUNTIME, "Function '%s' returned nan values in its %uth output.", node->cls->name, i);
  }
  return WF_OK;
}

/* Hands the results on along the edges; what loses its last dependency gets ready. A missing gradient counts as delivered. */
static wf_status deliver(wf__task *task, const wf__node *node, wf_tensor *const *out) {
  for (uint32_t e = 0; e < node->edges; e++) {
    wf__node *next = node->edge[e].node;
    if (!next) continue;
    uint32_t i = wf__task_find(task, next);
    wf__item *item = &task->item[i];
    uint32_t input = node->edge[e].input;
    if (out && out[e] && (item->needed || item->capture)) {
      wf_tensor *grad = validated(node, e, wf__node_result(next, input), out[e]);
      if (!grad) return wf__self.pending;
      WF__TRY(add_up(&task->grads[item->gradient + input], wf_retain(grad)));
    }
    if (--item->dependencies == 0) push(task, i);
  }
  return WF_OK;
}

/* ---- one node ---------------------------------------------------------------------------------------------------------------- */

static void capture(wf__task *task, const wf__item *item, wf_tensor *const *grads) {
  for (uint32_t c = item->capture; c; c = task->next_capture[c - 1]) {
    wf__capture *want = &task->captures[c - 1];
    wf__tensor_release(want->result);
    want->result = wf_retain(grads[want->output]);
  }
}

static bool any(wf_tensor *const *grads, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (grads[i]) return true;
  return false;
}

static void explain(const wf__node *node) {
  char line[256];
  if (!wf__self.anomaly || !wf__self.pending) return;
  if (node->site)
    wf__log(WF_LOG_WARNING, "Error detected in %s. Traceback of forward call that caused the error:\n  %s",
            node->cls->name, wf_site_name(node->site, line, sizeof line));
  else
    wf__log(
        WF_LOG_WARNING,
        "Error detected in %s. No forward pass information available. Enable detect anomaly during forward pass for more information.",
        node->cls->name);
}

/* Applies the node to its gradients; the results live in the scope that is open. */
static wf_status apply(wf__task *task, wf__node *node, wf_tensor *const *grads, wf_tensor **out) {
  wf__frame frame, *guard = wf__frame_enter(&frame, node->cls->name, node->site);
  if (node->site) frame.site = node->site; /* the line of the forward call, not that of backward */
  wf_status status = node->cls->apply(node, grads, out);
  if (!status) status = wf__self.pending;
  wf__frame_leave(&guard);
  if (!task->retain_graph) {
    wf__node_release_saved(node);
  } else {
    for (uint32_t i = 0; i < node->saves; i++) wf__checkpoint_forget(&node->saved[i]);
  }
  if (!status && wf__self.anomaly) status = check_nan(node, out);
  if (status) explain(node);
  return status;
}

#define FEW_EDGES 16

static wf_status run_edges(wf__task *task, const wf__item *item, wf_tensor **grads) {
  wf__node *node = item->node;
  wf_tensor *few[FEW_EDGES] = {NULL}, **out = few;
  if (node->edges > FEW_EDGES && !(out = wf__calloc(node->edges, sizeof *out))) return wf__self.pending;
  wf_status status = apply(task, node, grads, out);
  if (!status) status = deliver(task, node, out);
  if (out != few) wf__release(out);
  return status;
}

/* A leaf takes the reference itself: only so can it see that nobody else holds the gradient. */
static wf_status run_leaf(const wf__item *item, wf_tensor **grads) {
  wf_tensor *grad = grads[0];
  grads[0] = NULL;
  wf__frame frame, *guard = wf__frame_enter(&frame, "AccumulateGrad", NULL);
  wf_status status = wf__accumulate(item->node, grad);
  wf__frame_leave(&guard);
  return status;
}

static wf_status run_item(wf__task *task, const wf__item *item) {
  wf__node *node = item->node;
  wf_tensor **grads = task->grads + item->gradient;
  bool come = any(grads, node->outputs);
  if (come && WF__UNLIKELY(node->hooks != NULL)) WF__TRY(wf__hooks_run(node, grads, node->outputs));
  if (item->capture) capture(task, item, grads);
  if (!item->needed || !come) return item->needed ? deliver(task, node, NULL) : WF_OK;
  return wf__is_accumulator(node) ? run_leaf(item, grads) : run_edges(task, item, grads);
}

static wf_status run_ready(wf__task *task) {
  while (task->ready_n) {
    const wf__item *item = &task->item[pop(task)];
    wf_scope scope = wf_scope_begin();
    wf_status status = wf__self.pending ? wf__self.pending : run_item(task, item);
    wf_scope_end(scope, NULL);
    for (uint32_t i = 0; i < item->node->outputs; i++) {
      wf__tensor_release(task->grads[item->gradient + i]);
      task->grads[item->gradient + i] = NULL;
    }
    if (status) return status;
  }
  return WF_OK;
}

/* ---- the pass ------------------------------------------------------------------------------------------------------------------ */

/* Of all nodes whose saved tensors are not usable, the one that would have run first gives the error. */
static wf_status check_saved(const wf__task *task) {
  wf__node *worst = NULL;
  for (uint32_t k = 0; k < task->items; k++) {
    const wf__item *item = &task->item[k];
    wf__node *node = item->node;
    if (!item->needed || (worst && node->sequence < worst->sequence)) continue;
    if (wf__node_saved_usable(node)) continue;
    worst = node;
  }
  return worst ? wf__node_check_saved(worst) : WF_OK;
}

static wf_status seed(wf__task *task, const wf__edge *roots, wf_tensor *const *grads, int n) {
  for (int i = 0; i < n; i++) {
    if (!roots[i].node) continue;
    uint32_t at = wf__task_find(task, roots[i].node);
    wf_tensor *grad = validated(NULL, (uint32_t)i, wf__node_result(roots[i].node, roots[i].input), grads[i]);
    if (!grad) return wf__self.pending;
    WF__TRY(add_up(&task->grads[task->item[at].gradient + roots[i].input], wf_retain(grad)));
  }
  for (uint32_t i = 0; i < task->items; i++)
    if (!task->item[i].dependencies) push(task, i);
  return WF_OK;
}

wf_status wf__engine_run(const wf__edge *roots, wf_tensor *const *grads, int n, wf__capture *captures, int captures_n,
                         bool retain_graph, bool create_graph) {
  static _Atomic uint64_t passes;
  wf__task task = {
      .captures = captures, .captures_n = captures_n, .retain_graph = retain_graph, .outer = wf__self.backward};
  task.number = atomic_fetch_add(&passes, 1) + 1;
  bool was = wf_grad_set_enabled(create_graph);
  wf_scope scope = wf_scope_begin();
  wf__self.backward = &task;
  wf_status status = wf__self.pending;
  if (!status) status = wf__task_discover(&task, roots, n);
  if (!status) status = check_saved(&task);
  if (!status) status = seed(&task, roots, grads, n);
  if (!status) status = run_ready(&task);
  wf__self.backward = task.outer;
  wf__task_clear(&task);
  wf_scope_end(scope, NULL);
  wf_grad_set_enabled(was);
  return status;
}
