/* Checks that begin every operator. */
#ifndef WF_OP_CHECK_H
#define WF_OP_CHECK_H

#include "tensor/tensor.h"

/* PyTorch's TypeError unless the tensor is there. Calls on what a failed call returned don't get here: an error is pending then. */
static inline wf_status wf__given(const wf_tensor *t, const char *argument) {
  if (WF__LIKELY(t != NULL)) return WF_OK;
  return wf__fail(WF_TYPE, "%s(): argument '%s' must be Tensor, not None", wf__self.frame ? wf__self.frame->op : "?",
                  argument);
}

#endif
