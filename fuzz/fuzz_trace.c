/* Traces: any bytes are refused (WF_IO, WF_VALUE) with one line and a hint, or are judged and printed. */
#include "fuzz.h"

#include <math.h>
#include <weft/audit.h>
#include <weft/report.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  int fd = fuzz_file(data, size, path);
  wf_audit *audit = wf_audit_trace(path, NULL);
  close(fd);
  if (!audit) {
    wf_error e = wf_error_take();
    must(e.status == WF_IO || e.status == WF_VALUE);
    must(!strchr(e.text, '\n') && *e.hint);
    return 0;
  }
  char *text = wf_audit_text(audit, 80, 100), *json = wf_audit_json(audit, 1);
  must(text && json);
  wf_report_release(text);
  wf_report_release(json);
  const wf_finding *findings;
  int64_t n = wf_audit_findings(audit, &findings);
  for (int64_t i = 0; i < n; i++) must(findings[i].count > 0 && findings[i].steady_count <= findings[i].count);
  wf_check_row rows[WF_METRIC_COUNT];
  must(wf_check_traces(audit, audit, NULL, rows) == 0);
  wf_audit_free(audit);
  return 0;
}
