/* The emulated accelerator, as its files share it.
 *
 *   sim_settings.c  what WEFT_SIM says         sim_space.c     device addresses and the memory behind them
 *   sim_queue.c     streams, order, waiting    sim_engine.c    the threads that run what is due, and the link model
 *   sim_transfer.c  staging of pageable memory sim_backend.c   opening, closing, the device table
 *
 * Work lies in a ring of items for each stream. Three engines a device, one thread each, take the streams whose first item is theirs:
 * kernels, copies to the device, copies to the host. Records and waits need no engine; whoever makes them the first item settles them
 * under the lock. One lock serves all devices: events order streams across devices, and it is never held while anything runs. */
#ifndef WF_BACKEND_SIM_SIM_H
#define WF_BACKEND_SIM_SIM_H

#include <pthread.h>
#include <weft/sys/backend.h>
#include "backend/sim/sim_settings.h"

typedef struct wf__sim_device wf__sim_device;
typedef struct wf__sim_stream wf__sim_stream;

extern pthread_mutex_t wf__sim_lock;

/* ---- addresses (sim_space.c) --------------------------------------------------------------------------------------- */

/* The addresses of one device. Each has its memory at the same distance; an address that isn't in a segment has none. */
typedef struct wf__sim_range {
  uintptr_t base;
  size_t pages;       /* of WF__SIM_PAGE bytes */
  size_t limit, used; /* bytes in segments; the limit is what mem= says */
  uint8_t *taken;     /* by page */
} wf__sim_range;
#define WF__SIM_PAGE ((size_t)2 << 20)

/* Reserves addresses for all devices; the first device to open does it and the last to close undoes it. */
wf_status wf__sim_space_open(const wf__sim_settings *settings);
void wf__sim_space_close(void);
wf_status wf__sim_range_open(wf__sim_range *range, int device, const wf__sim_settings *settings);
void wf__sim_range_close(wf__sim_range *range);
/* WF_NO_MEMORY, without an error record, beyond the limit. Callers hold the lock. */
wf_status wf__sim_segment_get(wf__sim_range *range, size_t bytes, void **address);
void wf__sim_segment_give(wf__sim_range *range, void *address, size_t bytes);
bool wf__sim_in_range(const wf__sim_range *range, const void *address);
/* Whether it is an address of any device. */
bool wf__sim_on_device(const void *address);
/* Where the memory of a device address really lies. */
void *wf__sim_memory_at(const void *address);

/* ---- streams and order (sim_queue.c) ------------------------------------------------------------------------------- */

/* One record of an event: done when the stream has come to it. Shared by the event, the item, and whoever waits; counted. */
typedef struct wf__sim_fence {
  struct wf__sim_fence *next; /* in the device's list of spare ones */
  wf__sim_device *device;
  wf__sim_stream *waiting; /* streams whose first item waits for it */
  int refs;
  bool done;
  int64_t time_ns;
} wf__sim_fence;

typedef enum wf__sim_kind { WF__SIM_KERNEL, WF__SIM_COPY, WF__SIM_RECORD, WF__SIM_WAIT } wf__sim_kind;

/* A copy with host addresses on both sides. */
typedef struct wf__sim_copy {
  void *dst;
  const void *src;
  size_t bytes;
  uint8_t engine; /* wf__sim_engine_kind */
  bool link;      /* goes over the link, and takes as long as the model says */
  int staging;    /* staging buffer to give back afterwards; -1 none */
  wf_tag tag;
} wf__sim_copy;

typedef struct wf__sim_item {
  wf__sim_kind kind;
  bool fails;        /* by an injected fault */
  uint64_t sequence; /* in order of all pushes */
  union {
    wf__sim_fence *fence;
    wf__sim_copy copy;
    wf_plan plan;
  } as;
} wf__sim_item;

struct wf__sim_stream {
  wf__sim_device *device;
  uint32_t id;
  bool high;          /* goes before normal streams */
  bool due;           /* in an engine's list, or being run by it */
  bool blocked;       /* in a fence's list */
  wf__sim_item *ring; /* the first item stays until it is done */
  size_t first, count, capacity;
  wf__sim_stream *next_due, *next_waiting;
  wf__sim_stream *next, **link; /* in the device's list */
};

typedef enum wf__sim_engine_kind {
  WF__SIM_COMPUTE,
  WF__SIM_TO_DEVICE,
  WF__SIM_TO_HOST,
  WF__SIM_ENGINES
} wf__sim_engine_kind;

typedef struct wf__sim_engine {
  wf__sim_device *device;
  pthread_t thread;
  bool started, idle;
  pthread_cond_t wake;
  wf__sim_stream *first[2], *last[2]; /* due streams: high, normal */
} wf__sim_engine;

/* A host thread that sleeps until `ready` says yes. Lives on its stack. */
typedef struct wf__sim_waiter {
  struct wf__sim_waiter *next;
  wf__sim_device *device;
  bool (*ready)(const struct wf__sim_waiter *waiter);
  const void *what;
  uint64_t sequence;
  bool woken;
  pthread_cond_t wake;
} wf__sim_waiter;

wf__sim_stream *wf__sim_stream_new(wf__sim_device *device, int priority, uint32_t id);
/* Waits for the stream's work, then frees it; leaves it alone once the engines are stopped. */
void wf__sim_stream_free(wf__sim_stream *stream);
/* Takes the lock and gives the place for the next item, waiting while the stream is full; NULL, unlocked, with the error set. The
 * caller fills in kind and `as`, then pushes. */
wf__sim_item *wf__sim_push_begin(wf__sim_stream *stream);
/* Makes the item part of the stream and gives back the lock. */
void wf__sim_push_end(wf__sim_stream *stream);
/* Pushes a record of a new fence, which the caller gets with one reference; NULL on error. */
wf__sim_fence *wf__sim_push_record(wf__sim_stream *stream);
/* The rest is called with the lock held. */
void wf__sim_fence_release(wf__sim_fence *fence);
void wf__sim_drop_fences(wf__sim_device *device);
/* Waits until everything pushed so far on the stream, on all streams of the device, or up to the fence is done. True: it took a wait. */
void wf__sim_wait_stream(wf__sim_stream *stream);
bool wf__sim_wait_device(wf__sim_device *device);
void wf__sim_wait_fence(wf__sim_fence *fence);
bool wf__sim_stream_idle(const wf__sim_stream *stream);
bool wf__sim_wait(wf__sim_waiter *waiter);
/* Wakes the host threads whose wait is over. */
void wf__sim_wake(void);
/* The first item has been run: goes on with what follows. */
void wf__sim_finish(wf__sim_stream *stream);

/* ---- engines (sim_engine.c) ---------------------------------------------------------------------------------------- */

wf_status wf__sim_engines_start(wf__sim_device *device);
/* Ends the threads once what they run is done; what is queued behind is dropped, and waits for it return. */
void wf__sim_engines_stop(wf__sim_device *device);

/* ---- transfers (sim_transfer.c) ------------------------------------------------------------------------------------ */

#define WF__SIM_BUFFERS 4
#define WF__SIM_BUFFER_BYTES ((size_t)2 << 20)

wf_status wf__sim_transfer(wf__sim_stream *stream, const wf_transfer *transfer);
void wf__sim_buffers_free(wf__sim_device *device);

/* ---- the device (sim_backend.c) ------------------------------------------------------------------------------------ */

/* The first asynchronous fault since the last wait. */
typedef struct wf__sim_fault {
  wf_status status; /* WF_OK: none */
  const char *op;
  const void *site;
  char text[512], hint[512];
} wf__sim_fault;

struct wf__sim_device {
  int index;
  wf__sim_settings settings;
  wf__sim_range range;
  wf__sim_engine engine[WF__SIM_ENGINES];
  wf__sim_stream *streams;
  wf__sim_fence *spare;
  bool stopped;
  int64_t launches, copies, allocations; /* so far, for injected faults */
  wf__sim_fault fault;
  char *buffer[WF__SIM_BUFFERS]; /* staging memory, mapped when first needed */
  bool buffer_taken[WF__SIM_BUFFERS];
};

/* Keeps a fault for the next wait; the first one counts. With the lock held. */
void wf__sim_set_fault(wf__sim_device *device, const wf_tag *tag, wf_status status, const char *text, const char *hint);
/* Reports the fault and forgets it. While an error is pending on this thread it stays. */
wf_status wf__sim_take_fault(wf__sim_device *device);
wf_device wf__sim_id(const wf__sim_device *device);

#endif
