/* The parts of a run that are worth a closer look: the beginning, the slowest step, the middle and the end. When there are too many
 * single operations for a page, it has those of these parts. */
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "report/timeline.h"

#define VIEW_SHARE 50
#define VIEW_FEW 50
#define STEPS_SKIPPED 2 /* the first steps fill caches and pools */

/* The longest stretch between two ends of the optimiser's zone; false when there are too few. */
static bool slowest_step(const wf_report *r, int64_t *start, int64_t *end) {
  int64_t before = 0, longest = 0;
  int steps = 0;
  for (size_t i = 0; i < r->event_count; i++) {
    const wf_trace_event *e = &r->events[i];
    if (e->kind != WF_EVENT_ZONE || strcmp(e->op, "optimizer")) continue;
    if (steps++ > STEPS_SKIPPED && e->end_ns - before > longest) {
      longest = e->end_ns - before;
      *start = before;
      *end = e->end_ns;
    }
    before = e->end_ns;
  }
  return longest > 0;
}

static size_t first_op_from(const wf_report *r, const size_t *op, size_t n, int64_t time) {
  size_t low = 0, high = n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (r->events[op[middle]].start_ns < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* A view of ops first … first + n - 1 of all; left out when it meets one that is there. */
static void add_view(const wf_report *r, wf__timeline *t, const size_t *op, const char *label, size_t first, size_t n) {
  if (!n || t->view_count == WF__VIEWS_MAX) return;
  for (int i = 0; i < t->view_count; i++)
    if (first < t->view[i].first + t->view[i].n && t->view[i].first < first + n) return;
  wf__view w = {label, r->events[op[first]].start_ns, 0, first, n};
  for (size_t i = first; i < first + n; i++)
    if (r->events[op[i]].end_ns > w.end) w.end = r->events[op[i]].end_ns;
  t->view[t->view_count++] = w;
}

static int compare_view(const void *a, const void *b) {
  const wf__view *x = a, *y = b;
  return x->first < y->first ? -1 : x->first > y->first;
}

static void choose_views(const wf_report *r, wf__timeline *t, const size_t *op, size_t n, size_t size) {
  int64_t start, end;
  size_t middle = n / 2 > size / 2 ? n / 2 - size / 2 : 0;
  add_view(r, t, op, "Start", 0, size);
  if (slowest_step(r, &start, &end)) {
    size_t first = first_op_from(r, op, n, start), last = first_op_from(r, op, n, end);
    add_view(r, t, op, "Slowest step", first, last - first < size ? last - first : size);
  }
  add_view(r, t, op, "Middle", middle, size);
  add_view(r, t, op, "End", n - size, size);
  qsort(t->view, (size_t)t->view_count, sizeof t->view[0], compare_view);
}

/* Moves the views' ops together, so that op[] holds nothing else. */
static void keep_views_only(wf__timeline *t) {
  size_t kept = 0;
  for (int i = 0; i < t->view_count; i++) {
    wf__view *w = &t->view[i];
    memmove(t->op + kept, t->op + w->first, w->n * sizeof *t->op);
    w->first = kept;
    kept += w->n;
  }
  t->op_count = kept;
}

wf_status wf__timeline_views(const wf_report *r, wf__timeline *t) {
  size_t n = 0;
  t->op = wf__malloc((r->event_count + 1) * sizeof *t->op);
  if (!t->op) return WF_NO_MEMORY;
  for (size_t i = 0; i < r->event_count; i++)
    if (wf__is_op(&r->events[i])) t->op[n++] = i;
  t->ops_found = t->op_count = n;
  size_t size = n > WF__OPS_MAX ? WF__VIEW_OPS : n / VIEW_SHARE > VIEW_FEW ? n / VIEW_SHARE : VIEW_FEW;
  if (n < 3 * size) return WF_OK;
  choose_views(r, t, t->op, n, size);
  if (n > WF__OPS_MAX) keep_views_only(t);
  return WF_OK;
}
