/* The stage lanes of a timeline: nested zones and waits made flat, a device's work joined to runs; and bars instead of them when they
 * are too many. */
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "report/timeline.h"

#define DEPTH_MAX 64
#define RUN_GAP_NS 100000 /* work of one stage with shorter pauses is one run */
#define CLASSES_MAX 64

/* ---- host lanes --------------------------------------------------------------------------------------------------- */

typedef struct open_stretch {
  const char *name;
  wf__segment_type type;
  int64_t start, end, shown_until; /* the part before that is in a segment already */
} open_stretch;

typedef struct lane_state {
  open_stretch open[DEPTH_MAX];
  int depth;
  wf__segment run; /* of a device's lane; count 0 in run.busy: none */
  bool running;
} lane_state;

typedef struct builder {
  wf__timeline *timeline;
  size_t room;
  lane_state *lanes;
} builder;

static wf_status put_segment(builder *b, wf__segment s) {
  wf__timeline *t = b->timeline;
  if (s.end <= s.start) return WF_OK;
  if (t->segment_count == b->room) {
    size_t room = b->room ? 2 * b->room : 1024;
    wf__segment *all = wf__realloc(t->segment, room * sizeof *all);
    if (!all) return WF_NO_MEMORY;
    t->segment = all;
    b->room = room;
  }
  t->segment[t->segment_count++] = s;
  return WF_OK;
}

/* Shows the innermost open stretch up to `until`. */
static wf_status show(builder *b, size_t lane, int64_t until) {
  lane_state *state = &b->lanes[lane];
  open_stretch *o = &state->open[state->depth - 1];
  int64_t end = until < o->end ? until : o->end, from = o->shown_until;
  if (end <= from) return WF_OK;
  o->shown_until = end;
  bool whole = from == o->start && end == o->end;
  return put_segment(b, (wf__segment){lane, o->type, o->name, from, end, end - from, whole ? 0 : o->end - o->start});
}

/* Ends what ends by `time`, and lets the outer ones go on behind it. */
static wf_status close_until(builder *b, size_t lane, int64_t time) {
  lane_state *state = &b->lanes[lane];
  while (state->depth && state->open[state->depth - 1].end <= time) {
    WF__TRY(show(b, lane, state->open[state->depth - 1].end));
    int64_t end = state->open[--state->depth].end;
    if (state->depth) {
      open_stretch *outer = &state->open[state->depth - 1];
      if (outer->shown_until < end) outer->shown_until = end;
    }
  }
  return WF_OK;
}

static wf_status open_one(builder *b, size_t lane, const wf_trace_event *e) {
  lane_state *state = &b->lanes[lane];
  WF__TRY(close_until(b, lane, e->start_ns));
  if (state->depth) WF__TRY(show(b, lane, e->start_ns));
  if (state->depth == DEPTH_MAX) return WF_OK;
  int64_t end = e->end_ns;
  if (state->depth && end > state->open[state->depth - 1].end) end = state->open[state->depth - 1].end;
  wf__segment_type type = e->kind == WF_EVENT_WAIT ? WF__SEGMENT_WAIT : WF__SEGMENT_STAGE;
  state->open[state->depth++] = (open_stretch){e->op, type, e->start_ns, end, e->start_ns};
  return WF_OK;
}

/* ---- device lanes ------------------------------------------------------------------------------------------------- */

static wf_status end_run(builder *b, size_t lane) {
  lane_state *state = &b->lanes[lane];
  if (!state->running) return WF_OK;
  state->running = false;
  return put_segment(b, state->run);
}

static wf_status extend_run(builder *b, size_t lane, const wf_trace_event *e) {
  lane_state *state = &b->lanes[lane];
  wf__segment *run = &state->run;
  bool transfer = e->kind == WF_EVENT_H2D || e->kind == WF_EVENT_D2H || e->kind == WF_EVENT_D2D;
  wf__segment_type type = transfer ? WF__SEGMENT_TRANSFER : WF__SEGMENT_STAGE;
  bool same = state->running && run->type == type && !strcmp(run->name, e->zone);
  if (!same || e->start_ns - run->end > RUN_GAP_NS) {
    WF__TRY(end_run(b, lane));
    *run = (wf__segment){lane, type, e->zone, e->start_ns, e->start_ns, 0, 0};
    state->running = true;
  }
  /* packing lies within its kernel's time */
  if (e->end_ns > run->end) {
    run->busy += e->end_ns - (e->start_ns > run->end ? e->start_ns : run->end);
    run->end = e->end_ns;
  }
  return WF_OK;
}

/* ---- all of them -------------------------------------------------------------------------------------------------- */

static int compare_segment(const void *a, const void *b) {
  const wf__segment *x = a, *y = b;
  if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
  return x->start < y->start ? -1 : x->start > y->start;
}

static wf_status build(builder *b, const wf_report *r) {
  const wf__lanes *lanes = &b->timeline->lanes;
  for (size_t i = 0; i < r->event_count; i++) {
    const wf_trace_event *e = &r->events[i];
    if (!wf__in_lane(e)) continue;
    size_t lane = wf__lane_of(lanes, e);
    if (lanes->at[lane].on_device) WF__TRY(extend_run(b, lane, e));
    else if (!wf__is_op(e)) WF__TRY(open_one(b, lane, e));
  }
  for (size_t lane = 0; lane < lanes->n; lane++) {
    WF__TRY(close_until(b, lane, INT64_MAX));
    WF__TRY(end_run(b, lane));
  }
  return WF_OK;
}

wf_status wf__timeline_segments(const wf_report *r, wf__timeline *t) {
  builder b = {.timeline = t, .lanes = wf__calloc(t->lanes.n + 1, sizeof *b.lanes)};
  if (!b.lanes) return WF_NO_MEMORY;
  wf_status status = build(&b, r);
  wf__release(b.lanes);
  if (status) return status;
  t->segments_found = t->segment_count;
  if (t->segment_count) qsort(t->segment, t->segment_count, sizeof *t->segment, compare_segment);
  return WF_OK;
}

/* ---- bars --------------------------------------------------------------------------------------------------------- */

/* What one kind of segment on one lane took of each step. */
typedef struct class_bars {
  wf__segment like;
  int64_t busy[WF__BARS];
} class_bars;

static class_bars *class_of(class_bars *all, size_t *n, const wf__segment *s) {
  for (size_t i = 0; i < *n; i++)
    if (all[i].like.lane == s->lane && all[i].like.type == s->type && !strcmp(all[i].like.name, s->name))
      return &all[i];
  if (*n == CLASSES_MAX) return NULL;
  all[*n].like = *s;
  return &all[(*n)++];
}

static void spread(class_bars *c, const wf__segment *s, int64_t start, int64_t step) {
  int64_t length = s->end - s->start;
  for (int64_t at = s->start; at < s->end;) {
    int64_t i = (at - start) / step, next = start + (i + 1) * step;
    if (next > s->end) next = s->end;
    if (i >= 0 && i < WF__BARS) c->busy[i] += (int64_t)((double)s->busy * (double)(next - at) / (double)length);
    at = next;
  }
}

static size_t count_bars(const class_bars *all, size_t n) {
  size_t bars = 0;
  for (size_t i = 0; i < n; i++)
    for (int k = 0; k < WF__BARS; k++) bars += all[i].busy[k] > 0;
  return bars;
}

static wf_status replace_by_bars(wf__timeline *t, class_bars *all, size_t n) {
  size_t room = count_bars(all, n), kept = 0;
  wf__segment *bars = wf__malloc((room + 1) * sizeof *bars);
  if (!bars) return WF_NO_MEMORY;
  for (size_t i = 0; i < n; i++)
    for (int k = 0; k < WF__BARS; k++) {
      if (all[i].busy[k] <= 0) continue;
      int64_t start = t->start + k * t->step;
      wf__segment like = all[i].like;
      bars[kept++] = (wf__segment){like.lane, like.type, like.name, start, start + t->step, all[i].busy[k], 0};
    }
  wf__release(t->segment);
  t->segment = bars;
  t->segment_count = kept;
  if (kept) qsort(bars, kept, sizeof *bars, compare_segment);
  return WF_OK;
}

wf_status wf__timeline_bars(wf__timeline *t) {
  class_bars *all = wf__calloc(CLASSES_MAX, sizeof *all);
  if (!all) return WF_NO_MEMORY;
  size_t n = 0;
  t->step = (t->end - t->start) / WF__BARS + 1;
  for (size_t i = 0; i < t->segment_count; i++) {
    class_bars *c = class_of(all, &n, &t->segment[i]);
    if (c) spread(c, &t->segment[i], t->start, t->step);
  }
  wf_status status = replace_by_bars(t, all, n);
  wf__release(all);
  return status;
}
