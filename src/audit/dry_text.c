/* The report of a dry run for a terminal: the answer first, then who holds the memory, then what single lines do, last what isn't known. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "audit/dry_parts.h"
#include "base/host.h"
#include "format/text.h"
#include "report/columns.h"
#include "report/units.h"

#define STEP_ROWS 12

typedef struct page {
  wf__text *out;
  const wf_dry_run *run;
  size_t columns, name_columns; /* the latter: of a device's name */
  size_t limits;                /* of the estimate, as many as were said */
} page;

static const char *bytes_of(uint64_t bytes, char text[WF__UNIT_TEXT]) { return wf__bytes_text((int64_t)bytes, text); }

/* A paragraph; further lines begin where the mark ends. */
static void say(const page *p, const char *mark, const char *format, ...) WF_PRINTF(3, 4);
static void say(const page *p, const char *mark, const char *format, ...) {
  va_list args;
  va_start(args, format);
  wf__put_sentence(p->out, mark, p->columns, format, args);
  va_end(args);
}

static void title(const page *p, const char *text) { wf__text_printf(p->out, "\n%s\n", text); }

static const char *place_text(const wf_dry_run *r, const wf__dry_row *row, size_t width, char text[WF__SITE_TEXT]) {
  if (!row->file) return "(no line of Python)";
  return wf__line_text(wf__dry_string(r, row->file), row->line, wf__dry_string(r, row->function), width, text);
}

static const char *number_text(double n, char text[WF__UNIT_TEXT]) {
  if (n == floor(n)) return wf__count_text((int64_t)n, text);
  snprintf(text, WF__UNIT_TEXT, n < 10 ? "%.2f" : "%.1f", n);
  return text;
}

/* ---- the answer ------------------------------------------------------------------------------------------------------- */

static size_t count_devices(const wf_dry_run *r) {
  size_t n = 0, before;
  for (size_t i = 0; i < r->places.n; i++) {
    for (before = 0; before < i && r->places.at[before].number != r->places.at[i].number;) before++;
    n += before == i;
  }
  return n;
}

/* Places are in order of their processes. */
static size_t count_users(const wf_dry_run *r) {
  size_t n = 0;
  for (size_t i = 0; i < r->places.n; i++) n += !i || r->places.at[i].process != r->places.at[i - 1].process;
  return n;
}

static size_t count_sharers(const wf_dry_run *r, const wf__dry_place *place) {
  size_t n = 0;
  for (size_t i = 0; i < r->places.n; i++) n += wf__dry_shares(r, place, &r->places.at[i]);
  return n;
}

static void put_head(const page *p) {
  const wf_dry_run *r = p->run;
  const wf__dry_process *m = wf__dry_main(r);
  char steps[WF__UNIT_TEXT], text[1024], own[WF__DRY_NAME];
  say(p, "", "%s", *wf__dry_command(r) ? wf__dry_command(r) : "a program");
  wf__text label = {0};
  const char *name = wf__dry_own_name(r, own);
  wf__text_printf(&label, "Dry run%s%s, no GPU used", *name ? " as " : "", name);
  if (m->torch) wf__text_printf(&label, "; PyTorch %s", wf__dry_string(r, m->torch));
  if (m->steps)
    wf__text_printf(&label, "; %s optimizer step%s", wf__count_text(m->steps, steps), m->steps == 1 ? "" : "s");
  if (r->places.n > 1) {
    size_t devices = count_devices(r);
    wf__text_printf(&label, "; %zu device%s used by %zu of %zu processes", devices, devices == 1 ? "" : "s",
                    count_users(r), r->processes.n);
  }
  if (label.data) say(p, "", "%s", label.data);
  if (label.status) p->out->status = label.status;
  wf__text_release(&label);
  if (wf__dry_why_not(r, text)) {
    wf__text_put(p->out, "\n");
    say(p, "", "Can't be judged. %s", text);
  }
}

/* "at " the line of the request that found no memory; NULL where it isn't known. */
static const char *failure_text(const wf_dry_run *r, const wf__dry_answer *a, char text[WF__SITE_TEXT + 4]) {
  const wf__dry_detail *d = &r->detail;
  char line[WF__SITE_TEXT];
  if (!r->has_detail || a->failure == WF__NO_LIFE || a->place != r->main_place || a->failure >= d->view.history.n)
    return NULL;
  uint32_t stack = d->view.history.events[a->failure].stack;
  if (!stack) return "in the backward pass";
  snprintf(text, WF__SITE_TEXT + 4, "at %s", wf__site_text(d->snapshot, &d->view.sites, stack, 46, line));
  return text;
}

/* The last of the moments is what came behind the last step, unless there was none. */
static const char *step_text(const wf__dry_detail *d, uint32_t event, char text[32]) {
  size_t i = 0;
  while (i + 1 < d->steps.n && event >= d->steps.at[i].state) i++;
  if (i && i + 1 == d->steps.n) return "behind the last step";
  snprintf(text, 32, "in step %lld", d->steps.n ? (long long)d->steps.at[i].step : 0);
  return text;
}

/* Of a device that leaves PyTorch nothing. */
static const char *what_takes_all(const wf_dry_run *r, const wf__dry_answer *a) {
  if (a->device->memory_bytes <= a->device->context_bytes) return "what the driver takes for itself is all of it";
  return r->places.n > 1 ? "the driver, other libraries and the processes that share it take all of it"
                         : "the driver and other libraries take all of it";
}

/* Where only another process is to blame, the reason stands above. */
static const char *why_unknown(const wf_dry_run *r, const wf__dry_answer *a) {
  const char *finish = wf__dry_string(r, wf__dry_main(r)->finish);
  if (wf__dry_caught(r, a)) return ": it would do otherwise";
  bool ended = r->options.exit_status <= 0 && (!strcmp(finish, "exit") || !strcmp(finish, "steps"));
  return ended ? "" : ": it ended before";
}

static void put_limit_of_its_own(const page *p, const wf__dry_answer *a) {
  const wf__dry_place *place = &p->run->places.at[a->place];
  char bytes[WF__UNIT_TEXT];
  if (wf__dry_is_limited(place, a->device))
    say(p, "             ", "the program lets itself have no more than %s of it: per_process_memory_fraction is %g",
        bytes_of(wf__dry_whole_room(place, a->device), bytes), place->share);
}

static void put_answer(const page *p, const wf__dry_answer *a) {
  char memory[WF__UNIT_TEXT], room[WF__UNIT_TEXT], needs[WF__UNIT_TEXT], spare[WF__UNIT_TEXT], at[WF__SITE_TEXT + 4];
  char why[1024], step[32];
  const wf_dry_run *r = p->run;
  bool partial = r->places.at[a->place].out_of_memory && a->fit != WF__DRY_FITS;
  wf__text_printf(p->out, "  %-*s %11s %11s %c%10s  ", (int)p->name_columns, a->device->name,
                  wf__bytes_text(a->device->memory_bytes, memory), bytes_of(a->room, room), partial ? '>' : ' ',
                  bytes_of(a->needs, needs));
  if (a->no_code) {
    wf__text_put(p->out, "CAN'T RUN\n");
    say(p, "             ", "%s", wf__dry_no_code_text(r, a->device, why));
  } else if (a->fit == WF__DRY_FIT_UNKNOWN) wf__text_printf(p->out, "not known%s\n", why_unknown(r, a));
  else if (a->fit == WF__DRY_FITS) wf__text_printf(p->out, "fits, %s to spare\n", bytes_of(a->room - a->needs, spare));
  else {
    wf__text_put(p->out, "DOESN'T FIT\n");
    const char *line = failure_text(r, a, at);
    bool caught = line && wf__dry_caught(r, a) && r->detail.view.history.events[a->failure].action == WF__SNAP_OOM;
    if (!a->room) say(p, "             ", "%s", what_takes_all(r, a));
    else if (line)
      say(p, "             ", "out of memory %s %s%s", step_text(&r->detail, a->failure, step), line,
          caught ? "; the program caught that" : "");
    put_limit_of_its_own(p, a);
  }
}

/* As many as the longest name has, within what leaves room for the rest of the row. */
static size_t columns_of_names(const wf_dry_run *r) {
  size_t most = 10;
  for (int i = 0; i < r->options.device_count; i++)
    if (strlen(r->devices[i].name) > most) most = strlen(r->devices[i].name);
  return most < 16 ? most : 16;
}

static void put_answers(const page *p) {
  const wf_dry_run *r = p->run;
  if (!r->places.n) return;
  wf__text_printf(p->out, "\n  %-*s %11s %11s %11s\n", (int)p->name_columns, "device", "memory", "for PyTorch",
                  "it needs");
  for (int i = 0; i < r->options.device_count; i++) put_answer(p, &r->answers[i]);
  const wf__dry_place *place = &r->places.at[r->answers[0].place];
  size_t sharers = count_sharers(r, place);
  if (sharers > 1)
    say(p, "  ", "%zu processes share this GPU, each with a context of its own: what one needs isn't for the others.",
        sharers);
  if (r->answers[0].fit == WF__DRY_FITS_NOT && place->out_of_memory &&
      !wf__dry_is_limited(place, r->answers[0].device) && wf__dry_ran_as(wf__dry_main(r), r->answers[0].device))
    say(p, "  ", "%s; with --mem 1TiB it gets what it asks for, and shows what it needs in all.",
        wf__dry_caught(r, &r->answers[0]) ? "It caught that" : "It ended there");
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

static void put_peak(const page *p) {
  const wf_dry_run *r = p->run;
  const wf__dry_detail *d = &r->detail;
  const wf__history *h = &d->view.history;
  char bytes[WF__UNIT_TEXT], share[WF__UNIT_TEXT], count[WF__UNIT_TEXT], step[32];
  wf__text_printf(p->out, "\nAt its peak it holds %s", bytes_of(h->peak, bytes));
  if (d->steps.n > 1) wf__text_printf(p->out, ", %s", step_text(d, h->peak_state ? h->peak_state - 1 : 0, step));
  wf__text_printf(p->out, " (most reserved: %s)\n", bytes_of(h->reserved_peak, bytes));
  for (int i = 0; i < WF__DRY_ROLES; i++)
    if (d->role_blocks[i])
      wf__text_printf(p->out, "  %11s %8s %8s  %s\n", bytes_of(d->role_bytes[i], bytes),
                      wf__share_text((int64_t)d->role_bytes[i], (int64_t)h->peak, share),
                      wf__count_text(d->role_blocks[i], count), wf__dry_role_name((wf__dry_role)i));
}

static const char *holder_line(const wf_dry_run *r, const wf__dry_holder *g, size_t width, char text[WF__SITE_TEXT]) {
  if (!g->stack) return "(autograd's thread: no Python there)";
  return wf__site_text(r->detail.snapshot, &r->detail.view.sites, g->stack, width, text);
}

static void put_rest(const page *p, const wf__dry_holder *at, size_t from, size_t n) {
  char bytes[WF__UNIT_TEXT], share[WF__UNIT_TEXT];
  uint64_t rest = 0;
  for (size_t i = from; i < n; i++) rest += at[i].bytes;
  if (rest)
    wf__text_printf(p->out, "  %11s %8s  in %zu more\n", bytes_of(rest, bytes),
                    wf__share_text((int64_t)rest, (int64_t)p->run->detail.view.history.peak, share), n - from);
}

static void put_holders(const page *p) {
  const wf_dry_run *r = p->run;
  const wf__dry_detail *d = &r->detail;
  char bytes[WF__UNIT_TEXT], share[WF__UNIT_TEXT], text[WF__SITE_TEXT];
  size_t rows = (size_t)r->options.rows;
  if (d->by_line.n) title(p, "By line");
  for (size_t i = 0; i < d->by_line.n && i < rows; i++) {
    const wf__dry_holder *g = &d->by_line.at[i];
    wf__text_printf(p->out, "  %11s %8s  %-16s %s\n", bytes_of(g->bytes, bytes),
                    wf__share_text((int64_t)g->bytes, (int64_t)d->view.history.peak, share),
                    wf__dry_role_name((wf__dry_role)g->role), holder_line(r, g, p->columns - 42, text));
  }
  put_rest(p, d->by_line.at, rows, d->by_line.n);
  if (d->by_module.n < 2) return; /* nothing is known of modules */
  title(p, "By module");
  for (size_t i = 0; i < d->by_module.n && i < rows; i++) {
    const wf__dry_holder *g = &d->by_module.at[i];
    const char *name = g->module ? wf__dry_string(r, g->module) : "(no module known)";
    size_t n = strlen(name), width = p->columns - 26;
    wf__text_printf(p->out, "  %11s %8s  %s%s\n", bytes_of(g->bytes, bytes),
                    wf__share_text((int64_t)g->bytes, (int64_t)d->view.history.peak, share), n > width ? "~" : "",
                    name + (n > width ? n - width : 0));
  }
  put_rest(p, d->by_module.at, rows, d->by_module.n);
}

/* Steps that differ from the one before; the others are named by "…". */
static void put_steps(const page *p) {
  const wf__dry_detail *d = &p->run->detail;
  char a[WF__UNIT_TEXT], b[WF__UNIT_TEXT], c[WF__UNIT_TEXT], n[WF__UNIT_TEXT], k[WF__UNIT_TEXT];
  size_t shown = 0, left_out = 0;
  if (d->steps.n < 2) return;
  title(p, "Over time");
  wf__text_printf(p->out, "  %-9s %11s %11s %11s %10s %9s\n", "step", "most held", "reserved", "afterwards", "requests",
                  "segments");
  for (size_t i = 0; i < d->steps.n; i++) {
    const wf__dry_moment *m = &d->steps.at[i], *last = i ? m - 1 : NULL;
    bool end = i + 1 == d->steps.n;
    bool same = last && !end && last->peak == m->peak && last->reserved == m->reserved && last->end == m->end &&
                last->allocations == m->allocations;
    if (end && !m->allocations) break;
    if (same || (shown >= STEP_ROWS && !end)) {
      left_out++;
      continue;
    }
    char name[32];
    snprintf(name, sizeof name, end ? "(after)" : "%lld", (long long)m->step);
    wf__text_printf(p->out, "  %-9s %11s %11s %11s %10s %9s\n", name, bytes_of(m->peak, a), bytes_of(m->reserved, b),
                    bytes_of(m->end, c), wf__count_text(m->allocations, n), wf__count_text(m->segments, k));
    shown++;
  }
  if (left_out) wf__text_put(p->out, "  steps that are like the one before them are left out\n");
}

static void put_reserved(const page *p) {
  static const struct {
    wf_allocator_ties ties;
    const char *releases;
  } rules[] = {{WF_TIES_ADDRESS, "up to 2.11"}, {WF_TIES_BLOCK, "2.12"}, {WF_TIES_AGE, "from 2.13 on"}};
  const wf_dry_run *r = p->run;
  const wf__dry_place *place = &r->places.at[r->main_place];
  const wf__moment *m = &r->detail.view.at;
  char a[WF__UNIT_TEXT], b[WF__UNIT_TEXT];
  title(p, "Reserved");
  say(p, "  ", "At the peak %s of what is reserved are free between blocks, %s in whole segments.",
      bytes_of(m->fragmentation.free_split, a), bytes_of(m->fragmentation.free_whole, b));
  bool same = place->by_ties[0] == place->by_ties[1] && place->by_ties[1] == place->by_ties[2];
  if (same) say(p, "  ", "The rules of PyTorch's other releases reserve the same.");
  for (int i = 0; i < 3 && !same; i++)
    wf__text_printf(p->out, "  %11s  under PyTorch's rules %s\n", bytes_of(place->by_ties[rules[i].ties], a),
                    rules[i].releases);
  if (r->late_reserved)
    say(p, "  ",
        "Memory is shared between streams: %s are reserved if events finish at once, %s if only when they are waited for.",
        bytes_of(place->reserved, a), bytes_of(r->late_reserved, b));
  const wf_replay *s = r->detail.settings;
  const wf__replay_row *best = &s->rows.at[s->best];
  if (s->best)
    say(p, "  ", "PYTORCH_CUDA_ALLOC_CONF=%s: %s suffice instead of %s. %s", *best->conf ? best->conf : "(unset)",
        bytes_of(best->needs, a), bytes_of(s->rows.at[0].needs, b), wf__replay_why(best->conf));
  else if (s->rows.n > 1)
    say(p, "  ", "Of %zu settings of the allocator that were tried none needs clearly less.", s->rows.n - 1);
}

/* ---- lines ------------------------------------------------------------------------------------------------------------ */

static void put_counts(const page *p) {
  const wf_dry_run *r = p->run;
  char a[WF__UNIT_TEXT], b[WF__UNIT_TEXT], c[WF__UNIT_TEXT], d[WF__UNIT_TEXT];
  const char *when = r->steady ? "a step" : "in all";
  title(p, r->steady ? "In the steady state" : "Copies and waits");
  if (r->steady)
    say(p, "  ", "Of %lld steps, the first %sleft out:", (long long)(r->warm + r->steady), r->warm == 1 ? "" : "two ");
  say(p, "  ", "%s cop%s with pageable memory %s, %s wait%s for the device, %s request%s to the driver, %s kernel%s.",
      number_text(r->counts.pageable, a), r->counts.pageable == 1 ? "y" : "ies", when, number_text(r->counts.syncs, b),
      r->counts.syncs == 1 ? "" : "s", number_text(r->counts.driver_allocations, c),
      r->counts.driver_allocations == 1 ? "" : "s", number_text(r->counts.launches, d),
      r->counts.launches == 1 ? "" : "s");
}

static void put_bound(const page *p, const char *what, double n, double most) {
  char a[WF__UNIT_TEXT], b[WF__UNIT_TEXT];
  if (isnan(most)) return;
  say(p, "  ", "%s: %s, at most %s are asked for: %s", what, number_text(n, a), number_text(most, b),
      n > most + 1e-9        ? "BROKEN"
      : wf__dry_lost(p->run) ? "that can't be told"
                             : "kept");
}

static void put_line(const page *p, const wf__dry_line *l) {
  const wf_dry_run *r = p->run;
  char often[WF__UNIT_TEXT], bytes[WF__UNIT_TEXT], size[WF__UNIT_TEXT + 16] = "", at[WF__SITE_TEXT];
  const char *what = l->sum.kind == WF__DRY_LAUNCH ? "kernel launches" : wf__dry_string(r, l->sum.what);
  if (l->sum.bytes)
    snprintf(size, sizeof size, ", %s on average",
             bytes_of((uint64_t)(l->sum.bytes / (l->sum.count ? l->sum.count : 1)), bytes));
  wf__text_printf(p->out, "  %9s %-6s %.*s%s\n", number_text(r->steady ? l->per_step : (double)l->sum.count, often),
                  r->steady ? "a step" : "", (int)(p->columns - 19 - strlen(size)), what, size);
  wf__text_printf(p->out, "%19s%s\n", "", place_text(r, &l->sum, p->columns - 19, at));
}

static void put_problems(const page *p) {
  const wf_dry_run *r = p->run;
  const char *last = NULL;
  size_t shown = 0, n = 0;
  for (; n < r->lines.n && r->lines.at[n].problem; n++) continue;
  for (size_t i = 0; i < n && shown < (size_t)r->options.rows; i++, shown++) {
    const wf__dry_line *l = &r->lines.at[i];
    wf__text_put(p->out, "\n");
    put_line(p, l);
    say(p, "                   ", "%s", l->problem);
    if (l->remedy && l->remedy != last) say(p, "                   ", "%s", l->remedy);
    if (l->remedy) last = l->remedy;
  }
  if (n > shown) wf__text_printf(p->out, "\n  and %zu more lines\n", n - shown);
}

static void put_launches(const page *p) {
  const wf_dry_run *r = p->run;
  size_t shown = 0;
  for (size_t i = 0; i < r->lines.n && shown < (size_t)r->options.rows; i++) {
    const wf__dry_line *l = &r->lines.at[i];
    if (l->sum.kind != WF__DRY_LAUNCH || (r->steady && !l->per_step)) continue;
    if (!shown++) title(p, "Most kernels come from");
    put_line(p, l);
  }
}

/* ---- what isn't known ------------------------------------------------------------------------------------------------- */

static void put_reads(const page *p) {
  const wf_dry_run *r = p->run;
  char n[WF__UNIT_TEXT], at[WF__SITE_TEXT];
  size_t shown = 0;
  for (size_t i = 0; i < r->lines.n && shown < (size_t)r->options.rows; i++) {
    const wf__dry_row *row = &r->lines.at[i].sum;
    bool size = r->lines.at[i].size;
    if (row->kind != WF__DRY_READ) continue;
    if (!shown++) {
      title(p, "Values that were read as zeros");
      say(p, "  ",
          "There is no GPU to compute them. Whether all of something is true (all()) is taken for true. What the program decides by them, sizes above all, may come out differently.");
    }
    wf__text_printf(p->out, "  %9s %-6s %s%s\n", wf__count_text(row->count, n), row->count == 1 ? "time" : "times",
                    place_text(r, row, p->columns - (size ? 28 : 19), at), size ? " (a size)" : "");
  }
}

static void put_limit(void *context, const char *text) {
  page *p = context;
  if (!p->limits++) title(p, "What this estimate doesn't know");
  say(p, "  - ", "%s", text);
}

char *wf_dry_text(const wf_dry_run *r, int columns) {
  wf__text out = {0};
  page p = {.out = &out, .run = r, .columns = (size_t)(columns < 80 ? 80 : columns > 200 ? 200 : columns)};
  p.name_columns = columns_of_names(r);
  put_head(&p);
  put_answers(&p);
  if (r->has_detail) {
    put_peak(&p);
    put_holders(&p);
    put_steps(&p);
    put_reserved(&p);
  }
  if (r->has_detail || wf__dry_main(r)->row_count) put_counts(&p);
  put_bound(&p, r->steady ? "Copies with pageable memory a step" : "Copies with pageable memory", r->counts.pageable,
            r->options.max_pageable);
  put_bound(&p, r->steady ? "Waits a step" : "Waits", r->counts.syncs, r->options.max_syncs_per_step);
  put_problems(&p);
  put_launches(&p);
  put_reads(&p);
  if (wf__dry_each_limit(r, put_limit, &p)) out.status = WF_NO_MEMORY;
  return wf__text_take(&out);
}
