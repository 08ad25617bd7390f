/* The single events as a Chrome trace: complete events ("X") a thread of the host or stream of a device, counters for memory, names as
 * metadata. Written as it comes, so its size doesn't matter. Times are microseconds since the run began, exact to the nanosecond. */
#include <string.h>

#include "format/atomic_file.h"
#include "format/json_writer.h"
#include "report/timeline_lanes.h"
#include "report/units.h"

#define HOST_PROCESS 1

/* Processes are the host and each device, threads are threads and streams. */
static int process_of(const wf__lane *lane) {
  return lane->on_device ? 100 * (int)lane->device.type + lane->device.index + 1 : HOST_PROCESS;
}
static int process_of_device(wf_device device) {
  return wf__device_is_async(device) ? 100 * (int)device.type + device.index + 1 : HOST_PROCESS;
}
static int64_t thread_of(const wf__lane *lane) { return lane->on_device ? (int64_t)lane->number + 1 : lane->number; }

static void begin_event(wf__json *j, const char *phase, const char *name, int process, int64_t thread) {
  wf__json_object(j);
  wf__json_member_string(j, "ph", phase);
  wf__json_member_string(j, "name", name);
  wf__json_member_int(j, "pid", process);
  wf__json_member_int(j, "tid", thread);
}

static void put_metadata(wf__json *j, const char *what, int process, int64_t thread, const char *name, int64_t order) {
  begin_event(j, "M", what, process, thread);
  wf__json_key(j, "args");
  wf__json_object(j);
  if (name) wf__json_member_string(j, "name", name);
  else wf__json_member_int(j, "sort_index", order);
  wf__json_object_end(j);
  wf__json_object_end(j);
}

static void put_names(wf__json *j, const wf_report *r, const wf__lanes *lanes) {
  char name[2 * WF__UNIT_TEXT];
  put_metadata(j, "process_name", HOST_PROCESS, 0, r->title, 0);
  put_metadata(j, "process_sort_index", HOST_PROCESS, 0, NULL, 0);
  for (size_t i = 0; i < lanes->n; i++) {
    const wf__lane *lane = &lanes->at[i];
    int process = process_of(lane);
    if (lane->on_device && (!i || process_of(&lanes->at[i - 1]) != process)) {
      put_metadata(j, "process_name", process, 0, wf__device_text(lane->device, false, name), 0);
      put_metadata(j, "process_sort_index", process, 0, NULL, process);
    }
    put_metadata(j, "thread_name", process, thread_of(lane), lane->name, 0);
    put_metadata(j, "thread_sort_index", process, thread_of(lane), NULL, (int64_t)i);
  }
}

static const char *category(wf_event_kind kind) {
  if (kind == WF_EVENT_ZONE) return "zone";
  if (kind == WF_EVENT_WAIT) return "wait";
  return kind == WF_EVENT_KERNEL ? "kernel" : "copy";
}

static const char *name_of(const wf_trace_event *e, char text[160]) {
  if (e->kind == WF_EVENT_WAIT) snprintf(text, 160, "wait: %s", e->op);
  else if (wf__kind_moves(e->kind) && strcmp(e->op, wf_event_kind_name(e->kind)))
    snprintf(text, 160, "%s: %s", wf_event_kind_name(e->kind), e->op);
  else return e->op;
  return text;
}

static void put_arguments(wf__json *j, const wf_trace_event *e) {
  wf__json_key(j, "args");
  wf__json_object(j);
  wf__json_member_string(j, "kind", wf_event_kind_name(e->kind));
  if (wf__kind_moves(e->kind)) {
    wf__json_member_int(j, "bytes", e->bytes_written);
    wf__json_member_int(j, "bytes_read", e->bytes_read);
    wf__json_member_bool(j, "implicit", e->implicit);
  }
  if (e->site) wf__json_member_string(j, "site", wf__report_site(e->site));
  if (*e->module) wf__json_member_string(j, "module", e->module);
  if (*e->zone) wf__json_member_string(j, "stage", e->zone);
  wf__json_object_end(j);
}

static void put_event(wf__json *j, const wf_trace_event *e, const wf__lane *lane, int64_t start) {
  char name[160];
  begin_event(j, "X", name_of(e, name), process_of(lane), thread_of(lane));
  wf__json_member_string(j, "cat", category(e->kind));
  wf__json_key(j, "ts");
  wf__json_decimal(j, e->start_ns - start, 3);
  wf__json_key(j, "dur");
  wf__json_decimal(j, e->end_ns > e->start_ns ? e->end_ns - e->start_ns : 0, 3);
  put_arguments(j, e);
  wf__json_object_end(j);
}

static void put_counter(wf__json *j, const wf_trace_event *e, int64_t start) {
  char device[2 * WF__UNIT_TEXT], name[3 * WF__UNIT_TEXT];
  snprintf(name, sizeof name, "memory: %s", wf__device_text(e->device, e->pinned, device));
  begin_event(j, "C", name, process_of_device(e->device), 0);
  wf__json_key(j, "ts");
  wf__json_decimal(j, e->start_ns - start, 3);
  wf__json_key(j, "args");
  wf__json_object(j);
  wf__json_member_int(j, "allocated", e->allocated);
  wf__json_member_int(j, "reserved", e->reserved);
  wf__json_object_end(j);
  wf__json_object_end(j);
}

static void put_other_data(wf__json *j, const wf_report *r) {
  wf__json_member_string(j, "displayTimeUnit", "ms");
  wf__json_key(j, "otherData");
  wf__json_object(j);
  wf__json_member_string(j, "program", r->title);
  wf__json_member_string(j, "weft", wf_version());
  for (size_t i = 0; i < r->fact_count; i++) wf__json_member_string(j, r->facts[i].name, r->facts[i].text);
  wf__json_member_int(j, "events_dropped", r->dropped);
  wf__json_object_end(j);
}

static wf_status put_trace(const wf_report *r, const wf__lanes *lanes, FILE *stream, const char *path) {
  wf__json j;
  int64_t start = r->start_ns || r->end_ns || !r->event_count ? r->start_ns : r->events[0].start_ns;
  wf__json_begin(&j, NULL, stream, 0);
  j.name = path;
  wf__json_object(&j);
  put_other_data(&j, r);
  wf__json_key(&j, "traceEvents");
  wf__json_array(&j);
  put_names(&j, r, lanes);
  for (size_t i = 0; i < r->event_count && !j.status; i++) {
    const wf_trace_event *e = &r->events[i];
    if (wf__in_lane(e)) put_event(&j, e, &lanes->at[wf__lane_of(lanes, e)], start);
    else if (e->kind != WF_EVENT_NONE) put_counter(&j, e, start);
  }
  wf__json_array_end(&j);
  wf__json_object_end(&j);
  return wf__json_end(&j);
}

wf_status wf_report_write_trace(wf_report *r, const char *path) {
  wf__atomic_file file;
  wf__lanes lanes;
  WF__TRY(wf__lanes_make(r->events, r->event_count, &lanes));
  wf_status status = wf__atomic_open(&file, path);
  if (!status) {
    status = put_trace(r, &lanes, file.stream, path);
    if (status) wf__atomic_abandon(&file);
    else status = wf__atomic_commit(&file);
  }
  wf__lanes_release(&lanes);
  return status;
}
