/* Kernels of softmax for every instruction set: rows, stretches and columns against the definition in long double, on guarded buffers. */
#include "test.h"

#include <math.h>
#include "guarded.h"
#include "kernel/neural.h"
#include "kernel/tables.h"

#define MOST 600

static size_t size_of(int class) { return class == WF__CLASS_F64 ? 8 : 4; }
static double get(int class, const void *p, int64_t i) {
  return class == WF__CLASS_F64 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}
static void set(int class, void *p, int64_t i, double x) {
  if (class == WF__CLASS_F64) ((double *)p)[i] = x;
  else ((float *)p)[i] = (float)x;
}

/* exp(x - top) / sum and its kin by the book. in[1]: the forward's result, for the derivatives. */
static void expect(int op, const double *x, const double *y, int64_t n, double *out) {
  long double top = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; i++) top = x[i] > top ? x[i] : top;
  for (int64_t i = 0; i < n; i++)
    sum += op == WF__SOFTMAX_BACKWARD       ? (long double)x[i] * y[i]
           : op == WF__LOG_SOFTMAX_BACKWARD ? x[i]
                                            : expl(x[i] - top);
  for (int64_t i = 0; i < n; i++) switch (op) {
      case WF__SOFTMAX: out[i] = (double)(expl(x[i] - top) / sum); break;
      case WF__LOG_SOFTMAX: out[i] = (double)(x[i] - top - logl(sum)); break;
      case WF__SOFTMAX_BACKWARD: out[i] = (double)((x[i] - sum) * y[i]); break;
      default: out[i] = (double)(x[i] - expl(y[i]) * sum); break;
    }
}

static void check_close(int isa, int class, int op, const char *how, int64_t n, int64_t i, double got, double want,
                        double size) {
  double last = class == WF__CLASS_F64 ? 0x1p-52 : 0x1p-23, tolerance = 4 * last * fabs(want) + 4 * last * size;
  /* x - top is rounded, up to 20 here: that much of the last place shows in the result. */
  if (op == WF__SOFTMAX) tolerance = 24 * last * fabs(want) + (class == WF__CLASS_F64 ? 1e-300 : 1e-37);
  if ((isnan(got) && isnan(want)) || got == want || fabs(got - want) <= tolerance) return;
  fail_msg("%s, class %d, operator %d, %s of %d: %.17g at %d, not %.17g", wf__cpu_isa_name((wf__isa)isa), class, op,
           how, (int)n, got, (int)i, want);
}

/* Kinds of input: 0 ordinary, 1 with masked places, 2 only -inf, 3 with NaN, 4 with +inf, 5 so large that exp alone would overflow. */
static double number(int kind, int64_t i, uint64_t *seed) {
  double unit = (double)(random_next(seed) >> 11) * 0x1p-53;
  if (kind == 1 && random_next(seed) % 3 == 0) return -INFINITY;
  if (kind == 2) return -INFINITY;
  if (kind == 3 && i == 3) return NAN;
  if (kind == 4 && i == 1) return INFINITY;
  return kind == 5 ? unit * 200 + 700 : unit * 20 - 10;
}

static void check_row(int isa, int class, int op, int64_t n, int kind, size_t shift, uint64_t *seed) {
  const wf__softmax_kernels *k = &wf__kernels_of((wf__isa)isa)->softmax[class][op];
  size_t size = size_of(class), bytes = (size_t)n * size;
  guarded in[2], out = guarded_new(bytes, shift * size), keep = guarded_new(bytes, 0);
  double x[2][MOST], want[MOST], scale = 0;
  for (int o = 0; o < 2; o++) {
    in[o] = guarded_new(bytes, size * (size_t)(o + 1));
    for (int64_t i = 0; i < n; i++) {
      set(class, in[o].data, i,
          o ? (op == WF__LOG_SOFTMAX_BACKWARD ? -0.1 : 1.0) * (double)(i % 7) / 7 : number(kind, i, seed));
      x[o][i] = get(class, in[o].data, i);
      if (o == 0 && isfinite(x[0][i])) scale += fabs(x[0][i]);
    }
  }
  expect(op, x[0], x[1], n, want);
  const void *inputs[] = {in[0].data, in[1].data};
  for (int stream = 0; stream < 2; stream++) {
    char top[8], sum[8] = {0};
    set(class, top, 0, -INFINITY);
    const void *part[] = {in[0].data, in[1].data};
    for (int64_t at = 0; at < n; at += 37) { /* stretch by stretch */
      part[0] = in[0].data + (size_t)at * size;
      part[1] = in[1].data + (size_t)at * size;
      k->take(top, sum, part, n - at < 37 ? n - at : 37);
    }
    if (k->finish) k->finish(sum, 1);
    k->map(out.data, inputs, n, top, sum, false, stream);
    for (int64_t i = 0; i < n; i++)
      check_close(isa, class, op, "stretches", n, i, get(class, out.data, i), want[i], scale);
    if (!k->row) continue;
    memset(out.data, 0x3c, bytes);
    k->row(out.data, in[0].data, keep.data, n, stream ? in[0].data : NULL, stream);
    for (int64_t i = 0; i < n; i++) check_close(isa, class, op, "row", n, i, get(class, out.data, i), want[i], scale);
  }
  wf__stream_fence();
  guarded *all[] = {&in[0], &in[1], &out, &keep};
  for (int i = 0; i < 4; i++) {
    assert_true(guarded_intact(all[i]));
    guarded_free(all[i]);
  }
}

static void rows_follow_the_definition(void **state) {
  (void)state;
  uint64_t seed = 17;
  const int64_t lengths[] = {1, 2, 5, 7, 8, 15, 16, 17, 33, 64, 100, 257, 600};
  for (int isa = WF__ISA_BASE; isa <= (int)best_isa(); isa++)
    for (int class = 0; class <= WF__CLASS_F64; class ++)
      for (int op = 0; op <= WF__LOG_SOFTMAX_BACKWARD; op++)
        for (int l = 0; l < 13; l++)
          for (int kind = 0; kind < (op <= WF__LOG_SOFTMAX ? 6 : 1); kind++)
            check_row(isa, class, op, lengths[l], kind, (size_t)(l + kind) % 5, &seed);
}

static void check_columns(int isa, int class, int op, int64_t rows, int64_t cols, int kind, uint64_t *seed) {
  const wf__softmax_kernels *k = &wf__kernels_of((wf__isa)isa)->softmax[class][op];
  size_t size = size_of(class);
  int64_t stride[2] = {(cols + 3) * (int64_t)size, cols * (int64_t)size};
  guarded in[2], top = guarded_new((size_t)cols * size, 0), sum = guarded_new((size_t)cols * size, size),
                 out = guarded_new((size_t)cols * size, 2 * size);
  double x[2][MOST], want[MOST];
  for (int o = 0; o < 2; o++) {
    in[o] = guarded_new((size_t)(rows * stride[o]), size);
    for (int64_t i = 0; i < rows * cols; i++)
      set(class, in[o].data + i / cols * stride[o], i % cols,
          o ? (op == WF__LOG_SOFTMAX_BACKWARD ? -0.1 : 1.0) * (double)(i % 7) / 7 : number(kind, i / cols, seed));
  }
  for (int64_t c = 0; c < cols; c++) {
    set(class, top.data, c, -INFINITY);
    set(class, sum.data, c, 0);
  }
  for (int64_t at = 0; at < rows; at += 11) {
    const void *part[] = {in[0].data + at * stride[0], in[1].data + at * stride[1]};
    k->take_columns(top.data, sum.data, part, stride, rows - at < 11 ? rows - at : 11, cols);
  }
  if (k->finish) k->finish(sum.data, cols);
  for (int64_t r = 0; r < rows; r++) {
    const void *row[] = {in[0].data + r * stride[0], in[1].data + r * stride[1]};
    k->map(out.data, row, cols, top.data, sum.data, true, r % 2);
    for (int64_t c = 0; c < cols; c++) {
      double scale = 0;
      for (int64_t i = 0; i < rows; i++) {
        for (int o = 0; o < 2; o++) x[o][i] = get(class, in[o].data + i * stride[o], c);
        if (isfinite(x[0][i])) scale += fabs(x[0][i]);
      }
      expect(op, x[0], x[1], rows, want);
      check_close(isa, class, op, "columns", rows, r, get(class, out.data, c), want[r], scale);
    }
  }
  wf__stream_fence();
  guarded *all[] = {&in[0], &in[1], &top, &sum, &out};
  for (int i = 0; i < 5; i++) {
    assert_true(guarded_intact(all[i]));
    guarded_free(all[i]);
  }
}

static void columns_follow_the_definition(void **state) {
  (void)state;
  uint64_t seed = 23;
  const int64_t sides[] = {1, 3, 8, 17, 40};
  for (int isa = WF__ISA_BASE; isa <= (int)best_isa(); isa++)
    for (int class = 0; class <= WF__CLASS_F64; class ++)
      for (int op = 0; op <= WF__LOG_SOFTMAX_BACKWARD; op++)
        for (int r = 0; r < 5; r++)
          for (int c = 0; c < 5; c++)
            check_columns(isa, class, op, sides[r], sides[c], op <= WF__LOG_SOFTMAX ? (r + c) % 6 : 0, &seed);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rows_follow_the_definition),
    cmocka_unit_test(columns_follow_the_definition),
};
WF_TEST_MAIN("kernel/softmax", tests)
