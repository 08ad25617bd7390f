/* Loops of reductions over one float type: T (the type), V (a vector of it), LANES, PLACE (an integer as wide), WIDE_LOAD(p) (8 of them as
 * doubles), EXP(v), NAME(x) and TYPE(x) (names of this file and of lanes.h with the type's suffix) are defined by whoever includes it.
 *
 * sum: blocks of BLOCK elements are added in 4 vectors of T, 8 elements a lane, which are then joined and go into doubles. Each element passes 9
 * additions in T at most, of which the errors are below 9 · 2^-24 of the sum of sizes for f32: pairwise summation of n elements has log2(n), so
 * from 512 elements on this is better, and below it the lanes are shorter too. In f64 the joined vectors are added pairwise.
 * Other sums convert each element first, and fetch ahead: with so many operations a line the CPU's own prefetcher falls behind (of memcpy: 0.80
 * without, 1.04 with; sums in T reach 1.15 either way). */

#define BLOCK (32 * LANES)
#define AHEAD 1024 /* elements of f32: one page */

static inline V NAME(at)(const T *p) {
  V v;
  memcpy(&v, p, sizeof v);
  return v;
}

/* One block, joined. */
static inline V NAME(block)(const T *x) {
  V a = NAME(at)(x), b = NAME(at)(x + LANES), c = NAME(at)(x + 2 * LANES), d = NAME(at)(x + 3 * LANES);
  for (int i = 4; i < 32; i += 4) {
    a += NAME(at)(x + i * LANES);
    b += NAME(at)(x + (i + 1) * LANES);
    c += NAME(at)(x + (i + 2) * LANES);
    d += NAME(at)(x + (i + 3) * LANES);
  }
  return (a + b) + (c + d);
}

/* Less than a block. */
static inline double NAME(short_sum)(const T *x, int64_t n) {
  V a = {0}, b = {0};
  int64_t i = 0;
  for (; i + 2 * LANES <= n; i += 2 * LANES) {
    a += NAME(at)(x + i);
    b += NAME(at)(x + i + LANES);
  }
  if (i + LANES <= n) {
    a += NAME(at)(x + i);
    i += LANES;
  }
  if (i < n) b += TYPE(wf__load_part)(x + i, n - i, 0);
  return TYPE(wf__total)(a + b);
}

static void NAME(SUM)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  (void)first, (void)step, (void)p;
  take_sum(state, NAME(sum)(x, n));
}

/* ---- sums of what is computed from each element ----------------------------------------------------------------------------------- */

#define SUMS(FN, EXPRESSION, JOIN, NEUTRAL)                                                            \
  static double NAME(FN)(const T *x, int64_t n, double mean) {                                         \
    lanes a = (lanes){0} + NEUTRAL, b = a, c = a, d = a;                                               \
    int64_t i = 0;                                                                                     \
    (void)mean;                                                                                        \
    for (; i + 32 <= n; i += 32) {                                                                     \
      for (int64_t k = 0; k < 32; k += 64 / (int64_t)sizeof(T)) __builtin_prefetch(x + i + k + AHEAD); \
      lanes v = WIDE_LOAD(x + i);                                                                      \
      a = a JOIN(EXPRESSION);                                                                          \
      v = WIDE_LOAD(x + i + 8);                                                                        \
      b = b JOIN(EXPRESSION);                                                                          \
      v = WIDE_LOAD(x + i + 16);                                                                       \
      c = c JOIN(EXPRESSION);                                                                          \
      v = WIDE_LOAD(x + i + 24);                                                                       \
      d = d JOIN(EXPRESSION);                                                                          \
    }                                                                                                  \
    a = (a JOIN b)JOIN(c JOIN d);                                                                      \
    double result = ((a[0] JOIN a[4])JOIN(a[2] JOIN a[6]))JOIN((a[1] JOIN a[5])JOIN(a[3] JOIN a[7]));  \
    for (; i < n; i++) {                                                                               \
      lanes v = x[i] - (lanes){0};                                                                     \
      result = result JOIN(EXPRESSION)[0];                                                             \
    }                                                                                                  \
    return result;                                                                                     \
  }

SUMS(wide_sum, v, +, 0)
SUMS(sum_of_sizes, absolute(v), +, 0)
SUMS(sum_of_squares, v *v, +, 0)
SUMS(sum_apart, (v - mean) * (v - mean), +, 0)
SUMS(product, v, *, 1)

static void NAME(SUM_ABS)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  (void)first, (void)step, (void)p;
  take_sum(state, NAME(sum_of_sizes)(x, n, 0));
}
static void NAME(SUM_SQUARE)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  (void)first, (void)step, (void)p;
  take_sum(state, NAME(sum_of_squares)(x, n, 0));
}
static void NAME(PROD)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  (void)first, (void)step, (void)p;
  state->value *= NAME(product)(x, n, 0);
}

/* Two passes over a stretch that is in the cache: the mean, then the squares of what lies apart from it. */
static void NAME(MOMENTS)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  (void)first, (void)step, (void)p;
  if (n == 0) return;
  double mean = NAME(wide_sum)(x, n, 0) / (double)n;
  wf__reduce_state part = {.value = mean, .second = NAME(sum_apart)(x, n, mean), .count = n};
  wf__reduce_merge(WF__REDUCE_MOMENTS, false, state, &part);
}

static void NAME(COUNT)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  const T *v = x;
  (void)first, (void)step, (void)p;
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) count += v[i] != 0;
  state->integer += count;
}

/* ---- extremes -------------------------------------------------------------------------------------------------------------------- */

/* The extreme without its place, which means nothing when *nan: whether there is a NaN. BETTER(a, b): lanes of a that go before those of b, else b. */
#define EXTREME(FN, BETTER, OUTERMOST)                                                 \
  static T NAME(FN)(const T *x, int64_t n, bool *nan) {                                \
    V a = (V){0} + x[0], b = a, c = a, d = a, odd = a;                                 \
    int64_t i = 0;                                                                     \
    for (; i + 4 * LANES <= n; i += 4 * LANES) {                                       \
      V v = NAME(at)(x + i), w = NAME(at)(x + i + LANES);                              \
      V y = NAME(at)(x + i + 2 * LANES), z = NAME(at)(x + i + 3 * LANES);              \
      a = BETTER(v, a), b = BETTER(w, b), c = BETTER(y, c), d = BETTER(z, d);          \
      odd = TYPE(wf__spread_nan)(TYPE(wf__spread_nan)(odd, v, w), y, z);               \
    }                                                                                  \
    for (; i < n; i += LANES) {                                                        \
      V v = n - i < LANES ? TYPE(wf__load_part)(x + i, n - i, x[0]) : NAME(at)(x + i); \
      a = BETTER(v, a);                                                                \
      odd = TYPE(wf__spread_nan)(odd, v, v);                                           \
    }                                                                                  \
    *nan = TYPE(wf__any_nan)(odd);                                                     \
    return OUTERMOST(BETTER(BETTER(a, b), BETTER(c, d)));                              \
  }
EXTREME(most, TYPE(wf__max), TYPE(wf__top))
EXTREME(least, TYPE(wf__min), TYPE(wf__bottom))

/* Where x first is `best`, or NaN; it is somewhere. Stretches of 32 are tested whole, which is vectorised. */
static int64_t NAME(place_of)(const T *x, int64_t n, T best, bool nan) {
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    int found = 0;
    for (int k = 0; k < 32; k++) found |= nan ? x[i + k] != x[i + k] : x[i + k] == best;
    if (found) break;
  }
  while (nan ? x[i] == x[i] : x[i] != best) i++;
  return i;
}

/* Looks for the place only when the stretch holds something better than what there is, and never when places don't count (step 0). */
static inline void NAME(take_extreme)(wf__reduce_kind kind, wf__reduce_state *state, const T *x, int64_t n,
                                      int64_t first, int64_t step) {
  if (n == 0) return;
  bool nan;
  T best = (kind == WF__REDUCE_MAX ? NAME(most) : NAME(least))(x, n, &nan);
  wf__reduce_state part = {.value = nan ? NAN : best, .index = first};
  if (step) {
    wf__reduce_state unchanged = *state;
    wf__reduce_merge(kind, false, &unchanged, &part); /* `first` is the lowest index that the stretch could have */
    if (unchanged.index != part.index) return;
    part.index = first + NAME(place_of)(x, n, best, nan) * step;
  }
  wf__reduce_merge(kind, false, state, &part);
}
static void NAME(MAX)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  (void)p;
  NAME(take_extreme)(WF__REDUCE_MAX, state, x, n, first, step);
}
static void NAME(MIN)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  (void)p;
  NAME(take_extreme)(WF__REDUCE_MIN, state, x, n, first, step);
}

/* Scaled by the greatest of each stretch, then merged. */
static void NAME(LOGSUMEXP)(wf__reduce_state *state, const void *values, int64_t n, int64_t first, int64_t step,
                            double p) {
  enum { TOGETHER = 512 };
  (void)first, (void)step, (void)p;
  for (int64_t i = 0; i < n; i += TOGETHER) {
    const T *x = (const T *)values + i;
    int64_t count = n - i < TOGETHER ? n - i : TOGETHER;
    bool nan;
    T top = NAME(most)(x, count, &nan);
    wf__reduce_state part = {.value = nan ? NAN : top, .second = (double)count, .index = INT64_MAX};
    if (isfinite(part.value)) {
      V a = {0}, b = {0};
      int64_t k = 0;
      for (; k + 2 * LANES <= count; k += 2 * LANES) {
        a += EXP(NAME(at)(x + k) - top);
        b += EXP(NAME(at)(x + k + LANES) - top);
      }
      for (; k < count; k += LANES)
        a += EXP((count - k < LANES ? TYPE(wf__load_part)(x + k, count - k, (T)-INFINITY) : NAME(at)(x + k)) - top);
      part.second = TYPE(wf__total)(a + b);
    }
    if (state->value == -INFINITY && state->second == 0) *state = part; /* the first */
    else wf__reduce_merge(WF__REDUCE_LOGSUMEXP, false, state, &part);
  }
}

/* ---- many sums ---------------------------------------------------------------------------------------------------------------------- */

/* `rows` rows (at most 8) of one vector of columns, added pairwise. */
static inline V NAME(sum_of_rows)(const char *x, int64_t stride, int64_t rows, int64_t left) {
  V v[8];
  for (int r = 0; r < 8; r++) {
    const T *p = (const T *)(x + r * stride);
    v[r] = r >= rows ? (V){0} : left < LANES ? TYPE(wf__load_part)(p, left, 0) : NAME(at)(p);
  }
  return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

static void NAME(add_rows)(void *total, const void *x, int64_t stride, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; r += 8) {
    const char *from = (const char *)x + r * stride;
    double *t = total;
    int64_t i = 0;
    if (rows - r >= 8)
      for (; i + LANES <= n; i += LANES)
        NAME(add_wide)(t + i, NAME(sum_of_rows)(from + i * (int64_t)sizeof(T), stride, 8, LANES));
    for (; i < n; i += LANES) {
      int64_t left = n - i < LANES ? n - i : LANES;
      V sum = NAME(sum_of_rows)(from + i * (int64_t)sizeof(T), stride, rows - r < 8 ? rows - r : 8, left);
      for (int k = 0; k < left; k++) t[i + k] += sum[k];
    }
  }
}

static void NAME(add_each)(void *total, const void *x, int64_t stride, int64_t rows, int64_t n) {
  double *t = total;
  for (int64_t r = 0; r < rows; r++) {
    const T *row = (const T *)((const char *)x + r * stride);
    t[r] += n < BLOCK ? NAME(short_sum)(row, n) : NAME(sum)(row, n);
  }
}

/* Rows are joined before they go to the results, all in double: E(y) is what an element y is worth. */
#define WIDE_ROWS(FN, RESULT, E, JOIN) \
  BY_FOUR_ROWS(FN, RESULT, t[i] JOIN((E(a[i]) JOIN E(b[i]))JOIN(E(c[i]) JOIN E(d[i]))), t[i] JOIN E(a[i]))
#define WORTH(y) ((double)(y))
#define WORTH_SIZE(y) __builtin_fabs((double)(y))
#define WORTH_SQUARE(y) ((double)(y) * (double)(y))
#define WORTH_ONE(y) ((int64_t)((y) != 0))
WIDE_ROWS(multiply_rows, double, WORTH, *)
WIDE_ROWS(add_sizes_of_rows, double, WORTH_SIZE, +)
WIDE_ROWS(add_squares_of_rows, double, WORTH_SQUARE, +)
WIDE_ROWS(count_rows, int64_t, WORTH_ONE, +)
#undef WORTH
#undef WORTH_SIZE
#undef WORTH_SQUARE
#undef WORTH_ONE
#undef WIDE_ROWS

/* NaN goes before everything and stays. */
#define EXTREME_ROWS(FN, OPERATOR)                                                                                     \
  static inline T NAME(FN##_of)(T now, T y) { return ((y OPERATOR now) | (y != y)) ? y : now; }                        \
  BY_FOUR_ROWS(FN##_rows, T, NAME(FN##_of)(NAME(FN##_of)(NAME(FN##_of)(NAME(FN##_of)(t[i], a[i]), b[i]), c[i]), d[i]), \
               NAME(FN##_of)(t[i], a[i]))                                                                              \
  static void NAME(FN##_places)(void *best, void *place, const void *x, int64_t stride, int64_t first, int64_t rows,   \
                                int64_t n) {                                                                           \
    T *t = best;                                                                                                       \
    PLACE *p = place;                                                                                                  \
    for (int64_t r = 0; r < rows; r++) {                                                                               \
      const T *a = (const T *)((const char *)x + r * stride);                                                          \
      const PLACE here = (PLACE)(first + r);                                                                           \
      WF__VECTOR_LOOP for (int64_t i = 0; i < n; i++) {                                                                \
        const T y = a[i], now = t[i];                                                                                  \
        const PLACE before = p[i];                                                                                     \
        const int better = (y OPERATOR now) | ((y != y) & (now == now));                                               \
        t[i] = better ? y : now;                                                                                       \
        p[i] = better ? here : before;                                                                                 \
      }                                                                                                                \
    }                                                                                                                  \
  }
EXTREME_ROWS(most, >)
EXTREME_ROWS(least, <)
#undef EXTREME_ROWS
#undef BLOCK
#undef AHEAD
