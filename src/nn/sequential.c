/* Sequential: one module after the other. */
#include <stdio.h>

#include "nn/layers.h"
#include "trace/trace.h"

static wf_tensor *run_child(wf__module_child *child, wf_tensor *x) {
  if (!wf__tracing()) return wf_module_forward(child->module, x);
  char path[64];
  snprintf(path, sizeof path, "%s:%s", child->name, child->module->ops.kind ? child->module->ops.kind : "Module");
  wf_module_push(path);
  wf_tensor *y = wf_module_forward(child->module, x);
  wf_module_pop();
  return y;
}

/* Each result is freed as soon as the next module has consumed it; what backward needs keeps its storage alive by itself. */
static wf_tensor *forward(wf_module *m, wf_tensor *x) {
  wf_tensor *y = wf__give(wf_retain(x));
  for (int i = 0; i < m->children && y; i++) {
    wf_tensor *next = run_child(&m->child[i], y);
    wf_free(y);
    y = next;
  }
  return y;
}

wf_module *wf_nn_sequential(wf_module *const *modules, int n) {
  WF__ENTER("nn_sequential");
  wf_module *m = wf__self.pending ? NULL : wf__layer_new("Sequential", forward, 0);
  wf_status status = wf__self.pending;
  for (int i = 0; i < n; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    if (m && !status) status = wf_module_add_child(m, name, modules[i]);
    else wf_module_free(modules[i]);
  }
  return m ? wf__layer_finish(m, status) : NULL;
}
