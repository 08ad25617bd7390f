/* The module object: a tree of named parameters, buffers and children over a table of functions. */
#ifndef WF_NN_MODULE_H
#define WF_NN_MODULE_H

#include <weft/nn.h>
#include "tensor/tensor.h"

typedef struct wf__module_tensor {
  char *name;
  wf_tensor *tensor; /* one reference */
  bool is_parameter;
} wf__module_tensor;

typedef struct wf__module_child {
  char *name;
  wf_module *module;
} wf__module_child;

struct wf_module {
  wf_module_ops ops;
  void *context;
  bool training;
  int tensors, children;
  wf__module_tensor *tensor;
  wf__module_child *child;
};

/* Adds a parameter or buffer made just now: consumes the caller's reference (internal makers' kind), also on failure. NULL fails. */
wf_status wf__module_adopt(wf_module *m, const char *name, wf_tensor *t, bool is_parameter);
/* Lets the handle show other memory, as assigning .data does: version counter and gradient connectivity stay. */
void wf__module_replace_memory(wf_tensor *t, wf_tensor *with);

#endif
