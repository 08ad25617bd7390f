/* Elements addressed by several index tensors or by a mask, in plain C. */
#include "kernel/indexing.h"

#include "kernel/kernel.h"
#include "kernel/ref/ref_types.h"

/* ---- several index tensors -------------------------------------------------------------------------------------------------- */

static inline int64_t raw_index(const wf__index_row *row, int64_t i) {
  const char *p = row->at + i * row->stride;
  return row->narrow ? *(const int32_t *)p : *(const int64_t *)p;
}

bool wf__ref_index_row_fits(const wf__index_row *row, int64_t n, bool wraps, int64_t *bad) {
  int64_t least = wraps ? -row->entries : 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t at = raw_index(row, i);
    if (at >= least && at < row->entries) continue;
    *bad = at;
    return false;
  }
  return true;
}

static inline int64_t table_offset(const wf__index_block *b, int64_t i) {
  int64_t offset = 0;
  for (int k = 0; k < b->rows; k++) {
    int64_t at = raw_index(&b->row[k], i);
    offset += (at < 0 && b->wraps ? at + b->row[k].entries : at) * b->row[k].step;
  }
  return offset;
}

/* m elements of one place. */
typedef void (*run_fn)(char *to, const char *from, int64_t m, int64_t to_step, int64_t from_step);

#define ADD(NAME, T, ACC, LOAD, STORE)                                                                \
  static void add_##NAME(char *to, const char *from, int64_t m, int64_t to_step, int64_t from_step) { \
    for (int64_t i = 0; i < m; i++, to += to_step, from += from_step)                                 \
      WF__AT(T, to, 0) = STORE((ACC)LOAD(WF__AT(T, to, 0)) + (ACC)LOAD(WF__AT(T, from, 0)));          \
  }
WF__REF_FLOATS(ADD)
WF__REF_INTS(ADD)
#undef ADD

static void add_bool(char *to, const char *from, int64_t m, int64_t to_step, int64_t from_step) {
  for (int64_t i = 0; i < m; i++, to += to_step, from += from_step) *to = *to || *from;
}

#define MOVE(BYTES)                                                                                     \
  static void move_##BYTES(char *to, const char *from, int64_t m, int64_t to_step, int64_t from_step) { \
    if (to_step == BYTES && from_step == BYTES && m > 1) {                                              \
      memcpy(to, from, (size_t)m *BYTES);                                                               \
      return;                                                                                           \
    }                                                                                                   \
    for (int64_t i = 0; i < m; i++, to += to_step, from += from_step) memcpy(to, from, BYTES);          \
  }
MOVE(1)
MOVE(2)
MOVE(4)
MOVE(8)
#undef MOVE

static run_fn move_of(wf_dtype dtype) {
  switch (wf_dtype_size(dtype)) {
    case 1: return move_1;
    case 2: return move_2;
    case 4: return move_4;
    default: return move_8;
  }
}

static run_fn run_of(const wf__index_block *b) {
#define ENTRY(NAME, ...) [WF_##NAME] = add_##NAME,
  static const run_fn adds[WF_DTYPE_COUNT] = {WF__REF_FLOATS(ENTRY) WF__REF_INTS(ENTRY)[WF_BOOL] = add_bool};
#undef ENTRY
  return b->add ? adds[b->dtype] : move_of(b->dtype);
}

void wf__ref_index_block(const wf__index_block *b) {
  run_fn run = run_of(b);
  for (int64_t i = 0; i < b->n; i++) {
    int64_t offset = table_offset(b, i);
    run(b->to + i * b->to_stride + (b->into_table ? offset : 0),
        b->from + i * b->from_stride + (b->into_table ? 0 : offset), b->m, b->to_step, b->from_step);
  }
}

/* ---- masks and nonzero ---------------------------------------------------------------------------------------------------------- */

static bool is_zero_1(const char *p) { return *p == 0; }
#define ZERO(NAME, T, ACC, LOAD, STORE) \
  static bool is_zero_##NAME(const char *p) { return LOAD(WF__AT(T, p, 0)) == 0; }
WF__REF_FLOATS(ZERO)
WF__REF_INTS(ZERO)
#undef ZERO

typedef bool (*zero_fn)(const char *p);
static zero_fn zero_of(wf_dtype dtype) {
#define ENTRY(NAME, ...) [WF_##NAME] = is_zero_##NAME,
  static const zero_fn of[WF_DTYPE_COUNT] = {WF__REF_FLOATS(ENTRY) WF__REF_INTS(ENTRY)[WF_BOOL] = is_zero_1};
#undef ENTRY
  return of[dtype];
}

static int64_t count_of(const wf_plan *plan) {
  int64_t n = 1;
  for (int d = 0; d < plan->ndim; d++) n *= plan->size[d];
  return n;
}

/* Steps the coordinates on by one; at[o] follows for the operands first … last. */
static inline void advance(const wf_plan *plan, int64_t *coordinate, char **at, int first, int last) {
  for (int d = plan->ndim - 1; d >= 0; d--) {
    bool carry = ++coordinate[d] == plan->size[d];
    for (int o = first; o <= last; o++) at[o] += plan->operand[o].stride[d] * (carry ? 1 - plan->size[d] : 1);
    if (!carry) return;
    coordinate[d] = 0;
  }
}

void wf__ref_nonzero(const wf_plan *plan) {
  int64_t coordinate[WF_MAX_DIMS] = {0}, n = count_of(plan);
  char *at[2] = {plan->operand[0].data, plan->operand[1].data};
  zero_fn is_zero = zero_of(plan->operand[1].dtype);
  for (int64_t i = 0; i < n; i++, advance(plan, coordinate, at, 1, 1)) {
    if (is_zero(at[1])) continue;
    for (int d = 0; d < plan->ndim; d++) WF__AT(int64_t, at[0], d * plan->operand[0].stride[1]) = coordinate[d];
    at[0] += plan->operand[0].stride[0];
  }
}

int64_t wf__ref_mask_count(const wf_plan *plan) {
  int64_t coordinate[WF_MAX_DIMS] = {0}, n = count_of(plan), count = 0;
  char *at[3] = {NULL, NULL, plan->operand[2].data};
  for (int64_t i = 0; i < n; i++, advance(plan, coordinate, at, 2, 2)) count += *at[2] != 0;
  return count;
}

void wf__ref_masked(const wf_plan *plan) {
  bool get = plan->op == WF__INDEX_MASKED_GET;
  int walked = get ? 1 : 0, packed = get ? 0 : 1; /* which of operands 0 and 1 goes with the mask */
  int64_t coordinate[WF_MAX_DIMS] = {0}, n = count_of(plan);
  char *at[3] = {plan->operand[0].data, plan->operand[1].data, plan->operand[2].data};
  run_fn move = move_of(plan->operand[0].dtype);
  for (int64_t i = 0; i < n; i++) {
    if (*at[2]) {
      move(at[0], at[1], 1, 0, 0);
      at[packed] += plan->operand[packed].stride[0];
    }
    char *both[3] = {[1] = at[walked], [2] = at[2]};
    for (int d = plan->ndim - 1; d >= 0; d--) {
      bool carry = ++coordinate[d] == plan->size[d];
      int64_t steps = carry ? 1 - plan->size[d] : 1;
      both[1] += plan->operand[walked].stride[d] * steps;
      both[2] += plan->operand[2].stride[d] * steps;
      if (!carry) break;
      coordinate[d] = 0;
    }
    at[walked] = both[1];
    at[2] = both[2];
  }
}
