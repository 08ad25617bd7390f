/* Running sums and products along a dim. */
#include <weft/index.h>
#include <weft/join.h>

#include "kernel/kernel.h"
#include "op/op.h"
#include "op/place.h"
#include "op/reducing.h"

static wf_status launch(wf_tensor *out, const wf_tensor *self, int op, int64_t dim) {
  if (!self->layout.numel) return WF_OK;
  wf_plan plan = {.family = WF_FAMILY_SCAN,
                  .op = (uint16_t)op,
                  .operands = 2,
                  .outputs = 1,
                  .ndim = (uint8_t)(self->layout.ndim ? self->layout.ndim : 1),
                  .size = {1}};
  for (int d = 0; d < self->layout.ndim; d++) plan.size[d] = self->layout.size[d];
  wf__operand_of(out, &plan.operand[0]);
  wf__operand_of(self, &plan.operand[1]);
  plan.param.index.dim = dim;
  plan.param.index.count = plan.size[dim];
  return wf__launch_counted(&plan, out, &self, 1);
}

static wf_tensor *cumulate(const wf_tensor *self, int op, int64_t dim, wf_dtype dtype) {
  wf_tensor *out = wf__new(self, dtype, wf_sizes(self), WF_FORMAT_CONTIGUOUS);
  if (out) launch(out, self, op, dim);
  return out;
}

static wf_status check_scan(const char *name, const wf_tensor *self, int64_t *dim, wf_dtype *dtype) {
  WF__TRY(wf__given(self, "self"));
  WF__TRY(wf__wrap_dim(dim, self->layout.ndim, true));
  if (!*dtype) *dtype = wf_dtype_is_float((wf_dtype)self->dtype) ? (wf_dtype)self->dtype : WF_I64;
  WF__CHECK(*dtype != WF_BOOL || !self->layout.ndim || !self->layout.numel, WF_NOT_IMPLEMENTED,
            "\"%s_out_cpu\" not implemented for 'Bool'", name);
  return wf__integers_need_no_grad(self, *dtype);
}

/* Sums from each element to the end. */
static wf_tensor *sums_behind(const wf_tensor *t, int64_t dim) {
  wf_dims dims = wf_dims_of(&dim, 1);
  wf_tensor *turned = t ? wf_flip(t, dims) : NULL, *sums = turned ? wf_cumsum(turned, dim, WF_DTYPE_NONE) : NULL;
  return sums ? wf_flip(sums, dims) : NULL;
}

/* ---- cumsum ------------------------------------------------------------------------------------------------------------------------- */

static wf_status cumsum_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  out[0] = sums_behind(grad[0], *(int64_t *)node->payload);
  return wf__self.pending;
}
static const wf__node_class cumsum_class = {"CumsumBackward0", cumsum_apply, NULL};

wf_tensor *wf_cumsum(const wf_tensor *self, int64_t dim, wf_dtype dtype) {
  WF__OP("cumsum", NULL);
  WF__TRY_OR(check_scan("cumsum", self, &dim, &dtype), NULL);
  wf_tensor *out = cumulate(self, WF__SCAN_CUMSUM, dim, dtype);
  wf__node *node = out && !wf__self.pending && wf_dtype_is_float(dtype)
                       ? wf__node_for(&cumsum_class, &self, 1, 0, &dim, sizeof dim)
                       : NULL;
  return wf__finish(out, node);
}

/* ---- cumprod ------------------------------------------------------------------------------------------------------------------------ */

/* d out[k] / d x[i] is out[k] / x[i] before the first 0. At the first 0 it is the product of the others, for which that 0 is taken as 1;
 * behind it everything is 0. */
static wf_status cumprod_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  int64_t dim = *(int64_t *)node->payload;
  const wf__operand_arg zero = wf__number_arg(wf_int(0)), one = wf__number_arg(wf_int(1));
  wf_tensor *x = wf__saved_get(node, 0), *result = wf__saved_get(node, 1);
  wf_tensor *is_zero = x ? wf_eq_scalar(x, wf_int(0)) : NULL,
            *zeros = is_zero ? wf_cumsum(is_zero, dim, WF_DTYPE_NONE) : NULL;
  if (!zeros) return wf__self.pending;
  wf_tensor *before = wf_eq_scalar(zeros, wf_int(0)), *first = wf_logical_and(is_zero, wf_eq_scalar(zeros, wf_int(1)));
  wf_tensor *divisor = wf__op_where(is_zero, one, wf__tensor_arg(x)),
            *without = wf__op_where(first, one, wf__tensor_arg(x));
  wf_tensor *slopes = wf_div(sums_behind(wf_mul(result, grad[0]), dim), divisor);
  wf_tensor *at_first = sums_behind(wf_mul(wf_cumprod(without, dim, WF_DTYPE_NONE), grad[0]), dim);
  wf_tensor *rest = wf__op_where(first, wf__tensor_arg(at_first), zero);
  out[0] = wf__op_where(before, wf__tensor_arg(slopes), wf__tensor_arg(rest));
  return wf__self.pending;
}
static const wf__node_class cumprod_class = {"CumprodBackward0", cumprod_apply, NULL};

wf_tensor *wf_cumprod(const wf_tensor *self, int64_t dim, wf_dtype dtype) {
  WF__OP("cumprod", NULL);
  WF__TRY_OR(check_scan("cumprod", self, &dim, &dtype), NULL);
  wf_tensor *out = cumulate(self, WF__SCAN_CUMPROD, dim, dtype);
  wf__node *node = out && !wf__self.pending && wf_dtype_is_float(dtype)
                       ? wf__node_for(&cumprod_class, &self, 1, 2, &dim, sizeof dim)
                       : NULL;
  if (node) {
    wf__save(node, 0, self);
    wf__set_history(out, node, 0);
    wf__save_output(node, 1, out, 0);
    wf__node_release(node);
  }
  return wf__give(out);
}

/* ---- into a given tensor ------------------------------------------------------------------------------------------------------------ */

/* Computed in dst's dtype, which must be the one asked for, if one is. */
static wf_status cumulate_into(const char *name, int op, wf_tensor *dst, const wf_tensor *self, int64_t dim,
                               wf_dtype dtype) {
  wf__layout layout;
  wf__into into;
  WF__TRY(wf__into_given(name, dst, &self, 1));
  if (dtype) WF__TRY(wf__into_dtype(dst, dtype));
  dtype = (wf_dtype)dst->dtype;
  WF__TRY(check_scan(name, self, &dim, &dtype));
  WF__TRY(wf__layout_contiguous(&layout, wf_sizes(self), wf__itemsize(dst)));
  wf_tensor *out = wf__into_open(&into, dst, &layout, &self, 1);
  if (!out) return wf__self.pending;
  launch(out, self, op, dim);
  return wf__into_close(&into);
}

wf_status wf_cumsum_into(wf_tensor *dst, const wf_tensor *self, int64_t dim, wf_dtype dtype) {
  WF__OP("cumsum", wf__self.pending);
  return cumulate_into("cumsum", WF__SCAN_CUMSUM, dst, self, dim, dtype);
}

wf_status wf_cumprod_into(wf_tensor *dst, const wf_tensor *self, int64_t dim, wf_dtype dtype) {
  WF__OP("cumprod", wf__self.pending);
  return cumulate_into("cumprod", WF__SCAN_CUMPROD, dst, self, dim, dtype);
}
