/* Conversions: the rules of ref/ against PyTorch's results, every instruction set against ref/. */
#include "test.h"

#include <math.h>
#include "guarded.h"
#include "kernel/tables.h"

/* torch.tensor(values, dtype=torch.float64).to(dt) in PyTorch 2.15 on an x86 with AVX-512. */
static const double floats[] = {-1,     -255,         -300,          255,    300,     -29.5, -0.5,
                                0x1p31, 4294967301.0, -2147483653.0, 0x1p63, -0x1p63, NAN,   INFINITY,
                                -1e10,  3e9,          70000,         -40000, 0.3,     -0.0};
#define FLOATS 20
static const int64_t as_u8[FLOATS] = {255, 1, 212, 255, 44, 227, 0, 0, 5, 251, 0, 0, 0, 0, 0, 0, 112, 192, 0, 0};
static const int64_t as_i8[FLOATS] = {-1, 1, -44, -1, 44, -29, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 112, -64, 0, 0};
static const int64_t as_i16[FLOATS] = {-1, -255, -300, 255, 300, -29, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4464, 25536, 0, 0};
static const int64_t as_i32[FLOATS] = {-1,        -255,      -300,      255,       300,       -29,       0,
                                       INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN,
                                       INT32_MIN, INT32_MIN, 70000,     -40000,    0,         0};
static const int64_t as_i64[FLOATS] = {
    -1,        -255,      -300,      255,       300,          -29,        0,     2147483648, 4294967301, -2147483653,
    INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, -10000000000, 3000000000, 70000, -40000,     0,          0};
static const int64_t as_bool[FLOATS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0};

static void floats_become_integers_as_in_pytorch(void **state) {
  (void)state;
  const struct {
    wf_dtype to;
    const int64_t *expected;
  } rows[] = {{WF_U8, as_u8}, {WF_I8, as_i8}, {WF_I16, as_i16}, {WF_I32, as_i32}, {WF_I64, as_i64}, {WF_BOOL, as_bool}};
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++)
    for (int r = 0; r < 6; r++) {
      char out[FLOATS * 8];
      wf__kernels_of((wf__isa)isa)->convert[WF_F64][rows[r].to](out, floats, FLOATS);
      for (int i = 0; i < FLOATS; i++)
        assert_true(wf__scalar_load(rows[r].to, out + i * (int)wf_dtype_size(rows[r].to)).as.i == rows[r].expected[i]);
    }
}

/* torch.tensor(values, dtype=torch.int64).to(dt), the same machine. */
static void integers_become_floats_with_the_roundings_of_pytorch(void **state) {
  (void)state;
  const int64_t in[] = {-1, 16777217, -16777219, 9007199254740993, 2049, 2051, 65519, 65520};
  const double f16[] = {-1, INFINITY, -INFINITY, INFINITY, 0x1p11, 0x1.008p11, 0x1.ffcp15, INFINITY};
  const double bf16[] = {-1, 0x1p24, -0x1p24, 0x1p53, 0x1p11, 0x1p11, 0x1p16, 0x1p16};
  const double f32[] = {-1, 0x1p24, -0x1.000004p24, 0x1p53, 2049, 2051, 65519, 65520};
  const struct {
    wf_dtype to;
    const double *expected;
  } rows[] = {{WF_F16, f16}, {WF_BF16, bf16}, {WF_F32, f32}};
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++)
    for (int r = 0; r < 3; r++) {
      char out[64];
      wf__kernels_of((wf__isa)isa)->convert[WF_I64][rows[r].to](out, in, 8);
      for (int i = 0; i < 8; i++)
        assert_true(wf__scalar_load(rows[r].to, out + i * (int)wf_dtype_size(rows[r].to)).as.f == rows[r].expected[i]);
    }
}

static void a_double_becomes_a_half_by_way_of_f32(void **state) {
  (void)state;
  const double in[] = {1 + 0x1p-11 + 0x1p-40}; /* above the tie, but f32 rounds it onto the tie; torch gives 1 */
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++) {
    uint16_t out;
    wf__kernels_of((wf__isa)isa)->convert[WF_F64][WF_F16](&out, in, 1);
    assert_int_equal(out, 0x3c00);
  }
}

static bool same_element(wf_dtype dtype, const char *a, const char *b) {
  if (!memcmp(a, b, wf_dtype_size(dtype))) return true;
  return wf_dtype_is_float(dtype) && isnan(wf__scalar_load(dtype, a).as.f) && isnan(wf__scalar_load(dtype, b).as.f);
}

static void every_instruction_set_converts_as_ref_does(void **state) {
  (void)state;
  uint64_t seed = 12345;
  const int64_t lengths[] = {0, 1, 7, 16, 31, 64, 255, 513, 1500};
  for (int isa = WF__ISA_BASE; isa <= (int)best_isa(); isa++)
    for (int from = 1; from < WF_DTYPE_COUNT; from++)
      for (int to = 1; to < WF_DTYPE_COUNT; to++)
        for (int k = 0; k < 9; k++) {
          int64_t n = lengths[k];
          size_t in_size = wf_dtype_size((wf_dtype)from), out_size = wf_dtype_size((wf_dtype)to);
          guarded in = guarded_new((size_t)n * in_size, in_size * (size_t)(k % 3));
          guarded out = guarded_new((size_t)n * out_size, out_size * (size_t)(k % 5)),
                  expected = guarded_new((size_t)n * out_size, 0);
          random_fill(in.data, (wf_dtype)from, n, &seed);
          wf__kernels_of(WF__ISA_REF)->convert[from][to](expected.data, in.data, n);
          wf__kernels_of((wf__isa)isa)->convert[from][to](out.data, in.data, n);
          for (int64_t i = 0; i < n; i++)
            if (!same_element((wf_dtype)to, out.data + i * (int64_t)out_size, expected.data + i * (int64_t)out_size))
              fail_msg("%s: %s to %s, element %lld of %lld: %.17g", wf__cpu_isa_name((wf__isa)isa),
                       wf_dtype_name((wf_dtype)from), wf_dtype_name((wf_dtype)to), (long long)i, (long long)n,
                       wf__scalar_double(wf__scalar_load((wf_dtype)from, in.data + i * (int64_t)in_size)));
          assert_true(guarded_intact(&out) && guarded_intact(&in));
          guarded_free(&in);
          guarded_free(&out);
          guarded_free(&expected);
        }
}

static void every_half_and_every_upper_half_of_f32_converts_as_base_says(void **state) {
  (void)state;
  static uint16_t halves[65536], back[65536];
  static float floats32[65536];
  for (int i = 0; i < 65536; i++) halves[i] = (uint16_t)i;
  for (int isa = WF__ISA_BASE; isa <= (int)best_isa(); isa++) {
    const wf__kernels *k = wf__kernels_of((wf__isa)isa);
    k->convert[WF_F16][WF_F32](floats32, halves, 65536);
    for (int i = 0; i < 65536; i++) {
      float f = wf__f16_to_f32((uint16_t)i);
      assert_true(isnan(f) ? isnan(floats32[i]) : wf__f32_bits(f) == wf__f32_bits(floats32[i]));
    }
    for (uint32_t low = 0; low < 3; low++) { /* f32 bit patterns with low parts below, on and above the ties */
      for (uint32_t i = 0; i < 65536; i++)
        floats32[i] = wf__bits_f32(i << 16 | (low == 0 ? 0x0fff : low == 1 ? 0x1000 : 0x9001));
      k->convert[WF_F32][WF_F16](back, floats32, 65536);
      for (int i = 0; i < 65536; i++) assert_int_equal(back[i], wf__f32_to_f16(floats32[i]));
      k->convert[WF_F32][WF_BF16](back, floats32, 65536);
      for (int i = 0; i < 65536; i++) assert_int_equal(back[i], wf__f32_to_bf16(floats32[i]));
    }
  }
}

/* ---- every pattern of 16 bits and less, by exact arithmetic -------------------------------------------------------------------- */

/* Mantissa bits without the leading one, least exponent, greatest exponent. */
typedef struct shape_of_floats {
  int mantissa, least, most;
} shape_of_floats;
static const shape_of_floats half_shape = {10, -14, 15}, bfloat_shape = {7, -126, 127}, float_shape = {23, -126, 127};

static double decoded(uint16_t bits, shape_of_floats s) {
  int exponent = (bits & 0x7fff) >> s.mantissa, fraction = bits & ((1 << s.mantissa) - 1);
  double sign = bits >> 15 ? -1 : 1;
  if (exponent == s.most - s.least + 2) return fraction ? NAN : sign * INFINITY;
  if (!exponent) return sign * ldexp(fraction, s.least - s.mantissa);
  return sign * ldexp((1 << s.mantissa) + fraction, exponent + s.least - 1 - s.mantissa);
}

/* v to the nearest number of that shape, to the even one where two are as near. */
static double rounded(double v, shape_of_floats s) {
  if (v == 0 || !isfinite(v)) return v;
  int exponent = ilogb(v) < s.least ? s.least : ilogb(v);
  double quantum = ldexp(1, exponent - s.mantissa), r = rint(v / quantum) * quantum;
  return fabs(r) > ldexp(2 - ldexp(1, -s.mantissa), s.most) ? copysign(INFINITY, v) : r;
}

static double pattern(wf_dtype dtype, int i) {
  switch (dtype) {
    case WF_F16: return decoded((uint16_t)i, half_shape);
    case WF_BF16: return decoded((uint16_t)i, bfloat_shape);
    case WF_I16: return (int16_t)i;
    case WF_I8: return (int8_t)i;
    case WF_BOOL: return i & 1;
    default: return (uint8_t)i;
  }
}

/* What `to` holds of v. false: beyond what the integer holds, where the result is the machine's own. */
static bool converted(double v, wf_dtype to, double *out) {
  switch (to) {
    case WF_F64: *out = v; return true;
    case WF_F32: *out = rounded(v, float_shape); return true;
    case WF_F16: *out = rounded(v, half_shape); return true;
    case WF_BF16: *out = rounded(v, bfloat_shape); return true;
    case WF_BOOL: *out = v != 0; return true; /* nan as well */
    default: break;
  }
  if (!(fabs(v) < 0x1p31)) return false;
  int64_t whole = (int64_t)v;
  *out = to == WF_U8 ? (uint8_t)whole : to == WF_I8 ? (int8_t)whole : to == WF_I16 ? (int16_t)whole : (double)whole;
  return true;
}

static void every_pattern_of_16_bits_and_less_converts_to_every_dtype(void **state) {
  (void)state;
  static uint16_t wide[65536];
  static uint8_t narrow[65536];
  static char out[65536 * 8];
  const wf_dtype from[] = {WF_F16, WF_BF16, WF_I16, WF_I8, WF_U8, WF_BOOL};
  for (int i = 0; i < 65536; i++) wide[i] = (uint16_t)i;
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++)
    for (int f = 0; f < 6; f++)
      for (int to = 1; to < WF_DTYPE_COUNT; to++) {
        int n = wf_dtype_size(from[f]) == 2 ? 65536 : 256;
        for (int i = 0; i < 256; i++) narrow[i] = from[f] == WF_BOOL ? (uint8_t)(i & 1) : (uint8_t)i;
        wf__kernels_of((wf__isa)isa)->convert[from[f]][to](out, n == 256 ? (const void *)narrow : wide, n);
        for (int i = 0; i < n; i++) {
          double expected, v = pattern(from[f], i);
          if (!converted(v, (wf_dtype)to, &expected)) continue;
          double came = wf__scalar_double(wf__scalar_load((wf_dtype)to, out + i * (int)wf_dtype_size((wf_dtype)to)));
          if (isnan(expected) ? isnan(came) : came == expected && signbit(came) == signbit(expected)) continue;
          fail_msg("%s: %s %.9g to %s: %.9g, expected %.9g", wf__cpu_isa_name((wf__isa)isa), wf_dtype_name(from[f]), v,
                   wf_dtype_name((wf_dtype)to), came, expected);
        }
      }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_pattern_of_16_bits_and_less_converts_to_every_dtype),
    cmocka_unit_test(floats_become_integers_as_in_pytorch),
    cmocka_unit_test(integers_become_floats_with_the_roundings_of_pytorch),
    cmocka_unit_test(a_double_becomes_a_half_by_way_of_f32),
    cmocka_unit_test(every_instruction_set_converts_as_ref_does),
    cmocka_unit_test(every_half_and_every_upper_half_of_f32_converts_as_base_says),
};
WF_TEST_MAIN("kernel/convert", tests)
