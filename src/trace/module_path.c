/* Module paths as small numbers: a tag carries 4 bytes, and a node can restore the path of its forward by storing a number. A
 * fixed table of (parent, name) pairs; entries are only added, so that finding one takes no lock. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/host.h"
#include "trace/trace.h"

#define PATHS_MAX 4096
#define SLOTS (2 * PATHS_MAX)
#define PATH_BYTES 512

typedef struct path {
  uint32_t parent;
  const char *name, *full; /* interned */
} path;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static path paths[PATHS_MAX]; /* [0]: no module */
static uint32_t path_count = 1;
static uint32_t slots[SLOTS]; /* ids, 0 empty; filled with release after the entry */

static uint32_t hash(uint32_t parent, const char *name) {
  uint32_t h = 2166136261u ^ (parent * 0x9e3779b9u);
  for (; *name; name++) h = (h ^ (unsigned char)*name) * 16777619u;
  return h ^ (h >> 15);
}

static uint32_t *slot_of(uint32_t parent, const char *name) {
  for (uint32_t i = hash(parent, name) % SLOTS;; i = (i + 1) % SLOTS) {
    uint32_t id = __atomic_load_n(&slots[i], __ATOMIC_ACQUIRE);
    if (!id || (paths[id].parent == parent && !strcmp(paths[id].name, name))) return &slots[i];
  }
}

/* Under the lock. 0 when the table or memory is full. */
static uint32_t add(uint32_t parent, const char *name, uint32_t *slot) {
  char full[PATH_BYTES];
  if (path_count == PATHS_MAX) return 0;
  const char *above = parent ? paths[parent].full : "";
  snprintf(full, sizeof full, "%s%s%s", above, *above ? "." : "", name);
  path p = {parent, wf__intern(name), wf__intern(full)};
  if (!p.name || !p.full) return 0;
  paths[path_count] = p;
  __atomic_store_n(slot, path_count, __ATOMIC_RELEASE);
  return path_count++;
}

static uint32_t find(uint32_t parent, const char *name) {
  uint32_t id = __atomic_load_n(slot_of(parent, name), __ATOMIC_ACQUIRE);
  if (id) return id;
  pthread_mutex_lock(&lock);
  uint32_t *slot = slot_of(parent, name);
  id = *slot ? *slot : add(parent, name, slot);
  pthread_mutex_unlock(&lock);
  return id;
}

void wf_module_push(const char *name) {
  uint32_t id = wf__self.modules_lost ? 0 : find(wf__self.module, name ? name : "");
  if (id) wf__self.module = id;
  else if (wf__self.modules_lost < UINT16_MAX) wf__self.modules_lost++;
}

void wf_module_pop(void) {
  if (wf__self.modules_lost) wf__self.modules_lost--;
  else wf__self.module = paths[wf__self.module].parent;
}

const char *wf__trace_module_name(uint32_t module) {
  return module && module < PATHS_MAX && paths[module].full ? paths[module].full : "";
}
