/* Events: a position on a stream. They finish at once, or, with WEFT_DRY_EVENTS=lazy, when something waits for their stream. */
#include <time.h>
#include "dryrun/cuda_streams.h"
#include "dryrun/locks.h"

typedef struct event {
  uint64_t stream, position; /* position 0: never recorded */
  int64_t nanoseconds;       /* of the host's clock, when it was recorded */
  unsigned flags;
  int device;
  uint64_t capture; /* the one that it was recorded in; 0: none */
} event;

enum { WITHOUT_TIMING = 2 };

static event *event_of(void *handle) { return wf__dry_handle(handle, DRY_EVENT); }

/* One thread may record it while others ask for it. False: it is none. */
static bool read_event(void *handle, event *e) {
  const event *known = event_of(handle);
  if (!known) return false;
  wf__dry_lock(DRY_LOCK_EVENTS);
  *e = *known;
  wf__dry_unlock(DRY_LOCK_EVENTS);
  return true;
}

DRY_API int cudaEventCreateWithFlags(void **handle, unsigned flags) {
  if (!handle) return wf__dry_error(DRY_INVALID_VALUE);
  int code = wf__dry_use_device(wf__dry_current_device());
  if (code != DRY_OK) return code;
  event *e = wf__dry_handle_new(DRY_EVENT, sizeof *e);
  if (!e) return wf__dry_error(DRY_NO_MEMORY);
  e->flags = flags;
  e->device = wf__dry_current_device();
  *handle = e;
  return DRY_OK;
}
DRY_API int cudaEventCreate(void **handle) { return cudaEventCreateWithFlags(handle, 0); }
DRY_API int cudaEventDestroy(void *handle) {
  if (!event_of(handle)) return wf__dry_error(DRY_INVALID_HANDLE);
  wf__dry_handle_free(handle);
  return DRY_OK;
}

DRY_API int cudaEventRecord(void *handle, void *stream_handle) {
  event *e = event_of(handle);
  wf__dry_stream *stream = wf__dry_stream_of(stream_handle);
  int code = wf__dry_use_device(wf__dry_current_device());
  if (code != DRY_OK) return code;
  if (!e || !stream || stream->device != e->device) return wf__dry_error(DRY_INVALID_HANDLE);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  wf__dry_lock(DRY_LOCK_EVENTS);
  e->nanoseconds = now.tv_sec * 1000000000 + now.tv_nsec;
  e->capture = wf__dry_capture_id(stream);
  e->stream = stream->id;
  e->position = wf__dry_stream_issue(stream);
  wf__dry_unlock(DRY_LOCK_EVENTS);
  return DRY_OK;
}
DRY_API int cudaEventRecordWithFlags(void *handle, void *stream, unsigned flags) {
  return cudaEventRecord(handle, stream);
}

DRY_API int cudaEventQuery(void *handle) {
  event e;
  int code = wf__dry_use_device(wf__dry_current_device());
  if (code != DRY_OK) return code;
  if (!read_event(handle, &e)) return wf__dry_error(DRY_INVALID_HANDLE);
  return !e.position || wf__dry_asked_done(e.stream, e.position) ? DRY_OK : wf__dry_error(DRY_NOT_READY);
}

/* DistributedDataParallel times its own parts by events of the step before, which it waits for in the first ten iterations and in each hundredth: a steady
 * state has next to none of these waits, while the few steps of a dry run have nothing but. */
static bool is_of_ddp_timers(void) {
  static const char *const timers[] = {"c10d6Logger18calculate_avg_time", NULL};
  return wf__dry_called_by(timers, 6);
}

DRY_API int cudaEventSynchronize(void *handle) {
  event e;
  int code = wf__dry_use_device(wf__dry_current_device());
  if (code != DRY_OK) return code;
  if (!read_event(handle, &e)) return wf__dry_error(DRY_INVALID_HANDLE);
  if (is_of_ddp_timers())
    wf__dry_limit("cudaEventSynchronize by DistributedDataParallel's timers",
                  "it waits for the step before in the first 10 iterations and in each 100th; not counted as waits");
  else
    wf__dry_count(
        &(wf__dry_happening){.kind = "sync", .what = "cudaEventSynchronize", .device = e.device, .blocking = true});
  if (e.position) wf__dry_done_until(e.stream, e.position);
  return DRY_OK;
}

/* Time is the host's: no kernel ran. */
DRY_API int cudaEventElapsedTime(float *milliseconds, void *from, void *to) {
  event a, b;
  if (!read_event(from, &a) || !read_event(to, &b) || !a.position || !b.position ||
      ((a.flags | b.flags) & WITHOUT_TIMING))
    return wf__dry_error(DRY_INVALID_HANDLE);
  if (!wf__dry_is_done(a.stream, a.position) || !wf__dry_is_done(b.stream, b.position))
    return wf__dry_error(DRY_NOT_READY);
  *milliseconds = (float)((double)(b.nanoseconds - a.nanoseconds) / 1e6);
  if (!is_of_ddp_timers())
    wf__dry_limit("cudaEventElapsedTime",
                  "no kernel runs, so times are the host's; whatever chooses by time chooses arbitrarily");
  return DRY_OK;
}

DRY_API int cudaEventElapsedTime_v2(float *milliseconds, void *from, void *to) {
  return cudaEventElapsedTime(milliseconds, from, to);
}

DRY_API int cudaStreamWaitEvent(void *stream_handle, void *handle, unsigned flags) {
  event e;
  wf__dry_stream *stream = wf__dry_stream_of(stream_handle);
  if (!read_event(handle, &e) || !stream) return wf__dry_error(DRY_INVALID_HANDLE);
  if (e.capture) wf__dry_join_capture(stream, e.capture);
  if (e.position) wf__dry_stream_wait(stream, e.stream, e.position);
  return DRY_OK;
}
