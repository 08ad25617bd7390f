/* A report as the library holds it. Strings of rows and events stay by themselves; all others belong to the report. */
#ifndef WF_REPORT_REPORT_H
#define WF_REPORT_REPORT_H

#include <weft/report.h>

#include "format/text.h"

typedef struct wf__fact {
  char *name, *text;
} wf__fact;

typedef struct wf__number {
  char *name;
  double value;
  wf_report_unit unit;
} wf__number;

typedef struct wf__point {
  double step, value;
} wf__point;

typedef struct wf__curve {
  char *name;
  wf__point *at;
  size_t n, room;
} wf__curve;

typedef struct wf__memory_use {
  wf_device device;
  bool pinned;
  wf_allocator_stats stats;
} wf__memory_use;

struct wf_report {
  char *title;
  wf__fact *facts;
  wf__number *numbers;
  wf__curve *curves;
  wf__memory_use *memory;
  wf_ledger_row *rows;
  wf_trace_event *events;
  size_t fact_count, number_count, curve_count, memory_count, row_count, event_count;
  int64_t start_ns, end_ns; /* both 0: not said */
  int64_t dropped;
};

/* The number of that name, NULL when nobody gave it. */
const wf__number *wf__report_number(const wf_report *report, const char *name);
/* The run's device: of the first memory that isn't pinned. NULL when none was given. */
const wf__memory_use *wf__report_device(const wf_report *report);
/* Length of the run, ns, at least 1. */
int64_t wf__report_wall(const wf_report *report);

#endif
