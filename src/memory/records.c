/* Slabs of 32 records each. */
#include "memory/records.h"

enum { SLAB_RECORDS = 32, SLAB_HEADER = 16 }; /* the header links the slabs and keeps records aligned to 16 bytes */

void wf__records_init(wf__records *records, size_t bytes) { *records = (wf__records){.bytes = (bytes + 15) / 16 * 16}; }

bool wf__records_grow(wf__records *records, size_t count) {
  while (records->spare_count < count) {
    char *slab = wf__malloc(SLAB_HEADER + SLAB_RECORDS * records->bytes);
    if (!slab) return false;
    *(void **)slab = records->slabs;
    records->slabs = slab;
    for (int i = SLAB_RECORDS; i-- > 0;) wf__records_put(records, slab + SLAB_HEADER + (size_t)i * records->bytes);
  }
  return true;
}

void wf__records_drop(wf__records *records) {
  for (void *slab = records->slabs; slab;) {
    void *next = *(void **)slab;
    wf__release(slab);
    slab = next;
  }
  records->slabs = records->spare = NULL;
  records->spare_count = 0;
}
