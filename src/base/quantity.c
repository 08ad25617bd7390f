/* See quantity.h. The longest unit that fits counts, so that "MiB" isn't "M" and a rest. */
#include "base/quantity.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const wf__unit wf__byte_units[] = {{"", 1},         {"B", 1},        {"KB", 1e3},     {"MB", 1e6},
                                   {"GB", 1e9},     {"TB", 1e12},    {"KiB", 0x1p10}, {"MiB", 0x1p20},
                                   {"GiB", 0x1p30}, {"TiB", 0x1p40}, {NULL, 0}};

const char *wf__quantity_read(const char *text, const wf__unit *units, double *value) {
  if (!*text || !strchr("0123456789.", *text)) return NULL; /* strtod would take signs, spaces, inf and nan as well */
  char *end;
  double number = strtod(text, &end);
  if (end == text || !isfinite(number)) return NULL;
  const wf__unit *best = NULL;
  for (const wf__unit *u = units; u->name; u++)
    if (!strncmp(end, u->name, strlen(u->name)) && (!best || strlen(u->name) > strlen(best->name))) best = u;
  if (!best) return NULL;
  *value = number * best->factor;
  return end + strlen(best->name);
}

bool wf__quantity_is(const char *text, const wf__unit *units, double *value) {
  const char *end = wf__quantity_read(text, units, value);
  return end && !*end;
}
