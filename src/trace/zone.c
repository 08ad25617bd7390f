/* Named stretches of a thread. The depth is counted whether recording or not, so that starting or stopping in the middle of a
 * stretch can't mismatch begins and ends; a stretch that began in another recording gives no event. The innermost zone's id lies
 * in the thread's state, where a launch picks it up for what will run elsewhere. */
#include <pthread.h>

#include "trace/recorder.h"

#define NAMES_MAX 256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *names[NAMES_MAX]; /* interned, [0] none; entries are only added */
static uint32_t name_count = 1;

const char *wf__trace_zone_name(uint32_t zone) {
  const char *name = zone && zone < NAMES_MAX ? __atomic_load_n(&names[zone], __ATOMIC_ACQUIRE) : NULL;
  return name ? name : "";
}

/* A handful of names in practice: a scan is as good as a table. 0 when there is no room. */
static uint32_t id_of(const char *name) {
  uint32_t count = __atomic_load_n(&name_count, __ATOMIC_ACQUIRE), id = 1;
  while (id < count && names[id] != name) id++;
  if (id < count) return id;
  pthread_mutex_lock(&lock);
  while (id < name_count && names[id] != name) id++;
  if (id == name_count && id < NAMES_MAX) {
    __atomic_store_n(&names[id], name, __ATOMIC_RELEASE);
    __atomic_store_n(&name_count, id + 1, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&lock);
  return id < NAMES_MAX ? id : 0;
}

void wf_zone_begin(const char *name) {
  unsigned depth = wf__self.zones;
  if (depth == UINT16_MAX) return;
  wf__self.zones = (uint16_t)(depth + 1);
  if (!wf__tracing() || depth >= WF__ZONES_MAX) return;
  wf__recorder *r = wf__recorder_now();
  const char *kept = r ? wf__intern(name ? name : "") : NULL;
  uint32_t id = kept ? id_of(kept) : 0;
  if (!id) return;
  r->zone[depth] = (wf__zone){kept, (uint8_t)id, wf_clock_ns(), r->generation};
  wf__self.zone = (uint8_t)id;
}

/* Id of the innermost of the first `depth` zones that belongs to the present recording. */
static uint8_t zone_around(const wf__recorder *r, unsigned depth, uint64_t generation) {
  if (depth > WF__ZONES_MAX) depth = WF__ZONES_MAX;
  while (depth-- > 0)
    if (r->zone[depth].generation == generation) return r->zone[depth].id;
  return 0;
}

void wf_zone_end(void) {
  unsigned depth = wf__self.zones;
  if (!depth) return;
  wf__self.zones = (uint16_t)--depth;
  wf__recorder *r = wf__self.trace;
  if (!r || depth >= WF__ZONES_MAX) return;
  uint64_t now = wf__recorder_generation();
  wf__zone z = r->zone[depth];
  r->zone[depth].generation = 0;
  wf__self.zone = zone_around(r, depth, now);
  if (!wf__tracing() || z.generation != now) return;
  wf_tag tag = wf__trace_tag(WF_EVENT_ZONE, 0, 0);
  tag.op = z.name;
  wf__trace_ran(&tag, wf_cpu(), 0, z.start_ns, wf_clock_ns());
}
