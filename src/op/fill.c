/* Fills: fill_, zero_. */
#include <weft/copy.h>

#include "base/convert.h"
#include "copy/copy.h"
#include "op/call_forms.h"
#include "op/check.h"
#include "op/op.h"

/* self's old elements are gone: no gradient to them. A filling tensor gets the sum. */
static wf_status fill_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  if (!grad[0]) return WF_OK;
  if (wf__node_wants(node, 0)) out[0] = wf__zeros_of(grad[0]);
  if (wf__node_wants(node, 1)) out[1] = wf_sum(grad[0]);
  return wf__self.pending;
}

static const wf__node_class fill_number_class = {"FillBackward2", fill_apply, NULL};
static const wf__node_class fill_tensor_class = {"FillBackward3", fill_apply, NULL};
static const wf__node_class zero_class = {"ZeroBackward0", fill_apply, NULL};

/* What is written: a number, or a tensor of rank 0 on the same device. */
typedef struct filling {
  wf_scalar number;
  const wf_tensor *tensor;
} filling;

static wf_status write(wf_tensor *self, const filling *f) {
  if (!f->tensor) return wf__fill(self, f->number);
  wf__self.asked++;
  wf_status status = wf__copy(self, f->tensor, false, false);
  wf__self.asked--;
  return status;
}

/* Writes with `inputs` (self first) as what the operator was computed from. */
static wf_status filled(wf_tensor *self, filling f, const wf_tensor *const *inputs, int n, const wf__node_class *cls) {
  WF__TRY(wf__inplace_check(self, inputs, n));
  wf__node *node = NULL;
  if (wf__needs_grad(inputs, n) && !(node = wf__node_new(cls, inputs, n, 0, 0))) return wf__self.pending;
  if (!write(self, &f)) wf__inplace_done(self, node);
  wf__node_release(node);
  return wf__self.pending;
}

wf_status wf_fill_(wf_tensor *self, wf_scalar value) {
  WF__OP("fill_", wf__self.pending);
  WF__TRY(wf__given(self, "input"));
  const wf_tensor *inputs[] = {self};
  if (wf__fill_check(self, value)) return wf__refused_over(self, inputs, 1);
  return filled(self, (filling){.number = value}, inputs, 1, &fill_number_class);
}

wf_status wf_fill_tensor_(wf_tensor *self, const wf_tensor *value) {
  WF__OP("fill_", wf__self.pending);
  WF__TRY(wf__given(self, "input"));
  WF__TRY(wf__given(value, "value"));
  const wf_tensor *inputs[] = {self, value};
  WF__TRY(wf__inplace_check(self, inputs, 2));
  WF__CHECK(value->layout.ndim == 0, WF_RUNTIME,
            "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.", value->layout.ndim);
  WF__TRY(wf__check_internal_overlap(self)); /* a tensor is copied, with a copy's conversions: nothing is too great */
  filling f = {.tensor = value};
  if (self->storage == value->storage || wf__device_of(self) != wf__device_of(value))
    f = (filling){.number = wf_item(value)};
  WF__TRY(wf__self.pending);
  return filled(self, f, inputs, 2, &fill_tensor_class);
}

wf_status wf_zero_(wf_tensor *self) {
  WF__OP("zero_", wf__self.pending);
  WF__TRY(wf__given(self, "input"));
  const wf_tensor *inputs[] = {self};
  return filled(self, (filling){.number = wf_int(0)}, inputs, 1, &zero_class);
}

wf_status wf__call_fill_(wf_tensor *self, wf__operand_arg value) {
  return value.tensor ? wf_fill_tensor_(self, value.tensor) : wf_fill_(self, value.scalar);
}
