/* The tensor object. Public face: weft/tensor.h; layout arithmetic without tensors: tensor/layout.h. */
#ifndef WF_TENSOR_TENSOR_H
#define WF_TENSOR_TENSOR_H

#include <stdatomic.h>
#include <weft/tensor.h>
#include "base/count.h"
#include "base/error.h"
#include "device/device.h"
#include "tensor/layout.h"

typedef struct wf__storage wf__storage;

/* How often data was written in place. Shared by a base, its views and detach; not by .data or clone. Each storage brings one for the
 * tensors that are made with it, so that they need no object more; one reference to it is held by all holders of the storage together. */
typedef struct wf__version {
  atomic_int refs;
  _Atomic uint32_t value;
  const char *_Atomic changed_by; /* operator of the last change, for hints; NULL unknown */
  const char *_Atomic
      function;      /* autograd: class of the base's function since a change in place; NULL: it was never changed */
  wf__storage *home; /* the storage that it is a part of; NULL: an object of its own */
} wf__version;

/* Bytes on a device, shared by all tensors that show a part of them. The object outlives the bytes while somebody refers to its
 * version. */
struct wf__storage {
  atomic_int refs;
  bool resizable;
  bool pinned;
  size_t nbytes;
  wf__device *device;
  wf__memory memory;
  wf__version version;
  void (*deleter)(void *data, void *context); /* foreign memory only */
  void *context;
  const char *made_by; /* operator that allocated it, for reports */
};

/* What autograd knows of a tensor; NULL for tensors that never met it. autograd/meta.h has the struct. */
typedef struct wf__meta wf__meta;

/* How a view came to be; decides whether it may be changed in place. */
typedef enum wf__creation {
  WF__VIEW_NOT = 0, /* not a tracked view */
  WF__VIEW_DEFAULT,
  WF__VIEW_MULTI_OUTPUT, /* split, chunk, unbind */
  WF__VIEW_NO_GRAD,      /* made while gradient mode was off */
  WF__VIEW_FROZEN /* a gradient that others see too, as a hook gets it: no base, and may not be changed in place */
} wf__creation;

/* A storage that a base showed before wf__tensor_set_storage, kept for the views that still show it. */
typedef struct wf__shown_before wf__shown_before;

/* Counting. A handle counts 1, a tracked view counts WF__ONE_VIEW on its base. A view made from its base borrows storage and version of it
 * instead of counting on them too: an atomic addition costs 8 ns (base/count.h). */
#define WF__ONE_VIEW ((uint64_t)1 << 32)

struct wf_tensor {
  _Atomic uint64_t refs;
  uint8_t dtype;         /* wf_dtype */
  uint8_t creation;      /* wf__creation */
  uint8_t maps;          /* open wf_tensor_map accesses */
  bool borrows_storage;  /* `base` keeps it */
  bool borrows_version;  /* likewise */
  uint32_t seen_version; /* of a view: version at which its meta's grad_fn was made (history is rewritten lazily) */
  wf__storage *storage;  /* one reference, unless borrowed */
  wf__version *version;  /* one reference, unless borrowed or the storage's own */
  wf_tensor *base;       /* of a tracked view: the tensor that isn't a view; counted as a view */
  wf__meta *meta;
  void *scope;                    /* tensor/scope.c */
  wf__shown_before *_Atomic kept; /* of a base */
  wf__layout layout;              /* ndim, sizes, strides, offset */
};

/* What tensor/ needs from autograd/, registered downward by its constructor (tensor/upward.c). Slots are never NULL. */
typedef struct wf__upward {
  void (*meta_release)(wf__meta *meta); /* the last step of freeing a tensor that has one */
  wf_status (*write_check)(
      const wf_tensor *self); /* before the host writes through wf_tensor_map: leaves that require grad refuse */
} wf__upward;
extern wf__upward wf__upward_calls;

/* ---- storage ------------------------------------------------------------------------------------------------------- */

/* New storage of nbytes on the device's current stream. NULL on error. */
wf__storage *wf__storage_new(wf__device *device, size_t nbytes, bool pinned);
/* Over host memory that somebody else owns; deleter(data, context) runs when the storage goes, and may be NULL. Not resizable. */
wf__storage *wf__storage_foreign(void *data, size_t nbytes, void (*deleter)(void *data, void *context), void *context);
static inline wf__storage *wf__storage_retain(wf__storage *s) {
  wf__count_up(&s->refs, 1);
  return s;
}
void wf__storage_release(wf__storage *s);
/* Whoever keeps a storage and a version together holds one reference of the storage, and one of the version only when it is another
 * storage's or nobody's. */
void wf__version_keep(const wf__storage *storage, wf__version *version);
void wf__version_drop(const wf__storage *storage, wf__version *version);
/* Grows to nbytes, keeping the bytes; every view sees the new memory. "Trying to resize storage that is not resizable". */
wf_status wf__storage_grow(wf__storage *s, size_t nbytes);

/* ---- tensors -------------------------------------------------------------------------------------------------------
 * Internal makers return one reference that is the caller's and in no scope; the public entry hands it out by wf__give. */

/* A tensor over new `storage` (one reference is taken over, also on failure), with the version counter that came with it: for whoever
 * made the storage, once. NULL on error. */
wf_tensor *wf__tensor_wrap(wf__storage *storage, wf_dtype dtype, const wf__layout *layout);
/* New storage that fits the layout exactly. Elements undefined. */
wf_tensor *wf__tensor_empty(wf__device *device, wf_dtype dtype, const wf__layout *layout);
/* The same, row-major for `size`. */
wf_tensor *wf__tensor_empty_sized(wf__device *device, wf_dtype dtype, wf_dims size);
/* Another tensor over self's storage with a version counter of its own: .data. */
wf_tensor *wf__tensor_data_of(const wf_tensor *self);
/* Another tensor over self's storage that shares its version counter; no view relation (detach, view(dtype)). */
wf_tensor *wf__tensor_alias(const wf_tensor *self, wf_dtype dtype, const wf__layout *layout);
/* The same from parts, of which it takes references of its own. */
wf_tensor *wf__tensor_share(wf__storage *storage, wf__version *version, wf_dtype dtype, const wf__layout *layout);
/* A tracked view of self (of its base when self is a view) with that layout, not yet in any graph: all there is to a view that needs no
 * node. */
wf_tensor *wf__tensor_view(const wf_tensor *self, const wf__layout *layout);
/* Makes `base` the base of a tensor that has none; for views that weren't made by wf__tensor_view. */
void wf__tensor_set_base(wf_tensor *view, wf_tensor *base);
/* Shows `storage` (a reference of its own is taken) from now on; version, base and meta stay. Views keep what they show. */
wf_status wf__tensor_set_storage(wf_tensor *t, wf__storage *storage);
/* Sets aside what that will need, so that it can't fail. */
wf_status wf__tensor_prepare_storage(wf_tensor *t);
/* Nobody else has a handle of t, is a view of it or shows its memory: it may be overwritten, or taken over. */
bool wf__tensor_is_alone(const wf_tensor *t);
void wf__tensor_release(wf_tensor *t);
/* Puts the caller's reference into the innermost scope, or leaves it to the caller when none is open. NULL passes through.
 * With an error pending the reference is released and NULL returned: the last step of every public call that makes a tensor. */
wf_tensor *wf__give(wf_tensor *t);
/* The same for a list of n references in a fresh array (wf__malloc); takes over both, also on failure. */
wf_tensors wf__give_list(wf_tensor **at, int n);

static inline wf__device *wf__device_of(const wf_tensor *t) { return t->storage->device; }
static inline size_t wf__itemsize(const wf_tensor *t) { return wf__dtype_bytes((wf_dtype)t->dtype); }
/* Address of the first element on the tensor's device. In numbers, since an empty tensor has no memory, and null plus 0 isn't defined. */
static inline void *wf__data(const wf_tensor *t) {
  return (void *)((uintptr_t)t->storage->memory.address + (uintptr_t)(t->layout.offset * (int64_t)wf__itemsize(t)));
}
/* Counts one change of the data, and notes which operator made it. */
static inline void wf__bump(wf_tensor *t) {
  wf__count_up_short(&t->version->value, 1);
  if (wf__self.frame) atomic_store_explicit(&t->version->changed_by, wf__self.frame->op, memory_order_relaxed);
}

/* "f32[4,7,64] cpu" for hints; strides are added when they aren't row-major. */
#define WF__DESC_TEXT 512
char *wf__describe(const wf_tensor *t, char buffer[WF__DESC_TEXT]);
/* Fills an operand of a plan in the tensor's own rank (strides in bytes). */
void wf__operand_of(const wf_tensor *t, wf_operand *operand);
/* What error texts call the tensor's type: "torch.FloatTensor"; PyTorch's name of its dtype: "Float" and "float". */
const char *wf__type_text(const wf_tensor *t);
const char *wf__scalar_type_text(wf_dtype dtype);
const char *wf__cpp_type_text(wf_dtype dtype);
/* All operands on one device, or "Expected all tensors to be on the same device, but found at least two devices, …". */
wf_status wf__check_same_device(const wf_tensor *const *tensors, int n);

/* ---- overlap of memory -------------------------------------------------------------------------------------------------- */

/* How the memory of two tensors meets, by PyTorch's rules: FULL for the same object or equal ranges with equal strides. */
wf__overlap wf__overlap_between(const wf_tensor *a, const wf_tensor *b);
/* Before writing `t`: "unsupported operation: more than one element of the written-to tensor refers to a single memory location…". */
wf_status wf__check_internal_overlap(const wf_tensor *t);
/* Before writing `written` while reading `read`: refuses PARTIAL, "unsupported operation: some elements of the input tensor and …". */
wf_status wf__check_partial_overlap(const wf_tensor *written, const wf_tensor *read);
/* The same for operators that can't work in place: refuses FULL as well. */
wf_status wf__check_no_overlap(const wf_tensor *written, const wf_tensor *read);

#endif
