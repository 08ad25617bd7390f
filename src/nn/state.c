/* Saving, loading and moving the state of modules. Each is all or nothing. */
#include <stdio.h>
#include <string.h>
#include <weft/autograd.h>

#include "base/host.h"
#include "copy/copy.h"
#include "nn/module.h"

wf_status wf_module_save(const wf_module *m, const char *path) {
  WF__OP("module_save", wf__self.pending);
  int n;
  wf_named_tensor *state = wf_module_state(m, &n);
  if (!state) return wf__self.pending;
  wf_status status = wf_safetensors_save(path, state, n);
  wf_module_state_free(state, n);
  return status;
}

/* ---- loading -------------------------------------------------------------------------------------------------------------------- */

#define MESSAGE_BYTES 1800

/* PyTorch's list of everything that doesn't fit. */
typedef struct misfits {
  char missing[MESSAGE_BYTES / 3], unexpected[MESSAGE_BYTES / 3], sizes[MESSAGE_BYTES / 3];
} misfits;

static void append(char *list, const char *separator, const char *name) {
  size_t used = strlen(list), room = MESSAGE_BYTES / 3;
  if (used + strlen(name) + 8 > room) {
    if (used + 8 < room && !strstr(list, "…")) snprintf(list + used, room - used, ", …");
    return;
  }
  snprintf(list + used, room - used, "%s\"%s\"", used ? separator : "", name);
}

static void append_size(char *list, const char *name, wf_dims saved, wf_dims present) {
  char a[WF__DIMS_TEXT], b[WF__DIMS_TEXT];
  size_t used = strlen(list), room = MESSAGE_BYTES / 3;
  snprintf(
      list + used, room - used,
      "\n\tsize mismatch for %s: copying a param with shape torch.Size(%s) from checkpoint, the shape in current model is torch.Size(%s).",
      name, wf__dims_text(saved, a), wf__dims_text(present, b));
}

static bool same_sizes(wf_dims a, wf_dims b) {
  return a.n == b.n && (!a.n || !memcmp(a.at, b.at, (size_t)a.n * sizeof *a.at));
}

static bool in_state(const wf_named_tensor *state, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (!strcmp(state[i].name, name)) return true;
  return false;
}

static bool in_file(const wf_safetensors *file, const char *name) {
  for (int i = 0; i < wf_safetensors_count(file); i++)
    if (!strcmp(wf_safetensors_name(file, i), name)) return true;
  return false;
}

/* Reads every tensor before any is replaced. loaded[i] are in the open scope. */
static wf_status read_all(wf_safetensors *file, const wf_named_tensor *state, int n, wf_tensor **loaded, misfits *bad) {
  for (int i = 0; i < n; i++) {
    if (!in_file(file, state[i].name)) {
      append(bad->missing, ", ", state[i].name);
      continue;
    }
    loaded[i] = wf_safetensors_get(file, state[i].name);
    if (!loaded[i]) return wf__self.pending;
    if (!same_sizes(wf_sizes(loaded[i]), wf_sizes(state[i].tensor)))
      append_size(bad->sizes, state[i].name, wf_sizes(loaded[i]), wf_sizes(state[i].tensor));
  }
  for (int i = 0; i < wf_safetensors_count(file); i++)
    if (!in_state(state, n, wf_safetensors_name(file, i))) append(bad->unexpected, ", ", wf_safetensors_name(file, i));
  return WF_OK;
}

static wf_status report(const wf_module *m, const misfits *bad, const char *path) {
  if (!*bad->missing && !*bad->unexpected && !*bad->sizes) return WF_OK;
  wf__fail(WF_RUNTIME, "Error(s) in loading state_dict for %s:%s%s%s%s%s%s%s", m->ops.kind ? m->ops.kind : "Module",
           *bad->missing ? "\n\tMissing key(s) in state_dict: " : "", bad->missing, *bad->missing ? ". " : "",
           *bad->unexpected ? "\n\tUnexpected key(s) in state_dict: " : "", bad->unexpected,
           *bad->unexpected ? ". " : "", bad->sizes);
  wf__hint("%s was saved from another model; nothing was loaded", path);
  return wf__self.pending;
}

static wf_status copy_all(const wf_named_tensor *state, int n, wf_tensor *const *loaded) {
  for (int i = 0; i < n; i++) {
    wf__self.asked++;
    wf_status status = wf__copy(state[i].tensor, loaded[i], false, false);
    wf__self.asked--;
    WF__TRY(status);
    wf__bump(state[i].tensor);
  }
  return WF_OK;
}

static wf_status load(wf_module *m, const char *path, wf_safetensors *file, const wf_named_tensor *state, int n) {
  wf_tensor **loaded = wf__calloc((size_t)n + 1, sizeof *loaded);
  misfits *bad = loaded ? wf__calloc(1, sizeof *bad) : NULL;
  wf_scope scope = wf_scope_begin();
  wf_status status = bad ? read_all(file, state, n, loaded, bad) : wf__self.pending;
  if (!status) status = report(m, bad, path);
  if (!status) status = copy_all(state, n, loaded);
  wf_scope_end(scope, NULL);
  wf__release(bad);
  wf__release(loaded);
  return status;
}

wf_status wf_module_load(wf_module *m, const char *path) {
  WF__OP("module_load", wf__self.pending);
  int n;
  wf_named_tensor *state = wf_module_state(m, &n);
  wf_safetensors *file = state ? wf_safetensors_open(path) : NULL;
  wf_status status = file ? load(m, path, file, state, n) : wf__self.pending;
  wf_safetensors_close(file);
  wf_module_state_free(state, n);
  return status;
}

/* ---- moving ------------------------------------------------------------------------------------------------------------------------ */

void wf__module_replace_memory(wf_tensor *t, wf_tensor *with) {
  if (!wf__tensor_set_storage(t, with->storage)) t->layout = with->layout;
}

static wf_status move_all(const wf_named_tensor *state, int n, wf__device *device, wf_tensor **moved) {
  for (int i = 0; i < n; i++) {
    wf__self.asked++;
    moved[i] = wf__to(state[i].tensor, WF_DTYPE_NONE, device, false, false);
    wf__self.asked--;
    if (!moved[i]) return wf__self.pending;
    WF__TRY(wf__tensor_prepare_storage(state[i].tensor));
  }
  for (int i = 0; i < n; i++) {
    if (moved[i] == state[i].tensor) continue;
    if (wf_is_leaf(state[i].tensor)) wf_set_grad(state[i].tensor, NULL);
    wf__module_replace_memory(state[i].tensor, moved[i]);
  }
  return wf__self.pending;
}

wf_status wf_module_to(wf_module *m, wf_device where) {
  WF__OP("module_to", wf__self.pending);
  wf__device *device = wf__device_get(where);
  int n;
  wf_named_tensor *state = device ? wf_module_state(m, &n) : NULL;
  if (!state) return wf__self.pending;
  wf_tensor **moved = wf__calloc((size_t)n + 1, sizeof *moved);
  wf_status status = moved ? move_all(state, n, device, moved) : wf__self.pending;
  for (int i = 0; moved && i < n; i++) wf__tensor_release(moved[i]);
  wf__release(moved);
  wf_module_state_free(state, n);
  return status;
}
