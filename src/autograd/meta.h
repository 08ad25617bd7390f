/* What autograd keeps of a tensor, shared by all handles of the same variable: nodes hold metas, never handles, so that freeing a
 * handle frees its memory unless a derivative needs it. */
#ifndef WF_AUTOGRAD_META_H
#define WF_AUTOGRAD_META_H

#include "autograd/node.h"

struct wf__meta {
  atomic_int refs;
  bool requires_grad; /* flag of a leaf */
  bool retains_grad;
  uint32_t output;   /* which output of grad_fn */
  wf__node *grad_fn; /* one reference; NULL for leaves */
  wf__node *_Atomic
      accumulator; /* of a leaf: owned, but it holds a reference of the meta only while something refers to it */
  wf_tensor *grad; /* one reference */
  struct wf__hooks *hooks; /* those registered through this tensor, wherever they hang */
};

wf__meta *wf__meta_new(void);
static inline wf__meta *wf__meta_retain(wf__meta *meta) {
  if (meta) wf__count_up(&meta->refs, 1);
  return meta;
}
void wf__meta_release(wf__meta *meta);
/* t's meta, made when missing. NULL on error. */
wf__meta *wf__meta_of(wf_tensor *t);
/* Where t's gradient goes; takes a reference of the node. node NULL: nowhere, or an error. */
wf__edge wf__edge_of(const wf_tensor *t);
/* The accumulator of a leaf, one reference taken. NULL on error. */
wf__node *wf__accumulator_of(const wf_tensor *leaf);
bool wf__is_accumulator(const wf__node *node);
/* Called by wf__node_release when nothing refers to an accumulator any more: its meta goes, the block stays for the next use. */
void wf__accumulator_idle(wf__node *node);
/* Adds `grad` (the caller's reference is taken over) to the leaf's gradient. may_steal: nobody else holds the handle. */
wf_status wf__accumulate(wf__node *node, wf_tensor *grad);
wf__meta *wf__accumulator_meta(const wf__node *node);

/* ---- node.c, saved.c: for the other files of this folder --------------------------------------------------------------- */

/* A node without inputs whose edges the caller fills in. */
wf__node *wf__node_raw(const wf__node_class *cls, int edges, int saves, size_t payload_bytes);
/* Makes sure that the next `nodes` calls of wf__node_raw of this form need no memory from outside. */
wf_status wf__node_reserve(int edges, size_t payload_bytes, int nodes);
extern const size_t wf__as_strided_payload;
/* Frees the block of a node that never held anything, or an accumulator's. */
void wf__node_block_free(wf__node *node);
/* Notes what output number `output` looks like. */
wf_status wf__node_describe(wf__node *node, uint32_t output, const wf_tensor *t);
/* Drops all saved tensors. */
void wf__node_release_saved(wf__node *node);
void wf__saved_keep(wf__saved *s, const wf_tensor *t, wf__meta *meta, bool is_output, int output);
/* The tensor, in the open scope, connected when recording is on. node (may be NULL): whose slot it is. */
wf_tensor *wf__saved_open(wf__saved *s, wf__node *node);
wf_status wf__saved_check_version(const wf__node *node, const wf__saved *s);
void wf__saved_release(wf__saved *saved);
/* The changed-variable and used-twice errors, without unpacking anything. */
wf_status wf__node_check_saved(wf__node *node);
/* Whether that would pass; no error record. */
bool wf__node_saved_usable(const wf__node *node);
/* "Exp" for ExpBackward0, "Sum1" for SumBackward1: as PyTorch's texts of changed variables and views name a function. */
#define WF__NODE_TEXT 96
const char *wf__node_short_name(const wf__node *node, char buffer[WF__NODE_TEXT]);

/* ---- hooks.c ------------------------------------------------------------------------------------------------------------ */

typedef enum wf__hook_kind { WF__HOOK_TENSOR, WF__HOOK_RETAIN } wf__hook_kind;
/* Runs the hooks of `node` on its gradients: grad[i] may be replaced (each entry one reference). */
wf_status wf__hooks_run(wf__node *node, wf_tensor **grad, uint32_t n);
void wf__hooks_release(struct wf__hooks *hooks);
/* A meta that retains grad goes, or its tensor gets another function: the hook leaves `from` and hangs on at `to` (may be NULL). */
void wf__hooks_move_retain(wf__meta *meta, wf__node *from, wf__node *to, uint32_t output);

/* ---- inplace.c, view_history.c ------------------------------------------------------------------------------------------ */

extern const wf__node_class wf__copy_slices_class;
extern const wf__node_class wf__as_strided_class;
void wf__copy_slices_release_saved(wf__node *node);
wf__node *wf__copy_slices_inner(const wf__node *node);
/* Renews the history of a view whose data changed behind it. Nothing for other tensors. */
wf_status wf__view_refresh(const wf_tensor *view);
/* PyTorch's refusal of a view of that creation kind; `indirect`: its base was changed. */
wf_status wf__view_refuse(const wf_tensor *view, bool indirect);

/* ---- modes.c ------------------------------------------------------------------------------------------------------------ */

/* What autograd keeps of a thread, in wf__self.modes. */
#define WF__NODE_CLASSES 64
typedef struct wf__modes {
  uint64_t sequence;
  wf__node *dying; /* nodes whose last reference went, while one is being freed */
  bool freeing;
  struct wf__checkpoint *recording; /* the innermost checkpoint whose function runs */
  wf__node *free[WF__NODE_CLASSES];
  uint16_t count[WF__NODE_CLASSES];
} wf__modes;
/* NULL on error. */
wf__modes *wf__modes_get(void);

/* ---- engine.c, graph_task.c ---------------------------------------------------------------------------------------------- */

/* Gradients wanted instead of accumulation: the output-th gradient of node, found in *result. */
typedef struct wf__capture {
  wf__node *node;
  uint32_t output;
  wf_tensor *result;
} wf__capture;
/* Runs the graph from the roots. roots[i] and grads[i] are borrowed. captures may be NULL: accumulate into leaves. */
wf_status wf__engine_run(const wf__edge *roots, wf_tensor *const *grads, int n, wf__capture *captures, int captures_n,
                         bool retain_graph, bool create_graph);

/* ---- checkpoint.c --------------------------------------------------------------------------------------------------------- */

/* While a checkpoint's function runs: takes note of a tensor to be saved and returns true when it need not be kept. */
bool wf__checkpoint_saves(wf__saved *slot, const wf_tensor *t);
/* The tensor of such a slot, computed again when it isn't there yet; the caller's reference. NULL on error. */
wf_tensor *wf__checkpoint_get(wf__saved *slot);
/* The slot needs its tensor no longer: lets go of what was computed again, and of the checkpoint. */
void wf__checkpoint_drop(wf__saved *slot);
/* The same after one use by a pass that keeps the graph. */
void wf__checkpoint_forget(wf__saved *slot);

#endif
