/* Who called: the functions that the program's libraries show by name, on the way here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <string.h>
#include "dryrun/stand_in.h"

bool wf__dry_called_by(const char *const *names, int near) {
  enum { MOST = 64 };
  void *frames[MOST];
  int n = backtrace(frames, near < MOST ? near : MOST);
  for (int i = 1; i < n; i++) {
    Dl_info at;
    /* The byte before a return address belongs to the call. */
    if (!dladdr((char *)frames[i] - 1, &at) || !at.dli_sname) continue;
    for (const char *const *name = names; *name; name++)
      if (strstr(at.dli_sname, *name)) return true;
  }
  return false;
}
