/* Loops of reductions over one integer type: T (the type) and NAME(x) are defined by whoever includes it. The compiler vectorises them: integer
 * additions and extremes may be taken in any order. Sums are in 64 bits and wrap there. */

static void NAME(SUM)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  const T *v = x;
  uint64_t sum = (uint64_t)state->integer;
  (void)first, (void)step, (void)p;
  for (int64_t i = 0; i < n; i++) sum += (uint64_t)v[i];
  state->integer = (int64_t)sum;
}

static void NAME(COUNT)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step, double p) {
  const T *v = x;
  int64_t count = 0;
  (void)first, (void)step, (void)p;
  for (int64_t i = 0; i < n; i++) count += v[i] != 0;
  state->integer += count;
}

/* The place is looked for only when the stretch holds something better than what there is, and never when places don't count (step 0). */
#define EXTREME(KIND, FN, OPERATOR)                                                                                   \
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
  }                                                                                                                   \
  static void NAME(FN)(void *best, const void *x, int64_t stride, int64_t rows, int64_t n) {                          \
    T *b = best;                                                                                                      \
    for (int64_t r = 0; r < rows; r++) {                                                                              \
      const T *v = (const T *)((const char *)x + r * stride);                                                         \
      WF__VECTOR_LOOP                                                                                                 \
      for (int64_t i = 0; i < n; i++) b[i] = v[i] OPERATOR b[i] ? v[i] : b[i];                                        \
    }                                                                                                                 \
  }
EXTREME(MAX, most_rows, >)
EXTREME(MIN, least_rows, <)
#undef EXTREME

static void NAME(add_rows)(void *total, const void *x, int64_t stride, int64_t rows, int64_t n) {
  uint64_t *t = total;
  for (int64_t r = 0; r < rows; r++) {
    const T *v = (const T *)((const char *)x + r * stride);
    WF__VECTOR_LOOP
    for (int64_t i = 0; i < n; i++) t[i] += (uint64_t)v[i];
  }
}

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
  table->reduce[class][WF__REDUCE_COUNT] = NAME(COUNT);
  table->reduce[class][WF__REDUCE_MAX] = NAME(MAX);
  table->reduce[class][WF__REDUCE_MIN] = NAME(MIN);
  table->add_rows[class] = NAME(add_rows);
  table->add_each[class] = NAME(add_each);
  table->most_rows[class] = NAME(most_rows);
  table->least_rows[class] = NAME(least_rows);
}
