/* weft check: two traces or two memory snapshots of one program, and whether the second got worse. */
#include <argp.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/audit.h>

#include "weft.h"

enum { KEY_CHANGE = 256, KEY_MOST = KEY_CHANGE + WF_METRIC_COUNT };

typedef struct options {
  const char *paths[2];
  int path_count;
  wf_check_limits limits;
  bool json;
} options;

static const struct argp_option option_table[] = {
    {NULL, 0, NULL, 0, "How much worse the second may be, in per cent of the first; \"any\" doesn't judge it:", 1},
    {"throughput", KEY_CHANGE + WF_METRIC_THROUGHPUT, "PERCENT", 0, "steps a second (default 3)", 1},
    {"peak-memory", KEY_CHANGE + WF_METRIC_PEAK_MEMORY, "PERCENT", 0, "bytes allocated at the peak (default 5)", 1},
    {"peak-reserved", KEY_CHANGE + WF_METRIC_PEAK_RESERVED, "PERCENT", 0, "bytes reserved at the most (default 5)", 1},
    {"end-memory", KEY_CHANGE + WF_METRIC_END_MEMORY, "PERCENT", 0, "bytes allocated at the end (default 5)", 1},
    {"fragmentation", KEY_CHANGE + WF_METRIC_FRAGMENTATION, "PERCENT", 0, "at the peak, of the whole (default 5)", 1},
    {"contiguous", KEY_CHANGE + WF_METRIC_CONTIGUOUS, "PERCENT", 0, "aten::contiguous a step (default 0)", 1},
    {"copies", KEY_CHANGE + WF_METRIC_COPIES, "PERCENT", 0, "aten::copy_ a step (default 0)", 1},
    {"copy-bytes", KEY_CHANGE + WF_METRIC_COPY_BYTES, "PERCENT", 0, "bytes that they write a step (default 0)", 1},
    {"syncs", KEY_CHANGE + WF_METRIC_SYNCS, "PERCENT", 0, "waits for the device a step (default 0)", 1},
    {"idle", KEY_CHANGE + WF_METRIC_IDLE, "PERCENT", 0, "idle time of the device, of the whole (default 5)", 1},
    {NULL, 0, NULL, 0, "Bounds for the second, whatever the first was:", 2},
    {"min-throughput", KEY_MOST + WF_METRIC_THROUGHPUT, "STEPS", 0, "steps a second", 2},
    {"max-peak-memory", KEY_MOST + WF_METRIC_PEAK_MEMORY, "BYTES", 0, "also 512MiB, 15GiB", 2},
    {"max-peak-reserved", KEY_MOST + WF_METRIC_PEAK_RESERVED, "BYTES", 0, "the same of reserved ones", 2},
    {"max-end-memory", KEY_MOST + WF_METRIC_END_MEMORY, "BYTES", 0, "the same at the end", 2},
    {"max-fragmentation", KEY_MOST + WF_METRIC_FRAGMENTATION, "PERCENT", 0, "at the peak", 2},
    {"max-contiguous", KEY_MOST + WF_METRIC_CONTIGUOUS, "N", 0, "aten::contiguous a step", 2},
    {"max-copies", KEY_MOST + WF_METRIC_COPIES, "N", 0, "aten::copy_ a step", 2},
    {"max-copy-bytes", KEY_MOST + WF_METRIC_COPY_BYTES, "BYTES", 0, "bytes that they write a step", 2},
    {"max-syncs", KEY_MOST + WF_METRIC_SYNCS, "N", 0, "waits for the device a step", 2},
    {"max-idle", KEY_MOST + WF_METRIC_IDLE, "PERCENT", 0, "idle time of the device", 2},
    {NULL, 0, NULL, 0, "", 3},
    {"json", 'j', NULL, 0, "print one JSON object", 3},
    {0}};

/* ---- options ------------------------------------------------------------------------------------------------------ */

/* "3", "3%", "-3%", "+3 %": how much, whatever the direction is written as. NaN for "any". */
static bool parse_change(const char *text, double *change) {
  if (!strcmp(text, "any")) {
    *change = NAN;
    return true;
  }
  char *end;
  double value = strtod(text, &end);
  while (*end == ' ') end++;
  if (*end == '%') end++;
  if (end == text || *end || !isfinite(value)) return false;
  *change = fabs(value) / 100;
  return true;
}

static bool is_share(wf_metric metric) { return metric == WF_METRIC_IDLE || metric == WF_METRIC_FRAGMENTATION; }

static bool is_bytes(wf_metric metric) {
  return metric == WF_METRIC_PEAK_MEMORY || metric == WF_METRIC_COPY_BYTES || metric == WF_METRIC_PEAK_RESERVED ||
         metric == WF_METRIC_END_MEMORY;
}

/* A number, with a unit of bytes behind where the metric has bytes. */
static bool parse_bound(const char *text, wf_metric metric, double *bound) {
  static const char *const units[] = {"", "K", "M", "G", "T"};
  char *end;
  double value = strtod(text, &end);
  if (end == text || !isfinite(value) || value < 0) return false;
  if (is_share(metric)) {
    if (*end == '%') end++;
    value /= 100;
  } else if (is_bytes(metric)) {
    for (int i = 4; i > 0; i--)
      if (toupper((unsigned char)*end) == *units[i]) {
        end++;
        value *= !strcmp(end, "B") ? pow(1000, i) : pow(1024, i);
        end += strspn(end, "i");
        break;
      }
    if (*end == 'B') end++;
  }
  *bound = value;
  return !*end;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  options *o = state->input;
  if (key >= KEY_CHANGE && key < KEY_MOST) {
    if (!parse_change(arg, &o->limits.change[key - KEY_CHANGE]))
      argp_error(state, "--%s takes per cent or 'any', not '%s'", wf_metric_name((wf_metric)(key - KEY_CHANGE)), arg);
    return 0;
  }
  if (key >= KEY_MOST && key < KEY_MOST + WF_METRIC_COUNT) {
    wf_metric metric = (wf_metric)(key - KEY_MOST);
    if (!parse_bound(arg, metric, &o->limits.most[metric]))
      argp_error(state, "the bound of %s is a number of 0 or more, not '%s'", wf_metric_name(metric), arg);
    return 0;
  }
  switch (key) {
    case 'j': o->json = true; return 0;
    case ARGP_KEY_ARG:
      if (o->path_count == 2) argp_error(state, "two files, no more");
      o->paths[o->path_count++] = arg;
      return 0;
    case ARGP_KEY_END:
      if (o->path_count < 2) argp_error(state, "which two files? The run that was good, then the one to judge");
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

/* ---- traces ------------------------------------------------------------------------------------------------------- */

static char *number_text(wf_metric metric, double value, char text[32]) {
  if (isnan(value)) snprintf(text, 32, "-");
  else if (is_bytes(metric)) human_bytes((int64_t)value, text);
  else if (is_share(metric)) snprintf(text, 32, "%.1f %%", 100 * value);
  else snprintf(text, 32, "%.4g", value);
  return text;
}

static const char *const verdicts[] = {"fine", "WORSE", "better", "not in the trace", "not judged"};

static char *change_text(const wf_check_row *r, char text[32]) {
  double change = is_share(r->metric) ? r->after - r->before : (r->after - r->before) / fabs(r->before);
  if (r->before == r->after) snprintf(text, 32, "0");
  else if (isfinite(change)) snprintf(text, 32, "%+.1f %%", 100 * change);
  else snprintf(text, 32, "-");
  return text;
}

/* Neither file says it, and nobody wants to know. */
static bool is_nothing(const wf_check_row *r) {
  return isnan(r->before) && isnan(r->after) && r->verdict != WF_VERDICT_WORSE;
}

static void print_text(const wf_check_row *rows) {
  char before[32], after[32], change[32];
  printf("%-14s %14s %14s %10s  %s\n", "", "before", "after", "change", "verdict");
  for (int i = 0; i < WF_METRIC_COUNT; i++) {
    const wf_check_row *r = &rows[i];
    if (is_nothing(r)) continue;
    printf("%-14s %14s %14s %10s  %s\n", wf_metric_name(r->metric), number_text(r->metric, r->before, before),
           number_text(r->metric, r->after, after), change_text(r, change), verdicts[r->verdict]);
  }
}

static void json_number(const char *key, double value) {
  if (isfinite(value)) printf("\"%s\": %.17g", key, value);
  else printf("\"%s\": null", key);
}

static void print_json(const char *kind, const wf_check_row *rows, int worse) {
  static const char *const names[] = {"fine", "worse", "better", "unknown", "unjudged"};
  int printed = 0;
  printf("{\n  \"kind\": \"%s\",\n  \"worse\": %d,\n  \"metrics\": [", kind, worse);
  for (int i = 0; i < WF_METRIC_COUNT; i++) {
    if (is_nothing(&rows[i])) continue;
    printf("%s\n    {\"name\": \"%s\", ", printed++ ? "," : "", wf_metric_name(rows[i].metric));
    json_number("before", rows[i].before);
    printf(", ");
    json_number("after", rows[i].after);
    printf(", \"verdict\": \"%s\"}", names[rows[i].verdict]);
  }
  printf("\n  ]\n}\n");
}

/* Without a number that both say there is nothing to judge. */
static bool any_judged(const wf_check_row *rows) {
  for (int i = 0; i < WF_METRIC_COUNT; i++)
    if (rows[i].verdict <= WF_VERDICT_BETTER) return true;
  return false;
}

static int tell(const options *o, const char *kind, const wf_check_row *rows, int worse) {
  if (o->json) print_json(kind, rows, worse);
  else print_text(rows);
  return worse ? EXIT_FAILED : any_judged(rows) ? EXIT_FINE : EXIT_MISUSE;
}

static int check_traces(const options *o) {
  wf_check_row rows[WF_METRIC_COUNT];
  wf_audit *before = read_trace(o->paths[0], 0), *after = before ? read_trace(o->paths[1], 0) : NULL;
  int code = EXIT_MISUSE;
  if (!after) fail_with_error("check", EXIT_MISUSE);
  else if (wf_audit_interrupted(before) || wf_audit_interrupted(after)) code = say_interrupted("check");
  else code = tell(o, "trace", rows, wf_check_traces(before, after, &o->limits, rows));
  wf_audit_free(before);
  wf_audit_free(after);
  return code;
}

/* ---- snapshots ---------------------------------------------------------------------------------------------------- */

static int check_snapshots(const options *o) {
  wf_check_row rows[WF_METRIC_COUNT];
  wf_snapshot *before = read_snapshot(o->paths[0]), *after = before ? read_snapshot(o->paths[1]) : NULL;
  int worse = after ? wf_check_snapshots(before, after, &o->limits, rows) : -1;
  int code = EXIT_MISUSE;
  if (worse < 0) code = fail_with_error("check", EXIT_MISUSE);
  else code = tell(o, "snapshot", rows, worse);
  wf_snapshot_free(before);
  wf_snapshot_free(after);
  return code;
}

/* ---- the command -------------------------------------------------------------------------------------------------- */

int command_check(int argc, char **argv) {
  static const struct argp argp = {
      option_table,
      parse,
      "BEFORE AFTER",
      "Compare two traces, or two memory snapshots, of one program and say what got worse.\v"
      "Exit status: 0 nothing got worse, 1 something did, 2 the files couldn't be judged.\n\n"
      "Example:\n"
      "  weft check main.json branch.json --throughput 3% --peak-memory 5%\n"
      "  weft check main.json branch.json --max-contiguous 0 --throughput any\n"
      "  weft check main.pickle branch.pickle --max-peak-reserved 15GiB",
      NULL,
      NULL,
      NULL};
  argp_err_exit_status = EXIT_MISUSE;
  options o = {.limits = wf_check_defaults()};
  argp_parse(&argp, argc, argv, 0, NULL, &o);
  catch_interrupt();
  return wf_recording_of(o.paths[0]) == WF_RECORDING_SNAPSHOT ? check_snapshots(&o) : check_traces(&o);
}
