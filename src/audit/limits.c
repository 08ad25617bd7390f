/* The metrics of a check: which way is better, and by how much each may get worse unless told otherwise. */
#include "audit/limits.h"

#include <math.h>

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
    [WF_METRIC_PEAK_RESERVED] = {"peak-reserved", false, false, 0.05},
    [WF_METRIC_END_MEMORY] = {"end-memory", false, false, 0.05},
    [WF_METRIC_FRAGMENTATION] = {"fragmentation", false, true, 0.05},
};

const char *wf_metric_name(wf_metric m) { return (unsigned)m < WF_METRIC_COUNT ? metrics[m].name : NULL; }

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

int wf__check(const double before[WF_METRIC_COUNT], const double after[WF_METRIC_COUNT], const wf_check_limits *limits,
              wf_check_row rows[WF_METRIC_COUNT]) {
  wf_check_limits l = limits ? *limits : wf_check_defaults();
  int worse = 0;
  for (int i = 0; i < WF_METRIC_COUNT; i++) {
    rows[i] = (wf_check_row){.metric = (wf_metric)i, .before = before[i], .after = after[i]};
    rows[i].verdict = judge(&l, (wf_metric)i, before[i], after[i]);
    worse += rows[i].verdict == WF_VERDICT_WORSE;
  }
  return worse;
}
