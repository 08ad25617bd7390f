/* What a recording looks like over time, small enough to be put into a page.
 *
 * Stages: on a lane of the host, the zones and waits cut into segments that don't overlap (an inner zone or a wait interrupts the outer
 * one); on a lane of a device, runs of work of one stage. When there are more than fit, they become bars: time is cut into equal
 * steps, and a bar says how much of a step a stage took. Operations: single events, all of them when they fit, else those of a few
 * views. Whatever is left out is counted here, so that the page can say so. */
#ifndef WF_REPORT_TIMELINE_H
#define WF_REPORT_TIMELINE_H

#include "report/timeline_lanes.h"

#define WF__SEGMENTS_MAX 16000
#define WF__BARS 800
#define WF__OPS_MAX 6000
#define WF__VIEW_OPS 1500
#define WF__VIEWS_MAX 4
#define WF__MEMORY_STEPS 600

typedef enum wf__segment_type { WF__SEGMENT_STAGE, WF__SEGMENT_WAIT, WF__SEGMENT_TRANSFER } wf__segment_type;

typedef struct wf__segment {
  size_t lane;
  wf__segment_type type;
  const char *name;         /* stage, or what was waited for */
  int64_t start, end, busy; /* busy < end - start: a run with gaps, or a bar */
  int64_t whole;            /* of a stage that was interrupted: from its begin to its end; else 0 */
} wf__segment;

/* A part of the run to look at more closely. */
typedef struct wf__view {
  const char *label;
  int64_t start, end;
  size_t first, n; /* of op[] */
} wf__view;

typedef struct wf__memory_curve {
  wf_device device;
  bool pinned;
  int64_t peak_allocated, peak_reserved, peak_at;
  int64_t allocated[WF__MEMORY_STEPS], reserved[WF__MEMORY_STEPS]; /* largest of each step */
} wf__memory_curve;

typedef struct wf__timeline {
  int64_t start, end;
  wf__lanes lanes;
  wf__segment *segment; /* by lane and start */
  size_t segment_count, segments_found;
  int64_t step; /* of bars; 0: segments are exact */
  size_t *op;   /* indices of events, by start */
  size_t op_count, ops_found;
  wf__view view[WF__VIEWS_MAX];
  int view_count;
  wf__memory_curve *memory;
  size_t memory_count;
} wf__timeline;

/* Errors: WF_NO_MEMORY; nothing is held then. */
wf_status wf__timeline_make(const wf_report *report, wf__timeline *timeline);
void wf__timeline_release(wf__timeline *timeline);

/* Parts of it, in files of their own: segments.c, views.c, memory_curve.c. */
wf_status wf__timeline_segments(const wf_report *report, wf__timeline *timeline);
wf_status wf__timeline_bars(wf__timeline *timeline);
wf_status wf__timeline_views(const wf_report *report, wf__timeline *timeline);
wf_status wf__timeline_memory(const wf_report *report, wf__timeline *timeline);

static inline bool wf__is_op(const wf_trace_event *e) {
  return wf__in_lane(e) && e->kind != WF_EVENT_ZONE && e->kind != WF_EVENT_WAIT;
}

#endif
