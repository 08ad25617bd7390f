/* The locks of the stand-in driver, all in one place: a fork may come while any of them is held, and a signal as well. */
#ifndef WF_DRYRUN_LOCKS_H
#define WF_DRYRUN_LOCKS_H

#include <stdbool.h>

/* In the order in which a thread may take several. */
typedef enum wf__dry_lock_name {
  DRY_LOCK_MAPPED,
  DRY_LOCK_KERNELS,
  DRY_LOCK_HANDLES,
  DRY_LOCK_EVENTS,
  DRY_LOCK_STREAMS,
  DRY_LOCK_GRAPHS,
  DRY_LOCK_SPACE,
  DRY_LOCK_CONTENTS,
  DRY_LOCK_COUNTS,
  DRY_LOCK_LINES,
  DRY_LOCK_FRAMES,
  DRY_LOCKS
} wf__dry_lock_name;

void wf__dry_lock(wf__dry_lock_name name);
void wf__dry_unlock(wf__dry_lock_name name);
/* False, at once: another holds it. */
bool wf__dry_trylock(wf__dry_lock_name name);
/* False: after half a second it is still held, perhaps by this very thread, which a signal interrupted. */
bool wf__dry_lock_soon(wf__dry_lock_name name);

#endif
