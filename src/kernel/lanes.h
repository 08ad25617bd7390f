/* Vectors of f32 and f64 inside *.isa.c files, as wide as the instruction set has them. Comparisons give lanes of all ones or zeros.
 *
 * Exponentials are those of math_f32.h and math_f64.h, lane by lane; errors against the rounded exact value over the whole range with FMA: 1 unit
 * in the last place (f32), 1 (f64). */
#ifndef WF_KERNEL_LANES_H
#define WF_KERNEL_LANES_H

#include <stdbool.h>

#include "kernel/isa.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define WF__LANES 16
#elif defined(__AVX2__)
#define WF__LANES 8
#else
#define WF__LANES 4
#endif

typedef float wf__f32s __attribute__((vector_size(4 * WF__LANES)));
typedef int32_t wf__i32s __attribute__((vector_size(4 * WF__LANES)));
typedef uint8_t wf__u8s __attribute__((vector_size(WF__LANES)));
typedef double wf__f64s __attribute__((vector_size(4 * WF__LANES)));
typedef int64_t wf__i64s __attribute__((vector_size(4 * WF__LANES)));

#define T float
#define V wf__f32s
#define B wf__i32s
#define N WF__LANES
#define FORM(name) name##_f32
#define X512(op) _mm512_##op##_ps
#define X512_MASK(op) _mm512_##op##_ps_mask
#define X256(op) _mm256_##op##_ps
#define X128(op) _mm_##op##_ps
#define M512 __m512
#define M256 __m256
#define M128 __m128
#define MASK __mmask16
#include "kernel/lanes_float.h"

#define T double
#define V wf__f64s
#define B wf__i64s
#define N (WF__LANES / 2)
#define FORM(name) name##_f64
#define X512(op) _mm512_##op##_pd
#define X512_MASK(op) _mm512_##op##_pd_mask
#define X256(op) _mm256_##op##_pd
#define X128(op) _mm_##op##_pd
#define M512 __m512d
#define M256 __m256d
#define M128 __m128d
#define MASK __mmask8
#include "kernel/lanes_float.h"

/* `v` where the mask is set, zero elsewhere. */
static inline wf__f32s wf__where_f32(wf__i32s mask, wf__f32s v) { return (wf__f32s)((wf__i32s)v & mask); }

/* e^x. The power of 2 is applied in two steps where no instruction does it: it alone may overflow or be subnormal. Lanes that vanish are set
 * to 0 instead of being computed: an underflow costs hundreds of cycles, and -inf is common (masks). */
static inline wf__f32s wf__exp_f32s(wf__f32s x) {
  const wf__f32s zero = {0}, most = zero + 90.0f, rounder = zero + 0x1.8p23f;
#if defined(__AVX512F__)
  __mmask16 stays = _mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(-104.0f), _CMP_NLT_UQ);
  x = (wf__f32s)_mm512_min_ps((__m512)most, (__m512)x); /* NaN stays */
#else
  wf__i32s vanishes = x < -104.0f;
  x = wf__choose_f32(vanishes, zero, x);
  x = wf__choose_f32(x > most, most, x);
#endif
  wf__f32s shifted = wf__fma_f32(x, zero + 0x1.715476p+0f, rounder), n = shifted - rounder;
  wf__f32s r = wf__fma_f32(n, zero - 0x1.7f7d1cp-20f, wf__fma_f32(n, zero - 0x1.62e4p-1f, x));
  wf__f32s p = wf__fma_f32(zero + 0x1.6dbc68p-10f, r, zero + 0x1.124148p-7f);
  p = wf__fma_f32(p, r, zero + 0x1.555454p-5f);
  p = wf__fma_f32(p, r, zero + 0x1.555486p-3f);
  p = wf__fma_f32(p, r, zero + 0x1p-1f);
  p = wf__fma_f32(p * r, r, r) + 1.0f;
#if defined(__AVX512F__)
  return (wf__f32s)_mm512_maskz_scalef_ps(stays, (__m512)p, (__m512)n);
#else
  wf__i32s whole = (wf__i32s)shifted - 0x4b400000, half = whole >> 1;
  return wf__where_f32(~vanishes, p * (wf__f32s)((half + 127) << 23) * (wf__f32s)((whole - half + 127) << 23));
#endif
}

/* 2^y for y up to 127: what is a power of e anyway is cheaper as one of 2. Right to 1 unit in the last place. */
static inline wf__f32s wf__exp2_f32s(wf__f32s y) {
  static const float term[] = {0x1.5f3f3p-10f, 0x1.3b2d5p-7f, 0x1.c6aee6p-5f, 0x1.ebfbdcp-3f, 0x1.62e43p-1f, 1.0f};
  const wf__f32s zero = {0}, least = zero - 160.0f;
  y = wf__max_f32(least, y); /* NaN stays */
#if defined(__AVX512F__)
  wf__f32s n = (wf__f32s)_mm512_roundscale_ps((__m512)y, _MM_FROUND_TO_NEAREST_INT), r = y - n;
#else
  wf__f32s shifted = y + 0x1.8p23f, n = shifted - 0x1.8p23f, r = y - n;
#endif
  wf__f32s p = zero + 0x1.41fb2ep-13f;
  for (int i = 0; i < 6; i++) p = wf__fma_f32(p, r, zero + term[i]);
#if defined(__AVX512F__)
  return (wf__f32s)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
  wf__i32s whole = (wf__i32s)shifted - 0x4b400000, half = whole >> 1;
  return p * (wf__f32s)((half + 127) << 23) * (wf__f32s)((whole - half + 127) << 23);
#endif
}

/* x = n ln 2 + r with |r| at most half of ln 2; *rest: what r was rounded by; the sum of adding 1.5 * 2^52 is kept for the bits of n. */
static inline wf__f64s wf__split_f64s(wf__f64s x, wf__f64s *shifted, wf__f64s *n, wf__f64s *rest) {
  const wf__f64s zero = {0}, rounder = zero + 0x1.8p52;
  *shifted = wf__fma_f64(x, zero + 0x1.71547652b82fep+0, rounder);
  *n = *shifted - rounder;
  wf__f64s most = wf__fma_f64(*n, zero - 0x1.62e42fefa38p-1, x), r = wf__fma_f64(*n, zero - 0x1.ef35793c7673p-45, most);
  *rest = wf__fma_f64(*n, zero - 0x1.ef35793c7673p-45, most - r);
  return r;
}
/* (e^r - 1 - r) / r^2 on ±0.35 by Taylor's series to the 13th power: its rest is 4e-18. */
static inline wf__f64s wf__exp_tail_f64s(wf__f64s r) {
  static const double term[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                                1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5};
  const wf__f64s zero = {0};
  wf__f64s p = zero + 1.0 / 6227020800;
  for (int i = 0; i < 11; i++) p = wf__fma_f64(p, r, zero + term[i]);
  return p;
}

static inline wf__f64s wf__exp_f64s(wf__f64s x) {
  const wf__f64s zero = {0}, most = zero + 710.0;
  wf__f64s shifted, n, rest;
#if defined(__AVX512F__)
  __mmask8 stays = _mm512_cmp_pd_mask((__m512d)x, _mm512_set1_pd(-746.0), _CMP_NLT_UQ);
  x = (wf__f64s)_mm512_min_pd((__m512d)most, (__m512d)x);
#else
  wf__i64s vanishes = x < -746.0;
  x = wf__choose_f64(vanishes, zero, x);
  x = wf__choose_f64(x > most, most, x);
#endif
  wf__f64s r = wf__split_f64s(x, &shifted, &n, &rest);
  wf__f64s p = wf__fma_f64(wf__exp_tail_f64s(r) * r, r, r) + 1.0;
#if defined(__AVX512F__)
  return (wf__f64s)_mm512_maskz_scalef_pd(stays, (__m512d)p, (__m512d)n);
#else
  wf__i64s whole = (wf__i64s)shifted - 0x4338000000000000, half = whole >> 1;
  p = p * (wf__f64s)((half + 1023) << 52) * (wf__f64s)((whole - half + 1023) << 52);
  return wf__choose_f64(vanishes, zero, p);
#endif
}

/* e^x - 1, by half the power of 2, for 2^1024 isn't a number. 2^n r and 2^n - 1 may cancel: what their sum loses is kept. Below -40 it is -1. */
static inline wf__f64s wf__expm1_f64s(wf__f64s x) {
  const wf__f64s zero = {0}, least = zero - 40.0, most = zero + 710.0;
  wf__f64s shifted, n, rest, within = wf__min_f64(most, wf__max_f64(least, x)); /* NaN stays */
  wf__f64s r = wf__split_f64s(within, &shifted, &n, &rest), tail = wf__exp_tail_f64s(r) * r * r + rest;
  wf__f64s half = (wf__f64s)(((wf__i64s)shifted - 0x4338000000000000 + 1022) << 52);
  wf__f64s a = half * r, b = half - 0.5, sum = a + b, other = sum - a, lost = (a - (sum - other)) + (b - other);
  return wf__choose_f64(x == zero, x, (sum + (lost + half * tail)) * 2.0);
}

#endif
