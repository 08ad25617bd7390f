/* A caching allocator behind a mutex: what a device keeps for its memory, and another for pinned host memory.
 *
 * Lock order: the pool's lock is held while the driver is called, so a driver may take the device's locks but must not ask this
 * pool for memory. Freeing never waits for the lock: while it is taken, by another thread or by this one from inside a driver's
 * callback, the block is put aside and freed by whoever holds the lock before the next request is served. Taking or freeing a
 * block of a size that is cached costs one uncontended lock and no host allocation; where threads keep small blocks at hand, those
 * cost no lock either. */
#ifndef WF_MEMORY_POOL_H
#define WF_MEMORY_POOL_H

#include <weft/sys/allocator.h>

struct wf__pool;

/* As wf_allocator_new; yours. NULL on error. */
struct wf__pool *wf__pool_new(const wf_allocator_driver *driver, const wf_allocator_options *options);
/* Lets each thread keep at most so many bytes of small blocks at hand (at_hand.h). For memory of one stream that nothing else uses:
 * before the first block is taken. */
void wf__pool_keep_at_hand(struct wf__pool *pool, size_t bytes_per_thread);
/* At most so many bytes of memory that nobody uses are kept; the oldest whole segments go first. SIZE_MAX: no limit. */
void wf__pool_set_cache_limit(struct wf__pool *pool, size_t bytes);
/* Gives every segment back; blocks still out die with it. NULL is accepted. */
void wf__pool_close(struct wf__pool *pool);

/* As the functions of weft/sys/allocator.h, from any thread. `owner`: as wf_block_set_owner has it. */
wf_block *wf__pool_alloc(struct wf__pool *pool, size_t bytes, uint64_t stream, const void *owner);
void wf__pool_free(struct wf__pool *pool, wf_block *block);
wf_status wf__pool_record_stream(struct wf__pool *pool, wf_block *block, uint64_t stream);
void wf__pool_empty(struct wf__pool *pool);
wf_status wf__pool_set_fraction(struct wf__pool *pool, double fraction);
void wf__pool_stats(struct wf__pool *pool, wf_allocator_stats *stats);
void wf__pool_reset_peak(struct wf__pool *pool);
/* `fn` runs under the lock: it may free blocks, but not take any. */
void wf__pool_walk(struct wf__pool *pool, void (*fn)(const wf_block_view *view, void *context), void *context);

#endif
