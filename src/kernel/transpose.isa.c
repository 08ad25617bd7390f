/* Transposes in registers, of elements of 1 to 16 bytes.
 *
 * One scheme serves every element size and instruction set. A lane of 16 bytes holds N elements, and N rows of one lane are turned by log2 N
 * rounds of interleaving (unpack) of row i with row i + N/2. A register of L lanes has L such squares side by side: lane l of row i is loaded
 * from source row l N + i, so that what comes out is N rows of L N consecutive elements: with AVX-512 whole cache lines. It costs N/2 log2 N · 2
 * shuffles for L N² elements (bytes, L = 4: 64 for 1024).
 *
 * Edges are turned by narrower registers; what is left of a row or column that has N elements or more by a square that overlaps the last one. Only
 * blocks smaller than a square load and store part of a lane. Nothing outside of the block is read or written. */
#include "kernel/ahead.h"
#include "kernel/isa.h"
#include "kernel/tables.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define UNROLL _Pragma("GCC unroll 16")

/* ---- lanes ------------------------------------------------------------------------------------------------------------------ */

/* n < 16 bytes, the rest 0. */
static inline __m128i load_part(const char *p, int64_t n) {
#if defined(__AVX512F__)
  return _mm_maskz_loadu_epi8((__mmask16)((1u << n) - 1), p);
#else
  uint64_t word[2] = {0, 0};
  char *to = (char *)word;
  if (n & 8) memcpy(to, p, 8), to += 8, p += 8;
  if (n & 4) memcpy(to, p, 4), to += 4, p += 4;
  if (n & 2) memcpy(to, p, 2), to += 2, p += 2;
  if (n & 1) *to = *p;
  return _mm_set_epi64x((long long)word[1], (long long)word[0]);
#endif
}

static inline void store_part(char *p, __m128i v, int64_t n) {
#if defined(__AVX512F__)
  _mm_mask_storeu_epi8(p, (__mmask16)((1u << n) - 1), v);
#else
  if (n & 8) {
    _mm_storel_epi64((__m128i *)p, v);
    v = _mm_srli_si128(v, 8);
    p += 8;
  }
  if (n & 4) {
    int32_t word = _mm_cvtsi128_si32(v);
    memcpy(p, &word, 4);
    v = _mm_srli_si128(v, 4);
    p += 4;
  }
  int32_t word = _mm_cvtsi128_si32(v);
  if (n & 2) {
    memcpy(p, &word, 2);
    word >>= 16;
    p += 2;
  }
  if (n & 1) *p = (char)word;
#endif
}

/* Lane l of the result is 16 bytes at src + from[l · apart]. */
static inline __m128i load_1(const char *src, const int64_t *from, int apart) {
  (void)apart;
  return _mm_loadu_si128((const __m128i *)(src + from[0]));
}
static inline void store_1(char *p, __m128i v) { _mm_storeu_si128((__m128i *)p, v); }

#if defined(__AVX2__)
static inline __m256i load_2(const char *src, const int64_t *from, int apart) {
  __m256i v = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(src + from[0])));
  return _mm256_inserti128_si256(v, _mm_loadu_si128((const __m128i *)(src + from[apart])), 1);
}
static inline void store_2(char *p, __m256i v) { _mm256_storeu_si256((__m256i *)p, v); }
#endif
#if defined(__AVX512F__)
static inline __m512i load_4(const char *src, const int64_t *from, int apart) {
  __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(src + from[0])));
  v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(src + from[apart])), 1);
  v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(src + from[2 * apart])), 2);
  return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(src + from[3 * apart])), 3);
}
static inline void store_4(char *p, __m512i v) { _mm512_storeu_si512(p, v); }
#endif

/* ---- squares ---------------------------------------------------------------------------------------------------------------- */

/* turn_<bytes>x<lanes>: a[0 … N-1], in place. */
#define TURN(bytes, lanes, vector, prefix, suffix, N, rounds)                                                     \
  static inline void turn_##bytes##x##lanes(vector *a) {                                                          \
    UNROLL for (int round = 0; round < rounds; round++) {                                                         \
      vector b[N];                                                                                                \
      UNROLL for (int i = 0; i < N / 2; i++) {                                                                    \
        b[2 * i] = prefix##_unpacklo_##suffix(a[i], a[i + N / 2]);                                                \
        b[2 * i + 1] = prefix##_unpackhi_##suffix(a[i], a[i + N / 2]);                                            \
      }                                                                                                           \
      UNROLL for (int i = 0; i < N; i++) a[i] = b[i];                                                             \
    }                                                                                                             \
  }                                                                                                               \
  /* N rows of the destination by lanes · N columns; src: the first row's column */                              \
  static inline void tile_##bytes##x##lanes(char *dst, const int64_t *to, const char *src, const int64_t *from) { \
    vector a[N];                                                                                                  \
    UNROLL for (int i = 0; i < N; i++) a[i] = load_##lanes(src, from + i, N);                                     \
    turn_##bytes##x##lanes(a);                                                                                    \
    UNROLL for (int i = 0; i < N; i++) store_##lanes(dst + to[i], a[i]);                                          \
  }
#define TURNS(lanes, vector, prefix)                                                                       \
  TURN(1, lanes, vector, prefix, epi8, 16, 4)                                                              \
  TURN(2, lanes, vector, prefix, epi16, 8, 3)                                                              \
  TURN(4, lanes, vector, prefix, epi32, 4, 2)                                                              \
  TURN(8, lanes, vector, prefix, epi64, 2, 1)                                                              \
  static inline void tile_16x##lanes(char *dst, const int64_t *to, const char *src, const int64_t *from) { \
    store_##lanes(dst + to[0], load_##lanes(src, from, 1));                                                \
  }

TURNS(1, __m128i, _mm)
#if defined(__AVX2__)
TURNS(2, __m256i, _mm256)
#endif
#if defined(__AVX512F__)
TURNS(4, __m512i, _mm512)
#endif

/* Strips of lanes · N columns while there are any left, all rows of each: the source's lines are used up before the next strip. */
#define STRIPS(bytes, lanes)                                                                                  \
  for (; cols - c >= lanes * N; c += lanes * N) {                                                             \
    int64_t r = 0;                                                                                            \
    for (; r + N <= rows; r += N) tile_##bytes##x##lanes(dst + c * bytes, to + r, src + r * bytes, from + c); \
    if (r < rows) tile_##bytes##x##lanes(dst + c * bytes, to + rows - N, src + (rows - N) * bytes, from + c); \
  }
#if defined(__AVX512F__)
#define ALL_STRIPS(bytes) STRIPS(bytes, 4) STRIPS(bytes, 2) STRIPS(bytes, 1)
#elif defined(__AVX2__)
#define ALL_STRIPS(bytes) STRIPS(bytes, 2) STRIPS(bytes, 1)
#else
#define ALL_STRIPS(bytes) STRIPS(bytes, 1)
#endif

/* transpose_<bytes>: dst row r at to[r], source row c at from[c]. */
#define TRANSPOSE(bytes, count)                                                                                 \
  /* less than a square in one direction at least */                                                            \
  static void part_##bytes(char *dst, const int64_t *to, const char *src, const int64_t *from, int64_t rows,    \
                           int64_t cols) {                                                                      \
    enum { N = count };                                                                                         \
    __m128i a[N];                                                                                               \
    UNROLL for (int i = 0; i < N; i++) {                                                                        \
      if (i >= cols) a[i] = _mm_setzero_si128();                                                                \
      else if (rows >= N) a[i] = load_1(src, from + i, 0);                                                      \
      else a[i] = load_part(src + from[i], rows * bytes);                                                       \
    }                                                                                                           \
    turn_##bytes##x1(a);                                                                                        \
    UNROLL for (int i = 0; i < N; i++) {                                                                        \
      if (i >= rows) break;                                                                                     \
      if (cols >= N) store_1(dst + to[i], a[i]);                                                                \
      else store_part(dst + to[i], a[i], cols * bytes);                                                         \
    }                                                                                                           \
  }                                                                                                             \
  static void transpose_##bytes(void *to_block, const int64_t *to, const void *from_block, const int64_t *from, \
                                int64_t rows, int64_t cols) {                                                   \
    enum { N = count };                                                                                         \
    char *dst = to_block;                                                                                       \
    const char *src = from_block;                                                                               \
    if (rows >= N && cols >= N) {                                                                               \
      int64_t c = 0;                                                                                            \
      ALL_STRIPS(bytes)                                                                                         \
      if (c == cols) return;                                                                                    \
      int64_t r = 0;                                                                                            \
      c = cols - N;                                                                                             \
      for (; r + N <= rows; r += N) tile_##bytes##x1(dst + c * bytes, to + r, src + r * bytes, from + c);       \
      if (r < rows) tile_##bytes##x1(dst + c * bytes, to + rows - N, src + (rows - N) * bytes, from + c);       \
      return;                                                                                                   \
    }                                                                                                           \
    for (int64_t c = 0; c < cols; c += N)                                                                       \
      for (int64_t r = 0; r < rows; r += N) {                                                                   \
        /* the last of several overlaps the one before */                                                       \
        int64_t r0 = rows >= N && r + N > rows ? rows - N : r, c0 = cols >= N && c + N > cols ? cols - N : c;   \
        part_##bytes(dst + c0 * bytes, to + r0, src + r0 * bytes, from + c0, rows - r0, cols - c0);             \
      }                                                                                                         \
  }

TRANSPOSE(1, 16)
TRANSPOSE(2, 8)
TRANSPOSE(4, 4)
TRANSPOSE(8, 2)

static void transpose_16(void *to_block, const int64_t *to, const void *from_block, const int64_t *from, int64_t rows,
                         int64_t cols) {
  enum { N = 1 };
  char *dst = to_block;
  const char *src = from_block;
  int64_t c = 0;
  ALL_STRIPS(16)
}

/* ---- equal distances between rows ------------------------------------------------------------------------------------------- */

#define BLOCK 64 /* rows and columns of a block whose places are listed: each is a line or more long */

static inline void transpose_strided(wf__transpose_at_fn transpose, int64_t size, char *dst, int64_t dst_stride,
                                     const char *src, int64_t src_stride, int64_t rows, int64_t cols) {
  int64_t to[BLOCK], from[BLOCK];
  int64_t most_rows = rows < BLOCK ? rows : BLOCK, most_cols = cols < BLOCK ? cols : BLOCK;
  for (int64_t i = 0; i < most_rows; i++) to[i] = i * dst_stride;
  for (int64_t i = 0; i < most_cols; i++) from[i] = i * src_stride;
  for (int64_t c = 0; c < cols; c += BLOCK)
    for (int64_t r = 0; r < rows; r += BLOCK)
      transpose(dst + r * dst_stride + c * size, to, src + c * src_stride + r * size, from,
                rows - r < BLOCK ? rows - r : BLOCK, cols - c < BLOCK ? cols - c : BLOCK);
}

#define STRIDED(bytes)                                                                                          \
  static void strided_##bytes(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, int64_t rows, \
                              int64_t cols) {                                                                   \
    transpose_strided(transpose_##bytes, bytes, dst, dst_stride, src, src_stride, rows, cols);                  \
  }
STRIDED(1)
STRIDED(2)
STRIDED(4)
STRIDED(8)
STRIDED(16)

/* ---- past the cache --------------------------------------------------------------------------------------------------------- */

#define LINE 64

/* A block of the source's rows is brought side by side first, converted if need be: so each line of the source is read once, however the rows'
 * addresses collide in the cache. Lines of the destination then leave straight from registers, while those of the next block are on their way.
 * How large a block is best differs between processors: exec/ says. */
#if defined(__AVX512F__)
#define STREAM_TILE(bytes)                                              \
  __m512i a[N];                                                         \
  UNROLL for (int i = 0; i < N; i++) a[i] = load_4(from, place + i, N); \
  turn_##bytes##x4(a);                                                  \
  UNROLL for (int i = 0; i < N; i++) _mm512_stream_si512((void *)(to + i * dst_stride), a[i]);
static inline void turn_16x4(__m512i *a) { (void)a; }
#else
static inline void stream_line(char *dst, const char *src) {
  for (int i = 0; i < LINE; i += 16)
    _mm_stream_si128((__m128i *)(dst + i), _mm_loadu_si128((const __m128i *)(src + i)));
}
#define STREAM_TILE(bytes)                              \
  char lines[N * LINE];                                 \
  int64_t row[N];                                       \
  UNROLL for (int i = 0; i < N; i++) row[i] = i * LINE; \
  transpose_##bytes(lines, row, from, place, N, side);  \
  for (int i = 0; i < N; i++) stream_line(to + i * dst_stride, lines + i * LINE);
#endif

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Asks for as many of the next lines as won't be asked for while lines of the destination are stored, one for each: the ones that elements
 * lose by becoming narrower. */
static inline void stage_rows(const wf__lines_how *how, int64_t size, int64_t pitch, const char *src,
                              int64_t src_stride, int64_t cols, int64_t n, wf__ahead *next) {
  int64_t bytes = n * how->from_size, whole = bytes / LINE * LINE;
  int64_t lines_asked = how->from_size > size ? n * (how->from_size - size) / LINE : 0;
  for (int64_t c = 0; c < cols; c++, src += src_stride) {
    char *to = how->stage + c * pitch;
    wf__ask(next, lines_asked);
    if (how->convert) {
      how->convert(to, src, n);
      continue;
    }
    for (int64_t i = 0; i < whole; i += LINE) memcpy(to + i, src + i, LINE);
    memcpy(to + whole, src + whole, (size_t)(bytes - whole));
  }
}

/* n rows of the destination by cols columns, from the stage; whole lines past the cache, the rest not. */
#define STORE_STAGE(bytes, count)                                                                                    \
  static inline void store_stage_##bytes(char *dst, int64_t dst_stride, const char *stage, int64_t pitch, int64_t n, \
                                         int64_t cols, wf__ahead *next) {                                            \
    enum { N = count, side = LINE / bytes };                                                                         \
    int64_t place[side], lines = cols / side, whole_rows = n / N * N, whole_cols = lines * side;                     \
    for (int i = 0; i < side; i++) place[i] = i * pitch;                                                             \
    for (int64_t r = 0; r < whole_rows; r += N) {                                                                    \
      for (int64_t l = 0; l < lines; l++) {                                                                          \
        const char *from = stage + l * side * pitch + r * bytes;                                                     \
        char *to = dst + r * dst_stride + l * LINE;                                                                  \
        STREAM_TILE(bytes)                                                                                           \
      }                                                                                                              \
      wf__ask(next, N *lines);                                                                                       \
    }                                                                                                                \
    strided_##bytes(dst + whole_rows * dst_stride, dst_stride, stage + whole_rows * bytes, pitch, n - whole_rows,    \
                    whole_cols);                                                                                     \
    strided_##bytes(dst + whole_cols * bytes, dst_stride, stage + whole_cols * pitch, pitch, n, cols - whole_cols);  \
  }

/* What is read after the block at column c and row r: the next one along the source's rows, of the next strip, or of the next call.
 * Into the first cache where a block has whole rows of the destination, as pictures' channels are: [32,64,56,56] permuted 0,2,3,1 makes 0.83 to
 * 0.92 of memcpy so, from the second 0.68 to 0.90, which changes from minute to minute; 4096 squared 0.85, from the second 0.93 (Zen 5). Not where
 * the rows would meet in one place of it: [64,64,64,64] reversed makes 0.56 to 0.61 so, else 0.78 to 0.82. */
static inline wf__ahead next_block(const wf__lines_how *how, const char *src, int64_t src_stride, int64_t rows,
                                   int64_t cols, int64_t strip, int64_t r, int64_t c) {
  int64_t staged = how->staged, along = rows - r - staged, across = cols - c - strip;
  bool near = cols <= strip && src_stride % 4096;
  if (!how->ahead) return (wf__ahead){0};
  if (along > 0)
    return (wf__ahead){src + c * src_stride + (r + staged) * how->from_size,
                       src_stride,
                       least(staged, along) * how->from_size,
                       least(strip, cols - c),
                       0,
                       near};
  if (across > 0)
    return (wf__ahead){src + (c + strip) * src_stride, src_stride, least(staged, rows) * how->from_size,
                       least(strip, across),           0,          near};
  return (wf__ahead){how->next, src_stride, least(staged, rows) * how->from_size, how->next ? least(strip, cols) : 0,
                     0,         near};
}

/* Block by block along the source's rows, strip by strip of columns. */
#define TRANSPOSE_LINES(bytes, count)                                                                          \
  STORE_STAGE(bytes, count)                                                                                    \
  static void lines_##bytes(void *to, int64_t dst_stride, const void *from, int64_t src_stride, int64_t rows,  \
                            int64_t cols, const wf__lines_how *how) {                                          \
    char *dst = to;                                                                                            \
    const char *src = from;                                                                                    \
    int64_t strip = how->lines * (LINE / bytes), pitch = wf__lines_pitch(how->staged * bytes);                 \
    for (int64_t c = 0; c < cols; c += strip)                                                                  \
      for (int64_t r = 0; r < rows; r += how->staged) {                                                        \
        int64_t n = least(how->staged, rows - r), width = least(strip, cols - c);                              \
        wf__ahead next = next_block(how, src, src_stride, rows, cols, strip, r, c);                            \
        stage_rows(how, bytes, pitch, src + c * src_stride + r * how->from_size, src_stride, width, n, &next); \
        store_stage_##bytes(dst + r * dst_stride + c * bytes, dst_stride, how->stage, pitch, n, width, &next); \
      }                                                                                                        \
  }

TRANSPOSE_LINES(1, 16)
TRANSPOSE_LINES(2, 8)
TRANSPOSE_LINES(4, 4)
TRANSPOSE_LINES(8, 2)
TRANSPOSE_LINES(16, 1)

void WFK(wf__transpose)(wf__kernels *table) {
#define WF_SIZE(k, bytes)                     \
  table->transpose_at[k] = transpose_##bytes; \
  table->transpose[k] = strided_##bytes;      \
  table->transpose_lines[k] = lines_##bytes;
  WF_SIZE(0, 1)
  WF_SIZE(1, 2)
  WF_SIZE(2, 4)
  WF_SIZE(3, 8)
  WF_SIZE(4, 16)
#undef WF_SIZE
}
