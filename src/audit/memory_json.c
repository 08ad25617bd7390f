/* The report of a snapshot as one JSON object; docs/out-of-memory.md lists its keys. */
#include <stdio.h>

#include "audit/memory_view.h"
#include "format/json_writer.h"
#include "report/units.h"

static void put_frame(wf__json *j, const wf_snapshot *s, wf__snap_frame f) {
  wf__json_object(j);
  wf__json_member_string(j, "file", wf__snap_text(s, f.file));
  wf__json_member_int(j, "line", f.line);
  wf__json_member_string(j, "function", wf__snap_text(s, f.function));
  wf__json_object_end(j);
}

static void put_stack(wf__json *j, const wf_snapshot *s, uint32_t stack) {
  wf__json_key(j, "stack");
  wf__json_array(j);
  for (uint32_t i = 0; i < wf__snap_depth(s, stack); i++) put_frame(j, s, wf__snap_frame_at(s, stack, i));
  wf__json_array_end(j);
}

/* "site": the frame, or null where there is none. */
static void put_site(wf__json *j, const wf__memory_view *v, uint32_t stack, bool before) {
  uint32_t at = before ? WF__NO_FRAME : v->sites.site[stack];
  wf__json_key(j, "site");
  if (at == WF__NO_FRAME) wf__json_null(j);
  else put_frame(j, v->history.snapshot, wf__snap_frame_at(v->history.snapshot, stack, at));
}

static void put_moment(wf__json *j, const char *key, const wf__history *h, const wf__moment *m) {
  wf__json_key(j, key);
  wf__json_object(j);
  wf__json_member_int(j, "event", m->state);
  wf__json_member_double(j, "seconds", (double)wf__state_ns(h, m->state) / 1e9);
  wf__json_member_int(j, "allocated_bytes", (int64_t)m->sums.allocated);
  wf__json_member_int(j, "requested_bytes", (int64_t)m->sums.requested);
  wf__json_member_int(j, "rounding_bytes", (int64_t)(m->sums.allocated - m->sums.requested));
  wf__json_member_int(j, "active_bytes", (int64_t)m->sums.active);
  wf__json_member_int(j, "blocks", m->sums.blocks);
  if (!h->snapshot->is_log) {
    wf__json_member_int(j, "reserved_bytes", (int64_t)m->sums.reserved);
    wf__json_member_int(j, "inactive_bytes", (int64_t)(m->sums.reserved - m->sums.active));
    wf__json_member_int(j, "free_whole_bytes", (int64_t)m->fragmentation.free_whole);
    wf__json_member_int(j, "free_split_bytes", (int64_t)m->fragmentation.free_split);
    wf__json_member_int(j, "largest_free_bytes", (int64_t)m->fragmentation.largest);
    wf__json_member_double(j, "fragmentation", m->fragmentation.index);
    wf__json_member_int(j, "segments", m->sums.segments);
  }
  wf__json_object_end(j);
}

static void put_holders(wf__json *j, const wf__memory_view *v, const wf_memory_options *o) {
  static const char *const by[] = {"site", "module", "size"};
  wf__json_member_string(j, "group", by[v->holders.by]);
  wf__json_key(j, "holders");
  wf__json_array(j);
  for (size_t i = 0; i < v->holders.groups.n && i < (size_t)o->rows; i++) {
    const wf__holder *g = &v->holders.groups.at[i];
    char name[WF__SITE_TEXT];
    wf__json_object(j);
    wf__json_member_string(j, "name",
                           wf__holder_name(v->history.snapshot, &v->sites, &v->holders, g, WF__SITE_TEXT, name));
    wf__json_member_int(j, "bytes", (int64_t)g->bytes);
    wf__json_member_int(j, "requested_bytes", (int64_t)g->requested);
    wf__json_member_int(j, "blocks", g->blocks);
    wf__json_member_int(j, "largest_bytes", (int64_t)g->largest);
    put_site(j, v, g->stack, g->before);
    if (o->stacks) put_stack(j, v->history.snapshot, g->before ? 0 : g->stack);
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
  wf__json_member_int(j, "holder_count", (int64_t)v->holders.groups.n);
}

static void put_holes(wf__json *j, const wf__memory_view *v, const wf_memory_options *o) {
  const wf__fragmentation *f = &v->at.fragmentation;
  wf__json_key(j, "holes");
  wf__json_array(j);
  for (size_t i = 0; i < f->holes.n && i < (size_t)o->rows; i++) {
    const wf__hole *hole = &f->holes.at[i];
    const wf__block_life *pin = &v->history.blocks.at[hole->pin];
    wf__json_object(j);
    wf__json_member_int(j, "address", (int64_t)hole->address);
    wf__json_member_int(j, "bytes", (int64_t)hole->size);
    wf__json_member_int(j, "segment", (int64_t)hole->segment);
    wf__json_member_int(j, "segment_bytes", (int64_t)hole->segment_size);
    wf__json_member_int(j, "pin_address", (int64_t)pin->address);
    wf__json_member_int(j, "pin_bytes", (int64_t)pin->size);
    wf__json_member_int(j, "bytes_without_pin", (int64_t)hole->if_freed);
    wf__json_member_bool(j, "frees_segment", hole->frees_segment);
    put_site(j, v, pin->stack, pin->from_free);
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
  wf__json_member_int(j, "hole_count", (int64_t)f->holes.n);
}

static void put_failures(wf__json *j, const wf__memory_view *v) {
  wf__json_key(j, "out_of_memory");
  wf__json_array(j);
  for (int i = 0; i < v->failure_count; i++) {
    const wf__failure *f = &v->failures[i];
    wf__json_object(j);
    wf__json_member_int(j, "event", f->event);
    wf__json_member_int(j, "request_bytes", (int64_t)f->request);
    wf__json_member_int(j, "segment_bytes", (int64_t)f->segment);
    if (f->driver_known) wf__json_member_int(j, "device_free_bytes", (int64_t)f->driver_free);
    wf__json_member_int(j, "allocated_bytes", (int64_t)f->allocated);
    wf__json_member_int(j, "reserved_bytes", (int64_t)f->reserved);
    wf__json_member_int(j, "fragmented_bytes", (int64_t)f->cached);
    wf__json_member_int(j, "largest_usable_bytes", (int64_t)f->largest);
    wf__json_member_int(j, "would_have_fitted_bytes", (int64_t)f->fits);
    wf__json_member_int(j, "missing_bytes", (int64_t)f->missing);
    wf__json_member_bool(j, "fragmentation_was_the_cause", !v->history.snapshot->is_log && !f->missing);
    put_site(j, v, f->stack, false);
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
}

static void put_all(wf__json *j, const wf__memory_view *v, const wf_memory_options *o) {
  const wf__history *h = &v->history;
  wf__json_object(j);
  wf__json_member_string(j, "file", h->snapshot->name);
  wf__json_member_string(j, "kind", h->snapshot->is_log ? "rmm_log" : "snapshot");
  wf__json_member_int(j, "device", h->device);
  wf__json_key(j, "devices");
  wf__json_array(j);
  for (int device = -1; (device = wf__device_after(h->snapshot, device)) >= 0;) wf__json_int(j, device);
  wf__json_array_end(j);
  wf__json_member_int(j, "events", h->n);
  wf__json_member_int(j, "unmatched", h->unmatched);
  wf__json_member_string(j, "conf", wf__snap_text(h->snapshot, h->snapshot->settings.conf));
  wf__json_member_int(j, "peak_allocated_bytes", (int64_t)h->peak);
  wf__json_member_int(j, "peak_allocated_event", h->peak_state);
  if (!h->snapshot->is_log) {
    wf__json_member_int(j, "peak_reserved_bytes", (int64_t)h->reserved_peak);
    wf__json_member_int(j, "peak_reserved_event", h->reserved_peak_state);
  }
  put_moment(j, "at", h, &v->at);
  put_moment(j, "end", h, &v->end);
  put_holders(j, v, o);
  put_holes(j, v, o);
  put_failures(j, v);
  wf__json_object_end(j);
}

char *wf_memory_json(const wf_snapshot *s, const wf_memory_options *options, int indent) {
  wf_memory_options o = options ? *options : wf_memory_defaults();
  wf__memory_view v;
  if (wf__memory_view_make(&v, s, &o)) return NULL;
  wf__text out = {0};
  wf__json j = {0};
  wf__json_begin(&j, &out, NULL, indent);
  put_all(&j, &v, &o);
  wf_status status = wf__json_end(&j);
  wf__memory_view_release(&v);
  if (!status) return wf__text_take(&out);
  wf__text_release(&out);
  return NULL;
}
