/* Beginning, merging and finishing of reductions: a few operations an output, so plain C for every instruction set. */
#include "kernel/reduce_state.h"

#include <math.h>

void wf__reduce_begin(wf__reduce_kind kind, wf__reduce_state *s) {
  *s = (wf__reduce_state){.index = INT64_MAX};
  switch (kind) {
    case WF__REDUCE_PROD:
      s->value = 1;
      s->integer = 1;
      break;
    case WF__REDUCE_MAX:
      s->value = -INFINITY;
      s->integer = INT64_MIN;
      break;
    case WF__REDUCE_MIN:
    case WF__REDUCE_MIN_ABS:
      s->value = INFINITY;
      s->integer = INT64_MAX;
      break;
    case WF__REDUCE_LOGSUMEXP: s->value = -INFINITY; break;
    default: break;
  }
}

/* Neumaier's sum: what a rounding loses is kept apart. Infinities must not enter the second part. */
static void add(wf__reduce_state *s, double x) {
  double sum = s->value + x;
  if (isfinite(sum)) s->second += fabs(s->value) >= fabs(x) ? (s->value - sum) + x : (x - sum) + s->value;
  s->value = sum;
}

/* Whether the extreme a at index i goes before b at index j. */
static bool is_before(wf__reduce_kind kind, double a, int64_t i, double b, int64_t j) {
  if (isnan(a) || isnan(b)) return isnan(a) && (!isnan(b) || i < j);
  if (a == b) return i < j;
  return kind == WF__REDUCE_MAX || kind == WF__REDUCE_MAX_ABS ? a > b : a < b;
}

static bool is_before_integer(wf__reduce_kind kind, int64_t a, int64_t i, int64_t b, int64_t j) {
  if (a == b) return i < j;
  return kind == WF__REDUCE_MAX ? a > b : a < b;
}

static void merge_extreme(wf__reduce_kind kind, bool is_integer, wf__reduce_state *s, const wf__reduce_state *o) {
  bool better = is_integer ? is_before_integer(kind, o->integer, o->index, s->integer, s->index)
                           : is_before(kind, o->value, o->index, s->value, s->index);
  if (better) *s = *o;
}

/* Chan's formula for the moments of two stretches together. */
static void merge_moments(wf__reduce_state *s, const wf__reduce_state *o) {
  if (o->count == 0) return;
  double n = (double)s->count, m = (double)o->count, delta = o->value - s->value;
  s->value += delta * (m / (n + m));
  s->second += o->second + delta * delta * (n * m / (n + m));
  s->count += o->count;
}

static void merge_exponentials(wf__reduce_state *s, const wf__reduce_state *o) {
  double top = isnan(s->value) || s->value > o->value ? s->value : o->value;
  if (!isfinite(top)) { /* all of it is zero, infinity or NaN: nothing to scale */
    s->value = top;
    s->second += o->second;
    return;
  }
  s->second = s->second * exp(s->value - top) + o->second * exp(o->value - top);
  s->value = top;
}

void wf__reduce_merge(wf__reduce_kind kind, bool is_integer, wf__reduce_state *s, const wf__reduce_state *o) {
  switch (kind) {
    case WF__REDUCE_MAX:
    case WF__REDUCE_MIN:
    case WF__REDUCE_MAX_ABS:
    case WF__REDUCE_MIN_ABS: merge_extreme(kind, is_integer, s, o); break;
    case WF__REDUCE_PROD:
      s->value *= o->value;
      s->integer = (int64_t)((uint64_t)s->integer * (uint64_t)o->integer);
      break;
    case WF__REDUCE_MOMENTS: merge_moments(s, o); break;
    case WF__REDUCE_LOGSUMEXP: merge_exponentials(s, o); break;
    default:
      s->integer = (int64_t)((uint64_t)s->integer + (uint64_t)o->integer);
      add(s, o->value);
      s->second += o->second;
      break;
  }
}

static double norm_of(const wf__reduce_state *s, double p) {
  if (isinf(p)) return s->value;
  double sum = s->value + s->second;
  if (p == 0) return (double)s->integer;
  return p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, 1 / p);
}

double wf__reduce_end(wf__reduce_op op, const wf__reduce_state *s, int64_t count, double parameter, int64_t *integer) {
  double freedom = (double)count - parameter;
  *integer = s->integer;
  switch (op) {
    case WF__RED_SUM: return s->value + s->second;
    case WF__RED_MEAN: return (s->value + s->second) / (double)count;
    case WF__RED_ARGMAX:
    case WF__RED_ARGMIN: *integer = s->index; return 0;
    case WF__RED_ANY: *integer = s->integer != 0; return 0;
    case WF__RED_ALL: *integer = s->integer == count; return 0;
    case WF__RED_VAR: return count ? s->second / (freedom > 0 ? freedom : 0) : NAN;
    case WF__RED_STD: return count ? sqrt(s->second / (freedom > 0 ? freedom : 0)) : NAN;
    case WF__RED_NORM: return norm_of(s, parameter);
    case WF__RED_LOGSUMEXP: return s->value + (isfinite(s->value) ? log(s->second) : 0);
    default: return s->value;
  }
}
