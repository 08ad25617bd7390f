/* Devices as the library uses them: one object a device with its allocators and default stream. The public face is weft/device.h. */
#ifndef WF_DEVICE_DEVICE_H
#define WF_DEVICE_DEVICE_H

#include <pthread.h>
#include <string.h>
#include <weft/device.h>
#include <weft/memory.h>
#include <weft/sys/allocator.h>
#include <weft/sys/backend.h>
#include "base/error.h"

#define WF__DEVICE_TYPES 3
#define WF__DEVICES_PER_TYPE 16
#define WF__DEVICE_SLOTS (WF__DEVICE_TYPES * WF__DEVICES_PER_TYPE)

typedef struct wf__device {
  const wf_backend *backend;
  wf_device id;
  int slot;    /* small number of the device in this process */
  void *state; /* the backend's object */
  wf_stream *default_stream;
  struct wf__pool *memory; /* caching allocator of device memory with its lock */
  struct wf__pool *pinned; /* of pinned host memory, made at first use, kept by device 0 of each type; NULL for cpu */
  pthread_mutex_t lock;    /* over what follows, and the making of `pinned` */
  wf_stream **streams;     /* by id; NULL where a stream was freed */
  uint32_t stream_count;
} wf__device;

struct wf_stream {
  wf__device *device;
  void *state;
  uint32_t id; /* 0: the default stream */
};

/* Memory of one storage: where it lies and who takes it back. */
typedef struct wf__memory {
  void *address;
  wf_block *block; /* NULL: size 0 or foreign */
  struct wf__pool *pool;
  wf__device *device;
} wf__memory;

/* Opens the device at first use. */
wf__device *wf__device_open(wf_device id);
extern wf__device *wf__devices[WF__DEVICE_SLOTS]; /* registry.c; read without its lock, by acquire */
/* The open device, opening it at first use. NULL on error (WF_DEVICE); cpu fails only when host memory is out at its first use, or its
 * settings can't be read. */
static inline wf__device *wf__device_get(wf_device id) {
  bool known = (unsigned)id.type < WF__DEVICE_TYPES && (unsigned)id.index < WF__DEVICES_PER_TYPE;
  wf__device *d =
      known ? __atomic_load_n(&wf__devices[id.type * WF__DEVICES_PER_TYPE + id.index], __ATOMIC_ACQUIRE) : NULL;
  return WF__LIKELY(d != NULL) ? d : wf__device_open(id);
}
/* The open device of a slot, NULL if none is open there. */
wf__device *wf__device_at(int slot);
/* The device whose pinned host memory serves cpu tensors: cuda:0 if there is one, else sim:0. NULL on error. */
wf__device *wf__device_accelerator(void);
/* Closes every open device and gives its memory back. No storage, stream or event of theirs may be left, and no other thread may use
 * one: for tests, and for whoever unloads the library. */
void wf__devices_close(void);
/* Memory for `bytes` on the device, or pinned host memory that serves it, for use on `stream` (NULL: the current one). bytes 0: all
 * NULL. */
wf_status wf__memory_new(wf__device *device, bool pinned, size_t bytes, wf_stream *stream, wf__memory *memory);
void wf__memory_free(wf__memory *memory);
/* The memory is used on `stream` as well: freed, it waits for what is queued there by then. Call it before the work is enqueued: it
 * fails when host memory is out. */
wf_status wf__memory_record_stream(wf__memory *memory, wf_stream *stream);
/* Marks who holds the block, for reports: a static string. Without it, the operator that asked for the memory. */
void wf__memory_set_owner(wf__memory *memory, const char *owner);
/* The pool of the device, or of the pinned memory that serves it; made at first use. NULL on error. */
struct wf__pool *wf__memory_pool(wf__device *device, bool pinned);

/* Makes the pool of device memory; frees both pools of a device whose work has ended. For the registry. */
wf_status wf__memory_open(wf__device *device);
void wf__memory_close(wf__device *device);

/* Current stream of this thread on the device. Never NULL. */
wf_stream *wf__stream_now(wf__device *device);
/* Registers a stream of the device under the lowest free id, so that cached memory of a freed stream finds a user again. */
wf_stream *wf__stream_make(wf__device *device, int priority);
/* Waits for the stream's work and takes it out, also as this thread's current one; the default stream goes as well. */
void wf__stream_destroy(wf_stream *stream);
/* wf_stream_wait without its checks: `stream` goes on after the event's last record. */
wf_status wf__event_wait(wf_stream *stream, wf_event *event);

/* Begins a plan of a family that uses neither param nor shape, which stay undefined, as do sizes, operands and strides until they are
 * set: to clear a whole plan (2 KiB) takes longer than a small operator does. */
static inline void wf__plan_begin(wf_plan *plan, wf_family family, int op, int outputs, int operands) {
  plan->family = (uint16_t)family;
  plan->op = (uint16_t)op;
  plan->outputs = (uint8_t)outputs;
  plan->operands = (uint8_t)operands;
  plan->ndim = plan->compute = 0;
  memset(plan->scalar, 0, sizeof plan->scalar);
  memset(plan->rank, 0, sizeof plan->rank);
  plan->tag = (wf_tag){0};
}
/* Enqueues the plan on the current stream of `device`: takes workspace if the backend wants any, stamps the tag's site, operator
 * and module, counts it. The caller has set family, op, operands, sizes, tag.kind (0: KERNEL), tag.implicit and bytes. */
wf_status wf__launch(wf__device *device, wf_plan *plan);
/* Moves bytes between host and device or between devices on the current stream of the device. blocking: wait until done. */
wf_status wf__transfer(wf__device *device, wf_transfer *transfer, bool blocking);
/* Waits for the current work of the device, so that the host may read or write its memory. Records the wait as `what`. */
wf_status wf__device_wait(wf__device *device, const char *what);

#endif
