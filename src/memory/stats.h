/* Counting as PyTorch does: `current` follows both ways, `peak` its maximum, `allocated` and `freed` only grow. Each change counts
 * for all memory and for the pool that it happened in. */
#ifndef WF_MEMORY_STATS_H
#define WF_MEMORY_STATS_H

#include <weft/sys/allocator.h>

enum { WF__STAT_ALL = 0, WF__STAT_SMALL = 1, WF__STAT_LARGE = 2 }; /* index into the arrays of wf_allocator_stats */

static inline void wf__stat_add(wf_stat *stat, int64_t amount) {
  stat->current += amount;
  stat->allocated += amount;
  if (stat->current > stat->peak) stat->peak = stat->current;
}
static inline void wf__stat_sub(wf_stat *stat, int64_t amount) {
  stat->current -= amount;
  stat->freed += amount;
}
/* A net change of either sign is one event. */
static inline void wf__stat_change(wf_stat *stat, int64_t amount) {
  if (amount > 0) wf__stat_add(stat, amount);
  if (amount < 0) wf__stat_sub(stat, -amount);
}
static inline void wf__stats_add(wf_stat stats[3], int pool, size_t amount) {
  wf__stat_add(&stats[WF__STAT_ALL], (int64_t)amount);
  wf__stat_add(&stats[pool], (int64_t)amount);
}
static inline void wf__stats_sub(wf_stat stats[3], int pool, size_t amount) {
  wf__stat_sub(&stats[WF__STAT_ALL], (int64_t)amount);
  wf__stat_sub(&stats[pool], (int64_t)amount);
}
static inline void wf__stats_change(wf_stat stats[3], int pool, int64_t amount) {
  wf__stat_change(&stats[WF__STAT_ALL], amount);
  wf__stat_change(&stats[pool], amount);
}

#endif
