/* What a reader wants to know first, as sentences with numbers: what bounds the run, what the host waits for, copies nobody asked for,
 * trouble with memory, and what the report doesn't show. */
#ifndef WF_REPORT_FINDINGS_H
#define WF_REPORT_FINDINGS_H

#include "report/summary.h"

#define WF__FINDINGS_MAX 12

typedef enum wf__finding_level { WF__FINDING_GOOD, WF__FINDING_NOTE, WF__FINDING_BAD } wf__finding_level;

typedef struct wf__finding {
  wf__finding_level level;
  char text[400];
} wf__finding;

typedef struct wf__findings {
  wf__finding at[WF__FINDINGS_MAX];
  int n;
} wf__findings;

void wf__findings_make(const wf_report *report, const wf__summary *summary, wf__findings *findings);

#endif
