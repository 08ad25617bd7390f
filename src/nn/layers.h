/* What the modules of this folder share in their making. */
#ifndef WF_NN_LAYERS_H
#define WF_NN_LAYERS_H

#include "nn/module.h"

/* A module whose context is a fresh, zeroed block of `bytes` that is freed with it. NULL on error. */
wf_module *wf__layer_new(const char *kind, wf_tensor *(*forward)(wf_module *, wf_tensor *), size_t bytes);
/* Adds a cpu f32 parameter or buffer of that size with every element `value`. */
wf_status wf__layer_add(wf_module *m, const char *name, wf_dims size, double value, bool is_parameter);
/* The same, uniform in ±bound. */
wf_status wf__layer_add_uniform(wf_module *m, const char *name, wf_dims size, double bound);
/* Lays a parameter of the fresh module out in another memory format. */
wf_status wf__layer_reformat(wf_module *m, const char *name, wf_memory_format format);
/* `m` when status is fine, else NULL after freeing it. */
wf_module *wf__layer_finish(wf_module *m, wf_status status);

#endif
