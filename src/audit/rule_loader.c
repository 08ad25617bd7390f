/* Time that the training loop spends in the loader's __next__: with workers it is waiting, without it is loading. */
#include "audit/examine.h"

#define MUCH 0.02 /* of the steady state */

static bool is_wait(const wf__kineto *k, uint32_t i) {
  return k->events[i].cat == WF__CAT_ANNOTATION && wf__event_meaning(k, &k->events[i]) == WF__MEANS_LOADER;
}

void wf__rule_loader(wf__examination *x) {
  const wf__kineto *k = x->k;
  int64_t ns = 0;
  for (uint32_t i = 0; i < k->n; i++)
    if (is_wait(k, i) && wf__is_steady(x->steps, k->events[i].start)) ns += k->events[i].dur;
  if ((double)ns < MUCH * (double)wf__steady_ns(x->steps)) return;
  for (uint32_t i = 0; i < k->n; i++) {
    const wf__event *e = &k->events[i];
    if (!is_wait(k, i)) continue;
    wf__occurrence found = {
        .kind = WF__KIND_LOADER, .cause = e->name, .at = i, .start = e->start, .ns = e->dur, .bytes = -1};
    wf__note(x, &found);
  }
}
