/* Copies between the host and a device, or two devices. Only runs of bytes cross; what is strided or cast is packed on one side first, as
 * in PyTorch: on the device when the call doesn't wait, on the host when it does. */
#include "copy/internal.h"

static bool is_host(const wf_tensor *t) { return wf__device_of(t)->id.type == WF_DEVICE_CPU; }

static bool lies_as(const wf_tensor *t, const wf__layout *layout) {
  if (t->layout.ndim != layout->ndim) return false;
  for (int d = 0; d < layout->ndim; d++) {
    if (t->layout.size[d] != layout->size[d]) return false;
    if (layout->size[d] > 1 && t->layout.stride[d] != layout->stride[d]) return false;
  }
  return true;
}

/* A tensor on `device` for dst's elements without gaps, in dst's own order of dims. */
static wf_tensor *empty_for(const wf_tensor *dst, wf__device *device, wf_dtype dtype) {
  wf__layout layout;
  wf__layout_preserve(&dst->layout, &layout);
  return wf__tensor_empty(device, dtype, &layout);
}

/* src broadcast, cast and laid out like that, on its own device: itself when it is so already. One reference, the caller's. */
static wf_tensor *packed_for(const wf_tensor *dst, const wf_tensor *src, wf_dtype dtype, bool implicit) {
  wf__layout layout;
  wf__layout_preserve(&dst->layout, &layout);
  if (src->dtype == dtype && lies_as(src, &layout)) return wf_retain((wf_tensor *)src);
  wf_tensor *t = wf__tensor_empty(wf__device_of(src), dtype, &layout);
  if (t && wf__copy(t, src, false, implicit)) {
    wf__tensor_release(t);
    return NULL;
  }
  return t;
}

/* One run of bytes. */
static wf_status move_run(wf_tensor *dst, const wf_tensor *src, bool non_blocking, bool implicit) {
  bool up = is_host(src);
  const wf_tensor *host = up ? src : dst;
  wf__device *device = wf__device_of(up ? dst : src);
  bool pinned = host->storage->pinned, blocking = !non_blocking || (!up && !pinned);
  wf_transfer transfer = {.direction = up ? WF_HOST_TO_DEVICE : WF_DEVICE_TO_HOST,
                          .dst = wf__data(dst),
                          .src = wf__data(src),
                          .bytes = (size_t)dst->layout.numel * wf__itemsize(dst),
                          .host_pinned = pinned,
                          .tag.implicit = implicit && !wf__self.asked};
  /* A pinned block that is freed while the copy is on its way waits for it. */
  if (!blocking && pinned)
    WF__TRY(wf__memory_record_stream((wf__memory *)&host->storage->memory, wf__stream_now(device)));
  return wf__transfer(device, &transfer, blocking);
}

/* Two devices meet on the host. */
static wf_status through_host(wf_tensor *dst, const wf_tensor *src, bool non_blocking, bool implicit) {
  wf__device *cpu = wf__device_get(wf_cpu());
  wf_tensor *host = cpu ? empty_for(src, cpu, (wf_dtype)src->dtype) : NULL;
  if (!host) return wf__self.pending;
  wf_status status = wf__copy(host, src, false, implicit);
  if (!status) status = wf__copy(dst, host, non_blocking, implicit);
  wf__tensor_release(host);
  return status;
}

/* What crosses has the destination's dtype when it is cast before, the source's when it is cast after. */
static wf_status through_packed(wf_tensor *dst, const wf_tensor *src, bool non_blocking, bool implicit) {
  bool cast_first =
      is_host(src) == !non_blocking; /* the side that converts is the device of a call that doesn't wait */
  wf_dtype crossing = (wf_dtype)(cast_first ? dst->dtype : src->dtype);
  bool straight = wf__is_dense(&dst->layout) && dst->dtype == crossing;
  wf_tensor *from = packed_for(dst, src, crossing, implicit);
  wf_tensor *to = !from ? NULL : straight ? dst : empty_for(dst, wf__device_of(dst), crossing);
  wf_status status = wf__self.pending;
  if (to) {
    /* The host must not touch what hasn't arrived; a device orders itself. */
    status = move_run(to, from, non_blocking && (straight || !is_host(dst)), implicit);
    if (!status && !straight) status = wf__copy(dst, to, non_blocking, implicit);
  }
  if (to && !straight) wf__tensor_release(to);
  wf__tensor_release(from);
  return status;
}

wf_status wf__copy_between(wf_tensor *dst, const wf_tensor *src, const wf_plan *plan, bool non_blocking,
                           bool implicit) {
  if (!is_host(dst) && !is_host(src)) return through_host(dst, src, non_blocking, implicit);
  if (wf__copy_is_run(plan)) return move_run(dst, src, non_blocking, implicit);
  return through_packed(dst, src, non_blocking, implicit);
}
