/* Linear. */
#include <math.h>
#include <weft/functional.h>

#include "nn/layers.h"

static wf_tensor *forward(wf_module *m, wf_tensor *x) {
  return wf_linear(x, wf_module_tensor(m, "weight"), wf_module_tensor(m, "bias"));
}

wf_module *wf_nn_linear(int64_t in, int64_t out, bool bias) {
  WF__OP("nn_linear", NULL);
  if (in < 0 || out < 0)
    return wf__fail(WF_VALUE, "a linear layer needs sizes of 0 or more; got in=%lld, out=%lld", (long long)in,
                    (long long)out),
           NULL;
  wf_module *m = wf__layer_new("Linear", forward, 0);
  if (!m) return NULL;
  double bound = in > 0 ? 1 / sqrt((double)in) : 0;
  wf_status status = wf__layer_add_uniform(m, "weight", WF_SHAPE(out, in), bound);
  if (!status && bias) status = wf__layer_add_uniform(m, "bias", WF_SHAPE(out), bound);
  return wf__layer_finish(m, status);
}
