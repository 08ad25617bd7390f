/* The page of a snapshot: one file that needs nothing else. Sums, holders and failures are in the document itself; the script draws the
 * curves and what lay where after any event. Its arrays are written as little-endian binary in base64: a block takes 32 bytes. */
#include <stdio.h>

#include "audit/memory_view.h"
#include "base/host.h"
#include "format/atomic_file.h"
#include "format/json_writer.h"
#include "report/html.h"
#include "report/units.h"

extern const char wf__memory_js[];

#define TIMES_MAX 20000

/* ---- packed arrays ---------------------------------------------------------------------------------------------------- */

typedef struct packer {
  wf__text *out;
  unsigned char waiting[3];
  int count;
} packer;

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_group(packer *p) {
  uint32_t bits = (uint32_t)p->waiting[0] << 16 | (uint32_t)p->waiting[1] << 8 | p->waiting[2];
  char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63], p->count > 1 ? digits[bits >> 6 & 63] : '=',
                  p->count > 2 ? digits[bits & 63] : '='};
  wf__text_append(p->out, four, 4);
  p->waiting[0] = p->waiting[1] = p->waiting[2] = 0;
  p->count = 0;
}

static void pack(packer *p, const void *bytes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    p->waiting[p->count++] = ((const unsigned char *)bytes)[i];
    if (p->count == 3) put_group(p);
  }
}

static packer begin_array(wf__text *out, const char *id) {
  wf__text_printf(out, "<script type=\"application/octet-stream\" id=\"%s\">", id);
  return (packer){.out = out};
}

static void end_array(packer *p) {
  if (p->count) put_group(p);
  wf__text_put(p->out, "</script>\n");
}

static void pack_double(packer *p, double value) { pack(p, &value, sizeof value); }
static void pack_int(packer *p, uint32_t value) { pack(p, &value, sizeof value); }

/* One array a field, so that the script takes each in as it is. */
static void put_blocks(wf__text *out, const wf__history *h) {
  packer p = begin_array(out, "b-address");
  for (size_t i = 0; i < h->blocks.n; i++) pack_double(&p, (double)h->blocks.at[i].address);
  end_array(&p);
  p = begin_array(out, "b-size");
  for (size_t i = 0; i < h->blocks.n; i++) pack_double(&p, (double)h->blocks.at[i].size);
  end_array(&p);
  p = begin_array(out, "b-born");
  for (size_t i = 0; i < h->blocks.n; i++) pack_int(&p, h->blocks.at[i].born);
  end_array(&p);
  p = begin_array(out, "b-freed");
  for (size_t i = 0; i < h->blocks.n; i++) pack_int(&p, h->blocks.at[i].freed);
  end_array(&p);
  p = begin_array(out, "b-died");
  for (size_t i = 0; i < h->blocks.n; i++) pack_int(&p, h->blocks.at[i].died);
  end_array(&p);
  p = begin_array(out, "b-stack");
  for (size_t i = 0; i < h->blocks.n; i++) pack_int(&p, h->blocks.at[i].from_free ? UINT32_MAX : h->blocks.at[i].stack);
  end_array(&p);
}

static void put_segments(wf__text *out, const wf__history *h) {
  packer p = begin_array(out, "s-address");
  for (size_t i = 0; i < h->segments.n; i++) pack_double(&p, (double)h->segments.at[i].address);
  end_array(&p);
  p = begin_array(out, "s-size");
  for (size_t i = 0; i < h->segments.n; i++) pack_double(&p, (double)h->segments.at[i].size);
  end_array(&p);
  p = begin_array(out, "s-born");
  for (size_t i = 0; i < h->segments.n; i++) pack_int(&p, h->segments.at[i].born);
  end_array(&p);
  p = begin_array(out, "s-died");
  for (size_t i = 0; i < h->segments.n; i++) pack_int(&p, h->segments.at[i].died);
  end_array(&p);
}

static uint32_t put_times(wf__text *out, const wf__history *h) {
  uint32_t step = h->n / TIMES_MAX + 1;
  packer p = begin_array(out, "times");
  for (uint64_t state = 0; state <= h->n; state += step)
    pack_double(&p, (double)wf__state_ns(h, (uint32_t)state) / 1e9);
  end_array(&p);
  return step;
}

/* ---- names -------------------------------------------------------------------------------------------------------------- */

/* Each distinct frame once, each stack as numbers of them. */
static void put_names(wf__json *j, const wf__memory_view *v) {
  const wf_snapshot *s = v->history.snapshot;
  char text[WF__SITE_TEXT];
  wf__json_key(j, "frames");
  wf__json_array(j);
  for (uint32_t i = 0; i < s->frames.count; i++) {
    wf__snap_frame f = {0};
    if (wf__string_set_size(&s->frames, i) == sizeof f) memcpy(&f, wf__string_set_text(&s->frames, i), sizeof f);
    wf__json_string(j, wf__frame_text(s, f, WF__SITE_TEXT, text));
  }
  wf__json_array_end(j);
  wf__json_key(j, "stacks");
  wf__json_array(j);
  for (uint32_t i = 0; i < s->stacks.count; i++) {
    wf__json_object(j);
    wf__json_member_string(j, "site", wf__site_text(s, &v->sites, i, WF__SITE_TEXT, text));
    wf__json_key(j, "frames");
    wf__json_array(j);
    for (uint32_t k = 0; k < wf__snap_depth(s, i); k++) {
      uint32_t number;
      memcpy(&number, wf__string_set_text(&s->stacks, i) + k * sizeof number, sizeof number);
      wf__json_int(j, number);
    }
    wf__json_array_end(j);
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
}

static wf_status put_data(wf__text *out, const wf__memory_view *v) {
  wf__json j = {0};
  put_blocks(out, &v->history);
  put_segments(out, &v->history);
  uint32_t step = put_times(out, &v->history);
  wf__text_put(out, "<script type=\"application/json\" id=\"data\">");
  wf__json_begin(&j, out, NULL, 0);
  j.for_html = true;
  wf__json_object(&j);
  wf__json_member_int(&j, "events", v->history.n);
  wf__json_member_int(&j, "peak", v->history.peak_state);
  wf__json_member_int(&j, "time_step", step);
  wf__json_member_string(&j, "before", "(before the recording began)");
  wf__json_key(&j, "failures");
  wf__json_array(&j);
  for (int i = 0; i < v->failure_count; i++) wf__json_int(&j, v->failures[i].event);
  wf__json_array_end(&j);
  put_names(&j, v);
  wf__json_object_end(&j);
  wf_status status = wf__json_end(&j);
  wf__text_put(out, "</script>\n");
  return status;
}

/* ---- document ----------------------------------------------------------------------------------------------------------- */

static void put_tile(wf__text *out, const char *label, uint64_t bytes, const char *note) {
  char text[WF__UNIT_TEXT];
  wf__text_printf(out, "<div class=\"tile\"><dt>%s</dt><dd>%s</dd><dd class=\"note\">", label,
                  wf__bytes_text((int64_t)bytes, text));
  wf__html_text(out, note);
  wf__text_put(out, "</dd></div>\n");
}

static void put_head(wf__text *out, const wf__memory_view *v, const char *title) {
  const wf__history *h = &v->history;
  char text[WF__UNIT_TEXT], note[96];
  wf__text_put(out,
               "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
               "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
  wf__html_text(out, title);
  wf__text_put(out, "</title>\n<style>\n");
  wf__text_put(out, wf__page_css);
  wf__text_put(out,
               "#curve, #map { display: block; width: 100%; background: var(--card); touch-action: pan-y; }\n"
               "#curve { cursor: crosshair; }\n#detail { white-space: pre-wrap; min-height: 3em; }\n"
               ".frame { border: 1px solid var(--rule); border-radius: 6px; overflow: hidden; }\n"
               "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the numbers</a>\n<header>\n<h1>");
  wf__html_text(out, title);
  wf__text_printf(out, "</h1>\n<ul class=\"facts\"><li><span>device</span> %d</li><li><span>events</span> %s</li>",
                  h->device, wf__count_text(h->n, text));
  if (*wf__snap_text(h->snapshot, h->snapshot->settings.conf)) {
    wf__text_put(out, "<li><span>settings</span> ");
    wf__html_text(out, wf__snap_text(h->snapshot, h->snapshot->settings.conf));
    wf__text_put(out, "</li>");
  }
  wf__text_put(out, "</ul>\n</header>\n<main id=\"main\">\n<dl class=\"tiles\">\n");
  snprintf(note, sizeof note, "after event %u", h->peak_state);
  put_tile(out, "most allocated", h->peak, note);
  snprintf(note, sizeof note, "after event %u", h->reserved_peak_state);
  if (!h->snapshot->is_log) put_tile(out, "most reserved", h->reserved_peak, note);
  put_tile(out, "allocated at the end", v->end.sums.allocated, "");
  if (!h->snapshot->is_log) put_tile(out, "reserved at the end", v->end.sums.reserved, "");
  wf__text_put(out, "</dl>\n");
}

static void put_failures(wf__text *out, const wf__memory_view *v) {
  char a[WF__UNIT_TEXT], b[WF__UNIT_TEXT], name[WF__SITE_TEXT];
  if (!v->failure_count) return;
  wf__text_put(out, "<ul class=\"findings\">\n");
  for (int i = 0; i < v->failure_count; i++) {
    const wf__failure *f = &v->failures[i];
    wf__text_printf(out, "<li class=\"bad\">Out of memory at event %u: %s asked for by ", f->event,
                    wf__bytes_text((int64_t)f->request, a));
    wf__html_text(out, wf__site_text(v->history.snapshot, &v->sites, f->stack, WF__SITE_TEXT, name));
    wf__text_printf(out, "; %s were reserved and unused, in pieces of at most %s. %s</li>\n",
                    wf__bytes_text((int64_t)f->cached, a), wf__bytes_text((int64_t)f->largest, b),
                    f->missing ? "Too much was held." : "Fragmentation was the cause.");
  }
  wf__text_put(out, "</ul>\n");
}

static void put_body(wf__text *out, const wf__memory_view *v) {
  char bytes[WF__UNIT_TEXT], share[WF__UNIT_TEXT], count[WF__UNIT_TEXT], name[WF__SITE_TEXT];
  put_failures(out, v);
  wf__text_put(
      out,
      "<section id=\"timeline\">\n<h2>Over time</h2>\n<noscript><p>The curves are drawn by the page's script.</p></noscript>\n"
      "<div class=\"tools\" id=\"tools\" hidden><span class=\"group\"><button type=\"button\" data-go=\"in\" aria-label=\"Zoom "
      "in\">+</button><button type=\"button\" data-go=\"out\" aria-label=\"Zoom out\">&minus;</button><button type=\"button\" "
      "data-go=\"all\">All events</button></span><span class=\"group\"><button type=\"button\" data-go=\"peak\">Peak</button>"
      "<button type=\"button\" data-go=\"end\">End</button></span></div>\n"
      "<div class=\"frame\"><canvas id=\"curve\" tabindex=\"0\" role=\"application\" aria-label=\"Memory over the events. Left and right "
      "move, plus and minus zoom, comma and full stop step by one event, p goes to the peak, 0 shows all.\" "
      "aria-describedby=\"state\"></canvas></div>\n<p class=\"note\"><i class=\"key line\"></i>allocated <i class=\"key "
      "limit\"></i>reserved; the most of each column. Click to choose an event, drag to move, Ctrl and wheel to zoom; keys: arrows, + "
      "and &minus;, comma and full stop, p, 0.</p>\n<output id=\"state\" aria-live=\"polite\"></output>\n</section>\n"
      "<section>\n<h2>Who holds it</h2>\n<table id=\"holders\">\n<thead><tr><th class=\"n\">Bytes</th><th class=\"n\">Share</th><th "
      "class=\"n\">Blocks</th><th>Line</th></tr></thead>\n<tbody>\n");
  for (size_t i = 0; i < v->holders.groups.n && i < 20; i++) {
    const wf__holder *g = &v->holders.groups.at[i];
    wf__text_printf(out, "<tr><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td>",
                    wf__bytes_text((int64_t)g->bytes, bytes),
                    wf__share_text((int64_t)g->bytes, (int64_t)v->at.sums.allocated, share),
                    wf__count_text(g->blocks, count));
    wf__html_text(out, wf__holder_name(v->history.snapshot, &v->sites, &v->holders, g, WF__SITE_TEXT, name));
    wf__text_put(out, "</td></tr>\n");
  }
  wf__text_put(
      out,
      "</tbody>\n</table>\n</section>\n<section>\n<h2>Segments</h2>\n<div class=\"frame\"><canvas id=\"map\" "
      "tabindex=\"0\" role=\"application\" aria-label=\"Segments and their blocks. Arrows go from block to block, up and down from segment "
      "to segment.\" aria-describedby=\"detail\"></canvas></div>\n"
      "<output id=\"detail\" aria-live=\"polite\"></output>\n</section>\n</main>\n<footer><p>Weft ");
  wf__text_put(out, wf_version());
  wf__text_put(out, "</p></footer>\n");
}

wf_status wf__memory_write_page(const wf__memory_view *v, const char *title, const char *lead, const char *path) {
  wf__text out = {0};
  put_head(&out, v, title);
  wf__text_put(&out, lead);
  put_body(&out, v);
  wf_status status = put_data(&out, v);
  wf__text_put(&out, "<script>\n");
  wf__text_put(&out, wf__memory_js);
  wf__text_put(&out, "</script>\n</body>\n</html>\n");
  if (!status) status = out.status;
  if (!status) status = wf__atomic_write(path, out.data, out.size);
  wf__text_release(&out);
  return status;
}

wf_status wf_memory_write_html(const wf_snapshot *s, const wf_memory_options *options, const char *path) {
  wf_memory_options o = options ? *options : wf_memory_defaults();
  wf__memory_view v;
  o.group = WF_MEMORY_BY_SITE;
  WF__TRY(wf__memory_view_make(&v, s, &o));
  wf_status status = wf__memory_write_page(&v, s->name, "", path);
  wf__memory_view_release(&v);
  return status;
}
