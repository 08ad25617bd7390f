/* Between k rows and one row of groups of k elements, k from 2 to 4: channels of pixels, pairs of a complex number, every k-th element.
 *
 * k lanes of 16 bytes hold as many whole groups as k lanes of the rows hold elements, and each result lane is the union of k shuffles of bytes.
 * Registers hold L such sets side by side. What a set is too short for goes element by element; a row that a set fits in ends with a set that
 * overlaps the last one. SSE2 has no shuffle of bytes by a table: there ref/ stays. */
#include "kernel/isa.h"
#include "kernel/tables.h"

#if defined(__AVX2__)
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 4")
#define LINE 64
#define AHEAD 4096

#if defined(__AVX512F__)
#define LANES 4
typedef __m512i vector;
INLINE vector load(const char *p, int64_t apart) {
  vector v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)p));
  v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(p + apart)), 1);
  v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(p + 2 * apart)), 2);
  return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(p + 3 * apart)), 3);
}
INLINE vector load_whole(const char *p) { return _mm512_loadu_si512(p); }
INLINE void store(char *p, int64_t apart, vector v) {
  _mm_storeu_si128((__m128i *)p, _mm512_castsi512_si128(v));
  _mm_storeu_si128((__m128i *)(p + apart), _mm512_extracti32x4_epi32(v, 1));
  _mm_storeu_si128((__m128i *)(p + 2 * apart), _mm512_extracti32x4_epi32(v, 2));
  _mm_storeu_si128((__m128i *)(p + 3 * apart), _mm512_extracti32x4_epi32(v, 3));
}
INLINE void store_whole(char *p, vector v) { _mm512_storeu_si512(p, v); }
INLINE void stream_whole(char *p, vector v) { _mm512_stream_si512((void *)p, v); }
INLINE vector pick(vector v, __m128i places) { return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(places)); }
INLINE vector unite(vector a, vector b) { return _mm512_or_si512(a, b); }
#else
#define LANES 2
typedef __m256i vector;
INLINE vector load(const char *p, int64_t apart) {
  vector v = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p));
  return _mm256_inserti128_si256(v, _mm_loadu_si128((const __m128i *)(p + apart)), 1);
}
INLINE vector load_whole(const char *p) { return _mm256_loadu_si256((const __m256i *)p); }
INLINE void store(char *p, int64_t apart, vector v) {
  _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(v));
  _mm_storeu_si128((__m128i *)(p + apart), _mm256_extracti128_si256(v, 1));
}
INLINE void store_whole(char *p, vector v) { _mm256_storeu_si256((__m256i *)p, v); }
INLINE void stream_whole(char *p, vector v) { _mm256_stream_si256((__m256i *)p, v); }
INLINE vector pick(vector v, __m128i places) { return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(places)); }
INLINE vector unite(vector a, vector b) { return _mm256_or_si256(a, b); }
#endif

/* Byte b of row j's lane: its place in lane i of the groups, 0x80 (gives 0) when it lies in another. */
#define OF_GROUPS(b) (char)(((b) / size * k + j) * size + (b) % size - i * 16)
#define IN_LANE(place) (char)((place) >= 0 && (place) < 16 ? (place) : 0x80)
#define EACH_BYTE(F) \
  _mm_setr_epi8(F(0), F(1), F(2), F(3), F(4), F(5), F(6), F(7), F(8), F(9), F(10), F(11), F(12), F(13), F(14), F(15))
#define FROM_GROUPS(b) IN_LANE(OF_GROUPS(b))
INLINE __m128i from_groups(int size, int k, int j, int i) { return EACH_BYTE(FROM_GROUPS); }
/* Byte b of lane i of the groups: its place in row j's lane. */
#define ELEMENT(b) ((i * 16 + (b)) / size)
#define FROM_ROWS(b) (char)(ELEMENT(b) % k == j ? ELEMENT(b) / k * size + (b) % size : 0x80)
INLINE __m128i from_rows(int size, int k, int j, int i) { return EACH_BYTE(FROM_ROWS); }

/* The first `rows` of k rows; past: past the cache. */
INLINE void deinterleave_set(char *dst, const int64_t *to, const char *src, int size, int k, int rows, bool past) {
  vector in[4];
  UNROLL for (int i = 0; i < k; i++) in[i] = load(src + i * 16, k * 16);
  UNROLL for (int j = 0; j < rows; j++) {
    vector out = pick(in[0], from_groups(size, k, j, 0));
    UNROLL for (int i = 1; i < k; i++) out = unite(out, pick(in[i], from_groups(size, k, j, i)));
    if (past) stream_whole(dst + to[j], out);
    else store_whole(dst + to[j], out);
  }
}

INLINE void interleave_set(char *dst, const char *src, const int64_t *from, int size, int k) {
  vector in[4];
  UNROLL for (int j = 0; j < k; j++) in[j] = load_whole(src + from[j]);
  UNROLL for (int i = 0; i < k; i++) {
    vector out = pick(in[0], from_rows(size, k, 0, i));
    UNROLL for (int j = 1; j < k; j++) out = unite(out, pick(in[j], from_rows(size, k, j, i)));
    store(dst + i * 16, k * 16, out);
  }
}

INLINE void deinterleave_rows(char *dst, const int64_t *to, const char *src, int64_t n, int size, int k) {
  const int64_t set = LANES * 16 / size;
  if (n < set) {
    for (int64_t i = 0; i < n; i++)
      for (int j = 0; j < k; j++) memcpy(dst + to[j] + i * size, src + (i * k + j) * size, (size_t)size);
    return;
  }
  for (int64_t i = 0; i + set <= n; i += set)
    deinterleave_set(dst + i * size, to, src + i * k * size, size, k, k, false);
  if (n % set) deinterleave_set(dst + (n - set) * size, to, src + (n - set) * k * size, size, k, k, false);
}

/* Line by line of each row, the source's asked for some way ahead: bytes of 3 channels make 1.13 of memcpy by themselves, 1.20 with 1 KiB, 1.26 with 4
 * (Zen 5). */
INLINE void deinterleave_lines(char *dst, const int64_t *to, const char *src, int64_t n, int size, int k) {
  const int64_t set = LANES * 16 / size, line = LINE / size;
  int64_t i = 0;
  for (; i + line <= n; i += line) {
    const char *groups = src + i * k * size;
    UNROLL for (int j = 0; j < k; j++) __builtin_prefetch(groups + AHEAD + j * LINE);
    for (int64_t l = 0; l < line; l += set)
      deinterleave_set(dst + (i + l) * size, to, groups + l * k * size, size, k, k, true);
  }
  deinterleave_rows(dst + i * size, to, src + i * k * size, n - i, size, k);
}

INLINE void interleave_rows(char *dst, const char *src, const int64_t *from, int64_t n, int size, int k) {
  const int64_t set = LANES * 16 / size;
  if (n < set) {
    for (int64_t i = 0; i < n; i++)
      for (int j = 0; j < k; j++) memcpy(dst + (i * k + j) * size, src + from[j] + i * size, (size_t)size);
    return;
  }
  for (int64_t i = 0; i + set <= n; i += set) interleave_set(dst + i * k * size, src + i * size, from, size, k);
  if (n % set) interleave_set(dst + (n - set) * k * size, src + (n - set) * size, from, size, k);
}

/* A set reads to the end of its last group, so it must not be the last element's. */
INLINE void gather_every(char *dst, const char *src, int64_t n, int size, int k) {
  const int64_t set = LANES * 16 / size, first_row = 0;
  int64_t i = 0;
  for (; i + set < n; i += set) deinterleave_set(dst + i * size, &first_row, src + i * k * size, size, k, 1, false);
  for (; i < n; i++) memcpy(dst + i * size, src + i * k * size, (size_t)size);
}

#define EACH_GROUP(bytes, F)     \
  switch (k) {                   \
    case 2: F(bytes, 2); break;  \
    case 3: F(bytes, 3); break;  \
    default: F(bytes, 4); break; \
  }
#define SPLIT(bytes, k) deinterleave_rows(dst, to, src, n, bytes, k)
#define SPLIT_LINES(bytes, k) deinterleave_lines(dst, to, src, n, bytes, k)
#define JOIN(bytes, k) interleave_rows(dst, src, from, n, bytes, k)
#define EVERY(bytes, k) gather_every(dst, src, n, bytes, k)

#define WF_SIZE(bytes)                                                                                      \
  static void deinterleave_##bytes(void *dst, const int64_t *to, const void *src, int64_t n, int k) {       \
    EACH_GROUP(bytes, SPLIT)                                                                                \
  }                                                                                                         \
  static void deinterleave_lines_##bytes(void *dst, const int64_t *to, const void *src, int64_t n, int k) { \
    EACH_GROUP(bytes, SPLIT_LINES)                                                                          \
  }                                                                                                         \
  static void interleave_##bytes(void *dst, const void *src, const int64_t *from, int64_t n, int k) {       \
    EACH_GROUP(bytes, JOIN)                                                                                 \
  }                                                                                                         \
  static void gather_##bytes(void *dst, const void *src, int64_t stride, int64_t n) {                       \
    if (stride >= 2 * bytes && stride <= 4 * bytes && stride % bytes == 0) {                                \
      int k = (int)(stride / bytes);                                                                        \
      EACH_GROUP(bytes, EVERY)                                                                              \
      return;                                                                                               \
    }                                                                                                       \
    for (int64_t i = 0; i < n; i++) memcpy((char *)dst + i * bytes, (const char *)src + i * stride, bytes); \
  }
WF_SIZE(1)
WF_SIZE(2)
WF_SIZE(4)
WF_SIZE(8)
#undef WF_SIZE
#endif

void WFK(wf__interleave)(wf__kernels *table) {
#if defined(__AVX2__)
#define WF_SIZE(k, bytes)                                    \
  table->deinterleave[k] = deinterleave_##bytes;             \
  table->deinterleave_lines[k] = deinterleave_lines_##bytes; \
  table->interleave[k] = interleave_##bytes;                 \
  table->gather[k] = gather_##bytes;
  WF_SIZE(0, 1)
  WF_SIZE(1, 2)
  WF_SIZE(2, 4)
  WF_SIZE(3, 8)
#undef WF_SIZE
#else
  (void)table;
#endif
}
