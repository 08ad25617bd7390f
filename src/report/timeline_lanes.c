/* Which threads and streams a recording has. */
#include "report/timeline_lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"

/* Lanes are few: a scan, beginning with the main thread. `n` when there is none. */
static size_t find(const wf__lanes *lanes, const wf_trace_event *e) {
  bool on_device = wf__on_device_lane(e);
  uint32_t number = on_device ? e->stream : e->thread;
  size_t i = 0;
  for (; i < lanes->n; i++) {
    const wf__lane *lane = &lanes->at[i];
    if (lane->on_device != on_device || lane->number != number) continue;
    if (!on_device || wf__same_device(lane->device, e->device)) break;
  }
  return i;
}

static wf_status add(wf__lanes *lanes, const wf_trace_event *e) {
  if (lanes->n == lanes->room) {
    wf__lane *at = wf__realloc(lanes->at, (lanes->room + 16) * sizeof *at);
    if (!at) return WF_NO_MEMORY;
    lanes->at = at;
    lanes->room += 16;
  }
  wf__lane *lane = &lanes->at[lanes->n++];
  *lane = (wf__lane){.on_device = wf__on_device_lane(e)};
  if (lane->on_device) {
    lane->device = e->device;
    lane->number = e->stream;
    snprintf(lane->name, sizeof lane->name, e->stream ? "stream %u" : "default stream", e->stream);
    return WF_OK;
  }
  lane->number = e->thread;
  const char *name = wf_trace_thread_name(e->thread);
  if (*name) snprintf(lane->name, sizeof lane->name, "%s", name);
  else snprintf(lane->name, sizeof lane->name, "thread %u", e->thread);
  return WF_OK;
}

static int rank(const wf__lane *lane) { return lane->on_device ? 2 : strcmp(lane->name, "main") ? 1 : 0; }

static int compare(const void *a, const void *b) {
  const wf__lane *x = a, *y = b;
  if (rank(x) != rank(y)) return rank(x) - rank(y);
  if (x->device.type != y->device.type) return x->device.type < y->device.type ? -1 : 1;
  if (x->device.index != y->device.index) return x->device.index < y->device.index ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

wf_status wf__lanes_make(const wf_trace_event *events, size_t n, wf__lanes *lanes) {
  *lanes = (wf__lanes){0};
  for (size_t i = 0; i < n; i++) {
    if (!wf__in_lane(&events[i]) || find(lanes, &events[i]) < lanes->n) continue;
    if (add(lanes, &events[i])) {
      wf__lanes_release(lanes);
      return WF_NO_MEMORY;
    }
  }
  if (lanes->n) qsort(lanes->at, lanes->n, sizeof *lanes->at, compare);
  return WF_OK;
}

void wf__lanes_release(wf__lanes *lanes) {
  wf__release(lanes->at);
  *lanes = (wf__lanes){0};
}

size_t wf__lane_of(const wf__lanes *lanes, const wf_trace_event *event) { return find(lanes, event); }
