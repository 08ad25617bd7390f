/* The host as a device. Synchronous: a plan runs in place, on the thread that launches it, so streams have nothing to order and
 * every event is done when it is recorded. A stream is its id. */
#include <string.h>

#include <weft/sys/backend.h>
#include "base/host.h"
#include "exec/exec.h"
#include "trace/trace.h"

static int count(void) { return 1; }

static wf_status open_device(int index, void **dev) {
  static char only;
  *dev = &only;
  return WF_OK;
}
static void close_device(void *dev) {}
static size_t total_memory(void *dev) { return 0; }

static wf_status segment_get(void *dev, wf_mem_kind kind, size_t bytes, void **address) {
  *address = wf__segment_get(bytes);
  return *address ? WF_OK : WF_NO_MEMORY;
}
static void segment_give(void *dev, wf_mem_kind kind, void *address, size_t bytes) { wf__segment_give(address, bytes); }

/* ---- streams and events -------------------------------------------------------------------------------------------- */

static wf_status stream_new(void *dev, int priority, uint32_t id, void **stream) {
  *stream = (void *)(uintptr_t)id;
  return WF_OK;
}
static void stream_free(void *dev, void *stream) {}
static wf_status stream_sync(void *dev, void *stream) { return WF_OK; }
static bool stream_query(void *dev, void *stream) { return true; }
static wf_status device_sync(void *dev) { return WF_OK; }

static wf_status event_new(void *dev, bool timing, void **event) {
  *event = wf__calloc(1, sizeof(int64_t)); /* when it was recorded, ns */
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
static wf_status event_elapsed_ns(void *dev, void *start, void *end, int64_t *ns) {
  *ns = *(int64_t *)end - *(int64_t *)start;
  return WF_OK;
}

/* ---- work ---------------------------------------------------------------------------------------------------------- */

static size_t workspace(void *dev, const wf_plan *plan) { return wf__exec_workspace(plan); }

static wf_status launch(void *dev, void *stream, const wf_plan *plan) {
  if (!wf__tracing()) return wf__exec(plan);
  int64_t start = wf_clock_ns();
  wf_status status = wf__exec(plan);
  wf__trace_ran(&plan->tag, wf_cpu(), (uint32_t)(uintptr_t)stream, start, wf_clock_ns());
  return status;
}

static wf_status transfer(void *dev, void *stream, const wf_transfer *transfer) {
  int64_t start = wf__tracing() ? wf_clock_ns() : 0;
  memmove(transfer->dst, transfer->src, transfer->bytes);
  if (wf__tracing()) wf__trace_ran(&transfer->tag, wf_cpu(), (uint32_t)(uintptr_t)stream, start, wf_clock_ns());
  return WF_OK;
}

static const wf_backend cpu_backend = {
    .abi = WF_SYS_ABI,
    .type = WF_DEVICE_CPU,
    .name = "cpu",
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
    .workspace = workspace,
    .launch = launch,
    .transfer = transfer,
};

__attribute__((constructor)) static void register_backend(void) { wf_backend_register(&cpu_backend); }
