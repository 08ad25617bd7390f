/* Making layers: context, parameters, buffers. */
#include "nn/layers.h"

#include "base/host.h"
#include "copy/copy.h"

wf_module *wf__layer_new(const char *kind, wf_tensor *(*forward)(wf_module *, wf_tensor *), size_t bytes) {
  void *context = bytes ? wf__calloc(1, bytes) : NULL;
  if (bytes && !context) return NULL;
  wf_module_ops ops = {kind, forward, bytes ? wf__release : NULL};
  wf_module *m = wf_module_new(&ops, context);
  if (!m) wf__release(context);
  return m;
}

static wf_tensor *filled(wf_dims size, double value) {
  wf_tensor *t = wf__tensor_empty_sized(wf__device_get(wf_cpu()), WF_F32, size);
  if (!t || !wf__fill(t, wf_float(value))) return t;
  wf__tensor_release(t);
  return NULL;
}

wf_status wf__layer_add(wf_module *m, const char *name, wf_dims size, double value, bool is_parameter) {
  return wf__module_adopt(m, name, filled(size, value), is_parameter);
}

wf_status wf__layer_add_uniform(wf_module *m, const char *name, wf_dims size, double bound) {
  WF__TRY(wf__layer_add(m, name, size, 0, true));
  return wf_init_uniform_(wf_module_tensor(m, name), -bound, bound);
}

wf_status wf__layer_reformat(wf_module *m, const char *name, wf_memory_format format) {
  wf_tensor *t = wf_module_tensor(m, name), *copy = wf__clone(t, format, false);
  if (!copy) return wf__self.pending;
  wf__module_replace_memory(t, copy);
  wf__tensor_release(copy);
  return wf__self.pending;
}

wf_module *wf__layer_finish(wf_module *m, wf_status status) {
  if (!status && !wf__self.pending) return m;
  wf_module_free(m);
  return NULL;
}
