/* Elements by mask, and where elements aren't 0. How many there are is known once the data is: these operators wait for the count. */
#include <string.h>

#include <weft/create.h>
#include <weft/index.h>
#include <weft/reduce.h>
#include <weft/view.h>

#include "base/convert.h"
#include "copy/copy.h"
#include "kernel/indexing.h"
#include "op/op.h"
#include "op/place.h"
#include "op/view_make.h"

/* How many elements aren't 0; -1 on error. */
static int64_t count_of(const wf_tensor *t) {
  wf_scope scope = wf_scope_begin();
  wf_scalar count = wf_item(wf_count_nonzero(t, WF_SHAPE0));
  wf_scope_end(scope, NULL);
  return wf__self.pending ? -1 : wf__scalar_int(count);
}

/* ---- nonzero ------------------------------------------------------------------------------------------------------------------------ */

wf_tensor *wf_nonzero(const wf_tensor *self) {
  WF__OP("nonzero", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  int64_t n = count_of(self), size[2] = {n, self->layout.ndim}, stride[2] = {1, n};
  wf__layout layout;
  if (n < 0 || wf__layout_strided(&layout, wf_dims_of(size, 2), wf_dims_of(stride, 2), 0)) return NULL;
  wf_tensor *out = wf__tensor_empty(wf__device_of(self), WF_I64, &layout);
  if (out && out->layout.numel) {
    wf_plan plan = {.family = WF_FAMILY_INDEX,
                    .op = WF__INDEX_NONZERO,
                    .operands = 2,
                    .outputs = 1,
                    .ndim = (uint8_t)self->layout.ndim};
    for (int d = 0; d < self->layout.ndim; d++) plan.size[d] = self->layout.size[d];
    wf__operand_of(out, &plan.operand[0]);
    wf__operand_of(self, &plan.operand[1]);
    wf__launch_counted(&plan, out, &self, 1);
  }
  return wf__give(out);
}

/* ---- both masked operators ------------------------------------------------------------------------------------------------------------- */

static wf_status common_shape(const wf_tensor *self, const wf_tensor *mask, int64_t *shape, int *ndim) {
  return wf__broadcast(wf_sizes(mask), wf_sizes(self), shape, ndim);
}

/* The plan of a walk over all elements, `walked` in operand place `at`, the mask in 2. */
static wf_plan masked_plan(int op, wf_dims shape, int at, const wf_tensor *walked, const wf_tensor *packed,
                           const wf_tensor *mask) {
  wf_plan plan = {.family = WF_FAMILY_INDEX, .op = (uint16_t)op, .operands = 3, .outputs = 1, .ndim = (uint8_t)shape.n};
  memcpy(plan.size, shape.at, (size_t)shape.n * sizeof *shape.at);
  wf__operand_over(walked, shape, &plan.operand[at]);
  wf__operand_over(mask, shape, &plan.operand[2]);
  wf__operand_of(packed, &plan.operand[1 - at]);
  return plan;
}

/* ---- masked_select ------------------------------------------------------------------------------------------------------------------ */

static wf_status select_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf_tensor *zeros = wf__fresh_zeros(grad[0], wf__sizes_dims(node->payload));
  out[0] = zeros ? wf_masked_scatter(zeros, wf__saved_get(node, 0), grad[0]) : NULL;
  return wf__self.pending;
}
static const wf__node_class select_class = {"MaskedSelectBackward0", select_apply, NULL};

/* Elements that the mask picks, a mask of fewer elements picking each several times. */
static int64_t selected_count(const wf_tensor *mask, wf_dims shape) {
  int64_t count = count_of(mask), all = 1;
  for (int d = 0; d < shape.n; d++) all *= shape.at[d];
  return count < 0 || !mask->layout.numel ? count : count * (all / mask->layout.numel);
}

wf_tensor *wf_masked_select(const wf_tensor *self, const wf_tensor *mask) {
  WF__OP("masked_select", NULL);
  int64_t shape[WF_MAX_DIMS];
  int ndim;
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(wf__given(mask, "mask"), NULL);
  if (mask->dtype != WF_BOOL) return wf__fail(WF_RUNTIME, "masked_select: expected BoolTensor for mask"), NULL;
  const wf_tensor *both[] = {self, mask};
  WF__TRY_OR(wf__check_same_device(both, 2), NULL);
  WF__TRY_OR(common_shape(self, mask, shape, &ndim), NULL);
  wf_dims full = wf_dims_of(shape, ndim);
  int64_t n = selected_count(mask, full);
  wf_tensor *out = n < 0 ? NULL : wf__new(self, (wf_dtype)self->dtype, wf_dims_of(&n, 1), WF_FORMAT_CONTIGUOUS);
  wf__sizes sizes = {.n = ndim};
  memcpy(sizes.at, shape, (size_t)ndim * sizeof *shape);
  wf__node *node = out ? wf__node_for(&select_class, &self, 1, 1, &sizes, sizeof sizes) : NULL;
  if (node) wf__save(node, 0, mask);
  if (out && !wf__self.pending && n) {
    wf_plan plan = masked_plan(WF__INDEX_MASKED_GET, full, 1, self, out, mask);
    wf__launch_counted(&plan, out, both, 2);
  }
  return wf__finish(out, node);
}

/* ---- masked_scatter ------------------------------------------------------------------------------------------------------------------- */

typedef struct scattered {
  wf__sizes source;
} scattered;

/* The source's gradient: the picked elements of grad, then zeros for those that weren't needed. */
static wf_tensor *source_gradient(const scattered *s, const wf_tensor *grad, const wf_tensor *mask) {
  wf_dims size = wf__sizes_dims(&s->source);
  wf_tensor *picked = wf_masked_select(grad, mask), *zeros = picked ? wf__fresh_zeros(grad, size) : NULL;
  wf_tensor *flat = zeros ? wf_view(zeros, WF_SHAPE(-1)) : NULL, *places = NULL, *all = NULL;
  if (flat) {
    wf_tensor_options o = wf_tensor_defaults();
    o.dtype = WF_I64;
    o.device = wf_device_of(grad);
    places = wf_arange(wf_int(0), wf_int(wf_numel(picked)), wf_int(1), &o);
    all = places ? wf_index_add(flat, 0, places, picked, wf_int(1)) : NULL;
  }
  return all ? wf_view(all, size) : NULL;
}

static wf_status scatter_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf_tensor *mask = wf__saved_get(node, 0);
  if (wf__node_wants(node, 0)) out[0] = wf_masked_fill(grad[0], mask, wf_int(0));
  if (wf__node_wants(node, 1)) out[1] = source_gradient(node->payload, grad[0], mask);
  return wf__self.pending;
}
static const wf__node_class scatter_class = {"MaskedScatterBackward0", scatter_apply, NULL};

static wf_status check_scatter(const wf_tensor *self, const wf_tensor *mask, const wf_tensor *source, int64_t *shape,
                               int *ndim) {
  WF__TRY(wf__given(self, "self"));
  WF__TRY(wf__given(mask, "mask"));
  WF__TRY(wf__given(source, "source"));
  WF__TRY(common_shape(self, mask, shape, ndim));
  WF__CHECK(self->dtype == source->dtype, WF_RUNTIME,
            "masked_scatter: expected self and source to have same dtypes but got%s and %s",
            wf__scalar_type_text((wf_dtype)self->dtype), wf__scalar_type_text((wf_dtype)source->dtype));
  WF__CHECK(mask->dtype == WF_BOOL, WF_RUNTIME,
            "masked_scatter_ only supports boolean masks, but got mask with dtype %s",
            wf__scalar_type_text((wf_dtype)mask->dtype));
  const wf_tensor *all[] = {self, mask, source};
  return wf__check_same_device(all, 3);
}

static wf_status put_masked(wf_tensor *out, wf_dims shape, const wf_tensor *mask, const wf_tensor *source) {
  if (!out->layout.numel) return WF_OK;
  wf_tensor *packed = wf__contiguous(source, WF_FORMAT_CONTIGUOUS, true);
  if (!packed) return wf__self.pending;
  const wf_tensor *read[] = {packed, mask};
  wf_plan plan = masked_plan(WF__INDEX_MASKED_PUT, shape, 0, out, packed, mask);
  plan.operand[1].stride[0] = (int64_t)wf__itemsize(packed);
  plan.param.index.count = packed->layout.numel;
  wf__launch_counted(&plan, out, read, 2);
  wf__tensor_release(packed);
  return wf__self.pending;
}

wf_tensor *wf_masked_scatter(const wf_tensor *self, const wf_tensor *mask, const wf_tensor *source) {
  WF__OP("masked_scatter", NULL);
  int64_t shape[WF_MAX_DIMS];
  int ndim;
  WF__TRY_OR(check_scatter(self, mask, source, shape, &ndim), NULL);
  wf_dims full = wf_dims_of(shape, ndim);
  bool same = ndim == self->layout.ndim && !memcmp(shape, self->layout.size, (size_t)ndim * sizeof *shape);
  wf_tensor *out =
      same ? wf__copied(self, WF_FORMAT_CONTIGUOUS) : wf__new(self, (wf_dtype)self->dtype, full, WF_FORMAT_CONTIGUOUS);
  if (out && !same) wf__copy(out, self, false, false);
  const wf_tensor *inputs[] = {self, source};
  scattered s = {wf__sizes_of(source)};
  wf__node *node = out && !wf__self.pending ? wf__node_for(&scatter_class, inputs, 2, 1, &s, sizeof s) : NULL;
  if (node) wf__save(node, 0, mask);
  if (out && !wf__self.pending) put_masked(out, full, mask, source);
  return wf__finish(out, node);
}
