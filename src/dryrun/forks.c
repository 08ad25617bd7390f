/* What a forked child can do with CUDA: all of it as long as its parent did nothing with a device, nothing with a device after that. The real
 * driver's state doesn't survive a fork: its calls then fail with "initialization error". */
#include <pthread.h>
#include <stdatomic.h>
#include "dryrun/stand_in.h"

static atomic_bool used, inherited;

int wf__dry_use_device(int device) {
  if (!atomic_load(&inherited)) {
    atomic_store(&used, true);
    wf__dry_make_context(device);
    return DRY_OK;
  }
  wf__dry_limit("CUDA in a forked process",
                "its parent had used a GPU before the fork, so that its own calls fail with \"initialization error\": "
                "start it by spawn, or use the GPU in the children only");
  return wf__dry_error(DRY_INITIALIZATION);
}

static void begin_in_child(void) {
  if (atomic_load(&used)) atomic_store(&inherited, true);
  else wf__dry_settings_forget();
}

__attribute__((constructor)) static void begin(void) { pthread_atfork(NULL, NULL, begin_in_child); }
