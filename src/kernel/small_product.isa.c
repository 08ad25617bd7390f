/* Products of small matrices, where a library's fixed cost is most of the time: rows of the result in vectors of 16, 8 and 4 columns, four
 * rows at a time; columns that don't fill 4 are left to the library, which masks them. Every element is the sum over k in order, one
 * multiplication and one addition a step, exactly as in ref/. */
#include "kernel/isa.h"
#include "kernel/tables.h"

/* C: columns that stand in one vector. */
#define TILE(NAME, T, R, C)                                                                                         \
  static inline __attribute__((always_inline)) void tile_##NAME(                                                    \
      T *out, int64_t out_row, const T *a, int64_t a_row, int64_t a_column, const T *b, int64_t b_row, int64_t k) { \
    typedef T vector __attribute__((vector_size(C * sizeof(T))));                                                   \
    vector sum[R] = {{0}}, y;                                                                                       \
    for (int64_t p = 0; p < k; p++) {                                                                               \
      memcpy(&y, b + p * b_row, sizeof y);                                                                          \
      for (int r = 0; r < R; r++) sum[r] += a[r * a_row + p * a_column] * y;                                        \
    }                                                                                                               \
    for (int r = 0; r < R; r++) memcpy(out + r * out_row, &sum[r], sizeof y);                                       \
  }

/* All rows of C columns. */
#define PANEL(T, C)                                                                                               \
  TILE(T##_4_##C, T, 4, C)                                                                                        \
  TILE(T##_1_##C, T, 1, C)                                                                                        \
  static void panel_##T##_##C(T *out, int64_t out_row, const T *a, int64_t a_row, int64_t a_column, const T *b,   \
                              int64_t b_row, int64_t m, int64_t k) {                                              \
    int64_t i = 0;                                                                                                \
    for (; i + 4 <= m; i += 4)                                                                                    \
      tile_##T##_4_##C(out + i * out_row, out_row, a + i * a_row, a_row, a_column, b, b_row, k);                  \
    for (; i < m; i++) tile_##T##_1_##C(out + i * out_row, out_row, a + i * a_row, a_row, a_column, b, b_row, k); \
  }

#define PRODUCT(T)                                                                                         \
  PANEL(T, 16)                                                                                             \
  PANEL(T, 8)                                                                                              \
  PANEL(T, 4)                                                                                              \
  static void product_##T(void *to, int64_t out_row, const void *left, int64_t a_row, int64_t a_column,    \
                          const void *right, int64_t b_row, int64_t m, int64_t n, int64_t k) {             \
    T *out = to;                                                                                           \
    const T *a = left, *b = right;                                                                         \
    int64_t j = 0;                                                                                         \
    for (; j + 16 <= n; j += 16) panel_##T##_16(out + j, out_row, a, a_row, a_column, b + j, b_row, m, k); \
    if (j + 8 <= n) panel_##T##_8(out + j, out_row, a, a_row, a_column, b + j, b_row, m, k), j += 8;       \
    if (j + 4 <= n) panel_##T##_4(out + j, out_row, a, a_row, a_column, b + j, b_row, m, k);               \
  }

PRODUCT(float)
PRODUCT(double)

void WFK(wf__small_product)(wf__kernels *table) {
  table->small_product[WF__CLASS_F32] = product_float;
  table->small_product[WF__CLASS_F64] = product_double;
}
