/* See into.h. */
#include "op/into.h"

#include <string.h>
#include <weft/dtype.h>
#include "autograd/node.h"
#include "base/log.h"
#include "copy/copy.h"

wf_status wf__into_given(const char *name, const wf_tensor *dst, const wf_tensor *const *inputs, int n) {
  const wf_tensor *out[] = {dst};
  WF__CHECK(dst, WF_TYPE, "%s(): argument 'out' must be Tensor, not None", name);
  WF__CHECK(
      !wf__needs_grad(inputs, n) && !wf__needs_grad(out, 1), WF_RUNTIME,
      "%s(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad.",
      name);
  return WF_OK;
}

wf_status wf__into_dtype(const wf_tensor *dst, wf_dtype result) {
  WF__CHECK(dst->dtype == result, WF_RUNTIME, "Expected out tensor to have dtype %s, but got %s instead",
            wf__cpp_type_text(result), wf__cpp_type_text((wf_dtype)dst->dtype));
  return WF_OK;
}

wf_status wf__into_cast(const wf_tensor *dst, wf_dtype result) {
  WF__CHECK(wf_can_cast(result, (wf_dtype)dst->dtype), WF_RUNTIME,
            "result type %s can't be cast to the desired output type %s", wf__scalar_type_text(result),
            wf__scalar_type_text((wf_dtype)dst->dtype));
  return WF_OK;
}

wf_status wf__into_resize(wf_tensor *dst, wf_dims size) {
  const wf__layout *old = &dst->layout;
  if (old->ndim == size.n && !memcmp(old->size, size.at, (size_t)size.n * sizeof *size.at)) return WF_OK;
  wf__layout layout;
  size_t nbytes;
  WF__TRY(wf__layout_contiguous(&layout, size, wf__itemsize(dst)));
  layout.offset = old->offset;
  WF__TRY(wf__layout_nbytes(&layout, wf__itemsize(dst), &nbytes));
  if (nbytes > dst->storage->nbytes) WF__TRY(wf__storage_grow(dst->storage, nbytes));
  char was[WF__DIMS_TEXT], now[WF__DIMS_TEXT];
  if (old->numel)
    wf__log(
        WF_LOG_WARNING,
        "An output with one or more elements was resized since it had shape %s, which does not match the required output shape %s. "
        "This behavior is deprecated, and in a future release outputs will not be resized unless they have zero elements.",
        wf__dims_text(wf__layout_sizes(old), was), wf__dims_text(size, now));
  dst->layout = layout;
  return WF_OK;
}

/* ---- where it lies ------------------------------------------------------------------------------------------------------------------ */

static bool has_sizes(const wf_tensor *t, const wf__layout *l) {
  return t->layout.ndim == l->ndim && !memcmp(t->layout.size, l->size, (size_t)l->ndim * sizeof *l->size);
}

/* Sure to share nothing, whatever sizes dst gets. */
static bool lies_apart(const wf_tensor *dst, const wf_tensor *input, bool resized) {
  if (!input || dst->storage != input->storage) return true;
  return !resized && wf__overlap_between(dst, input) == WF__OVERLAP_NO;
}

static wf_status take_layout(wf_tensor *dst, const wf__layout *layout) {
  WF__TRY(wf__into_resize(dst, wf__layout_sizes(layout)));
  memcpy(dst->layout.stride, layout->stride, sizeof layout->stride);
  return WF_OK;
}

wf_tensor *wf__into_open(wf__into *into, wf_tensor *dst, const wf__layout *layout, const wf_tensor *const *inputs,
                         int n) {
  bool resized = !has_sizes(dst, layout), apart = true;
  *into = (wf__into){.dst = dst, .layout = *layout};
  for (int i = 0; i < n; i++) {
    const wf_tensor *both[] = {inputs[i], dst};
    WF__TRY_OR(wf__check_same_device(both, 2), NULL);
    apart = apart && lies_apart(dst, inputs[i], resized);
  }
  if (!resized) WF__TRY_OR(wf__check_internal_overlap(dst), NULL);
  if (!apart) return into->out = wf__tensor_empty(wf__device_of(dst), (wf_dtype)dst->dtype, layout);
  into->layout = dst->layout; /* as it was */
  if (resized) WF__TRY_OR(take_layout(dst, layout), NULL);
  return into->out = dst;
}

wf_status wf__into_close(wf__into *into) {
  wf_tensor *dst = into->dst, *out = into->out;
  if (out == dst) {
    if (wf__self.pending) dst->layout = into->layout;
    else wf__bump(dst);
    return wf__self.pending;
  }
  const wf__layout before = dst->layout;
  if (!wf__self.pending && !has_sizes(dst, &into->layout)) take_layout(dst, &into->layout);
  if (!wf__self.pending && wf__copy(dst, out, false, true)) dst->layout = before;
  if (!wf__self.pending) wf__bump(dst);
  wf__tensor_release(out);
  return wf__self.pending;
}

/* ---- two results -------------------------------------------------------------------------------------------------------------------- */

wf_status wf__into_pair_check(const char *name, const wf_tensor *values, const wf_tensor *indices, wf_dtype result) {
  WF__TRY(wf__into_given(name, values, NULL, 0));
  WF__TRY(wf__into_given(name, indices, NULL, 0));
  WF__TRY(wf__into_dtype(values, result));
  return wf__into_dtype(indices, WF_I64);
}

wf_status wf__into_pair_open(wf__into into[2], wf_tensor *values, wf_tensor *indices, const wf__layout *layout,
                             const wf_tensor *self) {
  const wf_tensor *before[] = {self, values};
  if (!wf__into_open(&into[0], values, layout, before, 1)) return wf__self.pending;
  if (!wf__into_open(&into[1], indices, layout, before, 2)) wf__into_close(&into[0]);
  return wf__self.pending;
}

/* So that taking the result's sizes can't fail when the other result has been changed already. */
static wf_status make_room(const wf__into *into) {
  wf_tensor *dst = into->dst;
  size_t nbytes;
  if (into->out == dst || has_sizes(dst, &into->layout)) return WF_OK;
  wf__layout layout = into->layout;
  layout.offset = dst->layout.offset;
  WF__TRY(wf__layout_nbytes(&layout, wf__itemsize(dst), &nbytes));
  return nbytes > dst->storage->nbytes ? wf__storage_grow(dst->storage, nbytes) : WF_OK;
}

wf_status wf__into_pair_close(wf__into into[2]) {
  if (!wf__self.pending && !make_room(&into[0])) make_room(&into[1]);
  wf__into_close(&into[0]);
  return wf__into_close(&into[1]);
}
