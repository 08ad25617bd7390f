/* Which line of a stack is whom: the line of the user's program that asked for memory, and the module that it ran in. Found once for
 * each distinct stack. */
#ifndef WF_AUDIT_CALL_SITE_H
#define WF_AUDIT_CALL_SITE_H

#include "audit/snapshot.h"

#define WF__NO_FRAME UINT32_MAX
#define WF__SITE_TEXT 160

typedef struct wf__call_sites {
  uint32_t *site;   /* by stack: index of the innermost frame that is neither torch's, nor Python's own, nor native */
  uint32_t *module; /* by stack: index of the innermost forward(); WF__NO_FRAME: none */
  uint32_t count;
} wf__call_sites;

wf_status wf__call_sites_make(wf__call_sites *sites, const wf_snapshot *snapshot);
void wf__call_sites_release(wf__call_sites *sites);

/* "train/model.py:67 attention": the last two parts of the path. width: bytes at most, the front of the path is left out first. */
char *wf__line_text(const char *file, int64_t line, const char *function, size_t width, char text[WF__SITE_TEXT]);
char *wf__frame_text(const wf_snapshot *snapshot, wf__snap_frame frame, size_t width, char text[WF__SITE_TEXT]);
/* The site of a stack in words, also where there is none. */
char *wf__site_text(const wf_snapshot *snapshot, const wf__call_sites *sites, uint32_t stack, size_t width,
                    char text[WF__SITE_TEXT]);

#endif
