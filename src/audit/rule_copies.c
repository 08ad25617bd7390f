/* Copies: aten::copy_ is the one event of each, whatever began it. aten::contiguous > aten::clone > aten::copy_ is one copy, started by
 * contiguous, needed by the operator around that. */
#include <stdio.h>
#include <string.h>

#include "audit/examine.h"

#define LEVELS 64

/* What is around a copy. */
typedef struct origin {
  uint32_t top;  /* the outermost of the operators that only start a copy */
  uint32_t user; /* the operator that needed it, or WF__NO_EVENT */
  bool layout, duplicate, conversion;
} origin;

static origin origin_of(const wf__kineto *k, uint32_t copy) {
  origin o = {.top = copy, .user = WF__NO_EVENT};
  uint32_t at = k->events[copy].parent;
  for (int level = 0; at != WF__NO_EVENT && level < LEVELS; level++, at = k->events[at].parent) {
    const wf__event *e = &k->events[at];
    if (e->cat == WF__CAT_RUNTIME) continue;
    if (e->cat != WF__CAT_OPERATOR) break;
    wf__meaning meaning = wf__event_meaning(k, e);
    if (meaning == WF__MEANS_LAYOUT) o.layout = true;
    else if (meaning == WF__MEANS_DUPLICATE) o.duplicate = true;
    else if (meaning == WF__MEANS_CONVERSION) o.conversion = true;
    else {
      o.user = at;
      break;
    }
    o.top = at;
  }
  return o;
}

static bool is_named(const wf__kineto *k, uint32_t event, const char *name) {
  return event != WF__NO_EVENT && !strcmp(k->names.at[k->events[event].name].text, name);
}

static bool is_product(const wf__kineto *k, uint32_t event) {
  return is_named(k, event, "aten::matmul") || is_named(k, event, "aten::bmm") || is_named(k, event, "aten::einsum") ||
         is_named(k, event, "aten::linear") || is_named(k, event, "aten::baddbmm");
}

/* "float -> double" as a name. */
static uint32_t conversion_name(wf__kineto *k, const wf__shape *shape) {
  char text[80];
  int n = snprintf(text, sizeof text, "%s -> %s", wf__type_name(shape->from), wf__type_name(shape->to));
  return wf__names_add(&k->names, text, (size_t)n);
}

static bool begins(const char *text, const char *with) { return !strncmp(text, with, strlen(with)); }

/* Converted for autocast: then the operator around the conversion is one of those that autocast looks after, and takes the half type. */
static bool is_autocast(const wf__kineto *k, const origin *o, const wf__shape *shape) {
  if (is_named(k, o->user, "ToCopyBackward0")) return true; /* of such a conversion */
  const char *to = wf__type_name(shape->to);
  bool half = begins(to, "c10::Half") || begins(to, "c10::BFloat16");
  return half && shape->from && o->user != WF__NO_EVENT &&
         begins(k->names.at[k->events[o->user].name].text, "aten::") && wf__type_bytes(shape->from) == 4;
}

static wf__kind conversion_kind(const wf__kineto *k, const origin *o, const wf__shape *shape) {
  if (is_autocast(k, o, shape)) return WF__KIND_AUTOCAST;
  return !strcmp(wf__type_name(shape->to), "double") ? WF__KIND_DOUBLE : WF__KIND_CONVERSION;
}

static wf__kind kind_of(const wf__kineto *k, const origin *o, const wf__shape *shape) {
  bool differ = shape->to && shape->from && shape->to != shape->from;
  bool unknown = shape->form == WF__FORM_UNKNOWN;
  if (differ || (unknown && o->conversion && !o->layout)) return conversion_kind(k, o, shape);
  if (shape->form == WF__FORM_BROADCAST) return WF__KIND_BROADCAST;
  if (shape->form == WF__FORM_LAYOUT || (unknown && o->layout)) {
    if (o->user == WF__NO_EVENT) return WF__KIND_ASKED_COPY;
    return is_product(k, o->user) ? WF__KIND_MATMUL_COPY : WF__KIND_HIDDEN_COPY;
  }
  return o->duplicate ? WF__KIND_DUPLICATE : WF__KIND_PLAIN_COPY;
}

static void note_copy(wf__examination *x, uint32_t copy, int64_t ns, int64_t bytes) {
  wf__kineto *k = x->k;
  const wf__event *e = &k->events[copy];
  wf__shape shape = wf__shape_unpack(e->value);
  origin o = origin_of(k, copy);
  if (shape.form == WF__FORM_SCALAR) return; /* one number: what it costs is the call */
  if (shape.elements >= 0 && wf__type_bytes(shape.to)) bytes = shape.elements * wf__type_bytes(shape.to);
  wf__occurrence found = {.kind = kind_of(k, &o, &shape), .at = o.top, .start = e->start, .bytes = bytes};
  found.ns = ns >= 0 ? ns : k->events[o.top].dur;
  found.operator= o.user == WF__NO_EVENT ? 0 : k->events[o.user].name;
  found.cause = shape.to && shape.from && shape.to != shape.from ? conversion_name(k, &shape) : k->events[o.top].name;
  if (found.cause == WF__NO_NAME) x->status = WF_NO_MEMORY;
  wf__note(x, &found);
}

/* Copies on a device: the work that was launched inside of aten::copy_. What goes to or from the host is another rule's. */
static void note_device_work(wf__examination *x, const wf__event *work) {
  const wf__kineto *k = x->k;
  const wf__name *name = &k->names.at[work->name];
  bool transfer = work->cat == WF__CAT_TRANSFER;
  if (transfer && (name->from != WF__MEMORY_DEVICE || name->to != WF__MEMORY_DEVICE)) return;
  uint32_t at = work->link;
  for (int level = 0; at != WF__NO_EVENT && level < LEVELS; level++, at = k->events[at].parent) {
    const wf__event *e = &k->events[at];
    if (e->cat != WF__CAT_OPERATOR || wf__event_meaning(k, e) != WF__MEANS_COPY) continue;
    note_copy(x, at, work->dur, transfer ? work->value : -1);
    return;
  }
  if (transfer && work->link != WF__NO_EVENT) {
    uint32_t op = wf__above(k, work->link, WF__CAT_OPERATOR);
    wf__occurrence found = {.kind = WF__KIND_DEVICE_COPY, .at = work->link, .start = work->start, .ns = work->dur};
    found.operator= op == WF__NO_EVENT ? 0 : k->events[op].name;
    found.bytes = work->value;
    wf__note(x, &found);
  }
}

void wf__rule_copies(wf__examination *x) {
  const wf__kineto *k = x->k;
  for (uint32_t i = 0; i < k->n; i++) {
    const wf__event *e = &k->events[i];
    if (e->cat == WF__CAT_OPERATOR && wf__event_meaning(k, e) == WF__MEANS_COPY && !(e->flags & WF__EVENT_ON_DEVICE))
      note_copy(x, i, -1, -1);
    else if (e->cat == WF__CAT_KERNEL || e->cat == WF__CAT_TRANSFER) note_device_work(x, e);
  }
}
