/* The policy behind a mutex, with frees that never wait (pool.h says why).
 *
 * Frees put aside form a stack that threads push to without a lock and a holder of the lock takes whole. Nothing is forgotten:
 * who pushes tries the lock afterwards, and who unlocks looks at the stack afterwards, so one of the two sees the other. */
#include "memory/pool.h"

#include <pthread.h>
#include <stdatomic.h>

#include "memory/policy.h"

struct wf__pool {
  pthread_mutex_t lock;
  wf_allocator *allocator;
  _Atomic(wf_block *) late; /* blocks freed while the lock was taken, last one first */
};

struct wf__pool *wf__pool_new(const wf_allocator_driver *driver, const wf_allocator_options *options) {
  struct wf__pool *pool = wf__calloc(1, sizeof *pool);
  if (!pool) return NULL;
  pool->allocator = wf_allocator_new(driver, options);
  if (!pool->allocator) {
    wf__release(pool);
    return NULL;
  }
  pthread_mutex_init(&pool->lock, NULL);
  return pool;
}

void wf__pool_close(struct wf__pool *pool) {
  if (!pool) return;
  wf_allocator_free(pool->allocator);
  pthread_mutex_destroy(&pool->lock);
  wf__release(pool);
}

/* Frees what was put aside, in the order in which it came. The lock is held. */
static void free_late(struct wf__pool *pool) {
  wf_block *last = atomic_exchange(&pool->late, NULL), *first = NULL;
  while (last) {
    wf_block *block = last;
    last = block->link;
    block->link = first;
    first = block;
  }
  while (first) {
    wf_block *block = first;
    first = block->link;
    wf_block_free(pool->allocator, block);
  }
}

static inline bool has_late(struct wf__pool *pool) { return WF__UNLIKELY(atomic_load(&pool->late) != NULL); }

static inline void lock(struct wf__pool *pool) {
  pthread_mutex_lock(&pool->lock);
  if (has_late(pool)) free_late(pool);
}

static inline void unlock(struct wf__pool *pool) {
  pthread_mutex_unlock(&pool->lock);
  while (has_late(pool) && pthread_mutex_trylock(&pool->lock) == 0) {
    free_late(pool);
    pthread_mutex_unlock(&pool->lock);
  }
}

wf_block *wf__pool_alloc(struct wf__pool *pool, size_t bytes, uint64_t stream) {
  lock(pool);
  wf_block *block = wf_block_new(pool->allocator, bytes, stream);
  unlock(pool);
  return block;
}

void wf__pool_free(struct wf__pool *pool, wf_block *block) {
  if (!block) return;
  bool taken = pthread_mutex_trylock(&pool->lock) == 0;
  if (WF__LIKELY(taken)) {
    if (has_late(pool)) free_late(pool);
    wf_block_free(pool->allocator, block);
  } else {
    block->link = atomic_load(&pool->late);
    while (!atomic_compare_exchange_weak(&pool->late, &block->link, block)) {}
    if (pthread_mutex_trylock(&pool->lock)) return; /* its holder will see the block */
    free_late(pool);
  }
  unlock(pool);
}

wf_status wf__pool_record_stream(struct wf__pool *pool, wf_block *block, uint64_t stream) {
  lock(pool);
  wf_status status = wf_block_record_stream(pool->allocator, block, stream);
  unlock(pool);
  return status;
}

void wf__pool_empty(struct wf__pool *pool) {
  lock(pool);
  wf_allocator_empty_cache(pool->allocator);
  unlock(pool);
}

wf_status wf__pool_set_fraction(struct wf__pool *pool, double fraction) {
  lock(pool);
  wf_status status = wf_allocator_set_fraction(pool->allocator, fraction);
  unlock(pool);
  return status;
}

void wf__pool_stats(struct wf__pool *pool, wf_allocator_stats *stats) {
  lock(pool);
  wf_allocator_get_stats(pool->allocator, stats);
  unlock(pool);
}

void wf__pool_reset_peak(struct wf__pool *pool) {
  lock(pool);
  wf_allocator_reset_peak(pool->allocator);
  unlock(pool);
}

void wf__pool_walk(struct wf__pool *pool, void (*fn)(const wf_block_view *view, void *context), void *context) {
  lock(pool);
  wf_allocator_walk(pool->allocator, fn, context);
  unlock(pool);
}
