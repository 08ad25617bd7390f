/* Gradients against finite differences, in float64. A check evaluates f at the inputs, weighs its result with fixed numbers, and compares
 * what backward gives each input with the difference quotient of the weighed result; also the second derivative where asked. */
#ifndef WF_TESTS_GRADCHECK_H
#define WF_TESTS_GRADCHECK_H

#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <weft/weft.h>

#define GRADCHECK_INPUTS 4
#define GRADCHECK_NUMEL 256

/* The function under test; must use nothing but its inputs and context. */
typedef wf_tensor *(*gradcheck_fn)(wf_tensor *const *in, void *context);

typedef struct gradcheck_input {
  wf_dims size;
  const double *data; /* NULL: numbers from 0.3 to 1.7 that don't repeat */
} gradcheck_input;

static inline int64_t gradcheck_numel(wf_dims size) {
  int64_t n = 1;
  for (int i = 0; i < size.n; i++) n *= size.at[i];
  return n;
}

/* A fixed scatter of numbers in (0, 1). */
static inline double gradcheck_number(int64_t i) {
  double x = 0.6180339887498949 * (double)(i + 1);
  return x - floor(x);
}

static inline void gradcheck_values(const gradcheck_input *in, int which, double *values) {
  int64_t n = gradcheck_numel(in->size);
  for (int64_t i = 0; i < n; i++) values[i] = in->data ? in->data[i] : 0.3 + 1.4 * gradcheck_number(i + 7 * which);
}

/* Row-major weights for a result. */
static inline wf_tensor *gradcheck_weights(const wf_tensor *like, double *weights) {
  for (int64_t i = 0; i < wf_numel(like); i++) weights[i] = 0.5 + gradcheck_number(3 * i + 1);
  return wf_from_data(weights, wf_sizes(like), WF_F64);
}

typedef struct gradcheck {
  gradcheck_fn fn;
  void *context;
  const gradcheck_input *in;
  int n;
  bool second; /* the function under test is the gradient of fn */
} gradcheck_state;

/* The weighed gradient of fn with respect to all inputs, weighed again: a function whose derivative is the second one. */
static inline double gradcheck_total(const gradcheck_state *c, wf_tensor **in, double *first) {
  double out[GRADCHECK_NUMEL], weights[GRADCHECK_NUMEL], total = 0;
  wf_tensor *y = c->fn(in, c->context);
  if (!y) print_error("%s\n", wf_error_peek().text);
  assert_non_null(y);
  int64_t n = wf_numel(y);
  assert_true(n <= GRADCHECK_NUMEL);
  wf_tensor *w = gradcheck_weights(y, weights);
  if (!c->second) {
    assert_ok(wf_to_host(y, out, (size_t)n * sizeof *out));
    for (int64_t i = 0; i < n; i++) total += weights[i] * out[i];
    if (first) assert_ok(wf_backward(y, w, NULL));
    return total;
  }
  wf_backward_options o = wf_backward_defaults();
  o.create_graph = true;
  wf_tensors grads = wf_autograd_grad((wf_tensors){&y, 1}, (wf_tensors){in, c->n}, (wf_tensors){&w, 1}, true, &o);
  if (!grads.at) print_error("%s\n", wf_error_peek().text);
  assert_non_null(grads.at);
  for (int k = 0; k < c->n; k++) {
    if (!grads.at[k]) continue;
    int64_t m = wf_numel(grads.at[k]);
    wf_tensor *v = gradcheck_weights(grads.at[k], weights);
    assert_ok(wf_to_host(grads.at[k], out, (size_t)m * sizeof *out));
    for (int64_t i = 0; i < m; i++) total += weights[i] * out[i];
    if (first && wf_requires_grad(grads.at[k])) {
      wf_backward_options keep = wf_backward_defaults();
      keep.retain_graph = true;
      assert_ok(wf_backward(grads.at[k], v, &keep));
    }
  }
  return total;
}

static inline double gradcheck_at(const gradcheck_state *c, int which, int64_t at, double step) {
  double values[GRADCHECK_NUMEL];
  wf_tensor *in[GRADCHECK_INPUTS];
  wf_scope scope = wf_scope_begin();
  for (int k = 0; k < c->n; k++) {
    gradcheck_values(&c->in[k], k, values);
    if (k == which) values[at] += step;
    in[k] = wf_from_data(values, c->in[k].size, WF_F64);
    if (c->second) assert_ok(wf_requires_grad_(in[k], true));
  }
  double total = gradcheck_total(c, in, NULL);
  wf_scope_end(scope, NULL);
  return total;
}

static inline void gradcheck_compare(const char *name, const gradcheck_state *c) {
  double values[GRADCHECK_NUMEL], got[GRADCHECK_NUMEL], first;
  wf_tensor *in[GRADCHECK_INPUTS];
  wf_scope scope = wf_scope_begin();
  for (int k = 0; k < c->n; k++) {
    gradcheck_values(&c->in[k], k, values);
    in[k] = wf_from_data(values, c->in[k].size, WF_F64);
    assert_ok(wf_requires_grad_(in[k], true));
  }
  gradcheck_total(c, in, &first);
  for (int k = 0; k < c->n; k++) {
    int64_t n = gradcheck_numel(c->in[k].size);
    wf_tensor *grad = wf_grad(in[k]);
    memset(got, 0, sizeof got);
    if (grad) assert_ok(wf_to_host(grad, got, (size_t)n * sizeof *got));
    for (int64_t i = 0; i < n; i++) {
      const double h = 1e-5;
      double quotient = (gradcheck_at(c, k, i, h) - gradcheck_at(c, k, i, -h)) / (2 * h);
      if (fabs(quotient - got[i]) > 1e-6 + 1e-5 * fabs(quotient))
        fail_msg("%s%s: input %d, element %d: backward gives %.10g, the difference quotient is %.10g", name,
                 c->second ? " (second derivative)" : "", k, (int)i, got[i], quotient);
    }
  }
  wf_scope_end(scope, NULL);
}

/* First derivatives of fn at `in`. */
static inline void gradcheck(const char *name, gradcheck_fn fn, void *context, const gradcheck_input *in, int n) {
  const gradcheck_state c = {fn, context, in, n, false};
  gradcheck_compare(name, &c);
}

/* First and second derivatives. */
static inline void gradcheck_twice(const char *name, gradcheck_fn fn, void *context, const gradcheck_input *in, int n) {
  const gradcheck_state c = {fn, context, in, n, true};
  gradcheck(name, fn, context, in, n);
  gradcheck_compare(name, &c);
}

#endif
