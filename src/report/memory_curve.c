/* Memory over time, a curve a device and kind of memory: the largest value of each step, so that no peak is lost. */
#include "base/host.h"
#include "report/timeline.h"

static wf__memory_curve *curve_of(wf__timeline *t, const wf_trace_event *e) {
  for (size_t i = 0; i < t->memory_count; i++)
    if (wf__same_device(t->memory[i].device, e->device) && t->memory[i].pinned == e->pinned) return &t->memory[i];
  wf__memory_curve *all = wf__realloc(t->memory, (t->memory_count + 1) * sizeof *all);
  if (!all) return NULL;
  t->memory = all;
  wf__memory_curve *c = &all[t->memory_count++];
  *c = (wf__memory_curve){.device = e->device, .pinned = e->pinned};
  for (int i = 0; i < WF__MEMORY_STEPS; i++) c->allocated[i] = c->reserved[i] = -1;
  return c;
}

static int step_of(const wf__timeline *t, int64_t time) {
  int64_t length = t->end - t->start;
  if (time <= t->start || length <= 0) return 0;
  if (time >= t->end) return WF__MEMORY_STEPS - 1;
  return (int)((double)(time - t->start) / (double)length * WF__MEMORY_STEPS);
}

/* A value holds until the next one: it fills the steps in between, and counts in the step where the next one comes too. */
static void hold(wf__memory_curve *c, int from, int to, int64_t allocated, int64_t reserved) {
  for (int i = from; i <= to; i++) {
    if (allocated > c->allocated[i]) c->allocated[i] = allocated;
    if (reserved > c->reserved[i]) c->reserved[i] = reserved;
  }
}

static void fill_gaps(wf__memory_curve *c, const wf_trace_event *last, int step) {
  hold(c, step, WF__MEMORY_STEPS - 1, last->allocated, last->reserved);
  for (int i = 0; i < WF__MEMORY_STEPS; i++) {
    if (c->allocated[i] < 0) c->allocated[i] = 0;
    if (c->reserved[i] < 0) c->reserved[i] = 0;
  }
}

/* What was allocated before the first event: recording may begin in the middle of a program. */
static int64_t before(const wf_trace_event *e) {
  return e->kind == WF_EVENT_ALLOC ? e->allocated - e->bytes_written : e->allocated + e->bytes_written;
}

static void draw(const wf_report *r, const wf__timeline *t, wf__memory_curve *c) {
  const wf_trace_event *last = NULL;
  int step = 0;
  for (size_t i = 0; i < r->event_count; i++) {
    const wf_trace_event *e = &r->events[i];
    if (wf__in_lane(e) || e->kind == WF_EVENT_NONE) continue;
    if (!wf__same_device(c->device, e->device) || c->pinned != e->pinned) continue;
    int now = step_of(t, e->start_ns);
    if (last) hold(c, step, now, last->allocated, last->reserved);
    else hold(c, 0, now, before(e), e->reserved);
    hold(c, now, now, e->allocated, e->reserved);
    if (e->allocated > c->peak_allocated) {
      c->peak_allocated = e->allocated;
      c->peak_at = e->start_ns;
    }
    if (e->reserved > c->peak_reserved) c->peak_reserved = e->reserved;
    last = e;
    step = now;
  }
  if (last) fill_gaps(c, last, step);
}

wf_status wf__timeline_memory(const wf_report *r, wf__timeline *t) {
  for (size_t i = 0; i < r->event_count; i++) {
    const wf_trace_event *e = &r->events[i];
    if (e->kind != WF_EVENT_ALLOC && e->kind != WF_EVENT_FREE) continue;
    if (!curve_of(t, e)) return WF_NO_MEMORY;
  }
  for (size_t i = 0; i < t->memory_count; i++) draw(r, t, &t->memory[i]);
  return WF_OK;
}
