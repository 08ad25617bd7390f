/* The state just before an `oom` event is the one after the allocator had given back all it could: what is still free is in use's way. */
#include "audit/out_of_memory.h"

#include "audit/memory_layout.h"

#define PAGE WF__SEGMENT_STEP

static wf_status look(const wf__history *h, uint32_t i, wf__failure *to) {
  const wf__snap_event *e = &h->events[i];
  wf__layout l;
  wf__sums sums = wf__sums_at(h, i);
  *to = (wf__failure){.event = i,
                      .request = wf__round_size(&h->conf, e->size),
                      .driver_free = e->address,
                      .driver_known = !h->snapshot->is_log,
                      .reserved = sums.reserved,
                      .allocated = sums.allocated,
                      .stream = e->stream,
                      .stack = e->stack};
  to->segment = wf__segment_size(&h->conf, to->request);
  bool large = to->request > WF__SMALL_MAX;
  WF__TRY(wf__layout_make(&l, h, i));
  for (size_t k = 0; k < l.segments.n; k++) {
    const wf__placed_segment *g = &l.segments.at[k];
    const wf__segment_life *life = &h->segments.at[g->life];
    to->cached += g->free_bytes;
    if (life->stream != e->stream || life->large != large || life->pool != e->pool) continue;
    for (uint32_t p = g->first; p < g->first + g->count; p++)
      if (l.pieces.at[p].life == WF__NO_LIFE && l.pieces.at[p].size > to->largest) to->largest = l.pieces.at[p].size;
  }
  wf__layout_release(&l);
  uint64_t fresh = to->driver_free / PAGE * PAGE, all = to->cached + to->driver_free;
  to->fits = fresh > to->largest ? fresh : to->largest;
  to->missing = to->request > all ? to->request - all : 0;
  return WF_OK;
}

wf_status wf__failures_make(const wf__history *h, int most, wf__failure *failures, int *count, uint32_t *all) {
  *count = 0;
  *all = 0;
  for (uint32_t i = 0; i < h->n; i++) {
    if (h->events[i].action != WF__SNAP_OOM || ++*all > (uint32_t)most) continue;
    WF__TRY(look(h, i, &failures[*count]));
    ++*count;
  }
  return WF_OK;
}
