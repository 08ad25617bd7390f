/* WEFT_SIM: any text gives settings within their bounds, or a reason. */
#include "fuzz.h"

#include "backend/sim/sim_settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = fuzz_text(data, size), error[512] = "";
  wf__sim_settings settings;
  if (wf__sim_parse(text, &settings, error, sizeof error)) must(settings.memory > 0 && settings.kernel_ns >= 0);
  else must(error[0] && memchr(error, 0, sizeof error));
  free(text);
  return 0;
}
