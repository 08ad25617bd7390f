/* The numbers of a memory snapshot that a check compares, and what kind of file is to be compared. */
#include <math.h>
#include <sys/stat.h>

#include "audit/file_kind.h"
#include "audit/fragmentation.h"
#include "audit/limits.h"
#include "audit/memory_view.h"

/* Whether what is read now is still there for whoever reads it in earnest. */
static bool can_be_read_again(const char *path) {
  struct stat s;
  return !stat(path, &s) && S_ISREG(s.st_mode);
}

wf_recording wf_recording_of(const char *path) {
  const void *bytes;
  wf_recording is = WF_RECORDING_OTHER;
  if (wf_error_peek().status || !can_be_read_again(path)) return is;
  wf__input *input = wf__input_open(path, NULL, NULL);
  int64_t n = input ? wf__input_peek(input, &bytes) : -1;
  if (n > 0) {
    wf__file_kind kind = wf__file_kind_of(bytes, (size_t)n);
    if (kind == WF__FILE_TRACE || kind == WF__FILE_JSON) is = WF_RECORDING_TRACE;
    if (kind == WF__FILE_PICKLE || kind == WF__FILE_RMM_LOG) is = WF_RECORDING_SNAPSHOT;
  }
  wf__input_close(input);
  wf_error_take();
  return is;
}

static wf_status measure(const wf__history *h, double numbers[WF_METRIC_COUNT]) {
  wf__layout layout;
  wf__fragmentation fragmentation;
  numbers[WF_METRIC_PEAK_MEMORY] = (double)h->peak;
  numbers[WF_METRIC_END_MEMORY] = (double)wf__sums_at(h, h->n).allocated;
  if (h->snapshot->is_log) return WF_OK; /* no segments are known */
  numbers[WF_METRIC_PEAK_RESERVED] = (double)h->reserved_peak;
  WF__TRY(wf__layout_make(&layout, h, h->peak_state));
  wf_status status = wf__fragmentation_make(&fragmentation, h, &layout);
  if (!status) {
    numbers[WF_METRIC_FRAGMENTATION] = fragmentation.index;
    wf__fragmentation_release(&fragmentation);
  }
  wf__layout_release(&layout);
  return status;
}

static wf_status numbers_of(const wf_snapshot *s, double numbers[WF_METRIC_COUNT]) {
  wf__history history;
  for (int i = 0; i < WF_METRIC_COUNT; i++) numbers[i] = NAN;
  WF__TRY(wf__history_make(&history, s, wf__main_device(s)));
  wf_status status = measure(&history, numbers);
  wf__history_release(&history);
  return status;
}

int wf_check_snapshots(const wf_snapshot *before, const wf_snapshot *after, const wf_check_limits *limits,
                       wf_check_row rows[WF_METRIC_COUNT]) {
  double old[WF_METRIC_COUNT], new[WF_METRIC_COUNT];
  if (wf_error_peek().status || numbers_of(before, old) || numbers_of(after, new)) return -1;
  return wf__check(old, new, limits, rows);
}
