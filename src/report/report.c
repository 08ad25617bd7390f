/* Filling a report. Every call leaves it as it was when memory is out. */
#include "report/report.h"

#include <string.h>
#include <sys/resource.h>

#include "base/host.h"

wf_report *wf_report_new(const char *title) {
  wf_report *r = wf__calloc(1, sizeof *r);
  if (!r) return NULL;
  r->title = wf__strdup(title ? title : "");
  if (r->title) return r;
  wf__release(r);
  return NULL;
}

void wf_report_free(wf_report *r) {
  if (!r) return;
  for (size_t i = 0; i < r->fact_count; i++) {
    wf__release(r->facts[i].name);
    wf__release(r->facts[i].text);
  }
  for (size_t i = 0; i < r->number_count; i++) wf__release(r->numbers[i].name);
  for (size_t i = 0; i < r->curve_count; i++) {
    wf__release(r->curves[i].name);
    wf__release(r->curves[i].at);
  }
  wf__release(r->title);
  wf__release(r->facts);
  wf__release(r->numbers);
  wf__release(r->curves);
  wf__release(r->memory);
  wf__release(r->rows);
  wf__release(r->events);
  wf__release(r);
}

/* The array with room for `more` entries behind `count`, NULL when memory is out (the old one stays). Few entries: no spare room. */
static void *extended(void *array, size_t count, size_t more, size_t size) {
  return more > SIZE_MAX / size - count ? NULL : wf__realloc(array, (count + more) * size);
}

wf_status wf_report_fact(wf_report *r, const char *name, const char *text) {
  char *value = wf__strdup(text ? text : "");
  if (!value) return WF_NO_MEMORY;
  for (size_t i = 0; i < r->fact_count; i++)
    if (!strcmp(r->facts[i].name, name)) {
      wf__release(r->facts[i].text);
      r->facts[i].text = value;
      return WF_OK;
    }
  char *key = wf__strdup(name);
  wf__fact *facts = key ? extended(r->facts, r->fact_count, 1, sizeof *facts) : NULL;
  if (!facts) {
    wf__release(key);
    wf__release(value);
    return WF_NO_MEMORY;
  }
  r->facts = facts;
  facts[r->fact_count++] = (wf__fact){key, value};
  return WF_OK;
}

wf_status wf_report_number(wf_report *r, const char *name, double value, wf_report_unit unit) {
  for (size_t i = 0; i < r->number_count; i++)
    if (!strcmp(r->numbers[i].name, name)) {
      r->numbers[i].value = value;
      r->numbers[i].unit = unit;
      return WF_OK;
    }
  char *key = wf__strdup(name);
  wf__number *numbers = key ? extended(r->numbers, r->number_count, 1, sizeof *numbers) : NULL;
  if (!numbers) {
    wf__release(key);
    return WF_NO_MEMORY;
  }
  r->numbers = numbers;
  numbers[r->number_count++] = (wf__number){key, value, unit};
  return WF_OK;
}

static wf__curve *curve_named(wf_report *r, const char *name) {
  for (size_t i = 0; i < r->curve_count; i++)
    if (!strcmp(r->curves[i].name, name)) return &r->curves[i];
  char *key = wf__strdup(name);
  wf__curve *curves = key ? extended(r->curves, r->curve_count, 1, sizeof *curves) : NULL;
  if (!curves) {
    wf__release(key);
    return NULL;
  }
  r->curves = curves;
  curves[r->curve_count] = (wf__curve){.name = key};
  return &curves[r->curve_count++];
}

wf_status wf_report_metric(wf_report *r, const char *name, double step, double value) {
  wf__curve *c = curve_named(r, name);
  if (!c) return WF_NO_MEMORY;
  if (c->n == c->room) {
    wf__point *at = extended(c->at, c->n, c->n + 64, sizeof *at);
    if (!at) return WF_NO_MEMORY;
    c->at = at;
    c->room = 2 * c->n + 64;
  }
  c->at[c->n++] = (wf__point){step, value};
  return WF_OK;
}

wf_status wf_report_memory(wf_report *r, wf_device device, bool pinned, const wf_allocator_stats *stats) {
  wf__memory_use *memory = extended(r->memory, r->memory_count, 1, sizeof *memory);
  if (!memory) return WF_NO_MEMORY;
  r->memory = memory;
  memory[r->memory_count++] = (wf__memory_use){device, pinned, *stats};
  return WF_OK;
}

wf_status wf_report_span(wf_report *r, int64_t start_ns, int64_t end_ns) {
  WF__CHECK(end_ns >= start_ns, WF_VALUE, "a run can't end (%lld ns) before it starts (%lld ns)", (long long)end_ns,
            (long long)start_ns);
  r->start_ns = start_ns;
  r->end_ns = end_ns;
  return WF_OK;
}

wf_status wf_report_add_ledger(wf_report *r, const wf_ledger_row *rows, size_t n) {
  wf_ledger_row *all = extended(r->rows, r->row_count, n, sizeof *all);
  if (!all) return WF_NO_MEMORY;
  r->rows = all;
  if (n) memcpy(all + r->row_count, rows, n * sizeof *all);
  r->row_count += n;
  return WF_OK;
}

wf_status wf_report_add_events(wf_report *r, const wf_trace_event *events, size_t n) {
  wf_trace_event *all = extended(r->events, r->event_count, n, sizeof *all);
  if (!all) return WF_NO_MEMORY;
  r->events = all;
  if (n) memcpy(all + r->event_count, events, n * sizeof *all);
  r->event_count += n;
  return WF_OK;
}

static wf_status collect_numbers(wf_report *r) {
  struct rusage usage;
  if (!wf__report_number(r, "implicit_copies"))
    WF__TRY(wf_report_number(r, "implicit_copies", (double)wf_ledger_implicit_copies(), WF_REPORT_COUNT));
  if (!wf__report_number(r, "peak_rss_bytes") && !getrusage(RUSAGE_SELF, &usage))
    WF__TRY(wf_report_number(r, "peak_rss_bytes", (double)usage.ru_maxrss * 1024, WF_REPORT_BYTES));
  return WF_OK;
}

wf_status wf_report_collect(wf_report *r) {
  /* first: the report's own memory isn't the run's */
  WF__TRY(collect_numbers(r));
  if (!r->start_ns && !r->end_ns) wf_trace_span(&r->start_ns, &r->end_ns);
  r->dropped = wf_trace_dropped();
  size_t n;
  wf_ledger_row *rows = wf_ledger_rows(&n);
  wf_status status = rows ? wf_report_add_ledger(r, rows, n) : WF_NO_MEMORY;
  wf_trace_release(rows);
  if (status) return status;
  if (!r->events) { /* the usual case keeps the copy it got: there may be many */
    r->events = wf_trace_events(&r->event_count);
    return r->events ? WF_OK : WF_NO_MEMORY;
  }
  wf_trace_event *events = wf_trace_events(&n);
  status = events ? wf_report_add_events(r, events, n) : WF_NO_MEMORY;
  wf_trace_release(events);
  return status;
}

void wf_report_release(char *text) { wf__release(text); }

const wf__number *wf__report_number(const wf_report *r, const char *name) {
  for (size_t i = 0; i < r->number_count; i++)
    if (!strcmp(r->numbers[i].name, name)) return &r->numbers[i];
  return NULL;
}

const wf__memory_use *wf__report_device(const wf_report *r) {
  for (size_t i = 0; i < r->memory_count; i++)
    if (!r->memory[i].pinned) return &r->memory[i];
  return NULL;
}

int64_t wf__report_wall(const wf_report *r) {
  int64_t start = r->start_ns, end = r->end_ns;
  if (!start && !end && r->event_count) {
    start = r->events[0].start_ns;
    for (size_t i = 0; i < r->event_count; i++)
      if (r->events[i].end_ns > end) end = r->events[i].end_ns;
  }
  return end > start ? end - start : 1;
}
