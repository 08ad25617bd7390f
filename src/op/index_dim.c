/* Entries of one dim by a vector of indices: index_select, index_add, index_copy, index_fill. */
#include <weft/view.h>

#include <stdio.h>
#include <string.h>

#include "base/convert.h"
#include "base/host.h"
#include "copy/copy.h"
#include "kernel/kernel.h"
#include "op/along.h"
#include "op/indexed.h"
#include "op/view_make.h"

static bool is_index(const wf_tensor *t) { return t->dtype == WF_I64 || t->dtype == WF_I32; }

/* The index alone in its dim; a number stands for a vector of one. self has rank 1 at least. */
static wf__indices only(int64_t dim, const wf_tensor *index, bool wraps, wf__index_refusal refusal) {
  wf__indices list = {.wraps = wraps, .refusal = refusal};
  list.at[dim] = index;
  return list;
}

/* t itself, or for a number the same element as a vector; the caller's reference. */
static wf_tensor *as_vector(const wf_tensor *t) {
  if (t->layout.ndim) return wf_retain((wf_tensor *)t);
  wf__layout one = {.ndim = 1, .numel = 1, .offset = t->layout.offset, .size = {1}, .stride = {1}};
  return wf__tensor_alias(t, (wf_dtype)t->dtype, &one);
}

/* target at the index in dim := values (in values' own sizes), for tensors of any rank. */
static wf_status put_along(wf_tensor *target, int64_t dim, const wf_tensor *index, const wf_tensor *values,
                           bool accumulate, bool wraps, wf__index_refusal refusal) {
  wf_tensor *to = as_vector(target), *at = to ? as_vector(index) : NULL, *from = at ? as_vector(values) : NULL;
  wf__indices list = only(dim, at, wraps, refusal);
  if (from) wf__index_put(to, &list, from, accumulate);
  wf__tensor_release(to);
  wf__tensor_release(at);
  wf__tensor_release(from);
  return wf__self.pending;
}

/* ---- index_select ------------------------------------------------------------------------------------------------------------------ */

typedef struct select {
  wf__sizes sizes;
  int64_t dim;
} select;

static wf_status select_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const select *s = node->payload;
  wf_tensor *zeros = wf__fresh_zeros(grad[0], wf__sizes_dims(&s->sizes));
  out[0] = zeros ? wf_index_add(zeros, s->dim, wf__saved_get(node, 0), grad[0], wf_int(1)) : NULL;
  return wf__self.pending;
}
static const wf__node_class select_class = {"IndexSelectBackward0", select_apply, NULL};

/* Without elements no kernel runs, so the indices are looked at here, on the host. */
static wf_status check_select_of_nothing(const wf_tensor *index, int64_t size) {
  WF__CHECK(size, WF_RUNTIME, "index_select(): self indexing axis dim should be positive");
  int64_t n = index->layout.numel, *at = wf__malloc((size_t)n * sizeof *at), k = 0;
  wf_tensor *wide = at ? wf__to(index, WF_I64, NULL, false, false) : NULL;
  if (wide && !wf_to_host(wide, at, (size_t)n * sizeof *at)) {
    while (k < n && at[k] >= 0 && at[k] < size) k++;
    if (k < n)
      wf__fail(WF_RUNTIME, "INDICES element is out of DATA bounds, id=%lld axis_dim=%lld", (long long)at[k],
               (long long)size);
  }
  wf__tensor_release(wide);
  wf__release(at);
  return wf__self.pending;
}

static wf_status check_select(const wf_tensor *self, int64_t *dim, const wf_tensor *index) {
  WF__TRY(wf__given(self, "self"));
  WF__TRY(wf__given(index, "index"));
  WF__TRY(wf__wrap_dim(dim, self->layout.ndim, true));
  WF__CHECK(index->layout.ndim <= 1, WF_INDEX, "index_select(): Index is supposed to be a vector");
  WF__CHECK(is_index(index), WF_RUNTIME, "index_select(): Expected dtype int32 or int64 for index");
  WF__CHECK(self->layout.ndim || index->layout.numel == 1, WF_RUNTIME,
            "index_select(): Index to scalar can have only 1 value, got %lld value(s)", (long long)index->layout.numel);
  return self->layout.ndim > 1 && !self->layout.numel && index->layout.numel
             ? check_select_of_nothing(index, self->layout.size[*dim])
             : WF_OK;
}

static wf_status select_into(wf_tensor *out, const wf_tensor *self, int64_t dim, const wf_tensor *index) {
  wf_tensor *to = as_vector(out), *from = to ? as_vector(self) : NULL, *at = from ? as_vector(index) : NULL;
  wf__indices list =
      only(dim, at, false, dim == 1 ? WF__REFUSE_DATA : WF__REFUSE_SELF); /* a kernel of its own in PyTorch */
  if (at) wf__index_get_into(to, from, &list);
  wf__tensor_release(to);
  wf__tensor_release(from);
  wf__tensor_release(at);
  return wf__self.pending;
}

static wf_status select_layout(const wf_tensor *self, int64_t dim, const wf_tensor *index, wf__layout *l) {
  int64_t size[WF_MAX_DIMS];
  memcpy(size, self->layout.size, sizeof size);
  if (self->layout.ndim) size[dim] = index->layout.numel;
  return wf__layout_contiguous(l, wf_dims_of(size, self->layout.ndim), wf__itemsize(self));
}

wf_tensor *wf_index_select(const wf_tensor *self, int64_t dim, const wf_tensor *index) {
  WF__OP("index_select", NULL);
  wf__layout layout;
  WF__TRY_OR(check_select(self, &dim, index), NULL);
  WF__TRY_OR(select_layout(self, dim, index, &layout), NULL);
  wf_tensor *out = wf__tensor_empty(wf__device_of(self), (wf_dtype)self->dtype, &layout);
  select s = {wf__sizes_of(self), dim};
  wf__node *node = out ? wf__node_for(&select_class, &self, 1, 1, &s, sizeof s) : NULL;
  if (node) wf__save(node, 0, index);
  if (out && !wf__self.pending) select_into(out, self, dim, index);
  return wf__finish(out, node);
}

wf_status wf_index_select_into(wf_tensor *dst, const wf_tensor *self, int64_t dim, const wf_tensor *index) {
  WF__OP("index_select", wf__self.pending);
  const wf_tensor *inputs[] = {self, index};
  wf__layout layout;
  wf__into into;
  WF__TRY(check_select(self, &dim, index));
  WF__TRY(wf__into_given("index_select", dst, &self, 1));
  WF__CHECK(self->dtype == dst->dtype, WF_RUNTIME, "index_select(): self and result must have the same scalar type");
  WF__TRY(wf__check_no_overlap(dst, self));
  WF__TRY(wf__check_no_overlap(dst, index));
  WF__TRY(select_layout(self, dim, index, &layout));
  wf_tensor *out = wf__into_open(&into, dst, &layout, inputs, 2);
  if (!out) return wf__self.pending;
  select_into(out, self, dim, index);
  return wf__into_close(&into);
}

/* Entries `index` of a gradient, in the sizes of a source of rank 0 too. */
static wf_tensor *taken(wf__node *node, const wf_tensor *grad) {
  const wf__along *a = node->payload;
  wf_tensor *g = wf_index_select(grad, a->dim, wf__saved_get(node, 0));
  return g && !a->source_rank && g->layout.ndim ? wf_squeeze(g, WF_SHAPE(0)) : g;
}

/* ---- index_add ---------------------------------------------------------------------------------------------------------------------- */

static wf_status add_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const wf__along *a = node->payload;
  if (wf__node_wants(node, 0)) out[0] = grad[0];
  if (!wf__node_wants(node, 1)) return WF_OK;
  wf_tensor *g = taken(node, grad[0]);
  out[1] = g && wf__scalar_double(a->number) != 1 ? wf_mul_scalar(g, a->number) : g;
  return wf__self.pending;
}
static const wf__node_class add_class = {"IndexAddBackward0", add_apply, NULL};

static bool same_but(const wf_tensor *a, const wf_tensor *b, int64_t dim) {
  if (a->layout.ndim != b->layout.ndim) return false;
  for (int d = 0; d < a->layout.ndim; d++)
    if (d != dim && a->layout.size[d] != b->layout.size[d]) return false;
  return true;
}

static wf_status check_add(wf__change *c) {
  char a[WF__DIMS_TEXT], b[WF__DIMS_TEXT];
  const wf_tensor *self = c->self, *index = c->index, *source = c->source;
  WF__TRY(wf__given(self, "self"));
  WF__TRY(wf__given(index, "index"));
  WF__TRY(wf__given(source, "source"));
  WF__TRY(wf__wrap_dim(&c->dim, self->layout.ndim, true));
  WF__CHECK(index->layout.ndim <= 1, WF_INDEX,
            "index_add_(): Index is supposed to be a vector, but got dim: %d with type: %s and size: %s",
            index->layout.ndim, wf__scalar_type_text((wf_dtype)index->dtype), wf__dims_text(wf_sizes(index), a));
  WF__CHECK(is_index(index), WF_RUNTIME, "index_add_(): Expected dtype int32/int64 for index but got: %s",
            wf__scalar_type_text((wf_dtype)index->dtype));
  WF__CHECK(self->dtype == source->dtype, WF_RUNTIME,
            "index_add_(): self (%s) and source (%s) must have the same scalar type",
            wf__scalar_type_text((wf_dtype)self->dtype), wf__scalar_type_text((wf_dtype)source->dtype));
  WF__CHECK(c->dim == 0 || c->dim < source->layout.ndim, WF_RUNTIME,
            "index_add_(): Indexing dim %lld is out of bounds of the source tensor with dim %d", (long long)c->dim,
            source->layout.ndim);
  WF__CHECK(source->layout.ndim || index->layout.numel == 1, WF_INDEX,
            "Dimension specified as %lld but tensor has no dimensions", (long long)c->dim);
  int64_t entries = source->layout.ndim ? source->layout.size[c->dim] : 1;
  WF__CHECK(index->layout.numel == entries, WF_RUNTIME,
            "index_add_(): Number of indices (%lld) should be equal to source.size(dim): (%lld), for dim: %lld",
            (long long)index->layout.numel, (long long)entries, (long long)c->dim);
  WF__CHECK(
      same_but(self, source, c->dim), WF_RUNTIME,
      "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = %s source.shape = %s",
      wf__dims_text(wf_sizes(self), a), wf__dims_text(wf_sizes(source), b));
  if (c->number.kind == WF_SCALAR_NONE) c->number = wf_int(1);
  bool is_used = self->layout.ndim <= 1 || (source->layout.numel && self->layout.numel);
  return is_used ? wf__scalar_check_fits(c->number, (wf_dtype)self->dtype) : WF_OK;
}

/* A factor other than 1 has a kernel of its own, so that halves are rounded once. */
static wf_status write_scaled(const wf__change *c, wf_tensor *target) {
  int ndim = c->source->layout.ndim ? c->source->layout.ndim : 1;
  int64_t itemsize = (int64_t)wf__itemsize(target);
  wf_plan plan = {.family = WF_FAMILY_INDEX,
                  .op = WF__INDEX_ADD,
                  .operands = 3,
                  .outputs = 1,
                  .ndim = (uint8_t)ndim,
                  .scalar = {c->number}};
  wf__operand_of(target, &plan.operand[0]);
  wf__operand_of(c->source, &plan.operand[1]);
  plan.operand[2] = (wf_operand){.data = wf__data(c->index), .dtype = (wf_dtype)c->index->dtype};
  if (!target->layout.ndim) plan.operand[0].stride[0] = itemsize;
  for (int d = 0; d < ndim; d++) plan.size[d] = c->source->layout.ndim ? c->source->layout.size[d] : 1;
  plan.operand[2].stride[c->dim] =
      c->index->layout.ndim ? c->index->layout.stride[0] * (int64_t)wf__itemsize(c->index) : 0;
  plan.param.index.dim = c->dim;
  plan.param.index.count = target->layout.ndim ? target->layout.size[c->dim] : 1;
  const wf_tensor *read[] = {c->source, c->index};
  return wf__launch_counted(&plan, target, read, 2);
}

static wf_status write_add(const wf__change *c, wf_tensor *target) {
  int ndim = target->layout.ndim;
  if (!c->source->layout.numel || (ndim > 1 && !target->layout.numel)) return WF_OK; /* indices aren't looked at */
  if (wf__scalar_double(c->number) != 1) return write_scaled(c, target);
  bool outer_or_inner =
      ndim > 1 && (c->dim == 0 || c->dim == ndim - 1); /* PyTorch hands these to scatter_add, which has another text */
  return put_along(target, c->dim, c->index, c->source, true, false,
                   outer_or_inner && c->index->dtype == WF_I64 ? WF__REFUSE_DEFAULT : WF__REFUSE_SELF);
}

static wf__change adding(const wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *source,
                         wf_scalar alpha) {
  return (wf__change){.self = self,
                      .index = index,
                      .source = source,
                      .dim = dim,
                      .number = alpha,
                      .check = check_add,
                      .write = write_add,
                      .derivative = &add_class};
}

wf_tensor *wf_index_add(const wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *source,
                        wf_scalar alpha) {
  WF__OP("index_add", NULL);
  wf__change c = adding(self, dim, index, source, alpha);
  return wf__changed(&c);
}

wf_status wf_index_add_(wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *source,
                        wf_scalar alpha) {
  WF__OP("index_add_", wf__self.pending);
  wf__change c = adding(self, dim, index, source, alpha);
  return wf__change_in_place(&c);
}

/* ---- index_copy -------------------------------------------------------------------------------------------------------------------- */

static wf_status copy_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const wf__along *a = node->payload;
  if (wf__node_wants(node, 0)) out[0] = wf_index_fill(grad[0], a->dim, wf__saved_get(node, 0), wf_int(0));
  if (wf__node_wants(node, 1)) out[1] = taken(node, grad[0]);
  return wf__self.pending;
}
static const wf__node_class copy_class = {"IndexCopyBackward0", copy_apply, NULL};

/* "2 3": sizes of a slice, without the dim. */
static const char *slice_text(const wf_tensor *t, int64_t dim, char text[WF__DIMS_TEXT]) {
  size_t used = 0;
  text[0] = 0;
  for (int d = 0; d < t->layout.ndim; d++)
    if (d != dim)
      used +=
          (size_t)snprintf(text + used, WF__DIMS_TEXT - used, "%s%lld", used ? " " : "", (long long)t->layout.size[d]);
  return text;
}

static wf_status check_copy(wf__change *c) {
  char a[WF__DIMS_TEXT], b[WF__DIMS_TEXT];
  const wf_tensor *self = c->self, *index = c->index, *source = c->source;
  WF__TRY(wf__given(self, "self"));
  WF__TRY(wf__given(index, "index"));
  WF__TRY(wf__given(source, "source"));
  WF__TRY(wf__wrap_dim(&c->dim, self->layout.ndim, true));
  if (c->in_place) WF__TRY(wf__change_check_overlap(c)); /* before all the rest, as in PyTorch */
  int from = source->layout.ndim, to = self->layout.ndim;
  WF__CHECK(index->layout.ndim < 2, WF_INDEX, "index_copy_(): Index should have dimension 1 or 0 (got %d)",
            index->layout.ndim);
  WF__CHECK(from || index->layout.numel == 1, WF_INDEX,
            "index_copy_(): When source is scalar, index should have one element (got %lld)",
            (long long)index->layout.numel);
  WF__CHECK(
      from == to || !from || !to, WF_INDEX,
      "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source dimensionality (%d), "
      "destination dimensionality (%d)",
      from, to);
  WF__CHECK(index->dtype == WF_I64, WF_RUNTIME, "index_copy_(): Expected a long tensor for index, but got %s",
            wf__scalar_type_text((wf_dtype)index->dtype));
  WF__CHECK(self->dtype == source->dtype, WF_RUNTIME,
            "index_copy_(): self and source expected to have the same dtype, but got (self) %s and (source) %s",
            wf__scalar_type_text((wf_dtype)self->dtype), wf__scalar_type_text((wf_dtype)source->dtype));
  bool slices = (from > 1 || to > 1) ? same_but(self, source, c->dim) : true;
  WF__CHECK(
      slices, WF_RUNTIME,
      "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: %s at dimension %lld and source "
      "slice shape: %s at dimension 0.",
      slice_text(self, c->dim, a), (long long)c->dim, slice_text(source, c->dim, b));
  WF__CHECK(!from || index->layout.numel == source->layout.size[c->dim], WF_INDEX,
            "index_copy_(): Number of indices (%lld) should be equal to source.size(dim) (%lld)",
            (long long)index->layout.numel, (long long)source->layout.size[c->dim]);
  return WF_OK;
}

/* PyTorch shows self with one entry for each index, all of them the first one; a dim of size 0 may have no room for it. */
static wf_status check_room(const wf__change *c, const wf_tensor *target) {
  int64_t size[WF_MAX_DIMS], stride[WF_MAX_DIMS];
  int n = target->layout.ndim;
  if (!n || target->layout.size[c->dim] || !c->index->layout.numel) return WF_OK;
  memcpy(size, target->layout.size, sizeof size);
  memcpy(stride, target->layout.stride, sizeof stride);
  size[c->dim] = c->index->layout.numel;
  stride[c->dim] = 0;
  return wf__window_check(target, wf_dims_of(size, n), wf_dims_of(stride, n), target->layout.offset);
}

static wf_status write_copy(const wf__change *c, wf_tensor *target) {
  WF__TRY(check_room(c, target));
  return put_along(target, c->dim, c->index, c->source, false, false, WF__REFUSE_COPY);
}

static wf__change copying(const wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *source) {
  return (wf__change){.self = self,
                      .index = index,
                      .source = source,
                      .dim = dim,
                      .check = check_copy,
                      .write = write_copy,
                      .derivative = &copy_class};
}

wf_tensor *wf_index_copy(const wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *source) {
  WF__OP("index_copy", NULL);
  wf__change c = copying(self, dim, index, source);
  return wf__changed(&c);
}

wf_status wf_index_copy_(wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *source) {
  WF__OP("index_copy_", wf__self.pending);
  wf__change c = copying(self, dim, index, source);
  return wf__change_in_place(&c);
}

/* ---- index_fill -------------------------------------------------------------------------------------------------------------------- */

static wf_status fill_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const wf__along *a = node->payload;
  if (wf__node_wants(node, 0)) out[0] = wf_index_fill(grad[0], a->dim, wf__saved_get(node, 0), wf_int(0));
  if (wf__node_wants(node, 1)) out[1] = wf_sum(wf_index_select(grad[0], a->dim, wf__saved_get(node, 0)));
  return wf__self.pending;
}
static const wf__node_class fill_class = {"IndexFillBackward0", fill_apply, NULL};
static const wf__node_class fill_tensor_class = {"IndexFillBackward1", fill_apply, NULL};

static wf_status check_fill(wf__change *c) {
  WF__TRY(wf__given(c->self, "self"));
  WF__TRY(wf__given(c->index, "index"));
  WF__CHECK(!c->source || !c->source->layout.ndim, WF_RUNTIME,
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
            c->source ? c->source->layout.ndim : 0);
  WF__CHECK(c->index->dtype == WF_I64, WF_INDEX, "index_fill_(): Expected dtype int64 for index.");
  WF__TRY(wf__wrap_dim(&c->dim, c->self->layout.ndim, true));
  WF__CHECK(c->index->layout.ndim <= 1, WF_RUNTIME, "Index has to be a vector/scalar");
  return WF_OK;
}

/* One element that is put everywhere. */
static wf_status write_fill(const wf__change *c, wf_tensor *target) {
  WF__TRY(check_room(c, target));
  wf_scalar known = wf__known_number((wf__operand_arg){(wf_tensor *)c->source, c->number});
  if (known.kind) WF__TRY(wf__scalar_check_fits(known, (wf_dtype)target->dtype));
  wf_tensor *value = wf__tensor_empty_sized(wf__device_of(target), (wf_dtype)target->dtype, WF_SHAPE0);
  if (value && !(c->source ? wf__copy(value, c->source, false, false) : wf__fill(value, c->number)))
    put_along(target, c->dim, c->index, value, false, true, WF__REFUSE_BRACKET);
  wf__tensor_release(value);
  return wf__self.pending;
}

static wf__change filling(const wf_tensor *self, int64_t dim, const wf_tensor *index, wf__operand_arg value) {
  return (wf__change){.self = self,
                      .index = index,
                      .source = value.tensor,
                      .dim = dim,
                      .number = value.scalar,
                      .check = check_fill,
                      .write = write_fill,
                      .derivative = value.tensor ? &fill_tensor_class : &fill_class,
                      .format = WF_FORMAT_PRESERVE,
                      .warns = true};
}

wf_tensor *wf__op_index_fill(wf_tensor *self, int64_t dim, wf_tensor *index, wf__operand_arg value) {
  WF__OP("index_fill", NULL);
  wf__change c = filling(self, dim, index, value);
  return wf__changed(&c);
}

wf_status wf__op_index_fill_(wf_tensor *self, int64_t dim, wf_tensor *index, wf__operand_arg value) {
  WF__OP("index_fill_", wf__self.pending);
  wf__change c = filling(self, dim, index, value);
  return wf__change_in_place(&c);
}

wf_tensor *wf_index_fill(const wf_tensor *self, int64_t dim, const wf_tensor *index, wf_scalar value) {
  WF__OP("index_fill", NULL);
  return wf__op_index_fill((wf_tensor *)self, dim, (wf_tensor *)index, wf__number_arg(value));
}

wf_status wf_index_fill_(wf_tensor *self, int64_t dim, const wf_tensor *index, wf_scalar value) {
  WF__OP("index_fill_", wf__self.pending);
  return wf__op_index_fill_(self, dim, (wf_tensor *)index, wf__number_arg(value));
}
