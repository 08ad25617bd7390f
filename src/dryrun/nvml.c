/* The few calls of NVIDIA's management library that PyTorch makes, as a library of its own: programs open it by its name, libnvidia-ml.so.1. The
 * stand-in driver loads it at its start, from beside itself, so that it is found by that name. */
#include <stdio.h>
#include <string.h>
#include "dryrun/stand_in.h"

enum { NVML_OK = 0, NVML_INVALID = 2, NVML_NOT_FOUND = 6 };

int cudaRuntimeGetVersion(int *version);
int cuDeviceGetName(char *name, int bytes, int device);
int cuDeviceComputeCapability(int *major, int *minor, int device);

/* A device is its number and 1. */
static int index_of(const void *device) { return (int)(uintptr_t)device - 1; }
static int device_at(int index, void **device) {
  if (index < 0 || index >= weft_dry_devices()) return NVML_NOT_FOUND;
  *device = (void *)(uintptr_t)(index + 1);
  return NVML_OK;
}

DRY_API int nvmlInit_v2(void) { return NVML_OK; }
DRY_API int nvmlInit(void) { return NVML_OK; }
DRY_API int nvmlInitWithFlags(unsigned flags) { return NVML_OK; }
DRY_API int nvmlShutdown(void) { return NVML_OK; }
DRY_API const char *nvmlErrorString(int code) { return code == NVML_OK ? "Success" : "not known in a dry run"; }
DRY_API int nvmlSystemGetCudaDriverVersion_v2(int *version) { return cudaRuntimeGetVersion(version), NVML_OK; }
DRY_API int nvmlSystemGetCudaDriverVersion(int *version) { return cudaRuntimeGetVersion(version), NVML_OK; }
DRY_API int nvmlSystemGetDriverVersion(char *text, unsigned bytes) { return snprintf(text, bytes, "580.00"), NVML_OK; }
DRY_API int nvmlDeviceGetCount_v2(unsigned *devices) { return *devices = (unsigned)weft_dry_devices(), NVML_OK; }
DRY_API int nvmlDeviceGetCount(unsigned *devices) { return nvmlDeviceGetCount_v2(devices); }
DRY_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { return device_at((int)index, device); }
DRY_API int nvmlDeviceGetHandleByIndex(unsigned index, void **device) { return device_at((int)index, device); }
DRY_API int nvmlDeviceGetHandleByPciBusId_v2(const char *text, void **device) {
  unsigned domain, bus; /* whether the program sees that one or not */
  return sscanf(text, "%x:%x", &domain, &bus) == 2 ? device_at((int)bus - 1, device) : NVML_NOT_FOUND;
}
DRY_API int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
  const char *dash = strrchr(uuid, '-');
  unsigned index = 0;
  if (dash && sscanf(dash + 11, "%2x", &index) != 1) index = 0;
  return device_at((int)index, device);
}
/* As cudaDeviceProp has it: 15 characters and the device's number. */
DRY_API int nvmlDeviceGetUUID(const void *device, char *text, unsigned bytes) {
  snprintf(text, bytes, WF__DRY_UUID, (unsigned)index_of(device));
  return NVML_OK;
}
DRY_API int nvmlDeviceGetName(const void *device, char *name, unsigned bytes) {
  return cuDeviceGetName(name, (int)bytes, index_of(device)), NVML_OK;
}
DRY_API int nvmlDeviceGetIndex(const void *device, unsigned *index) {
  return *index = (unsigned)index_of(device), NVML_OK;
}
DRY_API int nvmlDeviceGetCudaComputeCapability(const void *device, int *major, int *minor) {
  return cuDeviceComputeCapability(major, minor, index_of(device)), NVML_OK;
}
DRY_API int nvmlDeviceGetComputeRunningProcesses(const void *device, unsigned *processes, void *list) {
  return *processes = 0, NVML_OK;
}
DRY_API int nvmlDeviceGetComputeRunningProcesses_v3(const void *device, unsigned *processes, void *list) {
  return *processes = 0, NVML_OK;
}
DRY_API int nvmlDeviceGetP2PStatus(const void *device, const void *peer, int what, int *status) {
  return *status = 0, NVML_OK;
}
DRY_API int nvmlDeviceGetNvLinkRemoteDeviceType(const void *device, unsigned link, int *type) { return NVML_INVALID; }
DRY_API int nvmlDeviceGetNvLinkRemotePciInfo_v2(const void *device, unsigned link, void *info) { return NVML_INVALID; }
/* No fabric: whatever the structure was before, its state says so. */
DRY_API int nvmlDeviceGetGpuFabricInfoV(const void *device, void *info) { return NVML_OK; }

typedef struct memory_info {
  unsigned long long total, free, used;
} memory_info;
DRY_API int nvmlDeviceGetMemoryInfo(const void *device, memory_info *info) {
  size_t left, total;
  if (index_of(device) < 0 || index_of(device) >= weft_dry_devices()) return NVML_INVALID;
  weft_dry_memory(index_of(device), &left, &total);
  *info = (memory_info){total, left, total - left};
  return NVML_OK;
}
