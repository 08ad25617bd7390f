/* Requests that failed: what was free then, how much of it was of no use because it lay in pieces, and what would have fitted. */
#ifndef WF_AUDIT_OUT_OF_MEMORY_H
#define WF_AUDIT_OUT_OF_MEMORY_H

#include "audit/history.h"

typedef struct wf__failure {
  uint32_t event;
  uint64_t request, segment; /* bytes asked for, rounded; of the segment that was asked of the driver */
  uint64_t driver_free;      /* what the driver still had; 0 also when it isn't known */
  bool driver_known;
  uint64_t reserved, allocated;
  uint64_t cached;  /* reserved, and free: no segment of it could go back */
  uint64_t largest; /* the largest free piece that this request's stream and pool could use */
  uint64_t fits;    /* the largest request that would have been served */
  uint64_t missing; /* bytes short even if all that was free had been one piece; 0: fragmentation was the cause */
  uint32_t stream, stack;
} wf__failure;

/* The failures of the history, at most `most` of them, the first ones first; their number in *all. */
wf_status wf__failures_make(const wf__history *history, int most, wf__failure *failures, int *count, uint32_t *all);

#endif
