/* backward and autograd.grad: their checks, their roots, their results. The walk itself is engine.c. */
#include "autograd/meta.h"

#include <string.h>
#include "base/host.h"
#include "base/log.h"

wf_backward_options wf_backward_defaults(void) { return (wf_backward_options){false, false}; }

/* The gradient that output number i starts with: the given one, checked, or 1. In the open scope; NULL on error. */
static wf_tensor *start_gradient(int i, const wf_tensor *output, wf_tensor *given) {
  if (!given) {
    if (output->layout.numel == 1) return wf__ops.ones_like(output);
    wf__fail(WF_RUNTIME, "grad can be implicitly created only for scalar outputs");
    char text[WF__DESC_TEXT];
    wf__hint("the output is %s: sum it, or give the gradient to start from", wf__describe(output, text));
    return NULL;
  }
  const wf__layout *a = &given->layout, *b = &output->layout;
  if (a->ndim == b->ndim && !memcmp(a->size, b->size, (size_t)a->ndim * sizeof *a->size)) return given;
  char x[WF__DIMS_TEXT], y[WF__DIMS_TEXT];
  wf__fail(
      WF_RUNTIME,
      "Mismatch in shape: grad_output[%d] has a shape of torch.Size(%s) and output[%d] has a shape of torch.Size(%s).",
      i, wf__dims_text(wf__layout_sizes(a), x), i, wf__dims_text(wf__layout_sizes(b), y));
  return NULL;
}

typedef struct roots {
  int n;
  wf__edge *edge;
  wf_tensor **grad; /* borrowed */
} roots;

static void roots_clear(roots *r) {
  for (int i = 0; r->edge && i < r->n; i++) wf__node_release(r->edge[i].node);
  wf__release(r->edge);
  wf__release(r->grad);
}

/* Fills r; clear it also on failure. Gradients that are made live in the open scope. */
static wf_status roots_of(roots *r, wf_tensor *const *outputs, wf_tensor *const *given, int n) {
  r->n = n;
  r->edge = wf__calloc((size_t)n, sizeof *r->edge);
  r->grad = wf__calloc((size_t)n, sizeof *r->grad);
  if (!r->edge || !r->grad) return wf__self.pending;
  for (int i = 0; i < n; i++) {
    WF__CHECK(outputs[i], WF_TYPE, "element %d of tensors is not a Tensor", i);
    WF__CHECK(given || outputs[i]->layout.numel == 1 || wf__requires_grad(outputs[i]), WF_RUNTIME,
              "element %d of tensors does not require grad and does not have a grad_fn", i);
    r->grad[i] = start_gradient(i, outputs[i], given ? given[i] : NULL);
    if (!r->grad[i]) return wf__self.pending;
  }
  for (int i = 0; i < n; i++) {
    WF__CHECK(wf__requires_grad(outputs[i]), WF_RUNTIME,
              "element %d of tensors does not require grad and does not have a grad_fn", i);
    r->edge[i] = wf__edge_of(outputs[i]);
    if (wf__self.pending) return wf__self.pending;
    WF__CHECK(r->edge[i].node, WF_RUNTIME, "element %d of tensors does not require grad and does not have a grad_fn",
              i);
  }
  return WF_OK;
}

static void warn_cycle(void) {
  static atomic_flag warned = ATOMIC_FLAG_INIT;
  if (!atomic_flag_test_and_set(&warned))
    wf__log(
        WF_LOG_WARNING,
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can "
        "cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this "
        "function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the leak.");
}

wf_status wf_backward(wf_tensor *t, wf_tensor *gradient, const wf_backward_options *options) {
  WF__OP("backward", wf__self.pending);
  wf_backward_options o = options ? *options : wf_backward_defaults();
  WF__CHECK(t, WF_TYPE, "backward(): argument 'self' must be Tensor, not None");
  if (o.create_graph) warn_cycle();
  wf_scope scope = wf_scope_begin();
  roots r = {0};
  if (!wf__self.pending && !roots_of(&r, &t, gradient ? &gradient : NULL, 1))
    wf__engine_run(r.edge, r.grad, 1, NULL, 0, o.retain_graph || o.create_graph, o.create_graph);
  roots_clear(&r);
  wf_scope_end(scope, NULL);
  return wf__self.pending;
}

/* ---- autograd.grad ---------------------------------------------------------------------------------------------------------- */

static void captures_free(wf__capture *captures, int n) {
  for (int i = 0; captures && i < n; i++) {
    wf__node_release(captures[i].node);
    wf__tensor_release(captures[i].result);
  }
  wf__release(captures);
}

static wf__capture *captures_of(wf_tensors inputs) {
  wf__capture *captures = wf__calloc((size_t)inputs.n, sizeof *captures);
  for (int i = 0; captures && i < inputs.n; i++) {
    wf__edge edge = {NULL, 0};
    if (wf__requires_grad(inputs.at[i])) edge = wf__edge_of(inputs.at[i]);
    if (!edge.node) {
      wf__fail(WF_RUNTIME,
               "One of the differentiated Tensors does not require grad"); /* stays silent when an error is pending */
      captures_free(captures, inputs.n);
      return NULL;
    }
    captures[i].node = edge.node;
    captures[i].output = edge.input;
  }
  return captures;
}

/* The results as a list of own references; NULL on error. */
static wf_tensor **take_results(wf__capture *captures, int n, bool allow_unused) {
  for (int i = 0; i < n && !allow_unused; i++) {
    if (captures[i].result) continue;
    wf__fail(
        WF_RUNTIME,
        "The differentiated Tensor at index %d appears to not have been used in the graph. Set allow_unused=True if this is the "
        "desired behavior.",
        i);
    return NULL;
  }
  wf_tensor **at = wf__malloc((size_t)n * sizeof *at);
  for (int i = 0; at && i < n; i++) {
    at[i] = captures[i].result;
    captures[i].result = NULL;
  }
  return at;
}

wf_tensors wf_autograd_grad(wf_tensors outputs, wf_tensors inputs, wf_tensors grad_outputs, bool allow_unused,
                            const wf_backward_options *options) {
  const wf_tensors none = {NULL, 0};
  WF__OP("autograd.grad", none);
  wf_backward_options o = options ? *options : wf_backward_defaults();
  if (!inputs.n) return wf__fail(WF_RUNTIME, "`inputs` argument to `grad()` cannot be empty."), none;
  if (grad_outputs.n && grad_outputs.n != outputs.n)
    return wf__fail(WF_RUNTIME, "got %d tensors and %d gradients", outputs.n, grad_outputs.n), none;
  wf_scope scope = wf_scope_begin();
  roots r = {0};
  wf_tensor **at = NULL;
  wf__capture *captures = NULL;
  if (!wf__self.pending && !roots_of(&r, outputs.at, grad_outputs.n ? grad_outputs.at : NULL, outputs.n))
    captures = captures_of(inputs);
  if (captures &&
      !wf__engine_run(r.edge, r.grad, r.n, captures, inputs.n, o.retain_graph || o.create_graph, o.create_graph))
    at = take_results(captures, inputs.n, allow_unused);
  captures_free(captures, inputs.n);
  roots_clear(&r);
  wf_scope_end(scope, NULL);
  return at ? wf__give_list(at, inputs.n) : none;
}
