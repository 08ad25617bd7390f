/* The report of a dry run as one JSON object; docs/will-it-fit.md lists its keys. */
#include "audit/dry_parts.h"
#include "format/json_writer.h"
#include "format/text.h"

static void put_program(wf__json *j, const wf_dry_run *r) {
  const wf__dry_process *p = wf__dry_main(r);
  wf__json_key(j, "program");
  wf__json_object(j);
  wf__json_member_string(j, "command", wf__dry_command(r));
  wf__json_member_string(j, "python", wf__dry_string(r, p->python));
  wf__json_member_string(j, "torch", wf__dry_string(r, p->torch));
  wf__json_member_string(j, "cuda", wf__dry_string(r, p->cuda));
  wf__json_member_string(j, "ended", p->finish ? wf__dry_string(r, p->finish) : wf__dry_string(r, p->ended));
  wf__json_member_string(j, "error", wf__dry_string(r, p->finish_text));
  wf__json_member_int(j, "exit_status", r->options.exit_status);
  wf__json_member_int(j, "processes", (int64_t)r->processes.n);
  wf__json_member_int(j, "steps", p->steps);
  wf__json_object_end(j);
}

static void put_answers(wf__json *j, const wf_dry_run *r) {
  static const char *const fits[] = {
      [WF__DRY_FITS] = "yes", [WF__DRY_FITS_NOT] = "no", [WF__DRY_FIT_UNKNOWN] = "unknown"};
  char text[1024];
  wf__json_key(j, "devices");
  wf__json_array(j);
  for (int i = 0; i < r->options.device_count; i++) {
    const wf__dry_answer *a = &r->answers[i];
    wf__json_object(j);
    wf__json_member_string(j, "name", a->device->name);
    wf__json_member_int(j, "memory_bytes", a->device->memory_bytes);
    wf__json_member_int(j, "context_bytes", a->device->context_bytes);
    wf__json_member_int(j, "room_bytes", (int64_t)a->room);
    wf__json_member_int(j, "needs_bytes", (int64_t)a->needs);
    wf__json_member_string(j, "fits", fits[a->no_code ? WF__DRY_FITS_NOT : a->fit]);
    wf__json_member_string(j, "cant_run", a->no_code ? wf__dry_no_code_text(r, a->device, text) : NULL);
    wf__json_member_bool(j, "ran_as_this", wf__dry_ran_as(wf__dry_main(r), a->device));
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
}

static void put_places(wf__json *j, const wf_dry_run *r) {
  wf__json_key(j, "places");
  wf__json_array(j);
  for (size_t i = 0; i < r->places.n; i++) {
    const wf__dry_place *p = &r->places.at[i];
    wf__json_object(j);
    wf__json_member_int(j, "pid", r->processes.at[p->process].pid);
    wf__json_member_int(j, "device", p->device);
    wf__json_member_int(j, "gpu", p->number);
    wf__json_member_int(j, "events", p->events);
    wf__json_member_int(j, "peak_allocated_bytes", (int64_t)p->peak);
    wf__json_member_int(j, "peak_reserved_bytes", (int64_t)p->reserved);
    wf__json_member_int(j, "needs_bytes", (int64_t)p->needs);
    wf__json_member_int(j, "outside_bytes", (int64_t)p->outside);
    wf__json_member_double(j, "memory_fraction", p->share);
    wf__json_member_int(j, "out_of_memory", p->out_of_memory);
    wf__json_member_int(j, "frees_that_waited", p->deferred);
    wf__json_member_bool(j, "replay_exact", p->exact);
    wf__json_key(j, "peak_reserved_bytes_by_release");
    wf__json_object(j);
    wf__json_member_int(j, "2.11", (int64_t)p->by_ties[WF_TIES_ADDRESS]);
    wf__json_member_int(j, "2.12", (int64_t)p->by_ties[WF_TIES_BLOCK]);
    wf__json_member_int(j, "2.13", (int64_t)p->by_ties[WF_TIES_AGE]);
    wf__json_object_end(j);
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
}

static void put_frame(wf__json *j, const char *file, int64_t line, const char *function) {
  wf__json_key(j, "site");
  if (!*file) {
    wf__json_null(j);
    return;
  }
  wf__json_object(j);
  wf__json_member_string(j, "file", file);
  wf__json_member_int(j, "line", line);
  wf__json_member_string(j, "function", function);
  wf__json_object_end(j);
}

static void put_holders(wf__json *j, const wf_dry_run *r) {
  const wf__dry_detail *d = &r->detail;
  const wf_snapshot *s = d->snapshot;
  wf__json_key(j, "roles");
  wf__json_object(j);
  for (int i = 0; i < WF__DRY_ROLES; i++)
    wf__json_member_int(j, wf__dry_role_key((wf__dry_role)i), (int64_t)d->role_bytes[i]);
  wf__json_object_end(j);
  wf__json_key(j, "by_line");
  wf__json_array(j);
  for (size_t i = 0; i < d->by_line.n && i < (size_t)r->options.rows; i++) {
    const wf__dry_holder *g = &d->by_line.at[i];
    uint32_t at = d->view.sites.site[g->stack];
    wf__snap_frame f = at == WF__NO_FRAME ? (wf__snap_frame){0} : wf__snap_frame_at(s, g->stack, at);
    wf__json_object(j);
    wf__json_member_int(j, "bytes", (int64_t)g->bytes);
    wf__json_member_int(j, "blocks", g->blocks);
    wf__json_member_string(j, "role", wf__dry_role_key((wf__dry_role)g->role));
    put_frame(j, at == WF__NO_FRAME ? "" : wf__snap_text(s, f.file), f.line, wf__snap_text(s, f.function));
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
  wf__json_key(j, "by_module");
  wf__json_array(j);
  for (size_t i = 0; i < d->by_module.n && i < (size_t)r->options.rows; i++) {
    wf__json_object(j);
    wf__json_member_string(j, "module", wf__dry_string(r, d->by_module.at[i].module));
    wf__json_member_int(j, "bytes", (int64_t)d->by_module.at[i].bytes);
    wf__json_member_int(j, "blocks", d->by_module.at[i].blocks);
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
}

static void put_steps(wf__json *j, const wf_dry_run *r) {
  wf__json_key(j, "steps");
  wf__json_array(j);
  for (size_t i = 0; i < r->detail.steps.n; i++) {
    const wf__dry_moment *m = &r->detail.steps.at[i];
    wf__json_object(j);
    wf__json_member_int(j, "step", m->step);
    wf__json_member_int(j, "peak_allocated_bytes", (int64_t)m->peak);
    wf__json_member_int(j, "peak_reserved_bytes", (int64_t)m->reserved);
    wf__json_member_int(j, "allocated_bytes", (int64_t)m->end);
    wf__json_member_int(j, "allocations", m->allocations);
    wf__json_member_int(j, "segments", m->segments);
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
}

static void put_settings(wf__json *j, const wf_replay *s) {
  wf__json_key(j, "settings");
  wf__json_array(j);
  for (size_t i = 0; i < s->rows.n; i++) {
    const wf__replay_row *row = &s->rows.at[i];
    wf__json_object(j);
    wf__json_member_string(j, "conf", row->conf);
    wf__json_member_bool(j, "recorded", row->recorded);
    wf__json_member_int(j, "peak_reserved_bytes", (int64_t)row->free_run.peak_reserved);
    wf__json_member_int(j, "needs_bytes", (int64_t)row->needs);
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
  wf__json_key(j, "recommended");
  if (s->best) wf__json_string(j, s->rows.at[s->best].conf);
  else wf__json_null(j);
}

static void put_peak(wf__json *j, const wf_dry_run *r) {
  const wf__dry_detail *d = &r->detail;
  const wf__moment *m = &d->view.at;
  wf__json_key(j, "peak");
  wf__json_object(j);
  wf__json_member_int(j, "pid", wf__dry_main(r)->pid);
  wf__json_member_int(j, "device", d->view.history.device);
  wf__json_member_int(j, "event", m->state);
  wf__json_member_int(j, "allocated_bytes", (int64_t)m->sums.allocated);
  wf__json_member_int(j, "reserved_bytes", (int64_t)m->sums.reserved);
  wf__json_member_int(j, "free_split_bytes", (int64_t)m->fragmentation.free_split);
  wf__json_member_int(j, "free_whole_bytes", (int64_t)m->fragmentation.free_whole);
  wf__json_member_double(j, "fragmentation", m->fragmentation.index);
  put_holders(j, r);
  wf__json_object_end(j);
  put_steps(j, r);
  put_settings(j, d->settings);
}

static void put_lines(wf__json *j, const wf_dry_run *r) {
  static const char *const kinds[] = {"copy", "fill", "sync", "malloc", "free", "launch"};
  wf__json_key(j, "lines");
  wf__json_array(j);
  for (size_t i = 0; i < r->lines.n; i++) {
    const wf__dry_line *l = &r->lines.at[i];
    if (l->sum.kind == WF__DRY_READ) continue;
    wf__json_object(j);
    wf__json_member_string(j, "kind", kinds[l->sum.kind]);
    wf__json_member_string(j, "what", l->sum.kind == WF__DRY_LAUNCH ? "" : wf__dry_string(r, l->sum.what));
    put_frame(j, wf__dry_string(r, l->sum.file), l->sum.line, wf__dry_string(r, l->sum.function));
    wf__json_member_int(j, "count", l->sum.count);
    wf__json_member_int(j, "bytes", l->sum.bytes);
    wf__json_key(j, "per_step");
    if (r->steady) wf__json_double(j, l->per_step);
    else wf__json_null(j);
    wf__json_member_string(j, "problem", l->problem);
    wf__json_member_string(j, "remedy", l->remedy);
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
}

static void put_reads(wf__json *j, const wf_dry_run *r) {
  wf__json_key(j, "values_read");
  wf__json_array(j);
  for (size_t i = 0; i < r->lines.n; i++) {
    const wf__dry_row *row = &r->lines.at[i].sum;
    if (row->kind != WF__DRY_READ) continue;
    wf__json_object(j);
    put_frame(j, wf__dry_string(r, row->file), row->line, wf__dry_string(r, row->function));
    wf__json_member_int(j, "count", row->count);
    wf__json_member_int(j, "bytes", row->bytes);
    wf__json_member_bool(j, "size", r->lines.at[i].size);
    wf__json_object_end(j);
  }
  wf__json_array_end(j);
}

static void put_counts(wf__json *j, const wf_dry_run *r) {
  wf__json_key(j, "steady");
  wf__json_object(j);
  wf__json_member_int(j, "warm_up_steps", r->warm);
  wf__json_member_int(j, "steps", r->steady);
  wf__json_member_double(j, "pageable_copies", r->counts.pageable);
  wf__json_member_double(j, "syncs", r->counts.syncs);
  wf__json_member_double(j, "launches", r->counts.launches);
  wf__json_member_double(j, "driver_allocations", r->counts.driver_allocations);
  wf__json_member_bool(j, "complete", !wf__dry_lost(r));
  wf__json_object_end(j);
}

static void put_limit(void *context, const char *text) { wf__json_string(context, text); }

static void put_all(wf__json *j, const wf_dry_run *r) {
  static const char *const verdicts[] = {
      [WF_DRY_FINE] = "fine", [WF_DRY_BROKEN] = "broken", [WF_DRY_UNJUDGED] = "unjudged"};
  char text[1024];
  wf__json_object(j);
  wf__json_member_string(j, "verdict", verdicts[wf_dry_judge(r)]);
  wf__json_member_string(j, "why_not", wf__dry_why_not(r, text));
  put_program(j, r);
  put_answers(j, r);
  put_places(j, r);
  if (r->has_detail) put_peak(j, r);
  if (r->late_reserved) wf__json_member_int(j, "peak_reserved_bytes_with_late_events", (int64_t)r->late_reserved);
  if (r->late_failure) wf__json_member_string(j, "late_failure", r->late_failure);
  put_counts(j, r);
  put_lines(j, r);
  put_reads(j, r);
  wf__json_key(j, "limits");
  wf__json_array(j);
  if (wf__dry_each_limit(r, put_limit, j)) j->status = WF_NO_MEMORY;
  wf__json_array_end(j);
  wf__json_object_end(j);
}

char *wf_dry_json(const wf_dry_run *run, int indent) {
  wf__text out = {0};
  wf__json j = {0};
  wf__json_begin(&j, &out, NULL, indent);
  put_all(&j, run);
  if (!wf__json_end(&j)) return wf__text_take(&out);
  wf__text_release(&out);
  return NULL;
}
