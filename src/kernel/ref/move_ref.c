/* Moves of elements of 1 to 16 bytes between strided, interleaved, transposed and consecutive places, plain. */
#include <string.h>

#include "kernel/tables.h"

/* The size is a constant in each instance, so that memcpy of one element is one move. */
static inline void gather(char *dst, const char *src, int64_t stride, int64_t n, size_t size) {
  for (int64_t i = 0; i < n; i++) memcpy(dst + i * (int64_t)size, src + i * stride, size);
}

static inline void scatter(char *dst, int64_t stride, const char *src, int64_t n, size_t size) {
  for (int64_t i = 0; i < n; i++) memcpy(dst + i * stride, src + i * (int64_t)size, size);
}

static inline void transpose(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t rows,
                             int64_t cols, size_t size) {
  for (int64_t r = 0; r < rows; r++) gather(dst + r * dst_stride, src + r * (int64_t)size, src_stride, cols, size);
}

/* Element by element: nothing passes a cache here. */
static inline void transpose_lines(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t rows,
                                   int64_t cols, const wf__lines_how *how, size_t size) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < cols; c++) {
      const char *from = src + c * src_stride + r * how->from_size;
      char *to = dst + r * dst_stride + c * (int64_t)size;
      if (how->convert) how->convert(to, from, 1);
      else memcpy(to, from, size);
    }
}

static inline void transpose_at(char *dst, const int64_t *to, const char *src, const int64_t *from, int64_t rows,
                                int64_t cols, size_t size) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < cols; c++) memcpy(dst + to[r] + c * (int64_t)size, src + from[c] + r * (int64_t)size, size);
}

static inline void deinterleave(char *dst, const int64_t *to, const char *src, int64_t n, int k, size_t size) {
  for (int j = 0; j < k; j++) gather(dst + to[j], src + j * (int64_t)size, k * (int64_t)size, n, size);
}

static inline void interleave(char *dst, const char *src, const int64_t *from, int64_t n, int k, size_t size) {
  for (int j = 0; j < k; j++) scatter(dst + j * (int64_t)size, k * (int64_t)size, src + from[j], n, size);
}

#define WF_SIZE(bytes)                                                                                               \
  static void gather_##bytes(void *dst, const void *src, int64_t stride, int64_t n) {                                \
    gather(dst, src, stride, n, bytes);                                                                              \
  }                                                                                                                  \
  static void scatter_##bytes(void *dst, int64_t stride, const void *src, int64_t n) {                               \
    scatter(dst, stride, src, n, bytes);                                                                             \
  }                                                                                                                  \
  static void transpose_##bytes(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, int64_t rows,    \
                                int64_t cols) {                                                                      \
    transpose(dst, dst_stride, src, src_stride, rows, cols, bytes);                                                  \
  }                                                                                                                  \
  static void transpose_lines_##bytes(void *dst, int64_t dst_stride, const void *src, int64_t src_stride,            \
                                      int64_t rows, int64_t cols, const wf__lines_how *how) {                        \
    transpose_lines(dst, dst_stride, src, src_stride, rows, cols, how, bytes);                                       \
  }                                                                                                                  \
  static void transpose_at_##bytes(void *dst, const int64_t *to, const void *src, const int64_t *from, int64_t rows, \
                                   int64_t cols) {                                                                   \
    transpose_at(dst, to, src, from, rows, cols, bytes);                                                             \
  }                                                                                                                  \
  static void deinterleave_##bytes(void *dst, const int64_t *to, const void *src, int64_t n, int k) {                \
    deinterleave(dst, to, src, n, k, bytes);                                                                         \
  }                                                                                                                  \
  static void interleave_##bytes(void *dst, const void *src, const int64_t *from, int64_t n, int k) {                \
    interleave(dst, src, from, n, k, bytes);                                                                         \
  }
/* clang-format off: it moves these lines at every run */
WF_SIZE(1)
WF_SIZE(2)
WF_SIZE(4)
WF_SIZE(8)
WF_SIZE(16)
#undef WF_SIZE
/* clang-format on */

static void stream_bytes(void *dst, const void *src, int64_t bytes) { memcpy(dst, src, (size_t)bytes); }

static void fill_bytes(void *dst, const void *pattern, int64_t bytes, bool stream) {
  (void)stream;
  char *p = dst;
  for (; bytes >= 64; bytes -= 64, p += 64) memcpy(p, pattern, 64);
  memcpy(p, pattern, (size_t)bytes);
}

static void move_units(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, int64_t n, int64_t unit) {
  for (int64_t i = 0; i < n; i++)
    memcpy((char *)dst + i * dst_stride, (const char *)src + i * src_stride, (size_t)unit);
}

void wf__move_ref(wf__kernels *table) {
#define WF_SIZE(k, bytes)                              \
  table->gather[k] = gather_##bytes;                   \
  table->scatter[k] = scatter_##bytes;                 \
  table->transpose[k] = transpose_##bytes;             \
  table->transpose_at[k] = transpose_at_##bytes;       \
  table->transpose_lines[k] = transpose_lines_##bytes; \
  table->deinterleave[k] = deinterleave_##bytes;       \
  table->deinterleave_lines[k] = deinterleave_##bytes; \
  table->interleave[k] = interleave_##bytes;
  WF_SIZE(0, 1)
  WF_SIZE(1, 2)
  WF_SIZE(2, 4)
  WF_SIZE(3, 8)
  WF_SIZE(4, 16)
#undef WF_SIZE
  table->stream = stream_bytes;
  table->fill = fill_bytes;
  table->move_units = move_units;
}
