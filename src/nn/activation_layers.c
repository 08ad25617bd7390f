/* Layers without parameters. */
#include <weft/functional.h>
#include <weft/math.h>
#include <weft/view.h>

#include "nn/layers.h"

static wf_tensor *relu_forward(wf_module *m, wf_tensor *x) {
  (void)m;
  return wf_relu(x);
}

wf_module *wf_nn_relu(void) {
  WF__OP("nn_relu", NULL);
  return wf__layer_new("ReLU", relu_forward, 0);
}

/* Hands x on with the reference that the scope around forward expects. */
static wf_tensor *identity_forward(wf_module *m, wf_tensor *x) {
  (void)m;
  return wf__give(wf_retain(x));
}

wf_module *wf_nn_identity(void) {
  WF__OP("nn_identity", NULL);
  return wf__layer_new("Identity", identity_forward, 0);
}

static wf_tensor *flatten_forward(wf_module *m, wf_tensor *x) {
  (void)m;
  return wf_flatten(x, 1, -1);
}

wf_module *wf_nn_flatten(void) {
  WF__OP("nn_flatten", NULL);
  return wf__layer_new("Flatten", flatten_forward, 0);
}
