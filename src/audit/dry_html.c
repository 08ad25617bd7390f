/* The report of a dry run as a page: its tables, and below them the page of the memory snapshot. */
#include <stdio.h>

#include "audit/dry_parts.h"
#include "base/host.h"
#include "report/html.h"
#include "report/units.h"

static void cell(wf__text *out, const char *text, bool number) {
  wf__text_put(out, number ? "<td class=\"n\">" : "<td>");
  wf__html_text(out, text);
  wf__text_put(out, "</td>");
}

static void begin_table(wf__text *out, const char *title, const char *const *heads, int n, int numbers) {
  wf__text_printf(out, "<section>\n<h2>%s</h2>\n<table>\n<thead><tr>", title);
  for (int i = 0; i < n; i++) wf__text_printf(out, "<th%s>%s</th>", i < numbers ? " class=\"n\"" : "", heads[i]);
  wf__text_put(out, "</tr></thead>\n<tbody>\n");
}
static void end_table(wf__text *out) { wf__text_put(out, "</tbody>\n</table>\n</section>\n"); }

static void put_answers(wf__text *out, const wf_dry_run *r) {
  static const char *const heads[] = {"Memory", "For PyTorch", "It needs", "Device", ""};
  static const char *const fits[] = {
      [WF__DRY_FITS] = "fits", [WF__DRY_FITS_NOT] = "doesn't fit", [WF__DRY_FIT_UNKNOWN] = "not known"};
  char text[WF__UNIT_TEXT], why[1024];
  begin_table(out, "Does it fit?", heads, 5, 3);
  for (int i = 0; i < r->options.device_count; i++) {
    const wf__dry_answer *a = &r->answers[i];
    wf__text_put(out, "<tr>");
    cell(out, wf__bytes_text(a->device->memory_bytes, text), true);
    cell(out, wf__bytes_text((int64_t)a->room, text), true);
    cell(out, wf__bytes_text((int64_t)a->needs, text), true);
    cell(out, a->device->name, false);
    cell(out, a->no_code ? wf__dry_no_code_text(r, a->device, why) : fits[a->fit], false);
    wf__text_put(out, "</tr>\n");
  }
  end_table(out);
}

static void put_roles(wf__text *out, const wf_dry_run *r) {
  static const char *const heads[] = {"Bytes", "Share", "Blocks", "At the peak"};
  const wf__dry_detail *d = &r->detail;
  char text[WF__UNIT_TEXT];
  begin_table(out, "What it holds", heads, 4, 3);
  for (int i = 0; i < WF__DRY_ROLES; i++) {
    if (!d->role_blocks[i]) continue;
    wf__text_put(out, "<tr>");
    cell(out, wf__bytes_text((int64_t)d->role_bytes[i], text), true);
    cell(out, wf__share_text((int64_t)d->role_bytes[i], (int64_t)d->view.history.peak, text), true);
    cell(out, wf__count_text(d->role_blocks[i], text), true);
    cell(out, wf__dry_role_name((wf__dry_role)i), false);
    wf__text_put(out, "</tr>\n");
  }
  end_table(out);
}

static void put_modules(wf__text *out, const wf_dry_run *r) {
  static const char *const heads[] = {"Bytes", "Share", "Module"};
  const wf__dry_detail *d = &r->detail;
  char text[WF__UNIT_TEXT];
  if (d->by_module.n < 2) return;
  begin_table(out, "By module", heads, 3, 2);
  for (size_t i = 0; i < d->by_module.n && i < (size_t)r->options.rows; i++) {
    const wf__dry_holder *g = &d->by_module.at[i];
    wf__text_put(out, "<tr>");
    cell(out, wf__bytes_text((int64_t)g->bytes, text), true);
    cell(out, wf__share_text((int64_t)g->bytes, (int64_t)d->view.history.peak, text), true);
    cell(out, g->module ? wf__dry_string(r, g->module) : "(no module known)", false);
    wf__text_put(out, "</tr>\n");
  }
  end_table(out);
}

static void put_lines(wf__text *out, const wf_dry_run *r) {
  static const char *const heads[] = {"Times", "What", "Where", "Why, and what to do"};
  char text[WF__UNIT_TEXT], at[WF__SITE_TEXT];
  if (!r->lines.n || !r->lines.at[0].problem) return;
  begin_table(out, r->steady ? "What lines cost, a step" : "What lines cost", heads, 4, 1);
  for (size_t i = 0; i < r->lines.n && r->lines.at[i].problem; i++) {
    const wf__dry_line *l = &r->lines.at[i];
    snprintf(text, sizeof text, "%.4g", r->steady ? l->per_step : (double)l->sum.count);
    wf__text_put(out, "<tr>");
    cell(out, text, true);
    cell(out, wf__dry_string(r, l->sum.what), false);
    cell(out,
         wf__line_text(wf__dry_string(r, l->sum.file), l->sum.line, wf__dry_string(r, l->sum.function), WF__SITE_TEXT,
                       at),
         false);
    wf__text_put(out, "<td>");
    wf__html_text(out, l->problem);
    wf__text_put(out, ".");
    if (l->remedy) wf__text_put(out, "<br>");
    if (l->remedy) wf__html_text(out, l->remedy);
    wf__text_put(out, "</td></tr>\n");
  }
  end_table(out);
}

static void put_limit(void *context, const char *text) {
  wf__text *out = context;
  wf__text_put(out, "<li>");
  wf__html_text(out, text);
  wf__text_put(out, "</li>\n");
}

static void put_all(wf__text *out, const wf_dry_run *r) {
  char text[1024];
  if (wf__dry_why_not(r, text)) {
    wf__text_put(out, "<ul class=\"findings\"><li class=\"bad\">");
    wf__html_text(out, text);
    wf__text_put(out, "</li></ul>\n");
  }
  put_answers(out, r);
  put_roles(out, r);
  put_modules(out, r);
  put_lines(out, r);
  wf__text_put(out, "<section>\n<h2>What this estimate doesn't know</h2>\n<ul>\n");
  if (wf__dry_each_limit(r, put_limit, out)) out->status = WF_NO_MEMORY;
  wf__text_put(out, "</ul>\n</section>\n");
}

wf_status wf_dry_write_html(const wf_dry_run *r, const char *path) {
  char title[300];
  if (!r->has_detail) return wf__fail(WF_VALUE, "%s: no page without memory: none was asked for", path);
  snprintf(title, sizeof title, "Dry run: %.240s", wf__dry_command(r));
  wf__text lead = {0};
  put_all(&lead, r);
  wf_status status = lead.status;
  if (!status) status = wf__memory_write_page(&r->detail.view, title, lead.data, path);
  wf__text_release(&lead);
  return status;
}
