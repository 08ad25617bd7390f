/* weft dry-run: a PyTorch program for a GPU, run without one, and what it would need. */
#include "dry_run.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "progress.h"

enum {
  OPTION_GPU = 256,
  OPTION_GPUS,
  OPTION_MEM,
  OPTION_CONTEXT,
  OPTION_STEPS,
  OPTION_EVENTS,
  OPTION_PAGEABLE,
  OPTION_SYNCS,
  OPTION_HTML,
  OPTION_SNAPSHOT,
  OPTION_KEEP,
  OPTION_REPORT,
  OPTION_TOP,
  OPTION_LIST,
  OPTION_SELF_TEST,
  OPTION_CAPTURE
};

#define DEFAULT_GPU "a100-80" /* what --mem alone is a size of */

typedef enum events_wanted { EVENTS_BOTH, EVENTS_EAGER, EVENTS_LAZY } events_wanted;

typedef struct options {
  wf_dry_device devices[WF_DRY_DEVICES];
  const wf_gpu *gpu;                         /* of the first --gpu */
  gpu_description described[WF_DRY_DEVICES]; /* by files */
  int described_count;
  wf_dry_options report;
  events_wanted events;
  int64_t gpus, steps;
  bool json, list, self_test, capture;
  const char *html, *snapshot, *keep, *folder, *output;
  char **command;
} options;

static const struct argp_option option_table[] = {
    {"gpu", OPTION_GPU, "NAME|FILE", 0,
     "the GPU it is for, by a name of --list-gpus or a file of --capture (default: a100-80); several times: does it fit on each?",
     0},
    {"gpus", OPTION_GPUS, "N", 0, "how many of them the program sees (1)", 0},
    {"mem", OPTION_MEM, "SIZE", 0, "a GPU of that size, 24GiB, of the kind of the first --gpu; several times", 0},
    {"context", OPTION_CONTEXT, "SIZE", 0, "what the driver takes for itself, where that is known (520MiB)", 0},
    {"list-gpus", OPTION_LIST, NULL, 0, "the GPUs by name, with their figures and where these come from", 0},
    {"steps", OPTION_STEPS, "N", 0, "end the program after N optimizer steps", 0},
    {"events", OPTION_EVENTS, "WHEN", 0,
     "CUDA events finish at once (eager) or when they are waited for (lazy); both (the default): a second run, where it makes a difference",
     0},
    {"max-pageable", OPTION_PAGEABLE, "N", 0, "fail with more copies of pageable memory a step, in the steady state",
     0},
    {"max-syncs-per-step", OPTION_SYNCS, "N", 0, "fail with more waits for the device a step, in the steady state", 0},
    {"top", OPTION_TOP, "N", 0, "rows of each table (12)", 0},
    {"json", 'j', NULL, 0, "print one JSON object; the program's own output goes to standard error", 0},
    {"html", OPTION_HTML, "FILE", 0, "write the report as a page, with memory over time", 0},
    {"snapshot", OPTION_SNAPSHOT, "FILE", 0,
     "write PyTorch's memory snapshot, for weft memory and pytorch.org/memory_viz", 0},
    {"keep", OPTION_KEEP, "FOLDER", 0, "leave what was recorded in this folder, new or empty", 0},
    {"report", OPTION_REPORT, "FOLDER", 0,
     "run nothing: report what --keep left there, for the GPUs of that run or for others", 0},
    {"capture", OPTION_CAPTURE, NULL, 0,
     "on a machine with a GPU: describe it, as --gpu FILE takes it elsewhere (the first one, see CUDA_VISIBLE_DEVICES)",
     0},
    {"output", 'o', "FILE", 0, "of --capture (standard output)", 0},
    {"self-test", OPTION_SELF_TEST, NULL, 0,
     "run programs whose figures are known by `python3`, or by COMMAND, and say which come out", 0},
    {0}};

/* ---- options ---------------------------------------------------------------------------------------------------------- */

static void check_room(struct argp_state *state, const options *o) {
  if (o->report.device_count == WF_DRY_DEVICES)
    argp_failure(state, EXIT_MISUSE, 0, "at most %d devices at a time", WF_DRY_DEVICES);
}

static void add_device(struct argp_state *state, options *o, wf_dry_device d) {
  check_room(state, o);
  o->devices[o->report.device_count++] = d;
}

/* "; did you mean a100-80 or a100-40": those that begin so. */
static const char *similar(const char *name, char *text, size_t size) {
  const wf_gpu *all;
  int n = wf_gpu_list(&all), found = 0;
  size_t used = 0;
  *text = 0;
  for (int i = 0; i < n && used < size; i++)
    if (*name && !strncasecmp(all[i].name, name, strlen(name)))
      used += (size_t)snprintf(text + used, size - used, "%s%s", found++ ? " or " : "; did you mean ", all[i].name);
  return text;
}

/* By its name, or by the file that describes it. */
static const wf_gpu *gpu_named(struct argp_state *state, options *o, const char *name) {
  const wf_gpu *g = wf_gpu_find(name);
  char others[256];
  if (g) return g;
  if (!strchr(name, '/') && access(name, F_OK))
    argp_failure(
        state, EXIT_MISUSE, 0,
        "there is no GPU '%s', nor a file of that name%s: --list-gpus lists them; --mem takes any size; --capture describes one in a file",
        name, similar(name, others, sizeof others));
  check_room(state, o);
  gpu_description *d = &o->described[o->described_count++];
  if (!gpu_description_read(d, name)) exit(EXIT_MISUSE);
  return &d->gpu;
}

static void add_gpu(struct argp_state *state, options *o, const char *name) {
  const wf_gpu *g = gpu_named(state, o, name);
  for (int i = 0; i < o->report.device_count;
       i++) /* one that Weft knows may be asked about twice: its name is the same text */
    if (o->devices[i].name != g->name && !strcasecmp(o->devices[i].name, g->name))
      argp_failure(state, EXIT_MISUSE, 0, "two GPUs are called %s: change \"name\" in the file of one", g->name);
  if (!o->gpu) o->gpu = g;
  add_device(state, o, (wf_dry_device){g->name, g->memory_bytes, g->context_bytes, g->major, g->minor});
}

/* A size, with its unit: 24 would be 24 bytes. */
static int64_t parse_size(struct argp_state *state, const char *name, const char *text) {
  int64_t bytes;
  size_t n = strlen(text);
  if (!parse_bytes(text, &bytes))
    argp_failure(state, EXIT_MISUSE, 0, "--%s takes a size such as 24GiB, not '%s'", name, text);
  if (bytes < LEAST_MEMORY && isdigit((unsigned char)text[n - 1]))
    argp_failure(state, EXIT_MISUSE, 0, "--%s %s is %s bytes: give the unit as well, such as %sGiB", name, text, text,
                 text);
  if (bytes > MOST_MEMORY) argp_failure(state, EXIT_MISUSE, 0, "--%s %s is too much: at most 1TiB", name, text);
  return bytes;
}

static void add_memory(struct argp_state *state, options *o, const char *text) {
  wf_dry_device d = {.name = text, .memory_bytes = parse_size(state, "mem", text), .context_bytes = -1};
  if (d.memory_bytes < LEAST_MEMORY) argp_failure(state, EXIT_MISUSE, 0, "--mem %s: no GPU has less than 1MiB", text);
  add_device(state, o, d);
}

static int64_t parse_count(struct argp_state *state, const char *name, const char *text, int64_t least, int64_t most) {
  int64_t value;
  if (!parse_int(text, least, most, &value))
    argp_failure(state, EXIT_MISUSE, 0, "--%s takes a whole number from %lld to %lld, not '%s'", name, (long long)least,
                 (long long)most, text);
  return value;
}

static double parse_bound(struct argp_state *state, const char *name, const char *text) {
  double value;
  if (!parse_double(text, 0, 1e9, &value))
    argp_failure(state, EXIT_MISUSE, 0, "--%s takes a number of 0 or more, not '%s'", name, text);
  return value;
}

static events_wanted parse_events(struct argp_state *state, const char *text) {
  static const char *const names[] = {"both", "eager", "lazy"};
  for (int i = 0; i < 3; i++)
    if (!strcmp(text, names[i])) return (events_wanted)i;
  argp_failure(state, EXIT_MISUSE, 0, "--events takes eager, lazy or both, not '%s'", text);
  return EVENTS_BOTH;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  options *o = state->input;
  switch (key) {
    case OPTION_GPU: add_gpu(state, o, arg); return 0;
    case OPTION_GPUS: o->gpus = parse_count(state, "gpus", arg, 1, 16); return 0;
    case OPTION_MEM: add_memory(state, o, arg); return 0;
    case OPTION_CONTEXT: o->report.context_bytes = strcmp(arg, "0") ? parse_size(state, "context", arg) : 0; return 0;
    case OPTION_STEPS: o->steps = parse_count(state, "steps", arg, 1, 1000000000); return 0;
    case OPTION_EVENTS: o->events = parse_events(state, arg); return 0;
    case OPTION_PAGEABLE: o->report.max_pageable = parse_bound(state, "max-pageable", arg); return 0;
    case OPTION_SYNCS: o->report.max_syncs_per_step = parse_bound(state, "max-syncs-per-step", arg); return 0;
    case OPTION_TOP: o->report.rows = (int)parse_count(state, "top", arg, 1, 1000000); return 0;
    case 'j': o->json = true; return 0;
    case OPTION_HTML: o->html = arg; return 0;
    case OPTION_SNAPSHOT: o->snapshot = arg; return 0;
    case OPTION_KEEP: o->keep = arg; return 0;
    case OPTION_REPORT: o->folder = arg; return 0;
    case OPTION_LIST: o->list = true; return 0;
    case OPTION_SELF_TEST: o->self_test = true; return 0;
    case OPTION_CAPTURE: o->capture = true; return 0;
    case 'o': o->output = arg; return 0;
    case ARGP_KEY_ARG:
      o->command = state->argv + state->next - 1;
      state->next = state->argc;
      return 0;
    case ARGP_KEY_END:
      if (o->capture && (o->command || o->folder)) argp_error(state, "--capture runs nothing");
      if (o->output && !o->capture) argp_error(state, "--output is of --capture; reports go to --html and --snapshot");
      if (!o->command && !o->list && !o->self_test && !o->folder && !o->capture)
        argp_error(state, "which program? weft dry-run --gpu a100-80 -- python train.py");
      if (o->folder && (o->command || o->keep)) argp_error(state, "--report runs nothing");
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const char doc[] =
    "Run a PyTorch program for a GPU on a machine without one, and say whether it fits, who holds the memory at its peak, and which lines "
    "copy pageable memory or wait. The program isn't changed; its kernels do nothing, and everything else of PyTorch is real. It needs a "
    "CUDA build of PyTorch, which installs anywhere.\v"
    "What the program reads from the GPU is zeros, and time means nothing: the report says what that touches.\n\n"
    "Example:\n  weft dry-run --gpu a100-80 --gpu rtx4090 --steps 3 -- python train.py\n  weft dry-run --mem 24GiB --max-syncs-per-step 1 -- "
    "python train.py\n\nExit status: 0 it fits on each GPU asked for and keeps the bounds, 1 it doesn't, 2 that "
    "can't be told (no CUDA build of torch, the program failed, misuse), 130 after Ctrl-C, with what was counted until then.";

/* ---- devices ---------------------------------------------------------------------------------------------------------- */

static int by_memory(const void *a, const void *b) {
  const wf_dry_device *x = a, *y = b;
  if (x->memory_bytes != y->memory_bytes) return x->memory_bytes > y->memory_bytes ? -1 : 1;
  return strcmp(x->name, y->name);
}

/* The program runs on the largest: what happens on a smaller one is played from its history. */
static void settle_devices(options *o) {
  qsort(o->devices, (size_t)o->report.device_count, sizeof *o->devices, by_memory);
  o->report.devices = o->devices;
  if (o->folder && !o->gpu) return; /* of the kind that it ran as */
  if (!o->report.device_count) {
    o->gpu = o->gpu ? o->gpu : wf_gpu_find(DEFAULT_GPU);
    o->devices[o->report.device_count++] =
        (wf_dry_device){o->gpu->name, o->gpu->memory_bytes, o->gpu->context_bytes, o->gpu->major, o->gpu->minor};
  }
  if (!o->gpu) o->gpu = wf_gpu_find(DEFAULT_GPU);
  for (int i = 0; i < o->report.device_count; i++) {
    wf_dry_device *d = &o->devices[i];
    if (!d->major) *d = (wf_dry_device){d->name, d->memory_bytes, o->gpu->context_bytes, o->gpu->major, o->gpu->minor};
    if (o->report.context_bytes >= 0) d->context_bytes = o->report.context_bytes;
  }
  const wf_gpu *largest = wf_gpu_find(o->devices[0].name);
  for (int i = 0; i < o->described_count; i++)
    if (!strcmp(o->described[i].name, o->devices[0].name)) largest = &o->described[i].gpu;
  if (largest) o->gpu = largest;
}

static int list_gpus(void) {
  const wf_gpu *all;
  int n = wf_gpu_list(&all);
  char memory[32], context[32];
  printf("%-9s %-24s %-10s %4s %11s %11s\n", "name", "", "capability", "SMs", "memory", "context");
  for (int i = 0; i < n; i++) {
    const wf_gpu *g = &all[i];
    printf("%-9s %-24s %7d.%-2d %4d %11s %11s\n", g->name, g->title, g->major, g->minor, g->multiprocessors,
           human_bytes(g->memory_bytes, memory), human_bytes(g->context_bytes, context));
  }
  for (int i = 0; i < n; i++) {
    bool said = false;
    for (int k = 0; k < i && !said; k++) said = all[k].source == all[i].source || !strcmp(all[k].source, all[i].source);
    if (said) continue;
    printf("\n");
    for (int k = i; k < n; k++)
      if (!strcmp(all[k].source, all[i].source)) printf("%s%s", k == i ? "" : ", ", all[k].name);
    printf(":\n  %s\n", all[i].source);
  }
  return EXIT_FINE;
}

/* ---- the run ---------------------------------------------------------------------------------------------------------- */

/* Python options that keep it from looking at PYTHONPATH, or from starting anything before the program. */
static bool python_looks_away(char **command) {
  const char *slash = strrchr(command[0], '/'), *name = slash ? slash + 1 : command[0];
  if (strncmp(name, "python", 6)) return false;
  for (char **arg = command + 1; *arg && (*arg)[0] == '-' && (*arg)[1] && (*arg)[1] != '-'; arg++) {
    if (strpbrk(*arg, "cm")) return strcspn(*arg, "IES") < strcspn(*arg, "cm");
    if (strpbrk(*arg + 1, "IES") && (*arg)[1] != 'X' && (*arg)[1] != 'W') return true;
    if (((*arg)[1] == 'X' || (*arg)[1] == 'W') && !(*arg)[2] && arg[1]) arg++;
  }
  return false;
}

static char *folder_for(const char *keep, bool *made) {
  *made = !keep || !mkdir(keep, 0777);
  if (!keep) return dry_folder_make();
  if (!*made && errno != EEXIST) {
    misuse("dry-run", "%s can't be made: %s", keep, strerror(errno));
    return NULL;
  }
  char *whole = realpath(keep, NULL);
  if (!whole) misuse("dry-run", "%s: %s", keep, strerror(errno));
  else if (rmdir(whole) || mkdir(whole, 0777)) { /* succeeds for an empty one only */
    misuse("dry-run", "--keep takes a new or an empty folder: %s: %s", keep, strerror(errno));
    free(whole);
    return NULL;
  }
  return whole;
}

static bool tell(void *context, double share) {
  bool *shown = context;
  if (!isatty(STDERR_FILENO)) return true;
  fprintf(stderr, "\rweft dry-run: playing the history, %2.0f %%\033[K", 100 * share);
  *shown = true;
  return true;
}

static wf_dry_run *read_run(options *o, const char *folder) {
  bool shown = false;
  o->report.progress = tell;
  o->report.context = &shown;
  wf_dry_run *run = wf_dry_read(folder, &o->report);
  if (shown) fputs("\r\033[K", stderr);
  return run;
}

/* Together with a second run; NULL after saying why there is none: what the first one found stays good. */
static wf_dry_run *read_both(options *o, const char *folder, const char *late) {
  o->report.late_folder = late;
  wf_dry_run *run = read_run(o, folder);
  o->report.late_folder = NULL;
  if (!run) fail_with_error("dry-run", EXIT_MISUSE);
  return run;
}

/* Where memory is shared between streams, once more with events that finish late. Without the program's output, which is known already. */
static wf_dry_run *run_late(options *o, const dry_launch *launch, const char *folder, wf_dry_run *run) {
  char late[4096];
  dry_launch again = *launch;
  again.late = again.quiet = true;
  snprintf(late, sizeof late, "%s/late", folder);
  fprintf(stderr, "weft dry-run: streams share memory; running once more, with events that finish late\n");
  if (mkdir(late, 0700)) {
    misuse("dry-run", "no second run: %s can't be made: %s", late, strerror(errno));
    return run;
  }
  if (!dry_launch_run(&again, late)) return run;
  wf_dry_run *both = read_both(o, folder, late);
  if (!both) return run;
  wf_dry_free(run);
  return both;
}

static bool copy_file(const char *from, const char *to) {
  char buffer[1 << 16];
  FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wb") : NULL;
  bool good = out != NULL;
  for (size_t n; good && (n = fread(buffer, 1, sizeof buffer, in)) > 0;) good = fwrite(buffer, 1, n, out) == n;
  if (in && ferror(in)) good = false;
  int error = good ? 0 : errno;
  if (in) fclose(in);
  if (out && fclose(out) && good) {
    error = errno;
    good = false;
  }
  if (!good) misuse("dry-run", "%s can't be written: %s", to, strerror(error));
  return good;
}

/* Before the program runs, for hours perhaps: whether a file can be made there when it has ended. */
static bool can_be_made(const char *path) {
  char folder[4096];
  struct stat at;
  int error = 0;
  if (!path) return true;
  const char *slash = strrchr(path, '/');
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
  if (!stat(path, &at) && S_ISDIR(at.st_mode)) error = EISDIR;
  else if (!access(path, F_OK) ? access(path, W_OK) : access(folder, W_OK | X_OK)) error = errno;
  if (error) misuse("dry-run", "%s can't be written: %s", path, strerror(error));
  return !error;
}

static int report(const options *o, const wf_dry_run *run) {
  char *text = o->json ? wf_dry_json(run, 2) : wf_dry_text(run, terminal_columns());
  if (!text) return fail_with_error("dry-run", EXIT_MISUSE);
  fputs(text, stdout);
  if (o->json) putchar('\n');
  wf_report_release(text);
  if (o->html && wf_dry_write_html(run, o->html)) return fail_with_error("dry-run", EXIT_MISUSE);
  if (o->snapshot && !wf_dry_snapshot(run)) return misuse("dry-run", "no snapshot: no memory was asked for");
  if (o->snapshot && !copy_file(wf_dry_snapshot(run), o->snapshot)) return EXIT_MISUSE;
  return interrupted() ? EXIT_INTERRUPTED : (int)wf_dry_judge(run);
}

/* With the second run, if there was one. */
static int report_folder(options *o) {
  char late[4096];
  snprintf(late, sizeof late, "%s/late", o->folder);
  wf_dry_run *run = access(late, F_OK) ? NULL : read_both(o, o->folder, late);
  if (!run) run = read_run(o, o->folder);
  if (!run) return fail_with_error("dry-run", EXIT_MISUSE);
  int code = report(o, run);
  wf_dry_free(run);
  return code;
}

static int run_in(options *o, const dry_launch *launch, const char *folder) {
  if (!dry_launch_run(launch, folder)) return EXIT_MISUSE;
  wf_dry_run *run = read_run(o, folder);
  if (run && o->events == EVENTS_BOTH && !interrupted() && wf_dry_wants_late_run(run))
    run = run_late(o, launch, folder, run);
  if (!run) return fail_with_error("dry-run", interrupted() ? EXIT_INTERRUPTED : EXIT_MISUSE);
  int code = report(o, run);
  wf_dry_free(run);
  return code;
}

/* NULL: it isn't from a file. */
static const gpu_description *description_of(const options *o, const wf_gpu *gpu) {
  for (int i = 0; i < o->described_count; i++)
    if (&o->described[i].gpu == gpu) return &o->described[i];
  return NULL;
}

static int run(options *o) {
  if (python_looks_away(o->command))
    return misuse("dry-run",
                  "Python options -I, -E and -S keep out what watches the program: leave them out for the dry run");
  bool made;
  char *folder = folder_for(o->keep, &made);
  if (!folder) return EXIT_MISUSE;
  dry_launch launch = {.command = o->command,
                       .gpu = o->gpu,
                       .described = description_of(o, o->gpu),
                       .memory_bytes = o->devices[0].memory_bytes,
                       .context_bytes = o->devices[0].context_bytes,
                       .gpus = o->gpus,
                       .steps = o->steps,
                       .devices = o->devices,
                       .device_count = o->report.device_count,
                       .late = o->events == EVENTS_LAZY,
                       .output_to_stderr = o->json};
  int code = run_in(o, &launch, folder);
  if (!o->keep) dry_folder_remove(folder);
  else if (made) rmdir(folder); /* which stays if anything was recorded */
  free(folder);
  return code;
}

int command_dry_run(int argc, char **argv) {
  static const struct argp argp = {option_table, parse, "[--] COMMAND [ARGUMENT...]", doc, NULL, NULL, NULL};
  argp_err_exit_status = EXIT_MISUSE;
  static options o;
  o = (options){.report = wf_dry_defaults(), .gpus = 1};
  argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o);
  settle_devices(&o);
  if (o.list) return list_gpus();
  if (!can_be_made(o.html) || !can_be_made(o.snapshot) || !can_be_made(o.output)) return EXIT_MISUSE;
  if (o.capture) return dry_capture(o.output, o.report.context_bytes);
  catch_interrupt();
  if (o.self_test) return dry_self_test(o.command ? o.command[0] : "python3");
  return o.folder ? report_folder(&o) : run(&o);
}
