/* The road of an operand's elements to what kernels read: at most two casts, for the dtype that a plan computes in rounds as well. */
#ifndef WF_EXEC_CAST_H
#define WF_EXEC_CAST_H

#include "kernel/tables.h"

typedef struct wf__cast {
  wf__convert_fn to_compute, to_class; /* NULL: nothing to do */
} wf__cast;

static inline bool wf__casts(const wf__cast *c) { return c->to_compute || c->to_class; }

/* n consecutive elements into `block`; by way of `spare`, as large, if in two steps. There is something to do. */
static inline void wf__cast_into(const wf__cast *c, void *block, const void *consecutive, void *spare, int64_t n) {
  if (c->to_compute && c->to_class) {
    c->to_compute(spare, consecutive, n);
    c->to_class(block, spare, n);
  } else {
    (c->to_compute ? c->to_compute : c->to_class)(block, consecutive, n);
  }
}

#endif
