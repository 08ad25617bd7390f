/* What an implicit copy is met with: a setting of the thread that copy/ obeys. */
#include "base/error.h"
#include "trace/trace.h"

wf_copy_policy wf_copy_policy_set(wf_copy_policy policy) {
  wf_copy_policy before = (wf_copy_policy)wf__self.copy_policy;
  if ((unsigned)policy > WF_COPY_FORBID) {
    wf__fail(WF_VALUE, "copy policy must be 0 (allow), 1 (warn) or 2 (forbid), got %d", (int)policy);
    return before;
  }
  wf__self.copy_policy = (uint8_t)policy;
  return before;
}
