/* Loops of softmax for one float type: T, V (a vector of it), LANES, NAME(x) and TYPE(x) (names of this file and of lanes.h with the type's
 * suffix), EXP, LOG and CHOOSE are defined by whoever includes it.
 *
 * A stretch is consumed twice: `take` gathers what the map needs into (top, sum), `map` writes the result. `row` does both at once and
 * keeps the exponentials, so that each is computed once. Columns do it with a (top, sum) each, in vectors of neighbours.
 * NaN and infinities come out as from exp(x - top) / sum: a NaN or +inf anywhere, or nothing but -inf, gives NaN. */

#define ROWS 8 /* of a column, taken together */

/* The vector of in at i for `left` more elements; `fill` in lanes past them. */
static inline V NAME(piece)(const T *p, int64_t left, T fill) {
  V v;
  if (left < LANES) return TYPE(wf__load_part)(p, left, fill);
  memcpy(&v, p, sizeof v);
  return v;
}
static inline void NAME(put)(T *p, V v, int64_t left, bool stream) {
  if (left < LANES) TYPE(wf__store_part)(p, v, left);
  else if (stream) TYPE(wf__stream)(p, v);
  else memcpy(p, &v, sizeof v);
}

/* Elements before the first whole vector of p; what a loop that streams begins with. */
static inline int64_t NAME(head)(const T *p, int64_t n, bool stream) {
  int64_t head = stream ? (int64_t)(-(uintptr_t)p % sizeof(V) / sizeof(T)) : 0;
  return head < n ? head : n;
}

static inline T NAME(top_of)(const T *x, int64_t n) {
  V a = (V){0} - (T)INFINITY, b = a, c = a, d = a;
  int64_t i = 0;
  for (; i + 4 * LANES <= n; i += 4 * LANES) {
    a = TYPE(wf__max)(NAME(piece)(x + i, LANES, 0), a);
    b = TYPE(wf__max)(NAME(piece)(x + i + LANES, LANES, 0), b);
    c = TYPE(wf__max)(NAME(piece)(x + i + 2 * LANES, LANES, 0), c);
    d = TYPE(wf__max)(NAME(piece)(x + i + 3 * LANES, LANES, 0), d);
  }
  for (; i < n; i += LANES) a = TYPE(wf__max)(NAME(piece)(x + i, n - i, (T)-INFINITY), a);
  return TYPE(wf__top)(TYPE(wf__max)(TYPE(wf__max)(a, b), TYPE(wf__max)(c, d)));
}

/* Sum of e^(x - top); the exponentials go to `keep` unless it is NULL. `next` is fetched meanwhile: it will be read after this. */
static inline T NAME(exponentials)(T *keep, const T *x, int64_t n, T top, const T *next) {
  V sum = {0}, other = {0};
  int64_t i = 0;
  for (; i + 2 * LANES <= n; i += 2 * LANES) {
    V e = EXP(NAME(piece)(x + i, LANES, 0) - top), f = EXP(NAME(piece)(x + i + LANES, LANES, 0) - top);
    if (next) {
      __builtin_prefetch(next + i);
      __builtin_prefetch(next + i + LANES);
    }
    if (keep) {
      NAME(put)(keep + i, e, LANES, false);
      NAME(put)(keep + i + LANES, f, LANES, false);
    }
    sum += e;
    other += f;
  }
  for (; i < n; i += LANES) {
    V e = EXP(NAME(piece)(x + i, n - i, (T)-INFINITY) - top); /* past the end 0, or all is NaN */
    if (keep) NAME(put)(keep + i, e, n - i, false);
    sum += e;
  }
  return TYPE(wf__total)(sum + other);
}

/* ---- rows -------------------------------------------------------------------------------------------------------------------- */

static void NAME(soft_row)(void *out, const void *in, void *keep, int64_t n, const void *next, bool stream) {
  T *d = out, *e = keep, top = NAME(top_of)(in, n), scale = 1 / NAME(exponentials)(e, in, n, top, next);
  int64_t i = NAME(head)(d, n, stream);
  if (i) NAME(put)(d, NAME(piece)(e, i, 0) * scale, i, false);
  for (; i < n; i += LANES) NAME(put)(d + i, NAME(piece)(e + i, n - i, 0) * scale, n - i, stream);
}

static void NAME(log_row)(void *out, const void *in, void *keep, int64_t n, const void *next, bool stream) {
  const T *x = in;
  T *d = out, top = NAME(top_of)(x, n), shift = LOG(NAME(exponentials)(NULL, x, n, top, next));
  (void)keep;
  int64_t i = NAME(head)(d, n, stream);
  if (i) NAME(put)(d, NAME(piece)(x, i, 0) - top - shift, i, false);
  for (; i < n; i += LANES) NAME(put)(d + i, NAME(piece)(x + i, n - i, 0) - top - shift, n - i, stream);
}

static void NAME(take_exponentials)(void *top, void *sum, const void *const *in, int64_t n) {
  T *most = top, *s = sum, now = NAME(top_of)(in[0], n);
  now = now > *most ? now : *most;
  if (*most != now) *s *= EXP((V){0} + (*most - now))[0];
  *s += NAME(exponentials)(NULL, in[0], n, now == (T)-INFINITY ? 0 : now, NULL);
  *most = now;
}

/* Sum of g y, or of g alone. */
static inline void NAME(take_products)(T *sum, const T *g, const T *y, int64_t n) {
  V a = {0}, b = {0};
  int64_t i = 0;
  for (; i + 2 * LANES <= n; i += 2 * LANES) {
    V v = NAME(piece)(g + i, LANES, 0), w = NAME(piece)(g + i + LANES, LANES, 0);
    a += y ? v * NAME(piece)(y + i, LANES, 0) : v;
    b += y ? w * NAME(piece)(y + i + LANES, LANES, 0) : w;
  }
  for (; i < n; i += LANES) {
    V v = NAME(piece)(g + i, n - i, 0);
    a += y ? v * NAME(piece)(y + i, n - i, 0) : v;
  }
  *sum += TYPE(wf__total)(a + b);
}
static void NAME(take_weighted)(void *top, void *sum, const void *const *in, int64_t n) {
  (void)top;
  NAME(take_products)(sum, in[0], in[1], n);
}
static void NAME(take_gradients)(void *top, void *sum, const void *const *in, int64_t n) {
  (void)top;
  NAME(take_products)(sum, in[0], NULL, n);
}

/* ---- columns ----------------------------------------------------------------------------------------------------------------- */

/* ROWS rows of one vector of columns: they stay in registers while the greatest is found. */
static inline void NAME(take_few)(V *top, V *sum, const T *x, int64_t stride, int64_t left, int rows) {
  V v[ROWS], most = *top, added = {0};
  for (int r = 0; r < rows; r++) {
    v[r] = NAME(piece)((const T *)((const char *)x + r * stride), left, 0);
    most = TYPE(wf__max)(v[r], most);
  }
  /* Nothing but -inf so far: measured from 0, where each adds nothing. */
  V base = CHOOSE(most == (T)-INFINITY, (V){0}, most), had = CHOOSE(*top == most, (V){0}, *top - base);
  for (int r = 0; r < rows; r++) added += EXP(v[r] - base);
  *sum = *sum * EXP(had) + added;
  *top = most;
}

static void NAME(take_exponential_columns)(void *top, void *sum, const void *const *in, const int64_t *stride,
                                           int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; r += ROWS)
    for (int64_t c = 0; c < cols; c += LANES) {
      const T *x = (const T *)((const char *)in[0] + r * stride[0]) + c;
      T *most = (T *)top + c, *s = (T *)sum + c;
      int64_t left = cols - c < LANES ? cols - c : LANES;
      V t = NAME(piece)(most, left, 0), total = NAME(piece)(s, left, 0);
      if (rows - r >= ROWS) NAME(take_few)(&t, &total, x, stride[0], left, ROWS);
      else NAME(take_few)(&t, &total, x, stride[0], left, (int)(rows - r));
      NAME(put)(most, t, left, false);
      NAME(put)(s, total, left, false);
    }
}

static inline void NAME(take_product_columns)(T *sum, const void *const *in, const int64_t *stride, int64_t rows,
                                              int64_t cols, bool weighted) {
  for (int64_t r = 0; r < rows; r += ROWS)
    for (int64_t c = 0; c < cols; c += LANES) {
      int64_t left = cols - c < LANES ? cols - c : LANES;
      V part = {0};
      for (int64_t k = r; k < rows && k < r + ROWS; k++) {
        V g = NAME(piece)((const T *)((const char *)in[0] + k * stride[0]) + c, left, 0);
        part += weighted ? g * NAME(piece)((const T *)((const char *)in[1] + k * stride[1]) + c, left, 0) : g;
      }
      NAME(put)(sum + c, NAME(piece)(sum + c, left, 0) + part, left, false);
    }
}
static void NAME(take_weighted_columns)(void *top, void *sum, const void *const *in, const int64_t *stride,
                                        int64_t rows, int64_t cols) {
  (void)top;
  NAME(take_product_columns)(sum, in, stride, rows, cols, true);
}
static void NAME(take_gradient_columns)(void *top, void *sum, const void *const *in, const int64_t *stride,
                                        int64_t rows, int64_t cols) {
  (void)top;
  NAME(take_product_columns)(sum, in, stride, rows, cols, false);
}

/* ---- maps -------------------------------------------------------------------------------------------------------------------- */

/* Turns the sums into what the maps use. */
static void NAME(soft_factor)(void *sum, int64_t n) {
  for (int64_t i = 0; i < n; i++) ((T *)sum)[i] = 1 / ((T *)sum)[i];
}
static void NAME(log_factor)(void *sum, int64_t n) {
  for (int64_t i = 0; i < n; i++) ((T *)sum)[i] = LOG(((T *)sum)[i]);
}

/* out := EXPRESSION in x, y (vectors of the operands), t and s (of tops and factors: one for all elements, or one each). */
#define WF_MAP(OP, ARITY, EXPRESSION)                                                                                 \
  static inline void NAME(OP##_at)(T * d, const void *const *in, int64_t i, int64_t left, const T *top,               \
                                   const T *factor, bool each, bool stream) {                                         \
    V x = NAME(piece)((const T *)in[0] + i, left, 0), y = ARITY > 1 ? NAME(piece)((const T *)in[1] + i, left, 0) : x; \
    V t = each ? NAME(piece)(top + i, left, 0) : (V){0} + *top,                                                       \
      s = each ? NAME(piece)(factor + i, left, 0) : (V){0} + *factor;                                                 \
    (void)y, (void)t;                                                                                                 \
    NAME(put)(d + i, EXPRESSION, left, stream);                                                                       \
  }                                                                                                                   \
  static inline void NAME(OP##_over)(T * d, const void *const *in, int64_t n, const T *top, const T *factor,          \
                                     bool each, bool stream) {                                                        \
    int64_t i = NAME(head)(d, n, stream);                                                                             \
    if (i) NAME(OP##_at)(d, in, 0, i, top, factor, each, false);                                                      \
    for (; i + LANES <= n; i += LANES) NAME(OP##_at)(d, in, i, LANES, top, factor, each, stream);                     \
    if (i < n) NAME(OP##_at)(d, in, i, n - i, top, factor, each, false);                                              \
  }                                                                                                                   \
  static void NAME(OP##_map)(void *out, const void *const *in, int64_t n, const void *top, const void *factor,        \
                             bool each, bool stream) {                                                                \
    if (each) NAME(OP##_over)(out, in, n, top, factor, true, stream);                                                 \
    else NAME(OP##_over)(out, in, n, top, factor, false, stream);                                                     \
  }
WF_MAP(soft, 1, EXP(x - t) * s)
WF_MAP(log, 1, x - t - s)
WF_MAP(soft_back, 2, (x - s) * y)
WF_MAP(log_back, 2, x - EXP(y) * s)
#undef WF_MAP

static void NAME(fill)(wf__softmax_kernels *table) {
  table[WF__SOFTMAX] = (wf__softmax_kernels){NAME(soft_row), NAME(take_exponentials), NAME(take_exponential_columns),
                                             NAME(soft_factor), NAME(soft_map)};
  table[WF__LOG_SOFTMAX] = (wf__softmax_kernels){NAME(log_row), NAME(take_exponentials), NAME(take_exponential_columns),
                                                 NAME(log_factor), NAME(log_map)};
  table[WF__SOFTMAX_BACKWARD] =
      (wf__softmax_kernels){NULL, NAME(take_weighted), NAME(take_weighted_columns), NULL, NAME(soft_back_map)};
  table[WF__LOG_SOFTMAX_BACKWARD] =
      (wf__softmax_kernels){NULL, NAME(take_gradients), NAME(take_gradient_columns), NULL, NAME(log_back_map)};
}

#undef ROWS
