/* Reading and resetting the statistics. */
#include "memory/stats.h"

#include <stdio.h>
#include <string.h>

#include "memory/policy.h"

/* ---- by PyTorch's names -------------------------------------------------------------------------------------------------- */

typedef void (*tell)(const char *key, int64_t value, void *context);

static void tell_stat(const char *name, const char *pool, const wf_stat *stat, tell fn, void *context) {
  char key[64];
  const struct {
    const char *name;
    int64_t value;
  } parts[] = {
      {"current", stat->current}, {"peak", stat->peak}, {"allocated", stat->allocated}, {"freed", stat->freed}};
  for (int i = 0; i < 4; i++) {
    snprintf(key, sizeof key, "%s%s.%s", name, pool, parts[i].name);
    fn(key, parts[i].value, context);
  }
}

void wf_allocator_stats_each(const wf_allocator_stats *s, tell fn, void *context) {
  static const char *const pools[3] = {".all", ".small_pool", ".large_pool"};
  const struct {
    const char *name;
    const wf_stat *stats;
  } figures[] = {{"active", s->active},
                 {"active_bytes", s->active_bytes},
                 {"allocated_bytes", s->allocated_bytes},
                 {"allocation", s->allocation},
                 {"inactive_split", s->inactive_split},
                 {"inactive_split_bytes", s->inactive_split_bytes},
                 {"requested_bytes", s->requested_bytes},
                 {"reserved_bytes", s->reserved_bytes},
                 {"segment", s->segment}};
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
    for (int pool = 0; pool < 3; pool++) tell_stat(figures[i].name, pools[pool], &figures[i].stats[pool], fn, context);
  tell_stat("oversize_allocations", "", &s->oversize_allocations, fn, context);
  tell_stat("oversize_segments", "", &s->oversize_segments, fn, context);
  fn("max_split_size", s->max_split_size, context);
  fn("num_alloc_retries", s->alloc_retries, context);
  fn("num_device_alloc", s->device_alloc, context);
  fn("num_device_free", s->device_free, context);
  fn("num_oom_rejections", 0, context); /* of throw_on_cudamalloc_oom, which has no effect here */
  fn("num_ooms", s->ooms, context);
  fn("num_sync_all_streams", s->sync_all_streams, context);
}

/* ---- reading, resetting ---------------------------------------------------------------------------------------------------- */

/* See wf__figures_add. */
static void complete(wf_stat stats[3]) {
  wf_stat *all = &stats[WF__STAT_ALL];
  all->allocated = all->freed = 0;
  for (int pool = WF__STAT_SMALL; pool <= WF__STAT_LARGE; pool++) {
    stats[pool].freed += stats[pool].allocated - stats[pool].current;
    all->allocated += stats[pool].allocated;
    all->freed += stats[pool].freed;
  }
}

static void begin_anew(wf_stat stats[3]) {
  for (int pool = WF__STAT_SMALL; pool <= WF__STAT_LARGE; pool++) {
    stats[pool].allocated = 0;
    stats[pool].freed = stats[pool].current;
  }
}

static void each_figure(wf_allocator_stats *s, void (*fn)(wf_stat stats[3])) {
  wf_stat *const figures[] = {s->allocation,      s->segment,        s->active,       s->inactive_split,
                              s->allocated_bytes, s->reserved_bytes, s->active_bytes, s->inactive_split_bytes,
                              s->requested_bytes};
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) fn(figures[i]);
}

void wf_allocator_get_stats(const wf_allocator *a, wf_allocator_stats *stats) {
  *stats = a->stats;
  stats->max_split_size = a->conf.max_split == WF__NO_LIMIT ? -1 : (int64_t)a->conf.max_split;
  each_figure(stats, complete);
}

void wf_allocator_pool_stats_each(const wf_allocator *a,
                                  void (*fn)(uint64_t pool, const wf_stat reserved_bytes[3], void *context),
                                  void *context) {
  for (const wf__pool_figures *f = a->figures; f; f = f->next) {
    if (!f->any) continue;
    wf_stat stats[3];
    memcpy(stats, f->reserved_bytes, sizeof stats);
    complete(stats);
    fn(f->id, stats, context);
  }
}

/* Every wf_stat stands before the plain counters, so they can be visited as one array. */
static void each_stat(wf_allocator_stats *stats, void (*fn)(wf_stat *stat)) {
  _Static_assert(offsetof(wf_allocator_stats, alloc_retries) % sizeof(wf_stat) == 0,
                 "statistics come first, without a gap");
  wf_stat *stat = (wf_stat *)(void *)stats;
  for (size_t i = 0; i < offsetof(wf_allocator_stats, alloc_retries) / sizeof(wf_stat); i++) fn(&stat[i]);
}

static void reset_peak(wf_stat *stat) { stat->peak = stat->current; }

void wf_allocator_reset_peak(wf_allocator *a) {
  each_stat(&a->stats, reset_peak);
  for (wf__pool_figures *f = a->figures; f; f = f->next)
    for (int pool = 0; pool < 3; pool++) reset_peak(&f->reserved_bytes[pool]);
}

void wf_allocator_reset_accumulated(wf_allocator *a) {
  each_figure(&a->stats, begin_anew);
  for (wf__pool_figures *f = a->figures; f; f = f->next) begin_anew(f->reserved_bytes);
  a->stats.oversize_allocations.allocated = a->stats.oversize_allocations.freed = 0;
  a->stats.oversize_segments.allocated = a->stats.oversize_segments.freed = 0;
  a->stats.alloc_retries = a->stats.ooms = a->stats.sync_all_streams = a->stats.device_alloc = a->stats.device_free = 0;
}
