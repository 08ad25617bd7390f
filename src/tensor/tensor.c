/* Tensor objects: made over a storage, counted, freed. Nothing here knows of scopes; public entries hand results out by wf__give.
 *
 * What costs here is atomic additions (8 ns each), so there are as few as can be: an object that one thread alone refers to is freed
 * by a load, a version comes with its storage, and a view counts once, on its base, for base, storage and version. */
#include "tensor/tensor.h"

#include "base/host.h"
#include "tensor/free_list.h"

/* ---- versions -------------------------------------------------------------------------------------------------------- */

static wf__version *new_version(void) {
  wf__version *v = wf__object_take(WF__OBJECT_VERSION);
  if (!v) return NULL;
  atomic_init(&v->refs, 1);
  atomic_init(&v->value, 0);
  atomic_init(&v->changed_by, NULL);
  atomic_init(&v->function, NULL);
  v->home = NULL;
  return v;
}

void wf__version_keep(const wf__storage *storage, wf__version *v) {
  if (v != &storage->version) wf__count_up(&v->refs, 1);
}

void wf__version_drop(const wf__storage *storage, wf__version *v) {
  if (v == &storage->version || !wf__count_down(&v->refs, 1)) return;
  if (v->home) wf__object_give(WF__OBJECT_STORAGE, v->home);
  else wf__object_give(WF__OBJECT_VERSION, v);
}

/* ---- making ---------------------------------------------------------------------------------------------------------- */

/* All but storage, version and base, which the caller sets. */
static inline wf_tensor *blank(wf_dtype dtype, const wf__layout *layout) {
  wf_tensor *t = wf__object_take(WF__OBJECT_TENSOR);
  if (WF__UNLIKELY(!t)) return NULL;
  atomic_init(&t->refs, 1);
  t->dtype = (uint8_t)dtype;
  t->creation = WF__VIEW_NOT;
  t->maps = 0;
  t->borrows_storage = t->borrows_version = false;
  t->seen_version = 0;
  t->base = NULL;
  t->meta = NULL;
  t->scope = NULL;
  atomic_init(&t->kept, NULL);
  wf__layout_copy(&t->layout, layout);
  return t;
}

wf_tensor *wf__tensor_wrap(wf__storage *storage, wf_dtype dtype, const wf__layout *layout) {
  wf_tensor *t = storage ? blank(dtype, layout) : NULL;
  if (!t) {
    wf__storage_release(storage);
    return NULL;
  }
  t->storage = storage;
  t->version = &storage->version;
  return t;
}

wf_tensor *wf__tensor_data_of(const wf_tensor *self) {
  wf__version *version = new_version();
  wf_tensor *t = version ? blank((wf_dtype)self->dtype, &self->layout) : NULL;
  if (!t) {
    if (version) wf__object_give(WF__OBJECT_VERSION, version);
    return NULL;
  }
  t->storage = wf__storage_retain(self->storage);
  t->version = version;
  return t;
}

wf_tensor *wf__tensor_share(wf__storage *storage, wf__version *version, wf_dtype dtype, const wf__layout *layout) {
  wf_tensor *t = blank(dtype, layout);
  if (!t) return NULL;
  t->storage = wf__storage_retain(storage);
  t->version = version;
  wf__version_keep(storage, version);
  return t;
}

wf_tensor *wf__tensor_alias(const wf_tensor *self, wf_dtype dtype, const wf__layout *layout) {
  return wf__tensor_share(self->storage, self->version, dtype, layout);
}

/* A view made without recording, or out of several that one function made, hands that on to its own views. */
static inline uint8_t creation_of_view(const wf_tensor *self) {
  if (wf__self.grad_disabled) return WF__VIEW_NO_GRAD;
  return self->creation == WF__VIEW_MULTI_OUTPUT || self->creation == WF__VIEW_NO_GRAD ? self->creation
                                                                                       : WF__VIEW_DEFAULT;
}

wf_tensor *wf__tensor_view(const wf_tensor *self, const wf__layout *layout) {
  wf_tensor *t = blank((wf_dtype)self->dtype, layout), *base = self->base ? self->base : (wf_tensor *)self;
  if (!t) return NULL;
  wf__count_up_wide(&base->refs, WF__ONE_VIEW);
  t->creation = creation_of_view(self);
  t->seen_version = atomic_load_explicit(&self->version->value, memory_order_relaxed);
  t->base = base;
  t->storage = self->storage;
  t->version = self->version;
  t->borrows_storage = self == base || self->borrows_storage;
  t->borrows_version = self == base || self->borrows_version;
  if (WF__UNLIKELY(!t->borrows_storage)) wf__storage_retain(t->storage);
  if (WF__UNLIKELY(!t->borrows_version)) wf__version_keep(t->storage, t->version);
  return t;
}

wf_tensor *wf__tensor_empty(wf__device *device, wf_dtype dtype, const wf__layout *layout) {
  size_t nbytes;
  WF__TRY_OR(wf__layout_nbytes(layout, wf_dtype_size(dtype), &nbytes), NULL);
  return wf__tensor_wrap(wf__storage_new(device, nbytes, false), dtype, layout);
}

wf_tensor *wf__tensor_empty_sized(wf__device *device, wf_dtype dtype, wf_dims size) {
  wf__layout layout;
  size_t item = wf_dtype_size(dtype);
  WF__TRY_OR(wf__layout_contiguous(&layout, size, item), NULL);
  return wf__tensor_wrap(wf__storage_new(device, (size_t)layout.numel * item, false), dtype, &layout);
}

/* ---- freeing --------------------------------------------------------------------------------------------------------- */

struct wf__shown_before {
  wf__shown_before *next;
  wf__storage *storage;
};

static void drop_kept(wf_tensor *t) {
  wf__shown_before *kept = atomic_exchange(&t->kept, NULL);
  while (kept) {
    wf__shown_before *next = kept->next;
    if (kept->storage) wf__storage_release(kept->storage);
    wf__release(kept);
    kept = next;
  }
}

static void release_view_of(wf_tensor *base);

static void destroy(wf_tensor *t) {
  wf__meta *meta = t->meta;
  wf_tensor *base = t->base;
  if (WF__UNLIKELY(atomic_load_explicit(&t->kept, memory_order_relaxed) != NULL)) drop_kept(t);
  if (!t->borrows_version) wf__version_drop(t->storage, t->version);
  if (!t->borrows_storage) wf__storage_release(t->storage);
  wf__object_give(WF__OBJECT_TENSOR, t);
  if (base) release_view_of(base);
  if (meta) wf__upward_calls.meta_release(meta); /* last: it may free a whole graph */
}

/* The last view lets what only views showed go. A handle is taken meanwhile: the base must not die between the count and the look. */
static void release_view_of_keeper(wf_tensor *base) {
  wf_retain(base);
  uint64_t before = atomic_fetch_sub_explicit(&base->refs, WF__ONE_VIEW, memory_order_acq_rel);
  if (before / WF__ONE_VIEW == 1) drop_kept(base);
  wf__tensor_release(base);
}

/* A base has no base: destroy doesn't recurse further. */
static void release_view_of(wf_tensor *base) {
  if (WF__UNLIKELY(atomic_load_explicit(&base->kept, memory_order_relaxed) != NULL)) release_view_of_keeper(base);
  else if (wf__count_down_wide(&base->refs, WF__ONE_VIEW)) destroy(base);
}

void wf__tensor_release(wf_tensor *t) {
  if (t && wf__count_down_wide(&t->refs, 1)) destroy(t);
}

wf_tensor *wf_retain(wf_tensor *tensor) {
  if (tensor) wf__count_up_wide(&tensor->refs, 1);
  return tensor;
}

bool wf__tensor_is_alone(const wf_tensor *t) {
  return atomic_load_explicit(&t->refs, memory_order_relaxed) == 1 && !t->base &&
         atomic_load_explicit(&t->storage->refs, memory_order_relaxed) == 1;
}

/* ---- another base, another storage ------------------------------------------------------------------------------------ */

/* Counts on what was borrowed. */
static void own_all(wf_tensor *view) {
  if (view->borrows_storage) wf__storage_retain(view->storage);
  if (view->borrows_version) wf__version_keep(view->storage, view->version);
  view->borrows_storage = view->borrows_version = false;
}

void wf__tensor_set_base(wf_tensor *view, wf_tensor *base) {
  wf_tensor *old = view->base;
  if (old == base) return;
  own_all(view);
  wf__count_up_wide(&base->refs, WF__ONE_VIEW);
  view->base = base;
  if (old) release_view_of(old);
}

wf_status wf__tensor_prepare_storage(wf_tensor *t) {
  wf__shown_before *first = atomic_load_explicit(&t->kept, memory_order_relaxed);
  bool shown = !t->base && atomic_load_explicit(&t->refs, memory_order_relaxed) >= WF__ONE_VIEW;
  if (!shown || (first && !first->storage)) return WF_OK;
  wf__shown_before *kept = wf__malloc(sizeof *kept);
  if (!kept) return wf__self.pending;
  *kept = (wf__shown_before){first, NULL};
  atomic_store_explicit(&t->kept, kept, memory_order_relaxed);
  return WF_OK;
}

wf_status wf__tensor_set_storage(wf_tensor *t, wf__storage *storage) {
  wf__storage *old = t->storage;
  if (storage == old) return WF_OK;
  WF__TRY(wf__tensor_prepare_storage(t));
  wf__shown_before *kept = atomic_load_explicit(&t->kept, memory_order_relaxed);
  t->storage = wf__storage_retain(storage);
  if (!t->borrows_version) { /* the same version, beside another storage */
    wf__version_keep(storage, t->version);
    wf__version_drop(old, t->version);
  }
  if (kept && !kept->storage) {
    kept->storage = old;
  } else if (!t->borrows_storage) {
    wf__storage_release(old);
  }
  t->borrows_storage = false;
  return WF_OK;
}

wf_tensor_options wf_tensor_defaults(void) {
  return (wf_tensor_options){.device = wf_cpu(), .format = WF_FORMAT_CONTIGUOUS};
}
