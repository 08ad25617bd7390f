/* Memory taken from and given back to the driver in the steady state: PyTorch's caching allocator does so only while it has not yet seen
 * the sizes of a step, or when it runs out. */
#include "audit/examine.h"

void wf__rule_allocations(wf__examination *x) {
  const wf__kineto *k = x->k;
  if (!x->steps->n) return; /* no steady state is known */
  /* The first step of several takes what it needs, however fast it was. */
  uint32_t first = x->steps->n >= 3 && !x->steps->warm ? 1 : x->steps->warm;
  for (uint32_t i = 0; i < k->n; i++) {
    const wf__event *e = &k->events[i];
    if (e->cat != WF__CAT_RUNTIME) continue;
    wf__meaning meaning = wf__event_meaning(k, e);
    bool device = meaning == WF__MEANS_DEVICE_ALLOC || meaning == WF__MEANS_DEVICE_FREE;
    if (!device && meaning != WF__MEANS_HOST_ALLOC) continue;
    if (wf__step_at(x->steps, e->start) < (int64_t)first) continue;
    uint32_t op = wf__above(k, i, WF__CAT_OPERATOR);
    wf__occurrence found = {.kind = device ? WF__KIND_DEVICE_ALLOC : WF__KIND_HOST_ALLOC, .cause = e->name, .at = i};
    found.operator= op == WF__NO_EVENT ? 0 : k->events[op].name;
    found.start = e->start;
    found.ns = e->dur;
    found.bytes = -1;
    wf__note(x, &found);
  }
}
