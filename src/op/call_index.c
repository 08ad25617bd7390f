/* op.def's forms of the indexing operators: see call_forms.h. */
#include "op/call_forms.h"
#include "op/op.h"

wf_tensor *wf__call_index_put(wf_tensor *self, wf_tensor *values, wf_tensors indices, bool accumulate) {
  return wf_index_put(self, indices, values, accumulate);
}
wf_status wf__call_index_put_(wf_tensor *self, wf_tensor *values, wf_tensors indices, bool accumulate) {
  return wf_index_put_(self, indices, values, accumulate);
}
wf_tensor *wf__call_index_select(wf_tensor *self, wf_tensor *index, int64_t dim) {
  return wf_index_select(self, dim, index);
}
wf_tensor *wf__call_index_add(wf_tensor *self, wf_tensor *index, wf_tensor *source, int64_t dim, wf_scalar alpha) {
  return wf_index_add(self, dim, index, source, alpha);
}
wf_status wf__call_index_add_(wf_tensor *self, wf_tensor *index, wf_tensor *source, int64_t dim, wf_scalar alpha) {
  return wf_index_add_(self, dim, index, source, alpha);
}
wf_tensor *wf__call_index_copy(wf_tensor *self, wf_tensor *index, wf_tensor *source, int64_t dim) {
  return wf_index_copy(self, dim, index, source);
}
wf_status wf__call_index_copy_(wf_tensor *self, wf_tensor *index, wf_tensor *source, int64_t dim) {
  return wf_index_copy_(self, dim, index, source);
}
wf_tensor *wf__call_index_fill(wf_tensor *self, wf_tensor *index, wf__operand_arg value, int64_t dim) {
  return wf__op_index_fill(self, dim, index, value);
}
wf_status wf__call_index_fill_(wf_tensor *self, wf_tensor *index, wf__operand_arg value, int64_t dim) {
  return wf__op_index_fill_(self, dim, index, value);
}
wf_tensor *wf__call_gather(wf_tensor *self, wf_tensor *index, int64_t dim) { return wf_gather(self, dim, index); }

static wf__operand_arg tensor_or_number(wf_tensor *src, wf_scalar value) {
  return src ? wf__tensor_arg(src) : wf__number_arg(value);
}
wf_tensor *wf__call_scatter(wf_tensor *self, wf_tensor *index, wf_tensor *src, int64_t dim, wf_scalar value) {
  return wf__op_scatter(self, dim, index, tensor_or_number(src, value));
}
wf_status wf__call_scatter_(wf_tensor *self, wf_tensor *index, wf_tensor *src, int64_t dim, wf_scalar value) {
  return wf__op_scatter_(self, dim, index, tensor_or_number(src, value));
}
wf_tensor *wf__call_scatter_add(wf_tensor *self, wf_tensor *index, wf_tensor *src, int64_t dim) {
  return wf_scatter_add(self, dim, index, src);
}
wf_status wf__call_scatter_add_(wf_tensor *self, wf_tensor *index, wf_tensor *src, int64_t dim) {
  return wf_scatter_add_(self, dim, index, src);
}

wf_tensor *wf__call_repeat_interleave(wf_tensor *self, wf__operand_arg repeats, int64_t dim) {
  if (repeats.tensor) return wf_repeat_interleave_each(self, repeats.tensor, dim);
  return wf_repeat_interleave(self, repeats.scalar.as.i, dim);
}
