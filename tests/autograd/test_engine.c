/* The engine: sums of paths, order, graphs used twice, long chains, validation of what derivatives return, threads, failing memory. */
#include "autograd/scoped.h"

#include <pthread.h>
#include "autograd/meta.h"
#include "base/host.h"

/* ---- paths ------------------------------------------------------------------------------------------------------------------ */

static void gradients_of_several_paths_are_summed(void **state) {
  (void)state;
  wf_tensor *x = LEAF(2, -3), *a = wf_mul(x, x), *b = wf_exp(wf_mul_scalar(x, wf_int(0))),
            *y = wf_add(wf_add(a, x), wf_mul(b, x));
  assert_ok(wf_backward(wf_sum(y), NULL, NULL)); /* x² + x + x: 2x + 2 */
  assert_values(wf_grad(x), 6, -4);
}

static void a_tensor_used_as_both_operands_counts_twice(void **state) {
  (void)state;
  wf_tensor *x = LEAF(3);
  assert_ok(wf_backward(wf_add(x, x), NULL, NULL));
  assert_values(wf_grad(x), 2);
}

static void a_broadcast_operand_gets_the_sum(void **state) {
  (void)state;
  wf_tensor *x = wf_from_data((float[]){1, 2, 3, 4, 5, 6}, WF_SHAPE(2, 3), WF_F32), *row = LEAF(1, 1, 1),
            *number = wf_sum(LEAF(2));
  assert_ok(wf_requires_grad_(number, true));
  assert_ok(wf_retain_grad(number));
  assert_ok(wf_backward(wf_sum(wf_mul(wf_mul(x, row), number)), NULL, NULL));
  assert_values(wf_grad(row), 10, 14, 18);
  assert_values(wf_grad(number), 21);
}

/* A diamond of n levels has 2^n paths but n nodes. */
static void a_ladder_of_diamonds_takes_linear_time(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1), *y = x;
  for (int i = 0; i < 60; i++) y = wf_mul_scalar(wf_add(y, y), wf_float(0.5));
  assert_ok(wf_backward(y, NULL, NULL));
  assert_values(wf_grad(x), 1);
}

/* ---- roots -------------------------------------------------------------------------------------------------------------------- */

static void roots_are_checked_in_torchs_words(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *y = wf_mul(x, x), *c = CONST(1);
  assert_int_equal(wf_backward(y, NULL, NULL), WF_RUNTIME);
  assert_error(WF_RUNTIME, "grad can be implicitly created only for scalar outputs");
  assert_int_equal(wf_backward(y, CONST(1, 2, 3), NULL), WF_RUNTIME);
  assert_error(
      WF_RUNTIME,
      "Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and output[0] has a shape of torch.Size([2]).");
  assert_int_equal(wf_backward(c, NULL, NULL), WF_RUNTIME);
  assert_error(WF_RUNTIME, "element 0 of tensors does not require grad and does not have a grad_fn");
  assert_null(wf_grad(x));
  wf_tensor *single = wf_mul(LEAF(3), CONST(2)); /* one element of any rank needs no gradient */
  assert_ok(wf_backward(wf_view(single, WF_SHAPE(1, 1, 1)), NULL, NULL));
}

static void backward_of_a_leaf_is_the_given_gradient(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *g = CONST(5, 6);
  assert_ok(wf_backward(x, g, NULL));
  assert_values(wf_grad(x), 5, 6);
  assert_false(wf_shares_storage(wf_grad(x), g)); /* the caller holds g */
}

static void the_gradient_given_is_cast_to_the_roots_dtype(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *g = wf_from_data((double[]){5, 6}, WF_SHAPE(2), WF_F64);
  assert_ok(wf_backward(wf_mul_scalar(x, wf_int(2)), g, NULL));
  assert_int_equal(wf_dtype_of(wf_grad(x)), WF_F32);
  assert_values(wf_grad(x), 10, 12);
}

/* ---- twice ----------------------------------------------------------------------------------------------------------------------- */

#define TWICE                                                                                                                          \
  "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved "   \
  "intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to " \
  "backward through the graph a second time or if you need to access saved tensors after calling backward."

static void a_second_pass_needs_the_graph_retained(void **state) {
  (void)state;
  wf_backward_options keep = wf_backward_defaults();
  keep.retain_graph = true;
  wf_tensor *x = LEAF(3), *y = wf_mul(x, x);
  assert_ok(wf_backward(y, NULL, &keep));
  assert_ok(wf_backward(y, NULL, NULL));
  assert_values(wf_grad(x), 12);
  assert_int_equal(wf_backward(y, NULL, NULL), WF_RUNTIME);
  assert_error(WF_RUNTIME, TWICE);
  assert_values(wf_grad(x), 12);
}

static void sums_alone_may_run_twice(void **state) {
  (void)state;
  wf_tensor *x = LEAF(3, 4), *y = wf_sum(wf_add_scalar(x, wf_int(1)));
  assert_ok(wf_backward(y, NULL, NULL));
  assert_ok(wf_backward(y, NULL, NULL));
  assert_values(wf_grad(x), 2, 2);
  wf_tensor *z = wf_sum(wf_mul_scalar(x, wf_int(3))); /* torch keeps the 3 as a tensor */
  assert_ok(wf_backward(z, NULL, NULL));
  assert_int_equal(wf_backward(z, NULL, NULL), WF_RUNTIME);
  assert_error(WF_RUNTIME, TWICE);
}

/* The error is found before anything runs: a's gradient must not have been added although its part of the graph is intact. */
static void a_pass_that_must_fail_changes_no_gradient(void **state) {
  (void)state;
  wf_tensor *a = LEAF(1), *b = LEAF(2), *used = wf_mul(b, b);
  assert_ok(wf_backward(used, NULL, NULL));
  wf_tensor *y = wf_add(wf_exp(a), used);
  assert_int_equal(wf_backward(y, NULL, NULL), WF_RUNTIME);
  assert_error(WF_RUNTIME, TWICE);
  assert_null(wf_grad(a));
  assert_values(wf_grad(b), 4);
}

/* ---- autograd.grad -------------------------------------------------------------------------------------------------------------------- */

static void grad_gives_gradients_without_accumulating(void **state) {
  (void)state;
  wf_tensor *x = LEAF(2, 3), *w = LEAF(5, 7), *y = wf_sum(wf_mul(x, w)), *wanted[] = {w, x};
  wf_tensors g = wf_autograd_grad(one(&y), (wf_tensors){wanted, 2}, (wf_tensors){NULL, 0}, false, NULL);
  assert_int_equal(g.n, 2);
  assert_values(g.at[0], 2, 3);
  assert_values(g.at[1], 5, 7);
  assert_null(wf_grad(x));
  assert_null(wf_grad(w));
}

static void grad_of_a_tensor_in_the_middle_of_the_graph(void **state) {
  (void)state;
  wf_tensor *x = LEAF(2), *h = wf_mul(x, x), *y = wf_mul(h, h), *wanted[] = {h, x};
  wf_tensors g = wf_autograd_grad(one(&y), (wf_tensors){wanted, 2}, (wf_tensors){NULL, 0}, false, NULL);
  assert_values(g.at[0], 8);
  assert_values(g.at[1], 32);
}

static void an_unused_input_is_an_error_or_nothing(void **state) {
  (void)state;
  wf_tensor *x = LEAF(2), *other = LEAF(1), *y = wf_exp(x), *wanted[] = {x, other}, *flat[] = {CONST(1)};
  wf_backward_options keep = wf_backward_defaults();
  keep.retain_graph = true;
  assert_null(wf_autograd_grad(one(&y), (wf_tensors){wanted, 2}, (wf_tensors){NULL, 0}, false, &keep).at);
  assert_error(
      WF_RUNTIME,
      "The differentiated Tensor at index 1 appears to not have been used in the graph. Set allow_unused=True if "
      "this is the desired behavior.");
  wf_tensors g = wf_autograd_grad(one(&y), (wf_tensors){wanted, 2}, (wf_tensors){NULL, 0}, true, &keep);
  assert_int_equal(g.n, 2);
  assert_non_null(g.at[0]);
  assert_null(g.at[1]);
  assert_null(wf_autograd_grad(one(&y), (wf_tensors){flat, 1}, (wf_tensors){NULL, 0}, false, &keep).at);
  assert_error(WF_RUNTIME, "One of the differentiated Tensors does not require grad");
  assert_null(wf_autograd_grad(one(&y), (wf_tensors){NULL, 0}, (wf_tensors){NULL, 0}, false, NULL).at);
  assert_error(WF_RUNTIME, "`inputs` argument to `grad()` cannot be empty.");
}

static void derivatives_of_derivatives(void **state) {
  (void)state;
  wf_backward_options create = wf_backward_defaults();
  create.create_graph = true;
  wf_tensor *x = LEAF(2), *y = wf_mul(wf_mul(x, x), x); /* x³ */
  float want[] = {12, 12, 6};                           /* 3x², 6x, 6 at 2 */
  for (int i = 0; i < 3; i++) {
    wf_tensors g = wf_autograd_grad(one(&y), one(&x), (wf_tensors){NULL, 0}, false, &create);
    assert_int_equal(g.n, 1);
    assert_values(g.at[0], want[i]);
    y = g.at[0];
  }
}

/* ---- order ----------------------------------------------------------------------------------------------------------------------------- */

static char order[16];
static wf_status note_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  snprintf(order + strlen(order), sizeof order - strlen(order), "%s", *(const char **)node->payload);
  for (uint32_t i = 0; i < node->edges; i++) out[i] = grad[0];
  return WF_OK;
}
static const wf__node_class note_class = {"NoteBackward0", note_apply, NULL};

/* The sum of the inputs' first derivative: notes `name` when it runs. */
static wf_tensor *noting(const char *name, const wf_tensor *a, const wf_tensor *b) {
  const wf_tensor *inputs[] = {a, b};
  wf_tensor *t = CONST(0);
  wf__node *node = wf__node_new(&note_class, inputs, b ? 2 : 1, 0, sizeof name);
  *(const char **)node->payload = name;
  assert_ok(wf__set_history(t, node, 0));
  wf__node_release(node);
  return t;
}

static void later_operators_run_first(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1), *a = noting("a", x, NULL), *b = noting("b", x, NULL), *c = noting("c", b, NULL),
            *d = noting("d", a, c);
  order[0] = 0;
  assert_ok(wf_backward(d, NULL, NULL));
  assert_string_equal(order, "dcba");
  assert_values(wf_grad(x), 2);
}

static void what_leads_nowhere_wanted_does_not_run(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1), *w = LEAF(1), *a = noting("a", x, NULL), *b = noting("b", w, NULL), *d = noting("d", a, b);
  order[0] = 0;
  wf_tensors g = wf_autograd_grad(one(&d), one(&x), (wf_tensors){NULL, 0}, false, NULL);
  assert_values(g.at[0], 1);
  assert_string_equal(order, "da");
}

/* ---- what derivatives return ----------------------------------------------------------------------------------------------------------- */

static wf_tensor *returned;
static wf_status return_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  (void)node;
  (void)grad;
  out[0] = returned;
  return WF_OK;
}
static const wf__node_class return_class = {"MineBackward", return_apply, NULL};

static wf_tensor *returning(const wf_tensor *x, wf_tensor *gradient) {
  wf_tensor *t = CONST(0);
  wf__node *node = wf__node_new(&return_class, &x, 1, 0, 0);
  assert_ok(wf__set_history(t, node, 0));
  wf__node_release(node);
  returned = gradient;
  return t;
}

static void a_gradient_of_another_shape_is_an_error(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2);
  assert_int_equal(wf_backward(returning(x, CONST(1, 2, 3)), NULL, NULL), WF_RUNTIME);
  assert_error(
      WF_RUNTIME,
      "Function MineBackward returned an invalid gradient at index 0 - got [3] but expected shape compatible with [2]");
  assert_null(wf_grad(x));
}

static void a_gradient_that_was_expanded_is_summed_back(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *wide = wf_from_data((float[]){1, 2, 3, 4}, WF_SHAPE(2, 2), WF_F32);
  assert_ok(wf_backward(returning(x, wide), NULL, NULL));
  assert_values(wf_grad(x), 4, 6);
}

static void a_gradient_of_another_dtype_is_cast(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2);
  assert_ok(wf_backward(returning(x, wf_from_data((double[]){3, 4}, WF_SHAPE(2), WF_F64)), NULL, NULL));
  assert_int_equal(wf_dtype_of(wf_grad(x)), WF_F32);
  assert_values(wf_grad(x), 3, 4);
}

static void a_missing_gradient_counts_as_delivered(void **state) {
  (void)state;
  wf_tensor *x = LEAF(1, 2), *y = wf_add(wf_sum(wf_mul(x, x)), wf_sum(returning(wf_exp(x), NULL)));
  assert_ok(wf_backward(y, NULL, NULL));
  assert_values(wf_grad(x), 2, 4);
}

static void anomaly_mode_names_who_made_nan(void **state) {
  (void)state;
  wf_tensor *x = LEAF(0), *y = wf_mul_scalar(wf_sqrt(x), wf_int(0)); /* 0 · 1/(2·0) */
  assert_false(wf_detect_anomaly(true));
  assert_int_equal(wf_backward(y, NULL, NULL), WF_RUNTIME);
  assert_true(wf_detect_anomaly(false));
  assert_error(WF_RUNTIME, "Function 'SqrtBackward0' returned nan values in its 0th output.");
}

/* ---- size ------------------------------------------------------------------------------------------------------------------------------ */

static void *long_chain(void *result) {
  wf_tensor *x = leaf(1, (float[]){1}, true), *y = wf_add_scalar(x, wf_int(0));
  for (int i = 0; i < 1000000; i++) {
    wf_tensor *next = wf_neg(y);
    wf_free(y);
    y = next;
  }
  *(wf_status *)result = wf_backward(y, NULL, NULL);
  wf_tensor *g = wf_grad(x);
  if (wf_item_double(g) != 1) *(wf_status *)result = WF_VALUE;
  wf_free(g);
  wf_free(x);
  wf_free(y); /* a million nodes lose their last reference one by one */
  return NULL;
}

static void a_million_operators_take_constant_stack(void **state) {
  (void)state;
  pthread_attr_t small;
  pthread_t thread;
  wf_status status = WF_CANCELLED;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 512 * 1024);
  assert_int_equal(pthread_create(&thread, &small, long_chain, &status), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&small);
  assert_int_equal(status, WF_OK);
}

static void tensors_without_elements_have_gradients_without_elements(void **state) {
  (void)state;
  wf_tensor *x = wf_empty(WF_SHAPE(2, 0), NULL);
  assert_ok(wf_requires_grad_(x, true));
  assert_ok(wf_backward(wf_sum(wf_exp(wf_transpose(x, 0, 1))), NULL, NULL));
  assert_int_equal(wf_size(wf_grad(x), 0), 2);
  assert_int_equal(wf_size(wf_grad(x), 1), 0);
}

/* ---- passes inside and beside passes --------------------------------------------------------------------------------------------------------- */

static wf_tensor *run_inner(wf_tensor *grad, void *context) {
  wf_tensor *w = context; /* a leaf of the outer graph as well */
  (void)grad;
  bool was = wf_grad_set_enabled(true); /* hooks run as the pass does: without recording */
  assert_ok(wf_backward(wf_mul(w, w), NULL, NULL));
  wf_grad_set_enabled(was);
  return NULL;
}

static void a_hook_may_run_backward_over_the_same_leaves(void **state) {
  (void)state;
  wf_tensor *w = LEAF(3), *h = wf_mul_scalar(w, wf_int(5));
  wf_register_hook(h, run_inner, w);
  assert_ok(wf_backward(wf_exp(wf_mul_scalar(h, wf_int(0))), NULL, NULL));
  assert_values(wf_grad(w), 6);
}

typedef struct shared {
  wf_tensor *w;
  int rounds;
  bool good;
} shared;

static void *differentiate(void *argument) {
  shared *s = argument;
  s->good = true;
  for (int i = 0; i < s->rounds; i++) {
    wf_scope scope = wf_scope_begin();
    wf_tensor *y = wf_sum(wf_mul(wf_exp(wf_mul_scalar(s->w, wf_int(0))), s->w));
    wf_tensors g = wf_autograd_grad(one(&y), one(&s->w), (wf_tensors){NULL, 0}, false, NULL);
    s->good = s->good && g.n == 1 && wf_item_double(g.at[0]) == 1;
    wf_scope_end(scope, NULL);
  }
  return NULL;
}

static void threads_may_differentiate_over_shared_leaves(void **state) {
  (void)state;
  shared s[4];
  pthread_t thread[4];
  wf_tensor *w = LEAF(0.5f);
  for (int i = 0; i < 4; i++) {
    s[i] = (shared){w, 200, false};
    pthread_create(&thread[i], NULL, differentiate, &s[i]);
  }
  for (int i = 0; i < 4; i++) {
    pthread_join(thread[i], NULL);
    assert_true(s[i].good);
  }
}

/* ---- devices ------------------------------------------------------------------------------------------------------------------- */

static void gradients_on_the_emulated_accelerator_equal_those_of_the_host(void **state) {
  (void)state;
  float g[2][4], scale[2];
  for (int d = 0; d < 2; d++) {
    wf_device device = d ? wf_sim(0) : wf_cpu();
    wf_tensor *host = wf_from_data((float[]){0.5f, -1, 2, 1.5f}, WF_SHAPE(2, 2), WF_F32),
              *x = wf_detach(wf_to_device(host, device, false));
    wf_tensor *number = wf_sum(CONST(0.75f)); /* rank 0, on the host: joins as the number it holds */
    assert_ok(wf_requires_grad_(x, true));
    assert_ok(wf_requires_grad_(number, true));
    wf_tensor *y = wf_add_scalar(wf_tanh(wf_mul(wf_exp(wf_t(x)), number)), wf_int(1));
    assert_ok(wf_mul_scalar_(wf_select(y, 0, 1), wf_int(3)));
    assert_ok(wf_backward(wf_mean(wf_amax(y, WF_SHAPE(1), false)), NULL, NULL));
    assert_int_equal(wf_device_of(wf_grad(x)).type, device.type);
    assert_int_equal(wf_device_of(wf_grad(number)).type, WF_DEVICE_CPU);
    assert_ok(wf_to_host(wf_grad(x), g[d], sizeof g[d]));
    assert_ok(wf_to_host(wf_grad(number), &scale[d], sizeof scale[d]));
  }
  assert_memory_equal(g[0], g[1], sizeof g[0]);
  assert_true(scale[0] == scale[1] && scale[0] != 0);
}

/* ---- failing memory ---------------------------------------------------------------------------------------------------------------------- */

static wf_tensor *triple(wf_tensor *grad, void *context) {
  (void)context;
  return wf_mul_scalar(grad, wf_int(3));
}

/* A step of everything that allocates: leaves, views changed in place, hooks, retained gradients, second derivatives. Returns the
 * leaf's gradient, 0 when something failed. */
static double whole_step(void) {
  double result = 0;
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = wf_from_data((float[]){1, 2, 3, 4}, WF_SHAPE(2, 2), WF_F32);
  wf_requires_grad_(x, true);
  wf_tensor *y = wf_mul(x, x), *row = wf_select(y, 0, 1);
  wf_mul_scalar_(row, wf_int(2));
  wf_register_hook(y, triple, NULL);
  wf_retain_grad(row);
  wf_tensor *loss = wf_sum(wf_exp(wf_mul_scalar(wf_add(y, wf_sum(row)), wf_float(0.01))));
  wf_backward_options create = wf_backward_defaults();
  create.create_graph = true;
  wf_tensors g = wf_autograd_grad(one(&loss), one(&x), (wf_tensors){NULL, 0}, false, &create);
  wf_tensor *second = g.n ? wf_sum(wf_mul(g.at[0], g.at[0])) : NULL;
  wf_backward(second, NULL, NULL);
  result = wf_item_double(wf_sum(wf_grad(x)));
  wf_scope_end(scope, NULL);
  return result;
}

static void a_failing_allocation_anywhere_leaves_everything_valid(void **state) {
  (void)state;
  double want = whole_step();
  assert_ok(wf_error_peek().status);
  assert_true(want != 0);
  for (int64_t k = 1;; k++) {
    wf__fault_at(k);
    double got = whole_step();
    bool reached = wf__fault_count() >= k;
    wf__fault_at(0);
    wf_error e = wf_error_take();
    if (e.status) assert_int_equal(e.status, WF_NO_MEMORY);
    else assert_float_equal(got, want, 0); /* the fault hit something that can do without */
    assert_float_equal(whole_step(), want, 0);
    if (!reached) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      SCOPED(gradients_of_several_paths_are_summed),
      SCOPED(a_tensor_used_as_both_operands_counts_twice),
      SCOPED(a_broadcast_operand_gets_the_sum),
      SCOPED(a_ladder_of_diamonds_takes_linear_time),
      SCOPED(roots_are_checked_in_torchs_words),
      SCOPED(backward_of_a_leaf_is_the_given_gradient),
      SCOPED(the_gradient_given_is_cast_to_the_roots_dtype),
      SCOPED(a_second_pass_needs_the_graph_retained),
      SCOPED(sums_alone_may_run_twice),
      SCOPED(a_pass_that_must_fail_changes_no_gradient),
      SCOPED(grad_gives_gradients_without_accumulating),
      SCOPED(grad_of_a_tensor_in_the_middle_of_the_graph),
      SCOPED(an_unused_input_is_an_error_or_nothing),
      SCOPED(derivatives_of_derivatives),
      SCOPED(later_operators_run_first),
      SCOPED(what_leads_nowhere_wanted_does_not_run),
      SCOPED(a_gradient_of_another_shape_is_an_error),
      SCOPED(a_gradient_that_was_expanded_is_summed_back),
      SCOPED(a_gradient_of_another_dtype_is_cast),
      SCOPED(a_missing_gradient_counts_as_delivered),
      SCOPED(anomaly_mode_names_who_made_nan),
      cmocka_unit_test(a_million_operators_take_constant_stack),
      SCOPED(tensors_without_elements_have_gradients_without_elements),
      SCOPED(a_hook_may_run_backward_over_the_same_leaves),
      SCOPED(threads_may_differentiate_over_shared_leaves),
      SCOPED(gradients_on_the_emulated_accelerator_equal_those_of_the_host),
      cmocka_unit_test(a_failing_allocation_anywhere_leaves_everything_valid),
  };
  return cmocka_run_group_tests_name("autograd/engine", tests, NULL, NULL);
}
