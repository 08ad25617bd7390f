/* Nodes: one block each (node, edges, saved tensors, payload), taken from the thread's free lists by size class.
 *
 * Freeing never recurses: a node whose last reference goes while another is being freed waits in a list of the thread, so a chain of
 * millions of operators takes constant stack. Blocks may be freed on another thread than the one that made them. */
#include "autograd/meta.h"

#include <string.h>
#include "base/host.h"
#include "trace/trace.h"

#define CLASS_BYTES 64
#define KEPT_PER_CLASS 256

/* ---- blocks ---------------------------------------------------------------------------------------------------------- */

static size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

static size_t block_bytes(int edges, int saves, size_t payload_bytes) {
  size_t bytes = round_up(sizeof(wf__node) + (size_t)edges * sizeof(wf__edge), 16) + (size_t)saves * sizeof(wf__saved);
  return round_up(round_up(bytes, 16) + payload_bytes, CLASS_BYTES);
}

static wf__node *block_new(size_t bytes) {
  size_t c = bytes / CLASS_BYTES;
  wf__modes *m = wf__modes_get();
  if (!m) return NULL;
  if (c >= WF__NODE_CLASSES || !m->free[c]) return wf__malloc(bytes);
  wf__node *node = m->free[c];
  m->free[c] = node->next;
  m->count[c]--;
  return node;
}

void wf__node_block_free(wf__node *node) {
  wf__modes *m = wf__self.modes;
  size_t c = node->size_class;
  if (!m || !c || m->count[c] >= KEPT_PER_CLASS) {
    wf__release(node);
    return;
  }
  node->next = m->free[c];
  m->free[c] = node;
  m->count[c]++;
}

wf_status wf__node_reserve(int edges, size_t payload_bytes, int nodes) {
  size_t bytes = block_bytes(edges, 0, payload_bytes), c = bytes / CLASS_BYTES;
  wf__modes *m = wf__modes_get();
  if (!m) return wf__self.pending;
  while (c < WF__NODE_CLASSES && m->count[c] < nodes) {
    wf__node *node = wf__malloc(bytes);
    if (!node) return wf__self.pending;
    node->size_class = (uint16_t)c;
    wf__node_block_free(node);
  }
  return WF_OK;
}

/* ---- making ---------------------------------------------------------------------------------------------------------- */

wf__node *wf__node_raw(const wf__node_class *cls, int edges, int saves, size_t payload_bytes) {
  size_t bytes = block_bytes(edges, saves, payload_bytes);
  wf__node *node = block_new(bytes);
  if (!node) return NULL;
  char *at = (char *)node + sizeof *node;
  memset(node, 0, sizeof *node);
  node->cls = cls;
  atomic_init(&node->refs, 1);
  atomic_init(&node->task, NULL);
  node->size_class = (uint16_t)(bytes / CLASS_BYTES < WF__NODE_CLASSES ? bytes / CLASS_BYTES : 0);
  node->edges = (uint32_t)edges;
  node->saves = (uint32_t)saves;
  node->edge = (wf__edge *)at;
  memset(node->edge, 0, (size_t)edges * sizeof *node->edge);
  at = (char *)node + round_up(sizeof *node + (size_t)edges * sizeof(wf__edge), 16);
  node->saved = (wf__saved *)at;
  for (int i = 0; i < saves; i++) node->saved[i].storage = NULL, node->saved[i].checkpoint = NULL;
  at = (char *)node + round_up((size_t)(at - (char *)node) + (size_t)saves * sizeof(wf__saved), 16);
  node->payload = at;
  memset(at, 0, payload_bytes);
  node->sequence = ((wf__modes *)wf__self.modes)->sequence++;
  if ((wf__tracing() || wf__self.anomaly) && wf__self.frame) node->site = wf__self.frame->site;
  return node;
}

bool wf__needs_grad(const wf_tensor *const *inputs, int n) {
  if (wf__self.grad_disabled) return false;
  for (int i = 0; i < n; i++)
    if (wf__requires_grad(inputs[i])) return true;
  return false;
}

wf__node *wf__node_new(const wf__node_class *cls, const wf_tensor *const *inputs, int n, int saves,
                       size_t payload_bytes) {
  wf__node *node = wf__node_raw(cls, n, saves, payload_bytes);
  if (!node) return NULL;
  for (int i = 0; i < n; i++) {
    if (!wf__requires_grad(inputs[i])) continue;
    node->edge[i] = wf__edge_of(inputs[i]);
    if (WF__UNLIKELY(wf__self.pending)) {
      wf__node_release(node);
      return NULL;
    }
  }
  return node;
}

/* ---- freeing --------------------------------------------------------------------------------------------------------- */

wf__node *wf__node_retain(wf__node *node) {
  if (node) wf__count_up(&node->refs, 1);
  return node;
}

/* A node that kept nothing may be used again, as in PyTorch. */
void wf__node_release_saved(wf__node *node) {
  bool slices = node->cls == &wf__copy_slices_class, kept = slices || node->keeps_number;
  if (slices) wf__copy_slices_release_saved(node);
  for (uint32_t i = 0; i < node->saves; i++) {
    kept |= node->saved[i].storage || node->saved[i].checkpoint;
    wf__saved_release(&node->saved[i]);
  }
  node->released |= kept;
}

static void destroy(wf__node *node) {
  for (uint32_t i = 0; i < node->saves; i++) wf__saved_release(&node->saved[i]);
  if (node->cls->destroy) node->cls->destroy(node);
  for (uint32_t i = 0; i < node->edges; i++) wf__node_release(node->edge[i].node);
  wf__hooks_release(node->hooks);
  wf__release(node->more);
  wf__node_block_free(node);
}

/* Frees `first` and whatever loses its last reference by that. */
static void destroy_all(wf__modes *m, wf__node *first) {
  m->freeing = true;
  first->next = NULL;
  m->dying = first;
  while (m->dying) {
    wf__node *node = m->dying;
    m->dying = node->next;
    destroy(node);
  }
  m->freeing = false;
}

void wf__node_release(wf__node *node) {
  if (!node || !wf__count_down(&node->refs, 1)) return;
  if (wf__is_accumulator(node)) {
    wf__accumulator_idle(node);
    return;
  }
  wf__modes *m = wf__self.modes;
  if (m && m->freeing) {
    node->next = m->dying;
    m->dying = node;
  } else if (m) {
    destroy_all(m, node);
  } else { /* a thread that never recorded anything, or is ending: a list on the stack, no free lists */
    wf__modes here = {0};
    for (int c = 0; c < WF__NODE_CLASSES; c++) here.count[c] = KEPT_PER_CLASS;
    wf__self.modes = &here;
    destroy_all(&here, node);
    wf__self.modes = NULL;
  }
}

/* ---- outputs --------------------------------------------------------------------------------------------------------- */

wf_status wf__node_describe(wf__node *node, uint32_t output, const wf_tensor *t) {
  if (output > node->room) {
    uint32_t room = output + 1 < 8 ? 8 : output * 2;
    wf__result *more = wf__realloc(node->more, room * sizeof *more);
    if (!more) return wf__self.pending;
    memset(more + node->room, 0, (room - node->room) * sizeof *more);
    node->more = more;
    node->room = room;
  }
  wf__result *r = wf__node_result(node, output);
  r->device = wf__device_of(t);
  r->dtype = t->dtype;
  r->ndim = (uint8_t)t->layout.ndim;
  memcpy(r->size, t->layout.size, (size_t)t->layout.ndim * sizeof *r->size);
  if (output >= node->outputs) node->outputs = output + 1;
  return WF_OK;
}

/* A computed tensor that is changed in place leaves its meta, with the function that it had, to the nodes that saved it. If they saw the new one,
 * which may lead to them, they would keep each other alive. Without memory, or with hooks on it, the meta is shared on. */
static wf__meta *own_meta(wf_tensor *t, wf__meta *meta, const wf__node *node) {
  bool shared = atomic_load_explicit(&meta->refs, memory_order_relaxed) > 1;
  if (!t->base) atomic_store_explicit(&t->version->function, node->cls->name, memory_order_relaxed);
  if (!shared || meta->retains_grad || meta->hooks || meta->grad) return meta;
  wf__meta *own = wf__meta_new();
  if (!own) {
    wf_error_take();
    return meta;
  }
  t->meta = own;
  wf__meta_release(meta);
  return own;
}

wf_status wf__set_history(wf_tensor *t, wf__node *node, int output) {
  if (!t || !wf_dtype_is_float((wf_dtype)t->dtype)) return WF_OK;
  WF__TRY(wf__node_describe(node, (uint32_t)output, t));
  wf__meta *meta = wf__meta_of(t);
  if (!meta) return wf__self.pending;
  if (WF__UNLIKELY(meta->grad_fn != NULL)) meta = own_meta(t, meta, node);
  wf__node *old = meta->grad_fn;
  if (WF__UNLIKELY(meta->retains_grad)) wf__hooks_move_retain(meta, old, node, (uint32_t)output);
  meta->grad_fn = wf__node_retain(node);
  meta->output = (uint32_t)output;
  wf__node_release(old);
  return WF_OK;
}
