/* The size from which on results of operators are stored past the cache. The size of the last cache doesn't decide: a virtual machine
 * reports all of the host's, and the kinds of processors differ in more than that. */
#include "exec/past_cache.h"

#include "base/cpu.h"

/* Intel's: an addition of 64 MiB makes 1.02 of memcpy by way of the cache, 1.40 past it. */
#define FROM ((int64_t)4 << 20)
/* AMD's gain nothing by it. An operator on inputs from memory and the sum of its result right behind take so many times as long with stores past
 * the cache, at 1, 4, 16, 32 and 64 MiB, on one core of a Zen 5 with 32 MiB of last cache: addition 1.21, 1.27, 1.16, 1.10, 1.01; exp 1.27,
 * 1.31, 1.20, 1.14, 1.05; softmax 1.08, 1.23, 1.07, 1.01, 0.92. Without the sum, from 16 MiB on, 1.12 to 1.01, 1.09 to 1.06, 0.90 to 0.88. */
#define FROM_ON_AMD ((int64_t)64 << 20)

int64_t wf__past_cache_from = -1;

bool wf__past_cache(const void *data, int64_t size, int64_t bytes) {
  int64_t from = wf__past_cache_from;
  if (from < 0) from = bytes >= FROM && wf__cpu_is_amd() ? FROM_ON_AMD : FROM; /* small ones don't ask */
  return bytes >= from && (uintptr_t)data % (uintptr_t)size == 0;
}
