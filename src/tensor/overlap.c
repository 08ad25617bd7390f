/* Whether elements of a layout lie on top of each other. Answers are PyTorch's: cheap, and "too hard" where a sure answer isn't. */
#include "tensor/layout.h"

wf__overlap wf__overlap_within(const wf__layout *l) {
  if (wf__is_dense(l)) return WF__OVERLAP_NO;
  for (int d = 0; d < l->ndim; d++)
    if (l->stride[d] == 0 && l->size[d] > 1) return WF__OVERLAP_YES;
  return WF__OVERLAP_TOO_HARD;
}
