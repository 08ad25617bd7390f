/* What little of device memory has content after all: bytes that the host has just uploaded, or that a collective has just moved between processes, as
 * long as nothing ran that may have changed them. Any kernel or library call forgets all of it, so what is read is either right or zeros; but whoever
 * knows what a call writes may hold the rest.
 *
 * Programs that train on several GPUs compare a few numbers this way before they start, and send objects to one another. */
#include <stdatomic.h>
#include <string.h>
#include "base/host.h"
#include "dryrun/locks.h"
#include "dryrun/stand_in.h"

typedef struct content {
  uintptr_t start;
  size_t bytes;
  uint64_t number; /* in the order in which they came */
  char *data;
} content;

enum { MOST = 256, MOST_BYTES = 64 << 20 };

static struct {
  atomic_int count;
  size_t bytes;
  uint64_t numbers;
  content list[MOST];
} contents;

/* Of this thread: while it holds them, how often something ran. */
static __thread struct {
  bool on;
  long ran;
} hold __attribute__((tls_model("initial-exec")));

static void drop(int i) {
  int last = atomic_load(&contents.count) - 1;
  contents.bytes -= contents.list[i].bytes;
  wf__release(contents.list[i].data);
  contents.list[i] = contents.list[last];
  atomic_store(&contents.count, last);
}

void wf__dry_contents_forget(void) {
  hold.ran++;
  if (hold.on || !atomic_load(&contents.count)) return;
  wf__dry_lock(DRY_LOCK_CONTENTS);
  while (atomic_load(&contents.count)) drop(atomic_load(&contents.count) - 1);
  wf__dry_unlock(DRY_LOCK_CONTENTS);
}

/* ---- the caller holds the lock ---- */

/* Those that came first make room for so many bytes. */
static void make_room(size_t bytes) {
  while (atomic_load(&contents.count) == MOST || (contents.bytes && contents.bytes + bytes > MOST_BYTES)) {
    int first = 0;
    for (int i = 1; i < atomic_load(&contents.count); i++)
      if (contents.list[i].number < contents.list[first].number) first = i;
    drop(first);
  }
}

/* Takes the data. */
static void put(uintptr_t start, char *data, size_t bytes) {
  for (int i = atomic_load(&contents.count) - 1; i >= 0; i--)
    if (contents.list[i].start < start + bytes && start < contents.list[i].start + contents.list[i].bytes) drop(i);
  if (!data) return;
  make_room(bytes);
  int count = atomic_load(&contents.count);
  contents.list[count] = (content){start, bytes, contents.numbers++, data};
  contents.bytes += bytes;
  atomic_store(&contents.count, count + 1);
}

/* The content that has this address; NULL: none. */
static const content *content_at(uintptr_t address) {
  for (int i = 0; i < atomic_load(&contents.count); i++)
    if (address - contents.list[i].start < contents.list[i].bytes) return &contents.list[i];
  return NULL;
}

/* Copies what is known from an address on, through parts that came from several places, one behind the other; returns how many bytes that are. */
static size_t copy_known(uintptr_t address, char *to, size_t bytes) {
  size_t done = 0;
  for (const content *c; done < bytes && (c = content_at(address + done));) {
    size_t offset = address + done - c->start, n = c->bytes - offset;
    if (n > bytes - done) n = bytes - done;
    if (to) memcpy(to + done, c->data + offset, n);
    done += n;
  }
  return done;
}

/* ---- putting, getting ---- */

/* NULL: there is nothing to keep, or it is too much, or the host has no memory. */
static char *room_for(size_t bytes) {
  char *data = bytes && bytes <= DRY_CONTENTS_MOST ? wf__malloc(bytes) : NULL;
  if (!data) wf_error_take();
  return data;
}

void wf__dry_contents_put(const void *address, const void *from, size_t bytes) {
  char *data = from ? room_for(bytes) : NULL;
  if (data) memcpy(data, from, bytes);
  wf__dry_lock(DRY_LOCK_CONTENTS);
  put((uintptr_t)address, data, bytes);
  wf__dry_unlock(DRY_LOCK_CONTENTS);
}

bool wf__dry_contents_get(const void *address, void *to, size_t bytes) {
  if (!atomic_load(&contents.count)) return false;
  wf__dry_lock(DRY_LOCK_CONTENTS);
  bool found = copy_known((uintptr_t)address, NULL, bytes) == bytes;
  if (found) copy_known((uintptr_t)address, to, bytes);
  wf__dry_unlock(DRY_LOCK_CONTENTS);
  return found;
}

void wf__dry_contents_copy(const void *to, const void *from, size_t bytes) {
  if (!atomic_load(&contents.count)) return;
  char *data = room_for(bytes);
  wf__dry_lock(DRY_LOCK_CONTENTS);
  bool known = data && copy_known((uintptr_t)from, data, bytes) == bytes;
  put((uintptr_t)to, known ? data : NULL, bytes);
  wf__dry_unlock(DRY_LOCK_CONTENTS);
  if (!known) wf__release(data);
}

/* ---- for who knows what runs ---- */

DRY_API size_t weft_dry_known(const void *address, void *to, size_t bytes) {
  wf__dry_lock(DRY_LOCK_CONTENTS);
  size_t known = copy_known((uintptr_t)address, to, bytes);
  wf__dry_unlock(DRY_LOCK_CONTENTS);
  return known;
}

DRY_API void weft_dry_put(const void *address, const void *data, size_t bytes) {
  wf__dry_contents_put(address, data, bytes);
}

DRY_API long weft_dry_hold(int on) {
  long ran = hold.ran;
  hold.on = on != 0;
  hold.ran = 0;
  return ran;
}
