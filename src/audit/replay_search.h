/* Replays of one history under several settings, with the smallest memory that suffices for each. */
#ifndef WF_AUDIT_REPLAY_SEARCH_H
#define WF_AUDIT_REPLAY_SEARCH_H

#include "audit/alloc_replay.h"

/* One row of the table. */
typedef struct wf__replay_row {
  char *conf;                 /* as given */
  bool recorded;              /* the settings of the recording */
  wf__replay_result free_run; /* with memory without end */
  wf__replay_result limited;  /* with the device's memory, when that is known */
  uint64_t needs;             /* least memory with which every request is served */
} wf__replay_row;

struct wf_replay {
  char *name, *recorded_conf;
  bool is_log, conf_known, conf_bad;
  uint32_t events, unmatched, guessed, private_segments;
  bool expandable_start; /* it began with expandable segments */
  bool from_start;       /* the recording began with an unused allocator */
  uint64_t recorded_peak, recorded_reserved;
  wf_allocator_ties ties;   /* the rule under which it reproduces best */
  wf__replay_result follow; /* what the policy did beside the recording */
  uint64_t memory;          /* of the device; 0: not known */
  bool memory_seen;         /* by an out of memory of the recording */
  WF__GROWING(wf__replay_row) rows;
  int best; /* row to recommend; the recorded one when nothing is better */
};

/* Whether every place and driver call came out as recorded. */
static inline bool wf__replay_exact(const wf__replay_result *r) {
  return r->first_difference == WF__NO_LIFE && !r->other_driver;
}
/* Why these settings help, in a sentence; "" for those that are recorded. */
const char *wf__replay_why(const char *conf);

#endif
