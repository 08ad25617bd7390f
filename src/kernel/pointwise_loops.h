/* Loops of the pointwise operators that hardware does exactly, for one element type: T (the type), FUSED (x · y + z), SQRT, ABS and
 * LOOP(name), which names the functions, are defined by whoever includes it, and general_power, any power by a number. Written for the vectoriser: choices are selects. */

/* Numbers of the operator as locals, so that they stay in registers. */
#define NUMBER(k) ((T)a->f[k])
#define NUMBERS                         \
  const T p = NUMBER(0), q = NUMBER(1); \
  (void)p;                              \
  (void)q;

#define UNARY(NAME, EXPRESSION)                                                                      \
  static void LOOP(NAME)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) { \
    const T *s = in[0];                                                                              \
    T *d = out;                                                                                      \
    NUMBERS WF__VECTOR_LOOP for (int64_t i = 0; i < n; i++) {                                        \
      const T x = s[i];                                                                              \
      d[i] = EXPRESSION;                                                                             \
    }                                                                                                \
  }
#define BINARY(NAME, EXPRESSION)                                                                     \
  static void LOOP(NAME)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) { \
    const T *s = in[0], *t = in[1];                                                                  \
    T *d = out;                                                                                      \
    NUMBERS WF__VECTOR_LOOP for (int64_t i = 0; i < n; i++) {                                        \
      const T x = s[i], y = t[i];                                                                    \
      d[i] = EXPRESSION;                                                                             \
    }                                                                                                \
  }
#define TERNARY(NAME, EXPRESSION)                                                                    \
  static void LOOP(NAME)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) { \
    const T *s = in[0], *t = in[1], *u = in[2];                                                      \
    T *d = out;                                                                                      \
    NUMBERS WF__VECTOR_LOOP for (int64_t i = 0; i < n; i++) {                                        \
      const T x = s[i], y = t[i], z = u[i];                                                          \
      d[i] = EXPRESSION;                                                                             \
    }                                                                                                \
  }
#define TRUTH(NAME, EXPRESSION)                                                                      \
  static void LOOP(NAME)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) { \
    const T *s = in[0];                                                                              \
    uint8_t *d = out;                                                                                \
    (void)a;                                                                                         \
    WF__VECTOR_LOOP for (int64_t i = 0; i < n; i++) {                                                \
      const T x = s[i];                                                                              \
      d[i] = EXPRESSION;                                                                             \
    }                                                                                                \
  }
#define COMPARISON(NAME, EXPRESSION)                                                                 \
  static void LOOP(NAME)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) { \
    const T *s = in[0], *t = in[1];                                                                  \
    uint8_t *d = out;                                                                                \
    (void)a;                                                                                         \
    WF__VECTOR_LOOP for (int64_t i = 0; i < n; i++) {                                                \
      const T x = s[i], y = t[i];                                                                    \
      d[i] = EXPRESSION;                                                                             \
    }                                                                                                \
  }

/* A NaN in either gives NaN. */
static inline T LOOP(larger)(T x, T y) { return ((x > y) | (x != x)) ? x : y; }
static inline T LOOP(smaller)(T x, T y) { return ((x < y) | (x != x)) ? x : y; }

UNARY(NEG, -x)
UNARY(ABS, ABSOLUTE(x))
UNARY(SIGN, (T)((x > 0) - (x < 0)))
UNARY(SQUARE, x *x)
UNARY(SQRT, ROOT(x))
UNARY(RSQRT, 1 / ROOT(x))
UNARY(RECIPROCAL, 1 / x)
UNARY(RELU, x < 0 ? 0 : x)
UNARY(AFFINE, FUSED(p, x, q))
/* Comparisons with NaN leave x as it is, so that a NaN stays; one among the bounds is added. -0 adds nothing. */
#define ODD(p) ((p) != (p) ? (p) : (T)-0.0)
UNARY(CLAMP_LOW, (x < p ? p : x) + ODD(p))
UNARY(CLAMP_HIGH, (x > q ? q : x) + ODD(q))
UNARY(CLAMP_BOTH, ((x < p ? p : x) > q ? q : (x < p ? p : x)) + ODD(p) + ODD(q))
#undef ODD
TRUTH(ISNAN, x != x)
TRUTH(ISINF, ABSOLUTE(x) == (T)INFINITY)
TRUTH(ISFINITE, ABSOLUTE(x) < (T)INFINITY)
TRUTH(LOGICAL_NOT, x == 0)
BINARY(ADD_PLAIN, x + y)
BINARY(ADD_SCALED, FUSED(p, y, x))
BINARY(SUB_PLAIN, x - y)
BINARY(SUB_SCALED, FUSED(-p, y, x))
BINARY(MUL, x *y)
BINARY(DIV, x / y)
BINARY(MAXIMUM, LOOP(larger)(x, y))
BINARY(MINIMUM, LOOP(smaller)(x, y))
BINARY(THRESHOLD_BACKWARD, y <= p ? 0 : x)
BINARY(SIGMOID_BACKWARD, x *(1 - y) * y)
BINARY(TANH_BACKWARD, x *(1 - y * y))
BINARY(HARDTANH_BACKWARD, ((y <= p) | (y >= q)) ? 0 : x)
COMPARISON(EQ, x == y)
COMPARISON(NE, x != y)
COMPARISON(LT, x < y)
COMPARISON(LE, x <= y)
COMPARISON(GT, x > y)
COMPARISON(GE, x >= y)
COMPARISON(LOGICAL_AND, (x != 0) & (y != 0))
COMPARISON(LOGICAL_OR, (x != 0) | (y != 0))
COMPARISON(LOGICAL_XOR, (x != 0) ^ (y != 0))
TERNARY(LERP, ABSOLUTE(z) < (T)0.5 ? FUSED(z, y - x, x) : FUSED(-(1 - z), y - x, y))
TERNARY(ADDCMUL, FUSED(p *y, z, x))
TERNARY(ADDCDIV, x + p * y / z)
#if defined(__SSE4_1__) /* before it, rounding is a call */
UNARY(FLOOR, WF__BUILTIN(floor)(x))
UNARY(CEIL, WF__BUILTIN(ceil)(x))
UNARY(ROUND, WF__BUILTIN(rint)(x))
UNARY(TRUNC, WF__BUILTIN(trunc)(x))
BINARY(DIV_TRUNC, WF__BUILTIN(trunc)(x / y))
#endif

#include "kernel/pointwise_choices.h"

UNARY(POWER_3, x *x *x)
UNARY(POWER_MINUS_2, 1 / (x * x))
static void LOOP(general_power)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a);

/* Exponents that PyTorch computes without pow are a multiplication or a root here as well. */
static void LOOP(POW_SCALAR_EXP)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {
  double e = a->f[0];
  if (e == 2) LOOP(SQUARE)(out, in, n, a);
  else if (e == 3) LOOP(POWER_3)(out, in, n, a);
  else if (e == 0.5) LOOP(SQRT)(out, in, n, a);
  else if (e == -0.5) LOOP(RSQRT)(out, in, n, a);
  else if (e == -1) LOOP(RECIPROCAL)(out, in, n, a);
  else if (e == -2) LOOP(POWER_MINUS_2)(out, in, n, a);
  else LOOP(general_power)(out, in, n, a);
}

static void LOOP(exact)(wf__pointwise_fn *entry) {
#define WF_OP(NAME) entry[WF__PW_##NAME] = LOOP(NAME);
  /* clang-format off */
  WF_OP(NEG)
  WF_OP(ABS)
  WF_OP(SIGN)
  WF_OP(SQUARE) WF_OP(SQRT) WF_OP(RSQRT) WF_OP(RECIPROCAL) WF_OP(RELU) WF_OP(AFFINE)
      WF_OP(CLAMP) WF_OP(ISNAN) WF_OP(ISINF) WF_OP(ISFINITE) WF_OP(LOGICAL_NOT) WF_OP(ADD) WF_OP(SUB) WF_OP(MUL)
          WF_OP(DIV) WF_OP(MAXIMUM) WF_OP(MINIMUM) WF_OP(THRESHOLD_BACKWARD) WF_OP(SIGMOID_BACKWARD)
              WF_OP(TANH_BACKWARD) WF_OP(HARDTANH_BACKWARD) WF_OP(EQ) WF_OP(NE) WF_OP(LT)
                  WF_OP(LE) WF_OP(GT) WF_OP(GE) WF_OP(LOGICAL_AND) WF_OP(LOGICAL_OR) WF_OP(LOGICAL_XOR) WF_OP(LERP)
                      WF_OP(ADDCMUL) WF_OP(ADDCDIV) WF_OP(WHERE) WF_OP(MASKED_FILL) WF_OP(POW_SCALAR_EXP)
  /* clang-format on */
#if defined(__SSE4_1__)
      /* clang-format off */
                          WF_OP(FLOOR) WF_OP(CEIL) WF_OP(ROUND) WF_OP(TRUNC) WF_OP(DIV_TRUNC)
  /* clang-format on */
#endif
#undef WF_OP
          entry[WF__PW_HARDTANH] = LOOP(CLAMP);
}
