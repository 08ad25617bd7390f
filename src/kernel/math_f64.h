/* Functions in double without branches, so that loops over them vectorise. Inline in *.isa.c files only.
 *
 * exp is for f64: 1 unit in the last place with FMA, 2 without. The others serve f32: they take doubles that hold f32 numbers, and their results,
 * rounded to f32, are the rounded exact values but for rare ties (below 0.51 units in the last place). Series are Taylor's unless another is named;
 * each says how far its rest is from what f32 shows. */
#ifndef WF_KERNEL_MATH_F64_H
#define WF_KERNEL_MATH_F64_H

#include <math.h>

#include "kernel/isa.h"

static inline int64_t wf__f64_bits(double d) {
  int64_t i;
  memcpy(&i, &d, 8);
  return i;
}
static inline double wf__bits_f64(int64_t i) {
  double d;
  memcpy(&d, &i, 8);
  return d;
}

/* Adding and subtracting it rounds to an integer, which then stands in the low bits. */
#define WF__ROUNDER_F64 0x1.8p52

/* e^r on ±0.35; the rest is 4e-18. */
static inline double wf__exp_near(double r) {
  double p = 1.0 / 6227020800;
  p = WF__FMA(p, r, 1.0 / 479001600);
  p = WF__FMA(p, r, 1.0 / 39916800);
  p = WF__FMA(p, r, 1.0 / 3628800);
  p = WF__FMA(p, r, 1.0 / 362880);
  p = WF__FMA(p, r, 1.0 / 40320);
  p = WF__FMA(p, r, 1.0 / 5040);
  p = WF__FMA(p, r, 1.0 / 720);
  p = WF__FMA(p, r, 1.0 / 120);
  p = WF__FMA(p, r, 1.0 / 24);
  p = WF__FMA(p, r, 1.0 / 6);
  p = WF__FMA(p, r, 0.5);
  return WF__FMA(p * r, r, r) + 1.0;
}

/* The power of 2 is applied in two steps: it alone may overflow or be subnormal where the result isn't. */
static inline double wf__exp(double x) {
  double within = x < -746.0 ? -746.0 : x > 710.0 ? 710.0 : x; /* NaN stays */
  double shifted = WF__FMA(within, 0x1.71547652b82fep+0, WF__ROUNDER_F64), n = shifted - WF__ROUNDER_F64;
  double r = WF__FMA(n, -0x1.ef35793c7673p-45, WF__FMA(n, -0x1.62e42fefa38p-1, within));
  int64_t whole = (int64_t)((uint64_t)wf__f64_bits(shifted) - 0x4338000000000000),
          half = whole / 2; /* of NaN anything */
  uint64_t first = (uint64_t)(half + 1023) << 52, rest = (uint64_t)(whole - half + 1023) << 52;
  return wf__exp_near(r) * wf__bits_f64((int64_t)first) * wf__bits_f64((int64_t)rest);
}

/* ---- sine and cosine for f32 up to 2^30 ------------------------------------------------------------------------------------- */

#define WF__ANGLE_LIMIT 0x1p30f

/* Multiples n of pi / 2 or, doubled, of pi taken off x; these have 106 bits. */
static inline double wf__less_quarters(double x, double n, double by) {
#if defined(__FMA__)
  return WF__FMA(n, -0x1.1a62633145c07p-54 * by, WF__FMA(n, -0x1.921fb54442d18p+0 * by, x));
#else /* parts of 22 and 33 bits, of which products with n are exact */
  return ((x - n * (0x1.921fb4p+0 * by)) - n * (0x1.4442d18p-24 * by)) - n * (0x1.1a62633145c07p-54 * by);
#endif
}

/* sin of r on ±pi / 2, by a series of Chebyshev's polynomials; the rest is 7e-11. A zero keeps its sign. */
static inline double wf__sin_far(double r) {
  double z = r * r, p = WF__FMA(-0x1.9db3082b34ecdp-26, z, 0x1.71969db161a33p-19);
  p = WF__FMA(p, z, -0x1.a01906058a861p-13);
  p = WF__FMA(p, z, 0x1.11110fdb444d6p-7);
  p = WF__FMA(p, z, -0x1.55555554610adp-3);
  return r * WF__FMA(p, z, 1.0);
}
static inline double wf__minus_if_odd(double value, int64_t n) {
  return wf__bits_f64((int64_t)((uint64_t)wf__f64_bits(value) ^ (uint64_t)n << 63));
}
/* By x = n pi + r, and x = (n + 1/2) pi + r. */
static inline double wf__sine(double x) {
  double shifted = WF__FMA(x, 0x1.45f306dc9c883p-2, WF__ROUNDER_F64), n = shifted - WF__ROUNDER_F64;
  return wf__minus_if_odd(wf__sin_far(wf__less_quarters(x, n, 2)), wf__f64_bits(shifted));
}
static inline double wf__cosine(double x) {
  double shifted = WF__FMA(x, 0x1.45f306dc9c883p-2, -0.5) + WF__ROUNDER_F64, n = shifted - WF__ROUNDER_F64;
  return wf__minus_if_odd(wf__sin_far(wf__less_quarters(x, n + 0.5, 2)), ~wf__f64_bits(shifted));
}

/* x = n pi / 2 + r with |r| at most pi / 4; the low bits of the result are n. */
static inline int64_t wf__split_angle(double x, double *r) {
  double shifted = WF__FMA(x, 0x1.45f306dc9c883p-1, WF__ROUNDER_F64);
  *r = wf__less_quarters(x, shifted - WF__ROUNDER_F64, 1);
  return wf__f64_bits(shifted);
}
/* On ±pi / 4: the rests are 7e-12 and 1e-10. */
static inline double wf__sin_near(double r) {
  double z = r * r, p = WF__FMA(-1.0 / 39916800, z, 1.0 / 362880);
  p = WF__FMA(p, z, -1.0 / 5040);
  p = WF__FMA(p, z, 1.0 / 120);
  p = WF__FMA(p, z, -1.0 / 6);
  return r * WF__FMA(p, z, 1.0);
}
static inline double wf__cos_near(double r) {
  double z = r * r, p = WF__FMA(-1.0 / 3628800, z, 1.0 / 40320);
  p = WF__FMA(p, z, -1.0 / 720);
  p = WF__FMA(p, z, 1.0 / 24);
  p = WF__FMA(p, z, -0.5);
  return WF__FMA(p, z, 1.0);
}
static inline double wf__tangent(double x) {
  double r;
  int64_t n = wf__split_angle(x, &r);
  double s = wf__sin_near(r), c = wf__cos_near(r);
  return n & 1 ? -c / s : s / c;
}

/* ---- arctangent for f32 ------------------------------------------------------------------------------------------------------ */

/* Of y / x for y and x that are positive or 0 and finite, not both 0: turned by none, one or two eighths of a circle, so that the ratio is at most
 * tan(pi / 8). The series' rest is 2e-12. */
static inline double wf__angle_of(double y, double x) {
  const double eighth = 0x1.a827999fcef32p-2; /* tan(pi / 8) */
  double low = y > x * eighth ? 1 : 0, high = y * eighth > x ? 1 : 0;
  double top = high != 0 ? -x : low != 0 ? y - x : y, bottom = high != 0 ? y : low != 0 ? y + x : x;
  double turned = high != 0 ? 0x1.921fb54442d18p+0 : low != 0 ? 0x1.921fb54442d18p-1 : 0;
  double r = top / bottom, z = r * r, p = WF__FMA(1.0 / 25, z, -1.0 / 23);
  p = WF__FMA(p, z, 1.0 / 21);
  p = WF__FMA(p, z, -1.0 / 19);
  p = WF__FMA(p, z, 1.0 / 17);
  p = WF__FMA(p, z, -1.0 / 15);
  p = WF__FMA(p, z, 1.0 / 13);
  p = WF__FMA(p, z, -1.0 / 11);
  p = WF__FMA(p, z, 1.0 / 9);
  p = WF__FMA(p, z, -1.0 / 7);
  p = WF__FMA(p, z, 1.0 / 5);
  p = WF__FMA(p, z, -1.0 / 3);
  return turned + WF__FMA(p * z, r, r);
}
static inline double wf__arctangent(double x) { return __builtin_copysign(wf__angle_of(__builtin_fabs(x), 1.0), x); }
static inline double wf__arctangent_of(double y, double x) {
  double angle = wf__angle_of(__builtin_fabs(y), __builtin_fabs(x));
  return __builtin_copysign(x < 0 ? 0x1.921fb54442d18p+1 - angle : angle, y);
}

/* ---- remainders of f32 ---------------------------------------------------------------------------------------------------------- */

/* Quotients below it are truncated rightly: a ratio of f32 numbers that isn't whole is 2^-24 or more away from the next integer. */
#define WF__QUOTIENT_LIMIT 0x1p28

/* x - y trunc(x / y), exactly, with the sign of x. */
static inline double wf__rest_of(double x, double y) {
#if defined(__SSE4_1__)
  double q = __builtin_trunc(x / y);
#else
  double ratio = x / y, size = __builtin_fabs(ratio), near = size + WF__ROUNDER_F64 - WF__ROUNDER_F64;
  double q = __builtin_copysign(near > size ? near - 1 : near, ratio);
#endif
  return __builtin_copysign(x - q * y, x);
}

/* ---- logarithm and power for f32 ------------------------------------------------------------------------------------------------ */

/* x = 2^n m, m from sqrt(1/2) to sqrt(2), of a positive finite number. */
static inline double wf__split_power(double x, double *m) {
  uint64_t bits = (uint64_t)wf__f64_bits(x);
  int64_t n = (int64_t)(bits - 0x3fe6a09e667f3bcd) >> 52;
  *m = wf__bits_f64((int64_t)(bits - ((uint64_t)n << 52)));
  return wf__bits_f64(0x4338000000000000 + n) - WF__ROUNDER_F64;
}
/* log2, by the series of atanh; the rest is 1e-14. */
static inline double wf__log2_of(double x) {
  double m, n = wf__split_power(x, &m), s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = WF__FMA(1.0 / 15, z, 1.0 / 13);
  p = WF__FMA(p, z, 1.0 / 11);
  p = WF__FMA(p, z, 1.0 / 9);
  p = WF__FMA(p, z, 1.0 / 7);
  p = WF__FMA(p, z, 1.0 / 5);
  p = WF__FMA(p, z, 1.0 / 3);
  p = WF__FMA(p * z, s, s);
  return WF__FMA(p, 0x1.71547652b82fep+1, n);
}
/* log2 where 1e-10 of it doesn't show, without a division: a series of Chebyshev's polynomials. */
static inline double wf__log2_nearly(double x) {
  double m, n = wf__split_power(x, &m), f = m - 1.0;
  double p = WF__FMA(-0x1.6261217db1461p-4, f, 0x1.3d61aab4f91aap-3);
  p = WF__FMA(p, f, -0x1.4172bed2b7e7ap-3);
  p = WF__FMA(p, f, 0x1.4595033419101p-3);
  p = WF__FMA(p, f, -0x1.6eb06b3a3caecp-3);
  p = WF__FMA(p, f, 0x1.a616e529ea863p-3);
  p = WF__FMA(p, f, -0x1.ec8d7be1040d4p-3);
  p = WF__FMA(p, f, 0x1.27772e0435645p-2);
  p = WF__FMA(p, f, -0x1.715435c38228bp-2);
  p = WF__FMA(p, f, 0x1.ec709c0feef84p-2);
  p = WF__FMA(p, f, -0x1.7154767bd308ap-1);
  p = WF__FMA(p, f, 0x1.71547652eda8ap+0);
  return WF__FMA(p, f, n);
}

/* 2^t; beyond ±300 it is what f32 makes 0 and infinity of. */
static inline double wf__exp2_of(double t) {
  double within = t < -300.0 ? -300.0 : t > 300.0 ? 300.0 : t;
  double shifted = within + WF__ROUNDER_F64, r = (within - (shifted - WF__ROUNDER_F64)) * 0x1.62e42fefa39efp-1;
  uint64_t n = (uint64_t)wf__f64_bits(shifted) - 0x4338000000000000; /* of a NaN: anything */
  return wf__exp_near(r) * wf__bits_f64((int64_t)((n + 1023) << 52));
}

/* x^y for finite x other than 0 and finite y. Negative bases have powers by integers only. */
static inline double wf__power_of(double x, double y) {
  double size = wf__exp2_of(y * wf__log2_of(x < 0 ? -x : x));
  double rounded = y + WF__ROUNDER_F64 - WF__ROUNDER_F64, halves = y * 0.5 + WF__ROUNDER_F64 - WF__ROUNDER_F64;
  double large = y < 0x1p51 && y > -0x1p51 ? 0 : 1; /* then it is an even integer */
  double negative = large != 0 ? size : rounded != y ? NAN : halves * 2 != y ? -size : size;
  return x < 0 ? negative : size;
}

#endif
