/* Derivatives of views. A view only says which element of the base each of its elements is, so the same operator applied to a tensor of
 * element numbers gives the reference: gradients are added up by number. Second derivatives likewise. */
#include "op/geometry.h"

#include <weft/autograd.h>
#include <weft/create.h>
#include <weft/math.h>
#include <weft/reduce.h>
#include <weft/view.h>
#include "tensor/tensor.h"

#define MOST 400

typedef wf_tensor *(*operator_fn)(const wf_tensor *x);

/* A tensor [size] of 0, 1, 2, … in row-major order. */
static wf_tensor *numbers(wf_dims size, wf_dtype dtype) {
  static int64_t i64[MOST];
  static double f64[MOST];
  for (int i = 0; i < MOST; i++) f64[i] = (double)(i64[i] = i);
  return wf_from_data(dtype == WF_I64 ? (const void *)i64 : f64, size, dtype);
}

static double weight(int64_t k) { return (double)(k * 7 % 11) - 4; }
static double value(int64_t i) { return (double)(i * 5 % 13) - 6; }
static double direction(int64_t i) { return (double)(i * 3 % 7) - 2; }

static wf_tensor *tabled(wf_dims size, double (*f)(int64_t)) {
  static double f64[MOST];
  for (int i = 0; i < MOST; i++) f64[i] = f(i);
  return wf_from_data(f64, size, WF_F64);
}

/* x [size], y = f(x): d sum(y² w / 2) / dx, and the derivative of that along a direction. */
static void check(wf_dims size, operator_fn f) {
  wf_scope s = wf_scope_begin();
  wf_tensor *x = tabled(size, value), *sources = f(numbers(size, WF_I64));
  assert_ok(wf_requires_grad_(x, true));
  double source[MOST], gradient[MOST], expected[MOST] = {0}, expected_second[MOST] = {0};
  int64_t n = elements_of(sources, source);
  for (int64_t k = 0; k < n; k++) {
    int64_t i = (int64_t)source[k];
    expected[i] += weight(k) * value(i);
    expected_second[i] += weight(k) * direction(i);
  }
  wf_tensor *y = f(x), *w = tabled(wf_sizes(y), weight), *half = wf_full(WF_SHAPE0, wf_float(0.5), NULL);
  wf_tensor *loss = wf_mul(wf_sum(wf_mul(wf_mul(y, y), w)), half);
  wf_backward_options o = wf_backward_defaults();
  o.create_graph = true;
  wf_tensors grads = wf_autograd_grad((wf_tensors){&loss, 1}, (wf_tensors){&x, 1}, (wf_tensors){NULL, 0}, false, &o);
  if (!grads.at) fail_msg("first derivative: %s", wf_error_take().text);
  assert_int_equal(elements_of(grads.at[0], gradient), wf_numel(x));
  for (int64_t i = 0; i < wf_numel(x); i++)
    if (gradient[i] != expected[i]) fail_msg("gradient %d is %g, expected %g", (int)i, gradient[i], expected[i]);
  wf_tensor *along = wf_sum(wf_mul(grads.at[0], tabled(size, direction)));
  wf_tensors second =
      wf_autograd_grad((wf_tensors){&along, 1}, (wf_tensors){&x, 1}, (wf_tensors){NULL, 0}, false, NULL);
  if (!second.at) fail_msg("second derivative: %s", wf_error_take().text);
  elements_of(second.at[0], gradient);
  for (int64_t i = 0; i < wf_numel(x); i++)
    if (gradient[i] != expected_second[i])
      fail_msg("second %d is %g, expected %g", (int)i, gradient[i], expected_second[i]);
  wf_scope_end(s, NULL);
}

static wf_tensor *f_view(const wf_tensor *x) { return wf_view(x, WF_SHAPE(4, 6)); }
static wf_tensor *f_reshape_copy(const wf_tensor *x) { return wf_reshape(wf_transpose(x, 0, 2), WF_SHAPE(6, 4)); }
static wf_tensor *f_flatten(const wf_tensor *x) { return wf_flatten(x, 1, 2); }
static wf_tensor *f_unflatten(const wf_tensor *x) { return wf_unflatten(x, 2, WF_SHAPE(2, 2)); }
static wf_tensor *f_squeeze(const wf_tensor *x) { return wf_squeeze(x, WF_SHAPE0); }
static wf_tensor *f_unsqueeze(const wf_tensor *x) { return wf_unsqueeze(x, -2); }
static wf_tensor *f_transpose(const wf_tensor *x) { return wf_transpose(x, 0, 2); }
static wf_tensor *f_t(const wf_tensor *x) { return wf_t(x); }
static wf_tensor *f_permute(const wf_tensor *x) { return wf_permute(x, WF_SHAPE(2, 0, 1)); }
static wf_tensor *f_movedim(const wf_tensor *x) { return wf_movedim(x, WF_SHAPE(0), WF_SHAPE(2)); }
static wf_tensor *f_alias(const wf_tensor *x) { return wf_alias(x); }
static wf_tensor *f_narrow(const wf_tensor *x) { return wf_narrow(x, 1, 1, 2); }
static wf_tensor *f_slice(const wf_tensor *x) { return wf_slice(x, 2, 1, WF_NONE, 2); }
static wf_tensor *f_slice_empty(const wf_tensor *x) { return wf_slice(x, 2, 3, 3, 1); }
static wf_tensor *f_select(const wf_tensor *x) { return wf_select(x, 1, -1); }
static wf_tensor *f_diagonal(const wf_tensor *x) { return wf_diagonal(x, -1, 2, 1); }
static wf_tensor *f_unfold(const wf_tensor *x) { return wf_unfold(x, 2, 3, 1); }
static wf_tensor *f_unfold_apart(const wf_tensor *x) { return wf_unfold(x, 2, 1, 2); }
static wf_tensor *f_expand(const wf_tensor *x) { return wf_expand(x, WF_SHAPE(2, 1, 5, 2, 3)); }
static wf_tensor *f_expand_number(const wf_tensor *x) { return wf_expand(x, WF_SHAPE(3, 2)); }
static wf_tensor *f_unfold_number(const wf_tensor *x) { return wf_unfold(x, 0, 1, 1); }
static wf_tensor *f_strided(const wf_tensor *x) { return wf_as_strided(x, WF_SHAPE(3, 2), WF_SHAPE(5, 2), 1); }
static wf_tensor *f_strided_overlap(const wf_tensor *x) { return wf_as_strided(x, WF_SHAPE(4, 3), WF_SHAPE(2, 1), 3); }
static wf_tensor *f_strided_repeat(const wf_tensor *x) {
  return wf_as_strided(x, WF_SHAPE(3, 2, 2), WF_SHAPE(1, 0, 1), 0);
}
static wf_tensor *f_strided_of_repeat(const wf_tensor *x) {
  return wf_as_strided(wf_expand(x, WF_SHAPE(3, 4)), WF_SHAPE(2, 2), WF_SHAPE(1, 2), 0);
}
static wf_tensor *f_strided_of_windows(const wf_tensor *x) {
  return wf_as_strided(wf_unfold(x, 0, 3, 1), WF_SHAPE(6), WF_SHAPE(1), 0);
}
static wf_tensor *f_chain(const wf_tensor *x) { return wf_select(wf_transpose(wf_slice(x, 2, 0, 4, 2), 0, 1), 0, 2); }

static void derivatives_of_views_of_all_elements(void **state) {
  (void)state;
  check(WF_SHAPE(2, 3, 4), f_view);
  check(WF_SHAPE(2, 3, 4), f_reshape_copy);
  check(WF_SHAPE(2, 3, 4), f_flatten);
  check(WF_SHAPE(2, 3, 4), f_unflatten);
  check(WF_SHAPE(1, 3, 1, 2), f_squeeze);
  check(WF_SHAPE(2, 3, 4), f_unsqueeze);
  check(WF_SHAPE(2, 3, 4), f_transpose);
  check(WF_SHAPE(2, 3), f_t);
  check(WF_SHAPE(2, 3, 4), f_permute);
  check(WF_SHAPE(2, 3, 4), f_movedim);
  check(WF_SHAPE(2, 3, 4), f_alias);
}

static void derivatives_of_parts(void **state) {
  (void)state;
  check(WF_SHAPE(2, 3, 4), f_narrow);
  check(WF_SHAPE(2, 3, 4), f_slice);
  check(WF_SHAPE(2, 3, 4), f_slice_empty);
  check(WF_SHAPE(2, 3, 4), f_select);
  check(WF_SHAPE(2, 3, 4), f_diagonal);
  check(WF_SHAPE(2, 3, 4), f_chain);
}

static void derivatives_where_elements_show_more_than_once(void **state) {
  (void)state;
  check(WF_SHAPE(2, 3, 6), f_unfold);
  check(WF_SHAPE(2, 3, 6), f_unfold_apart);
  check(WF_SHAPE(1, 2, 3), f_expand);
  check(WF_SHAPE0, f_expand_number);
  check(WF_SHAPE0, f_unfold_number);
  check(WF_SHAPE(4, 4), f_strided);
  check(WF_SHAPE(4, 4), f_strided_overlap);
  check(WF_SHAPE(4, 4), f_strided_repeat);
  check(WF_SHAPE(4), f_strided_of_repeat);
  check(WF_SHAPE(6), f_strided_of_windows);
}

typedef wf_tensors (*list_fn)(const wf_tensor *x);
static wf_tensors f_split(const wf_tensor *x) { return wf_split(x, 2, 1); }
static wf_tensors f_split_sizes(const wf_tensor *x) { return wf_split_with_sizes(x, WF_SHAPE(1, 3, 1), 1); }
static wf_tensors f_chunk(const wf_tensor *x) { return wf_chunk(x, 3, 1); }
static wf_tensors f_tensor_split(const wf_tensor *x) { return wf_tensor_split_at(x, WF_SHAPE(1, 4), 1); }
static wf_tensors f_unbind(const wf_tensor *x) { return wf_unbind(x, 1); }

/* Only the pieces whose bit is set are used. */
static void check_pieces(list_fn f, uint32_t used) {
  wf_scope s = wf_scope_begin();
  wf_tensor *x = tabled(WF_SHAPE(2, 5, 2), value), *loss = wf_full(WF_SHAPE0, wf_float(0), NULL);
  assert_ok(wf_requires_grad_(x, true));
  wf_tensors pieces = f(x), sources = f(numbers(WF_SHAPE(2, 5, 2), WF_I64));
  double expected[20] = {0}, source[20], gradient[20];
  for (int p = 0; p < pieces.n; p++) {
    if (!(used >> p & 1)) continue;
    int64_t n = elements_of(sources.at[p], source);
    for (int64_t k = 0; k < n; k++) expected[(int64_t)source[k]] += weight(k) * (p + 1);
    wf_tensor *factor = wf_full(WF_SHAPE0, wf_float(p + 1), NULL);
    loss = wf_add(loss, wf_mul(wf_sum(wf_mul(pieces.at[p], tabled(wf_sizes(pieces.at[p]), weight))), factor));
  }
  assert_ok(wf_backward(loss, NULL, NULL));
  elements_of(wf_grad(x), gradient);
  for (int i = 0; i < 20; i++)
    if (gradient[i] != expected[i]) fail_msg("gradient %d is %g, expected %g", i, gradient[i], expected[i]);
  wf_scope_end(s, NULL);
}

static void pieces_bring_their_gradients_home_and_unused_ones_bring_zero(void **state) {
  (void)state;
  static const list_fn fns[] = {f_split, f_split_sizes, f_chunk, f_tensor_split, f_unbind};
  for (size_t i = 0; i < sizeof fns / sizeof *fns; i++) {
    check_pieces(fns[i], ~0u);
    check_pieces(fns[i], 2);
    check_pieces(fns[i], 5);
  }
}

static void geometry_changed_in_place_has_the_same_derivatives(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  wf_tensor *x = tabled(WF_SHAPE(2, 1, 3), value), *y = wf_mul(x, wf_full(WF_SHAPE0, wf_float(1), NULL));
  assert_ok(wf_requires_grad_(x, true));
  y = wf_mul(x, wf_full(WF_SHAPE0, wf_float(1), NULL));
  assert_ok(wf_squeeze_(y, WF_SHAPE(1)));
  assert_string_equal(wf_grad_fn_name(y), "SqueezeBackward4");
  assert_ok(wf_t_(y));
  assert_string_equal(wf_grad_fn_name(y), "TBackward1");
  assert_ok(wf_unsqueeze_(y, 0));
  assert_string_equal(wf_grad_fn_name(y), "UnsqueezeBackward1");
  assert_ok(wf_transpose_(y, 1, 2)); /* [1, 2, 3], the order of x again */
  assert_string_equal(wf_grad_fn_name(y), "TransposeBackward1");
  assert_ok(wf_backward(wf_sum(wf_mul(y, tabled(WF_SHAPE(1, 2, 3), weight))), NULL, NULL));
  double gradient[6];
  elements_of(wf_grad(x), gradient);
  for (int i = 0; i < 6; i++) assert_true(gradient[i] == weight(i));
  wf_scope_end(s, NULL);
}

static void writing_through_a_view_changes_the_gradient_of_its_base(void **state) {
  (void)state; /* x = ones(3), y = x * 2, y[1:] *= 5, sum(y): gradient (2, 10, 10) */
  wf_scope s = wf_scope_begin();
  wf_tensor_options o = wf_tensor_defaults();
  o.requires_grad = true;
  wf_tensor *x = wf_ones(WF_SHAPE(3), &o), *y = wf_mul(x, wf_full(WF_SHAPE0, wf_float(2), NULL));
  assert_ok(wf_mul_(wf_slice(y, 0, 1, WF_NONE, 1), wf_full(WF_SHAPE0, wf_float(5), NULL)));
  assert_ok(wf_backward(wf_sum(y), NULL, NULL));
  assert_elements_of(wf_grad(x), 2, 10, 10);
  wf_tensor *piece = wf_split(y, 2, 0).at[0];
  assert_refused(
      wf_mul_(piece, y) == WF_OK, WF_RUNTIME,
      "Output 0 of Split is a view and is being modified inplace. This view is the output of a function that returns multiple "
      "views. Such functions do not allow the output views to be modified inplace. You should replace the inplace operation by "
      "an out-of-place one.");
  wf_scope_end(s, NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(derivatives_of_views_of_all_elements),
    cmocka_unit_test(derivatives_of_parts),
    cmocka_unit_test(derivatives_where_elements_show_more_than_once),
    cmocka_unit_test(pieces_bring_their_gradients_home_and_unused_ones_bring_zero),
    cmocka_unit_test(geometry_changed_in_place_has_the_same_derivatives),
    cmocka_unit_test(writing_through_a_view_changes_the_gradient_of_its_base),
};
WF_TEST_MAIN("op/view_grad", tests)
