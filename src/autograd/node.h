/* Graph nodes, what operators record, and the rules of changing tensors in place. Public face: weft/autograd.h.
 *
 * A derivative is a wf__node_class beside its operator in op/. The engine opens a scope and sets gradient mode to create_graph around
 * each apply, so a derivative is written with public operators and frees nothing. */
#ifndef WF_AUTOGRAD_NODE_H
#define WF_AUTOGRAD_NODE_H

#include <weft/autograd.h>
#include "tensor/tensor.h"

typedef struct wf__node wf__node;

/* Where a gradient goes: the input-th gradient of `node`. node NULL: nowhere. */
typedef struct wf__edge {
  wf__node *node;
  uint32_t input;
} wf__edge;

typedef struct wf__node_class {
  const char *name; /* PyTorch's, "MulBackward0" */
  /* grad[i]: gradient of the i-th output, NULL for none. Fills out[i] for each edge i that wf__node_wants; out[] comes in as NULLs and
   * NULL means no gradient. Results live in the engine's scope. */
  wf_status (*apply)(wf__node *node, wf_tensor *const *grad, wf_tensor **out);
  void (*destroy)(wf__node *node); /* frees what the payload owns; may be NULL */
} wf__node_class;

/* A tensor kept for backward: layout, storage, version and connectivity, no handle. */
typedef struct wf__saved {
  wf__layout layout;
  wf__storage *storage; /* NULL: nothing saved, or released */
  wf__version *version;
  wf__meta *meta;                    /* of an input; an output gets its node back at wf__saved_get */
  struct wf__checkpoint *checkpoint; /* the tensor isn't kept but computed again; `expected` is its number there */
  uint32_t expected;
  uint32_t output; /* which output of the node, when is_output */
  uint8_t dtype;
  bool is_output;
  bool computed; /* an input that had a gradient function */
  bool is_view;  /* a tracked view: its function is renewed when its base changes */
} wf__saved;

/* What the gradient of one output must look like: as the output. */
typedef struct wf__result {
  wf__device *device;
  uint8_t dtype;
  uint8_t ndim;
  int64_t size[WF_MAX_DIMS];
} wf__result;

struct wf__node {
  const wf__node_class *cls;
  atomic_int refs;
  uint32_t outputs; /* how many of results[] are known */
  uint32_t edges, saves;
  uint16_t size_class; /* node.c: which free list the block returns to */
  bool released;       /* saved tensors are gone */
  bool keeps_number;   /* a number stands where PyTorch saves a tensor: counts as saved when the graph is used twice */
  uint64_t sequence;   /* later operators have higher numbers; leaves have the maximum */
  const void *site;    /* the user's line, while tracing or in anomaly mode */
  struct wf__hooks *hooks;
  wf__edge *edge;   /* [edges] */
  wf__saved *saved; /* [saves] */
  void *payload;    /* numbers that the derivative needs; payload_bytes, zeroed */
  wf__result first; /* of output 0 */
  wf__result *more; /* of outputs 1 …; room for `room` */
  uint32_t room;
  uint32_t slot;                 /* engine: place in `task`'s list */
  struct wf__task *_Atomic task; /* engine: the pass that has claimed the node */
  wf__node *next;                /* node.c: list of nodes to be freed */
};

static inline wf__result *wf__node_result(wf__node *node, uint32_t output) {
  return output ? &node->more[output - 1] : &node->first;
}

/* ---- connectivity of tensors ----------------------------------------------------------------------------------------- */

/* Whether a gradient is wanted for t: a flagged leaf, a computed tensor, or a view of a base that is one. NULL: no. */
bool wf__requires_grad(const wf_tensor *t);
/* The function that computed t, its view history renewed first; borrowed; NULL for leaves, or with an error record. */
wf__node *wf__grad_fn(const wf_tensor *t);

/* ---- recording ----------------------------------------------------------------------------------------------------- */

/* Whether wf__needs_grad can be true of self: two loads. */
static inline bool wf__may_need_grad(const wf_tensor *self) {
  return !wf__self.grad_disabled && (self->meta || (self->base && self->base->meta));
}
/* Whether gradient mode is on and one of the inputs (NULLs allowed) requires grad. */
bool wf__needs_grad(const wf_tensor *const *inputs, int n);
/* A node whose edge i leads to inputs[i] (none for NULLs and inputs without grad), with room for `saves` saved tensors and a zeroed payload.
 * One reference, the caller's. NULL on error. */
wf__node *wf__node_new(const wf__node_class *cls, const wf_tensor *const *inputs, int n, int saves,
                       size_t payload_bytes);
wf__node *wf__node_retain(wf__node *node);
void wf__node_release(wf__node *node);
/* Keeps an input (or any tensor) in slot `slot`. */
void wf__save(wf__node *node, int slot, const wf_tensor *t);
/* Keeps the node's own output number `output`; call after wf__set_history. */
void wf__save_output(wf__node *node, int slot, const wf_tensor *t, int output);
/* Makes `node` the gradient function of result t (takes no reference over; call for each output, then release yours). Only float
 * results get one. */
wf_status wf__set_history(wf_tensor *t, wf__node *node, int output);

/* ---- in derivatives -------------------------------------------------------------------------------------------------- */

static inline bool wf__node_wants(const wf__node *node, int edge) {
  return (uint32_t)edge < node->edges && node->edge[edge].node != NULL;
}
/* The saved tensor, in the engine's scope; NULL with an error record when it was changed or released, NULL without one when the slot
 * is empty. */
wf_tensor *wf__saved_get(wf__node *node, int slot);

/* ---- changing in place ------------------------------------------------------------------------------------------------ */

/* Before: refuses what PyTorch refuses (leaf that requires grad, view of one, pieces of split, …) given all inputs of the operator,
 * self among them. Also sets memory aside, so that wf__inplace_done can't fail once the data is changed. */
wf_status wf__inplace_check(const wf_tensor *self, const wf_tensor *const *inputs, int n);
/* Whether that has nothing to say or to do: no input can need a gradient, and self isn't one that others share. */
static inline bool wf__inplace_is_free(const wf_tensor *self, const wf_tensor *const *inputs, int n) {
  if ((self->base ? self->base : self)->creation == WF__VIEW_FROZEN) return false;
  for (int i = 0; i < n; i++)
    if (inputs[i] && wf__may_need_grad(inputs[i])) return false;
  return true;
}
/* After the data was written: version +1; node (may be NULL: nothing recorded) becomes self's history, by way of CopySlices when self is a
 * view. Takes no reference over. */
wf_status wf__inplace_done(wf_tensor *self, wf__node *node);

/* ---- views ------------------------------------------------------------------------------------------------------------ */

/* Marks `view` as a tracked view of `self` (of its base when self is a view) and, when grads are recorded, sets `node` as its history.
 * creation: WF__VIEW_DEFAULT or WF__VIEW_MULTI_OUTPUT; NO_GRAD is derived from the mode. */
wf_status wf__view_made(wf_tensor *view, const wf_tensor *self, wf__creation creation, wf__node *node, int output);
/* A node with the derivative of a view by geometry: of what `view` shows of self's storage, self being laid out as it is now. Its name is
 * AsStridedBackward0, 1 for the form in place. NULL on error. */
wf__node *wf__node_as_strided(const wf_tensor *self, const wf__layout *view, bool in_place);

/* ---- what the engine needs from op/, registered downward --------------------------------------------------------------- */

typedef struct wf__autograd_ops {
  wf_tensor *(*add)(const wf_tensor *a, const wf_tensor *b);
  wf_tensor *(*sum_to)(const wf_tensor *t, wf_dims size); /* t's own when the size fits already */
  wf_tensor *(*clone)(const wf_tensor *t);
  wf_tensor *(*ones_like)(const wf_tensor *t);
  wf_tensor *(*zeros)(wf__device *device, wf_dtype dtype, wf_dims size);
  wf_tensor *(*to)(const wf_tensor *t, wf_dtype dtype, wf__device *device);
  wf_tensor *(*as_strided)(const wf_tensor *t, wf_dims size, wf_dims stride, int64_t offset);
  wf_status (*add_)(wf_tensor *self, const wf_tensor *other);
  wf_status (*div_)(wf_tensor *self, const wf_tensor *other);
  wf_status (*copy_)(wf_tensor *self, const wf_tensor *source);
  bool (*has_nan)(const wf_tensor *t);
  void (*random_get)(uint64_t state[2]); /* default generator; NULL slots: no generator yet */
  void (*random_set)(const uint64_t state[2]);
} wf__autograd_ops;
void wf__autograd_register(const wf__autograd_ops *ops);
/* What was registered, for derivatives in op/ as well. */
extern wf__autograd_ops wf__ops;

#endif
