/* Synchronisations: calls that let the host wait for the device, by the operator that made them, and how long they waited. */
#include <string.h>

#include "audit/examine.h"

#define NEAR 8 /* a readback's transfer is so many events before its wait */

/* The kind, by what is around the call. */
static wf__kind kind_of(const wf__kineto *k, uint32_t call) {
  bool operators = false;
  uint32_t at = k->events[call].parent;
  for (int level = 0; at != WF__NO_EVENT && level < 64; level++, at = k->events[at].parent) {
    const wf__event *e = &k->events[at];
    if (e->cat != WF__CAT_OPERATOR) continue;
    operators = true;
    if (wf__event_meaning(k, e) == WF__MEANS_READBACK) return WF__KIND_READBACK;
    if (e->flags & WF__EVENT_DOWNLOAD) {
      uint32_t outer = e->parent == WF__NO_EVENT ? at : e->parent;
      for (; outer != WF__NO_EVENT && k->events[outer].cat == WF__CAT_OPERATOR; outer = k->events[outer].parent)
        if (wf__event_meaning(k, &k->events[outer]) == WF__MEANS_READBACK) return WF__KIND_READBACK;
      return WF__KIND_DOWNLOAD_SYNC;
    }
    if (e->flags & WF__EVENT_UPLOAD) return WF__KIND_UPLOAD_SYNC;
  }
  return operators ? WF__KIND_OTHER_SYNC : WF__KIND_EXPLICIT_SYNC;
}

/* The profiler waits for the device itself where it starts and stops: outside of the steps, or outside of everything. */
static bool is_profilers(const wf__examination *x, const wf__event *e) {
  if (x->steps->n) return wf__step_at(x->steps, e->start) < 0;
  if (e->parent == WF__NO_EVENT) return true;
  return wf__above(x->k, e->parent, WF__CAT_OPERATOR) == WF__NO_EVENT &&
         wf__above(x->k, e->parent, WF__CAT_ANNOTATION) == WF__NO_EVENT && !wf__place_of(x->k, e->parent).line;
}

/* Transfers into pageable memory wait as well, in a call of their own just before. */
static int64_t waited_before(const wf__kineto *k, const wf__row *row, uint32_t position) {
  const wf__event *sync = &k->events[k->order[position]];
  for (uint32_t i = position; i > row->first && position - i < NEAR; i--) {
    const wf__event *e = &k->events[k->order[i - 1]];
    if (e->parent != sync->parent) return 0;
    if (e->cat == WF__CAT_RUNTIME && wf__event_meaning(k, e) == WF__MEANS_MEMCPY_CALL) return e->dur;
  }
  return 0;
}

static void note_call(wf__examination *x, const wf__row *row, uint32_t position) {
  const wf__kineto *k = x->k;
  uint32_t call = k->order[position];
  const wf__event *e = &k->events[call];
  wf__occurrence found = {.cause = e->name, .at = call, .start = e->start, .ns = e->dur, .bytes = -1};
  found.kind = kind_of(k, call);
  found.operator= wf__mover_of(k, call);
  bool fetches = found.kind == WF__KIND_READBACK || found.kind == WF__KIND_DOWNLOAD_SYNC;
  if (fetches && wf__event_meaning(k, e) == WF__MEANS_SYNC) found.ns += waited_before(k, row, position);
  wf__note(x, &found);
}

/* A copy by a blocking call waits as well: ROCm reads back so. */
static bool waits(wf__meaning meaning) { return meaning == WF__MEANS_SYNC || meaning == WF__MEANS_BLOCKING_MEMCPY; }

void wf__rule_syncs(wf__examination *x) {
  const wf__kineto *k = x->k;
  for (uint32_t r = 0; r < k->row_count; r++) {
    const wf__row *row = &k->rows[r];
    if (row->device >= 0) continue;
    for (uint32_t i = row->first; i < row->first + row->n; i++) {
      const wf__event *e = &k->events[k->order[i]];
      if (e->cat == WF__CAT_RUNTIME && waits(wf__event_meaning(k, e)) && !is_profilers(x, e)) note_call(x, row, i);
    }
  }
}
