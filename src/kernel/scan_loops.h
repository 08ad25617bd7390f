/* Cumulative sums and products of one type: T (elements), KEPT (what they are added up in) and NAME(x) are defined by whoever includes it.
 *
 * One run waits for each addition before the next. So runs go side by side: eight in registers, or a row of neighbours by vectors. Short ones, of
 * which the processor has several under way, are written one after the other. */

#define SIDE 8      /* runs at a time */
#define COLUMNS 256 /* neighbours at a time */
#define SHORT 16    /* elements of a short run */

/* `runs` of n elements each: at most SIDE, a constant where it counts. */
static inline void NAME(some)(bool product, const wf__runs *r, int64_t first, int runs, void *carry) {
  KEPT kept[SIDE], *from = (KEPT *)carry + first;
  const int64_t n = r->n, in_run = r->in_run, in_step = r->in_step, out_run = r->out_run, out_step = r->out_step;
  const char *x = (const char *)r->in + first * r->in_run;
  char *y = (char *)r->out + first * r->out_run;
  for (int k = 0; k < runs; k++) kept[k] = from[k];
  for (int64_t i = 0; i < n; i++, x += in_step, y += out_step)
    for (int k = 0; k < runs; k++) {
      const KEPT v = (KEPT) * (const T *)(x + k * in_run);
      kept[k] = product ? kept[k] * v : kept[k] + v;
      *(T *)(y + k * out_run) = (T)kept[k];
    }
  for (int k = 0; k < runs; k++) from[k] = kept[k];
}

/* Runs whose elements lie side by side. */
static inline void NAME(neighbours)(bool product, const wf__runs *r, int64_t first, int64_t runs, void *carry) {
  KEPT *kept = (KEPT *)carry + first;
  for (int64_t i = 0; i < r->n; i++) {
    const T *x = (const T *)((const char *)r->in + i * r->in_step) + first;
    T *y = (T *)((char *)r->out + i * r->out_step) + first;
    WF__VECTOR_LOOP
    for (int64_t k = 0; k < runs; k++) {
      kept[k] = product ? kept[k] * (KEPT)x[k] : kept[k] + (KEPT)x[k];
      y[k] = (T)kept[k];
    }
  }
}

static inline void NAME(each)(bool product, const wf__runs *r, void *carry) {
  const int64_t n = r->n;
  for (int64_t k = 0; k < r->runs; k++) {
    const T *x = (const T *)((const char *)r->in + k * r->in_run);
    T *y = (T *)((char *)r->out + k * r->out_run);
    KEPT kept = ((KEPT *)carry)[k];
    for (int64_t i = 0; i < n; i++) {
      const KEPT v = (KEPT)x[i];
      kept = product ? kept * v : kept + v;
      y[i] = (T)kept;
    }
    ((KEPT *)carry)[k] = kept;
  }
}

static inline void NAME(all)(bool product, const wf__runs *r, void *carry) {
  int64_t first = 0;
  if (r->in_run == (int64_t)sizeof(T) && r->out_run == (int64_t)sizeof(T) && r->runs >= SIDE) {
    for (; first < r->runs; first += COLUMNS)
      NAME(neighbours)(product, r, first, r->runs - first < COLUMNS ? r->runs - first : COLUMNS, carry);
    return;
  }
  if (r->n <= SHORT && r->in_step == (int64_t)sizeof(T) && r->out_step == (int64_t)sizeof(T)) {
    NAME(each)(product, r, carry);
    return;
  }
  for (; first + SIDE <= r->runs; first += SIDE) NAME(some)(product, r, first, SIDE, carry);
  for (; first < r->runs; first++) NAME(some)(product, r, first, 1, carry);
}

static void NAME(sums)(const wf__runs *r, void *carry) { NAME(all)(false, r, carry); }
static void NAME(products)(const wf__runs *r, void *carry) { NAME(all)(true, r, carry); }

#undef SIDE
#undef COLUMNS
#undef SHORT
