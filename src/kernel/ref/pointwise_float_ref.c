/* Pointwise operators on floats: what each one means. f32 computes in double and rounds once, which for + - * / and sqrt is the same as
 * computing in f32, and for the rest is the best there is; double uses the C library. PyTorch's formulas decide at the edges. */
#include <math.h>

#include "kernel/tables.h"

#define SQRT_HALF 0.70710678118654752440
#define SQRT_2_OVER_PI 0.79788456080286535588
#define INV_SQRT_2PI 0.39894228040143267794
#define GELU_CUBE 0.044715

static double larger(double a, double b) { return isnan(a) || a > b ? a : b; } /* NaN in b falls through to b */
static double smaller(double a, double b) { return isnan(a) || a < b ? a : b; }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
/* 1 + erf(y) is erfc(-y), which loses nothing in the left tail. */
static double gelu(double x) { return x * 0.5 * erfc(-x * SQRT_HALF); }
static double gelu_slope(double x) { return 0.5 * erfc(-x * SQRT_HALF) + x * exp(-0.5 * x * x) * INV_SQRT_2PI; }
/* (1 + tanh u) / 2 is the sigmoid of 2 u, which loses nothing in the left tail. */
static double gelu_tanh(double x) {
  double e = exp(-2 * SQRT_2_OVER_PI * fabs(x + GELU_CUBE * x * x * x));
  return x < 0 ? x * e / (1 + e) : x / (1 + e);
}
static double gelu_tanh_slope(double x) {
  double t = tanh(SQRT_2_OVER_PI * (x + GELU_CUBE * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * SQRT_2_OVER_PI * (1 + 3 * GELU_CUBE * x * x);
}
static double clamp(double x, const wf__pointwise_args *a) {
  if (a->given[0]) x = larger(x, a->f[0]);
  return a->given[1] ? smaller(x, a->f[1]) : x;
}
static double elu_slope(double x, const wf__pointwise_args *a) {
  if (x > 0) return a->f[1];
  double steep = a->f[0] * a->f[1];
  return a->given[3] && a->i[3] ? a->f[2] * (x + steep) : a->f[2] * steep * exp(x * a->f[2]);
}
/* Exponents that PyTorch computes without pow; they differ from it at infinities and zeros. */
static double power(double x, double e) {
  if (e == 0.5) return sqrt(x);
  if (e == 2) return x * x;
  if (e == 3) return x * x * x;
  if (e == -0.5) return 1 / sqrt(x);
  if (e == -1) return 1 / x;
  if (e == -2) return 1 / (x * x);
  return pow(x, e);
}
static double remainder_of(double x, double y) {
  double m = fmod(x, y);
  return m != 0 && (y < 0) != (m < 0) ? m + y : m;
}
/* Python's floor division, in the element type: intermediate roundings belong to the result. */
#define FLOOR_DIVIDE(T)                                         \
  static T floor_divide_##T(T x, T y) {                         \
    if (y == 0) return x / y;                                   \
    T mod = (T)fmod(x, y), div = (T)(x - mod) / y;              \
    if (mod != 0 && (y < 0) != (mod < 0)) div -= 1;             \
    if (div == 0) return (T)copysign(0, x / y);                 \
    T floored = (T)floor(div);                                  \
    return (T)(div - floored) > (T)0.5 ? floored + 1 : floored; \
  }
FLOOR_DIVIDE(float)
FLOOR_DIVIDE(double)

/* X(NAME, result type, expression in x, y, z of T's wider type W and a, the arguments); T is the element type. */
/* clang-format off */
#define EACH_OP(X, T) \
  X(NEG, T, -x) X(ABS, T, fabs(x)) X(SIGN, T, (x > 0) - (x < 0)) X(SQUARE, T, x * x) X(SQRT, T, sqrt(x)) X(RSQRT, T, 1 / sqrt(x)) \
  X(RECIPROCAL, T, 1 / x) X(EXP, T, exp(x)) X(EXPM1, T, expm1(x)) X(LOG, T, log(x)) X(LOG1P, T, log1p(x)) X(LOG2, T, log2(x)) \
  X(SIN, T, sin(x)) X(COS, T, cos(x)) X(TAN, T, tan(x)) X(ATAN, T, atan(x)) X(TANH, T, tanh(x)) X(SIGMOID, T, sigmoid(x)) \
  X(ERF, T, erf(x)) X(FLOOR, T, floor(x)) X(CEIL, T, ceil(x)) X(ROUND, T, nearbyint(x)) X(TRUNC, T, trunc(x)) \
  X(ISNAN, uint8_t, isnan(x)) X(ISINF, uint8_t, isinf(x) != 0) X(ISFINITE, uint8_t, isfinite(x)) X(LOGICAL_NOT, uint8_t, x == 0) \
  X(RELU, T, x < 0 ? 0 : x) X(GELU, T, gelu(x)) X(GELU_TANH, T, gelu_tanh(x)) X(SILU, T, x / (1 + exp(-x))) \
  X(LEAKY_RELU, T, x > 0 ? x : x * a->f[0]) \
  X(ELU, T, x > 0 ? x * a->f[1] : expm1(x * a->f[2]) * (a->f[0] * a->f[1])) \
  X(SOFTPLUS, T, x * a->f[0] > a->f[1] ? x : log1p(exp(x * a->f[0])) / a->f[0]) X(HARDTANH, T, clamp(x, a)) X(CLAMP, T, clamp(x, a)) \
  X(POW_SCALAR_EXP, T, power(x, a->f[0])) X(POW_SCALAR_BASE, T, pow(a->f[0], x)) X(AFFINE, T, a->f[0] * x + a->f[1]) \
  X(ADD, T, x + a->f[0] * y) X(SUB, T, x - a->f[0] * y) X(MUL, T, x * y) X(DIV, T, x / y) X(DIV_TRUNC, T, trunc((T)(x / y))) \
  X(DIV_FLOOR, T, floor_divide_##T((T)x, (T)y)) X(FMOD, T, fmod(x, y)) X(REMAINDER, T, remainder_of(x, y)) X(POW, T, pow(x, y)) \
  X(ATAN2, T, atan2(x, y)) X(MAXIMUM, T, larger(x, y)) X(MINIMUM, T, smaller(x, y)) \
  X(EQ, uint8_t, x == y) X(NE, uint8_t, x != y) X(LT, uint8_t, x < y) X(LE, uint8_t, x <= y) X(GT, uint8_t, x > y) \
  X(GE, uint8_t, x >= y) X(LOGICAL_AND, uint8_t, x != 0 && y != 0) X(LOGICAL_OR, uint8_t, x != 0 || y != 0) \
  X(LOGICAL_XOR, uint8_t, (x != 0) != (y != 0)) X(THRESHOLD_BACKWARD, T, y <= a->f[0] ? 0 : x) \
  X(SIGMOID_BACKWARD, T, x * (1 - y) * y) X(TANH_BACKWARD, T, x * (1 - y * y)) X(GELU_BACKWARD, T, x * gelu_slope(y)) \
  X(GELU_TANH_BACKWARD, T, x * gelu_tanh_slope(y)) X(SILU_BACKWARD, T, x * sigmoid(y) * (1 + y * sigmoid(-y))) \
  X(ELU_BACKWARD, T, x * elu_slope(y, a)) \
  X(SOFTPLUS_BACKWARD, T, y * a->f[0] > a->f[1] ? x : x * sigmoid(y * a->f[0])) X(LEAKY_RELU_BACKWARD, T, y > 0 ? x : x * a->f[0]) \
  X(HARDTANH_BACKWARD, T, y <= a->f[0] || y >= a->f[1] ? 0 : x) \
  X(LERP, T, fabs(z) < 0.5 ? x + z * (y - x) : y - (y - x) * (1 - z)) X(ADDCMUL, T, x + a->f[0] * y * z) \
  X(ADDCDIV, T, x + a->f[0] * y / z)
/* clang-format on */

/* Masks are the operators whose inputs aren't all of one type; absent bounds the one whose inputs may be missing. */
#define SPECIAL(T)                                                                                                    \
  static void WHERE_##T(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {                   \
    (void)a;                                                                                                          \
    for (int64_t i = 0; i < n; i++)                                                                                   \
      ((T *)out)[i] = ((const uint8_t *)in[0])[i] ? ((const T *)in[1])[i] : ((const T *)in[2])[i];                    \
  }                                                                                                                   \
  static void MASKED_FILL_##T(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {             \
    for (int64_t i = 0; i < n; i++) ((T *)out)[i] = ((const uint8_t *)in[1])[i] ? (T)a->f[0] : ((const T *)in[0])[i]; \
  }                                                                                                                   \
  static void CLAMP_TENSOR_##T(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {            \
    (void)a;                                                                                                          \
    for (int64_t i = 0; i < n; i++) {                                                                                 \
      double x = ((const T *)in[0])[i];                                                                               \
      if (in[1]) x = larger(x, ((const T *)in[1])[i]);                                                                \
      if (in[2]) x = smaller(x, ((const T *)in[2])[i]);                                                               \
      ((T *)out)[i] = (T)x;                                                                                           \
    }                                                                                                                 \
  }
SPECIAL(float)
SPECIAL(double)

#define DEFINE(NAME, T, R, EXPRESSION)                                                               \
  static void NAME##_##T(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) { \
    int arity = wf__pointwise_arity[WF__PW_##NAME];                                                  \
    (void)a;                                                                                         \
    for (int64_t i = 0; i < n; i++) {                                                                \
      double x = ((const T *)in[0])[i], y = arity > 1 ? ((const T *)in[1])[i] : 0,                   \
             z = arity > 2 ? ((const T *)in[2])[i] : 0;                                              \
      (void)y, (void)z;                                                                              \
      ((R *)out)[i] = (R)(EXPRESSION);                                                               \
    }                                                                                                \
  }
#define WF_OP(NAME, R, EXPRESSION) DEFINE(NAME, float, R, EXPRESSION)
EACH_OP(WF_OP, float)
#undef WF_OP
#define WF_OP(NAME, R, EXPRESSION) DEFINE(NAME, double, R, EXPRESSION)
EACH_OP(WF_OP, double)
#undef WF_OP

void wf__pointwise_float_ref(wf__kernels *table) {
#define WF_OP(NAME, ...)                                         \
  table->pointwise[WF__CLASS_F32][WF__PW_##NAME] = NAME##_float; \
  table->pointwise[WF__CLASS_F64][WF__PW_##NAME] = NAME##_double;
  EACH_OP(WF_OP, )
  WF_OP(WHERE) WF_OP(MASKED_FILL) WF_OP(CLAMP_TENSOR)
#undef WF_OP
}
