/* Segments that the driver gave before the allocator was made: histories are often recorded from the middle. */
#include "memory/policy.h"

#include "memory/stats.h"

#define SPACE_BEHIND ((size_t)1 << 50) /* "without limit": more than any history maps */

static bool fits(const wf_adopted_segment *s) {
  size_t end = 0;
  for (size_t i = 0; i < s->block_count; i++) {
    const wf_adopted_block *b = &s->blocks[i];
    if (b->offset < end || !b->size || b->size > s->size || b->offset > s->size - b->size) return false;
    end = b->offset + b->size;
  }
  return s->size > 0;
}

static void use(wf_allocator *a, wf_block *block, size_t requested) {
  int pool = block->pool->stat;
  block->allocated = true;
  block->requested = requested;
  wf__figures_add(a->stats.allocation, pool, 1);
  wf__figures_add(a->stats.allocated_bytes, pool, block->size);
  wf__figures_add(a->stats.active, pool, 1);
  wf__figures_add(a->stats.active_bytes, pool, block->size);
  wf__figures_add(a->stats.requested_bytes, pool, requested);
  if (wf__oversize(a, block->size)) wf__stat_add(&a->stats.oversize_allocations, 1);
}

/* The front of `rest`, or all of it when there is nothing behind. */
static wf_block *front(wf_allocator *a, wf_block **rest, size_t size) {
  wf_block *block = *rest;
  if (size < block->size) return wf__block_cut(a, block, size);
  *rest = NULL;
  return block;
}

static void leave_free(wf_allocator *a, wf_block *block) {
  wf__block_insert_free(block);
  if (block->segment->expandable || !wf__block_is_split(block)) return;
  wf__figures_add(a->stats.inactive_split, block->pool->stat, 1);
  wf__figures_add(a->stats.inactive_split_bytes, block->pool->stat, block->size);
}

/* The whole segment as one mapped block. Of an expandable one the space behind it is split off. */
static wf_block *add(wf_allocator *a, const wf_adopted_segment *s) {
  wf__block_pool *pool = s->large ? &a->large : &a->small;
  wf_block *block =
      wf__segment_add(a, pool, s->stream, s->address, s->size + (s->expandable ? SPACE_BEHIND : 0), s->expandable);
  if (!s->expandable) {
    wf__segment_count(a, pool, s->size, true);
    return block;
  }
  wf_block *space = block;
  block = wf__block_cut(a, space, s->size);
  wf__block_insert_unmapped(space);
  block->mapped = true;
  wf__reserved_change(a, pool, s->size, true);
  return block;
}

wf_status wf_allocator_adopt(wf_allocator *a, const wf_adopted_segment *s, wf_block **out) {
  WF__CHECK(fits(s), WF_VALUE, "the blocks don't fit into the segment of %zu bytes", s->size);
  WF__CHECK(!s->expandable || a->driver.reserve, WF_VALUE, "this allocator's driver has no expandable segments");
  if (!wf__records_reserve(&a->segment_records, 1)) return WF_NO_MEMORY;
  if (!wf__records_reserve(&a->blocks, 2 * s->block_count + 2)) return WF_NO_MEMORY;
  if (!wf__free_set_reserve(s->large ? &a->large.free : &a->small.free, s->stream)) return WF_NO_MEMORY;
  wf_block *rest = add(a, s);
  size_t end = 0;
  for (size_t i = 0; i < s->block_count; i++) {
    const wf_adopted_block *b = &s->blocks[i];
    if (b->offset > end) leave_free(a, front(a, &rest, b->offset - end));
    out[i] = front(a, &rest, b->size);
    use(a, out[i], b->requested);
    end = b->offset + b->size;
  }
  if (rest) leave_free(a, rest);
  return WF_OK;
}
