/* Gradients: fits a line to points, by hand. The scope of a step owns all that the step makes. */
#include <stdio.h>
#include <weft/weft.h>

int main(void) {
  enum { POINTS = 64 };
  float xs[POINTS], ys[POINTS];
  for (int i = 0; i < POINTS; i++) xs[i] = (float)i / POINTS, ys[i] = 3 * xs[i] - 1;
  wf_tensor *x = wf_from_data(xs, WF_SHAPE(POINTS), WF_F32), *y = wf_from_data(ys, WF_SHAPE(POINTS), WF_F32);
  wf_tensor_options learned = wf_tensor_defaults();
  learned.requires_grad = true;
  wf_tensor *slope = wf_zeros(WF_SHAPE(1), &learned), *shift = wf_zeros(WF_SHAPE(1), &learned);
  double last = 0;
  for (int step = 0; step < 400; step++) {
    wf_scope scope = wf_scope_begin();
    wf_tensor *error = wf_sub(wf_add(wf_mul(x, slope), shift), y);
    wf_tensor *loss = wf_mean(wf_square(error));
    wf_backward(loss, NULL, NULL);
    last = wf_item_double(loss);
    bool was = wf_grad_set_enabled(false);
    wf_add_scaled_(slope, wf_grad(slope), wf_float(-0.5));
    wf_add_scaled_(shift, wf_grad(shift), wf_float(-0.5));
    wf_grad_set_enabled(was);
    wf_set_grad(slope, NULL);
    wf_set_grad(shift, NULL);
    wf_scope_end(scope, NULL);
  }
  printf("slope %.3f, shift %.3f, loss below 1e-6: %s\n", wf_item_double(slope), wf_item_double(shift),
         last < 1e-6 ? "yes" : "no");
  if (wf_error_peek().status) printf("%s\n", wf_error_peek().text);
  wf_free(x), wf_free(y), wf_free(slope), wf_free(shift);
  return wf_error_peek().status;
}
