/* A recorded history played again on the allocator policy: as it was, to see whether the policy does the same, or under other settings. */
#ifndef WF_AUDIT_ALLOC_REPLAY_H
#define WF_AUDIT_ALLOC_REPLAY_H

#include "audit/history.h"

/* What was in use when the recording began, as the policy takes it over. */
typedef struct wf__replay_start {
  WF__GROWING(wf_adopted_segment) segments;
  WF__GROWING(wf_adopted_block) blocks; /* of all segments, in their order */
  WF__GROWING(uint32_t) lives;          /* of these blocks */
  uint32_t guessed;                     /* blocks that may have been up to 1 MiB longer than could be seen */
  uint32_t private_segments;            /* of private pools: taken over into the default ones */
  bool expandable;                      /* some can grow: the address space between their mapped parts isn't known */
} wf__replay_start;

wf_status wf__replay_start_make(wf__replay_start *start, const wf__history *history);
void wf__replay_start_release(wf__replay_start *start);

typedef struct wf__replay_setup {
  const char *conf;
  wf_allocator_ties ties;
  uint64_t memory; /* what may be had; 0: without end */
  uint64_t total;  /* the device's, which address space of expandable segments goes by; 0: not known */
  uint64_t had;    /* at least so much could be had when it was recorded; 0: not known beyond what was reserved then */
  bool follow;     /* the driver answers as it did in the recording, and places are compared */
} wf__replay_setup;

typedef struct wf__replay_result {
  uint64_t peak_allocated, peak_reserved;
  uint64_t allocated_then; /* when most was reserved */
  int64_t got, gave; /* segments (of expandable ones: pieces) asked of the driver and given back, during the history */
  int64_t retries;
  uint32_t failures;      /* requests that weren't served; playing ends with the first unless it follows */
  uint32_t first_failure; /* its event */
  uint32_t served;        /* requests that failed in the recording and don't here */
  /* when it follows */
  uint32_t placed, same;     /* allocations, and those that came to the recorded place */
  uint32_t other_driver;     /* driver calls that weren't recorded, or the other way round */
  uint32_t first_difference; /* event; WF__NO_LIFE: none */
} wf__replay_result;

/* Errors: WF_VALUE for a conf that isn't understood, WF_NO_MEMORY. A request that isn't served is no error. */
wf_status wf__replay_play(const wf__history *history, const wf__replay_start *start, const wf__replay_setup *setup,
                          wf__replay_result *result);

#endif
