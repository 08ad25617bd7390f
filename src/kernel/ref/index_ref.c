/* Selecting, gathering, scattering and adding by index, in plain C. Columns (places in the other dims) are independent; along the dim
 * the order is kept, so that sums don't depend on the number of threads and the last of equal indices wins. */
#include "kernel/kernel.h"
#include "kernel/neural.h"
#include "kernel/ref/ref_types.h"

/* Byte offset of column `column` in operand i: all dims but the indexed one. */
static int64_t column_of(const wf_plan *plan, int i, int64_t column) {
  int64_t offset = 0;
  for (int d = plan->ndim - 1; d >= 0; d--) {
    if (d == plan->param.index.dim) continue;
    offset += column % plan->size[d] * plan->operand[i].stride[d];
    column /= plan->size[d];
  }
  return offset;
}

static int64_t entry(const wf_plan *plan, const char *p) {
  int64_t i = plan->operand[2].dtype == WF_I32 ? *(const int32_t *)p : *(const int64_t *)p;
  return i < 0 && plan->param.index.flag2 ? i + plan->param.index.count : i;
}

bool wf__ref_index_in_range(const wf_plan *plan, int64_t *bad) {
  int64_t columns = 1, dim = plan->param.index.dim;
  bool vector = plan->op == WF__INDEX_SELECT || plan->op == WF__INDEX_ADD;
  for (int d = 0; d < plan->ndim && !vector; d++) columns *= d == dim ? 1 : plan->size[d];
  for (int64_t c = 0; c < columns; c++) {
    const char *p = (char *)plan->operand[2].data + (vector ? 0 : column_of(plan, 2, c));
    for (int64_t i = 0; i < plan->size[dim]; i++) {
      int64_t at = entry(plan, p + i * plan->operand[2].stride[dim]);
      if (at >= 0 && at < plan->param.index.count) continue;
      *bad = plan->operand[2].dtype == WF_I32 ? *(const int32_t *)(p + i * plan->operand[2].stride[dim])
                                              : *(const int64_t *)(p + i * plan->operand[2].stride[dim]);
      return false;
    }
  }
  return true;
}

/* to := from, or to := to + number · from. */
typedef void (*one_fn)(char *to, const char *from, wf_scalar number);

#define ADD(NAME, T, ACC, LOAD, STORE)                                                                          \
  static void add_##NAME(char *to, const char *from, wf_scalar number) {                                        \
    WF__AT(T, to, 0) = STORE(LOAD(WF__AT(T, to, 0)) + wf__ref_number_##ACC(number) * LOAD(WF__AT(T, from, 0))); \
  }
WF__REF_FLOATS(ADD)
WF__REF_INTS(ADD)
#undef ADD

static void add_bool(char *to, const char *from, wf_scalar number) { *to = *to || (*from && wf__scalar_true(number)); }

static void move_1(char *to, const char *from, wf_scalar number) { memcpy(to, from, 1); }
static void move_2(char *to, const char *from, wf_scalar number) { memcpy(to, from, 2); }
static void move_4(char *to, const char *from, wf_scalar number) { memcpy(to, from, 4); }
static void move_8(char *to, const char *from, wf_scalar number) { memcpy(to, from, 8); }

static one_fn one_of(const wf_plan *plan) {
#define ENTRY(NAME, ...) [WF_##NAME] = add_##NAME,
  static const one_fn adds[WF_DTYPE_COUNT] = {WF__REF_FLOATS(ENTRY) WF__REF_INTS(ENTRY)[WF_BOOL] = add_bool};
#undef ENTRY
  wf_dtype dtype = (wf_dtype)plan->operand[0].dtype;
  if (plan->op == WF__INDEX_ADD || (plan->op == WF__INDEX_SCATTER && plan->param.index.flag)) return adds[dtype];
  switch (wf_dtype_size(dtype)) {
    case 1: return move_1;
    case 2: return move_2;
    case 4: return move_4;
    default: return move_8;
  }
}

void wf__ref_index(const wf_plan *plan, int64_t begin, int64_t end) {
  int64_t dim = plan->param.index.dim;
  one_fn one = one_of(plan);
  bool to_table = plan->op == WF__INDEX_ADD || plan->op == WF__INDEX_SCATTER;
  wf_scalar number = plan->op == WF__INDEX_ADD ? plan->scalar[0] : wf_int(1);
  char constant[8];
  const wf_operand *o = plan->operand;
  if (!o[1].data) wf__scalar_store(plan->scalar[0], (wf_dtype)o[0].dtype, constant);
  for (int64_t c = begin; c < end; c++) {
    char *to = (char *)o[0].data + column_of(plan, 0, c), *index = (char *)o[2].data + column_of(plan, 2, c);
    const char *from = o[1].data ? (char *)o[1].data + column_of(plan, 1, c) : constant;
    for (int64_t i = 0; i < plan->size[dim]; i++) {
      int64_t at = entry(plan, index + i * o[2].stride[dim]);
      int64_t t = (to_table ? at : i) * o[0].stride[dim], f = o[1].data ? (to_table ? i : at) * o[1].stride[dim] : 0;
      one(to + t, from + f, number);
    }
  }
}
