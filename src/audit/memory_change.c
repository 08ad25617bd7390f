/* Two snapshots of one program: what each group held in the one and holds in the other. Groups are the same when their names are, with
 * the whole path of the file: numbers of frames differ from snapshot to snapshot. */
#include <stdio.h>
#include <stdlib.h>

#include "audit/memory_view.h"
#include "base/host.h"
#include "format/json_writer.h"
#include "report/units.h"

typedef struct side {
  uint64_t bytes;
  uint32_t blocks;
} side;

typedef struct row {
  uint32_t name; /* in names */
  side before, after;
} row;

struct wf_memory_change {
  char *files[2];
  wf_memory_group by;
  int rows_shown, columns;
  wf__string_set names;
  WF__GROWING(row) rows; /* by growth */
  wf__sums sums[2];
  char when[2][48];
};

static uint32_t full_name(wf_memory_change *c, const wf__memory_view *v, const wf__holder *g) {
  char text[WF__SITE_TEXT], *whole = text, line[1024];
  const wf_snapshot *s = v->history.snapshot;
  uint32_t at = g->before || c->by == WF_MEMORY_BY_SIZE ? WF__NO_FRAME
                : c->by == WF_MEMORY_BY_SITE            ? v->sites.site[g->stack]
                                                        : v->sites.module[g->stack];
  wf__holder_name(s, &v->sites, &v->holders, g, WF__SITE_TEXT, text);
  if (at != WF__NO_FRAME) {
    wf__snap_frame f = wf__snap_frame_at(s, g->stack, at);
    snprintf(whole = line, sizeof line, "%.600s:%u %.300s", wf__snap_text(s, f.file), f.line,
             wf__snap_text(s, f.function));
  }
  return wf__string_set_add(&c->names, whole, strlen(whole));
}

static wf_status take_side(wf_memory_change *c, const wf__memory_view *v, bool after) {
  for (size_t i = 0; i < v->holders.groups.n; i++) {
    const wf__holder *g = &v->holders.groups.at[i];
    uint32_t name = full_name(c, v, g);
    if (name == UINT32_MAX) return WF_NO_MEMORY;
    while (c->rows.n < name) { /* rows stand in the order of names; number 0 has none */
      row *r = WF__SNAP_ADD(c->rows);
      if (!r) return WF_NO_MEMORY;
      *r = (row){.name = (uint32_t)c->rows.n}; /* it has been counted already */
    }
    side *to = after ? &c->rows.at[name - 1].after : &c->rows.at[name - 1].before;
    to->bytes += g->bytes;
    to->blocks += g->blocks;
  }
  return WF_OK;
}

static int64_t growth(const row *r) { return (int64_t)r->after.bytes - (int64_t)r->before.bytes; }

static int by_growth(const void *a, const void *b) {
  int64_t x = growth(a), y = growth(b);
  if (x != y) return x > y ? -1 : 1;
  return ((const row *)a)->name < ((const row *)b)->name ? -1 : 1;
}

wf_memory_change *wf_memory_compare(const wf_snapshot *before, const wf_snapshot *after,
                                    const wf_memory_options *options) {
  wf_memory_options o = options ? *options : wf_memory_defaults();
  if (!options) o.at = WF_MEMORY_AT_END;
  const wf_snapshot *const both[] = {before, after};
  wf_memory_change *c = wf__calloc(1, sizeof *c);
  if (!c) return NULL;
  c->by = o.group;
  c->rows_shown = o.rows < 1 ? 1 : o.rows;
  c->columns = o.columns < 60 ? 60 : o.columns;
  wf_status status = WF_OK;
  for (int i = 0; i < 2 && !status; i++) {
    wf__memory_view v;
    status = wf__memory_view_make(&v, both[i], &o);
    if (status) break;
    c->files[i] = wf__strdup(both[i]->name);
    c->sums[i] = v.at.sums;
    wf__state_text(&v.history, v.at.state, c->when[i]);
    status = c->files[i] ? take_side(c, &v, i) : WF_NO_MEMORY;
    wf__memory_view_release(&v);
  }
  if (status) {
    wf_memory_change_free(c);
    return NULL;
  }
  if (c->rows.n) qsort(c->rows.at, c->rows.n, sizeof *c->rows.at, by_growth);
  return c;
}

void wf_memory_change_free(wf_memory_change *c) {
  if (!c) return;
  wf__release(c->files[0]);
  wf__release(c->files[1]);
  wf__string_set_release(&c->names);
  wf__release(c->rows.at);
  wf__release(c);
}

int64_t wf_memory_change_bytes(const wf_memory_change *c) {
  return (int64_t)c->sums[1].allocated - (int64_t)c->sums[0].allocated;
}
int64_t wf_memory_change_before(const wf_memory_change *c) { return (int64_t)c->sums[0].allocated; }

wf_status wf_memory_get_totals(const wf_snapshot *s, int device, wf_memory_totals *to) {
  wf__history h;
  int at = device < 0 ? wf__main_device(s) : device;
  WF__TRY(wf__history_make(&h, s, at));
  wf__sums end = wf__sums_at(&h, h.n);
  *to = (wf_memory_totals){at, (int64_t)h.peak, (int64_t)h.reserved_peak, (int64_t)end.allocated, (int64_t)end.reserved,
                           0};
  for (uint32_t i = 0; i < h.n; i++) to->out_of_memory += h.events[i].action == WF__SNAP_OOM;
  wf__history_release(&h);
  return WF_OK;
}

/* ---- text and JSON ----------------------------------------------------------------------------------------------------- */

static char *signed_bytes(int64_t bytes, char text[WF__UNIT_TEXT + 1]) {
  text[0] = bytes > 0 ? '+' : ' ';
  wf__bytes_text(bytes, text + (bytes > 0));
  return text;
}

/* The end of a name that is too long says most. */
static const char *fitting(const char *name, size_t width) {
  size_t n = strlen(name);
  const char *at = n > width ? name + n - width : name;
  while (at > name && (*at & 0xc0) == 0x80) at++;
  return at;
}

static void put_sum(wf__text *out, const char *label, uint64_t before, uint64_t after) {
  char a[WF__UNIT_TEXT], b[WF__UNIT_TEXT], d[WF__UNIT_TEXT + 1];
  wf__text_printf(out, "  %-12s %14s %14s", label, wf__bytes_text((int64_t)before, a),
                  wf__bytes_text((int64_t)after, b));
  wf__text_printf(out, " %14s\n", signed_bytes((int64_t)after - (int64_t)before, d));
}

char *wf_memory_change_text(const wf_memory_change *c) {
  wf__text out = {0};
  char a[WF__UNIT_TEXT], b[WF__UNIT_TEXT], d[WF__UNIT_TEXT + 1];
  wf__text_printf(&out, "A: %s, %s\nB: %s, %s\n\n  %-12s %14s %14s %14s\n", c->files[0], c->when[0], c->files[1],
                  c->when[1], "", "A", "B", "growth");
  put_sum(&out, "allocated", c->sums[0].allocated, c->sums[1].allocated);
  put_sum(&out, "reserved", c->sums[0].reserved, c->sums[1].reserved);
  size_t shown = 0;
  for (size_t i = 0; i < c->rows.n && shown < (size_t)c->rows_shown && growth(&c->rows.at[i]) > 0; i++, shown++) {
    const row *r = &c->rows.at[i];
    if (!i) wf__text_printf(&out, "\n  %12s %12s %8s  %s\n", "growth", "now", "blocks", "who holds more than before");
    wf__text_printf(&out, "  %12s %12s %+8lld", signed_bytes(growth(r), d), wf__bytes_text((int64_t)r->after.bytes, a),
                    (long long)r->after.blocks - (long long)r->before.blocks);
    wf__text_printf(&out, "  %s\n", fitting(wf__string_set_text(&c->names, r->name), (size_t)c->columns - 39));
  }
  if (!shown) wf__text_put(&out, "\nNobody holds more than before.\n");
  int64_t less = 0;
  for (size_t i = 0; i < c->rows.n; i++)
    if (growth(&c->rows.at[i]) < 0) less -= growth(&c->rows.at[i]);
  if (less) wf__text_printf(&out, "  others hold %s less\n", wf__bytes_text(less, b));
  return wf__text_take(&out);
}

char *wf_memory_change_json(const wf_memory_change *c, int indent) {
  static const char *const by[] = {"site", "module", "size"};
  static const char *const sides[] = {"before", "after"};
  wf__text out = {0};
  wf__json j = {0};
  wf__json_begin(&j, &out, NULL, indent);
  wf__json_object(&j);
  for (int i = 0; i < 2; i++) {
    wf__json_key(&j, sides[i]);
    wf__json_object(&j);
    wf__json_member_string(&j, "file", c->files[i]);
    wf__json_member_int(&j, "allocated_bytes", (int64_t)c->sums[i].allocated);
    wf__json_member_int(&j, "reserved_bytes", (int64_t)c->sums[i].reserved);
    wf__json_object_end(&j);
  }
  wf__json_member_int(&j, "growth_bytes", wf_memory_change_bytes(c));
  wf__json_member_string(&j, "group", by[c->by]);
  wf__json_key(&j, "holders");
  wf__json_array(&j);
  for (size_t i = 0; i < c->rows.n; i++) {
    const row *r = &c->rows.at[i];
    if (!growth(r) && r->after.blocks == r->before.blocks) continue;
    wf__json_object(&j);
    wf__json_member_string(&j, "name", wf__string_set_text(&c->names, r->name));
    wf__json_member_int(&j, "growth_bytes", growth(r));
    wf__json_member_int(&j, "before_bytes", (int64_t)r->before.bytes);
    wf__json_member_int(&j, "after_bytes", (int64_t)r->after.bytes);
    wf__json_member_int(&j, "before_blocks", r->before.blocks);
    wf__json_member_int(&j, "after_blocks", r->after.blocks);
    wf__json_object_end(&j);
  }
  wf__json_array_end(&j);
  wf__json_object_end(&j);
  if (!wf__json_end(&j)) return wf__text_take(&out);
  wf__text_release(&out);
  return NULL;
}
