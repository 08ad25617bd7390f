/* Functions of f32 without branches, so that loops over them vectorise. Inline in *.isa.c files only.
 *
 * Errors against the rounded exact value, measured over all f32 in steps of 37 with FMA: exp 1, expm1 2, log 1, log1p 2, tanh 2, sigmoid 2
 * units in the last place; without FMA at most one more. Polynomials are minimax fits of this library's own (Remez in 40 digits,
 * rounded coefficients), with the interval beside each. Infinities, NaN, zeros and subnormals come out as from the C library. */
#ifndef WF_KERNEL_MATH_F32_H
#define WF_KERNEL_MATH_F32_H

#include <math.h>

#include "base/convert.h"
#include "kernel/isa.h"

/* ln 2 in two parts: the first has 8 zero bits at its end, so that n times it is exact for the n that occur. */
#define WF__LN2_HIGH 0x1.62e4p-1f
#define WF__LN2_LOW 0x1.7f7d1cp-20f
#define WF__LOG2_E 0x1.715476p+0f
/* Adding and subtracting it rounds to an integer, which then stands in the low bits. */
#define WF__ROUNDER 0x1.8p23f

/* 2^n for n from -126 to 127. */
static inline float wf__power_of_2(int32_t n) { return wf__bits_f32((uint32_t)(n + 127) << 23); }

/* x = n ln 2 + r with |r| at most half of ln 2; x must be within ±150. */
static inline int32_t wf__split_exponent(float x, float *r) {
  float shifted = WF__FMAF(x, WF__LOG2_E, WF__ROUNDER), n = shifted - WF__ROUNDER;
  *r = WF__FMAF(n, -WF__LN2_LOW, WF__FMAF(n, -WF__LN2_HIGH, x));
  return (int32_t)(wf__f32_bits(shifted) - 0x4b400000u);
}

/* (e^r - 1 - r) / r^2 on ±0.35 */
static inline float wf__exp_tail(float r) {
  float p = WF__FMAF(0x1.6dbc68p-10f, r, 0x1.124148p-7f);
  p = WF__FMAF(p, r, 0x1.555454p-5f);
  p = WF__FMAF(p, r, 0x1.555486p-3f);
  return WF__FMAF(p, r, 0x1p-1f);
}

/* The power of 2 is applied in two steps: it alone may overflow or be subnormal where the result isn't. */
static inline float wf__expf(float x) {
  float r, within = x < -105.0f ? -105.0f : x > 90.0f ? 90.0f : x; /* NaN stays */
  int32_t n = wf__split_exponent(within, &r), half = n >> 1;
  float p = WF__FMAF(wf__exp_tail(r) * r, r, r) + 1.0f;
  return p * wf__power_of_2(half) * wf__power_of_2(n - half);
}

static inline float wf__expm1f(float x) {
  float r, within = x < -20.0f ? -20.0f : x > 90.0f ? 90.0f : x;
  int32_t n = wf__split_exponent(within, &r);
  n = n > 128 ? 128 : n;
  float p = WF__FMAF(wf__exp_tail(r) * r, r, r), half = wf__power_of_2(n - 1); /* half: 2^128 doesn't exist */
  float result = (WF__FMAF(half, p, half - 0.5f)) * 2.0f;
  result = x > 89.0f ? INFINITY : result;
  return x == 0 || x != x ? x : n == 0 ? p : result;
}

/* (ln(1 + f) - f + f^2 / 2) / f^3 from sqrt(1/2) - 1 to sqrt(2) - 1 */
static inline float wf__log_tail(float f) {
  float p = WF__FMAF(0x1.1b432ep-4f, f, -0x1.e2e9bep-4f);
  p = WF__FMAF(p, f, 0x1.e65078p-4f);
  p = WF__FMAF(p, f, -0x1.fb4326p-4f);
  p = WF__FMAF(p, f, 0x1.2332c2p-3f);
  p = WF__FMAF(p, f, -0x1.5562e4p-3f);
  p = WF__FMAF(p, f, 0x1.99a546p-3f);
  p = WF__FMAF(p, f, -0x1.ffffeep-3f);
  return WF__FMAF(p, f, 0x1.555546p-2f);
}

/* ln(m 2^n) + rest, for a positive finite argument split into 2^n and m near 1; rest is small beside m. */
static inline float wf__log_of(float x, int32_t shift, float rest) {
  /* Unsigned, so that the bits of negative arguments, whose result the caller drops, wrap instead of overflowing. */
  uint32_t bits = wf__f32_bits(x);
  int32_t n = (int32_t)(bits - 0x3f3504f3u) >> 23;
  float f = wf__bits_f32(bits - (uint32_t)n * 0x800000u) - 1.0f, e = (float)(n - shift);
  float square = f * f, tail = WF__FMAF(square * f, wf__log_tail(f), WF__FMAF(e, WF__LN2_LOW, rest));
  return WF__FMAF(e, WF__LN2_HIGH, f + WF__FMAF(-0.5f, square, tail));
}

static inline float wf__logf(float x) {
  int subnormal = x < 0x1p-126f;
  float log = wf__log_of(subnormal ? x * 0x1p23f : x, subnormal ? 23 : 0, 0.0f);
  log = x == INFINITY ? x : log;
  log = x == 0 ? -INFINITY : log;
  return x < 0 || x != x ? NAN : log;
}

/* ln(1 + x): what the addition loses is put back, divided by 1 + x. */
static inline float wf__log1pf(float x) {
  float sum = 1.0f + x, lost = x - (sum - 1.0f);
  float log = wf__log_of(sum, 0, lost / sum);
  log = x > 0x1p60f ? wf__log_of(x, 0, 0.0f) : log;
  log = fabsf(x) < 0x1p-24f ? x : log;
  log = x == -1.0f ? -INFINITY : log;
  log = x == INFINITY ? x : log;
  return x < -1.0f || x != x ? NAN : log;
}

static inline float wf__sigmoidf(float x) { return 1.0f / (1.0f + wf__expf(-x)); }

static inline float wf__tanhf(float x) {
  float a = fabsf(x), s = x * x;
  /* (tanh x / x - 1) / x^2 to 0.62 */
  float p = WF__FMAF(-0x1.76f32ep-8f, s, 0x1.52664cp-6f);
  p = WF__FMAF(p, s, -0x1.b84696p-5f);
  p = WF__FMAF(p, s, 0x1.11077ap-3f);
  p = WF__FMAF(p, s, -0x1.555534p-2f);
  float near = WF__FMAF(p * s, x, x), far = 1.0f - 2.0f / (wf__expf(a + a) + 1.0f);
  return a < 0.62f ? near : copysignf(far, x);
}

/* The argument of gelu's tanh form, and its slope. */
static inline float wf__gelu_inner(float x) {
  const float scale = 0x1.988454p-1f, cube = 0x1.6e4e26p-5f;
  return scale * WF__FMAF(cube * x * x, x, x);
}
static inline float wf__gelu_inner_slope(float x) {
  const float scale = 0x1.988454p-1f, cube = 3 * 0x1.6e4e26p-5f;
  return scale * WF__FMAF(cube * x, x, 1.0f);
}

#endif
