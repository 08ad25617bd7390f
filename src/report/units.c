/* Numbers as people read them. */
#include "report/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

char *wf__count_text(int64_t n, char text[WF__UNIT_TEXT]) {
  char digits[32];
  int length = snprintf(digits, sizeof digits, "%" PRId64, n), to = 0;
  for (int i = 0; i < length; i++) {
    text[to++] = digits[i];
    int behind = length - 1 - i;
    if (behind && behind % 3 == 0 && digits[i] != '-') text[to++] = ',';
  }
  text[to] = 0;
  return text;
}

char *wf__bytes_text(int64_t bytes, char text[WF__UNIT_TEXT]) {
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = (double)bytes;
  int unit = -1;
  while (fabs(value) >= 1023.995 && unit < 4) value /= 1024, unit++;
  if (unit < 0) snprintf(text, WF__UNIT_TEXT, "%" PRId64 " B", bytes);
  else snprintf(text, WF__UNIT_TEXT, "%.2f %s", value, units[unit]);
  return text;
}

char *wf__time_text(int64_t ns, char text[WF__UNIT_TEXT]) {
  double t = (double)ns;
  if (fabs(t) >= 999.5e6) snprintf(text, WF__UNIT_TEXT, "%.3f s", t / 1e9);
  else if (fabs(t) >= 999.5e3) snprintf(text, WF__UNIT_TEXT, "%.2f ms", t / 1e6);
  else if (ns) snprintf(text, WF__UNIT_TEXT, "%.1f µs", t / 1e3);
  else snprintf(text, WF__UNIT_TEXT, "0 s");
  return text;
}

char *wf__share_text(int64_t part, int64_t whole, char text[WF__UNIT_TEXT]) {
  if (whole > 0) snprintf(text, WF__UNIT_TEXT, "%.1f %%", 100.0 * (double)part / (double)whole);
  else snprintf(text, WF__UNIT_TEXT, "-");
  return text;
}

char *wf__rate_text(int64_t bytes, int64_t ns, char text[WF__UNIT_TEXT]) {
  if (ns > 0 && bytes > 0) snprintf(text, WF__UNIT_TEXT, "%.2f GB/s", (double)bytes / (double)ns);
  else snprintf(text, WF__UNIT_TEXT, "-");
  return text;
}

char *wf__number_text(double value, wf_report_unit unit, char text[WF__UNIT_TEXT]) {
  bool whole = isfinite(value) && fabs(value) < 9e18;
  switch (unit) {
    case WF_REPORT_SHARE: snprintf(text, WF__UNIT_TEXT, "%.2f %%", 100 * value); return text;
    case WF_REPORT_BYTES:
      if (whole) return wf__bytes_text((int64_t)value, text);
      break;
    case WF_REPORT_SECONDS:
      if (fabs(value) < 9e9) return wf__time_text((int64_t)llround(value * 1e9), text);
      break;
    case WF_REPORT_COUNT:
      if (whole) return wf__count_text((int64_t)llround(value), text);
      break;
    case WF_REPORT_NUMBER:
      if (whole && fabs(value) >= 1000) return wf__count_text((int64_t)llround(value), text);
      break;
  }
  snprintf(text, WF__UNIT_TEXT, "%.4g", value);
  return text;
}

char *wf__label_text(const char *name, char text[WF__UNIT_TEXT]) {
  size_t to = 0;
  while (*name && to < WF__UNIT_TEXT - 1 && strcmp(name, "_bytes") && strcmp(name, "_seconds")) {
    bool per = !strncmp(name, "_per_", 5);
    text[to++] = per ? '/' : *name == '_' ? ' ' : *name;
    name += per ? 5 : 1;
  }
  text[to] = 0;
  return text;
}

char *wf__device_text(wf_device device, bool pinned, char text[2 * WF__UNIT_TEXT]) {
  char name[WF__UNIT_TEXT];
  wf_device_name(device, name, sizeof name);
  const char *emulated = device.type == WF_DEVICE_SIM ? " (emulated)" : "";
  snprintf(text, 2 * WF__UNIT_TEXT, "%s%s%s", pinned ? "pinned host memory of " : "", name, emulated);
  return text;
}
