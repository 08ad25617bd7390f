/* The calls that tensor/ makes into autograd/, by a table so that the layers stay in order. Without autograd/ no tensor has a meta. */
#include "tensor/tensor.h"

static void no_meta(wf__meta *meta) { (void)meta; }
static wf_status may_write(const wf_tensor *self) {
  (void)self;
  return WF_OK;
}

wf__upward wf__upward_calls = {no_meta, may_write};
