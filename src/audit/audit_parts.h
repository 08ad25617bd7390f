/* An audit as the library holds it. */
#ifndef WF_AUDIT_AUDIT_PARTS_H
#define WF_AUDIT_AUDIT_PARTS_H

#include <weft/audit.h>

#include "audit/examine.h"

struct wf_audit {
  wf__kineto k;
  wf__steps steps;
  wf_finding *findings;
  size_t n;
  wf__device_use uses[WF__DEVICES_MAX];
  int use_count;
  int64_t copy_bytes;           /* written by the aten::copy_ whose shapes are known */
  int64_t copies, copies_known; /* aten::copy_; those whose bytes are known */
  int64_t syncs, steady_syncs;  /* occurrences of the rule "sync" */
};

#endif
