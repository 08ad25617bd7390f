/* weft replay-alloc: a recorded history of allocations under other settings. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/snapshot.h>

#include "progress.h"
#include "weft.h"

enum { OPTION_CONF = 256, OPTION_MEM, OPTION_SEARCH, OPTION_DEVICE, CONFS_MAX = 64 };

typedef struct options {
  const char *file;
  const char *confs[CONFS_MAX];
  wf_replay_options replay;
  bool json;
} options;

static const struct argp_option option_table[] = {
    {"conf", OPTION_CONF, "SETTINGS", 0,
     "play it with these settings of PYTORCH_CUDA_ALLOC_CONF; may be given several times", 0},
    {"mem", OPTION_MEM, "SIZE", 0, "the device's memory: 16GiB, 24576MiB", 0},
    {"search", OPTION_SEARCH, NULL, 0, "try the settings worth trying and recommend one", 0},
    {"device", OPTION_DEVICE, "N", 0, "that device; else the one that has most reserved", 0},
    {"json", 'j', NULL, 0, "print one JSON object", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  options *o = state->input;
  int64_t value;
  switch (key) {
    case OPTION_CONF:
      if (o->replay.conf_count == CONFS_MAX)
        argp_failure(state, EXIT_MISUSE, 0, "at most %d settings at a time", CONFS_MAX);
      o->confs[o->replay.conf_count++] = arg;
      return 0;
    case OPTION_MEM:
      if (!parse_bytes(arg, &o->replay.memory))
        argp_failure(state, EXIT_MISUSE, 0, "--mem takes a size such as 16GiB, not '%s'", arg);
      return 0;
    case OPTION_SEARCH: o->replay.search = true; return 0;
    case OPTION_DEVICE:
      if (!parse_int(arg, 0, 4095, &value))
        argp_failure(state, EXIT_MISUSE, 0, "--device takes a whole number from 0 to 4095, not '%s'", arg);
      o->replay.device = (int)value;
      return 0;
    case 'j': o->json = true; return 0;
    case ARGP_KEY_ARG:
      if (o->file) argp_error(state, "one history at a time");
      o->file = arg;
      return 0;
    case ARGP_KEY_END:
      if (!o->file) argp_error(state, "which history?");
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const char doc[] =
    "Play the history of a memory snapshot, or of an RMM log, under other settings of PyTorch's caching allocator: what would have been "
    "reserved, what is the least memory that suffices, would it have fitted. First it is played as it was recorded, to say how exactly "
    "that is reproduced.\v"
    "Example:\n  weft replay-alloc --conf max_split_size_mb:128 --mem 16GiB snapshot.pickle\n  weft replay-alloc --search "
    "snapshot.pickle\n\nExit status: 0, 1 when it failed, 2 for misuse or a file that can't be used.";

static bool tell(void *context, int64_t done, int64_t all) {
  bool *shown = context;
  if (!isatty(STDERR_FILENO)) return !interrupted();
  fprintf(stderr, "\rreplay %lld of %lld\033[K", (long long)done, (long long)all);
  *shown = true;
  return !interrupted();
}

static int play(options *o, const wf_snapshot *s) {
  bool shown = false;
  o->replay.confs = o->confs;
  o->replay.progress = tell;
  o->replay.context = &shown;
  wf_replay *r = wf_replay_history(s, &o->replay);
  if (shown) fputs("\r\033[K", stderr);
  if (!r) return fail_with_error("replay-alloc", EXIT_MISUSE);
  char *text = o->json ? wf_replay_json(r, 2) : wf_replay_text(r, terminal_columns());
  wf_replay_free(r);
  if (!text) return fail_with_error("replay-alloc", EXIT_FAILED);
  fputs(text, stdout);
  if (o->json) putchar('\n');
  wf_report_release(text);
  return EXIT_FINE;
}

int command_replay_alloc(int argc, char **argv) {
  static const struct argp argp = {option_table, parse, "FILE", doc, NULL, NULL, NULL};
  argp_err_exit_status = EXIT_MISUSE;
  options o = {.replay = {.device = -1}};
  argp_parse(&argp, argc, argv, 0, NULL, &o);
  catch_interrupt();
  progress p;
  progress_begin(&p, o.file);
  wf_snapshot *s = wf_snapshot_read(o.file, &(wf_snapshot_options){progress_bytes, &p});
  progress_end(&p);
  if (!s) return fail_with_error("replay-alloc", EXIT_MISUSE);
  int code = play(&o, s);
  wf_snapshot_free(s);
  return code;
}
