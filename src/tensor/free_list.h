/* Thread-local free lists of the small objects that every call makes and drops: tensors, version counters, storages. Bounded, so that a
 * thread that only frees hands the rest back to malloc; drained when the thread ends. */
#ifndef WF_TENSOR_FREE_LIST_H
#define WF_TENSOR_FREE_LIST_H

#include <stddef.h>

typedef enum wf__object_kind {
  WF__OBJECT_TENSOR,
  WF__OBJECT_VERSION,
  WF__OBJECT_STORAGE,
  WF__OBJECT_KINDS
} wf__object_kind;

/* An object of the kind, contents undefined. NULL on error. Costs a few loads when the list has one. */
void *wf__object_take(wf__object_kind kind);
/* Gives one back, taken by whatever thread. */
void wf__object_give(wf__object_kind kind, void *object);

#endif
