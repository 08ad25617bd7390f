/* The host's side of a transfer. Pinned memory is copied by an engine in its own time. Pageable memory goes in pieces through a few
 * staging buffers: on the way to the device the call returns when the last piece has been staged, on the way to the host when the
 * last byte has arrived. A piece is queued like any transfer, so staging overlaps the transfers of earlier pieces. */
#include "backend/sim/sim.h"

#include <string.h>

#include "base/host.h"
#include "trace/trace.h"

#define NO_BUFFER (-1)

/* ---- staging buffers ----------------------------------------------------------------------------------------------- */

static int free_buffer(const wf__sim_device *device) {
  for (int i = 0; i < WF__SIM_BUFFERS; i++)
    if (!device->buffer_taken[i] && device->buffer[i]) return i;
  return NO_BUFFER;
}

/* A free buffer, or a new one. */
static int take_buffer(wf__sim_device *device) {
  int i = free_buffer(device);
  if (i == NO_BUFFER) {
    for (i = 0; i < WF__SIM_BUFFERS && device->buffer[i]; i++) {}
    if (i == WF__SIM_BUFFERS || !(device->buffer[i] = wf__segment_get(WF__SIM_BUFFER_BYTES))) return NO_BUFFER;
  }
  device->buffer_taken[i] = true;
  return i;
}

static bool some_buffer(const wf__sim_waiter *w) { return free_buffer(w->device) != NO_BUFFER; }
static bool has_buffers(const wf__sim_device *device) {
  for (int i = 0; i < WF__SIM_BUFFERS; i++)
    if (device->buffer[i]) return true;
  return false;
}

/* Waits for a buffer unless told not to. Only who holds none may wait: holders of some might wait for each other. */
static int acquire_buffer(wf__sim_device *device, bool wait) {
  pthread_mutex_lock(&wf__sim_lock);
  int i = take_buffer(device);
  if (i == NO_BUFFER && wait && has_buffers(device)) {
    int64_t start = wf__tracing() ? wf_clock_ns() : 0;
    while (i == NO_BUFFER && !device->stopped) {
      wf__sim_wait(&(wf__sim_waiter){.device = device, .ready = some_buffer});
      i = take_buffer(device);
    }
    wf__trace_wait("staging buffer", wf__sim_id(device), start);
  }
  pthread_mutex_unlock(&wf__sim_lock);
  if (i == NO_BUFFER && wait) wf__fail_memory(WF__SIM_BUFFER_BYTES);
  return i;
}

static void release_buffer(wf__sim_device *device, int i) {
  pthread_mutex_lock(&wf__sim_lock);
  device->buffer_taken[i] = false;
  wf__sim_wake();
  pthread_mutex_unlock(&wf__sim_lock);
}

void wf__sim_buffers_free(wf__sim_device *device) {
  for (int i = 0; i < WF__SIM_BUFFERS; i++) wf__segment_give(device->buffer[i], WF__SIM_BUFFER_BYTES);
}

/* Copies between user memory and a staging buffer, on this thread. */
static void stage(wf__sim_stream *stream, const wf_tag *cause, void *dst, const void *src, size_t bytes) {
  int64_t start = wf__tracing() ? wf_clock_ns() : 0;
  memcpy(dst, src, bytes);
  wf_tag tag = *cause;
  tag.kind = WF_EVENT_STAGE;
  tag.bytes_read = tag.bytes_written = (int64_t)bytes;
  wf__trace_ran(&tag, wf__sim_id(stream->device), stream->id, start, wf_clock_ns());
}

/* ---- pushing copies ------------------------------------------------------------------------------------------------ */

static wf__sim_engine_kind engine_of(const wf__sim_stream *stream, const wf_transfer *t) {
  if (t->direction == WF_HOST_TO_DEVICE) return WF__SIM_TO_DEVICE;
  if (t->direction == WF_DEVICE_TO_HOST) return WF__SIM_TO_HOST;
  const wf__sim_range *own = &stream->device->range;
  bool inside = wf__sim_in_range(own, t->dst) && wf__sim_in_range(own, t->src);
  return inside ? WF__SIM_COMPUTE : WF__SIM_TO_HOST;
}

/* Queues a copy of `bytes` between host addresses, for the transfer or a piece of it. */
static wf_status push_copy(wf__sim_stream *stream, const wf_transfer *t, void *dst, const void *src, size_t bytes,
                           int staging, bool fails) {
  wf__sim_item *item = wf__sim_push_begin(stream);
  if (!item) return wf__self.pending;
  wf__sim_engine_kind engine = engine_of(stream, t);
  item->kind = WF__SIM_COPY;
  item->fails = fails;
  item->as.copy = (wf__sim_copy){.dst = dst,
                                 .src = src,
                                 .bytes = bytes,
                                 .engine = (uint8_t)engine,
                                 .link = engine != WF__SIM_COMPUTE,
                                 .staging = staging,
                                 .tag = t->tag};
  item->as.copy.tag.bytes_read = item->as.copy.tag.bytes_written = (int64_t)bytes;
  wf__sim_push_end(stream);
  return WF_OK;
}

static size_t piece_at(size_t offset, size_t bytes) {
  return bytes - offset < WF__SIM_BUFFER_BYTES ? bytes - offset : WF__SIM_BUFFER_BYTES;
}

static wf_status from_pageable(wf__sim_stream *stream, const wf_transfer *t, bool fails) {
  wf__sim_device *device = stream->device;
  char *dst = wf__sim_memory_at(t->dst);
  for (size_t at = 0, n; at < t->bytes; at += n) {
    n = piece_at(at, t->bytes);
    int i = acquire_buffer(device, true);
    if (i == NO_BUFFER) return wf__self.pending;
    stage(stream, &t->tag, device->buffer[i], (const char *)t->src + at, n);
    if (push_copy(stream, t, dst + at, device->buffer[i], n, i, fails) != WF_OK) {
      release_buffer(device, i);
      return wf__self.pending;
    }
  }
  return WF_OK;
}

/* A piece on its way to pageable memory. */
typedef struct piece {
  int buffer;
  size_t offset, bytes;
  wf__sim_fence *arrived;
} piece;

static bool push_piece(wf__sim_stream *stream, const wf_transfer *t, piece *p, bool fails) {
  const char *src = wf__sim_memory_at(t->src);
  wf__sim_device *device = stream->device;
  if (push_copy(stream, t, device->buffer[p->buffer], src + p->offset, p->bytes, NO_BUFFER, fails) != WF_OK) {
    release_buffer(device, p->buffer);
    return false;
  }
  p->arrived = wf__sim_push_record(stream);
  if (p->arrived) return true;
  pthread_mutex_lock(&wf__sim_lock); /* the copy is queued and writes to the buffer */
  wf__sim_wait_stream(stream);
  pthread_mutex_unlock(&wf__sim_lock);
  release_buffer(device, p->buffer);
  return false;
}

static void receive_piece(wf__sim_stream *stream, const wf_transfer *t, const piece *p) {
  wf__sim_device *device = stream->device;
  int64_t start = wf__tracing() ? wf_clock_ns() : 0;
  pthread_mutex_lock(&wf__sim_lock);
  wf__sim_wait_fence(p->arrived);
  wf__sim_fence_release(p->arrived);
  pthread_mutex_unlock(&wf__sim_lock);
  wf__trace_wait("copy to pageable memory", wf__sim_id(device), start);
  stage(stream, &t->tag, (char *)t->dst + p->offset, device->buffer[p->buffer], p->bytes);
  release_buffer(device, p->buffer);
}

static wf_status to_pageable(wf__sim_stream *stream, const wf_transfer *t, bool fails) {
  piece pieces[WF__SIM_BUFFERS];
  size_t first = 0, pushed = 0, at = 0;
  bool ok = true;
  while ((ok && at < t->bytes) || first < pushed) {
    bool may_push = ok && at < t->bytes && pushed - first < WF__SIM_BUFFERS;
    int i = may_push ? acquire_buffer(stream->device, first == pushed) : NO_BUFFER;
    if (i != NO_BUFFER) {
      piece *p = &pieces[pushed % WF__SIM_BUFFERS];
      *p = (piece){.buffer = i, .offset = at, .bytes = piece_at(at, t->bytes)};
      ok = push_piece(stream, t, p, fails);
      if (ok) pushed++;
      at += p->bytes;
    } else if (first < pushed) {
      receive_piece(stream, t, &pieces[first++ % WF__SIM_BUFFERS]);
    } else {
      ok = false;
    }
  }
  return ok ? wf__sim_take_fault(stream->device) : wf__self.pending;
}

/* ---- the call ------------------------------------------------------------------------------------------------------ */

static bool on_device(const void *address, size_t bytes) {
  return wf__sim_on_device(address) && wf__sim_on_device((const char *)address + bytes - 1);
}

static wf_status check_sides(const wf__sim_device *device, const wf_transfer *t) {
  bool dst_there = t->direction != WF_DEVICE_TO_HOST, src_there = t->direction != WF_HOST_TO_DEVICE;
  WF__CHECK(on_device(t->dst, t->bytes) == dst_there, WF_DEVICE,
            "sim:%d: the destination of a transfer %s device memory", device->index, dst_there ? "isn't" : "is");
  WF__CHECK(on_device(t->src, t->bytes) == src_there, WF_DEVICE, "sim:%d: the source of a transfer %s device memory",
            device->index, src_there ? "isn't" : "is");
  return WF_OK;
}

wf_status wf__sim_transfer(wf__sim_stream *stream, const wf_transfer *transfer) {
  const wf_transfer *t = transfer;
  wf__sim_device *device = stream->device;
  WF__TRY(check_sides(device, t));
  pthread_mutex_lock(&wf__sim_lock);
  bool fails = ++device->copies == device->settings.fail_copy;
  pthread_mutex_unlock(&wf__sim_lock);
  bool to = t->direction != WF_DEVICE_TO_HOST, from = t->direction != WF_HOST_TO_DEVICE;
  if (to && from)
    return push_copy(stream, t, wf__sim_memory_at(t->dst), wf__sim_memory_at(t->src), t->bytes, NO_BUFFER, fails);
  if (to && !t->host_pinned) return from_pageable(stream, t, fails);
  if (from && !t->host_pinned) return to_pageable(stream, t, fails);
  void *dst = to ? wf__sim_memory_at(t->dst) : t->dst;
  const void *src = from ? wf__sim_memory_at(t->src) : t->src;
  return push_copy(stream, t, dst, src, t->bytes, NO_BUFFER, fails);
}
