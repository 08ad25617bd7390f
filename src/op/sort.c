/* sort, argsort, topk. The gradient of the values goes to where they were. */
#include <string.h>

#include <weft/index.h>

#include "kernel/kernel.h"
#include "op/op.h"
#include "op/place.h"
#include "op/view_make.h"

typedef struct ordered {
  wf__sizes sizes;
  int64_t dim;
} ordered;

static wf_status sort_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const ordered *o = node->payload;
  if (!grad[0]) return WF_OK;
  wf_tensor *zeros = wf__fresh_zeros(grad[0], wf__sizes_dims(&o->sizes));
  out[0] = zeros ? wf_scatter(zeros, o->dim, wf__saved_get(node, 0), grad[0]) : NULL;
  return wf__self.pending;
}
static const wf__node_class sort_class = {"SortBackward0", sort_apply, NULL};
static const wf__node_class stable_sort_class = {"SortBackward1", sort_apply, NULL};
static const wf__node_class topk_class = {"TopkBackward0", sort_apply, NULL};

static const wf_sorted none = {NULL, NULL};

/* What is to be brought in order: the first `layout`'s size of dim, both results laid out so. */
typedef struct ordering {
  const wf_tensor *self;
  int op;
  int64_t dim;
  bool flag; /* descending; of topk the greatest */
  wf__layout layout;
} ordering;

static wf_status run(const ordering *o, wf_tensor *values, wf_tensor *indices) {
  const wf__layout *layout = &o->layout;
  if (!layout->numel) return WF_OK;
  wf_plan plan = {.family = WF_FAMILY_SCAN,
                  .op = (uint16_t)o->op,
                  .operands = 3,
                  .outputs = 2,
                  .ndim = (uint8_t)(layout->ndim ? layout->ndim : 1),
                  .size = {1}};
  for (int d = 0; d < layout->ndim; d++) plan.size[d] = layout->size[d];
  wf__operand_of(values, &plan.operand[0]);
  wf__operand_of(indices, &plan.operand[1]);
  wf__operand_of(o->self, &plan.operand[2]);
  plan.param.index.dim = o->dim;
  plan.param.index.count = o->self->layout.ndim ? o->self->layout.size[o->dim] : 1;
  plan.param.index.flag = o->flag;
  return wf__launch_counted(&plan, values, &o->self, 1);
}

static wf_sorted order(const ordering *o, const wf__node_class *cls) {
  const wf_tensor *self = o->self;
  wf_tensor *values = wf__tensor_empty(wf__device_of(self), (wf_dtype)self->dtype, &o->layout);
  wf_tensor *indices = values ? wf__tensor_empty(wf__device_of(self), WF_I64, &o->layout) : NULL;
  ordered known = {wf__sizes_of(self), o->dim};
  wf__node *node = indices ? wf__node_for(cls, &self, 1, 1, &known, sizeof known) : NULL;
  if (indices && !wf__self.pending) run(o, values, indices);
  if (node && !wf__self.pending) wf__save(node, 0, indices);
  wf_sorted s = {wf__finish(values, node), wf__give(indices)};
  return s.values && s.indices ? s : none;
}

static wf_status order_into(const ordering *o, const char *name, wf_tensor *values, wf_tensor *indices) {
  wf__into into[2];
  WF__TRY(wf__into_pair_check(name, values, indices, (wf_dtype)o->self->dtype));
  WF__TRY(wf__into_pair_open(into, values, indices, &o->layout, o->self));
  run(o, into[0].out, into[1].out);
  return wf__into_pair_close(into);
}

/* ---- sort ----------------------------------------------------------------------------------------------------------------- */

static wf_status sorting_of(ordering *o, const wf_tensor *self, int64_t dim, bool descending) {
  WF__TRY(wf__given(self, "self"));
  WF__TRY(wf__wrap_dim(&dim, self->layout.ndim, true));
  *o = (ordering){.self = self, .op = WF__SCAN_SORT, .dim = dim, .flag = descending};
  wf__layout_preserve(&self->layout, &o->layout);
  return WF_OK;
}

wf_sorted wf_sort(const wf_tensor *self, int64_t dim, bool descending, bool stable) {
  WF__OP("sort", none);
  ordering o;
  WF__TRY_OR(sorting_of(&o, self, dim, descending), none);
  return order(&o, stable ? &stable_sort_class : &sort_class);
}

wf_status wf_sort_into(wf_tensor *values, wf_tensor *indices, const wf_tensor *self, int64_t dim, bool descending) {
  WF__OP("sort", wf__self.pending);
  ordering o;
  WF__TRY(wf__into_given("sort", values, &self, 1));
  WF__TRY(sorting_of(&o, self, dim, descending));
  return order_into(&o, "sort", values, indices);
}

wf_tensor *wf_argsort(const wf_tensor *self, int64_t dim, bool descending, bool stable) {
  WF__OP("argsort", NULL);
  wf_scope scope = wf_scope_begin();
  wf_sorted s = wf_sort(self, dim, descending, stable);
  return wf_scope_end(scope, s.indices);
}

/* ---- topk ----------------------------------------------------------------------------------------------------------------- */

static wf_status choice_of(ordering *o, const wf_tensor *self, int64_t k, int64_t dim, bool largest) {
  int64_t size[WF_MAX_DIMS];
  WF__TRY(wf__given(self, "self"));
  WF__TRY(wf__wrap_dim(&dim, self->layout.ndim, true));
  WF__CHECK(self->dtype != WF_BOOL, WF_NOT_IMPLEMENTED, "topk does not support bool dtypes on CPU");
  WF__CHECK(k >= 0 && k <= (self->layout.ndim ? self->layout.size[dim] : 1), WF_RUNTIME,
            "selected index k out of range");
  *o = (ordering){.self = self, .op = WF__SCAN_TOPK, .dim = dim, .flag = largest};
  memcpy(size, self->layout.size, sizeof size);
  if (self->layout.ndim) size[dim] = k;
  return wf__layout_contiguous(&o->layout, wf_dims_of(size, self->layout.ndim), sizeof(int64_t));
}

wf_sorted wf_topk(const wf_tensor *self, int64_t k, int64_t dim, bool largest, bool sorted) {
  WF__OP("topk", none);
  ordering o;
  (void)sorted; /* any order is allowed without it: sorted as well */
  WF__TRY_OR(choice_of(&o, self, k, dim, largest), none);
  return order(&o, &topk_class);
}

wf_status wf_topk_into(wf_tensor *values, wf_tensor *indices, const wf_tensor *self, int64_t k, int64_t dim,
                       bool largest, bool sorted) {
  WF__OP("topk", wf__self.pending);
  ordering o;
  (void)sorted;
  WF__TRY(wf__into_given("topk", values, &self, 1));
  WF__TRY(choice_of(&o, self, k, dim, largest));
  return order_into(&o, "topk", values, indices);
}
