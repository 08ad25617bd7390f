/* For tests of the emulated accelerator: opens it anew with settings of the test's own. */
#ifndef WF_TESTS_SLOW_SIM_H
#define WF_TESTS_SLOW_SIM_H

#include "cts/device_under_test.h"

#include <weft/trace.h>

static inline wf__device *start(const char *settings) {
  wf__devices_close();
  setenv("WEFT_SIM", settings, 1);
  wf__device *d = wf__device_get(wf_sim(0));
  if (!d) fail_msg("%s", wf_error_peek().text);
  return d;
}

static inline double ms_since(int64_t start) { return (double)(wf_clock_ns() - start) * 1e-6; }

static inline int close_devices(void **state) {
  wf__devices_close();
  return 0;
}

#endif
