/* Matrix products: f32 and f64 by OpenBLAS where both factors and the result have a unit stride, the reference loops else.
 *
 * Transposed factors go to OpenBLAS as flags, never through a copy; what it can't read as it lies, fronts have copied where that pays,
 * in the open, by the copy engine. The smallest are done by a kernel of ours. */
#include <limits.h>

#include "base/convert.h"
#include "base/cpu.h"
#include "exec/families.h"
#include "exec/team.h"
#include "exec/threads.h"
#include "kernel/neural.h"
#include "kernel/tables.h"

static int64_t at_least_one(int64_t n) { return n > 0 ? n : 1; }

#ifdef WF_HAVE_OPENBLAS
#include <cblas.h>

/* Multiplications below which a whole product is left to one thread of a batch. */
#define LARGE_PRODUCT 4000000
/* Elements of a matrix from which on its product with a vector is done by gemv: 1024x1024 46 us against gemm's 539, but 128x128 8 to 1. */
#define LARGE_MATRIX 262144

/* How OpenBLAS sees a matrix: by rows or by columns (both when it's a vector), and the elements from one to the next. */
typedef struct blas_matrix {
  bool by_rows, by_columns;
  int64_t row_step, column_step; /* leading dimension in each form */
} blas_matrix;

static bool fits(int64_t n) { return n >= 0 && n <= INT_MAX; }

/* rows, columns: sizes; the strides are those of operand `i` in its last two dims. */
static blas_matrix see(const wf_plan *plan, int i, int64_t rows, int64_t columns) {
  const wf_operand *o = &plan->operand[i];
  int64_t item = (int64_t)wf_dtype_size(o->dtype), row = o->stride[plan->ndim - 2], column = o->stride[plan->ndim - 1];
  blas_matrix m = {0};
  m.row_step = rows > 1 ? row / item : columns > 1 ? columns : 1;
  m.column_step = columns > 1 ? column / item : rows > 1 ? rows : 1;
  m.by_rows = (columns <= 1 || column == item) && m.row_step >= columns && m.row_step >= 1 && fits(m.row_step);
  m.by_columns = (rows <= 1 || row == item) && m.column_step >= rows && m.column_step >= 1 && fits(m.column_step);
  return m;
}

/* A call to OpenBLAS, decided once for the whole batch. */
typedef struct blas_call {
  const wf_plan *plan;
  CBLAS_ORDER order;
  CBLAS_TRANSPOSE a_form, b_form;
  int m, n, k, a_step, b_step, out_step;
  int vector_step, result_step; /* 0: neither factor is a vector, or the matrix is small */
  double alpha, beta;
} blas_call;

/* The product with a vector as gemv has it. a · x for n 1; for m 1, b transposed times x. */
static void decide_vector(blas_call *c) {
  const wf_plan *plan = c->plan;
  const wf_operand *o = plan->operand;
  int row = plan->ndim - 2, column = plan->ndim - 1;
  int64_t item = (int64_t)wf_dtype_size((wf_dtype)o[0].dtype);
  if ((c->n != 1 && c->m != 1) || (int64_t)c->m * c->n * c->k < LARGE_MATRIX) return;
  int64_t x = (c->n == 1 ? o[2].stride[row] : o[1].stride[column]) / item;
  int64_t y = (c->n == 1 ? o[0].stride[row] : o[0].stride[column]) / item;
  if (x < 1 || y < 1 || !fits(x) || !fits(y)) return;
  c->vector_step = (int)x;
  c->result_step = (int)y;
}

static bool decide(const wf_plan *plan, blas_call *call) {
  int64_t m = plan->size[plan->ndim - 2], n = plan->size[plan->ndim - 1], k = plan->param.matmul.k;
  wf_dtype dtype = plan->operand[0].dtype;
  if (wf__cpu_isa() == WF__ISA_REF || (dtype != WF_F32 && dtype != WF_F64)) return false;
  if (k < 1 || !fits(m) || !fits(n) || !fits(k)) return false;
  blas_matrix out = see(plan, 0, m, n), a = see(plan, 1, m, k), b = see(plan, 2, k, n);
  if (!(out.by_rows || out.by_columns) || !(a.by_rows || a.by_columns) || !(b.by_rows || b.by_columns)) return false;
  bool rows = out.by_rows, a_plain = rows ? a.by_rows : a.by_columns, b_plain = rows ? b.by_rows : b.by_columns;
  *call = (blas_call){.plan = plan,
                      .order = rows ? CblasRowMajor : CblasColMajor,
                      .a_form = a_plain ? CblasNoTrans : CblasTrans,
                      .b_form = b_plain ? CblasNoTrans : CblasTrans,
                      .m = (int)m,
                      .n = (int)n,
                      .k = (int)k,
                      .a_step = (int)(a_plain == rows ? a.row_step : a.column_step),
                      .b_step = (int)(b_plain == rows ? b.row_step : b.column_step),
                      .out_step = (int)(rows ? out.row_step : out.column_step),
                      .alpha = wf__scalar_double(plan->scalar[0]),
                      .beta = wf__scalar_double(plan->scalar[1])};
  decide_vector(call);
  return true;
}

static void run_vector(const blas_call *c, char *out, const char *a, const char *b) {
  bool right = c->n == 1;
  CBLAS_TRANSPOSE form = right ? c->a_form : c->b_form == CblasTrans ? CblasNoTrans : CblasTrans;
  const char *matrix = right ? a : b, *x = right ? b : a;
  int rows = right ? c->m : c->k, columns = right ? c->k : c->n, step = right ? c->a_step : c->b_step;
  if ((right ? c->a_form : c->b_form) == CblasTrans) { /* gemv counts what is stored */
    int swap = rows;
    rows = columns;
    columns = swap;
  }
  if (c->plan->operand[0].dtype == WF_F32)
    cblas_sgemv(c->order, form, rows, columns, (float)c->alpha, (const float *)matrix, step, (const float *)x,
                c->vector_step, (float)c->beta, (float *)out, c->result_step);
  else
    cblas_dgemv(c->order, form, rows, columns, c->alpha, (const double *)matrix, step, (const double *)x,
                c->vector_step, c->beta, (double *)out, c->result_step);
}

/* Products [begin, end) of the batch. Runs inside a team as well: OpenBLAS keeps to one thread there. */
static void run_products(void *context, int64_t begin, int64_t end) {
  const blas_call *c = context;
  const wf_operand *o = c->plan->operand;
  for (int64_t i = begin; i < end; i++) {
    char *out = (char *)o[0].data + wf__matmul_batch_offset(c->plan, 0, i);
    const char *a = (char *)o[1].data + wf__matmul_batch_offset(c->plan, 1, i);
    const char *b = (char *)o[2].data + wf__matmul_batch_offset(c->plan, 2, i);
    if (c->vector_step) run_vector(c, out, a, b);
    else if (o[0].dtype == WF_F32)
      cblas_sgemm(c->order, c->a_form, c->b_form, c->m, c->n, c->k, (float)c->alpha, (const float *)a, c->a_step,
                  (const float *)b, c->b_step, (float)c->beta, (float *)out, c->out_step);
    else
      cblas_dgemm(c->order, c->a_form, c->b_form, c->m, c->n, c->k, c->alpha, (const double *)a, c->a_step,
                  (const double *)b, c->b_step, c->beta, (double *)out, c->out_step);
  }
}
static void addend_rows(void *context, int64_t begin, int64_t end) { wf__ref_matmul_addend(context, begin, end); }

/* The addend goes to where the result will be, and OpenBLAS adds to it. */
static void place_addend(const wf_plan *plan, int64_t rows) {
  const wf_operand *to = &plan->operand[0], *from = &plan->operand[3];
  if (!from->data || !wf__scalar_true(plan->scalar[1])) return;
  bool same = to->data == from->data;
  for (int d = 0; same && d < plan->ndim; d++) same = plan->size[d] == 1 || to->stride[d] == from->stride[d];
  if (!same)
    wf__parallel(rows, at_least_one(WF__GRAIN / at_least_one(plan->size[plan->ndim - 1])), addend_rows, (void *)plan);
}
#endif

/* Multiplications up to which our own loop is faster than OpenBLAS with its own for small matrices, in whole vectors of columns: 4x4x4 takes
 * 8 ns to 25, 8x8x8 23 to 39, 12x12x12 92 to 55, and 6x6x6 with columns left over took 87 to 29. */
#define SMALL_PRODUCT 512

static bool is_number(wf_scalar s, int number) { return wf__scalar_double(s) == number; }

/* Whether it was a few multiplications of factors that the kernel takes as they lie; then they are done. */
static bool run_small(const wf_plan *plan, int64_t batch, int64_t m, int64_t n, int64_t k) {
  wf_dtype dtype = plan->operand[0].dtype;
  if (dtype != WF_F32 && dtype != WF_F64) return false;
  if (k < 1 || k > SMALL_PRODUCT || n % 4 || m * n > SMALL_PRODUCT || m * n * k > SMALL_PRODUCT) return false;
  if (batch > WF__GRAIN / (m * n * k)) return false; /* one for the team */
  if (!is_number(plan->scalar[0], 1) || !is_number(plan->scalar[1], 0)) return false;
  int row = plan->ndim - 2, column = plan->ndim - 1;
  int64_t item = dtype == WF_F32 ? 4 : 8;
  const wf_operand *o = plan->operand;
  wf__small_product_fn fn = wf__kernels_now()->small_product[dtype == WF_F32 ? WF__CLASS_F32 : WF__CLASS_F64];
  bool rows = o[0].stride[column] == item && o[2].stride[column] == item;
  if (!fn || !rows || o[1].stride[row] % item || o[1].stride[column] % item) return false;
  for (int64_t i = 0; i < batch; i++)
    fn((char *)o[0].data + wf__matmul_batch_offset(plan, 0, i), o[0].stride[row] / item,
       (char *)o[1].data + wf__matmul_batch_offset(plan, 1, i), o[1].stride[row] / item, o[1].stride[column] / item,
       (char *)o[2].data + wf__matmul_batch_offset(plan, 2, i), o[2].stride[row] / item, m, n, k);
  return true;
}

static void ref_rows(void *context, int64_t begin, int64_t end) { wf__ref_matmul(context, begin, end); }

wf_status wf__exec_matmul(const wf_plan *plan) {
  int64_t batch = 1, m = plan->size[plan->ndim - 2], n = plan->size[plan->ndim - 1], k = plan->param.matmul.k;
  for (int d = 0; d < plan->ndim - 2; d++) batch *= plan->size[d];
  if (plan->operand[0].dtype == WF_BOOL) return wf__no_kernel("addmm_impl_cpu_", WF_BOOL);
  if (batch == 0 || m == 0 || n == 0) return WF_OK;
  if (run_small(plan, batch, m, n, k)) return WF_OK;
#ifdef WF_HAVE_OPENBLAS
  blas_call call;
  if (decide(plan, &call)) {
    int team = wf__team_enter();
    place_addend(plan, batch * m);
    int64_t work = m * n * k;
    wf__parallel(batch, work >= LARGE_PRODUCT ? batch : at_least_one(WF__GRAIN / work), run_products, &call);
    wf__team_leave(team);
    return WF_OK;
  }
#endif
  wf__parallel(batch * m, at_least_one(WF__GRAIN / at_least_one(n * k)), ref_rows, (void *)plan);
  return WF_OK;
}
