/* Matrix products as plans: OpenBLAS and the reference loops against a sum in double over the same numbers. */
#include "test.h"

#include <math.h>
#include <stdlib.h>

#include "base/convert.h"
#include "exec/blas.h"
#include "exec/exec.h"
#include "kernel/neural.h"

#define ROOM 4096

/* One operand in a buffer of its own: numbers are small multiples of 1/4, exact in every dtype of the tests. */
typedef struct matrix {
  unsigned char bytes[ROOM * 8];
  int64_t batch, row, column; /* element strides */
} matrix;

static uint32_t seed = 1;
static int next(int below) {
  seed = seed * 1664525u + 1013904223u;
  return (int)((seed >> 8) % (uint32_t)below);
}

static void put(matrix *x, wf_dtype dtype, int64_t at, double value) {
  wf__scalar_store(wf_dtype_is_float(dtype) ? wf_float(value) : wf_int((int64_t)value), dtype,
                   x->bytes + at * (int64_t)wf_dtype_size(dtype));
}
static double get(const matrix *x, wf_dtype dtype, int64_t at) {
  return wf__scalar_double(wf__scalar_load(dtype, x->bytes + at * (int64_t)wf_dtype_size(dtype)));
}

/* layout 0 row-major, 1 column-major, 2 row-major with gaps, 3 nothing that a library takes */
static void lay_out(matrix *x, int layout, int64_t rows, int64_t columns) {
  x->row = layout == 1 ? 1 : layout == 2 ? columns + 3 : layout == 3 ? 2 * columns : columns;
  x->column = layout == 1 ? rows : layout == 3 ? 2 : 1;
  x->batch = rows * columns * 2 + 3 * rows;
}

static void fill(matrix *x, wf_dtype dtype) {
  bool is_float = wf_dtype_is_float(dtype);
  for (int64_t i = 0; i < ROOM; i++) put(x, dtype, i, is_float ? (next(33) - 16) / 4.0 : next(9));
}

static void operand(wf_plan *p, int i, matrix *x, wf_dtype dtype) {
  int64_t item = (int64_t)wf_dtype_size(dtype);
  p->operand[i] =
      (wf_operand){.data = x->bytes, .dtype = dtype, .stride = {x->batch * item, x->row * item, x->column * item}};
}

static matrix out, a, b, c, before;

static void check(wf_dtype dtype, int64_t batch, int64_t m, int64_t n, int64_t k, const int layout[4], double alpha,
                  double beta, bool with_addend) {
  lay_out(&out, layout[0], m, n);
  lay_out(&a, layout[1], m, k);
  lay_out(&b, layout[2], k, n);
  lay_out(&c, layout[3], m, n);
  if (layout[2] == 1) b.batch = 0; /* one factor for the whole batch */
  matrix *all[] = {&out, &a, &b, &c};
  for (int i = 0; i < 4; i++) fill(all[i], dtype);
  before = out;
  wf_plan p = {
      .family = WF_FAMILY_MATMUL, .op = WF__MATMUL, .operands = 4, .outputs = 1, .ndim = 3, .size = {batch, m, n}};
  p.param.matmul.k = k;
  p.scalar[0] = wf_float(alpha);
  p.scalar[1] = wf_float(beta);
  operand(&p, 0, &out, dtype);
  operand(&p, 1, &a, dtype);
  operand(&p, 2, &b, dtype);
  if (with_addend) operand(&p, 3, &c, dtype);
  assert_ok(wf__exec(&p));
  const matrix *addend = with_addend ? &c : &before;
  for (int64_t q = 0; q < batch; q++)
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int64_t l = 0; l < k; l++)
          sum += get(&a, dtype, q * a.batch + i * a.row + l * a.column) *
                 get(&b, dtype, q * b.batch + l * b.row + j * b.column);
        sum = alpha * sum +
              (beta != 0 ? beta * get(addend, dtype, q * addend->batch + i * addend->row + j * addend->column) : 0);
        unsigned char expected[8];
        wf__scalar_store(wf_dtype_is_float(dtype) ? wf_float(sum) : wf_int((int64_t)sum), dtype, expected);
        assert_float_equal(get(&out, dtype, q * out.batch + i * out.row + j * out.column),
                           wf__scalar_double(wf__scalar_load(dtype, expected)), 0);
        put(&out, dtype, q * out.batch + i * out.row + j * out.column,
            get(&before, dtype, q * before.batch + i * before.row + j * before.column));
      }
  /* what lies between the elements of the result hasn't been touched */
  assert_memory_equal(out.bytes, before.bytes, sizeof out.bytes);
}

static void products_of_every_dtype_and_layout_equal_the_sum(void **state) {
  static const wf_dtype dtypes[] = {WF_F64, WF_F32, WF_F16, WF_BF16, WF_I64, WF_I32, WF_I16, WF_I8, WF_U8};
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
    for (int trial = 0; trial < 60; trial++) {
      int layout[4] = {next(4), next(4), next(4), next(4)};
      int64_t most = dtypes[d] == WF_F32 || dtypes[d] == WF_F64 ? 14 : 6;
      check(dtypes[d], 1 + next(3), 1 + next((int)most), 1 + next((int)most), 1 + next((int)most), layout, 1 + next(2),
            next(3), next(2));
    }
}

/* Large enough for gemv and for more than one thread: vectors with gaps, matrices in both orders, from both sides. */
static void large_products_with_vectors_equal_the_sum(void **state) {
  enum { M = 600, K = 700 };
  double *matrix = malloc(M * K * 8), *x = malloc(3 * K * 8), *y = malloc(2 * M * 8);
  for (int i = 0; i < M * K; i++) matrix[i] = next(17) - 8;
  for (int i = 0; i < 3 * K; i++) x[i] = next(17) - 8;
  for (int form = 0; form < 4;
       form++) { /* bit 0: the matrix is stored by columns; bit 1: it stands at the right, transposed */
    for (int i = 0; i < 2 * M; i++) y[i] = 1;
    int64_t row = form & 1 ? 8 : K * 8, column = form & 1 ? M * 8 : 8;
    wf_plan p = {.family = WF_FAMILY_MATMUL,
                 .operands = 3,
                 .outputs = 1,
                 .ndim = 2,
                 .size = {form & 2 ? 1 : M, form & 2 ? M : 1}};
    p.param.matmul.k = K;
    p.scalar[0] = wf_float(2);
    p.scalar[1] = wf_float(3);
    wf_operand m = {.data = matrix, .dtype = WF_F64, .stride = {form & 2 ? column : row, form & 2 ? row : column}};
    wf_operand v = {.data = x, .dtype = WF_F64, .stride = {24, 24}};
    p.operand[0] = (wf_operand){.data = y, .dtype = WF_F64, .stride = {16, 16}};
    p.operand[1] = form & 2 ? v : m;
    p.operand[2] = form & 2 ? m : v;
    assert_ok(wf__exec(&p));
    for (int i = 0; i < M; i++) {
      double sum = 0;
      for (int k = 0; k < K; k++) sum += matrix[(i * row + k * column) / 8] * x[3 * k];
      assert_float_equal(y[2 * i], 2 * sum + 3, 0);
      assert_float_equal(y[2 * i + 1], 1, 0);
    }
  }
  free(matrix);
  free(x);
  free(y);
}

static void an_empty_sum_gives_the_addend_alone(void **state) {
  const int layout[4] = {0, 0, 0, 1};
  check(WF_F32, 2, 3, 4, 0, layout, 1, 2, true);
  check(WF_F32, 2, 3, 4, 0, layout, 1, 0, false);
  check(WF_F32, 2, 0, 4, 3, layout, 1, 1, true);
  check(WF_F32, 0, 2, 4, 3, layout, 1, 1, true);
}

static void beta_zero_reads_neither_the_result_nor_the_addend(void **state) {
  float x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8}, r[4] = {NAN, NAN, NAN, NAN}, s[4] = {NAN, NAN, NAN, NAN};
  wf_plan p = {.family = WF_FAMILY_MATMUL, .operands = 4, .outputs = 1, .ndim = 2, .size = {2, 2}};
  p.param.matmul.k = 2;
  p.scalar[0] = wf_float(1);
  p.scalar[1] = wf_float(0);
  float *data[4] = {r, x, y, s};
  for (int i = 0; i < 4; i++) p.operand[i] = (wf_operand){.data = data[i], .dtype = WF_F32, .stride = {8, 4}};
  assert_ok(wf__exec(&p));
  const float expected[4] = {19, 22, 43, 50};
  assert_memory_equal(r, expected, sizeof r);
}

static void bool_has_no_product(void **state) {
  wf_plan p = {.family = WF_FAMILY_MATMUL, .operands = 3, .outputs = 1, .ndim = 2, .size = {1, 1}};
  p.operand[0].dtype = WF_BOOL;
  assert_int_equal(wf__exec(&p), WF_NOT_IMPLEMENTED);
  assert_error(WF_NOT_IMPLEMENTED, "\"addmm_impl_cpu_\" not implemented for 'Bool'");
}

#ifdef WF_HAVE_OPENBLAS
static void the_openmp_build_of_openblas_runs_with_kernels_that_fit_the_cpu(void **state) {
  assert_string_equal(wf__blas_threading(), "OpenMP");
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && !getenv("OPENBLAS_CORETYPE") && !getenv("WEFT_CPU_MAX")) {
    assert_string_not_equal(wf__blas_core(), "Prescott");
    assert_string_not_equal(wf__blas_core(), "Core2");
  }
#endif
}
#endif

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(products_of_every_dtype_and_layout_equal_the_sum),
    cmocka_unit_test(large_products_with_vectors_equal_the_sum),
    cmocka_unit_test(an_empty_sum_gives_the_addend_alone),
    cmocka_unit_test(beta_zero_reads_neither_the_result_nor_the_addend),
    cmocka_unit_test(bool_has_no_product),
#ifdef WF_HAVE_OPENBLAS
    cmocka_unit_test(the_openmp_build_of_openblas_runs_with_kernels_that_fit_the_cpu),
#endif
};
WF_TEST_MAIN("exec/exec_matmul", tests)
