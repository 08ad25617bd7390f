/* Loops of the pointwise operators on integers that vectorise, for one element type: T (the type), BITS (the type whose arithmetic wraps like
 * T's) and LOOP(name), which names the functions, are defined by whoever includes it. QUOTIENT(x, y), where it is defined, is x / y in 32 bits.
 * Not here and so left to ref/: powers, and division in 64 bits. */

#define NUMBER(k) ((T)a->i[k])
#define NUMBERS                         \
  const T p = NUMBER(0), q = NUMBER(1); \
  (void)p;                              \
  (void)q;

#define UNARY(NAME, R, EXPRESSION)                                                                   \
  static void LOOP(NAME)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) { \
    const T *s = in[0];                                                                              \
    R *d = out;                                                                                      \
    NUMBERS WF__VECTOR_LOOP for (int64_t i = 0; i < n; i++) {                                        \
      const T x = s[i];                                                                              \
      d[i] = (R)(EXPRESSION);                                                                        \
    }                                                                                                \
  }
#define BINARY(NAME, R, EXPRESSION)                                                                  \
  static void LOOP(NAME)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) { \
    const T *s = in[0], *t = in[1];                                                                  \
    R *d = out;                                                                                      \
    NUMBERS WF__VECTOR_LOOP for (int64_t i = 0; i < n; i++) {                                        \
      const T x = s[i], y = t[i];                                                                    \
      d[i] = (R)(EXPRESSION);                                                                        \
    }                                                                                                \
  }

#define TERNARY(NAME, R, EXPRESSION)                                                                 \
  static void LOOP(NAME)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) { \
    const T *s = in[0], *t = in[1], *u = in[2];                                                      \
    R *d = out;                                                                                      \
    NUMBERS WF__VECTOR_LOOP for (int64_t i = 0; i < n; i++) {                                        \
      const T x = s[i], y = t[i], z = u[i];                                                          \
      d[i] = (R)(EXPRESSION);                                                                        \
    }                                                                                                \
  }

/* Whether x is below 0: the highest bit, once widened. Comparing an unsigned type with 0 is warned of. */
#define IS_NEGATIVE(x) ((BITS)(x) >> (8 * sizeof(BITS) - 1))

UNARY(NEG, T, 0 - (BITS)x)
UNARY(ABS, T, IS_NEGATIVE(x) ? 0 - (BITS)x : (BITS)x)
UNARY(SIGN, T, (BITS)(x > 0) - IS_NEGATIVE(x))
UNARY(SQUARE, T, (BITS)x *(BITS)x)
UNARY(BITWISE_NOT, T, ~x)
UNARY(RELU, T, x > 0 ? x : 0)
UNARY(CLAMP_LOW, T, x > p ? x : p)
UNARY(CLAMP_HIGH, T, x < q ? x : q)
UNARY(CLAMP_BOTH, T, (x > p ? x : p) < q ? (x > p ? x : p) : q)
UNARY(AFFINE, T, (BITS)p *(BITS)x + (BITS)q)
UNARY(LOGICAL_NOT, uint8_t, x == 0)
TERNARY(ADDCMUL, T, (BITS)x + (BITS)p * (BITS)y * (BITS)z)
#if defined(QUOTIENT)
/* What of x the divisor leaves, and whether it is on the other side of 0 than Python's, which has the divisor's sign. No y is 0 here. */
static inline int32_t LOOP(rest)(T x, T y) { return (int32_t)((BITS)x - (BITS)(QUOTIENT(x, y)) * (BITS)y); }
static inline bool LOOP(is_beyond)(T x, T y) { return (LOOP(rest)(x, y) != 0) & (IS_NEGATIVE(x) != IS_NEGATIVE(y)); }
BINARY(DIV_TRUNC, T, QUOTIENT(x, y))
BINARY(DIV_FLOOR, T, (BITS)(QUOTIENT(x, y)) - LOOP(is_beyond)(x, y))
BINARY(FMOD, T, LOOP(rest)(x, y))
BINARY(REMAINDER, T, LOOP(rest)(x, y) + (LOOP(is_beyond)(x, y) ? y : 0))
#endif
BINARY(ADD_PLAIN, T, (BITS)x + (BITS)y)
BINARY(ADD_SCALED, T, (BITS)x + (BITS)p * (BITS)y)
BINARY(SUB_PLAIN, T, (BITS)x - (BITS)y)
BINARY(SUB_SCALED, T, (BITS)x - (BITS)p * (BITS)y)
BINARY(MUL, T, (BITS)x *(BITS)y)
BINARY(MAXIMUM, T, x > y ? x : y)
BINARY(MINIMUM, T, x < y ? x : y)
BINARY(BITWISE_AND, T, x &y)
BINARY(BITWISE_OR, T, x | y)
BINARY(BITWISE_XOR, T, x ^ y)
BINARY(THRESHOLD_BACKWARD, T, y <= p ? 0 : x)
BINARY(EQ, uint8_t, x == y)
BINARY(NE, uint8_t, x != y)
BINARY(LT, uint8_t, x < y)
BINARY(LE, uint8_t, x <= y)
BINARY(GT, uint8_t, x > y)
BINARY(GE, uint8_t, x >= y)
BINARY(LOGICAL_AND, uint8_t, (x != 0) & (y != 0))
BINARY(LOGICAL_OR, uint8_t, (x != 0) | (y != 0))
BINARY(LOGICAL_XOR, uint8_t, (x != 0) ^ (y != 0))

#include "kernel/pointwise_choices.h"

static void LOOP(put)(wf__pointwise_fn *entry) {
#define WF_OP(NAME) entry[WF__PW_##NAME] = LOOP(NAME);
  /* clang-format off */
  WF_OP(NEG) WF_OP(ABS) WF_OP(SIGN) WF_OP(SQUARE) WF_OP(BITWISE_NOT) WF_OP(RELU) WF_OP(CLAMP) WF_OP(AFFINE) WF_OP(LOGICAL_NOT)
  WF_OP(ADD) WF_OP(SUB) WF_OP(MUL) WF_OP(MAXIMUM) WF_OP(MINIMUM) WF_OP(BITWISE_AND) WF_OP(BITWISE_OR) WF_OP(BITWISE_XOR)
  WF_OP(THRESHOLD_BACKWARD) WF_OP(EQ) WF_OP(NE) WF_OP(LT) WF_OP(LE) WF_OP(GT) WF_OP(GE) WF_OP(LOGICAL_AND) WF_OP(LOGICAL_OR)
  WF_OP(LOGICAL_XOR) WF_OP(WHERE) WF_OP(MASKED_FILL) WF_OP(ADDCMUL)
      /* clang-format on */
      entry[WF__PW_HARDTANH] = LOOP(CLAMP);
#if defined(QUOTIENT)
  /* clang-format off */
  WF_OP(DIV_TRUNC) WF_OP(DIV_FLOOR) WF_OP(FMOD) WF_OP(REMAINDER)
  /* clang-format on */
#endif
#undef WF_OP
}

#undef NUMBER
#undef NUMBERS
#undef IS_NEGATIVE
#undef UNARY
#undef BINARY
#undef TERNARY
