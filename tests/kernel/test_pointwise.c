/* Pointwise kernels: ref/ against PyTorch (the table in pointwise_torch.h), every instruction set against ref/. */
#include "test.h"

#include <float.h>
#include <math.h>
#include "guarded.h"
#include "kernel/tables.h"
#include "pointwise_torch.h"

static const char *const op_names[] = {
#define WF_X(NAME, arity) #NAME,
    WF__POINTWISE_OPS(WF_X)
#undef WF_X
};

static bool close_to(double got, double expected, double relative) {
  if (isnan(expected)) return isnan(got);
  if (!isfinite(expected)) return got == expected;
  return fabs(got - expected) <= relative * fabs(expected) + 1e-300;
}

static wf__pointwise_args args_of(const double *scalar, int n) {
  wf__pointwise_args a = {.f = {1, 1, 1, 1}, .i = {1, 1, 1, 1}};
  for (int i = 0; i < n; i++) {
    a.f[i] = scalar[i];
    a.i[i] = (int64_t)scalar[i];
    a.given[i] = true;
  }
  return a;
}

#define FLOATS ((int)(sizeof float_x / sizeof *float_x))
#define INTEGERS ((int)(sizeof integer_x / sizeof *integer_x))

static void doubles_are_what_pytorch_computes(void **state) {
  (void)state;
  const void *in[] = {float_x, float_y, float_z};
  for (size_t r = 0; r < sizeof float_rows / sizeof *float_rows; r++) {
    int op = float_rows[r].op;
    double out[FLOATS];
    uint8_t flags[FLOATS];
    wf__pointwise_args args = args_of(float_rows[r].scalar, float_rows[r].scalars);
    bool flag = wf__pointwise_gives_bool(op);
    wf__kernels_of(WF__ISA_REF)->pointwise[WF__CLASS_F64][op](flag ? (void *)flags : out, in, FLOATS, &args);
    for (int i = 0; i < FLOATS; i++) {
      double got = flag ? flags[i] : out[i], expected = float_rows[r].expected[i];
      /* PyTorch adds 1 to a tangent or an error function near -1. */
      double lost = op == WF__PW_GELU_TANH || op == WF__PW_GELU ? 0x1p-53 * fabs(float_x[i]) : 0;
      if (!close_to(got, expected, 1e-13) && !(fabs(got - expected) <= lost))
        fail_msg("%s(%g, %g, %g) is %.17g, not %.17g", op_names[op], float_x[i], float_y[i], float_z[i], got, expected);
    }
  }
}

/* The inputs of the table as f32; those of its values that aren't f32 numbers give results that differ in the last places. */
static void floats_are_what_pytorch_computes(void **state) {
  (void)state;
  float x[FLOATS], y[FLOATS], z[FLOATS];
  for (int i = 0; i < FLOATS; i++) {
    x[i] = (float)float_x[i];
    y[i] = (float)float_y[i];
    z[i] = (float)float_z[i];
  }
  const void *in[] = {x, y, z};
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++)
    for (size_t r = 0; r < sizeof float_rows / sizeof *float_rows; r++) {
      int op = float_rows[r].op;
      float out[FLOATS];
      uint8_t flags[FLOATS];
      wf__pointwise_args args = args_of(float_rows[r].scalar, float_rows[r].scalars);
      bool flag = wf__pointwise_gives_bool(op),
           discontinuous = op == WF__PW_DIV_FLOOR || op == WF__PW_REMAINDER || op == WF__PW_FMOD;
      wf__kernels_of((wf__isa)isa)->pointwise[WF__CLASS_F32][op](flag ? (void *)flags : out, in, FLOATS, &args);
      for (int i = 0; i < FLOATS; i++) {
        double got = flag ? flags[i] : out[i], expected = float_rows[r].expected[i];
        if (!flag && fabs(expected) > 3.4e38) expected = expected > 0 ? INFINITY : -INFINITY;
        bool exact_inputs = x[i] == float_x[i] && y[i] == float_y[i];
        if (discontinuous && !exact_inputs) continue;
        if (!flag && fabs(got - expected) < 3e-7 * (1 + fabs(x[i]))) continue; /* sums that cancel */
        if (!close_to(got, expected, op == WF__PW_POW_SCALAR_BASE || op == WF__PW_POW_SCALAR_EXP ? 1e-5 : 2e-6))
          fail_msg("%s %s(%g, %g, %g) is %.9g, not %.9g", wf__cpu_isa_name((wf__isa)isa), op_names[op], x[i], y[i],
                   z[i], got, expected);
      }
    }
}

static void integers_are_what_pytorch_computes(void **state) {
  (void)state;
  const void *in[] = {integer_x, integer_y, integer_z};
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++)
    for (size_t r = 0; r < sizeof integer_rows / sizeof *integer_rows; r++) {
      int op = integer_rows[r].op;
      int64_t out[INTEGERS];
      uint8_t flags[INTEGERS];
      wf__pointwise_args args = args_of(integer_rows[r].scalar, integer_rows[r].scalars);
      bool flag = wf__pointwise_gives_bool(op);
      wf__kernels_of((wf__isa)isa)->pointwise[WF__CLASS_I64][op](flag ? (void *)flags : out, in, INTEGERS, &args);
      for (int i = 0; i < INTEGERS; i++)
        if ((flag ? flags[i] : out[i]) != integer_rows[r].expected[i])
          fail_msg("%s(%lld, %lld, %lld) is %lld", op_names[op], (long long)integer_x[i], (long long)integer_y[i],
                   (long long)integer_z[i], (long long)out[i]);
    }
}

static void the_quotient_that_does_not_fit_wraps(void **state) {
  (void)state;
  int64_t x = INT64_MIN, y = -1, out;
  const void *in[] = {&x, &y};
  wf__pointwise_args args = args_of(NULL, 0);
  const wf__pointwise_fn *fn = wf__kernels_of(WF__ISA_REF)->pointwise[WF__CLASS_I64];
  fn[WF__PW_DIV_TRUNC](&out, in, 1, &args);
  assert_true(out == INT64_MIN);
  fn[WF__PW_DIV_FLOOR](&out, in, 1, &args);
  assert_true(out == INT64_MIN);
  fn[WF__PW_REMAINDER](&out, in, 1, &args);
  assert_true(out == 0);
}

/* Units in the last place of f32 between two numbers of it. */
static int64_t ulps(float a, float b) {
  int32_t i = (int32_t)wf__f32_bits(a), j = (int32_t)wf__f32_bits(b);
  int64_t u = i < 0 ? (int64_t)INT32_MIN - i : i, v = j < 0 ? (int64_t)INT32_MIN - j : j;
  return u > v ? u - v : v - u;
}

/* How far vectorised f32 may be from the rounded double, in units in the last place. 0: equal but for the sign of zero and NaN's payload. */
static int64_t allowed(int op) {
  if (op == WF__PW_POW || op == WF__PW_POW_SCALAR_EXP) return 1; /* ties of the rounding */
  return op == WF__PW_RSQRT || (op >= WF__PW_EXP && op <= WF__PW_ERF) ? 2 : 0;
}

/* Where numbers of this size are added or subtracted, the result is no better than their last places. */
static double size_of_terms(int op, double x, double y, double z) {
  x = fabs(x), y = fabs(y), z = fabs(z);
  switch (op) {
    case WF__PW_ADD:
    case WF__PW_SUB: return x + y;
    case WF__PW_AFFINE: return x + 2;
    case WF__PW_LERP: return x + y + z * (x + y);
    case WF__PW_ADDCMUL: return x + y * z;
    case WF__PW_ADDCDIV: return x + (z > 0 ? y / z : 0);
    case WF__PW_SIGMOID_BACKWARD: return x * (1 + y) * (1 + y);
    case WF__PW_TANH_BACKWARD: return x * (1 + y * y);
    default: break;
  }
  if (op >= WF__PW_GELU_BACKWARD && op <= WF__PW_SOFTPLUS_BACKWARD) return 2 * x;
  return op >= WF__PW_GELU && op <= WF__PW_SOFTPLUS ? 2 * (1 + x) : 0;
}

static bool same_float(int op, const void *const *in, int64_t i, float got, float want) {
  if ((isnan(got) && isnan(want)) || got == want || ulps(got, want) <= allowed(op) || fabsf(got - want) < 1e-37f)
    return true;
  double terms = size_of_terms(op, ((const float *)in[0])[i], ((const float *)in[1])[i], ((const float *)in[2])[i]);
  return isfinite(terms) && fabs((double)got - want) <= 3e-7 * terms;
}

static bool same_double(int op, const void *const *in, int64_t i, double got, double want) {
  bool by_series = allowed(op) || op == WF__PW_POW_SCALAR_BASE || op == WF__PW_ATAN2;
  if ((isnan(got) && isnan(want)) || got == want || (by_series && close_to(got, want, 1e-15))) return true;
  double terms = size_of_terms(op, ((const double *)in[0])[i], ((const double *)in[1])[i], ((const double *)in[2])[i]);
  return isfinite(terms) && fabs(got - want) <= 1e-15 * terms;
}

/* Takes out what overflows or vanishes on the way in f32 but not in the double of ref/. */
static void tame(void *data, int class, int64_t n) {
  for (int64_t i = 0; i < n && class <= WF__CLASS_F64; i++) {
    double x = class == WF__CLASS_F32 ? ((float *)data)[i] : ((double *)data)[i];
    if (x == 0 || (fabs(x) > 1e-9 && fabs(x) < 1e9)) continue;
    if (class == WF__CLASS_F32) ((float *)data)[i] = (float)(i % 7) - 3;
    else ((double *)data)[i] = (double)(i % 7) - 3;
  }
}

/* Compares two kernels of one operator on n random elements at unaligned addresses. */
static void compare(int isa, int class, int op, int64_t n, size_t shift, uint64_t *seed) {
  static const double scalar[] = {0.75, 1.5, 1.0, 0.0};
  static const wf_dtype dtypes[] = {WF_F32, WF_F64, WF_I64, WF_I32, WF_I16, WF_I8, WF_U8};
  size_t size = wf_dtype_size(dtypes[class]), out_size = wf__pointwise_gives_bool(op) ? 1 : size;
  guarded in[3], out = guarded_new((size_t)n * out_size, out_size * shift),
                 expected = guarded_new((size_t)n * out_size, 0);
  const void *inputs[3];
  for (int k = 0; k < 3; k++) {
    in[k] = guarded_new((size_t)n * size, size * ((size_t)k + shift));
    random_fill(in[k].data, wf__pointwise_is_mask(op, k) ? WF_BOOL : dtypes[class], n, seed);
    inputs[k] = in[k].data;
  }
  if (size_of_terms(op, 1, 1, 1) > 0)
    for (int k = 0; k < 3; k++) tame(in[k].data, class, n);
  if (class >= WF__CLASS_I64 && op >= WF__PW_DIV_TRUNC && op <= WF__PW_REMAINDER)
    for (int64_t i = 0; i < n; i++) in[1].data[i * (int64_t)size] |= 1; /* no divisor is 0 */
  wf__pointwise_args args = args_of(scalar, 4);
  wf__kernels_of(WF__ISA_REF)->pointwise[class][op](expected.data, inputs, n, &args);
  wf__kernels_of((wf__isa)isa)->pointwise[class][op](out.data, inputs, n, &args);
  for (int64_t i = 0; i < n; i++) {
    bool same = !memcmp(out.data + i * (int64_t)out_size, expected.data + i * (int64_t)out_size, out_size);
    if (out_size == size && class == WF__CLASS_F32)
      same = same || same_float(op, inputs, i, ((float *)out.data)[i], ((float *)expected.data)[i]);
    if (out_size == size && class == WF__CLASS_F64)
      same = same || same_double(op, inputs, i, ((double *)out.data)[i], ((double *)expected.data)[i]);
    if (!same)
      fail_msg("%s: %s, class %d, element %d of %d, first input %.9g", wf__cpu_isa_name((wf__isa)isa), op_names[op],
               class, (int)i, (int)n, class == WF__CLASS_F32 ? ((float *)in[0].data)[i] : ((double *)in[0].data)[i]);
  }
  assert_true(guarded_intact(&out));
  for (int k = 0; k < 3; k++) guarded_free(&in[k]);
  guarded_free(&out);
  guarded_free(&expected);
}

static void every_instruction_set_computes_as_ref_does(void **state) {
  (void)state;
  uint64_t seed = 4711;
  const int64_t lengths[] = {1, 5, 16, 33, 257, 3000};
  for (int isa = WF__ISA_BASE; isa <= (int)best_isa(); isa++)
    for (int class = 0; class < WF__PW_CLASSES; class ++)
      for (int op = 0; op < WF__PW_COUNT; op++) {
        wf__pointwise_fn ref = wf__kernels_of(WF__ISA_REF)->pointwise[class][op];
        wf__pointwise_fn fast = wf__kernels_of((wf__isa)isa)->pointwise[class][op];
        assert_true((ref == NULL) == (fast == NULL));
        for (int l = 0; l < 6 && ref != fast; l++) compare(isa, class, op, lengths[l], (size_t)l, &seed);
      }
}

/* Down their left tails too, where they are x times a small probability, whose exponent's rounding counts. */
static void both_forms_of_gelu_keep_their_left_tail(void **state) {
  (void)state;
  enum { N = 40000 };
  static float x[N], y[N], small[N];
  static double wide_x[N], wide_y[N], error_form[N];
  const long double root = sqrtl(2 / 3.14159265358979323846264338327950288L);
  wf__pointwise_args args = args_of(NULL, 0);
  for (int i = 0; i < N; i++) x[i] = -10 + 22.0f * (float)i / N, wide_x[i] = -21 + 33.0 * i / N;
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++) {
    const wf__kernels *k = wf__kernels_of((wf__isa)isa);
    k->pointwise[WF__CLASS_F32][WF__PW_GELU_TANH](y, (const void *[]){x}, N, &args);
    k->pointwise[WF__CLASS_F32][WF__PW_GELU](small, (const void *[]){x}, N, &args);
    k->pointwise[WF__CLASS_F64][WF__PW_GELU_TANH](wide_y, (const void *[]){wide_x}, N, &args);
    k->pointwise[WF__CLASS_F64][WF__PW_GELU](error_form, (const void *[]){wide_x}, N, &args);
    for (int i = 0; i < N; i++) {
      long double u = 2 * root * (x[i] + 0.044715L * x[i] * x[i] * x[i]), exact = x[i] / (1 + expl(-u)), w = wide_x[i];
      long double v = 2 * root * (w + 0.044715L * w * w * w), wide = w / (1 + expl(-v)),
                  by_error = w * 0.5L * erfcl(-w * sqrtl(0.5L));
      if (ulps(y[i], (float)exact) > (isa == WF__ISA_REF ? 1 : 3 + 2.5L * (u < 0 ? -u : 0)))
        fail_msg("%s: gelu(%.9g) is %.9g, not %.9g", wf__cpu_isa_name((wf__isa)isa), x[i], y[i], (double)exact);
      long double narrow = x[i] * 0.5L * erfcl(-x[i] * sqrtl(0.5L)); /* from -5.4 down it vanishes too early */
      if (ulps(small[i], (float)narrow) > 6 + 4 * x[i] * x[i] && !(x[i] < -5.4f && fabsl(small[i] - narrow) < 2e-8L))
        fail_msg("%s: gelu(%.9g) is %.9g, not %.9g", wf__cpu_isa_name((wf__isa)isa), x[i], small[i], (double)narrow);
      if (fabsl(wide_y[i] - wide) > fabsl(wide) * 0x1p-53L * (6 + 4 * fabsl(v)))
        fail_msg("%s: gelu(%.17g) is %.17g, not %.17Lg", wf__cpu_isa_name((wf__isa)isa), wide_x[i], wide_y[i], wide);
      if (fabsl(error_form[i] - by_error) > fabsl(by_error) * 0x1p-53L * (8 + 2 * w * w))
        fail_msg("%s: gelu(%.17g) is %.17g, not %.17Lg", wf__cpu_isa_name((wf__isa)isa), wide_x[i], error_form[i],
                 by_error);
    }
  }
}

static long double softplus_exactly(long double x) { return x > 20 ? x : log1pl(expl(x)); }

/* Functions of doubles and how far they may be from what they are in long double, in units in the last place. */
static const struct {
  int op;
  long double (*of)(long double);
  long double bound;
} unary_functions[] = {
    {WF__PW_LOG, logl, 1},    {WF__PW_LOG1P, log1pl, 1},  {WF__PW_LOG2, log2l, 1},
    {WF__PW_SIN, sinl, 1},    {WF__PW_COS, cosl, 1},      {WF__PW_TAN, tanl, 1},
    {WF__PW_ATAN, atanl, 1},  {WF__PW_EXP, expl, 2},      {WF__PW_EXPM1, expm1l, 1},
    {WF__PW_ERF, erfl, 1.5L}, {WF__PW_TANH, tanhl, 2.5L}, {WF__PW_SOFTPLUS, softplus_exactly, 2.5L},
};
static const struct {
  int op;
  long double (*of)(long double, long double);
} binary_functions[] = {{WF__PW_POW, powl}, {WF__PW_ATAN2, atan2l}};

static const double odd_numbers[] = {0.0,
                                     -0.0,
                                     1,
                                     -1,
                                     INFINITY,
                                     -INFINITY,
                                     NAN,
                                     0x1p-1074,
                                     -0x1p-1074,
                                     0x1p-1022,
                                     -0x1p-1022,
                                     DBL_MAX,
                                     -DBL_MAX,
                                     0.5,
                                     2,
                                     3,
                                     -3,
                                     0x1p53,
                                     -0x1p53,
                                     1e22,
                                     -1e300,
                                     0x1.921fb54442d18p+0,
                                     0x1.fffffffffffffp-1,
                                     1.1,
                                     0.7,
                                     5.9,
                                     28,
                                     -38.6,
                                     709.9,
                                     -746,
                                     0x1p-53};
enum { ODD = sizeof odd_numbers / sizeof *odd_numbers, HARD = 20000 };

static double bits_to_double(uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}

/* Odd numbers, numbers around 0 and 1, numbers of all sizes, and random bits. */
static double hard_number(int i, int turn, uint64_t *seed) {
  double part = (double)(random_next(seed) >> 11) * 0x1p-53, sign = random_next(seed) & 1 ? -1 : 1;
  if (i < ODD * ODD) return odd_numbers[turn ? i / ODD : i % ODD];
  switch (i % 4) {
    case 0: return sign * part * 6;
    case 1: return sign * (0.9 + 0.2 * part);
    case 2: return sign * exp2(-1000 + 2000 * part);
    default: return bits_to_double(random_next(seed));
  }
}

static bool within(double got, long double exact, long double bound) {
  double rounded = (double)exact;
  if (isnan(rounded)) return isnan(got);
  if (isinf(rounded) || isinf(got) || exact == 0) return got == rounded && !signbit(got) == !signbit(rounded);
  int exponent;
  frexp(rounded, &exponent);
  return fabsl(got - exact) <= bound * ldexpl(1, (exponent < -1021 ? -1021 : exponent) - 53);
}

static void functions_of_doubles_are_right_to_some_units_in_the_last_place(void **state) {
  (void)state;
  static double x[HARD], y[HARD], out[HARD];
  uint64_t seed = 20;
  for (int i = 0; i < HARD; i++) x[i] = hard_number(i, 0, &seed), y[i] = hard_number(i, 1, &seed);
  wf__pointwise_args args = args_of((const double[]){1, 20}, 2);
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++) {
    const wf__pointwise_fn *fn = wf__kernels_of((wf__isa)isa)->pointwise[WF__CLASS_F64];
    for (size_t f = 0; f < sizeof unary_functions / sizeof *unary_functions; f++) {
      fn[unary_functions[f].op](out, (const void *[]){x}, HARD, &args);
      for (int i = 0; i < HARD; i++)
        if (!within(out[i], unary_functions[f].of(x[i]), unary_functions[f].bound))
          fail_msg("%s: %s(%.17g) is %.17g, not %.20Lg", wf__cpu_isa_name((wf__isa)isa),
                   op_names[unary_functions[f].op], x[i], out[i], unary_functions[f].of(x[i]));
    }
    for (size_t f = 0; f < sizeof binary_functions / sizeof *binary_functions; f++) {
      fn[binary_functions[f].op](out, (const void *[]){x, y}, HARD, &args);
      for (int i = 0; i < HARD; i++)
        if (!within(out[i], binary_functions[f].of(x[i], y[i]), 1))
          fail_msg("%s: %s(%.17g, %.17g) is %.17g, not %.20Lg", wf__cpu_isa_name((wf__isa)isa),
                   op_names[binary_functions[f].op], x[i], y[i], out[i], binary_functions[f].of(x[i], y[i]));
    }
  }
}

/* Narrow integers against the rule: cast to i64, compute there, keep the low bits. */
static void narrow_integers_are_the_low_bits_of_wide_ones(void **state) {
  (void)state;
  static const wf_dtype dtypes[] = {WF_I32, WF_I16, WF_I8, WF_U8};
  enum { N = 700 };
  uint64_t seed = 321;
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++)
    for (int c = 0; c < 4; c++)
      for (int op = 0; op < WF__PW_COUNT; op++) {
        const wf__kernels *k = wf__kernels_of((wf__isa)isa), *ref = wf__kernels_of(WF__ISA_REF);
        wf__pointwise_fn wide = ref->pointwise[WF__CLASS_I64][op], narrow = k->pointwise[WF__CLASS_I32 + c][op];
        assert_true((wide == NULL) == (narrow == NULL));
        if (!wide) continue;
        int64_t in[3][N], out[N], got[N], want[N];
        uint8_t narrow_in[3][N * 4];
        const void *wide_inputs[3], *narrow_inputs[3];
        for (int o = 0; o < 3; o++) {
          bool mask = wf__pointwise_is_mask(op, o);
          random_fill(narrow_in[o], mask ? WF_BOOL : dtypes[c], N, &seed);
          if (op >= WF__PW_DIV_TRUNC && op <= WF__PW_REMAINDER)
            for (int i = 0; i < N; i++) narrow_in[o][i * (int)wf_dtype_size(dtypes[c])] |= 1;
          if (!mask) ref->convert[dtypes[c]][WF_I64](in[o], narrow_in[o], N);
          narrow_inputs[o] = narrow_in[o];
          wide_inputs[o] = mask ? (const void *)narrow_in[o] : in[o];
        }
        wf__pointwise_args args = args_of((const double[]){3, 9}, 2);
        if (op == WF__PW_SUB) args = args_of((const double[]){-2}, 1);
        if (op == WF__PW_CLAMP) args.given[c % 2] = false;
        wide(out, wide_inputs, N, &args);
        narrow(got, narrow_inputs, N, &args);
        if (wf__pointwise_gives_bool(op)) {
          assert_memory_equal(got, out, N);
          continue;
        }
        ref->convert[WF_I64][dtypes[c]](want, out, N);
        if (memcmp(got, want, N * wf_dtype_size(dtypes[c])))
          fail_msg("%s: %s of %s", wf__cpu_isa_name((wf__isa)isa), op_names[op], wf_dtype_name(dtypes[c]));
      }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(doubles_are_what_pytorch_computes),
    cmocka_unit_test(floats_are_what_pytorch_computes),
    cmocka_unit_test(integers_are_what_pytorch_computes),
    cmocka_unit_test(the_quotient_that_does_not_fit_wraps),
    cmocka_unit_test(every_instruction_set_computes_as_ref_does),
    cmocka_unit_test(both_forms_of_gelu_keep_their_left_tail),
    cmocka_unit_test(functions_of_doubles_are_right_to_some_units_in_the_last_place),
    cmocka_unit_test(narrow_integers_are_the_low_bits_of_wide_ones),
};
WF_TEST_MAIN("kernel/pointwise", tests)
