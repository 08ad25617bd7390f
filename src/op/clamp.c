/* clamp: bounds may be numbers, tensors, or absent. */
#include "base/convert.h"
#include "op/op.h"

/* ---- numbers as bounds ------------------------------------------------------------------------------------------------------ */

/* Where x lies within the bounds, themselves excluded: the result doesn't follow x there on one side. */
static wf_tensor *within(const wf_tensor *x, wf_scalar min, wf_scalar max) {
  wf_tensor *above = min.kind ? wf_gt_scalar(x, min) : NULL, *below = max.kind ? wf_lt_scalar(x, max) : NULL;
  return above && below ? wf_logical_and(above, below) : above ? above : below;
}

static wf_status clamp_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const wf_scalar *number = wf__numbers(node);
  out[0] = wf__op_where(within(wf__saved_get(node, 0), number[0], number[1]), wf__tensor_arg(grad[0]),
                        wf__number_arg(wf_int(0)));
  return wf__self.pending;
}
static const wf__node_class clamp_class = {"ClampBackward1", clamp_apply, NULL};
static const wf__pw_def clamp_def = {.op = WF__PW_CLAMP,
                                     .inputs = 1,
                                     .rule = WF__PW_COMMON,
                                     .allow = WF__PW_NO_BOOL,
                                     .kernel = "clamp_scalar_cpu",
                                     .derivative = &clamp_class,
                                     .keep = {WF__FOR_0},
                                     .promotes_number = true,
                                     .cpp_names = true};

/* ---- tensors as bounds ------------------------------------------------------------------------------------------------------- */

/* g where `whole`, half of it where `half`, else 0. */
static wf_tensor *share(wf_tensor *g, wf_tensor *whole, wf_tensor *half) {
  const wf__operand_arg zero = wf__number_arg(wf_int(0));
  wf_tensor *rest = wf__op_where(half, wf__tensor_arg(wf_mul_scalar(g, wf_float(0.5))), zero);
  return wf__op_where(whole, wf__tensor_arg(g), wf__tensor_arg(rest));
}

/* The same, given where it is 0. */
static wf_tensor *remainder_of(wf_tensor *g, wf_tensor *nothing, wf_tensor *half) {
  return share(g, wf_logical_not(wf_logical_or(nothing, half)), wf_logical_and(half, wf_logical_not(nothing)));
}

/* One bound: x and it share the gradient where they are equal; NaN takes it all. */
static wf_status lower_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf_tensor *x = wf__saved_get(node, 0), *min = wf__saved_get(node, 1);
  if (wf__node_wants(node, 0)) out[0] = remainder_of(grad[0], wf_lt(x, min), wf_eq(x, min));
  if (wf__node_wants(node, 1)) out[1] = remainder_of(grad[0], wf_gt(x, min), wf_eq(x, min));
  return wf__self.pending;
}

static wf_status upper_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf_tensor *x = wf__saved_get(node, 0), *max = wf__saved_get(node, 1);
  if (wf__node_wants(node, 0)) out[0] = remainder_of(grad[0], wf_gt(x, max), wf_eq(x, max));
  if (wf__node_wants(node, 1)) out[1] = remainder_of(grad[0], wf_lt(x, max), wf_eq(x, max));
  return wf__self.pending;
}

/* Two: shared between x and a bound that it is equal to, unless the bounds are equal too; the upper one has it where they cross. */
static wf_status both_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf_tensor *x = wf__saved_get(node, 0), *min = wf__saved_get(node, 1), *max = wf__saved_get(node, 2), *g = grad[0];
  if (wf__self.pending) return wf__self.pending;
  wf_tensor *apart = wf_lt(min, max), *crossed = wf_gt(min, max), *below = wf_lt(x, min), *above = wf_gt(x, max);
  wf_tensor *at_min = wf_logical_and(apart, wf_eq(x, min)), *at_max = wf_logical_and(apart, wf_eq(x, max));
  wf_tensor *ordered = wf_le(min, max);
  if (wf__node_wants(node, 0)) out[0] = remainder_of(g, wf_logical_or(below, above), wf_logical_or(at_min, at_max));
  if (wf__node_wants(node, 1)) out[1] = share(g, wf_logical_and(ordered, below), at_min);
  if (wf__node_wants(node, 2)) out[2] = share(g, wf_logical_or(crossed, wf_logical_and(ordered, above)), at_max);
  return wf__self.pending;
}

static const wf__node_class lower_class = {"ClampBackward0", lower_apply, NULL};
static const wf__node_class upper_class = {"ClampBackward0", upper_apply, NULL};
static const wf__node_class both_class = {"ClampBackward0", both_apply, NULL};
static const wf__pw_def lower_def = {.op = WF__PW_MAXIMUM,
                                     .inputs = 2,
                                     .rule = WF__PW_COMMON,
                                     .kernel = "maximum_cpu",
                                     .derivative = &lower_class,
                                     .keep = {WF__FOR_ALL, WF__FOR_ALL}};
static const wf__pw_def upper_def = {.op = WF__PW_MINIMUM,
                                     .inputs = 2,
                                     .rule = WF__PW_COMMON,
                                     .kernel = "minimum_cpu",
                                     .derivative = &upper_class,
                                     .keep = {WF__FOR_ALL, WF__FOR_ALL}};
static const wf__pw_def both_def = {.op = WF__PW_CLAMP_TENSOR,
                                    .inputs = 3,
                                    .rule = WF__PW_COMMON,
                                    .allow = WF__PW_NO_BOOL,
                                    .kernel = "clamp_cpu",
                                    .derivative = &both_class,
                                    .keep = {WF__FOR_ALL, WF__FOR_ALL, WF__FOR_ALL}};

/* For in = {x, min, max}; a bound that is absent is left off. */
static const wf__pw_def *by_tensors(wf__operand_arg *in) {
  if (in[1].tensor && in[2].tensor) return &both_def;
  if (in[1].tensor) return &lower_def;
  in[1] = in[2];
  return &upper_def;
}

/* ---- calls ---------------------------------------------------------------------------------------------------------------------- */

static bool given(wf__operand_arg a) { return a.tensor || a.scalar.kind; }

static wf_status check(const wf_tensor *self, wf__operand_arg min, wf__operand_arg max) {
  WF__TRY(wf__require_tensors("clamp", &self, 1));
  WF__CHECK(given(min) || given(max), WF_RUNTIME, "torch.clamp: At least one of 'min' or 'max' must not be None");
  WF__CHECK((!min.tensor || !max.scalar.kind) && (!max.tensor || !min.scalar.kind), WF_TYPE,
            "clamp(): one bound is a tensor and the other a number");
  return WF_OK;
}

/* A bound in the dtype of the result. Integers that it can't hold bound nothing, or everything: then they are refused. */
static wf_status bound(const char *which, bool upper, wf_scalar s, wf_dtype dtype, wf_scalar *number) {
  if (s.kind == WF_SCALAR_NONE) return WF_OK;
  *number = wf__number_as(s, dtype);
  if (wf_dtype_is_float(dtype)) return wf__scalar_check_fits(s, dtype);
  if (dtype == WF_BOOL || dtype == WF_I64) return WF_OK;
  int64_t highest = dtype == WF_U8 ? 255 : INT64_C(0x7fffffff) >> (32 - 8 * (int)wf_dtype_size(dtype));
  int64_t lowest = dtype == WF_U8 ? 0 : -highest - 1;
  WF__CHECK(upper ? s.as.i >= lowest : s.as.i <= highest, WF_RUNTIME,
            "Clamp %s value %g is outside the representable range of %s", which, (double)s.as.i,
            wf__scalar_type_text(dtype));
  if (s.as.i > highest) *number = wf_int(highest);
  if (s.as.i < lowest) *number = wf_int(lowest);
  return WF_OK;
}

/* Bounds join promotion as what they are. */
static wf_dtype result_of(const wf_tensor *self, wf__operand_arg min, wf__operand_arg max) {
  wf__promotion p = {0};
  wf__promote_tensor(&p, self);
  wf__promote_number(&p, min.scalar);
  wf__promote_number(&p, max.scalar);
  return wf__promoted(&p);
}

static bool is_nan(wf_scalar s) { return s.kind == WF_SCALAR_FLOAT && s.as.f != s.as.f; }

wf_status wf__clamp_numbers(wf_scalar min, wf_scalar max, wf_dtype result, wf_scalar number[4]) {
  if (is_nan(min) || is_nan(max)) {
    number[0] = number[1] = is_nan(min) ? min : max;
    return WF_OK;
  }
  WF__TRY(bound("min", false, min, result, &number[0]));
  return bound("max", true, max, result, &number[1]);
}

/* over: the result is written there. */
static wf_status bounds(const wf_tensor *self, wf__operand_arg min, wf__operand_arg max, bool over,
                        wf_scalar number[4]) {
  wf_dtype result = result_of(self, min, max);
  WF__CHECK(!over || wf_can_cast(result, (wf_dtype)self->dtype), WF_RUNTIME,
            "result type %s can't be cast to the desired output type %s", wf__scalar_type_text(result),
            wf__cpp_type_text((wf_dtype)self->dtype));
  return wf__clamp_numbers(min.scalar, max.scalar, result, number);
}

static wf_tensor *clamp(const wf_tensor *self, wf__operand_arg min, wf__operand_arg max) {
  wf__operand_arg in[] = {wf__tensor_arg(self), min, max};
  wf_scalar number[4] = {{WF_SCALAR_NONE, {0}}};
  WF__TRY_OR(check(self, min, max), NULL);
  if (min.tensor || max.tensor) return wf__pw(by_tensors(in), in, NULL);
  WF__TRY_OR(bounds(self, min, max, false, number), NULL);
  return wf__pw(&clamp_def, in, number);
}

static wf_status clamp_over(wf_tensor *self, wf__operand_arg min, wf__operand_arg max) {
  wf__operand_arg in[] = {wf__tensor_arg(self), min, max};
  wf_scalar number[4] = {{WF_SCALAR_NONE, {0}}};
  if (check(self, min, max)) return wf__refused_over(self, (const wf_tensor *[]){self}, 1);
  if (min.tensor || max.tensor) return wf__pw_inplace(by_tensors(in), in, NULL);
  if (bounds(self, min, max, true, number)) return wf__refused_over(self, (const wf_tensor *[]){self}, 1);
  return wf__pw_inplace(&clamp_def, in, number);
}

wf_tensor *wf__op_clamp(wf_tensor *self, wf__operand_arg min, wf__operand_arg max) {
  WF__OP("clamp", NULL);
  return clamp(self, min, max);
}

wf_status wf__op_clamp_(wf_tensor *self, wf__operand_arg min, wf__operand_arg max) {
  WF__OP("clamp_", wf__self.pending);
  return clamp_over(self, min, max);
}

wf_tensor *wf_clamp(const wf_tensor *self, wf_scalar min, wf_scalar max) {
  WF__OP("clamp", NULL);
  return clamp(self, wf__number_arg(min), wf__number_arg(max));
}

wf_tensor *wf_clamp_tensor(const wf_tensor *self, const wf_tensor *min, const wf_tensor *max) {
  WF__OP("clamp", NULL);
  return clamp(self, wf__tensor_arg(min), wf__tensor_arg(max));
}

wf_status wf_clamp_(wf_tensor *self, wf_scalar min, wf_scalar max) {
  WF__OP("clamp_", wf__self.pending);
  return clamp_over(self, wf__number_arg(min), wf__number_arg(max));
}

wf_status wf_clamp_into(wf_tensor *dst, const wf_tensor *self, wf_scalar min, wf_scalar max) {
  WF__OP("clamp", wf__self.pending);
  const wf__operand_arg in[] = {wf__tensor_arg(self), wf__number_arg(min), wf__number_arg(max)};
  wf_scalar number[4] = {{WF_SCALAR_NONE, {0}}};
  WF__TRY(check(self, in[1], in[2]));
  WF__TRY(wf__into_given("clamp", dst, &self, 1));
  wf_dtype result = result_of(self, in[1], in[2]);
  WF__CHECK(dst->dtype == result, WF_RUNTIME, "Found dtype %s but expected %s",
            wf__scalar_type_text((wf_dtype)dst->dtype), wf__scalar_type_text(result));
  WF__TRY(bounds(self, in[1], in[2], false, number));
  return wf__pw_into("clamp", &clamp_def, dst, in, number);
}
