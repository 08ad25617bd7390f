/* weft memory: who holds the memory of a snapshot, and what fragments it. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/snapshot.h>

#include "progress.h"
#include "weft.h"

enum { OPTION_AT = 256, OPTION_BY, OPTION_TOP, OPTION_MAP, OPTION_SVG, OPTION_DEVICE, OPTION_STACKS };

typedef struct options {
  const char *files[2];
  int file_count;
  wf_memory_options memory;
  bool json, map;
  const char *svg;
} options;

static const struct argp_option option_table[] = {
    {"at", OPTION_AT, "WHEN", 0, "peak (the default), end, or a number of events", 0},
    {"by", OPTION_BY, "WHAT", 0, "group by line (the default), module or size", 0},
    {"top", OPTION_TOP, "N", 0, "rows of each table (12)", 0},
    {"stacks", OPTION_STACKS, NULL, 0, "the whole stack of each group", 0},
    {"device", OPTION_DEVICE, "N", 0, "that device; else the one that has most reserved", 0},
    {"map", OPTION_MAP, NULL, 0, "each segment with its blocks, as text", 0},
    {"svg", OPTION_SVG, "FILE", 0, "the same as a drawing", 0},
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
    argp_failure(state, EXIT_MISUSE, 0, "--%s takes a whole number of %lld or more", name, (long long)least);
  *to = (int)value;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  options *o = state->input;
  switch (key) {
    case OPTION_AT: parse_at(state, arg, &o->memory.at); return 0;
    case OPTION_BY: parse_by(state, arg, &o->memory.group); return 0;
    case OPTION_TOP: parse_number(state, "top", arg, 1, 1000000, &o->memory.rows); return 0;
    case OPTION_DEVICE: parse_number(state, "device", arg, 0, 4095, &o->memory.device); return 0;
    case OPTION_STACKS: o->memory.stacks = true; return 0;
    case OPTION_MAP: o->map = true; return 0;
    case OPTION_SVG: o->svg = arg; return 0;
    case 'j': o->json = true; return 0;
    case ARGP_KEY_ARG:
      if (o->file_count == 1) argp_error(state, "one snapshot at a time");
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
    "FILE may be gzipped. Nothing in it is executed.\n\n"
    "Example:\n  weft memory --at peak --by module snapshot.pickle\n\nExit status: 0, 1 when it failed, 2 for misuse or a file that "
    "can't be used.";

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
  if (o->svg && wf_memory_write_svg(s, &o->memory, o->svg)) return fail_with_error("memory", EXIT_FAILED);
  if (o->json) {
    int code = print(wf_memory_json(s, &o->memory, 2));
    if (!code) putchar('\n');
    return code;
  }
  if (o->map) return print(wf_memory_map(s, &o->memory));
  return print(wf_memory_text(s, &o->memory));
}

int command_memory(int argc, char **argv) {
  static const struct argp argp = {option_table, parse, "FILE", doc, NULL, NULL, NULL};
  argp_err_exit_status = EXIT_MISUSE;
  options o = {.memory = wf_memory_defaults()};
  o.memory.columns = terminal_columns();
  argp_parse(&argp, argc, argv, 0, NULL, &o);
  catch_interrupt();
  wf_snapshot *s = read_snapshot(o.files[0]);
  if (!s) return fail_with_error("memory", interrupted() ? EXIT_INTERRUPTED : EXIT_MISUSE);
  int code = report(&o, s);
  wf_snapshot_free(s);
  return code;
}
