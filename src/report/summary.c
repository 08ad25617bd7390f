/* Adds up the rows of a ledger in the ways that reports show. One way of doing it for all: an entry a row, sorted by key, equal
 * neighbours merged, sorted as shown. */
#include "report/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "trace/trace.h"

typedef int (*compare_fn)(const void *, const void *);

static size_t merge(void *array, size_t n, size_t size, compare_fn compare, void (*add)(void *to, const void *from)) {
  char *at = array;
  size_t kept = 0;
  if (n) qsort(array, n, size, compare);
  for (size_t i = 0; i < n; i++) {
    if (kept && !compare(at + (kept - 1) * size, at + i * size)) {
      add(at + (kept - 1) * size, at + i * size);
      continue;
    }
    if (kept != i) memcpy(at + kept * size, at + i * size, size);
    kept++;
  }
  return kept;
}

static int by_size(int64_t a, int64_t b) { return a < b ? 1 : a > b ? -1 : 0; }

static int by_device(wf_device a, wf_device b) {
  if (a.type != b.type) return a.type < b.type ? -1 : 1;
  return a.index < b.index ? -1 : a.index > b.index;
}

const char *wf__report_site(const void *site) {
  char name[256];
  const char *kept = site ? wf__intern(wf_site_name(site, name, sizeof name)) : "";
  return kept ? kept : "";
}

/* ---- copies ------------------------------------------------------------------------------------------------------- */

static int compare_kind(const void *a, const void *b) {
  const wf__move *x = a, *y = b;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  return (int)x->implicit - (int)y->implicit;
}

static int compare_move(const void *a, const void *b) {
  const wf__move *x = a, *y = b;
  int d = strcmp(x->site, y->site);
  if (!d) d = strcmp(x->op, y->op);
  if (!d) d = compare_kind(a, b);
  if (!d) d = strcmp(x->module, y->module);
  return d ? d : by_device(x->device, y->device);
}

static int compare_move_shown(const void *a, const void *b) {
  const wf__move *x = a, *y = b;
  int d = by_size(x->ns, y->ns);
  if (!d) d = by_size(x->bytes_written, y->bytes_written);
  return d ? d : compare_move(a, b);
}

static void add_move(void *to, const void *from) {
  wf__move *x = to;
  const wf__move *y = from;
  x->count += y->count;
  x->bytes_read += y->bytes_read;
  x->bytes_written += y->bytes_written;
  x->ns += y->ns;
}

static wf_status make_moves(const wf_report *r, wf__summary *s) {
  s->moves = wf__malloc((r->row_count + 1) * sizeof *s->moves);
  s->kinds = s->moves ? wf__malloc((r->row_count + 1) * sizeof *s->kinds) : NULL;
  if (!s->kinds) return WF_NO_MEMORY;
  size_t n = 0;
  for (size_t i = 0; i < r->row_count; i++) {
    const wf_ledger_row *row = &r->rows[i];
    if (!wf__kind_moves(row->kind)) continue;
    wf__move m = {wf__report_site(row->site),
                  row->op,
                  row->module,
                  row->kind,
                  row->device,
                  row->implicit,
                  row->count,
                  row->bytes_read,
                  row->bytes_written,
                  row->ns};
    s->moves[n] = m;
    m.site = m.op = m.module = "";
    s->kinds[n++] = m;
    if (row->implicit && (row->kind == WF_EVENT_COPY || row->kind == WF_EVENT_CAST)) {
      s->implicit_count += row->count;
      s->implicit_bytes += row->bytes_written;
    }
  }
  s->move_count = merge(s->moves, n, sizeof *s->moves, compare_move, add_move);
  s->kind_count = merge(s->kinds, n, sizeof *s->kinds, compare_kind, add_move);
  if (s->move_count) qsort(s->moves, s->move_count, sizeof *s->moves, compare_move_shown);
  return WF_OK;
}

/* ---- waits -------------------------------------------------------------------------------------------------------- */

static int compare_wait(const void *a, const void *b) {
  const wf__host_wait *x = a, *y = b;
  int d = strcmp(x->site, y->site);
  if (!d) d = strcmp(x->what, y->what);
  if (!d) d = strcmp(x->stage, y->stage);
  return d ? d : by_device(x->device, y->device);
}

static int compare_wait_shown(const void *a, const void *b) {
  int d = by_size(((const wf__host_wait *)a)->ns, ((const wf__host_wait *)b)->ns);
  return d ? d : compare_wait(a, b);
}

static void add_wait(void *to, const void *from) {
  ((wf__host_wait *)to)->count += ((const wf__host_wait *)from)->count;
  ((wf__host_wait *)to)->ns += ((const wf__host_wait *)from)->ns;
}

static wf_status make_waits(const wf_report *r, wf__summary *s) {
  s->waits = wf__malloc((r->row_count + 1) * sizeof *s->waits);
  if (!s->waits) return WF_NO_MEMORY;
  size_t n = 0;
  for (size_t i = 0; i < r->row_count; i++) {
    const wf_ledger_row *row = &r->rows[i];
    if (row->kind != WF_EVENT_WAIT) continue;
    s->waits[n++] = (wf__host_wait){wf__report_site(row->site), row->op, row->zone, row->device, row->count, row->ns};
    s->wait_ns += row->ns;
  }
  s->wait_count = merge(s->waits, n, sizeof *s->waits, compare_wait, add_wait);
  if (s->wait_count) qsort(s->waits, s->wait_count, sizeof *s->waits, compare_wait_shown);
  return WF_OK;
}

/* ---- operators and devices ---------------------------------------------------------------------------------------- */

static int compare_operator(const void *a, const void *b) {
  const wf__operator_time *x = a, *y = b;
  int d = strcmp(x->op, y->op);
  if (!d) d = strcmp(x->module, y->module);
  return d ? d : by_device(x->device, y->device);
}

static int compare_operator_shown(const void *a, const void *b) {
  int d = by_size(((const wf__operator_time *)a)->ns, ((const wf__operator_time *)b)->ns);
  return d ? d : compare_operator(a, b);
}

static void add_operator(void *to, const void *from) {
  ((wf__operator_time *)to)->count += ((const wf__operator_time *)from)->count;
  ((wf__operator_time *)to)->ns += ((const wf__operator_time *)from)->ns;
}

static wf_status make_operators(const wf_report *r, wf__summary *s) {
  s->operators = wf__malloc((r->row_count + 1) * sizeof *s->operators);
  if (!s->operators) return WF_NO_MEMORY;
  size_t n = 0;
  for (size_t i = 0; i < r->row_count; i++) {
    const wf_ledger_row *row = &r->rows[i];
    if (row->kind == WF_EVENT_KERNEL)
      s->operators[n++] = (wf__operator_time){row->op, row->module, row->device, row->count, row->ns};
  }
  s->operator_count = merge(s->operators, n, sizeof *s->operators, compare_operator, add_operator);
  if (s->operator_count) qsort(s->operators, s->operator_count, sizeof *s->operators, compare_operator_shown);
  return WF_OK;
}

/* Whether the device itself spends the time of such an event. Staging is done by the host; packing lies within its kernel. */
static bool runs_on_device(wf_event_kind kind) {
  return kind == WF_EVENT_KERNEL || (wf__kind_moves(kind) && kind != WF_EVENT_STAGE && kind != WF_EVENT_PACK);
}

static bool is_transfer(wf_event_kind kind) {
  return kind == WF_EVENT_H2D || kind == WF_EVENT_D2H || kind == WF_EVENT_D2D;
}

static int compare_device(const void *a, const void *b) {
  return by_device(((const wf__device_time *)a)->device, ((const wf__device_time *)b)->device);
}

static void add_device(void *to, const void *from) {
  ((wf__device_time *)to)->compute_ns += ((const wf__device_time *)from)->compute_ns;
  ((wf__device_time *)to)->transfer_ns += ((const wf__device_time *)from)->transfer_ns;
}

static wf_status make_devices(const wf_report *r, wf__summary *s) {
  s->devices = wf__malloc((r->row_count + 1) * sizeof *s->devices);
  if (!s->devices) return WF_NO_MEMORY;
  size_t n = 0;
  for (size_t i = 0; i < r->row_count; i++) {
    const wf_ledger_row *row = &r->rows[i];
    if (!wf__device_is_async(row->device) || !runs_on_device(row->kind)) continue;
    bool transfer = is_transfer(row->kind);
    s->devices[n++] = (wf__device_time){row->device, transfer ? 0 : row->ns, transfer ? row->ns : 0};
  }
  s->device_count = merge(s->devices, n, sizeof *s->devices, compare_device, add_device);
  return WF_OK;
}

/* ---- stages ------------------------------------------------------------------------------------------------------- */

static int rank_of_stage(const char *name) {
  static const char *const order[] = {"load", "copy", "forward", "backward", "optimizer"};
  int i = 0;
  while (i < 5 && strcmp(order[i], name)) i++;
  return i;
}

static int compare_stage(const void *a, const void *b) {
  return strcmp(((const wf__stage *)a)->name, ((const wf__stage *)b)->name);
}

static int compare_stage_shown(const void *a, const void *b) {
  const wf__stage *x = a, *y = b;
  int d = rank_of_stage(x->name) - rank_of_stage(y->name);
  if (!d) d = by_size(wf__stage_work(x), wf__stage_work(y));
  return d ? d : compare_stage(a, b);
}

static void add_stage(void *to, const void *from) {
  wf__stage *x = to;
  const wf__stage *y = from;
  x->count += y->count;
  x->host_ns += y->host_ns;
  x->wait_ns += y->wait_ns;
  x->device_ns += y->device_ns;
}

static wf_status make_stages(const wf_report *r, wf__summary *s) {
  s->stages = wf__malloc((2 * r->row_count + 1) * sizeof *s->stages);
  if (!s->stages) return WF_NO_MEMORY;
  size_t n = 0;
  for (size_t i = 0; i < r->row_count; i++) {
    const wf_ledger_row *row = &r->rows[i];
    if (row->kind == WF_EVENT_ZONE) s->stages[n++] = (wf__stage){row->op, row->count, row->ns, 0, 0};
    if (!*row->zone) continue;
    wf__stage part = {.name = row->zone};
    if (row->kind == WF_EVENT_ZONE) part.host_ns = -row->ns; /* an inner zone has its time for itself */
    if (row->kind == WF_EVENT_WAIT) part.wait_ns = row->ns;
    if (wf__device_is_async(row->device) && runs_on_device(row->kind)) part.device_ns = row->ns;
    s->stages[n++] = part;
  }
  s->stage_count = merge(s->stages, n, sizeof *s->stages, compare_stage, add_stage);
  if (s->stage_count) qsort(s->stages, s->stage_count, sizeof *s->stages, compare_stage_shown);
  return WF_OK;
}

wf_status wf__summary_make(const wf_report *r, wf__summary *s) {
  *s = (wf__summary){0};
  if (!make_moves(r, s) && !make_waits(r, s) && !make_operators(r, s) && !make_devices(r, s) && !make_stages(r, s))
    return WF_OK;
  wf__summary_release(s);
  return WF_NO_MEMORY;
}

void wf__summary_release(wf__summary *s) {
  wf__release(s->stages);
  wf__release(s->kinds);
  wf__release(s->moves);
  wf__release(s->waits);
  wf__release(s->operators);
  wf__release(s->devices);
  *s = (wf__summary){0};
}
