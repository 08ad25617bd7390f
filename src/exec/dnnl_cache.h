/* oneDNN's primitives, kept for reuse. Making one takes milliseconds (it compiles code), finding it a search by a short key.
 *
 * An entry is taken out for the time of one use, because its memory objects point at one caller's tensors then: two threads that run
 * the same primitive at once get an entry each. Unused entries go, least recently used first, when there are too many. What oneDNN has no
 * good implementation for is remembered too, as an entry that is `declined`. */
#ifndef WF_EXEC_DNNL_CACHE_H
#define WF_EXEC_DNNL_CACHE_H

#ifdef WF_HAVE_DNNL

#include <weft/sys/plan.h>

#include "exec/dnnl_version.h"

#define WF__DNNL_KEY_WORDS 48
#define WF__DNNL_ARGS 8
#define WF__DNNL_CALLS 2

/* Everything that decides the primitives: family, operator, sizes, formats, threads. Unused words are 0. */
typedef struct wf__dnnl_key {
  int64_t word[WF__DNNL_KEY_WORDS];
} wf__dnnl_key;

/* One primitive with its arguments, the scratch memory last. */
typedef struct wf__dnnl_call {
  dnnl_primitive_t primitive; /* NULL: nothing to run */
  dnnl_exec_arg_t arg[WF__DNNL_ARGS];
  int args;
  int scratch; /* index in arg[], -1 none */
} wf__dnnl_call;

typedef struct wf__dnnl_entry {
  wf__dnnl_key key;
  uint64_t hash;
  struct wf__dnnl_entry *older, *newer; /* by last use; neither while taken out */
  bool declined;                        /* oneDNN doesn't do this, or only by its slow reference code */
  dnnl_stream_t stream;
  wf__dnnl_call work;
  wf__dnnl_call pack;   /* between the caller's layout of the weights and oneDNN's; no primitive: they are the same */
  size_t pack_bytes;    /* of the packed form, which lies at the start of the workspace */
  size_t scratch_bytes; /* behind it, at a multiple of 128 */
} wf__dnnl_entry;

/* Fills a fresh entry. false: oneDNN doesn't do it, the caller's loops must. */
typedef bool (*wf__dnnl_make)(wf__dnnl_entry *entry, const wf_plan *plan);

/* The entry for `key`, made at first use. NULL: not even host memory for an entry. Give it back with wf__dnnl_return. */
wf__dnnl_entry *wf__dnnl_take(const wf__dnnl_key *key, wf__dnnl_make make, const wf_plan *plan);
void wf__dnnl_return(wf__dnnl_entry *entry);
/* Bytes that the entry wants to be given. */
size_t wf__dnnl_workspace(const wf__dnnl_entry *entry);

/* Entries that are kept, and primitives made since the process began: for tests. */
int wf__dnnl_kept(void);
int64_t wf__dnnl_made(void);

/* ---- for the functions that make entries ------------------------------------------------------------------------------ */

dnnl_engine_t wf__dnnl_engine(void);
/* Attributes of all primitives: scratch memory is the caller's. */
dnnl_primitive_attr_t wf__dnnl_attributes(void);
/* Makes the primitive that `desc` describes, unless its implementation is one of oneDNN's plain loops. Takes desc over. */
bool wf__dnnl_set_primitive(wf__dnnl_entry *entry, wf__dnnl_call *call, dnnl_primitive_desc_t desc);
/* Adds an argument, without data yet. */
bool wf__dnnl_add(wf__dnnl_call *call, int argument, wf__dnnl_const_layout layout);
/* Sets up packing between the layouts (into: the caller's to oneDNN's), or none when they are equal. */
bool wf__dnnl_set_pack(wf__dnnl_entry *entry, wf__dnnl_const_layout ours, wf__dnnl_const_layout theirs, bool into);

/* ---- for the functions that run them ---------------------------------------------------------------------------------- */

static inline void wf__dnnl_point(wf__dnnl_call *call, int index, void *data) {
  dnnl_memory_set_data_handle(call->arg[index].memory, data);
}
/* Points argument `index` of the work at the weights, packed or not, and the packing at both. */
void wf__dnnl_point_weights(wf__dnnl_entry *entry, int index, void *weights, void *workspace);
/* Runs the packing, recorded as an event of kind PACK with the rest of `tag`. */
bool wf__dnnl_run_pack(wf__dnnl_entry *entry, const wf_tag *tag, void *workspace);
bool wf__dnnl_run(wf__dnnl_entry *entry, void *workspace);

#endif
#endif
