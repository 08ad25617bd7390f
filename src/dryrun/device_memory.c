/* Allocation by the runtime: device, pinned and managed memory, what is free, what a pointer is; stream-ordered allocation, which is at once
 * here. */
#include <string.h>
#include "dryrun/stand_in.h"

static void count_memory(const char *kind, const char *what, int device, size_t bytes) {
  wf__dry_count(&(wf__dry_happening){.kind = kind, .what = what, .device = device, .bytes = (int64_t)bytes});
}

static int get(void **address, size_t bytes, const char *what) {
  int device = wf__dry_current_device();
  if (!address) return wf__dry_error(DRY_INVALID_VALUE);
  int code = wf__dry_use_device(device);
  if (code == DRY_OK) code = wf__dry_device_get(device, bytes, address);
  if (code == DRY_OK && bytes) count_memory("malloc", what, device, bytes);
  return wf__dry_error(code);
}

static int give(void *address, const char *what) {
  wf__dry_range range;
  if (!address) return DRY_OK;
  if (!wf__dry_range_of(address, &range)) return wf__dry_error(DRY_INVALID_VALUE);
  int code = range.place == DRY_DEVICE ? wf__dry_device_give(address) : wf__dry_host_give(address);
  if (code == DRY_OK) count_memory("free", what, range.device, range.bytes);
  return wf__dry_error(code);
}

DRY_API int cudaMalloc(void **address, size_t bytes) { return get(address, bytes, "cudaMalloc"); }
/* The real one waits for the device first. */
DRY_API int cudaFree(void *address) { return give(address, "cudaFree"); }
DRY_API int cudaMallocAsync(void **address, size_t bytes, void *stream) {
  return wf__dry_stream_of(stream) ? get(address, bytes, "cudaMallocAsync") : wf__dry_error(DRY_INVALID_HANDLE);
}
DRY_API int cudaMallocFromPoolAsync(void **address, size_t bytes, void *pool, void *stream) {
  return cudaMallocAsync(address, bytes, stream);
}
DRY_API int cudaFreeAsync(void *address, void *stream) { return give(address, "cudaFreeAsync"); }

DRY_API int cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height) {
  if (!pitch) return wf__dry_error(DRY_INVALID_VALUE);
  *pitch = (width + 511) / 512 * 512;
  return get(address, *pitch * height, "cudaMallocPitch");
}

static int get_host(void **address, size_t bytes, wf__dry_place place, const char *what) {
  int device = wf__dry_current_device();
  if (!address) return wf__dry_error(DRY_INVALID_VALUE);
  int code = wf__dry_use_device(device);
  if (code == DRY_OK) code = wf__dry_host_get(bytes, place, device, address);
  if (code == DRY_OK && bytes) count_memory("malloc", what, device, bytes);
  return wf__dry_error(code);
}

DRY_API int cudaHostAlloc(void **address, size_t bytes, unsigned flags) {
  return get_host(address, bytes, DRY_PINNED, "cudaHostAlloc");
}
DRY_API int cudaMallocHost(void **address, size_t bytes) {
  return get_host(address, bytes, DRY_PINNED, "cudaHostAlloc");
}
DRY_API int cudaMallocManaged(void **address, size_t bytes, unsigned flags) {
  wf__dry_limit("cudaMallocManaged", "managed memory isn't counted as the device's");
  return get_host(address, bytes, DRY_MANAGED, "cudaMallocManaged");
}
DRY_API int cudaFreeHost(void *address) { return give(address, "cudaFreeHost"); }
DRY_API int cudaHostRegister(void *address, size_t bytes, unsigned flags) {
  int code = wf__dry_use_device(wf__dry_current_device());
  if (code == DRY_OK) code = wf__dry_host_register(address, bytes);
  if (code == DRY_OK) count_memory("malloc", "cudaHostRegister", wf__dry_current_device(), bytes);
  return wf__dry_error(code);
}
DRY_API int cudaHostUnregister(void *address) { return wf__dry_error(wf__dry_host_unregister(address)); }

DRY_API int cudaHostGetDevicePointer(void **device, void *host, unsigned flags) {
  wf__dry_range range;
  if (!device || !wf__dry_range_of(host, &range)) return wf__dry_error(DRY_INVALID_VALUE);
  *device = host;
  return DRY_OK;
}

DRY_API void weft_dry_memory(int number, size_t *left, size_t *total) {
  const wf__dry_settings *s = wf__dry_settings_get();
  int device = wf__dry_device_of(number);
  int64_t used = device < 0 ? 0 : wf__dry_device_used(device);
  if (device >= 0 && wf__dry_has_context(device)) used += s->gpu.context_bytes;
  int64_t now = s->memory - used;
  *left = now > 0 ? (size_t)now : 0;
  *total = (size_t)s->memory;
}
DRY_API int cudaMemGetInfo(size_t *left, size_t *total) {
  size_t now, all;
  int device = wf__dry_current_device(), code = wf__dry_use_device(device);
  if (code != DRY_OK) return code;
  weft_dry_memory(wf__dry_number(device), &now, &all);
  if (left) *left = now;
  if (total) *total = all;
  return DRY_OK;
}

/* cudaPointerAttributes. */
typedef struct pointer_attributes {
  int type; /* 0 unregistered, 1 host, 2 device, 3 managed */
  int device;
  void *on_device, *on_host;
} pointer_attributes;

DRY_API int cudaPointerGetAttributes(pointer_attributes *attributes, const void *address) {
  static const int types[] = {[DRY_UNKNOWN] = 0, [DRY_PINNED] = 1, [DRY_DEVICE] = 2, [DRY_MANAGED] = 3};
  if (!attributes) return wf__dry_error(DRY_INVALID_VALUE);
  wf__dry_range range = {.device = -1};
  bool known = wf__dry_range_of(address, &range);
  *attributes = (pointer_attributes){
      .type = types[range.place],
      .device = range.device,
      .on_device = known ? (void *)(uintptr_t)address : NULL,
      .on_host = known && range.place == DRY_DEVICE ? NULL : (void *)(uintptr_t)address,
  };
  return DRY_OK;
}

/* ---- memory pools: one a device, which is only a name ---- */

static char pools[DRY_DEVICES];

/* One that the program made is taken for the current device's. */
static int device_of_pool(const void *pool) {
  const char *p = pool;
  return p >= pools && p < pools + DRY_DEVICES ? (int)(p - pools) : wf__dry_current_device();
}

DRY_API int cudaDeviceGetDefaultMemPool(void **pool, int device) {
  if (device < 0 || device >= wf__dry_settings_get()->devices) return wf__dry_error(DRY_INVALID_DEVICE);
  *pool = &pools[device];
  return DRY_OK;
}
DRY_API int cudaDeviceGetMemPool(void **pool, int device) { return cudaDeviceGetDefaultMemPool(pool, device); }
DRY_API int cudaMemPoolSetAttribute(void *pool, int attribute, void *value) { return DRY_OK; }
DRY_API int cudaMemPoolGetAttribute(void *pool, int attribute, void *value) {
  uint64_t bytes = (uint64_t)wf__dry_device_used(device_of_pool(pool));
  if (attribute >= 5) memcpy(value, &bytes, sizeof bytes); /* reserved and used, now and at most */
  else memset(value, 0, sizeof(int));
  return DRY_OK;
}
DRY_API int cudaMemPoolSetAccess(void *pool, const void *descriptions, size_t count) { return DRY_OK; }
DRY_API int cudaMemPoolTrimTo(void *pool, size_t bytes) { return DRY_OK; }
DRY_API int cudaMemPoolCreate(void **pool, const void *properties) {
  *pool = wf__dry_token();
  return DRY_OK;
}
DRY_API int cudaMemPoolDestroy(void *pool) { return DRY_OK; }
