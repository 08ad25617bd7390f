/* The copy family: clone, contiguous, to, copy_, fills. Every byte goes through the copy engine and is counted where it was asked for. */
#ifndef WEFT_COPY_H
#define WEFT_COPY_H

#include <weft/tensor.h>

WF_EXTERN_C_BEGIN

/** A copy of self in `format` (PRESERVE: self's own strides where it is dense). New. grad: to self. Errors: WF_RUNTIME when the format needs
 *  another rank. */
WF_API wf_tensor *wf_clone(const wf_tensor *self, wf_memory_format format);
/** self when it is contiguous in `format` already, else a copy that is. Self or new. grad: to self. Errors: WF_RUNTIME for PRESERVE of a
 *  tensor that isn't row-major, and when the format needs another rank. */
WF_API wf_tensor *wf_contiguous(const wf_tensor *self, wf_memory_format format);

/** What `to` can change. */
typedef struct wf_to_options {
  wf_dtype dtype;          /* WF_DTYPE_NONE: unchanged */
  const wf_device *device; /* NULL: unchanged */
  bool copy;               /* false: self is returned when nothing changes */
  bool
      non_blocking; /* false: a transfer is over on return; true: it is queued, which takes pinned host memory to matter */
  wf_memory_format format; /* PRESERVE */
} wf_to_options;
/** The defaults. */
WF_API wf_to_options wf_to_defaults(void);
/** self with what the options change. Self or new. grad: to self, in self's dtype and on its device. Sync: unless non_blocking, when a
 *  device is left or entered. */
WF_API wf_tensor *wf_to_with(const wf_tensor *self, const wf_to_options *options);
/** self in another dtype. As wf_to_with. */
WF_API wf_tensor *wf_to(const wf_tensor *self, wf_dtype dtype);
/** self on another device. As wf_to_with. */
WF_API wf_tensor *wf_to_device(const wf_tensor *self, wf_device device, bool non_blocking);
/** self in pinned host memory, from which devices copy while the host goes on. Self when it is pinned, else new. Errors: WF_RUNTIME for a
 *  tensor that isn't on cpu; WF_DEVICE when there is no accelerator. */
WF_API wf_tensor *wf_pin_memory(const wf_tensor *self);

/** Writes source, broadcast and cast, over self. In place. grad: to source; self's history is replaced. Sync: between devices, unless
 *  non_blocking. Errors: WF_RUNTIME when source doesn't broadcast to self, or memory overlaps in part. */
WF_API wf_status wf_copy_(wf_tensor *self, const wf_tensor *source, bool non_blocking);
/** Writes the number to every element. In place. Errors: WF_RUNTIME for a number that the dtype can't hold. */
WF_API wf_status wf_fill_(wf_tensor *self, wf_scalar value);
/** The same with the one element of a tensor of rank 0. grad: to value. */
WF_API wf_status wf_fill_tensor_(wf_tensor *self, const wf_tensor *value);
/** Writes zeros. In place. */
WF_API wf_status wf_zero_(wf_tensor *self);

WF_EXTERN_C_END
#endif
