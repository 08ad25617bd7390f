/* The policy behind a mutex, with frees that never wait (pool.h says why), and before it what threads keep at hand.
 *
 * Frees put aside form a stack that threads push to without a lock and a holder of the lock takes whole. Nothing is forgotten:
 * who pushes tries the lock afterwards, and who unlocks looks at the stack afterwards, so one of the two sees the other. */
#include "memory/pool.h"

#include <pthread.h>
#include <stdatomic.h>

#include "memory/at_hand.h"
#include "memory/stats.h"

struct wf__pool {
  pthread_mutex_t lock;
  wf_allocator *allocator;
  _Atomic(wf_block *) late; /* blocks freed while the lock was taken, last one first */
  size_t cache_limit;
  size_t hand_bytes; /* 0: nothing is kept at hand, and what follows isn't used */
  wf__hand *hands;   /* of all threads */
  wf__seen seen;
};

/* A thread that ends may find its pool being closed by another: who holds this lock, which comes before any pool's, keeps hands and their
 * pools together. */
static pthread_mutex_t hands_lock = PTHREAD_MUTEX_INITIALIZER;

struct wf__pool *wf__pool_new(const wf_allocator_driver *driver, const wf_allocator_options *options) {
  struct wf__pool *pool = wf__calloc(1, sizeof *pool);
  if (!pool) return NULL;
  pool->cache_limit = SIZE_MAX;
  pool->allocator = wf_allocator_new(driver, options);
  if (!pool->allocator) {
    wf__release(pool);
    return NULL;
  }
  pthread_mutex_init(&pool->lock, NULL);
  return pool;
}

void wf__pool_keep_at_hand(struct wf__pool *pool, size_t bytes_per_thread) { pool->hand_bytes = bytes_per_thread; }

/* ---- under the lock -------------------------------------------------------------------------------------------------- */

static void count_free(struct wf__pool *pool, const wf_block *block) {
  if (!pool->hand_bytes) return;
  int kind = block->pool->stat;
  wf__stats_sub(pool->seen.count, kind, 1);
  wf__stats_sub(pool->seen.size, kind, block->size);
  wf__stats_sub(pool->seen.requested, kind, block->requested);
}

static void count_new(struct wf__pool *pool, const wf_block *block) {
  if (!pool->hand_bytes) return;
  int kind = block->pool->stat;
  wf__stats_add(pool->seen.count, kind, 1);
  wf__stats_add(pool->seen.size, kind, block->size);
  wf__stats_add(pool->seen.requested, kind, block->requested);
}

static void free_now(struct wf__pool *pool, wf_block *block) {
  count_free(pool, block);
  wf_block_free(pool->allocator, block);
  if (pool->cache_limit != SIZE_MAX) wf__release_above(pool->allocator, block, pool->cache_limit);
}

/* Frees what was put aside, in the order in which it came. */
static void free_late(struct wf__pool *pool) {
  wf_block *last = atomic_exchange(&pool->late, NULL), *first = NULL;
  while (last) {
    wf_block *block = last;
    last = block->node.link;
    block->node.link = first;
    first = block;
  }
  while (first) {
    wf_block *block = first;
    first = block->node.link;
    free_now(pool, block);
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

/* ---- hands --------------------------------------------------------------------------------------------------------------- */

static void unlink_hand(wf__hand *h) {
  wf__hand **link = &h->pool->hands;
  while (*link != h) link = &(*link)->next;
  *link = h->next;
}

/* The thread ends, or takes memory of another pool from now on. */
static void drop_hand(void *value) {
  wf__hand *h = value;
  pthread_mutex_lock(&hands_lock);
  struct wf__pool *pool = h->pool;
  if (pool) {
    lock(pool);
    wf__hand_empty(h, pool->allocator, 0);
    wf__hand_fold(h, &pool->seen);
    unlink_hand(h);
    unlock(pool);
  }
  pthread_mutex_unlock(&hands_lock);
  wf__segment_give(h, sizeof *h);
}

/* Under the lock: this thread's hand with the pool, made when missing and emptied when that was asked for; its tallies have been
 * folded. NULL: nothing is kept, or there is no memory for it, which is no error. */
static wf__hand *hand_of_thread(struct wf__pool *pool) {
  wf__hand *h = wf__self.memory;
  if (!pool->hand_bytes || (h && wf__hand_pool(h) != pool)) return NULL;
  if (!h) {
    h = wf__segment_get(sizeof *h);
    if (!h) return NULL;
    *h = (wf__hand){.pool = pool, .next = pool->hands, .most = pool->hand_bytes};
    h->round = atomic_load(&wf__hand_round);
    pool->hands = h;
    wf__self.memory = h;
    wf__thread_at_exit(&wf__self.memory, drop_hand);
    return h;
  }
  uint32_t round = atomic_load(&wf__hand_round);
  if (h->round != round) wf__hand_empty(h, pool->allocator, 0);
  h->round = round;
  wf__hand_fold(h, &pool->seen);
  return h;
}

/* Before the lock is taken: a hand that belongs to a pool that was closed, or to another one, makes room for one of this pool. */
static void leave_other_pool(const struct wf__pool *pool) {
  wf__hand *h = wf__self.memory;
  if (WF__LIKELY(!pool->hand_bytes || !h || wf__hand_pool(h) == pool)) return;
  wf__self.memory = NULL;
  drop_hand(h);
}

/* ---- memory -------------------------------------------------------------------------------------------------------------- */

void wf__pool_close(struct wf__pool *pool) {
  if (!pool) return;
  pthread_mutex_lock(&hands_lock);
  for (wf__hand *h = pool->hands; h; h = h->next) atomic_store(&h->pool, NULL);
  pthread_mutex_unlock(&hands_lock);
  wf_allocator_free(pool->allocator);
  pthread_mutex_destroy(&pool->lock);
  wf__release(pool);
}

/* Before a request fails, what is at hand goes back as well; it counts as one failure still. */
static wf_block *new_block(struct wf__pool *pool, wf__hand *h, size_t bytes, uint64_t stream) {
  wf_allocator *a = pool->allocator;
  bool clean = !wf__self.pending;
  int64_t retries = a->stats.alloc_retries, ooms = a->stats.ooms;
  wf_block *block = wf_block_new(a, bytes, stream);
  if (WF__LIKELY(block || !pool->hand_bytes || !clean || !bytes)) return block;
  atomic_fetch_add(&wf__hand_round, 1);
  if (!h || !h->bytes) return NULL;
  wf__hand_empty(h, a, 0);
  wf_error_take();
  a->stats.alloc_retries = retries;
  a->stats.ooms = ooms;
  return wf_block_new(a, bytes, stream);
}

__attribute__((noinline)) static wf_block *take_from_policy(struct wf__pool *pool, size_t bytes, uint64_t stream,
                                                            const void *owner) {
  leave_other_pool(pool);
  lock(pool);
  wf_block *block = new_block(pool, hand_of_thread(pool), bytes, stream);
  if (block) {
    wf_block_set_owner(block, owner);
    count_new(pool, block);
  }
  unlock(pool);
  return block;
}

wf_block *wf__pool_alloc(struct wf__pool *pool, size_t bytes, uint64_t stream, const void *owner) {
  wf_block *block = wf__hand_take(pool, bytes, owner);
  return WF__LIKELY(block != NULL) ? block : take_from_policy(pool, bytes, stream, owner);
}

/* Under the lock. A full hand is halved first: so that not every further free comes here. */
static void put_back(struct wf__pool *pool, wf_block *block) {
  wf__hand *h = block->size <= WF__HAND_SMALL ? hand_of_thread(pool) : NULL;
  if (h && h->bytes + block->size > h->most) wf__hand_empty(h, pool->allocator, h->most / 2);
  if (!h || !wf__hand_give(pool, block)) free_now(pool, block);
}

__attribute__((noinline)) static void give_to_policy(struct wf__pool *pool, wf_block *block) {
  if (WF__LIKELY(pthread_mutex_trylock(&pool->lock) == 0)) {
    if (has_late(pool)) free_late(pool);
    put_back(pool, block);
  } else {
    wf_block *late = atomic_load(&pool->late);
    do {
      block->node.link = late;
    } while (!atomic_compare_exchange_weak(&pool->late, &late, block));
    if (pthread_mutex_trylock(&pool->lock)) return; /* its holder will see the block */
    free_late(pool);
  }
  unlock(pool);
}

void wf__pool_free(struct wf__pool *pool, wf_block *block) {
  if (block && !wf__hand_give(pool, block)) give_to_policy(pool, block);
}

wf_status wf__pool_record_stream(struct wf__pool *pool, wf_block *block, uint64_t stream) {
  lock(pool);
  wf_status status = wf_block_record_stream(pool->allocator, block, stream);
  unlock(pool);
  return status;
}

/* Other threads empty their hands when they next take or free something. */
void wf__pool_empty(struct wf__pool *pool) {
  lock(pool);
  if (pool->hand_bytes) atomic_fetch_add(&wf__hand_round, 1);
  hand_of_thread(pool);
  wf_allocator_empty_cache(pool->allocator);
  unlock(pool);
}

void wf__pool_set_cache_limit(struct wf__pool *pool, size_t bytes) {
  lock(pool);
  pool->cache_limit = bytes;
  wf__count_ages(pool->allocator, bytes != SIZE_MAX);
  if (bytes != SIZE_MAX) wf__release_above(pool->allocator, NULL, bytes);
  unlock(pool);
}

wf_status wf__pool_set_fraction(struct wf__pool *pool, double fraction) {
  lock(pool);
  wf_status status = wf_allocator_set_fraction(pool->allocator, fraction);
  unlock(pool);
  return status;
}

/* ---- what is told ---------------------------------------------------------------------------------------------------------- */

void wf__pool_stats(struct wf__pool *pool, wf_allocator_stats *stats) {
  lock(pool);
  wf_allocator_get_stats(pool->allocator, stats);
  if (pool->hand_bytes) wf__hands_stats(pool->hands, &pool->seen, stats);
  unlock(pool);
}

void wf__pool_reset_peak(struct wf__pool *pool) {
  lock(pool);
  wf_allocator_reset_peak(pool->allocator);
  if (pool->hand_bytes) wf__hands_reset_peak(pool->hands, &pool->seen);
  unlock(pool);
}

typedef struct walk {
  void (*fn)(const wf_block_view *view, void *context);
  void *context;
} walk;

/* A block at hand is free to whoever looks. */
static void show_block(const wf_block_view *view, void *context) {
  const walk *w = context;
  wf_block_view seen = *view;
  if (seen.owner == wf__at_hand) {
    seen.state = WF_BLOCK_FREE;
    seen.requested = 0;
    seen.owner = NULL;
  }
  w->fn(&seen, w->context);
}

void wf__pool_walk(struct wf__pool *pool, void (*fn)(const wf_block_view *view, void *context), void *context) {
  walk w = {fn, context};
  lock(pool);
  wf_allocator_walk(pool->allocator, show_block, &w);
  unlock(pool);
}
