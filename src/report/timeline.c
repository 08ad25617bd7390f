/* Puts the parts of a timeline together. */
#include "report/timeline.h"

#include "base/host.h"

static void find_ends(const wf_report *r, wf__timeline *t) {
  t->start = r->start_ns;
  t->end = r->end_ns;
  if (r->start_ns || r->end_ns || !r->event_count) return;
  t->start = r->events[0].start_ns;
  t->end = t->start + wf__report_wall(r);
}

wf_status wf__timeline_make(const wf_report *r, wf__timeline *t) {
  *t = (wf__timeline){0};
  find_ends(r, t);
  wf_status status = wf__lanes_make(r->events, r->event_count, &t->lanes);
  if (!status) status = wf__timeline_segments(r, t);
  if (!status && t->segment_count > WF__SEGMENTS_MAX) status = wf__timeline_bars(t);
  if (!status) status = wf__timeline_views(r, t);
  if (!status) status = wf__timeline_memory(r, t);
  if (status) wf__timeline_release(t);
  return status;
}

void wf__timeline_release(wf__timeline *t) {
  wf__lanes_release(&t->lanes);
  wf__release(t->segment);
  wf__release(t->op);
  wf__release(t->memory);
  *t = (wf__timeline){0};
}
