/* Idle devices: stretches of the steady state in which no stream of a device had work, by what the host did meanwhile: between the
 * end of the last work and the launch of the next. */
#include <string.h>

#include "audit/examine.h"
#include "base/host.h"

#define MUCH 0.10   /* of the steady state */
#define LEAST 1000  /* ns of a gap that is looked at */
#define AFTER 50000 /* ns: a wait that ended so short before the gap has caused it */
#define BACK 64     /* events looked at for it */

typedef struct work {
  uint32_t *at; /* events of one device by start */
  uint32_t n;
} work;

typedef void (*gap_fn)(void *context, wf__span gap, uint32_t next);

static void release_work(work *w) { wf__release(w->at); }

static wf_status collect(const wf__kineto *k, int64_t device, work *w) {
  uint32_t n = 0;
  *w = (work){0};
  for (uint32_t r = 0; r < k->row_count; r++)
    if (k->rows[r].device == device) n += k->rows[r].n;
  w->at = wf__malloc(n * sizeof *w->at);
  uint32_t *room = w->at ? wf__malloc(n * sizeof *room) : NULL;
  if (!room) {
    release_work(w);
    return WF_NO_MEMORY;
  }
  for (uint32_t r = 0; r < k->row_count; r++) {
    const wf__row *row = &k->rows[r];
    for (uint32_t i = row->first; row->device == device && i < row->first + row->n; i++)
      if (wf__on_device(&k->events[k->order[i]])) w->at[w->n++] = k->order[i];
  }
  wf__sort_events(k->events, w->at, w->n, room);
  wf__release(room);
  return WF_OK;
}

/* Each gap of the window, with the event that ends it. Returns their sum. */
static int64_t each_gap(const wf__kineto *k, const work *w, wf__span window, gap_fn fn, void *context) {
  int64_t busy_until = window.start, idle = 0;
  for (uint32_t i = 0; i <= w->n; i++) {
    const wf__event *e = i < w->n ? &k->events[w->at[i]] : NULL;
    int64_t start = e && e->start < window.end ? e->start : window.end;
    if (start > busy_until) {
      idle += start - busy_until;
      if (fn) fn(context, (wf__span){busy_until, start}, e ? w->at[i] : WF__NO_EVENT);
    }
    if (!e || e->start >= window.end) break;
    if (wf__event_end(e) > busy_until) busy_until = wf__event_end(e);
    if (busy_until >= window.end) break;
  }
  return idle;
}

static int find_devices(const wf__kineto *k, int64_t devices[WF__DEVICES_MAX]) {
  int n = 0;
  for (uint32_t r = 0; r < k->row_count; r++) {
    int at = 0;
    if (k->rows[r].device < 0) continue;
    while (at < n && devices[at] != k->rows[r].device) at++;
    if (at == n && n < WF__DEVICES_MAX) devices[n++] = k->rows[r].device;
  }
  return n;
}

int wf__device_uses(const wf__kineto *k, const wf__steps *steps, wf__device_use *uses) {
  int64_t devices[WF__DEVICES_MAX];
  int n = find_devices(k, devices);
  for (int i = 0; i < n; i++) {
    work w;
    if (collect(k, devices[i], &w)) return -1;
    int64_t idle = each_gap(k, &w, steps->steady, NULL, NULL);
    uses[i] = (wf__device_use){devices[i], wf__steady_ns(steps) - idle, idle};
    release_work(&w);
  }
  return n;
}

/* ---- what the host did -------------------------------------------------------------------------------------------- */

/* How many events of the row begin at `time` or before. */
static uint32_t begun(const wf__kineto *k, const wf__row *row, int64_t time) {
  uint32_t low = 0, high = row->n;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (k->events[k->order[row->first + middle]].start <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The innermost event of the row that `time` lies in, or WF__NO_EVENT. */
static uint32_t innermost(const wf__kineto *k, const wf__row *row, int64_t time) {
  uint32_t n = begun(k, row, time);
  uint32_t at = n ? k->order[row->first + n - 1] : WF__NO_EVENT;
  while (at != WF__NO_EVENT && wf__event_end(&k->events[at]) <= time) at = k->events[at].parent;
  return at;
}

static bool loads(const wf__kineto *k, uint32_t at) {
  for (int level = 0; at != WF__NO_EVENT && level < 256; level++, at = k->events[at].parent)
    if (wf__event_meaning(k, &k->events[at]) == WF__MEANS_LOADER) return true;
  return false;
}

/* A wait of the host that ended about when the device ran dry. */
static uint32_t wait_before(const wf__kineto *k, const wf__row *row, wf__span gap) {
  uint32_t n = begun(k, row, gap.end);
  for (uint32_t i = 0; i < BACK && i < n; i++) {
    uint32_t at = k->order[row->first + n - 1 - i];
    const wf__event *e = &k->events[at];
    if (e->cat == WF__CAT_RUNTIME && wf__event_meaning(k, e) == WF__MEANS_SYNC && wf__event_end(e) >= gap.start - AFTER)
      return at;
  }
  return WF__NO_EVENT;
}

static bool is_allocation(wf__meaning meaning) {
  return meaning == WF__MEANS_DEVICE_ALLOC || meaning == WF__MEANS_DEVICE_FREE || meaning == WF__MEANS_HOST_ALLOC;
}

static void judge_host(const wf__kineto *k, const wf__row *row, wf__span gap, wf__occurrence *found) {
  uint32_t at = innermost(k, row, gap.start + (gap.end - gap.start) / 2), wait = wait_before(k, row, gap);
  uint32_t op = wf__outer_operator(k, at);
  if (at != WF__NO_EVENT && loads(k, at)) {
    found->kind = WF__KIND_IDLE_LOADER;
    found->at = at;
  } else if (at != WF__NO_EVENT && is_allocation(wf__event_meaning(k, &k->events[at]))) {
    found->kind = WF__KIND_IDLE_ALLOC;
    found->at = at;
    found->cause = k->events[at].name;
  } else if (wait != WF__NO_EVENT) {
    found->kind = WF__KIND_IDLE_SYNC;
    found->at = wait;
    found->operator= wf__mover_of(k, wait);
    if (!found->operator) found->operator= k->events[wait].name;
  } else if (op != WF__NO_EVENT) {
    found->kind = WF__KIND_IDLE_OPERATOR;
    found->at = op;
    found->operator= k->events[op].name;
  } else {
    found->kind = WF__KIND_IDLE_PYTHON;
    if (at != WF__NO_EVENT) found->at = at;
  }
}

/* The thread with most events: where the trace doesn't tell who launched, it is asked. */
static const wf__row *main_row(const wf__kineto *k) {
  const wf__row *most = NULL;
  for (uint32_t r = 0; r < k->row_count; r++)
    if (k->rows[r].device < 0 && (!most || k->rows[r].n > most->n)) most = &k->rows[r];
  return most;
}

static void note_gap(void *context, wf__span gap, uint32_t next) {
  wf__examination *x = context;
  const wf__kineto *k = x->k;
  if (gap.end - gap.start < LEAST || next == WF__NO_EVENT) return;
  uint32_t launch = k->events[next].link;
  const wf__event *call = launch == WF__NO_EVENT ? NULL : &k->events[launch];
  const wf__row *row = call ? &k->rows[call->lane] : main_row(k);
  if (call && call->start <= gap.start) return; /* launched in time: the device itself took so long to begin */
  wf__occurrence found = {
      .kind = WF__KIND_IDLE_PYTHON, .at = launch, .start = gap.start, .ns = gap.end - gap.start, .bytes = -1};
  wf__span host = {gap.start, call && call->start < gap.end ? call->start : gap.end};
  if (row) judge_host(k, row, host, &found);
  wf__note(x, &found);
}

void wf__rule_idle(wf__examination *x) {
  int64_t devices[WF__DEVICES_MAX];
  int n = find_devices(x->k, devices);
  for (int i = 0; i < n && !x->status; i++) {
    work w;
    x->status = collect(x->k, devices[i], &w);
    if (x->status) return;
    int64_t idle = each_gap(x->k, &w, x->steps->steady, NULL, NULL);
    if ((double)idle >= MUCH * (double)wf__steady_ns(x->steps)) each_gap(x->k, &w, x->steps->steady, note_gap, x);
    release_work(&w);
  }
}
