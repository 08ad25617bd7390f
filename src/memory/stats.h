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

/* The same for the policy's own figures, with less to write: of a pool, `freed` is what must be added to allocated - current to give it,
 * and of all memory only `current` and `peak` are kept. wf__figures_complete works the rest out. */
static inline void wf__figures_add(wf_stat stats[3], int pool, size_t amount) {
  wf_stat *all = &stats[WF__STAT_ALL], *one = &stats[pool];
  all->current += (int64_t)amount;
  one->current += (int64_t)amount;
  one->allocated += (int64_t)amount;
  if (all->current > all->peak) all->peak = all->current;
  if (one->current > one->peak) one->peak = one->current;
}
static inline void wf__figures_sub(wf_stat stats[3], int pool, size_t amount) {
  stats[WF__STAT_ALL].current -= (int64_t)amount;
  stats[pool].current -= (int64_t)amount;
}
/* A net change of either sign is one event. */
static inline void wf__figures_change(wf_stat stats[3], int pool, int64_t amount) {
  if (amount > 0) wf__figures_add(stats, pool, (size_t)amount);
  if (amount < 0) wf__figures_sub(stats, pool, (size_t)-amount);
}

#endif
