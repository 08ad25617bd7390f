/* Slabs of 32 records each. */
#include "memory/records.h"

enum {
  SLAB_RECORDS = 32,
  SLAB_HEADER = 64,
  LINE = 64
}; /* the header links the slabs, which records begin lines behind */

static size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

void wf__records_init(wf__records *records, size_t bytes) {
  *records = (wf__records){.bytes = round_up(bytes, bytes > LINE ? LINE : 16)};
}

bool wf__records_grow(wf__records *records, size_t count) {
  while (records->spare_count < count) {
    char *slab = wf__malloc(SLAB_HEADER + SLAB_RECORDS * records->bytes); /* aligned to 16 bytes */
    if (!slab) return false;
    *(void **)slab = records->slabs;
    records->slabs = slab;
    char *first = slab + SLAB_HEADER - (uintptr_t)slab % LINE;
    for (int i = SLAB_RECORDS; i-- > 0;) wf__records_put(records, first + (size_t)i * records->bytes);
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
