/* One index for each element: gather, scatter, scatter_add; take from the flattened tensor. */
#include <string.h>

#include <weft/view.h>

#include "base/convert.h"
#include "copy/copy.h"
#include "kernel/kernel.h"
#include "op/along.h"
#include "op/indexed.h"
#include "op/view_make.h"

static int rank_of(const wf_tensor *t) { return t->layout.ndim ? t->layout.ndim : 1; }
static int64_t size_of(const wf_tensor *t, int d) { return t->layout.ndim ? t->layout.size[d] : 1; }

/* A plan over index's sizes. */
static void plan_along(wf_plan *plan, int op, int64_t dim, const wf_tensor *table, const wf_tensor *index) {
  *plan = (wf_plan){
      .family = WF_FAMILY_INDEX, .op = (uint16_t)op, .operands = 3, .outputs = 1, .ndim = (uint8_t)rank_of(index)};
  for (int d = 0; d < rank_of(index); d++) plan->size[d] = size_of(index, d);
  wf__operand_of(index, &plan->operand[2]);
  plan->param.index.dim = dim;
  plan->param.index.count = size_of(table, (int)dim);
}

static wf_status check_index_dtype(const char *name, const wf_tensor *index) {
  WF__CHECK(!index->layout.numel || index->dtype == WF_I64 || index->dtype == WF_I32, WF_RUNTIME,
            "%s(): Expected dtype int32/int64 for index", name);
  return WF_OK;
}

/* ---- gather ------------------------------------------------------------------------------------------------------------------------ */

typedef struct gathered {
  wf__sizes sizes;
  int64_t dim;
} gathered;

static wf_status gather_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const gathered *g = node->payload;
  wf_tensor *zeros = wf__fresh_zeros(grad[0], wf__sizes_dims(&g->sizes));
  out[0] = zeros ? wf_scatter_add(zeros, g->dim, wf__saved_get(node, 0), grad[0]) : NULL;
  return wf__self.pending;
}
static const wf__node_class gather_class = {"GatherBackward0", gather_apply, NULL};

static wf_status check_gather(const wf_tensor *self, int64_t *dim, const wf_tensor *index) {
  char a[WF__DIMS_TEXT], b[WF__DIMS_TEXT];
  WF__TRY(wf__given(self, "self"));
  WF__TRY(wf__given(index, "index"));
  WF__TRY(wf__wrap_dim(dim, self->layout.ndim, true));
  WF__TRY(check_index_dtype("gather", index));
  if (!index->layout.numel) return WF_OK;
  WF__CHECK(rank_of(index) == rank_of(self), WF_RUNTIME,
            "Index tensor must have the same number of dimensions as input tensor");
  for (int d = 0; d < rank_of(index); d++)
    WF__CHECK(
        d == *dim || size_of(index, d) <= size_of(self, d), WF_RUNTIME,
        "Size does not match at dimension %d expected index %s to be no larger than self %s apart from dimension %lld",
        d, wf__dims_text(wf_sizes(index), a), wf__dims_text(wf_sizes(self), b), (long long)*dim);
  return WF_OK;
}

static wf_status launch_gather(wf_tensor *out, const wf_tensor *self, int64_t dim, const wf_tensor *index) {
  wf_plan plan;
  const wf_tensor *read[] = {self, index};
  if (!index->layout.numel) return WF_OK;
  plan_along(&plan, WF__INDEX_GATHER, dim, self, index);
  wf__operand_of(out, &plan.operand[0]);
  wf__operand_of(self, &plan.operand[1]);
  return wf__launch_counted(&plan, out, read, 2);
}

wf_tensor *wf_gather(const wf_tensor *self, int64_t dim, const wf_tensor *index) {
  WF__OP("gather", NULL);
  WF__TRY_OR(check_gather(self, &dim, index), NULL);
  wf_tensor *out = wf__new(self, (wf_dtype)self->dtype, wf_sizes(index), WF_FORMAT_CONTIGUOUS);
  gathered g = {wf__sizes_of(self), dim};
  wf__node *node = out ? wf__node_for(&gather_class, &self, 1, 1, &g, sizeof g) : NULL;
  if (node) wf__save(node, 0, index);
  if (out && !wf__self.pending) launch_gather(out, self, dim, index);
  return wf__finish(out, node);
}

wf_status wf_gather_into(wf_tensor *dst, const wf_tensor *self, int64_t dim, const wf_tensor *index) {
  WF__OP("gather", wf__self.pending);
  const wf_tensor *inputs[] = {self, index};
  wf__layout layout;
  wf__into into;
  WF__TRY(check_gather(self, &dim, index));
  WF__TRY(wf__into_given("gather", dst, &self, 1));
  WF__TRY(wf__into_dtype(dst, (wf_dtype)self->dtype));
  WF__TRY(wf__check_no_overlap(dst, self));
  WF__TRY(wf__check_no_overlap(dst, index));
  WF__TRY(wf__layout_contiguous(&layout, wf_sizes(index), wf__itemsize(dst)));
  wf_tensor *out = wf__into_open(&into, dst, &layout, inputs, 2);
  if (!out) return wf__self.pending;
  launch_gather(out, self, dim, index);
  return wf__into_close(&into);
}

/* ---- scatter ------------------------------------------------------------------------------------------------------------------------ */

static wf_status scatter_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const wf__along *a = node->payload;
  if (wf__node_wants(node, 0)) out[0] = wf_scatter_value(grad[0], a->dim, wf__saved_get(node, 0), wf_int(0));
  if (wf__node_wants(node, 1)) out[1] = wf_gather(grad[0], a->dim, wf__saved_get(node, 0));
  return wf__self.pending;
}
static const wf__node_class scatter_class = {"ScatterBackward0", scatter_apply, NULL};
static const wf__node_class scatter_value_class = {"ScatterBackward1", scatter_apply, NULL};

static wf_status scatter_add_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const wf__along *a = node->payload;
  if (wf__node_wants(node, 0)) out[0] = grad[0];
  if (wf__node_wants(node, 1)) out[1] = wf_gather(grad[0], a->dim, wf__saved_get(node, 0));
  return wf__self.pending;
}
static const wf__node_class scatter_add_class = {"ScatterAddBackward0", scatter_add_apply, NULL};

static wf_status check_scatter_shapes(const wf__change *c) {
  char a[WF__DIMS_TEXT], b[WF__DIMS_TEXT], s[WF__DIMS_TEXT];
  bool fits = true;
  WF__CHECK(rank_of(c->self) == rank_of(c->index), WF_RUNTIME,
            "Index tensor must have the same number of dimensions as self tensor");
  WF__CHECK(!c->source || rank_of(c->source) == rank_of(c->index), WF_RUNTIME,
            "Index tensor must have the same number of dimensions as src tensor");
  for (int d = 0; d < rank_of(c->index); d++) {
    fits = fits && (d == c->dim || size_of(c->index, d) <= size_of(c->self, d));
    fits = fits && (!c->source || size_of(c->index, d) <= size_of(c->source, d));
  }
  if (fits) return WF_OK;
  wf__dims_text(wf_sizes(c->index), a);
  wf__dims_text(wf_sizes(c->self), b);
  if (!c->source)
    return wf__fail(WF_RUNTIME, "Expected index %s to be no larger than self %s apart from dimension %lld", a, b,
                    (long long)c->dim);
  return wf__fail(
      WF_RUNTIME,
      "Expected index %s to be no larger than self %s apart from dimension %lld and to be no larger size than src %s",
      a, b, (long long)c->dim, wf__dims_text(wf_sizes(c->source), s));
}

static wf_status check_scatter(wf__change *c) {
  WF__TRY(wf__given(c->self, "self"));
  WF__TRY(wf__given(c->index, "index"));
  WF__TRY(wf__wrap_dim(&c->dim, c->self->layout.ndim, true));
  WF__TRY(check_index_dtype("scatter", c->index));
  WF__CHECK(!c->source || c->source->dtype == c->self->dtype, WF_RUNTIME,
            "scatter(): Expected self.dtype to be equal to src.dtype");
  return c->index->layout.numel ? check_scatter_shapes(c) : WF_OK;
}

static wf_status launch_scatter(const wf__change *c, wf_tensor *target, bool add) {
  wf_plan plan;
  const wf_tensor *read[] = {c->source, c->index};
  if (!c->index->layout.numel) return WF_OK;
  if (!c->source) WF__TRY(wf__scalar_check_fits(c->number, (wf_dtype)target->dtype));
  plan_along(&plan, WF__INDEX_SCATTER, c->dim, target, c->index);
  wf__operand_of(target, &plan.operand[0]);
  if (c->source) wf__operand_of(c->source, &plan.operand[1]);
  plan.scalar[0] = c->number;
  plan.param.index.flag = add;
  return wf__launch_counted(&plan, target, read, 2);
}

static wf_status write_scatter(const wf__change *c, wf_tensor *target) { return launch_scatter(c, target, false); }
static wf_status write_scatter_add(const wf__change *c, wf_tensor *target) { return launch_scatter(c, target, true); }

static wf__change scattering(const wf_tensor *self, int64_t dim, const wf_tensor *index, wf__operand_arg src) {
  return (wf__change){.self = self,
                      .index = index,
                      .source = src.tensor,
                      .dim = dim,
                      .number = src.scalar,
                      .check = check_scatter,
                      .write = write_scatter,
                      .derivative = src.tensor ? &scatter_class : &scatter_value_class};
}

wf_tensor *wf__op_scatter(wf_tensor *self, int64_t dim, wf_tensor *index, wf__operand_arg src) {
  WF__OP("scatter", NULL);
  wf__change c = scattering(self, dim, index, src);
  return wf__changed(&c);
}

wf_status wf__op_scatter_(wf_tensor *self, int64_t dim, wf_tensor *index, wf__operand_arg src) {
  WF__OP("scatter_", wf__self.pending);
  wf__change c = scattering(self, dim, index, src);
  return wf__change_in_place(&c);
}

wf_tensor *wf_scatter(const wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *src) {
  WF__OP("scatter", NULL);
  WF__TRY_OR(wf__given(src, "src"), NULL);
  return wf__op_scatter((wf_tensor *)self, dim, (wf_tensor *)index, wf__tensor_arg(src));
}

wf_status wf_scatter_(wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *src) {
  WF__OP("scatter_", wf__self.pending);
  WF__TRY(wf__given(src, "src"));
  return wf__op_scatter_(self, dim, (wf_tensor *)index, wf__tensor_arg(src));
}

wf_tensor *wf_scatter_value(const wf_tensor *self, int64_t dim, const wf_tensor *index, wf_scalar value) {
  WF__OP("scatter", NULL);
  return wf__op_scatter((wf_tensor *)self, dim, (wf_tensor *)index, wf__number_arg(value));
}

wf_status wf_scatter_value_(wf_tensor *self, int64_t dim, const wf_tensor *index, wf_scalar value) {
  WF__OP("scatter_", wf__self.pending);
  return wf__op_scatter_(self, dim, (wf_tensor *)index, wf__number_arg(value));
}

static wf__change adding(const wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *src) {
  return (wf__change){.self = self,
                      .index = index,
                      .source = src,
                      .dim = dim,
                      .check = check_scatter,
                      .write = write_scatter_add,
                      .derivative = &scatter_add_class};
}

wf_tensor *wf_scatter_add(const wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *src) {
  WF__OP("scatter_add", NULL);
  wf__change c = adding(self, dim, index, src);
  WF__TRY_OR(wf__given(src, "src"), NULL);
  return wf__changed(&c);
}

wf_status wf_scatter_add_(wf_tensor *self, int64_t dim, const wf_tensor *index, const wf_tensor *src) {
  WF__OP("scatter_add_", wf__self.pending);
  wf__change c = adding(self, dim, index, src);
  WF__TRY(wf__given(src, "src"));
  return wf__change_in_place(&c);
}

/* ---- take ---------------------------------------------------------------------------------------------------------------------------- */

static wf_status take_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf_dims size = wf__sizes_dims(node->payload);
  wf_tensor *zeros = wf__fresh_zeros(grad[0], size), *index = wf__saved_get(node, 0),
            *flat = zeros ? wf_view(zeros, WF_SHAPE(-1)) : NULL;
  wf_tensors at = {&index, 1};
  wf_tensor *filled = flat ? wf_index_put(flat, at, grad[0], true) : NULL;
  out[0] = filled ? wf_view(filled, size) : NULL;
  return wf__self.pending;
}
static const wf__node_class take_class = {"TakeBackward0", take_apply, NULL};

static wf_status check_take(const wf_tensor *self, const wf_tensor *index) {
  WF__TRY(wf__given(self, "self"));
  WF__TRY(wf__given(index, "index"));
  WF__CHECK(index->dtype == WF_I64, WF_RUNTIME, "take(): Expected a long tensor for index, but got %s",
            wf__scalar_type_text((wf_dtype)index->dtype));
  WF__CHECK(self->layout.numel || !index->layout.numel, WF_INDEX, "take(): tried to take from an empty tensor");
  return WF_OK;
}

/* self as one row: a plain view where its dims merge, else a copy. The caller's reference. */
static wf_tensor *as_row(const wf_tensor *self) {
  int64_t n = self->layout.numel, stride;
  wf__layout row = {.ndim = 1, .numel = n, .size = {n}, .stride = {1}};
  if (wf__view_strides(&self->layout, wf_dims_of(&n, 1), &stride)) {
    row.offset = self->layout.offset;
    row.stride[0] = stride;
    return wf__tensor_alias(self, (wf_dtype)self->dtype, &row);
  }
  wf_tensor *copy = wf__contiguous(self, WF_FORMAT_CONTIGUOUS, true),
            *view = copy ? wf__tensor_alias(copy, (wf_dtype)self->dtype, &row) : NULL;
  wf__tensor_release(copy);
  return view;
}

wf_tensor *wf_take(const wf_tensor *self, const wf_tensor *index) {
  WF__OP("take", NULL);
  WF__TRY_OR(check_take(self, index), NULL);
  wf_tensor *out = wf__new(self, (wf_dtype)self->dtype, wf_sizes(index), WF_FORMAT_CONTIGUOUS);
  wf__sizes sizes = wf__sizes_of(self);
  wf__node *node = out ? wf__node_for(&take_class, &self, 1, 1, &sizes, sizeof sizes) : NULL;
  if (node) wf__save(node, 0, index);
  wf_tensor *row = out && !wf__self.pending && index->layout.numel ? as_row(self) : NULL;
  wf__indices list = {.at = {index}, .wraps = true, .refusal = WF__REFUSE_TAKE};
  if (row) wf__index_get_into(out, row, &list);
  wf__tensor_release(row);
  return wf__finish(out, node);
}
