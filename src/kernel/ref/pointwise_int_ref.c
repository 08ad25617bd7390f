/* Pointwise operators on integers: in i64, of which results keep the low bits. Arithmetic wraps, by way of unsigned numbers. Divisors are
 * never zero here: the runner refuses them first. */
#include "kernel/tables.h"

typedef uint64_t bits;

/* The one quotient that doesn't fit wraps to itself. */
static int64_t divide(int64_t x, int64_t y) { return y == -1 ? (int64_t)(0 - (bits)x) : x / y; }
static int64_t modulo(int64_t x, int64_t y) { return y == -1 ? 0 : x % y; }
static int64_t floor_divide(int64_t x, int64_t y) {
  int64_t q = divide(x, y);
  return modulo(x, y) != 0 && (x < 0) != (y < 0) ? q - 1 : q;
}
static int64_t remainder_of(int64_t x, int64_t y) {
  int64_t m = modulo(x, y);
  return m != 0 && (m < 0) != (y < 0) ? m + y : m;
}
/* Negative exponents: 0 but for the bases whose reciprocal is an integer. */
static int64_t power(int64_t x, int64_t e) {
  if (e < 0) return x == 1 ? 1 : x == -1 ? (e % 2 ? -1 : 1) : 0;
  bits result = 1, base = (bits)x;
  for (; e; e >>= 1, base *= base)
    if (e & 1) result *= base;
  return (int64_t)result;
}
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t clamp(int64_t x, const wf__pointwise_args *a) {
  if (a->given[0]) x = larger(x, a->i[0]);
  return a->given[1] ? smaller(x, a->i[1]) : x;
}

#define I int64_t
#define B uint8_t
/* X(NAME, I for a result of the element type or B for a truth, expression in x, y, z and a). */
/* clang-format off */
#define EACH_OP(X) \
  X(NEG, I, 0 - (bits)x) X(ABS, I, x < 0 ? 0 - (bits)x : (bits)x) X(SIGN, I, (x > 0) - (x < 0)) X(SQUARE, I, (bits)x * (bits)x) \
  X(FLOOR, I, x) X(CEIL, I, x) X(ROUND, I, x) X(TRUNC, I, x) X(ISNAN, B, 0) X(ISINF, B, 0) X(ISFINITE, B, 1) \
  X(LOGICAL_NOT, B, x == 0) X(BITWISE_NOT, I, ~x) X(RELU, I, larger(x, 0)) X(HARDTANH, I, clamp(x, a)) X(CLAMP, I, clamp(x, a)) \
  X(POW_SCALAR_EXP, I, power(x, a->i[0])) X(POW_SCALAR_BASE, I, power(a->i[0], x)) \
  X(AFFINE, I, (bits)a->i[0] * (bits)x + (bits)a->i[1]) X(ADD, I, (bits)x + (bits)a->i[0] * (bits)y) \
  X(SUB, I, (bits)x - (bits)a->i[0] * (bits)y) X(MUL, I, (bits)x * (bits)y) X(DIV_TRUNC, I, divide(x, y)) \
  X(DIV_FLOOR, I, floor_divide(x, y)) X(FMOD, I, modulo(x, y)) X(REMAINDER, I, remainder_of(x, y)) X(POW, I, power(x, y)) \
  X(MAXIMUM, I, larger(x, y)) X(MINIMUM, I, smaller(x, y)) X(EQ, B, x == y) X(NE, B, x != y) X(LT, B, x < y) X(LE, B, x <= y) \
  X(GT, B, x > y) X(GE, B, x >= y) X(LOGICAL_AND, B, x && y) X(LOGICAL_OR, B, x || y) X(LOGICAL_XOR, B, !x != !y) \
  X(BITWISE_AND, I, x &y) X(BITWISE_OR, I, x | y) X(BITWISE_XOR, I, x ^ y) X(THRESHOLD_BACKWARD, I, y <= a->i[0] ? 0 : x) \
  X(ADDCMUL, I, (bits)x + (bits)a->i[0] * (bits)y * (bits)z)
/* clang-format on */

/* R is I for results of the element type T. */
#define STORED_I(T) T
#define STORED_B(T) uint8_t
#define DEFINE(NAME, T, R, EXPRESSION)                                                               \
  static void NAME##_##T(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) { \
    int arity = wf__pointwise_arity[WF__PW_##NAME];                                                  \
    (void)a;                                                                                         \
    for (int64_t i = 0; i < n; i++) {                                                                \
      I x = ((const T *)in[0])[i], y = arity > 1 ? ((const T *)in[1])[i] : 0,                        \
        z = arity > 2 ? ((const T *)in[2])[i] : 0;                                                   \
      (void)x, (void)y, (void)z;                                                                     \
      ((R *)out)[i] = (R)(EXPRESSION);                                                               \
    }                                                                                                \
  }

/* Masks are the operators whose inputs aren't all of one type; absent bounds the one whose inputs may be missing. */
#define SPECIAL(T)                                                                                              \
  static void WHERE_##T(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {             \
    (void)a;                                                                                                    \
    for (int64_t i = 0; i < n; i++)                                                                             \
      ((T *)out)[i] = ((const B *)in[0])[i] ? ((const T *)in[1])[i] : ((const T *)in[2])[i];                    \
  }                                                                                                             \
  static void MASKED_FILL_##T(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {       \
    for (int64_t i = 0; i < n; i++) ((T *)out)[i] = ((const B *)in[1])[i] ? (T)a->i[0] : ((const T *)in[0])[i]; \
  }                                                                                                             \
  static void CLAMP_TENSOR_##T(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {      \
    (void)a;                                                                                                    \
    for (int64_t i = 0; i < n; i++) {                                                                           \
      I x = ((const T *)in[0])[i];                                                                              \
      if (in[1]) x = larger(x, ((const T *)in[1])[i]);                                                          \
      ((T *)out)[i] = (T)(in[2] ? smaller(x, ((const T *)in[2])[i]) : x);                                       \
    }                                                                                                           \
  }

#define WF_OP(NAME, R, EXPRESSION) DEFINE(NAME, int64_t, STORED_##R(int64_t), EXPRESSION)
EACH_OP(WF_OP)
#undef WF_OP
#define WF_OP(NAME, R, EXPRESSION) DEFINE(NAME, int32_t, STORED_##R(int32_t), EXPRESSION)
EACH_OP(WF_OP)
#undef WF_OP
#define WF_OP(NAME, R, EXPRESSION) DEFINE(NAME, int16_t, STORED_##R(int16_t), EXPRESSION)
EACH_OP(WF_OP)
#undef WF_OP
#define WF_OP(NAME, R, EXPRESSION) DEFINE(NAME, int8_t, STORED_##R(int8_t), EXPRESSION)
EACH_OP(WF_OP)
#undef WF_OP
#define WF_OP(NAME, R, EXPRESSION) DEFINE(NAME, uint8_t, STORED_##R(uint8_t), EXPRESSION)
EACH_OP(WF_OP)
#undef WF_OP
SPECIAL(int64_t)
SPECIAL(int32_t)
SPECIAL(int16_t)
SPECIAL(int8_t)
SPECIAL(uint8_t)

void wf__pointwise_int_ref(wf__kernels *table) {
#define WF_OP(NAME, ...)                                           \
  table->pointwise[WF__CLASS_I64][WF__PW_##NAME] = NAME##_int64_t; \
  table->pointwise[WF__CLASS_I32][WF__PW_##NAME] = NAME##_int32_t; \
  table->pointwise[WF__CLASS_I16][WF__PW_##NAME] = NAME##_int16_t; \
  table->pointwise[WF__CLASS_I8][WF__PW_##NAME] = NAME##_int8_t;   \
  table->pointwise[WF__CLASS_U8][WF__PW_##NAME] = NAME##_uint8_t;
  EACH_OP(WF_OP)
  WF_OP(WHERE) WF_OP(MASKED_FILL) WF_OP(CLAMP_TENSOR)
#undef WF_OP
}
