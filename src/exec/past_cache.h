/* Which results are stored past the cache, by copies as well as by operators. */
#ifndef WF_EXEC_PAST_CACHE_H
#define WF_EXEC_PAST_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of a result from which on they are. Tests lower it. */
extern int64_t wf__past_cache_from;

static inline bool wf__past_cache(int64_t bytes) { return bytes >= wf__past_cache_from; }
/* The same of elements of `size` bytes that follow each other at `data`: kernels find whole lines by elements, so these must be aligned. */
static inline bool wf__elements_past_cache(const void *data, int64_t size, int64_t bytes) {
  return wf__past_cache(bytes) && (uintptr_t)data % (uintptr_t)size == 0;
}

#endif
