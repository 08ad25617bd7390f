/* See free_list.h: lists of freed objects, linked through the objects themselves. */
#include "tensor/free_list.h"

#include "base/host.h"
#include "tensor/tensor.h"

/* Enough for the intermediates of a step of a small model; at most 256 · 400 bytes a thread. */
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

typedef struct link {
  struct link *next;
} link;

typedef struct lists {
  link *head[WF__OBJECT_KINDS];
  int count[WF__OBJECT_KINDS];
} lists;

static const size_t object_size[WF__OBJECT_KINDS] = {sizeof(wf_tensor), sizeof(wf__version), sizeof(wf__storage)};

/* In static TLS, so that giving back never needs memory. wf__self.slabs points here once the exit function is registered. */
static __thread lists own __attribute__((tls_model("initial-exec")));

static void drain(void *value) {
  lists *l = value;
  for (int kind = 0; kind < WF__OBJECT_KINDS; kind++) {
    while (l->head[kind]) {
      link *next = l->head[kind]->next;
      wf__release(l->head[kind]);
      l->head[kind] = next;
    }
    l->count[kind] = 0;
  }
}

void *wf__object_take(wf__object_kind kind) {
  link *object = own.head[kind];
  if (WF__UNLIKELY(!object)) return wf__malloc(object_size[kind]);
  own.head[kind] = object->next;
  own.count[kind]--;
  return object;
}

void wf__object_give(wf__object_kind kind, void *object) {
  if (WF__UNLIKELY(!RECYCLE || own.count[kind] == KEPT)) {
    wf__release(object);
    return;
  }
  if (WF__UNLIKELY(!wf__self.slabs)) {
    wf__self.slabs = &own;
    wf__thread_at_exit(&wf__self.slabs, drain);
  }
  link *freed = object;
  freed->next = own.head[kind];
  own.head[kind] = freed;
  own.count[kind]++;
}
