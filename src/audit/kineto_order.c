/* Puts a trace in order: events by row and time, the event around each, the call that launched each work of a device. Files are in runs
 * that are sorted already, so the sort merges runs; it moves numbers, not events. */
#include <string.h>

#include "audit/kineto.h"
#include "base/host.h"

/* ---- sorting ------------------------------------------------------------------------------------------------------ */

/* Whether a comes before b: by start, the longer first, what is outside first, as in the file. */
static inline bool before(const wf__event *events, uint32_t a, uint32_t b) {
  const wf__event *x = &events[a], *y = &events[b];
  if (x->start != y->start) return x->start < y->start;
  if (x->dur != y->dur) return x->dur > y->dur;
  if (x->cat != y->cat) return x->cat < y->cat;
  return a < b;
}

/* Events of a row one after the other, as in the file: rows' `first` and `n`. */
static void count_rows(wf__kineto *k) {
  uint32_t first = 0;
  for (uint32_t i = 0; i < k->n; i++) k->rows[k->events[i].lane].n++;
  for (uint32_t r = 0; r < k->row_count; r++) {
    k->rows[r].first = first;
    first += k->rows[r].n;
    k->rows[r].n = 0;
  }
  for (uint32_t i = 0; i < k->n; i++) {
    wf__row *row = &k->rows[k->events[i].lane];
    k->order[row->first + row->n++] = i;
  }
}

static uint32_t run_length(const wf__event *events, const uint32_t *at, uint32_t n) {
  uint32_t i = 1;
  while (i < n && before(events, at[i - 1], at[i])) i++;
  return i;
}

static void merge(const wf__event *events, uint32_t *at, uint32_t left, uint32_t n, uint32_t *room) {
  memcpy(room, at, left * sizeof *at);
  uint32_t i = 0, j = left, to = 0;
  while (i < left && j < n) at[to++] = before(events, at[j], room[i]) ? at[j++] : room[i++];
  while (i < left) at[to++] = room[i++];
}

/* Runs wait on a stack; two are merged while the upper isn't clearly shorter, so that the stack stays short and merges are even. */
void wf__sort_events(const wf__event *events, uint32_t *at, uint32_t n, uint32_t *room) {
  struct {
    uint32_t first, n;
  } run[64];
  int runs = 0;
  for (uint32_t first = 0; first < n;) {
    run[runs].first = first;
    run[runs].n = run_length(events, at + first, n - first);
    first += run[runs++].n;
    while (runs > 1 && (run[runs - 1].n >= run[runs - 2].n / 2 || first == n)) {
      merge(events, at + run[runs - 2].first, run[runs - 2].n, run[runs - 2].n + run[runs - 1].n, room);
      run[runs - 2].n += run[runs - 1].n;
      runs--;
    }
  }
}

/* ---- nesting ------------------------------------------------------------------------------------------------------ */

static void nest_row(wf__kineto *k, const wf__row *row, uint32_t *stack) {
  uint32_t depth = 0;
  for (uint32_t i = row->first; i < row->first + row->n; i++) {
    wf__event *e = &k->events[k->order[i]];
    while (depth && wf__event_end(&k->events[stack[depth - 1]]) <= e->start) depth--;
    e->parent = depth ? stack[depth - 1] : WF__NO_EVENT;
    if (e->cat != WF__CAT_MEMORY) stack[depth++] = k->order[i];
  }
}

/* ---- who launched what -------------------------------------------------------------------------------------------- */

static uint32_t slots_for(uint32_t n) {
  uint32_t slots = 16;
  while (slots < n + n / 2) slots *= 2;
  return slots;
}

static inline uint32_t slot_of(uint32_t link, uint32_t slots) {
  return (uint32_t)((uint64_t)link * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (slots - 1);
}

/* Puts an event into a table by its link, unless one of that link is there. */
static void put(const wf__kineto *k, uint32_t *table, uint32_t slots, uint32_t event) {
  uint32_t link = k->events[event].link;
  for (uint32_t i = slot_of(link, slots);; i = (i + 1) & (slots - 1)) {
    if (table[i] == WF__NO_EVENT) table[i] = event;
    if (k->events[table[i]].link == link) return;
  }
}

static uint32_t get(const wf__kineto *k, const uint32_t *table, uint32_t slots, uint32_t link) {
  for (uint32_t i = slot_of(link, slots); table[i] != WF__NO_EVENT; i = (i + 1) & (slots - 1))
    if (k->events[table[i]].link == link) return table[i];
  return WF__NO_EVENT;
}

static uint32_t *new_table(uint32_t slots) {
  uint32_t *table = wf__malloc(slots * sizeof *table);
  if (table) memset(table, 0xff, slots * sizeof *table);
  return table;
}

#define NEAR 16 /* a copy is found this few levels above the call that launches it */

/* What a copy does, by the device's work that it launched. */
static uint8_t flags_of(const wf__kineto *k, const wf__event *work) {
  const wf__name *name = &k->names.at[work->name];
  if (work->cat != WF__CAT_TRANSFER) return WF__EVENT_ON_DEVICE;
  if (wf__is_host_memory(name->from)) return WF__EVENT_ON_DEVICE | WF__EVENT_UPLOAD;
  return wf__is_host_memory(name->to) ? WF__EVENT_ON_DEVICE | WF__EVENT_DOWNLOAD : WF__EVENT_ON_DEVICE;
}

static void mark_copy(wf__kineto *k, uint32_t event, uint8_t flags) {
  for (int level = 0; event != WF__NO_EVENT && level < NEAR; level++) {
    wf__event *e = &k->events[event];
    if (e->cat == WF__CAT_OPERATOR && wf__event_meaning(k, e) == WF__MEANS_COPY) {
      e->flags |= flags;
      return;
    }
    event = e->parent;
  }
}

static wf_status link_device(wf__kineto *k) {
  uint32_t calls = 0;
  for (uint32_t i = 0; i < k->n; i++) calls += k->events[i].cat == WF__CAT_RUNTIME && k->events[i].link;
  uint32_t slots = slots_for(calls), *table = new_table(slots);
  if (!table) return WF_NO_MEMORY;
  for (uint32_t i = 0; i < k->n; i++)
    if (k->events[i].cat == WF__CAT_RUNTIME && k->events[i].link) put(k, table, slots, i);
  for (uint32_t i = 0; i < k->n; i++) {
    wf__event *e = &k->events[i];
    if (!wf__on_device(e)) continue;
    e->link = e->link ? get(k, table, slots, e->link) : WF__NO_EVENT;
    if (e->link != WF__NO_EVENT && e->cat != WF__CAT_FILL) mark_copy(k, e->link, flags_of(k, e));
  }
  wf__release(table);
  return WF_OK;
}

static bool is_forward(const wf__event *e) {
  return e->cat == WF__CAT_OPERATOR && e->link && !(e->flags & WF__EVENT_BACKWARD);
}

/* Backward runs without the Python that it belongs to: its lines are those of the forward operators. */
static wf_status index_forward(wf__kineto *k) {
  uint32_t n = 0;
  bool backward = false;
  for (uint32_t i = 0; i < k->n; i++) {
    n += is_forward(&k->events[i]);
    backward = backward || (k->events[i].flags & WF__EVENT_BACKWARD);
  }
  if (!backward || !k->has_stacks) return WF_OK;
  k->forward_slots = slots_for(n);
  k->forward = new_table(k->forward_slots);
  if (!k->forward) return WF_NO_MEMORY;
  for (uint32_t i = 0; i < k->n; i++)
    if (is_forward(&k->events[i])) put(k, k->forward, k->forward_slots, i);
  return WF_OK;
}

uint32_t wf__forward_of(const wf__kineto *k, uint32_t link) {
  return k->forward && link ? get(k, k->forward, k->forward_slots, link) : WF__NO_EVENT;
}

wf_status wf__kineto_order(wf__kineto *k) {
  k->order = wf__malloc(k->n * sizeof *k->order);
  uint32_t *room = k->order ? wf__malloc(k->n * sizeof *room) : NULL;
  if (!room) return WF_NO_MEMORY;
  count_rows(k);
  for (uint32_t r = 0; r < k->row_count; r++) {
    wf__sort_events(k->events, k->order + k->rows[r].first, k->rows[r].n, room);
    if (k->rows[r].device < 0) nest_row(k, &k->rows[r], room);
  }
  wf__release(room);
  WF__TRY(link_device(k));
  return index_forward(k);
}
