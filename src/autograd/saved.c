/* Saved tensors: what a derivative needs later, kept as layout, storage, version and connectivity. An input's meta is kept, so that a
 * second derivative finds its way; an output gets its own node back instead, or node and tensor would keep each other alive.
 *
 * The version is compared before use: a tensor changed since it was saved is an error, never a wrong gradient. */
#include "autograd/meta.h"

#include <stdio.h>
#include <string.h>
#include "base/host.h"
#include "trace/trace.h"

void wf__saved_keep(wf__saved *s, const wf_tensor *t, wf__meta *meta, bool is_output, int output) {
  wf__saved_release(s);
  wf__layout_copy(&s->layout, &t->layout);
  s->dtype = t->dtype;
  s->is_output = is_output;
  s->output = (uint32_t)output;
  s->is_view = t->base != NULL;
  s->computed = meta && meta->grad_fn;
  s->meta = wf__meta_retain(meta);
  const wf__modes *modes = wf__self.modes;
  if (WF__UNLIKELY(modes->recording != NULL) && wf__checkpoint_saves(s, t)) return;
  s->storage = wf__storage_retain(t->storage);
  s->version = t->version;
  wf__version_keep(s->storage, s->version);
  s->expected = atomic_load_explicit(&t->version->value, memory_order_relaxed);
}

void wf__save(wf__node *node, int slot, const wf_tensor *t) {
  if (t) wf__saved_keep(&node->saved[slot], t, t->meta, false, 0);
}

void wf__save_output(wf__node *node, int slot, const wf_tensor *t, int output) {
  if (t) wf__saved_keep(&node->saved[slot], t, NULL, true, output);
}

void wf__saved_release(wf__saved *s) {
  if (s->checkpoint) {
    wf__checkpoint_drop(s);
  } else if (s->storage) {
    wf__version_drop(s->storage, s->version);
    wf__storage_release(s->storage);
  } else {
    return;
  }
  s->storage = NULL;
  wf__meta_release(s->meta);
  s->meta = NULL;
}

/* ---- checks ---------------------------------------------------------------------------------------------------------- */

/* Of a class by its name. */
static const char *short_name_of(const char *name, char buffer[WF__NODE_TEXT]) {
  if (!strcmp(name, wf__copy_slices_class.name)) return "torch::autograd::CopySlices";
  if (!strcmp(name, "CopyBackwards")) return "torch::autograd::CopyBackwards";
  const char *cut = strstr(name, "Backward");
  if (!cut) return name;
  const char *digits = cut + strlen("Backward");
  if (!strcmp(digits, "0")) digits = "";
  snprintf(buffer, WF__NODE_TEXT, "%.*s%s", (int)(cut - name), name, digits);
  return buffer;
}

const char *wf__node_short_name(const wf__node *node, char buffer[WF__NODE_TEXT]) {
  return short_name_of(node->cls->name, buffer);
}

static wf_status fail_released(const wf__node *node) {
  wf__fail(
      WF_RUNTIME,
      "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
      "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True "
      "if you need to backward through the graph a second time or if you need to access saved tensors after calling backward.");
  wf__hint("the graph's %s gave up its saved tensors in the first pass: pass retain_graph to that pass",
           node->cls->name);
  return wf__self.pending;
}

static wf_status fail_version(const wf__node *node, const wf__saved *s, uint32_t current) {
  const wf_tensor shown = {.dtype = s->dtype, .storage = s->storage};
  char size[WF__DIMS_TEXT], short_name[WF__NODE_TEXT], origin[WF__NODE_TEXT + 40] = "";
  const char *saver = node ? node->cls->name : "checkpoint";
  const wf__node *fn = s->is_output ? node : s->meta ? s->meta->grad_fn : NULL;
  const char *now = s->is_output ? NULL : atomic_load_explicit(&s->version->function, memory_order_relaxed);
  if (fn)
    snprintf(origin, sizeof origin, ", which is output %u of %s,",
             s->is_output ? s->output
             : now        ? 0
                          : s->meta->output,
             s->is_view && !s->is_output ? "AsStrided" : short_name_of(now ? now : fn->cls->name, short_name));
  wf__fail(
      WF_RUNTIME,
      "one of the variables needed for gradient computation has been modified by an inplace operation: [%s %s]%s is at version %u; "
      "expected version %u instead. Hint: %s",
      wf__type_text(&shown), wf__dims_text(wf__layout_sizes(&s->layout), size), origin, current, s->expected,
      wf__self.anomaly
          ? "the backtrace further above shows the operation that failed to compute its gradient. The variable in "
            "question was changed in there or anywhere later. Good luck!"
          : "enable anomaly detection to find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True, check_nan=False).");
  const char *by = atomic_load_explicit(&s->version->changed_by, memory_order_relaxed);
  char where[200] = "", line[160];
  if (node && node->site) snprintf(where, sizeof where, " at %s", wf_site_name(node->site, line, sizeof line));
  wf__hint(
      "%s saved it%s at version %u; the last change in place was made by %s. Change a clone instead, or use the operator that "
      "returns a new tensor",
      saver, where, s->expected, by ? by : "an unnamed operator");
  return wf__self.pending;
}

wf_status wf__saved_check_version(const wf__node *node, const wf__saved *s) {
  if (s->checkpoint || !s->storage) return WF_OK;
  uint32_t current = atomic_load_explicit(&s->version->value, memory_order_relaxed);
  return WF__LIKELY(current == s->expected) ? WF_OK : fail_version(node, s, current);
}

bool wf__node_saved_usable(const wf__node *node) {
  if (node->released) return false;
  for (uint32_t i = 0; i < node->saves; i++) {
    const wf__saved *s = &node->saved[i];
    if (s->storage && atomic_load_explicit(&s->version->value, memory_order_relaxed) != s->expected) return false;
  }
  return node->cls != &wf__copy_slices_class || wf__node_saved_usable(wf__copy_slices_inner(node));
}

wf_status wf__node_check_saved(wf__node *node) {
  if (node->released) return fail_released(node);
  for (uint32_t i = 0; i < node->saves; i++) WF__TRY(wf__saved_check_version(node, &node->saved[i]));
  return node->cls == &wf__copy_slices_class ? wf__node_check_saved(wf__copy_slices_inner(node)) : WF_OK;
}

/* ---- use ------------------------------------------------------------------------------------------------------------- */

static wf_status check_detached(const wf__saved *s) {
  WF__CHECK(
      !s->computed || s->is_output || s->meta->grad_fn, WF_RUNTIME,
      "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, please use "
      "out-of-place `.detach()` instead");
  return WF_OK;
}

/* The connectivity of the unpacked tensor matters only to whoever records on. */
static wf_status connect(wf_tensor *t, const wf__saved *s, wf__node *node) {
  if (wf__self.grad_disabled) return WF_OK;
  if (!s->is_output) {
    t->meta = wf__meta_retain(s->meta);
    return WF_OK;
  }
  wf__meta *meta = wf__meta_of(t);
  if (!meta) return wf__self.pending;
  meta->grad_fn = wf__node_retain(node);
  meta->output = s->output;
  return WF_OK;
}

wf_tensor *wf__saved_open(wf__saved *s, wf__node *node) {
  if (!s->storage && !s->checkpoint) return NULL;
  WF__TRY_OR(check_detached(s), NULL);
  wf_tensor *t;
  if (s->checkpoint) {
    t = wf__checkpoint_get(s);
  } else {
    WF__TRY_OR(wf__saved_check_version(node, s), NULL);
    t = wf__tensor_share(s->storage, s->version, (wf_dtype)s->dtype, &s->layout);
  }
  if (t && connect(t, s, node)) {
    wf__tensor_release(t);
    t = NULL;
  }
  return wf__give(t);
}

wf_tensor *wf__saved_get(wf__node *node, int slot) {
  if (!node->released) return wf__saved_open(&node->saved[slot], node);
  fail_released(node);
  return NULL;
}
