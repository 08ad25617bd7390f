/* Operators of one input. What a derivative keeps, the input or the result, is PyTorch's choice: it decides which changes in place are
 * errors. */
#include "op/op.h"

/* ---- the three forms of each operator ----------------------------------------------------------------------------------- */

#define FORMS(name)                                                   \
  wf_tensor *wf_##name(const wf_tensor *self) {                       \
    WF__OP(#name, NULL);                                              \
    return make(#name, &name##_def, self);                            \
  }                                                                   \
  wf_status wf_##name##_(wf_tensor *self) {                           \
    WF__OP(#name "_", wf__self.pending);                              \
    return change(#name "_", &name##_def, self);                      \
  }                                                                   \
  wf_status wf_##name##_into(wf_tensor *dst, const wf_tensor *self) { \
    WF__OP(#name, wf__self.pending);                                  \
    return fill(#name, &name##_def, dst, self);                       \
  }

static wf_tensor *make(const char *name, const wf__pw_def *def, const wf_tensor *self) {
  wf__operand_arg in = wf__tensor_arg(self);
  return wf__require_tensors(name, &self, 1) ? NULL : wf__pw(def, &in, NULL);
}

static wf_status change(const char *name, const wf__pw_def *def, wf_tensor *self) {
  wf__operand_arg in = wf__tensor_arg(self);
  WF__TRY(wf__require_tensors(name, (const wf_tensor *const *)&self, 1));
  return wf__pw_inplace(def, &in, NULL);
}

static wf_status fill(const char *name, const wf__pw_def *def, wf_tensor *dst, const wf_tensor *self) {
  wf__operand_arg in = wf__tensor_arg(self);
  WF__TRY(wf__require_tensors(name, &self, 1));
  return wf__pw_into(name, def, dst, &in, NULL);
}

/* ---- rows ------------------------------------------------------------------------------------------------------------------ */

/* In derivatives: the gradient, the kept input, the kept result. */
#define G (grad[0])
#define X (wf__saved_get(node, 0))
#define R (wf__saved_get(node, 1))

#define KEEP_X .keep = {WF__FOR_0}
#define KEEP_R .keep_result = WF__FOR_0
#define KEEP_NONE .keep_result = 0

/* UNARY(name, kernel operator, rule, dtypes, what refused dtypes are told, node's name, what is kept, derivative) */
#define UNARY(name, OP, rule_, allow_, kernel_, node_name, kept, gradient)                 \
  static wf_status name##_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) { \
    (void)node;                                                                            \
    out[0] = (gradient);                                                                   \
    return wf__self.pending;                                                               \
  }                                                                                        \
  static const wf__node_class name##_class = {node_name, name##_apply, NULL};              \
  static const wf__pw_def name##_def = {.op = WF__PW_##OP,                                 \
                                        .inputs = 1,                                       \
                                        .rule = WF__PW_##rule_,                            \
                                        .allow = WF__PW_##allow_,                          \
                                        .kernel = kernel_,                                 \
                                        .derivative = &name##_class,                       \
                                        kept};                                             \
  FORMS(name)

/* Operators whose result has no derivative. PyTorch makes the tests of several steps, which shows in the strides of results. */
#define TEST(name, OP, rule_, allow_, kernel_, ...)               \
  static const wf__pw_def name##_def = {.op = WF__PW_##OP,        \
                                        .inputs = 1,              \
                                        .rule = WF__PW_##rule_,   \
                                        .allow = WF__PW_##allow_, \
                                        .kernel = kernel_,        \
                                        __VA_ARGS__};             \
  FORMS(name)

static wf_tensor *square(const wf_tensor *t) { return wf_mul(t, t); }
static wf_tensor *plus_one(const wf_tensor *t) { return wf_add_scalar(t, wf_int(1)); }
static wf_tensor *times(const wf_tensor *t, double k) { return wf_mul_scalar(t, wf_float(k)); }

UNARY(
    neg, NEG, COMMON, NO_BOOL,
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` "
    "operator instead.",
    "NegBackward0", KEEP_NONE, wf_neg(G))
UNARY(abs, ABS, COMMON, NO_BOOL, "abs_cpu", "AbsBackward0", KEEP_X, wf_mul(G, wf_sign(X)))
UNARY(sign, SIGN, COMMON, ANY, "sign_cpu", "SignBackward0", KEEP_NONE, wf__zeros_of(G))
UNARY(sqrt, SQRT, FLOATING, ANY, "sqrt_vml_cpu", "SqrtBackward0", KEEP_R, wf_div(G, times(R, 2)))
UNARY(rsqrt, RSQRT, FLOATING, ANY, "rsqrt_vml_cpu", "RsqrtBackward0", KEEP_R,
      wf_mul(times(G, -0.5), wf_pow_scalar(R, wf_int(3))))
UNARY(reciprocal, RECIPROCAL, FLOATING, ANY, "reciprocal_cpu", "ReciprocalBackward0", KEEP_R,
      wf_mul(wf_neg(G), square(R)))
UNARY(exp, EXP, FLOATING, ANY, "exp_vml_cpu", "ExpBackward0", KEEP_R, wf_mul(G, R))
UNARY(expm1, EXPM1, FLOATING, ANY, "expm1_vml_cpu", "Expm1Backward0", KEEP_R, wf_mul(G, plus_one(R)))
UNARY(log, LOG, FLOATING, ANY, "log_vml_cpu", "LogBackward0", KEEP_X, wf_div(G, X))
UNARY(log1p, LOG1P, FLOATING, ANY, "log1p_vml_cpu", "Log1PBackward0", KEEP_X, wf_div(G, plus_one(X)))
UNARY(log2, LOG2, FLOATING, ANY, "log2_vml_cpu", "Log2Backward0", KEEP_X, wf_div(G, times(X, 0.6931471805599453)))
UNARY(sin, SIN, FLOATING, ANY, "sin_vml_cpu", "SinBackward0", KEEP_X, wf_mul(G, wf_cos(X)))
UNARY(cos, COS, FLOATING, ANY, "cos_vml_cpu", "CosBackward0", KEEP_X, wf_mul(G, wf_neg(wf_sin(X))))
UNARY(tan, TAN, FLOATING, ANY, "tan_vml_cpu", "TanBackward0", KEEP_R, wf_mul(G, plus_one(square(R))))
UNARY(atan, ATAN, FLOATING, ANY, "atan_vml_cpu", "AtanBackward0", KEEP_X, wf_div(G, plus_one(square(X))))
UNARY(erf, ERF, FLOATING, ANY, "erf_vml_cpu", "ErfBackward0", KEEP_X,
      wf_mul(times(wf_exp(wf_neg(square(X))), 1.1283791670955126), G)) /* 2 / sqrt(pi) */
UNARY(floor, FLOOR, COMMON, NO_BOOL, "floor_vml_cpu", "FloorBackward0", KEEP_NONE, wf__zeros_of(G))
UNARY(ceil, CEIL, COMMON, NO_BOOL, "ceil_vml_cpu", "CeilBackward0", KEEP_NONE, wf__zeros_of(G))
UNARY(round, ROUND, COMMON, NO_BOOL, "round_vml_cpu", "RoundBackward0", KEEP_NONE, wf__zeros_of(G))
UNARY(trunc, TRUNC, COMMON, NO_BOOL, "trunc_vml_cpu", "TruncBackward0", KEEP_NONE, wf__zeros_of(G))

TEST(isnan, ISNAN, TRUTH, ANY, "isnan", .untracked = false)
TEST(isinf, ISINF, TRUTH, ANY, "isinf", .joins_number = true, .like_self = WF__WHOLE_LIKE_SELF)
TEST(isfinite, ISFINITE, TRUTH, ANY, "isfinite", .like_self = WF__WHOLE_LIKE_SELF)
TEST(logical_not, LOGICAL_NOT, TRUTH, ANY, "logical_not_cpu", .untracked = true)
TEST(bitwise_not, BITWISE_NOT, COMMON, ONLY_INT, "bitwise_not_cpu", .untracked = false)

/* tanh and sigmoid have kernels for their derivatives; where the derivative is itself recorded it is written out instead. */

static wf_tensor *by_kernel(uint8_t op, const wf_tensor *g, const wf_tensor *r) {
  const wf__pw_def def = {
      .op = op, .inputs = 2, .rule = WF__PW_COMMON, .allow = WF__PW_ONLY_FLOAT, .kernel = "backward_cpu"};
  const wf__operand_arg in[] = {wf__tensor_arg(g), wf__tensor_arg(r)};
  return g && r ? wf__pw(&def, in, NULL) : NULL;
}

static wf_tensor *one_minus(const wf_tensor *t) { return wf_rsub_scalar(t, wf_int(1)); }

static wf_tensor *tanh_gradient(const wf_tensor *g, const wf_tensor *r) {
  return wf_grad_enabled() ? wf_mul(g, one_minus(square(r))) : by_kernel(WF__PW_TANH_BACKWARD, g, r);
}

static wf_tensor *sigmoid_gradient(const wf_tensor *g, const wf_tensor *r) {
  return wf_grad_enabled() ? wf_mul(g, wf_mul(one_minus(r), r)) : by_kernel(WF__PW_SIGMOID_BACKWARD, g, r);
}

UNARY(tanh, TANH, FLOATING, ANY, "tanh_vml_cpu", "TanhBackward0", KEEP_R, tanh_gradient(G, R))
UNARY(sigmoid, SIGMOID, FLOATING, ANY, "sigmoid_cpu", "SigmoidBackward0", KEEP_R, sigmoid_gradient(G, R))
