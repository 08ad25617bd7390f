/* Tensor objects: made over a storage, counted, freed. Nothing here knows of scopes; public entries hand results out by wf__give. */
#include "tensor/free_list.h"
#include "tensor/tensor.h"

static wf__version *new_version(void) {
  wf__version *v = wf__object_take(WF__OBJECT_VERSION);
  if (!v) return NULL;
  atomic_init(&v->refs, 1);
  atomic_init(&v->value, 0);
  atomic_init(&v->changed_by, NULL);
  return v;
}

void wf__version_release(wf__version *v) {
  if (v && atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) == 1) wf__object_give(WF__OBJECT_VERSION, v);
}

wf__version *wf__version_retain(wf__version *v) {
  atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
  return v;
}

/* Takes over one reference of storage and version, also on failure. */
static wf_tensor *assemble(wf__storage *storage, wf__version *version, wf_dtype dtype, const wf__layout *layout) {
  wf_tensor *t = storage && version ? wf__object_take(WF__OBJECT_TENSOR) : NULL;
  if (!t) {
    wf__storage_release(storage);
    wf__version_release(version);
    return NULL;
  }
  atomic_init(&t->refs, 1);
  t->dtype = (uint8_t)dtype;
  t->creation = WF__VIEW_NOT;
  t->maps = 0;
  t->reserved = 0;
  t->layout = *layout;
  t->storage = storage;
  t->version = version;
  t->base = NULL;
  t->meta = NULL;
  t->seen_version = 0;
  t->scope = NULL;
  return t;
}

wf_tensor *wf__tensor_wrap(wf__storage *storage, wf_dtype dtype, const wf__layout *layout) {
  return assemble(storage, storage ? new_version() : NULL, dtype, layout);
}

wf_tensor *wf__tensor_share(wf__storage *storage, wf__version *version, wf_dtype dtype, const wf__layout *layout) {
  return assemble(wf__storage_retain(storage), wf__version_retain(version), dtype, layout);
}

wf_tensor *wf__tensor_alias(const wf_tensor *self, wf_dtype dtype, const wf__layout *layout) {
  return wf__tensor_share(self->storage, self->version, dtype, layout);
}

wf_tensor *wf__tensor_empty(wf__device *device, wf_dtype dtype, const wf__layout *layout) {
  size_t nbytes;
  WF__TRY_OR(wf__layout_nbytes(layout, wf_dtype_size(dtype), &nbytes), NULL);
  return wf__tensor_wrap(wf__storage_new(device, nbytes, false), dtype, layout);
}

wf_tensor *wf__tensor_empty_sized(wf__device *device, wf_dtype dtype, wf_dims size) {
  wf__layout layout;
  WF__TRY_OR(wf__layout_contiguous(&layout, size, wf_dtype_size(dtype)), NULL);
  return wf__tensor_empty(device, dtype, &layout);
}

void wf__tensor_release(wf_tensor *t) {
  if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1) return;
  wf__meta *meta = t->meta;
  wf__tensor_release(t->base); /* a base has no base: one level */
  wf__storage_release(t->storage);
  wf__version_release(t->version);
  wf__object_give(WF__OBJECT_TENSOR, t);
  if (meta) wf__upward_calls.meta_release(meta); /* last: it may free a whole graph */
}

wf_tensor *wf_retain(wf_tensor *tensor) {
  if (tensor) atomic_fetch_add_explicit(&tensor->refs, 1, memory_order_relaxed);
  return tensor;
}

wf_tensor_options wf_tensor_defaults(void) {
  return (wf_tensor_options){.device = wf_cpu(), .format = WF_FORMAT_CONTIGUOUS};
}
