/* Streams of the emulated accelerator: rings of items, the fences that order them, and host threads that wait.
 *
 * A stream is in one state at a time: empty, due (its first item belongs to an engine), or blocked (its first item waits for a fence).
 * settle() brings a stream there from wherever a push, a finished item or a passed fence left it. A stream holds at most RING_MOST
 * items: who pushes more waits, as a launch does on a real accelerator. Pushing allocates nothing once the ring has grown. */
#include "backend/sim/sim.h"

#include <string.h>

#include "base/host.h"
#include "trace/trace.h"

#define RING_LEAST 16
#define RING_MOST 1024

pthread_mutex_t wf__sim_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t pushed; /* items so far, of all streams */
static wf__sim_waiter *waiters;

static wf__sim_item *first_item(const wf__sim_stream *s) { return &s->ring[s->first]; }

/* ---- host threads that wait ---------------------------------------------------------------------------------------- */

bool wf__sim_wait(wf__sim_waiter *waiter) {
  if (waiter->device->stopped || waiter->ready(waiter)) return false;
  pthread_cond_init(&waiter->wake, NULL);
  waiter->next = waiters;
  waiters = waiter;
  while (!waiter->woken) pthread_cond_wait(&waiter->wake, &wf__sim_lock);
  pthread_cond_destroy(&waiter->wake);
  return true;
}

void wf__sim_wake(void) {
  for (wf__sim_waiter **at = &waiters; *at;) {
    wf__sim_waiter *w = *at;
    if (w->device->stopped || w->ready(w)) {
      *at = w->next;
      w->woken = true;
      pthread_cond_signal(&w->wake);
    } else {
      at = &w->next;
    }
  }
}

/* Items of a stream are done in order, so its first one tells how far it is. */
static bool passed(const wf__sim_stream *s, uint64_t sequence) {
  return !s->count || first_item(s)->sequence > sequence;
}

static bool stream_passed(const wf__sim_waiter *w) { return passed(w->what, w->sequence); }
static bool device_passed(const wf__sim_waiter *w) {
  for (const wf__sim_stream *s = w->device->streams; s; s = s->next)
    if (!passed(s, w->sequence)) return false;
  return true;
}
static bool fence_passed(const wf__sim_waiter *w) { return ((const wf__sim_fence *)w->what)->done; }
static bool has_room(const wf__sim_waiter *w) { return ((const wf__sim_stream *)w->what)->count < RING_MOST; }

bool wf__sim_stream_idle(const wf__sim_stream *stream) { return !stream->count; }

void wf__sim_wait_stream(wf__sim_stream *stream) {
  wf__sim_wait(&(wf__sim_waiter){.device = stream->device, .ready = stream_passed, .what = stream, .sequence = pushed});
}
bool wf__sim_wait_device(wf__sim_device *device) {
  return wf__sim_wait(&(wf__sim_waiter){.device = device, .ready = device_passed, .sequence = pushed});
}
void wf__sim_wait_fence(wf__sim_fence *fence) {
  fence->refs++;
  wf__sim_wait(&(wf__sim_waiter){.device = fence->device, .ready = fence_passed, .what = fence});
  wf__sim_fence_release(fence);
}

/* ---- fences -------------------------------------------------------------------------------------------------------- */

static wf__sim_fence *fence_new(wf__sim_device *device, int refs) {
  wf__sim_fence *f = device->spare;
  if (f) device->spare = f->next;
  else if (!(f = wf__malloc(sizeof *f))) return NULL;
  *f = (wf__sim_fence){.device = device, .refs = refs};
  return f;
}

void wf__sim_fence_release(wf__sim_fence *fence) {
  if (!fence || --fence->refs) return;
  fence->next = fence->device->spare;
  fence->device->spare = fence;
}

void wf__sim_drop_fences(wf__sim_device *device) {
  while (device->spare) {
    wf__sim_fence *f = device->spare;
    device->spare = f->next;
    wf__release(f);
  }
}

/* ---- order --------------------------------------------------------------------------------------------------------- */

static void make_due(wf__sim_stream *s) {
  const wf__sim_item *item = first_item(s);
  wf__sim_engine *engine = &s->device->engine[item->kind == WF__SIM_KERNEL ? WF__SIM_COMPUTE : item->as.copy.engine];
  int rank = !s->high;
  s->due = true;
  s->next_due = NULL;
  if (engine->last[rank]) engine->last[rank]->next_due = s;
  else engine->first[rank] = s;
  engine->last[rank] = s;
  if (engine->idle) pthread_cond_signal(&engine->wake);
}

static void pop(wf__sim_stream *s) {
  s->first = (s->first + 1) % s->capacity;
  s->count--;
}

static void block_on(wf__sim_stream *s, wf__sim_fence *fence) {
  s->blocked = true;
  s->next_waiting = fence->waiting;
  fence->waiting = s;
}

/* Marks the fence passed; the streams that waited for it come before `then` in the returned list. */
static wf__sim_stream *pass_fence(wf__sim_fence *fence, wf__sim_stream *then) {
  fence->done = true;
  fence->time_ns = wf_clock_ns();
  wf__sim_stream *released = fence->waiting, *last = NULL;
  fence->waiting = NULL;
  for (wf__sim_stream *s = released; s; s = s->next_waiting) {
    s->blocked = false;
    last = s;
  }
  wf__sim_fence_release(fence);
  if (!last) return then;
  last->next_waiting = then;
  return released;
}

/* Settles records and waits at the head of the stream, and of the streams that this sets free, until each is empty, due or blocked. */
static void settle(wf__sim_stream *s) {
  s->next_waiting = NULL;
  for (wf__sim_stream *todo = s; todo;) {
    s = todo;
    todo = s->next_waiting;
    while (s->count && !s->due && !s->blocked) {
      wf__sim_item *item = first_item(s);
      if (item->kind == WF__SIM_RECORD) {
        wf__sim_fence *fence = item->as.fence;
        pop(s);
        todo = pass_fence(fence, todo);
      } else if (item->kind != WF__SIM_WAIT) {
        make_due(s);
      } else if (item->as.fence->done) {
        wf__sim_fence_release(item->as.fence);
        pop(s);
      } else {
        block_on(s, item->as.fence);
      }
    }
  }
}

void wf__sim_finish(wf__sim_stream *stream) {
  pop(stream);
  stream->due = false;
  settle(stream);
  wf__sim_wake();
}

/* ---- pushing ------------------------------------------------------------------------------------------------------- */

/* Room for one more item: grows the ring up to RING_MOST, then waits. False, with the error set, when there will be none. */
static bool make_room(wf__sim_stream *s) {
  if (s->count < s->capacity) return true;
  if (s->capacity < RING_MOST) {
    size_t grown = s->capacity ? 2 * s->capacity : RING_LEAST;
    wf__sim_item *ring = wf__malloc(grown * sizeof *ring);
    if (!ring) return false;
    for (size_t i = 0; i < s->count; i++) ring[i] = s->ring[(s->first + i) % s->capacity];
    wf__release(s->ring);
    s->ring = ring;
    s->first = 0;
    s->capacity = grown;
    return true;
  }
  int64_t start = wf__tracing() ? wf_clock_ns() : 0;
  while (s->count == s->capacity && !s->device->stopped)
    wf__sim_wait(&(wf__sim_waiter){.device = s->device, .ready = has_room, .what = s});
  wf__trace_wait("full stream", wf__sim_id(s->device), start);
  return true;
}

wf__sim_item *wf__sim_push_begin(wf__sim_stream *stream) {
  pthread_mutex_lock(&wf__sim_lock);
  bool room = make_room(stream);
  if (room && !stream->device->stopped) {
    wf__sim_item *item = &stream->ring[(stream->first + stream->count) % stream->capacity];
    item->fails = false;
    return item;
  }
  pthread_mutex_unlock(&wf__sim_lock);
  if (room) wf__fail(WF_DEVICE, "device sim:%d has been shut down: the process is ending", stream->device->index);
  return NULL;
}

void wf__sim_push_end(wf__sim_stream *stream) {
  stream->ring[(stream->first + stream->count) % stream->capacity].sequence = ++pushed;
  stream->count++;
  if (stream->count == 1) {
    settle(stream);
    wf__sim_wake();
  }
  pthread_mutex_unlock(&wf__sim_lock);
}

wf__sim_fence *wf__sim_push_record(wf__sim_stream *stream) {
  wf__sim_item *item = wf__sim_push_begin(stream);
  if (!item) return NULL;
  wf__sim_fence *fence = fence_new(stream->device, 2);
  if (!fence) {
    pthread_mutex_unlock(&wf__sim_lock);
    return NULL;
  }
  item->kind = WF__SIM_RECORD;
  item->as.fence = fence;
  wf__sim_push_end(stream);
  return fence;
}

/* ---- streams ------------------------------------------------------------------------------------------------------- */

wf__sim_stream *wf__sim_stream_new(wf__sim_device *device, int priority, uint32_t id) {
  wf__sim_stream *s = wf__calloc(1, sizeof *s);
  if (!s) return NULL;
  s->device = device;
  s->id = id;
  s->high = priority < 0;
  pthread_mutex_lock(&wf__sim_lock);
  s->next = device->streams;
  s->link = &device->streams;
  if (s->next) s->next->link = &s->next;
  device->streams = s;
  pthread_mutex_unlock(&wf__sim_lock);
  return s;
}

void wf__sim_stream_free(wf__sim_stream *stream) {
  pthread_mutex_lock(&wf__sim_lock);
  wf__sim_wait_stream(stream);
  if (stream->device->stopped) { /* its last item may still be running, and the process is ending */
    pthread_mutex_unlock(&wf__sim_lock);
    return;
  }
  *stream->link = stream->next;
  if (stream->next) stream->next->link = stream->link;
  pthread_mutex_unlock(&wf__sim_lock);
  wf__release(stream->ring);
  wf__release(stream);
}
