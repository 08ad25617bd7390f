/* The picture of a copy: a corner of both sides, each in its own order of memory. Two dims are shown, the destination's fastest and the
 * source's (or, where these are the same, the one outside of it); further dims stand at 0, long ones are cut.
 *
 * A cell is an element, its number the place in the source's memory, its colour the line of the source from which it comes. Cells without a
 * number are gaps: memory that the copy passes over. The outline is a tile, or a row: what moves at once. Dots: a dim goes on. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "copy_plan.h"

#define CELL_W 34
#define CELL_H 22
#define MOST_ACROSS 8
#define MOST_DOWN 6
#define MOST_GAPS 1 /* drawn between two elements, however many there are */
#define LEFT 24
#define LEAST_WIDTH 230 /* room for the words above a side */
#define BETWEEN 96
#define TOP 84
#define LINE 18

/* The dims that are shown, as numbers of the normal form; -1 for none. */
typedef struct shown {
  int dst_fastest, other;
  bool turned; /* `other` is the source's fastest */
} shown;

/* One side: dims across and down, and how many elements of each are drawn. */
typedef struct grid {
  int x; /* left edge */
  int across, down;
  int columns, rows;
  int gaps;            /* drawn behind each element of a row */
  int64_t across_step; /* elements between neighbours in memory */
} grid;

static const char *const colours[] = {"#7eb6ff", "#ffb870", "#8fd694", "#f2a0c0",
                                      "#c7b3f5", "#f0d264", "#7fd6d1", "#d9a38f"};
#define COLOURS ((int64_t)(sizeof colours / sizeof *colours))

/* The fastest of the source's dims that move and hold more than one element; -1 for none. */
static int source_fastest(const wf_copy_explanation *e) {
  int fastest = -1;
  for (int d = e->ndim - 1; d >= 0; d--)
    if (e->src_step[d] && (fastest < 0 || e->src_step[d] < e->src_step[fastest])) fastest = d;
  return fastest;
}

static shown dims_to_show(const wf_copy_explanation *e) {
  shown s = {e->ndim - 1, e->ndim - 2, false};
  int fastest = source_fastest(e);
  if (fastest >= 0 && fastest != s.dst_fastest) s.other = fastest, s.turned = true;
  return s;
}

static int cut(const wf_copy_explanation *e, int d, int most) {
  if (d < 0) return 1;
  return e->size[d] < most ? (int)e->size[d] : most;
}

static grid grid_of(const wf_copy_explanation *e, int across, int down, const int64_t *step, int64_t element,
                    const shown *s) {
  grid g = {.across = across, .down = down};
  /* Both sides show the same elements. */
  int most_across = s->turned ? MOST_DOWN : MOST_ACROSS;
  g.columns = cut(e, across, most_across);
  g.rows = cut(e, down, MOST_DOWN);
  g.across_step = across >= 0 ? step[across] / element : 1;
  g.gaps = g.across_step > 1 ? MOST_GAPS : 0;
  return g;
}

static int cells_across(const grid *g) { return g->columns * (1 + g->gaps); }

static int64_t source_place(const wf_copy_explanation *e, int64_t element, int d, int64_t i, int other, int64_t j) {
  int64_t place = d >= 0 ? e->src_step[d] * i : 0;
  if (other >= 0) place += e->src_step[other] * j;
  return place / element;
}

/* Text for a file of XML: what a user typed may hold anything. */
static void put_text(FILE *f, const char *text) {
  for (; *text; text++) {
    if (*text == '<') fputs("&lt;", f);
    else if (*text == '>') fputs("&gt;", f);
    else if (*text == '&') fputs("&amp;", f);
    else if ((unsigned char)*text >= ' ') fputc(*text, f);
  }
}

static void put_line(FILE *f, int x, int y, const char *class, const char *text) {
  fprintf(f, "<text x=\"%d\" y=\"%d\" class=\"%s\">", x, y, class);
  put_text(f, text);
  fputs("</text>\n", f);
}

static void put_cell(FILE *f, int x, int y, int64_t place, const char *colour) {
  fprintf(f, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" stroke=\"#fff\"/>\n", x, y, CELL_W, CELL_H,
          colour);
  const char *fit = place >= 10000 ? " textLength=\"30\" lengthAdjust=\"spacingAndGlyphs\"" : "";
  fprintf(f, "<text x=\"%d\" y=\"%d\" class=\"n\"%s>%lld</text>\n", x + CELL_W / 2, y + 15, fit, (long long)place);
}

static void put_gap(FILE *f, int x, int y) {
  fprintf(
      f,
      "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#bbb\" stroke-dasharray=\"3 3\"/>\n",
      x + 1, y + 1, CELL_W - 2, CELL_H - 2);
}

/* by_down: the source's lines run along the dim that goes down here; where the source stands still, it is one line. */
static void put_grid(FILE *f, const wf_copy_explanation *e, const grid *g, int64_t element, bool by_down) {
  int lines = by_down ? g->down : g->across;
  bool one_line = lines < 0 || e->src_step[lines] == 0;
  for (int j = 0; j < g->rows; j++)
    for (int i = 0; i < g->columns; i++) {
      int x = g->x + i * (1 + g->gaps) * CELL_W, y = TOP + j * CELL_H;
      put_cell(f, x, y, source_place(e, element, g->across, i, g->down, j),
               colours[one_line ? 0 : (by_down ? j : i) % COLOURS]);
      for (int k = 1; k <= g->gaps; k++) put_gap(f, x + k * CELL_W, y);
    }
}

/* Along a dim of which `drawn` elements are drawn: how many of them move at once. */
static int64_t at_once(const wf_copy_explanation *e, int d, int drawn, int64_t otherwise) {
  if (d < 0) return 1;
  int64_t tile = e->tile[d] ? e->tile[d] : otherwise;
  return tile < drawn ? tile : drawn;
}

static void put_outline(FILE *f, const wf_copy_explanation *e, const grid *g, const shown *s) {
  int64_t wide = at_once(e, g->across, g->columns, g->columns),
          high = at_once(e, g->down, g->rows, s->turned ? g->rows : 1);
  fprintf(
      f,
      "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#d33\" stroke-width=\"2.5\" rx=\"3\"/>\n",
      g->x - 2, TOP - 2, (int)wide * (1 + g->gaps) * CELL_W + 4, (int)high * CELL_H + 4);
}

/* Dots where a dim is cut. */
static void put_more(FILE *f, const wf_copy_explanation *e, const grid *g) {
  int right = g->x + cells_across(g) * CELL_W, below = TOP + g->rows * CELL_H;
  if (e->size[g->across] > g->columns) put_line(f, right + 5, TOP + 15, "s", "\u2026");
  if (g->down >= 0 && e->size[g->down] > g->rows) put_line(f, g->x + CELL_W / 2 - 2, below + 14, "s", "\u22ee");
}

static void put_step(FILE *f, const grid *g, const char *side, const int64_t *step) {
  char text[160];
  const char *plural = step[g->across] == 1 ? "" : "s";
  put_line(f, g->x, TOP - 26, "h", side);
  if (g->down >= 0)
    snprintf(text, sizeof text, "across: %lld byte%s apart, down: %lld", (long long)step[g->across], plural,
             (long long)step[g->down]);
  else snprintf(text, sizeof text, "across: %lld byte%s apart", (long long)step[g->across], plural);
  put_line(f, g->x, TOP - 10, "s", text);
}

static void put_arrow(FILE *f, int x, int y) {
  fprintf(f, "<path d=\"M%d %d h%d m-9 -6 l9 6 l-9 6\" fill=\"none\" stroke=\"#555\" stroke-width=\"2\"/>\n", x + 18, y,
          BETWEEN - 36);
}

/* What is said below the picture, a line each. */
typedef struct words {
  char line[4][256];
  int n;
} words;

static words words_for(const copy_request *r, const wf_copy_explanation *e) {
  words w = {0};
  size_t room = sizeof w.line[0], from = wf_dtype_size(r->from.dtype), to = wf_dtype_size(r->to.dtype);
  snprintf(w.line[w.n++], room, "%s: %s", e->name, e->why);
  if (*e->way) snprintf(w.line[w.n++], room, "%s", e->way);
  if (*e->convert) snprintf(w.line[w.n++], room, "%s", e->convert);
  if (from == to) snprintf(w.line[w.n], room, "elements of %zu bytes", from);
  else snprintf(w.line[w.n], room, "elements of %zu bytes become %zu", from, to);
  size_t used = strlen(w.line[w.n]);
  snprintf(w.line[w.n++] + used, room - used, "; numbers: places in the source's memory, colours: its lines");
  return w;
}

static int width_of(const words *w) {
  size_t longest = 0;
  for (int i = 0; i < w->n; i++)
    if (strlen(w->line[i]) > longest) longest = strlen(w->line[i]);
  return (int)(longest * 13 / 2); /* of 12-pixel letters */
}

static void put_head(FILE *f, const char *title, int width, int height) {
  fprintf(
      f,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n<title>",
      width, height, width, height);
  put_text(f, title);
  fputs(
      "</title>\n<style>text{font-family:system-ui,sans-serif;fill:#222}.t{font-size:16px;font-weight:600}.h{font-size:13px;"
      "font-weight:600}.s{font-size:12px}.n{font-size:11px;text-anchor:middle}</style>\n",
      f);
  fprintf(f, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height);
  put_line(f, LEFT, 30, "t", title);
}

static void put_side(FILE *f, const wf_copy_explanation *e, const grid *g, const shown *s, bool is_source,
                     int64_t element) {
  put_step(f, g, is_source ? "source, as it lies in memory" : "destination, as it lies in memory",
           is_source ? e->src_step : e->dst_step);
  put_grid(f, e, g, element, is_source || !s->turned);
  put_outline(f, e, g, s);
  put_more(f, e, g);
}

static void put_picture(FILE *f, const copy_request *r, const wf_copy_explanation *e) {
  shown s = dims_to_show(e);
  int64_t from = (int64_t)wf_dtype_size(r->from.dtype), to = (int64_t)wf_dtype_size(r->to.dtype);
  grid dst = grid_of(e, s.dst_fastest, s.other, e->dst_step, to, &s);
  grid src = s.turned ? grid_of(e, s.other, s.dst_fastest, e->src_step, from, &s)
                      : grid_of(e, s.dst_fastest, s.other, e->src_step, from, &s);
  words w = words_for(r, e);
  src.x = LEFT;
  int src_width = cells_across(&src) * CELL_W;
  dst.x = LEFT + (src_width > LEAST_WIDTH ? src_width : LEAST_WIDTH) + BETWEEN;
  int tallest = src.rows > dst.rows ? src.rows : dst.rows, bottom = TOP + tallest * CELL_H + 8;
  int width = dst.x + cells_across(&dst) * CELL_W;
  if (width < dst.x + LEAST_WIDTH) width = dst.x + LEAST_WIDTH;
  if (width < LEFT + width_of(&w)) width = LEFT + width_of(&w);
  put_head(f, r->title, width + LEFT, bottom + 24 + w.n * LINE);
  put_side(f, e, &src, &s, true, from);
  put_side(f, e, &dst, &s, false, from);
  put_arrow(f, dst.x - BETWEEN, TOP + tallest * CELL_H / 2);
  for (int i = 0; i < w.n; i++) put_line(f, LEFT, bottom + 28 + i * LINE, "s", w.line[i]);
  fputs("</svg>\n", f);
}

/* Nothing to show: no elements, or a number. */
static void put_empty(FILE *f, const copy_request *r, const wf_copy_explanation *e) {
  put_head(f, r->title, 640, 80);
  put_line(f, LEFT, 54, "s", e->why);
  fputs("</svg>\n", f);
}

bool copy_picture_write(const char *path, const copy_request *r, const wf_copy_explanation *e) {
  FILE *f = fopen(path, "w");
  if (!f) return false;
  if (e->ndim && e->method != WF_METHOD_NOTHING) put_picture(f, r, e);
  else put_empty(f, r, e);
  bool good = !ferror(f);
  int saved = errno;
  if (fclose(f)) return false;
  if (!good) errno = saved;
  return good;
}
