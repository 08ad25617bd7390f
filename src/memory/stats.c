/* Reading and resetting the statistics. */
#include "memory/stats.h"

#include "memory/policy.h"

void wf_allocator_get_stats(const wf_allocator *a, wf_allocator_stats *stats) { *stats = a->stats; }

/* Every wf_stat stands before the plain counters, so they can be visited as one array. */
static void each_stat(wf_allocator_stats *stats, void (*fn)(wf_stat *stat)) {
  _Static_assert(offsetof(wf_allocator_stats, alloc_retries) % sizeof(wf_stat) == 0,
                 "statistics come first, without a gap");
  wf_stat *stat = (wf_stat *)(void *)stats;
  for (size_t i = 0; i < offsetof(wf_allocator_stats, alloc_retries) / sizeof(wf_stat); i++) fn(&stat[i]);
}

static void reset_peak(wf_stat *stat) { stat->peak = stat->current; }
static void reset_accumulated(wf_stat *stat) { stat->allocated = stat->freed = 0; }

void wf_allocator_reset_peak(wf_allocator *a) { each_stat(&a->stats, reset_peak); }

void wf_allocator_reset_accumulated(wf_allocator *a) {
  each_stat(&a->stats, reset_accumulated);
  a->stats.alloc_retries = a->stats.ooms = a->stats.sync_all_streams = a->stats.device_alloc = a->stats.device_free = 0;
}
