/* What autograd asks of the operators, registered downward, and autograd's entries in the table of operators. */
#include "copy/copy.h"

#include <weft/copy.h>
#include <weft/create.h>
#include <weft/view.h>
#include "op/generator.h"
#include "op/op.h"

wf_tensor *wf__sum_to(const wf_tensor *t, wf_dims size) {
  int64_t dims[WF_MAX_DIMS];
  int n = 0, extra = t->layout.ndim - size.n;
  for (int d = 0; d < t->layout.ndim; d++)
    if (d < extra || (size.at[d - extra] == 1 && t->layout.size[d] != 1)) dims[n++] = d;
  wf_tensor *sums = n ? wf_sum_dims(t, wf_dims_of(dims, n), true, WF_DTYPE_NONE) : (wf_tensor *)t;
  return sums && extra ? wf_view(sums, size) : sums;
}

/* Copies that backward makes are nobody's wish. Where derivatives are recorded themselves they are the public operators. */

static wf_tensor *clone_of(const wf_tensor *t) { return t ? wf__cloned(t, WF_FORMAT_CONTIGUOUS, true) : NULL; }
static wf_tensor *ones_of(const wf_tensor *t) { return wf_ones_like(t, WF_DTYPE_NONE, WF_FORMAT_PRESERVE); }

static wf_tensor *zeros_on(wf__device *device, wf_dtype dtype, wf_dims size) {
  wf_tensor *t = wf__give(wf__tensor_empty_sized(device, dtype, size));
  return t && !wf__fill(t, wf_int(0)) ? t : NULL;
}

static wf_tensor *moved(const wf_tensor *t, wf_dtype dtype, wf__device *device) {
  if (!wf_grad_enabled()) return wf__give(wf__to(t, dtype, device, false, true));
  return wf_to_with(t, &(wf_to_options){.dtype = dtype, .device = &device->id, .format = WF_FORMAT_PRESERVE});
}

static wf_status copy_over(wf_tensor *self, const wf_tensor *source) {
  if (wf_grad_enabled()) return wf_copy_(self, source, false);
  WF__TRY(wf__copy(self, source, false, true));
  return wf__inplace_done(self, NULL);
}

static bool has_nan(const wf_tensor *t) {
  wf_scalar s = wf_item(wf_any(wf_isnan(t), WF_SHAPE0, false));
  return s.as.i != 0;
}

__attribute__((constructor)) static void register_ops(void) {
  static const wf__autograd_ops ops = {
      .add = wf_add,
      .sum_to = wf__sum_to,
      .clone = clone_of,
      .ones_like = ones_of,
      .zeros = zeros_on,
      .to = moved,
      .as_strided = wf_as_strided,
      .add_ = wf_add_,
      .div_ = wf_div_,
      .copy_ = copy_over,
      .has_nan = has_nan,
      .random_get = wf__random_read,
      .random_set = wf__random_write,
  };
  wf__autograd_register(&ops);
}

/* ---- entries of the table -------------------------------------------------------------------------------------------------- */

wf_status wf__op_backward(wf_tensor *self, wf_tensor *gradient, bool retain_graph, bool create_graph) {
  const wf_backward_options o = {.retain_graph = retain_graph, .create_graph = create_graph};
  return wf_backward(self, gradient, &o);
}

wf_tensors wf__op_autograd_grad(wf_tensors outputs, wf_tensors inputs, wf_tensors grad_outputs, bool retain_graph,
                                bool create_graph, bool allow_unused) {
  const wf_backward_options o = {.retain_graph = retain_graph, .create_graph = create_graph};
  return wf_autograd_grad(outputs, inputs, grad_outputs, allow_unused, &o);
}

wf_status wf__op_set_grad_enabled(bool mode) {
  wf_grad_set_enabled(mode);
  return WF_OK;
}
