/* Host memory of the library itself: the one place that calls malloc, so that faults can be injected (base/fault.c). Bulk data of
 * tensors comes from memory/ instead. */
#ifndef WF_BASE_HOST_H
#define WF_BASE_HOST_H

#include "base/error.h"

/* As malloc, calloc, realloc; on failure the error record is set (WF_NO_MEMORY) and the result NULL. Size 0 gives a unique pointer. */
void *wf__malloc(size_t bytes);
void *wf__calloc(size_t count, size_t bytes);
void *wf__realloc(void *old, size_t bytes);
void wf__release(void *p);
char *wf__strdup(const char *text);
/* Memory for bulk use, aligned to 128 bytes (huge pages asked for from 4 MiB on). No error record on failure: the allocator policy
 * tries again first. */
void *wf__segment_get(size_t bytes);
void wf__segment_give(void *p, size_t bytes);

/* Fails the k-th allocation from now on this process (1: the next), once; 0 switches it off. Tests only. */
void wf__fault_at(int64_t k);
/* Allocations counted since the last wf__fault_at; nothing is counted before the first. */
int64_t wf__fault_count(void);
/* True when this allocation must fail: called by wf__malloc and wf__segment_get. */
bool wf__fault_hit(void);

#endif
