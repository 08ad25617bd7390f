/* var, std, norm, logsumexp. */
#include <math.h>

#include "base/convert.h"
#include "base/log.h"
#include "op/reducing.h"

/* A condition's places set to zero. */
static wf_tensor *zero_where(wf_tensor *t, wf_tensor *condition) { return wf_masked_fill(t, condition, wf_int(0)); }
static wf_tensor *is_zero(wf_tensor *t) { return wf_eq_scalar(t, wf_int(0)); }

static int dims_of(const wf__reduced *p, int64_t dims[WF_MAX_DIMS]) {
  int n = 0;
  for (int d = 0; d < p->layout.ndim; d++)
    if (p->dims >> d & 1) dims[n++] = d;
  return n;
}

/* ---- var, std --------------------------------------------------------------------------------------------------------------- */

/* g · 2 (x - mean) / (count - correction), g already broadcast. */
static wf_tensor *var_gradient(wf__node *node, wf_tensor *g) {
  const wf__reduced *p = node->payload;
  wf_tensor *x = wf__saved_get(node, 0);
  int64_t dims[WF_MAX_DIMS], count = 1;
  int n = dims_of(p, dims);
  for (int i = 0; i < n; i++) count *= p->layout.size[dims[i]];
  wf_tensor *centred = wf_sub(x, n ? wf_mean_dims(x, wf_dims_of(dims, n), true, WF_DTYPE_NONE) : x);
  return wf_mul(wf_mul_scalar(g, wf_float(2 / ((double)count - wf__scalar_double(p->number)))), centred);
}

static wf_status var_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  out[0] = var_gradient(node, wf__unreduce_for(node, grad[0]));
  return wf__self.pending;
}

static wf_status std_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf_tensor *r = wf__saved_get(node, 1);
  wf_tensor *g = zero_where(wf_div(grad[0], wf_mul_scalar(r, wf_int(2))), is_zero(r));
  out[0] = var_gradient(node, wf__unreduce_for(node, g));
  return wf__self.pending;
}
static const wf__node_class var_class = {"VarBackward0", var_apply, NULL};
static const wf__node_class std_class = {"StdBackward0", std_apply, NULL};

static wf_status spread_of(wf__reduction *r, const char *name, uint8_t op, const wf_tensor *self, wf_dims dims,
                           wf_scalar correction, bool keepdim) {
  uint32_t bits;
  WF__TRY(wf__require_tensors(name, &self, 1));
  wf_dtype d = (wf_dtype)self->dtype;
  WF__CHECK(wf_dtype_is_float(d), WF_NOT_IMPLEMENTED, "std and var only support floating point and complex dtypes");
  WF__TRY(wf__reduced_dims(self, dims, &bits));
  wf_scalar number = correction.kind ? wf_float(wf__scalar_double(correction)) : wf_float(1);
  if ((double)wf__reduced_count(self, bits) <= number.as.f && self->layout.numel)
    wf__log(
        WF_LOG_WARNING,
        "%s(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel divided by "
        "output numel).",
        name);
  *r = (wf__reduction){.op = op,
                       .self = self,
                       .dims = bits,
                       .keepdim = keepdim,
                       .compute = d,
                       .result = d,
                       .number = number,
                       .neutral = wf_float(__builtin_nan(""))};
  return WF_OK;
}

static wf_tensor *spread(const char *name, uint8_t op, const wf_tensor *self, wf_dims dims, wf_scalar correction,
                         bool keepdim) {
  wf__reduction r;
  bool is_std = op == WF__RED_STD;
  WF__TRY_OR(spread_of(&r, name, op, self, dims, correction, keepdim), NULL);
  return wf__reduce(&r, is_std ? &std_class : &var_class, is_std ? WF__KEEP_BOTH : WF__KEEP_INPUT);
}

static wf_status spread_into(const char *name, uint8_t op, wf_tensor *dst, const wf_tensor *self, wf_dims dims,
                             wf_scalar correction, bool keepdim) {
  wf__reduction r;
  WF__TRY(spread_of(&r, name, op, self, dims, correction, keepdim));
  return wf__reduce_into(&r, dst, WF__INTO_CAST);
}

wf_tensor *wf_var(const wf_tensor *self, wf_dims dims, wf_scalar correction, bool keepdim) {
  WF__OP("var", NULL);
  return spread("var", WF__RED_VAR, self, dims, correction, keepdim);
}

wf_tensor *wf_std(const wf_tensor *self, wf_dims dims, wf_scalar correction, bool keepdim) {
  WF__OP("std", NULL);
  return spread("std", WF__RED_STD, self, dims, correction, keepdim);
}

wf_status wf_var_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, wf_scalar correction, bool keepdim) {
  WF__OP("var", wf__self.pending);
  return spread_into("var", WF__RED_VAR, dst, self, dims, correction, keepdim);
}

wf_status wf_std_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, wf_scalar correction, bool keepdim) {
  WF__OP("std", wf__self.pending);
  return spread_into("std", WF__RED_STD, dst, self, dims, correction, keepdim);
}

/* ---- norm ------------------------------------------------------------------------------------------------------------------- */

static wf_tensor *power(wf_tensor *t, double p) { return wf_pow_scalar(t, wf_float(p)); }

/* g and r are broadcast over x. Where the norm is 0 the gradient is too, though the norm has a corner there. */
static wf_tensor *norm_gradient(wf__node *node, wf_tensor *x, wf_tensor *g, wf_tensor *r, double p) {
  if (p == 0) return wf__zeros_of(x);
  if (p == 1) return wf_mul(wf_sign(x), g);
  if (p == 2) return wf_mul(g, zero_where(wf_div(x, r), is_zero(r)));
  if (isinf(p)) {
    int64_t dims[WF_MAX_DIMS];
    int n = dims_of(node->payload, dims);
    wf_tensor *hit = wf_logical_or(wf_eq(wf_abs(x), r), wf_logical_or(wf_isnan(x), wf_isnan(r)));
    wf_tensor *hits = n ? wf_sum_dims(hit, wf_dims_of(dims, n), true, WF_DTYPE_NONE) : hit;
    return wf_mul(wf_sign(x), wf__op_where(hit, wf__tensor_arg(wf_div(g, hits)), wf__number_arg(wf_int(0))));
  }
  if (p < 1)
    return wf_mul(wf_mul(zero_where(wf_mul(wf_sign(x), power(wf_abs(x), p - 1)), is_zero(x)), g), power(r, 1 - p));
  wf_tensor *slope = p < 2 ? wf_mul(wf_sign(x), power(wf_abs(x), p - 1)) : wf_mul(x, power(wf_abs(x), p - 2));
  return wf_mul(slope, zero_where(wf_div(g, power(r, p - 1)), is_zero(r)));
}

static wf_status norm_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const wf__reduced *p = node->payload;
  wf_tensor *x = wf__saved_get(node, 0), *r = wf__unreduce_for(node, wf__saved_get(node, 1));
  wf_tensor *g = wf__unreduce_for(node, grad[0]);
  if (x && r && g) out[0] = norm_gradient(node, x, g, r, wf__scalar_double(p->number));
  return wf__self.pending;
}
static const wf__node_class norm_class = {"LinalgVectorNormBackward0", norm_apply, NULL};

/* p of the greatest and the least element have nothing to say about no elements. */
static wf_status check_identity(const wf_tensor *self, uint32_t bits, bool all, double p) {
  if (self->layout.numel || (p >= 0 && !isinf(p))) return WF_OK;
  WF__CHECK(
      !all, WF_RUNTIME,
      "linalg.vector_norm cannot compute the %g norm on an empty tensor because the operation does not have an identity",
      p);
  for (int d = 0; d < self->layout.ndim; d++)
    WF__CHECK(
        !(bits >> d & 1) || self->layout.size[d], WF_RUNTIME,
        "linalg.vector_norm cannot compute the %g norm on the dimension %dbecause this dimension is empty and the operation does not "
        "have an identity",
        p, d);
  return WF_OK;
}

static wf_status norm_of(wf__reduction *r, const wf_tensor *self, wf_scalar p, wf_dims dims, bool keepdim) {
  uint32_t bits;
  WF__TRY(wf__require_tensors("norm", &self, 1));
  wf_dtype d = (wf_dtype)self->dtype;
  WF__CHECK(wf_dtype_is_float(d), WF_NOT_IMPLEMENTED,
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s",
            wf__scalar_type_text(d));
  wf_scalar number = wf_float(p.kind ? wf__scalar_double(p) : 2);
  WF__TRY(wf__reduced_dims(self, dims, &bits));
  *r = (wf__reduction){.op = WF__RED_NORM,
                       .self = self,
                       .dims = bits,
                       .keepdim = keepdim,
                       .compute = d,
                       .result = d,
                       .number = number,
                       .neutral = wf_float(0)};
  return check_identity(self, bits, !dims.n, number.as.f);
}

wf_tensor *wf_norm(const wf_tensor *self, wf_scalar p, wf_dims dims, bool keepdim) {
  WF__OP("norm", NULL);
  wf__reduction r;
  return norm_of(&r, self, p, dims, keepdim) ? NULL : wf__reduce(&r, &norm_class, WF__KEEP_BOTH);
}

wf_status wf_norm_into(wf_tensor *dst, const wf_tensor *self, wf_scalar p, wf_dims dims, bool keepdim) {
  WF__OP("linalg_vector_norm", wf__self.pending);
  wf__reduction r;
  WF__TRY(norm_of(&r, self, p, dims, keepdim));
  return wf__reduce_into(&r, dst, WF__INTO_EXACT);
}

/* ---- logsumexp ---------------------------------------------------------------------------------------------------------------- */

static wf_status logsumexp_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf_tensor *r = wf__unreduce_for(node, wf__saved_get(node, 1));
  wf_tensor *g = wf__unreduce_for(node, grad[0]);
  out[0] = wf_mul(g, wf_exp(wf_sub(wf__saved_get(node, 0), r)));
  return wf__self.pending;
}
static const wf__node_class logsumexp_class = {"LogsumexpBackward0", logsumexp_apply, NULL};

static wf_status logsumexp_of(wf__reduction *r, const wf_tensor *self, wf_dims dims, bool keepdim) {
  uint32_t bits;
  WF__TRY(wf__require_tensors("logsumexp", &self, 1));
  WF__TRY(wf__reduced_dims(self, dims, &bits));
  wf_dtype result = wf__float_of((wf_dtype)self->dtype);
  *r = (wf__reduction){.op = WF__RED_LOGSUMEXP,
                       .self = self,
                       .dims = bits,
                       .keepdim = keepdim,
                       .compute = result,
                       .result = result,
                       .neutral = wf_float(-HUGE_VAL)};
  return WF_OK;
}

wf_tensor *wf_logsumexp(const wf_tensor *self, wf_dims dims, bool keepdim) {
  WF__OP("logsumexp", NULL);
  wf__reduction r;
  return logsumexp_of(&r, self, dims, keepdim) ? NULL : wf__reduce(&r, &logsumexp_class, WF__KEEP_BOTH);
}

wf_status wf_logsumexp_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, bool keepdim) {
  WF__OP("logsumexp", wf__self.pending);
  wf__reduction r;
  WF__CHECK(!dst || wf_dtype_is_float((wf_dtype)dst->dtype), WF_RUNTIME,
            "logsumexp(): Expected floating point type for result tensor, but got: %s",
            wf__scalar_type_text((wf_dtype)dst->dtype));
  WF__TRY(logsumexp_of(&r, self, dims, keepdim));
  return wf__reduce_into(&r, dst, WF__INTO_ANY);
}
