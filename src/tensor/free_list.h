/* Thread-local free lists of the small objects that every call makes and drops: tensors, storages, version counters. Bounded, so that a
 * thread that only frees hands the rest back to malloc; drained when the thread ends. */
#ifndef WF_TENSOR_FREE_LIST_H
#define WF_TENSOR_FREE_LIST_H

#include "base/host.h"

typedef enum wf__object_kind {
  WF__OBJECT_TENSOR,
  WF__OBJECT_VERSION,
  WF__OBJECT_STORAGE,
  WF__OBJECT_META, /* what autograd keeps of a tensor */
  WF__OBJECT_KINDS
} wf__object_kind;

#define WF__META_BYTES 48 /* autograd/meta.h: tensor/ doesn't know the struct */

typedef struct wf__free_object {
  struct wf__free_object *next;
} wf__free_object;

/* `room`: how many more the list takes. 0 until the thread has registered its exit function. */
typedef struct wf__free_list {
  wf__free_object *head;
  int room;
} wf__free_list;

/* In static TLS, so that giving back never needs memory. */
extern __thread wf__free_list wf__free_lists[WF__OBJECT_KINDS] __attribute__((tls_model("initial-exec")));

/* The list is empty; full, or not in use yet. */
void *wf__object_make(wf__object_kind kind);
void wf__object_drop(wf__object_kind kind, void *object);

/* An object of the kind, contents undefined. NULL on error. Costs a few loads when the list has one. */
static inline void *wf__object_take(wf__object_kind kind) {
  wf__free_list *list = &wf__free_lists[kind];
  wf__free_object *object = list->head;
  if (WF__UNLIKELY(!object)) return wf__object_make(kind);
  list->head = object->next;
  list->room++;
  return object;
}

/* Gives one back, taken by whatever thread. */
static inline void wf__object_give(wf__object_kind kind, void *object) {
  wf__free_list *list = &wf__free_lists[kind];
  if (WF__UNLIKELY(!list->room)) {
    wf__object_drop(kind, object);
    return;
  }
  wf__free_object *freed = object;
  freed->next = list->head;
  list->head = freed;
  list->room--;
}

#endif
