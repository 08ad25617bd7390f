/* What operators share that change entries along one dim, in place or on a copy. */
#ifndef WF_OP_ALONG_H
#define WF_OP_ALONG_H

#include <weft/index.h>
#include "op/op.h"
#include "op/place.h"

/* One such change. */
typedef struct wf__change {
  const wf_tensor *self, *index, *source; /* source NULL: a number */
  int64_t dim;
  wf_scalar number;
  wf_status (*check)(struct wf__change *c); /* of the arguments; wraps dim */
  /* Writes to target, self or a copy of it. */
  wf_status (*write)(const struct wf__change *c, wf_tensor *target);
  const wf__node_class *derivative; /* edges self, source; slot 0 keeps the index; its payload is a wf__along */
  wf_memory_format format;          /* of a copy that is changed */
  bool warns;                       /* in place on a tensor with internal overlap is allowed */
  bool in_place;
} wf__change;

typedef struct wf__along {
  int64_t dim;
  wf_scalar number;
  int32_t source_rank;
} wf__along;

/* The change on a copy of self; in the scope. */
wf_tensor *wf__changed(wf__change *c);
/* The change in place: what autograd refuses is refused first, overlaps last, or by the check itself. */
wf_status wf__change_in_place(wf__change *c);
wf_status wf__change_check_overlap(const wf__change *c);

#endif
