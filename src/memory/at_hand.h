/* Small blocks that each thread keeps at hand, so that taking and freeing one costs neither a lock nor a look into a free set: what a
 * pool of host memory puts before its policy (pool.c).
 *
 * A block at hand counts as handed out to the policy below; statistics and the walk of the pool say what the user sees. Frees go to
 * the thread that frees, whoever took the block, so a thread that frees what another takes passes blocks back through the pool: the
 * bytes at hand are bounded. A thread's hand is emptied when it ends, when its owner asks for it, and, at its next call, when another
 * thread has asked for the cache to be given back. */
#ifndef WF_MEMORY_AT_HAND_H
#define WF_MEMORY_AT_HAND_H

#include <stdatomic.h>
#include "base/thread.h"
#include "memory/policy.h"

#define WF__HAND_SMALL ((size_t)32 << 10) /* the largest block that is kept at hand */
#define WF__HAND_CLASSES (WF__HAND_SMALL / WF__BLOCK_MIN)

/* Sums of one thread, written by it alone and read by whoever asks for statistics. */
typedef struct wf__tally {
  int64_t net, up; /* increases less decreases; increases */
  int64_t peak;    /* of net, since it was last folded into the pool's */
} wf__tally;

typedef struct wf__hand {
  _Atomic(struct wf__pool *) pool; /* NULL: it was closed, by whatever thread */
  struct wf__hand *next;           /* of the pool's */
  uint32_t round;
  size_t bytes, most;
  wf__tally count, size, requested;
  wf_block *block[WF__HAND_CLASSES]; /* linked; class c holds blocks of (c + 1) · WF__BLOCK_MIN bytes */
} wf__hand;

/* Counts how often all threads were asked to empty their hands. */
extern _Atomic uint32_t wf__hand_round;
/* The owner of a block at hand. */
extern const char wf__at_hand[];

static inline void wf__tally_add(wf__tally *t, int64_t n) {
  int64_t net = t->net + n;
  __atomic_store_n(&t->net, net, __ATOMIC_RELAXED);
  __atomic_store_n(&t->up, t->up + n, __ATOMIC_RELAXED);
  if (net > __atomic_load_n(&t->peak, __ATOMIC_RELAXED)) __atomic_store_n(&t->peak, net, __ATOMIC_RELAXED);
}
static inline void wf__tally_sub(wf__tally *t, int64_t n) { __atomic_store_n(&t->net, t->net - n, __ATOMIC_RELAXED); }

/* Whether that is the pool in use can be told without an order: nobody uses a pool that is being closed. */
static inline const struct wf__pool *wf__hand_pool(const wf__hand *h) {
  return atomic_load_explicit(&h->pool, memory_order_relaxed);
}

/* This thread's hand, if it is one of the pool's and nobody has asked for it to be emptied. */
static inline wf__hand *wf__hand_ready(const struct wf__pool *pool) {
  wf__hand *h = wf__self.memory;
  if (WF__UNLIKELY(!h || wf__hand_pool(h) != pool)) return NULL;
  return WF__LIKELY(h->round == atomic_load_explicit(&wf__hand_round, memory_order_relaxed)) ? h : NULL;
}

/* A block of `bytes` held by `owner`; NULL: there is none at hand, or nothing was asked for. */
static inline wf_block *wf__hand_take(const struct wf__pool *pool, size_t bytes, const void *owner) {
  size_t c = (bytes - 1) / WF__BLOCK_MIN; /* of 0 bytes too large for any hand */
  wf__hand *h = c < WF__HAND_CLASSES ? wf__hand_ready(pool) : NULL;
  wf_block *block = h ? h->block[c] : NULL;
  if (!block) return NULL;
  h->block[c] = block->node.link;
  h->bytes -= block->size;
  __atomic_store_n(&block->requested, bytes, __ATOMIC_RELAXED); /* a walk may look on */
  __atomic_store_n(&block->owner, owner, __ATOMIC_RELAXED);
  wf__tally_add(&h->count, 1);
  wf__tally_add(&h->size, (int64_t)block->size);
  wf__tally_add(&h->requested, (int64_t)bytes);
  return block;
}

/* Keeps the block at hand. False: it is too large, or the hand is full or not there. */
static inline bool wf__hand_give(const struct wf__pool *pool, wf_block *block) {
  wf__hand *h = block->size <= WF__HAND_SMALL ? wf__hand_ready(pool) : NULL;
  if (!h || h->bytes + block->size > h->most || block->uses) return false;
  size_t c = block->size / WF__BLOCK_MIN - 1;
  wf__tally_sub(&h->count, 1);
  wf__tally_sub(&h->size, (int64_t)block->size);
  wf__tally_sub(&h->requested, (int64_t)block->requested);
  __atomic_store_n(&block->requested, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&block->owner, wf__at_hand, __ATOMIC_RELAXED);
  block->node.link = h->block[c];
  h->block[c] = block;
  h->bytes += block->size;
  return true;
}

/* ---- for the pool, under its lock ------------------------------------------------------------------------------------ */

/* What users see of the pool: blocks handed out, those at hand not counted. */
typedef struct wf__seen {
  wf_stat count[3], size[3], requested[3];
} wf__seen;

/* Adds this thread's tallies. */
void wf__hand_fold(wf__hand *h, wf__seen *seen);
/* Puts the present statistics of all hands and `seen` into *stats, which are the policy's. */
void wf__hands_stats(const wf__hand *hands, const wf__seen *seen, wf_allocator_stats *stats);
/* Sets all peaks to the present values. */
void wf__hands_reset_peak(wf__hand *hands, wf__seen *seen);
/* Takes blocks out, the largest first, until at most `keep` bytes are left at hand, and frees them. */
void wf__hand_empty(wf__hand *h, wf_allocator *allocator, size_t keep);

#endif
