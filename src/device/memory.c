/* Memory of devices: the caching allocator of memory/ fed with a backend's segments, and pinned host memory next to it.
 *
 * A pool knows streams as numbers. In the pool of a device its own streams go by their ids; a stream of any other device, and every
 * stream in a pool of pinned memory, goes by (slot + 1) << 32 | id. Number 0 is thus the default stream to a device's pool, and to a
 * pinned pool the host, which allocates there. All streams of a synchronous device are one: whoever frees is done with the memory.
 *
 * Pinned memory is shared by the devices of a type; device 0 keeps its pool. Locks are taken in the order pool, device, backend. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "device/device.h"
#include "memory/host_conf.h"
#include "memory/pool.h"
#include "trace/trace.h"

/* ---- streams as the pools know them -------------------------------------------------------------------------------- */

static uint64_t foreign_key(const wf_stream *stream) { return ((uint64_t)stream->device->slot + 1) << 32 | stream->id; }

static uint64_t stream_key(const struct wf__pool *pool, const wf_stream *stream) {
  if (!stream->device->backend->asynchronous) return 0;
  return pool == stream->device->memory ? stream->id : foreign_key(stream);
}

/* ---- the driver under a pool --------------------------------------------------------------------------------------- */

static bool device_get(void *context, size_t bytes, uintptr_t *address) {
  wf__device *d = context;
  return d->backend->segment_get(d->state, WF_MEM_DEVICE, bytes, (void **)address) == WF_OK;
}
static void device_give(void *context, uintptr_t address, size_t bytes) {
  wf__device *d = context;
  d->backend->segment_give(d->state, WF_MEM_DEVICE, (void *)address, bytes);
}
static bool pinned_get(void *context, size_t bytes, uintptr_t *address) {
  wf__device *d = context;
  return d->backend->segment_get(d->state, WF_MEM_PINNED, bytes, (void **)address) == WF_OK;
}
static void pinned_give(void *context, uintptr_t address, size_t bytes) {
  wf__device *d = context;
  d->backend->segment_give(d->state, WF_MEM_PINNED, (void *)address, bytes);
}

/* A mark that a pool waits for: the backend's event with the device that can answer for it. */
typedef struct mark {
  wf__device *device;
  void *event;
} mark;

static mark *mark_stream(wf__device *device, wf_stream *stream) {
  mark *m = wf__malloc(sizeof *m);
  if (!m) return NULL;
  m->device = device;
  if (device->backend->event_new(device->state, false, &m->event) != WF_OK) goto no_event;
  if (device->backend->event_record(device->state, m->event, stream->state) == WF_OK) return m;
  device->backend->event_free(device->state, m->event);
no_event:
  wf__release(m);
  return NULL;
}

/* Without room for a mark the host waits instead: freeing must not fail. The error that is pending then leaves a fault of the device,
 * if there is one, to the next wait. */
static mark *mark_or_wait(wf__device *device, wf_stream *stream) {
  bool clean = !wf__self.pending;
  mark *m = mark_stream(device, stream);
  if (m) return m;
  device->backend->stream_sync(device->state, stream->state);
  if (clean) wf_error_take();
  return NULL;
}

static uint64_t record(void *context, uint64_t key) {
  wf__device *device = key >> 32 ? wf__device_at((int)(key >> 32) - 1) : context;
  uint32_t id = (uint32_t)key;
  if (!device || !device->backend->asynchronous) return 0;
  pthread_mutex_lock(&device->lock);
  wf_stream *stream = id < device->stream_count ? device->streams[id] : NULL;
  bool busy = stream && !device->backend->stream_query(device->state, stream->state);
  mark *m = busy ? mark_or_wait(device, stream) : NULL;
  pthread_mutex_unlock(&device->lock);
  return (uint64_t)(uintptr_t)m;
}

static void retire(mark *m) {
  m->device->backend->event_free(m->device->state, m->event);
  wf__release(m);
}
static bool query(void *context, uint64_t event) {
  mark *m = (mark *)(uintptr_t)event;
  if (!m->device->backend->event_query(m->device->state, m->event)) return false;
  retire(m);
  return true;
}
static void wait(void *context, uint64_t event) {
  mark *m = (mark *)(uintptr_t)event;
  int64_t start = wf__tracing() ? wf_clock_ns() : 0;
  m->device->backend->event_sync(m->device->state, m->event);
  wf__trace_wait("memory used on another stream", m->device->id, start);
  retire(m);
}

/* ---- pools --------------------------------------------------------------------------------------------------------- */

/* WEFT_ALLOC_CONF is for the memory of devices, as PYTORCH_ALLOC_CONF is: host memory keeps the defaults. */
static const char *conf_of(const wf__device *device, bool pinned) {
  return pinned || device->id.type == WF_DEVICE_CPU ? NULL : getenv("WEFT_ALLOC_CONF");
}

static struct wf__pool *make_pool(wf__device *device, bool pinned) {
  wf_allocator_driver driver = {.context = device,
                                .get = pinned ? pinned_get : device_get,
                                .give = pinned ? pinned_give : device_give,
                                .record = record,
                                .query = query,
                                .wait = wait};
  wf_allocator_options options = wf_allocator_defaults();
  options.device_name = pinned ? "pinned" : device->backend->name;
  options.device_index = device->id.index;
  options.total_bytes = pinned ? 0 : device->backend->total_memory(device->state);
  options.conf = conf_of(device, pinned);
  struct wf__pool *pool = wf__pool_new(&driver, &options);
  if (!pool && options.conf) wf__hint("WEFT_ALLOC_CONF is '%s'; docs/allocator.md lists its keys", options.conf);
  return pool;
}

wf_status wf__memory_open(wf__device *device) {
  wf__host_conf conf;
  bool host = device->id.type == WF_DEVICE_CPU;
  if (host) WF__TRY(wf__host_conf_read(&conf));
  device->memory = make_pool(device, false);
  if (!device->memory) return wf__self.pending;
  if (host) {
    wf__pool_keep_at_hand(device->memory, conf.at_hand);
    wf__pool_set_cache_limit(device->memory, conf.cache);
  }
  return WF_OK;
}

void wf__memory_close(wf__device *device) {
  wf__pool_close(device->pinned);
  wf__pool_close(device->memory);
  device->pinned = device->memory = NULL;
}

static struct wf__pool *pinned_pool(wf__device *device) {
  wf__device *owner =
      device->id.type == WF_DEVICE_CPU ? wf__device_accelerator() : wf__device_get((wf_device){device->id.type, 0});
  if (!owner) return NULL;
  struct wf__pool *pool = __atomic_load_n(&owner->pinned, __ATOMIC_ACQUIRE);
  if (pool) return pool;
  pthread_mutex_lock(&owner->lock);
  if (!owner->pinned) __atomic_store_n(&owner->pinned, make_pool(owner, true), __ATOMIC_RELEASE);
  pool = owner->pinned;
  pthread_mutex_unlock(&owner->lock);
  return pool;
}

struct wf__pool *wf__memory_pool(wf__device *device, bool pinned) {
  return pinned ? pinned_pool(device) : device->memory;
}

/* ---- who holds what ------------------------------------------------------------------------------------------------ */

#define HOLDERS 24
#define HOLDERS_NAMED 6

typedef struct holder {
  const char *name;
  size_t bytes, blocks;
} holder;

typedef struct holders {
  holder at[HOLDERS + 1]; /* the last sums up whoever finds no place */
  int n;
} holders;

static void count_holder(const wf_block_view *view, void *context) {
  holders *all = context;
  if (view->state == WF_BLOCK_FREE) return;
  const char *name = view->state == WF_BLOCK_PENDING ? "freed, still used by a stream"
                     : view->owner                   ? view->owner
                                                     : "unnamed";
  int i = 0;
  while (i < all->n && strcmp(all->at[i].name, name)) i++;
  if (i == all->n && i < HOLDERS) all->at[all->n++] = (holder){.name = name};
  if (i == HOLDERS) all->at[i].name = "others";
  all->at[i].bytes += view->size;
  all->at[i].blocks++;
}

static holder *largest(holders *all) {
  holder *most = &all->at[0];
  for (int i = 1; i <= HOLDERS; i++)
    if (all->at[i].bytes > most->bytes) most = &all->at[i];
  return most;
}

/* Adds to a pending out-of-memory error who holds the pool's memory, the largest first. */
static void hint_holders(struct wf__pool *pool) {
  holders all = {.n = 0};
  wf__pool_walk(pool, count_holder, &all);
  char text[1024];
  size_t used = (size_t)snprintf(text, sizeof text, "held at this moment:");
  int named = 0;
  for (holder *h = largest(&all); h->bytes && named < HOLDERS_NAMED && used < sizeof text - 128; h = largest(&all)) {
    used += (size_t)snprintf(text + used, sizeof text - used, "%s %.2f MiB in %zu block%s by %.60s", named++ ? ";" : "",
                             (double)h->bytes / (1 << 20), h->blocks, h->blocks == 1 ? "" : "s", h->name);
    h->bytes = 0;
  }
  if (!named) snprintf(text + used, sizeof text - used, " nothing");
  wf__hint("%s. Free tensors after their last use, use smaller batches, or give the device more memory.", text);
}

/* ---- memory of one storage ----------------------------------------------------------------------------------------- */

static void trace_memory(const wf__memory *memory, wf_event_kind kind, wf_device id, uint32_t stream, size_t bytes) {
  wf_allocator_stats stats;
  wf__pool_stats(memory->pool, &stats);
  wf_tag tag = wf__trace_tag(kind, 0, (int64_t)bytes);
  int64_t now = wf_clock_ns();
  wf_trace_event event = {.kind = kind,
                          .pinned = memory->pool != memory->device->memory,
                          .device = id,
                          .stream = stream,
                          .thread = wf__thread_number(),
                          .op = tag.op,
                          .module = wf__trace_module_name(tag.module),
                          .zone = wf__trace_zone_name(tag.zone),
                          .site = tag.site,
                          .bytes_written = (int64_t)bytes,
                          .start_ns = now,
                          .end_ns = now,
                          .allocated = stats.allocated_bytes[0].current,
                          .reserved = stats.reserved_bytes[0].current};
  wf__trace_emit(&event);
}

static wf_status no_memory(wf__device *device, struct wf__pool *pool, size_t bytes) {
  if (device->id.type == WF_DEVICE_CPU) {
    if (wf_error_peek().status == WF_NO_MEMORY) wf_error_take();
    return wf__fail_memory(bytes);
  }
  if (wf_error_peek().status == WF_NO_MEMORY) hint_holders(pool);
  return wf__self.pending;
}

static const char *asker(void) { return wf__self.frame ? wf__self.frame->op : NULL; }

__attribute__((noinline)) static wf_status take_ordered(wf__device *device, bool pinned, size_t bytes,
                                                        wf_stream *stream, wf__memory *memory) {
  *memory = (wf__memory){0};
  if (pinned && device->id.type == WF_DEVICE_CPU && !(device = wf__device_accelerator())) return wf__self.pending;
  struct wf__pool *pool = wf__memory_pool(device, pinned);
  if (!pool) return wf__self.pending;
  bool clean = !wf__self.pending;
  if (!stream) stream = wf__stream_now(device);
  wf_block *block = wf__pool_alloc(pool, bytes, pinned ? 0 : stream_key(pool, stream), asker());
  if (!block) return no_memory(device, pool, bytes);
  if (WF__UNLIKELY(clean && wf__self.pending)) { /* waiting for deferred frees met a fault of the device */
    wf__pool_free(pool, block);
    return wf__self.pending;
  }
  *memory = (wf__memory){.address = (void *)wf_block_address(block), .block = block, .pool = pool, .device = device};
  if (wf__tracing()) trace_memory(memory, WF_EVENT_ALLOC, device->id, pinned ? 0 : stream->id, wf_block_size(block));
  return WF_OK;
}

/* A device without streams, the host above all, has nothing to wait for: a small block costs no lock there. */
wf_status wf__memory_new(wf__device *device, bool pinned, size_t bytes, wf_stream *stream, wf__memory *memory) {
  if (WF__UNLIKELY(!bytes)) {
    *memory = (wf__memory){0};
    return WF_OK;
  }
  if (WF__UNLIKELY(pinned || device->backend->asynchronous)) return take_ordered(device, pinned, bytes, stream, memory);
  wf_block *block = wf__pool_alloc(device->memory, bytes, 0, asker());
  if (WF__UNLIKELY(!block)) {
    *memory = (wf__memory){0};
    return no_memory(device, device->memory, bytes);
  }
  *memory = (wf__memory){
      .address = (void *)wf_block_address(block), .block = block, .pool = device->memory, .device = device};
  if (wf__tracing()) trace_memory(memory, WF_EVENT_ALLOC, device->id, 0, wf_block_size(block));
  return WF_OK;
}

static void free_traced(wf__memory *memory) {
  size_t bytes = wf_block_size(memory->block);
  wf__pool_free(memory->pool, memory->block);
  trace_memory(memory, WF_EVENT_FREE, memory->device->id, 0, bytes);
}

void wf__memory_free(wf__memory *memory) {
  if (!memory->block) return;
  if (wf__tracing()) free_traced(memory);
  else wf__pool_free(memory->pool, memory->block);
  *memory = (wf__memory){0};
}

wf_status wf__memory_record_stream(wf__memory *memory, wf_stream *stream) {
  if (!memory->block || !stream) return WF_OK;
  return wf__pool_record_stream(memory->pool, memory->block, stream_key(memory->pool, stream));
}

void wf__memory_set_owner(wf__memory *memory, const char *owner) {
  if (memory->block) wf_block_set_owner(memory->block, owner);
}

/* ---- public -------------------------------------------------------------------------------------------------------- */

/* The pool that a public call means; NULL with the error set. */
static struct wf__pool *pool_of(wf_device device, bool pinned) {
  wf__device *d = wf__device_get(device);
  return d ? wf__memory_pool(d, pinned) : NULL;
}

wf_status wf_memory_stats(wf_device device, bool pinned, wf_allocator_stats *stats) {
  WF__OP("memory_stats", wf__self.pending);
  WF__CHECK(stats, WF_VALUE, "no place for the statistics given");
  struct wf__pool *pool = pool_of(device, pinned);
  if (!pool) return wf__self.pending;
  wf__pool_stats(pool, stats);
  return WF_OK;
}

wf_status wf_memory_reset_peak(wf_device device) {
  WF__OP("memory_reset_peak", wf__self.pending);
  struct wf__pool *pool = pool_of(device, false);
  if (!pool) return wf__self.pending;
  wf__pool_reset_peak(pool);
  return WF_OK;
}

wf_status wf_memory_empty_cache(wf_device device) {
  WF__ENTER("memory_empty_cache");
  struct wf__pool *pool = pool_of(device, false);
  if (pool) wf__pool_empty(pool);
  return wf__self.pending;
}

wf_status wf_memory_set_cache_limit(wf_device device, size_t bytes) {
  WF__OP("memory_set_cache_limit", wf__self.pending);
  struct wf__pool *pool = pool_of(device, false);
  if (pool) wf__pool_set_cache_limit(pool, bytes);
  return wf__self.pending;
}

wf_status wf_memory_set_fraction(wf_device device, double fraction) {
  WF__OP("memory_set_fraction", wf__self.pending);
  struct wf__pool *pool = pool_of(device, false);
  return pool ? wf__pool_set_fraction(pool, fraction) : wf__self.pending;
}

wf_status wf_memory_walk(wf_device device, bool pinned, void (*fn)(const wf_block_view *, void *), void *context) {
  WF__OP("memory_walk", wf__self.pending);
  WF__CHECK(fn, WF_VALUE, "no function given");
  struct wf__pool *pool = pool_of(device, pinned);
  if (!pool) return wf__self.pending;
  wf__pool_walk(pool, fn, context);
  return WF_OK;
}
