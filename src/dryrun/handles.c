/* Which pointers are handles that a program got, and of what: a program that passes another one gets an error, not a fault. */
#include <stdatomic.h>
#include "base/host.h"
#include "dryrun/locks.h"
#include "dryrun/stand_in.h"

typedef struct slot {
  void *handle;      /* NULL: never used */
  wf__dry_kind kind; /* 0: freed */
} slot;

static struct {
  slot *slots;
  size_t room, used; /* room: a power of 2; used: with freed ones */
} table;

static size_t home(const void *handle, size_t room) {
  return (size_t)(((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15u >> 20) & (room - 1);
}

static slot *find(const void *handle) {
  if (!table.room) return NULL;
  for (size_t i = home(handle, table.room);; i = (i + 1) & (table.room - 1)) {
    if (!table.slots[i].handle) return NULL;
    if (table.slots[i].handle == handle) return &table.slots[i];
  }
}

static void put(slot *slots, size_t room, void *handle, wf__dry_kind kind) {
  size_t i = home(handle, room);
  while (slots[i].handle && slots[i].handle != handle) i = (i + 1) & (room - 1);
  table.used += !slots[i].handle;
  slots[i] = (slot){handle, kind};
}

/* Makes room for one more, and forgets freed ones meanwhile. */
static bool make_room(void) {
  if (table.used * 2 < table.room) return true;
  size_t live = 0;
  for (size_t i = 0; i < table.room; i++) live += table.slots[i].kind != 0;
  size_t room = 1024;
  while (room < live * 4 + 4) room *= 2;
  slot *slots = wf__calloc(room, sizeof *slots);
  if (!slots) return false;
  table.used = 0;
  for (size_t i = 0; i < table.room; i++)
    if (table.slots[i].kind) put(slots, room, table.slots[i].handle, table.slots[i].kind);
  wf__release(table.slots);
  table.slots = slots;
  table.room = room;
  return true;
}

void *wf__dry_handle_new(wf__dry_kind kind, size_t bytes) {
  void *handle = wf__calloc(1, bytes);
  wf__dry_lock(DRY_LOCK_HANDLES);
  if (handle && make_room()) {
    put(table.slots, table.room, handle, kind);
  } else {
    wf__release(handle);
    handle = NULL;
  }
  wf__dry_unlock(DRY_LOCK_HANDLES);
  if (!handle) wf_error_take();
  return handle;
}

void *wf__dry_handle(const void *handle, wf__dry_kind kind) {
  wf__dry_lock(DRY_LOCK_HANDLES);
  slot *at = handle ? find(handle) : NULL;
  void *known = at && at->kind == kind ? at->handle : NULL;
  wf__dry_unlock(DRY_LOCK_HANDLES);
  return known;
}

void wf__dry_handle_free(void *handle) {
  wf__dry_lock(DRY_LOCK_HANDLES);
  slot *at = handle ? find(handle) : NULL;
  bool known = at && at->kind;
  if (known) at->kind = 0;
  wf__dry_unlock(DRY_LOCK_HANDLES);
  if (known) wf__release(handle);
}

void *wf__dry_token(void) {
  static atomic_uintptr_t next = 0x0f0000000000;
  return (void *)atomic_fetch_add(&next, 64);
}
