/* Lives of blocks and segments, found backwards. Live blocks are looked up by address in an open hash table; those of the large pool
 * are in an ordered set as well, because how much of the gap behind it a block took shows where the next one begins. */
#include "audit/history.h"

#include "audit/ranges.h"
#include "base/host.h"
#include "memory/order.h"

/* ---- live blocks by address ------------------------------------------------------------------------------------------ */

typedef struct live_table {
  uint32_t *slots; /* lives; WF__NO_LIFE: free */
  uint32_t mask, used;
} live_table;

typedef struct live_node {
  wf__order_node node;
  uint32_t life;
} live_node;

typedef struct builder {
  wf__history *h;
  live_table table;
  wf__ranges ranges;
  wf__order large;   /* of live_node, by address */
  live_node **nodes; /* all of them, for release */
  size_t node_count, node_room;
  live_node *spare; /* linked by node.left */
} builder;

static uint32_t slot_of(const builder *b, uint64_t address) {
  uint32_t i = (uint32_t)((address >> 9) * 0x9e3779b97f4a7c15u >> 32) & b->table.mask;
  while (b->table.slots[i] != WF__NO_LIFE && b->h->blocks.at[b->table.slots[i]].address != address)
    i = (i + 1) & b->table.mask;
  return i;
}

static uint32_t find_live(const builder *b, uint64_t address) { return b->table.slots[slot_of(b, address)]; }

static wf_status grow_table(builder *b) {
  live_table old = b->table;
  uint32_t room = old.slots ? 2 * (old.mask + 1) : 1024;
  b->table.slots = wf__malloc(room * sizeof *old.slots);
  if (!b->table.slots) {
    b->table = old;
    return WF_NO_MEMORY;
  }
  b->table.mask = room - 1;
  memset(b->table.slots, 0xff, room * sizeof *old.slots);
  for (uint32_t i = 0; old.slots && i <= old.mask; i++)
    if (old.slots[i] != WF__NO_LIFE) b->table.slots[slot_of(b, b->h->blocks.at[old.slots[i]].address)] = old.slots[i];
  wf__release(old.slots);
  return WF_OK;
}

static wf_status put_live(builder *b, uint32_t life) {
  if (2 * (b->table.used + 1) > b->table.mask) WF__TRY(grow_table(b));
  uint32_t i = slot_of(b, b->h->blocks.at[life].address);
  b->table.used += b->table.slots[i] == WF__NO_LIFE;
  b->table.slots[i] = life;
  return WF_OK;
}

/* Takes it out and closes the gap, so that no search stops too early. */
static void drop_live(builder *b, uint64_t address) {
  uint32_t mask = b->table.mask, hole = slot_of(b, address);
  if (b->table.slots[hole] == WF__NO_LIFE) return;
  b->table.slots[hole] = WF__NO_LIFE;
  b->table.used--;
  for (uint32_t i = (hole + 1) & mask; b->table.slots[i] != WF__NO_LIFE; i = (i + 1) & mask) {
    uint32_t life = b->table.slots[i];
    b->table.slots[i] = WF__NO_LIFE;
    b->table.slots[slot_of(b, b->h->blocks.at[life].address)] = life;
  }
}

/* ---- live blocks of the large pool, in order -------------------------------------------------------------------------- */

enum { SLAB = 256 };

static live_node *new_node(builder *b) {
  if (!b->spare) {
    if (b->node_count == b->node_room) {
      size_t room = b->node_room ? 2 * b->node_room : 16;
      live_node **nodes = wf__realloc(b->nodes, room * sizeof *nodes);
      if (!nodes) return NULL;
      b->nodes = nodes;
      b->node_room = room;
    }
    live_node *slab = wf__calloc(SLAB, sizeof *slab);
    if (!slab) return NULL;
    b->nodes[b->node_count++] = slab;
    for (int i = 0; i < SLAB; i++) {
      slab[i].node.left = b->spare ? &b->spare->node : NULL;
      b->spare = &slab[i];
    }
  }
  live_node *node = b->spare;
  b->spare = (live_node *)node->node.left;
  return node;
}

static wf_status put_large(builder *b, uint32_t life) {
  wf__block_life *l = &b->h->blocks.at[life];
  l->large = wf__round_size(&b->h->conf, l->requested ? l->requested : l->size) > WF__SMALL_MAX;
  if (!l->large) return WF_OK;
  live_node *node = new_node(b);
  if (!node) return WF_NO_MEMORY;
  *node = (live_node){.node.key.address = l->address, .life = life};
  wf__order_insert(&b->large, &node->node);
  return WF_OK;
}

static void drop_large(builder *b, const wf__block_life *l) {
  if (!l->large) return;
  live_node *node = (live_node *)wf__order_at_least(&b->large, &(wf__order_key){.address = l->address});
  if (!node || node->node.key.address != l->address) return;
  wf__order_remove(&b->large, &node->node);
  node->node.left = b->spare ? &b->spare->node : NULL;
  b->spare = node;
}

/* When the block was made: what lay behind it, up to the next block or the segment's end, is its own if it is too little to be cut off.
 * Nothing is known of blocks outside of any segment. */
static void measure(builder *b, wf__block_life *l) {
  const wf__range *home = wf__ranges_find(&b->ranges, l->address);
  if (!l->large || !home || b->h->segments.at[home->segment].expandable) return;
  live_node *next = (live_node *)wf__order_after(&b->large, &(wf__order_key){.address = l->address});
  uint64_t end = home->address + home->size, limit = l->address + wf__round_size(&b->h->conf, l->requested);
  if (next && next->node.key.address < end) end = next->node.key.address;
  bool whole = l->requested >= b->h->conf.max_split; /* oversize blocks are never cut */
  if (end > limit && (end - limit <= WF__SMALL_MAX || whole)) l->size = end - l->address;
}

/* ---- events, last one first ------------------------------------------------------------------------------------------- */

static wf_status new_block(builder *b, wf__block_life life, uint32_t *number) {
  if (b->h->blocks.n >= WF__NO_LIFE - 1) return wf__fail(WF_VALUE, "more blocks than can be counted");
  wf__block_life *place = WF__SNAP_ADD(b->h->blocks);
  if (!place) return WF_NO_MEMORY;
  *place = life;
  *number = (uint32_t)(b->h->blocks.n - 1);
  WF__TRY(put_live(b, *number));
  return put_large(b, *number);
}

static wf_status undo_free(builder *b, const wf__snap_event *e, uint32_t i) {
  uint32_t number, before = find_live(b, e->address);
  if (before != WF__NO_LIFE) { /* a later life without its beginning: it began here at the latest */
    b->h->blocks.at[before].born = i + 1;
    drop_large(b, &b->h->blocks.at[before]);
    b->h->unmatched++;
  }
  wf__block_life life = {.address = e->address,
                         .size = wf__round_size(&b->h->conf, e->size),
                         .requested = e->size,
                         .freed = i + 1,
                         .died = i + 1,
                         .stack = e->stack,
                         .from_free = true,
                         .stream = e->stream,
                         .pool = e->pool};
  WF__TRY(new_block(b, life, &number));
  b->h->life_of[i] = number;
  return WF_OK;
}

static void undo_request(builder *b, const wf__snap_event *e, uint32_t i) {
  uint32_t number = find_live(b, e->address);
  if (number == WF__NO_LIFE) return;
  wf__block_life *l = &b->h->blocks.at[number];
  l->freed = i + 1;
  l->asked = true;
  /* completed at once, and by the same line: by the free itself, not by the next request */
  l->deferred = l->died != i + 2 || e->stack != e[1].stack;
  b->h->life_of[i] = number;
}

static void undo_alloc(builder *b, const wf__snap_event *e, uint32_t i) {
  uint32_t number = find_live(b, e->address);
  if (number == WF__NO_LIFE) {
    b->h->unmatched++;
    return;
  }
  wf__block_life *l = &b->h->blocks.at[number];
  l->born = i + 1;
  l->stack = e->stack;
  l->from_free = false;
  l->requested = e->size;
  b->h->life_of[i] = number;
  if (l->died <= b->h->n) measure(b, l);
  drop_large(b, l);
  drop_live(b, e->address);
}

static wf_status undo_segment(builder *b, const wf__snap_event *e, uint32_t i) {
  bool map = e->action == WF__SNAP_SEGMENT_MAP || e->action == WF__SNAP_SEGMENT_UNMAP;
  if (e->action == WF__SNAP_SEGMENT_ALLOC || e->action == WF__SNAP_SEGMENT_MAP)
    return wf__ranges_begin(&b->ranges, b->h, e, i + 1);
  wf__segment_life life = {.address = e->address,
                           .size = e->size,
                           .died = i + 1,
                           .stream = e->stream,
                           .stack = e->stack,
                           .pool = e->pool,
                           .expandable = map,
                           .large = map ? e->size % b->h->conf.large_segment == 0 : e->size > WF__SMALL_SEGMENT};
  return wf__ranges_add(&b->ranges, b->h, life);
}

static wf_status undo(builder *b, uint32_t i) {
  const wf__snap_event *e = &b->h->events[i];
  switch ((wf__snap_action)e->action) {
    case WF__SNAP_ALLOC: undo_alloc(b, e, i); return WF_OK;
    case WF__SNAP_FREE_REQUESTED: undo_request(b, e, i); return WF_OK;
    case WF__SNAP_FREE_COMPLETED: return undo_free(b, e, i);
    case WF__SNAP_SEGMENT_ALLOC:
    case WF__SNAP_SEGMENT_FREE:
    case WF__SNAP_SEGMENT_MAP:
    case WF__SNAP_SEGMENT_UNMAP: return undo_segment(b, e, i);
    default: return WF_OK;
  }
}

/* ---- the final state ---------------------------------------------------------------------------------------------------- */

static wf_status begin_segment(builder *b, const wf__snap_segment *g) {
  wf__segment_life life = {.address = g->address,
                           .size = g->size,
                           .died = b->h->n + 1,
                           .stream = g->stream,
                           .stack = g->stack,
                           .pool = g->pool,
                           .large = g->large,
                           .expandable = g->expandable};
  WF__TRY(wf__ranges_add(&b->ranges, b->h, life));
  for (uint32_t k = 0; k < g->block_count; k++) {
    const wf__snap_block *block = &b->h->snapshot->blocks.at[g->first_block + k];
    uint32_t number;
    if (block->state == WF_BLOCK_FREE) continue;
    wf__block_life l = {.address = block->address,
                        .size = block->size,
                        .requested = block->requested,
                        .freed = block->state == WF_BLOCK_ALLOCATED ? b->h->n + 1 : 0,
                        .died = b->h->n + 1,
                        .deferred = block->state == WF_BLOCK_PENDING,
                        .stack = block->stack,
                        .stream = g->stream,
                        .pool = g->pool};
    WF__TRY(new_block(b, l, &number));
  }
  return WF_OK;
}

/* The settings as recorded: the text, else what the fields say. */
static void take_conf(wf__history *h) {
  const wf__snap_settings *s = &h->snapshot->settings;
  const char *text = wf__snap_text(h->snapshot, s->conf);
  wf__conf_defaults(&h->conf);
  h->conf_known = s->present;
  if (*text) {
    if (!wf__conf_parse(&h->conf, text)) return;
    wf_error_take();
    h->conf_bad = true;
    wf__conf_defaults(&h->conf);
  }
  if (!s->present) return;
  if (s->max_split > 0) h->conf.max_split = (size_t)s->max_split;
  h->conf.garbage_collection = s->garbage_collection;
  h->conf.expandable = s->expandable;
  for (int i = 0; i < WF__ROUNDUP_BUCKETS; i++)
    h->conf.roundup[i] = s->divisions[i] > 0 ? (uint32_t)s->divisions[i] : 0;
}

int wf__device_after(const wf_snapshot *s, int device) {
  int found = -1;
  for (size_t i = 0; i < s->segments.n && found < 0; i++) /* by device */
    if (s->segments.at[i].device > device) found = s->segments.at[i].device;
  for (int i = device + 1; i < (int)s->trace_count && (found < 0 || i < found); i++)
    if (wf__snap_trace_of(s, i).count) return i;
  return found;
}

/* What only completes its free was freed before the recording, and waited; unless requests were left out of the recording. */
static void find_pending(wf__history *h) {
  bool any = false;
  for (size_t i = 0; i < h->blocks.n && !any; i++) any = h->blocks.at[i].asked;
  for (size_t i = 0; i < h->blocks.n && any; i++) {
    wf__block_life *l = &h->blocks.at[i];
    if (l->born || l->died > h->n || l->asked) continue;
    l->freed = 0;
    l->deferred = true;
  }
}

static wf_status build(builder *b) {
  wf__history *h = b->h;
  const wf_snapshot *s = h->snapshot;
  h->life_of = wf__malloc(((size_t)h->n + 1) * sizeof *h->life_of);
  if (!h->life_of) return WF_NO_MEMORY;
  memset(h->life_of, 0xff, h->n * sizeof *h->life_of);
  WF__TRY(grow_table(b));
  for (size_t i = 0; i < s->segments.n; i++)
    if (s->segments.at[i].device == h->device) WF__TRY(begin_segment(b, &s->segments.at[i]));
  for (uint32_t i = h->n; i-- > 0;) WF__TRY(undo(b, i));
  find_pending(h);
  return WF_OK;
}

/* A log has no final state: what is never freed in it is there at the end. Played forwards, since there is nothing to undo. */
static wf_status build_log(builder *b) {
  wf__history *h = b->h;
  h->life_of = wf__malloc(((size_t)h->n + 1) * sizeof *h->life_of);
  if (!h->life_of) return WF_NO_MEMORY;
  memset(h->life_of, 0xff, h->n * sizeof *h->life_of);
  WF__TRY(grow_table(b));
  for (uint32_t i = 0; i < h->n; i++) {
    const wf__snap_event *e = &h->events[i];
    uint32_t number = e->action == WF__SNAP_OOM ? WF__NO_LIFE : find_live(b, e->address);
    if (e->action == WF__SNAP_ALLOC) {
      if (number != WF__NO_LIFE) drop_live(b, e->address);
      wf__block_life l = {.address = e->address,
                          .size = wf__round_size(&h->conf, e->size),
                          .requested = e->size,
                          .born = i + 1,
                          .freed = h->n + 1,
                          .died = h->n + 1,
                          .stack = e->stack,
                          .stream = e->stream};
      if (h->blocks.n >= WF__NO_LIFE - 1) return wf__fail(WF_VALUE, "more blocks than can be counted");
      wf__block_life *place = WF__SNAP_ADD(h->blocks);
      if (!place) return WF_NO_MEMORY;
      *place = l;
      number = (uint32_t)(h->blocks.n - 1);
      WF__TRY(put_live(b, number));
    } else if (number == WF__NO_LIFE) {
      h->unmatched += e->action == WF__SNAP_FREE_REQUESTED;
      continue;
    } else {
      h->blocks.at[number].freed = h->blocks.at[number].died = i + 1;
      drop_live(b, e->address);
    }
    h->life_of[i] = number;
  }
  return WF_OK;
}

static void drop_builder(builder *b) {
  wf__release(b->table.slots);
  wf__ranges_release(&b->ranges);
  for (size_t i = 0; i < b->node_count; i++) wf__release(b->nodes[i]);
  wf__release(b->nodes);
}

/* ---- peaks -------------------------------------------------------------------------------------------------------------- */

wf__sums wf__sums_at(const wf__history *h, uint32_t state) {
  wf__sums sums = {0};
  for (size_t i = 0; i < h->blocks.n; i++) {
    const wf__block_life *b = &h->blocks.at[i];
    if (!wf__life_at(b->born, b->died, state)) continue;
    sums.active += b->size;
    if (state >= b->freed) continue;
    sums.allocated += b->size;
    sums.requested += b->requested;
    sums.blocks++;
  }
  for (size_t i = 0; i < h->segments.n; i++)
    if (wf__life_at(h->segments.at[i].born, h->segments.at[i].died, state)) {
      sums.reserved += h->segments.at[i].size;
      sums.segments++;
    }
  return sums;
}

static void find_peaks(wf__history *h) {
  wf__sums start = wf__sums_at(h, 0);
  uint64_t allocated = start.allocated, reserved = start.reserved;
  h->peak = allocated;
  h->reserved_peak = reserved;
  for (uint32_t i = 0; i < h->n; i++) {
    const wf__snap_event *e = &h->events[i];
    const wf__block_life *b = h->life_of[i] == WF__NO_LIFE ? NULL : &h->blocks.at[h->life_of[i]];
    if (b && e->action == WF__SNAP_ALLOC) allocated += b->size;
    if (b && b->freed == i + 1) allocated -= b->size;
    if (e->action == WF__SNAP_SEGMENT_ALLOC || e->action == WF__SNAP_SEGMENT_MAP) reserved += e->size;
    if (e->action == WF__SNAP_SEGMENT_FREE || e->action == WF__SNAP_SEGMENT_UNMAP) reserved -= e->size;
    if (allocated > h->peak) {
      h->peak = allocated;
      h->peak_state = i + 1;
    }
    if (reserved > h->reserved_peak) {
      h->reserved_peak = reserved;
      h->reserved_peak_state = i + 1;
    }
  }
}

wf_status wf__history_make(wf__history *h, const wf_snapshot *s, int device) {
  *h = (wf__history){.snapshot = s, .device = device};
  if (device < 0 || wf__device_after(s, device - 1) != device) {
    wf__fail(WF_VALUE, "%s: nothing was recorded of device %d", s->name, device);
    wf__hint("%s", s->segments.n ? "leave --device away: the one that has most reserved is taken"
                                 : "call torch.cuda.memory._record_memory_history() before what should be looked at");
    return WF_VALUE;
  }
  wf__snap_trace trace = wf__snap_trace_of(s, device);
  h->events = trace.count ? s->events.at + trace.first : NULL;
  h->n = trace.count;
  take_conf(h);
  builder b = {.h = h};
  wf_status status = s->is_log ? build_log(&b) : build(&b);
  drop_builder(&b);
  if (status) wf__history_release(h);
  else find_peaks(h);
  return status;
}

void wf__history_release(wf__history *h) {
  wf__release(h->blocks.at);
  wf__release(h->segments.at);
  wf__release(h->life_of);
  *h = (wf__history){0};
}
