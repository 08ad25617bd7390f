/* weft memory: who holds the memory of a snapshot, and what fragments it. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/snapshot.h>

#include "progress.h"
#include "weft.h"

#define DEFAULT_TOLERANCE 1

enum {
  OPTION_AT = 256,
  OPTION_BY,
  OPTION_TOP,
  OPTION_MAP,
  OPTION_SVG,
  OPTION_HTML,
  OPTION_DEVICE,
  OPTION_STACKS,
  OPTION_TOLERANCE
};

typedef struct options {
  const char *files[2];
  int file_count;
  wf_memory_options memory;
  bool json, map, at_given;
  double tolerance; /* per cent that B may hold more than A; below 0: the default */
  const char *svg, *html;
} options;

static const struct argp_option option_table[] = {
    {"at", OPTION_AT, "WHEN", 0, "peak (the default), end, or a number of events", 0},
    {"by", OPTION_BY, "WHAT", 0, "group by line (the default), module or size", 0},
    {"top", OPTION_TOP, "N", 0, "rows of each table (12)", 0},
    {"stacks", OPTION_STACKS, NULL, 0, "the whole stack of each group", 0},
    {"device", OPTION_DEVICE, "N", 0, "that device; else the one that has most reserved", 0},
    {"map", OPTION_MAP, NULL, 0, "each segment with its blocks, as text", 0},
    {"svg", OPTION_SVG, "FILE", 0, "the same as a drawing", 0},
    {"tolerance", OPTION_TOLERANCE, "PERCENT", 0, "of two snapshots: how much more the second may hold (1)", 0},
    {"html", OPTION_HTML, "FILE", 0, "a page with memory over time and its segments", 0},
    {"json", 'j', NULL, 0, "print one JSON object", 0},
    {0}};

static void parse_at(struct argp_state *state, const char *text, int64_t *at) {
  if (!strcmp(text, "peak")) *at = WF_MEMORY_AT_PEAK;
  else if (!strcmp(text, "end")) *at = WF_MEMORY_AT_END;
  else if (!parse_int(text, 0, INT64_MAX, at))
    argp_failure(state, EXIT_MISUSE, 0, "--at takes peak, end or a number of events, not '%s'", text);
}

static void parse_by(struct argp_state *state, const char *text, wf_memory_group *by) {
  static const char *const names[] = {"line", "module", "size"};
  for (int i = 0; i < 3; i++)
    if (!strcmp(text, names[i])) {
      *by = (wf_memory_group)i;
      return;
    }
  argp_failure(state, EXIT_MISUSE, 0, "--by takes line, module or size, not '%s'", text);
}

static void parse_number(struct argp_state *state, const char *name, const char *text, int64_t least, int64_t most,
                         int *to) {
  int64_t value;
  if (!parse_int(text, least, most, &value))
    argp_failure(state, EXIT_MISUSE, 0, "--%s takes a whole number from %lld to %lld, not '%s'", name, (long long)least,
                 (long long)most, text);
  *to = (int)value;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  options *o = state->input;
  switch (key) {
    case OPTION_AT:
      o->at_given = true;
      parse_at(state, arg, &o->memory.at);
      return 0;
    case OPTION_TOLERANCE:
      if (!parse_double(arg, 0, 1e6, &o->tolerance))
        argp_failure(state, EXIT_MISUSE, 0, "--tolerance takes a number from 0 to 1e6, not '%s'", arg);
      return 0;
    case OPTION_BY: parse_by(state, arg, &o->memory.group); return 0;
    case OPTION_TOP: parse_number(state, "top", arg, 1, 1000000, &o->memory.rows); return 0;
    case OPTION_DEVICE: parse_number(state, "device", arg, 0, 4095, &o->memory.device); return 0;
    case OPTION_STACKS: o->memory.stacks = true; return 0;
    case OPTION_MAP: o->map = true; return 0;
    case OPTION_SVG: o->svg = arg; return 0;
    case OPTION_HTML: o->html = arg; return 0;
    case 'j': o->json = true; return 0;
    case ARGP_KEY_ARG:
      if (o->file_count == 2) argp_error(state, "one snapshot, or two to compare");
      o->files[o->file_count++] = arg;
      return 0;
    case ARGP_KEY_END:
      if (!o->file_count) argp_error(state, "which snapshot?");
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const char doc[] =
    "Say who holds the memory in a snapshot of PyTorch's allocator (torch.cuda.memory._dump_snapshot), or in an RMM log: at the peak "
    "and at the end, by line of Python; what fragments it; what preceded an out of memory.\v"
    "With two snapshots of one program: who holds more at the end of B than at the end of A. FILEs may be gzipped. Nothing in them is "
    "executed.\n\n"
    "Example:\n  weft memory --at peak --by module snapshot.pickle\n  weft memory before.pickle after.pickle\n\nExit status: of one snapshot 0, 1 "
    "when it failed, 2 for misuse or a file that can't be used; of two, 0 when B holds no more than A, 1 when it does, 2 when that "
    "can't be told.";

wf_snapshot *read_snapshot(const char *path) {
  progress p;
  progress_begin(&p, path);
  wf_snapshot *s = wf_snapshot_read(path, &(wf_snapshot_options){progress_bytes, &p});
  progress_end(&p);
  return s;
}

static int print(char *text) {
  if (!text) return fail_with_error("memory", EXIT_MISUSE);
  fputs(text, stdout);
  wf_report_release(text);
  return EXIT_FINE;
}

static int report(const options *o, const wf_snapshot *s) {
  if (o->tolerance >= 0) return misuse("memory", "--tolerance is for two snapshots");
  if (o->map && o->json) return misuse("memory", "--map prints text: leave --json away");
  if (o->svg && wf_memory_write_svg(s, &o->memory, o->svg)) return fail_with_error("memory", EXIT_FAILED);
  if (o->html && wf_memory_write_html(s, &o->memory, o->html)) return fail_with_error("memory", EXIT_FAILED);
  if (o->json) {
    int code = print(wf_memory_json(s, &o->memory, 2));
    if (!code) putchar('\n');
    return code;
  }
  if (o->map) return print(wf_memory_map(s, &o->memory));
  return print(wf_memory_text(s, &o->memory));
}

/* Growth by less than 1 MiB isn't judged: every run differs a little. */
static int compare(options *o, wf_snapshot *const s[2]) {
  if (!o->at_given) o->memory.at = WF_MEMORY_AT_END;
  if (o->svg || o->html || o->map || o->memory.stacks)
    return misuse("memory", "--svg, --html, --map and --stacks are for one snapshot");
  wf_memory_change *c = wf_memory_compare(s[0], s[1], &o->memory);
  if (!c) return fail_with_error("memory", EXIT_MISUSE);
  int code = print(o->json ? wf_memory_change_json(c, 2) : wf_memory_change_text(c));
  if (!code && o->json) putchar('\n');
  double tolerance = o->tolerance >= 0 ? o->tolerance : DEFAULT_TOLERANCE;
  double more = (double)wf_memory_change_bytes(c), before = (double)wf_memory_change_before(c);
  wf_memory_change_free(c);
  return code ? code : more > 1 << 20 && more > before * tolerance / 100 ? EXIT_FAILED : EXIT_FINE;
}

int command_memory(int argc, char **argv) {
  static const struct argp argp = {option_table, parse, "FILE [FILE]", doc, NULL, NULL, NULL};
  argp_err_exit_status = EXIT_MISUSE;
  options o = {.memory = wf_memory_defaults(), .tolerance = -1};
  o.memory.columns = terminal_columns();
  argp_parse(&argp, argc, argv, 0, NULL, &o);
  catch_interrupt();
  wf_snapshot *s[2] = {0};
  bool good = true;
  for (int i = 0; i < o.file_count && good; i++) good = (s[i] = read_snapshot(o.files[i])) != NULL;
  int code = !good ? fail_with_error("memory", EXIT_MISUSE) : s[1] ? compare(&o, s) : report(&o, s[0]);
  wf_snapshot_free(s[0]);
  wf_snapshot_free(s[1]);
  return code;
}
