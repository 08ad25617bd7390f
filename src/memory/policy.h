/* The caching allocator's state, shared by the files of this folder:
 *   policy.c     order of steps when memory is asked for and given back    blocks.c  segments cut into blocks, free sets, walk
 *   release.c    giving cached memory back to the driver                   events.c  use on other streams, deferred frees
 *   expandable.c segments that grow inside reserved address space          adopt.c   segments made before the history begins
 *   private.c    pools of memory that serve only who asks in them          conf.c    settings
 *   oom_text.c   what the error says                                       stats.c   counting
 *   pool.c       the policy behind a lock                         at_hand.c what threads keep before it
 *
 * Invariants: the blocks of a segment, linked by previous and next, cover it without gap; a block is allocated, or pending (freed,
 * but used on other streams that haven't come that far), or in the free set of its pool, or without memory and in the unmapped set;
 * two neighbours are never both free or both unmapped; a block stays on the stream that it was cut for. Records come from free lists and are reserved before anything is changed, so an
 * operation that fails leaves what there was. */
#ifndef WF_MEMORY_POLICY_H
#define WF_MEMORY_POLICY_H

#include <weft/sys/allocator.h>
#include "memory/conf.h"
#include "memory/free_set.h"
#include "memory/order.h"
#include "memory/records.h"

typedef struct wf__block_pool {
  wf__free_set free;              /* free blocks by stream, size, tie, address */
  wf__order unmapped;             /* address space without memory, by stream and address */
  int stat;                       /* WF__STAT_SMALL or WF__STAT_LARGE */
  struct wf__private_pool *owner; /* NULL: the default pools */
  uint64_t searches;              /* counted only while somebody asks for ages: the clock for the age of free blocks */
} wf__block_pool;

/* What a private pool has reserved. It outlives the pool. */
typedef struct wf__pool_figures {
  struct wf__pool_figures *next; /* the one made before */
  uint64_t id;
  bool any; /* it ever had memory */
  wf_stat reserved_bytes[3];
} wf__pool_figures;

typedef struct wf__private_pool {
  struct wf__private_pool *next;       /* all of them */
  struct wf__private_pool *next_begun; /* those that requests are routed to, the latest begin first */
  uint64_t id, stream;                 /* stream: whose requests are routed here, while begun */
  bool begun;
  int64_t users;   /* none: its free segments may go */
  size_t segments; /* made for it and still there */
  wf__pool_figures *figures;
  wf__block_pool small, large;
} wf__private_pool;

typedef struct wf__segment {
  wf__order_node node; /* by address, in wf_allocator.segments */
  size_t size;         /* of an expandable one: the address space reserved */
  uint64_t age;        /* number in the order in which the driver gave them */
  bool expandable;
  wf_block *first; /* block at its address */
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
  wf__order_node
      node; /* stream, tie and address of its key always hold, size is that of the set that the block is in; in no set, node.link is in a
               list of blocks at hand (at_hand.h), or of freed ones that wait for the lock (pool.c) or for marks (events.c) */
  size_t size;
  wf_block *previous, *next;
  wf__use *uses;
  uint32_t waits; /* events that must pass before the block is free */
  bool allocated;
  bool mapped; /* there is memory behind it */
  wf__segment *segment;
  wf__block_pool *pool;
  size_t requested; /* bytes asked for, while allocated or pending */
  union {
    const void *owner;   /* while allocated or pending */
    uint64_t free_since; /* while free: pool->searches when it became that */
  };
};
_Static_assert(sizeof(wf_block) == 128, "two cache lines, see records.h");

struct wf_allocator {
  wf_allocator_driver driver;
  wf__conf conf;
  wf_allocator_ties ties;
  wf__block_pool small, large;
  wf__private_pool *pools, *begun;
  wf__pool_figures *figures; /* of all private pools there ever were */
  wf__order segments;
  wf__use_queue *queues; /* one for each stream that was ever named by record_stream */
  size_t waiting;        /* uses in queues */
  wf_block *unmarked;    /* freed while marks were not made, see wf__suspended; last one first */
  wf__records blocks, segment_records, uses, queue_records, pool_records, figure_records;
  uint64_t segments_given; /* so far: the next one's age */
  uint64_t blocks_made;
  size_t reserved;  /* bytes of all segments */
  size_t allowed;   /* most that may be reserved, while has_fraction */
  bool counts_ages; /* of free blocks, as garbage collection does */
  bool has_fraction;
  size_t total; /* bytes of the device; 0: unknown */
  int device_index;
  char *device_name;
  wf_allocator_stats stats;
};

/* One request on its way. */
typedef struct wf__request {
  uint64_t stream;
  size_t size;    /* rounded */
  size_t segment; /* size of the segment that would serve it */
  wf__block_pool *pool;
} wf__request;

static inline bool wf__block_is_split(const wf_block *block) { return block->previous || block->next; }
static inline bool wf__block_is_free(const wf_block *b) {
  return b && b->mapped && !b->allocated && !b->waits && !b->uses;
}
static inline bool wf__oversize(const wf_allocator *allocator, size_t bytes) {
  return bytes >= allocator->conf.max_split;
}
static inline wf_block *wf__block_of(wf__order_node *node) { return (wf_block *)node; }
static inline bool wf__collects_garbage(const wf_allocator *a) {
  return a->has_fraction && a->conf.garbage_collection > 0;
}
/* Up to 2.12 an open private pool counted as a capture: no events are made or looked at, and the cache isn't given back. */
static inline bool wf__suspended(const wf_allocator *a) { return a->begun && a->ties != WF_TIES_AGE; }

static inline void wf__observe(const wf_allocator *a, wf_allocator_action action, const wf__block_pool *pool,
                               const wf__order_key *at, size_t size, const void *owner) {
  if (WF__LIKELY(!a->driver.observe)) return;
  const wf__private_pool *apart = pool->owner;
  a->driver.observe(a->driver.context, &(wf_allocator_event){action, (uintptr_t)at->address, size, at->stream, owner,
                                                             apart != NULL, apart ? apart->id : 0});
}

/* ---- blocks.c: none of these can fail; records have been reserved ------------------------------------------------ */

/* A segment of the driver as one block, not yet in a set: mapped, or of an expandable segment unmapped. `stream` of the key, and its
 * address, are those of the block. */
wf_block *wf__segment_add(wf_allocator *allocator, wf__block_pool *pool, uint64_t stream, uintptr_t address,
                          size_t size, bool expandable);
/* Forgets the segment that the block is all of; the block is in no set any more. */
void wf__segment_remove(wf_allocator *allocator, wf_block *block);
/* A whole segment given by the driver is counted, or one given back. */
void wf__segment_count(wf_allocator *allocator, const wf__block_pool *pool, size_t size, bool more);
/* Gives the segment of a free, unsplit block back to the driver. */
void wf__segment_release(wf_allocator *allocator, wf_block *block);
/* Cuts `size` bytes off as a block of their own: the front is a new block, the rest stays what it was. Neither is put in a set. */
wf_block *wf__block_cut(wf_allocator *allocator, wf_block *block, size_t size);
void wf__block_insert_free(wf_block *block);
void wf__block_insert_unmapped(wf_block *block);
/* Takes a neighbour that is free, or unmapped, as the block is, out of its set and into the block; returns the bytes gained. */
size_t wf__block_merge(wf_allocator *allocator, wf_block *block, wf_block *neighbour);
/* Joins the block with free neighbours and puts it among the free ones, with all that has to be counted. */
void wf__block_to_free(wf_allocator *allocator, wf_block *block);

/* ---- expandable.c -------------------------------------------------------------------------------------------------- */

/* Grows an expandable segment until a free block can hold the request, and takes that block. NULL: no memory for it. */
wf_block *wf__expandable_take(wf_allocator *allocator, const wf__request *request);
/* Of free blocks in order from `block` on, the one whose segment would have to grow least. */
wf_block *wf__expandable_fit(const wf__block_pool *pool, wf_block *block);
/* Takes the memory from behind all whole pages of a free block. */
void wf__expandable_unmap(wf_allocator *allocator, wf_block *block);
/* Gives an expandable segment and all its memory back, whatever is in it. */
void wf__expandable_give(wf_allocator *allocator, wf__segment *segment);

/* ---- events.c ----------------------------------------------------------------------------------------------------- */

/* Marks the end of the queues of all streams that use the block. True when it waits for at least one of them. */
bool wf__uses_defer(wf_allocator *allocator, wf_block *block);
/* Frees blocks whose streams have come far enough. */
void wf__uses_poll(wf_allocator *allocator);
/* Waits for those of one private pool, NULL: for all of them, and frees them. */
void wf__uses_wait(wf_allocator *allocator, const wf__private_pool *only);

/* ---- release.c ---------------------------------------------------------------------------------------------------- */

/* Gives back free segments by age until the threshold is met. */
void wf__collect_garbage(wf_allocator *allocator);
/* After `freed` (NULL: whatever happened) became free: gives the oldest whole free segments back until at most `limit` bytes are
 * reserved that nobody uses. Ages must be counted. */
void wf__release_above(wf_allocator *allocator, const wf_block *freed, size_t limit);
void wf__count_ages(wf_allocator *allocator, bool on);
/* With max_split set: gives back as much oversize memory of the request's stream as it needs. True when that was enough. */
bool wf__release_available(wf_allocator *allocator, const wf__request *request);
/* Waits for pending blocks, then gives back every unsplit free block. */
void wf__release_cached(wf_allocator *allocator);

/* Gives back what is unsplit and free in one pool. */
void wf__release_pool(wf_allocator *allocator, wf__block_pool *pool);

/* ---- private.c ------------------------------------------------------------------------------------------------------ */

/* Small or large pool that a request of the stream is routed to. */
wf__block_pool *wf__route(wf_allocator *allocator, uint64_t stream, bool large);
/* Memory of the driver comes behind address space of the pool, or goes: all figures of reserved bytes. */
void wf__reserved_change(wf_allocator *allocator, const wf__block_pool *pool, size_t bytes, bool more);
/* Gives back the free segments of all private pools without users. */
void wf__private_release(wf_allocator *allocator);

/* ---- oom_text.c --------------------------------------------------------------------------------------------------- */

wf_status wf__fail_out_of_memory(const wf_allocator *allocator, const wf__request *request);

#endif
