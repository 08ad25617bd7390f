/* Strings that stay: one copy of each text in the process, never freed. Finding one takes no lock: slots are only ever filled, and
 * a larger table is published whole while the old one stays for those who still read it (all of them together are as large as the
 * newest). */
#include <pthread.h>
#include <string.h>

#include "base/host.h"
#include "trace/trace.h"

#define FIRST_SLOTS 512
#define ARENA_BYTES ((size_t)16 << 10)

typedef struct table {
  struct table *older; /* keeps it reachable */
  uint32_t slots, used;
  const char *at[];
} table;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static table *newest;
static char *arena;
static size_t arena_left;

static uint32_t hash(const char *text) {
  uint32_t h = 2166136261u;
  for (; *text; text++) h = (h ^ (unsigned char)*text) * 16777619u;
  return h ^ (h >> 15);
}

/* The slot that holds the text, or the empty one where it belongs. */
static const char **slot_of(table *t, const char *text, uint32_t h) {
  for (uint32_t i = h & (t->slots - 1);; i = (i + 1) & (t->slots - 1)) {
    const char *have = __atomic_load_n(&t->at[i], __ATOMIC_ACQUIRE);
    if (!have || !strcmp(have, text)) return &t->at[i];
  }
}

static table *grow(table *old) {
  uint32_t slots = old ? 2 * old->slots : FIRST_SLOTS;
  table *t = wf__segment_get(sizeof *t + slots * sizeof *t->at);
  if (!t) return NULL;
  t->older = old;
  t->slots = slots;
  for (uint32_t i = 0; old && i < old->slots; i++)
    if (old->at[i]) *slot_of(t, old->at[i], hash(old->at[i])) = old->at[i];
  t->used = old ? old->used : 0;
  __atomic_store_n(&newest, t, __ATOMIC_RELEASE);
  return t;
}

static const char *keep(const char *text) {
  size_t bytes = strlen(text) + 1;
  if (bytes > arena_left) {
    size_t room = bytes > ARENA_BYTES ? bytes : ARENA_BYTES;
    char *fresh = wf__segment_get(room);
    if (!fresh) return NULL;
    arena = fresh;
    arena_left = room;
  }
  char *copy = memcpy(arena, text, bytes);
  arena += bytes;
  arena_left -= bytes;
  return copy;
}

const char *wf__intern(const char *text) {
  uint32_t h = hash(text);
  table *t = __atomic_load_n(&newest, __ATOMIC_ACQUIRE);
  const char *have = t ? __atomic_load_n(slot_of(t, text, h), __ATOMIC_ACQUIRE) : NULL;
  if (have) return have;
  pthread_mutex_lock(&lock);
  t = newest;
  if (!t || t->used >= t->slots / 2) {
    table *larger = grow(t);
    if (larger) t = larger;
  }
  const char **slot = t && t->used < t->slots - 1 ? slot_of(t, text, h) : NULL;
  have = slot ? *slot : NULL;
  if (slot && !have && (have = keep(text))) {
    t->used++;
    __atomic_store_n(slot, have, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&lock);
  return have;
}
