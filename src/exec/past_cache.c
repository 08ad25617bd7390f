/* The size from which on results are stored past the cache. */
#include "exec/past_cache.h"

int64_t wf__past_cache_from = (int64_t)4 << 20;
