/* Streams of a device, and which of them is current on each thread.
 *
 * A stream's id is its index in the device's table. Ids of freed streams are used again: the allocator keys cached memory by id, and
 * since freeing a stream waits for its work, the next owner of the id may have that memory at once. */
#include <string.h>

#include "base/host.h"
#include "device/device.h"
#include "trace/trace.h"

/* ---- the device's table -------------------------------------------------------------------------------------------- */

/* Lowest free id, growing the table by one when all are taken. False when memory is out. */
static bool reserve_id(wf__device *device, uint32_t *id) {
  uint32_t n = 0;
  while (n < device->stream_count && device->streams[n]) n++;
  if (n == device->stream_count) {
    wf_stream **grown = wf__realloc(device->streams, (n + 1) * sizeof *grown);
    if (!grown) return false;
    grown[n] = NULL;
    device->streams = grown;
    device->stream_count = n + 1;
  }
  *id = n;
  return true;
}

wf_stream *wf__stream_make(wf__device *device, int priority) {
  wf_stream *s = wf__calloc(1, sizeof *s);
  if (!s) return NULL;
  s->device = device;
  pthread_mutex_lock(&device->lock);
  bool made =
      reserve_id(device, &s->id) && device->backend->stream_new(device->state, priority, s->id, &s->state) == WF_OK;
  if (made) device->streams[s->id] = s;
  pthread_mutex_unlock(&device->lock);
  if (made) return s;
  wf__release(s);
  return NULL;
}

void wf__stream_destroy(wf_stream *stream) {
  if (!stream) return;
  wf__device *device = stream->device;
  wf_stream **current = wf__self.streams;
  if (current && current[device->slot] == stream) current[device->slot] = NULL;
  pthread_mutex_lock(&device->lock);
  device->streams[stream->id] = NULL;
  device->backend->stream_free(device->state, stream->state);
  pthread_mutex_unlock(&device->lock);
  wf__release(stream);
}

/* ---- current streams ----------------------------------------------------------------------------------------------- */

wf_stream *wf__stream_now(wf__device *device) {
  wf_stream **current = wf__self.streams;
  wf_stream *s = current ? current[device->slot] : NULL;
  return s ? s : device->default_stream;
}

static void release_current(void *current) { wf__release(current); }

static bool set_current(wf_stream *stream) {
  if (!wf__self.streams) {
    wf__self.streams = wf__calloc(WF__DEVICE_SLOTS, sizeof(wf_stream *));
    if (!wf__self.streams) return false;
    wf__thread_at_exit(&wf__self.streams, release_current);
  }
  ((wf_stream **)wf__self.streams)[stream->device->slot] = stream;
  return true;
}

/* ---- public -------------------------------------------------------------------------------------------------------- */

wf_stream *wf_stream_new(wf_device device, int priority) {
  WF__OP("stream_new", NULL);
  wf__device *d = wf__device_get(device);
  return d ? wf__stream_make(d, priority) : NULL;
}

void wf_stream_free(wf_stream *stream) {
  if (!stream || stream == stream->device->default_stream) return;
  WF__ENTER("stream_free");
  wf__stream_destroy(stream);
}

wf_stream *wf_stream_current(wf_device device) {
  WF__OP("stream_current", NULL);
  wf__device *d = wf__device_get(device);
  return d ? wf__stream_now(d) : NULL;
}

wf_stream *wf_stream_default(wf_device device) {
  WF__OP("stream_default", NULL);
  wf__device *d = wf__device_get(device);
  return d ? d->default_stream : NULL;
}

wf_stream *wf_stream_set(wf_stream *stream) {
  WF__ENTER("stream_set");
  if (!stream) {
    wf__fail(WF_VALUE, "no stream given");
    return NULL;
  }
  wf_stream *before = wf__stream_now(stream->device);
  return set_current(stream) ? before : NULL;
}

wf_status wf_stream_sync(wf_stream *stream) {
  WF__ENTER("stream_sync");
  WF__CHECK(stream, WF_VALUE, "no stream given");
  int64_t start = wf__tracing() ? wf_clock_ns() : 0;
  wf__device *device = stream->device;
  wf_status status = device->backend->stream_sync(device->state, stream->state);
  if (device->backend->asynchronous) wf__trace_wait("wf_stream_sync", device->id, start);
  return status;
}

bool wf_stream_query(wf_stream *stream) {
  return !stream || stream->device->backend->stream_query(stream->device->state, stream->state);
}

wf_status wf_stream_wait(wf_stream *stream, wf_event *event) {
  WF__OP("stream_wait", wf__self.pending);
  WF__CHECK(stream && event, WF_VALUE, "no %s given", stream ? "event" : "stream");
  return wf__event_wait(stream, event);
}
