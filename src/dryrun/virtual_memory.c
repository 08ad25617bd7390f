/* Addresses apart from memory (cuMem*), which PyTorch's expandable segments are made of. Physical memory is a size; where it is mapped doesn't
 * matter to what is counted. */
#include "base/host.h"
#include "dryrun/locks.h"
#include "dryrun/stand_in.h"

#define GRANULARITY ((size_t)2 << 20)

/* CUmemAllocationProp, its beginning. */
typedef struct properties {
  int type, handle_types, location_type, device;
} properties;

typedef struct physical {
  size_t bytes;
  int device;
  int references; /* handles and mappings: the memory is given back with the last of them */
  properties made_with;
  uintptr_t mapped_at; /* 0: nowhere */
} physical;

/* The list of what is mapped, by address; few hundred entries, and mapping is rare. */
static struct {
  physical **list;
  size_t count, room;
} mapped;

static physical *physical_of(uint64_t handle) { return wf__dry_handle((void *)(uintptr_t)handle, DRY_PHYSICAL); }

/* The caller holds the lock, here and below. */
static bool make_room(void) {
  if (mapped.count < mapped.room) return true;
  size_t room = mapped.room ? mapped.room * 2 : 256;
  physical **more = wf__realloc(mapped.list, room * sizeof *more);
  if (!more) return wf_error_take(), false;
  mapped.list = more;
  mapped.room = room;
  return true;
}

static void drop(physical *p) {
  if (--p->references) return;
  wf__dry_physical_give(p->device, p->bytes);
  wf__dry_count(
      &(wf__dry_happening){.kind = "free", .what = "cuMemRelease", .device = p->device, .bytes = (int64_t)p->bytes});
  wf__dry_handle_free(p);
}

DRY_API int cuMemGetAllocationGranularity(size_t *bytes, const properties *p, int option) {
  *bytes = GRANULARITY;
  return DRY_OK;
}
DRY_API int cuMemAddressReserve(void **address, size_t bytes, size_t alignment, void *wanted,
                                unsigned long long flags) {
  *address = bytes % GRANULARITY ? NULL : wf__dry_reserve(bytes);
  return *address ? DRY_OK : bytes % GRANULARITY ? DRY_INVALID_VALUE : DRY_NO_MEMORY;
}
DRY_API int cuMemAddressFree(void *address, size_t bytes) {
  wf__dry_unreserve(address);
  return DRY_OK;
}

DRY_API int cuMemCreate(uint64_t *handle, size_t bytes, const properties *p, unsigned long long flags) {
  enum { ON_DEVICE = 1 };
  if (!bytes || bytes % GRANULARITY) return DRY_INVALID_VALUE;
  if (p->location_type != ON_DEVICE) {
    wf__dry_limit("cuMemCreate", "memory that isn't a device's isn't counted");
    return DRY_NOT_SUPPORTED;
  }
  if (p->device < 0 || p->device >= wf__dry_settings_get()->devices) return DRY_INVALID_DEVICE;
  int code = wf__dry_use_device(p->device);
  if (code == DRY_OK) code = wf__dry_physical_get(p->device, bytes);
  if (code != DRY_OK) return code;
  physical *made = wf__dry_handle_new(DRY_PHYSICAL, sizeof *made);
  if (!made) return wf__dry_physical_give(p->device, bytes), DRY_NO_MEMORY;
  *made = (physical){.bytes = bytes, .device = p->device, .references = 1, .made_with = *p};
  *handle = (uintptr_t)made;
  wf__dry_count(
      &(wf__dry_happening){.kind = "malloc", .what = "cuMemCreate", .device = p->device, .bytes = (int64_t)bytes});
  return DRY_OK;
}
DRY_API int cuMemRelease(uint64_t handle) {
  wf__dry_lock(DRY_LOCK_MAPPED);
  physical *p = physical_of(handle);
  if (p) drop(p);
  wf__dry_unlock(DRY_LOCK_MAPPED);
  return p ? DRY_OK : DRY_INVALID_VALUE;
}
DRY_API int cuMemMap(void *address, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags) {
  wf__dry_lock(DRY_LOCK_MAPPED);
  physical *p = physical_of(handle);
  bool done = p && make_room();
  if (done) {
    p->references++;
    p->mapped_at = (uintptr_t)address;
    mapped.list[mapped.count++] = p;
  }
  wf__dry_unlock(DRY_LOCK_MAPPED);
  return done ? DRY_OK : p ? DRY_NO_MEMORY : DRY_INVALID_VALUE;
}
DRY_API int cuMemUnmap(void *address, size_t bytes) {
  uintptr_t from = (uintptr_t)address;
  wf__dry_lock(DRY_LOCK_MAPPED);
  for (size_t i = 0; i < mapped.count;) {
    physical *p = mapped.list[i];
    if (p->mapped_at - from >= bytes) {
      i++;
      continue;
    }
    mapped.list[i] = mapped.list[--mapped.count];
    p->mapped_at = 0;
    drop(p);
  }
  wf__dry_unlock(DRY_LOCK_MAPPED);
  return DRY_OK;
}
DRY_API int cuMemSetAccess(void *address, size_t bytes, const void *descriptions, size_t count) { return DRY_OK; }
DRY_API int cuMemRetainAllocationHandle(uint64_t *handle, void *address) {
  physical *found = NULL;
  wf__dry_lock(DRY_LOCK_MAPPED);
  for (size_t i = 0; i < mapped.count && !found; i++)
    if ((uintptr_t)address - mapped.list[i]->mapped_at < mapped.list[i]->bytes) found = mapped.list[i];
  if (found) found->references++;
  wf__dry_unlock(DRY_LOCK_MAPPED);
  *handle = (uintptr_t)found;
  return found ? DRY_OK : DRY_INVALID_VALUE;
}
DRY_API int cuMemGetAllocationPropertiesFromHandle(properties *p, uint64_t handle) {
  const physical *known = physical_of(handle);
  if (!known) return DRY_INVALID_VALUE;
  *p = known->made_with;
  return DRY_OK;
}
