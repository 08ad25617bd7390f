/* Loops of reductions over one integer type: T (the type) and NAME(x) are defined by whoever includes it. The compiler vectorises them: integer
 * additions, products and extremes may be taken in any order. Sums and products are in 64 bits and wrap there. */

static void NAME(SUM)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  const T *v = x;
  uint64_t sum = (uint64_t)state->integer;
  (void)first, (void)step, (void)p;
  for (int64_t i = 0; i < n; i++) sum += (uint64_t)v[i];
  state->integer = (int64_t)sum;
}

static void NAME(PROD)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  const T *v = x;
  uint64_t a = 1, b = 1, c = 1, d = 1;
  int64_t i = 0;
  (void)first, (void)step, (void)p;
  for (; i + 4 <= n; i += 4) {
    a *= (uint64_t)v[i];
    b *= (uint64_t)v[i + 1];
    c *= (uint64_t)v[i + 2];
    d *= (uint64_t)v[i + 3];
  }
  for (; i < n; i++) a *= (uint64_t)v[i];
  wf__reduce_state part = {.integer = (int64_t)((a * b) * (c * d))};
  if (n) wf__reduce_merge(WF__REDUCE_PROD, true, state, &part);
}

static void NAME(COUNT)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  const T *v = x;
  int64_t count = 0;
  (void)first, (void)step, (void)p;
  for (int64_t i = 0; i < n; i++) count += v[i] != 0;
  state->integer += count;
}

/* The place is looked for only when the stretch holds something better than what there is, and never when places don't count (step 0). */
#define EXTREME(KIND, OPERATOR)                                                                                       \
  static void NAME(KIND)(wf__reduce_state * state, const void *x, int64_t n, int64_t first, int64_t step, double p) { \
    const T *v = x;                                                                                                   \
    (void)p;                                                                                                          \
    if (n == 0) return;                                                                                               \
    T best = v[0];                                                                                                    \
    for (int64_t i = 0; i < n; i++) best = v[i] OPERATOR best ? v[i] : best;                                          \
    if (!(best OPERATOR state->integer) && (best != state->integer || first >= state->index)) return;                 \
    int64_t i = 0;                                                                                                    \
    while (step && v[i] != best) i++;                                                                                 \
    wf__reduce_state part = {.integer = best, .index = first + i * step};                                             \
    wf__reduce_merge(WF__REDUCE_##KIND, true, state, &part);                                                          \
  }
EXTREME(MAX, >)
EXTREME(MIN, <)
#undef EXTREME

/* ---- rows ---------------------------------------------------------------------------------------------------------------------------- */

/* What four narrow elements are joined in before they are widened. */
typedef __typeof__(_Generic((T)0, int8_t : 0, uint8_t : 0, int16_t : 0, default : (uint64_t)0)) NAME(part);

#define PART(y) ((NAME(part))(y))
#define TRUE(y) ((uint8_t)((y) != 0))
BY_FOUR_ROWS(add_rows, uint64_t, t[i] + (uint64_t)((PART(a[i]) + PART(b[i])) + (PART(c[i]) + PART(d[i]))),
             t[i] + (uint64_t)a[i])
BY_FOUR_ROWS(multiply_rows, uint64_t, t[i] * ((uint64_t)a[i] * (uint64_t)b[i]) * ((uint64_t)c[i] * (uint64_t)d[i]),
             t[i] * (uint64_t)a[i])
BY_FOUR_ROWS(count_rows, int64_t, t[i] + (uint8_t)(TRUE(a[i]) + TRUE(b[i]) + TRUE(c[i]) + TRUE(d[i])),
             t[i] + TRUE(a[i]))
#undef PART
#undef TRUE

#define EXTREME(FN, OPERATOR)                                                                                          \
  static inline T NAME(FN##_of)(T now, T y) { return y OPERATOR now ? y : now; }                                       \
  BY_FOUR_ROWS(FN##_rows, T, NAME(FN##_of)(t[i], NAME(FN##_of)(NAME(FN##_of)(a[i], b[i]), NAME(FN##_of)(c[i], d[i]))), \
               NAME(FN##_of)(t[i], a[i]))                                                                              \
  static void NAME(FN##_places)(void *best, void *place, const void *x, int64_t stride, int64_t first, int64_t rows,   \
                                int64_t n) {                                                                           \
    T *t = best, *p = place;                                                                                           \
    for (int64_t r = 0; r < rows; r++) {                                                                               \
      const T *a = (const T *)((const char *)x + r * stride), here = (T)(first + r);                                   \
      WF__VECTOR_LOOP for (int64_t i = 0; i < n; i++) {                                                                \
        const T y = a[i], now = t[i], before = p[i];                                                                   \
        t[i] = y OPERATOR now ? y : now;                                                                               \
        p[i] = y OPERATOR now ? here : before;                                                                         \
      }                                                                                                                \
    }                                                                                                                  \
  }
EXTREME(most, >)
EXTREME(least, <)
#undef EXTREME

static void NAME(add_each)(void *total, const void *x, int64_t stride, int64_t rows, int64_t n) {
  uint64_t *t = total;
  for (int64_t r = 0; r < rows; r++) {
    const T *v = (const T *)((const char *)x + r * stride);
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (uint64_t)v[i];
    t[r] += sum;
  }
}

static void NAME(put)(wf__kernels *table, wf__class class) {
  table->reduce[class][WF__REDUCE_SUM] = NAME(SUM);
  table->reduce[class][WF__REDUCE_PROD] = NAME(PROD);
  table->reduce[class][WF__REDUCE_COUNT] = NAME(COUNT);
  table->reduce[class][WF__REDUCE_MAX] = NAME(MAX);
  table->reduce[class][WF__REDUCE_MIN] = NAME(MIN);
  table->rows[class][WF__REDUCE_SUM] = NAME(add_rows);
  table->rows[class][WF__REDUCE_PROD] = NAME(multiply_rows);
  table->rows[class][WF__REDUCE_COUNT] = NAME(count_rows);
  table->rows[class][WF__REDUCE_MAX] = NAME(most_rows);
  table->rows[class][WF__REDUCE_MIN] = NAME(least_rows);
  table->places[class][WF__REDUCE_MAX] = NAME(most_places);
  table->places[class][WF__REDUCE_MIN] = NAME(least_places);
  table->add_each[class] = NAME(add_each);
}
