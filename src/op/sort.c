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

/* Gives the first `layout`'s size along dim in order, both results laid out so. */
static wf_sorted order(const wf_tensor *self, int op, int64_t dim, bool descending, const wf__layout *layout,
                       const wf__node_class *cls) {
  wf_tensor *values = wf__tensor_empty(wf__device_of(self), (wf_dtype)self->dtype, layout);
  wf_tensor *indices = values ? wf__tensor_empty(wf__device_of(self), WF_I64, layout) : NULL;
  ordered o = {wf__sizes_of(self), dim};
  wf__node *node = indices ? wf__node_for(cls, &self, 1, 1, &o, sizeof o) : NULL;
  if (indices && !wf__self.pending && layout->numel) {
    wf_plan plan = {.family = WF_FAMILY_SCAN,
                    .op = (uint16_t)op,
                    .operands = 3,
                    .outputs = 2,
                    .ndim = (uint8_t)(layout->ndim ? layout->ndim : 1),
                    .size = {1}};
    for (int d = 0; d < layout->ndim; d++) plan.size[d] = layout->size[d];
    wf__operand_of(values, &plan.operand[0]);
    wf__operand_of(indices, &plan.operand[1]);
    wf__operand_of(self, &plan.operand[2]);
    plan.param.index.dim = dim;
    plan.param.index.count = self->layout.ndim ? self->layout.size[dim] : 1;
    plan.param.index.flag = descending;
    wf__launch_counted(&plan, values, &self, 1);
  }
  if (node && !wf__self.pending) wf__save(node, 0, indices);
  wf_sorted s = {wf__finish(values, node), wf__give(indices)};
  return s.values && s.indices ? s : none;
}

wf_sorted wf_sort(const wf_tensor *self, int64_t dim, bool descending, bool stable) {
  WF__OP("sort", none);
  wf__layout layout;
  WF__TRY_OR(wf__given(self, "self"), none);
  WF__TRY_OR(wf__wrap_dim(&dim, self->layout.ndim, true), none);
  wf__layout_preserve(&self->layout, &layout);
  return order(self, WF__SCAN_SORT, dim, descending, &layout, stable ? &stable_sort_class : &sort_class);
}

wf_tensor *wf_argsort(const wf_tensor *self, int64_t dim, bool descending, bool stable) {
  WF__OP("argsort", NULL);
  wf_scope scope = wf_scope_begin();
  wf_sorted s = wf_sort(self, dim, descending, stable);
  return wf_scope_end(scope, s.indices);
}

wf_sorted wf_topk(const wf_tensor *self, int64_t k, int64_t dim, bool largest, bool sorted) {
  WF__OP("topk", none);
  wf__layout layout;
  int64_t size[WF_MAX_DIMS];
  (void)sorted; /* any order is allowed without it: sorted as well */
  WF__TRY_OR(wf__given(self, "self"), none);
  WF__TRY_OR(wf__wrap_dim(&dim, self->layout.ndim, true), none);
  if (self->dtype == WF_BOOL) return wf__fail(WF_NOT_IMPLEMENTED, "topk does not support bool dtypes on CPU"), none;
  if (k < 0 || k > (self->layout.ndim ? self->layout.size[dim] : 1))
    return wf__fail(WF_RUNTIME, "selected index k out of range"), none;
  memcpy(size, self->layout.size, sizeof size);
  if (self->layout.ndim) size[dim] = k;
  WF__TRY_OR(wf__layout_contiguous(&layout, wf_dims_of(size, self->layout.ndim), 8), none);
  return order(self, WF__SCAN_TOPK, dim, largest, &layout, &topk_class);
}
