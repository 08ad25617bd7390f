/* Transfers between host and device: pageable ones, many small ones, and those that go one by one from the same place. Each transfer
 * is found by its event on the device and placed by the call that launched it. */
#include <stdlib.h>

#include "audit/examine.h"
#include "base/host.h"

#define SMALL ((int64_t)64 << 10)
#define READBACK_BYTES 64 /* a value that the host asked for: the rule of synchronisations tells of it */
#define SMALL_MANY 4      /* so many small ones a step are a finding */
#define LOOP_LEAST 4      /* so many in a row from one place are a loop */

typedef struct transfer {
  uint32_t event, launch;
  int64_t launched; /* when the host did */
  uint32_t line, operator;
  bool upload;
} transfer;

typedef struct transfers {
  transfer *at;
  uint32_t n;
} transfers;

static bool is_host_transfer(const wf__kineto *k, const wf__event *e) {
  if (e->cat != WF__CAT_TRANSFER) return false;
  const wf__name *name = &k->names.at[e->name];
  return wf__is_host_memory(name->from) ? name->to == WF__MEMORY_DEVICE
                                        : wf__is_host_memory(name->to) && name->from == WF__MEMORY_DEVICE;
}

static int by_launch(const void *a, const void *b) {
  const transfer *x = a, *y = b;
  if (x->launched != y->launched) return x->launched < y->launched ? -1 : 1;
  return (x->event > y->event) - (x->event < y->event);
}

static wf_status collect(const wf__kineto *k, transfers *all) {
  uint32_t n = 0;
  *all = (transfers){0};
  for (uint32_t i = 0; i < k->n; i++) n += is_host_transfer(k, &k->events[i]);
  all->at = wf__malloc(n * sizeof *all->at);
  if (!all->at) return WF_NO_MEMORY;
  for (uint32_t i = 0; i < k->n; i++) {
    const wf__event *e = &k->events[i];
    if (!is_host_transfer(k, e)) continue;
    transfer *t = &all->at[all->n++];
    bool known = e->link != WF__NO_EVENT;
    *t = (transfer){.event = i, .launch = known ? e->link : i, .launched = known ? k->events[e->link].start : e->start};
    t->upload = wf__is_host_memory(k->names.at[e->name].from);
    t->operator= known ? wf__mover_of(k, e->link) : 0;
    t->line = known ? wf__place_of(k, e->link).line : 0;
  }
  qsort(all->at, all->n, sizeof *all->at, by_launch);
  return WF_OK;
}

static void note(wf__examination *x, wf__kind kind, const transfer *t, int64_t ns) {
  const wf__event *e = &x->k->events[t->event];
  wf__occurrence found = {.kind = kind, .operator= t->operator, .cause = e->name, .at = t->launch};
  found.start = t->launched;
  found.ns = ns;
  found.bytes = e->value;
  wf__note(x, &found);
}

/* ROCm says "Host" whatever the memory is; a blocking call is what pageable memory gets. */
static bool is_pageable(const wf__kineto *k, const transfer *t) {
  const wf__event *e = &k->events[t->event];
  const wf__name *name = &k->names.at[e->name];
  uint8_t host = t->upload ? name->from : name->to;
  if (host != WF__MEMORY_HOST) return host == WF__MEMORY_PAGEABLE;
  return e->link != WF__NO_EVENT && wf__event_meaning(k, &k->events[e->link]) == WF__MEANS_BLOCKING_MEMCPY;
}

static void judge_pageable(wf__examination *x, const transfer *t) {
  const wf__event *e = &x->k->events[t->event];
  if (!is_pageable(x->k, t) || (!t->upload && e->value >= 0 && e->value <= READBACK_BYTES)) return;
  note(x, t->upload ? WF__KIND_PAGEABLE_UPLOAD : WF__KIND_PAGEABLE_DOWNLOAD, t, e->dur);
}

static bool is_small(const wf__kineto *k, const transfer *t) {
  const wf__event *e = &k->events[t->event];
  return e->value >= 0 && e->value < SMALL && (t->upload || e->value > READBACK_BYTES);
}

static bool same_place(const wf__kineto *k, const transfer *a, const transfer *b) {
  return a->upload == b->upload && a->operator== b->operator&& a->line ==
                                   b->line &&(a->line || k->events[a->event].value == k->events[b->event].value);
}

/* What one of them costs beside its bytes: the call, from its begin to the end of the work on the device when the host waits for it. */
static int64_t cost_of(const wf__kineto *k, const transfer *t) {
  const wf__event *e = &k->events[t->event];
  if (e->link == WF__NO_EVENT) return e->dur;
  int64_t call = k->events[e->link].dur;
  return call > e->dur ? call : e->dur;
}

/* Runs of LOOP_LEAST and more from one place inside of a step; then what is small and in no run. */
static void judge_runs(wf__examination *x, const transfers *all) {
  const wf__kineto *k = x->k;
  for (uint32_t i = 0; i < all->n;) {
    uint32_t end = i + 1;
    int64_t step = wf__step_at(x->steps, all->at[i].launched);
    while (end < all->n && same_place(k, &all->at[i], &all->at[end]) &&
           wf__step_at(x->steps, all->at[end].launched) == step)
      end++;
    bool loop = end - i >= LOOP_LEAST;
    for (; i < end; i++) {
      if (loop) note(x, WF__KIND_TRANSFER_LOOP, &all->at[i], cost_of(k, &all->at[i]));
      else if (is_small(k, &all->at[i])) note(x, WF__KIND_SMALL_TRANSFERS, &all->at[i], cost_of(k, &all->at[i]));
    }
  }
}

/* Few small ones are no matter. */
static void drop_few(wf__examination *x) {
  uint32_t steps = x->steps->n ? x->steps->n : 1;
  int64_t all = 0;
  for (uint32_t i = 0; i < x->n; i++)
    if (x->groups[i].kind == WF__KIND_SMALL_TRANSFERS) all += x->groups[i].count;
  if (all >= (int64_t)SMALL_MANY * steps) return;
  for (uint32_t i = 0; i < x->n; i++)
    if (x->groups[i].kind == WF__KIND_SMALL_TRANSFERS) x->groups[i].count = 0;
}

void wf__rule_transfers(wf__examination *x) {
  transfers all;
  if (!x->k->has_device) return;
  x->status = collect(x->k, &all);
  if (x->status) return;
  for (uint32_t i = 0; i < all.n; i++) judge_pageable(x, &all.at[i]);
  judge_runs(x, &all);
  drop_few(x);
  wf__release(all.at);
}
