/* Settings of a caching allocator: PyTorch's keys, read once when the allocator is made, and the arithmetic of sizes that follows
 * from them. Sizes are in bytes. */
#ifndef WF_MEMORY_CONF_H
#define WF_MEMORY_CONF_H

#include "base/error.h"

#define WF__MIB ((size_t)1 << 20)
#define WF__BLOCK_MIN ((size_t)512) /* block sizes are multiples of it */
#define WF__SMALL_MAX WF__MIB       /* rounded requests up to here come from the small pool */
#define WF__SMALL_SEGMENT (2 * WF__MIB)
#define WF__LARGE_SEGMENT_BELOW (10 * WF__MIB) /* larger requests get a segment of their own size */
#define WF__SEGMENT_STEP (2 * WF__MIB)
#define WF__NO_LIMIT SIZE_MAX
enum { WF__ROUNDUP_BUCKETS = 16 }; /* by power of two of the size: up to 2 MiB, 2 to 4 MiB, … from 32 GiB on */

typedef struct wf__conf {
  size_t max_split; /* free blocks from here on are kept whole, for requests as large; WF__NO_LIMIT: none */
  size_t max_non_split_rounding;
  size_t large_segment;
  double garbage_collection;             /* share of the allowed bytes where collection begins; 0: never */
  double fraction;                       /* at most this share of the device's bytes; below 0: not set */
  bool expandable;                       /* segments that grow inside reserved address space */
  uint32_t roundup[WF__ROUNDUP_BUCKETS]; /* steps between powers of two; 0 or 1: none */
} wf__conf;

void wf__conf_defaults(wf__conf *conf);
/* Reads "key:value,key:value"; NULL and "" leave all defaults. On error `conf` is undefined. */
wf_status wf__conf_parse(wf__conf *conf, const char *text);

/* Bytes that a request takes; `bytes` is below 2^60. */
size_t wf__round_size(const wf__conf *conf, size_t bytes);
/* Bytes of the segment that is asked of the driver for a rounded request. */
size_t wf__segment_size(const wf__conf *conf, size_t rounded);

#endif
