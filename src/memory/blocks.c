/* Segments cut into blocks: adding and giving back segments, cutting, merging, the free sets, and the walk over all of it. */
#include "memory/policy.h"

#include "memory/stats.h"

static wf_block *block_new(wf_allocator *a, wf__segment *segment, wf__block_pool *pool, uint64_t stream,
                           uint64_t address, size_t size) {
  wf_block *block = wf__records_take(&a->blocks);
  uint64_t tie = a->ties == WF_TIES_AGE ? segment->age : a->ties == WF_TIES_BLOCK ? ++a->blocks_made : 0;
  *block = (wf_block){
      .node.key = {.stream = stream, .tie = tie, .address = address}, .size = size, .segment = segment, .pool = pool};
  return block;
}

wf_block *wf__segment_add(wf_allocator *a, wf__block_pool *pool, uint64_t stream, uintptr_t address, size_t size,
                          bool expandable) {
  wf__segment *segment = wf__records_take(&a->segment_records);
  *segment =
      (wf__segment){.node.key.address = address, .size = size, .age = ++a->segments_given, .expandable = expandable};
  wf__order_insert(&a->segments, &segment->node);
  segment->first = block_new(a, segment, pool, stream, address, size);
  segment->first->mapped = !expandable;
  if (pool->owner) pool->owner->segments++;
  return segment->first;
}

void wf__segment_remove(wf_allocator *a, wf_block *block) {
  if (block->pool->owner) block->pool->owner->segments--;
  wf__order_remove(&a->segments, &block->segment->node);
  wf__records_put(&a->segment_records, block->segment);
  wf__records_put(&a->blocks, block);
}

void wf__segment_count(wf_allocator *a, const wf__block_pool *pool, size_t size, bool more) {
  wf__reserved_change(a, pool, size, more);
  if (more) {
    a->stats.device_alloc++;
    wf__figures_add(a->stats.segment, pool->stat, 1);
    if (wf__oversize(a, size)) wf__stat_add(&a->stats.oversize_segments, 1);
  } else {
    a->stats.device_free++;
    wf__figures_sub(a->stats.segment, pool->stat, 1);
    if (wf__oversize(a, size)) wf__stat_sub(&a->stats.oversize_segments, 1);
  }
}

void wf__segment_release(wf_allocator *a, wf_block *block) {
  a->driver.give(a->driver.context, wf_block_address(block), block->size);
  wf__segment_count(a, block->pool, block->size, false);
  wf__observe(a, WF_ACTION_SEGMENT_FREE, block->pool, &block->node.key, block->size, NULL);
  wf__free_set_remove(&block->pool->free, &block->node);
  wf__segment_remove(a, block);
}

void wf__block_insert_free(wf_block *block) {
  block->free_since = block->pool->searches;
  block->node.key.size = block->size;
  wf__free_set_insert(&block->pool->free, &block->node);
}

void wf__block_insert_unmapped(wf_block *block) {
  block->node.key.size = block->node.key.address; /* before the tie: by address alone */
  wf__order_insert(&block->pool->unmapped, &block->node);
}

wf_block *wf__block_cut(wf_allocator *a, wf_block *rest, size_t size) {
  wf_block *front = block_new(a, rest->segment, rest->pool, rest->node.key.stream, rest->node.key.address, size);
  front->mapped = rest->mapped;
  front->previous = rest->previous;
  front->next = rest;
  if (front->previous) front->previous->next = front;
  else rest->segment->first = front;
  rest->previous = front;
  rest->node.key.address += size;
  rest->size -= size;
  return front;
}

size_t wf__block_merge(wf_allocator *a, wf_block *block, wf_block *neighbour) {
  if (!neighbour || neighbour->mapped != block->mapped || neighbour->allocated || neighbour->waits || neighbour->uses)
    return 0;
  if (neighbour->mapped) wf__free_set_remove(&neighbour->pool->free, &neighbour->node);
  else wf__order_remove(&neighbour->pool->unmapped, &neighbour->node);
  size_t gained = neighbour->size;
  if (neighbour == block->previous) {
    block->node.key.address = neighbour->node.key.address;
    block->previous = neighbour->previous;
    if (block->previous) block->previous->next = block;
    else block->segment->first = block;
  } else {
    block->next = neighbour->next;
    if (block->next) block->next->previous = block;
  }
  block->size += gained;
  wf__records_put(&a->blocks, neighbour);
  return gained;
}

void wf__block_to_free(wf_allocator *a, wf_block *block) {
  int pool = block->pool->stat;
  size_t size = block->size, requested = block->requested;
  wf__observe(a, WF_ACTION_FREE_COMPLETED, block->pool, &block->node.key, requested, block->owner);
  size_t before = wf__block_merge(a, block, block->previous), after = wf__block_merge(a, block, block->next);
  block->requested = 0;
  wf__block_insert_free(block);
  if (!block->segment
           ->expandable) { /* their free pages can go back whatever lies beside them, so they don't count as split */
    int64_t splits = -(int64_t)(before > 0) - (int64_t)(after > 0), split_bytes = -(int64_t)before - (int64_t)after;
    if (wf__block_is_split(block)) {
      splits += 1;
      split_bytes += (int64_t)block->size;
    }
    wf__figures_change(a->stats.inactive_split, pool, splits);
    wf__figures_change(a->stats.inactive_split_bytes, pool, split_bytes);
  }
  wf__figures_sub(a->stats.active, pool, 1);
  wf__figures_sub(a->stats.active_bytes, pool, size);
  wf__figures_sub(a->stats.requested_bytes, pool, requested);
}

uintptr_t wf_block_address(const wf_block *block) { return (uintptr_t)block->node.key.address; }
size_t wf_block_size(const wf_block *block) { return block->size; }
/* Atomic because a walk in another thread may read it. */
void wf_block_set_owner(wf_block *block, const void *owner) {
  __atomic_store_n(&block->owner, owner, __ATOMIC_RELAXED);
}

/* From `first` on, the bytes that have memory behind them without interruption: all of an ordinary segment. */
static size_t mapped_run(const wf_block *first) {
  size_t bytes = 0;
  for (const wf_block *b = first; b && b->mapped; b = b->next) bytes += b->size;
  return bytes;
}

static void walk_segment(const wf__segment *segment, wf_block_view *view, void (*fn)(const wf_block_view *, void *),
                         void *context) {
  bool inside = false; /* of a run of mapped blocks */
  for (const wf_block *block = segment->first; block; block = block->next) {
    if (!block->mapped) {
      view->segment += inside;
      inside = false;
      continue;
    }
    view->address = wf_block_address(block);
    if (!inside) {
      view->segment_address = view->address;
      view->segment_size = mapped_run(block);
    }
    inside = true;
    view->size = block->size;
    view->requested = __atomic_load_n(&block->requested, __ATOMIC_RELAXED);
    view->stream = block->node.key.stream;
    view->state = block->allocated              ? WF_BLOCK_ALLOCATED
                  : block->waits || block->uses ? WF_BLOCK_PENDING
                                                : WF_BLOCK_FREE;
    view->large = block->pool->stat == WF__STAT_LARGE;
    view->expandable = segment->expandable;
    view->private_pool = block->pool->owner != NULL;
    view->pool = block->pool->owner ? block->pool->owner->id : 0;
    view->owner = view->state == WF_BLOCK_FREE ? NULL : __atomic_load_n(&block->owner, __ATOMIC_RELAXED);
    fn(view, context);
  }
  view->segment += inside;
}

void wf_allocator_walk(const wf_allocator *a, void (*fn)(const wf_block_view *view, void *context), void *context) {
  wf_block_view view = {0};
  for (wf__order_node *n = wf__order_first(&a->segments); n; n = wf__order_after(&a->segments, &n->key))
    walk_segment((const wf__segment *)n, &view, fn, context);
}
