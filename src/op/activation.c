/* Activations. Their derivatives have kernels; where a derivative is itself recorded it is written out in recordable operators instead. */
#include <math.h>
#include <string.h>

#include "base/convert.h"
#include "op/op.h"

/* ---- the shared road --------------------------------------------------------------------------------------------------------- */

static wf_tensor *make(const char *name, const wf__pw_def *def, const wf_tensor *self, const wf_scalar *number) {
  const wf__operand_arg in = wf__tensor_arg(self);
  return wf__require_tensors(name, &self, 1) ? NULL : wf__pw(def, &in, number);
}

static wf_status change(const char *name, const wf__pw_def *def, wf_tensor *self, const wf_scalar *number) {
  const wf__operand_arg in = wf__tensor_arg(self);
  WF__TRY(wf__require_tensors(name, (const wf_tensor *const *)&self, 1));
  return wf__pw_inplace(def, &in, number);
}

/* The derivative by its kernel: gradient and what was kept, with the forward's numbers. */
static wf_tensor *by_kernel(uint8_t op, wf__node *node, wf_tensor *g, wf_tensor *x) {
  const wf__pw_def def = {.op = op, .inputs = 2, .rule = WF__PW_COMMON, .kernel = "backward_cpu"};
  const wf__operand_arg in[] = {wf__tensor_arg(g), wf__tensor_arg(x)};
  wf_scalar number[4];
  memcpy(number, wf__numbers(node), sizeof number);
  return x ? wf__pw(&def, in, number) : NULL;
}

static wf_tensor *choose(wf_tensor *condition, wf_tensor *yes, wf__operand_arg no) {
  return wf__op_where(condition, wf__tensor_arg(yes), no);
}
static wf_tensor *choose_or_zero(wf_tensor *condition, wf_tensor *yes) {
  return choose(condition, yes, wf__number_arg(wf_int(0)));
}
static wf_tensor *times(const wf_tensor *t, double k) { return wf_mul_scalar(t, wf_float(k)); }
static wf_tensor *plus(const wf_tensor *t, double k) { return wf_add_scalar(t, wf_float(k)); }

/* Halves are computed with parameters of f32. */
static wf_status check_parameters(const wf_scalar *number, wf_dtype compute) {
  if (compute == WF_F64 || !wf_dtype_is_float(compute)) return WF_OK;
  for (int i = 0; i < 2; i++)
    if (number[i].kind) WF__TRY(wf__scalar_check_fits(number[i], WF_F32));
  return WF_OK;
}

/* ACTIVATION(name, kernel operator, derivative's kernel, dtypes, text for refused dtypes, node, what is kept, derivative written out).
 * In the last: g the gradient, x what was kept, number the forward's numbers. */
#define KEEP_X .keep = {WF__FOR_0}
#define KEEP_R .keep_result = WF__FOR_0
#define KEEP_X_AND_STRIDES KEEP_X, .like_self = WF__LIKE_SELF
#define ACTIVATION(name, OP, BACKWARD, allow_, kernel_, node_name, slot, kept, written_out)   \
  static wf_tensor *name##_written_out(wf_tensor *g, wf_tensor *x, const wf_scalar *number) { \
    (void)number;                                                                             \
    return written_out;                                                                       \
  }                                                                                           \
  static wf_status name##_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {    \
    wf_tensor *x = wf__saved_get(node, slot);                                                 \
    out[0] = wf_grad_enabled() ? name##_written_out(grad[0], x, wf__numbers(node))            \
                               : by_kernel(WF__PW_##BACKWARD, node, grad[0], x);              \
    return wf__self.pending;                                                                  \
  }                                                                                           \
  static const wf__node_class name##_class = {node_name, name##_apply, NULL};                 \
  static const wf__pw_def name##_def = {.op = WF__PW_##OP,                                    \
                                        .inputs = 1,                                          \
                                        .allow = WF__PW_##allow_,                             \
                                        .check = check_parameters,                            \
                                        .kernel = kernel_,                                    \
                                        .derivative = &name##_class,                          \
                                        kept};

/* ---- relu ---------------------------------------------------------------------------------------------------------------------- */

ACTIVATION(relu, RELU, THRESHOLD_BACKWARD, NO_BOOL, "Boolean inputs not supported for relu", "ReluBackward0", 1, KEEP_R,
           choose_or_zero(wf_gt_scalar(x, wf_int(0)), g))

/* The derivative's kernel wants the threshold. */
static const wf_scalar relu_number[4] = {{WF_SCALAR_INT, {0}}};

wf_tensor *wf_relu(const wf_tensor *self) {
  WF__OP("relu", NULL);
  return make("relu", &relu_def, self, relu_number);
}
wf_status wf_relu_(wf_tensor *self) {
  WF__OP("relu_", wf__self.pending);
  return change("relu_", &relu_def, self, relu_number);
}

/* ---- gelu ---------------------------------------------------------------------------------------------------------------------- */

#define ROOT_HALF 0.70710678118654752440
#define ROOT_TWO_OVER_PI 0.79788456080286535588

/* Cumulative normal distribution and x times its density. */
static wf_tensor *gelu_slope(wf_tensor *x) {
  wf_tensor *distribution = times(plus(wf_erf(times(x, ROOT_HALF)), 1), 0.5);
  wf_tensor *density = times(wf_exp(times(wf_mul(x, x), -0.5)), ROOT_TWO_OVER_PI / 2);
  return wf_add(distribution, wf_mul(x, density));
}

static wf_tensor *gelu_tanh_slope(wf_tensor *x) {
  wf_tensor *xx = wf_mul(x, x);
  wf_tensor *t = wf_tanh(times(wf_mul(x, plus(times(xx, 0.044715), 1)), ROOT_TWO_OVER_PI));
  wf_tensor *inner = times(plus(times(xx, 3 * 0.044715), 1), ROOT_TWO_OVER_PI);
  wf_tensor *curve = wf_mul(wf_mul(times(x, 0.5), wf_rsub_scalar(wf_mul(t, t), wf_int(1))), inner);
  return wf_add(times(plus(t, 1), 0.5), curve);
}

ACTIVATION(gelu, GELU, GELU_BACKWARD, ONLY_FLOAT, "GeluKernelImpl", "GeluBackward0", 0, KEEP_X,
           wf_mul(g, gelu_slope(x)))
ACTIVATION(gelu_tanh, GELU_TANH, GELU_TANH_BACKWARD, ONLY_FLOAT, "GeluKernelImpl", "GeluBackward0", 0, KEEP_X,
           wf_mul(g, gelu_tanh_slope(x)))

static const wf__pw_def *gelu_by_name(const char *approximate) {
  if (!approximate || !strcmp(approximate, "none")) return &gelu_def;
  if (!strcmp(approximate, "tanh")) return &gelu_tanh_def;
  wf__fail(WF_RUNTIME, "approximate argument must be either none or tanh.");
  return NULL;
}

wf_tensor *wf_gelu(const wf_tensor *self, const char *approximate) {
  WF__OP("gelu", NULL);
  const wf__pw_def *def = gelu_by_name(approximate);
  return def ? make("gelu", def, self, NULL) : NULL;
}

/* ---- silu ---------------------------------------------------------------------------------------------------------------------- */

static wf_tensor *silu_slope(wf_tensor *x) {
  wf_tensor *s = wf_sigmoid(x);
  return wf_mul(s, plus(wf_mul(x, wf_rsub_scalar(s, wf_int(1))), 1));
}

ACTIVATION(silu, SILU, SILU_BACKWARD, ONLY_FLOAT, "silu_cpu", "SiluBackward0", 0, KEEP_X, wf_mul(g, silu_slope(x)))

wf_tensor *wf_silu(const wf_tensor *self) {
  WF__OP("silu", NULL);
  return make("silu", &silu_def, self, NULL);
}
wf_status wf_silu_(wf_tensor *self) {
  WF__OP("silu_", wf__self.pending);
  return change("silu_", &silu_def, self, NULL);
}

/* ---- leaky_relu, elu, softplus --------------------------------------------------------------------------------------------------- */

ACTIVATION(leaky_relu, LEAKY_RELU, LEAKY_RELU_BACKWARD, ONLY_FLOAT, "leaky_relu_cpu", "LeakyReluBackward0", 0, KEEP_X,
           choose(wf_gt_scalar(x, wf_int(0)), g, wf__tensor_arg(wf_mul_scalar(g, number[0]))))
ACTIVATION(elu, ELU, ELU_BACKWARD, ONLY_FLOAT, "elu_cpu", "EluBackward0", 0, KEEP_X,
           choose(wf_gt_scalar(x, wf_int(0)), g, wf__tensor_arg(wf_mul(g, wf_mul_scalar(wf_exp(x), number[0])))))
ACTIVATION(softplus, SOFTPLUS, SOFTPLUS_BACKWARD, ONLY_FLOAT, "softplus_cpu", "SoftplusBackward0", 0, KEEP_X,
           choose(wf_gt_scalar(wf_mul_scalar(x, number[0]), number[1]), g,
                  wf__tensor_arg(wf_mul(g, wf_sigmoid(wf_mul_scalar(x, number[0]))))))

wf_tensor *wf_leaky_relu(const wf_tensor *self, double negative_slope) {
  WF__OP("leaky_relu", NULL);
  return make("leaky_relu", &leaky_relu_def, self, (const wf_scalar[4]){wf_float(negative_slope)});
}
wf_status wf_leaky_relu_(wf_tensor *self, double negative_slope) {
  WF__OP("leaky_relu_", wf__self.pending);
  return change("leaky_relu_", &leaky_relu_def, self, (const wf_scalar[4]){wf_float(negative_slope)});
}
wf_tensor *wf_elu(const wf_tensor *self, double alpha) {
  WF__OP("elu", NULL);
  return make("elu", &elu_def, self, (const wf_scalar[4]){wf_float(alpha)});
}
wf_status wf_elu_(wf_tensor *self, double alpha) {
  WF__OP("elu_", wf__self.pending);
  return change("elu_", &elu_def, self, (const wf_scalar[4]){wf_float(alpha)});
}
wf_tensor *wf_softplus(const wf_tensor *self, double beta, double threshold) {
  WF__OP("softplus", NULL);
  return make("softplus", &softplus_def, self, (const wf_scalar[4]){wf_float(beta), wf_float(threshold)});
}

/* ---- hardtanh ------------------------------------------------------------------------------------------------------------------------ */

ACTIVATION(hardtanh, HARDTANH, HARDTANH_BACKWARD, NO_BOOL, "Bool inputs not supported for hardtanh",
           "HardtanhBackward0", 0, KEEP_X_AND_STRIDES,
           choose_or_zero(wf_logical_and(wf_gt_scalar(x, number[0]), wf_lt_scalar(x, number[1])), g))

/* Bounds of integers have no fractions. */
static wf_status bound(wf_scalar *s, wf_dtype dtype) {
  if (wf_dtype_is_float(dtype)) return WF_OK;
  WF__TRY(wf__scalar_check_fits(*s, WF_I64));
  *s = wf_int(wf__scalar_int(*s));
  return WF_OK;
}

static wf_status hardtanh_numbers(const wf_tensor *self, wf_scalar min_val, wf_scalar max_val, wf_scalar number[4]) {
  WF__TRY(wf__require_tensors("hardtanh", &self, 1));
  WF__CHECK(!(wf__scalar_double(min_val) > wf__scalar_double(max_val)), WF_VALUE,
            "min_val cannot be greater than max_val");
  if (self->dtype == WF_BOOL) return WF_OK; /* refused later, in PyTorch's words */
  WF__TRY(bound(&min_val, (wf_dtype)self->dtype));
  WF__TRY(bound(&max_val, (wf_dtype)self->dtype));
  return wf__clamp_numbers(min_val, max_val, (wf_dtype)self->dtype, number);
}

wf_tensor *wf_hardtanh(const wf_tensor *self, wf_scalar min_val, wf_scalar max_val) {
  WF__OP("hardtanh", NULL);
  wf_scalar number[4] = {{WF_SCALAR_NONE, {0}}};
  return hardtanh_numbers(self, min_val, max_val, number) ? NULL : make("hardtanh", &hardtanh_def, self, number);
}
wf_status wf_hardtanh_(wf_tensor *self, wf_scalar min_val, wf_scalar max_val) {
  WF__OP("hardtanh_", wf__self.pending);
  wf_scalar number[4] = {{WF_SCALAR_NONE, {0}}};
  WF__TRY(hardtanh_numbers(self, min_val, max_val, number));
  return change("hardtanh_", &hardtanh_def, self, number);
}
