/* Whether numbers got worse, by the limits of a check. */
#ifndef WF_AUDIT_LIMITS_H
#define WF_AUDIT_LIMITS_H

#include <weft/audit.h>

/* Fills a row a metric; NaN is a number that isn't known. Returns how many got worse. */
int wf__check(const double before[WF_METRIC_COUNT], const double after[WF_METRIC_COUNT], const wf_check_limits *limits,
              wf_check_row rows[WF_METRIC_COUNT]);

#endif
