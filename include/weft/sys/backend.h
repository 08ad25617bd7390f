/* For authors of backends: the device table. A backend fills one wf_backend and registers it; start from backend/null. */
#ifndef WEFT_SYS_BACKEND_H
#define WEFT_SYS_BACKEND_H

#include <weft/device.h>
#include <weft/sys/plan.h>

WF_EXTERN_C_BEGIN

/** Whose memory a segment is. */
typedef enum wf_mem_kind {
  WF_MEM_DEVICE = 0, /* memory of the device: addresses that only the backend understands unless host_access */
  WF_MEM_PINNED = 1  /* host memory that the device copies from and to asynchronously */
} wf_mem_kind;

/** Which way a transfer goes. */
typedef enum wf_direction { WF_HOST_TO_DEVICE = 0, WF_DEVICE_TO_HOST = 1, WF_DEVICE_TO_DEVICE = 2 } wf_direction;

/** A move of `bytes` consecutive bytes between address spaces. Anything strided is a COPY plan on the device or is packed first. */
typedef struct wf_transfer {
  wf_direction direction;
  void *dst;
  const void *src;
  size_t bytes;
  bool
      host_pinned; /* the host side is pinned memory; else it is pageable, and the source is staged before the call returns */
  wf_tag tag;
} wf_transfer;

/** One kind of device. Slots return a status and, on failure, have set the error record (weft/sys needs no other report).
 *  `dev`, `stream`, `event` are the backend's own objects. Required unless marked optional. Thread: any. */
typedef struct wf_backend {
  uint32_t abi; /* WF_SYS_ABI */
  wf_device_type type;
  const char *name;  /* "cpu", "sim" */
  bool host_access;  /* WF_MEM_DEVICE addresses can be dereferenced by the host */
  bool asynchronous; /* launch returns before the work is done */
  bool emulated;     /* times measured on it are a model's, not a machine's: reports label them */

  int (*count)(void);
  wf_status (*open)(int index, void **dev);
  void (*close)(void *dev);
  size_t (*total_memory)(void *dev);
  /* What the device is, for reports: "emulated: 16 GiB, link pcie3x16". Writes at most `size` bytes. Optional. */
  void (*describe)(void *dev, char *buffer, size_t size);

  /* Raw segments; the caching allocator sits above. get: WF_NO_MEMORY when there is none, without an error record. give: waits for
   * queued work, which may still use device memory that was freed in stream order. */
  wf_status (*segment_get)(void *dev, wf_mem_kind kind, size_t bytes, void **address);
  void (*segment_give)(void *dev, wf_mem_kind kind, void *address, size_t bytes);

  /* id: the number by which trace events name the stream, 0 for the default stream, which is made first. */
  wf_status (*stream_new)(void *dev, int priority, uint32_t id, void **stream);
  void (*stream_free)(void *dev, void *stream);
  wf_status (*stream_sync)(void *dev, void *stream); /* reports an earlier asynchronous fault */
  bool (*stream_query)(void *dev, void *stream);
  wf_status (*device_sync)(void *dev);

  wf_status (*event_new)(void *dev, bool timing, void **event);
  void (*event_free)(void *dev, void *event);
  wf_status (*event_record)(void *dev, void *event, void *stream);
  bool (*event_query)(void *dev, void *event);
  wf_status (*event_sync)(void *dev, void *event);
  wf_status (*stream_wait)(void *dev, void *stream, void *event);
  wf_status (*event_elapsed_ns)(void *dev, void *start, void *end, int64_t *ns);

  /* Bytes of workspace that the plan wants as one more operand behind its own; 0 none. Optional. */
  size_t (*workspace)(void *dev, const wf_plan *plan);
  wf_status (*launch)(void *dev, void *stream, const wf_plan *plan);
  wf_status (*transfer)(void *dev, void *stream, const wf_transfer *transfer);
} wf_backend;

/** Registers a backend for its type; the table must stay. WF_VALUE when the ABI number differs or a required slot is empty. */
WF_API wf_status wf_backend_register(const wf_backend *backend);

WF_EXTERN_C_END
#endif
