/* The road of every reduction: dims, result, plan, node. The operators are in sums.c, extrema.c, spread.c and truth.c. */
#include <string.h>

#include "copy/copy.h"
#include "op/reducing.h"
#include "tensor/iterator.h"
#include "trace/trace.h"

/* ---- dims -------------------------------------------------------------------------------------------------------------- */

static uint32_t all_dims(const wf_tensor *self) { return (uint32_t)((1u << self->layout.ndim) - 1); }

wf_status wf__reduced_dims(const wf_tensor *self, wf_dims dims, uint32_t *bits) {
  WF__TRY(wf__list_check(dims));
  *bits = dims.n ? 0 : all_dims(self);
  for (int i = 0; i < dims.n; i++) {
    int64_t d = dims.at[i];
    WF__TRY(wf__wrap_dim(&d, self->layout.ndim, true));
    WF__CHECK(!(*bits >> d & 1), WF_RUNTIME, "dim %lld appears multiple times in the list of dims", (long long)d);
    *bits |= 1u << d;
  }
  if (!self->layout.ndim) *bits = 0; /* a number has no dim to lose, though dim 0 may be named */
  return WF_OK;
}

wf_status wf__reduced_dim(const wf_tensor *self, int64_t dim, uint32_t *bits) {
  return wf__reduced_dims(self, dim == WF_NONE ? WF_SHAPE0 : wf_dims_of(&dim, 1), bits);
}

wf_status wf__integers_need_no_grad(const wf_tensor *self, wf_dtype result) {
  WF__CHECK(wf_dtype_is_float(result) || !wf__needs_grad(&self, 1), WF_RUNTIME, "Autograd not support dtype: %s",
            wf__scalar_type_text(result));
  return WF_OK;
}

int64_t wf__reduced_count(const wf_tensor *self, uint32_t dims) {
  int64_t count = 1;
  for (int d = 0; d < self->layout.ndim; d++)
    if (dims >> d & 1) count *= self->layout.size[d];
  return count;
}

/* ---- running -------------------------------------------------------------------------------------------------------------- */

/* Sizes of the result; with `kept` reduced dims have size 1 in it. Returns their number. */
static int result_sizes(const wf__reduction *r, bool kept, int64_t size[WF_MAX_DIMS]) {
  int n = 0;
  for (int d = 0; d < r->self->layout.ndim; d++) {
    bool gone = r->dims >> d & 1;
    if (kept || !gone) size[n++] = gone ? 1 : r->self->layout.size[d];
  }
  return n;
}

/* A new tensor in which reduced dims have size 1. */
static wf_tensor *make_kept(const wf__reduction *r, wf_dtype dtype) {
  int64_t size[WF_MAX_DIMS];
  int n = result_sizes(r, true, size);
  return wf__tensor_empty_sized(wf__device_of(r->self), dtype, wf_dims_of(size, n));
}

/* Takes the dims of size 1 out again; the tensor is fresh and nobody's yet. */
static void drop_dims(const wf__reduction *r, wf_tensor *t) {
  if (r->keepdim || !t) return;
  int64_t size[WF_MAX_DIMS];
  int n = result_sizes(r, false, size);
  wf__layout_contiguous(&t->layout, wf_dims_of(size, n), wf__itemsize(t)); /* fits: it has as many elements as before */
}

static wf_status launch(const wf__reduction *r, wf_tensor *out) {
  wf_plan plan;
  memset(&plan, 0, sizeof plan);
  wf__iter it = {
      .outputs = 1, .operands = r->index ? 3 : 2, .reduction = true, .linear = r->in_order, .no_overlap_check = true};
  it.tensor[0] = out;
  it.tensor[1] = (wf_tensor *)r->self;
  it.tensor[2] = r->index;
  WF__TRY(wf__iter_build(&it, &plan));
  plan.family = WF_FAMILY_REDUCE;
  plan.op = r->op;
  plan.compute = (uint8_t)r->compute;
  plan.scalar[0] = r->number;
  if (wf__tracing()) {
    plan.tag.bytes_read = r->self->layout.numel * (int64_t)wf__itemsize(r->self);
    plan.tag.bytes_written = out->layout.numel * (int64_t)wf__itemsize(out);
  }
  return wf__launch(it.device, &plan);
}

static wf_status fill_or_launch(const wf__reduction *r, wf_tensor *out) {
  if (!out->layout.numel) return WF_OK;
  if (!r->self->layout.numel) return wf__fill(out, r->neutral);
  return launch(r, out);
}

wf_tensor *wf__reduce_run(wf__reduction *r) {
  wf_tensor *out = make_kept(r, r->result);
  if (!out) return NULL;
  if (r->wants_index) r->index = make_kept(r, WF_I64);
  if (wf__self.pending || fill_or_launch(r, out)) {
    wf__tensor_release(out);
    wf__tensor_release(r->index);
    r->index = NULL;
    return NULL;
  }
  drop_dims(r, out);
  drop_dims(r, r->index);
  return out;
}

/* ---- into a given tensor ----------------------------------------------------------------------------------------------------- */

/* `out` with the reduced dims put back, for the plan. */
static wf_tensor *with_reduced_dims(const wf__reduction *r, const wf_tensor *out) {
  wf__layout l = {.numel = out->layout.numel, .offset = out->layout.offset};
  l.ndim = result_sizes(r, true, l.size);
  for (int d = 0, from = 0; d < l.ndim; d++) {
    bool gone = r->dims >> d & 1;
    l.stride[d] = gone && !r->keepdim ? 0 : out->layout.stride[from++];
  }
  return wf__tensor_alias(out, (wf_dtype)out->dtype, &l);
}

static wf_status check_rule(wf__reduction *r, const wf_tensor *dst, wf__into_rule rule) {
  if (rule == WF__INTO_EXACT) return wf__into_dtype(dst, r->result);
  if (rule == WF__INTO_CAST) WF__TRY(wf__into_cast(dst, r->result));
  r->compute = r->result = (wf_dtype)dst->dtype;
  return WF_OK;
}

wf_status wf__reduce_into(wf__reduction *r, wf_tensor *dst, wf__into_rule rule) {
  int64_t size[WF_MAX_DIMS];
  wf__layout layout;
  wf__into into;
  WF__TRY(wf__into_given(wf__self.frame->op, dst, &r->self, 1));
  WF__TRY(check_rule(r, dst, rule));
  WF__TRY(wf__layout_contiguous(&layout, wf_dims_of(size, result_sizes(r, r->keepdim, size)), wf__itemsize(dst)));
  wf_tensor *out = wf__into_open(&into, dst, &layout, &r->self, 1);
  if (!out) return wf__self.pending;
  wf_tensor *kept = with_reduced_dims(r, out);
  if (kept) fill_or_launch(r, kept);
  wf__tensor_release(kept);
  return wf__into_close(&into);
}

wf_status wf__reduce_into_pair(wf__reduction *r, wf_tensor *values, wf_tensor *indices) {
  int64_t size[WF_MAX_DIMS];
  wf__layout layout;
  wf__into into[2];
  WF__TRY(wf__into_pair_check(wf__self.frame->op, values, indices, r->result));
  WF__TRY(wf__layout_contiguous(&layout, wf_dims_of(size, result_sizes(r, r->keepdim, size)), sizeof(int64_t)));
  WF__TRY(wf__into_pair_open(into, values, indices, &layout, r->self));
  wf_tensor *kept = with_reduced_dims(r, into[0].out);
  r->index = kept ? with_reduced_dims(r, into[1].out) : NULL;
  if (r->index) fill_or_launch(r, kept);
  wf__tensor_release(kept);
  wf__tensor_release(r->index);
  r->index = NULL;
  return wf__into_pair_close(into);
}

/* ---- recording ------------------------------------------------------------------------------------------------------------- */

static wf_status record(wf__reduction *r, wf_tensor *out, const wf__node_class *derivative, wf__reduce_keep keep) {
  const wf_tensor *inputs[] = {r->self};
  wf__node *node = wf__node_new(derivative, inputs, 1, 3, sizeof(wf__reduced));
  if (!node) return wf__self.pending;
  wf__reduced *p = node->payload;
  p->dims = r->dims;
  p->keepdim = r->keepdim;
  p->number = r->number;
  p->layout.ndim = r->self->layout.ndim;
  p->layout.numel = r->self->layout.numel;
  memcpy(p->layout.size, r->self->layout.size, sizeof p->layout.size);
  if (keep & WF__KEEP_INPUT) wf__save(node, 0, r->self);
  if (!wf__set_history(out, node, 0) && (keep & WF__KEEP_RESULT)) wf__save_output(node, 1, out, 0);
  if (r->index) wf__save(node, 2, r->index);
  wf__node_release(node);
  return wf__self.pending;
}

wf_tensor *wf__reduce(wf__reduction *r, const wf__node_class *derivative, wf__reduce_keep keep) {
  const wf_tensor *inputs[] = {r->self};
  wf_tensor *out = wf__reduce_run(r);
  if (out && derivative && wf_dtype_is_float(r->result) && wf__needs_grad(inputs, 1)) record(r, out, derivative, keep);
  return wf__give(out);
}

/* One view by geometry: stride 0 where dims come back, but what unsqueeze would give where their size is 1. */
wf_tensor *wf__unreduce(const wf_tensor *t, uint32_t dims, bool keepdim, wf_dims size) {
  int64_t stride[WF_MAX_DIMS];
  for (int d = size.n - 1, from = t->layout.ndim - 1; d >= 0; d--) {
    bool gone = dims >> d & 1;
    if (!gone || (keepdim && size.at[d] == 1)) stride[d] = t->layout.stride[from];
    else if (size.at[d] != 1) stride[d] = 0;
    else stride[d] = d + 1 < size.n ? size.at[d + 1] * stride[d + 1] : 1;
    if (!gone || keepdim) from--;
  }
  return wf__ops.as_strided(t, size, wf_dims_of(stride, size.n), t->layout.offset);
}

wf_tensor *wf__unreduce_for(const wf__node *node, const wf_tensor *t) {
  const wf__reduced *p = node->payload;
  return t ? wf__unreduce(t, p->dims, p->keepdim, wf__layout_sizes(&p->layout)) : NULL;
}
