/* The outcome of replays: how exactly the recording was met, a table, a recommendation. */
#include "audit/replay_search.h"
#include "base/host.h"
#include "format/json_writer.h"
#include "report/columns.h"
#include "report/units.h"

static const char *const tie_releases[] = {
    [WF_TIES_AGE] = "2.13 on", [WF_TIES_BLOCK] = "2.12", [WF_TIES_ADDRESS] = "up to 2.11"};

static const char *bytes_of(uint64_t bytes, char text[WF__UNIT_TEXT]) { return wf__bytes_text((int64_t)bytes, text); }

static double waste(const wf__replay_result *r) {
  return r->peak_reserved ? 1 - (double)r->allocated_then / (double)r->peak_reserved : 0;
}

/* ---- text ------------------------------------------------------------------------------------------------------------ */

static void put_recording(wf__text *out, const wf_replay *r, size_t columns) {
  char a[WF__UNIT_TEXT], b[WF__UNIT_TEXT], c[WF__UNIT_TEXT];
  wf__text t = {0};
  wf__text_printf(&t, "%s: %s events; at most %s allocated", r->name, wf__count_text(r->events, a),
                  bytes_of(r->recorded_peak, b));
  if (!r->is_log) wf__text_printf(&t, ", %s reserved", bytes_of(r->recorded_reserved, c));
  if (r->is_log) wf__text_put(&t, ". An RMM log has no segments: how exactly the replay is can't be known.");
  else
    wf__text_printf(&t, "; recorded with %s",
                    *r->recorded_conf ? r->recorded_conf
                    : r->conf_known   ? "the default settings"
                                      : "unknown settings, taken to be the defaults");
  if (r->conf_bad) wf__text_put(&t, " (its text of settings isn't understood; the fields beside it were used)");
  if (t.status) out->status = t.status;
  else wf__put_wrapped(out, "", 0, t.data, columns);
  wf__text_release(&t);
}

static void put_exactness(wf__text *out, const wf_replay *r, size_t columns) {
  const wf__replay_result *f = &r->follow;
  char a[WF__UNIT_TEXT], b[WF__UNIT_TEXT];
  wf__text t = {0};
  if (r->is_log) return;
  if (wf__replay_exact(f))
    wf__text_printf(
        &t,
        "Replayed as recorded: exact. All %s allocations came to their places, and every segment was asked for and given "
        "back when it was (rules of PyTorch %s).",
        wf__count_text(f->placed, a), tie_releases[r->ties]);
  else
    wf__text_printf(
        &t,
        "Replayed as recorded: %s of %s allocations came to their places; %u calls of the driver differ; the first "
        "difference is at event %u.",
        wf__count_text(f->same, a), wf__count_text(f->placed, b), f->other_driver, f->first_difference);
  if (!r->from_start)
    wf__text_put(&t, " The recording begins with memory in use; how it lay then was found from the end.");
  if (r->guessed)
    wf__text_printf(&t, " Of %s blocks in use then it can't be seen whether they were up to 1 MiB longer.",
                    wf__count_text(r->guessed, a));
  if (r->expandable_start)
    wf__text_put(&t, " The address space between the parts of expandable segments isn't recorded.");
  if (r->private_segments)
    wf__text_printf(&t, " %u segments in use then belong to private pools and count as ordinary ones.",
                    r->private_segments);
  if (r->unmatched)
    wf__text_printf(&t, " %s entries don't fit the end of the history and were left out.",
                    wf__count_text(r->unmatched, a));
  if (t.status) out->status = t.status;
  else wf__put_wrapped(out, "", 0, t.data, columns);
  wf__text_release(&t);
}

static void put_row(wf__text *out, const wf_replay *r, const wf__replay_row *row, int width) {
  char a[WF__UNIT_TEXT], b[WF__UNIT_TEXT], c[WF__UNIT_TEXT];
  const char *conf = *row->conf ? row->conf : "defaults";
  wf__text_printf(out, "%-*s", width, conf);
  if ((int)strlen(conf) >= width) wf__text_printf(out, "\n%-*s", width, "");
  wf__text_printf(out, " %10s %10s %10s", bytes_of(row->free_run.peak_allocated, a),
                  bytes_of(row->free_run.peak_reserved, b), bytes_of(row->needs, c));
  wf__text_printf(out, " %6s", wf__share_text((int64_t)(waste(&row->free_run) * 1e6), 1000000, a));
  snprintf(a, sizeof a, "%lld, %lld", (long long)row->free_run.got, (long long)row->free_run.gave);
  wf__text_printf(out, " %8s", a);
  if (r->memory) wf__text_put(out, row->limited.failures ? "   no" : "  yes");
  wf__text_put(out, row->recorded ? " *\n" : "\n");
}

static void put_table(wf__text *out, const wf_replay *r, int columns) {
  char a[WF__UNIT_TEXT];
  int width = columns - 49 - (r->memory ? 5 : 0) - 2, longest = 12;
  for (size_t i = 0; i < r->rows.n; i++)
    if ((int)strlen(r->rows.at[i].conf) + 1 > longest) longest = (int)strlen(r->rows.at[i].conf) + 1;
  if (longest < width) width = longest;
  if (r->memory)
    wf__text_printf(out, "\nThe device has %s for it%s.\n", bytes_of(r->memory, a),
                    r->memory_seen ? ", as its out of memory shows" : "");
  wf__text_printf(out, "\n%-*s %10s %10s %10s %6s %8s%s\n", width, "", "most", "most", "memory", "unused", "segments",
                  r->memory ? " fits" : "");
  wf__text_printf(out, "%-*s %10s %10s %10s %6s %8s\n", width, "settings", "allocated", "reserved", "it needs", "then",
                  "got, gave");
  for (size_t i = 0; i < r->rows.n; i++) put_row(out, r, &r->rows.at[i], width);
  wf__text_put(out, "* as recorded\n");
}

static void put_advice(wf__text *out, const wf_replay *r, size_t columns) {
  const wf__replay_row *best = &r->rows.at[r->best], *recorded = &r->rows.at[0];
  char a[WF__UNIT_TEXT], b[WF__UNIT_TEXT];
  if (!r->best) {
    wf__text_printf(out, "\nNone of these needs clearly less memory than what was recorded, %s.\n",
                    bytes_of(recorded->needs, a));
    if (r->memory && recorded->limited.failures)
      wf__text_printf(out, "It doesn't fit in %s: less has to be held at once; weft memory says by whom.\n",
                      bytes_of(r->memory, b));
    return;
  }
  wf__text_printf(out, "\nRecommended: PYTORCH_CUDA_ALLOC_CONF=%s\n%s suffice instead of %s.%s",
                  *best->conf ? best->conf : "(unset)", bytes_of(best->needs, a), bytes_of(recorded->needs, b),
                  r->memory ? " " : "");
  if (r->memory) wf__text_printf(out, "%s.", best->limited.failures ? "It still doesn't fit" : "It fits");
  wf__text_put(out, "\n");
  if (*wf__replay_why(best->conf)) wf__put_wrapped(out, "", 0, wf__replay_why(best->conf), columns);
}

char *wf_replay_text(const wf_replay *r, int columns) {
  wf__text out = {0};
  if (columns < 80) columns = 80;
  put_recording(&out, r, (size_t)columns);
  put_exactness(&out, r, (size_t)columns);
  put_table(&out, r, columns);
  put_advice(&out, r, (size_t)columns);
  return wf__text_take(&out);
}

/* ---- JSON ------------------------------------------------------------------------------------------------------------ */

static void put_event(wf__json *j, const char *key, uint32_t event) {
  wf__json_key(j, key);
  if (event == WF__NO_LIFE) wf__json_null(j);
  else wf__json_int(j, event);
}

static void put_reproduction(wf__json *j, const wf_replay *r) {
  const wf__replay_result *f = &r->follow;
  static const char *const ties[] = {[WF_TIES_AGE] = "age", [WF_TIES_BLOCK] = "block", [WF_TIES_ADDRESS] = "address"};
  wf__json_key(j, "reproduction");
  if (r->is_log) {
    wf__json_null(j);
    return;
  }
  wf__json_object(j);
  wf__json_member_bool(j, "exact", wf__replay_exact(f));
  wf__json_member_int(j, "allocations", f->placed);
  wf__json_member_int(j, "same_place", f->same);
  wf__json_member_int(j, "other_driver_calls", f->other_driver);
  put_event(j, "first_difference", f->first_difference);
  wf__json_member_string(j, "ties", ties[r->ties]);
  wf__json_member_bool(j, "from_start", r->from_start);
  wf__json_member_int(j, "guessed_blocks", r->guessed);
  wf__json_member_int(j, "unmatched", r->unmatched);
  wf__json_object_end(j);
}

static void put_json_row(wf__json *j, const wf_replay *r, const wf__replay_row *row) {
  wf__json_object(j);
  wf__json_member_string(j, "conf", row->conf);
  wf__json_member_bool(j, "recorded", row->recorded);
  wf__json_member_int(j, "peak_allocated_bytes", (int64_t)row->free_run.peak_allocated);
  wf__json_member_int(j, "peak_reserved_bytes", (int64_t)row->free_run.peak_reserved);
  wf__json_member_double(j, "fragmentation_at_peak", waste(&row->free_run));
  wf__json_member_int(j, "segments_requested", row->free_run.got);
  wf__json_member_int(j, "segments_released", row->free_run.gave);
  wf__json_member_int(j, "needs_bytes", (int64_t)row->needs);
  if (r->memory) {
    wf__json_member_bool(j, "fits", !row->limited.failures);
    wf__json_member_int(j, "retries", row->limited.retries);
    put_event(j, "first_failure", row->limited.failures ? row->limited.first_failure : WF__NO_LIFE);
  }
  wf__json_object_end(j);
}

static void put_json(wf__json *j, const wf_replay *r) {
  wf__json_object(j);
  wf__json_member_string(j, "file", r->name);
  wf__json_member_int(j, "events", r->events);
  wf__json_member_string(j, "recorded_conf", r->recorded_conf);
  wf__json_member_int(j, "recorded_peak_allocated_bytes", (int64_t)r->recorded_peak);
  wf__json_member_int(j, "recorded_peak_reserved_bytes", (int64_t)r->recorded_reserved);
  put_reproduction(j, r);
  wf__json_key(j, "memory_bytes");
  if (r->memory) wf__json_int(j, (int64_t)r->memory);
  else wf__json_null(j);
  wf__json_key(j, "settings");
  wf__json_array(j);
  for (size_t i = 0; i < r->rows.n; i++) put_json_row(j, r, &r->rows.at[i]);
  wf__json_array_end(j);
  wf__json_key(j, "recommended");
  if (r->best) wf__json_string(j, r->rows.at[r->best].conf);
  else wf__json_null(j);
  wf__json_object_end(j);
}

char *wf_replay_json(const wf_replay *r, int indent) {
  wf__text out = {0};
  wf__json j = {0};
  wf__json_begin(&j, &out, NULL, indent);
  put_json(&j, r);
  if (!wf__json_end(&j)) return wf__text_take(&out);
  wf__text_release(&out);
  return NULL;
}
