/* The report for a terminal of 80 columns. */
#include <stdio.h>
#include <string.h>

#include "base/host.h"
#include "report/columns.h"
#include "report/findings.h"
#include "report/units.h"

#define COLUMNS 80
#define MOVES_SHOWN 20
#define WAITS_SHOWN 20
#define OPERATORS_SHOWN 8

/* ---- pieces ------------------------------------------------------------------------------------------------------- */

/* The place of a character. */
static const char *character(const char *text, size_t n) {
  while (*text && n) {
    text++;
    n -= ((unsigned char)*text & 0xc0) != 0x80;
  }
  return text;
}

static void put_left(wf__text *out, const char *text, size_t width) {
  wf__text_put(out, text);
  wf__text_repeat(out, ' ', (int64_t)width - (int64_t)wf__columns_of(text));
}

/* Behind a blank. */
static void put_right(wf__text *out, const char *text, size_t width) {
  wf__text_repeat(out, ' ', 1 + (int64_t)width - (int64_t)wf__columns_of(text));
  wf__text_put(out, text);
}

/* The text, cut in the middle when it is too wide: a file and its line say most at both ends. */
static void put_cut(wf__text *out, const char *text, size_t width) {
  size_t n = wf__columns_of(text);
  if (n <= width) {
    put_left(out, text, width);
    return;
  }
  size_t tail = (width - 2) / 2, head = width - 2 - tail;
  wf__text_append(out, text, (size_t)(character(text, head) - text));
  wf__text_put(out, "..");
  wf__text_put(out, character(text, n - tail));
}

static void heading(wf__text *out, const char *title, const char *columns) {
  wf__text_printf(out, "\n%s", title);
  if (*columns) put_right(out, columns, COLUMNS - 1 - strlen(title));
  wf__text_put(out, "\n");
}

static void more(wf__text *out, size_t shown, size_t all, const char *what) {
  if (all > shown) wf__text_printf(out, "  and %zu more %s\n", all - shown, what);
}

/* Adds "label value" to the line, on a new line when it is full. */
static void flow(wf__text *out, size_t *column, const char *label, const char *value) {
  size_t width = strlen(label) + 1 + strlen(value);
  if (*column && *column + 3 + width > COLUMNS) {
    wf__text_put(out, "\n");
    *column = 0;
  }
  if (*column) {
    wf__text_put(out, "   ");
    *column += 3;
  }
  wf__text_printf(out, "%s %s", label, value);
  *column += width;
}

/* ---- parts -------------------------------------------------------------------------------------------------------- */

static void put_head(wf__text *out, const wf_report *r) {
  size_t column = 0;
  char label[WF__UNIT_TEXT], value[WF__UNIT_TEXT];
  wf__text_printf(out, "%s\n", r->title);
  for (size_t i = 0; i < r->fact_count; i++)
    flow(out, &column, wf__label_text(r->facts[i].name, label), r->facts[i].text);
  if (column) wf__text_put(out, "\n");
  column = 0;
  wf__text_put(out, "\n");
  flow(out, &column, "wall time", wf__time_text(wf__report_wall(r), value));
  for (size_t i = 0; i < r->number_count; i++) {
    const wf__number *n = &r->numbers[i];
    flow(out, &column, wf__label_text(n->name, label), wf__number_text(n->value, n->unit, value));
  }
  for (size_t i = 0; i < r->curve_count; i++) {
    const wf__curve *c = &r->curves[i];
    if (c->n) flow(out, &column, c->name, wf__number_text(c->at[c->n - 1].value, WF_REPORT_NUMBER, value));
  }
  wf__text_put(out, "\n");
}

static void put_findings(wf__text *out, const wf_report *r, const wf__summary *s) {
  static const char *const marks[] = {"+", "-", "!"};
  wf__findings f;
  wf__findings_make(r, s, &f);
  wf__text_put(out, "\n");
  for (int i = 0; i < f.n; i++) wf__put_wrapped(out, marks[f.at[i].level], 2, f.at[i].text, COLUMNS);
}

static void put_seconds(wf__text *out, int64_t ns, size_t width) {
  char text[WF__UNIT_TEXT] = "-";
  if (ns) snprintf(text, sizeof text, "%.3f", (double)ns / 1e9);
  put_right(out, text, width);
}

static void put_time(wf__text *out, int64_t ns, size_t width) {
  char text[WF__UNIT_TEXT];
  put_right(out, wf__time_text(ns, text), width);
}

static void put_count(wf__text *out, int64_t n, size_t width) {
  char text[WF__UNIT_TEXT];
  put_right(out, wf__count_text(n, text), width);
}

static void put_bytes(wf__text *out, int64_t n, size_t width) {
  char text[WF__UNIT_TEXT];
  put_right(out, wf__bytes_text(n, text), width);
}

static void put_share(wf__text *out, int64_t part, const wf_report *r, size_t width) {
  char text[WF__UNIT_TEXT];
  put_right(out, wf__share_text(part, wf__report_wall(r), text), width);
}

static void put_stages(wf__text *out, const wf_report *r, const wf__summary *s) {
  if (!s->stage_count) return;
  heading(out, "Stages", "work s    share   host s  device s  waits s");
  for (size_t i = 0; i < s->stage_count; i++) {
    const wf__stage *g = &s->stages[i];
    wf__text_put(out, "  ");
    put_cut(out, g->name, 32);
    put_seconds(out, wf__stage_work(g), 8);
    put_share(out, wf__stage_work(g), r, 8);
    put_seconds(out, g->host_ns - g->wait_ns, 8);
    put_seconds(out, g->device_ns, 9);
    put_seconds(out, g->wait_ns, 8);
    wf__text_put(out, "\n");
  }
  wf__text_put(out, "  work = host without waits + device; stages overlap, so shares can exceed 100 %\n");
}

static void put_memory(wf__text *out, const wf_report *r) {
  if (!r->memory_count) return;
  heading(out, "Memory", "peak allocated   peak reserved");
  for (size_t i = 0; i < r->memory_count; i++) {
    const wf__memory_use *m = &r->memory[i];
    char name[2 * WF__UNIT_TEXT];
    wf__text_put(out, "  ");
    put_cut(out, wf__device_text(m->device, m->pinned, name), 46);
    put_bytes(out, m->stats.allocated_bytes[0].peak, 15);
    put_bytes(out, m->stats.reserved_bytes[0].peak, 15);
    wf__text_put(out, "\n");
  }
}

static const char *asked(bool implicit) { return implicit ? "IMPLICIT" : "asked"; }

static void put_kinds(wf__text *out, const wf__summary *s) {
  char rate[WF__UNIT_TEXT];
  if (!s->kind_count) return;
  heading(out, "Bytes moved", "count        read     written      time        rate");
  for (size_t i = 0; i < s->kind_count; i++) {
    const wf__move *m = &s->kinds[i];
    wf__text_printf(out, "  %-7s %-8s", wf_event_kind_name(m->kind), asked(m->implicit));
    put_count(out, m->count, 15);
    put_bytes(out, m->bytes_read, 11);
    put_bytes(out, m->bytes_written, 11);
    put_time(out, m->ns, 9);
    put_right(out, wf__rate_text(m->bytes_read + m->bytes_written, m->ns, rate), 11);
    wf__text_put(out, "\n");
  }
  if (!s->implicit_count) wf__text_put(out, "  no implicit copies\n");
}

static void put_moves(wf__text *out, const wf__summary *s) {
  char what[96];
  if (!s->move_count) return;
  heading(out, "Copy sites", "count     written      time");
  for (size_t i = 0; i < s->move_count && i < MOVES_SHOWN; i++) {
    const wf__move *m = &s->moves[i];
    const char *kind = wf_event_kind_name(m->kind);
    snprintf(what, sizeof what, strcmp(kind, m->op) ? "%s %s" : "%s", kind, m->op);
    wf__text_put(out, "  ");
    put_cut(out, *m->site ? m->site : "?", 22);
    wf__text_put(out, " ");
    put_cut(out, what, 16);
    wf__text_printf(out, " %-8s", asked(m->implicit));
    put_count(out, m->count, 7);
    put_bytes(out, m->bytes_written, 11);
    put_time(out, m->ns, 9);
    wf__text_put(out, "\n");
    if (*m->module) wf__text_printf(out, "    in %s\n", m->module);
  }
  more(out, MOVES_SHOWN, s->move_count, "in the HTML report and in --json");
}

/* What waits and operators have in common. */
static void put_timed(wf__text *out, const wf_report *r, const char *what, const char *where, int64_t count,
                      int64_t ns) {
  wf__text_put(out, "  ");
  put_cut(out, what, 24);
  wf__text_put(out, " ");
  put_cut(out, where, 25);
  put_count(out, count, 7);
  put_time(out, ns, 9);
  put_share(out, ns, r, 8);
  wf__text_put(out, "\n");
}

static void put_waits(wf__text *out, const wf_report *r, const wf__summary *s) {
  heading(out, "Host waits", s->wait_count ? "count      time    share" : "");
  if (!s->wait_count) wf__text_put(out, "  none\n");
  for (size_t i = 0; i < s->wait_count && i < WAITS_SHOWN; i++) {
    const wf__host_wait *w = &s->waits[i];
    put_timed(out, r, *w->site ? w->site : "?", w->what, w->count, w->ns);
  }
  more(out, WAITS_SHOWN, s->wait_count, "in the HTML report and in --json");
}

static void put_operators(wf__text *out, const wf_report *r, const wf__summary *s) {
  if (!s->operator_count) return;
  heading(out, "Operators", "count      time    share");
  for (size_t i = 0; i < s->operator_count && i < OPERATORS_SHOWN; i++) {
    const wf__operator_time *o = &s->operators[i];
    put_timed(out, r, o->op, o->module, o->count, o->ns);
  }
}

char *wf_report_text(wf_report *r) {
  wf__summary s;
  wf__text out = {0};
  if (wf__summary_make(r, &s)) return NULL;
  put_head(&out, r);
  put_findings(&out, r, &s);
  put_stages(&out, r, &s);
  put_memory(&out, r);
  put_kinds(&out, &s);
  put_moves(&out, &s);
  put_waits(&out, r, &s);
  put_operators(&out, r, &s);
  wf__summary_release(&s);
  return wf__text_take(&out);
}
