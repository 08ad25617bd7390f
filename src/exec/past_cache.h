/* Which results of operators are stored past the cache. */
#ifndef WF_EXEC_PAST_CACHE_H
#define WF_EXEC_PAST_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of a result from which on it is; below 0: as suits the processor. Tests set it. */
extern int64_t wf__past_cache_from;

/* Whether a result of so many bytes is, of elements of `size` bytes that follow each other at `data`: kernels count by elements up to a whole
 * line, so these must be aligned. */
bool wf__past_cache(const void *data, int64_t size, int64_t bytes);

#endif
