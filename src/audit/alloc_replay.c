/* Plays the requests of a history. When it follows the recording, the driver gives the recorded addresses and refuses as long as the
 * recording gave segments back before it got one: what was refused leaves no other trace. */
#include "audit/alloc_replay.h"

#include "base/host.h"
#include "memory/policy.h"

enum { LANES = 4096, LANE_STREAM = 1 << 20 };
#define MEMORY_BASE ((uint64_t)1 << 44)

typedef struct player {
  const wf__history *h;
  const wf__replay_setup *setup;
  wf__replay_result *r;
  wf_allocator *a;
  wf_block **blocks; /* by life */
  uint32_t at;       /* event that is being played */
  uint32_t summed;   /* events whose segments are in `then` */
  uint64_t then;     /* reserved in the recording */
  /* the driver */
  uint64_t used, next;
  uint32_t expected_gives;  /* recorded before the request that is being played, and not yet come */
  uint32_t first_get, gets; /* recorded for it: events, and how many of them are still to come */
  bool refuse;              /* whatever is asked: the recorded request failed */
  /* frees that wait for other streams: each lane's end in the order in which they began */
  uint32_t lanes, lane_until[LANES];
  uint8_t *passed;             /* by life */
  uint32_t marked;             /* life whose free is being marked */
  uint32_t late_from, late_to; /* events that completed frees inside the request that is being played */
} player;

static void differs(player *p) {
  if (p->r->first_difference == WF__NO_LIFE) p->r->first_difference = p->at;
}

/* ---- driver ---------------------------------------------------------------------------------------------------------- */

static bool is_get(const wf__snap_event *e) {
  return e->action == WF__SNAP_SEGMENT_ALLOC || e->action == WF__SNAP_SEGMENT_MAP;
}
static bool is_give(const wf__snap_event *e) {
  return e->action == WF__SNAP_SEGMENT_FREE || e->action == WF__SNAP_SEGMENT_UNMAP;
}

/* The next recorded get of this request; NULL when there is none left. */
static const wf__snap_event *recorded_get(const player *p) { return p->gets ? &p->h->events[p->first_get] : NULL; }

static void pass_get(player *p) {
  p->gets--;
  for (p->first_get++; p->gets && !is_get(&p->h->events[p->first_get]);) p->first_get++;
}

static bool has_room(player *p, size_t bytes) { return !p->setup->memory || p->used + bytes <= p->setup->memory; }

static uint64_t new_address(player *p, size_t bytes) {
  uint64_t address = p->next;
  p->next += (bytes + WF__SEGMENT_STEP - 1) / WF__SEGMENT_STEP * WF__SEGMENT_STEP;
  return address;
}

static bool follow_get(player *p, size_t bytes, uint64_t *address) {
  const wf__snap_event *e = recorded_get(p);
  if (p->refuse || p->expected_gives) return false;
  if (e && e->size == bytes) {
    *address = e->address;
    pass_get(p);
  } else {
    p->r->other_driver++;
    differs(p);
    *address = new_address(p, bytes);
  }
  return true;
}

static bool play_get(void *context, size_t bytes, uintptr_t *address) {
  player *p = context;
  uint64_t where;
  if (p->setup->follow ? !follow_get(p, bytes, &where) : !has_room(p, bytes)) return false;
  if (!p->setup->follow) where = new_address(p, bytes);
  p->used += bytes;
  *address = (uintptr_t)where;
  return true;
}

static void play_give(void *context, uintptr_t address, size_t bytes) {
  player *p = context;
  (void)address;
  p->used -= bytes;
  if (p->expected_gives) p->expected_gives--;
  else if (p->setup->follow && p->at < p->h->n) {
    p->r->other_driver++;
    differs(p);
  }
}

static bool play_reserve(void *context, size_t bytes, uintptr_t *address) {
  player *p = context;
  const wf__snap_event *e = p->setup->follow ? recorded_get(p) : NULL;
  *address = (uintptr_t)(e ? e->address : new_address(p, bytes));
  return true;
}

static void play_unreserve(void *context, uintptr_t address, size_t bytes) {
  (void)context, (void)address, (void)bytes;
}

static bool play_map(void *context, uintptr_t address, size_t bytes) {
  player *p = context;
  const wf__snap_event *e = recorded_get(p);
  if (p->setup->follow) {
    if (p->refuse || p->expected_gives) return false;
    if (e && e->address == address && e->size == bytes) {
      pass_get(p);
    } else {
      p->r->other_driver++;
      differs(p);
    }
  } else if (!has_room(p, bytes)) {
    return false;
  }
  p->used += bytes;
  return true;
}

/* Marks of frees are lives, counted from 1. */
static uint64_t play_record(void *context, uint64_t stream) {
  (void)stream;
  return (uint64_t)((player *)context)->marked + 1;
}
static bool play_query(void *context, uint64_t mark) { return ((player *)context)->passed[mark - 1]; }
static void play_wait(void *context, uint64_t mark) { ((player *)context)->passed[mark - 1] = 1; }

/* ---- requests -------------------------------------------------------------------------------------------------------- */

/* In which lane the life's free waits: marks of one stream pass in order, so each lane's must end in the order in which they begin. */
static uint64_t lane_of(player *p, uint32_t died) {
  uint32_t lane = 0;
  while (lane < p->lanes && p->lane_until[lane] > died) lane++;
  if (lane == LANES) lane = LANES - 1;
  if (lane == p->lanes) p->lanes++;
  p->lane_until[lane] = died;
  return LANE_STREAM + lane;
}

static void play_free(player *p, uint32_t life) {
  const wf__block_life *l = &p->h->blocks.at[life];
  wf_block *block = p->blocks[life];
  if (!block) return;
  p->blocks[life] = NULL;
  p->marked = life;
  if (l->deferred && wf_block_record_stream(p->a, block, lane_of(p, l->died)))
    return; /* no memory: it stays, the error is pending */
  wf_block_free(p->a, block);
}

static void note_peak(player *p) {
  uint64_t reserved = p->a->reserved;
  if (reserved <= p->r->peak_reserved) return;
  p->r->peak_reserved = reserved;
  p->r->allocated_then = (uint64_t)p->a->stats.allocated_bytes[0].current;
}

/* A block of the pool that the event names. */
static wf_block *request(player *p, const wf__snap_event *e) {
  uint64_t stream = p->h->snapshot->streams.at[e->stream];
  bool apart = e->pool && wf_allocator_pool_begin(p->a, e->pool, stream) == WF_OK;
  wf_block *block = wf_block_new(p->a, e->size, stream);
  note_peak(p);
  if (apart) {
    wf_status pending = wf__error_suspend();
    wf_allocator_pool_end(p->a, e->pool);
    wf__error_resume(pending);
  }
  return block;
}

/* What isn't served: no error of the replay, unless it was the host's memory that was out. */
static wf_status not_served(player *p, uint32_t i) {
  if (p->a->stats.ooms == (int64_t)p->r->failures) return wf_error_peek().status; /* something else failed */
  wf_error_take();
  if (!p->r->failures++) p->r->first_failure = i;
  return WF_OK;
}

static wf_status play_alloc(player *p, uint32_t i) {
  const wf__snap_event *e = &p->h->events[i];
  uint32_t life = p->h->life_of[i];
  if (life == WF__NO_LIFE || !e->size) return WF_OK;
  p->r->placed++;
  wf_block *block = request(p, e);
  p->blocks[life] = block;
  if (!block) {
    differs(p);
    return not_served(p, i);
  }
  if (p->setup->follow && wf_block_address(block) == e->address) p->r->same++;
  else if (p->setup->follow) differs(p);
  return WF_OK;
}

/* A request that failed when it was recorded; served here, its block is given back at once, since nobody knows what would have come. */
static wf_status play_failure(player *p, uint32_t i) {
  p->refuse = p->setup->follow;
  wf_block *block = request(p, &p->h->events[i]);
  p->refuse = false;
  if (!block) return not_served(p, i);
  p->r->served++;
  if (p->setup->follow) differs(p);
  wf_block_free(p->a, block);
  return WF_OK;
}

/* Whether the free that event i completes had waited for another stream. */
static bool is_late(const player *p, uint32_t i) {
  uint32_t life = p->h->life_of[i];
  return p->h->events[i].action == WF__SNAP_FREE_COMPLETED && life != WF__NO_LIFE && p->h->blocks.at[life].deferred;
}

/* What was reserved in the recording before event i; asked for in the order of events. */
static uint64_t reserved_before(player *p, uint32_t i) {
  for (; p->summed < i; p->summed++) {
    const wf__snap_event *e = &p->h->events[p->summed];
    if (is_get(e)) p->then += e->size;
    if (is_give(e)) p->then -= e->size;
  }
  return p->then;
}

/* Whether the recorded gets from `get` on would have fit beside all that was reserved before event i: there was so much memory. Then no request gave
 * segments back for want of it, but empty_cache did in the same line, as cuDNN's benchmark has it done. */
static bool had_room(player *p, uint32_t i, uint32_t get) {
  uint64_t reserved = reserved_before(p, i), had = p->setup->had;
  if (p->h->conf.garbage_collection > 0) return false; /* it gives back before memory is out */
  for (; get < p->h->n && is_get(&p->h->events[get]); get++) reserved += p->h->events[get].size;
  return reserved <= (had > p->h->reserved_peak ? had : p->h->reserved_peak);
}

/* From event i on, frees were completed and segments given back. If that was inside of a request, which then got a segment or failed: the
 * event of that, and how many were given back. Else i. Where stacks were recorded they tell; else what follows does. */
static uint32_t inside_request(player *p, uint32_t i, uint32_t *gives) {
  const wf__snap_event *first = NULL;
  uint32_t end = i;
  *gives = 0;
  for (; end < p->h->n; end++) {
    const wf__snap_event *e = &p->h->events[end];
    if (is_give(e) && (!first || e->stack == first->stack)) {
      first = first ? first : e;
      ++*gives;
    } else if (!is_late(p, end)) {
      break;
    }
  }
  if (end == p->h->n) return i;
  const wf__snap_event *e = &p->h->events[end];
  if (e->action == WF__SNAP_OOM) return end;
  return first && is_get(e) && e->stack == first->stack && !had_room(p, i, end) ? end : i;
}

/* What the recorded request waited for has passed, whether this one waited or not. */
static void pass_late(player *p) {
  for (uint32_t i = p->late_from; i < p->late_to; i++)
    if (is_late(p, i)) p->passed[p->h->life_of[i]] = 1;
  p->late_from = p->late_to = 0;
}

/* Segments were given back from event i on: by a request, or by empty_cache. Returns the event behind. */
static uint32_t play_gives(player *p, uint32_t i) {
  uint32_t gives, end = inside_request(p, i, &gives);
  if (end > i) {
    if (p->setup->follow) p->expected_gives += gives;
    p->late_from = i;
    p->late_to = end;
    if (!p->setup->follow) pass_late(p);
    return end;
  }
  const uint32_t stack = p->h->events[i].stack;
  while (end < p->h->n && is_give(&p->h->events[end]) && p->h->events[end].stack == stack) end++;
  if (p->setup->follow) p->expected_gives += end - i;
  wf_allocator_empty_cache(p->a);
  if (p->expected_gives) {
    p->r->other_driver += p->expected_gives;
    differs(p);
  }
  p->expected_gives = 0;
  return end;
}

/* A free is completed: seen by the next request, or waited for by a request that finds no memory, together with what it gives back. */
static uint32_t play_completed(player *p, uint32_t i) {
  uint32_t life = p->h->life_of[i], gives, end = is_late(p, i) ? inside_request(p, i, &gives) : i;
  if (end > i) {
    if (p->setup->follow) p->expected_gives += gives;
    p->late_from = i;
    p->late_to = end;
    if (!p->setup->follow) pass_late(p);
    return end;
  }
  if (life == WF__NO_LIFE) return i + 1;
  p->passed[life] = 1;
  if (p->h->blocks.at[life].freed == i + 1) play_free(p, life); /* the request was left out of the recording */
  return i + 1;
}

/* What was recorded for the request and hasn't come is a difference. */
static void close_request(player *p) {
  if (p->setup->follow && (p->gets || p->expected_gives)) {
    p->r->other_driver += p->gets + p->expected_gives;
    differs(p);
  }
  p->gets = p->expected_gives = 0;
  pass_late(p);
}

static wf_status play_event(player *p, uint32_t *i) {
  const wf__snap_event *e = &p->h->events[*i];
  uint32_t life = p->h->life_of[*i];
  p->at = *i;
  switch ((wf__snap_action)e->action) {
    case WF__SNAP_ALLOC: WF__TRY(play_alloc(p, *i)); break;
    case WF__SNAP_OOM: WF__TRY(play_failure(p, *i)); break;
    case WF__SNAP_FREE_REQUESTED:
      if (life != WF__NO_LIFE) play_free(p, life);
      ++*i;
      return wf_error_peek().status;
    case WF__SNAP_FREE_COMPLETED: *i = play_completed(p, *i); return wf_error_peek().status;
    case WF__SNAP_SEGMENT_ALLOC:
    case WF__SNAP_SEGMENT_MAP:
      if (!p->gets++) p->first_get = *i;
      ++*i;
      return WF_OK;
    case WF__SNAP_SEGMENT_FREE:
    case WF__SNAP_SEGMENT_UNMAP: *i = play_gives(p, *i); return wf_error_peek().status;
    default: ++*i; return WF_OK;
  }
  close_request(p);
  ++*i;
  return WF_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------- */

static wf_status take_over(player *p, const wf__replay_start *start) {
  wf_block **out = wf__malloc((start->blocks.n + 1) * sizeof *out);
  if (!out) return WF_NO_MEMORY;
  wf_status status = WF_OK;
  size_t at = 0;
  for (size_t i = 0; i < start->segments.n && !status; at += start->segments.at[i++].block_count) {
    status = wf_allocator_adopt(p->a, &start->segments.at[i], out + at);
    p->used += start->segments.at[i].size;
  }
  for (size_t i = 0; i < start->blocks.n && !status; i++) p->blocks[start->lives.at[i]] = out[i];
  wf__release(out);
  return status;
}

/* Frees that were requested before the recording. */
static void free_pending(player *p, const wf__replay_start *start) {
  for (size_t i = 0; i < start->lives.n; i++) {
    uint32_t life = start->lives.at[i];
    if (!p->h->blocks.at[life].freed) play_free(p, life);
  }
}

static wf_status open_allocator(player *p) {
  wf_allocator_driver driver = {.context = p,
                                .get = play_get,
                                .give = play_give,
                                .record = play_record,
                                .query = play_query,
                                .wait = play_wait,
                                .reserve = play_reserve,
                                .unreserve = play_unreserve,
                                .map = play_map,
                                .unmap = play_give};
  wf_allocator_options options = wf_allocator_defaults();
  options.conf = p->setup->conf;
  options.ties = p->setup->ties;
  options.total_bytes = p->setup->total;
  p->a = wf_allocator_new(&driver, &options);
  return p->a ? WF_OK : wf_error_peek().status;
}

static wf_status play(player *p, const wf__replay_start *start) {
  WF__TRY(open_allocator(p));
  WF__TRY(take_over(p, start));
  free_pending(p, start);
  note_peak(p);
  wf_allocator_stats before = p->a->stats;
  for (uint32_t i = 0; i < p->h->n;) {
    WF__TRY(play_event(p, &i));
    if (p->r->failures && !p->setup->follow) break;
  }
  p->r->peak_allocated = (uint64_t)p->a->stats.allocated_bytes[0].peak;
  p->r->got = p->a->stats.device_alloc - before.device_alloc;
  p->r->gave = p->a->stats.device_free - before.device_free;
  p->r->retries = p->a->stats.alloc_retries;
  return WF_OK;
}

wf_status wf__replay_play(const wf__history *h, const wf__replay_start *start, const wf__replay_setup *setup,
                          wf__replay_result *result) {
  player *p = wf__calloc(1, sizeof *p);
  *result = (wf__replay_result){.first_difference = WF__NO_LIFE};
  if (!p) return WF_NO_MEMORY;
  p->h = h;
  p->setup = setup;
  p->r = result;
  p->next = MEMORY_BASE;
  p->then = wf__sums_at(h, 0).reserved;
  p->blocks = wf__calloc(h->blocks.n + 1, sizeof *p->blocks);
  p->passed = wf__calloc(h->blocks.n + 1, 1);
  wf_status status = p->blocks && p->passed ? play(p, start) : WF_NO_MEMORY;
  p->at = h->n; /* from here on nothing is compared */
  wf_allocator_free(p->a);
  wf__release(p->blocks);
  wf__release(p->passed);
  wf__release(p);
  return status;
}
