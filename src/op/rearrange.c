/* Elements of one tensor at other places of a new one: flip, roll, triangles. Repeating is repeat.c. */
#include <string.h>

#include <weft/create.h>
#include <weft/join.h>
#include <weft/trace.h>
#include <weft/view.h>

#include "copy/copy.h"
#include "copy/form.h"
#include "op/op.h"
#include "op/place.h"
#include "op/view_make.h"
#include "tensor/iterator.h"

/* ---- flip ------------------------------------------------------------------------------------------------------------------------ */

static wf_status flip_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  out[0] = wf_flip(grad[0], wf__sizes_dims(node->payload));
  return wf__self.pending;
}
static const wf__node_class flip_class = {"FlipBackward0", flip_apply, NULL};

/* dims, wrapped, each once. */
static wf_status take_dims(const wf_tensor *self, wf_dims dims, wf__sizes *out) {
  uint32_t seen = 0;
  out->n = 0;
  WF__TRY(wf__list_check(dims));
  for (int i = 0; i < dims.n; i++) {
    int64_t d = dims.at[i];
    WF__TRY(wf__wrap_dim(&d, self->layout.ndim, true));
    WF__CHECK(!(seen >> d & 1), WF_RUNTIME, "dim %lld appears multiple times in the list of dims", (long long)d);
    seen |= 1u << d;
    out->at[out->n++] = d;
  }
  return WF_OK;
}

/* A copy whose source is walked backwards: the one place where strides are negative. */
static wf_status copy_backwards(wf_tensor *out, const wf_tensor *self, const wf__sizes *dims) {
  if (!self->layout.numel) return WF_OK;
  wf_plan plan = {.family = WF_FAMILY_COPY, .operands = 2, .outputs = 1, .ndim = (uint8_t)self->layout.ndim};
  wf__operand_of(out, &plan.operand[0]);
  wf__operand_of(self, &plan.operand[1]);
  for (int d = 0; d < self->layout.ndim; d++) plan.size[d] = self->layout.size[d];
  for (int i = 0; i < dims->n && self->layout.ndim; i++) {
    int64_t d = dims->at[i], *stride = &plan.operand[1].stride[d];
    plan.operand[1].data = (char *)plan.operand[1].data + (plan.size[d] - 1) * *stride;
    *stride = -*stride;
  }
  wf__copy_form(&plan);
  plan.tag.kind = WF_EVENT_COPY;
  return wf__launch_counted(&plan, out, &self, 1);
}

wf_tensor *wf_flip(const wf_tensor *self, wf_dims dims) {
  WF__OP("flip", NULL);
  wf__sizes taken;
  wf__layout layout;
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(take_dims(self, dims, &taken), NULL);
  wf__layout_preserve(&self->layout, &layout);
  wf_tensor *out = wf__tensor_empty(wf__device_of(self), (wf_dtype)self->dtype, &layout);
  wf__node *node = out ? wf__node_for(&flip_class, &self, 1, 0, &taken, sizeof taken) : NULL;
  if (out && !wf__self.pending) copy_backwards(out, self, &taken);
  return wf__finish(out, node);
}

/* ---- roll ------------------------------------------------------------------------------------------------------------------------ */

typedef struct roll {
  wf__sizes shifts, dims;
} roll;

static wf_status roll_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const roll *r = node->payload;
  int64_t back[WF_MAX_DIMS];
  for (int i = 0; i < r->shifts.n; i++) back[i] = -r->shifts.at[i];
  out[0] = wf_roll(grad[0], wf_dims_of(back, r->shifts.n), wf__sizes_dims(&r->dims));
  return wf__self.pending;
}
static const wf__node_class roll_class = {"RollBackward0", roll_apply, NULL};

/* Copies the part of self that stays together in all rolled dims; bit i of `second`: dim i's part that went round. */
static wf_status roll_piece(wf_tensor *out, const wf_tensor *self, const int64_t *moved, uint32_t second) {
  wf__layout to = out->layout, from = self->layout;
  for (int d = 0; d < from.ndim; d++) {
    int64_t length = second >> d & 1 ? moved[d] : from.size[d] - moved[d];
    to.offset += (second >> d & 1 ? 0 : moved[d]) * to.stride[d];
    from.offset += (second >> d & 1 ? from.size[d] - moved[d] : 0) * from.stride[d];
    to.size[d] = from.size[d] = length;
  }
  return wf__copy_layouts(out, &to, self, &from);
}

/* moved[d]: how many elements of dim d go round to the start. */
static wf_status roll_pieces(wf_tensor *out, const wf_tensor *self, const int64_t *moved) {
  uint32_t rolled = 0;
  if (!self->layout.numel) return WF_OK;
  for (int d = 0; d < self->layout.ndim; d++)
    if (moved[d]) rolled |= 1u << d;
  for (uint32_t second = rolled;; second = (second - 1) & rolled) {
    WF__TRY(roll_piece(out, self, moved, second));
    if (!second) return WF_OK;
  }
}

/* The first `length` elements of dim d, as far as formats ask. */
static wf_memory_format format_of_piece(wf__layout l, int64_t d, int64_t length) {
  l.size[d] = length;
  return wf__layout_recount(&l) ? WF_FORMAT_CONTIGUOUS : wf__suggest_format(&l);
}

/* PyTorch joins the two pieces of one dim after the other, each time in the format that both have. */
static wf_status roll_layout(const wf_tensor *self, const roll *r, wf__layout *l) {
  *l = self->layout;
  l->offset = 0;
  for (int i = 0; i < r->dims.n; i++) {
    int64_t d = r->dims.at[i] < 0 ? r->dims.at[i] + l->ndim : r->dims.at[i], size = l->size[d];
    int64_t moved = (r->shifts.at[i] % size + size) % size, start = (size - moved) % size;
    wf_memory_format format = format_of_piece(*l, d, size - start);
    WF__TRY(wf__layout_restride(l, format == format_of_piece(*l, d, start) ? format : WF_FORMAT_CONTIGUOUS));
  }
  return WF_OK;
}

static wf_tensor *roll_dims(const wf_tensor *self, const roll *r) {
  int64_t moved[WF_MAX_DIMS] = {0};
  wf__layout layout;
  if (!self->layout.numel) return wf__copied(self, WF_FORMAT_PRESERVE); /* dims aren't looked at */
  for (int i = 0; i < r->dims.n; i++) {
    int64_t d = r->dims.at[i], size;
    if (!self->layout.ndim)
      return wf__fail(WF_INDEX, "Dimension specified as %lld but tensor has no dimensions", (long long)d), NULL;
    WF__TRY_OR(wf__wrap_dim(&d, self->layout.ndim, true), NULL);
    if ((size = self->layout.size[d])) moved[d] = (moved[d] + (r->shifts.at[i] % size + size) % size) % size;
  }
  WF__TRY_OR(roll_layout(self, r, &layout), NULL);
  wf_tensor *out = wf__tensor_empty(wf__device_of(self), (wf_dtype)self->dtype, &layout);
  if (out) roll_pieces(out, self, moved);
  return out;
}

/* Over the flattened tensor: two runs of elements, each a few rectangles when self's dims don't merge into one. */
static wf_tensor *roll_flat(const wf_tensor *self, int64_t shift) {
  int64_t n = self->layout.numel, stride = 1, moved;
  wf_tensor *out = wf__new(self, (wf_dtype)self->dtype, wf_sizes(self), WF_FORMAT_CONTIGUOUS);
  if (!out || !n || !(moved = (shift % n + n) % n))
    return !out || wf__copy(out, self, false, false) ? (wf__tensor_release(out), NULL) : out;
  wf_tensor *row =
      wf__view_strides(&self->layout, wf_dims_of(&n, 1), &stride) ? NULL : wf__copied(self, WF_FORMAT_CONTIGUOUS);
  wf__layout from = {
      .ndim = 1, .numel = n, .offset = row ? 0 : self->layout.offset, .size = {n}, .stride = {row ? 1 : stride}};
  wf__layout to = {.ndim = 1, .numel = n, .size = {n}, .stride = {1}};
  wf_tensor *flat = wf__self.pending ? NULL : wf__tensor_alias(row ? row : self, (wf_dtype)self->dtype, &from);
  wf_tensor *flat_out = flat ? wf__tensor_alias(out, (wf_dtype)self->dtype, &to) : NULL;
  if (flat_out) roll_pieces(flat_out, flat, &moved);
  wf__tensor_release(flat);
  wf__tensor_release(flat_out);
  wf__tensor_release(row);
  return out;
}

static wf_status check_roll(wf_dims shifts, wf_dims dims, roll *r) {
  WF__TRY(wf__list_check(shifts));
  WF__TRY(wf__list_check(dims));
  WF__CHECK(shifts.n, WF_RUNTIME, "`shifts` required");
  WF__CHECK(shifts.n == dims.n || (shifts.n == 1 && !dims.n), WF_RUNTIME,
            "shifts and dimensions must align. shifts: %d, dims:%d", shifts.n, dims.n);
  WF__CHECK(dims.n <= WF_MAX_DIMS, WF_RUNTIME, "tensors have at most %d dimensions, but got %d", WF_MAX_DIMS, dims.n);
  memset(r, 0, sizeof *r);
  r->shifts.n = shifts.n;
  r->dims.n = dims.n;
  for (int i = 0; i < shifts.n; i++) r->shifts.at[i] = shifts.at[i];
  for (int i = 0; i < dims.n; i++) r->dims.at[i] = dims.at[i];
  return WF_OK;
}

wf_tensor *wf_roll(const wf_tensor *self, wf_dims shifts, wf_dims dims) {
  WF__OP("roll", NULL);
  roll r;
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(check_roll(shifts, dims, &r), NULL);
  wf_tensor *out = dims.n ? roll_dims(self, &r) : roll_flat(self, shifts.at[0]);
  wf__node *node = out && !wf__self.pending ? wf__node_for(&roll_class, &self, 1, 0, &r, sizeof r) : NULL;
  return wf__finish(out, node);
}

/* ---- triangles --------------------------------------------------------------------------------------------------------------------- */

static wf_status tril_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  out[0] = wf_tril(grad[0], *(int64_t *)node->payload);
  return wf__self.pending;
}
static wf_status triu_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  out[0] = wf_triu(grad[0], *(int64_t *)node->payload);
  return wf__self.pending;
}
static const wf__node_class tril_class = {"TrilBackward0", tril_apply, NULL};
static const wf__node_class triu_class = {"TriuBackward0", triu_apply, NULL};

/* A choice between self and 0 by a mask of one matrix, which all matrices of a batch share. */
static wf_status copy_triangle(wf_tensor *out, const wf_tensor *self, int64_t diagonal, bool lower) {
  int rows_dim = self->layout.ndim - 2, columns_dim = rows_dim + 1;
  int64_t rows = self->layout.size[rows_dim], columns = self->layout.size[columns_dim];
  if (!self->layout.numel) return WF_OK;
  wf_tensor_options o = wf_tensor_defaults();
  o.dtype = WF_I64;
  o.device = wf_device_of(self);
  if (diagonal > columns) diagonal = columns;
  if (diagonal < -rows) diagonal = -rows;
  wf_scope scope = wf_scope_begin();
  wf_tensor *row = wf_arange(wf_int(diagonal), wf_int(diagonal + rows), wf_int(1), &o);
  wf_tensor *column = wf_arange(wf_int(0), wf_int(columns), wf_int(1), &o);
  row = row ? wf_unsqueeze(row, 1) : NULL;
  wf_tensor *stays = lower ? wf_ge(row, column) : wf_le(row, column);
  if (stays) {
    wf_plan plan = {0};
    wf__iter it = {.outputs = 1, .operands = 4, .tensor = {out, stays, (wf_tensor *)self}};
    if (!wf__iter_build(&it, &plan)) {
      plan.family = WF_FAMILY_POINTWISE;
      plan.op = WF__PW_WHERE;
      plan.compute = self->dtype;
      plan.scalar[3] = wf_int(0);
      wf__launch_counted(&plan, out, &self, 1);
    }
  }
  wf_scope_end(scope, NULL);
  return wf__self.pending;
}

static wf_tensor *triangle(const char *name, const wf_tensor *self, int64_t diagonal, bool lower,
                           const wf__node_class *cls) {
  WF__TRY_OR(wf__given(self, "self"), NULL);
  if (self->layout.ndim < 2)
    return wf__fail(WF_RUNTIME, "%s: input tensor must have at least 2 dimensions", name), NULL;
  wf_tensor *out = wf__new(self, (wf_dtype)self->dtype, wf_sizes(self), WF_FORMAT_CONTIGUOUS);
  wf__node *node = out ? wf__node_for(cls, &self, 1, 0, &diagonal, sizeof diagonal) : NULL;
  if (out && !wf__self.pending) copy_triangle(out, self, diagonal, lower);
  return wf__finish(out, node);
}

wf_tensor *wf_tril(const wf_tensor *self, int64_t diagonal) {
  WF__OP("tril", NULL);
  return triangle("tril", self, diagonal, true, &tril_class);
}

wf_tensor *wf_triu(const wf_tensor *self, int64_t diagonal) {
  WF__OP("triu", NULL);
  return triangle("triu", self, diagonal, false, &triu_class);
}
