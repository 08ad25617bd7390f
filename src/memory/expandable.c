/* Expandable segments: address space is reserved once, a little more than the device has memory, and memory is put behind it page
 * by page as it grows; so blocks of any size can later lie where others lay, and nothing is lost between segments.
 *
 * An unmapped block is address space without memory. Free blocks and unmapped blocks of one segment that touch can serve a
 * request together once the unmapped ones are mapped. */
#include "memory/policy.h"

#include "memory/stats.h"

#define SPACE_UNKNOWN ((size_t)1 << 40) /* reserved when the device's size isn't known */

static size_t page_of(const wf_allocator *a, const wf__block_pool *pool) {
  return pool->stat == WF__STAT_SMALL ? WF__SMALL_SEGMENT : a->conf.large_segment;
}

static size_t round_up(size_t bytes, size_t page) { return (bytes + page - 1) / page * page; }

/* Free or unmapped: nobody has it. */
static bool can_have(const wf_block *b) { return b && !b->allocated && !b->waits && !b->uses; }

static bool has_room(const wf_block *b, size_t size) {
  size_t bytes = 0;
  for (; bytes < size && can_have(b); b = b->next) bytes += b->size;
  return bytes >= size;
}

/* A new segment, all of it unmapped. */
static wf_block *reserve(wf_allocator *a, const wf__request *request) {
  if (!wf__records_reserve(&a->segment_records, 1) || !wf__records_reserve(&a->blocks, 1)) return NULL;
  size_t bytes = round_up(a->total ? a->total + a->total / 8 : SPACE_UNKNOWN, page_of(a, request->pool));
  uintptr_t address;
  if (!a->driver.reserve(a->driver.context, bytes, &address)) return NULL;
  if (bytes < request->size) {
    a->driver.unreserve(a->driver.context, address, bytes);
    return NULL;
  }
  wf_block *block = wf__segment_add(a, request->pool, request->stream, address, bytes, true);
  wf__block_insert_unmapped(block);
  return block;
}

/* First of neighbouring blocks that have room for the request together: from the lowest unmapped block on, or a free one before it. */
static wf_block *find(wf_allocator *a, const wf__request *request) {
  const wf__order *unmapped = &request->pool->unmapped;
  wf__order_key from = {.stream = request->stream};
  for (wf__order_node *n = wf__order_at_least(unmapped, &from); n && n->key.stream == request->stream;
       n = wf__order_after(unmapped, &n->key)) {
    wf_block *first = wf__block_of(n);
    if (can_have(first->previous)) first = first->previous;
    if (has_room(first, request->size)) return first;
  }
  return reserve(a, request);
}

/* The middle part of what was one block, not the front that a cut makes, stays that block: only ties by block object can tell. */
static void keep_identity(wf_block *kept, wf_block *other) {
  uint64_t tie = kept->node.key.tie;
  kept->node.key.tie = other->node.key.tie;
  other->node.key.tie = tie;
}

/* Puts memory behind the first `size` bytes of an unmapped block, rounded up to pages, and joins it with free neighbours. Returns the
 * free block that results; NULL when there is no memory, or none of the host's for a record. */
static wf_block *map(wf_allocator *a, wf_block *block, size_t size) {
  wf__block_pool *pool = block->pool;
  size = round_up(size, page_of(a, pool));
  if (size > block->size) size = block->size;
  if (!wf__records_reserve(&a->blocks, 1)) return NULL;
  if (!a->driver.map(a->driver.context, wf_block_address(block), size)) return NULL;
  wf__order_remove(&pool->unmapped, &block->node);
  if (size < block->size) {
    wf_block *rest = block;
    block = wf__block_cut(a, rest, size);
    keep_identity(block, rest);
    wf__block_insert_unmapped(rest);
  }
  block->mapped = true;
  wf__reserved_change(a, pool, size, true);
  a->stats.device_alloc++;
  wf__observe(a, WF_ACTION_SEGMENT_MAP, block->pool, &block->node.key, size, NULL);
  wf__block_merge(a, block, block->previous);
  wf__block_merge(a, block, block->next);
  wf__block_insert_free(block);
  return block;
}

wf_block *wf__expandable_take(wf_allocator *a, const wf__request *request) {
  wf_block *block = find(a, request);
  if (block && !block->mapped) block = map(a, block, request->size);
  while (block && block->size < request->size) block = map(a, block->next, request->size - block->size);
  if (block && !wf__records_reserve(&a->blocks, 1))
    return NULL; /* for the cut that follows; what was mapped stays free */
  if (block) wf__free_set_remove(&request->pool->free, &block->node);
  return block;
}

/* What the block could grow to without moving: the unmapped space behind it counts. */
static size_t reach(const wf_block *b) { return b->size + (b->next && !b->next->mapped ? b->next->size : 0); }

wf_block *wf__expandable_fit(const wf__block_pool *pool, wf_block *block) {
  for (;;) {
    wf_block *next = wf__block_of(wf__free_set_after(&pool->free, &block->node.key));
    if (!next || next->node.key.stream != block->node.key.stream || reach(next) >= reach(block)) return block;
    block = next;
  }
}

void wf__expandable_unmap(wf_allocator *a, wf_block *block) {
  wf__block_pool *pool = block->pool;
  uintptr_t base = (uintptr_t)block->segment->node.key.address;
  size_t page = page_of(a, pool), start = wf_block_address(block) - base, end = start + block->size;
  size_t first = round_up(start, page), last = end / page * page;
  if (first >= last || !wf__records_reserve(&a->blocks, 2)) return; /* it just stays cached then */
  wf__free_set_remove(&pool->free, &block->node);
  if (first > start) wf__block_insert_free(wf__block_cut(a, block, first - start));
  if (last < end) {
    wf_block *rest = block;
    block = wf__block_cut(a, rest, last - first);
    keep_identity(block, rest);
    wf__block_insert_free(rest);
  }
  a->driver.unmap(a->driver.context, wf_block_address(block), block->size);
  block->mapped = false;
  wf__reserved_change(a, pool, block->size, false);
  a->stats.device_free++;
  wf__observe(a, WF_ACTION_SEGMENT_UNMAP, block->pool, &block->node.key, block->size, NULL);
  wf__block_merge(a, block, block->previous);
  wf__block_merge(a, block, block->next);
  if (wf__block_is_split(block)) {
    wf__block_insert_unmapped(block);
    return;
  }
  a->driver.unreserve(a->driver.context, base, block->size);
  wf__segment_remove(a, block);
}

void wf__expandable_give(wf_allocator *a, wf__segment *segment) {
  uintptr_t start = 0;
  size_t bytes = 0; /* of the mapped run that ends here */
  for (const wf_block *b = segment->first; b; b = b->next) {
    if (b->mapped && !bytes) start = wf_block_address(b);
    if (b->mapped) bytes += b->size;
    if (bytes && !(b->next && b->next->mapped)) {
      a->driver.unmap(a->driver.context, start, bytes);
      bytes = 0;
    }
  }
  a->driver.unreserve(a->driver.context, (uintptr_t)segment->node.key.address, segment->size);
}
