/* What little of device memory has content after all: bytes that the host has just uploaded, or that a collective has just moved between processes, as
 * long as nothing ran that may have changed them. Any kernel or library call forgets all of it, so what is read is either right or zeros.
 *
 * Programs that train on several GPUs compare a few numbers this way before they start. */
#include <stdatomic.h>
#include <string.h>
#include "base/host.h"
#include "dryrun/locks.h"
#include "dryrun/stand_in.h"

typedef struct content {
  uintptr_t start;
  size_t bytes;
  char *data;
} content;

enum { MOST = 256 };

static struct {
  atomic_int count;
  content list[MOST];
} contents;

static void drop(int i) {
  int last = atomic_load(&contents.count) - 1;
  wf__release(contents.list[i].data);
  contents.list[i] = contents.list[last];
  atomic_store(&contents.count, last);
}

void wf__dry_contents_forget(void) {
  if (!atomic_load(&contents.count)) return;
  wf__dry_lock(DRY_LOCK_CONTENTS);
  while (atomic_load(&contents.count)) drop(atomic_load(&contents.count) - 1);
  wf__dry_unlock(DRY_LOCK_CONTENTS);
}

void wf__dry_contents_put(const void *address, const void *data, size_t bytes) {
  uintptr_t start = (uintptr_t)address;
  wf__dry_lock(DRY_LOCK_CONTENTS);
  for (int i = atomic_load(&contents.count) - 1; i >= 0; i--)
    if (contents.list[i].start < start + bytes && start < contents.list[i].start + contents.list[i].bytes) drop(i);
  int count = atomic_load(&contents.count);
  char *copy = data && bytes <= DRY_CONTENTS_MOST && count < MOST ? wf__malloc(bytes) : NULL;
  if (data && !copy) wf_error_take();
  if (copy) {
    memcpy(copy, data, bytes);
    contents.list[count] = (content){start, bytes, copy};
    atomic_store(&contents.count, count + 1);
  }
  wf__dry_unlock(DRY_LOCK_CONTENTS);
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

bool wf__dry_contents_get(const void *address, void *to, size_t bytes) {
  if (!atomic_load(&contents.count)) return false;
  wf__dry_lock(DRY_LOCK_CONTENTS);
  bool found = copy_known((uintptr_t)address, NULL, bytes) == bytes;
  if (found) copy_known((uintptr_t)address, to, bytes);
  wf__dry_unlock(DRY_LOCK_CONTENTS);
  return found;
}
