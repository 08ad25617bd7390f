/* Streams and events as counters. */
#ifndef WF_DRYRUN_CUDA_STREAMS_H
#define WF_DRYRUN_CUDA_STREAMS_H

#include "dryrun/stand_in.h"

/* A stream that another one waits for, up to a point. */
typedef struct wf__dry_wait {
  uint64_t id, position, at; /* of the stream waited for; the waiting stream's own position */
} wf__dry_wait;

struct wf__dry_stream {
  uint64_t id;
  int device, priority;
  unsigned flags;
  uint64_t issued, done; /* events recorded so far; those known to be finished */
  _Atomic(wf__dry_graph *) capture;
  uint64_t capture_id; /* of this capture: another each time, even into the same graph */
  bool began_capture;  /* not one that joined by an event */
  struct {
    uint64_t happenings; /* when it began */
    int64_t since;       /* nanoseconds */
    int times;
  } asked; /* in vain whether it is done, while nothing else happened */
  wf__dry_wait *waits;
  size_t wait_count, wait_room;
  struct wf__dry_stream *next; /* in the list of all */
};

/* Everything on every stream of the device is done. */
void wf__dry_device_done(int device);
/* What was given to the stream up to a position is done, and whatever that waited for. */
void wf__dry_done_until(uint64_t stream_id, uint64_t position);
uint64_t wf__dry_stream_issue(wf__dry_stream *stream);
bool wf__dry_is_done(uint64_t stream_id, uint64_t position);
void wf__dry_stream_wait(wf__dry_stream *stream, uint64_t other, uint64_t position);
/* The program asks whether it is done. Late events make it wait, but not for ever: who asks again and again and gives the devices nothing to do
 * meanwhile would wait for it without asking the driver to. */
bool wf__dry_asked_done(uint64_t stream_id, uint64_t position);
bool wf__dry_asked_stream_done(wf__dry_stream *stream);
/* Begins one into a graph; false: the stream is in one. */
bool wf__dry_begin_capture(wf__dry_stream *stream, wf__dry_graph *graph);
/* The capture that a stream is in; 0: none. */
uint64_t wf__dry_capture_id(const wf__dry_stream *stream);
/* The stream joins that capture, if it hasn't ended. */
void wf__dry_join_capture(wf__dry_stream *stream, uint64_t id);
/* Ends the capture into a graph on whatever streams joined it. */
void wf__dry_end_capture(const wf__dry_graph *graph);

#endif
