/* Groups of what rules found, and places of events. */
#include "audit/examine.h"

#include <string.h>

#include "base/host.h"

#define FIRST_SLOTS 256
#define LEVELS 1000 /* of a stack, so that a hostile trace costs no more than its length */

/* ---- groups ------------------------------------------------------------------------------------------------------- */

static uint32_t hash_of(const wf__group *g) {
  const uint32_t parts[] = {(uint32_t)g->kind, g->operator, g->cause, g->place.module, g->place.line};
  uint64_t h = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    h = (h ^ parts[i]) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 29;
  }
  return (uint32_t)(h ^ h >> 32);
}

static bool same_group(const wf__group *a, const wf__group *b) {
  return a->kind == b->kind && a->operator== b->operator&& a->cause == b->cause &&
                               a->place.module == b->place.module && a->place.line == b->place.line;
}

static wf_status grow(wf__examination *x) {
  uint32_t count = x->slot_count ? 2 * x->slot_count : FIRST_SLOTS;
  wf__group *groups = wf__realloc(x->groups, count * sizeof *groups);
  if (!groups) return WF_NO_MEMORY;
  x->groups = groups;
  x->room = count;
  uint32_t *slots = wf__malloc(count * sizeof *slots);
  if (!slots) return WF_NO_MEMORY;
  wf__release(x->slots);
  x->slots = slots;
  x->slot_count = count;
  memset(slots, 0xff, count * sizeof *slots);
  for (uint32_t i = 0; i < x->n; i++) {
    uint32_t slot = hash_of(&x->groups[i]) & (count - 1);
    x->groups[i].next = slots[slot];
    slots[slot] = i;
  }
  return WF_OK;
}

static uint32_t group_of(wf__examination *x, const wf__group *wanted) {
  uint32_t hash = hash_of(wanted);
  if (x->slot_count)
    for (uint32_t i = x->slots[hash & (x->slot_count - 1)]; i != WF__NO_EVENT; i = x->groups[i].next)
      if (same_group(&x->groups[i], wanted)) return i;
  if (x->n == x->room && grow(x)) {
    x->status = WF_NO_MEMORY;
    return WF__NO_EVENT;
  }
  uint32_t slot = hash & (x->slot_count - 1);
  x->groups[x->n] = *wanted;
  x->groups[x->n].next = x->slots[slot];
  x->slots[slot] = x->n;
  return x->n++;
}

uint32_t wf__note(wf__examination *x, const wf__occurrence *o) {
  if (x->status) return WF__NO_EVENT;
  wf__group wanted = {.kind = o->kind, .operator= o->operator, .cause = o->cause, .example = o->at};
  wanted.place = wf__place_of(x->k, o->at);
  uint32_t at = group_of(x, &wanted);
  if (at == WF__NO_EVENT) return at;
  wf__group *g = &x->groups[at];
  g->count++;
  g->ns += o->ns;
  if (wf__is_steady(x->steps, o->start)) {
    g->steady_count++;
    g->steady_ns += o->ns;
  }
  if (o->bytes >= 0) {
    g->bytes += o->bytes;
    g->bytes_known++;
  }
  return at;
}

void wf__examination_release(wf__examination *x) {
  wf__release(x->groups);
  wf__release(x->slots);
  *x = (wf__examination){0};
}

/* ---- places ------------------------------------------------------------------------------------------------------- */

uint32_t wf__above(const wf__kineto *k, uint32_t event, wf__category cat) {
  for (int level = 0; event != WF__NO_EVENT && level < LEVELS; level++, event = k->events[event].parent)
    if (k->events[event].cat == cat) return event;
  return WF__NO_EVENT;
}

uint32_t wf__outer_operator(const wf__kineto *k, uint32_t event) {
  uint32_t outer = WF__NO_EVENT;
  for (int level = 0; event != WF__NO_EVENT && level < LEVELS; level++, event = k->events[event].parent)
    if (k->events[event].cat == WF__CAT_OPERATOR) outer = event;
  return outer;
}

uint32_t wf__mover_of(const wf__kineto *k, uint32_t event) {
  uint32_t name = 0;
  for (int level = 0; event != WF__NO_EVENT && level < LEVELS; level++, event = k->events[event].parent) {
    const wf__event *e = &k->events[event];
    if (e->cat != WF__CAT_OPERATOR) continue;
    wf__meaning meaning = wf__event_meaning(k, e);
    bool moves = meaning == WF__MEANS_COPY || meaning == WF__MEANS_CONVERSION || meaning == WF__MEANS_DUPLICATE ||
                 meaning == WF__MEANS_READBACK;
    if (moves || !name) name = e->name;
    if (!moves) break;
  }
  return name;
}

/* The line: where the user's own code called what runs: a builtin, a module, a library. What runs in a function of the user's without a
 * call between has no line of its own in the trace, only the function's; nor have older traces, which don't say where calls came from. */
static void look_at_frame(const wf__kineto *k, const wf__event *e, wf__place *p) {
  wf__meaning meaning = wf__event_meaning(k, e);
  if (meaning == WF__MEANS_MODULE && !p->module) p->module = e->name;
  if (meaning == WF__MEANS_USER_FRAME && !p->function) {
    p->function = e->name;
    if (!p->line) p->line = e->name;
  }
  if (!p->line && e->value > 0) {
    const wf__name *from = &k->names.at[e->value];
    if (wf__is_user_source(from->text, from->size)) p->line = (uint32_t)e->value; /* its function comes next */
  }
}

static wf__place place_above(const wf__kineto *k, uint32_t event) {
  wf__place p = {0};
  for (int level = 0; event != WF__NO_EVENT && level < LEVELS; level++, event = k->events[event].parent) {
    const wf__event *e = &k->events[event];
    if (e->cat == WF__CAT_PYTHON) look_at_frame(k, e, &p);
    if (p.module && p.line && p.function) break;
  }
  return p;
}

static uint32_t backward_link(const wf__kineto *k, uint32_t event) {
  for (int level = 0; event != WF__NO_EVENT && level < LEVELS; level++, event = k->events[event].parent)
    if (k->events[event].flags & WF__EVENT_BACKWARD) return k->events[event].link;
  return 0;
}

/* The event, or for the backward pass the forward operator that it belongs to: the line of backward() tells nothing. */
static uint32_t with_stack(const wf__kineto *k, uint32_t event) {
  if (!k->forward) return event;
  uint32_t forward = wf__forward_of(k, backward_link(k, event));
  return forward == WF__NO_EVENT ? event : forward;
}

wf__place wf__place_of(const wf__kineto *k, uint32_t event) {
  uint32_t at = with_stack(k, event);
  wf__place p = place_above(k, at);
  p.by_forward = at != event;
  return p;
}

void wf__module_path(const wf__kineto *k, uint32_t event, char *text, size_t room) {
  static const char prefix[] = "nn.Module: ";
  size_t begin = room - 1; /* written from the end, as the innermost comes first */
  text[begin] = 0;
  event = with_stack(k, event);
  for (int level = 0; event != WF__NO_EVENT && level < LEVELS; level++, event = k->events[event].parent) {
    const wf__event *e = &k->events[event];
    if (e->cat != WF__CAT_PYTHON || wf__event_meaning(k, e) != WF__MEANS_MODULE) continue;
    const char *name = k->names.at[e->name].text + sizeof prefix - 1;
    size_t n = strlen(name), dot = begin < room - 1;
    if (n + dot > begin) break;
    if (dot) text[--begin] = '.';
    begin -= n;
    memcpy(text + begin, name, n);
  }
  memmove(text, text + begin, room - begin);
}
