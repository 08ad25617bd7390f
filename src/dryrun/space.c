/* Where memory of the emulated devices lies: addresses without anything behind them, at the same place in every run, and the driver's own
 * host memory, which is real.
 *
 * Each device has 4 TiB of addresses that nobody may touch. Large requests, small ones and reservations without memory each have a part of
 * them; the lowest gap that fits is taken, as the driver does, so that the order in which PyTorch's allocator sorts free blocks by address is the
 * same in every run. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include "base/host.h"
#include "dryrun/locks.h"
#include "dryrun/stand_in.h"

#define MIB ((size_t)1 << 20)
#define TIB ((uintptr_t)1 << 40)
#define OF_DEVICE (4 * TIB)
#ifdef __SANITIZE_THREAD__ /* its shadow lies up to 32 and from 48 on: between them is room for four devices */
#define BASE (32 * TIB)
#define END (48 * TIB)
#else /* programs and their heaps lie from 85 on, other sanitizers' shadows below 17 */
#define BASE (17 * TIB)
#define END (BASE + DRY_DEVICES * OF_DEVICE)
#endif
#define PAGE (2 * MIB)  /* what the driver maps at once */
#define SMALL_BELOW MIB /* requests below this one share pages */
#define SMALL_ALIGNMENT 512

/* A part of the addresses; offsets within a device's. */
typedef struct part {
  uintptr_t from, to;
  size_t alignment;
} part;

static const part parts[] = {
    {0, TIB, PAGE},
    {TIB, TIB + 65536 * MIB, SMALL_ALIGNMENT},
    {TIB + TIB / 2, 4 * TIB, PAGE},
};
enum { LARGE, SMALL, RESERVED };

static struct {
  wf__dry_range *ranges; /* sorted by address */
  size_t count, room;
  int64_t large[DRY_DEVICES], small[DRY_DEVICES], physical[DRY_DEVICES];
  bool mapped[DRY_DEVICES];
} space;

static uintptr_t base_of(int device) { return BASE + (uintptr_t)device * OF_DEVICE; }
static size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

bool wf__dry_is_device(const void *address) { return (uintptr_t)address >= BASE && (uintptr_t)address < END; }

/* ---- the sorted list; the caller holds the lock ---- */

/* Index of the first range that starts above the address. */
static size_t above(uintptr_t address) {
  size_t low = 0, high = space.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (space.ranges[middle].start <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

static wf__dry_range *containing(uintptr_t address) {
  size_t at = above(address);
  if (!at) return NULL;
  wf__dry_range *range = &space.ranges[at - 1];
  return address - range->start < range->bytes ? range : NULL;
}

static bool insert(wf__dry_range range) {
  if (space.count == space.room) {
    size_t room = space.room ? space.room * 2 : 256;
    wf__dry_range *more = wf__realloc(space.ranges, room * sizeof *more);
    if (!more) return wf_error_take(), false;
    space.ranges = more;
    space.room = room;
  }
  size_t at = above(range.start);
  memmove(&space.ranges[at + 1], &space.ranges[at], (space.count - at) * sizeof range);
  space.ranges[at] = range;
  space.count++;
  return true;
}

static void erase(wf__dry_range *range) {
  size_t at = (size_t)(range - space.ranges);
  memmove(range, range + 1, (space.count - at - 1) * sizeof *range);
  space.count--;
}

/* The lowest gap of a device's part that holds so many bytes; 0: none. */
static uintptr_t gap(int device, const part *p, size_t bytes) {
  uintptr_t at = base_of(device) + p->from, end = base_of(device) + p->to;
  size_t i = above(at);
  if (i && space.ranges[i - 1].start == at) i--;
  for (; i < space.count && space.ranges[i].start < end; i++) {
    if (space.ranges[i].start - at >= bytes) return at;
    at = round_up(space.ranges[i].start + space.ranges[i].bytes, p->alignment);
  }
  return at < end && end - at >= bytes ? at : 0;
}

static void *map_at(void *wanted) {
#ifdef __SANITIZE_THREAD__
  return wanted; /* it keeps everyone from them already */
#else
  return mmap(wanted, OF_DEVICE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
#endif
}

/* Makes a device's addresses ones that fault. */
static bool map_device(int device) {
  if (space.mapped[device] || base_of(device) >= END) return space.mapped[device];
  void *wanted = (void *)base_of(device), *got = map_at(wanted);
  if (got == MAP_FAILED) return false;
  if (got != wanted) {
    munmap(got, OF_DEVICE);
    return false;
  }
  madvise(got, OF_DEVICE, MADV_DONTDUMP);
  madvise(got, OF_DEVICE, MADV_DONTFORK);
  return space.mapped[device] = true;
}

/* Which part of its device's addresses a range lies in. By its length one can't say: small ones are rounded up to what large ones begin at. */
static int part_of(const wf__dry_range *range) {
  uintptr_t offset = range->start - base_of(range->device);
  return offset < parts[SMALL].from ? LARGE : offset < parts[RESERVED].from ? SMALL : RESERVED;
}

static void *place(int device, int which, size_t bytes) {
  uintptr_t at = map_device(device) ? gap(device, &parts[which], bytes) : 0;
  return at && insert((wf__dry_range){at, bytes, device, DRY_DEVICE, false}) ? (void *)at : NULL;
}

/* Small requests share pages. */
static int64_t used(int device) {
  return space.large[device] + (int64_t)round_up((size_t)space.small[device], PAGE) + space.physical[device];
}

static bool has_room(int device, int64_t more) {
  const wf__dry_settings *s = wf__dry_settings_get();
  return more <= s->memory - s->gpu.context_bytes - used(device);
}

/* ---- devices ---- */

bool wf__dry_range_of(const void *address, wf__dry_range *range) {
  wf__dry_lock(DRY_LOCK_SPACE);
  const wf__dry_range *found = containing((uintptr_t)address);
  if (found) *range = *found;
  wf__dry_unlock(DRY_LOCK_SPACE);
  return found != NULL;
}

static int get_small(int device, size_t asked, void **address) {
  size_t bytes = round_up(asked, SMALL_ALIGNMENT);
  int64_t before = used(device);
  space.small[device] += (int64_t)bytes;
  int64_t growth = used(device) - before;
  space.small[device] -= (int64_t)bytes;
  if (!has_room(device, growth)) return DRY_NO_MEMORY;
  *address = place(device, SMALL, bytes);
  if (!*address) return DRY_NO_MEMORY;
  space.small[device] += (int64_t)bytes;
  return DRY_OK;
}

static int get_large(int device, size_t asked, void **address) {
  if (asked > TIB) return DRY_NO_MEMORY;
  size_t bytes = round_up(asked, PAGE);
  if (!has_room(device, (int64_t)bytes)) return DRY_NO_MEMORY;
  *address = place(device, LARGE, bytes);
  if (!*address) return DRY_NO_MEMORY;
  space.large[device] += (int64_t)bytes;
  return DRY_OK;
}

int wf__dry_device_get(int device, size_t bytes, void **address) {
  *address = NULL;
  if (!bytes) return DRY_OK;
  wf__dry_lock(DRY_LOCK_SPACE);
  int code = bytes < SMALL_BELOW ? get_small(device, bytes, address) : get_large(device, bytes, address);
  wf__dry_unlock(DRY_LOCK_SPACE);
  return code;
}

int wf__dry_device_give(void *address) {
  wf__dry_lock(DRY_LOCK_SPACE);
  wf__dry_range *range = containing((uintptr_t)address);
  int part = range && range->place == DRY_DEVICE ? part_of(range) : RESERVED;
  bool known = part != RESERVED && range->start == (uintptr_t)address;
  if (known) {
    (part == SMALL ? space.small : space.large)[range->device] -= (int64_t)range->bytes;
    erase(range);
  }
  wf__dry_unlock(DRY_LOCK_SPACE);
  return known ? DRY_OK : DRY_INVALID_VALUE;
}

int64_t wf__dry_device_used(int device) {
  wf__dry_lock(DRY_LOCK_SPACE);
  int64_t bytes = used(device);
  wf__dry_unlock(DRY_LOCK_SPACE);
  return bytes;
}

int wf__dry_physical_get(int device, size_t bytes) {
  wf__dry_lock(DRY_LOCK_SPACE);
  bool fits = bytes <= TIB && has_room(device, (int64_t)bytes);
  if (fits) space.physical[device] += (int64_t)bytes;
  wf__dry_unlock(DRY_LOCK_SPACE);
  return fits ? DRY_OK : DRY_NO_MEMORY;
}

void wf__dry_physical_give(int device, size_t bytes) {
  wf__dry_lock(DRY_LOCK_SPACE);
  space.physical[device] -= (int64_t)bytes;
  wf__dry_unlock(DRY_LOCK_SPACE);
}

void *wf__dry_reserve(size_t bytes) {
  wf__dry_lock(DRY_LOCK_SPACE);
  void *address = bytes && bytes <= 2 * TIB ? place(wf__dry_current_device(), RESERVED, round_up(bytes, PAGE)) : NULL;
  wf__dry_unlock(DRY_LOCK_SPACE);
  return address;
}

void wf__dry_unreserve(void *address) {
  wf__dry_lock(DRY_LOCK_SPACE);
  wf__dry_range *range = containing((uintptr_t)address);
  if (range && range->start == (uintptr_t)address) erase(range);
  wf__dry_unlock(DRY_LOCK_SPACE);
}

/* ---- host memory ---- */

static bool insert_locked(wf__dry_range range) {
  wf__dry_lock(DRY_LOCK_SPACE);
  bool done = insert(range);
  wf__dry_unlock(DRY_LOCK_SPACE);
  return done;
}

int wf__dry_host_get(size_t asked, wf__dry_place place, int device, void **address) {
  *address = NULL;
  if (!asked) return DRY_OK;
  if (asked > 64 * TIB) return DRY_NO_MEMORY;
  size_t bytes = round_up(asked, 4096);
  void *got = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return DRY_NO_MEMORY;
  if (!insert_locked((wf__dry_range){(uintptr_t)got, bytes, device, place, false})) {
    munmap(got, bytes);
    return DRY_NO_MEMORY;
  }
  *address = got;
  return DRY_OK;
}

/* Takes a host range off the list; 0 bytes: it wasn't one. */
static wf__dry_range take_host(void *address, bool registered) {
  wf__dry_range taken = {0};
  wf__dry_lock(DRY_LOCK_SPACE);
  wf__dry_range *range = containing((uintptr_t)address);
  if (range && range->start == (uintptr_t)address && range->place != DRY_DEVICE && range->registered == registered) {
    taken = *range;
    erase(range);
  }
  wf__dry_unlock(DRY_LOCK_SPACE);
  return taken;
}

int wf__dry_host_give(void *address) {
  wf__dry_range range = take_host(address, false);
  if (!range.bytes) return DRY_INVALID_VALUE;
  munmap(address, range.bytes);
  return DRY_OK;
}

int wf__dry_host_register(void *address, size_t bytes) {
  wf__dry_range known;
  if (!address || !bytes) return DRY_INVALID_VALUE;
  if (wf__dry_range_of(address, &known)) return DRY_ALREADY_REGISTERED;
  bool done = insert_locked((wf__dry_range){(uintptr_t)address, bytes, wf__dry_current_device(), DRY_PINNED, true});
  return done ? DRY_OK : DRY_NO_MEMORY;
}

int wf__dry_host_unregister(void *address) { return take_host(address, true).bytes ? DRY_OK : DRY_NOT_REGISTERED; }
