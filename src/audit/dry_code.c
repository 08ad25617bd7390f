/* Whether a GPU can run the kernels at all: PyTorch's builds, and those of extensions, have code for some compute capabilities only. On the one
 * that the program ran as, it is known of each launch; of others, what PyTorch says that it was built for is the answer. */
#include <stdio.h>
#include <stdlib.h>

#include "audit/dry_parts.h"

/* A word of a list such as "sm_80 sm_90a compute_120". */
typedef struct architecture {
  int number; /* 86: 8.6 */
  bool ptx;   /* compiled by the driver for whatever is newer */
  char only;  /* 'a': for that one alone; 'f': for its generation */
} architecture;

/* Reads the word and goes on to the next; false: there is none, or it is none. */
static bool next_architecture(const char **at, architecture *a) {
  *at += strspn(*at, " ");
  a->ptx = !strncmp(*at, "compute_", 8);
  if (!a->ptx && strncmp(*at, "sm_", 3)) return false;
  char *end;
  long number = strtol(*at + (a->ptx ? 8 : 3), &end, 10);
  if (number < 10 || number > 9999) return false;
  a->number = (int)number;
  a->only = *end == ' ' ? 0 : *end;
  *at = end + strcspn(end, " ");
  return true;
}

/* Machine code runs on its own generation from its minor version on, PTX on everything that isn't older. */
static bool runs_on(const architecture *a, int device) {
  if (a->only == 'a') return a->number == device;
  bool own = a->number / 10 == device / 10;
  return a->number <= device && (own || (a->ptx && a->only != 'f'));
}

static bool any_runs_on(const char *list, int device) {
  architecture a;
  while (next_architecture(&list, &a))
    if (runs_on(&a, device)) return true;
  return false;
}

/* "7.5, 8.0, 9.0a, PTX of 12.0" */
static void put_list(const char *list, char *text, size_t size) {
  architecture a;
  size_t n = 0;
  *text = 0;
  while (n < size && next_architecture(&list, &a))
    n += (size_t)snprintf(text + n, size - n, "%s%s%d.%d%.1s", n ? ", " : "", a.ptx ? "PTX of " : "", a.number / 10,
                          a.number % 10, &a.only);
}

/* The first launch, of any process, that found no code. */
static const wf__dry_row *launch_without_code(const wf_dry_run *run) {
  for (size_t i = 0; i < run->rows.n; i++)
    if (run->rows.at[i].kind == WF__DRY_UNCODED) return &run->rows.at[i];
  return NULL;
}

static bool launches(const wf_dry_run *run) {
  for (size_t i = 0; i < run->rows.n; i++)
    if (run->rows.at[i].kind == WF__DRY_LAUNCH) return true;
  return false;
}

bool wf__dry_has_code(const wf_dry_run *run, const wf_dry_device *d) {
  const wf__dry_process *p = wf__dry_main(run);
  if (!d->major || (d->major == p->major && d->minor == p->minor)) return !launch_without_code(run);
  const char *built_for = wf__dry_string(run, p->architectures);
  return !*built_for || !launches(run) || any_runs_on(built_for, d->major * 10 + d->minor);
}

const char *wf__dry_no_code_text(const wf_dry_run *run, const wf_dry_device *d, char text[1024]) {
  const wf__dry_process *p = wf__dry_main(run);
  const wf__dry_row *row = launch_without_code(run);
  int major = d->major ? d->major : (int)p->major, minor = d->major ? d->minor : (int)p->minor;
  const char *built_for = wf__dry_string(run, p->architectures);
  char who[512], list[256];
  bool extension = row && (!*built_for || any_runs_on(built_for, major * 10 + minor));
  put_list(extension ? wf__dry_string(run, row->what) : built_for, list, sizeof list);
  if (!extension) snprintf(who, sizeof who, "PyTorch %.60s", wf__dry_string(run, p->torch));
  else if (row->file)
    snprintf(who, sizeof who, "what %.400s:%lld launches", wf__dry_string(run, row->file), (long long)row->line);
  else snprintf(who, sizeof who, "one of its libraries");
  snprintf(
      text, 1024,
      "there is no code for compute capability %d.%d: %s has it for %s. On this GPU the first such kernel fails with \"no "
      "kernel image is available for execution on the device\"; it takes a build %s %d.%d",
      major, minor, who, *list ? list : "none", extension ? "of that library for" : "of PyTorch for", major, minor);
  return text;
}
