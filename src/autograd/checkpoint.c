/* Checkpoints: memory for time. While the function runs, operators record their nodes but keep none of the tensors that derivatives need; the
 * first derivative that asks runs the function once more and takes the tensors in the order in which they were to be saved.
 *
 * The function must do the same both times: the number of saved tensors and their dtypes and sizes are compared, inputs must not have changed,
 * random numbers repeat. What was computed again lasts for one use in one pass. */
#include "autograd/task.h"

#include <string.h>
#include "base/host.h"

typedef struct wf__checkpoint {
  atomic_int refs; /* slots, and the call while it runs */
  wf_tensors (*fn)(wf_tensors inputs, void *context);
  void *context;
  wf__saved *input; /* [inputs] */
  bool *given;      /* [inputs]: not NULL */
  int inputs;
  uint64_t random[2];
  uint32_t count;   /* tensors saved in the first run */
  bool again;       /* the second run is on */
  uint32_t reached; /* tensors saved in the second run so far */
  uint64_t pass;    /* for which pass kept[] was computed */
  wf__saved *kept;  /* [count] */
} wf__checkpoint;

static void checkpoint_release(wf__checkpoint *c) {
  if (atomic_fetch_sub(&c->refs, 1) != 1) return;
  for (int i = 0; i < c->inputs; i++) wf__saved_release(&c->input[i]);
  for (uint32_t i = 0; c->kept && i < c->count; i++) wf__saved_release(&c->kept[i]);
  wf__release(c->kept);
  wf__release(c->given);
  wf__release(c->input);
  wf__release(c);
}

static wf__checkpoint *recording(void) { return wf__self.modes ? ((wf__modes *)wf__self.modes)->recording : NULL; }

/* ---- slots --------------------------------------------------------------------------------------------------------------- */

bool wf__checkpoint_saves(wf__saved *slot, const wf_tensor *t) {
  wf__checkpoint *c = recording();
  if (!c->again) {
    atomic_fetch_add(&c->refs, 1);
    slot->checkpoint = c;
    slot->expected = c->count++;
    return true;
  }
  uint32_t i = c->reached++;
  if (i < c->count) {
    ((wf__modes *)wf__self.modes)->recording = NULL;
    wf__saved_keep(&c->kept[i], t, NULL, false, 0);
    ((wf__modes *)wf__self.modes)->recording = c;
  }
  return false;
}

void wf__checkpoint_forget(wf__saved *slot) {
  if (slot->checkpoint && slot->checkpoint->kept) wf__saved_release(&slot->checkpoint->kept[slot->expected]);
}

void wf__checkpoint_drop(wf__saved *slot) {
  wf__checkpoint_forget(slot);
  wf__checkpoint *c = slot->checkpoint;
  slot->checkpoint = NULL;
  checkpoint_release(c);
}

/* ---- the second run ---------------------------------------------------------------------------------------------------------- */

static wf_status run_with_inputs(wf__checkpoint *c) {
  wf_tensor **at = wf__calloc((size_t)c->inputs, sizeof *at);
  if (!at) return wf__self.pending;
  for (int i = 0; i < c->inputs && !wf__self.pending; i++)
    if (c->given[i]) at[i] = wf__saved_open(&c->input[i], NULL);
  wf__modes *m = wf__self.modes;
  wf__checkpoint *outer = m->recording;
  if (!wf__self.pending) {
    m->recording = c;
    c->again = true;
    c->reached = 0;
    c->fn((wf_tensors){at, c->inputs}, c->context);
    c->again = false;
    m->recording = outer;
  }
  wf__release(at);
  return wf__self.pending;
}

static wf_status run_again(wf__checkpoint *c, uint64_t pass) {
  if (!c->kept && !(c->kept = wf__calloc(c->count, sizeof *c->kept))) return wf__self.pending;
  for (uint32_t i = 0; i < c->count; i++) wf__saved_release(&c->kept[i]);
  uint64_t random[2] = {0, 0};
  if (wf__ops.random_get) {
    wf__ops.random_get(random);
    wf__ops.random_set(c->random);
  }
  bool was = wf_grad_set_enabled(true);
  wf_scope scope = wf_scope_begin();
  if (!wf__self.pending) run_with_inputs(c);
  wf_scope_end(scope, NULL);
  wf_grad_set_enabled(was);
  if (wf__ops.random_set) wf__ops.random_set(random);
  if (wf__self.pending) return wf__self.pending;
  WF__CHECK(
      c->reached == c->count, WF_RUNTIME,
      "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
      "Number of tensors saved during forward: %u\nNumber of tensors saved during recomputation: %u.",
      c->count, c->reached);
  c->pass = pass;
  return WF_OK;
}

static wf_status check_same(const wf__saved *slot, const wf__saved *kept) {
  char a[WF__DIMS_TEXT], b[WF__DIMS_TEXT];
  bool same = slot->dtype == kept->dtype && slot->layout.ndim == kept->layout.ndim &&
              !memcmp(slot->layout.size, kept->layout.size, (size_t)kept->layout.ndim * sizeof *kept->layout.size);
  WF__CHECK(
      same, WF_RUNTIME,
      "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward pass.\n"
      "tensor at position %u:\nsaved metadata: {'shape': torch.Size(%s), 'dtype': torch.%s}\n"
      "recomputed metadata: {'shape': torch.Size(%s), 'dtype': torch.%s}",
      slot->expected, wf__dims_text(wf__layout_sizes(&slot->layout), a), wf_dtype_name((wf_dtype)slot->dtype),
      wf__dims_text(wf__layout_sizes(&kept->layout), b), wf_dtype_name((wf_dtype)kept->dtype));
  return WF_OK;
}

wf_tensor *wf__checkpoint_get(wf__saved *slot) {
  wf__checkpoint *c = slot->checkpoint;
  const wf__task *task = wf__self.backward;
  uint64_t pass = task ? task->number : 0;
  bool there = c->kept && c->pass == pass && c->kept[slot->expected].storage;
  if (!there) WF__TRY_OR(run_again(c, pass), NULL);
  wf__saved *kept = &c->kept[slot->expected];
  WF__TRY_OR(check_same(slot, kept), NULL);
  WF__TRY_OR(wf__saved_check_version(NULL, kept), NULL);
  return wf__tensor_share(kept->storage, kept->version, (wf_dtype)kept->dtype, &kept->layout);
}

/* ---- the first run -------------------------------------------------------------------------------------------------------------- */

static wf__checkpoint *checkpoint_new(wf_tensors (*fn)(wf_tensors, void *), void *context, wf_tensors inputs) {
  wf__checkpoint *c = wf__calloc(1, sizeof *c);
  if (!c) return NULL;
  atomic_init(&c->refs, 1);
  c->fn = fn;
  c->context = context;
  c->input = wf__calloc((size_t)inputs.n, sizeof *c->input);
  c->given = wf__calloc((size_t)inputs.n, sizeof *c->given);
  if (!c->input || !c->given || !wf__modes_get()) {
    checkpoint_release(c);
    return NULL;
  }
  c->inputs = inputs.n;
  for (int i = 0; i < inputs.n; i++) {
    if (!inputs.at[i]) continue;
    c->given[i] = true;
    wf__grad_fn(inputs.at[i]); /* renews a view's history: the meta is what is kept */
    wf__saved_keep(&c->input[i], inputs.at[i], inputs.at[i]->meta, false, 0);
  }
  if (wf__ops.random_get) wf__ops.random_get(c->random);
  return c;
}

/* The function's results, taken out of the scope in which it ran. */
static wf_tensors keep_results(wf_scope scope, wf_tensors made) {
  wf_tensor **at = wf__self.pending ? NULL : wf__malloc((size_t)made.n * sizeof *at);
  for (int i = 0; at && i < made.n; i++) at[i] = wf_retain(made.at[i]);
  wf_scope_end(scope, NULL);
  return wf__give_list(at, made.n);
}

wf_tensors wf_checkpoint(wf_tensors (*fn)(wf_tensors inputs, void *context), void *context, wf_tensors inputs) {
  const wf_tensors none = {NULL, 0};
  WF__OP("checkpoint", none);
  if (!fn) return wf__fail(WF_TYPE, "checkpoint(): needs a function"), none;
  wf_scope scope = wf_scope_begin();
  if (wf__self.pending) return none;
  if (wf__self.grad_disabled) return keep_results(scope, fn(inputs, context));
  wf__checkpoint *c = checkpoint_new(fn, context, inputs);
  wf_tensors made = none;
  if (c && !wf__self.pending) {
    wf__modes *m = wf__self.modes;
    wf__checkpoint *outer = m->recording;
    m->recording = c;
    made = fn(inputs, context);
    m->recording = outer;
  }
  wf_tensors results = keep_results(scope, made);
  if (c) checkpoint_release(c);
  return results;
}
