/* softmax, log_softmax and their derivatives in plain C, row by row, for the float dtypes and any strides. Sums are in double. */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/neural.h"
#include "kernel/ref/ref_types.h"

/* First element of row `row` in operand i. */
static char *row_of(const wf_plan *plan, int i, int64_t row) {
  int64_t offset = 0;
  for (int d = plan->ndim - 2; d >= 0; d--) {
    offset += row % plan->size[d] * plan->operand[i].stride[d];
    row /= plan->size[d];
  }
  return (char *)plan->operand[i].data + offset;
}

#define X(T, i, row, k) WF__AT(T, row, (k)*plan->operand[i].stride[plan->ndim - 1])
#define LOOPS(NAME, T, ACC, LOAD, STORE)                                                    \
  static void forward_##NAME(const wf_plan *plan, int64_t r) {                              \
    char *out = row_of(plan, 0, r), *in = row_of(plan, 1, r);                               \
    int64_t n = plan->size[plan->ndim - 1];                                                 \
    double most = -INFINITY, sum = 0;                                                       \
    for (int64_t k = 0; k < n; k++) {                                                       \
      double v = (double)LOAD(X(T, 1, in, k));                                              \
      if (v > most || isnan(v)) most = v;                                                   \
    }                                                                                       \
    for (int64_t k = 0; k < n; k++) sum += exp((double)LOAD(X(T, 1, in, k)) - most);        \
    double log_sum = log(sum);                                                              \
    for (int64_t k = 0; k < n; k++) {                                                       \
      double v = (double)LOAD(X(T, 1, in, k)) - most;                                       \
      X(T, 0, out, k) = STORE((ACC)(plan->op == WF__SOFTMAX ? exp(v) / sum : v - log_sum)); \
    }                                                                                       \
  }                                                                                         \
  static void backward_##NAME(const wf_plan *plan, int64_t r) {                             \
    char *in = row_of(plan, 0, r), *grad = row_of(plan, 1, r), *out = row_of(plan, 2, r);   \
    int64_t n = plan->size[plan->ndim - 1];                                                 \
    bool logs = plan->op == WF__LOG_SOFTMAX_BACKWARD;                                       \
    double sum = 0;                                                                         \
    for (int64_t k = 0; k < n; k++)                                                         \
      sum += (double)LOAD(X(T, 1, grad, k)) * (logs ? 1 : (double)LOAD(X(T, 2, out, k)));   \
    for (int64_t k = 0; k < n; k++) {                                                       \
      double g = (double)LOAD(X(T, 1, grad, k)), y = (double)LOAD(X(T, 2, out, k));         \
      X(T, 0, in, k) = STORE((ACC)(logs ? g - exp(y) * sum : (g - sum) * y));               \
    }                                                                                       \
  }
WF__REF_FLOATS(LOOPS)
#undef LOOPS

void wf__ref_softmax(const wf_plan *plan, int64_t begin, int64_t end) {
  typedef void (*row_fn)(const wf_plan *plan, int64_t row);
#define ENTRY(NAME, ...) [WF_##NAME] = {forward_##NAME, backward_##NAME},
  static const row_fn table[WF_DTYPE_COUNT][2] = {WF__REF_FLOATS(ENTRY)};
#undef ENTRY
  bool backward = plan->op == WF__SOFTMAX_BACKWARD || plan->op == WF__LOG_SOFTMAX_BACKWARD;
  row_fn fn = table[plan->operand[0].dtype][backward];
  for (int64_t r = begin; r < end; r++) fn(plan, r);
}
