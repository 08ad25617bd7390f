/* All that a report of a snapshot says, worked out once for text, JSON and HTML alike. */
#ifndef WF_AUDIT_MEMORY_VIEW_H
#define WF_AUDIT_MEMORY_VIEW_H

#include "audit/fragmentation.h"
#include "audit/holders.h"
#include "audit/out_of_memory.h"

enum { WF__FAILURES_MAX = 8 };

/* One state with its sums and pieces. */
typedef struct wf__moment {
  uint32_t state;
  wf__sums sums;
  wf__layout layout;
  wf__fragmentation fragmentation;
} wf__moment;

/* Holes that blocks of one line keep open. */
typedef struct wf__pinner {
  uint32_t stack;
  uint32_t holes, blocks;
  uint64_t hole_bytes, block_bytes, largest;
  bool before; /* made before the recording */
} wf__pinner;

typedef struct wf__memory_view {
  wf__history history;
  wf__call_sites sites;
  wf__moment at, end; /* the state asked for, and the last one */
  bool at_peak;
  wf__holders holders;             /* of `at` */
  WF__GROWING(wf__pinner) pinners; /* of `at`, the most hole bytes first */
  wf__failure failures[WF__FAILURES_MAX];
  int failure_count;
  uint32_t all_failures;
} wf__memory_view;

/* Errors: WF_VALUE for a device or an event that isn't there, WF_NO_MEMORY. */
wf_status wf__memory_view_make(wf__memory_view *view, const wf_snapshot *snapshot, const wf_memory_options *options);
void wf__memory_view_release(wf__memory_view *view);

/* The page of wf_memory_write_html under another title, with a piece of HTML before the curves. Errors: WF_IO, WF_NO_MEMORY. */
wf_status wf__memory_write_page(const wf__memory_view *view, const char *title, const char *lead, const char *path);

/* The device that has most reserved at the end, or else most events. */
int wf__main_device(const wf_snapshot *snapshot);
/* What the options ask for, with a state of the history. Errors: WF_VALUE. */
wf_status wf__state_of(const wf__history *history, int64_t at, uint32_t *state);
/* From the first event to the state. */
int64_t wf__state_ns(const wf__history *history, uint32_t state);
/* "at the peak", "at the end", "after event 12". */
char *wf__state_text(const wf__history *history, uint32_t state, char text[48]);

#endif
