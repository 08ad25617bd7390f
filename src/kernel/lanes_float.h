/* Operations on vectors of one float type: T (the type), V (a vector of it), B (integers as wide), N (lanes), FORM(name) (the name with the
 * type's suffix) and, for AVX-512, X512(op) (the intrinsic), M512 (its vector) and MASK are defined by whoever includes it, lanes.h, and
 * undefined again at the end. */

static inline V FORM(wf__load)(const T *p) {
  V v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline void FORM(wf__store)(T *p, V v) { memcpy(p, &v, sizeof v); }

/* Lanes of a where the mask is set, of b elsewhere. */
static inline V FORM(wf__choose)(B mask, V a, V b) { return (V)(((B)a & mask) | ((B)b & ~mask)); }

/* a · b + c */
static inline V FORM(wf__fma)(V a, V b, V c) {
#if defined(__AVX512F__)
  return (V)X512(fmadd)((M512)a, (M512)b, (M512)c);
#elif defined(__FMA__)
  return (V)X256(fmadd)((M256)a, (M256)b, (M256)c);
#else
  return a * b + c;
#endif
}

/* The greater and the lesser lanes; where one is NaN, those of b. */
static inline V FORM(wf__max)(V a, V b) {
#if defined(__AVX512F__)
  return (V)X512(max)((M512)a, (M512)b);
#else
  return FORM(wf__choose)(a > b, a, b);
#endif
}
static inline V FORM(wf__min)(V a, V b) {
#if defined(__AVX512F__)
  return (V)X512(min)((M512)a, (M512)b);
#else
  return FORM(wf__choose)(a < b, a, b);
#endif
}

/* NaN in lanes where it, a or b is NaN; numbers in the others. */
static inline V FORM(wf__spread_nan)(V odd, V a, V b) {
#if defined(__AVX512F__)
  MASK nan = X512_MASK(cmp)((M512)a, (M512)b, _CMP_UNORD_Q);
  return (V)X512(mask_mov)((M512)odd, nan, X512(set1)((T)__builtin_nanf("")));
#else
  return FORM(wf__choose)((a != a) | (b != b), (V){0} + (T)__builtin_nanf(""), odd);
#endif
}

static inline bool FORM(wf__any_nan)(V v) {
#if defined(__AVX512F__)
  return X512_MASK(cmp)((M512)v, (M512)v, _CMP_UNORD_Q) != 0;
#else
  bool any = false;
  for (int k = 0; k < N; k++) any |= v[k] != v[k];
  return any;
#endif
}

/* The greatest and the least lane, as if NaN weren't there; the sum of the lanes, by halves. */
static inline T FORM(wf__top)(V v) {
#if defined(__AVX512F__)
  return X512(reduce_max)((M512)v);
#else
  T top = v[0];
  for (int k = 1; k < N; k++) top = v[k] > top || top != top ? v[k] : top;
  return top;
#endif
}
static inline T FORM(wf__bottom)(V v) {
#if defined(__AVX512F__)
  return X512(reduce_min)((M512)v);
#else
  T bottom = v[0];
  for (int k = 1; k < N; k++) bottom = v[k] < bottom || bottom != bottom ? v[k] : bottom;
  return bottom;
#endif
}
static inline T FORM(wf__total)(V v) {
#if defined(__AVX512F__)
  return X512(reduce_add)((M512)v);
#else
  T part[N];
  memcpy(part, &v, sizeof part);
  for (int half = N / 2; half; half /= 2)
    for (int k = 0; k < half; k++) part[k] += part[k + half];
  return part[0];
#endif
}

/* The first n lanes from memory, the others `fill`; and back. n is less than the number of lanes. */
static inline V FORM(wf__load_part)(const T *p, int64_t n, T fill) {
#if defined(__AVX512F__)
  return (V)X512(mask_loadu)(X512(set1)(fill), (MASK)((1u << n) - 1), p);
#else
  T part[N];
  for (int k = 0; k < N; k++) part[k] = k < n ? p[k] : fill;
  return FORM(wf__load)(part);
#endif
}
static inline void FORM(wf__store_part)(T *p, V v, int64_t n) {
#if defined(__AVX512F__)
  X512(mask_storeu)(p, (MASK)((1u << n) - 1), (M512)v);
#else
  for (int k = 0; k < n; k++) p[k] = v[k];
#endif
}

/* Stores a vector past the cache; p is a multiple of its size. */
static inline void FORM(wf__stream)(T *p, V v) {
#if defined(__AVX512F__)
  X512(stream)(p, (M512)v);
#elif defined(__AVX2__)
  X256(stream)(p, (M256)v);
#elif defined(__SSE2__)
  X128(stream)(p, (M128)v);
#else
  memcpy(p, &v, sizeof v);
#endif
}

#undef T
#undef V
#undef B
#undef N
#undef FORM
#undef X512
#undef X512_MASK
#undef X256
#undef X128
#undef M512
#undef M256
#undef M128
#undef MASK
