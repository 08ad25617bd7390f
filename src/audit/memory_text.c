/* The report of a snapshot for a terminal. */
#include <stdarg.h>
#include <stdio.h>

#include "audit/memory_view.h"
#include "base/host.h"
#include "format/text.h"
#include "report/columns.h"
#include "report/units.h"

#define LABEL 24

typedef struct writer {
  wf__text *out;
  const wf__memory_view *v;
  const wf_memory_options *o;
} writer;

/* A sentence, wrapped; `mark` stands before it, further lines begin where it ends. */
static void say(const writer *w, const char *mark, const char *format, ...) WF_PRINTF(3, 4);
static void say(const writer *w, const char *mark, const char *format, ...) {
  va_list args;
  va_start(args, format);
  wf__put_sentence(w->out, mark, (size_t)w->o->columns, format, args);
  va_end(args);
}

static void put_spaced(wf__text *out, const char *text, int width, bool right) {
  int n = 0; /* columns: bytes that don't continue a character */
  for (const char *c = text; *c; c++) n += (*c & 0xc0) != 0x80;
  if (right) wf__text_repeat(out, ' ', width - n);
  wf__text_put(out, text);
  if (!right) wf__text_repeat(out, ' ', width - n);
}

static const char *bytes_of(uint64_t bytes, char text[WF__UNIT_TEXT]) { return wf__bytes_text((int64_t)bytes, text); }

static void put_two_texts(const writer *w, const char *label, const char *at, const char *end) {
  wf__text_put(w->out, "  ");
  put_spaced(w->out, label, LABEL, false);
  put_spaced(w->out, at, 16, true);
  if (end) put_spaced(w->out, end, 16, true);
  wf__text_put(w->out, "\n");
}

static void put_two(const writer *w, const char *label, uint64_t at, uint64_t end) {
  char a[WF__UNIT_TEXT], b[WF__UNIT_TEXT];
  put_two_texts(w, label, bytes_of(at, a), w->v->at.state == w->v->end.state ? NULL : bytes_of(end, b));
}

/* ---- head and sums --------------------------------------------------------------------------------------------------- */

/* Those that the report isn't of. */
static void put_other_devices(const writer *w) {
  const wf__history *h = &w->v->history;
  wf__text others = {0};
  for (int device = -1; (device = wf__device_after(h->snapshot, device)) >= 0;)
    if (device != h->device) wf__text_printf(&others, "%s%d", others.size ? ", " : "", device);
  if (others.size) say(w, "", "recorded as well: device %s (--device N)", others.data);
  if (others.status) w->out->status = others.status;
  wf__text_release(&others);
}

static void put_head(const writer *w) {
  const wf__history *h = &w->v->history;
  const wf_snapshot *s = h->snapshot;
  char count[WF__UNIT_TEXT], time[WF__UNIT_TEXT];
  if (h->n)
    say(w, "", "%s: device %d, %s events in %s", s->name, h->device, wf__count_text(h->n, count),
        wf__time_text(wf__state_ns(h, h->n), time));
  else say(w, "", "%s: device %d, no history: recording was off", s->name, h->device);
  const char *conf = wf__snap_text(s, s->settings.conf);
  if (s->is_log) say(w, "", "an RMM log: it has no segments and no stacks");
  else if (*conf) say(w, "", "recorded with PYTORCH_CUDA_ALLOC_CONF=%s", conf);
  if (h->unmatched)
    say(w, "", "%s entries of the history don't fit its end; they are left out", wf__count_text(h->unmatched, count));
  put_other_devices(w);
}

static void put_sums(const writer *w) {
  const wf__memory_view *v = w->v;
  const wf__moment *a = &v->at, *e = &v->end;
  char at[48], end[48], x[WF__UNIT_TEXT], y[WF__UNIT_TEXT];
  wf__text_put(w->out, "\n");
  put_two_texts(w, "", wf__state_text(&v->history, a->state, at),
                a->state == e->state ? NULL : wf__state_text(&v->history, e->state, end));
  put_two(w, "allocated", a->sums.allocated, e->sums.allocated);
  put_two(w, "  lost to rounding", a->sums.allocated - a->sums.requested, e->sums.allocated - e->sums.requested);
  if (a->sums.active > a->sums.allocated || e->sums.active > e->sums.allocated)
    put_two(w, "freed, other streams", a->sums.active - a->sums.allocated, e->sums.active - e->sums.allocated);
  if (v->history.snapshot->is_log) return;
  put_two(w, "reserved", a->sums.reserved, e->sums.reserved);
  put_two(w, "  free, whole segments", a->fragmentation.free_whole, e->fragmentation.free_whole);
  put_two(w, "  free, between blocks", a->fragmentation.free_split, e->fragmentation.free_split);
  put_two(w, "  largest free piece", a->fragmentation.largest, e->fragmentation.largest);
  put_two_texts(w, "segments", wf__count_text(a->sums.segments, x),
                a->state == e->state ? NULL : wf__count_text(e->sums.segments, y));
  if (v->history.reserved_peak > a->sums.reserved)
    wf__text_printf(w->out, "  most reserved: %s after event %u\n", bytes_of(v->history.reserved_peak, x),
                    v->history.reserved_peak_state);
}

/* ---- holders --------------------------------------------------------------------------------------------------------- */

static void put_stack(const writer *w, uint32_t stack) {
  const wf_snapshot *s = w->v->history.snapshot;
  for (uint32_t i = 0; i < wf__snap_depth(s, stack); i++) {
    char text[WF__SITE_TEXT];
    wf__text_printf(w->out, "      %s\n",
                    wf__frame_text(s, wf__snap_frame_at(s, stack, i), (size_t)w->o->columns - 6, text));
  }
}

static void put_holders(const writer *w) {
  static const char *const by[] = {"line", "module", "size"};
  const wf__memory_view *v = w->v;
  const wf__holders *all = &v->holders;
  char when[48], bytes[WF__UNIT_TEXT], share[WF__UNIT_TEXT], count[WF__UNIT_TEXT], name[WF__SITE_TEXT];
  size_t rows = (size_t)w->o->rows < all->groups.n ? (size_t)w->o->rows : all->groups.n,
         width = (size_t)w->o->columns - 33;
  wf__text_printf(w->out, "\nWho holds %s %s\n", bytes_of(v->at.sums.allocated, bytes),
                  wf__state_text(&v->history, v->at.state, when));
  wf__text_printf(w->out, "  %11s %8s %8s  %s\n", "bytes", "share", "blocks", by[all->by]);
  for (size_t i = 0; i < rows; i++) {
    const wf__holder *g = &all->groups.at[i];
    wf__text_printf(w->out, "  %11s %8s %8s  ", bytes_of(g->bytes, bytes),
                    wf__share_text((int64_t)g->bytes, (int64_t)v->at.sums.allocated, share),
                    wf__count_text(g->blocks, count));
    wf__text_printf(w->out, "%s\n", wf__holder_name(v->history.snapshot, &v->sites, all, g, width, name));
    if (w->o->stacks && all->by != WF_MEMORY_BY_SIZE && !g->before) put_stack(w, g->stack);
  }
  uint64_t rest = 0, blocks = 0;
  for (size_t i = rows; i < all->groups.n; i++) rest += all->groups.at[i].bytes, blocks += all->groups.at[i].blocks;
  if (rest)
    wf__text_printf(w->out, "  %11s %8s %8s  in %zu more\n", bytes_of(rest, bytes),
                    wf__share_text((int64_t)rest, (int64_t)v->at.sums.allocated, share),
                    wf__count_text((int64_t)blocks, count), all->groups.n - rows);
}

/* ---- fragmentation ----------------------------------------------------------------------------------------------------- */

/* Each of the largest holes, the smaller block beside it, and what the hole would be without that one. */
static void put_holes(const writer *w) {
  const wf__memory_view *v = w->v;
  const wf__fragmentation *f = &v->at.fragmentation;
  char a[WF__UNIT_TEXT], b[WF__UNIT_TEXT], c[WF__UNIT_TEXT], name[WF__SITE_TEXT];
  size_t rows = (size_t)(w->o->rows + 1) / 2 < f->holes.n ? (size_t)(w->o->rows + 1) / 2 : f->holes.n;
  wf__text_printf(w->out, "\n  %11s %18s %11s  %s\n", "hole", "beside a block of", "without it", "made by");
  for (size_t i = 0; i < rows; i++) {
    const wf__hole *hole = &f->holes.at[i];
    const wf__block_life *pin = &v->history.blocks.at[hole->pin];
    wf__text_printf(w->out, "  %11s %18s %11s%s %s\n", bytes_of(hole->size, a), bytes_of(pin->size, b),
                    bytes_of(hole->frees_segment ? hole->segment_size : hole->if_freed, c),
                    hole->frees_segment ? "*" : " ",
                    pin->from_free || (!pin->stack && !pin->born)
                        ? "(before the recording began)"
                        : wf__site_text(v->history.snapshot, &v->sites, pin->stack, (size_t)w->o->columns - 47, name));
  }
  if (f->holes.n > rows) wf__text_printf(w->out, "  and %zu more (--top N, --json)\n", f->holes.n - rows);
  for (size_t i = 0; i < rows; i++)
    if (f->holes.at[i].frees_segment) {
      wf__text_put(w->out, "  * the whole segment could go back\n");
      break;
    }
}

static void put_pinners(const writer *w) {
  const wf__memory_view *v = w->v;
  const wf__fragmentation *f = &v->at.fragmentation;
  char a[WF__UNIT_TEXT], b[WF__UNIT_TEXT], c[WF__UNIT_TEXT], when[48], name[WF__SITE_TEXT];
  if (!v->pinners.n) return;
  uint64_t bytes = 0;
  for (size_t i = 0; i < f->holes.n; i++) bytes += f->holes.at[i].size;
  wf__text_put(w->out, "\n");
  say(w, "", "Free memory that blocks in use keep apart %s: %s in %s hole%s of 1 MiB or more",
      wf__state_text(&v->history, v->at.state, when), bytes_of(bytes, a), wf__count_text((int64_t)f->holes.n, b),
      f->holes.n == 1 ? "" : "s");
  wf__text_printf(w->out, "  %11s %6s %11s  %s\n", "holes", "", "by blocks of", "which this line made");
  for (size_t i = 0; i < v->pinners.n && i < (size_t)(w->o->rows + 1) / 2; i++) {
    const wf__pinner *p = &v->pinners.at[i];
    wf__text_printf(w->out, "  %11s %6s %11s  ", bytes_of(p->hole_bytes, a), wf__count_text(p->holes, c),
                    bytes_of(p->block_bytes, b));
    wf__text_printf(w->out, "%s\n",
                    p->before
                        ? "(before the recording began)"
                        : wf__site_text(v->history.snapshot, &v->sites, p->stack, (size_t)w->o->columns - 35, name));
  }
  put_holes(w);
}

/* ---- out of memory ------------------------------------------------------------------------------------------------------ */

static void put_failure(const writer *w, const wf__failure *f) {
  const wf__memory_view *v = w->v;
  char a[WF__UNIT_TEXT], b[WF__UNIT_TEXT], name[WF__SITE_TEXT];
  wf__text_printf(w->out, "\nOut of memory at event %u (%s after the first)\n", f->event,
                  wf__time_text(wf__state_ns(&v->history, f->event + 1), a));
  wf__text_printf(w->out, "  asked for        %11s  by %s\n", bytes_of(f->request, a),
                  wf__site_text(v->history.snapshot, &v->sites, f->stack, (size_t)w->o->columns - 35, name));
  if (f->driver_known)
    wf__text_printf(w->out, "  device had free  %11s  a segment of %s was wanted\n", bytes_of(f->driver_free, a),
                    bytes_of(f->segment, b));
  if (v->history.snapshot->is_log) return;
  wf__text_printf(w->out, "  reserved, unused %11s  of use for it: pieces of at most %s\n", bytes_of(f->cached, a),
                  bytes_of(f->largest, b));
  if (f->missing)
    say(w, "  ", "Even in one piece the free memory was %s short: less must be held.", bytes_of(f->missing, a));
  else say(w, "  ", "Fragmentation was the cause: %s were free, in pieces.", bytes_of(f->cached + f->driver_free, a));
  say(w, "  ", "What would have fitted: %s. Try: weft replay-alloc --search", bytes_of(f->fits, a));
}

char *wf_memory_text(const wf_snapshot *s, const wf_memory_options *options) {
  wf_memory_options o = options ? *options : wf_memory_defaults();
  if (o.columns < 60) o.columns = 60;
  if (o.columns > 200) o.columns = 200;
  if (o.rows < 1) o.rows = 1;
  wf__memory_view v;
  if (wf__memory_view_make(&v, s, &o)) return NULL;
  wf__text out = {0};
  writer w = {&out, &v, &o};
  put_head(&w);
  put_sums(&w);
  put_holders(&w);
  put_pinners(&w);
  for (int i = 0; i < v.failure_count && i < 3; i++) put_failure(&w, &v.failures[i]);
  if (v.all_failures > 3) wf__text_printf(&out, "\nand %u more times out of memory\n", v.all_failures - 3);
  wf__memory_view_release(&v);
  return wf__text_take(&out);
}
