/* The driver's names for what the runtime has as well, modules and libraries of kernels, and how entry points are looked up by name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "dryrun/stand_in.h"

/* What is defined elsewhere under the runtime's name. */
int cudaMalloc(void **address, size_t bytes);
int cudaFree(void *address);
int cudaHostAlloc(void **address, size_t bytes, unsigned flags);
int cudaFreeHost(void *address);
int cudaHostRegister(void *address, size_t bytes, unsigned flags);
int cudaHostUnregister(void *address);
int cudaMallocAsync(void **address, size_t bytes, void *stream);
int cudaFreeAsync(void *address, void *stream);
int cudaDeviceSynchronize(void);
int cudaStreamCreateWithFlags(void **stream, unsigned flags);
int cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority);
int cudaStreamDestroy(void *stream);
int cudaStreamSynchronize(void *stream);
int cudaStreamQuery(void *stream);
int cudaStreamWaitEvent(void *stream, void *event, unsigned flags);
int cudaStreamIsCapturing(void *stream, int *status);
int cudaStreamGetPriority(void *stream, int *priority);
int cudaEventCreateWithFlags(void **event, unsigned flags);
int cudaEventDestroy(void *event);
int cudaEventRecord(void *event, void *stream);
int cudaEventQuery(void *event);
int cudaEventSynchronize(void *event);
int cudaEventElapsedTime(float *milliseconds, void *from, void *to);

DRY_API int cuMemAlloc_v2(void **address, size_t bytes) { return cudaMalloc(address, bytes); }
DRY_API int cuMemFree_v2(void *address) { return cudaFree(address); }
DRY_API int cuMemAllocAsync(void **address, size_t bytes, void *stream) {
  return cudaMallocAsync(address, bytes, stream);
}
DRY_API int cuMemFreeAsync(void *address, void *stream) { return cudaFreeAsync(address, stream); }
DRY_API int cuMemAllocHost_v2(void **address, size_t bytes) { return cudaHostAlloc(address, bytes, 0); }
DRY_API int cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
  return cudaHostAlloc(address, bytes, flags);
}
DRY_API int cuMemFreeHost(void *address) { return cudaFreeHost(address); }
DRY_API int cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags) {
  return cudaHostRegister(address, bytes, flags);
}
DRY_API int cuMemHostUnregister(void *address) { return cudaHostUnregister(address); }
DRY_API int cuCtxSynchronize(void) { return cudaDeviceSynchronize(); }
DRY_API int cuStreamCreate(void **stream, unsigned flags) { return cudaStreamCreateWithFlags(stream, flags); }
DRY_API int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
  return cudaStreamCreateWithPriority(stream, flags, priority);
}
DRY_API int cuStreamDestroy_v2(void *stream) { return cudaStreamDestroy(stream); }
DRY_API int cuStreamSynchronize(void *stream) { return cudaStreamSynchronize(stream); }
DRY_API int cuStreamQuery(void *stream) { return cudaStreamQuery(stream); }
DRY_API int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  return cudaStreamWaitEvent(stream, event, flags);
}
DRY_API int cuStreamIsCapturing(void *stream, int *status) { return cudaStreamIsCapturing(stream, status); }
DRY_API int cuStreamGetPriority(void *stream, int *priority) { return cudaStreamGetPriority(stream, priority); }
DRY_API int cuEventCreate(void **event, unsigned flags) { return cudaEventCreateWithFlags(event, flags); }
DRY_API int cuEventDestroy_v2(void *event) { return cudaEventDestroy(event); }
DRY_API int cuEventRecord(void *event, void *stream) { return cudaEventRecord(event, stream); }
DRY_API int cuEventQuery(void *event) { return cudaEventQuery(event); }
DRY_API int cuEventSynchronize(void *event) { return cudaEventSynchronize(event); }
DRY_API int cuEventElapsedTime_v2(float *milliseconds, void *from, void *to) {
  return cudaEventElapsedTime(milliseconds, from, to);
}

/* PyTorch up to 2.6 opens the driver itself and looks for this one by its first name. */
DRY_API int cuStreamWriteValue32(void *stream, void *address, uint32_t value, unsigned flags) {
  wf__dry_contents_put(address, NULL, sizeof value);
  return DRY_OK;
}
DRY_API int cuStreamWriteValue32_v2(void *stream, void *address, uint32_t value, unsigned flags) {
  return cuStreamWriteValue32(stream, address, value, flags);
}

/* ---- pointers ---- */

DRY_API int cuMemGetAddressRange_v2(void **start, size_t *bytes, void *address) {
  wf__dry_range range;
  if (!wf__dry_range_of(address, &range)) return DRY_INVALID_VALUE;
  if (start) *start = (void *)range.start;
  if (bytes) *bytes = range.bytes;
  return DRY_OK;
}

enum {
  POINTER_CONTEXT = 1,
  POINTER_TYPE,
  POINTER_ON_DEVICE,
  POINTER_ON_HOST,
  POINTER_BUFFER = 7,
  POINTER_MANAGED,
  POINTER_DEVICE,
  POINTER_START = 11,
  POINTER_SIZE,
  POINTER_MAPPED
};

static void put(void *to, uint64_t value, size_t bytes) { memcpy(to, &value, bytes); }

DRY_API int cuPointerGetAttribute(void *value, int attribute, void *address) {
  int cuCtxGetCurrent(void **context);
  wf__dry_range range;
  if (!wf__dry_range_of(address, &range)) return DRY_INVALID_VALUE;
  switch (attribute) {
    case POINTER_CONTEXT: return cuCtxGetCurrent(value);
    case POINTER_TYPE: put(value, range.place == DRY_DEVICE ? 2 : 1, sizeof(int)); return DRY_OK;
    case POINTER_ON_DEVICE:
    case POINTER_ON_HOST: put(value, (uintptr_t)address, sizeof address); return DRY_OK;
    case POINTER_BUFFER: put(value, range.start >> 9, sizeof(uint64_t)); return DRY_OK;
    case POINTER_MANAGED: put(value, range.place == DRY_MANAGED, sizeof(int)); return DRY_OK;
    case POINTER_DEVICE: put(value, (uint64_t)range.device, sizeof(int)); return DRY_OK;
    case POINTER_START: put(value, range.start, sizeof(uint64_t)); return DRY_OK;
    case POINTER_SIZE: put(value, range.bytes, sizeof(size_t)); return DRY_OK;
    case POINTER_MAPPED: put(value, 1, sizeof(int)); return DRY_OK;
    default: put(value, 0, sizeof(int)); return DRY_OK;
  }
}

/* ---- files of kernels: what matters of them is the name ---- */

static int new_library(void **library) {
  *library = wf__dry_handle_new(DRY_LIBRARY, 1);
  return *library ? DRY_OK : wf__dry_error(DRY_NO_MEMORY);
}
static int get_kernel(void **kernel, const char *name) {
  *kernel = wf__dry_kernel_named(name);
  return *kernel ? DRY_OK : wf__dry_error(DRY_NO_MEMORY);
}

DRY_API int cuModuleLoad(void **module, const char *path) { return new_library(module); }
DRY_API int cuModuleLoadData(void **module, const void *image) { return new_library(module); }
DRY_API int cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options, void **values) {
  return new_library(module);
}
DRY_API int cuModuleLoadFatBinary(void **module, const void *image) { return new_library(module); }
DRY_API int cuModuleUnload(void *module) { return wf__dry_handle_free(module), DRY_OK; }
DRY_API int cuModuleGetFunction(void **function, void *module, const char *name) { return get_kernel(function, name); }
/* By their first names, under which cuDNN looks for them; nothing is linked. */
DRY_API int cuLinkCreate(unsigned n, int *options, void **values, void **state) { return DRY_NOT_SUPPORTED; }
DRY_API int cuLinkAddData(void *state, int type, void *data, size_t bytes, const char *name, unsigned n, int *options,
                          void **values) {
  return DRY_NOT_SUPPORTED;
}
DRY_API int cuLibraryLoadData(void **library, const void *image) { return new_library(library); }
DRY_API int cuLibraryLoadFromFile(void **library, const char *path) { return new_library(library); }
DRY_API int cuLibraryUnload(void *library) { return wf__dry_handle_free(library), DRY_OK; }
DRY_API int cuLibraryGetKernel(void **kernel, void *library, const char *name) { return get_kernel(kernel, name); }
DRY_API int cuLibraryGetModule(void **module, void *library) { return *module = library, DRY_OK; }
DRY_API int cuKernelGetFunction(void **function, void *kernel) { return *function = kernel, DRY_OK; }
DRY_API int cudaLibraryLoadData(void **library, const void *image) { return new_library(library); }
DRY_API int cudaLibraryLoadFromFile(void **library, const char *path) { return new_library(library); }
DRY_API int cudaLibraryUnload(void *library) { return wf__dry_handle_free(library), DRY_OK; }
DRY_API int cudaLibraryGetKernel(void **kernel, void *library, const char *name) { return get_kernel(kernel, name); }

/* ---- looking up by name ---- */

/* The entry point; the driver's newer forms of one call end in _v2, _v3, and headers name the newest by the plain name. */
static void *entry_point(const char *name, int version) {
  char longer[256];
  if (!strcmp(name, "cuStreamGetCaptureInfo") && version < 12030) name = "cuStreamGetCaptureInfo_v2";
  for (int form = 3; form >= 2; form--) {
    snprintf(longer, sizeof longer, "%s_v%d", name, form);
    void *found = dlsym(RTLD_DEFAULT, longer);
    if (found) return found;
  }
  return dlsym(RTLD_DEFAULT, name);
}

static int look_up(const char *name, void **function, int version, int *status) {
  *function = name && !strncmp(name, "cu", 2) ? entry_point(name, version) : NULL;
  if (status) *status = *function ? 0 : 1; /* found, or not */
  if (!*function)
    wf__dry_limit(name ? name : "an entry point without a name",
                  "the program asked the driver for it; there is no such entry point here");
  return DRY_OK;
}

DRY_API int cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags, int *status) {
  return look_up(name, function, wf__dry_runtime(), status);
}
DRY_API int cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags, int *status) {
  return look_up(name, function, (int)version, status);
}
DRY_API int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
  look_up(name, function, version, status);
  return *function ? DRY_OK : DRY_NOT_FOUND;
}
DRY_API int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}

/* The private tables, which a statically linked runtime needs: they aren't documented. */
DRY_API int cuGetExportTable(const void **table, const void *uuid) {
  *table = NULL;
  wf__dry_limit("cuGetExportTable",
                "code with its own CUDA runtime asked the driver for private tables and was refused: what it "
                "would have done isn't counted");
  return DRY_NOT_FOUND;
}
