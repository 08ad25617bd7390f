/* Segments as rows: characters for a terminal, rectangles for a browser. */
#include "audit/memory_view.h"
#include "base/host.h"
#include "format/atomic_file.h"
#include "format/text.h"
#include "report/html.h"
#include "report/units.h"

/* ---- text -------------------------------------------------------------------------------------------------------------- */

static void put_row(wf__text *out, const wf__history *h, const wf__layout *l, const wf__placed_segment *g, int width) {
  const wf__segment_life *life = &h->segments.at[g->life];
  char size[WF__UNIT_TEXT];
  wf__text_printf(out, "%12llx %11s %c%c %3u |", (unsigned long long)g->address, wf__bytes_text((int64_t)g->size, size),
                  life->large ? 'L' : 'S',
                  life->expandable ? 'e'
                  : life->pool     ? 'p'
                                   : ' ',
                  life->stream);
  for (int c = 0; c < width; c++) { /* what the column's part of the segment holds */
    uint64_t from = g->address + (uint64_t)((double)g->size * c / width),
             to = g->address + (uint64_t)((double)g->size * (c + 1) / width);
    uint64_t used = 0, pending = 0;
    for (uint32_t i = g->first; i < g->first + g->count && l->pieces.at[i].address < to; i++) {
      const wf__piece *p = &l->pieces.at[i];
      uint64_t end = p->address + p->size, a = p->address > from ? p->address : from, b = end < to ? end : to;
      if (p->life == WF__NO_LIFE || b <= a) continue;
      *(p->pending ? &pending : &used) += b - a;
    }
    uint64_t whole = to - from;
    char mark = used + pending == 0         ? '.'
                : pending > used            ? 'p'
                : used >= whole - whole / 8 ? '#'
                : used > whole / 4          ? '+'
                                            : '-';
    wf__text_append(out, &mark, 1);
  }
  wf__text_put(out, "|\n");
}

char *wf_memory_map(const wf_snapshot *s, const wf_memory_options *options) {
  wf_memory_options o = options ? *options : wf_memory_defaults();
  wf__memory_view v;
  if (o.columns < 60) o.columns = 60;
  if (wf__memory_view_make(&v, s, &o)) return NULL;
  wf__text out = {0};
  char when[48], bytes[WF__UNIT_TEXT];
  wf__text_printf(&out, "%s: device %d %s, %u segments, %s reserved\n", s->name, v.history.device,
                  wf__state_text(&v.history, v.at.state, when), v.at.sums.segments,
                  wf__bytes_text((int64_t)v.at.sums.reserved, bytes));
  wf__text_put(&out,
               "S small pool, L large; e expandable, p private pool; then the stream's number.\n"
               "# in use, + and - partly, p freed but in use on another stream, . free\n\n");
  for (size_t i = 0; i < v.at.layout.segments.n; i++)
    put_row(&out, &v.history, &v.at.layout, &v.at.layout.segments.at[i], o.columns - 34);
  wf__memory_view_release(&v);
  return wf__text_take(&out);
}

/* ---- SVG --------------------------------------------------------------------------------------------------------------- */

enum { ROW = 14, GAP = 4, LEFT = 150, WIDTH = 1000, SVG_HEAD = 40 };

static const char *const colors[] = {"#3b6fb6", "#c2702f", "#3d8f5a", "#8a5bb0",
                                     "#a8893a", "#4797a5", "#b0506e", "#6d7a88"};

/* The colour of the block's group: the largest groups have one of their own. */
static const char *color_of(const wf__memory_view *v, const wf__block_life *b) {
  const wf_snapshot *s = v->history.snapshot;
  uint32_t site = v->sites.site[b->stack];
  for (size_t i = 0; site != WF__NO_FRAME && i < v->holders.groups.n && i < sizeof colors / sizeof *colors; i++) {
    const wf__holder *g = &v->holders.groups.at[i];
    uint32_t other = v->sites.site[g->stack];
    if (g->before || b->from_free || other == WF__NO_FRAME) continue;
    wf__snap_frame x = wf__snap_frame_at(s, b->stack, site), y = wf__snap_frame_at(s, g->stack, other);
    if (x.file == y.file && x.line == y.line && x.function == y.function) return colors[i];
  }
  return "#8c8c8c";
}

static void put_piece(wf__text *out, const wf__memory_view *v, const wf__piece *p, const wf__placed_segment *g,
                      uint64_t full, int y) {
  char name[WF__SITE_TEXT], bytes[WF__UNIT_TEXT];
  const wf__block_life *b = &v->history.blocks.at[p->life];
  /* hundredths of a pixel as whole numbers: no locale writes those otherwise */
  int64_t x = (int64_t)((double)(p->address - g->address) / (double)full * WIDTH * 100),
          w = (int64_t)((double)p->size / (double)full * WIDTH * 100);
  if (w < 5) w = 5;
  wf__text_printf(out, "<rect x=\"%lld\" y=\"%d\" width=\"%lld\" height=\"%d\" fill=\"%s\"%s><title>",
                  (long long)(LEFT * 100 + x), y * 100, (long long)w, ROW * 100, color_of(v, b),
                  p->pending ? " opacity=\"0.5\"" : "");
  wf__html_text(out, wf__bytes_text((int64_t)p->size, bytes));
  wf__text_put(out, " ");
  wf__html_text(out, b->from_free ? "made before the recording"
                                  : wf__site_text(v->history.snapshot, &v->sites, b->stack, WF__SITE_TEXT, name));
  wf__text_put(out, "</title></rect>\n");
}

static void put_svg(wf__text *out, const wf__memory_view *v) {
  const wf__layout *l = &v->at.layout;
  uint64_t full = 1;
  char text[48], bytes[WF__UNIT_TEXT];
  for (size_t i = 0; i < l->segments.n; i++)
    if (l->segments.at[i].size > full) full = l->segments.at[i].size;
  int height = SVG_HEAD + (int)l->segments.n * (ROW + GAP) + 10;
  wf__text_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
                  "font-family=\"sans-serif\" font-size=\"1000\">\n<title>",
                  (LEFT + WIDTH + 10) * 100, height * 100, LEFT + WIDTH + 10, height);
  wf__html_text(out, v->history.snapshot->name);
  wf__text_printf(
      out,
      "</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"800\" y=\"2400\" font-size=\"1400\">");
  wf__html_text(out, v->history.snapshot->name);
  wf__text_printf(out, " %s: %u segments, ", wf__state_text(&v->history, v->at.state, text), v->at.sums.segments);
  wf__text_printf(out, "%s reserved</text>\n", wf__bytes_text((int64_t)v->at.sums.reserved, bytes));
  for (size_t i = 0; i < l->segments.n; i++) {
    const wf__placed_segment *g = &l->segments.at[i];
    int y = SVG_HEAD + (int)i * (ROW + GAP);
    int64_t w = (int64_t)((double)g->size / (double)full * WIDTH * 100);
    wf__text_printf(out, "<text x=\"800\" y=\"%d\">%s %s</text>\n", y * 100 + 1050,
                    v->history.segments.at[g->life].large ? "large" : "small", wf__bytes_text((int64_t)g->size, bytes));
    wf__text_printf(
        out,
        "<rect x=\"%d\" y=\"%d\" width=\"%lld\" height=\"%d\" fill=\"#e9e6df\" stroke=\"#b9b4a8\" stroke-width=\"50\"/>\n",
        LEFT * 100, y * 100, (long long)w, ROW * 100);
    for (uint32_t k = g->first; k < g->first + g->count; k++)
      if (l->pieces.at[k].life != WF__NO_LIFE) put_piece(out, v, &l->pieces.at[k], g, full, y);
  }
  wf__text_put(out, "</svg>\n");
}

wf_status wf_memory_write_svg(const wf_snapshot *s, const wf_memory_options *options, const char *path) {
  wf_memory_options o = options ? *options : wf_memory_defaults();
  wf__memory_view v;
  wf__text out = {0};
  o.group = WF_MEMORY_BY_SITE;
  WF__TRY(wf__memory_view_make(&v, s, &o));
  put_svg(&out, &v);
  wf__memory_view_release(&v);
  wf_status status = out.status ? out.status : wf__atomic_write(path, out.data, out.size);
  wf__text_release(&out);
  return status;
}
