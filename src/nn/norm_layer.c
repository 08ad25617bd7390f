/* BatchNorm2d. */
#include <weft/functional.h>
#include <weft/math.h>

#include "nn/layers.h"

wf_nn_batch_norm2d_options wf_nn_batch_norm2d_defaults(void) {
  return (wf_nn_batch_norm2d_options){.eps = 1e-5, .momentum = 0.1};
}

static wf_tensor *forward(wf_module *m, wf_tensor *x) {
  const wf_nn_batch_norm2d_options *o = wf_module_context(m);
  wf_batch_norm_options norm = {wf_module_training(m), o->momentum, o->eps};
  if (wf_ndim(x) != 4) return wf__fail(WF_VALUE, "expected 4D input (got %dD input)", wf_ndim(x)), NULL;
  if (norm.training && wf_add_scalar_(wf_module_tensor(m, "num_batches_tracked"), wf_int(1))) return NULL;
  wf_tensor *mean = wf_module_tensor(m, "running_mean"), *var = wf_module_tensor(m, "running_var");
  wf_tensor *weight = wf_module_tensor(m, "weight"), *bias = wf_module_tensor(m, "bias");
  return o->relu ? wf_batch_norm_relu(x, mean, var, weight, bias, &norm)
                 : wf_batch_norm(x, mean, var, weight, bias, &norm);
}

/* Counts the batches seen, which PyTorch keeps as a whole number. */
static wf_status add_counter(wf_module *m) {
  wf_tensor *t = wf__tensor_empty_sized(wf__device_get(wf_cpu()), WF_I64, WF_SHAPE0);
  if (t) *(int64_t *)wf__data(t) = 0;
  return wf__module_adopt(m, "num_batches_tracked", t, false);
}

wf_module *wf_nn_batch_norm2d(int64_t channels, const wf_nn_batch_norm2d_options *options) {
  WF__OP("nn_batch_norm2d", NULL);
  if (channels < 1)
    return wf__fail(WF_VALUE, "batch norm needs 1 channel or more; got %lld", (long long)channels), NULL;
  wf_module *m = wf__layer_new("BatchNorm2d", forward, sizeof *options);
  if (!m) return NULL;
  *(wf_nn_batch_norm2d_options *)wf_module_context(m) = options ? *options : wf_nn_batch_norm2d_defaults();
  wf_dims size = WF_SHAPE(channels);
  wf_status status = wf__layer_add(m, "weight", size, 1, true);
  if (!status) status = wf__layer_add(m, "bias", size, 0, true);
  if (!status) status = wf__layer_add(m, "running_mean", size, 0, false);
  if (!status) status = wf__layer_add(m, "running_var", size, 1, false);
  if (!status) status = add_counter(m);
  return wf__layer_finish(m, status);
}
