/* See place.h. */
#include "op/place.h"

#include <string.h>

#include "copy/copy.h"
#include "trace/trace.h"

wf__node *wf__node_for(const wf__node_class *cls, const wf_tensor *const *inputs, int n, int saves, const void *payload,
                       size_t bytes) {
  if (!wf__needs_grad(inputs, n)) return NULL;
  wf__node *node = wf__node_new(cls, inputs, n, saves, bytes);
  if (node && bytes) memcpy(node->payload, payload, bytes);
  return node;
}

wf_tensor *wf__finish(wf_tensor *out, wf__node *node) {
  if (out && node && !wf__self.pending) wf__set_history(out, node, 0);
  wf__node_release(node);
  return wf__give(out);
}

wf_tensor *wf__new(const wf_tensor *like, wf_dtype dtype, wf_dims size, wf_memory_format format) {
  wf__layout layout;
  WF__TRY_OR(wf__layout_contiguous(&layout, size, wf_dtype_size(dtype)), NULL);
  if (format != WF_FORMAT_CONTIGUOUS) WF__TRY_OR(wf__layout_restride(&layout, format), NULL);
  return wf__tensor_empty(wf__device_of(like), dtype, &layout);
}

wf_tensor *wf__part(const wf_tensor *t, int64_t dim, int64_t start, int64_t length) {
  wf__layout layout = t->layout;
  layout.offset += start * layout.stride[dim];
  layout.size[dim] = length;
  WF__TRY_OR(wf__layout_recount(&layout), NULL);
  return wf__tensor_alias(t, (wf_dtype)t->dtype, &layout);
}

wf_status wf__put_part(wf_tensor *out, int64_t dim, int64_t start, int64_t length, const wf_tensor *source) {
  wf_tensor *part = wf__part(out, dim, start, length);
  if (!part) return wf__self.pending;
  wf_status status = wf__copy(part, source, false, false);
  wf__tensor_release(part);
  return status;
}

wf_status wf__copy_layouts(const wf_tensor *out, wf__layout *to, const wf_tensor *self, wf__layout *from) {
  WF__TRY(wf__layout_recount(to));
  from->numel = to->numel;
  wf_tensor *target = wf__tensor_alias(out, (wf_dtype)out->dtype, to),
            *source = wf__tensor_alias(self, (wf_dtype)self->dtype, from);
  if (target && source) wf__copy(target, source, false, false);
  wf__tensor_release(target);
  wf__tensor_release(source);
  return wf__self.pending;
}

wf_tensor *wf__copied(const wf_tensor *t, wf_memory_format format) { return wf__clone(t, format, false); }

wf_tensor *wf__fresh_zeros(const wf_tensor *like, wf_dims size) {
  return wf__ops.zeros(wf__device_of(like), (wf_dtype)like->dtype, size);
}

void wf__operand_over(const wf_tensor *t, wf_dims shape, wf_operand *operand) {
  int lead = shape.n - t->layout.ndim;
  int64_t itemsize = (int64_t)wf__itemsize(t);
  *operand = (wf_operand){.data = wf__data(t), .dtype = (wf_dtype)t->dtype};
  for (int d = lead; d < shape.n; d++)
    if (t->layout.size[d - lead] != 1 || shape.at[d] == 1) operand->stride[d] = t->layout.stride[d - lead] * itemsize;
}

wf_status wf__launch_counted(wf_plan *plan, const wf_tensor *written, const wf_tensor *const *read, int n) {
  if (wf__tracing()) {
    plan->tag.bytes_written = written->layout.numel * (int64_t)wf__itemsize(written);
    for (int i = 0; i < n; i++)
      if (read[i]) plan->tag.bytes_read += read[i]->layout.numel * (int64_t)wf__itemsize(read[i]);
  }
  return wf__launch(wf__device_of(written), plan);
}
