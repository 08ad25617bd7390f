/* The locks, and what a fork does with them: it waits until none is held, so that what they guard is whole in the child. */
#include "dryrun/locks.h"

#include <pthread.h>
#include <time.h>

static pthread_mutex_t locks[DRY_LOCKS] = {[0 ... DRY_LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER};

void wf__dry_lock(wf__dry_lock_name name) { pthread_mutex_lock(&locks[name]); }
void wf__dry_unlock(wf__dry_lock_name name) { pthread_mutex_unlock(&locks[name]); }
bool wf__dry_trylock(wf__dry_lock_name name) { return !pthread_mutex_trylock(&locks[name]); }

bool wf__dry_lock_soon(wf__dry_lock_name name) {
  enum { HALF_A_SECOND = 500000000, SECOND = 1000000000 };
  struct timespec until;
  if (wf__dry_trylock(name)) return true;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += (until.tv_nsec + HALF_A_SECOND) / SECOND;
  until.tv_nsec = (until.tv_nsec + HALF_A_SECOND) % SECOND;
  return !pthread_mutex_timedlock(&locks[name], &until);
}

/* ---- forks ---- */

static __thread bool taken[DRY_LOCKS] __attribute__((tls_model("initial-exec")));

/* A handler of signals may fork as well, so that nobody waits for ever here either. */
static void before_fork(void) {
  for (int i = 0; i < DRY_LOCKS; i++) taken[i] = wf__dry_lock_soon((wf__dry_lock_name)i);
}
static void after_in_parent(void) {
  for (int i = DRY_LOCKS - 1; i >= 0; i--)
    if (taken[i]) wf__dry_unlock((wf__dry_lock_name)i);
}
static void after_in_child(void) {
  for (int i = 0; i < DRY_LOCKS; i++) pthread_mutex_init(&locks[i], NULL);
}

__attribute__((constructor)) static void begin(void) { pthread_atfork(before_fork, after_in_parent, after_in_child); }
