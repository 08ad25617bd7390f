/* Who holds memory at a state: its blocks in groups, the largest first. */
#ifndef WF_AUDIT_HOLDERS_H
#define WF_AUDIT_HOLDERS_H

#include "audit/call_site.h"
#include "audit/history.h"

typedef struct wf__holder {
  uint64_t key; /* what the group is, see wf__holder_name; the same in every snapshot only by its name */
  uint64_t bytes, requested;
  uint32_t blocks;
  uint32_t stack; /* of its largest block */
  uint64_t largest;
  uint32_t youngest; /* state in which its last block was born */
  bool before;       /* allocated before the recording: the stack, if any, is that of the free */
} wf__holder;

typedef struct wf__holders {
  WF__GROWING(wf__holder) groups;
  wf_memory_group by;
} wf__holders;

wf_status wf__holders_make(wf__holders *holders, const wf__history *history, const wf__call_sites *sites,
                           wf_memory_group by, uint32_t state);
void wf__holders_release(wf__holders *holders);
/* The group in words: a line of Python, or a size. width as wf__frame_text. */
char *wf__holder_name(const wf_snapshot *snapshot, const wf__call_sites *sites, const wf__holders *holders,
                      const wf__holder *group, size_t width, char text[WF__SITE_TEXT]);

#endif
