/* Numbers with units, as settings have them: "16GiB", "12.5GB/s". */
#ifndef WF_BASE_QUANTITY_H
#define WF_BASE_QUANTITY_H

#include <stdbool.h>

typedef struct wf__unit {
  const char *name;
  double factor;
} wf__unit;

/* "", B, KB, MB, GB, TB, KiB, MiB, GiB, TiB. Ends with a NULL name, as every list of units does. */
extern const wf__unit wf__byte_units[];
/* A decimal number with one of the units directly behind it; no sign, space, inf or nan. Returns what follows, NULL if it isn't one. */
const char *wf__quantity_read(const char *text, const wf__unit *units, double *value);
/* The whole text is one. */
bool wf__quantity_is(const char *text, const wf__unit *units, double *value);

#endif
