/* Compares two traces: a few numbers each, and which of them may get worse by how much. */
#include <math.h>

#include "audit/audit_parts.h"

typedef struct metric {
  const char *name;
  bool more_is_better;
  bool absolute; /* the allowed change is of the number itself, not of its share */
  double change;
} metric;

static const metric metrics[WF_METRIC_COUNT] = {
    [WF_METRIC_THROUGHPUT] = {"throughput", true, false, 0.03},
    [WF_METRIC_PEAK_MEMORY] = {"peak-memory", false, false, 0.05},
    [WF_METRIC_CONTIGUOUS] = {"contiguous", false, false, 0},
    [WF_METRIC_COPIES] = {"copies", false, false, 0},
    [WF_METRIC_COPY_BYTES] = {"copy-bytes", false, false, 0},
    [WF_METRIC_SYNCS] = {"syncs", false, false, 0},
    [WF_METRIC_IDLE] = {"idle", false, true, 0.05},
};

const char *wf_metric_name(wf_metric m) { return (unsigned)m < WF_METRIC_COUNT ? metrics[m].name : NULL; }

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
    case WF_METRIC_COUNT: break;
  }
  return NAN;
}

wf_check_limits wf_check_defaults(void) {
  wf_check_limits limits;
  for (int i = 0; i < WF_METRIC_COUNT; i++) {
    limits.change[i] = metrics[i].change;
    limits.most[i] = NAN;
  }
  return limits;
}

/* What it lost: a share of what it was, or of the whole for what is a share itself. Negative: it won. */
static double loss_of(const metric *m, double before, double after) {
  double worse = m->more_is_better ? before - after : after - before;
  if (worse == 0) return 0;
  return m->absolute ? worse : worse / fabs(before);
}

static wf_verdict judge(const wf_check_limits *limits, wf_metric which, double before, double after) {
  const metric *m = &metrics[which];
  double most = limits->most[which], change = limits->change[which];
  if (!isnan(most)) {
    if (isnan(after)) return WF_VERDICT_WORSE;
    if (m->more_is_better ? after < most : after > most) return WF_VERDICT_WORSE;
  }
  if (isnan(before) || isnan(after)) return isnan(most) ? WF_VERDICT_UNKNOWN : WF_VERDICT_FINE;
  if (isnan(change)) return isnan(most) ? WF_VERDICT_UNJUDGED : WF_VERDICT_FINE;
  double loss = loss_of(m, before, after);
  /* Shares of counts are quotients: what is equal must not differ by rounding. */
  if (loss > change + 1e-9) return WF_VERDICT_WORSE;
  return loss < -change - 1e-9 ? WF_VERDICT_BETTER : WF_VERDICT_FINE;
}

int wf_check_traces(const wf_audit *before, const wf_audit *after, const wf_check_limits *limits,
                    wf_check_row rows[WF_METRIC_COUNT]) {
  wf_check_limits l = limits ? *limits : wf_check_defaults();
  int worse = 0;
  for (int i = 0; i < WF_METRIC_COUNT; i++) {
    wf_check_row *r = &rows[i];
    *r = (wf_check_row){.metric = (wf_metric)i};
    r->before = wf_audit_metric(before, r->metric);
    r->after = wf_audit_metric(after, r->metric);
    r->verdict = judge(&l, r->metric, r->before, r->after);
    worse += r->verdict == WF_VERDICT_WORSE;
  }
  return worse;
}
