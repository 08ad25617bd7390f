/* Initialisers, by the formulas of torch.nn.init. They write under no_grad, as PyTorch's do. */
#include <math.h>
#include <weft/autograd.h>
#include <weft/copy.h>
#include <weft/nn.h>
#include <weft/random.h>

#include "tensor/tensor.h"

wf_status wf_init_uniform_(wf_tensor *t, double low, double high) {
  WF__OP("init_uniform_", wf__self.pending);
  bool was = wf_grad_set_enabled(false);
  wf_status status = wf_uniform_(t, low, high);
  wf_grad_set_enabled(was);
  return status;
}

wf_status wf_init_normal_(wf_tensor *t, double mean, double deviation) {
  WF__OP("init_normal_", wf__self.pending);
  bool was = wf_grad_set_enabled(false);
  wf_status status = wf_normal_(t, mean, deviation);
  wf_grad_set_enabled(was);
  return status;
}

wf_status wf_init_constant_(wf_tensor *t, double value) {
  WF__OP("init_constant_", wf__self.pending);
  bool was = wf_grad_set_enabled(false);
  wf_status status = wf_fill_(t, wf_float(value));
  wf_grad_set_enabled(was);
  return status;
}

/* fan_in = inputs that one output sees, fan_out = outputs that one input reaches. */
static wf_status fans(const wf_tensor *t, double *fan_in, double *fan_out) {
  wf_dims size = wf_sizes(t);
  WF__CHECK(size.n >= 2, WF_VALUE, "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions");
  double field = 1;
  for (int i = 2; i < size.n; i++) field *= (double)size.at[i];
  *fan_in = (double)size.at[1] * field;
  *fan_out = (double)size.at[0] * field;
  return WF_OK;
}

wf_status wf_init_kaiming_uniform_(wf_tensor *t, double a) {
  WF__OP("init_kaiming_uniform_", wf__self.pending);
  double fan_in, fan_out;
  WF__TRY(fans(t, &fan_in, &fan_out));
  double bound = fan_in > 0 ? sqrt(6 / ((1 + a * a) * fan_in)) : 0;
  return wf_init_uniform_(t, -bound, bound);
}

wf_status wf_init_xavier_uniform_(wf_tensor *t) {
  WF__OP("init_xavier_uniform_", wf__self.pending);
  double fan_in, fan_out;
  WF__TRY(fans(t, &fan_in, &fan_out));
  double bound = fan_in + fan_out > 0 ? sqrt(6 / (fan_in + fan_out)) : 0;
  return wf_init_uniform_(t, -bound, bound);
}
