/* Pointwise operators by vectors of lanes.h, for one float type: T (the type), V (a vector of it), N (lanes), FORM(name) (names of lanes.h with the
 * type's suffix), EXP(v) and LOOP(name), which names the functions, are defined by whoever includes it. */

#define LANES_UNARY(NAME, EXPRESSION)                                                                \
  static void LOOP(NAME)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) { \
    const T *s = in[0];                                                                              \
    T *d = out;                                                                                      \
    int64_t i = 0;                                                                                   \
    (void)a;                                                                                         \
    for (; i + N <= n; i += N) {                                                                     \
      const V x = FORM(wf__load)(s + i);                                                             \
      FORM(wf__store)(d + i, EXPRESSION);                                                            \
    }                                                                                                \
    if (i == n) return;                                                                              \
    const V x = FORM(wf__load_part)(s + i, n - i, 0);                                                \
    FORM(wf__store_part)(d + i, EXPRESSION, n - i);                                                  \
  }

#define LANES_BINARY(NAME, EXPRESSION)                                                               \
  static void LOOP(NAME)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) { \
    const T *s = in[0], *t = in[1];                                                                  \
    T *d = out;                                                                                      \
    int64_t i = 0;                                                                                   \
    (void)a;                                                                                         \
    for (; i + N <= n; i += N) {                                                                     \
      const V x = FORM(wf__load)(s + i), y = FORM(wf__load)(t + i);                                  \
      FORM(wf__store)(d + i, EXPRESSION);                                                            \
    }                                                                                                \
    if (i == n) return;                                                                              \
    const V x = FORM(wf__load_part)(s + i, n - i, 0), y = FORM(wf__load_part)(t + i, n - i, 0);      \
    FORM(wf__store_part)(d + i, EXPRESSION, n - i);                                                  \
  }

/* The argument of gelu's tanh form, twice: (1 + tanh u) / 2 is the sigmoid of 2 u. What it is rounded by counts in the left tail, where the result
 * is x times its exponential: some 2 units in the last place for each unit of the argument, 3 at -1, 134 to 200 at -10 (f32, with and without fused
 * instructions). An argument that keeps its rest mends that, but takes a third more time, beyond the cache too. PyTorch, which adds 1 to the tangent,
 * is off by 13 at -1.8, by 8000 at -4, and gives 0 from -5.2 on. */
static inline V LOOP(gelu_twice)(V x) {
  const V zero = {0};
  return x * (T)1.59576912160573071 * FORM(wf__fma)(x * x, zero + (T)0.044715, zero + 1);
}

/* Left to the compiler the product is one of chosen lanes only, which from memory takes twice the time (Zen 5, 64 MiB). */
LANES_UNARY(LEAKY_RELU, FORM(wf__choose)(x > (V){0}, x, x *(T)a->f[0]))
LANES_BINARY(LEAKY_RELU_BACKWARD, FORM(wf__choose)(y > (V){0}, x, x *(T)a->f[0]))
LANES_UNARY(SIGMOID, 1 / (1 + EXP(-x)))
LANES_UNARY(SILU, x / (1 + EXP(-x)))
LANES_UNARY(GELU_TANH, x / (1 + EXP(-LOOP(gelu_twice)(x))))
