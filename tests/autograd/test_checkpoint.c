/* Checkpoints: same gradients with less kept, the second run, its checks. */
#include "autograd/scoped.h"

#include "tensor/tensor.h"

typedef struct region {
  int runs;
  wf_tensor *weight; /* used without being an input */
} region;

static wf_tensors list_of(wf_tensor *t) {
  wf_tensor **at = malloc(sizeof *at);
  at[0] = wf_retain(t);
  return wf__give_list(at, 1);
}

/* tanh(exp(x · w) · x) */
static wf_tensors compute(wf_tensors in, void *context) {
  region *r = context;
  r->runs++;
  return list_of(wf_tanh(wf_mul(wf_exp(wf_mul(in.at[0], r->weight)), in.at[0])));
}

static void gradients_equal_those_without_it(void **state) {
  (void)state;
  region plain = {0, LEAF(0.5f, 0.25f)}, saving = {0, LEAF(0.5f, 0.25f)};
  wf_tensor *x = LEAF(0.3f, 0.6f), *z = LEAF(0.3f, 0.6f);
  assert_ok(wf_backward(wf_sum(compute(one(&x), &plain).at[0]), NULL, NULL));
  wf_tensors y = wf_checkpoint(compute, &saving, one(&z));
  assert_int_equal(y.n, 1);
  assert_int_equal(saving.runs, 1);
  assert_ok(wf_backward(wf_sum(y.at[0]), NULL, NULL));
  assert_int_equal(saving.runs, 2);
  float gx[2], gw[2];
  assert_ok(wf_to_host(wf_grad(x), gx, sizeof gx));
  assert_ok(wf_to_host(wf_grad(plain.weight), gw, sizeof gw));
  assert_values(wf_grad(z), gx[0], gx[1]);
  assert_values(wf_grad(saving.weight), gw[0], gw[1]);
}

static void the_region_runs_again_for_each_pass(void **state) {
  (void)state;
  wf_backward_options keep = wf_backward_defaults();
  keep.retain_graph = true;
  region r = {0, LEAF(0.5f)};
  wf_tensor *x = LEAF(0.3f);
  wf_tensors y = wf_checkpoint(compute, &r, one(&x));
  assert_ok(wf_backward(y.at[0], NULL, &keep));
  assert_ok(wf_backward(y.at[0], NULL, NULL));
  assert_int_equal(r.runs, 3);
  assert_int_equal(wf_backward(y.at[0], NULL, NULL), WF_RUNTIME);
  assert_int_equal(wf_error_take().status, WF_RUNTIME);
}

static void without_recording_it_is_a_plain_call(void **state) {
  (void)state;
  region r = {0, LEAF(0.5f)};
  wf_tensor *x = LEAF(0.3f);
  bool was = wf_grad_set_enabled(false);
  wf_tensors y = wf_checkpoint(compute, &r, one(&x));
  wf_grad_set_enabled(was);
  assert_false(wf_requires_grad(y.at[0]));
}

static wf_tensors nested(wf_tensors in, void *context) {
  wf_tensors inner = wf_checkpoint(compute, context, in);
  return list_of(wf_mul(inner.at[0], inner.at[0]));
}

static void checkpoints_nest(void **state) {
  (void)state;
  region plain = {0, LEAF(0.5f)}, saving = {0, LEAF(0.5f)};
  wf_tensor *x = LEAF(0.3f), *z = LEAF(0.3f), *h = compute(one(&x), &plain).at[0];
  float g;
  assert_ok(wf_backward(wf_mul(h, h), NULL, NULL));
  assert_ok(wf_to_host(wf_grad(x), &g, sizeof g));
  wf_tensors y = wf_checkpoint(nested, &saving, one(&z));
  assert_ok(wf_backward(y.at[0], NULL, NULL));
  assert_values(wf_grad(z), g);
}

static void an_input_changed_in_between_is_an_error(void **state) {
  (void)state;
  region r = {0, LEAF(0.5f)};
  wf_tensor *x = wf_mul_scalar(LEAF(0.3f), wf_int(1));
  wf_tensors y = wf_checkpoint(compute, &r, one(&x));
  assert_ok(wf_add_scalar_(x, wf_int(1)));
  assert_int_equal(wf_backward(y.at[0], NULL, NULL), WF_RUNTIME);
  assert_non_null(strstr(wf_error_take().text, "has been modified by an inplace operation: [torch.FloatTensor [1]]"));
}

/* Does more the second time. */
static wf_tensors unsteady(wf_tensors in, void *context) {
  int *runs = context;
  wf_tensor *y = wf_exp(in.at[0]);
  if ((*runs)++) y = wf_exp(y);
  return list_of(y);
}

static void a_second_run_that_differs_is_an_error(void **state) {
  (void)state;
  int runs = 0;
  wf_tensor *x = LEAF(0.3f);
  wf_tensors y = wf_checkpoint(unsteady, &runs, one(&x));
  assert_int_equal(wf_backward(y.at[0], NULL, NULL), WF_RUNTIME);
  assert_error(
      WF_RUNTIME,
      "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
      "Number of tensors saved during forward: 1\nNumber of tensors saved during recomputation: 2.");
}

static wf_tensors change_a_view(wf_tensors in, void *context) {
  (void)context;
  wf_tensor *flat = wf_view(wf_mul_scalar(in.at[0], wf_int(2)), WF_SHAPE(6));
  return wf_relu_(flat) ? (wf_tensors){NULL, 0} : list_of(flat);
}

static void a_view_changed_inside_keeps_its_gradient(void **state) {
  (void)state;
  wf_tensor *x = wf_ones(WF_SHAPE(3, 2, 1), NULL);
  assert_ok(wf_requires_grad_(x, true));
  wf_tensors y = wf_checkpoint(change_a_view, NULL, one(&x));
  assert_ok(wf_backward(wf_sum(y.at[0]), NULL, NULL));
  assert_values(wf_grad(x), 2, 2, 2, 2, 2, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      SCOPED(gradients_equal_those_without_it),         SCOPED(the_region_runs_again_for_each_pass),
      SCOPED(without_recording_it_is_a_plain_call),     SCOPED(checkpoints_nest),
      SCOPED(an_input_changed_in_between_is_an_error),  SCOPED(a_second_run_that_differs_is_an_error),
      SCOPED(a_view_changed_inside_keeps_its_gradient),
  };
  return cmocka_run_group_tests_name("autograd/checkpoint", tests, NULL, NULL);
}
