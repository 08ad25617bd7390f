/* Events: points in a stream's work that others wait for.
 *
 * An event may be waited for on any stream. Between devices of one backend the backend orders the streams; between different backends
 * nothing but the host can, so the call itself waits. */
#include "base/host.h"
#include "device/device.h"
#include "trace/trace.h"

struct wf_event {
  wf__device *device;
  void *state;
  bool timing, recorded;
};

wf_event *wf_event_new(wf_device device, bool timing) {
  WF__OP("event_new", NULL);
  wf__device *d = wf__device_get(device);
  wf_event *e = d ? wf__calloc(1, sizeof *e) : NULL;
  if (!e) return NULL;
  e->device = d;
  e->timing = timing;
  if (d->backend->event_new(d->state, timing, &e->state) == WF_OK) return e;
  wf__release(e);
  return NULL;
}

void wf_event_free(wf_event *event) {
  if (!event) return;
  event->device->backend->event_free(event->device->state, event->state);
  wf__release(event);
}

static wf_status check_recordable(const wf_event *event, const wf_stream *stream) {
  wf_device e = event->device->id, s = stream->device->id;
  WF__CHECK(e.type == s.type, WF_RUNTIME, "Event device type %s does not match recording stream's device type %s.",
            event->device->backend->name, stream->device->backend->name);
  WF__CHECK(e.index == s.index, WF_RUNTIME, "Event device %d does not match recording stream's device %d.", e.index,
            s.index);
  return WF_OK;
}

wf_status wf_event_record(wf_event *event, wf_stream *stream) {
  WF__OP("event_record", wf__self.pending);
  WF__CHECK(event && stream, WF_VALUE, "no %s given", event ? "stream" : "event");
  WF__TRY(check_recordable(event, stream));
  WF__TRY(event->device->backend->event_record(event->device->state, event->state, stream->state));
  event->recorded = true;
  return WF_OK;
}

bool wf_event_query(wf_event *event) {
  return !event || event->device->backend->event_query(event->device->state, event->state);
}

wf_status wf_event_sync(wf_event *event) {
  WF__ENTER("event_sync");
  WF__CHECK(event, WF_VALUE, "no event given");
  int64_t start = wf__tracing() ? wf_clock_ns() : 0;
  wf__device *device = event->device;
  wf_status status = device->backend->event_sync(device->state, event->state);
  if (device->backend->asynchronous) wf__trace_wait("wf_event_sync", device->id, start);
  return status;
}

wf_status wf__event_wait(wf_stream *stream, wf_event *event) {
  const wf_backend *backend = event->device->backend;
  if (backend == stream->device->backend)
    return backend->stream_wait(stream->device->state, stream->state, event->state);
  int64_t start = wf__tracing() ? wf_clock_ns() : 0;
  wf_status status = backend->event_sync(event->device->state, event->state);
  if (backend->asynchronous) wf__trace_wait("event of another kind of device", event->device->id, start);
  return status;
}

wf_status wf_event_elapsed_ms(wf_event *start, wf_event *end, double *ms) {
  WF__OP("event_elapsed_ms", wf__self.pending);
  WF__CHECK(start && end && ms, WF_VALUE, "no %s given", !start || !end ? "event" : "place for the result");
  const wf_backend *backend = start->device->backend;
  WF__CHECK(end->device->backend == backend, WF_RUNTIME, "Event device type %s does not match other's device type %s.",
            backend->name, end->device->backend->name);
  WF__CHECK(start->timing && end->timing, WF_VALUE, "Both events must be created with argument 'enable_timing=True'.");
  WF__CHECK(start->recorded && end->recorded, WF_VALUE,
            "Both events must be recorded before calculating elapsed time.");
  WF__CHECK(wf_event_query(start) && wf_event_query(end), WF_RUNTIME,
            "Both events must be completed before calculating elapsed time.");
  int64_t ns = 0;
  WF__TRY(backend->event_elapsed_ns(start->device->state, start->state, end->state, &ns));
  *ms = (double)ns * 1e-6;
  return WF_OK;
}
