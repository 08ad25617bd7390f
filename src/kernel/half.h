/* Half formats inside *.isa.c files: blocks by instruction where there is one, otherwise branch-free so that loops vectorise. */
#ifndef WF_KERNEL_HALF_H
#define WF_KERNEL_HALF_H

#include "base/convert.h"
#include "kernel/isa.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

/* As wf__f16_to_f32: the exponent is moved by a multiplication, which also makes subnormals right. */
static inline float wf__half_widen(uint16_t h) {
  uint32_t rest = (uint32_t)(h & 0x7fff) << 13;
  uint32_t magnitude = wf__f32_bits(wf__bits_f32(rest) * 0x1p112f);
  magnitude |= rest >= 0x0f800000u ? 0x7f800000u : 0; /* infinity and NaN */
  return wf__bits_f32(magnitude | (uint32_t)(h & 0x8000) << 16);
}

/* As wf__f32_to_f16. */
static inline uint16_t wf__half_narrow(float f) {
  uint32_t u = wf__f32_bits(f), sign = (u >> 16) & 0x8000u, rest = u & 0x7fffffffu;
  uint32_t small = wf__f32_bits(wf__bits_f32(rest) + 0.5f) - 0x3f000000u; /* the addition rounds subnormals */
  uint32_t normal = (rest + 0xfffu + ((rest >> 13) & 1) - 0x38000000u) >> 13;
  uint32_t finite = rest < 0x38800000u ? small : normal;
  uint32_t bounded = rest >= 0x477ff000u ? 0x7c00u : finite;
  return (uint16_t)(sign | (rest > 0x7f800000u ? 0x7e00u : bounded));
}

static inline void wf__half_to_float(float *dst, const uint16_t *src, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16)
    _mm512_storeu_ps(dst + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(src + i))));
#endif
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(src + i))));
#endif
  for (; i < n; i++) dst[i] = wf__half_widen(src[i]);
}

#if defined(__AVX512F__)
/* Instructions keep the payload of a NaN; the rule here is one NaN, as elsewhere. Returns v with that one, of its sign, in place of others.
 * Without a branch: one that waits for numbers from memory lets 64 MiB go to bf16 at 34 GB/s instead of 46 (Zen 5), and slows NaN down. */
static inline __m512 wf__with_one_nan(__m512 v) {
  __m512i quiet = _mm512_or_si512(_mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(INT32_MIN)),
                                  _mm512_set1_epi32(0x7fc00000));
  return _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), _mm512_castsi512_ps(quiet));
}
#endif

static inline void wf__float_to_half(uint16_t *dst, const float *src, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16) {
    __m512 v = wf__with_one_nan(_mm512_loadu_ps(src + i));
    _mm256_storeu_si256((__m256i *)(dst + i), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
#elif defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    __m256 v = _mm256_loadu_ps(src + i);
    __m256 nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
    __m256 quiet =
        _mm256_or_ps(_mm256_and_ps(v, _mm256_set1_ps(-0.0f)), _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)));
    v = _mm256_blendv_ps(v, quiet, nan);
    _mm_storeu_si128((__m128i *)(dst + i), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
#endif
  for (; i < n; i++) dst[i] = wf__half_narrow(src[i]);
}

/* As wf__f32_to_bf16, without a branch. */
static inline uint16_t wf__bfloat_narrow(float f) {
  uint32_t u = wf__f32_bits(f);
  uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1)) >> 16;
  return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
}

#if defined(__AVX512F__)
/* Its upper half is the rounded number. */
static inline __m512i wf__bfloat_rounded(__m512 v) {
  __m512i bits = _mm512_castps_si512(v), odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  return _mm512_mask_mov_epi32(rounded, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), _mm512_set1_epi32(0x7fc00000));
}
#endif

static inline void wf__float_to_bfloat(uint16_t *dst, const float *src, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  static const uint16_t upper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                     33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  const __m512i halves = _mm512_loadu_si512(upper);
  for (; i + 32 <= n; i += 32) {
    __m512i a = wf__bfloat_rounded(_mm512_loadu_ps(src + i)), b = wf__bfloat_rounded(_mm512_loadu_ps(src + i + 16));
    _mm512_storeu_si512(dst + i, _mm512_permutex2var_epi16(a, halves, b));
  }
#endif
  WF__VECTOR_LOOP for (int64_t k = i; k < n; k++) dst[k] = wf__bfloat_narrow(src[k]);
}

#endif
