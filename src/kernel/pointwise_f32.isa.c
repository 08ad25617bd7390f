/* Pointwise operators on f32, halves included: what hardware does exactly, functions by the polynomials of math_f32.h, and those that need more
 * than f32 has on the way by math_f64.h. */
#include "kernel/lanes.h"
#include "kernel/math_f32.h"
#include "kernel/math_f64.h"
#include "kernel/tables.h"

#define T float
#define FUSED(x, y, z) WF__FMAF((x), (y), (z))
#define ROOT(x) __builtin_sqrtf(x)
#define ABSOLUTE(x) __builtin_fabsf(x)
#define WF__BUILTIN(name) __builtin_##name##f
#define LOOP(name) name##_f32
#include "kernel/pointwise_loops.h"

UNARY(EXPM1, wf__expm1f(x))
UNARY(LOG, wf__logf(x))
UNARY(LOG1P, wf__log1pf(x))
UNARY(TANH, wf__tanhf(x))

#define V wf__f32s
#define N WF__LANES
#define FORM(name) name##_f32
#define EXP(v) wf__exp_f32s(v)
#include "kernel/pointwise_lanes.h"

/* The error function: 1.4 units in the last place. 1 - erf(a) from 0.87 on as a power of 2, right to 2e-9 of erf up to 4. */
static inline V erfc_tail(V a) {
  static const float term[] = {-0x1.23e268p-8f, 0x1.08bfd6p-5f,  -0x1.34247cp-3f,
                               -0x1.d65c3ap-1f, -0x1.a092b2p+0f, -0x1.a19358p-13f};
  V y = (V){0} + 0x1.2f365p-12f;
  for (int i = 0; i < 6; i++) y = wf__fma_f32(y, a, (V){0} + term[i]);
  return wf__exp2_f32s(y);
}
/* erf(x) / x - 1 to 0.9, by s = x^2 */
static inline V erf_near(V s) {
  static const float term[] = {0x1.48be5ap-8f, -0x1.b6cbacp-6f, 0x1.ce1ec2p-4f, -0x1.8127p-2f, 0x1.06eba6p-3f};
  const V zero = {0};
  V p = zero - 0x1.406866p-11f;
  for (int i = 0; i < 5; i++) p = wf__fma_f32(p, s, zero + term[i]);
  return p;
}
static inline V size_of(V x) { return (V)((wf__i32s)x & INT32_MAX); }
static inline V erf_of(V x) {
  const V most = (V){0} + 4.0f;
  V a = wf__min_f32(most, size_of(x)), near = wf__fma_f32(erf_near(x * x), x, x),
    far = 1.0f - erfc_tail(a); /* NaN stays */
  return wf__choose_f32(a < 0.88f, near, (V)((wf__i32s)far | ((wf__i32s)x & INT32_MIN)));
}
LANES_UNARY(EXP, wf__exp_f32s(x))
LANES_UNARY(ERF, erf_of(x))

/* 1 - erf(a / sqrt 2), as 2^(a q(a)): its relative error is 3e-8 at 0 and 2e-7 at 5.4, of the series; it vanishes beyond. */
static inline V normal_tails(V a) {
  static const float term[] = {0x1.935076p-21f, -0x1.45c976p-17f, 0x1.1fa342p-14f, -0x1.071c5ep-12f, -0x1.04c06ap-14f,
                               0x1.cc5dccp-8f,  -0x1.ae0734p-5f,  -0x1.d639acp-2f, -0x1.26aeep+0f};
  const V zero = {0};
  V q = zero - 0x1.ae42fcp-26f;
  for (int i = 0; i < 9; i++) q = wf__fma_f32(q, a, zero + term[i]);
  return wf__exp2_f32s(q * a);
}
/* x times the normal distribution's integral up to x, which loses nothing in the left tail. */
static inline V gelu_of(V x) {
  const V zero = -(V){0}, most = (V){0} + 16.0f; /* -0: what vanishes from below keeps its sign */
  V size = size_of(wf__min_f32(most, x));        /* of -inf comes NaN, as in PyTorch */
  return wf__fma_f32(size * -0.5f, normal_tails(size), wf__max_f32(zero, x));
}
static inline V gelu_slope(V x) {
  const V zero = {0}, most = zero + 16.0f;
  V tail = 0.5f * normal_tails(wf__min_f32(most, size_of(x))), density = 0x1.988454p-2f * wf__exp_f32s(-0.5f * x * x);
  return wf__fma_f32(x, density, wf__choose_f32(x > zero, 1.0f - tail, tail));
}
LANES_UNARY(GELU, gelu_of(x))
LANES_BINARY(GELU_BACKWARD, x *gelu_slope(y))

static void ELU_f32(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {
  const float *s = in[0], scale = (float)a->f[1], input_scale = (float)a->f[2], steep = (float)a->f[0] * scale;
  float *d = out;
  WF__VECTOR_LOOP
  for (int64_t i = 0; i < n; i++) {
    const float x = s[i];
    d[i] = x > 0 ? x * scale : wf__expm1f(x * input_scale) * steep;
  }
}

/* ln(1 + e^x), without the cases of log1p that no e^x is, and without the division by a beta of 1. */
static inline float softplus(float x, float threshold) {
  float e = wf__expf(x), sum = 1.0f + e, lost = e - (sum - 1.0f);
  float log = e < 0x1p-24f ? e : wf__log_of(sum, 0, lost / sum);
  log = e == INFINITY ? e : log;
  return x > threshold || x != x ? x : log;
}
static void SOFTPLUS_ONE_f32(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {
  const float *s = in[0], threshold = (float)a->f[1];
  float *d = out;
  WF__VECTOR_LOOP
  for (int64_t i = 0; i < n; i++) d[i] = softplus(s[i], threshold);
}
static void SOFTPLUS_f32(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {
  const float *s = in[0], beta = (float)a->f[0], threshold = (float)a->f[1];
  float *d = out;
  if (beta == 1) {
    SOFTPLUS_ONE_f32(out, in, n, a);
    return;
  }
  WF__VECTOR_LOOP
  for (int64_t i = 0; i < n; i++) {
    const float x = s[i], scaled = x * beta;
    d[i] = scaled > threshold ? x : softplus(scaled, INFINITY) / beta;
  }
}

static void SOFTPLUS_BACKWARD_f32(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {
  const float *g = in[0], *s = in[1], beta = (float)a->f[0], threshold = (float)a->f[1];
  float *d = out;
  WF__VECTOR_LOOP
  for (int64_t i = 0; i < n; i++) {
    const float x = g[i], scaled = s[i] * beta;
    d[i] = scaled > threshold ? x : x * wf__sigmoidf(scaled);
  }
}

static void SILU_BACKWARD_f32(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {
  const float *g = in[0], *s = in[1];
  float *d = out;
  (void)a;
  WF__VECTOR_LOOP
  for (int64_t i = 0; i < n; i++) {
    /* 1 - sigmoid is e times sigmoid: a subtraction would lose it for large x. Below -87 it is 1, and e mustn't overflow. */
    const float x = s[i], e = wf__expf(x < -87.0f ? 87.0f : -x), sigmoid = 1.0f / (1.0f + e);
    d[i] = g[i] * sigmoid * (1.0f + x * (e * sigmoid));
  }
}

static void GELU_TANH_BACKWARD_f32(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {
  const float *g = in[0], *s = in[1];
  float *d = out;
  (void)a;
  WF__VECTOR_LOOP
  for (int64_t i = 0; i < n; i++) {
    const float x = s[i], twice = 2.0f * wf__gelu_inner(x), e = wf__expf(twice < -87.0f ? 87.0f : -twice);
    const float sigmoid = 1.0f / (1.0f + e);
    d[i] = g[i] * (sigmoid + 2.0f * x * (sigmoid * (e * sigmoid)) * wf__gelu_inner_slope(x));
  }
}

/* Functions in double, a block at a time, which is kept: the few elements beyond the function's range are done again by the C library. */
#define BY_DOUBLE(NAME, EXPRESSION, WITHIN, EXACTLY)                                                 \
  static void NAME##_f32(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) { \
    enum { BLOCK = 256 };                                                                            \
    float *d = out, block[BLOCK];                                                                    \
    (void)a;                                                                                         \
    for (int64_t at = 0; at < n; at += BLOCK) {                                                      \
      int64_t count = n - at < BLOCK ? n - at : BLOCK;                                               \
      int all = 1;                                                                                   \
      memcpy(block, (const float *)in[0] + at, (size_t)count * sizeof *block);                       \
      WF__VECTOR_LOOP for (int64_t i = 0; i < count; i++) {                                          \
        const double x = block[i];                                                                   \
        d[at + i] = (float)(EXPRESSION);                                                             \
        all &= WITHIN;                                                                               \
      }                                                                                              \
      for (int64_t i = 0; i < count && !all; i++) {                                                  \
        const double x = block[i];                                                                   \
        if (!(WITHIN)) d[at + i] = (float)(EXACTLY);                                                 \
      }                                                                                              \
    }                                                                                                \
  }
BY_DOUBLE(SIN, wf__sine(x), (x < WF__ANGLE_LIMIT) & (x > -WF__ANGLE_LIMIT), sin(x))
BY_DOUBLE(COS, wf__cosine(x), (x < WF__ANGLE_LIMIT) & (x > -WF__ANGLE_LIMIT), cos(x))
BY_DOUBLE(TAN, wf__tangent(x), (x < WF__ANGLE_LIMIT) & (x > -WF__ANGLE_LIMIT), tan(x))
BY_DOUBLE(LOG2, x < 0 ? (double)NAN : wf__log2_nearly(x), (x != 0) & (x < (double)INFINITY), log2(x))

BY_DOUBLE(ATAN, wf__arctangent(x), (x < (double)INFINITY) & (x > -(double)INFINITY), atan(x))

/* The same of two operands. */
#define BY_DOUBLES(NAME, EXPRESSION, WITHIN, EXACTLY)                                                \
  static void NAME##_f32(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) { \
    enum { BLOCK = 256 };                                                                            \
    float *d = out, first[BLOCK], second[BLOCK];                                                     \
    (void)a;                                                                                         \
    for (int64_t at = 0; at < n; at += BLOCK) {                                                      \
      int64_t count = n - at < BLOCK ? n - at : BLOCK;                                               \
      int all = 1;                                                                                   \
      memcpy(first, (const float *)in[0] + at, (size_t)count * sizeof *first);                       \
      memcpy(second, (const float *)in[1] + at, (size_t)count * sizeof *second);                     \
      WF__VECTOR_LOOP for (int64_t i = 0; i < count; i++) {                                          \
        const double x = first[i], y = second[i];                                                    \
        d[at + i] = (float)(EXPRESSION);                                                             \
        all &= WITHIN;                                                                               \
      }                                                                                              \
      for (int64_t i = 0; i < count && !all; i++) {                                                  \
        const double x = first[i], y = second[i];                                                    \
        if (!(WITHIN)) d[at + i] = (float)(EXACTLY);                                                 \
      }                                                                                              \
    }                                                                                                \
  }
#define IS_FINITE(x) (fabs(x) < (double)INFINITY)
BY_DOUBLES(ATAN2, wf__arctangent_of(x, y), IS_FINITE(x) & IS_FINITE(y) & ((x != 0) | (y != 0)), atan2(x, y))

/* Python's remainder and floor division from C's remainder m; the division rounds every step to f32, as PyTorch's does. */
static inline double with_sign_of(double y, double m) { return ((m != 0) & ((y < 0) != (m < 0))) ? m + y : m; }
static inline float floor_quotient(float x, float y, float m) {
  float div = (x - m) / y;
  div = ((m != 0) & ((y < 0) != (m < 0))) ? div - 1 : div;
  float size = fabsf(div), near = size + 0x1p23f - 0x1p23f; /* a whole number already, but for what was rounded */
  float rounded = copysignf(size < 0x1p23f ? near : size, div), floored = rounded > div ? rounded - 1 : rounded;
  floored = div - floored > 0.5f ? floored + 1 : floored;
  return div == 0 ? copysignf(0, x / y) : floored;
}
static float floor_divide(float x, float y) { return y == 0 ? x / y : floor_quotient(x, y, fmodf(x, y)); }
#define IN_RANGE(x, y) ((fabs((x) / (y)) < WF__QUOTIENT_LIMIT) & IS_FINITE(y))
BY_DOUBLES(FMOD, wf__rest_of(x, y), IN_RANGE(x, y), fmod(x, y))
BY_DOUBLES(REMAINDER, with_sign_of(y, wf__rest_of(x, y)), IN_RANGE(x, y), with_sign_of(y, fmod(x, y)))
BY_DOUBLES(DIV_FLOOR, floor_quotient((float)x, (float)y, (float)wf__rest_of(x, y)), IN_RANGE(x, y),
           floor_divide((float)x, (float)y))

BY_DOUBLES(POW, wf__power_of(x, y), (x != 0) & IS_FINITE(x) & IS_FINITE(y), pow(x, y))

/* Any exponent: as a tensor of it, for conditions that don't change along the loop keep the compiler from vectorising. */
static void general_power_f32(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {
  enum { BLOCK = 256 };
  float same[BLOCK];
  for (int i = 0; i < BLOCK; i++) same[i] = (float)a->f[0];
  for (int64_t at = 0; at < n; at += BLOCK) {
    const void *pair[] = {(const float *)in[0] + at, same};
    POW_f32((float *)out + at, pair, n - at < BLOCK ? n - at : BLOCK, NULL);
  }
}

void WFK(wf__pointwise_f32)(wf__kernels *table) {
  wf__pointwise_fn *entry = table->pointwise[WF__CLASS_F32];
  exact_f32(entry);
#define WF_OP(NAME) entry[WF__PW_##NAME] = NAME##_f32;
  /* clang-format off */
  WF_OP(EXP)
  WF_OP(EXPM1)
  WF_OP(LOG)
  WF_OP(LOG1P) WF_OP(TANH) WF_OP(LEAKY_RELU) WF_OP(LEAKY_RELU_BACKWARD) WF_OP(SIGMOID) WF_OP(ERF) WF_OP(GELU) WF_OP(GELU_TANH) WF_OP(SILU) WF_OP(GELU_BACKWARD)
      WF_OP(ELU) WF_OP(SOFTPLUS) WF_OP(SOFTPLUS_BACKWARD) WF_OP(SILU_BACKWARD) WF_OP(GELU_TANH_BACKWARD)
          WF_OP(POW) WF_OP(SIN) WF_OP(COS) WF_OP(TAN) WF_OP(LOG2) WF_OP(ATAN) WF_OP(ATAN2) WF_OP(FMOD)
              WF_OP(REMAINDER) WF_OP(DIV_FLOOR)
#undef WF_OP
  /* clang-format on */
}
