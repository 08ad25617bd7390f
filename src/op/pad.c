/* Padding. With a number: the border is filled and the middle copied, each once. Mirrored, repeated or cyclic borders are an index for each
 * padded dim, so forward reads and backward adds up through the kernel of wf_index. */
#include <string.h>

#include <weft/index.h>
#include <weft/join.h>

#include "base/convert.h"
#include "base/host.h"
#include "copy/copy.h"
#include "op/indexed.h"
#include "op/op.h"
#include "op/place.h"
#include "op/call_forms.h"
#include "op/view_make.h"

/* before[d], behind[d]: elements added in dim d, cropped when negative. */
typedef struct padding {
  int64_t before[WF_MAX_DIMS], behind[WF_MAX_DIMS];
  wf__sizes sizes; /* of self */
  int32_t dims;    /* how many of the last dims are padded */
  int32_t mode;
} padding;

static wf_status read_padding(const wf_tensor *self, wf_dims pad, padding *p) {
  int n = self->layout.ndim;
  WF__TRY(wf__list_check(pad));
  WF__CHECK(pad.n % 2 == 0, WF_RUNTIME, "Padding length must be divisible by 2");
  WF__CHECK(
      pad.n <= 2 * n, WF_RUNTIME,
      "Padding length should be less than or equal to two times the input dimension but got padding length %d and input of dimension %d",
      pad.n, n);
  *p = (padding){.sizes = wf__sizes_of(self), .dims = pad.n / 2};
  for (int i = 0; i < pad.n / 2; i++) {
    p->before[n - 1 - i] = pad.at[2 * i];
    p->behind[n - 1 - i] = pad.at[2 * i + 1];
  }
  return WF_OK;
}

/* self's size in each dim with the padding added. */
static wf_status padded_sizes(const padding *p, int64_t *size) {
  for (int d = 0; d < p->sizes.n; d++) {
    bool overflow = __builtin_add_overflow(p->sizes.at[d], p->before[d], &size[d]);
    overflow |= __builtin_add_overflow(size[d], p->behind[d], &size[d]);
    WF__CHECK(!overflow, WF_RUNTIME, "numel: integer multiplication overflow");
  }
  return WF_OK;
}

/* ---- with a number ----------------------------------------------------------------------------------------------------------------- */

static wf_status constant_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const padding *p = node->payload;
  int64_t pad[2 * WF_MAX_DIMS];
  for (int i = 0; i < p->dims; i++) {
    pad[2 * i] = -p->before[p->sizes.n - 1 - i];
    pad[2 * i + 1] = -p->behind[p->sizes.n - 1 - i];
  }
  out[0] = wf_pad(grad[0], wf_dims_of(pad, 2 * p->dims), WF_PAD_CONSTANT, wf_no_scalar());
  return wf__self.pending;
}
static const wf__node_class constant_class = {"ConstantPadNdBackward0", constant_apply, NULL};

/* self without what negative numbers crop; the caller's reference. */
static wf_tensor *cropped(const wf_tensor *self, const padding *p) {
  wf__layout l = self->layout;
  for (int d = 0; d < l.ndim; d++) {
    int64_t before = p->before[d] < 0 ? -p->before[d] : 0, behind = p->behind[d] < 0 ? -p->behind[d] : 0;
    if (before > l.size[d] || behind > l.size[d] - before)
      return wf__fail(WF_RUNTIME, "narrow(): length must be non-negative."), NULL;
    l.size[d] -= before + behind;
    if (l.size[d]) l.offset += before * l.stride[d];
  }
  WF__TRY_OR(wf__layout_recount(&l), NULL);
  return wf__tensor_alias(self, (wf_dtype)self->dtype, &l);
}

static wf_status fill_part(wf_tensor *region, int d, int64_t start, int64_t length, wf_scalar value) {
  wf_tensor *slab = length > 0 ? wf__part(region, d, start, length) : NULL;
  if (slab) wf__fill(slab, value);
  wf__tensor_release(slab);
  return wf__self.pending;
}

/* Fills the border dim by dim, each time of what is left in the middle, then copies the middle. */
static wf_status fill_and_copy(wf_tensor *out, const wf_tensor *middle, const padding *p, wf_scalar value) {
  wf_tensor *region = wf_retain(out);
  for (int d = 0; d < p->sizes.n && !wf__self.pending; d++) {
    int64_t before = p->before[d] > 0 ? p->before[d] : 0, behind = p->behind[d] > 0 ? p->behind[d] : 0;
    if (!before && !behind) continue;
    fill_part(region, d, 0, before, value);
    fill_part(region, d, before + middle->layout.size[d], behind, value);
    wf_tensor *inner = wf__self.pending ? NULL : wf__part(region, d, before, middle->layout.size[d]);
    wf__tensor_release(region);
    region = inner;
  }
  if (!wf__self.pending) wf__copy(region, middle, false, false);
  wf__tensor_release(region);
  return wf__self.pending;
}

static wf_tensor *pad_constant(const wf_tensor *self, const padding *p, wf_scalar value) {
  int64_t size[WF_MAX_DIMS];
  bool grows = false;
  for (int d = 0; d < p->sizes.n; d++) grows |= p->before[d] > 0 || p->behind[d] > 0;
  wf_tensor *middle = padded_sizes(p, size) ? NULL : cropped(self, p), *out = NULL;
  if (!value.kind) value = wf_int(0);
  if (middle && !grows) out = wf__copied(middle, WF_FORMAT_PRESERVE);
  else if (middle &&
           (out = wf__new(self, (wf_dtype)self->dtype, wf_dims_of(size, p->sizes.n),
                          wf__suggest_format(&self->layout))) &&
           !wf__fill_check(out, wf_float(wf__scalar_double(value)))) /* PyTorch takes a float: -1 isn't a uint8 */
    fill_and_copy(out, middle, p, value);
  wf__tensor_release(middle);
  wf__node *node = out && !wf__self.pending ? wf__node_for(&constant_class, &self, 1, 0, p, sizeof *p) : NULL;
  return wf__finish(out, node);
}

/* ---- with self's own elements ---------------------------------------------------------------------------------------------------------- */

/* Where element i of padded dim d comes from. A circle goes round in what cropping leaves, the others mirror and repeat the whole. */
static int64_t source_place(const padding *p, int d, int64_t i) {
  int64_t before = p->before[d], behind = p->behind[d], n = p->sizes.at[d], at = i - before, start = 0;
  if (p->mode == WF_PAD_REFLECT) return at < 0 ? -at : at >= n ? 2 * n - 2 - at : at;
  if (p->mode == WF_PAD_REPLICATE) return at < 0 ? 0 : at >= n ? n - 1 : at;
  if (before < 0) start = -before;
  n -= start + (behind < 0 ? -behind : 0);
  return start + ((at - start) % n + n) % n;
}

/* Where each element of dim d comes from, shaped [length, 1, …] to stand before the dims behind it; in the scope. */
static wf_tensor *source_index(const padding *p, int d, int64_t length, wf_device device) {
  int64_t size[WF_MAX_DIMS], *at = wf__malloc((size_t)length * sizeof *at);
  if (!at) return NULL;
  for (int64_t i = 0; i < length; i++) at[i] = source_place(p, d, i);
  size[0] = length;
  for (int k = 1; k < p->sizes.n - d; k++) size[k] = 1;
  wf_tensor *host = wf_from_data(at, wf_dims_of(size, p->sizes.n - d), WF_I64);
  wf__release(at);
  wf__device *there = host ? wf__device_get(device) : NULL;
  return there ? wf__give(wf__to(host, WF_DTYPE_NONE, there, false, false)) : NULL;
}

/* An index for each padded dim, NULL for the others. */
static wf_status source_indices(const padding *p, wf_device device, wf_tensor **at) {
  int64_t size[WF_MAX_DIMS];
  WF__TRY(padded_sizes(p, size));
  for (int d = 0; d < p->sizes.n; d++) {
    at[d] = NULL;
    if (d >= p->sizes.n - p->dims && !(at[d] = source_index(p, d, size[d], device))) return wf__self.pending;
  }
  return WF_OK;
}

static wf_status indexed_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const padding *p = node->payload;
  wf_tensor *at[WF_MAX_DIMS], *zeros = wf__fresh_zeros(grad[0], wf__sizes_dims(&p->sizes));
  WF__TRY(source_indices(p, wf_device_of(grad[0]), at));
  wf_tensors list = {at, p->sizes.n};
  out[0] = wf_index_put(zeros, list, grad[0], true);
  return wf__self.pending;
}
static const wf__node_class indexed_classes[][3] = {
    [WF_PAD_REFLECT] = {{"ReflectionPad1DBackward0", indexed_apply, NULL},
                        {"ReflectionPad2DBackward0", indexed_apply, NULL},
                        {"ReflectionPad3DBackward0", indexed_apply, NULL}},
    [WF_PAD_REPLICATE] = {{"ReplicationPad1DBackward0", indexed_apply, NULL},
                          {"ReplicationPad2DBackward0", indexed_apply, NULL},
                          {"ReplicationPad3DBackward0", indexed_apply, NULL}},
    [WF_PAD_CIRCULAR] = {{"CircularPad1DBackward0", indexed_apply, NULL},
                         {"CircularPad2DBackward0", indexed_apply, NULL},
                         {"CircularPad3DBackward0", indexed_apply, NULL}}};

static const char *const mode_names[] = {"constant", "reflect", "replicate", "circular"};

static wf_status check_mirror(const wf_tensor *self, const padding *p) {
  char text[WF__DIMS_TEXT];
  int n = self->layout.ndim;
  for (int i = 0; i < p->dims; i++) {
    int d = n - 1 - i;
    WF__CHECK(
        p->before[d] < p->sizes.at[d] && p->behind[d] < p->sizes.at[d], WF_RUNTIME,
        "Argument #%d: Padding size should be less than the corresponding input dimension, but got: padding (%lld, %lld) at dimension %d "
        "of input %s",
        4 + 2 * i, (long long)p->before[d], (long long)p->behind[d], d, wf__dims_text(wf_sizes(self), text));
  }
  return WF_OK;
}

static wf_status check_circle(const padding *p, const int64_t *size) {
  for (int d = p->sizes.n - p->dims; d < p->sizes.n; d++) {
    WF__CHECK(p->before[d] <= p->sizes.at[d] && p->behind[d] <= p->sizes.at[d], WF_RUNTIME,
              "Padding value causes wrapping around more than once.");
    int64_t cropped_away = (p->before[d] < 0 ? -p->before[d] : 0) + (p->behind[d] < 0 ? -p->behind[d] : 0);
    WF__CHECK(size[d] >= 0 && (size[d] == 0 || cropped_away < p->sizes.at[d]), WF_RUNTIME,
              "Negative padding value is resulting in an empty dimension");
  }
  return WF_OK;
}

/* reflect and replicate read an edge, so there must be one. */
static wf_status check_edges(const wf_tensor *self, const padding *p, const int64_t *size) {
  char text[WF__DIMS_TEXT];
  int n = self->layout.ndim;
  bool filled = true;
  for (int d = n > p->dims + 1 ? 1 : 0; d < n; d++) filled = filled && self->layout.size[d];
  WF__CHECK(
      filled, WF_RUNTIME,
      "Expected %dD or %dD (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: %s",
      p->dims + 1, p->dims + 2, wf__dims_text(wf_sizes(self), text));
  if (p->mode == WF_PAD_REFLECT) WF__TRY(check_mirror(self, p));
  if (self->dtype == WF_BOOL)
    return wf__fail(WF_NOT_IMPLEMENTED, "\"%s_pad%dd\" not implemented for 'Bool'",
                    p->mode == WF_PAD_REFLECT ? "reflection" : "replication", p->dims);
  for (int d = n - p->dims; d < n; d++)
    WF__CHECK(size[d] >= 1, WF_RUNTIME, "input (%c: %lld) is too small. Calculated output %c: %lld", "DHW"[3 - n + d],
              (long long)p -> sizes.at[d], "DHW"[3 - n + d], (long long)size[d]);
  return WF_OK;
}

static wf_status check_indexed(const wf_tensor *self, const padding *p, wf_scalar value, int64_t *size) {
  int n = self->layout.ndim;
  WF__CHECK(value.kind == WF_SCALAR_NONE || (value.kind == WF_SCALAR_FLOAT ? value.as.f == 0 : value.as.i == 0),
            WF_RUNTIME, "Padding mode \"%s\" doesn't take in value argument", mode_names[p->mode]);
  WF__CHECK(p->dims >= 1 && p->dims <= 3 && (n == p->dims + 1 || n == p->dims + 2), WF_NOT_IMPLEMENTED,
            "Padding size %d is not supported for %dD input tensor.\nSupported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)",
            2 * p->dims, n);
  WF__TRY(padded_sizes(p, size));
  return p->mode == WF_PAD_CIRCULAR ? check_circle(p, size) : check_edges(self, p, size);
}

static wf_tensor *pad_indexed(const wf_tensor *self, const padding *p, wf_scalar value) {
  int64_t size[WF_MAX_DIMS];
  wf__indices list = {.wraps = false};
  wf_tensor *at[WF_MAX_DIMS];
  WF__TRY_OR(check_indexed(self, p, value, size), NULL);
  bool keeps_format = p->mode != WF_PAD_CIRCULAR && p->dims > 1;
  wf_scope scope = wf_scope_begin();
  wf_tensor *out = NULL;
  if (!source_indices(p, wf_device_of(self), at)) {
    for (int d = 0; d < p->sizes.n; d++) list.at[d] = at[d];
    out = wf__new(self, (wf_dtype)self->dtype, wf_dims_of(size, p->sizes.n),
                  keeps_format ? wf__suggest_format(&self->layout) : WF_FORMAT_CONTIGUOUS);
    if (out && out->layout.numel) wf__index_get_into(out, self, &list);
    wf__node *node = out && !wf__self.pending
                         ? wf__node_for(&indexed_classes[p->mode][p->dims - 1], &self, 1, 0, p, sizeof *p)
                         : NULL;
    out = wf__finish(out, node);
  }
  return wf_scope_end(scope, out);
}

/* ---- which -------------------------------------------------------------------------------------------------------------------------- */

wf_tensor *wf_pad(const wf_tensor *self, wf_dims pad, wf_pad_mode mode, wf_scalar value) {
  WF__OP("pad", NULL);
  padding p;
  WF__TRY_OR(wf__given(self, "self"), NULL);
  if ((unsigned)mode > WF_PAD_CIRCULAR)
    return wf__fail(WF_NOT_IMPLEMENTED, "Unrecognised padding mode %d", (int)mode), NULL;
  WF__TRY_OR(read_padding(self, pad, &p), NULL);
  p.mode = (int32_t)mode;
  return mode == WF_PAD_CONSTANT ? pad_constant(self, &p, value) : pad_indexed(self, &p, value);
}

wf_tensor *wf__call_pad(const wf_tensor *self, wf_dims pad, const char *mode, wf_scalar value) {
  WF__OP("pad", NULL);
  for (int m = 0; m <= WF_PAD_CIRCULAR; m++)
    if (!strcmp(mode, mode_names[m])) return wf_pad(self, pad, (wf_pad_mode)m, value);
  return wf__fail(WF_NOT_IMPLEMENTED, "Unrecognised padding mode %s", mode), NULL;
}
