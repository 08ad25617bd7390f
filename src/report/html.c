/* The HTML report: one file that needs nothing else. Numbers and tables are in the document itself; the script adds the timeline, the
 * sorting of tables and zooming. */
#include <string.h>

#include "base/host.h"
#include "format/atomic_file.h"
#include "report/html.h"
#include "report/units.h"

void wf__html_text(wf__text *out, const char *text) {
  for (const char *s = text; *s;) {
    size_t plain = strcspn(s, "&<>\"'");
    wf__text_append(out, s, plain);
    s += plain;
    switch (*s) {
      case '&': wf__text_put(out, "&amp;"); break;
      case '<': wf__text_put(out, "&lt;"); break;
      case '>': wf__text_put(out, "&gt;"); break;
      case '"': wf__text_put(out, "&quot;"); break;
      case '\'': wf__text_put(out, "&#39;"); break;
      default: return;
    }
    s++;
  }
}

const char *wf__html_color(const wf__summary *s, const char *stage) {
  static const char *const known[] = {"load", "copy", "forward", "backward", "optimizer"};
  static const char *const others[] = {"x0", "x1", "x2", "x3"};
  for (int i = 0; i < 5; i++)
    if (!strcmp(stage, known[i])) return known[i];
  size_t number = 0;
  for (size_t i = 0; i < s->stage_count; i++) {
    bool training = false;
    for (int k = 0; k < 5; k++) training |= !strcmp(s->stages[i].name, known[k]);
    if (!strcmp(stage, s->stages[i].name)) return others[number % 4];
    number += !training;
  }
  return "other";
}

/* ---- the head ----------------------------------------------------------------------------------------------------- */

static void put_head(wf__text *out, const wf_report *r) {
  wf__text_put(out,
               "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
               "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
  wf__html_text(out, r->title);
  wf__text_put(out, "</title>\n<style>\n");
  wf__text_put(out, wf__page_css);
  wf__text_put(out,
               "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the numbers</a>\n<header>\n<h1>");
  wf__html_text(out, r->title);
  wf__text_put(out, "</h1>\n<ul class=\"facts\">");
  for (size_t i = 0; i < r->fact_count; i++) {
    char label[WF__UNIT_TEXT];
    wf__text_put(out, "<li><span>");
    wf__html_text(out, wf__label_text(r->facts[i].name, label));
    wf__text_put(out, "</span> ");
    wf__html_text(out, r->facts[i].text);
    wf__text_put(out, "</li>");
  }
  wf__text_put(out, "</ul>\n</header>\n<main id=\"main\">\n");
}

static void put_tile(wf__text *out, const char *mood, const char *label, const char *value, const char *note) {
  wf__text_printf(out, "<div class=\"tile%s%s\"><dt>", *mood ? " " : "", mood);
  wf__html_text(out, label);
  wf__text_put(out, "</dt><dd>");
  wf__html_text(out, value);
  wf__text_put(out, "</dd>");
  if (*note) {
    wf__text_put(out, "<dd class=\"note\">");
    wf__html_text(out, note);
    wf__text_put(out, "</dd>");
  }
  wf__text_put(out, "</div>\n");
}

static void put_number_tile(wf__text *out, const wf_report *r, const char *name) {
  const wf__number *n = wf__report_number(r, name);
  char label[WF__UNIT_TEXT], value[WF__UNIT_TEXT];
  if (n) put_tile(out, "", wf__label_text(name, label), wf__number_text(n->value, n->unit, value), "");
}

static void put_memory_tile(wf__text *out, const wf_report *r) {
  const wf__memory_use *m = wf__report_device(r);
  char value[WF__UNIT_TEXT], reserved[WF__UNIT_TEXT], note[2 * WF__UNIT_TEXT];
  if (!m) return;
  wf__bytes_text(m->stats.allocated_bytes[0].peak, value);
  snprintf(note, sizeof note, "allocated; %s reserved", wf__bytes_text(m->stats.reserved_bytes[0].peak, reserved));
  put_tile(out, "", "peak memory", value, note);
}

static void put_copies_tile(wf__text *out, const wf_report *r, const wf__summary *s) {
  const wf__number *given = wf__report_number(r, "implicit_copies");
  int64_t n = given ? (int64_t)given->value : s->implicit_count;
  char value[WF__UNIT_TEXT], bytes[WF__UNIT_TEXT], note[2 * WF__UNIT_TEXT] = "";
  if (s->implicit_count > n) snprintf(note, sizeof note, "%lld in the whole recording", (long long)s->implicit_count);
  else if (n) snprintf(note, sizeof note, "wrote %s", wf__bytes_text(s->implicit_bytes, bytes));
  put_tile(out, n ? "bad" : "good", "implicit copies", wf__count_text(n, value), note);
}

/* Waits of the main thread, those within others once; -1 when the events don't say. */
static int64_t main_thread_waits(const wf_report *r) {
  int64_t ns = 0, until = INT64_MIN;
  bool known = false;
  for (size_t i = 0; i < r->event_count && !r->dropped; i++) {
    const wf_trace_event *e = &r->events[i];
    if (strcmp(wf_trace_thread_name(e->thread), "main")) continue;
    known = true;
    if (e->kind != WF_EVENT_WAIT || e->end_ns <= until) continue;
    ns += e->end_ns - (e->start_ns > until ? e->start_ns : until);
    until = e->end_ns;
  }
  return known ? ns : -1;
}

static void put_waits_tile(wf__text *out, const wf_report *r, const wf__summary *s) {
  char value[WF__UNIT_TEXT], share[WF__UNIT_TEXT], note[2 * WF__UNIT_TEXT] = "";
  int64_t ns = main_thread_waits(r);
  if (ns >= 0) {
    snprintf(note, sizeof note, "%s of the run, main thread", wf__share_text(ns, wf__report_wall(r), share));
    put_tile(out, "", "host waits", wf__time_text(ns, value), note);
    return;
  }
  if (s->wait_ns)
    snprintf(note, sizeof note, "%s of the run, all threads", wf__share_text(s->wait_ns, wf__report_wall(r), share));
  put_tile(out, "", "host waits", wf__time_text(s->wait_ns, value), note);
}

static void put_tiles(wf__text *out, const wf_report *r, const wf__summary *s) {
  char wall[WF__UNIT_TEXT];
  wf__text_put(out, "<dl class=\"tiles\">\n");
  put_number_tile(out, r, "images_per_s");
  put_number_tile(out, r, "test_accuracy");
  put_tile(out, "", "wall time", wf__time_text(wf__report_wall(r), wall), "");
  put_memory_tile(out, r);
  put_copies_tile(out, r, s);
  put_waits_tile(out, r, s);
  wf__text_put(out, "</dl>\n");
}

static void put_findings(wf__text *out, const wf_report *r, const wf__summary *s) {
  static const char *const levels[] = {"good", "plain", "bad"};
  wf__findings f;
  wf__findings_make(r, s, &f);
  wf__text_put(out, "<ul class=\"findings\">\n");
  for (int i = 0; i < f.n; i++) {
    wf__text_printf(out, "<li class=\"%s\">", levels[f.at[i].level]);
    wf__html_text(out, f.at[i].text);
    wf__text_put(out, "</li>\n");
  }
  wf__text_put(out, "</ul>\n");
}

/* ---- the foot ----------------------------------------------------------------------------------------------------- */

static void put_numbers(wf__text *out, const wf_report *r) {
  char label[WF__UNIT_TEXT], value[WF__UNIT_TEXT];
  if (!r->number_count) return;
  wf__text_put(out, "<section id=\"numbers\">\n<h2>All numbers</h2>\n<dl class=\"pairs\">\n");
  for (size_t i = 0; i < r->number_count; i++) {
    const wf__number *n = &r->numbers[i];
    wf__text_put(out, "<div><dt>");
    wf__html_text(out, wf__label_text(n->name, label));
    wf__text_put(out, "</dt><dd>");
    wf__html_text(out, wf__number_text(n->value, n->unit, value));
    wf__text_put(out, "</dd></div>\n");
  }
  wf__text_put(out, "</dl>\n</section>\n");
}

static void put_foot(wf__text *out) {
  wf__text_put(
      out,
      "</main>\n<footer>\n<p>Asked: the program called the copy by name. Implicit: an operator or module made it to "
      "get the layout it wanted. Pack: a library packed its own weights; shown apart. Stage: pageable host "
      "memory went through pinned memory. Work of a stage: host time without waits, plus device time; stages "
      "overlap, so shares can add up to more than 100 %.</p>\n<p>Weft ");
  wf__text_put(out, wf_version());
  wf__text_put(out, "</p>\n</footer>\n");
}

static void put_page(wf__text *out, const wf_report *r, const wf__summary *s, const wf__timeline *t) {
  put_head(out, r);
  put_tiles(out, r, s);
  put_findings(out, r, s);
  wf__html_stages(out, r, s);
  wf__html_timeline(out, r, s, t);
  wf__html_memory(out, t);
  wf__html_tables(out, r, s);
  wf__html_curves(out, r);
  put_numbers(out, r);
  put_foot(out);
  wf__html_data(out, r, s, t);
  wf__text_put(out, "<script>\n");
  wf__text_put(out, wf__page_js);
  wf__text_put(out, "</script>\n</body>\n</html>\n");
}

wf_status wf_report_write_html(wf_report *r, const char *path) {
  wf__summary s;
  wf__timeline t;
  wf__text out = {0};
  WF__TRY(wf__summary_make(r, &s));
  wf_status status = wf__timeline_make(r, &t);
  if (status) {
    wf__summary_release(&s);
    return status;
  }
  put_page(&out, r, &s, &t);
  wf__summary_release(&s);
  wf__timeline_release(&t);
  status = out.status ? out.status : wf__atomic_write(path, out.data, out.size);
  wf__text_release(&out);
  return status;
}
