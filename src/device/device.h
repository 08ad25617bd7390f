/* Devices as the library uses them: one object a device with its allocators and default stream. The public face is weft/device.h. */
#ifndef WF_DEVICE_DEVICE_H
#define WF_DEVICE_DEVICE_H

#include <weft/device.h>
#include <weft/memory.h>
#include <weft/sys/allocator.h>
#include <weft/sys/backend.h>
#include "base/error.h"

typedef struct wf__device {
  const wf_backend *backend;
  wf_device id;
  void *state;                /* the backend's object */
  wf_stream *default_stream;
  struct wf__pool *memory;    /* caching allocator of device memory with its lock */
  struct wf__pool *pinned;    /* of pinned host memory, made at first use; NULL for cpu */
} wf__device;

struct wf_stream {
  wf__device *device;
  void *state;
  uint32_t id;                /* 0: the default stream */
};

/* Memory of one storage: where it lies and who takes it back. */
typedef struct wf__memory {
  void *address;
  wf_block *block;            /* NULL: size 0 or foreign */
  struct wf__pool *pool;
} wf__memory;

/* The open device, opening it at first use. NULL on error (WF_DEVICE). cpu never fails. */
wf__device *wf__device_get(wf_device id);
/* Memory for `bytes` on the device, or pinned host memory that serves it, for use on `stream`. bytes 0: all NULL. */
wf_status wf__memory_new(wf__device *device, bool pinned, size_t bytes, wf_stream *stream, wf__memory *memory);
void wf__memory_free(wf__memory *memory);
void wf__memory_record_stream(wf__memory *memory, wf_stream *stream);
/* Marks who holds the block, for reports: a static string or a call site. */
void wf__memory_set_owner(wf__memory *memory, const void *owner);

/* Current stream of this thread on the device. Never NULL. */
wf_stream *wf__stream_now(wf__device *device);
/* Enqueues the plan on the current stream of `device`: takes workspace if the backend wants any, stamps the tag's site, operator
 * and module, counts it. The caller has set family, op, operands, sizes, tag.kind (0: KERNEL), tag.implicit and bytes. */
wf_status wf__launch(wf__device *device, wf_plan *plan);
/* Moves bytes between host and device or between devices on the current stream of the device. blocking: wait until done. */
wf_status wf__transfer(wf__device *device, wf_transfer *transfer, bool blocking);
/* Waits for the current work of the device, so that the host may read or write its memory. Records the wait as `what`. */
wf_status wf__device_wait(wf__device *device, const char *what);

#endif
