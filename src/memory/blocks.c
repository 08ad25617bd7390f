/* Segments cut into blocks: adding and giving back segments, splitting, merging, the free sets, and the walk over all of it. */
#include "memory/policy.h"

#include "memory/stats.h"

static wf_block *block_new(wf_allocator *a, wf__segment *segment, wf__block_pool *pool, wf__order_key key) {
  wf_block *block = wf__records_take(&a->blocks);
  *block = (wf_block){.node.key = key, .segment = segment, .pool = pool};
  return block;
}

wf_block *wf__segment_add(wf_allocator *a, uintptr_t address, const wf__request *request) {
  wf__segment *segment = wf__records_take(&a->segment_records);
  *segment = (wf__segment){.node.key = {.address = address}, .size = request->segment, .age = ++a->segments_given};
  wf__order_insert(&a->segments, &segment->node);
  wf__block_pool *pool = request->pool;
  segment->first = block_new(a, segment, pool, (wf__order_key){request->stream, request->segment, segment->age, address});
  a->reserved += segment->size;
  a->stats.device_alloc++;
  wf__stats_add(a->stats.segment, pool->stat, 1);
  wf__stats_add(a->stats.reserved_bytes, pool->stat, segment->size);
  if (wf__oversize(a, segment->size)) wf__stat_add(&a->stats.oversize_segments, 1);
  wf__observe(a, WF_ACTION_SEGMENT_ALLOC, &segment->first->node.key, segment->size, NULL);
  return segment->first;
}

void wf__segment_release(wf_allocator *a, wf_block *block) {
  wf__segment *segment = block->segment;
  wf__block_pool *pool = block->pool;
  a->driver.give(a->driver.context, (uintptr_t)block->node.key.address, segment->size);
  a->reserved -= segment->size;
  a->stats.device_free++;
  wf__stats_sub(a->stats.segment, pool->stat, 1);
  wf__stats_sub(a->stats.reserved_bytes, pool->stat, segment->size);
  if (wf__oversize(a, segment->size)) wf__stat_sub(&a->stats.oversize_segments, 1);
  wf__observe(a, WF_ACTION_SEGMENT_FREE, &block->node.key, segment->size, NULL);
  wf__order_remove(&pool->free, &block->node);
  wf__order_remove(&a->segments, &segment->node);
  wf__records_put(&a->blocks, block);
  wf__records_put(&a->segment_records, segment);
}

void wf__block_insert_free(wf_block *block) {
  block->free_since = block->pool->searches;
  wf__order_insert(&block->pool->free, &block->node);
}

wf_block *wf__block_split(wf_allocator *a, wf_block *rest, size_t size) {
  wf__order_key key = rest->node.key;
  key.size = size;
  wf_block *front = block_new(a, rest->segment, rest->pool, key);
  front->previous = rest->previous;
  front->next = rest;
  if (front->previous) front->previous->next = front;
  else rest->segment->first = front;
  rest->previous = front;
  rest->node.key.address += size;
  rest->node.key.size -= size;
  wf__block_insert_free(rest);
  return front;
}

/* Takes a free neighbour into the block; returns the bytes gained, 0 when it can't be taken. */
static size_t merge(wf_allocator *a, wf_block *block, wf_block *neighbour) {
  if (!neighbour || neighbour->allocated || neighbour->waits || neighbour->uses) return 0;
  wf__order_remove(&neighbour->pool->free, &neighbour->node);
  size_t gained = wf__block_bytes(neighbour);
  if (neighbour == block->previous) {
    block->node.key.address = neighbour->node.key.address;
    block->previous = neighbour->previous;
    if (block->previous) block->previous->next = block;
    else block->segment->first = block;
  } else {
    block->next = neighbour->next;
    if (block->next) block->next->previous = block;
  }
  block->node.key.size += gained;
  wf__records_put(&a->blocks, neighbour);
  return gained;
}

void wf__block_to_free(wf_allocator *a, wf_block *block) {
  int pool = block->pool->stat;
  size_t size = wf__block_bytes(block), requested = block->requested;
  wf__observe(a, WF_ACTION_FREE_COMPLETED, &block->node.key, requested, block->owner);
  size_t before = merge(a, block, block->previous), after = merge(a, block, block->next);
  block->requested = 0;
  block->owner = NULL;
  wf__block_insert_free(block);
  int64_t splits = -(int64_t)(before > 0) - (int64_t)(after > 0), split_bytes = -(int64_t)before - (int64_t)after;
  if (wf__block_is_split(block)) {
    splits += 1;
    split_bytes += (int64_t)wf__block_bytes(block);
  }
  wf__stats_change(a->stats.inactive_split, pool, splits);
  wf__stats_change(a->stats.inactive_split_bytes, pool, split_bytes);
  wf__stats_sub(a->stats.active, pool, 1);
  wf__stats_sub(a->stats.active_bytes, pool, size);
  wf__stats_sub(a->stats.requested_bytes, pool, requested);
}

uintptr_t wf_block_address(const wf_block *block) { return (uintptr_t)block->node.key.address; }
size_t wf_block_size(const wf_block *block) { return wf__block_bytes(block); }
/* Atomic because a walk in another thread may read it. */
void wf_block_set_owner(wf_block *block, const void *owner) { __atomic_store_n(&block->owner, owner, __ATOMIC_RELAXED); }

void wf_allocator_walk(const wf_allocator *a, void (*fn)(const wf_block_view *view, void *context), void *context) {
  wf_block_view view = {0};
  for (wf__order_node *n = wf__order_first(&a->segments); n; n = wf__order_after(&a->segments, &n->key), view.segment++) {
    const wf__segment *segment = (const wf__segment *)n;
    view.segment_address = (uintptr_t)n->key.address;
    view.segment_size = segment->size;
    for (const wf_block *block = segment->first; block; block = block->next) {
      view.address = (uintptr_t)block->node.key.address;
      view.size = wf__block_bytes(block);
      view.requested = block->requested;
      view.stream = block->node.key.stream;
      view.state = block->allocated ? WF_BLOCK_ALLOCATED : block->waits ? WF_BLOCK_PENDING : WF_BLOCK_FREE;
      view.large = block->pool->stat == WF__STAT_LARGE;
      view.owner = __atomic_load_n(&block->owner, __ATOMIC_RELAXED);
      fn(&view, context);
    }
  }
}
