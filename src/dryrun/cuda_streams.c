/* Streams: which device and priority they have, how far they are, which graph they are captured into. Work is done at once; "how far" only matters
 * to events that are to finish late (WEFT_DRY_EVENTS=lazy). */
#include "dryrun/cuda_streams.h"

#include <time.h>
#include "base/host.h"
#include "dryrun/locks.h"
#include "dryrun/stand_in.h"

/* The default stream of each device: there from the start, constructors may use them. */
#define OWN(i) \
  { .id = (i) + 1, .device = (i) }
#define OWN4(i) OWN(i), OWN((i) + 1), OWN((i) + 2), OWN((i) + 3)
static wf__dry_stream own[DRY_DEVICES] = {OWN4(0), OWN4(4), OWN4(8), OWN4(12)};
static wf__dry_stream *others;
static uint64_t last_id = DRY_DEVICES, last_capture;
static __thread int current __attribute__((tls_model("initial-exec")));

int wf__dry_current_device(void) { return current; }

int wf__dry_set_device(int device) {
  if (device < 0 || device >= wf__dry_settings_get()->devices) return wf__dry_error(DRY_INVALID_DEVICE);
  current = device;
  return DRY_OK;
}

wf__dry_stream *wf__dry_stream_of(void *handle) {
  if ((uintptr_t)handle <= 2) return &own[current];
  return wf__dry_handle(handle, DRY_STREAM);
}

int wf__dry_stream_device(const wf__dry_stream *stream) { return stream->device; }
wf__dry_graph *wf__dry_capturing(const wf__dry_stream *stream) { return stream->capture; }

/* ---- how far they are; the caller holds the lock ---- */

static wf__dry_stream *by_id(uint64_t id) {
  if (id <= DRY_DEVICES) return id ? &own[id - 1] : NULL;
  wf__dry_stream *stream = others;
  while (stream && stream->id != id) stream = stream->next;
  return stream;
}

static void finish(wf__dry_stream *stream, uint64_t position) {
  if (stream->done >= position) return;
  stream->done = position;
  for (size_t i = 0; i < stream->wait_count;) {
    wf__dry_wait wait = stream->waits[i];
    if (wait.at > position) {
      i++;
      continue;
    }
    stream->waits[i] = stream->waits[--stream->wait_count];
    wf__dry_stream *other = by_id(wait.id);
    if (other) finish(other, wait.position);
    i = 0; /* what it waited for may wait for this one */
  }
}

/* Work was given since the last event, too: a position is taken for it, so that waits of now are passed. */
static void finish_all(wf__dry_stream *stream) {
  stream->issued++;
  finish(stream, stream->issued);
}

uint64_t wf__dry_stream_issue(wf__dry_stream *stream) {
  wf__dry_lock(DRY_LOCK_STREAMS);
  uint64_t position = ++stream->issued;
  if (!wf__dry_settings_get()->lazy_events) stream->done = position;
  wf__dry_unlock(DRY_LOCK_STREAMS);
  return position;
}

bool wf__dry_is_done(uint64_t id, uint64_t position) {
  wf__dry_lock(DRY_LOCK_STREAMS);
  const wf__dry_stream *stream = by_id(id);
  bool done = !stream || stream->done >= position;
  wf__dry_unlock(DRY_LOCK_STREAMS);
  return done;
}

void wf__dry_done_until(uint64_t id, uint64_t position) {
  wf__dry_lock(DRY_LOCK_STREAMS);
  wf__dry_stream *stream = by_id(id);
  if (stream) finish(stream, position);
  wf__dry_unlock(DRY_LOCK_STREAMS);
}

void wf__dry_stream_done(wf__dry_stream *stream) {
  wf__dry_lock(DRY_LOCK_STREAMS);
  finish_all(stream);
  wf__dry_unlock(DRY_LOCK_STREAMS);
}

void wf__dry_device_done(int device) {
  wf__dry_lock(DRY_LOCK_STREAMS);
  finish_all(&own[device]);
  for (wf__dry_stream *stream = others; stream; stream = stream->next)
    if (stream->device == device) finish_all(stream);
  wf__dry_unlock(DRY_LOCK_STREAMS);
}

void wf__dry_stream_wait(wf__dry_stream *stream, uint64_t other, uint64_t position) {
  if (!wf__dry_settings_get()->lazy_events || other == stream->id || wf__dry_is_done(other, position)) return;
  wf__dry_lock(DRY_LOCK_STREAMS);
  if (stream->wait_count == stream->wait_room) {
    size_t room = stream->wait_room ? stream->wait_room * 2 : 16;
    wf__dry_wait *more = wf__realloc(stream->waits, room * sizeof *more);
    if (!more) wf_error_take();
    else {
      stream->waits = more;
      stream->wait_room = room;
    }
  }
  if (stream->wait_count < stream->wait_room)
    stream->waits[stream->wait_count++] = (wf__dry_wait){other, position, stream->issued + 1};
  wf__dry_unlock(DRY_LOCK_STREAMS);
}

static bool asked_for_long(wf__dry_stream *stream) {
  enum { TIMES = 20, SECOND = 1000000000 };
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t at = (int64_t)now.tv_sec * SECOND + now.tv_nsec;
  uint64_t happenings = wf__dry_happenings();
  if (stream->asked.happenings != happenings || !stream->asked.times) {
    stream->asked.happenings = happenings;
    stream->asked.since = at;
    stream->asked.times = 0;
  }
  return ++stream->asked.times >= TIMES && at - stream->asked.since >= SECOND;
}

/* The caller holds the lock. */
static bool asked(wf__dry_stream *stream, uint64_t position) {
  if (stream->done < position && asked_for_long(stream)) finish(stream, position);
  return stream->done >= position;
}

bool wf__dry_asked_done(uint64_t id, uint64_t position) {
  wf__dry_lock(DRY_LOCK_STREAMS);
  wf__dry_stream *stream = by_id(id);
  bool done = !stream || asked(stream, position);
  wf__dry_unlock(DRY_LOCK_STREAMS);
  return done;
}

bool wf__dry_asked_stream_done(wf__dry_stream *stream) {
  wf__dry_lock(DRY_LOCK_STREAMS);
  bool done = asked(stream, stream->issued);
  wf__dry_unlock(DRY_LOCK_STREAMS);
  return done;
}

/* ---- capture ---- */

bool wf__dry_begin_capture(wf__dry_stream *stream, wf__dry_graph *graph) {
  wf__dry_lock(DRY_LOCK_STREAMS);
  bool begins = !stream->capture;
  if (begins) {
    stream->capture = graph;
    stream->capture_id = ++last_capture;
    stream->began_capture = true;
  }
  wf__dry_unlock(DRY_LOCK_STREAMS);
  return begins;
}

uint64_t wf__dry_capture_id(const wf__dry_stream *stream) {
  wf__dry_lock(DRY_LOCK_STREAMS);
  uint64_t id = stream->capture ? stream->capture_id : 0;
  wf__dry_unlock(DRY_LOCK_STREAMS);
  return id;
}

void wf__dry_join_capture(wf__dry_stream *stream, uint64_t id) {
  wf__dry_lock(DRY_LOCK_STREAMS);
  const wf__dry_stream *first = others;
  while (first && !(first->capture && first->capture_id == id)) first = first->next;
  for (int i = 0; !first && i < DRY_DEVICES; i++)
    if (own[i].capture && own[i].capture_id == id) first = &own[i];
  if (first && !stream->capture) {
    stream->capture = first->capture;
    stream->capture_id = id;
  }
  wf__dry_unlock(DRY_LOCK_STREAMS);
}

static void leave_capture(wf__dry_stream *stream, const wf__dry_graph *graph) {
  if (stream->capture != graph) return;
  stream->capture = NULL;
  stream->began_capture = false;
}

void wf__dry_end_capture(const wf__dry_graph *graph) {
  wf__dry_lock(DRY_LOCK_STREAMS);
  for (int i = 0; i < DRY_DEVICES; i++) leave_capture(&own[i], graph);
  for (wf__dry_stream *stream = others; stream; stream = stream->next) leave_capture(stream, graph);
  wf__dry_unlock(DRY_LOCK_STREAMS);
}

/* ---- the runtime's calls ---- */

DRY_API int cudaStreamCreateWithPriority(void **handle, unsigned flags, int priority) {
  if (!handle) return wf__dry_error(DRY_INVALID_VALUE);
  int code = wf__dry_use_device(current);
  if (code != DRY_OK) return code;
  wf__dry_stream *stream = wf__dry_handle_new(DRY_STREAM, sizeof *stream);
  if (!stream) return wf__dry_error(DRY_NO_MEMORY);
  wf__dry_lock(DRY_LOCK_STREAMS);
  stream->id = ++last_id;
  stream->device = current;
  stream->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
  stream->flags = flags;
  stream->next = others;
  others = stream;
  wf__dry_unlock(DRY_LOCK_STREAMS);
  *handle = stream;
  return DRY_OK;
}
DRY_API int cudaStreamCreateWithFlags(void **handle, unsigned flags) {
  return cudaStreamCreateWithPriority(handle, flags, 0);
}
DRY_API int cudaStreamCreate(void **handle) { return cudaStreamCreateWithPriority(handle, 0, 0); }

DRY_API int cudaStreamDestroy(void *handle) {
  wf__dry_stream *stream = wf__dry_handle(handle, DRY_STREAM);
  if (!stream) return wf__dry_error(DRY_INVALID_HANDLE);
  wf__dry_lock(DRY_LOCK_STREAMS);
  wf__dry_stream **link = &others;
  while (*link && *link != stream) link = &(*link)->next;
  if (*link) *link = stream->next;
  wf__dry_unlock(DRY_LOCK_STREAMS);
  wf__release(stream->waits);
  wf__dry_handle_free(stream);
  return DRY_OK;
}

static void count_sync(const char *what, int device) {
  wf__dry_count(&(wf__dry_happening){.kind = "sync", .what = what, .device = device, .blocking = true});
}

DRY_API int cudaStreamSynchronize(void *handle) {
  wf__dry_stream *stream = wf__dry_stream_of(handle);
  int code = wf__dry_use_device(current);
  if (code != DRY_OK) return code;
  if (!stream) return wf__dry_error(DRY_INVALID_HANDLE);
  if (stream->capture) return wf__dry_error(DRY_CAPTURE_UNSUPPORTED);
  count_sync("cudaStreamSynchronize", stream->device);
  wf__dry_stream_done(stream);
  return DRY_OK;
}

DRY_API int cudaDeviceSynchronize(void) {
  int code = wf__dry_use_device(current);
  if (code != DRY_OK) return code;
  count_sync("cudaDeviceSynchronize", current);
  wf__dry_device_done(current);
  return DRY_OK;
}

DRY_API int cudaStreamQuery(void *handle) {
  wf__dry_stream *stream = wf__dry_stream_of(handle);
  int code = wf__dry_use_device(current);
  if (code != DRY_OK) return code;
  if (!stream) return wf__dry_error(DRY_INVALID_HANDLE);
  if (stream->capture) return wf__dry_error(DRY_CAPTURE_UNSUPPORTED);
  return wf__dry_asked_stream_done(stream) ? DRY_OK : wf__dry_error(DRY_NOT_READY);
}

DRY_API int cudaStreamGetPriority(void *handle, int *priority) {
  const wf__dry_stream *stream = wf__dry_stream_of(handle);
  if (!stream) return wf__dry_error(DRY_INVALID_HANDLE);
  *priority = stream->priority;
  return DRY_OK;
}
DRY_API int cudaStreamGetFlags(void *handle, unsigned *flags) {
  const wf__dry_stream *stream = wf__dry_stream_of(handle);
  if (!stream) return wf__dry_error(DRY_INVALID_HANDLE);
  *flags = stream->flags;
  return DRY_OK;
}
DRY_API int cudaStreamGetId(void *handle, unsigned long long *id) {
  const wf__dry_stream *stream = wf__dry_stream_of(handle);
  if (!stream) return wf__dry_error(DRY_INVALID_HANDLE);
  *id = stream->id;
  return DRY_OK;
}
DRY_API int cudaStreamGetDevice(void *handle, int *device) {
  const wf__dry_stream *stream = wf__dry_stream_of(handle);
  if (!stream) return wf__dry_error(DRY_INVALID_HANDLE);
  *device = stream->device;
  return DRY_OK;
}
DRY_API int cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return DRY_OK;
}

/* Callbacks run at once. */
DRY_API int cudaLaunchHostFunc(void *handle, void (*function)(void *), void *data) {
  const wf__dry_stream *stream = wf__dry_stream_of(handle);
  if (!stream) return wf__dry_error(DRY_INVALID_HANDLE);
  if (!stream->capture) function(data);
  return DRY_OK;
}
DRY_API int cudaStreamAddCallback(void *handle, void (*function)(void *, int, void *), void *data, unsigned flags) {
  if (!wf__dry_stream_of(handle)) return wf__dry_error(DRY_INVALID_HANDLE);
  function(handle, DRY_OK, data);
  return DRY_OK;
}
