/* MaxPool2d. */
#include <weft/functional.h>

#include "nn/layers.h"

typedef struct pool {
  int64_t kernel;
  wf_memory_format format;
} pool;

static wf_tensor *forward(wf_module *m, wf_tensor *x) {
  const pool *p = wf_module_context(m);
  wf_pool_options o = wf_pool_defaults();
  o.format = p->format;
  return wf_max_pool2d(x, WF_SHAPE(p->kernel, p->kernel), &o);
}

wf_module *wf_nn_max_pool2d(int64_t kernel, wf_memory_format format) {
  WF__OP("nn_max_pool2d", NULL);
  if (kernel < 1) return wf__fail(WF_VALUE, "pooling needs a kernel of 1 or more; got %lld", (long long)kernel), NULL;
  wf_module *m = wf__layer_new("MaxPool2d", forward, sizeof(pool));
  if (m) *(pool *)wf_module_context(m) = (pool){kernel, format};
  return m;
}
