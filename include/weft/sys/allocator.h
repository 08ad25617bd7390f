/* For authors of backends: the caching-allocator policy, a pure state machine over "get / give back a segment".
 * It serves sim, cuda, pinned host memory, cpu and the offline replay of recorded histories. Rules, statistics, texts and the
 * configuration grammar are PyTorch's CUDA caching allocator's. Not thread-safe by itself: the owner holds a lock. */
#ifndef WEFT_SYS_ALLOCATOR_H
#define WEFT_SYS_ALLOCATOR_H

#include <weft/base.h>

WF_EXTERN_C_BEGIN

typedef struct wf_allocator wf_allocator;
typedef struct wf_block wf_block;

/** What happened: the actions of PyTorch's memory history. */
typedef enum wf_allocator_action {
  WF_ACTION_ALLOC,          /* a block was handed out */
  WF_ACTION_FREE_REQUESTED, /* it was given back */
  WF_ACTION_FREE_COMPLETED, /* no stream uses it any more: the memory can be had again */
  WF_ACTION_SEGMENT_ALLOC,  /* the driver gave a segment */
  WF_ACTION_SEGMENT_FREE,   /* the driver took it back */
  WF_ACTION_SEGMENT_MAP,    /* a part of an expandable segment got memory */
  WF_ACTION_SEGMENT_UNMAP,  /* it lost it */
  WF_ACTION_OOM             /* a request failed; no address */
} wf_allocator_action;
/** One thing that happened; holds for the call. */
typedef struct wf_allocator_event {
  wf_allocator_action action;
  uintptr_t address;
  size_t size; /* bytes asked for; of segments their size; of OOM the rounded request */
  uint64_t stream;
  const void *owner; /* what wf_block_set_owner said, NULL else */
  bool private_pool; /* it concerns memory of a private pool */
  uint64_t pool;     /* number of that pool */
} wf_allocator_event;

/** Where segments come from and how streams report progress. Every call may be made from inside any call of the policy. */
typedef struct wf_allocator_driver {
  void *context;
  /* A segment of `bytes`; false: none to be had. */
  bool (*get)(void *context, size_t bytes, uintptr_t *address);
  void (*give)(void *context, uintptr_t address, size_t bytes);
  /* Marks the present end of `stream`'s queue; 0: everything is done already. Optional with query and wait. */
  uint64_t (*record)(void *context, uint64_t stream);
  bool (*query)(void *context, uint64_t event); /* is it done? A true answer retires the event */
  void (*wait)(void *context, uint64_t event);  /* until done; retires the event */
  /* Is told of everything that happens, right after it did. Optional; must not call the policy. */
  void (*observe)(void *context, const wf_allocator_event *event);
  /* Address space that memory is put behind in pieces: for expandable_segments:True. Optional, all four or none. `map` gives
   * memory to all of the range or to none of it; ranges are multiples of 2 MiB or of large_segment_size_mb. */
  bool (*reserve)(void *context, size_t bytes, uintptr_t *address);
  void (*unreserve)(void *context, uintptr_t address, size_t bytes);
  bool (*map)(void *context, uintptr_t address, size_t bytes);
  void (*unmap)(void *context, uintptr_t address, size_t bytes);
} wf_allocator_driver;

/** Which of two free blocks of the same stream and size goes first. Weft's own allocators use AGE; the others replay what older
 *  releases of PyTorch did. */
typedef enum wf_allocator_ties {
  WF_TIES_AGE = 0, /* of the segment that the driver gave first, then the lowest address: 2.13 on */
  WF_TIES_BLOCK,   /* the oldest block object, then the lowest address: 2.12 */
  WF_TIES_ADDRESS  /* the lowest address: up to 2.11 */
} wf_allocator_ties;

/** Configuration, PyTorch's keys (PYTORCH_ALLOC_CONF). */
typedef struct wf_allocator_options {
  const char *conf;        /* "max_split_size_mb:128,roundup_power2_divisions:4"; NULL: all defaults */
  const char *device_name; /* how texts name the memory: "CUDA", "sim", "pinned" */
  int device_index;
  size_t total_bytes; /* capacity of the device for texts, fractions and address space; 0 unknown */
  wf_allocator_ties ties;
} wf_allocator_options;
/** The default options: no configuration, the name "CUDA", capacity unknown. */
WF_API wf_allocator_options wf_allocator_defaults(void);

/** A new policy; yours. NULL on error (WF_VALUE for a bad conf, with PyTorch's text). */
WF_API wf_allocator *wf_allocator_new(const wf_allocator_driver *driver, const wf_allocator_options *options);
/** Gives back every segment and frees the policy; blocks still out die with it. NULL is accepted. */
WF_API void wf_allocator_free(wf_allocator *allocator);

/** A block of at least `bytes` for use on `stream`. bytes 0: NULL without error. NULL on error: WF_NO_MEMORY with PyTorch's
 *  text; cached memory has been given back and the request tried again by then. */
WF_API wf_block *wf_block_new(wf_allocator *allocator, size_t bytes, uint64_t stream);
/** Frees the block on its stream; use recorded on other streams defers it until they get there. NULL is accepted. */
WF_API void wf_block_free(wf_allocator *allocator, wf_block *block);
/** The block is used on `stream` as well. WF_NO_MEMORY: there was no host memory to note it, nothing has changed. */
WF_API wf_status wf_block_record_stream(wf_allocator *allocator, wf_block *block, uint64_t stream);
/** Address of the block's first byte, in the address space that the driver's segments lie in. */
WF_API uintptr_t wf_block_address(const wf_block *block);
/** Bytes set aside for it, rounding included. */
WF_API size_t wf_block_size(const wf_block *block);

/** Gives back all unused segments, after waiting for deferred frees. */
WF_API void wf_allocator_empty_cache(wf_allocator *allocator);
/** At most `fraction` (0 to 1) of total_bytes may be reserved. */
WF_API wf_status wf_allocator_set_fraction(wf_allocator *allocator, double fraction);

/** Private pools (CUDA graphs, MemPool): from begin to end, requests of `stream` take memory of that pool only, of the pool begun last
 *  where several are; its memory serves nobody else. Each begin adds a user, release takes one away. Without users the pool's free
 *  segments go back with empty_cache and when memory runs out. WF_RUNTIME: begun twice, or ended without a begin. */
WF_API wf_status wf_allocator_pool_begin(wf_allocator *allocator, uint64_t pool, uint64_t stream);
/** Stops the routing; blocks stay. WF_RUNTIME when the pool isn't begun. */
WF_API wf_status wf_allocator_pool_end(wf_allocator *allocator, uint64_t pool);
/** Takes a user away. WF_RUNTIME when there is none. */
WF_API wf_status wf_allocator_pool_release(wf_allocator *allocator, uint64_t pool);
/** Gives the free segments of one private pool back, if it has no users. */
WF_API void wf_allocator_empty_pool(wf_allocator *allocator, uint64_t pool);

/** A block in use as it was found, at the start of a history that begins in an allocator already in use. */
typedef struct wf_adopted_block {
  size_t offset, size, requested;
} wf_adopted_block;
/** A segment as it was found, with the blocks of it that are in use. */
typedef struct wf_adopted_segment {
  uintptr_t address;
  size_t size; /* of an expandable one: the part with memory behind it; address space without limit follows */
  uint64_t stream;
  bool large, expandable;
  const wf_adopted_block *blocks; /* in use, by offset; each gap between them is one free block */
  size_t block_count;
} wf_adopted_segment;
/** Takes over a segment that the driver gave earlier, and writes its used blocks to out[block_count]. Statistics count it as if it
 *  had been made now. WF_VALUE when the blocks don't fit the segment: nothing has changed then. */
WF_API wf_status wf_allocator_adopt(wf_allocator *allocator, const wf_adopted_segment *segment, wf_block **out);

/** One figure: now, at most so far, and the sums of all increases and decreases. */
typedef struct wf_stat {
  int64_t current, peak, allocated, freed;
} wf_stat;
/** [0] all, [1] small pool, [2] large pool, as in torch.cuda.memory_stats. */
typedef struct wf_allocator_stats {
  wf_stat allocation[3], segment[3], active[3], inactive_split[3];
  wf_stat allocated_bytes[3], reserved_bytes[3], active_bytes[3], inactive_split_bytes[3], requested_bytes[3];
  wf_stat oversize_allocations, oversize_segments;
  int64_t alloc_retries, ooms, sync_all_streams, device_alloc, device_free;
  int64_t max_split_size; /* as configured, bytes; -1: no limit */
} wf_allocator_stats;
/** Calls `fn` with each figure under the name that torch.cuda.memory_stats gives it: "allocated_bytes.all.current", …,
 *  "num_ooms". `key` holds for the call. */
WF_API void wf_allocator_stats_each(const wf_allocator_stats *stats,
                                    void (*fn)(const char *key, int64_t value, void *context), void *context);
/** Writes the table that torch.cuda.memory_summary prints, with rows for the pools unless `abbreviated`, to buffer[size], cut off where
 *  there is no more room and always ended by a zero byte unless size is 0. Returns the bytes of the whole text (3.6 KB at the usual
 *  numbers). `device` is the number in its head. */
WF_API size_t wf_allocator_summary(const wf_allocator_stats *stats, int device, bool abbreviated, char *buffer,
                                   size_t size);
/** Fills *stats with the present statistics. */
WF_API void wf_allocator_get_stats(const wf_allocator *allocator, wf_allocator_stats *stats);
/** Calls `fn` with the reserved bytes of each private pool that ever had memory, also of those that are gone: what torch.cuda.memory_stats has as
 *  "reserved_bytes_by_private_pools" (from 2.15 on). The arrays are as in wf_allocator_stats, hold for the call and are reset with the others. */
WF_API void wf_allocator_pool_stats_each(const wf_allocator *allocator,
                                         void (*fn)(uint64_t pool, const wf_stat reserved_bytes[3], void *context),
                                         void *context);
/** Sets every peak to the present value. */
WF_API void wf_allocator_reset_peak(wf_allocator *allocator);
/** What only grows (allocated, freed, retries, …) starts again from 0. */
WF_API void wf_allocator_reset_accumulated(wf_allocator *allocator);

/** In use; freed, but other streams still use it; free. */
typedef enum wf_block_state { WF_BLOCK_ALLOCATED, WF_BLOCK_PENDING, WF_BLOCK_FREE } wf_block_state;
/** One block as wf_allocator_walk shows it. */
typedef struct wf_block_view {
  int segment; /* counted from 0 in order of address */
  uintptr_t segment_address;
  size_t segment_size;
  uintptr_t address;
  size_t size, requested;
  uint64_t stream;
  wf_block_state state;
  bool large;
  bool expandable; /* the segment is a stretch of an expandable one that has memory without interruption */
  bool private_pool;
  uint64_t pool;     /* number of the private pool */
  const void *owner; /* what wf_block_set_owner said, NULL else */
} wf_block_view;
/** Calls `fn` for each block, by address of segment and block. */
WF_API void wf_allocator_walk(const wf_allocator *allocator, void (*fn)(const wf_block_view *view, void *context),
                              void *context);
/** Attaches a word to a block for reports: who holds it. */
WF_API void wf_block_set_owner(wf_block *block, const void *owner);

WF_EXTERN_C_END
#endif
