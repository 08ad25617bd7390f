/* The tree of modules: registration, forward, walking. */
#include "nn/module.h"

#include <stdio.h>
#include <string.h>
#include <weft/autograd.h>
#include <weft/trace.h>
#include "base/host.h"
#include "trace/trace.h"

/* ---- building ------------------------------------------------------------------------------------------------------------------- */

wf_module *wf_module_new(const wf_module_ops *ops, void *context) {
  WF__OP("module_new", NULL);
  if (!ops || !ops->forward) return wf__fail(WF_VALUE, "a module needs a forward function"), NULL;
  wf_module *m = wf__calloc(1, sizeof *m);
  if (!m) return NULL;
  m->ops = *ops;
  m->context = context;
  m->training = true;
  return m;
}

void *wf_module_context(const wf_module *m) { return m ? m->context : NULL; }

void wf_module_free(wf_module *m) {
  if (!m) return;
  for (int i = 0; i < m->tensors; i++) {
    wf__tensor_release(m->tensor[i].tensor);
    wf__release(m->tensor[i].name);
  }
  for (int i = 0; i < m->children; i++) {
    wf_module_free(m->child[i].module);
    wf__release(m->child[i].name);
  }
  wf__release(m->tensor);
  wf__release(m->child);
  if (m->ops.release) m->ops.release(m->context);
  wf__release(m);
}

wf_tensor *wf_module_tensor(const wf_module *m, const char *name) {
  for (int i = 0; m && i < m->tensors; i++)
    if (!strcmp(m->tensor[i].name, name)) return m->tensor[i].tensor;
  return NULL;
}

wf_module *wf_module_child(const wf_module *m, const char *name) {
  for (int i = 0; m && i < m->children; i++)
    if (!strcmp(m->child[i].name, name)) return m->child[i].module;
  return NULL;
}

static wf_status check_name(const wf_module *m, const char *name) {
  WF__CHECK(m && name && *name && !strchr(name, '.'), WF_VALUE,
            "a module's name can't be empty or contain \".\", got '%s'", name ? name : "");
  WF__CHECK(!wf_module_tensor(m, name) && !wf_module_child(m, name), WF_VALUE, "attribute '%s' already exists", name);
  return WF_OK;
}

static wf_status append_tensor(wf_module *m, const char *name, wf_tensor *t, bool is_parameter) {
  WF__TRY(check_name(m, name));
  WF__CHECK(t, WF_VALUE, "'%s' is no tensor", name);
  if (is_parameter) WF__TRY(wf_requires_grad_(t, true));
  char *copy = wf__strdup(name);
  wf__module_tensor *grown = copy ? wf__realloc(m->tensor, (size_t)(m->tensors + 1) * sizeof *grown) : NULL;
  if (!grown) {
    wf__release(copy);
    return wf__self.pending;
  }
  m->tensor = grown;
  m->tensor[m->tensors++] = (wf__module_tensor){copy, t, is_parameter};
  return WF_OK;
}

wf_status wf__module_adopt(wf_module *m, const char *name, wf_tensor *t, bool is_parameter) {
  wf_status status = wf__self.pending ? wf__self.pending : append_tensor(m, name, t, is_parameter);
  if (status) wf__tensor_release(t);
  return status;
}

wf_status wf_module_add_parameter(wf_module *m, const char *name, wf_tensor *t) {
  WF__OP("add_parameter", wf__self.pending);
  return wf__module_adopt(m, name, wf_retain(t), true);
}

wf_status wf_module_add_buffer(wf_module *m, const char *name, wf_tensor *t) {
  WF__OP("add_buffer", wf__self.pending);
  return wf__module_adopt(m, name, wf_retain(t), false);
}

static wf_status append_child(wf_module *m, const char *name, wf_module *child) {
  WF__TRY(check_name(m, name));
  WF__CHECK(child, WF_VALUE, "'%s' is no module", name);
  char *copy = wf__strdup(name);
  wf__module_child *grown = copy ? wf__realloc(m->child, (size_t)(m->children + 1) * sizeof *grown) : NULL;
  if (!grown) {
    wf__release(copy);
    return wf__self.pending;
  }
  m->child = grown;
  m->child[m->children++] = (wf__module_child){copy, child};
  return WF_OK;
}

wf_status wf_module_add_child(wf_module *m, const char *name, wf_module *child) {
  WF__ENTER("add_child");
  wf_status status = wf__self.pending ? wf__self.pending : append_child(m, name, child);
  if (status) wf_module_free(child);
  return status;
}

/* ---- using ------------------------------------------------------------------------------------------------------------------------ */

wf_tensor *wf_module_forward(wf_module *m, wf_tensor *x) {
  WF__OP("forward", NULL);
  if (!m) return wf__fail(WF_VALUE, "forward needs a module"), NULL;
  wf_scope scope = wf_scope_begin();
  return wf_scope_end(scope, m->ops.forward(m, x));
}

void wf_module_train(wf_module *m, bool training) {
  if (!m) return;
  m->training = training;
  for (int i = 0; i < m->children; i++) wf_module_train(m->child[i].module, training);
}

bool wf_module_training(const wf_module *m) { return m && m->training; }

static int count_tensors(const wf_module *m, bool parameters_only) {
  int n = 0;
  for (int i = 0; i < m->tensors; i++) n += !parameters_only || m->tensor[i].is_parameter;
  for (int i = 0; i < m->children; i++) n += count_tensors(m->child[i].module, parameters_only);
  return n;
}

static void collect_parameters(const wf_module *m, wf_tensors *list) {
  for (int i = 0; i < m->tensors; i++)
    if (m->tensor[i].is_parameter) list->at[list->n++] = m->tensor[i].tensor;
  for (int i = 0; i < m->children; i++) collect_parameters(m->child[i].module, list);
}

wf_tensors wf_module_parameters(const wf_module *m) {
  wf_tensors list = {NULL, 0};
  if (!m || wf__self.pending) return list;
  list.at = wf__calloc((size_t)count_tensors(m, true) + 1, sizeof *list.at);
  if (list.at) collect_parameters(m, &list);
  return list;
}

void wf_module_list_free(wf_tensors list) { wf__release(list.at); }

/* ---- state ------------------------------------------------------------------------------------------------------------------------- */

/* prefix, name and end in one fresh string: "0." + "weight" + "". */
static char *join(const char *prefix, const char *name, const char *end) {
  size_t n = strlen(prefix) + strlen(name) + strlen(end) + 1;
  char *joined = wf__malloc(n);
  if (joined) snprintf(joined, n, "%s%s%s", prefix, name, end);
  return joined;
}

static wf_status collect_state(const wf_module *m, const char *prefix, wf_named_tensor *state, int *n) {
  for (int i = 0; i < m->tensors; i++) {
    char *name = join(prefix, m->tensor[i].name, "");
    if (!name) return wf__self.pending;
    state[(*n)++] = (wf_named_tensor){name, m->tensor[i].tensor};
  }
  for (int i = 0; i < m->children; i++) {
    char *inner = join(prefix, m->child[i].name, ".");
    if (!inner) return wf__self.pending;
    wf_status status = collect_state(m->child[i].module, inner, state, n);
    wf__release(inner);
    WF__TRY(status);
  }
  return WF_OK;
}

void wf_module_state_free(wf_named_tensor *state, int n) {
  for (int i = 0; state && i < n; i++) wf__release((char *)state[i].name);
  wf__release(state);
}

wf_named_tensor *wf_module_state(const wf_module *m, int *n) {
  WF__OP("module_state", NULL);
  *n = 0;
  if (!m) return wf__fail(WF_VALUE, "state needs a module"), NULL;
  wf_named_tensor *state = wf__calloc((size_t)count_tensors(m, false) + 1, sizeof *state);
  if (state && !collect_state(m, "", state, n)) return state;
  wf_module_state_free(state, *n);
  *n = 0;
  return NULL;
}
