/* Pointwise operators on f64: what hardware does exactly, what is made of e^x, the error function, and what SLEEF has. Other functions stay the C
 * library's, in ref/. */
#include <math.h>

#include "kernel/lanes.h"
#include "kernel/math_f64.h"
#include "kernel/tables.h"

#define T double
#define FUSED(x, y, z) WF__FMA((x), (y), (z))
#define ROOT(x) __builtin_sqrt(x)
#define ABSOLUTE(x) __builtin_fabs(x)
#define WF__BUILTIN(name) __builtin_##name
#define LOOP(name) name##_f64
#include "kernel/pointwise_loops.h"

#define V wf__f64s
#define N (WF__LANES / 2)
#define FORM(name) name##_f64
#define EXP(v) wf__exp_f64s(v)
#include "kernel/pointwise_lanes.h"

LANES_UNARY(EXP, wf__exp_f64s(x))
LANES_UNARY(EXPM1, wf__expm1_f64s(x))
LANES_UNARY(ELU, wf__choose_f64(x > (V){0}, x * a->f[1], wf__expm1_f64s(x * a->f[2]) * (a->f[0] * a->f[1])))

static inline V size_of(V x) { return (V)((wf__i64s)x & INT64_MAX); }
static inline V with_sign_of(V x, V size) { return (V)((wf__i64s)size | ((wf__i64s)x & INT64_MIN)); }

/* e^2a - 1 over e^2a + 1; beyond 20 it is 1. */
static inline V tanh_of(V x) {
  V a = wf__min_f64((V){0} + 20.0, size_of(x)), e = wf__expm1_f64s(a + a); /* NaN stays */
  return with_sign_of(x, e / (e + 2.0));
}
LANES_UNARY(TANH, tanh_of(x))

/* Slopes, by the sigmoid and what it lacks to 1, which a subtraction would lose. */
static inline V sigmoid_of(V x, V *lacking) {
  V e = wf__exp_f64s(-size_of(x)), near = 1.0 / (1.0 + e), far = e * near;
  *lacking = wf__choose_f64(x > (V){0}, far, near);
  return wf__choose_f64(x > (V){0}, near, far);
}
static inline V silu_slope(V x) {
  V lacking, sigmoid = sigmoid_of(x, &lacking);
  return sigmoid * wf__fma_f64(x, lacking, (V){0} + 1.0);
}
static inline V gelu_tanh_slope(V x) {
  V lacking, sigmoid = sigmoid_of(gelu_twice_f64(x), &lacking);
  V inner = 1.59576912160573071 * wf__fma_f64(x * x, (V){0} + 3 * 0.044715, (V){0} + 1.0);
  return sigmoid * wf__fma_f64(x * inner, lacking, (V){0} + 1.0);
}
static inline V softplus_slope(V scaled, double threshold) {
  return wf__choose_f64(scaled > threshold, (V){0} + 1.0, 1.0 / (1.0 + wf__exp_f64s(-scaled)));
}
LANES_BINARY(SILU_BACKWARD, x *silu_slope(y))
LANES_BINARY(GELU_TANH_BACKWARD, x *gelu_tanh_slope(y))
LANES_BINARY(SOFTPLUS_BACKWARD, x *softplus_slope(y * a->f[0], a->f[1]))

/* The error function by series of Chebyshev's polynomials, of 50 digits, cut off and sorted by powers. It needs the rest of a square. */
#if defined(__FMA__)
static inline V series(const double *term, int terms, V x) {
  V sum = (V){0} + term[0];
  for (int i = 1; i < terms; i++) sum = wf__fma_f64(sum, x, (V){0} + term[i]);
  return sum;
}

/* erf(x) / x - 1 to 1.1, by s = x^2; the rest is 3e-17. */
static inline V erf_near(V s) {
  static const double term[] = {0x1.da7cf82fee965p-35,  -0x1.2ec130e2e7c08p-30, 0x1.f443dd3948b34p-27,
                                -0x1.5ec6648e4de04p-23, 0x1.b9d3df21afb11p-20,  -0x1.f4d0f055743efp-17,
                                0x1.f9a31432182b6p-14,  -0x1.c02db359a5da8p-11, 0x1.565bcd0ab43acp-8,
                                -0x1.b82ce3126f7d8p-6,  0x1.ce2f21a042650p-4,   -0x1.812746b0379dfp-2,
                                0x1.06eba8214db68p-3};
  return series(term, sizeof term / sizeof *term, s);
}
/* 1 - erf(a) for a from 0.7 on, where a^2 is `share` of root^2, by which it is known to all its places: the power of it by a series in
 * t = (a - 4) / (a + 4), over a + 4. Right to 4 units in the last place; 0 from 28 on. */
static inline V erfc_tail(V a, V root, double share) {
  static const double term[] = {-0x1.9d9d56a55cff8p-27, 0x1.6e30426eb4d15p-30,  0x1.fff7ac80bb2e9p-24,
                                -0x1.4721f1ccc7988p-24, -0x1.c42ea44a60fa9p-21, 0x1.7e6e0b580ffddp-20,
                                0x1.3ae88bb42ef6cp-18,  -0x1.3c6fc78c69c48p-16, -0x1.e7d34c005b5e7p-19,
                                0x1.72cdb09ff3d9ep-13,  -0x1.dd284e4cf3d6ap-12, -0x1.269b52ea81f70p-12,
                                0x1.908f4736c9fcap-8,   -0x1.b00c052be3ddep-6,  0x1.38dbd2c8cc8a1p-4,
                                -0x1.645fd8a4bca4ep-3,  0x1.52cac23710488p-2,   -0x1.14eacb1ad032cp-1,
                                0x1.8be202d26c700p-1,   -0x1.f3fe31ecb49bfp-1,  0x1.18932bf08e154p+0};
  V square = root * root, lost = wf__fma_f64(root, root, -square) * share, power = wf__exp_f64s(-square * share);
  V over = 1.0 / (a + 4.0), ratio = series(term, sizeof term / sizeof *term, (a - 4.0) * over);
  return ratio * over * wf__fma_f64(-lost, power, power);
}
static inline V erf_of(V x) {
  V a = wf__min_f64((V){0} + 28.0, size_of(x)), near = wf__fma_f64(erf_near(x * x), x, x); /* NaN stays */
  return wf__choose_f64(a < 1.1, near, with_sign_of(x, 1.0 - erfc_tail(a, a, 1.0)));
}
/* (1 + erf(x / sqrt 2)) / 2 without losing the left tail. */
static inline V normal_cdf(V x) {
  const V half = (V){0} + 0.5;
  V size = wf__min_f64((V){0} + 40.0, size_of(x)), a = size * 0x1.6a09e667f3bcdp-1,
    tail = 0.5 * erfc_tail(a, size, 0.5);
  V y = x * 0x1.6a09e667f3bcdp-1, near = wf__fma_f64(half, wf__fma_f64(erf_near(y * y), y, y), half);
  return wf__choose_f64(a < 0.7, near, wf__choose_f64(x > (V){0}, 1.0 - tail, tail));
}
static inline V normal_pdf(V x) { return wf__exp_f64s(-0.5 * x * x) * 0x1.9884533d43651p-2; }
LANES_UNARY(ERF, erf_of(x))
LANES_UNARY(GELU, x *normal_cdf(x))
LANES_BINARY(GELU_BACKWARD, x *wf__fma_f64(y, normal_pdf(y), normal_cdf(y)))
#endif

#if defined(WF_HAVE_SLEEF) && defined(__AVX2__)
/* By SLEEF, whose bounds are 1.0 unit in the last place, in its forms that give the same bits with AVX2 and AVX-512. Without either the C library is
 * as fast. */
#include <sleef.h>
#if defined(__AVX512F__)
typedef __m512d sleef;
#define SLEEF(name) Sleef_finz_##name##d8_u10avx512f
#else
typedef __m256d sleef;
#define SLEEF(name) Sleef_finz_##name##d4_u10avx2
#endif
#define OF(name, x) ((V)SLEEF(name)((sleef)(x)))
#define OF_BOTH(name, x, y) ((V)SLEEF(name)((sleef)(x), (sleef)(y)))

LANES_UNARY(LOG, OF(log, x))
LANES_UNARY(LOG2, OF(log2, x))
LANES_UNARY(SIN, OF(sin, x))
LANES_UNARY(COS, OF(cos, x))
LANES_UNARY(TAN, OF(tan, x))
LANES_UNARY(ATAN, OF(atan, x))
LANES_BINARY(ATAN2, OF_BOTH(atan2, x, y))

/* SLEEF's results are infinite a little before they are too large: log1p from 1e307 on, powers from 1.79769e308 on. The C library does these. */
static inline bool any_infinite(V x) {
#if defined(__AVX512F__)
  return _mm512_fpclass_pd_mask((__m512d)x, 0x18) != 0;
#else
  return !_mm256_testz_si256((__m256i)(size_of(x) == (V){0} + (double)INFINITY), _mm256_set1_epi64x(-1));
#endif
}
__attribute__((noinline, cold)) static void exact_log1p(double *log, const double *x) {
  for (int k = 0; k < N; k++) log[k] = isinf(log[k]) ? log1p(x[k]) : log[k];
}
__attribute__((noinline, cold)) static void exact_power(double *power, const double *x, const double *y) {
  for (int k = 0; k < N; k++) power[k] = isinf(power[k]) ? pow(x[k], y[k]) : power[k];
}
static inline V log1p_of(V x) {
  V log = OF(log1p, x);
  if (!any_infinite(log)) return log;
  double parts[2][N];
  wf__store_f64(parts[0], log);
  wf__store_f64(parts[1], x);
  exact_log1p(parts[0], parts[1]);
  return wf__load_f64(parts[0]);
}
static inline V power_of(V x, V y) {
  V power = OF_BOTH(pow, x, y);
  if (!any_infinite(power)) return power;
  double parts[3][N];
  wf__store_f64(parts[0], power);
  wf__store_f64(parts[1], x);
  wf__store_f64(parts[2], y);
  exact_power(parts[0], parts[1], parts[2]);
  return wf__load_f64(parts[0]);
}
LANES_UNARY(LOG1P, log1p_of(x))
LANES_BINARY(POW, power_of(x, y))
LANES_UNARY(general_power, power_of(x, (V){0} + a->f[0]))
LANES_UNARY(POW_SCALAR_BASE, power_of((V){0} + a->f[0], x))

/* ln(1 + e^x): what the addition loses is put back, divided by 1 + e^x, which is enough here and faster than log1p. */
static inline V softplus(V x, double beta, double threshold) {
  V scaled = x * beta, e = wf__exp_f64s(scaled), sum = 1.0 + e, log = OF(log, sum) + (e - (sum - 1.0)) / sum;
  return wf__choose_f64(scaled > threshold, x, wf__choose_f64(e < (double)INFINITY, log, e) / beta);
}
LANES_UNARY(SOFTPLUS, softplus(x, a->f[0], a->f[1]))
#else
static void general_power_f64(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {
  const double *s = in[0], e = a->f[0];
  double *d = out;
  for (int64_t i = 0; i < n; i++) d[i] = pow(s[i], e);
}
#endif

void WFK(wf__pointwise_f64)(wf__kernels *table) {
  wf__pointwise_fn *entry = table->pointwise[WF__CLASS_F64];
  exact_f64(entry);
#define WF_OP(NAME) entry[WF__PW_##NAME] = NAME##_f64;
  /* clang-format off */
  WF_OP(EXP) WF_OP(EXPM1) WF_OP(LEAKY_RELU) WF_OP(LEAKY_RELU_BACKWARD) WF_OP(SIGMOID) WF_OP(SILU) WF_OP(GELU_TANH) WF_OP(TANH) WF_OP(ELU) WF_OP(SILU_BACKWARD)
  WF_OP(GELU_TANH_BACKWARD) WF_OP(SOFTPLUS_BACKWARD)
#if defined(__FMA__)
  WF_OP(ERF) WF_OP(GELU) WF_OP(GELU_BACKWARD)
#endif
#if defined(WF_HAVE_SLEEF) && defined(__AVX2__)
  WF_OP(LOG) WF_OP(LOG1P) WF_OP(LOG2) WF_OP(SIN) WF_OP(COS) WF_OP(TAN) WF_OP(ATAN) WF_OP(ATAN2) WF_OP(POW)
  WF_OP(POW_SCALAR_BASE) WF_OP(SOFTPLUS)
#endif
#undef WF_OP
  /* clang-format on */
}
