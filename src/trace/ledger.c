/* The reading side of the event stream: rows of all threads merged, events in order of time, sums. Works while threads record: an
 * entry is either read whole or not yet there; a row's four sums may be an event apart. */
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "trace/recorder.h"

#define SUM(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

static int64_t count_rows(void) {
  int64_t n = 2 * WF_EVENT_KINDS;
  for (wf__recorder *r = wf__recorders_next(NULL); r; r = wf__recorders_next(r))
    for (wf__row_chunk *c = __atomic_load_n(&r->rows, __ATOMIC_ACQUIRE); c;
         c = __atomic_load_n(&c->next, __ATOMIC_ACQUIRE))
      n += __atomic_load_n(&c->used, __ATOMIC_ACQUIRE);
  return n;
}

static void copy_row(wf_ledger_row *to, const wf_ledger_row *from) {
  *to = (wf_ledger_row){.kind = from->kind,
                        .implicit = from->implicit,
                        .device = from->device,
                        .op = from->op,
                        .module = from->module,
                        .zone = from->zone,
                        .site = from->site,
                        .count = SUM(from->count),
                        .bytes_read = SUM(from->bytes_read),
                        .bytes_written = SUM(from->bytes_written),
                        .ns = SUM(from->ns)};
}

/* At most `room` rows: threads may have added some since they were counted. */
static size_t copy_rows(wf_ledger_row *rows, size_t room) {
  size_t n = 0;
  for (wf__recorder *r = wf__recorders_next(NULL); r; r = wf__recorders_next(r))
    for (wf__row_chunk *c = __atomic_load_n(&r->rows, __ATOMIC_ACQUIRE); c;
         c = __atomic_load_n(&c->next, __ATOMIC_ACQUIRE)) {
      uint32_t used = __atomic_load_n(&c->used, __ATOMIC_ACQUIRE);
      for (uint32_t i = 0; i < used && n < room; i++) copy_row(&rows[n++], &c->row[i]);
    }
  for (int k = 0; k < WF_EVENT_KINDS; k++)
    for (int i = 0; i < 2 && n < room; i++) {
      const wf_ledger_row *row = wf__recorders_other((wf_event_kind)k, i);
      if (SUM(row->count)) copy_row(&rows[n++], row);
    }
  return n;
}

static int compare_key(const void *a, const void *b) {
  const wf_ledger_row *x = a, *y = b;
  if (x->site != y->site) return x->site < y->site ? -1 : 1;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->implicit != y->implicit) return x->implicit ? 1 : -1;
  if (x->device.type != y->device.type) return x->device.type < y->device.type ? -1 : 1;
  if (x->device.index != y->device.index) return x->device.index < y->device.index ? -1 : 1;
  int d = strcmp(x->op, y->op);
  if (!d) d = strcmp(x->module, y->module);
  return d ? d : strcmp(x->zone, y->zone);
}

static int compare_time(const void *a, const void *b) {
  const wf_ledger_row *x = a, *y = b;
  if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
  if (x->bytes_written != y->bytes_written) return x->bytes_written > y->bytes_written ? -1 : 1;
  return compare_key(a, b);
}

static size_t merge(wf_ledger_row *rows, size_t n) {
  size_t kept = 0;
  qsort(rows, n, sizeof *rows, compare_key);
  for (size_t i = 0; i < n; i++) {
    if (kept && !compare_key(&rows[kept - 1], &rows[i])) {
      wf_ledger_row *to = &rows[kept - 1];
      to->count += rows[i].count;
      to->bytes_read += rows[i].bytes_read;
      to->bytes_written += rows[i].bytes_written;
      to->ns += rows[i].ns;
    } else {
      rows[kept++] = rows[i];
    }
  }
  return kept;
}

wf_ledger_row *wf_ledger_rows(size_t *n) {
  *n = 0;
  wf__recorders_lock();
  size_t room = (size_t)count_rows(), got = 0;
  wf_ledger_row *rows = wf__malloc(room * sizeof *rows);
  if (rows) got = copy_rows(rows, room);
  wf__recorders_unlock();
  if (!rows) return NULL;
  *n = merge(rows, got);
  qsort(rows, *n, sizeof *rows, compare_time);
  return rows;
}

static int compare_start(const void *a, const void *b) {
  const wf_trace_event *x = a, *y = b;
  if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
  if (x->end_ns != y->end_ns) return x->end_ns > y->end_ns ? -1 : 1;
  return x->thread < y->thread ? -1 : x->thread > y->thread;
}

wf_trace_event *wf_trace_events(size_t *n) {
  size_t room = 0, got = 0;
  *n = 0;
  wf__recorders_lock();
  for (wf__recorder *r = wf__recorders_next(NULL); r; r = wf__recorders_next(r))
    for (wf__event_chunk *c = __atomic_load_n(&r->events, __ATOMIC_ACQUIRE); c;
         c = __atomic_load_n(&c->next, __ATOMIC_ACQUIRE))
      room += __atomic_load_n(&c->used, __ATOMIC_ACQUIRE);
  wf_trace_event *events = wf__malloc(room * sizeof *events);
  for (wf__recorder *r = events ? wf__recorders_next(NULL) : NULL; r; r = wf__recorders_next(r))
    for (wf__event_chunk *c = __atomic_load_n(&r->events, __ATOMIC_ACQUIRE); c;
         c = __atomic_load_n(&c->next, __ATOMIC_ACQUIRE)) {
      size_t used = __atomic_load_n(&c->used, __ATOMIC_ACQUIRE);
      if (used > room - got) used = room - got;
      memcpy(events + got, c->event, used * sizeof *events);
      got += used;
    }
  wf__recorders_unlock();
  if (!events) return NULL;
  qsort(events, got, sizeof *events, compare_start);
  *n = got;
  return events;
}

void wf_trace_release(void *rows) { wf__release(rows); }

int64_t wf_ledger_implicit_copies(void) {
  wf__recorders_lock();
  int64_t n = wf__recorders_lost_copies();
  for (wf__recorder *r = wf__recorders_next(NULL); r; r = wf__recorders_next(r)) n += SUM(r->implicit_copies);
  wf__recorders_unlock();
  return n;
}

int64_t wf_trace_dropped(void) {
  wf__recorders_lock();
  int64_t n = wf__recorders_lost();
  for (wf__recorder *r = wf__recorders_next(NULL); r; r = wf__recorders_next(r)) n += SUM(r->dropped);
  wf__recorders_unlock();
  return n;
}
