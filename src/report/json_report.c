/* The report as one JSON object, for programs. Keys and their meaning are part of the command's interface: add, don't change. */
#include <string.h>

#include "base/host.h"
#include "format/json_writer.h"
#include "report/summary.h"
#include "report/units.h"

static double seconds(int64_t ns) { return (double)ns / 1e9; }

static void member_device(wf__json *j, wf_device device) {
  char name[WF__UNIT_TEXT];
  wf__json_member_string(j, "device", wf_device_name(device, name, sizeof name));
}

static void put_numbers(wf__json *j, const wf_report *r) {
  for (size_t i = 0; i < r->number_count; i++) {
    const wf__number *n = &r->numbers[i];
    bool whole = n->unit == WF_REPORT_BYTES || n->unit == WF_REPORT_COUNT;
    if (whole && n->value > -9e15 && n->value < 9e15) wf__json_member_int(j, n->name, (int64_t)n->value);
    else wf__json_member_double(j, n->name, n->value);
  }
  const wf__memory_use *device = wf__report_device(r);
  if (device && !wf__report_number(r, "peak_allocated_bytes"))
    wf__json_member_int(j, "peak_allocated_bytes", device->stats.allocated_bytes[0].peak);
  if (device && !wf__report_number(r, "peak_reserved_bytes"))
    wf__json_member_int(j, "peak_reserved_bytes", device->stats.reserved_bytes[0].peak);
  wf__json_member_double(j, "wall_seconds", seconds(wf__report_wall(r)));
}

static void put_stages(wf__json *j, const wf_report *r, const wf__summary *s) {
  wf__json_key(j, "stages");
  wf__json_object(j);
  for (size_t i = 0; i < s->stage_count; i++) {
    const wf__stage *g = &s->stages[i];
    wf__json_key(j, g->name);
    wf__json_object(j);
    wf__json_member_double(j, "seconds", seconds(wf__stage_work(g)));
    wf__json_member_double(j, "share", (double)wf__stage_work(g) / (double)wf__report_wall(r));
    wf__json_member_double(j, "wait_seconds", seconds(g->wait_ns));
    wf__json_member_double(j, "host_seconds", seconds(g->host_ns - g->wait_ns));
    wf__json_member_double(j, "device_seconds", seconds(g->device_ns));
    wf__json_member_int(j, "count", g->count);
    wf__json_object_end(j);
  }
  wf__json_object_end(j);
}

static void put_move(wf__json *j, const wf__move *m, bool with_site) {
  wf__json_object(j);
  if (with_site) {
    wf__json_member_string(j, "site", m->site);
    wf__json_member_string(j, "op", m->op);
    wf__json_member_string(j, "module", m->module);
    member_device(j, m->device);
  }
  wf__json_member_string(j, "kind", wf_event_kind_name(m->kind));
  wf__json_member_bool(j, "asked", !m->implicit);
  wf__json_member_int(j, "count", m->count);
  wf__json_member_int(j, "bytes_read", m->bytes_read);
  wf__json_member_int(j, "bytes_written", m->bytes_written);
  wf__json_member_double(j, "seconds", seconds(m->ns));
  wf__json_object_end(j);
}

static void put_moves(wf__json *j, const wf__summary *s) {
  wf__json_key(j, "copies");
  wf__json_array(j);
  for (size_t i = 0; i < s->move_count; i++) put_move(j, &s->moves[i], true);
  wf__json_array_end(j);
  wf__json_key(j, "copies_by_kind");
  wf__json_array(j);
  for (size_t i = 0; i < s->kind_count; i++) put_move(j, &s->kinds[i], false);
  wf__json_array_end(j);
}

static void put_waits(wf__json *j, const wf__summary *s) {
  wf__json_key(j, "waits");
  wf__json_array(j);
  for (size_t i = 0; i < s->wait_count; i++) {
    const wf__host_wait *w = &s->waits[i];
    wf__json_object(j);
    wf__json_member_string(j, "site", w->site);
    wf__json_member_string(j, "what", w->what);
    wf__json_member_string(j, "stage", w->stage);
    wf__json_member_int(j, "count", w->count);
    wf__json_member_double(j, "seconds", seconds(w->ns));
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
}

static void put_operators(wf__json *j, const wf__summary *s) {
  wf__json_key(j, "operators");
  wf__json_array(j);
  for (size_t i = 0; i < s->operator_count; i++) {
    const wf__operator_time *o = &s->operators[i];
    wf__json_object(j);
    wf__json_member_string(j, "op", o->op);
    wf__json_member_string(j, "module", o->module);
    member_device(j, o->device);
    wf__json_member_int(j, "count", o->count);
    wf__json_member_double(j, "seconds", seconds(o->ns));
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
}

static void put_devices(wf__json *j, const wf_report *r, const wf__summary *s) {
  wf__json_key(j, "devices");
  wf__json_array(j);
  for (size_t i = 0; i < s->device_count; i++) {
    wf__json_object(j);
    member_device(j, s->devices[i].device);
    wf__json_member_bool(j, "emulated", s->devices[i].device.type == WF_DEVICE_SIM);
    wf__json_member_double(j, "compute_seconds", seconds(s->devices[i].compute_ns));
    wf__json_member_double(j, "transfer_seconds", seconds(s->devices[i].transfer_ns));
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
  wf__json_key(j, "memory");
  wf__json_array(j);
  for (size_t i = 0; i < r->memory_count; i++) {
    const wf__memory_use *m = &r->memory[i];
    wf__json_object(j);
    member_device(j, m->device);
    wf__json_member_bool(j, "pinned", m->pinned);
    wf__json_member_int(j, "peak_allocated_bytes", m->stats.allocated_bytes[0].peak);
    wf__json_member_int(j, "peak_reserved_bytes", m->stats.reserved_bytes[0].peak);
    wf__json_member_int(j, "allocated_bytes", m->stats.allocated_bytes[0].current);
    wf__json_member_int(j, "reserved_bytes", m->stats.reserved_bytes[0].current);
    wf__json_member_int(j, "allocations", m->stats.allocation[0].allocated);
    wf__json_member_int(j, "alloc_retries", m->stats.alloc_retries);
    wf__json_member_int(j, "ooms", m->stats.ooms);
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
}

static void put_curves(wf__json *j, const wf_report *r) {
  wf__json_key(j, "metrics");
  wf__json_object(j);
  for (size_t i = 0; i < r->curve_count; i++) {
    wf__json_key(j, r->curves[i].name);
    wf__json_array(j);
    for (size_t k = 0; k < r->curves[i].n; k++) {
      wf__json_array(j);
      wf__json_double(j, r->curves[i].at[k].step);
      wf__json_double(j, r->curves[i].at[k].value);
      wf__json_array_end(j);
    }
    wf__json_array_end(j);
  }
  wf__json_object_end(j);
}

char *wf_report_json(wf_report *r, int indent) {
  wf__summary s;
  wf__text text = {0};
  wf__json j;
  if (wf__summary_make(r, &s)) return NULL;
  wf__json_begin(&j, &text, NULL, indent);
  wf__json_object(&j);
  wf__json_member_string(&j, "title", r->title);
  put_numbers(&j, r);
  put_stages(&j, r, &s);
  put_moves(&j, &s);
  put_waits(&j, &s);
  put_operators(&j, &s);
  put_devices(&j, r, &s);
  put_curves(&j, r);
  wf__json_key(&j, "config");
  wf__json_object(&j);
  for (size_t i = 0; i < r->fact_count; i++) wf__json_member_string(&j, r->facts[i].name, r->facts[i].text);
  wf__json_object_end(&j);
  wf__json_member_int(&j, "events", (int64_t)r->event_count);
  wf__json_member_int(&j, "events_dropped", r->dropped);
  wf__json_object_end(&j);
  wf_status status = wf__json_end(&j);
  wf__summary_release(&s);
  if (!status) return wf__text_take(&text);
  wf__text_release(&text);
  return NULL;
}
