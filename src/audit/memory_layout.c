/* Lives of that state, sorted by address, walked together. */
#include "audit/memory_layout.h"

#include <stdlib.h>

#include "base/host.h"

typedef struct placed {
  uint64_t address;
  uint32_t life;
} placed;

static int by_address(const void *a, const void *b) {
  uint64_t x = ((const placed *)a)->address, y = ((const placed *)b)->address;
  return x < y ? -1 : x > y;
}

typedef struct sorted {
  WF__GROWING(placed) blocks;
  WF__GROWING(placed) segments;
} sorted;

static wf_status collect(sorted *to, const wf__history *h, uint32_t state) {
  for (uint32_t i = 0; i < h->blocks.n; i++) {
    if (!wf__life_at(h->blocks.at[i].born, h->blocks.at[i].died, state)) continue;
    placed *p = WF__SNAP_ADD(to->blocks);
    if (!p) return WF_NO_MEMORY;
    *p = (placed){h->blocks.at[i].address, i};
  }
  for (uint32_t i = 0; i < h->segments.n; i++) {
    if (!wf__life_at(h->segments.at[i].born, h->segments.at[i].died, state)) continue;
    placed *p = WF__SNAP_ADD(to->segments);
    if (!p) return WF_NO_MEMORY;
    *p = (placed){h->segments.at[i].address, i};
  }
  if (to->blocks.n) qsort(to->blocks.at, to->blocks.n, sizeof *to->blocks.at, by_address);
  if (to->segments.n) qsort(to->segments.at, to->segments.n, sizeof *to->segments.at, by_address);
  return WF_OK;
}

static wf_status put_piece(wf__layout *to, wf__placed_segment *g, wf__piece piece) {
  if (!piece.size) return WF_OK;
  wf__piece *p = WF__SNAP_ADD(to->pieces);
  if (!p) return WF_NO_MEMORY;
  *p = piece;
  g->count++;
  if (piece.life == WF__NO_LIFE) g->free_bytes += piece.size;
  else g->used++;
  return WF_OK;
}

static bool continues(const wf__history *h, const wf__placed_segment *g, const wf__segment_life *next) {
  const wf__segment_life *l = &h->segments.at[g->life];
  return l->expandable && next->expandable && g->address + g->size == next->address && l->stream == next->stream &&
         l->pool == next->pool && l->large == next->large;
}

/* Fills the segment with blocks from *at on. */
static wf_status fill(wf__layout *to, const wf__history *h, const sorted *from, size_t *at, wf__placed_segment *g,
                      uint32_t state) {
  uint64_t place = g->address, end = g->address + g->size;
  g->first = (uint32_t)to->pieces.n;
  for (; *at < from->blocks.n && from->blocks.at[*at].address < end; ++*at) {
    const wf__block_life *b = &h->blocks.at[from->blocks.at[*at].life];
    uint64_t size = b->size < end - b->address ? b->size : end - b->address;
    if (b->address < place) {
      to->stray++;
      continue;
    }
    WF__TRY(put_piece(to, g, (wf__piece){place, b->address - place, WF__NO_LIFE, false}));
    WF__TRY(put_piece(to, g, (wf__piece){b->address, size, from->blocks.at[*at].life, state >= b->freed}));
    place = b->address + size;
  }
  return put_piece(to, g, (wf__piece){place, end - place, WF__NO_LIFE, false});
}

static wf_status place_all(wf__layout *to, const wf__history *h, const sorted *from, uint32_t state) {
  size_t at = 0;
  for (size_t i = 0; i < from->segments.n;) {
    const wf__segment_life *l = &h->segments.at[from->segments.at[i].life];
    wf__placed_segment g = {.address = l->address, .size = l->size, .life = from->segments.at[i].life};
    for (i++; i < from->segments.n && continues(h, &g, &h->segments.at[from->segments.at[i].life]); i++)
      g.size += h->segments.at[from->segments.at[i].life].size;
    for (; at < from->blocks.n && from->blocks.at[at].address < g.address; at++) to->stray++;
    WF__TRY(fill(to, h, from, &at, &g, state));
    wf__placed_segment *place = WF__SNAP_ADD(to->segments);
    if (!place) return WF_NO_MEMORY;
    *place = g;
  }
  to->stray += (uint32_t)(from->blocks.n - at);
  return WF_OK;
}

wf_status wf__layout_make(wf__layout *to, const wf__history *h, uint32_t state) {
  sorted from = {0};
  *to = (wf__layout){0};
  wf_status status = collect(&from, h, state);
  if (!status) status = place_all(to, h, &from, state);
  wf__release(from.blocks.at);
  wf__release(from.segments.at);
  if (status) wf__layout_release(to);
  return status;
}

void wf__layout_release(wf__layout *layout) {
  wf__release(layout->segments.at);
  wf__release(layout->pieces.at);
  *layout = (wf__layout){0};
}
