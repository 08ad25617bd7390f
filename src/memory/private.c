/* Private pools: memory that serves only requests routed to it, so that whoever keeps addresses (a recorded graph) finds nobody else
 * there. Each has a small and a large pool of its own; statistics count them with the others. */
#include "memory/policy.h"

#include "memory/stats.h"

static wf__private_pool *find(wf_allocator *a, uint64_t id) {
  wf__private_pool *p = a->pools;
  while (p && p->id != id) p = p->next;
  return p;
}

/* Those of an earlier pool of that number, else new ones; a record must be there. */
static wf__pool_figures *figures_of(wf_allocator *a, uint64_t id) {
  wf__pool_figures *f = a->figures;
  while (f && f->id != id) f = f->next;
  if (f) return f;
  f = wf__records_take(&a->figure_records);
  *f = (wf__pool_figures){.next = a->figures, .id = id};
  return a->figures = f;
}

static wf__private_pool *make(wf_allocator *a, uint64_t id) {
  if (!wf__records_reserve(&a->pool_records, 1) || !wf__records_reserve(&a->figure_records, 1)) return NULL;
  wf__private_pool *p = wf__records_take(&a->pool_records);
  *p = (wf__private_pool){.next = a->pools,
                          .id = id,
                          .figures = figures_of(a, id),
                          .small = {.stat = WF__STAT_SMALL},
                          .large = {.stat = WF__STAT_LARGE}};
  p->small.owner = p->large.owner = p;
  return a->pools = p;
}

wf_status wf_allocator_pool_begin(wf_allocator *a, uint64_t id, uint64_t stream) {
  wf__private_pool *p = find(a, id);
  WF__CHECK(!p || !p->begun, WF_RUNTIME, "beginAllocateToPool: already recording to mempool_id");
  if (!p) p = make(a, id);
  if (!p) return WF_NO_MEMORY;
  p->users++;
  p->begun = true;
  p->stream = stream;
  p->next_begun = a->begun;
  a->begun = p;
  return WF_OK;
}

wf_status wf_allocator_pool_end(wf_allocator *a, uint64_t id) {
  wf__private_pool **link = &a->begun;
  while (*link && (*link)->id != id) link = &(*link)->next_begun;
  WF__CHECK(*link, WF_RUNTIME, "endAllocatePool: not currently recording to mempool_id");
  (*link)->begun = false;
  *link = (*link)->next_begun;
  return WF_OK;
}

wf_status wf_allocator_pool_release(wf_allocator *a, uint64_t id) {
  wf__private_pool *p = find(a, id);
  WF__CHECK(p && p->users > 0, WF_RUNTIME, "private pool %llu has no user to be released", (unsigned long long)id);
  p->users--;
  return WF_OK;
}

wf__block_pool *wf__route(wf_allocator *a, uint64_t stream, bool large) {
  for (wf__private_pool *p = a->begun; WF__UNLIKELY(p != NULL); p = p->next_begun)
    if (p->stream == stream) return large ? &p->large : &p->small;
  return large ? &a->large : &a->small;
}

void wf__reserved_change(wf_allocator *a, const wf__block_pool *pool, size_t bytes, bool more) {
  wf__pool_figures *own = pool->owner ? pool->owner->figures : NULL;
  int64_t change = more ? (int64_t)bytes : -(int64_t)bytes;
  a->reserved = more ? a->reserved + bytes : a->reserved - bytes;
  wf__figures_change(a->stats.reserved_bytes, pool->stat, change);
  if (!own) return;
  own->any = true;
  wf__figures_change(own->reserved_bytes, pool->stat, change);
}

static bool freeable(const wf__private_pool *p) { return p && !p->users && !p->begun; }

/* Returns the link to the pool after it: one that has nothing left is gone. */
static wf__private_pool **release(wf_allocator *a, wf__private_pool **link) {
  wf__private_pool *p = *link;
  wf__release_pool(a, &p->small);
  wf__release_pool(a, &p->large);
  if (p->segments) return &p->next;
  *link = p->next;
  wf__free_set_drop(&p->small.free);
  wf__free_set_drop(&p->large.free);
  wf__records_put(&a->pool_records, p);
  return link;
}

void wf__private_release(wf_allocator *a) {
  for (wf__private_pool **link = &a->pools; *link;) link = freeable(*link) ? release(a, link) : &(*link)->next;
}

void wf_allocator_empty_pool(wf_allocator *a, uint64_t id) {
  wf__private_pool **link = &a->pools;
  while (*link && (*link)->id != id) link = &(*link)->next;
  if (!freeable(*link)) return;
  wf__uses_wait(a, *link);
  release(a, link);
}
