/* Errors of the runtime: the last one of each thread, and their names and texts as the runtime has them. */
#include "dryrun/stand_in.h"

static const struct {
  int code;
  const char *name, *driver_name, *text;
} errors[] = {
    {DRY_OK, "cudaSuccess", "CUDA_SUCCESS", "no error"},
    {DRY_INVALID_VALUE, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {DRY_NO_MEMORY, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {DRY_INITIALIZATION, "cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {DRY_INVALID_FUNCTION, "cudaErrorInvalidDeviceFunction", "CUDA_ERROR_UNKNOWN", "invalid device function"},
    {DRY_NO_DEVICE, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {DRY_INVALID_DEVICE, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {DRY_INVALID_CONTEXT, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {DRY_PEER_ALREADY_ENABLED, "cudaErrorPeerAccessAlreadyEnabled", "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {DRY_PEER_NOT_ENABLED, "cudaErrorPeerAccessNotEnabled", "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
     "peer access has not been enabled"},
    {DRY_INVALID_HANDLE, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {DRY_NOT_FOUND, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {DRY_NOT_READY, "cudaErrorNotReady", "CUDA_ERROR_NOT_READY", "device not ready"},
    {DRY_ALREADY_REGISTERED, "cudaErrorHostMemoryAlreadyRegistered", "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {DRY_NOT_REGISTERED, "cudaErrorHostMemoryNotRegistered", "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {DRY_NOT_SUPPORTED, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {DRY_CAPTURE_UNSUPPORTED, "cudaErrorStreamCaptureUnsupported", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {DRY_CAPTURE_INVALID, "cudaErrorStreamCaptureInvalidated", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {DRY_CAPTURE_UNMATCHED, "cudaErrorStreamCaptureUnmatched", "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"},
};

static __thread int last __attribute__((tls_model("initial-exec")));

int wf__dry_error(int code) {
  if (code != DRY_OK) last = code;
  return code;
}

static int index_of(int code) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].code == code) return (int)i;
  return -1;
}

DRY_API int cudaPeekAtLastError(void) { return last; }
DRY_API int cudaGetLastError(void) {
  int code = last;
  last = DRY_OK;
  return code;
}
DRY_API const char *cudaGetErrorName(int code) {
  int i = index_of(code);
  return i < 0 ? "unrecognized error code" : errors[i].name;
}
DRY_API const char *cudaGetErrorString(int code) {
  int i = index_of(code);
  return i < 0 ? "unrecognized error code" : errors[i].text;
}
DRY_API int cuGetErrorName(int code, const char **name) {
  int i = index_of(code);
  *name = i < 0 ? "CUDA_ERROR_UNKNOWN" : errors[i].driver_name;
  return DRY_OK;
}
DRY_API int cuGetErrorString(int code, const char **text) {
  int i = index_of(code);
  *text = i < 0 ? "unknown error" : errors[i].text;
  return DRY_OK;
}
