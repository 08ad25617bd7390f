/* What keeps free memory from being used: holes in segments that are partly in use, and the small blocks that hold those segments. */
#ifndef WF_AUDIT_FRAGMENTATION_H
#define WF_AUDIT_FRAGMENTATION_H

#include "audit/memory_layout.h"

/* A hole and the smaller of its two neighbours, without which it would be larger, or the segment could go back. */
typedef struct wf__hole {
  uint64_t address, size;
  uint64_t segment, segment_size;
  uint32_t pin;       /* life of that neighbour */
  uint64_t if_freed;  /* the hole's size if the pin were gone */
  bool frees_segment; /* the pin is all that is in use there */
} wf__hole;

typedef struct wf__fragmentation {
  uint64_t free_whole;         /* bytes of segments that nothing uses: they go back when memory runs out */
  uint64_t free_split;         /* bytes of holes in the others */
  uint64_t free_pages;         /* of these, in expandable segments, whose free pages can go back */
  uint64_t largest;            /* hole or free segment */
  double index;                /* 1 - largest / all free bytes; 0 without free bytes */
  WF__GROWING(wf__hole) holes; /* of 1 MiB or more, the largest first */
} wf__fragmentation;

wf_status wf__fragmentation_make(wf__fragmentation *fragmentation, const wf__history *history,
                                 const wf__layout *layout);
void wf__fragmentation_release(wf__fragmentation *fragmentation);

#endif
