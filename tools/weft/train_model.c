/* The model of weft train. */
#include "train.h"

/* Numbers of the modules are those of the same network in PyTorch, so that state dicts travel both ways: batch norm applies the relu
 * behind it, whose number an identity keeps. The last pooling writes row-major, which makes the flatten a view. */
wf_module *train_model_cnn(void) {
  wf_nn_conv2d_options conv = wf_nn_conv2d_defaults();
  conv.padding[0] = conv.padding[1] = 1;
  conv.bias = false;
  conv.format = WF_FORMAT_CHANNELS_LAST;
  wf_nn_batch_norm2d_options norm = wf_nn_batch_norm2d_defaults();
  norm.relu = true;
  wf_module *layers[] = {
      wf_nn_conv2d(1, 32, 3, &conv),
      wf_nn_batch_norm2d(32, &norm),
      wf_nn_identity(),
      wf_nn_max_pool2d(2, WF_FORMAT_PRESERVE),
      wf_nn_conv2d(32, 64, 3, &conv),
      wf_nn_batch_norm2d(64, &norm),
      wf_nn_identity(),
      wf_nn_max_pool2d(2, WF_FORMAT_CONTIGUOUS),
      wf_nn_flatten(),
      wf_nn_linear(3136, 128, true),
      wf_nn_relu(),
      wf_nn_linear(128, 10, true),
  };
  return wf_nn_sequential(layers, (int)(sizeof layers / sizeof *layers));
}
