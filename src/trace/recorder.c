/* The writing side of the event stream: per-thread buffers, the level, emitting. Off, nobody gets here. On, an event costs a hash
 * and a probe of the thread's own table, no lock and no shared line; memory is asked for once in hundreds of entries. */
#define _GNU_SOURCE
#include "trace/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/host.h"

#define LIMIT_DEFAULT ((int64_t)1 << 20)
#define ROWS_MAX 65536
#define SLOTS_FIRST 1024
#define NAMES_MAX 1024

_Atomic int wf__trace_level_now;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the registry, and starts */
static wf__recorder *registry;
static uint64_t generation = 1;
static int64_t limit = LIMIT_DEFAULT;
static int64_t claimed; /* room for events in the chunks that this generation uses */
static wf_ledger_row other[WF_EVENT_KINDS][2];
static int64_t lost, lost_copies;
static int64_t started_ns, stopped_ns; /* stopped 0: it runs */
static const char *thread_names[NAMES_MAX];

/* One writer: a plain read, and a store that readers see whole. */
#define BUMP(field, amount) __atomic_store_n(&(field), (field) + (amount), __ATOMIC_RELAXED)
#define SHARED_BUMP(field, amount) __atomic_fetch_add(&(field), (amount), __ATOMIC_RELAXED)

uint64_t wf__recorder_generation(void) { return __atomic_load_n(&generation, __ATOMIC_ACQUIRE); }
void wf__recorders_lock(void) { pthread_mutex_lock(&lock); }
void wf__recorders_unlock(void) { pthread_mutex_unlock(&lock); }
wf_ledger_row *wf__recorders_other(wf_event_kind kind, bool implicit) { return &other[kind][implicit]; }
int64_t wf__recorders_lost(void) { return __atomic_load_n(&lost, __ATOMIC_RELAXED); }
int64_t wf__recorders_lost_copies(void) { return __atomic_load_n(&lost_copies, __ATOMIC_RELAXED); }

wf__recorder *wf__recorders_next(wf__recorder *after) {
  wf__recorder *r = after ? after->next : registry;
  while (r && __atomic_load_n(&r->generation, __ATOMIC_ACQUIRE) != generation) r = r->next;
  return r;
}

/* ---- a thread's buffer ------------------------------------------------------------------------------------------ */

/* Asked while the thread lives: afterwards nobody knows. A thread that was never named carries the program's name. */
static void note_thread_name(void) {
  char own[16] = "";
  uint32_t number = wf__thread_number();
  if (number >= NAMES_MAX || __atomic_load_n(&thread_names[number], __ATOMIC_RELAXED)) return;
  const char *name = "main";
  if (syscall(SYS_gettid) != getpid()) {
    if (pthread_getname_np(pthread_self(), own, sizeof own) || !strncmp(own, program_invocation_short_name, 15)) return;
    name = wf__intern(own);
  }
  __atomic_store_n(&thread_names[number], name, __ATOMIC_RELEASE);
}

const char *wf_trace_thread_name(uint32_t thread) {
  const char *name = thread < NAMES_MAX ? __atomic_load_n(&thread_names[thread], __ATOMIC_ACQUIRE) : NULL;
  return name ? name : "";
}

/* What a thread recorded stays when it ends: the next new thread goes on in the same buffer, so that their number is that of
 * threads alive at once. Events and rows don't care: events name their thread, rows have none. */
static void disown(void *recorder) {
  wf__recorder *r = recorder;
  pthread_mutex_lock(&lock);
  r->owned = false;
  pthread_mutex_unlock(&lock);
}

static wf__recorder *adopt(void) {
  pthread_mutex_lock(&lock);
  wf__recorder *r = registry;
  while (r && r->owned) r = r->next;
  if (!r) {
    r = wf__segment_get(
        sizeof *r); /* not wf__malloc: running out here is no error of the operator that is being recorded */
    if (r) {
      r->next = registry;
      registry = r;
    }
  }
  if (r) r->owned = true;
  pthread_mutex_unlock(&lock);
  if (!r) return NULL;
  wf__self.trace = r;
  wf__thread_at_exit(&wf__self.trace, disown);
  note_thread_name();
  return r;
}

/* Empties the buffer for a new generation; its first chunks stay. */
static void empty(wf__recorder *r, uint64_t now) {
  while (r->rows && r->rows->next) {
    wf__row_chunk *c = r->rows->next;
    r->rows->next = c->next;
    wf__segment_give(c, sizeof *c);
  }
  while (r->events) {
    wf__event_chunk *c = r->events;
    r->events = c->next;
    wf__segment_give(c, sizeof *c);
  }
  if (r->rows) r->rows->used = 0;
  r->last_rows = r->rows;
  r->last_events = NULL;
  if (r->slots) memset(r->slots, 0, r->slot_count * sizeof *r->slots);
  r->row_count = 0;
  r->dropped = r->implicit_copies = 0;
  __atomic_store_n(&r->generation, now, __ATOMIC_RELEASE);
}

wf__recorder *wf__recorder_now(void) {
  wf__recorder *r = wf__self.trace;
  if (WF__UNLIKELY(!r) && !(r = adopt())) return NULL;
  uint64_t now = wf__recorder_generation();
  if (WF__UNLIKELY(r->generation != now)) empty(r, now);
  return r;
}

/* ---- the ledger ------------------------------------------------------------------------------------------------- */

/* Texts are compared as pointers here; rows of equal texts at two places meet when the ledger is read. */
static bool same_key(const wf_ledger_row *row, const wf_ledger_row *e) {
  return row->site == e->site && row->op == e->op && row->module == e->module && row->zone == e->zone &&
         row->kind == e->kind && row->implicit == e->implicit && row->device.type == e->device.type &&
         row->device.index == e->device.index;
}

static uint32_t key_hash(const wf_ledger_row *key) {
  uint64_t h = (uintptr_t)key->site;
  h = (h ^ (uintptr_t)key->op) * 0x9e3779b97f4a7c15u;
  h = (h ^ (h >> 29) ^ (uintptr_t)key->module) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 31) ^ (uintptr_t)key->zone) * 0x9e3779b97f4a7c15u;
  h ^= ((uint64_t)key->kind << 40) ^ ((uint64_t)key->implicit << 48) ^ ((uint64_t)key->device.type << 52) ^
       ((uint64_t)(unsigned)key->device.index << 56);
  h = (h ^ (h >> 32)) * 0x94d049bb133111ebu;
  return (uint32_t)(h >> 32);
}

static void put_slot(wf_ledger_row **slots, uint32_t count, wf_ledger_row *row) {
  uint32_t i = key_hash(row) & (count - 1);
  while (slots[i]) i = (i + 1) & (count - 1);
  slots[i] = row;
}

/* Room for one more row in the table, at most half full. */
static bool grow_slots(wf__recorder *r) {
  if (r->row_count < r->slot_count / 2) return true;
  uint32_t count = r->slot_count ? 2 * r->slot_count : SLOTS_FIRST;
  wf_ledger_row **slots = wf__segment_get(count * sizeof *slots);
  if (!slots) return false;
  for (uint32_t i = 0; i < r->slot_count; i++)
    if (r->slots[i]) put_slot(slots, count, r->slots[i]);
  wf__segment_give(r->slots, r->slot_count * sizeof *slots);
  r->slots = slots;
  r->slot_count = count;
  return true;
}

static wf_ledger_row *new_row(wf__recorder *r, const wf_ledger_row *key) {
  if (r->row_count >= ROWS_MAX || !grow_slots(r)) return NULL;
  wf__row_chunk *c = r->last_rows;
  if (!c || c->used == WF__ROWS_PER_CHUNK) {
    wf__row_chunk *fresh = wf__segment_get(sizeof *fresh);
    if (!fresh) return NULL;
    __atomic_store_n(c ? &c->next : &r->rows, fresh, __ATOMIC_RELEASE);
    r->last_rows = c = fresh;
  }
  wf_ledger_row *row = &c->row[c->used];
  *row = *key;
  put_slot(r->slots, r->slot_count, row);
  r->row_count++;
  __atomic_store_n(&c->used, c->used + 1, __ATOMIC_RELEASE);
  return row;
}

static wf_ledger_row *row_of(wf__recorder *r, const wf_trace_event *e) {
  wf_ledger_row key = {.kind = e->kind,
                       .implicit = e->implicit,
                       .device = e->device,
                       .op = e->op,
                       .module = e->module,
                       .zone = e->zone,
                       .site = e->site};
  if (r->slot_count) {
    uint32_t i = key_hash(&key) & (r->slot_count - 1);
    for (; r->slots[i]; i = (i + 1) & (r->slot_count - 1))
      if (same_key(r->slots[i], &key)) return r->slots[i];
  }
  return new_row(r, &key);
}

static void count_elsewhere(const wf_trace_event *e) {
  wf_ledger_row *row = &other[e->kind][e->implicit];
  SHARED_BUMP(row->count, 1);
  SHARED_BUMP(row->bytes_read, e->bytes_read);
  SHARED_BUMP(row->bytes_written, e->bytes_written);
  SHARED_BUMP(row->ns, e->end_ns - e->start_ns);
}

static void count(wf__recorder *r, const wf_trace_event *e) {
  wf_ledger_row *row = row_of(r, e);
  if (WF__UNLIKELY(!row)) {
    count_elsewhere(e);
    return;
  }
  BUMP(row->count, 1);
  BUMP(row->bytes_read, e->bytes_read);
  BUMP(row->bytes_written, e->bytes_written);
  BUMP(row->ns, e->end_ns - e->start_ns);
}

/* ---- single events ---------------------------------------------------------------------------------------------- */

static wf__event_chunk *event_room(wf__recorder *r) {
  wf__event_chunk *c = r->last_events;
  if (WF__LIKELY(c && c->used < WF__EVENTS_PER_CHUNK)) return c;
  if (SHARED_BUMP(claimed, WF__EVENTS_PER_CHUNK) >= __atomic_load_n(&limit, __ATOMIC_RELAXED)) {
    SHARED_BUMP(claimed, -WF__EVENTS_PER_CHUNK);
    return NULL;
  }
  wf__event_chunk *fresh = wf__segment_get(sizeof *fresh);
  if (!fresh) return NULL;
  __atomic_store_n(c ? &c->next : &r->events, fresh, __ATOMIC_RELEASE);
  return r->last_events = fresh;
}

static void keep(wf__recorder *r, const wf_trace_event *e) {
  wf__event_chunk *c = event_room(r);
  if (!c) {
    BUMP(r->dropped, 1);
    return;
  }
  c->event[c->used] = *e;
  __atomic_store_n(&c->used, c->used + 1, __ATOMIC_RELEASE);
}

void wf__trace_emit(const wf_trace_event *event) {
  int level = atomic_load_explicit(&wf__trace_level_now, memory_order_relaxed);
  if (!level || (unsigned)event->kind >= WF_EVENT_KINDS) return;
  wf_trace_event e = *event;
  if (!e.op) e.op = "";
  if (!e.module) e.module = "";
  if (!e.zone) e.zone = "";
  bool copy = e.implicit && (e.kind == WF_EVENT_COPY || e.kind == WF_EVENT_CAST) && e.bytes_written > 0;
  wf__recorder *r = wf__recorder_now();
  if (WF__UNLIKELY(!r)) {
    count_elsewhere(&e);
    if (copy) SHARED_BUMP(lost_copies, 1);
    if (level == WF_TRACE_FULL) SHARED_BUMP(lost, 1);
    return;
  }
  if (!e.thread) e.thread = wf__thread_number();
  count(r, &e);
  if (copy) BUMP(r->implicit_copies, 1);
  if (level == WF_TRACE_FULL) keep(r, &e);
}

/* ---- start and stop --------------------------------------------------------------------------------------------- */

wf_status wf_trace_start(wf_trace_level level) {
  WF__OP("trace_start", wf__self.pending);
  WF__CHECK((unsigned)level <= WF_TRACE_FULL, WF_VALUE, "trace level must be 0 (off), 1 (ledger) or 2 (full), got %d",
            (int)level);
  pthread_mutex_lock(&lock);
  atomic_store(&wf__trace_level_now, WF_TRACE_OFF);
  uint64_t now = generation + 1;
  for (wf__recorder *r = registry; r; r = r->next)
    if (!r->owned) empty(r, now); /* buffers of ended threads: nobody else would */
  memset(other, 0, sizeof other);
  for (int k = 0; k < WF_EVENT_KINDS; k++)
    for (int i = 0; i < 2; i++) {
      other[k][i].kind = (wf_event_kind)k;
      other[k][i].implicit = i;
      other[k][i].op = "(other)";
      other[k][i].module = other[k][i].zone = "";
    }
  __atomic_store_n(&lost, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&lost_copies, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&claimed, 0, __ATOMIC_RELAXED);
  started_ns = wf_clock_ns();
  stopped_ns = level == WF_TRACE_OFF ? started_ns : 0;
  __atomic_store_n(&generation, now, __ATOMIC_RELEASE);
  atomic_store(&wf__trace_level_now, (int)level);
  pthread_mutex_unlock(&lock);
  return WF_OK;
}

void wf_trace_stop(void) {
  pthread_mutex_lock(&lock);
  if (atomic_exchange(&wf__trace_level_now, WF_TRACE_OFF) != WF_TRACE_OFF) stopped_ns = wf_clock_ns();
  pthread_mutex_unlock(&lock);
}

void wf_trace_span(int64_t *start_ns, int64_t *end_ns) {
  pthread_mutex_lock(&lock);
  *start_ns = started_ns;
  *end_ns = started_ns && !stopped_ns ? wf_clock_ns() : stopped_ns;
  pthread_mutex_unlock(&lock);
}

wf_status wf_trace_set_limit(int64_t events) {
  WF__OP("trace_set_limit", wf__self.pending);
  WF__CHECK(events >= 1, WF_VALUE, "a recording must keep at least 1 event, got a limit of %lld", (long long)events);
  __atomic_store_n(&limit, events, __ATOMIC_RELAXED);
  return WF_OK;
}
