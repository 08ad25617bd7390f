/* Host memory and injected faults. */
#include "base/host.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static _Atomic int64_t fault_left; /* 0: off; else the allocation that makes it 0 fails */
static _Atomic int64_t fault_seen;
static atomic_bool fault_counts; /* from the first wf__fault_at on: counting costs every thread the same cache line */

void wf__fault_at(int64_t k) {
  atomic_store(&fault_seen, 0);
  atomic_store(&fault_left, k);
  atomic_store(&fault_counts, true);
}
int64_t wf__fault_count(void) { return atomic_load(&fault_seen); }

bool wf__fault_hit(void) {
  if (WF__LIKELY(!atomic_load_explicit(&fault_counts, memory_order_relaxed))) return false;
  atomic_fetch_add_explicit(&fault_seen, 1, memory_order_relaxed);
  if (atomic_load_explicit(&fault_left, memory_order_relaxed) == 0) return false;
  return atomic_fetch_sub(&fault_left, 1) == 1;
}

static void *checked(void *p, size_t bytes) {
  if (!p) wf__fail_memory(bytes);
  return p;
}

void *wf__malloc(size_t bytes) { return checked(wf__fault_hit() ? NULL : malloc(bytes ? bytes : 1), bytes); }

void *wf__calloc(size_t count, size_t bytes) {
  size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) total = SIZE_MAX;
  if (total == SIZE_MAX || wf__fault_hit()) return checked(NULL, total);
  return checked(calloc(1, total ? total : 1), total);
}

void *wf__realloc(void *old, size_t bytes) {
  return checked(wf__fault_hit() ? NULL : realloc(old, bytes ? bytes : 1), bytes);
}

void wf__release(void *p) { free(p); }

char *wf__strdup(const char *text) {
  size_t n = strlen(text) + 1;
  char *copy = wf__malloc(n);
  if (copy) memcpy(copy, text, n);
  return copy;
}

/* Segments are mapped rather than taken from malloc: giving one back must shrink the process, and large ones get huge pages
 * (a 4096 x 4096 transpose goes from 15 to 20 GB/s with them). They count against what the kernel is willing to promise, as malloc's
 * do: a request beyond the machine's memory is an error here, not a process that is killed when it writes. */
#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_FROM ((size_t)4 << 20)

void *wf__segment_get(size_t bytes) {
  if (bytes > SIZE_MAX - 2 * HUGE_PAGE || wf__fault_hit()) return NULL;
  size_t slack = bytes >= HUGE_FROM ? HUGE_PAGE : 0;
  char *p = mmap(NULL, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
  if (slack) { /* trim to an aligned range so that huge pages can back all of it */
    size_t head = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE, page = 4096;
    size_t tail = slack - head, used = (bytes + page - 1) / page * page;
    if (head) munmap(p, head);
    p += head;
    size_t excess = bytes + tail > used ? (bytes + tail - used) / page * page : 0;
    if (excess) munmap(p + used, excess);
    madvise(p, bytes, MADV_HUGEPAGE);
  }
  return p;
}

void wf__segment_give(void *p, size_t bytes) {
  if (p) munmap(p, bytes);
}
