/* Thread state of autograd: gradient mode, anomaly mode, the sequence of nodes, and the node free lists of the thread.
 *
 * The struct is made at the thread's first recorded operator and freed with the thread. The free lists are bounded (256 blocks a class),
 * so that a thread that frees what others allocate doesn't hoard. */
#include "autograd/meta.h"
#include "base/host.h"

wf__autograd_ops wf__ops;

void wf__autograd_register(const wf__autograd_ops *ops) { wf__ops = *ops; }

static void drop_modes(void *value) {
  wf__modes *m = value;
  for (int c = 0; c < WF__NODE_CLASSES; c++)
    while (m->free[c]) {
      wf__node *next = m->free[c]->next;
      wf__release(m->free[c]);
      m->free[c] = next;
    }
  wf__release(m);
}

wf__modes *wf__modes_get(void) {
  if (WF__LIKELY(wf__self.modes != NULL)) return wf__self.modes;
  wf__modes *m = wf__calloc(1, sizeof *m);
  if (!m) return NULL;
  wf__self.modes = m;
  wf__thread_at_exit(&wf__self.modes, drop_modes);
  return m;
}

bool wf_grad_enabled(void) { return !wf__self.grad_disabled; }

bool wf_grad_set_enabled(bool enabled) {
  bool was = !wf__self.grad_disabled;
  wf__self.grad_disabled = !enabled;
  return was;
}

bool wf_detect_anomaly(bool enabled) {
  bool was = wf__self.anomaly;
  wf__self.anomaly = enabled;
  return was;
}
