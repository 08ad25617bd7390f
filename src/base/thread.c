/* Thread-local state and what runs when a thread ends. */
#include "base/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

__thread wf__thread wf__self __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Exit functions are process-wide and few: one entry a slot of wf__thread. The slot is kept as an offset, since it differs by thread. */
#define EXITS 8
static struct {
  size_t offset;
  void (*fn)(void *value);
} exits[EXITS];
static int exit_count;
static pthread_mutex_t exit_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void run_exits(void *self) {
  for (int i = 0; i < exit_count; i++) {
    void **slot = (void **)((char *)self + exits[i].offset);
    void *value = *slot;
    *slot = NULL;
    if (value) exits[i].fn(value);
  }
}

static void make_key(void) { pthread_key_create(&key, run_exits); }

void wf__thread_attach(void) {
  pthread_once(&key_once, make_key);
  if (!pthread_getspecific(key)) pthread_setspecific(key, &wf__self);
}

void wf__thread_at_exit(void **slot, void (*fn)(void *value)) {
  size_t offset = (size_t)((char *)slot - (char *)&wf__self);
  pthread_mutex_lock(&exit_lock);
  int i = 0;
  while (i < exit_count && exits[i].offset != offset) i++;
  if (i == exit_count && i < EXITS) {
    exits[i].offset = offset;
    exits[i].fn = fn;
    exit_count++;
  }
  pthread_mutex_unlock(&exit_lock);
  wf__thread_attach();
}

uint32_t wf__thread_number(void) {
  static _Atomic uint32_t next;
  if (!wf__self.number) wf__self.number = atomic_fetch_add(&next, 1) + 1;
  return wf__self.number;
}
