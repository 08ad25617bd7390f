/* The segments that are there at one moment, in order of address, while a history is played backwards. */
#ifndef WF_AUDIT_RANGES_H
#define WF_AUDIT_RANGES_H

#include "audit/history.h"

typedef struct wf__range {
  uint64_t address, size;
  uint32_t segment; /* its life */
} wf__range;

typedef WF__GROWING(wf__range) wf__ranges;

/* A life that ends here begins to be there, seen backwards. */
wf_status wf__ranges_add(wf__ranges *ranges, wf__history *history, wf__segment_life life);
/* What the event made was born in that state, and is gone before it. Of a longer life the parts outside the event go on. */
wf_status wf__ranges_begin(wf__ranges *ranges, wf__history *history, const wf__snap_event *event, uint32_t state);
/* The one that holds the address; NULL: none. */
const wf__range *wf__ranges_find(const wf__ranges *ranges, uint64_t address);
void wf__ranges_release(wf__ranges *ranges);

#endif
