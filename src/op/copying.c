/* The copy family: clone, contiguous, to, pin_memory, copy_. Each of them was asked for by name. */
#include "copy/copy.h"

#include <string.h>
#include <weft/copy.h>
#include "op/call_forms.h"
#include "op/check.h"
#include "op/op.h"

/* ---- derivatives ---------------------------------------------------------------------------------------------------------------- */

/* Where the gradient goes back to. */
typedef struct origin {
  wf_dtype dtype;
  wf_device device;
} origin;

static wf_tensor *sent_back(wf__node *node, wf_tensor *grad) {
  const origin *o = node->payload;
  return wf_to_with(grad, &(wf_to_options){.dtype = o->dtype, .device = &o->device, .format = WF_FORMAT_PRESERVE});
}

static wf_status clone_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  (void)node;
  out[0] = grad[0];
  return WF_OK;
}

static wf_status to_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  if (grad[0]) out[0] = sent_back(node, grad[0]);
  return wf__self.pending;
}

static wf_status copy_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  if (!grad[0]) return WF_OK;
  if (wf__node_wants(node, 0)) out[0] = wf__zeros_of(grad[0]);
  if (wf__node_wants(node, 1)) out[1] = sent_back(node, grad[0]);
  return wf__self.pending;
}

static const wf__node_class clone_class = {"CloneBackward0", clone_apply, NULL};
static const wf__node_class to_class = {"ToCopyBackward0", to_apply, NULL};
static const wf__node_class copy_class = {"CopyBackwards", copy_apply, NULL};

/* Takes over the caller's reference of `copy` and hands it out, as computed from `self`. */
static wf_tensor *recorded(wf_tensor *copy, const wf_tensor *self, const wf__node_class *cls) {
  if (copy && wf__needs_grad(&self, 1)) {
    wf__node *node = wf__node_new(cls, &self, 1, 0, sizeof(origin));
    if (node) {
      *(origin *)node->payload = (origin){(wf_dtype)self->dtype, wf__device_of(self)->id};
      wf__set_history(copy, node, 0);
    }
    wf__node_release(node);
  }
  return wf__give(copy);
}

static wf_tensor *itself(const wf_tensor *self) { return wf__give(wf_retain((wf_tensor *)self)); }

/* ---- clone, contiguous -------------------------------------------------------------------------------------------------------------- */

wf_tensor *wf__cloned(const wf_tensor *self, wf_memory_format format, bool implicit) {
  wf__self.asked += !implicit;
  wf_tensor *copy = wf__clone(self, format, implicit);
  wf__self.asked -= !implicit;
  return recorded(copy, self, &clone_class);
}

wf_tensor *wf_clone(const wf_tensor *self, wf_memory_format format) {
  WF__OP("clone", NULL);
  WF__TRY_OR(wf__given(self, "input"), NULL);
  return wf__cloned(self, format, false);
}

wf_tensor *wf_contiguous(const wf_tensor *self, wf_memory_format format) {
  WF__OP("contiguous", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  if (format == WF_FORMAT_PRESERVE && !wf__is_contiguous(&self->layout, WF_FORMAT_CONTIGUOUS))
    return wf__fail(WF_RUNTIME, "preserve memory format is unsupported by the contiguous operator"), NULL;
  if (format == WF_FORMAT_PRESERVE || wf__is_contiguous(&self->layout, format)) return itself(self);
  return wf__cloned(self, format, false);
}

/* ---- to ------------------------------------------------------------------------------------------------------------------------------- */

wf_to_options wf_to_defaults(void) { return (wf_to_options){.format = WF_FORMAT_PRESERVE}; }

static wf_tensor *new_like(const wf_tensor *self, wf_dtype dtype, wf__device *device, wf_memory_format format) {
  wf__layout layout;
  WF__TRY_OR(wf__layout_like(&self->layout, format, wf_dtype_size(dtype), &layout), NULL);
  return wf__tensor_empty(device, dtype, &layout);
}

static wf_tensor *converted(const wf_tensor *self, wf_dtype dtype, wf__device *device, const wf_to_options *o) {
  wf_tensor *copy = new_like(self, dtype, device, o->format);
  wf__self.asked++;
  wf_status status = copy ? wf__copy(copy, self, o->non_blocking, false) : wf__self.pending;
  wf__self.asked--;
  if (!status) return recorded(copy, self, &to_class);
  wf__tensor_release(copy);
  return NULL;
}

wf_tensor *wf_to_with(const wf_tensor *self, const wf_to_options *options) {
  WF__OP("to", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  wf_to_options o = options ? *options : wf_to_defaults();
  wf__device *device = o.device ? wf__device_get(*o.device) : wf__device_of(self);
  if (!device) return NULL;
  wf_dtype dtype = o.dtype ? o.dtype : (wf_dtype)self->dtype;
  if (!wf_dtype_size(dtype)) {
    wf__fail(WF_TYPE, "dtype must be one of the ten element types, but got %d", (int)dtype);
    return NULL;
  }
  bool same_format = o.format == WF_FORMAT_PRESERVE || o.format == wf__suggest_format(&self->layout);
  if (!o.copy && dtype == (wf_dtype)self->dtype && device == wf__device_of(self) && same_format) return itself(self);
  return converted(self, dtype, device, &o);
}

wf_tensor *wf_to(const wf_tensor *self, wf_dtype dtype) {
  WF__OP("to", NULL);
  return wf_to_with(self, &(wf_to_options){.dtype = dtype, .format = WF_FORMAT_PRESERVE});
}

wf_tensor *wf_to_device(const wf_tensor *self, wf_device device, bool non_blocking) {
  WF__OP("to", NULL);
  return wf_to_with(self,
                    &(wf_to_options){.device = &device, .non_blocking = non_blocking, .format = WF_FORMAT_PRESERVE});
}

wf_tensor *wf__call_to(const wf_tensor *self, wf_dtype dtype, bool copy, wf_memory_format format) {
  return wf_to_with(self, &(wf_to_options){.dtype = dtype, .copy = copy, .format = format});
}

wf_tensor *wf_pin_memory(const wf_tensor *self) {
  WF__OP("pin_memory", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  if (self->storage->pinned) return itself(self);
  wf__device *cpu = wf__device_get(wf_cpu());
  if (wf__device_of(self) != cpu)
    return wf__fail(WF_RUNTIME, "cannot pin '%s' only dense CPU tensors can be pinned", wf__type_text(self)), NULL;
  wf__layout layout = self->layout;
  layout.offset = 0;
  size_t nbytes;
  WF__TRY_OR(wf__layout_nbytes(&layout, wf__itemsize(self), &nbytes), NULL);
  wf__storage *storage = wf__storage_new(cpu, nbytes, true);
  if (storage) storage->resizable = false; /* as in PyTorch, and unlike what a factory pins */
  wf_tensor *pinned = storage ? wf__tensor_wrap(storage, (wf_dtype)self->dtype, &layout) : NULL;
  wf__self.asked++;
  wf_status status = pinned ? wf__copy(pinned, self, false, false) : wf__self.pending;
  wf__self.asked--;
  if (!status) return wf__give(pinned);
  wf__tensor_release(pinned);
  return NULL;
}

/* ---- copy_ ------------------------------------------------------------------------------------------------------------------------------ */

/* The same elements at the same place: nothing to write, but it counts as a change. */
static bool is_same(const wf_tensor *a, const wf_tensor *b) {
  if (a == b) return true;
  size_t bytes = (size_t)a->layout.ndim * sizeof(int64_t);
  return a->storage == b->storage && a->dtype == b->dtype && a->layout.offset == b->layout.offset &&
         a->layout.ndim == b->layout.ndim && !memcmp(a->layout.size, b->layout.size, bytes) &&
         !memcmp(a->layout.stride, b->layout.stride, bytes);
}

static wf_status check_shapes(const wf_tensor *self, const wf_tensor *source) {
  int64_t size[WF_MAX_DIMS];
  int n;
  char own[WF__DIMS_TEXT], common[WF__DIMS_TEXT];
  wf_dims sizes = wf__layout_sizes(&self->layout);
  WF__TRY(wf__broadcast(sizes, wf__layout_sizes(&source->layout), size, &n));
  bool fits = n == sizes.n && (!n || !memcmp(size, sizes.at, (size_t)n * sizeof *size));
  WF__CHECK(fits, WF_RUNTIME, "output with shape %s doesn't match the broadcast shape %s", wf__dims_text(sizes, own),
            wf__dims_text(wf_dims_of(size, n), common));
  return WF_OK;
}

static wf_status write_over(wf_tensor *self, const wf_tensor *source, bool non_blocking) {
  if (is_same(self, source)) return WF_OK;
  WF__TRY(wf__check_internal_overlap(self));
  WF__TRY(wf__check_partial_overlap(self, source));
  WF__TRY(check_shapes(self, source));
  wf__self.asked++;
  wf_status status = wf__copy(self, source, non_blocking, false);
  wf__self.asked--;
  return status;
}

wf_status wf_copy_(wf_tensor *self, const wf_tensor *source, bool non_blocking) {
  WF__OP("copy_", wf__self.pending);
  WF__TRY(wf__given(self, "self"));
  WF__TRY(wf__given(source, "other"));
  const wf_tensor *inputs[] = {self, source};
  int tracked = wf_dtype_is_float((wf_dtype)self->dtype) ? 2 : 0; /* integers take no gradient from their source */
  WF__TRY(wf__inplace_check(self, inputs, tracked));
  wf__node *node = NULL;
  if (wf__needs_grad(inputs, tracked)) {
    node = wf__node_new(&copy_class, inputs, 2, 0, sizeof(origin));
    if (!node) return wf__self.pending;
    *(origin *)node->payload = (origin){(wf_dtype)source->dtype, wf__device_of(source)->id};
  }
  if (!write_over(self, source, non_blocking)) wf__inplace_done(self, node);
  wf__node_release(node);
  return wf__self.pending;
}
