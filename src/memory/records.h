/* Free lists of records of one size, each at a cache line of its own when it is larger than one. Records are carved from slabs that live as long as the list; taking one never fails once it
 * has been reserved, so an operation reserves what it may need before it changes anything. */
#ifndef WF_MEMORY_RECORDS_H
#define WF_MEMORY_RECORDS_H

#include "base/host.h"

typedef struct wf__records {
  size_t bytes; /* of one record, a multiple of 16 or of a cache line */
  size_t spare_count;
  void *spare; /* records not in use, linked through their first word */
  void *slabs;
} wf__records;

void wf__records_init(wf__records *records, size_t bytes);
/* Makes sure that `count` records can be taken. False, with the error record set, when host memory is exhausted. */
bool wf__records_grow(wf__records *records, size_t count);
static inline bool wf__records_reserve(wf__records *records, size_t count) {
  return WF__LIKELY(records->spare_count >= count) || wf__records_grow(records, count);
}
/* A record with undefined contents; there must be one. */
static inline void *wf__records_take(wf__records *records) {
  void *record = records->spare;
  records->spare = *(void **)record;
  records->spare_count--;
  return record;
}
static inline void wf__records_put(wf__records *records, void *record) {
  *(void **)record = records->spare;
  records->spare = record;
  records->spare_count++;
}
/* Frees all slabs; every record dies. */
void wf__records_drop(wf__records *records);

#endif
