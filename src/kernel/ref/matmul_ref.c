/* Matrix products in plain C, for every dtype but bool and any strides. One multiplication a step: the oracle, and what runs where no
 * library takes the dtype. */
#include "kernel/neural.h"
#include "kernel/ref/ref_types.h"

/* One matrix of the batch, as the loops below walk it. */
typedef struct matrix {
  char *data;
  int64_t row, column; /* byte strides */
} matrix;

static matrix matrix_of(const wf_plan *plan, int operand, int64_t batch) {
  const wf_operand *o = &plan->operand[operand];
  if (!o->data) return (matrix){0};
  return (matrix){(char *)o->data + wf__matmul_batch_offset(plan, operand, batch), o->stride[plan->ndim - 2],
                  o->stride[plan->ndim - 1]};
}

#define ROW(NAME, T, ACC, LOAD, STORE)                                                                                \
  static void row_##NAME(const wf_plan *plan, matrix out, matrix a, matrix b, matrix c, int64_t i) {                  \
    ACC alpha = wf__ref_number_##ACC(plan->scalar[0]), beta = wf__ref_number_##ACC(plan->scalar[1]);                  \
    int64_t n = plan->size[plan->ndim - 1], k = plan->param.matmul.k;                                                 \
    for (int64_t j = 0; j < n; j++) {                                                                                 \
      ACC sum = 0;                                                                                                    \
      for (int64_t p = 0; p < k; p++)                                                                                 \
        sum += LOAD(WF__AT(T, a.data, i * a.row + p * a.column)) * LOAD(WF__AT(T, b.data, p * b.row + j * b.column)); \
      sum *= alpha;                                                                                                   \
      if (beta != 0) sum += beta * LOAD(WF__AT(T, c.data, i * c.row + j * c.column));                                 \
      WF__AT(T, out.data, i *out.row + j * out.column) = STORE(sum);                                                  \
    }                                                                                                                 \
  }
WF__REF_FLOATS(ROW)
WF__REF_INTS(ROW)
#undef ROW

void wf__ref_matmul(const wf_plan *plan, int64_t begin, int64_t end) {
  static void (*const row[WF_DTYPE_COUNT])(const wf_plan *, matrix, matrix, matrix, matrix, int64_t) = {
#define ENTRY(NAME, ...) [WF_##NAME] = row_##NAME,
      WF__REF_FLOATS(ENTRY) WF__REF_INTS(ENTRY)
#undef ENTRY
  };
  int64_t m = plan->size[plan->ndim - 2];
  for (int64_t r = begin; r < end; r++) {
    int64_t batch = r / m;
    matrix out = matrix_of(plan, 0, batch), addend = plan->operand[3].data ? matrix_of(plan, 3, batch) : out;
    row[plan->operand[0].dtype](plan, out, matrix_of(plan, 1, batch), matrix_of(plan, 2, batch), addend, r % m);
  }
}

void wf__ref_matmul_addend(const wf_plan *plan, int64_t begin, int64_t end) {
  int64_t m = plan->size[plan->ndim - 2], n = plan->size[plan->ndim - 1];
  size_t item = wf_dtype_size(plan->operand[0].dtype);
  for (int64_t r = begin; r < end; r++) {
    matrix to = matrix_of(plan, 0, r / m), from = matrix_of(plan, 3, r / m);
    char *out = to.data + r % m * to.row, *in = from.data + r % m * from.row;
    if (to.column == (int64_t)item && from.column == (int64_t)item) {
      memcpy(out, in, (size_t)n * item);
      continue;
    }
    for (int64_t j = 0; j < n; j++) memcpy(out + j * to.column, in + j * from.column, item);
  }
}
