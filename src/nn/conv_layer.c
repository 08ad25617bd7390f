/* Conv2d. */
#include <math.h>
#include <weft/functional.h>

#include "nn/layers.h"

static wf_tensor *forward(wf_module *m, wf_tensor *x) {
  return wf_conv2d(x, wf_module_tensor(m, "weight"), wf_module_tensor(m, "bias"), wf_module_context(m));
}

wf_nn_conv2d_options wf_nn_conv2d_defaults(void) {
  return (wf_nn_conv2d_options){.stride = {1, 1}, .dilation = {1, 1}, .groups = 1, .bias = true};
}

static wf_status check(int64_t in, int64_t out, int64_t kernel, const wf_nn_conv2d_options *o) {
  WF__CHECK(in > 0 && out > 0 && kernel > 0, WF_VALUE,
            "a convolution needs channels and kernel of 1 or more; got in=%lld, out=%lld, kernel=%lld", (long long)in,
            (long long)out, (long long)kernel);
  WF__CHECK(o->groups > 0, WF_VALUE, "groups must be a positive integer");
  WF__CHECK(in % o->groups == 0, WF_VALUE, "in_channels must be divisible by groups");
  WF__CHECK(out % o->groups == 0, WF_VALUE, "out_channels must be divisible by groups");
  return WF_OK;
}

/* The weight in the memory format that results are to have: drawn row-major, so that a seed means the same in both. */
static wf_status add_weight(wf_module *m, wf_dims size, double bound, wf_memory_format format) {
  WF__TRY(wf__layer_add_uniform(m, "weight", size, bound));
  if (format != WF_FORMAT_CHANNELS_LAST) return WF_OK;
  return wf__layer_reformat(m, "weight", format);
}

wf_module *wf_nn_conv2d(int64_t in, int64_t out, int64_t kernel, const wf_nn_conv2d_options *options) {
  WF__OP("nn_conv2d", NULL);
  wf_nn_conv2d_options o = options ? *options : wf_nn_conv2d_defaults();
  WF__TRY_OR(check(in, out, kernel, &o), NULL);
  wf_module *m = wf__layer_new("Conv2d", forward, sizeof(wf_conv_options));
  if (!m) return NULL;
  wf_conv_options *conv = wf_module_context(m);
  *conv = wf_conv_defaults();
  for (int i = 0; i < 2; i++) {
    conv->stride[i] = o.stride[i];
    conv->padding[i] = o.padding[i];
    conv->dilation[i] = o.dilation[i];
  }
  conv->groups = o.groups;
  double bound = 1 / sqrt((double)(in / o.groups) * (double)kernel * (double)kernel);
  wf_status status = add_weight(m, WF_SHAPE(out, in / o.groups, kernel, kernel), bound, o.format);
  if (!status && o.bias) status = wf__layer_add_uniform(m, "bias", WF_SHAPE(out), bound);
  return wf__layer_finish(m, status);
}
