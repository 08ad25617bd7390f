/* Devices as the runtime and the driver hand them out: how many, which is current, contexts (one a device), peers, versions. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "dryrun/stand_in.h"

static bool is_device(int device) { return device >= 0 && device < wf__dry_settings_get()->devices; }

/* ---- runtime ---- */

DRY_API int cudaGetDeviceCount(int *count) {
  wf__dry_python_line(); /* programs ask this early: time to learn how frames are read */
  wf__dry_check_imports();
  *count = wf__dry_settings_get()->devices;
  return *count ? DRY_OK : wf__dry_error(DRY_NO_DEVICE);
}
DRY_API int cudaGetDevice(int *device) {
  *device = wf__dry_current_device();
  return DRY_OK;
}
DRY_API int cudaSetDevice(int device) {
  wf__dry_python_line(); /* likewise */
  return wf__dry_set_device(device);
}
DRY_API int cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
  return is_device(device) ? DRY_OK : wf__dry_error(DRY_INVALID_DEVICE);
}
DRY_API int cudaSetDeviceFlags(unsigned flags) { return DRY_OK; }
DRY_API int cudaGetDeviceFlags(unsigned *flags) {
  *flags = 0;
  return DRY_OK;
}
DRY_API int cudaDeviceReset(void) { return DRY_OK; }
DRY_API int cudaDeviceSetLimit(int limit, size_t value) { return DRY_OK; }
DRY_API int cudaDeviceGetLimit(size_t *value, int limit) {
  static const size_t values[] = {1024, 1 << 20, 8 << 20, 2, 2048, 128};
  *value = limit >= 0 && limit < 6 ? values[limit] : 0;
  return DRY_OK;
}
DRY_API int cudaDeviceSetCacheConfig(int configuration) { return DRY_OK; }
DRY_API int cudaDeviceSetSharedMemConfig(int configuration) { return DRY_OK; }

DRY_API int cudaRuntimeGetVersion(int *version) {
  *version = wf__dry_runtime();
  return DRY_OK;
}
DRY_API int cudaDriverGetVersion(int *version) { return cudaRuntimeGetVersion(version); }

DRY_API int cudaDeviceGetPCIBusId(char *text, int bytes, int device) {
  if (!is_device(device)) return wf__dry_error(DRY_INVALID_DEVICE);
  snprintf(text, (size_t)bytes, "0000:%02X:00.0", wf__dry_number(device) + 1);
  return DRY_OK;
}
DRY_API int cudaDeviceGetByPCIBusId(int *device, const char *text) {
  unsigned domain, bus;
  int found = sscanf(text, "%x:%x", &domain, &bus) == 2 ? wf__dry_device_of((int)bus - 1) : -1;
  if (found < 0) return wf__dry_error(DRY_INVALID_DEVICE);
  *device = found;
  return DRY_OK;
}

/* Devices see one another. */
DRY_API int cudaDeviceCanAccessPeer(int *can, int device, int peer) {
  if (!is_device(device) || !is_device(peer)) return wf__dry_error(DRY_INVALID_DEVICE);
  *can = device != peer;
  return DRY_OK;
}
static atomic_bool enabled[DRY_DEVICES][DRY_DEVICES];
DRY_API int cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  if (!is_device(peer) || peer == wf__dry_current_device()) return wf__dry_error(DRY_INVALID_DEVICE);
  bool was = atomic_exchange(&enabled[wf__dry_current_device()][peer], true);
  return was ? wf__dry_error(DRY_PEER_ALREADY_ENABLED) : DRY_OK;
}
DRY_API int cudaDeviceDisablePeerAccess(int peer) {
  if (!is_device(peer)) return wf__dry_error(DRY_INVALID_DEVICE);
  bool was = atomic_exchange(&enabled[wf__dry_current_device()][peer], false);
  return was ? DRY_OK : wf__dry_error(DRY_PEER_NOT_ENABLED);
}
DRY_API int cudaProfilerStart(void) { return DRY_OK; }
DRY_API int cudaProfilerStop(void) { return DRY_OK; }

/* ---- driver: CUdevice is the number, CUcontext a pointer that says which ---- */

static char contexts[DRY_DEVICES];
static atomic_bool made[DRY_DEVICES];

void wf__dry_make_context(int device) { atomic_store(&made[device], true); }
bool wf__dry_has_context(int device) { return atomic_load(&made[device]); }

static int device_of_context(const void *context) {
  const char *c = context;
  return c >= contexts && c < contexts + DRY_DEVICES ? (int)(c - contexts) : -1;
}

DRY_API int cuInit(unsigned flags) { return DRY_OK; }
DRY_API int cuDriverGetVersion(int *version) { return cudaRuntimeGetVersion(version); }
DRY_API int cuDeviceGet(int *device, int ordinal) {
  if (!is_device(ordinal)) return DRY_INVALID_DEVICE;
  *device = ordinal;
  return DRY_OK;
}
DRY_API int cuDeviceGetCount(int *count) { return cudaGetDeviceCount(count); }
DRY_API int cuDeviceGetName(char *name, int bytes, int device) {
  snprintf(name, (size_t)bytes, "%s", wf__dry_settings_get()->gpu.title);
  return DRY_OK;
}
DRY_API int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  *bytes = (size_t)wf__dry_settings_get()->memory;
  return DRY_OK;
}
DRY_API int cuDeviceComputeCapability(int *major, int *minor, int device) {
  *major = wf__dry_settings_get()->gpu.major;
  *minor = wf__dry_settings_get()->gpu.minor;
  return DRY_OK;
}
DRY_API int cuDeviceGetPCIBusId(char *text, int bytes, int device) {
  return cudaDeviceGetPCIBusId(text, bytes, device);
}
DRY_API int cuDeviceCanAccessPeer(int *can, int device, int peer) { return cudaDeviceCanAccessPeer(can, device, peer); }
DRY_API int cuMemGetInfo_v2(size_t *left, size_t *total) {
  int cudaMemGetInfo(size_t *, size_t *);
  return cudaMemGetInfo(left, total);
}

DRY_API int cuDevicePrimaryCtxRetain(void **context, int device) {
  if (!is_device(device)) return DRY_INVALID_DEVICE;
  int code = wf__dry_use_device(device);
  if (code != DRY_OK) return code;
  *context = &contexts[device];
  return DRY_OK;
}
DRY_API int cuDevicePrimaryCtxRelease_v2(int device) { return DRY_OK; }
DRY_API int cuDevicePrimaryCtxReset_v2(int device) { return DRY_OK; }
DRY_API int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) { return DRY_OK; }
DRY_API int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  if (!is_device(device)) return DRY_INVALID_DEVICE;
  *flags = 0;
  *active = wf__dry_device_used(device) > 0 || device == wf__dry_current_device();
  return DRY_OK;
}
DRY_API int cuCtxCreate_v2(void **context, unsigned flags, int device) {
  return cuDevicePrimaryCtxRetain(context, device);
}
DRY_API int cuCtxDestroy_v2(void *context) { return DRY_OK; }
DRY_API int cuCtxGetCurrent(void **context) {
  *context = &contexts[wf__dry_current_device()];
  return DRY_OK;
}
DRY_API int cuCtxSetCurrent(void *context) {
  int device = device_of_context(context);
  return !context ? DRY_OK : device < 0 ? DRY_INVALID_CONTEXT : wf__dry_set_device(device);
}

static __thread struct { int devices[16], depth; } pushed __attribute__((tls_model("initial-exec")));

DRY_API int cuCtxPushCurrent_v2(void *context) {
  int device = device_of_context(context);
  if (device < 0 || pushed.depth == 16) return DRY_INVALID_CONTEXT;
  pushed.devices[pushed.depth++] = wf__dry_current_device();
  return wf__dry_set_device(device);
}
DRY_API int cuCtxPopCurrent_v2(void **context) {
  if (!pushed.depth) return DRY_INVALID_CONTEXT;
  if (context) cuCtxGetCurrent(context);
  return wf__dry_set_device(pushed.devices[--pushed.depth]);
}
/* By their first names, under which cuDNN looks for them. */
DRY_API int cuCtxPushCurrent(void *context) { return cuCtxPushCurrent_v2(context); }
DRY_API int cuCtxPopCurrent(void **context) { return cuCtxPopCurrent_v2(context); }
DRY_API int cuCtxGetDevice(int *device) { return cudaGetDevice(device); }
DRY_API int cuCtxGetFlags(unsigned *flags) { return cudaGetDeviceFlags(flags); }
DRY_API int cuCtxGetApiVersion(void *context, unsigned *version) {
  *version = 3020;
  return DRY_OK;
}
DRY_API int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  int cudaDeviceGetStreamPriorityRange(int *, int *);
  return cudaDeviceGetStreamPriorityRange(least, greatest);
}
DRY_API int cuCtxSetLimit(int limit, size_t value) { return DRY_OK; }
DRY_API int cuCtxGetLimit(size_t *value, int limit) { return cudaDeviceGetLimit(value, limit); }
DRY_API int cuStreamGetCtx(void *handle, void **context) {
  const wf__dry_stream *stream = wf__dry_stream_of(handle);
  if (!stream) return DRY_INVALID_HANDLE;
  *context = &contexts[wf__dry_stream_device(stream)];
  return DRY_OK;
}
