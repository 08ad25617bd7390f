/* Tensors: making, reading, releasing. A tensor is layout, view, device, ownership and gradient connectivity at once.
 *
 * Ownership: each call that returns a tensor gives one reference to the innermost wf_scope open on this thread, or to the
 * caller if none is open; also when it returns its own input. */
#ifndef WEFT_TENSOR_H
#define WEFT_TENSOR_H

#include <weft/device.h>
#include <weft/dtype.h>

WF_EXTERN_C_BEGIN

typedef struct wf_tensor wf_tensor;

/** A list of tensors by value. The array belongs to the innermost scope like the tensors do, else to the caller, who frees it
 *  and one reference of each with wf_tensors_free. On error n is 0 and at NULL. */
typedef struct wf_tensors {
  wf_tensor **at;
  int n;
} wf_tensors;
/** Gives back the array and one reference of each tensor in it. */
WF_API void wf_tensors_free(wf_tensors list);

/* ---- scopes and references -------------------------------------------------------------------------------------- */

/** An open scope: owns one reference of each tensor that calls on this thread return while it is the innermost. */
typedef struct wf_scope {
  uint32_t depth;
} wf_scope;
/** Opens a scope. A scope ends on the thread that began it; scopes nest. */
WF_API wf_scope wf_scope_begin(void);
/** Ends the scope (and any left open inside): gives back its references and hands `result`'s to the scope outside, or to the
 *  caller; when the scope holds none of it (an argument passed through), one is added. `result` may be NULL. Always runs, also
 *  with an error pending. Returns result (NULL if an error is pending). */
WF_API wf_tensor *wf_scope_end(wf_scope scope, wf_tensor *result);
/** Adds a reference that is yours; give it back with wf_free. NULL is accepted. Returns tensor. */
WF_API wf_tensor *wf_retain(wf_tensor *tensor);
/** Gives one reference back early: the innermost scope's if it holds one, else yours. NULL is accepted. Any thread. */
WF_API void wf_free(wf_tensor *tensor);

/* ---- making ------------------------------------------------------------------------------------------------------ */

/** What factories take besides sizes; NULL means all defaults. */
typedef struct wf_tensor_options {
  wf_dtype dtype;          /* WF_DTYPE_NONE: float32, or what PyTorch would infer */
  wf_device device;        /* cpu */
  bool requires_grad;      /* false */
  bool pinned;             /* false; host memory that devices copy from asynchronously */
  wf_memory_format format; /* contiguous */
} wf_tensor_options;
/** The default options, as said beside each field. */
WF_API wf_tensor_options wf_tensor_defaults(void);

/** New tensor with the `size` elements read from host array `data` (row-major, of `dtype`); copied. New. data may be NULL when
 *  the tensor is empty. */
WF_API wf_tensor *wf_from_data(const void *data, wf_dims size, wf_dtype dtype);
/** New tensor over foreign host memory, without a copy. strides in elements (WF_SHAPE0: row-major). `nbytes` of memory at
 *  `data` must cover it (WF_RUNTIME else). `deleter(data, context)` runs once when the last tensor over it goes, never when the
 *  call fails; may be NULL. The storage isn't resizable. View of foreign memory. */
WF_API wf_tensor *wf_from_memory(void *data, size_t nbytes, wf_dims size, wf_dims stride, wf_dtype dtype,
                                 void (*deleter)(void *data, void *context), void *context);

/* ---- metadata: getters accept NULL (0, false, WF_DTYPE_NONE, NULL) -------------------------------------------------- */

/** Number of dimensions; 0 for a number. */
WF_API int wf_ndim(const wf_tensor *t);
/** Size of dimension `dim`, which may be negative. Errors: WF_INDEX, then -1. */
WF_API int64_t wf_size(const wf_tensor *t, int64_t dim);
/** Stride of dimension `dim` in elements; `dim` may be negative. Errors: WF_INDEX, then -1. */
WF_API int64_t wf_stride(const wf_tensor *t, int64_t dim);
/** All sizes; borrowed from the tensor. */
WF_API wf_dims wf_sizes(const wf_tensor *t);
/** All strides in elements; borrowed from the tensor. */
WF_API wf_dims wf_strides(const wf_tensor *t);
/** Offset of the first element in the storage, in elements. */
WF_API int64_t wf_storage_offset(const wf_tensor *t);
/** Number of elements. */
WF_API int64_t wf_numel(const wf_tensor *t);
/** Element type. */
WF_API wf_dtype wf_dtype_of(const wf_tensor *t);
/** The device that holds the data; cpu for NULL. */
WF_API wf_device wf_device_of(const wf_tensor *t);
/** Size of the whole storage in bytes, however little of it the tensor shows. */
WF_API size_t wf_storage_nbytes(const wf_tensor *t);
/** Whether a and b share one storage. */
WF_API bool wf_shares_storage(const wf_tensor *a, const wf_tensor *b);
/** Whether the elements lie in memory in the order of `format` without gaps. */
WF_API bool wf_is_contiguous(const wf_tensor *t, wf_memory_format format);
/** Version counter: how often the data has been written in place. */
WF_API uint32_t wf_version_of(const wf_tensor *t);
/** Whether the data lies in pinned host memory, which devices copy from and to asynchronously. */
WF_API bool wf_is_pinned(const wf_tensor *t);

/* ---- host access -------------------------------------------------------------------------------------------------- */

/** What the host does with mapped data. */
typedef enum wf_access { WF_READ = 1, WF_WRITE = 2, WF_READ_WRITE = 3 } wf_access;
/** Pointer to the tensor's first element for the host to read or write by its strides. Waits for work that still uses the
 *  storage; fails for memory that the host can't touch (WF_RUNTIME; copy to cpu first). Writing counts as a change in place:
 *  version +1, leaves that require grad refuse. Holds until wf_tensor_unmap. */
WF_API void *wf_tensor_map(wf_tensor *t, wf_access access);
/** Ends the access. NULL is accepted. */
WF_API void wf_tensor_unmap(wf_tensor *t);
/** Copies all elements, row-major and of the tensor's dtype, to `data` of `nbytes` bytes; waits. Errors: WF_VALUE when nbytes
 *  isn't numel · element size. Sync. */
WF_API wf_status wf_to_host(const wf_tensor *t, void *data, size_t nbytes);
/** The one element as a number of its kind. Errors: WF_RUNTIME when numel isn't 1; kind WF_SCALAR_NONE then. Sync. */
WF_API wf_scalar wf_item(const wf_tensor *t);
/** The same as double; 0 on error. Sync. */
WF_API double wf_item_double(const wf_tensor *t);
/** Writes the tensor as PyTorch prints it, with at most `size` bytes; returns the bytes that the whole text needs without
 *  the end, as snprintf does. Sync. */
WF_API size_t wf_tensor_print(const wf_tensor *t, char *buffer, size_t size);

WF_EXTERN_C_END
#endif
