/* The cache of oneDNN's primitives. One lock, held for the search only; entries that are taken out are on no list. */
#include "exec/dnnl_cache.h"

#ifdef WF_HAVE_DNNL
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/host.h"
#include "exec/team.h"
#include "trace/trace.h"

#define MOST_ENTRIES 256
#define PACK_ALONE (1 << 20) /* bytes of weights up to which one thread packs faster than a team meets */
#define ALIGN 128
#define ROUND_UP(n) (((n) + ALIGN - 1) / ALIGN * ALIGN)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static wf__dnnl_entry *oldest, *newest;
static int kept;
static _Atomic int64_t made;

/* ---- the engine --------------------------------------------------------------------------------------------------------- */

static pthread_once_t engine_once = PTHREAD_ONCE_INIT;
static dnnl_engine_t engine;
static dnnl_primitive_attr_t attributes;

/* Both live as long as the process. Left NULL when memory is out: primitives then can't be made, and the plain loops run. */
static void make_engine(void) {
  if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success) engine = NULL;
  if (dnnl_primitive_attr_create(&attributes) != dnnl_success) attributes = NULL;
  if (attributes) dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
}

dnnl_engine_t wf__dnnl_engine(void) {
  pthread_once(&engine_once, make_engine);
  return attributes ? engine : NULL;
}

dnnl_primitive_attr_t wf__dnnl_attributes(void) {
  wf__dnnl_engine();
  return attributes;
}

/* ---- entries -------------------------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const wf__dnnl_key *key) {
  uint64_t h = 0x9e3779b97f4a7c15u;
  for (int i = 0; i < WF__DNNL_KEY_WORDS; i++) {
    h = (h ^ (uint64_t)key->word[i]) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return h;
}

static void clear_call(wf__dnnl_call *call) {
  for (int i = 0; i < call->args; i++) dnnl_memory_destroy(call->arg[i].memory);
  if (call->primitive) dnnl_primitive_destroy(call->primitive);
  *call = (wf__dnnl_call){.scratch = -1};
}

static void clear(wf__dnnl_entry *entry) {
  clear_call(&entry->work);
  clear_call(&entry->pack);
  if (entry->stream) dnnl_stream_destroy(entry->stream);
  entry->stream = NULL;
  entry->pack_bytes = entry->scratch_bytes = 0;
}

static void unlink_entry(wf__dnnl_entry *entry) {
  *(entry->older ? &entry->older->newer : &oldest) = entry->newer;
  *(entry->newer ? &entry->newer->older : &newest) = entry->older;
  entry->older = entry->newer = NULL;
  kept--;
}

static wf__dnnl_entry *find(const wf__dnnl_key *key, uint64_t hash) {
  for (wf__dnnl_entry *e = newest; e; e = e->older)
    if (e->hash == hash && !memcmp(&e->key, key, sizeof *key)) return e;
  return NULL;
}

wf__dnnl_entry *wf__dnnl_take(const wf__dnnl_key *key, wf__dnnl_make make, const wf_plan *plan) {
  uint64_t hash = hash_of(key);
  pthread_mutex_lock(&lock);
  wf__dnnl_entry *entry = find(key, hash);
  if (entry) unlink_entry(entry);
  pthread_mutex_unlock(&lock);
  if (entry) return entry;
  entry = wf__calloc(1, sizeof *entry);
  if (!entry) return NULL;
  entry->key = *key;
  entry->hash = hash;
  entry->work.scratch = entry->pack.scratch = -1;
  bool fine =
      wf__dnnl_engine() && dnnl_stream_create(&entry->stream, engine, dnnl_stream_default_flags) == dnnl_success;
  if (!fine) entry->stream = NULL;
  entry->declined = !fine || !make(entry, plan);
  if (entry->declined) clear(entry);
  return entry;
}

void wf__dnnl_return(wf__dnnl_entry *entry) {
  wf__dnnl_entry *excess = NULL;
  pthread_mutex_lock(&lock);
  entry->older = newest;
  *(newest ? &newest->newer : &oldest) = entry;
  newest = entry;
  if (++kept > MOST_ENTRIES) {
    excess = oldest;
    unlink_entry(excess);
  }
  pthread_mutex_unlock(&lock);
  if (!excess) return;
  clear(excess);
  wf__release(excess);
}

size_t wf__dnnl_workspace(const wf__dnnl_entry *entry) {
  if (!entry->pack_bytes && !entry->scratch_bytes) return 0;
  return ROUND_UP(entry->pack_bytes) + entry->scratch_bytes;
}

int wf__dnnl_kept(void) {
  pthread_mutex_lock(&lock);
  int n = kept;
  pthread_mutex_unlock(&lock);
  return n;
}

int64_t wf__dnnl_made(void) { return made; }

/* ---- making ----------------------------------------------------------------------------------------------------------------- */

bool wf__dnnl_add(wf__dnnl_call *call, int argument, wf__dnnl_const_layout layout) {
  dnnl_memory_t memory;
  if (call->args == WF__DNNL_ARGS || dnnl_memory_create(&memory, layout, engine, DNNL_MEMORY_NONE) != dnnl_success)
    return false;
  call->arg[call->args++] = (dnnl_exec_arg_t){argument, memory};
  return true;
}

/* Plain loops, a hundred times slower than the rest; the loops of kernel/ref/ aren't slower, and keep PyTorch's rules. */
static bool is_plain_loop(const_dnnl_primitive_desc_t desc) {
  const char *name = NULL;
  if (dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name) != dnnl_success || !name) return true;
  return !strncmp(name, "ref", 3);
}

static bool add_scratch(wf__dnnl_entry *entry, wf__dnnl_call *call, const_dnnl_primitive_desc_t desc) {
  wf__dnnl_const_layout scratch = dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
  size_t bytes = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
  if (!bytes) return true;
  call->scratch = call->args;
  if (bytes > entry->scratch_bytes) entry->scratch_bytes = bytes;
  return wf__dnnl_add(call, DNNL_ARG_SCRATCHPAD, scratch);
}

bool wf__dnnl_set_primitive(wf__dnnl_entry *entry, wf__dnnl_call *call, dnnl_primitive_desc_t desc) {
  bool packs = call == &entry->pack; /* for odd strides of weights a plain loop is good enough */
  bool fine = (packs || !is_plain_loop(desc)) && dnnl_primitive_create(&call->primitive, desc) == dnnl_success;
  if (!fine) call->primitive = NULL;
  if (fine) {
    made++;
    fine = add_scratch(entry, call, desc);
  }
  dnnl_primitive_desc_destroy(desc);
  return fine;
}

/* oneDNN settles the number of threads partly when a primitive is made: the same rule holds for making and running. */
static int pack_enter(const wf__dnnl_entry *entry) {
  int was = omp_get_max_threads();
  if (entry->pack_bytes <= PACK_ALONE) omp_set_num_threads(1);
  return was;
}

static bool make_pack(wf__dnnl_entry *entry, wf__dnnl_const_layout ours, wf__dnnl_const_layout theirs, bool into) {
  dnnl_primitive_desc_t desc;
  wf__dnnl_const_layout from = into ? ours : theirs, to = into ? theirs : ours;
  if (dnnl_reorder_primitive_desc_create(&desc, from, engine, to, engine, attributes) != dnnl_success) return false;
  /* argument 0 is ours, argument 1 theirs */
  return wf__dnnl_add(&entry->pack, into ? DNNL_ARG_FROM : DNNL_ARG_TO, ours) &&
         wf__dnnl_add(&entry->pack, into ? DNNL_ARG_TO : DNNL_ARG_FROM, theirs) &&
         wf__dnnl_set_primitive(entry, &entry->pack, desc);
}

bool wf__dnnl_set_pack(wf__dnnl_entry *entry, wf__dnnl_const_layout ours, wf__dnnl_const_layout theirs, bool into) {
  if (dnnl_memory_desc_equal(ours, theirs)) return true;
  entry->pack_bytes = dnnl_memory_desc_get_size(theirs);
  int team = pack_enter(entry);
  bool fine = make_pack(entry, ours, theirs, into);
  wf__team_leave(team);
  return fine;
}

/* ---- running ---------------------------------------------------------------------------------------------------------------- */

void wf__dnnl_point_weights(wf__dnnl_entry *entry, int index, void *weights, void *workspace) {
  if (!entry->pack.primitive) {
    wf__dnnl_point(&entry->work, index, weights);
    return;
  }
  wf__dnnl_point(&entry->pack, 0, weights);
  wf__dnnl_point(&entry->pack, 1, workspace);
  wf__dnnl_point(&entry->work, index, workspace);
}

static bool run(wf__dnnl_entry *entry, wf__dnnl_call *call, void *workspace) {
  if (call->scratch >= 0) wf__dnnl_point(call, call->scratch, (char *)workspace + ROUND_UP(entry->pack_bytes));
  return dnnl_primitive_execute(call->primitive, entry->stream, call->args, call->arg) == dnnl_success &&
         dnnl_stream_wait(entry->stream) == dnnl_success;
}

static bool pack(wf__dnnl_entry *entry, void *workspace) {
  int team = pack_enter(entry);
  bool fine = run(entry, &entry->pack, workspace);
  wf__team_leave(team);
  return fine;
}

bool wf__dnnl_run_pack(wf__dnnl_entry *entry, const wf_tag *tag, void *workspace) {
  if (!entry->pack.primitive) return true;
  if (!wf__tracing()) return pack(entry, workspace);
  int64_t start = wf_clock_ns();
  bool fine = pack(entry, workspace);
  wf_tag mine = *tag;
  mine.kind = WF_EVENT_PACK;
  mine.implicit = false;
  mine.bytes_read = mine.bytes_written = (int64_t)entry->pack_bytes;
  wf__trace_ran(&mine, tag->device, tag->stream, start, wf_clock_ns());
  return fine;
}

bool wf__dnnl_run(wf__dnnl_entry *entry, void *workspace) { return run(entry, &entry->work, workspace); }

#endif
