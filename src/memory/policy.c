/* The order of steps when memory is asked for and given back: what makes the allocator PyTorch's. A request that a cached block
 * fits takes one look into a free set, one cut and the counting; everything else is in take_new. */
#include "memory/policy.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "memory/stats.h"

#define REQUEST_LIMIT ((size_t)1 << 60)

wf_allocator_options wf_allocator_defaults(void) { return (wf_allocator_options){.device_name = "CUDA"}; }

static bool driver_is_complete(const wf_allocator_driver *d) {
  int events = !!d->record + !!d->query + !!d->wait, space = !!d->reserve + !!d->unreserve + !!d->map + !!d->unmap;
  return d->get && d->give && events % 3 == 0 && space % 4 == 0;
}

static wf_status configure(wf_allocator *a, const wf_allocator_options *options) {
  WF__TRY(wf__conf_parse(&a->conf, options->conf));
  if (a->conf.expandable && !a->driver.reserve) {
    wf__log(WF_LOG_WARNING, "expandable_segments not supported on this platform");
    a->conf.expandable = false;
  }
  return a->conf.fraction >= 0 ? wf_allocator_set_fraction(a, a->conf.fraction) : WF_OK;
}

wf_allocator *wf_allocator_new(const wf_allocator_driver *driver, const wf_allocator_options *options) {
  const wf_allocator_options defaults = wf_allocator_defaults();
  if (!options) options = &defaults;
  if (!driver_is_complete(driver)) {
    wf__fail(WF_VALUE,
             "an allocator driver needs get and give, and of record, query, wait and of reserve, unreserve, map, unmap "
             "either all or none");
    return NULL;
  }
  wf_allocator *a = wf__calloc(1, sizeof *a);
  if (!a) return NULL;
  a->driver = *driver;
  a->ties = options->ties;
  a->small.stat = WF__STAT_SMALL;
  a->large.stat = WF__STAT_LARGE;
  a->total = options->total_bytes;
  a->device_index = options->device_index;
  wf__records_init(&a->blocks, sizeof(wf_block));
  wf__records_init(&a->segment_records, sizeof(wf__segment));
  wf__records_init(&a->uses, sizeof(wf__use));
  wf__records_init(&a->queue_records, sizeof(wf__use_queue));
  wf__records_init(&a->pool_records, sizeof(wf__private_pool));
  wf__records_init(&a->figure_records, sizeof(wf__pool_figures));
  a->device_name = wf__strdup(options->device_name ? options->device_name : defaults.device_name);
  if (!a->device_name || configure(a, options)) {
    wf_allocator_free(a);
    return NULL;
  }
  return a;
}

static void give_segment(wf_allocator *a, wf__segment *segment) {
  if (segment->expandable) wf__expandable_give(a, segment);
  else a->driver.give(a->driver.context, (uintptr_t)segment->node.key.address, segment->size);
}

void wf_allocator_free(wf_allocator *a) {
  if (!a) return;
  if (a->waiting)
    wf__uses_wait(a, NULL); /* the driver's marks are retired, and nothing still uses what is given back */
  for (wf__order_node *n = wf__order_first(&a->segments); n; n = wf__order_after(&a->segments, &n->key))
    give_segment(a, (wf__segment *)n);
  wf__free_set_drop(&a->small.free);
  wf__free_set_drop(&a->large.free);
  for (wf__private_pool *p = a->pools; p; p = p->next) {
    wf__free_set_drop(&p->small.free);
    wf__free_set_drop(&p->large.free);
  }
  wf__records_drop(&a->blocks);
  wf__records_drop(&a->segment_records);
  wf__records_drop(&a->uses);
  wf__records_drop(&a->queue_records);
  wf__records_drop(&a->pool_records);
  wf__records_drop(&a->figure_records);
  wf__release(a->device_name);
  wf__release(a);
}

wf_status wf_allocator_set_fraction(wf_allocator *a, double fraction) {
  if (!(fraction >= 0 && fraction <= 1))
    return wf__fail(WF_VALUE, "Invalid fraction value: %.12g%s. Allowed range: 0~1", fraction,
                    isfinite(fraction) && fraction == floor(fraction) ? ".0" : "");
  a->allowed = (size_t)(fraction * (double)a->total);
  a->has_fraction = true;
  return WF_OK;
}

/* First free block of the stream that is large enough. Expandable ones count for what they can grow to; they may be left over from a
 * history that began with them, without the setting that uses them. */
static wf_block *best_fit(const wf_allocator *a, const wf__request *request) {
  wf__block_pool *pool = request->pool;
  wf__order_node *node = wf__free_set_at_least(&pool->free, &(wf__order_key){request->stream, request->size, 0, 0});
  if (!node || node->key.stream != request->stream) return NULL;
  if (WF__LIKELY(!wf__block_of(node)->segment->expandable)) return wf__block_of(node);
  if (a->conf.expandable) return wf__expandable_fit(pool, wf__block_of(node));
  while (node && node->key.stream == request->stream && wf__block_of(node)->segment->expandable)
    node = wf__free_set_after(&pool->free, &node->key);
  return node && node->key.stream == request->stream ? wf__block_of(node) : NULL;
}

/* With a split limit, blocks above it serve only requests above it, and those only when little is left over, since they aren't cut. */
static wf_block *take_cached(wf_allocator *a, const wf__request *request) {
  if (WF__UNLIKELY(a->counts_ages || wf__collects_garbage(a))) request->pool->searches++;
  wf_block *block = best_fit(a, request);
  if (!block) return NULL;
  if (!wf__oversize(a, request->size)) {
    if (wf__oversize(a, block->size)) return NULL;
  } else if (block->size >= request->size + a->conf.max_non_split_rounding) {
    return NULL;
  }
  wf__free_set_remove(&request->pool->free, &block->node);
  return block;
}

static wf_block *take_segment(wf_allocator *a, const wf__request *request) {
  if (a->has_fraction && a->reserved + request->segment > a->allowed) return NULL;
  if (a->conf.expandable) return wf__expandable_take(a, request);
  uintptr_t address = 0;
  if (!a->driver.get(a->driver.context, request->segment, &address)) return NULL;
  wf_block *block = wf__segment_add(a, request->pool, request->stream, address, request->segment, false);
  wf__segment_count(a, request->pool, request->segment, true);
  wf__observe(a, WF_ACTION_SEGMENT_ALLOC, block->pool, &block->node.key, request->segment, NULL);
  return block;
}

/* No cached block fits: a new segment, after giving back ever more of the cache when the driver has none. */
static wf_block *take_new(wf_allocator *a, const wf__request *request) {
  if (!wf__records_reserve(&a->segment_records, 1)) return NULL;
  if (wf__collects_garbage(a)) wf__collect_garbage(a);
  wf_block *block = take_segment(a, request);
  if (!block && wf__release_available(a, request)) block = take_segment(a, request);
  if (!block && !wf__suspended(a)) {
    wf__release_cached(a);
    a->stats.alloc_retries++;
    block = take_segment(a, request);
  }
  if (!block) {
    a->stats.ooms++;
    wf__observe(a, WF_ACTION_OOM, request->pool, &(wf__order_key){.stream = request->stream}, request->size, NULL);
    wf__fail_out_of_memory(a, request);
  }
  return block;
}

static bool should_split(const wf_allocator *a, const wf_block *block, const wf__request *request) {
  size_t rest = block->size - request->size;
  if (block->pool->stat == WF__STAT_SMALL || a->conf.expandable) return rest >= WF__BLOCK_MIN;
  return !wf__oversize(a, request->size) && rest > WF__SMALL_MAX;
}

static wf_block *hand_out(wf_allocator *a, wf_block *block, const wf__request *request, size_t bytes) {
  int pool = request->pool->stat;
  bool was_split = wf__block_is_split(block), counts = !block->segment->expandable;
  if (should_split(a, block, request)) {
    wf_block *rest = block;
    block = wf__block_cut(a, rest, request->size);
    wf__block_insert_free(rest);
    if (counts && was_split) { /* a rest shrinks */
      wf__figures_sub(a->stats.inactive_split_bytes, pool, request->size);
    } else if (counts) { /* a rest appears */
      wf__figures_add(a->stats.inactive_split_bytes, pool, rest->size);
      wf__figures_add(a->stats.inactive_split, pool, 1);
    }
  } else if (counts && was_split) {
    wf__figures_sub(a->stats.inactive_split_bytes, pool, block->size);
    wf__figures_sub(a->stats.inactive_split, pool, 1);
  }
  block->allocated = true;
  block->requested = bytes;
  block->owner = NULL;
  size_t size = block->size;
  wf__figures_add(a->stats.allocation, pool, 1);
  wf__figures_add(a->stats.allocated_bytes, pool, size);
  wf__figures_add(a->stats.active, pool, 1);
  wf__figures_add(a->stats.active_bytes, pool, size);
  wf__figures_add(a->stats.requested_bytes, pool, bytes);
  if (wf__oversize(a, size)) wf__stat_add(&a->stats.oversize_allocations, 1);
  wf__observe(a, WF_ACTION_ALLOC, block->pool, &block->node.key, bytes, NULL);
  return block;
}

wf_block *wf_block_new(wf_allocator *a, size_t bytes, uint64_t stream) {
  if (!bytes) return NULL;
  if (WF__UNLIKELY(bytes >= REQUEST_LIMIT)) {
    wf__fail(WF_NO_MEMORY, "%s out of memory. Tried to allocate more than 1EB memory.", a->device_name);
    return NULL;
  }
  if (!wf__records_reserve(&a->blocks, 2)) return NULL; /* one for a new segment, one for its rest */
  wf__uses_poll(a);
  wf__request request = {.stream = stream, .size = wf__round_size(&a->conf, bytes)};
  request.segment = wf__segment_size(&a->conf, request.size);
  request.pool = wf__route(a, stream, request.size > WF__SMALL_MAX);
  if (!wf__free_set_reserve(&request.pool->free, stream)) return NULL;
  wf_block *block = take_cached(a, &request);
  if (WF__UNLIKELY(!block)) block = take_new(a, &request);
  return block ? hand_out(a, block, &request, bytes) : NULL;
}

void wf_block_free(wf_allocator *a, wf_block *block) {
  if (!block) return;
  int pool = block->pool->stat;
  size_t size = block->size;
  block->allocated = false;
  wf__observe(a, WF_ACTION_FREE_REQUESTED, block->pool, &block->node.key, block->requested, block->owner);
  wf__figures_sub(a->stats.allocation, pool, 1);
  wf__figures_sub(a->stats.allocated_bytes, pool, size);
  if (wf__oversize(a, size)) wf__stat_sub(&a->stats.oversize_allocations, 1);
  if (block->uses && wf__uses_defer(a, block)) return;
  wf__block_to_free(a, block);
}
