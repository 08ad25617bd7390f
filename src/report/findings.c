/* The sentences at the head of a report. Each states what was measured; advice only where the number leaves one way out. */
#include "report/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/units.h"

#define BUSY 0.85 /* a device that computes so much of the time bounds the run */
#define WAIT_NOTABLE 0.02
#define WAIT_BAD 0.15
#define RESERVED_MUCH 2 /* times what was ever allocated */
#define RESERVED_FROM ((int64_t)64 << 20)

static void WF_PRINTF(3, 4) say(wf__findings *f, wf__finding_level level, const char *format, ...) {
  if (f->n == WF__FINDINGS_MAX) return;
  wf__finding *finding = &f->at[f->n++];
  finding->level = level;
  va_list args;
  va_start(args, format);
  vsnprintf(finding->text, sizeof finding->text, format, args);
  va_end(args);
}

static void judge_device(wf__findings *f, const wf__device_time *d, int64_t wall) {
  char name[2 * WF__UNIT_TEXT], compute[WF__UNIT_TEXT], transfer[WF__UNIT_TEXT];
  wf__device_text(d->device, false, name);
  wf__share_text(d->compute_ns, wall, compute);
  wf__share_text(d->transfer_ns, wall, transfer);
  if ((double)d->compute_ns >= BUSY * (double)wall)
    say(f, WF__FINDING_NOTE, "%s computes %s of the time: its kernels bound the run.", name, compute);
  else say(f, WF__FINDING_NOTE, "%s computes %s of the time and transfers %s.", name, compute, transfer);
}

static void judge_stages(wf__findings *f, const wf__summary *s, int64_t wall) {
  const wf__stage *most = NULL;
  char share[WF__UNIT_TEXT];
  for (size_t i = 0; i < s->stage_count; i++)
    if (!most || wf__stage_work(&s->stages[i]) > wf__stage_work(most)) most = &s->stages[i];
  if (most)
    say(f, WF__FINDING_NOTE, "Most of the work is %s: %s of the run.", most->name,
        wf__share_text(wf__stage_work(most), wall, share));
}

static wf__finding_level level_of(int64_t ns, int64_t wall) {
  double share = (double)ns / (double)wall;
  return share < WAIT_NOTABLE ? WF__FINDING_GOOD : share < WAIT_BAD ? WF__FINDING_NOTE : WF__FINDING_BAD;
}

static bool is_for_data(const wf__host_wait *w) { return !strcmp(w->what, "loader"); }

static void judge_data(wf__findings *f, const wf__summary *s, int64_t wall) {
  int64_t ns = 0;
  const wf__host_wait *longest = NULL;
  char share[WF__UNIT_TEXT];
  for (size_t i = 0; i < s->wait_count; i++) {
    if (!is_for_data(&s->waits[i])) continue;
    ns += s->waits[i].ns;
    if (!longest) longest = &s->waits[i];
  }
  if (!longest) return;
  wf__finding_level level = level_of(ns, wall);
  say(f, level, "Waits for data take %s of the run%s%s%s.", wf__share_text(ns, wall, share),
      *longest->site ? ", at " : "", longest->site,
      level == WF__FINDING_BAD ? ": loading bounds it; more workers, or less work a sample" : "");
}

/* Waiting for a device that is busy all the time isn't what costs. */
static bool is_for_busy_device(const wf__host_wait *w, const wf__summary *s, int64_t wall) {
  for (size_t i = 0; i < s->device_count; i++)
    if (wf__same_device(s->devices[i].device, w->device) && (double)s->devices[i].compute_ns >= BUSY * (double)wall)
      return true;
  return false;
}

static void judge_waits(wf__findings *f, const wf__summary *s, int64_t wall) {
  char share[WF__UNIT_TEXT], longest[WF__UNIT_TEXT];
  const wf__host_wait *w = NULL;
  judge_data(f, s, wall);
  for (size_t i = 0; i < s->wait_count && !w; i++)
    if (!is_for_data(&s->waits[i])) w = &s->waits[i];
  if (!w) {
    if (!s->wait_count) say(f, WF__FINDING_GOOD, "The host never waits.");
    return;
  }
  wf__finding_level level = level_of(w->ns, wall);
  if (level == WF__FINDING_BAD && is_for_busy_device(w, s, wall)) level = WF__FINDING_NOTE;
  say(f, level, "The longest wait of the host is for %s%s%s: %s, %s of the run.", w->what, *w->site ? " at " : "",
      w->site, wf__time_text(w->ns, longest), wf__share_text(w->ns, wall, share));
}

static void judge_copies(wf__findings *f, const wf_report *r, const wf__summary *s) {
  const wf__number *given = wf__report_number(r, "implicit_copies");
  char count[WF__UNIT_TEXT], bytes[WF__UNIT_TEXT];
  const wf__move *worst = NULL;
  for (size_t i = 0; i < s->move_count && !worst; i++)
    if (s->moves[i].implicit && (s->moves[i].kind == WF_EVENT_COPY || s->moves[i].kind == WF_EVENT_CAST))
      worst = &s->moves[i];
  if (!worst) {
    say(f, WF__FINDING_GOOD, "No implicit copies: every copy was asked for.");
    return;
  }
  wf__count_text(s->implicit_count, count);
  wf__bytes_text(s->implicit_bytes, bytes);
  const char *module = *worst->module ? worst->module : worst->op;
  if (given && given->value == 0)
    say(f, WF__FINDING_GOOD, "No implicit copies once under way; before that %s wrote %s (%s, %s).", count, bytes,
        worst->site, module);
  else
    say(f, WF__FINDING_BAD, "%s implicit copies wrote %s; the costliest is %s in %s at %s.", count, bytes, worst->op,
        module, *worst->site ? worst->site : "an unknown place");
}

static void judge_memory(wf__findings *f, const wf_report *r) {
  char name[2 * WF__UNIT_TEXT], reserved[WF__UNIT_TEXT], allocated[WF__UNIT_TEXT];
  for (size_t i = 0; i < r->memory_count; i++) {
    const wf_allocator_stats *m = &r->memory[i].stats;
    int64_t most = m->reserved_bytes[0].peak, used = m->allocated_bytes[0].peak;
    wf__device_text(r->memory[i].device, r->memory[i].pinned, name);
    if (m->ooms) say(f, WF__FINDING_BAD, "%s ran out of memory %lld times.", name, (long long)m->ooms);
    else if (m->alloc_retries)
      say(f, WF__FINDING_BAD, "%s had to give back its cache %lld times to find memory.", name,
          (long long)m->alloc_retries);
    if (most >= RESERVED_FROM && most > RESERVED_MUCH * used)
      say(f, WF__FINDING_NOTE, "%s reserved %s for at most %s in use.", name, wf__bytes_text(most, reserved),
          wf__bytes_text(used, allocated));
  }
}

void wf__findings_make(const wf_report *r, const wf__summary *s, wf__findings *f) {
  int64_t wall = wf__report_wall(r);
  char count[WF__UNIT_TEXT];
  f->n = 0;
  for (size_t i = 0; i < s->device_count; i++) judge_device(f, &s->devices[i], wall);
  if (!s->device_count) judge_stages(f, s, wall);
  judge_waits(f, s, wall);
  judge_copies(f, r, s);
  judge_memory(f, r);
  if (r->dropped)
    say(f, WF__FINDING_BAD, "%s single events found no room: timelines and the trace lack them, sums are complete.",
        wf__count_text(r->dropped, count));
}
