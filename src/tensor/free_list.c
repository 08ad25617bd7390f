/* See free_list.h: lists of freed objects, linked through the objects themselves. */
#include "tensor/free_list.h"

#include "tensor/tensor.h"

/* Enough for the intermediates of a step of a small model; at most 256 · 570 bytes a thread. */
#define KEPT 256

/* Under AddressSanitizer nothing is kept, so that a use after the last release is seen. */
#if defined(__SANITIZE_ADDRESS__)
#define RECYCLE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RECYCLE 0
#endif
#endif
#ifndef RECYCLE
#define RECYCLE 1
#endif

__thread wf__free_list wf__free_lists[WF__OBJECT_KINDS] __attribute__((tls_model("initial-exec")));

/* What is freed after this, by another exit function, finds no room until the thread registers again. */
static void drain(void *value) {
  wf__free_list *lists = value;
  for (int kind = 0; kind < WF__OBJECT_KINDS; kind++) {
    while (lists[kind].head) {
      wf__free_object *next = lists[kind].head->next;
      wf__release(lists[kind].head);
      lists[kind].head = next;
    }
    lists[kind].room = 0;
  }
}

void *wf__object_make(wf__object_kind kind) {
  static const size_t bytes[WF__OBJECT_KINDS] = {sizeof(wf_tensor), sizeof(wf__version), sizeof(wf__storage),
                                                 WF__META_BYTES};
  return wf__malloc(bytes[kind]);
}

void wf__object_drop(wf__object_kind kind, void *object) {
  if (!RECYCLE || wf__self.slabs) { /* the list is full */
    wf__release(object);
    return;
  }
  wf__self.slabs = wf__free_lists;
  wf__thread_at_exit(&wf__self.slabs, drain);
  for (int i = 0; i < WF__OBJECT_KINDS; i++) wf__free_lists[i].room = KEPT;
  wf__object_give(kind, object);
}
