/* The program's own cuDNN, for what it says without a device: which engines its heuristics choose for a graph of operations, and how much work space their
 * plans need. */
#ifndef WF_DRYRUN_CUDNN_LIBRARY_H
#define WF_DRYRUN_CUDNN_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

/* cudnnBackendAttributeType_t, those that are used. */
enum {
  CUDNN_HANDLE = 0,
  CUDNN_BOOL = 2,
  CUDNN_INT64 = 3,
  CUDNN_DOUBLE = 5,
  CUDNN_POINTER = 6,
  CUDNN_DESCRIPTOR = 15,
  CUDNN_CHAR = 24,
  CUDNN_FRACTION = 26,
};

typedef struct wf__cudnn_library {
  int (*create)(int type, void **descriptor);
  int (*destroy)(void *descriptor);
  int (*set)(void *descriptor, int attribute, int type, int64_t count, const void *elements);
  int (*get)(void *descriptor, int attribute, int type, int64_t room, int64_t *count, void *elements);
  int (*finalize)(void *descriptor);
  void *device; /* the descriptor of the chosen GPU */
} wf__cudnn_library;

/* NULL: it is older than 9.8, which knows no descriptions of devices, or it doesn't take this one, or there is none. */
const wf__cudnn_library *wf__cudnn_library_get(void);
/* The chosen GPU, in a form that cudnnBackendSetAttribute takes, ended by a zero. NULL: no memory, and then there is no library either. */
const char *wf__cudnn_device_text(void);

#endif
