/* Runs of bytes past the cache, fills, and short runs at equal distances.
 *
 * Past the cache only whole lines are stored; the ends of a run, which share a line with something else, are stored as usual. None of these
 * loops ends with a fence: who streams does (wf__stream_fence), once, when all its rows are written. */
#include "kernel/isa.h"
#include "kernel/tables.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define LINE 64
#define MEMCPY_FROM 1024 /* bytes of a run that are worth a call */

/* ---- runs ------------------------------------------------------------------------------------------------------------------- */

/* Bytes up to the next whole line of p, at most n. */
static inline int64_t to_line(const void *p, int64_t n) {
  int64_t head = (int64_t)(-(uintptr_t)p % LINE);
  return head < n ? head : n;
}

static inline void stream_line(char *dst, const char *src) {
#if defined(__AVX512F__)
  _mm512_stream_si512((void *)dst, _mm512_loadu_si512(src));
#else
  for (int i = 0; i < LINE; i += 16)
    _mm_stream_si128((__m128i *)(dst + i), _mm_loadu_si128((const __m128i *)(src + i)));
#endif
}

/* Less than a line. */
static inline void move_part(char *dst, const char *src, int64_t n) {
#if defined(__AVX512F__)
  __mmask64 part = ((__mmask64)1 << n) - 1;
  _mm512_mask_storeu_epi8(dst, part, _mm512_maskz_loadu_epi8(part, src));
#else
  memcpy(dst, src, (size_t)n);
#endif
}

static void stream_bytes(void *dst, const void *src, int64_t bytes) {
  char *d = dst;
  const char *s = src;
  int64_t i = to_line(d, bytes);
  if (i) move_part(d, s, i);
  for (; i + LINE <= bytes; i += LINE) stream_line(d + i, s + i);
  if (i < bytes) move_part(d + i, s + i, bytes - i);
}

static void fill_bytes(void *dst, const void *pattern, int64_t bytes, bool stream) {
  char *d = dst, twice[2 * LINE];
  memcpy(twice, pattern, LINE);
  memcpy(twice + LINE, pattern, LINE);
  int64_t i = stream ? to_line(d, bytes) : 0;
  const char *line = twice + i; /* the pattern as it continues at a whole line */
  memcpy(d, twice, (size_t)i);
  if (stream) {
    for (; i + LINE <= bytes; i += LINE) stream_line(d + i, line);
  } else {
    for (; i + LINE <= bytes; i += LINE) memcpy(d + i, line, LINE);
  }
  memcpy(d + i, line, (size_t)(bytes - i));
}

/* ---- short runs ------------------------------------------------------------------------------------------------------------- */

/* One run of `unit` bytes as two moves of `half` that may overlap: half <= unit <= 2 half. */
#define TWO_MOVES(half)                                               \
  for (int64_t i = 0; i < n; i++, d += dst_stride, s += src_stride) { \
    char first[half], last[half];                                     \
    memcpy(first, s, half);                                           \
    memcpy(last, s + unit - half, half);                              \
    memcpy(d, first, half);                                           \
    memcpy(d + unit - half, last, half);                              \
  }

static void move_units(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, int64_t n, int64_t unit) {
  char *d = dst;
  const char *s = src;
  if (unit >= 16 && unit <= 32) {
    TWO_MOVES(16)
  } else if (unit >= MEMCPY_FROM) {
    for (int64_t i = 0; i < n; i++, d += dst_stride, s += src_stride) memcpy(d, s, (size_t)unit);
  } else if (unit >= LINE) {
    for (int64_t i = 0; i < n; i++, d += dst_stride, s += src_stride) {
      for (int64_t at = 0; at + LINE < unit; at += LINE) memcpy(d + at, s + at, LINE);
      memcpy(d + unit - LINE, s + unit - LINE, LINE);
    }
  } else if (unit > 32) {
    for (int64_t i = 0; i < n; i++, d += dst_stride, s += src_stride) {
      int64_t at = 0;
      for (; at + 16 < unit; at += 16) memcpy(d + at, s + at, 16);
      memcpy(d + unit - 16, s + unit - 16, 16);
    }
  } else if (unit >= 8) {
    TWO_MOVES(8)
  } else if (unit >= 4) {
    TWO_MOVES(4)
  } else if (unit >= 2) {
    TWO_MOVES(2)
  } else {
    for (int64_t i = 0; i < n; i++, d += dst_stride, s += src_stride) *d = *s;
  }
}

void WFK(wf__move)(wf__kernels *table) {
  table->stream = stream_bytes;
  table->fill = fill_bytes;
  table->move_units = move_units;
}
