/* The lanes of a timeline: one a host thread, one a stream of an asynchronous device. */
#ifndef WF_REPORT_TIMELINE_LANES_H
#define WF_REPORT_TIMELINE_LANES_H

#include "report/summary.h"

typedef struct wf__lane {
  bool on_device;
  wf_device device; /* on_device */
  uint32_t number;  /* of the stream or of the thread */
  char name[96];    /* "main", "thread 4", "stream 1" */
} wf__lane;

typedef struct wf__lanes {
  wf__lane *at; /* the main thread first, then threads, then devices' streams */
  size_t n, room;
} wf__lanes;

/* Finds the lanes of all events but ALLOC and FREE. Errors: WF_NO_MEMORY; nothing is held then. */
wf_status wf__lanes_make(const wf_trace_event *events, size_t n, wf__lanes *lanes);
void wf__lanes_release(wf__lanes *lanes);
/* Index of the event's lane; it must have been among the events that the lanes were made of. */
size_t wf__lane_of(const wf__lanes *lanes, const wf_trace_event *event);

/* Events that take time in a lane. ALLOC and FREE are points of the memory curves. */
static inline bool wf__in_lane(const wf_trace_event *e) {
  return e->kind != WF_EVENT_ALLOC && e->kind != WF_EVENT_FREE && e->kind != WF_EVENT_NONE;
}
/* Staging and waiting for a device are done by the host. */
static inline bool wf__on_device_lane(const wf_trace_event *e) {
  return wf__device_is_async(e->device) &&
         (e->kind == WF_EVENT_KERNEL || (wf__kind_moves(e->kind) && e->kind != WF_EVENT_STAGE));
}

#endif
