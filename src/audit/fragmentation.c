/* One pass over a layout. */
#include "audit/fragmentation.h"

#include <stdlib.h>

#include "base/host.h"

static int by_size(const void *a, const void *b) {
  const wf__hole *x = a, *y = b;
  if (x->size != y->size) return x->size > y->size ? -1 : 1;
  return x->address < y->address ? -1 : x->address > y->address;
}

/* pieces[i] is a hole; its neighbours in the segment, if any, are in use. */
static wf_status note_hole(wf__fragmentation *f, const wf__layout *l, const wf__placed_segment *g, uint32_t i) {
  const wf__piece *hole = &l->pieces.at[i], *low = i > g->first ? hole - 1 : NULL,
                  *high = i + 1 < g->first + g->count ? hole + 1 : NULL;
  const wf__piece *pin = !low || (high && high->size < low->size) ? high : low;
  const wf__piece *beyond = pin == high ? pin + 1 : pin - 1;
  bool inside = pin == high ? i + 2 < g->first + g->count : i > g->first + 1;
  wf__hole *to = WF__SNAP_ADD(f->holes);
  if (!to) return WF_NO_MEMORY;
  *to = (wf__hole){.address = hole->address,
                   .size = hole->size,
                   .segment = g->address,
                   .segment_size = g->size,
                   .pin = pin->life,
                   .if_freed = hole->size + pin->size + (inside && beyond->life == WF__NO_LIFE ? beyond->size : 0),
                   .frees_segment = g->used == 1};
  return WF_OK;
}

wf_status wf__fragmentation_make(wf__fragmentation *f, const wf__history *h, const wf__layout *l) {
  *f = (wf__fragmentation){0};
  for (size_t i = 0; i < l->segments.n; i++) {
    const wf__placed_segment *g = &l->segments.at[i];
    bool expandable = h->segments.at[g->life].expandable;
    if (!g->used) f->free_whole += g->size;
    for (uint32_t k = g->first; k < g->first + g->count; k++) {
      const wf__piece *p = &l->pieces.at[k];
      if (p->life != WF__NO_LIFE) continue;
      if (p->size > f->largest) f->largest = p->size;
      if (!g->used) continue;
      f->free_split += p->size;
      if (expandable) f->free_pages += p->size;
      else if (p->size >= WF__MIB && note_hole(f, l, g, k)) {
        wf__fragmentation_release(f);
        return WF_NO_MEMORY;
      }
    }
  }
  uint64_t all = f->free_whole + f->free_split;
  f->index = all ? 1 - (double)f->largest / (double)all : 0;
  if (f->holes.n) qsort(f->holes.at, f->holes.n, sizeof *f->holes.at, by_size);
  return WF_OK;
}

void wf__fragmentation_release(wf__fragmentation *f) {
  wf__release(f->holes.at);
  f->holes.at = NULL;
  f->holes.n = f->holes.room = 0;
}
