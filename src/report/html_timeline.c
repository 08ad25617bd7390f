/* The timeline: its frame in the document, and what the script draws as JSON. Times there are whole units of 100 ns since the run began,
 * each start as the distance from the one before. */
#include <string.h>

#include "base/host.h"
#include "format/json_writer.h"
#include "report/html.h"
#include "report/units.h"

#define UNIT_NS 100

/* ---- the frame ---------------------------------------------------------------------------------------------------- */

static void put_shown(wf__text *out, const wf__timeline *t) {
  char found[WF__UNIT_TEXT], shown[WF__UNIT_TEXT], all[WF__UNIT_TEXT], step[WF__UNIT_TEXT];
  wf__text_put(out, "<p class=\"note\">Shown: ");
  if (t->step)
    wf__text_printf(out, "%s stretches of stages as shares of %d steps of %s; ",
                    wf__count_text((int64_t)t->segments_found, found), WF__BARS, wf__time_text(t->step, step));
  else wf__text_printf(out, "all %s stretches of stages; ", wf__count_text((int64_t)t->segments_found, found));
  if (t->op_count == t->ops_found)
    wf__text_printf(out, "all %s single operations.", wf__count_text((int64_t)t->ops_found, all));
  else
    wf__text_printf(out,
                    "%s of %s single operations, those of the parts that the buttons name. The Chrome trace has all.",
                    wf__count_text((int64_t)t->op_count, shown), wf__count_text((int64_t)t->ops_found, all));
  wf__text_put(out, "</p>\n");
}

static void put_legend(wf__text *out, const wf__summary *s) {
  wf__text_put(out, "<p class=\"legend\">");
  for (size_t i = 0; i < s->stage_count; i++) {
    wf__text_printf(out, "<span><b class=\"swatch c-%s\"></b>", wf__html_color(s, s->stages[i].name));
    wf__html_text(out, s->stages[i].name);
    wf__text_put(out, "</span> ");
  }
  wf__text_put(
      out,
      "<span><b class=\"swatch c-other\"></b>no stage</span> <span><b class=\"swatch waits\"></b>host waits</span> "
      "<span><b class=\"swatch c-bad\"></b>implicit copy</span></p>\n");
}

void wf__html_timeline(wf__text *out, const wf_report *r, const wf__summary *s, const wf__timeline *t) {
  wf__text_put(out, "<section id=\"timeline\">\n<h2>Timeline</h2>\n");
  if (!t->lanes.n) {
    wf__text_put(out,
                 "<p>Single events weren't recorded: trace at level full to see the run over time.</p>\n</section>\n");
    return;
  }
  wf__text_put(
      out,
      "<noscript><p>The timeline is drawn by the page's script.</p></noscript>\n"
      "<div class=\"tools\" id=\"tl-tools\" hidden>\n<span class=\"group\"><button type=\"button\" data-go=\"in\" "
      "aria-label=\"Zoom in\">+</button><button type=\"button\" data-go=\"out\" aria-label=\"Zoom out\">&minus;</button>"
      "<button type=\"button\" data-go=\"all\">Whole run</button></span>\n<span class=\"group\" id=\"tl-views\"></span>\n"
      "</div>\n<canvas id=\"tl\" tabindex=\"0\" role=\"application\" aria-label=\"Timeline of stages by thread and stream. "
      "Left and right move, plus and minus zoom, up and down choose a lane, comma and full stop step through it, "
      "0 shows the whole run.\" aria-describedby=\"tl-detail\"></canvas>\n"
      "<output id=\"tl-detail\" aria-live=\"polite\">Point at something, or tap it, for its details. Drag to move, "
      "pinch or Ctrl and wheel to zoom; keys: arrows, + and &minus;, comma and full stop, 0.</output>\n");
  put_legend(out, s);
  put_shown(out, t);
  wf__text_put(out, "</section>\n");
}

/* ---- the data ----------------------------------------------------------------------------------------------------- */

/* Texts that many entries share, by number. */
typedef struct strings {
  const char **at;
  size_t n, room;
  wf_status status;
} strings;

static int64_t number_of(strings *all, const char *text) {
  for (size_t i = all->n; i-- > 0;)
    if (!strcmp(all->at[i], text)) return (int64_t)i;
  if (all->n == all->room) {
    const char **at = wf__realloc(all->at, (all->room + 64) * sizeof *at);
    if (!at) {
      all->status = WF_NO_MEMORY;
      return 0;
    }
    all->at = at;
    all->room += 64;
  }
  all->at[all->n] = text;
  return (int64_t)all->n++;
}

static int64_t units(int64_t ns) { return ns / UNIT_NS; }

static void put_lanes(wf__json *j, const wf__timeline *t) {
  char device[2 * WF__UNIT_TEXT];
  wf__json_key(j, "lanes");
  wf__json_array(j);
  for (size_t i = 0; i < t->lanes.n; i++) {
    const wf__lane *lane = &t->lanes.at[i];
    wf__json_object(j);
    wf__json_member_string(j, "group", lane->on_device ? wf__device_text(lane->device, false, device) : "host");
    wf__json_member_string(j, "name", lane->name);
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
}

/* Lane by lane: type, name, start, length, busy (0: all of it), whole (0: it is). */
static void put_segments(wf__json *j, const wf__timeline *t, strings *names) {
  size_t k = 0;
  wf__json_key(j, "segments");
  wf__json_array(j);
  for (size_t lane = 0; lane < t->lanes.n; lane++) {
    int64_t before = 0;
    wf__json_array(j);
    for (; k < t->segment_count && t->segment[k].lane == lane; k++) {
      const wf__segment *s = &t->segment[k];
      int64_t start = units(s->start - t->start), length = units(s->end - t->start) - start;
      wf__json_int(j, (int64_t)s->type);
      wf__json_int(j, number_of(names, s->name));
      wf__json_int(j, start - before);
      wf__json_int(j, length);
      wf__json_int(j, s->busy < s->end - s->start ? units(s->busy) : 0);
      wf__json_int(j, units(s->whole));
      before = start;
    }
    wf__json_array_end(j);
  }
  wf__json_array_end(j);
}

static void put_op(wf__json *j, const wf__timeline *t, const wf_trace_event *e, strings *names, int64_t *before) {
  int64_t start = units(e->start_ns - t->start);
  wf__json_int(j, (int64_t)wf__lane_of(&t->lanes, e));
  wf__json_int(j, number_of(names, e->op));
  wf__json_int(j, number_of(names, e->zone));
  wf__json_int(j, start - *before);
  wf__json_int(j, units(e->end_ns - t->start) - start);
  wf__json_int(j, number_of(names, wf_event_kind_name(e->kind)));
  wf__json_int(j, wf__kind_moves(e->kind) ? 1 + e->implicit : 0);
  wf__json_int(j, e->bytes_read);
  wf__json_int(j, e->bytes_written);
  wf__json_int(j, number_of(names, wf__report_site(e->site)));
  wf__json_int(j, number_of(names, e->module));
  *before = start;
}

static void put_ops(wf__json *j, const wf_report *r, const wf__timeline *t, strings *names) {
  int64_t before = 0;
  wf__json_key(j, "ops");
  wf__json_array(j);
  for (size_t i = 0; i < t->op_count; i++) put_op(j, t, &r->events[t->op[i]], names, &before);
  wf__json_array_end(j);
  wf__json_key(j, "views");
  wf__json_array(j);
  for (int i = 0; i < t->view_count; i++) {
    wf__json_object(j);
    wf__json_member_string(j, "label", t->view[i].label);
    wf__json_member_int(j, "start", units(t->view[i].start - t->start));
    wf__json_member_int(j, "end", units(t->view[i].end - t->start) + 1);
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
}

static void put_memory(wf__json *j, const wf__timeline *t) {
  wf__json_key(j, "memory");
  wf__json_array(j);
  for (size_t i = 0; i < t->memory_count; i++) {
    wf__json_object(j);
    wf__json_key(j, "allocated");
    wf__json_array(j);
    for (int k = 0; k < WF__MEMORY_STEPS; k++) wf__json_int(j, t->memory[i].allocated[k]);
    wf__json_array_end(j);
    wf__json_key(j, "reserved");
    wf__json_array(j);
    for (int k = 0; k < WF__MEMORY_STEPS; k++) wf__json_int(j, t->memory[i].reserved[k]);
    wf__json_array_end(j);
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
}

static void put_names(wf__json *j, const wf__summary *s, const strings *names) {
  wf__json_key(j, "names");
  wf__json_array(j);
  for (size_t i = 0; i < names->n; i++) wf__json_string(j, names->at[i]);
  wf__json_array_end(j);
  wf__json_key(j, "colors");
  wf__json_array(j);
  for (size_t i = 0; i < names->n; i++) wf__json_string(j, wf__html_color(s, names->at[i]));
  wf__json_array_end(j);
}

void wf__html_data(wf__text *out, const wf_report *r, const wf__summary *s, const wf__timeline *t) {
  wf__json j;
  strings names = {0};
  wf__text_put(out, "<script type=\"application/json\" id=\"data\">");
  wf__json_begin(&j, out, NULL, 0);
  j.for_html = true;
  wf__json_object(&j);
  wf__json_member_int(&j, "unit_ns", UNIT_NS);
  wf__json_member_int(&j, "length", units(t->end - t->start));
  wf__json_member_int(&j, "step", units(t->step));
  put_lanes(&j, t);
  put_segments(&j, t, &names);
  put_ops(&j, r, t, &names);
  put_memory(&j, t);
  put_names(&j, s, &names);
  wf__json_object_end(&j);
  wf_status status = wf__json_end(&j);
  if (!out->status) out->status = status ? status : names.status;
  wf__release(names.at);
  wf__text_put(out, "</script>\n");
}
