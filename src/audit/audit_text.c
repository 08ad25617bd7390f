/* An audit for the terminal: what was read, the findings with place, cost and remedy, and what the trace didn't say. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "audit/audit_parts.h"
#include "report/columns.h"
#include "report/units.h"

#define INDENT 4

typedef struct page {
  wf__text out;
  size_t columns;
} page;

static void WF_PRINTF(2, 3) paragraph(page *p, const char *format, ...) {
  va_list args;
  va_start(args, format);
  wf__put_sentence(&p->out, "", p->columns, format, args);
  va_end(args);
}

static const char *kind_of(const wf_audit *a) { return a->k.has_hip ? "ROCm" : a->k.has_device ? "CUDA" : "CPU"; }

static const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

static void put_head(page *p, const wf_audit *a) {
  char events[WF__UNIT_TEXT], span[WF__UNIT_TEXT], step[WF__UNIT_TEXT];
  paragraph(p, "%s", a->k.path);
  paragraph(p, "%s trace%s%s, %s event%s over %s", kind_of(a), *a->k.device_name ? " of " : "", a->k.device_name,
            wf__count_text(a->k.seen, events), plural(a->k.seen), wf__time_text(a->k.end - a->k.start, span));
  if (!a->steps.n) {
    paragraph(p, "no steps are marked (profiler.step(), Optimizer.step, a DataLoader): all of it is judged");
    return;
  }
  paragraph(p, "%" PRIu32 " step%s told by \"%s\", %" PRIu32 " of them warm-up; then %s a step", a->steps.n,
            plural(a->steps.n), a->steps.source, a->steps.warm, wf__time_text(a->steps.median, step));
}

static void put_devices(page *p, const wf_audit *a) {
  char idle[WF__UNIT_TEXT], share[WF__UNIT_TEXT], bytes[WF__UNIT_TEXT];
  for (int i = 0; i < a->use_count; i++) {
    const wf__device_use *u = &a->uses[i];
    paragraph(p, "device %" PRId64 ": idle for %s of the steady state (%s)", u->device,
              wf__share_text(u->idle, u->busy + u->idle, share), wf__time_text(u->idle, idle));
  }
  for (int i = 0; i < a->k.peak_count; i++) {
    const wf__peak *peak = &a->k.peaks[i];
    if (peak->device < 0) paragraph(p, "peak memory of the host: %s", wf__bytes_text(peak->total, bytes));
    else paragraph(p, "peak memory of device %" PRId64 ": %s", peak->device, wf__bytes_text(peak->total, bytes));
  }
}

static void put_copies(page *p, const wf_audit *a) {
  char copies[WF__UNIT_TEXT], bytes[WF__UNIT_TEXT] = "";
  if (!a->copies) return;
  wf__count_text(a->copies, copies);
  if (a->copies_known == a->copies)
    paragraph(p, "%s cop%s (aten::copy_), %s written", copies, a->copies == 1 ? "y" : "ies",
              wf__bytes_text(a->copy_bytes, bytes));
  else
    paragraph(p, "%s cop%s (aten::copy_); how many bytes isn't in the trace: record_shapes=True", copies,
              a->copies == 1 ? "y" : "ies");
}

/* "train.py(10): forward" begins at "train.py:10". */
static bool begins_at(const char *function, const char *line) {
  const char *colon = strrchr(line, ':');
  size_t file = colon ? (size_t)(colon - line) : 0, number = colon ? strlen(colon + 1) : 0;
  return colon && !strncmp(function, line, file) && function[file] == '(' &&
         !strncmp(function + file + 1, colon + 1, number) && function[file + 1 + number] == ')';
}

static void put_place(page *p, const wf_finding *f) {
  char text[1024];
  const char *function = strstr(f->function, "): ");
  size_t n = 0;
  text[0] = 0;
  if (*f->line && function) {
    /* Where only the function is known, its line is where it begins. */
    bool exact = !begins_at(f->function, f->line);
    n = (size_t)snprintf(text, sizeof text, exact ? "at %1$s (%2$s)" : "in %2$s (%1$s)", f->line, function + 3);
  } else if (*f->line) {
    n = (size_t)snprintf(text, sizeof text, "at %s", f->line);
  }
  if (*f->module && n < sizeof text)
    n += (size_t)snprintf(text + n, sizeof text - n, "%sin %s", n ? ", " : "", f->module);
  if (f->by_forward && n && n < sizeof text) snprintf(text + n, sizeof text - n, ", in its backward pass");
  if (*text) wf__put_wrapped(&p->out, "", INDENT, text, p->columns);
}

static void put_numbers(page *p, const wf_audit *a, const wf_finding *f) {
  char count[WF__UNIT_TEXT], time[WF__UNIT_TEXT], bytes[WF__UNIT_TEXT], text[400];
  int n = snprintf(text, sizeof text, "%s time%s", wf__count_text(f->count, count), plural(f->count));
  if (wf__steady_steps(&a->steps)) n += snprintf(text + n, sizeof text - (size_t)n, " (%.3g a step)", f->per_step);
  n += snprintf(text + n, sizeof text - (size_t)n, ", %s", wf__time_text(f->ns, time));
  if (f->bytes >= 0) n += snprintf(text + n, sizeof text - (size_t)n, ", %s", wf__bytes_text(f->bytes, bytes));
  if (wf__steady_steps(&a->steps))
    snprintf(text + n, sizeof text - (size_t)n, "; %s a step",
             wf__time_text(f->steady_ns / wf__steady_steps(&a->steps), time));
  wf__put_wrapped(&p->out, "", INDENT, text, p->columns);
}

static void put_finding(page *p, const wf_audit *a, const wf_finding *f, int64_t number) {
  char mark[32], title[1200];
  snprintf(title, sizeof title, "%.1f %% %s [%s]", 100 * f->share, f->title, f->rule);
  snprintf(mark, sizeof mark, "%2" PRId64 ".", number);
  wf__text_put(&p->out, "\n");
  wf__put_wrapped(&p->out, mark, INDENT, title, p->columns);
  put_numbers(p, a, f);
  put_place(p, f);
  wf__put_wrapped(&p->out, "  > ", INDENT, f->remedy, p->columns);
}

static void put_missing(page *p, const wf_audit *a) {
  char count[WF__UNIT_TEXT];
  bool any = a->n > 0;
  wf__text_put(&p->out, "\n");
  if (a->k.interrupted) paragraph(p, "Interrupted: this is what was read so far.");
  if (a->k.truncated) paragraph(p, "The file is cut off; this is what is there.");
  if (a->k.skipped)
    paragraph(p, "%s event%s skipped: damaged or incomplete.", wf__count_text(a->k.skipped, count),
              plural(a->k.skipped));
  if (a->k.damaged_outside) paragraph(p, "Something beside the events is damaged; it was passed over.");
  if (any && !a->k.has_stacks) paragraph(p, "Lines of Python aren't in the trace: record it with with_stack=True.");
  if (any && !a->k.has_shapes && a->copies)
    paragraph(p, "Shapes aren't in the trace: record it with record_shapes=True to tell layout copies from others.");
  if (a->n)
    paragraph(p, "Shares are of the steady state; what one costs may be part of another, so they don't add up.");
}

char *wf_audit_text(const wf_audit *a, int columns, int64_t most) {
  page p = {.columns = columns < 80 ? 80 : (size_t)columns};
  if (!a) return NULL;
  put_head(&p, a);
  put_devices(&p, a);
  put_copies(&p, a);
  if (!a->n) wf__text_put(&p.out, "\nNothing found.\n");
  for (size_t i = 0; i < a->n && (int64_t)i < most; i++) put_finding(&p, a, &a->findings[i], (int64_t)i + 1);
  if ((int64_t)a->n > most) {
    wf__text_put(&p.out, "\n");
    paragraph(&p, "and %" PRId64 " more that cost less (--most N, --json)", (int64_t)a->n - most);
  }
  put_missing(&p, a);
  return wf__text_take(&p.out);
}
