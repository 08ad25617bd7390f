/* Loops of reductions over one float type: T (the type), V (eight of them), BITS and M (a signed integer as wide as T, and eight of those),
 * WIDE(v) (V as eight doubles), LOOP(name) are defined by whoever includes it. Sums run in 32 lanes of double, extremes in T. */

#define SUMS(NAME, EXPRESSION)                                   \
  static double LOOP(NAME)(const T *x, int64_t n, double mean) { \
    lanes a = {0}, b = {0}, c = {0}, d = {0};                    \
    int64_t i = 0;                                               \
    (void)mean;                                                  \
    for (; i + 32 <= n; i += 32) {                               \
      lanes v = WIDE(LOOP(at)(x + i));                           \
      a += EXPRESSION;                                           \
      v = WIDE(LOOP(at)(x + i + 8));                             \
      b += EXPRESSION;                                           \
      v = WIDE(LOOP(at)(x + i + 16));                            \
      c += EXPRESSION;                                           \
      v = WIDE(LOOP(at)(x + i + 24));                            \
      d += EXPRESSION;                                           \
    }                                                            \
    double sum = total_of((a + b) + (c + d));                    \
    for (; i < n; i++) {                                         \
      lanes v = x[i] - (lanes){0};                               \
      sum += (EXPRESSION)[0];                                    \
    }                                                            \
    return sum;                                                  \
  }

static inline V LOOP(at)(const T *p) {
  V v;
  memcpy(&v, p, sizeof v);
  return v;
}

SUMS(sum, v)
SUMS(sum_of_sizes, absolute(v))
SUMS(sum_of_squares, v *v)
SUMS(sum_apart, (v - mean) * (v - mean))

static void LOOP(SUM)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  (void)first, (void)step, (void)p;
  take_sum(state, LOOP(sum)(x, n, 0));
}
static void LOOP(SUM_ABS)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  (void)first, (void)step, (void)p;
  take_sum(state, LOOP(sum_of_sizes)(x, n, 0));
}
static void LOOP(SUM_SQUARE)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  (void)first, (void)step, (void)p;
  take_sum(state, LOOP(sum_of_squares)(x, n, 0));
}

/* Two passes over a stretch that is in the cache: the mean, then the squares of what lies apart from it. */
static void LOOP(MOMENTS)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  (void)first, (void)step, (void)p;
  if (n == 0) return;
  double mean = LOOP(sum)(x, n, 0) / (double)n;
  wf__reduce_state part = {.value = mean, .second = LOOP(sum_apart)(x, n, mean), .count = n};
  wf__reduce_merge(WF__REDUCE_MOMENTS, false, state, &part);
}

static void LOOP(COUNT)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  const T *v = x;
  (void)first, (void)step, (void)p;
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) count += v[i] != 0;
  state->integer += count;
}

/* The extreme without its place, as if there were no NaN; *nan: whether there is one. */
#define EXTREME(NAME, BETTER)                                      \
  static T LOOP(NAME)(const T *x, int64_t n, bool *nan) {          \
    V best = x[0] - (V){0}, other = best;                          \
    M odd = {0};                                                   \
    T result = x[0];                                               \
    BITS strange = x[0] != x[0];                                   \
    int64_t i = 0;                                                 \
    for (; i + 16 <= n; i += 16) {                                 \
      V v = LOOP(at)(x + i), w = LOOP(at)(x + i + 8);              \
      M take = v BETTER best, take_other = w BETTER other;         \
      odd |= (v != v) | (w != w);                                  \
      best = (V)(((M)v & take) | ((M)best & ~take));               \
      other = (V)(((M)w & take_other) | ((M)other & ~take_other)); \
    }                                                              \
    for (int k = 0; k < 8; k++) {                                  \
      strange |= odd[k];                                           \
      result = best[k] BETTER result ? best[k] : result;           \
      result = other[k] BETTER result ? other[k] : result;         \
    }                                                              \
    for (; i < n; i++) {                                           \
      strange |= x[i] != x[i];                                     \
      result = x[i] BETTER result ? x[i] : result;                 \
    }                                                              \
    *nan = strange != 0;                                           \
    return result;                                                 \
  }
EXTREME(most, >)
EXTREME(least, <)

/* Looks for the place only when the stretch holds something better than what there is. */
static inline void LOOP(take_extreme)(wf__reduce_kind kind, wf__reduce_state *state, const T *x, int64_t n,
                                      int64_t first, int64_t step) {
  if (n == 0) return;
  bool nan;
  T best = (kind == WF__REDUCE_MAX ? LOOP(most) : LOOP(least))(x, n, &nan);
  wf__reduce_state part = {.value = nan ? NAN : best, .index = first};
  wf__reduce_state unchanged = *state;
  wf__reduce_merge(kind, false, &unchanged, &part); /* `first` is the lowest index that the stretch could have */
  if (unchanged.index != part.index) return;
  int64_t i = 0;
  while (nan ? x[i] == x[i] : x[i] != best) i++;
  part.index = first + i * step;
  wf__reduce_merge(kind, false, state, &part);
}
static void LOOP(MAX)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  (void)p;
  LOOP(take_extreme)(WF__REDUCE_MAX, state, x, n, first, step);
}
static void LOOP(MIN)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  (void)p;
  LOOP(take_extreme)(WF__REDUCE_MIN, state, x, n, first, step);
}

static void LOOP(add_row)(void *total, const void *x, int64_t n) {
  double *t = total;
  const T *v = x;
  WF__VECTOR_LOOP
  for (int64_t i = 0; i < n; i++) t[i] += v[i];
}
