/* Thread-local state and what runs when a thread ends. */
#include "base/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

__thread wf__thread wf__self __attribute__((tls_model("initial-exec")));

/* Exit functions are process-wide: one place a slot, which are the pointers at the end of wf__thread. A thread may end while another
 * registers its first function, so places are written and read whole. */
#define FIRST_SLOT offsetof(wf__thread, record)
#define SLOTS ((sizeof(wf__thread) - FIRST_SLOT) / sizeof(void *))
typedef void (*exit_fn)(void *value);
static _Atomic(exit_fn) exits[SLOTS];
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void run_exits(void *self) {
  void **slots = (void **)((char *)self + FIRST_SLOT);
  for (size_t i = 0; i < SLOTS; i++) {
    exit_fn fn = atomic_load(&exits[i]);
    void *value = slots[i];
    if (!fn || !value) continue;
    slots[i] = NULL;
    fn(value);
  }
}

static void make_key(void) { pthread_key_create(&key, run_exits); }

void wf__thread_attach(void) {
  pthread_once(&key_once, make_key);
  if (!pthread_getspecific(key)) pthread_setspecific(key, &wf__self);
}

void wf__thread_at_exit(void **slot, void (*fn)(void *value)) {
  atomic_store(&exits[slot - (void **)((char *)&wf__self + FIRST_SLOT)], fn);
  wf__thread_attach();
}

uint32_t wf__thread_number(void) {
  static _Atomic uint32_t next;
  if (!wf__self.number) wf__self.number = atomic_fetch_add(&next, 1) + 1;
  return wf__self.number;
}
