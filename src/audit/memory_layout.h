/* What lies where at one state of a history: segments in order of address, and in each its blocks and holes end to end. */
#ifndef WF_AUDIT_MEMORY_LAYOUT_H
#define WF_AUDIT_MEMORY_LAYOUT_H

#include "audit/history.h"

/* A block in use, or a hole. */
typedef struct wf__piece {
  uint64_t address, size;
  uint32_t life; /* WF__NO_LIFE: a hole */
  bool pending;  /* freed, but other streams still use it */
} wf__piece;

/* A segment; of expandable ones everything that is mapped without a gap. */
typedef struct wf__placed_segment {
  uint64_t address, size;
  uint32_t life;         /* the first, when it is made of several */
  uint32_t first, count; /* pieces */
  uint32_t used;         /* pieces that aren't holes */
  uint64_t free_bytes;
} wf__placed_segment;

typedef struct wf__layout {
  WF__GROWING(wf__placed_segment) segments;
  WF__GROWING(wf__piece) pieces;
  uint32_t stray; /* blocks that lie in no segment, or over another: the history has a gap */
} wf__layout;

wf_status wf__layout_make(wf__layout *layout, const wf__history *history, uint32_t state);
void wf__layout_release(wf__layout *layout);

#endif
