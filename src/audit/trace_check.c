/* The numbers of a trace that a check compares. */
#include <math.h>

#include "audit/audit_parts.h"
#include "audit/limits.h"

/* Of the device with the most; the host where there is none. */
static double peak_of(const wf_audit *a) {
  double device = NAN, host = NAN;
  for (int i = 0; i < a->k.peak_count; i++) {
    const wf__peak *p = &a->k.peaks[i];
    double *to = p->device < 0 ? &host : &device;
    if (isnan(*to) || (double)p->total > *to) *to = (double)p->total;
  }
  return isnan(device) ? host : device;
}

/* Share of the steady state in which the device that works most has nothing to do. */
static double idle_of(const wf_audit *a) {
  const wf__device_use *most = NULL;
  for (int i = 0; i < a->use_count; i++)
    if (!most || a->uses[i].busy > most->busy) most = &a->uses[i];
  return most ? (double)most->idle / (double)(most->busy + most->idle) : NAN;
}

double wf_audit_metric(const wf_audit *a, wf_metric m) {
  if (!a) return NAN;
  double steps = a->steps.n ? a->steps.n : 1;
  switch (m) {
    case WF_METRIC_THROUGHPUT: return a->steps.n && a->steps.median > 0 ? 1e9 / (double)a->steps.median : NAN;
    case WF_METRIC_PEAK_MEMORY: return peak_of(a);
    case WF_METRIC_CONTIGUOUS: return (double)wf_audit_count(a, "aten::contiguous") / steps;
    case WF_METRIC_COPIES: return (double)a->copies / steps;
    case WF_METRIC_COPY_BYTES: return a->copies && !a->copies_known ? NAN : (double)a->copy_bytes / steps;
    case WF_METRIC_SYNCS: return (double)a->syncs / steps;
    case WF_METRIC_IDLE: return idle_of(a);
    default: return NAN;
  }
}

int wf_check_traces(const wf_audit *before, const wf_audit *after, const wf_check_limits *limits,
                    wf_check_row rows[WF_METRIC_COUNT]) {
  double old[WF_METRIC_COUNT], new[WF_METRIC_COUNT];
  for (int i = 0; i < WF_METRIC_COUNT; i++) {
    old[i] = wf_audit_metric(before, (wf_metric)i);
    new[i] = wf_audit_metric(after, (wf_metric)i);
  }
  return wf__check(old, new, limits, rows);
}
