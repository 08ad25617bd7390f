/* wf_index and wf_index_put_: x[i, j] with index tensors and masks. A mask becomes the index tensors of its nonzero places. */
#include <weft/index.h>
#include <weft/view.h>

#include <string.h>

#include "base/convert.h"
#include "op/indexed.h"
#include "op/op.h"
#include "op/place.h"
#include "op/view_make.h"
#include "tensor/iterator.h"

/* ---- from arguments to index tensors ------------------------------------------------------------------------------------------------ */

static bool is_mask(const wf_tensor *t) { return t->dtype == WF_BOOL || t->dtype == WF_U8; }

static wf_status check_mask(const wf_tensor *mask, const wf_tensor *self, int dim) {
  char a[WF__DIMS_TEXT], b[WF__DIMS_TEXT];
  for (int i = 0; i < mask->layout.ndim; i++)
    WF__CHECK(mask->layout.size[i] == self->layout.size[dim + i], WF_INDEX,
              "The shape of the mask %s at index %d does not match the shape of the indexed tensor %s at index %d",
              wf__dims_text(wf_sizes(mask), a), i, wf__dims_text(wf_sizes(self), b), dim + i);
  return WF_OK;
}

static wf_status too_many(const wf_tensor *self, int got) {
  return wf__fail(WF_INDEX, "too many indices for tensor of dimension %d (got %d)", self->layout.ndim, got);
}

/* The tensors live in the open scope. */
static wf_status expand_masks(const wf_tensor *self, wf_tensors given, wf__indices *out) {
  int dim = 0, ndim = self->layout.ndim;
  memset(out, 0, sizeof *out);
  out->wraps = true;
  out->refusal = WF__REFUSE_BRACKET;
  out->ordinal = true;
  if (given.n > ndim) return too_many(self, given.n);
  for (int i = 0; i < given.n; i++)
    WF__CHECK(!given.at[i] || given.at[i]->dtype == WF_I64 || given.at[i]->dtype == WF_I32 || is_mask(given.at[i]),
              WF_INDEX, "tensors used as indices must be long, int, byte or bool tensors");
  for (int i = 0; i < given.n; i++) {
    const wf_tensor *t = given.at[i];
    if (!t) {
      if (dim == ndim) return too_many(self, dim + 1);
      dim++;
      continue;
    }
    int takes = is_mask(t) ? t->layout.ndim : 1;
    if (dim + takes > ndim) return too_many(self, dim + takes);
    if (!is_mask(t)) {
      out->at[dim++] = t;
      continue;
    }
    WF__TRY(check_mask(t, self, dim));
    wf_tensor *places = wf_nonzero(t);
    for (int k = 0; k < takes && places; k++) out->at[dim++] = wf_select(places, 1, k);
    WF__TRY(wf__self.pending);
  }
  return WF_OK;
}

/* ---- derivatives ------------------------------------------------------------------------------------------------------------------------ */

/* The index tensors that a node kept in its slots from `first` on. */
static wf_tensors kept_indices(wf__node *node, int first, wf_tensor **room) {
  wf_tensors list = {room, (int)node->saves - first};
  for (int i = 0; i < list.n; i++) room[i] = wf__saved_get(node, first + i);
  return list;
}

static wf_status index_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf_tensor *room[WF_MAX_DIMS], *zeros = wf__fresh_zeros(grad[0], wf__sizes_dims(node->payload));
  wf_tensors indices = kept_indices(node, 0, room);
  WF__TRY(wf_index_put_(zeros, indices, grad[0], true));
  out[0] = zeros;
  return WF_OK;
}
static const wf__node_class index_class = {"IndexBackward0", index_apply, NULL};

typedef struct put {
  bool accumulate;
} put;

static wf_status put_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const put *p = node->payload;
  wf_tensor *room[WF_MAX_DIMS];
  wf_tensors indices = kept_indices(node, 0, room);
  if (wf__node_wants(node, 1)) out[1] = wf_index(grad[0], indices);
  if (wf__node_wants(node, 0))
    out[0] = p->accumulate ? grad[0] : wf_index_put(grad[0], indices, wf__fresh_zeros(grad[0], WF_SHAPE0), false);
  return wf__self.pending;
}
static const wf__node_class put_class = {"IndexPutBackward0", put_apply, NULL};

static void keep_indices(wf__node *node, const wf__indices *indices, int ndim) {
  for (int d = 0; node && d < ndim; d++)
    if (indices->at[d]) wf__save(node, d, indices->at[d]);
}

/* ---- operators ---------------------------------------------------------------------------------------------------------------------------- */

wf_tensor *wf_index(const wf_tensor *self, wf_tensors indices) {
  WF__OP("index", NULL);
  wf__indices list;
  WF__TRY_OR(wf__given(self, "self"), NULL);
  wf_scope scope = wf_scope_begin();
  wf_tensor *out = NULL;
  if (!expand_masks(self, indices, &list) && (out = wf__index_get(self, &list))) {
    wf__sizes sizes = wf__sizes_of(self);
    wf__node *node = wf__node_for(&index_class, &self, 1, self->layout.ndim, &sizes, sizeof sizes);
    keep_indices(node, &list, self->layout.ndim);
    out = wf__finish(out, node);
  }
  return wf_scope_end(scope, out);
}

static wf_status check_put(const wf_tensor *self, const wf_tensor *values) {
  WF__TRY(wf__given(self, "self"));
  return wf__given(values, "values");
}

static wf__node *put_node(const wf_tensor *self, const wf_tensor *values, const wf__indices *list, bool accumulate) {
  const wf_tensor *inputs[] = {self, values};
  put p = {accumulate};
  wf__node *node = wf__node_for(&put_class, inputs, 2, self->layout.ndim, &p, sizeof p);
  keep_indices(node, list, self->layout.ndim);
  return node;
}

static wf_status check_overlaps(const wf_tensor *self, const wf_tensor *values, const wf__indices *list) {
  wf__warn_of_overlap(self, "index_put_", "tensor[indices] = tensor");
  WF__TRY(wf__check_no_overlap(self, values));
  for (int d = 0; d < self->layout.ndim; d++)
    if (list->at[d]) WF__TRY(wf__check_no_overlap(self, list->at[d]));
  return WF_OK;
}

/* The mask, when it is all there is; *leading: dims before it. */
static const wf_tensor *sole_mask(wf_tensors given, int *leading) {
  const wf_tensor *mask = NULL;
  *leading = 0;
  for (int i = 0; i < given.n; i++) {
    const wf_tensor *t = given.at[i];
    if (!t) *leading += !mask;
    else if (mask || !is_mask(t)) return NULL;
    else mask = t;
  }
  return mask;
}

/* A number under a mask is filled in, whatever its dtype. */
static wf_status fill_masked(wf_tensor *self, const wf_tensor *mask, int leading, const wf_tensor *value) {
  wf__layout wide = mask->layout;
  wf_plan plan = {0};
  wf_scalar number = wf__scalar_load((wf_dtype)value->dtype, wf__data(value));
  WF__CHECK(mask->dtype == WF_BOOL, WF_RUNTIME, "masked_fill_ only supports boolean masks, but got mask with dtype %s",
            wf__cpp_type_text((wf_dtype)mask->dtype));
  WF__TRY(wf__check_partial_overlap(self, mask));
  if (self->dtype == WF_BOOL) number = wf__number_as(number, WF_BOOL);
  WF__TRY(wf__scalar_check_fits(number, (wf_dtype)self->dtype));
  if (!self->layout.numel) return WF_OK;
  for (; leading + wide.ndim < self->layout.ndim; wide.ndim++) {
    wide.size[wide.ndim] = 1;
    wide.stride[wide.ndim] = 0;
  }
  wf_tensor *shown = wf__tensor_alias(mask, WF_BOOL, &wide);
  if (!shown) return wf__self.pending;
  wf__iter it = {.outputs = 1, .operands = 3, .tensor = {self, self, shown}, .no_overlap_check = true};
  if (!wf__iter_build(&it, &plan)) {
    plan.family = WF_FAMILY_POINTWISE;
    plan.op = WF__PW_MASKED_FILL;
    plan.compute = self->dtype;
    plan.scalar[0] = number;
    wf__launch_counted(&plan, self, (const wf_tensor *[]){self, shown}, 2);
  }
  wf__tensor_release(shown);
  return wf__self.pending;
}

static wf_status write_values(wf_tensor *target, wf_tensors given, const wf__indices *list, const wf_tensor *values,
                              bool accumulate) {
  int leading = 0;
  bool number = !accumulate && values->layout.numel == 1 && wf__device_of(values)->id.type == WF_DEVICE_CPU;
  const wf_tensor *mask = number ? sole_mask(given, &leading) : NULL;
  if (mask && wf__device_of(mask) == wf__device_of(target)) return fill_masked(target, mask, leading, values);
  return wf__index_put(target, list, values, accumulate);
}

static wf_status put_over(wf_tensor *self, wf_tensors indices, const wf_tensor *values, bool accumulate) {
  const wf_tensor *inputs[] = {self, values};
  wf__indices list;
  WF__TRY(expand_masks(self, indices, &list));
  WF__TRY(wf__inplace_check(self, inputs, 2));
  WF__TRY(check_overlaps(self, values, &list));
  wf__node *node = put_node(self, values, &list, accumulate);
  if (!wf__self.pending && !write_values(self, indices, &list, values, accumulate)) wf__inplace_done(self, node);
  wf__node_release(node);
  return wf__self.pending;
}

wf_status wf_index_put_(wf_tensor *self, wf_tensors indices, const wf_tensor *values, bool accumulate) {
  WF__OP("index_put_", wf__self.pending);
  WF__TRY(check_put(self, values));
  wf_scope scope = wf_scope_begin();
  put_over(self, indices, values, accumulate);
  wf_scope_end(scope, NULL);
  return wf__self.pending;
}

wf_tensor *wf_index_put(const wf_tensor *self, wf_tensors indices, const wf_tensor *values, bool accumulate) {
  WF__OP("index_put", NULL);
  wf__indices list;
  WF__TRY_OR(check_put(self, values), NULL);
  wf_scope scope = wf_scope_begin();
  wf_tensor *out = expand_masks(self, indices, &list) ? NULL : wf__copied(self, WF_FORMAT_PRESERVE);
  if (out) {
    wf__node *node = put_node(self, values, &list, accumulate);
    if (!wf__self.pending) write_values(out, indices, &list, values, accumulate);
    out = wf__finish(out, node);
  }
  return wf_scope_end(scope, out);
}
