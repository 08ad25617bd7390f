/* Memory and metrics as curves: SVG in the document, so that they are there without the script, which only zooms them. Coordinates are
 * whole numbers: no locale writes those otherwise. */
#include <math.h>

#include "report/html.h"
#include "report/units.h"

#define HEIGHT 1000
#define METRIC_WIDTH 6000
#define POINTS_MAX 1500

/* ---- memory ------------------------------------------------------------------------------------------------------- */

static int level(int64_t value, int64_t top) { return (int)lround(HEIGHT - HEIGHT * (double)value / (double)top); }

static void step_path(wf__text *out, const int64_t *value, int64_t top, bool closed) {
  int before = closed ? HEIGHT : level(value[0], top);
  wf__text_printf(out, "M0 %d", before);
  for (int i = 0; i < WF__MEMORY_STEPS; i++) {
    int y = level(value[i], top);
    if (y != before) wf__text_printf(out, "H%dV%d", i, y);
    before = y;
  }
  wf__text_printf(out, closed ? "H%dV%dZ" : "H%d", WF__MEMORY_STEPS, HEIGHT);
}

static void put_memory_curve(wf__text *out, const wf__timeline *t, const wf__memory_curve *c, size_t number) {
  char name[2 * WF__UNIT_TEXT], allocated[WF__UNIT_TEXT], reserved[WF__UNIT_TEXT], at[WF__UNIT_TEXT],
      length[WF__UNIT_TEXT];
  int64_t top = c->peak_reserved > c->peak_allocated ? c->peak_reserved : c->peak_allocated;
  if (top <= 0) top = 1;
  wf__device_text(c->device, c->pinned, name);
  wf__bytes_text(c->peak_allocated, allocated);
  wf__bytes_text(c->peak_reserved, reserved);
  wf__text_printf(out,
                  "<figure class=\"curve memory\" data-curve=\"%zu\">\n<figcaption><b>%s</b> peak %s allocated at %s, ",
                  number, name, allocated, wf__time_text(c->peak_at - t->start, at));
  wf__text_printf(
      out,
      "%s reserved</figcaption>\n<div class=\"plot\"><span class=\"top\">%s</span>"
      "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Memory of %s over time\">",
      reserved, top == c->peak_reserved ? reserved : allocated, WF__MEMORY_STEPS, HEIGHT, name);
  wf__text_put(out, "<path class=\"area\" d=\"");
  step_path(out, c->allocated, top, true);
  wf__text_put(out, "\"/><path class=\"line\" d=\"");
  step_path(out, c->allocated, top, false);
  wf__text_put(out, "\"/><path class=\"limit\" d=\"");
  step_path(out, c->reserved, top, false);
  wf__text_printf(
      out, "\"/></svg></div>\n<p class=\"axis\"><span>0 s</span><output></output><span>%s</span></p>\n</figure>\n",
      wf__time_text(t->end - t->start, length));
}

void wf__html_memory(wf__text *out, const wf__timeline *t) {
  char step[WF__UNIT_TEXT];
  if (!t->memory_count) return;
  wf__text_put(out, "<section id=\"memory\">\n<h2>Memory</h2>\n");
  for (size_t i = 0; i < t->memory_count; i++) put_memory_curve(out, t, &t->memory[i], i);
  wf__text_printf(
      out,
      "<p class=\"note\"><i class=\"key line\"></i>allocated <i class=\"key limit\"></i>reserved; the largest "
      "value of each of %d steps of %s</p>\n</section>\n",
      WF__MEMORY_STEPS, wf__time_text((t->end - t->start) / WF__MEMORY_STEPS, step));
}

/* ---- metrics ------------------------------------------------------------------------------------------------------ */

typedef struct range {
  double low, high;
} range;

static range range_of(const wf__curve *c, size_t group) {
  range r = {INFINITY, -INFINITY};
  for (size_t i = 0; i < c->n; i += group) {
    double sum = 0;
    size_t n = 0;
    for (size_t k = i; k < i + group && k < c->n; k++)
      if (isfinite(c->at[k].value)) sum += c->at[k].value, n++;
    if (n) r.low = fmin(r.low, sum / (double)n), r.high = fmax(r.high, sum / (double)n);
  }
  return r;
}

/* A line through the mean of each group; what isn't a number interrupts it. */
static void metric_path(wf__text *out, const wf__curve *c, size_t group, range r) {
  double first = c->at[0].step, last = c->at[c->n - 1].step, high = r.high > r.low ? r.high - r.low : 1;
  bool open = false;
  for (size_t i = 0; i < c->n; i += group) {
    double sum = 0;
    size_t n = 0;
    for (size_t k = i; k < i + group && k < c->n; k++)
      if (isfinite(c->at[k].value)) sum += c->at[k].value, n++;
    double x = last > first ? METRIC_WIDTH * (c->at[i].step - first) / (last - first) : 0;
    double y = n ? HEIGHT - HEIGHT * (sum / (double)n - r.low) / high : 0;
    if (n) wf__text_printf(out, "%c%ld %ld", open ? 'L' : 'M', lround(x), lround(y));
    open = n > 0;
  }
}

static void put_metric(wf__text *out, const wf__curve *c) {
  size_t group = c->n / POINTS_MAX + 1;
  range r = range_of(c, group);
  char low[WF__UNIT_TEXT], high[WF__UNIT_TEXT], last[WF__UNIT_TEXT];
  if (c->n < 2 || !isfinite(r.low)) return;
  wf__text_put(out, "<figure class=\"curve metric\">\n<figcaption><b>");
  wf__html_text(out, c->name);
  wf__text_printf(out, "</b> %s at the end%s</figcaption>\n<div class=\"plot\"><span class=\"top\">%s</span>",
                  wf__number_text(c->at[c->n - 1].value, WF_REPORT_NUMBER, last),
                  group > 1 ? ", means of neighbours" : "", wf__number_text(r.high, WF_REPORT_NUMBER, high));
  wf__text_printf(
      out,
      "<span class=\"bottom\">%s</span><svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"",
      wf__number_text(r.low, WF_REPORT_NUMBER, low), METRIC_WIDTH, HEIGHT);
  wf__html_text(out, c->name);
  wf__text_put(out, " over steps\"><path class=\"line\" d=\"");
  metric_path(out, c, group, r);
  wf__text_printf(out,
                  "\"/></svg></div>\n<p class=\"axis\"><span>step %.0f</span><span>step %.0f</span></p>\n</figure>\n",
                  c->at[0].step, c->at[c->n - 1].step);
}

void wf__html_curves(wf__text *out, const wf_report *r) {
  if (!r->curve_count) return;
  wf__text_put(out, "<section id=\"metrics\">\n<h2>Metrics</h2>\n<div class=\"curves\">\n");
  for (size_t i = 0; i < r->curve_count; i++) put_metric(out, &r->curves[i]);
  wf__text_put(out, "</div>\n</section>\n");
}
