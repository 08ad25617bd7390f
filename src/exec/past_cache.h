/* Which results are stored past the cache. */
#ifndef WF_EXEC_PAST_CACHE_H
#define WF_EXEC_PAST_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of a result from which on it is. The size of the last cache doesn't help: a virtual machine reports all of the host's. */
#define WF__PAST_CACHE_FROM ((int64_t)4 << 20)

static inline bool wf__past_cache(int64_t bytes) { return bytes >= WF__PAST_CACHE_FROM; }

#endif
