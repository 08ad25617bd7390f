/* The loops of one optimiser step in one pass over parameter, states and gradient: PyTorch's formulas in PyTorch's order, each operator of
 * it rounded as its own. Included for each element type with T (the type), FUSED (x · y + z as add with alpha rounds it) and ROOT defined;
 * STEP(name) names the functions. */

static void STEP(sgd)(const wf__optim_args *a, void *param, void *const *state, const void *gradient, int64_t n) {
  T *p = param, *buffer = state[0];
  const T *grad = gradient;
  const T decay = (T)a->weight_decay, momentum = (T)a->momentum, keep = (T)(1 - a->dampening), rate = (T)-a->lr,
          sign = a->maximize ? -1 : 1;
  const bool first = a->first, nesterov = a->nesterov;
  if (!buffer) {
    WF__VECTOR_LOOP
    for (int64_t i = 0; i < n; i++) {
      T g = sign * grad[i];
      p[i] = FUSED(rate, FUSED(decay, p[i], g), p[i]);
    }
    return;
  }
  WF__VECTOR_LOOP
  for (int64_t i = 0; i < n; i++) {
    T g = FUSED(decay, p[i], sign * grad[i]);
    T b = first ? g : FUSED(keep, g, buffer[i] * momentum);
    buffer[i] = b;
    p[i] = FUSED(rate, nesterov ? FUSED(momentum, b, g) : b, p[i]);
  }
}

/* decoupled: weight decay acts on the parameter (AdamW), not on the gradient. */
static inline void STEP(adam_loop)(const wf__optim_args *a, void *param, void *const *state, const void *gradient,
                                   int64_t n, bool decoupled) {
  T *p = param, *mean = state[0], *square = state[1], *most = state[2];
  const T *grad = gradient;
  const T shrink = (T)(1 - a->lr * a->weight_decay), decay = (T)a->weight_decay, sign = a->maximize ? -1 : 1;
  const T take = (T)(1 - a->beta1), keep_square = (T)a->beta2, take_square = (T)(1 - a->beta2);
  const T step_size = (T)-a->step_size, correction = (T)a->root_of_correction2, eps = (T)a->eps;
  WF__VECTOR_LOOP
  for (int64_t i = 0; i < n; i++) {
    T x = decoupled ? p[i] * shrink : p[i], g = decoupled ? sign * grad[i] : FUSED(decay, p[i], sign * grad[i]);
    T m = FUSED(take, g - mean[i], mean[i]), s = FUSED(take_square * g, g, square[i] * keep_square), greatest = s;
    mean[i] = m;
    square[i] = s;
    if (most) {
      greatest = most[i] > s ? most[i] : s;
      most[i] = greatest;
    }
    p[i] = x + step_size * m / (ROOT(greatest) / correction + eps);
  }
}

static void STEP(adam)(const wf__optim_args *a, void *param, void *const *state, const void *gradient, int64_t n) {
  STEP(adam_loop)(a, param, state, gradient, n, false);
}

static void STEP(adamw)(const wf__optim_args *a, void *param, void *const *state, const void *gradient, int64_t n) {
  STEP(adam_loop)(a, param, state, gradient, n, true);
}
