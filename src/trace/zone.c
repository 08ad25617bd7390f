/* Named stretches of a thread. The depth is counted whether recording or not, so that starting or stopping in the middle of a
 * stretch can't mismatch begins and ends; a stretch that began in another recording gives no event. */
#include "trace/recorder.h"

void wf_zone_begin(const char *name) {
  unsigned depth = wf__self.zones;
  if (depth == UINT16_MAX) return;
  wf__self.zones = (uint16_t)(depth + 1);
  if (!wf__tracing() || depth >= WF__ZONES_MAX) return;
  wf__recorder *r = wf__recorder_now();
  if (!r) return;
  const char *kept = wf__intern(name ? name : "");
  r->zone[depth] = (wf__zone){kept ? kept : "", wf_clock_ns(), r->generation};
}

void wf_zone_end(void) {
  unsigned depth = wf__self.zones;
  if (!depth) return;
  wf__self.zones = (uint16_t)--depth;
  wf__recorder *r = wf__self.trace;
  if (!wf__tracing() || depth >= WF__ZONES_MAX || !r) return;
  wf__zone z = r->zone[depth];
  if (z.generation != wf__recorder_generation()) return;
  r->zone[depth].generation = 0;
  wf_tag tag = wf__trace_tag(WF_EVENT_ZONE, 0, 0);
  tag.op = z.name;
  wf__trace_ran(&tag, wf_cpu(), 0, z.start_ns, wf_clock_ns());
}
