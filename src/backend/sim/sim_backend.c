/* The emulated accelerator as the library sees it: opening and closing, faults, and the device table. Settings are read from WEFT_SIM
 * when the first device opens and hold until the last one closes. At the end of the process the engines stop after the item that they
 * are at; memory stays, so that whoever frees later finds it. A forked child has no engines: open devices after fork. */
#include "backend/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "exec/exec.h"
#include "exec/threads.h"
#include "trace/trace.h"

static wf__sim_device *open_devices[WF__SIM_DEVICES_MAX]; /* under the lock */
static wf__sim_settings settings;                         /* while a device is open */
static int open_count;

wf_device wf__sim_id(const wf__sim_device *device) { return wf_sim(device->index); }

/* ---- faults -------------------------------------------------------------------------------------------------------- */

void wf__sim_set_fault(wf__sim_device *device, const wf_tag *tag, wf_status status, const char *text,
                       const char *hint) {
  wf__sim_fault *f = &device->fault;
  if (f->status) return;
  f->status = status;
  f->op = tag->op;
  f->site = tag->site;
  snprintf(f->text, sizeof f->text, "%s", text);
  snprintf(f->hint, sizeof f->hint, "%s", hint);
}

wf_status wf__sim_take_fault(wf__sim_device *device) {
  pthread_mutex_lock(&wf__sim_lock);
  wf__sim_fault fault = {.status = WF_OK};
  if (WF__UNLIKELY(device->fault.status) && !wf__self.pending) {
    fault = device->fault;
    device->fault.status = WF_OK;
  }
  pthread_mutex_unlock(&wf__sim_lock);
  if (WF__LIKELY(!fault.status)) return wf__self.pending;
  char site[256] = "an unknown place";
  if (fault.site) wf_site_name(fault.site, site, sizeof site);
  wf__fail(fault.status, "%s", fault.text);
  wf__hint("%s%swork of '%s' failed on sim:%d some time after %s had queued it", fault.hint, *fault.hint ? "; " : "",
           fault.op && *fault.op ? fault.op : "an operator", device->index, site);
  return fault.status;
}

/* ---- opening and closing ------------------------------------------------------------------------------------------- */

static int count(void) {
  wf__sim_settings s;
  char error[256];
  pthread_mutex_lock(&wf__sim_lock);
  int n = open_count ? settings.devices : 0;
  pthread_mutex_unlock(&wf__sim_lock);
  if (n) return n;
  return wf__sim_parse(getenv("WEFT_SIM"), &s, error, sizeof error) ? s.devices
                                                                    : 1; /* opening it will say what is wrong */
}

static wf_status read_settings(wf__sim_settings *s) {
  char error[256];
  if (open_count) {
    *s = settings;
    return WF_OK;
  }
  if (wf__sim_parse(getenv("WEFT_SIM"), s, error, sizeof error)) return WF_OK;
  wf_status status = wf__fail(WF_VALUE, "%s", error);
  wf__hint("%s", WF__SIM_KEYS);
  return status;
}

static void stop_at_exit(void) {
  for (int i = 0; i < WF__SIM_DEVICES_MAX; i++) {
    pthread_mutex_lock(&wf__sim_lock);
    wf__sim_device *device = open_devices[i];
    pthread_mutex_unlock(&wf__sim_lock);
    if (device) wf__sim_engines_stop(device);
  }
}

static void set_open(int index, wf__sim_device *device) {
  pthread_mutex_lock(&wf__sim_lock);
  open_devices[index] = device;
  if (device) settings = device->settings;
  open_count += device ? 1 : -1;
  pthread_mutex_unlock(&wf__sim_lock);
}

static wf_status fill_device(wf__sim_device *d, int index) {
  d->index = index;
  WF__TRY(read_settings(&d->settings));
  WF__TRY(wf__sim_space_open(&d->settings));
  if (wf__sim_range_open(&d->range, index, &d->settings) != WF_OK) goto no_range;
  if (wf__sim_engines_start(d) != WF_OK) goto no_engines;
  return WF_OK;
no_engines:
  wf__sim_range_close(&d->range);
no_range:
  wf__sim_space_close();
  return wf__self.pending;
}

/* The registry opens one device at a time. */
static wf_status open_device(int index, void **dev) {
  static bool exit_known;
  wf__sim_device *d = wf__calloc(1, sizeof *d);
  if (!d) return wf__self.pending;
  if (fill_device(d, index) != WF_OK) {
    wf__release(d);
    return wf__self.pending;
  }
  set_open(index, d);
  if (!exit_known) exit_known = atexit(stop_at_exit) == 0;
  *dev = d;
  return WF_OK;
}

static void close_device(void *dev) {
  wf__sim_device *d = dev;
  wf__sim_engines_stop(d);
  set_open(d->index, NULL);
  wf__sim_drop_fences(d);
  wf__sim_buffers_free(d);
  wf__sim_range_close(&d->range);
  wf__sim_space_close();
  wf__release(d);
}

static size_t total_memory(void *dev) { return ((wf__sim_device *)dev)->settings.memory; }

static void describe(void *dev, char *buffer, size_t size) {
  const wf__sim_settings *s = &((wf__sim_device *)dev)->settings;
  char link[96] = "transfers as fast as this host copies", kernel[48] = "";
  if (s->link_bytes_per_ns > 0)
    snprintf(link, sizeof link, "link %s (%.4g GB/s, %.4g us)", s->link_name, s->link_bytes_per_ns,
             (double)s->link_latency_ns * 1e-3);
  if (s->kernel_ns) snprintf(kernel, sizeof kernel, ", kernels of %.4g us", (double)s->kernel_ns * 1e-3);
  bool large = s->memory >> 30;
  snprintf(buffer, size, "emulated: %.4g %s, %s%s", (double)s->memory / (large ? 1 << 30 : 1 << 20),
           large ? "GiB" : "MiB", link, kernel);
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

static wf_status segment_get(void *dev, wf_mem_kind kind, size_t bytes, void **address) {
  wf__sim_device *d = dev;
  if (kind == WF_MEM_PINNED) {
    *address = wf__segment_get(bytes);
    return *address ? WF_OK : WF_NO_MEMORY;
  }
  pthread_mutex_lock(&wf__sim_lock);
  bool fails = ++d->allocations == d->settings.fail_alloc;
  wf_status status = fails ? WF_NO_MEMORY : wf__sim_segment_get(&d->range, bytes, address);
  pthread_mutex_unlock(&wf__sim_lock);
  return status;
}

static void segment_give(void *dev, wf_mem_kind kind, void *address, size_t bytes) {
  wf__sim_device *d = dev;
  if (kind == WF_MEM_PINNED) {
    wf__segment_give(address, bytes);
    return;
  }
  int64_t start = wf__tracing() ? wf_clock_ns() : 0;
  pthread_mutex_lock(&wf__sim_lock);
  bool waited = wf__sim_wait_device(d); /* blocks are free in stream order: queued work may still use them */
  wf__sim_segment_give(&d->range, address, bytes);
  pthread_mutex_unlock(&wf__sim_lock);
  if (waited) wf__trace_wait("memory going back to the device", wf__sim_id(d), start);
}

/* ---- streams ------------------------------------------------------------------------------------------------------- */

static wf_status stream_new(void *dev, int priority, uint32_t id, void **stream) {
  *stream = wf__sim_stream_new(dev, priority, id);
  return *stream ? WF_OK : wf__self.pending;
}

static void stream_free(void *dev, void *stream) { wf__sim_stream_free(stream); }

static wf_status stream_sync(void *dev, void *stream) {
  pthread_mutex_lock(&wf__sim_lock);
  wf__sim_wait_stream(stream);
  pthread_mutex_unlock(&wf__sim_lock);
  return wf__sim_take_fault(dev);
}

static bool stream_query(void *dev, void *stream) {
  pthread_mutex_lock(&wf__sim_lock);
  bool idle = wf__sim_stream_idle(stream);
  pthread_mutex_unlock(&wf__sim_lock);
  return idle;
}

static wf_status device_sync(void *dev) {
  pthread_mutex_lock(&wf__sim_lock);
  wf__sim_wait_device(dev);
  pthread_mutex_unlock(&wf__sim_lock);
  return wf__sim_take_fault(dev);
}

/* ---- events: the fence of the last record -------------------------------------------------------------------------- */

typedef struct sim_event {
  wf__sim_fence *last; /* NULL: never recorded */
} sim_event;

static wf_status event_new(void *dev, bool timing, void **event) {
  *event = wf__calloc(1, sizeof(sim_event));
  return *event ? WF_OK : wf__self.pending;
}

static void replace_fence(sim_event *event, wf__sim_fence *fence) {
  pthread_mutex_lock(&wf__sim_lock);
  wf__sim_fence_release(event->last);
  event->last = fence;
  pthread_mutex_unlock(&wf__sim_lock);
}

static void event_free(void *dev, void *event) {
  replace_fence(event, NULL);
  wf__release(event);
}

static wf_status event_record(void *dev, void *event, void *stream) {
  wf__sim_fence *fence = wf__sim_push_record(stream);
  if (!fence) return wf__self.pending;
  replace_fence(event, fence);
  return WF_OK;
}

static bool event_query(void *dev, void *event) {
  pthread_mutex_lock(&wf__sim_lock);
  const wf__sim_fence *last = ((sim_event *)event)->last;
  bool done = !last || last->done || last->device->stopped;
  pthread_mutex_unlock(&wf__sim_lock);
  return done;
}

static wf_status event_sync(void *dev, void *event) {
  sim_event *e = event;
  pthread_mutex_lock(&wf__sim_lock);
  if (e->last) wf__sim_wait_fence(e->last);
  pthread_mutex_unlock(&wf__sim_lock);
  return wf__sim_take_fault(dev);
}

static wf_status stream_wait(void *dev, void *stream, void *event) {
  wf__sim_item *item = wf__sim_push_begin(stream);
  if (!item) return wf__self.pending;
  wf__sim_fence *last = ((sim_event *)event)->last;
  if (!last || last->done) {
    pthread_mutex_unlock(&wf__sim_lock);
    return WF_OK;
  }
  last->refs++;
  item->kind = WF__SIM_WAIT;
  item->as.fence = last;
  wf__sim_push_end(stream);
  return WF_OK;
}

static wf_status event_elapsed_ns(void *dev, void *start, void *end, int64_t *ns) {
  pthread_mutex_lock(&wf__sim_lock);
  const wf__sim_fence *a = ((sim_event *)start)->last, *b = ((sim_event *)end)->last;
  bool done = a && b && a->done && b->done;
  if (done) *ns = b->time_ns - a->time_ns;
  pthread_mutex_unlock(&wf__sim_lock);
  WF__CHECK(done, WF_RUNTIME, "Both events must be completed before calculating elapsed time.");
  return WF_OK;
}

/* ---- work ---------------------------------------------------------------------------------------------------------- */

static size_t workspace(void *dev, const wf_plan *plan) { return wf__exec_workspace(plan); }

static wf_status check_operands(const wf__sim_device *d, const wf_plan *plan) {
  for (int i = 0; i < plan->operands; i++) {
    const void *data = plan->operand[i].data;
    if (WF__LIKELY(!data || wf__sim_in_range(&d->range, data))) continue;
    wf_status status = wf__fail(WF_DEVICE, "sim:%d: operand %d of '%s' isn't memory of this device", d->index, i,
                                plan->tag.op && *plan->tag.op ? plan->tag.op : "a plan");
    wf__hint("its address %p lies %s; a kernel reaches the memory of its own device only", data,
             wf__sim_on_device(data) ? "on another device" : "in host memory");
    return status;
  }
  return WF_OK;
}

static wf_status launch(void *dev, void *stream, const wf_plan *plan) {
  wf__sim_device *d = dev;
  WF__TRY(check_operands(d, plan));
  wf__team_release();
  wf__sim_item *item = wf__sim_push_begin(stream);
  if (!item) return wf__self.pending;
  item->kind = WF__SIM_KERNEL;
  item->fails = ++d->launches == d->settings.fail_launch;
  item->as.plan = *plan;
  wf__sim_push_end(stream);
  return WF_OK;
}

static wf_status transfer(void *dev, void *stream, const wf_transfer *transfer) {
  return wf__sim_transfer(stream, transfer);
}

static const wf_backend sim_backend = {
    .abi = WF_SYS_ABI,
    .type = WF_DEVICE_SIM,
    .name = "sim",
    .host_access = false,
    .asynchronous = true,
    .emulated = true,
    .count = count,
    .open = open_device,
    .close = close_device,
    .total_memory = total_memory,
    .describe = describe,
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

__attribute__((constructor)) static void register_backend(void) { wf_backend_register(&sim_backend); }
