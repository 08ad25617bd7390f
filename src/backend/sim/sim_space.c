/* Device addresses. One reservation holds the addresses of all devices in its lower half, never accessible, and the memory behind them
 * in its upper half, accessible where a segment lies. So an address and its memory differ by one constant, the host faults when it
 * follows a device address, and nothing is backed by pages before it is written.
 *
 * Each device has twice the addresses of its memory: a limit on bytes, as on an accelerator with virtual addresses, and hardly ever a
 * failure because no gap is long enough. */
#include "backend/sim/sim.h"

#include <string.h>
#include <sys/mman.h>

#include "base/host.h"

static char *reserved; /* lower half */
static size_t half;    /* bytes of each half */
static size_t span;    /* bytes of one device */
static int users;

static size_t pages_of(size_t bytes) { return (bytes + WF__SIM_PAGE - 1) / WF__SIM_PAGE; }

wf_status wf__sim_space_open(const wf__sim_settings *settings) {
  if (users++) return WF_OK;
  span = 2 * pages_of(settings->memory) * WF__SIM_PAGE;
  half = span * (size_t)settings->devices + WF__SIM_PAGE; /* room to align */
  reserved = mmap(NULL, 2 * half, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved != MAP_FAILED) return WF_OK;
  reserved = NULL;
  users = 0;
  wf_status status = wf__fail(WF_DEVICE, "no %zu bytes of address space for the emulated accelerator", 2 * half);
  wf__hint("set a smaller WEFT_SIM=mem=…, or lift the limit on address space (ulimit -v)");
  return status;
}

void wf__sim_space_close(void) {
  if (--users) return;
  munmap(reserved, 2 * half);
  reserved = NULL;
}

wf_status wf__sim_range_open(wf__sim_range *range, int device, const wf__sim_settings *settings) {
  uintptr_t lowest = ((uintptr_t)reserved + WF__SIM_PAGE - 1) / WF__SIM_PAGE * WF__SIM_PAGE;
  *range =
      (wf__sim_range){.base = lowest + span * (size_t)device, .pages = span / WF__SIM_PAGE, .limit = settings->memory};
  range->taken = wf__calloc(range->pages, 1);
  return range->taken ? WF_OK : wf__self.pending;
}

void wf__sim_range_close(wf__sim_range *range) { wf__release(range->taken); }

bool wf__sim_in_range(const wf__sim_range *range, const void *address) {
  return (uintptr_t)address - range->base < range->pages * WF__SIM_PAGE;
}

bool wf__sim_on_device(const void *address) { return (uintptr_t)address - (uintptr_t)reserved < half; }

/* A whole number of pages, so that memory is aligned as its address is. */
void *wf__sim_memory_at(const void *address) { return (char *)address + half; }

/* First run of free pages that is long enough; `pages` when there is none. */
static size_t find_gap(const wf__sim_range *range, size_t wanted) {
  size_t run = 0;
  for (size_t i = 0; i < range->pages; i++) {
    run = range->taken[i] ? 0 : run + 1;
    if (run == wanted) return i + 1 - wanted;
  }
  return range->pages;
}

wf_status wf__sim_segment_get(wf__sim_range *range, size_t bytes, void **address) {
  size_t wanted = pages_of(bytes);
  if (bytes > range->limit - range->used || wf__fault_hit()) return WF_NO_MEMORY;
  size_t at = find_gap(range, wanted);
  if (at == range->pages) return WF_NO_MEMORY;
  void *found = (void *)(range->base + at * WF__SIM_PAGE), *memory = wf__sim_memory_at(found);
  if (mprotect(memory, wanted * WF__SIM_PAGE, PROT_READ | PROT_WRITE)) return WF_NO_MEMORY;
  if (wanted > 1) madvise(memory, wanted * WF__SIM_PAGE, MADV_HUGEPAGE);
  memset(range->taken + at, 1, wanted);
  range->used += bytes;
  *address = found;
  return WF_OK;
}

/* Mapping the range anew gives its pages back to the system and takes the access away. Where the system refuses, the pages go and the
 * access stays: nobody has the address any more. */
void wf__sim_segment_give(wf__sim_range *range, void *address, size_t bytes) {
  size_t wanted = pages_of(bytes), at = ((uintptr_t)address - range->base) / WF__SIM_PAGE;
  void *memory = wf__sim_memory_at(address);
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(memory, wanted * WF__SIM_PAGE, PROT_NONE, flags, -1, 0) == MAP_FAILED)
    madvise(memory, wanted * WF__SIM_PAGE, MADV_DONTNEED);
  memset(range->taken + at, 0, wanted);
  range->used -= bytes;
}
