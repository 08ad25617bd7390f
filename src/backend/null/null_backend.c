/* A backend to copy: every slot of the table, filled for a device that is nothing but host memory and has no kernels. Copy the
 * folder, rename, replace slot after slot, and run tests/cts until it passes; the comments say what the library counts on.
 *
 * It isn't registered, since it stands for no device: the conformance test registers it. A real backend ends with
 *   __attribute__((constructor)) static void register_backend(void) { wf_backend_register(&my_backend); }
 * and can live in a library of its own: all it needs is weft/sys/. */
#include "backend/null/null_backend.h"

#include <string.h>

#include "base/host.h"
#include "trace/trace.h"

/* What one open device keeps. Its address is the `dev` of every other slot. */
typedef struct null_device {
  int index;
} null_device;

/* Called before anything is open, and often: cheap, and without an error record. */
static int count(void) { return 1; }

/* One call at a time. On failure: set the error record, free everything, return the status. */
static wf_status open_device(int index, void **dev) {
  null_device *d = wf__calloc(1, sizeof *d);
  if (!d) return wf__self.pending;
  d->index = index;
  *dev = d;
  return WF_OK;
}

/* Streams, events and segments are gone by then, and all work is done. */
static void close_device(void *dev) { wf__release(dev); }

/* Capacity, for texts and for the fraction that may be reserved; 0 when there is no such number. */
static size_t total_memory(void *dev) { return 0; }

/* Segments of at least 2 MiB, few and long-lived: the caching allocator cuts them. Aligned to 128 bytes or more. WF_NO_MEMORY sets no
 * error record, for the allocator first gives back what it has cached and asks again. Pinned memory is what the device's copy engines
 * reach on the host; a device that has none gives ordinary memory. Blocks are free in stream order, so queued work may still use a
 * segment of device memory that is given back: wait for it. */
static wf_status segment_get(void *dev, wf_mem_kind kind, size_t bytes, void **address) {
  *address = wf__segment_get(bytes);
  return *address ? WF_OK : WF_NO_MEMORY;
}
static void segment_give(void *dev, wf_mem_kind kind, void *address, size_t bytes) { wf__segment_give(address, bytes); }

/* A stream runs what it is given in order; streams run side by side as far as events let them. The first one made is the default
 * stream, id 0; trace events name the stream by its id. Freeing waits for its work. */
static wf_status stream_new(void *dev, int priority, uint32_t id, void **stream) {
  *stream = (void *)(uintptr_t)id;
  return WF_OK;
}
static void stream_free(void *dev, void *stream) {}

/* Waits for what has been queued before the call, not for what others queue meanwhile. Then reports an asynchronous fault of the
 * device, once; while this thread has an error pending the fault must stay for the next wait. */
static wf_status stream_sync(void *dev, void *stream) { return WF_OK; }
static bool stream_query(void *dev, void *stream) { return true; }
static wf_status device_sync(void *dev) { return WF_OK; }

/* An event stands for its last record. A wait keeps to the record that was the last when it was queued, even if the event is recorded
 * again before the stream gets there. Never recorded: done, and a wait for it is none. May be freed while pending. */
static wf_status event_new(void *dev, bool timing, void **event) {
  *event = wf__calloc(1, sizeof(int64_t));
  return *event ? WF_OK : wf__self.pending;
}
static void event_free(void *dev, void *event) { wf__release(event); }
static wf_status event_record(void *dev, void *event, void *stream) {
  *(int64_t *)event = wf_clock_ns();
  return WF_OK;
}
static bool event_query(void *dev, void *event) { return true; }
static wf_status event_sync(void *dev, void *event) { return WF_OK; }
static wf_status stream_wait(void *dev, void *stream, void *event) { return WF_OK; }

/* Both are recorded and done when this is called. */
static wf_status event_elapsed_ns(void *dev, void *start, void *end, int64_t *ns) {
  *ns = *(int64_t *)end - *(int64_t *)start;
  return WF_OK;
}

/* Queues the plan and returns; the plan is the caller's, so keep a copy. What can be refused at once is refused here, the rest is an
 * asynchronous fault. When it has run, report it with wf__trace_ran: start, end, and the plan's tag. */
static wf_status launch(void *dev, void *stream, const wf_plan *plan) {
  return wf__fail(WF_NOT_IMPLEMENTED, "the null device has no kernels");
}

/* Queues the move of consecutive bytes. A pageable source may be overwritten by the caller right afterwards: stage it before
 * returning. A pageable destination is complete on return. Pinned memory is read and written when the stream gets there. */
static wf_status transfer(void *dev, void *stream, const wf_transfer *transfer) {
  int64_t start = wf_clock_ns();
  memmove(transfer->dst, transfer->src, transfer->bytes);
  wf_device id = {WF_DEVICE_CUDA, ((null_device *)dev)->index};
  wf__trace_ran(&transfer->tag, id, (uint32_t)(uintptr_t)stream, start, wf_clock_ns());
  return WF_OK;
}

const wf_backend wf__null_backend = {
    .abi = WF_SYS_ABI,
    .type = WF_DEVICE_CUDA, /* the type that the test lends it */
    .name = "null",
    .host_access = true,
    .asynchronous = false,
    .count = count,
    .open = open_device,
    .close = close_device,
    .total_memory = total_memory,
    .segment_get = segment_get,
    .segment_give = segment_give,
    .stream_new = stream_new,
    .stream_free = stream_free,
    .stream_sync = stream_sync,
    .stream_query = stream_query,
    .device_sync = device_sync,
    .event_new = event_new,
    .event_free = event_free,
    .event_record = event_record,
    .event_query = event_query,
    .event_sync = event_sync,
    .stream_wait = stream_wait,
    .event_elapsed_ns = event_elapsed_ns,
    .launch = launch,
    .transfer = transfer,
};
