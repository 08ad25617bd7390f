/* An audit as JSON. The schema is in docs/slow-training.md; keys are only ever added. */
#include <math.h>
#include <string.h>

#include "audit/audit_parts.h"
#include "format/json_writer.h"

static double seconds(int64_t ns) { return (double)ns / 1e9; }

static void member_bytes(wf__json *j, const char *key, int64_t bytes) {
  wf__json_key(j, key);
  if (bytes < 0) wf__json_null(j);
  else wf__json_int(j, bytes);
}

/* null for what isn't known. */
static void member_text(wf__json *j, const char *key, const char *text) {
  wf__json_member_string(j, key, *text ? text : NULL);
}

static void put_head(wf__json *j, const wf_audit *a) {
  const wf__kineto *k = &a->k;
  wf__json_member_string(j, "trace", k->path);
  wf__json_member_string(j, "kind", k->has_hip ? "rocm" : k->has_device ? "cuda" : "cpu");
  wf__json_member_int(j, "events", k->seen);
  wf__json_member_int(j, "events_skipped", k->skipped);
  wf__json_member_bool(j, "truncated", k->truncated);
  wf__json_member_bool(j, "damaged", k->damaged_outside);
  wf__json_member_bool(j, "interrupted", k->interrupted);
  wf__json_member_double(j, "seconds", seconds(k->end - k->start));
  wf__json_key(j, "has");
  wf__json_object(j);
  wf__json_member_bool(j, "shapes", k->has_shapes);
  wf__json_member_bool(j, "stacks", k->has_stacks);
  wf__json_member_bool(j, "modules", k->has_modules);
  wf__json_member_bool(j, "memory", k->has_memory);
  wf__json_object_end(j);
}

static void put_steps(wf__json *j, const wf__steps *s) {
  wf__json_key(j, "steps");
  wf__json_object(j);
  wf__json_member_int(j, "count", s->n);
  wf__json_member_int(j, "warm_up", s->warm);
  wf__json_member_string(j, "told_by", s->n ? s->source : NULL);
  wf__json_member_double(j, "median_seconds", s->n ? seconds(s->median) : NAN);
  wf__json_member_double(j, "steady_seconds", seconds(wf__steady_ns(s)));
  wf__json_object_end(j);
}

static void put_devices(wf__json *j, const wf_audit *a) {
  wf__json_key(j, "devices");
  wf__json_array(j);
  for (int i = 0; i < a->use_count; i++) {
    const wf__device_use *u = &a->uses[i];
    wf__json_object(j);
    wf__json_member_int(j, "device", u->device);
    wf__json_member_string(j, "name", *a->k.device_name ? a->k.device_name : NULL);
    wf__json_member_double(j, "busy_seconds", seconds(u->busy));
    wf__json_member_double(j, "idle_seconds", seconds(u->idle));
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
  wf__json_key(j, "peak_memory");
  wf__json_array(j);
  for (int i = 0; i < a->k.peak_count; i++) {
    wf__json_object(j);
    wf__json_key(j, "device");
    if (a->k.peaks[i].device < 0) wf__json_string(j, "host");
    else wf__json_int(j, a->k.peaks[i].device);
    wf__json_member_int(j, "bytes", a->k.peaks[i].total);
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
}

static void put_metrics(wf__json *j, const wf_audit *a) {
  wf__json_key(j, "metrics");
  wf__json_object(j);
  for (int m = 0; m < WF_METRIC_COUNT; m++)
    wf__json_member_double(j, wf_metric_name((wf_metric)m), wf_audit_metric(a, (wf_metric)m));
  wf__json_object_end(j);
  wf__json_key(j, "copies");
  wf__json_object(j);
  wf__json_member_int(j, "count", a->copies);
  wf__json_member_int(j, "with_known_bytes", a->copies_known);
  member_bytes(j, "bytes_written", a->copies && !a->copies_known ? -1 : a->copy_bytes);
  wf__json_object_end(j);
}

static void put_finding(wf__json *j, const wf_finding *f) {
  wf__json_object(j);
  wf__json_member_string(j, "rule", f->rule);
  wf__json_member_string(j, "title", f->title);
  wf__json_member_int(j, "count", f->count);
  wf__json_member_int(j, "steady_count", f->steady_count);
  wf__json_member_double(j, "per_step", f->per_step);
  wf__json_member_double(j, "seconds", seconds(f->ns));
  wf__json_member_double(j, "steady_seconds", seconds(f->steady_ns));
  member_bytes(j, "bytes", f->bytes);
  wf__json_member_double(j, "share", f->share);
  wf__json_key(j, "where");
  wf__json_object(j);
  member_text(j, "operator", f->op);
  member_text(j, "cause", f->cause);
  member_text(j, "module", f->module);
  member_text(j, "line", f->line);
  member_text(j, "function", f->function);
  wf__json_member_bool(j, "backward_of_it", f->by_forward);
  wf__json_object_end(j);
  wf__json_member_string(j, "remedy", f->remedy);
  wf__json_object_end(j);
}

static void put_counts(wf__json *j, const wf_audit *a) {
  static const char *const always[] = {"aten::contiguous", "aten::clone", "aten::copy_",
                                       "aten::_to_copy",   "aten::to",    "aten::item"};
  wf__json_key(j, "counts");
  wf__json_object(j);
  for (size_t i = 0; i < sizeof always / sizeof *always; i++)
    if (!wf_audit_count(a, always[i])) wf__json_member_int(j, always[i], 0);
  for (uint32_t i = 0; i < a->k.names.n; i++)
    if (a->k.names.at[i].count) wf__json_member_int(j, a->k.names.at[i].text, a->k.names.at[i].count);
  wf__json_object_end(j);
}

char *wf_audit_json(const wf_audit *a, int indent) {
  wf__text text = {0};
  wf__json j;
  if (!a) return NULL;
  wf__json_begin(&j, &text, NULL, indent);
  wf__json_object(&j);
  put_head(&j, a);
  put_steps(&j, &a->steps);
  put_devices(&j, a);
  put_metrics(&j, a);
  wf__json_key(&j, "findings");
  wf__json_array(&j);
  for (size_t i = 0; i < a->n; i++) put_finding(&j, &a->findings[i]);
  wf__json_array_end(&j);
  put_counts(&j, a);
  wf__json_object_end(&j);
  if (!wf__json_end(&j)) return wf__text_take(&text);
  wf__text_release(&text);
  return NULL;
}
