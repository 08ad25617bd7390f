/* Small matrix products of every instruction set against sums written out here: the same bits, since the order is the same. */
#include "test.h"

#include "kernel/tables.h"

#define ROOM 2048

static uint32_t seed = 7;
static uint32_t next(uint32_t below) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % below;
}

#define PRODUCT_TEST(T, CLASS)                                                                                     \
  static void check_##T(int isa, int m, int n, int k, int gap, bool turned) {                                      \
    static T out[ROOM], a[ROOM], b[ROOM], want[ROOM];                                                              \
    for (int i = 0; i < ROOM; i++) {                                                                               \
      a[i] = (T)next(2001) / 1000 - 1;                                                                             \
      b[i] = (T)next(2001) / 1000 - 1;                                                                             \
      out[i] = want[i] = 77;                                                                                       \
    }                                                                                                              \
    int64_t out_row = n + gap, b_row = n + 2 * gap, a_row = turned ? 1 : k + gap, a_column = turned ? m + gap : 1; \
    for (int i = 0; i < m; i++)                                                                                    \
      for (int j = 0; j < n; j++) {                                                                                \
        T sum = 0;                                                                                                 \
        for (int p = 0; p < k; p++) {                                                                              \
          T product = a[i * a_row + p * a_column] * b[p * b_row + j];                                              \
          sum += product;                                                                                          \
        }                                                                                                          \
        want[i * out_row + j] = sum;                                                                               \
      }                                                                                                            \
    wf__kernels_of((wf__isa)isa)->small_product[CLASS](out, out_row, a, a_row, a_column, b, b_row, m, n, k);       \
    if (memcmp(out, want, sizeof out))                                                                             \
      fail_msg("%s, " #T ": [%d, %d] @ [%d, %d], gap %d", wf__cpu_isa_name((wf__isa)isa), m, k, k, n, gap);        \
  }
PRODUCT_TEST(float, WF__CLASS_F32)
PRODUCT_TEST(double, WF__CLASS_F64)

static void every_instruction_set_gives_the_same_bits_and_writes_nothing_else(void **state) {
  (void)state;
  for (int isa = WF__ISA_BASE; isa <= (int)wf__cpu_isa(); isa++)
    for (int i = 0; i < 400; i++) {
      int m = 1 + (int)next(12), n = 4 + 4 * (int)next(10), k = 1 + (int)next(12), gap = (int)next(4);
      check_float(isa, m, n, k, gap, next(2));
      check_double(isa, m, n, k, gap, next(2));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_instruction_set_gives_the_same_bits_and_writes_nothing_else),
};
WF_TEST_MAIN("kernel/small_product", tests)
