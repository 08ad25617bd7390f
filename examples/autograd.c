/* Gradients: accumulation, a view changed in place, a second derivative, and the error that a too-late change ends in. */
#include <stdio.h>
#include <weft/weft.h>

static void show(const char *what, const wf_tensor *t) {
  float v[8];
  int64_t n = wf_numel(t);
  if (n > 8 || wf_to_host(t, v, (size_t)n * sizeof *v)) return;
  printf("%-28s", what);
  for (int64_t i = 0; i < n; i++) printf(" %g", (double)v[i]);
  printf("\n");
}

int main(void) {
  wf_scope scope = wf_scope_begin();
  const float data[] = {1, 2, 3, 4};
  wf_tensor *x = wf_from_data(data, WF_SHAPE(4), WF_F32);
  wf_requires_grad_(x, true);

  /* Each pass adds to the leaf's gradient. */
  wf_backward(wf_sum(wf_mul(x, x)), NULL, NULL);
  show("d sum(x^2)", wf_grad(x));
  wf_backward(wf_sum(x), NULL, NULL);
  show("and d sum(x) added", wf_grad(x));
  wf_set_grad(x, NULL);

  /* A change of a view is a change of its base, and backward knows. */
  wf_tensor *y = wf_mul_scalar(x, wf_int(1)), *middle = wf_narrow(y, 0, 1, 2);
  wf_mul_scalar_(middle, wf_int(10));
  printf("%-28s %s, %s\n", "functions of base and view", wf_grad_fn_name(y), wf_grad_fn_name(middle));
  wf_backward(wf_sum(y), NULL, NULL);
  show("d of the changed base", wf_grad(x));

  /* Gradients of gradients: the first pass is recorded. */
  wf_backward_options record = wf_backward_defaults();
  record.create_graph = true;
  wf_tensor *cube = wf_sum(wf_pow_scalar(x, wf_int(3)));
  wf_tensors none = {NULL, 0}, inputs = {&x, 1};
  wf_tensors slope = wf_autograd_grad((wf_tensors){&cube, 1}, inputs, none, false, &record);
  wf_tensor *total = wf_sum(slope.at[0]);
  wf_tensors curve = wf_autograd_grad((wf_tensors){&total, 1}, inputs, none, false, NULL);
  show("3 x^2", slope.at[0]);
  show("6 x", curve.at[0]);

  /* What a derivative needs must not change before backward. */
  wf_tensor *h = wf_exp(x), *loss = wf_sum(wf_mul(h, h));
  wf_add_scalar_(h, wf_int(1));
  if (wf_backward(loss, NULL, NULL)) {
    wf_error e = wf_error_take();
    printf("%s: %.98s…\n  %s\n", wf_status_name(e.status), e.text, e.hint);
  }
  wf_scope_end(scope, NULL);
  return wf_error_peek().status;
}
