/* Giving cached memory back to the driver, from the mildest to the last resort. Only whole segments can go: a free block whose
 * segment holds something else stays. */
#include "memory/policy.h"

/* Next free block in order, found by key: the present one may be gone by then. */
static wf_block *after(const wf__block_pool *pool, const wf__order_key *key) {
  return wf__block_of(wf__free_set_after(&pool->free, key));
}

void wf__collect_garbage(wf_allocator *a) {
  size_t threshold = (size_t)(a->conf.garbage_collection * (double)a->allowed);
  if (a->reserved <= threshold) return;
  size_t target = a->reserved - threshold, reclaimed = 0;
  wf__block_pool *pool = &a->large;
  uint64_t ages = 0, left = 0;
  for (wf_block *b = wf__block_of(wf__free_set_first(&pool->free)); b; b = after(pool, &b->node.key)) {
    if (wf__block_is_split(b) || b->segment->expandable) continue;
    ages += pool->searches - b->free_since;
    left++;
  }
  for (bool freed = true; reclaimed < target && freed && left;) {
    double average = (double)ages / (double)left; /* of this pass; a pass isn't cut short when the target is met */
    freed = false;
    for (wf_block *b = wf__block_of(wf__free_set_first(&pool->free)), *next; b; b = next) {
      next = after(pool, &b->node.key);
      uint64_t age = pool->searches - b->free_since;
      if (wf__block_is_split(b) || b->segment->expandable || (double)age < average) continue;
      freed = true;
      reclaimed += b->size;
      ages -= age;
      left--;
      wf__segment_release(a, b);
    }
  }
}

void wf__count_ages(wf_allocator *a, bool on) { a->counts_ages = on; }

static wf_block *oldest(const wf__block_pool *pool) {
  wf_block *found = NULL;
  for (wf_block *b = wf__block_of(wf__free_set_first(&pool->free)); b; b = after(pool, &b->node.key)) {
    if (wf__block_is_split(b) || b->segment->expandable) continue;
    if (!found || b->free_since < found->free_since) found = b;
  }
  return found;
}

void wf__release_above(wf_allocator *a, const wf_block *freed, size_t limit) {
  if (freed) freed->pool->searches++;             /* the next one is younger */
  if (freed && wf__block_is_split(freed)) return; /* no segment more could go than before */
  while (a->reserved - (size_t)a->stats.active_bytes[0].current > limit) {
    wf_block *block = oldest(&a->large);
    if (!block) block = oldest(&a->small);
    if (!block) return;
    wf__segment_release(a, block);
  }
}

bool wf__release_available(wf_allocator *a, const wf__request *request) {
  if (a->conf.max_split == WF__NO_LIMIT) return false;
  wf__block_pool *pool = request->pool;
  wf__order_key want = {request->stream, request->size, 0, 0};
  if (want.size < a->conf.max_split) want.size = a->conf.max_split;
  wf__order_node *fit = wf__free_set_at_least(&pool->free, &want);
  if (fit && fit->key.stream == request->stream) {
    if (wf__block_of(fit)->segment->expandable) return false;
    wf__segment_release(a, wf__block_of(fit));
    return true;
  }
  size_t released = 0; /* no single one is large enough: the largest first, until they add up */
  for (wf__order_node *n = wf__free_set_before(&pool->free, &want), *next; n && released < want.size; n = next) {
    if (n->key.stream != request->stream || !wf__oversize(a, n->key.size)) break;
    next = wf__free_set_before(&pool->free, &n->key);
    if (wf__block_of(n)->segment->expandable) continue;
    released += n->key.size;
    wf__segment_release(a, wf__block_of(n));
  }
  return released >= want.size;
}

void wf__release_pool(wf_allocator *a, wf__block_pool *pool) {
  bool expandable = false;
  for (wf_block *b = wf__block_of(wf__free_set_first(&pool->free)), *next; b; b = next) {
    next = after(pool, &b->node.key);
    expandable |= b->segment->expandable;
    if (!b->segment->expandable && !wf__block_is_split(b)) wf__segment_release(a, b);
  }
  if (!expandable) return;
  wf__order_key at = {
      0}; /* unmapping leaves smaller rests in the set, which lie before the key and hold no whole page */
  for (wf_block *b = wf__block_of(wf__free_set_first(&pool->free)); b; b = after(pool, &at)) {
    at = b->node.key;
    if (b->segment->expandable) wf__expandable_unmap(a, b);
  }
}

void wf__release_cached(wf_allocator *a) {
  wf__uses_wait(a, NULL);
  wf__release_pool(a, &a->large);
  wf__release_pool(a, &a->small);
  wf__private_release(a);
}

void wf_allocator_empty_cache(wf_allocator *a) { wf__release_cached(a); }
