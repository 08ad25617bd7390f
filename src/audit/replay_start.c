/* The state where the recording began. What can't be seen in it is how much longer than its rounded size a block of the large pool was:
 * at most 1 MiB. It shows if the gap behind the block is that small, if the block is there at the end, or where the first block was
 * placed within 1 MiB behind it; else it is taken to be nothing. */
#include <stdlib.h>

#include "audit/memory_layout.h"
#include "audit/alloc_replay.h"
#include "base/host.h"

/* A block whose length isn't known yet. */
typedef struct open_end {
  uint64_t address, end;
  uint32_t died, index; /* in start->blocks */
  bool known;
} open_end;

typedef struct open_ends {
  WF__GROWING(open_end) all; /* by address */
} open_ends;

static wf_status note_open(open_ends *to, const wf__history *h, const wf__piece *p, uint32_t index) {
  const wf__block_life *l = &h->blocks.at[p->life];
  if (l->died > h->n) return WF_OK;
  open_end *e = WF__SNAP_ADD(to->all);
  if (!e) return WF_NO_MEMORY;
  *e = (open_end){p->address, p->address + p->size, l->died, index, false};
  return WF_OK;
}

static wf_status take_segment(wf__replay_start *to, open_ends *ends, const wf__history *h, const wf__layout *l,
                              const wf__placed_segment *g) {
  const wf__segment_life *life = &h->segments.at[g->life];
  wf_adopted_segment *segment = WF__SNAP_ADD(to->segments);
  if (!segment) return WF_NO_MEMORY;
  *segment = (wf_adopted_segment){.address = (uintptr_t)g->address,
                                  .size = g->size,
                                  .stream = h->snapshot->streams.at[life->stream],
                                  .large = life->large,
                                  .expandable = life->expandable};
  to->private_segments += life->pool != 0;
  to->expandable |= life->expandable;
  for (uint32_t i = g->first; i < g->first + g->count; i++) {
    const wf__piece *p = &l->pieces.at[i];
    if (p->life == WF__NO_LIFE) continue;
    bool hole = i + 1 < g->first + g->count && p[1].life == WF__NO_LIFE, cut = life->expandable || !life->large;
    bool oversize = h->blocks.at[p->life].requested >= h->conf.max_split; /* never cut */
    bool own = hole && !cut && (p[1].size <= WF__SMALL_MAX || oversize);
    wf_adopted_block *block = WF__SNAP_ADD(to->blocks);
    uint32_t *number = block ? WF__SNAP_ADD(to->lives) : NULL;
    if (!number) return WF_NO_MEMORY;
    *block =
        (wf_adopted_block){p->address - g->address, p->size + (own ? p[1].size : 0), h->blocks.at[p->life].requested};
    *number = p->life;
    segment->block_count++;
    if (hole && !cut && !own) WF__TRY(note_open(ends, h, p, (uint32_t)to->blocks.n - 1));
  }
  return WF_OK;
}

/* The one that ends at or before the address, within 1 MiB. */
static open_end *end_before(const open_ends *ends, uint64_t address) {
  size_t low = 0, high = ends->all.n;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (ends->all.at[middle].end <= address) low = middle + 1;
    else high = middle;
  }
  open_end *e = low ? &ends->all.at[low - 1] : NULL;
  return e && address - e->end <= WF__SMALL_MAX ? e : NULL;
}

static void see_ends(wf__replay_start *to, open_ends *ends, const wf__history *h) {
  for (uint32_t i = 0; i < h->n && ends->all.n; i++) {
    if (h->events[i].action != WF__SNAP_ALLOC) continue;
    open_end *e = end_before(ends, h->events[i].address);
    if (!e || e->known || e->died <= i) continue;
    e->known = true;
    to->blocks.at[e->index].size += h->events[i].address - e->end;
  }
  for (size_t i = 0; i < ends->all.n; i++) to->guessed += !ends->all.at[i].known;
}

wf_status wf__replay_start_make(wf__replay_start *to, const wf__history *h) {
  wf__layout l;
  open_ends ends = {0};
  *to = (wf__replay_start){0};
  WF__TRY(wf__layout_make(&l, h, 0));
  wf_status status = WF_OK;
  for (size_t i = 0; i < l.segments.n && !status; i++) status = take_segment(to, &ends, h, &l, &l.segments.at[i]);
  wf__layout_release(&l);
  if (!status) see_ends(to, &ends, h);
  wf__release(ends.all.at);
  for (size_t i = 0, at = 0; i < to->segments.n && !status; at += to->segments.at[i++].block_count)
    to->segments.at[i].blocks = to->blocks.at ? to->blocks.at + at : NULL;
  if (status) wf__replay_start_release(to);
  return status;
}

void wf__replay_start_release(wf__replay_start *start) {
  wf__release(start->segments.at);
  wf__release(start->blocks.at);
  wf__release(start->lives.at);
  *start = (wf__replay_start){0};
}
