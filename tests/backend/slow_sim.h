/* For tests of the emulated accelerator: opens it anew with settings of the test's own. */
#ifndef WF_TESTS_SLOW_SIM_H
#define WF_TESTS_SLOW_SIM_H

#include "cts/device_under_test.h"

#include <weft/trace.h>

static inline wf__device *start(const char *settings, ...) {
  char text[200];
  va_list args;
  va_start(args, settings);
  vsnprintf(text, sizeof text, settings, args);
  va_end(args);
  wf__devices_close();
  setenv("WEFT_SIM", text, 1);
  wf__device *d = wf__device_get(wf_sim(0));
  if (!d) fail_msg("%s", wf_error_peek().text);
  return d;
}

static inline double ms_since(int64_t start) { return (double)(wf_clock_ns() - start) * 1e-6; }

static inline int close_devices(void **state) {
  wf__devices_close();
  return 0;
}

/* A test that looks while something is pending can come too late on a busy machine. It is then tried again with a model that many times
 * slower; what it checks must hold in one of the attempts, what doesn't depend on time in all of them. */
#define PATIENT_TEST(name)                               \
  static bool name##_at(int slower);                     \
  static void name(void **state) {                       \
    for (int slower = 1; slower <= 64; slower *= 4)      \
      if (name##_at(slower)) return;                     \
    fail_msg("not in time, however slow the model was"); \
  }                                                      \
  static bool name##_at(int slower)

#endif
