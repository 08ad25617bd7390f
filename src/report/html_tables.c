/* Stages, copies, waits and operators as tables. Cells that sort carry their number in data-v. */
#include <stdio.h>
#include <string.h>

#include "report/html.h"
#include "report/units.h"

#define ROWS_MAX 400

static void column(wf__text *out, const char *label, const char *class_name, bool sorts, bool descending) {
  wf__text_printf(out, "<th scope=\"col\" class=\"%s\"%s>", class_name, descending ? " aria-sort=\"descending\"" : "");
  if (sorts) wf__text_put(out, "<button type=\"button\">");
  wf__text_put(out, label);
  if (sorts) wf__text_put(out, "</button>");
  wf__text_put(out, "</th>");
}

static void number(wf__text *out, int64_t value, const char *shown, const char *below) {
  wf__text_printf(out, "<td class=\"n\" data-v=\"%lld\">", (long long)value);
  wf__html_text(out, shown);
  if (*below) {
    wf__text_put(out, "<small>");
    wf__html_text(out, below);
    wf__text_put(out, "</small>");
  }
  wf__text_put(out, "</td>");
}

static void time_cell(wf__text *out, int64_t ns, const char *below) {
  char text[WF__UNIT_TEXT];
  number(out, ns, wf__time_text(ns, text), below);
}

static void count_cell(wf__text *out, int64_t n) {
  char text[WF__UNIT_TEXT];
  number(out, n, wf__count_text(n, text), "");
}

static void bytes_cell(wf__text *out, const wf__move *m) {
  char written[WF__UNIT_TEXT], read[WF__UNIT_TEXT], below[2 * WF__UNIT_TEXT] = "";
  wf__bytes_text(m->bytes_written, written);
  if (m->bytes_read && m->bytes_read != m->bytes_written)
    snprintf(below, sizeof below, "%s read", wf__bytes_text(m->bytes_read, read));
  number(out, m->bytes_written, written, below);
}

static void more(wf__text *out, size_t all) {
  if (all > ROWS_MAX) wf__text_printf(out, "<p class=\"note\">The first %d of %zu are shown.</p>\n", ROWS_MAX, all);
}

/* ---- stages ------------------------------------------------------------------------------------------------------- */

static void bar(wf__text *out, const char *kind, const char *color, int64_t ns, int64_t full, const char *title) {
  char time[WF__UNIT_TEXT];
  int64_t share =
      (int64_t)(1e4 * (double)ns / (double)full); /* of a hundredth of a per cent; no locale writes it otherwise */
  if (ns <= 0) return;
  wf__text_printf(out, "<i class=\"%s c-%s\" style=\"width:%lld.%02lld%%\" title=\"%s %s\"></i>", kind, color,
                  (long long)share / 100, (long long)share % 100, title, wf__time_text(ns, time));
}

void wf__html_stages(wf__text *out, const wf_report *r, const wf__summary *s) {
  char share[WF__UNIT_TEXT], host[WF__UNIT_TEXT], device[WF__UNIT_TEXT], below[3 * WF__UNIT_TEXT];
  int64_t wall = wf__report_wall(r), full = wall;
  if (!s->stage_count) return;
  for (size_t i = 0; i < s->stage_count; i++) {
    int64_t all = wf__stage_work(&s->stages[i]) + s->stages[i].wait_ns;
    if (all > full) full = all;
  }
  wf__text_put(out, "<section id=\"stages\">\n<h2>Stages</h2>\n<table class=\"stages\">\n<thead><tr>");
  column(out, "Stage", "", false, false);
  column(out, "Share of the run", "bars", false, false);
  column(out, "Share", "n", false, false);
  column(out, "Work", "n", false, false);
  column(out, "Waits", "n", false, false);
  wf__text_put(out, "</tr></thead>\n<tbody>\n");
  for (size_t i = 0; i < s->stage_count; i++) {
    const wf__stage *g = &s->stages[i];
    const char *color = wf__html_color(s, g->name);
    int64_t work = wf__stage_work(g);
    wf__text_printf(out, "<tr><th scope=\"row\"><b class=\"swatch c-%s\"></b>", color);
    wf__html_text(out, g->name);
    wf__text_put(out, "</th><td class=\"bars\"><div class=\"bar\">");
    bar(out, "solid", color, g->host_ns - g->wait_ns, full, "host");
    bar(out, "device", color, g->device_ns, full, "device");
    bar(out, "waits", color, g->wait_ns, full, "waits");
    wf__text_put(out, "</div></td>");
    number(out, work, wf__share_text(work, wall, share), "");
    below[0] = 0;
    if (g->device_ns)
      snprintf(below, sizeof below, "host %s, device %s", wf__time_text(g->host_ns - g->wait_ns, host),
               wf__time_text(g->device_ns, device));
    time_cell(out, work, below);
    time_cell(out, g->wait_ns, "");
    wf__text_put(out, "</tr>\n");
  }
  wf__text_put(
      out,
      "</tbody>\n</table>\n<p class=\"note\"><i class=\"key solid\"></i>host <i class=\"key device\"></i>device "
      "<i class=\"key waits\"></i>host waits</p>\n</section>\n");
}

/* ---- copies ------------------------------------------------------------------------------------------------------- */

static void put_asked(wf__text *out, bool implicit) {
  wf__text_put(out, implicit ? "<em class=\"chip bad\">implicit</em>" : "<em class=\"chip\">asked</em>");
}

static void put_kinds(wf__text *out, const wf__summary *s) {
  char rate[WF__UNIT_TEXT];
  wf__text_put(out, "<section id=\"copies\">\n<h2>Bytes moved</h2>\n<table>\n<thead><tr>");
  column(out, "Kind", "", false, false);
  column(out, "Count", "n", false, false);
  column(out, "Written", "n", false, false);
  column(out, "Time", "n", false, false);
  wf__text_put(out, "</tr></thead>\n<tbody>\n");
  for (size_t i = 0; i < s->kind_count; i++) {
    const wf__move *m = &s->kinds[i];
    wf__text_printf(out, "<tr><th scope=\"row\">%s ", wf_event_kind_name(m->kind));
    put_asked(out, m->implicit);
    wf__text_put(out, "</th>");
    count_cell(out, m->count);
    bytes_cell(out, m);
    time_cell(out, m->ns, wf__rate_text(m->bytes_read + m->bytes_written, m->ns, rate));
    wf__text_put(out, "</tr>\n");
  }
  wf__text_put(out, "</tbody>\n</table>\n</section>\n");
}

static void put_move(wf__text *out, const wf__move *m) {
  char rate[WF__UNIT_TEXT], device[2 * WF__UNIT_TEXT];
  wf__text_put(out, "<tr><th scope=\"row\" data-v=\"");
  wf__html_text(out, m->site);
  wf__text_put(out, "\"><code>");
  wf__html_text(out, *m->site ? m->site : "unknown");
  wf__text_put(out, "</code> ");
  put_asked(out, m->implicit);
  wf__text_put(out, "<small>");
  wf__html_text(out, m->op);
  if (strcmp(m->op, wf_event_kind_name(m->kind))) wf__text_printf(out, " &middot; %s", wf_event_kind_name(m->kind));
  wf__text_put(out, " &middot; ");
  wf__html_text(out, wf__device_text(m->device, false, device));
  if (*m->module) {
    wf__text_put(out, " &middot; in ");
    wf__html_text(out, m->module);
  }
  wf__text_put(out, "</small></th>");
  count_cell(out, m->count);
  bytes_cell(out, m);
  time_cell(out, m->ns, wf__rate_text(m->bytes_read + m->bytes_written, m->ns, rate));
  wf__text_put(out, "</tr>\n");
}

static void put_moves(wf__text *out, const wf__summary *s) {
  wf__text_put(out, "<section id=\"copy-sites\">\n<h2>Copy sites</h2>\n<table class=\"sortable\">\n<thead><tr>");
  column(out, "Site", "", true, false);
  column(out, "Count", "n", true, false);
  column(out, "Written", "n", true, false);
  column(out, "Time", "n", true, true);
  wf__text_put(out, "</tr></thead>\n<tbody>\n");
  for (size_t i = 0; i < s->move_count && i < ROWS_MAX; i++) put_move(out, &s->moves[i]);
  wf__text_put(out, "</tbody>\n</table>\n");
  more(out, s->move_count);
  wf__text_put(out, "</section>\n");
}

/* ---- waits and operators ------------------------------------------------------------------------------------------ */

static void put_waits(wf__text *out, const wf_report *r, const wf__summary *s) {
  char share[WF__UNIT_TEXT];
  wf__text_put(out, "<section id=\"waits\">\n<h2>Host waits</h2>\n");
  if (!s->wait_count) {
    wf__text_put(out, "<p>None: the host never waited.</p>\n</section>\n");
    return;
  }
  wf__text_put(out, "<table class=\"sortable\">\n<thead><tr>");
  column(out, "Site", "", true, false);
  column(out, "Count", "n", true, false);
  column(out, "Time", "n", true, true);
  wf__text_put(out, "</tr></thead>\n<tbody>\n");
  for (size_t i = 0; i < s->wait_count && i < ROWS_MAX; i++) {
    const wf__host_wait *w = &s->waits[i];
    wf__text_put(out, "<tr><th scope=\"row\" data-v=\"");
    wf__html_text(out, w->site);
    wf__text_put(out, "\"><code>");
    wf__html_text(out, *w->site ? w->site : "unknown");
    wf__text_put(out, "</code><small>for ");
    wf__html_text(out, w->what);
    if (*w->stage) {
      wf__text_put(out, " &middot; in ");
      wf__html_text(out, w->stage);
    }
    wf__text_put(out, "</small></th>");
    count_cell(out, w->count);
    time_cell(out, w->ns, wf__share_text(w->ns, wf__report_wall(r), share));
    wf__text_put(out, "</tr>\n");
  }
  wf__text_put(out, "</tbody>\n</table>\n");
  more(out, s->wait_count);
  wf__text_put(out, "</section>\n");
}

static void put_operators(wf__text *out, const wf_report *r, const wf__summary *s) {
  char share[WF__UNIT_TEXT], device[2 * WF__UNIT_TEXT];
  if (!s->operator_count) return;
  wf__text_put(out, "<section id=\"operators\">\n<h2>Operators</h2>\n<table class=\"sortable\">\n<thead><tr>");
  column(out, "Operator", "", true, false);
  column(out, "Count", "n", true, false);
  column(out, "Time", "n", true, true);
  wf__text_put(out, "</tr></thead>\n<tbody>\n");
  for (size_t i = 0; i < s->operator_count && i < ROWS_MAX; i++) {
    const wf__operator_time *o = &s->operators[i];
    wf__text_put(out, "<tr><th scope=\"row\" data-v=\"");
    wf__html_text(out, o->op);
    wf__text_put(out, "\"><code>");
    wf__html_text(out, *o->op ? o->op : "unknown");
    wf__text_put(out, "</code><small>");
    wf__html_text(out, wf__device_text(o->device, false, device));
    if (*o->module) {
      wf__text_put(out, " &middot; in ");
      wf__html_text(out, o->module);
    }
    wf__text_put(out, "</small></th>");
    count_cell(out, o->count);
    time_cell(out, o->ns, wf__share_text(o->ns, wf__report_wall(r), share));
    wf__text_put(out, "</tr>\n");
  }
  wf__text_put(out, "</tbody>\n</table>\n");
  more(out, s->operator_count);
  wf__text_put(out, "</section>\n");
}

void wf__html_tables(wf__text *out, const wf_report *r, const wf__summary *s) {
  if (s->kind_count) put_kinds(out, s);
  if (s->move_count) put_moves(out, s);
  put_waits(out, r, s);
  put_operators(out, r, s);
}
