/* Moves of elements between strided and consecutive places.
 *
 * A transpose goes by square tiles that fit in registers: 16 x 16 elements of 4 bytes with AVX-512, 8 x 8 with AVX2; elements of 1, 2 and 8
 * bytes go by small blocks whose lines stay in L1. A tile of 16 x 4 bytes reads and writes whole cache lines, so that no line is fetched
 * twice however far apart the rows are. Past the cache, whole lines are stored without being read first. */
#include "kernel/isa.h"
#include "kernel/tables.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define LINE 64

/* ---- any element size ------------------------------------------------------------------------------------------------------- */

/* One tile or the rest of one; the sizes are constants where they matter. */
static inline void transpose_block(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t rows,
                                   int64_t cols, int64_t size) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < cols; c++)
      memcpy(dst + r * dst_stride + c * size, src + c * src_stride + r * size, (size_t)size);
}

/* Blocks of one line of the source by one line of the destination. */
static inline void transpose_blocks(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t rows,
                                    int64_t cols, int64_t size) {
  const int64_t side = LINE / size < 8 ? 8 : LINE / size;
  for (int64_t r = 0; r < rows; r += side)
    for (int64_t c = 0; c < cols; c += side)
      transpose_block(dst + r * dst_stride + c * size, dst_stride, src + c * src_stride + r * size, src_stride,
                      rows - r < side ? rows - r : side, cols - c < side ? cols - c : side, size);
}

#define WF_SIZE(bytes)                                                                                            \
  static void transpose_##bytes(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, int64_t rows, \
                                int64_t cols, bool stream) {                                                      \
    (void)stream;                                                                                                 \
    transpose_blocks(dst, dst_stride, src, src_stride, rows, cols, bytes);                                        \
  }
WF_SIZE(1)
WF_SIZE(2)
WF_SIZE(8)
WF_SIZE(16)
#undef WF_SIZE

/* ---- 4 bytes ---------------------------------------------------------------------------------------------------------------- */

#if defined(__AVX512F__)
#define SIDE 16

/* Row r of the tile is column r of the source: pairs of rows are interleaved by 4, then 8 bytes, then by quarters of a register. */
static inline void transpose_tile(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, bool stream) {
  __m512i a[16], b[16];
  for (int i = 0; i < 16; i++) a[i] = _mm512_loadu_si512(src + i * src_stride);
  for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]);
    a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
    a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]);
    a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
  }
  /* a[4 g + k] holds in quarter q: element 4 q + k of source rows 4 g … 4 g + 3 */
  for (int k = 0; k < 4; k++) {
    b[k] = _mm512_shuffle_i32x4(a[k], a[4 + k], 0x88);
    b[4 + k] = _mm512_shuffle_i32x4(a[k], a[4 + k], 0xdd);
    b[8 + k] = _mm512_shuffle_i32x4(a[8 + k], a[12 + k], 0x88);
    b[12 + k] = _mm512_shuffle_i32x4(a[8 + k], a[12 + k], 0xdd);
  }
  for (int k = 0; k < 4; k++) {
    a[k] = _mm512_shuffle_i32x4(b[k], b[8 + k], 0x88);
    a[8 + k] = _mm512_shuffle_i32x4(b[k], b[8 + k], 0xdd);
    a[4 + k] = _mm512_shuffle_i32x4(b[4 + k], b[12 + k], 0x88);
    a[12 + k] = _mm512_shuffle_i32x4(b[4 + k], b[12 + k], 0xdd);
  }
  for (int i = 0; i < 16; i++) {
    if (stream) _mm512_stream_si512((void *)(dst + i * dst_stride), a[i]);
    else _mm512_storeu_si512(dst + i * dst_stride, a[i]);
  }
}
#elif defined(__AVX2__)
#define SIDE 8

static inline void transpose_tile(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, bool stream) {
  __m256i a[8], b[8];
  for (int i = 0; i < 8; i++) a[i] = _mm256_loadu_si256((const __m256i *)(src + i * src_stride));
  for (int i = 0; i < 8; i += 2) {
    b[i] = _mm256_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm256_unpackhi_epi32(a[i], a[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    a[i] = _mm256_unpacklo_epi64(b[i], b[i + 2]);
    a[i + 1] = _mm256_unpackhi_epi64(b[i], b[i + 2]);
    a[i + 2] = _mm256_unpacklo_epi64(b[i + 1], b[i + 3]);
    a[i + 3] = _mm256_unpackhi_epi64(b[i + 1], b[i + 3]);
  }
  for (int k = 0; k < 4; k++) {
    b[k] = _mm256_permute2x128_si256(a[k], a[4 + k], 0x20);
    b[4 + k] = _mm256_permute2x128_si256(a[k], a[4 + k], 0x31);
  }
  for (int i = 0; i < 8; i++) {
    if (stream) _mm256_stream_si256((__m256i *)(dst + i * dst_stride), b[i]);
    else _mm256_storeu_si256((__m256i *)(dst + i * dst_stride), b[i]);
  }
}
#elif defined(__SSE2__)
#define SIDE 4

static inline void transpose_tile(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, bool stream) {
  __m128i a[4], b[4];
  for (int i = 0; i < 4; i++) a[i] = _mm_loadu_si128((const __m128i *)(src + i * src_stride));
  for (int i = 0; i < 4; i += 2) {
    b[i] = _mm_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm_unpackhi_epi32(a[i], a[i + 1]);
  }
  for (int i = 0; i < 2; i++) {
    a[2 * i] = _mm_unpacklo_epi64(b[i], b[2 + i]);
    a[2 * i + 1] = _mm_unpackhi_epi64(b[i], b[2 + i]);
  }
  for (int i = 0; i < 4; i++) {
    if (stream) _mm_stream_si128((__m128i *)(dst + i * dst_stride), a[i]);
    else _mm_storeu_si128((__m128i *)(dst + i * dst_stride), a[i]);
  }
}
#endif

/* Along the source's rows inside: its lines come in order, and the stores of one tile fill lines of their own. */
static inline void transpose_tiles(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t rows,
                                   int64_t cols, bool stream) {
  int64_t whole_rows = rows / SIDE * SIDE, whole_cols = cols / SIDE * SIDE;
  for (int64_t c = 0; c < whole_cols; c += SIDE)
    for (int64_t r = 0; r < whole_rows; r += SIDE)
      transpose_tile(dst + r * dst_stride + c * 4, dst_stride, src + c * src_stride + r * 4, src_stride, stream);
  transpose_block(dst + whole_cols * 4, dst_stride, src + whole_cols * src_stride, src_stride, whole_rows,
                  cols - whole_cols, 4);
  transpose_block(dst + whole_rows * dst_stride, dst_stride, src + whole_rows * 4, src_stride, rows - whole_rows, cols,
                  4);
}

static void transpose_4(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, int64_t rows, int64_t cols,
                        bool stream) {
  if (!stream) {
    transpose_tiles(dst, dst_stride, src, src_stride, rows, cols, false);
    return;
  }
  transpose_tiles(dst, dst_stride, src, src_stride, rows, cols, true);
  _mm_sfence();
}

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

static void stream_bytes(void *dst, const void *src, int64_t bytes) {
  char *d = dst;
  const char *s = src;
  int64_t i = to_line(d, bytes);
  memcpy(d, s, (size_t)i);
  for (; i + LINE <= bytes; i += LINE) stream_line(d + i, s + i);
  memcpy(d + i, s + i, (size_t)(bytes - i));
  _mm_sfence();
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
    _mm_sfence();
  } else {
    for (; i + LINE <= bytes; i += LINE) memcpy(d + i, line, LINE);
  }
  memcpy(d + i, line, (size_t)(bytes - i));
}

void WFK(wf__move)(wf__kernels *table) {
  table->transpose[0] = transpose_1;
  table->transpose[1] = transpose_2;
  table->transpose[2] = transpose_4;
  table->transpose[3] = transpose_8;
  table->transpose[4] = transpose_16;
  table->stream = stream_bytes;
  table->fill = fill_bytes;
}
