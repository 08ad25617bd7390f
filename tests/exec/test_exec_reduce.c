/* REDUCE plans of random shapes, strides and sets of dims against obvious loops in long double; edge values against PyTorch. */
#include "test.h"

#include <math.h>
#include "../kernel/guarded.h"
#include "exec/exec.h"
#include "kernel/tables.h"

static char *element(const wf_plan *plan, int o, int64_t linear) {
  char *p = plan->operand[o].data;
  for (int d = plan->ndim - 1; d >= 0; d--) {
    p += linear % plan->size[d] * plan->operand[o].stride[d];
    linear /= plan->size[d];
  }
  return p;
}

/* Index of an element within its reduction: its place among the reduced dims, row-major. */
static int64_t index_within(const wf_plan *plan, int64_t linear) {
  int64_t index = 0, step = 1;
  for (int d = plan->ndim - 1; d >= 0; d--) {
    if (plan->operand[0].stride[d] == 0) {
      index += linear % plan->size[d] * step;
      step *= plan->size[d];
    }
    linear /= plan->size[d];
  }
  return index;
}

typedef struct expected {
  long double sum, square, product, centred, exponentials;
  double most, least;
  int64_t most_at, least_at, nonzero, count;
} expected;

static double value_of(const wf_plan *plan, int64_t i) {
  return wf__scalar_double(wf__scalar_load(plan->operand[1].dtype, element(plan, 1, i)));
}

static expected expect(const wf_plan *plan, const char *out, int64_t count) {
  expected e = {.product = 1, .most = -INFINITY, .least = INFINITY, .most_at = INT64_MAX, .least_at = INT64_MAX};
  for (int64_t i = 0; i < count; i++) {
    if (element(plan, 0, i) != out) continue;
    double x = value_of(plan, i);
    int64_t index = index_within(plan, i);
    e.sum += x, e.square += (long double)x * x, e.product *= x, e.nonzero += x != 0, e.count++;
    if (x > e.most || (x == e.most && index < e.most_at)) e.most = x, e.most_at = index;
    if (x < e.least || (x == e.least && index < e.least_at)) e.least = x, e.least_at = index;
  }
  for (int64_t i = 0; i < count; i++) {
    if (element(plan, 0, i) != out) continue;
    long double x = value_of(plan, i), apart = x - e.sum / e.count;
    e.centred += apart * apart;
    e.exponentials += expl(x - e.most);
  }
  return e;
}

static long double expected_of(const wf_plan *plan, const expected *e) {
  switch ((wf__reduce_op)plan->op) {
    case WF__RED_SUM: return e->sum;
    case WF__RED_MEAN: return e->sum / e->count;
    case WF__RED_PROD: return e->product;
    case WF__RED_AMAX:
    case WF__RED_MAX_INDEX: return e->most;
    case WF__RED_AMIN:
    case WF__RED_MIN_INDEX: return e->least;
    case WF__RED_ARGMAX: return e->most_at;
    case WF__RED_ARGMIN: return e->least_at;
    case WF__RED_ANY: return e->nonzero > 0;
    case WF__RED_ALL: return e->nonzero == e->count;
    case WF__RED_COUNT_NONZERO: return e->nonzero;
    case WF__RED_VAR: return e->centred / (e->count - 1);
    case WF__RED_STD: return sqrtl(e->centred / (e->count - 1));
    case WF__RED_NORM: return sqrtl(e->square);
    default: return e->most + logl(e->exponentials);
  }
}

static wf_dtype result_dtype(int op, wf_dtype compute) {
  if (op == WF__RED_ANY || op == WF__RED_ALL) return WF_BOOL;
  return op == WF__RED_ARGMAX || op == WF__RED_ARGMIN || op == WF__RED_COUNT_NONZERO ? WF_I64 : compute;
}

static void lay_out(wf_operand *o, const int64_t *size, int ndim, uint32_t repeated, bool shuffle, uint64_t *seed,
                    int64_t *bytes) {
  int order[4] = {0, 1, 2, 3};
  for (int i = ndim - 1; shuffle && i > 0; i--) {
    int j = (int)(random_next(seed) % (uint64_t)(i + 1)), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  int64_t stride = (int64_t)wf_dtype_size(o->dtype);
  if (random_next(seed) % 8 == 0) stride *= 2;
  for (int i = ndim - 1; i >= 0; i--) {
    int d = order[i];
    o->stride[d] = repeated >> d & 1 ? 0 : stride;
    if (!(repeated >> d & 1)) stride *= size[d];
  }
  *bytes = stride;
}

static void check_random_reduction(uint64_t *seed, int64_t most) {
  static const wf_dtype floats[] = {WF_F32, WF_F64, WF_F16, WF_BF16}, integers[] = {WF_I64, WF_I32, WF_U8};
  wf_plan plan = {
      .family = WF_FAMILY_REDUCE, .op = (uint16_t)(random_next(seed) % WF__RED_COUNT), .operands = 2, .outputs = 1};
  bool needs_float = plan.op == WF__RED_MEAN || plan.op >= WF__RED_VAR;
  if (plan.op == WF__RED_COUNT_NONZERO) needs_float = false;
  bool is_float = needs_float || random_next(seed) % 2;
  plan.operand[1].dtype = is_float ? floats[random_next(seed) % 4] : integers[random_next(seed) % 3];
  plan.compute = (uint8_t)plan.operand[1].dtype;
  if (!is_float && (plan.op == WF__RED_SUM || plan.op == WF__RED_PROD)) plan.compute = WF_I64;
  plan.operand[0].dtype = result_dtype(plan.op, (wf_dtype)plan.compute);
  plan.scalar[0] = plan.op == WF__RED_NORM ? wf_float(2) : wf_int(1);
  plan.ndim = (uint8_t)(1 + random_next(seed) % 4);
  int64_t count = 1, bytes[3] = {0};
  uint32_t reduced = (uint32_t)random_next(seed) & ((1u << plan.ndim) - 1);
  for (int d = 0; d < plan.ndim; d++) count *= plan.size[d] = 2 + (int64_t)(random_next(seed) % (uint64_t)most);
  lay_out(&plan.operand[1], plan.size, plan.ndim, 0, true, seed, &bytes[1]);
  lay_out(&plan.operand[0], plan.size, plan.ndim, reduced, false, seed, &bytes[0]);
  plan.operand[2].dtype = WF_I64;
  bool pair = plan.op == WF__RED_MAX_INDEX || plan.op == WF__RED_MIN_INDEX;
  lay_out(&plan.operand[2], plan.size, plan.ndim, reduced, false, seed, &bytes[2]);
  plan.operands = pair ? 3 : 2;
  guarded buffer[3];
  for (int o = 0; o < 3; o++) {
    buffer[o] = guarded_new((size_t)bytes[o], 0);
    plan.operand[o].data = o == 2 && !pair ? NULL : buffer[o].data;
  }
  int64_t elements = bytes[1] / (int64_t)wf_dtype_size(plan.operand[1].dtype);
  for (int64_t i = 0; i < elements; i++) {
    double number = (double)(int64_t)(random_next(seed) % 41) - (plan.operand[1].dtype == WF_U8 ? 0 : 20);
    if (plan.op == WF__RED_PROD) number = is_float ? 1 + number / 64 : number < 0 ? -1 : number > 18 ? 0 : 1;
    if (is_float && plan.op != WF__RED_PROD) number /= 8;
    wf__scalar_store(is_float ? wf_float(number) : wf_int((int64_t)number), plan.operand[1].dtype,
                     buffer[1].data + i * (int64_t)wf_dtype_size(plan.operand[1].dtype));
  }
  assert_ok(wf__exec(&plan));
  double tolerance = plan.operand[0].dtype == WF_F64   ? 1e-13
                     : plan.operand[0].dtype == WF_F32 ? 1e-6
                     : plan.operand[0].dtype == WF_F16 ? 1e-3
                                                       : 8e-3;
  for (int64_t i = 0; i < count; i += 1 + (int64_t)(random_next(seed) % 7)) {
    char *out = element(&plan, 0, i);
    expected e = expect(&plan, out, count);
    long double want = expected_of(&plan, &e), got = wf__scalar_double(wf__scalar_load(plan.operand[0].dtype, out));
    if (plan.operand[0].dtype == WF_F16 && fabsl(want) > 65000) continue;
    if (isnan(want) && isnan(got)) continue; /* the variance of one element */
    if (!wf_dtype_is_float(plan.operand[0].dtype) ? got != want : !(fabsl(got - want) <= tolerance * (1 + fabsl(want))))
      fail_msg("operator %d, dtype %s, %d dims, reduced %x: %.12Lg, not %.12Lg", plan.op,
               wf_dtype_name(plan.operand[1].dtype), plan.ndim, reduced, got, want);
    if (pair) {
      int64_t at;
      memcpy(&at, element(&plan, 2, i), 8);
      assert_int_equal(at, plan.op == WF__RED_MAX_INDEX ? e.most_at : e.least_at);
    }
  }
  for (int o = 0; o < 3; o++) {
    assert_true(guarded_intact(&buffer[o]));
    guarded_free(&buffer[o]);
  }
}

static void random_reductions_equal_obvious_loops(void **state) {
  (void)state;
  uint64_t seed = 77;
  for (int i = 0; i < 800; i++) check_random_reduction(&seed, 6);
  for (int i = 0; i < 12; i++) check_random_reduction(&seed, 9);
}

/* Larger ones, of whole numbers, so that sums are exact in any order: many results together, short stretches, segments; on one thread and on two. */
static void check_whole_numbers(int op, wf_dtype dtype, const int64_t *size, uint32_t reduced, const int *order) {
  wf_plan plan = {.family = WF_FAMILY_REDUCE, .op = (uint16_t)op, .operands = 2, .outputs = 1, .ndim = 3};
  bool sums = op == WF__RED_SUM, floats = wf_dtype_is_float(dtype);
  wf_dtype out_dtype = sums ? (floats ? WF_F32 : WF_I64) : dtype;
  int64_t bytes = (int64_t)wf_dtype_size(dtype), out_bytes = (int64_t)wf_dtype_size(out_dtype), results = 1, count = 1;
  plan.compute = (uint8_t)(sums && floats && dtype != WF_F64 ? WF_F32 : out_dtype);
  plan.operand[0].dtype = out_dtype;
  plan.operand[1].dtype = dtype;
  for (int i = 2; i >= 0; i--) {
    int d = order[i];
    plan.operand[1].stride[d] = count * bytes;
    count *= size[d];
  }
  for (int d = 2; d >= 0; d--) {
    plan.size[d] = size[d];
    if (reduced >> d & 1) continue;
    plan.operand[0].stride[d] = results * out_bytes;
    results *= size[d];
  }
  char *in = malloc((size_t)(count * bytes)), *out = malloc((size_t)(results * out_bytes));
  int64_t *want = malloc((size_t)results * sizeof *want);
  for (int64_t i = 0; i < results; i++) want[i] = sums ? 0 : op == WF__RED_AMAX ? INT64_MIN : INT64_MAX;
  plan.operand[0].data = out;
  plan.operand[1].data = in;
  uint64_t seed = 5 + reduced;
  for (int64_t i = 0; i < count; i++) {
    int64_t v = (int64_t)(random_next(&seed) % 21) - (dtype == WF_U8 ? 0 : 10);
    int64_t *w = want + (element(&plan, 0, i) - out) / out_bytes;
    wf__scalar_store(wf_int(v), dtype, element(&plan, 1, i));
    *w = sums ? *w + v : op == WF__RED_AMAX ? (v > *w ? v : *w) : (v < *w ? v : *w);
  }
  assert_ok(wf__exec(&plan));
  for (int64_t i = 0; i < results; i++) {
    double got = wf__scalar_double(wf__scalar_load(out_dtype, out + i * out_bytes));
    if (got != (double)want[i])
      fail_msg("operator %d, %s, %d x %d x %d, reduced %x, result %d: %g, not %lld", op, wf_dtype_name(dtype),
               (int)size[0], (int)size[1], (int)size[2], reduced, (int)i, got, (long long)want[i]);
  }
  free(in);
  free(out);
  free(want);
}

static void large_reductions_of_whole_numbers_are_exact(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{3, 5, 4000}, {700, 9, 11},  {40, 40, 40}, {2, 3000, 17},
                                     {900, 2, 50}, {1, 1, 90000}, {30000, 1, 3}};
  static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {0, 2, 1}};
  static const wf_dtype dtypes[] = {WF_F32, WF_F64, WF_F16, WF_I32, WF_I64, WF_U8, WF_I16, WF_BF16};
  static const int ops[] = {WF__RED_SUM, WF__RED_AMAX, WF__RED_AMIN};
  int threads = wf_num_threads(), turn = 0;
  for (int s = 0; s < 7; s++)
    for (int o = 0; o < 4; o++)
      for (uint32_t reduced = 1; reduced < 8; reduced++)
        for (int op = 0; op < 3; op++, turn++) {
          wf_dtype dtype = dtypes[turn % 8];
          if (dtype == WF_F64 && op == 0) dtype = WF_F32;
          assert_ok(wf_set_num_threads(1 + turn / 8 % 2));
          check_whole_numbers(ops[op], dtype, sizes[s], reduced, orders[o]);
        }
  assert_ok(wf_set_num_threads(threads));
}

static wf_plan whole(int op, const void *data, wf_dtype dtype, int64_t n, void *out, wf_dtype out_dtype) {
  wf_plan plan = {.family = WF_FAMILY_REDUCE,
                  .op = (uint16_t)op,
                  .compute = (uint8_t)dtype,
                  .operands = 2,
                  .outputs = 1,
                  .ndim = 1,
                  .size = {n}};
  plan.operand[0] = (wf_operand){out, out_dtype, {0}};
  plan.operand[1] = (wf_operand){(void *)data, dtype, {(int64_t)wf_dtype_size(dtype)}};
  return plan;
}

static double reduced(int op, const float *x, int64_t n, double parameter) {
  float out = -77;
  wf_plan plan = whole(op, x, WF_F32, n, &out, WF_F32);
  plan.scalar[0] = wf_float(parameter);
  assert_ok(wf__exec(&plan));
  return out;
}

/* torch.logsumexp, var, std, linalg.vector_norm, amax of these in PyTorch 2.15. */
static void infinities_nan_and_nothing_end_as_in_pytorch(void **state) {
  (void)state;
  const float low[] = {-INFINITY, -INFINITY}, high[] = {INFINITY, 1}, both[] = {INFINITY, -INFINITY},
              with_nan[] = {1, NAN, 3}, pair[] = {1, 2};
  assert_true(reduced(WF__RED_LOGSUMEXP, low, 2, 0) == -INFINITY);
  assert_true(reduced(WF__RED_LOGSUMEXP, high, 2, 0) == INFINITY);
  assert_true(reduced(WF__RED_LOGSUMEXP, both, 2, 0) == INFINITY);
  assert_true(isnan(reduced(WF__RED_LOGSUMEXP, with_nan, 3, 0)));
  assert_true(reduced(WF__RED_LOGSUMEXP, pair, 0, 0) == -INFINITY);
  assert_true(isnan(reduced(WF__RED_VAR, pair, 1, 1)));
  assert_true(reduced(WF__RED_VAR, pair, 2, 2) == INFINITY);
  assert_true(reduced(WF__RED_STD, pair, 2, 3) == INFINITY);
  assert_true(isnan(reduced(WF__RED_VAR, pair, 0, 1)));
  assert_true(isnan(reduced(WF__RED_VAR, high, 2, 1)));
  assert_true(isnan(reduced(WF__RED_AMAX, with_nan, 3, 0)));
  assert_true(isnan(reduced(WF__RED_AMIN, with_nan, 3, 0)));
  assert_true(reduced(WF__RED_SUM, pair, 0, 0) == 0 && reduced(WF__RED_PROD, pair, 0, 0) == 1 &&
              isnan(reduced(WF__RED_MEAN, pair, 0, 0)));
  const float mixed[] = {3, -4, 0};
  assert_true(reduced(WF__RED_NORM, mixed, 3, 2) == 5 && reduced(WF__RED_NORM, mixed, 3, 1) == 7 &&
              reduced(WF__RED_NORM, mixed, 3, 0) == 2);
  assert_true(reduced(WF__RED_NORM, mixed, 3, INFINITY) == 4 && reduced(WF__RED_NORM, mixed, 3, -INFINITY) == 0);
  assert_true(fabs(reduced(WF__RED_NORM, mixed, 3, 3) - cbrt(27 + 64)) < 1e-6);
  assert_true(isnan(reduced(WF__RED_NORM, with_nan, 3, INFINITY)));
}

/* torch.logsumexp(x, 1) of these rows. */
static void many_short_rows_of_exponentials_end_so_as_well(void **state) {
  (void)state;
  const float x[10][2] = {
      {INFINITY, NAN}, {NAN, -INFINITY}, {-INFINITY, -INFINITY}, {INFINITY, 1}, {-INFINITY, 2}, {1000, 1000},
      {-1000, -1000},  {NAN, 1},         {INFINITY, -INFINITY},  {1, 2}};
  const double want[10] = {NAN, NAN, -INFINITY, INFINITY, 2, 1000.6931472, -999.30685282, NAN, INFINITY, 2.3132616875};
  float out[10];
  wf_plan plan = whole(WF__RED_LOGSUMEXP, x, WF_F32, 10, out, WF_F32);
  plan.ndim = 2;
  plan.size[1] = 2;
  plan.operand[0].stride[0] = 4;
  plan.operand[1].stride[0] = 8;
  plan.operand[1].stride[1] = 4;
  assert_ok(wf__exec(&plan));
  for (int i = 0; i < 10; i++)
    if (!(isnan(want[i]) && isnan(out[i])) && out[i] != want[i] && !(fabs(out[i] - want[i]) < 1e-4))
      fail_msg("row %d is %g, not %g", i, out[i], want[i]);
}

static void the_first_nan_is_the_extreme(void **state) {
  (void)state;
  const float x[] = {1, NAN, 7, NAN};
  int64_t at;
  wf_plan plan = whole(WF__RED_ARGMAX, x, WF_F32, 4, &at, WF_I64);
  assert_ok(wf__exec(&plan));
  assert_int_equal(at, 1);
  plan.op = WF__RED_ARGMIN;
  assert_ok(wf__exec(&plan));
  assert_int_equal(at, 1);
}

static void halves_neither_stall_nor_overflow_in_the_middle(void **state) {
  (void)state;
  static uint16_t ones[70000];
  uint16_t out;
  for (int i = 0; i < 70000; i++) ones[i] = wf__f32_to_bf16(1);
  wf_plan plan = whole(WF__RED_SUM, ones, WF_BF16, 70000, &out, WF_BF16);
  assert_ok(wf__exec(&plan));
  assert_true(wf__bf16_to_f32(out) == 70144);
  plan.op = WF__RED_MEAN;
  assert_ok(wf__exec(&plan));
  assert_true(wf__bf16_to_f32(out) == 1);
  uint16_t big[8];
  for (int i = 0; i < 8; i++) big[i] = wf__f32_to_f16(i < 4 ? 32000 : -32000);
  plan = whole(WF__RED_SUM, big, WF_F16, 8, &out, WF_F16);
  assert_ok(wf__exec(&plan));
  assert_int_equal(out, 0);
}

static void sums_do_not_depend_on_the_number_of_threads(void **state) {
  (void)state;
  enum { ROWS = 3000, COLS = 70 };
  static double x[ROWS * COLS];
  uint64_t seed = 1;
  for (int i = 0; i < ROWS * COLS; i++) x[i] = (double)random_next(&seed) * 0x1p-60;
  double first_all = 0, first[COLS] = {0};
  for (int threads = 1; threads <= 5; threads++) {
    assert_ok(wf_set_num_threads(threads));
    double all, column[COLS];
    wf_plan plan = whole(WF__RED_SUM, x, WF_F64, ROWS * COLS, &all, WF_F64);
    assert_ok(wf__exec(&plan));
    wf_plan by_column = plan;
    by_column.ndim = 2;
    by_column.size[0] = ROWS, by_column.size[1] = COLS;
    by_column.operand[0] = (wf_operand){column, WF_F64, {0, 8}};
    by_column.operand[1] = (wf_operand){x, WF_F64, {COLS * 8, 8}};
    assert_ok(wf__exec(&by_column));
    if (threads == 1) first_all = all, memcpy(first, column, sizeof first);
    assert_true(all == first_all);
    assert_memory_equal(column, first, sizeof first);
  }
  long double sum = 0;
  for (int i = 0; i < ROWS * COLS; i++) sum += x[i];
  assert_true(fabsl(first_all - sum) <= 1e-15L * sum);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_reductions_equal_obvious_loops),
    cmocka_unit_test(large_reductions_of_whole_numbers_are_exact),
    cmocka_unit_test(infinities_nan_and_nothing_end_as_in_pytorch),
    cmocka_unit_test(many_short_rows_of_exponentials_end_so_as_well),
    cmocka_unit_test(the_first_nan_is_the_extreme),
    cmocka_unit_test(halves_neither_stall_nor_overflow_in_the_middle),
    cmocka_unit_test(sums_do_not_depend_on_the_number_of_threads),
};
WF_TEST_MAIN("exec/reduce", tests)
