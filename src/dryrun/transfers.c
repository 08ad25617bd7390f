/* Copies and fills. Device memory has no content but the little in contents.c: what the host reads of
 * it is zeros otherwise, and each such copy is noted as a read. Kinds are named as
 * PyTorch's profiler names them. */
#include <string.h>
#include "dryrun/stand_in.h"

enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESS };

typedef struct end {
  int device; /* -1: the host */
  bool pinned;
} end;

static end end_of(const void *address) {
  wf__dry_range range;
  if (wf__dry_range_of(address, &range)) {
    if (range.place == DRY_DEVICE) return (end){range.device, false};
    return (end){-1, true};
  }
  return wf__dry_is_device(address) ? (end){wf__dry_current_device(), false} : (end){-1, false};
}

static const char *name_of(end to, end from) {
  if (to.device >= 0 && from.device >= 0)
    return to.device == from.device ? "Memcpy DtoD (Device -> Device)" : "Memcpy PtoP (Device -> Device)";
  if (to.device >= 0) return from.pinned ? "Memcpy HtoD (Pinned -> Device)" : "Memcpy HtoD (Pageable -> Device)";
  if (from.device >= 0) return to.pinned ? "Memcpy DtoH (Device -> Pinned)" : "Memcpy DtoH (Device -> Pageable)";
  return "Memcpy HtoH";
}

typedef struct transfer {
  void *to;
  const void *from;
  size_t to_pitch, from_pitch, width, height;
  void *stream;
  bool asynchronous;
} transfer;

/* Rows of `width` bytes, `height` of them. Returns whether what was read of a device is known. */
static bool move(const transfer *t, end to_end, end from_end) {
  bool known = true;
  for (size_t row = 0; row < t->height; row++) {
    char *to = (char *)t->to + row * t->to_pitch;
    const char *from = (const char *)t->from + row * t->from_pitch;
    if (from_end.device < 0 && to_end.device < 0) memmove(to, from, t->width);
    else if (from_end.device < 0) wf__dry_contents_put(to, from, t->width);
    else if (to_end.device >= 0) wf__dry_contents_copy(to, from, t->width);
    else if (!wf__dry_contents_get(from, to, t->width)) {
      memset(to, 0, t->width);
      known = false;
    }
  }
  return known;
}

/* As the runtime's documentation of synchronous behaviour has it: to or from pageable memory the call returns when the host's part is done. */
static bool blocks(const transfer *t, end to, end from) {
  if (!t->asynchronous) return to.device < 0 || from.device < 0;
  bool pageable = (to.device < 0 && !to.pinned) || (from.device < 0 && !from.pinned);
  return pageable;
}

/* Whether all are true is true: who asks that looks whether values are finite, two agree or a mask leaves nothing out, and goes another way, or
 * nowhere, if not. Nested tensors ask whether a mask's rows are what their sums say; they would then be made by sums that are zero. Of other tests
 * those are true by which PyTorch itself refuses what isn't fit. */
static bool is_true(wf__dry_result result, size_t bytes) {
  static const char *const nested[] = {"nested_tensor_from_mask_left_aligned", NULL};
  static const char *const checks[] = {"_ops11multinomial", "_ops20normal_Tensor_Tensor", "_ops19normal_float_Tensor",
                                       NULL};
  enum { DEPTH = 64 };
  if (bytes != 1) return false;
  return result == DRY_RESULT_ALL ? !wf__dry_called_by(nested, DEPTH) : wf__dry_called_by(checks, DEPTH);
}

/* The host has read zeros. Where that is a size, what the program makes of it isn't counted. */
static void note_read(const transfer *t, int device, size_t bytes) {
  wf__dry_result result = wf__dry_last_result();
  bool size = result == DRY_RESULT_SIZE && bytes <= sizeof(int64_t), all = is_true(result, bytes);
  if (all) *(char *)t->to = 1;
  wf__dry_work(t->stream, (wf__dry_happening){.kind = "read",
                                              .what = size  ? "size read as zero"
                                                      : all ? "test read as true"
                                                            : "device memory read as zeros",
                                              .device = device,
                                              .bytes = (int64_t)bytes});
  if (size)
    wf__dry_limit(
        "sizes that depend on values",
        "they were read as 0, so what would be selected (by nonzero, a mask, unique, NMS), and all that is made of it, isn't counted");
}

static int run(const transfer *t) {
  wf__dry_stream *stream = wf__dry_stream_of(t->stream);
  int code = wf__dry_use_device(wf__dry_current_device());
  if (code != DRY_OK) return code;
  if (!stream) return wf__dry_error(DRY_INVALID_HANDLE);
  size_t bytes = t->width * t->height;
  if (!bytes) return DRY_OK;
  if (!t->to || !t->from) return wf__dry_error(DRY_INVALID_VALUE);
  end to = end_of(t->to), from = end_of(t->from);
  int device = to.device >= 0 ? to.device : from.device >= 0 ? from.device : wf__dry_stream_device(stream);
  bool captured = wf__dry_capturing(stream) != NULL, blocking = !captured && blocks(t, to, from);
  bool known = !captured && move(t, to, from);
  wf__dry_work(
      t->stream,
      (wf__dry_happening){
          .kind = "copy", .what = name_of(to, from), .device = device, .bytes = (int64_t)bytes, .blocking = blocking});
  if (to.device < 0 && from.device >= 0 && !known) note_read(t, device, bytes);
  if (blocking) wf__dry_stream_done(stream);
  return DRY_OK;
}

static int flat(void *to, const void *from, size_t bytes, void *stream, bool asynchronous) {
  return run(&(transfer){to, from, bytes, bytes, bytes, 1, stream, asynchronous});
}

DRY_API int cudaMemcpy(void *to, const void *from, size_t bytes, int kind) {
  return flat(to, from, bytes, NULL, false);
}
DRY_API int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) {
  return flat(to, from, bytes, stream, true);
}
DRY_API int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes) {
  return flat(to, from, bytes, NULL, false);
}
DRY_API int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                void *stream) {
  return flat(to, from, bytes, stream, true);
}
DRY_API int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         int kind) {
  return run(&(transfer){to, from, to_pitch, from_pitch, width, height, NULL, false});
}
DRY_API int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, int kind, void *stream) {
  return run(&(transfer){to, from, to_pitch, from_pitch, width, height, stream, true});
}
DRY_API int cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *bytes, size_t count,
                                 const void *attributes, const size_t *indices, size_t attribute_count, void *stream) {
  for (size_t i = 0; i < count; i++) {
    int code = flat(to[i], from[i], bytes[i], stream, true);
    if (code != DRY_OK) return code;
  }
  return DRY_OK;
}

/* A variable of a kernel file: it has no address here, so only the copy is counted. */
static int to_symbol(size_t bytes, void *stream, bool blocking) {
  wf__dry_work(stream, (wf__dry_happening){.kind = "copy",
                                           .what = "Memcpy HtoD (Pageable -> Device)",
                                           .device = wf__dry_current_device(),
                                           .bytes = (int64_t)bytes,
                                           .blocking = blocking});
  return DRY_OK;
}
DRY_API int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind) {
  return to_symbol(bytes, NULL, true);
}
DRY_API int cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, int kind,
                                    void *stream) {
  return to_symbol(bytes, stream, true);
}
DRY_API int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind) {
  memset(to, 0, bytes);
  wf__dry_limit("cudaMemcpyFromSymbol", "a variable of a kernel file reads as zeros");
  return DRY_OK;
}

/* `value` in elements of so many bytes, `count` of them. */
static int fill(void *at, uint32_t value, size_t element, size_t count, void *stream) {
  size_t bytes = element * count;
  int code = wf__dry_use_device(wf__dry_current_device());
  if (code != DRY_OK) return code;
  if (!wf__dry_stream_of(stream)) return wf__dry_error(DRY_INVALID_HANDLE);
  if (!bytes) return DRY_OK;
  if (!at) return wf__dry_error(DRY_INVALID_VALUE);
  end where = end_of(at);
  if (where.device >= 0) wf__dry_contents_put(at, NULL, bytes);
  for (size_t i = 0; where.device < 0 && i < count; i++) memcpy((char *)at + i * element, &value, element);
  wf__dry_work(stream, (wf__dry_happening){.kind = "fill",
                                           .what = where.device < 0 ? "Memset (Pinned)" : "Memset (Device)",
                                           .device = where.device < 0 ? wf__dry_current_device() : where.device,
                                           .bytes = (int64_t)bytes});
  return DRY_OK;
}
DRY_API int cudaMemset(void *at, int value, size_t bytes) { return fill(at, (uint32_t)value, 1, bytes, NULL); }
DRY_API int cudaMemsetAsync(void *at, int value, size_t bytes, void *stream) {
  return fill(at, (uint32_t)value, 1, bytes, stream);
}

/* ---- the driver's names ---- */

DRY_API int cuMemcpyHtoD_v2(void *to, const void *from, size_t bytes) { return flat(to, from, bytes, NULL, false); }
DRY_API int cuMemcpyDtoH_v2(void *to, const void *from, size_t bytes) { return flat(to, from, bytes, NULL, false); }
DRY_API int cuMemcpyDtoD_v2(void *to, const void *from, size_t bytes) { return flat(to, from, bytes, NULL, false); }
DRY_API int cuMemcpy(void *to, const void *from, size_t bytes) { return flat(to, from, bytes, NULL, false); }
DRY_API int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t bytes, void *stream) {
  return flat(to, from, bytes, stream, true);
}
DRY_API int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t bytes, void *stream) {
  return flat(to, from, bytes, stream, true);
}
DRY_API int cuMemcpyDtoDAsync_v2(void *to, const void *from, size_t bytes, void *stream) {
  return flat(to, from, bytes, stream, true);
}
DRY_API int cuMemcpyAsync(void *to, const void *from, size_t bytes, void *stream) {
  return flat(to, from, bytes, stream, true);
}
DRY_API int cuMemsetD8_v2(void *at, unsigned char value, size_t count) { return fill(at, value, 1, count, NULL); }
DRY_API int cuMemsetD8Async(void *at, unsigned char value, size_t count, void *stream) {
  return fill(at, value, 1, count, stream);
}
DRY_API int cuMemsetD32_v2(void *at, unsigned value, size_t count) { return fill(at, value, 4, count, NULL); }
DRY_API int cuMemsetD32Async(void *at, unsigned value, size_t count, void *stream) {
  return fill(at, value, 4, count, stream);
}
