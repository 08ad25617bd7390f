/* Uploads from pinned memory on a stream that also computes: they wait for its kernels, and its kernels wait for them, though the copy
 * engine could run beside. */
#include <string.h>

#include "audit/examine.h"
#include "base/host.h"

static bool could_overlap(const wf__kineto *k, const wf__event *e) {
  const wf__name *name = &k->names.at[e->name];
  if (e->cat != WF__CAT_TRANSFER || name->to != WF__MEMORY_DEVICE) return false;
  if (name->from == WF__MEMORY_PINNED) return true;
  return name->from == WF__MEMORY_HOST && e->link != WF__NO_EVENT &&
         wf__event_meaning(k, &k->events[e->link]) != WF__MEANS_BLOCKING_MEMCPY;
}

void wf__rule_overlap(wf__examination *x) {
  const wf__kineto *k = x->k;
  if (!k->has_device) return;
  bool *computes = wf__calloc(k->row_count, sizeof *computes);
  if (!computes) {
    x->status = WF_NO_MEMORY;
    return;
  }
  for (uint32_t i = 0; i < k->n; i++)
    if (k->events[i].cat == WF__CAT_KERNEL) computes[k->events[i].lane] = true;
  for (uint32_t i = 0; i < k->n; i++) {
    const wf__event *e = &k->events[i];
    if (!computes[e->lane] || !could_overlap(k, e)) continue;
    bool known = e->link != WF__NO_EVENT;
    wf__occurrence found = {
        .kind = WF__KIND_NO_OVERLAP, .cause = e->name, .at = e->link, .start = e->start, .ns = e->dur};
    found.operator= known ? wf__mover_of(k, e->link) : 0;
    found.bytes = e->value;
    wf__note(x, &found);
  }
  wf__release(computes);
}
