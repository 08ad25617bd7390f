/* Vectors of f32 and f64 inside *.isa.c files, as wide as the instruction set has them. Comparisons give lanes of all ones or zeros.
 *
 * Exponentials are those of math_f32.h and math_f64.h, lane by lane; errors against the rounded exact value over the whole range with FMA: 1 unit
 * in the last place (f32), 1 (f64). */
#ifndef WF_KERNEL_LANES_H
#define WF_KERNEL_LANES_H

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

static inline wf__f32s wf__load(const float *p) {
  wf__f32s v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline void wf__store(float *p, wf__f32s v) { memcpy(p, &v, sizeof v); }
/* `v` where the mask is set, zero elsewhere. */
static inline wf__f32s wf__where(wf__i32s mask, wf__f32s v) { return (wf__f32s)((wf__i32s)v & mask); }
static inline wf__f32s wf__choose(wf__i32s mask, wf__f32s a, wf__f32s b) {
  return (wf__f32s)(((wf__i32s)a & mask) | ((wf__i32s)b & ~mask));
}
static inline wf__f64s wf__choose_f64(wf__i64s mask, wf__f64s a, wf__f64s b) {
  return (wf__f64s)(((wf__i64s)a & mask) | ((wf__i64s)b & ~mask));
}

/* a · b + c */
static inline wf__f32s wf__fma_f32(wf__f32s a, wf__f32s b, wf__f32s c) {
#if defined(__AVX512F__)
  return (wf__f32s)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (wf__f32s)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return a * b + c;
#endif
}
static inline wf__f64s wf__fma_f64(wf__f64s a, wf__f64s b, wf__f64s c) {
#if defined(__AVX512F__)
  return (wf__f64s)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
  return (wf__f64s)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return a * b + c;
#endif
}

/* The greater lanes; where one is NaN, those of b. */
static inline wf__f32s wf__max_f32(wf__f32s a, wf__f32s b) {
#if defined(__AVX512F__)
  return (wf__f32s)_mm512_max_ps((__m512)a, (__m512)b);
#else
  return wf__choose(a > b, a, b);
#endif
}
static inline wf__f64s wf__max_f64(wf__f64s a, wf__f64s b) {
#if defined(__AVX512F__)
  return (wf__f64s)_mm512_max_pd((__m512d)a, (__m512d)b);
#else
  return wf__choose_f64(a > b, a, b);
#endif
}

static inline wf__f32s wf__min_f32(wf__f32s a, wf__f32s b) {
#if defined(__AVX512F__)
  return (wf__f32s)_mm512_min_ps((__m512)a, (__m512)b);
#else
  return wf__choose(a < b, a, b);
#endif
}
static inline wf__f64s wf__min_f64(wf__f64s a, wf__f64s b) {
#if defined(__AVX512F__)
  return (wf__f64s)_mm512_min_pd((__m512d)a, (__m512d)b);
#else
  return wf__choose_f64(a < b, a, b);
#endif
}

/* NaN in lanes where it, a or b is NaN; numbers in the others. */
static inline wf__f32s wf__spread_nan_f32(wf__f32s odd, wf__f32s a, wf__f32s b) {
#if defined(__AVX512F__)
  __mmask16 nan = _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q);
  return (wf__f32s)_mm512_mask_mov_ps((__m512)odd, nan, _mm512_set1_ps(__builtin_nanf("")));
#else
  return wf__choose((a != a) | (b != b), (wf__f32s){0} + __builtin_nanf(""), odd);
#endif
}
static inline wf__f64s wf__spread_nan_f64(wf__f64s odd, wf__f64s a, wf__f64s b) {
#if defined(__AVX512F__)
  __mmask8 nan = _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_UNORD_Q);
  return (wf__f64s)_mm512_mask_mov_pd((__m512d)odd, nan, _mm512_set1_pd(__builtin_nan("")));
#else
  return wf__choose_f64((a != a) | (b != b), (wf__f64s){0} + __builtin_nan(""), odd);
#endif
}

/* The greatest lane, as if NaN weren't there; the sum of the lanes, by halves. */
static inline float wf__top_f32(wf__f32s v) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_ps((__m512)v);
#else
  float top = v[0];
  for (int k = 1; k < WF__LANES; k++) top = v[k] > top || top != top ? v[k] : top;
  return top;
#endif
}
static inline double wf__top_f64(wf__f64s v) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_pd((__m512d)v);
#else
  double top = v[0];
  for (int k = 1; k < WF__LANES / 2; k++) top = v[k] > top || top != top ? v[k] : top;
  return top;
#endif
}
static inline float wf__total_f32(wf__f32s v) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps((__m512)v);
#else
  float part[WF__LANES];
  memcpy(part, &v, sizeof part);
  for (int half = WF__LANES / 2; half; half /= 2)
    for (int k = 0; k < half; k++) part[k] += part[k + half];
  return part[0];
#endif
}
static inline double wf__total_f64(wf__f64s v) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_pd((__m512d)v);
#else
  double part[WF__LANES / 2];
  memcpy(part, &v, sizeof part);
  for (int half = WF__LANES / 4; half; half /= 2)
    for (int k = 0; k < half; k++) part[k] += part[k + half];
  return part[0];
#endif
}

/* The first n lanes from memory, the others `fill`; and back. n is less than the number of lanes. */
static inline wf__f32s wf__load_part_f32(const float *p, int64_t n, float fill) {
#if defined(__AVX512F__)
  return (wf__f32s)_mm512_mask_loadu_ps(_mm512_set1_ps(fill), (__mmask16)((1u << n) - 1), p);
#else
  float part[WF__LANES];
  for (int k = 0; k < WF__LANES; k++) part[k] = k < n ? p[k] : fill;
  return wf__load(part);
#endif
}
static inline void wf__store_part_f32(float *p, wf__f32s v, int64_t n) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
#else
  for (int k = 0; k < n; k++) p[k] = v[k];
#endif
}
static inline wf__f64s wf__load_part_f64(const double *p, int64_t n, double fill) {
#if defined(__AVX512F__)
  return (wf__f64s)_mm512_mask_loadu_pd(_mm512_set1_pd(fill), (__mmask8)((1u << n) - 1), p);
#else
  double part[WF__LANES / 2];
  for (int k = 0; k < WF__LANES / 2; k++) part[k] = k < n ? p[k] : fill;
  wf__f64s v;
  memcpy(&v, part, sizeof v);
  return v;
#endif
}
static inline void wf__store_part_f64(double *p, wf__f64s v, int64_t n) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), (__m512d)v);
#else
  for (int k = 0; k < n; k++) p[k] = v[k];
#endif
}

/* Stores a vector past the cache; p is a multiple of its size. */
static inline void wf__stream_f32(float *p, wf__f32s v) {
#if defined(__AVX512F__)
  _mm512_stream_ps(p, (__m512)v);
#elif defined(__AVX2__)
  _mm256_stream_ps(p, (__m256)v);
#elif defined(__SSE2__)
  _mm_stream_ps(p, (__m128)v);
#else
  memcpy(p, &v, sizeof v);
#endif
}
static inline void wf__stream_f64(double *p, wf__f64s v) { wf__stream_f32((float *)p, (wf__f32s)v); }

/* e^x. The power of 2 is applied in two steps where no instruction does it: it alone may overflow or be subnormal. Lanes that vanish are set
 * to 0 instead of being computed: an underflow costs hundreds of cycles, and -inf is common (masks). */
static inline wf__f32s wf__exp_f32s(wf__f32s x) {
  const wf__f32s zero = {0}, most = zero + 90.0f, rounder = zero + 0x1.8p23f;
#if defined(__AVX512F__)
  __mmask16 stays = _mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(-104.0f), _CMP_NLT_UQ);
  x = (wf__f32s)_mm512_min_ps((__m512)most, (__m512)x); /* NaN stays */
#else
  wf__i32s vanishes = x < -104.0f;
  x = wf__choose(vanishes, zero, x);
  x = wf__choose(x > most, most, x);
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
  return wf__where(~vanishes, p * (wf__f32s)((half + 127) << 23) * (wf__f32s)((whole - half + 127) << 23));
#endif
}

/* Taylor's series to the 13th power on ±0.35: its rest is 4e-18. */
static inline wf__f64s wf__exp_f64s(wf__f64s x) {
  static const double term[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                                1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5};
  const wf__f64s zero = {0}, most = zero + 710.0, rounder = zero + 0x1.8p52;
#if defined(__AVX512F__)
  __mmask8 stays = _mm512_cmp_pd_mask((__m512d)x, _mm512_set1_pd(-746.0), _CMP_NLT_UQ);
  x = (wf__f64s)_mm512_min_pd((__m512d)most, (__m512d)x);
#else
  wf__i64s vanishes = x < -746.0;
  x = wf__choose_f64(vanishes, zero, x);
  x = wf__choose_f64(x > most, most, x);
#endif
  wf__f64s shifted = wf__fma_f64(x, zero + 0x1.71547652b82fep+0, rounder), n = shifted - rounder;
  wf__f64s r = wf__fma_f64(n, zero - 0x1.ef35793c7673p-45, wf__fma_f64(n, zero - 0x1.62e42fefa38p-1, x));
  wf__f64s p = zero + 1.0 / 6227020800;
  for (int i = 0; i < 11; i++) p = wf__fma_f64(p, r, zero + term[i]);
  p = wf__fma_f64(p * r, r, r) + 1.0;
#if defined(__AVX512F__)
  return (wf__f64s)_mm512_maskz_scalef_pd(stays, (__m512d)p, (__m512d)n);
#else
  wf__i64s whole = (wf__i64s)shifted - 0x4338000000000000, half = whole >> 1;
  p = p * (wf__f64s)((half + 1023) << 52) * (wf__f64s)((whole - half + 1023) << 52);
  return wf__choose_f64(vanishes, zero, p);
#endif
}

#endif
