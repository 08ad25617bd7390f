/* sum, mean, prod. */
#include "op/reducing.h"

static bool is_whole(wf_dtype d) { return !wf_dtype_is_float(d); }

/* ---- sum ------------------------------------------------------------------------------------------------------------------ */

static wf_status sum_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  out[0] = wf__unreduce_for(node, grad[0]);
  return wf__self.pending;
}
static const wf__node_class sum_class = {"SumBackward0", sum_apply, NULL};
static const wf__node_class sum_dims_class = {"SumBackward1", sum_apply, NULL};

static wf_status sum_of(wf__reduction *r, const wf_tensor *self, wf_dims dims, bool keepdim, wf_dtype dtype) {
  uint32_t bits;
  WF__TRY(wf__require_tensors("sum", &self, 1));
  WF__TRY(wf__reduced_dims(self, dims, &bits));
  wf_dtype result = dtype ? dtype : is_whole((wf_dtype)self->dtype) ? WF_I64 : (wf_dtype)self->dtype;
  *r = (wf__reduction){.op = WF__RED_SUM,
                       .self = self,
                       .dims = bits,
                       .keepdim = keepdim,
                       .compute = result,
                       .result = result,
                       .neutral = wf_int(0)};
  return wf__integers_need_no_grad(self, result);
}

static wf_tensor *sum(const wf_tensor *self, wf_dims dims, bool keepdim, wf_dtype dtype, const wf__node_class *cls) {
  wf__reduction r;
  return sum_of(&r, self, dims, keepdim, dtype) ? NULL : wf__reduce(&r, cls, WF__KEEP_NOTHING);
}

wf_tensor *wf_sum(const wf_tensor *self) {
  WF__OP("sum", NULL);
  return sum(self, WF_SHAPE0, false, WF_DTYPE_NONE, &sum_class);
}

wf_tensor *wf_sum_dims(const wf_tensor *self, wf_dims dims, bool keepdim, wf_dtype dtype) {
  WF__OP("sum", NULL);
  return sum(self, dims, keepdim, dtype, &sum_dims_class);
}

wf_status wf_sum_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, bool keepdim, wf_dtype dtype) {
  WF__OP("sum", wf__self.pending);
  wf__reduction r;
  WF__TRY(sum_of(&r, self, dims, keepdim, dtype));
  return wf__reduce_into(&r, dst, dtype ? WF__INTO_EXACT : WF__INTO_ANY);
}

wf_tensor *wf__op_sum(wf_tensor *self, wf_dims dim, bool keepdim, wf_dtype dtype) {
  WF__OP("sum", NULL);
  return sum(self, dim, keepdim, dtype, dim.n ? &sum_dims_class : &sum_class);
}

/* ---- mean ----------------------------------------------------------------------------------------------------------------- */

static wf_status mean_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf_tensor *wide = wf__unreduce_for(node, grad[0]);
  const wf__reduced *p = node->payload;
  out[0] = wide ? wf_div_scalar(wide, p->number) : NULL;
  return wf__self.pending;
}
static const wf__node_class mean_class = {"MeanBackward0", mean_apply, NULL};
static const wf__node_class mean_dims_class = {"MeanBackward1", mean_apply, NULL};

static wf_status mean_of(wf__reduction *r, const wf_tensor *self, wf_dims dims, bool keepdim, wf_dtype dtype) {
  uint32_t bits;
  WF__TRY(wf__require_tensors("mean", &self, 1));
  wf_dtype result = dtype ? dtype : (wf_dtype)self->dtype;
  WF__CHECK(!is_whole(result), WF_NOT_IMPLEMENTED,
            "mean(): could not infer output dtype. %s dtype must be either a floating point or complex dtype. Got: %s",
            dtype ? "Optional" : "Input", wf__scalar_type_text(result));
  WF__TRY(wf__reduced_dims(self, dims, &bits));
  *r = (wf__reduction){.op = WF__RED_MEAN,
                       .self = self,
                       .dims = bits,
                       .keepdim = keepdim,
                       .compute = result,
                       .result = result,
                       .neutral = wf_float(__builtin_nan("")),
                       .number = wf_int(wf__reduced_count(self, bits))};
  return WF_OK;
}

static wf_tensor *mean(const wf_tensor *self, wf_dims dims, bool keepdim, wf_dtype dtype, const wf__node_class *cls) {
  wf__reduction r;
  return mean_of(&r, self, dims, keepdim, dtype) ? NULL : wf__reduce(&r, cls, WF__KEEP_NOTHING);
}

wf_tensor *wf_mean(const wf_tensor *self) {
  WF__OP("mean", NULL);
  return mean(self, WF_SHAPE0, false, WF_DTYPE_NONE, &mean_class);
}

wf_tensor *wf_mean_dims(const wf_tensor *self, wf_dims dims, bool keepdim, wf_dtype dtype) {
  WF__OP("mean", NULL);
  return mean(self, dims, keepdim, dtype, &mean_dims_class);
}

wf_status wf_mean_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, bool keepdim, wf_dtype dtype) {
  WF__OP("mean", wf__self.pending);
  wf__reduction r;
  WF__TRY(mean_of(&r, self, dims, keepdim, dtype));
  return wf__reduce_into(&r, dst, dtype ? WF__INTO_EXACT : WF__INTO_CAST);
}

wf_tensor *wf__op_mean(wf_tensor *self, wf_dims dim, bool keepdim, wf_dtype dtype) {
  WF__OP("mean", NULL);
  return mean(self, dim, keepdim, dtype, dim.n ? &mean_dims_class : &mean_class);
}

/* ---- prod ----------------------------------------------------------------------------------------------------------------- */

/* The product of all others, without dividing by zero: with one zero only its own place has a product, with more none has. No wait
 * for the device: the cases are chosen element by element. */
static wf_status prod_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const wf__reduced *p = node->payload;
  wf_tensor *x = wf__saved_get(node, 0);
  wf_tensor *zero = wf_eq_scalar(x, wf_int(0)), *filled = wf_masked_fill(x, zero, wf_int(1));
  int64_t dims[WF_MAX_DIMS];
  int n = 0;
  for (int d = 0; d < p->layout.ndim; d++)
    if (p->dims >> d & 1) dims[n++] = d;
  wf_tensor *zeros = n ? wf_sum_dims(zero, wf_dims_of(dims, n), true, WF_I64) : zero;
  wf_tensor *rest = p->number.kind ? wf_prod_dim(filled, p->number.as.i, true, WF_DTYPE_NONE) : wf_prod(filled);
  wf_tensor *others = wf_where(zero, rest, wf_div(rest, filled));
  wf_tensor *allowed = wf_where(zero, wf_le_scalar(zeros, wf_int(1)), wf_eq_scalar(zeros, wf_int(0)));
  out[0] =
      wf_mul(wf__unreduce_for(node, grad[0]), wf__op_where(allowed, wf__tensor_arg(others), wf__number_arg(wf_int(0))));
  return wf__self.pending;
}
static const wf__node_class prod_class = {"ProdBackward0", prod_apply, NULL};
static const wf__node_class prod_dim_class = {"ProdBackward1", prod_apply, NULL};

static wf_status prod_of(wf__reduction *r, const wf_tensor *self, int64_t dim, bool keepdim, wf_dtype dtype) {
  uint32_t bits;
  WF__TRY(wf__require_tensors("prod", &self, 1));
  WF__TRY(wf__reduced_dim(self, dim, &bits));
  wf_dtype result = dtype ? dtype : is_whole((wf_dtype)self->dtype) ? WF_I64 : (wf_dtype)self->dtype;
  *r = (wf__reduction){.op = WF__RED_PROD,
                       .self = self,
                       .dims = bits,
                       .keepdim = keepdim,
                       .compute = result,
                       .result = result,
                       .neutral = wf_int(1)};
  if (dim != WF_NONE) r->number = wf_int(dim);
  return wf__integers_need_no_grad(self, result);
}

static wf_tensor *prod(const wf_tensor *self, int64_t dim, bool keepdim, wf_dtype dtype) {
  wf__reduction r;
  WF__TRY_OR(prod_of(&r, self, dim, keepdim, dtype), NULL);
  return wf__reduce(&r, dim == WF_NONE ? &prod_class : &prod_dim_class, WF__KEEP_BOTH);
}

wf_tensor *wf_prod(const wf_tensor *self) {
  WF__OP("prod", NULL);
  return prod(self, WF_NONE, false, WF_DTYPE_NONE);
}

wf_tensor *wf_prod_dim(const wf_tensor *self, int64_t dim, bool keepdim, wf_dtype dtype) {
  WF__OP("prod", NULL);
  return prod(self, dim, keepdim, dtype);
}

wf_status wf_prod_into(wf_tensor *dst, const wf_tensor *self, int64_t dim, bool keepdim, wf_dtype dtype) {
  WF__OP("prod", wf__self.pending);
  wf__reduction r;
  WF__TRY(prod_of(&r, self, dim, keepdim, dtype));
  return wf__reduce_into(&r, dst, dtype ? WF__INTO_EXACT : WF__INTO_ANY);
}
