/* Pointwise operators of floats and integers alike that choose: between loops by their numbers, or between elements by a mask. For one element
 * type: T (the type), NUMBER(k) (the operator's k-th number as T, from `a`) and LOOP(name), which names the functions, are defined by whoever
 * includes it, and so are the loops that are chosen from. */

static void LOOP(ADD)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {
  (NUMBER(0) == 1 ? LOOP(ADD_PLAIN) : LOOP(ADD_SCALED))(out, in, n, a);
}

static void LOOP(SUB)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {
  (NUMBER(0) == 1 ? LOOP(SUB_PLAIN) : LOOP(SUB_SCALED))(out, in, n, a);
}

static void LOOP(CLAMP)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {
  if (a->given[0] && a->given[1]) LOOP(CLAMP_BOTH)(out, in, n, a);
  else if (a->given[0]) LOOP(CLAMP_LOW)(out, in, n, a);
  else LOOP(CLAMP_HIGH)(out, in, n, a);
}

static void LOOP(WHERE)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {
  const uint8_t *c = in[0];
  const T *s = in[1], *t = in[2];
  T *d = out;
  (void)a;
  WF__VECTOR_LOOP for (int64_t i = 0; i < n; i++) {
    const T x = s[i], y = t[i];
    d[i] = c[i] ? x : y;
  }
}

static void LOOP(MASKED_FILL)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {
  const T *s = in[0], value = NUMBER(0);
  const uint8_t *c = in[1];
  T *d = out;
  WF__VECTOR_LOOP for (int64_t i = 0; i < n; i++) {
    const T x = s[i];
    d[i] = c[i] ? value : x;
  }
}
