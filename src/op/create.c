/* Factories from sizes and numbers. Storage is allocated once and written by one plan. */
#include <math.h>

#include "base/convert.h"
#include "kernel/kernel.h"
#include "op/factory.h"

static wf_dtype dtype_of_number(wf_scalar s) {
  return s.kind == WF_SCALAR_BOOL ? WF_BOOL : s.kind == WF_SCALAR_INT ? WF_I64 : WF_F32;
}

/* ---- of one value -------------------------------------------------------------------------------------------------------------- */

wf_tensor *wf_empty(wf_dims size, const wf_tensor_options *options) {
  WF__OP("empty", NULL);
  wf_tensor_options o;
  WF__TRY_OR(wf__factory_options(options, WF_F32, &o), NULL);
  return wf__factory_give(wf__factory_sized(size, &o), &o);
}

static wf_status strided_layout(wf_dims size, wf_dims stride, size_t itemsize, wf__layout *l) {
  char text[WF__DIMS_TEXT];
  size_t nbytes;
  WF__TRY(wf__list_check(size));
  WF__TRY(wf__list_check(stride));
  for (int i = 0; i < size.n; i++)
    WF__CHECK(size.at[i] >= 0, WF_RUNTIME, "Trying to create tensor with negative dimension %lld: %s",
              (long long)size.at[i], wf__dims_text(size, text));
  WF__CHECK(size.n == stride.n, WF_RUNTIME, "dimensionality of sizes (%d) must match dimensionality of strides (%d)",
            size.n, stride.n);
  WF__TRY(wf__nbytes_strided(size, stride, 0, itemsize, &nbytes));
  return wf__layout_strided(l, size, stride, 0);
}

wf_tensor *wf_empty_strided(wf_dims size, wf_dims stride, const wf_tensor_options *options) {
  WF__OP("empty_strided", NULL);
  wf_tensor_options o;
  wf__layout layout;
  WF__TRY_OR(wf__factory_options(options, WF_F32, &o), NULL);
  WF__TRY_OR(strided_layout(size, stride, wf_dtype_size(o.dtype), &layout), NULL);
  return wf__factory_give(wf__factory_laid_out(&layout, &o), &o);
}

static wf_tensor *full(wf_dims size, wf_scalar value, wf_dtype inferred, const wf_tensor_options *options) {
  wf_tensor_options o;
  WF__TRY_OR(wf__factory_options(options, inferred, &o), NULL);
  return wf__factory_give(wf__filled(wf__factory_sized(size, &o), value), &o);
}

wf_tensor *wf_zeros(wf_dims size, const wf_tensor_options *options) {
  WF__OP("zeros", NULL);
  WF__TRY_OR(wf__list_check(size), NULL);
  for (int i = 0; i < size.n; i++)
    if (size.at[i] < 0) {
      wf__fail(WF_RUNTIME, "zeros: Dimension size must be non-negative.");
      return NULL;
    }
  return full(size, wf_int(0), WF_F32, options);
}

wf_tensor *wf_ones(wf_dims size, const wf_tensor_options *options) {
  WF__OP("ones", NULL);
  return full(size, wf_int(1), WF_F32, options);
}

wf_tensor *wf_full(wf_dims size, wf_scalar value, const wf_tensor_options *options) {
  WF__OP("full", NULL);
  return full(size, value, dtype_of_number(value), options);
}

/* ---- arange ---------------------------------------------------------------------------------------------------------------------- */

static wf_status check_range(wf_scalar start, wf_scalar end, wf_scalar step) {
  double a = wf__scalar_double(start), b = wf__scalar_double(end), s = wf__scalar_double(step);
  WF__CHECK(s != 0, WF_RUNTIME, "step must be nonzero");
  WF__CHECK(isfinite(s), WF_RUNTIME, "step must be finite but got %g", s);
  WF__CHECK(isfinite(a) && isfinite(b), WF_RUNTIME, "unsupported range: %g -> %g", a, b);
  WF__CHECK(s > 0 ? b >= a : b <= a, WF_RUNTIME, "upper bound and lower bound inconsistent with step sign");
  return WF_OK;
}

/* Integers are counted exactly, everything else in double, which is what PyTorch does whatever the dtype. */
static wf_status range_length(wf_scalar start, wf_scalar end, wf_scalar step, bool integers, int64_t *length) {
  if (integers) {
    __int128 span = (__int128)end.as.i - start.as.i, s = step.as.i, n = (span + s - (s > 0 ? 1 : -1)) / s;
    WF__CHECK(n <= INT64_MAX, WF_RUNTIME, "invalid size, possible overflow?");
    *length = (int64_t)n;
    return WF_OK;
  }
  double n = ceil((wf__scalar_double(end) - wf__scalar_double(start)) / wf__scalar_double(step));
  WF__CHECK(n >= 0 && n < 0x1p63, WF_RUNTIME, "invalid size, possible overflow?");
  *length = (int64_t)n;
  return WF_OK;
}

/* The number as the kernel counts with it: int64 for integer dtypes, float for halves, else double. */
static wf_status counting_number(wf_scalar *s, wf_dtype dtype) {
  if (wf_dtype_is_float(dtype)) {
    if (wf_dtype_size(dtype) == 2) WF__TRY(wf__scalar_check_fits(*s, WF_F32));
    *s = wf_float(wf__scalar_double(*s));
    return WF_OK;
  }
  WF__TRY(wf__scalar_check_fits(*s, WF_I64));
  *s = wf_int(wf__scalar_int(*s));
  return WF_OK;
}

static wf_status refuse_bool(wf_dtype dtype, const char *kernel) {
  WF__CHECK(dtype != WF_BOOL, WF_NOT_IMPLEMENTED, "\"%s\" not implemented for 'Bool'", kernel);
  return WF_OK;
}

static wf_tensor *launch_range(wf_tensor *t, wf_plan *plan, wf__range_op op) {
  if (!t) return NULL;
  plan->family = WF_FAMILY_RANGE;
  plan->op = op;
  if (wf__launch_on(t, plan) == WF_OK) return t;
  wf__tensor_release(t);
  return NULL;
}

wf_tensor *wf_arange(wf_scalar start, wf_scalar end, wf_scalar step, const wf_tensor_options *options) {
  WF__OP("arange", NULL);
  bool integers = start.kind != WF_SCALAR_FLOAT && end.kind != WF_SCALAR_FLOAT && step.kind != WF_SCALAR_FLOAT;
  wf_tensor_options o;
  int64_t length = 0;
  WF__TRY_OR(wf__factory_options(options, integers ? WF_I64 : WF_F32, &o), NULL);
  WF__TRY_OR(refuse_bool(o.dtype, "arange_cpu"), NULL);
  WF__TRY_OR(check_range(start, end, step), NULL);
  WF__TRY_OR(range_length(start, end, step, integers && o.dtype == WF_I64, &length), NULL);
  wf_plan plan = {.scalar = {[0] = start, [2] = step}};
  WF__TRY_OR(counting_number(&plan.scalar[0], o.dtype), NULL);
  WF__TRY_OR(counting_number(&plan.scalar[2], o.dtype), NULL);
  return wf__factory_give(launch_range(wf__factory_sized(WF_SHAPE(length), &o), &plan, WF__RANGE_ARANGE), &o);
}

/* ---- linspace, eye ------------------------------------------------------------------------------------------------------------------ */

/* The number as the dtype stores it, so that -1 becomes 255 where PyTorch lets it. */
static wf_status stored_number(wf_scalar *s, wf_dtype dtype) {
  int64_t element = 0;
  WF__TRY(wf__scalar_check_fits(*s, dtype));
  if (wf_dtype_is_float(dtype)) return WF_OK;
  wf__scalar_store(*s, dtype, &element);
  *s = wf__scalar_load(dtype, &element);
  return WF_OK;
}

wf_tensor *wf_linspace(wf_scalar start, wf_scalar end, int64_t steps, const wf_tensor_options *options) {
  WF__OP("linspace", NULL);
  wf_tensor_options o;
  wf_plan plan = {.scalar = {start, end}};
  WF__TRY_OR(wf__factory_options(options, WF_F32, &o), NULL);
  if (steps < 0) {
    wf__fail(WF_RUNTIME, "number of steps must be non-negative");
    return NULL;
  }
  if (steps > 1) {
    WF__TRY_OR(refuse_bool(o.dtype, "linspace_cpu"), NULL);
    WF__TRY_OR(stored_number(&plan.scalar[0], o.dtype), NULL);
    WF__TRY_OR(stored_number(&plan.scalar[1], o.dtype), NULL);
  }
  wf_tensor *t = wf__factory_sized(WF_SHAPE(steps), &o);
  if (steps == 1) return wf__factory_give(wf__filled(t, start), &o);
  return wf__factory_give(launch_range(t, &plan, WF__RANGE_LINSPACE), &o);
}

static wf_status check_count(const char *name, int64_t n) {
  WF__CHECK(n >= 0, WF_RUNTIME, "%s must be greater or equal to 0, got %lld", name, (long long)n);
  return WF_OK;
}

wf_tensor *wf_eye(int64_t n, int64_t m, const wf_tensor_options *options) {
  WF__OP("eye", NULL);
  wf_tensor_options o;
  wf_plan plan = {0};
  if (m == WF_NONE) m = n;
  WF__TRY_OR(wf__factory_options(options, WF_F32, &o), NULL);
  WF__TRY_OR(check_count("n", n), NULL);
  WF__TRY_OR(check_count("m", m), NULL);
  return wf__factory_give(launch_range(wf__factory_sized(WF_SHAPE(n, m), &o), &plan, WF__RANGE_EYE), &o);
}
