/* Gathers what the other files of this folder find. */
#include "audit/memory_view.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/host.h"

wf_memory_options wf_memory_defaults(void) {
  return (wf_memory_options){.device = -1, .at = WF_MEMORY_AT_PEAK, .rows = 12, .columns = 80};
}

int wf__main_device(const wf_snapshot *s) {
  int best = 0;
  uint64_t most = 0;
  for (size_t i = 0; i < s->segments.n;) {
    uint64_t reserved = 0;
    int device = s->segments.at[i].device;
    for (; i < s->segments.n && s->segments.at[i].device == device; i++) reserved += s->segments.at[i].size;
    if (reserved > most) {
      most = reserved;
      best = device;
    }
  }
  if (most) return best;
  for (uint32_t i = 0; i < s->trace_count; i++)
    if (wf__snap_trace_of(s, (int32_t)i).count > most) most = wf__snap_trace_of(s, best = (int)i).count;
  return best;
}

wf_status wf__state_of(const wf__history *h, int64_t at, uint32_t *state) {
  if (at == WF_MEMORY_AT_PEAK) *state = h->peak_state;
  else if (at == WF_MEMORY_AT_END) *state = h->n;
  else if (at >= 0 && at <= h->n) *state = (uint32_t)at;
  else
    return wf__fail(WF_VALUE, "%s: there is no event %lld: the history of device %d has %u", h->snapshot->name,
                    (long long)at, h->device, h->n);
  return WF_OK;
}

int64_t wf__state_ns(const wf__history *h, uint32_t state) {
  if (!state) return 0;
  int64_t then = h->events[state - 1].time_us, begun = h->events[0].time_us, us, ns;
  if (!__builtin_sub_overflow(then, begun, &us) && !__builtin_mul_overflow(us, 1000, &ns)) return ns;
  return then < begun ? -INT64_MAX : INT64_MAX; /* a file may say anything */
}

char *wf__state_text(const wf__history *h, uint32_t state, char text[48]) {
  if (state == h->n) snprintf(text, 48, "at the end");
  else if (state == h->peak_state) snprintf(text, 48, "at the peak");
  else snprintf(text, 48, "after event %u", state);
  return text;
}

static wf_status look(wf__moment *m, const wf__history *h, uint32_t state) {
  m->state = state;
  m->sums = wf__sums_at(h, state);
  WF__TRY(wf__layout_make(&m->layout, h, state));
  return wf__fragmentation_make(&m->fragmentation, h, &m->layout);
}

static void drop(wf__moment *m) {
  wf__layout_release(&m->layout);
  wf__fragmentation_release(&m->fragmentation);
}

static int by_hole_bytes(const void *a, const void *b) {
  const wf__pinner *x = a, *y = b;
  if (x->hole_bytes != y->hole_bytes) return x->hole_bytes > y->hole_bytes ? -1 : 1;
  return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static bool same_line(const wf__memory_view *v, uint32_t a, uint32_t b) {
  if (v->sites.site[a] == WF__NO_FRAME || v->sites.site[b] == WF__NO_FRAME) return v->sites.site[a] == v->sites.site[b];
  wf__snap_frame x = wf__snap_frame_at(v->history.snapshot, a, v->sites.site[a]),
                 y = wf__snap_frame_at(v->history.snapshot, b, v->sites.site[b]);
  return x.file == y.file && x.line == y.line && x.function == y.function;
}

static wf__pinner *pinner_of(wf__memory_view *v, uint32_t stack, bool before) {
  for (size_t i = 0; i < v->pinners.n; i++) {
    wf__pinner *p = &v->pinners.at[i];
    if (p->before == before && (before || same_line(v, p->stack, stack))) return p;
  }
  wf__pinner *p = WF__SNAP_ADD(v->pinners);
  if (p) *p = (wf__pinner){.stack = stack, .before = before};
  return p;
}

/* A block between two holes holds both open. Holes are by size, so it is told by its number whether it was counted. */
static wf_status find_pinners(wf__memory_view *v) {
  const wf__fragmentation *f = &v->at.fragmentation;
  for (size_t i = 0; i < f->holes.n; i++) {
    const wf__hole *hole = &f->holes.at[i];
    const wf__block_life *b = &v->history.blocks.at[hole->pin];
    bool before = b->from_free || (!b->stack && !b->born), seen = false;
    for (size_t k = 0; k < i && !seen && k < 4096; k++) seen = f->holes.at[k].pin == hole->pin;
    wf__pinner *p = pinner_of(v, b->stack, before);
    if (!p) return WF_NO_MEMORY;
    p->holes++;
    p->hole_bytes += hole->size;
    if (hole->size > p->largest) p->largest = hole->size;
    if (seen) continue;
    p->blocks++;
    p->block_bytes += b->size;
  }
  if (v->pinners.n) qsort(v->pinners.at, v->pinners.n, sizeof *v->pinners.at, by_hole_bytes);
  return WF_OK;
}

static wf_status make(wf__memory_view *v, const wf_snapshot *s, const wf_memory_options *o) {
  uint32_t state;
  WF__TRY(wf__history_make(&v->history, s, o->device < 0 ? wf__main_device(s) : o->device));
  WF__TRY(wf__state_of(&v->history, o->at, &state));
  WF__TRY(wf__call_sites_make(&v->sites, s));
  v->at_peak = state == v->history.peak_state;
  WF__TRY(look(&v->at, &v->history, state));
  WF__TRY(look(&v->end, &v->history, v->history.n));
  WF__TRY(wf__holders_make(&v->holders, &v->history, &v->sites, o->group, state));
  WF__TRY(find_pinners(v));
  return wf__failures_make(&v->history, WF__FAILURES_MAX, v->failures, &v->failure_count, &v->all_failures);
}

wf_status wf__memory_view_make(wf__memory_view *v, const wf_snapshot *s, const wf_memory_options *o) {
  *v = (wf__memory_view){0};
  wf_status status = make(v, s, o);
  if (status) wf__memory_view_release(v);
  return status;
}

void wf__memory_view_release(wf__memory_view *v) {
  wf__history_release(&v->history);
  wf__call_sites_release(&v->sites);
  wf__holders_release(&v->holders);
  wf__release(v->pinners.at);
  drop(&v->at);
  drop(&v->end);
  *v = (wf__memory_view){0};
}
