/* Entry points that PyTorch imports, that few programs call, and that can't succeed without a device's help: reads and writes between files and device
 * memory, and NCCL's calls for kernels that communicate themselves. They fail, and the report names them. */
#include <sys/types.h>
#include "dryrun/stand_in.h"

enum { CUFILE_DRIVER_NOT_INITIALIZED = 5001, NCCL_INVALID_USAGE = 5 };

/* CUfileError_t. */
typedef struct file_error {
  int error, driver_error;
} file_error;

static void refuse(const char *name) {
  wf__dry_limit(name, "it was refused: a dry run has no device that could do it");
}

#define REFUSE(type, name, value) \
  DRY_API type name(void) {       \
    refuse(#name);                \
    return value;                 \
  }
REFUSE(file_error, cuFileHandleRegister, ((file_error){CUFILE_DRIVER_NOT_INITIALIZED, 0}))
REFUSE(ssize_t, cuFileRead, -1)
REFUSE(ssize_t, cuFileWrite, -1)
REFUSE(int, ncclDevCommCreate, NCCL_INVALID_USAGE)
REFUSE(int, ncclDevCommDestroy, NCCL_INVALID_USAGE)
REFUSE(int, ncclGetLsaMultimemDevicePointer, NCCL_INVALID_USAGE)
REFUSE(int, ncclGetPeerDevicePointer, NCCL_INVALID_USAGE)
#undef REFUSE

DRY_API void cuFileHandleDeregister(void *handle) {}
DRY_API int cuLogsRegisterCallback(void *callback, void *data, void **handle) { return *handle = NULL, DRY_OK; }
DRY_API int cuLogsUnregisterCallback(void *handle) { return DRY_OK; }
