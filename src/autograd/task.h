/* One backward pass: the part of the graph that it walks, and the gradients under way. */
#ifndef WF_AUTOGRAD_TASK_H
#define WF_AUTOGRAD_TASK_H

#include "autograd/meta.h"

/* One node of the pass. */
typedef struct wf__item {
  wf__node *node;        /* one reference */
  uint32_t dependencies; /* edges that still have to bring their gradient */
  uint32_t gradient;     /* its gradients begin here in the task's grads */
  uint32_t next_edge;    /* discovery: edges looked at so far */
  uint32_t capture;      /* 1 + number of its first capture; 0 none */
  bool needed;           /* leads to something wanted */
} wf__item;

typedef struct wf__task {
  wf__item *item;
  uint32_t items, item_room;
  uint32_t *order; /* items, those that come later in the pass first: an edge leads to an earlier entry */
  uint32_t *ready; /* heap of items to run; room for all */
  uint32_t ready_n;
  wf_tensor **grads; /* of all items; one reference each */
  size_t grads_n;
  struct foreign *foreign; /* nodes that another pass has claimed: open addressing */
  uint32_t foreign_n, foreign_room;
  wf__capture *captures;
  uint32_t *next_capture; /* further captures of the same node */
  int captures_n;
  bool retain_graph;
  uint64_t number;        /* unlike that of any other pass */
  struct wf__task *outer; /* the pass inside which this one runs, on the same thread */
} wf__task;

#define WF__NO_ITEM UINT32_MAX

/* Finds what is reachable from the roots, counts dependencies, marks what is needed, sets gradients' places aside. Nothing that follows
 * allocates for the pass itself. On failure call wf__task_clear all the same. */
wf_status wf__task_discover(wf__task *task, const wf__edge *roots, int n);
uint32_t wf__task_find(const wf__task *task, wf__node *node);
void wf__task_clear(wf__task *task);

#endif
