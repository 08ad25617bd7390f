/* The caching allocator's state, shared by the files of this folder:
 *   policy.c   order of steps when memory is asked for and given back      blocks.c   segments cut into blocks, free sets, walk
 *   release.c  giving cached memory back to the driver                     events.c   use on other streams, deferred frees
 *   conf.c     settings                stats.c  counting                   oom_text.c what the error says
 *   pool.c     the policy behind a lock
 *
 * Invariants: the blocks of a segment, linked by previous and next, cover it without gap; a block is allocated, or pending (freed,
 * but used on other streams that haven't come that far), or in the free set of its pool; two neighbours are never both free;
 * a block stays on the stream that it was cut for. Records come from free lists and are reserved before anything is changed, so an
 * operation that fails leaves what there was. */
#ifndef WF_MEMORY_POLICY_H
#define WF_MEMORY_POLICY_H

#include <weft/sys/allocator.h>
#include "memory/conf.h"
#include "memory/order.h"
#include "memory/records.h"

typedef struct wf__block_pool {
  wf__order free;          /* free blocks by stream, size, age of the segment, address */
  int stat;                /* WF__STAT_SMALL or WF__STAT_LARGE */
  uint64_t searches;       /* counted only while garbage collection is on: the clock for the age of free blocks */
} wf__block_pool;

typedef struct wf__segment {
  wf__order_node node;     /* by address, in wf_allocator.segments */
  size_t size;
  uint64_t age;            /* number in the order in which the driver gave them */
  wf_block *first;         /* block at its address */
} wf__segment;

/* Use of a block on a stream other than its own. While the block is allocated it hangs on the block; once the block is freed it
 * holds an event and waits in the queue of its stream. */
typedef struct wf__use {
  struct wf__use *next;
  struct wf__use_queue *queue;
  wf_block *block;
  uint64_t event;
} wf__use;

/* Events of one stream, oldest first. */
typedef struct wf__use_queue {
  struct wf__use_queue *next;
  uint64_t stream;
  wf__use *head, *tail;
} wf__use_queue;

struct wf_block {
  wf__order_node node;     /* node.key holds stream, size, age and address; its links are in use while the block is free */
  wf__segment *segment;
  wf__block_pool *pool;
  wf_block *previous, *next;
  size_t requested;        /* bytes asked for, while allocated or pending */
  wf__use *uses;
  uint32_t waits;          /* events that must pass before the block is free */
  bool allocated;
  uint64_t free_since;     /* pool->searches when it became free */
  const void *owner;
  wf_block *late;          /* pool.c: link of frees that came while the lock was taken */
};

struct wf_allocator {
  wf_allocator_driver driver;
  wf__conf conf;
  wf__block_pool small, large;
  wf__order segments;
  wf__use_queue *queues;   /* one for each stream that was ever named by record_stream */
  size_t waiting;          /* uses in queues */
  wf__records blocks, segment_records, uses, queue_records;
  uint64_t segments_given; /* so far: the next one's age */
  size_t reserved;         /* bytes of all segments */
  size_t allowed;          /* most that may be reserved, while has_fraction */
  bool has_fraction;
  size_t total;            /* bytes of the device; 0: unknown */
  int device_index;
  char *device_name;
  wf_allocator_stats stats;
};

/* One request on its way. */
typedef struct wf__request {
  uint64_t stream;
  size_t size;             /* rounded */
  size_t segment;          /* size of the segment that would serve it */
  wf__block_pool *pool;
} wf__request;

static inline size_t wf__block_bytes(const wf_block *block) { return block->node.key.size; }
static inline bool wf__block_is_split(const wf_block *block) { return block->previous || block->next; }
static inline bool wf__oversize(const wf_allocator *allocator, size_t bytes) { return bytes >= allocator->conf.max_split; }
static inline wf_block *wf__block_of(wf__order_node *node) { return (wf_block *)node; }
static inline bool wf__collects_garbage(const wf_allocator *a) { return a->has_fraction && a->conf.garbage_collection > 0; }

static inline void wf__observe(const wf_allocator *a, wf_allocator_action action, const wf__order_key *at, size_t size,
                               const void *owner) {
  if (WF__LIKELY(!a->driver.observe)) return;
  a->driver.observe(a->driver.context, &(wf_allocator_event){action, (uintptr_t)at->address, size, at->stream, owner});
}

/* ---- blocks.c: none of these can fail; records have been reserved ------------------------------------------------ */

/* One block that covers a new segment, not yet in a free set. */
wf_block *wf__segment_add(wf_allocator *allocator, uintptr_t address, const wf__request *request);
/* Gives the segment of a free, unsplit block back to the driver. */
void wf__segment_release(wf_allocator *allocator, wf_block *block);
/* Cuts `size` bytes off the front as a block of their own, and puts the rest among the free blocks. Returns the front. */
wf_block *wf__block_split(wf_allocator *allocator, wf_block *block, size_t size);
void wf__block_insert_free(wf_block *block);
/* Joins the block with free neighbours and puts it among the free ones, with all that has to be counted. */
void wf__block_to_free(wf_allocator *allocator, wf_block *block);

/* ---- events.c ----------------------------------------------------------------------------------------------------- */

/* Marks the end of the queues of all streams that use the block. True when it waits for at least one of them. */
bool wf__uses_defer(wf_allocator *allocator, wf_block *block);
/* Frees blocks whose streams have come far enough. */
void wf__uses_poll(wf_allocator *allocator);
/* Waits for all of them, and frees them. */
void wf__uses_wait(wf_allocator *allocator);

/* ---- release.c ---------------------------------------------------------------------------------------------------- */

/* Gives back free segments by age until the threshold is met. */
void wf__collect_garbage(wf_allocator *allocator);
/* With max_split set: gives back as much oversize memory of the request's stream as it needs. True when that was enough. */
bool wf__release_available(wf_allocator *allocator, const wf__request *request);
/* Waits for pending blocks, then gives back every unsplit free block. */
void wf__release_cached(wf_allocator *allocator);

/* ---- oom_text.c --------------------------------------------------------------------------------------------------- */

wf_status wf__fail_out_of_memory(const wf_allocator *allocator, const wf__request *request);

#endif
