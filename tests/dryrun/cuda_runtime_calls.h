/* The declarations of CUDA's runtime that tests of the stand-in use: its headers aren't needed. */
#ifndef WF_TEST_CUDA_RUNTIME_CALLS_H
#define WF_TEST_CUDA_RUNTIME_CALLS_H

#include <stddef.h>

typedef struct dim3 {
  unsigned x, y, z;
} dim3;
int cudaGetDeviceCount(int *count);
int cudaSetDevice(int device);
int cudaGetDevice(int *device);
int cudaDeviceGetPCIBusId(char *text, int bytes, int device);
int cudaMalloc(void **address, size_t bytes);
int cudaFree(void *address);
int cudaHostAlloc(void **address, size_t bytes, unsigned flags);
int cudaFreeHost(void *address);
int cudaHostRegister(void *address, size_t bytes, unsigned flags);
int cudaHostUnregister(void *address);
int cudaMemGetInfo(size_t *left, size_t *total);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream);
int cudaMemset(void *at, int value, size_t bytes);
int cudaMemsetAsync(void *at, int value, size_t bytes, void *stream);
int cudaDeviceEnablePeerAccess(int peer, unsigned flags);
int cudaDeviceDisablePeerAccess(int peer);
int cudaDeviceGetDefaultMemPool(void **pool, int device);
int cudaMemPoolGetAttribute(void *pool, int attribute, void *value);
int cuCtxGetCurrent(void **context);
int cuStreamGetCtx(void *stream, void **context);
int cudaStreamCreate(void **stream);
int cudaStreamDestroy(void *stream);
int cudaStreamSynchronize(void *stream);
int cudaStreamQuery(void *stream);
int cudaStreamWaitEvent(void *stream, void *event, unsigned flags);
int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **graph);
int cudaStreamBeginCaptureToGraph(void *stream, void *graph, const void *dependencies, const void *data, size_t count,
                                  int mode);
int cudaGraphCreate(void **graph, unsigned flags);
int cudaStreamIsCapturing(void *stream, int *status);
int cudaDeviceSynchronize(void);
int cudaEventCreate(void **event);
int cudaEventDestroy(void *event);
int cudaEventRecord(void *event, void *stream);
int cudaEventQuery(void *event);
int cudaEventSynchronize(void *event);
int cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *exec, void *stream);
int cudaGraphGetNodes(void *graph, void **nodes, size_t *count);
int cudaGraphDestroy(void *graph);
int cudaGraphExecDestroy(void *exec);
int cudaGetLastError(void);
int cudaPeekAtLastError(void);
const char *cudaGetErrorName(int code);
int cudaDeviceGetAttribute(int *value, int attribute, int device);
int cudaPointerGetAttributes(void *attributes, const void *address);
int cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, void *stream);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads, size_t shared);
int cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version, unsigned long long flags,
                                     int *status);
void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFunction(void **image, const char *host, char *device_function, const char *name);

#endif
