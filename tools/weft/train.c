/* weft train: command line, checks before anything is computed, and the order of a run. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train.h"

enum {
  KEY_DATA = 256,
  KEY_MODEL,
  KEY_DEVICE,
  KEY_PIPELINE,
  KEY_EPOCHS,
  KEY_BATCH,
  KEY_WORKERS,
  KEY_THREADS,
  KEY_SEED,
  KEY_LR,
  KEY_OPTIMIZER,
  KEY_SCHEDULE,
  KEY_LIMIT,
  KEY_REPORT,
  KEY_TRACE,
  KEY_SAVE,
  KEY_LOAD,
  KEY_EVALUATE,
  KEY_JSON
};

static const struct argp_option option_table[] = {
    {"data", KEY_DATA, "fashion-mnist[:DIR]", 0,
     "data set, and the folder of its four IDX files (default: the Debian package's)", 0},
    {"model", KEY_MODEL, "cnn", 0, "network", 0},
    {"device", KEY_DEVICE, "cpu|sim", 0, "where it computes: the host, or the emulated accelerator (default sim)", 0},
    {"pipeline", KEY_PIPELINE, "NAME", 0, "plain, pinned, async or prefetch (default): how batches get to the device",
     0},
    {"epochs", KEY_EPOCHS, "N", 0, "passes over the training images (default 1)", 0},
    {"batch", KEY_BATCH, "N", 0, "images a batch (default 128)", 0},
    {"workers", KEY_WORKERS, "N", 0, "threads that load (default 1; 0: the training thread)", 0},
    {"threads", KEY_THREADS, "N", 0, "threads that compute (default OMP_NUM_THREADS, else the cores)", 0},
    {"seed", KEY_SEED, "N", 0, "of weights and order (default 0)", 0},
    {"lr", KEY_LR, "X", 0, "learning rate (default 2e-3)", 0},
    {"schedule", KEY_SCHEDULE, "linear|constant", 0, "the rate falls to zero over the run (default), or stays", 0},
    {"optimizer", KEY_OPTIMIZER, "sgd|adamw", 0, "update rule (default adamw)", 0},
    {"limit", KEY_LIMIT, "N", 0, "train on the first N images only", 0},
    {"report", KEY_REPORT, "FILE", 0, "write the report as one HTML file", 0},
    {"trace", KEY_TRACE, "FILE", 0, "write a Chrome trace (open it in Perfetto)", 0},
    {"save", KEY_SAVE, "FILE", 0, "save the trained state as safetensors", 0},
    {"load", KEY_LOAD, "FILE", 0, "start from a saved state", 0},
    {"evaluate", KEY_EVALUATE, NULL, 0, "don't train: evaluate only", 0},
    {"json", KEY_JSON, NULL, 0, "print one JSON object instead of the report", 0},
    {0}};

static void read_bounded(struct argp_state *state, const char *name, const char *text, int64_t least, int64_t most,
                         int64_t *value) {
  if (!parse_int(text, least, most, value))
    argp_error(state, "--%s takes a whole number from %lld to %lld, not '%s'", name, (long long)least, (long long)most,
               text);
}
static void read_count(struct argp_state *state, const char *name, const char *text, int64_t least, int64_t *value) {
  read_bounded(state, name, text, least, INT64_C(1) << 40, value);
}

static void read_data(struct argp_state *state, const char *text, train_options *o) {
  size_t n = strlen("fashion-mnist");
  if (strncmp(text, "fashion-mnist", n) || (text[n] && text[n] != ':'))
    argp_error(state, "unknown data set '%s': fashion-mnist[:DIR]", text);
  else if (text[n] && !text[n + 1]) argp_error(state, "--data fashion-mnist: names no folder");
  else if (text[n]) o->data_dir = text + n + 1;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  train_options *o = state->input;
  switch (key) {
    case KEY_DATA: read_data(state, arg, o); return 0;
    case KEY_MODEL:
      if (strcmp(arg, "cnn")) argp_error(state, "unknown model '%s': cnn", arg);
      return 0;
    case KEY_DEVICE:
      if (wf_device_parse(arg, &o->device)) argp_error(state, "%s", wf_error_take().text);
      return 0;
    case KEY_PIPELINE:
      if (wf_pipeline_parse(arg, &o->pipeline)) argp_error(state, "%s", wf_error_take().text);
      return 0;
    case KEY_EPOCHS: read_count(state, "epochs", arg, 0, &o->epochs); return 0;
    case KEY_BATCH: read_count(state, "batch", arg, 1, &o->batch); return 0;
    case KEY_WORKERS: read_bounded(state, "workers", arg, 0, 64, &o->workers); return 0;
    case KEY_THREADS: read_bounded(state, "threads", arg, 1, MOST_THREADS, &o->threads); return 0;
    case KEY_SEED: read_count(state, "seed", arg, 0, &o->seed); return 0;
    case KEY_LIMIT: read_count(state, "limit", arg, 0, &o->limit); return 0;
    case KEY_LR:
      if (!parse_double(arg, 0, 1e6, &o->lr)) argp_error(state, "--lr takes a number from 0 to 1e6, not '%s'", arg);
      return 0;
    case KEY_OPTIMIZER:
      if (strcmp(arg, "sgd") && strcmp(arg, "adamw")) argp_error(state, "unknown optimizer '%s': sgd or adamw", arg);
      o->adamw = !strcmp(arg, "adamw");
      return 0;
    case KEY_SCHEDULE:
      if (strcmp(arg, "linear") && strcmp(arg, "constant"))
        argp_error(state, "unknown schedule '%s': linear or constant", arg);
      o->linear = !strcmp(arg, "linear");
      return 0;
    case KEY_REPORT: o->report_path = arg; return 0;
    case KEY_TRACE: o->trace_path = arg; return 0;
    case KEY_SAVE: o->save_path = arg; return 0;
    case KEY_LOAD: o->load_path = arg; return 0;
    case KEY_EVALUATE: o->evaluate_only = true; return 0;
    case KEY_JSON: o->json = true; return 0;
    case ARGP_KEY_ARG: argp_error(state, "takes options only, not '%s'", arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

/* ---- before -------------------------------------------------------------------------------------------------------------------------- */

/* Whether a file could be put at `path`: found out before an epoch is spent. */
static bool writable(const char *path) {
  if (!path) return true;
  struct stat there;
  if (!*path || path[strlen(path) - 1] == '/' || (!stat(path, &there) && S_ISDIR(there.st_mode))) {
    errno = *path ? EISDIR : ENOENT;
    return false;
  }
  char probe[4096];
  if (snprintf(probe, sizeof probe, "%s.XXXXXX", path) >= (int)sizeof probe) {
    errno = ENAMETOOLONG;
    return false;
  }
  int fd = mkstemp(probe);
  if (fd < 0) return false;
  close(fd);
  unlink(probe);
  return true;
}

static int check_outputs(const train_options *o) {
  const char *const paths[] = {o->report_path, o->trace_path, o->save_path};
  for (int i = 0; i < 3; i++)
    if (!writable(paths[i])) {
      fprintf(stderr, "weft train: %s: can't be written: %s\n", paths[i], strerror(errno));
      return EXIT_FAILED;
    }
  return EXIT_FINE;
}

/* Two outputs in one file: the second would replace the first. */
static int check_distinct(const train_options *o) {
  const char *const paths[] = {o->report_path, o->trace_path, o->save_path};
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < i; k++)
      if (paths[i] && paths[k] && !strcmp(paths[i], paths[k]))
        return misuse("train", "'%s' can't be two of --report, --trace and --save at once", paths[i]);
  return EXIT_FINE;
}

static wf_status open_data(train_run *run) {
  const train_options *o = run->options;
  run->test = wf_dataset_fashion_mnist(o->data_dir, false);
  run->whole = run->test && !o->evaluate_only ? wf_dataset_fashion_mnist(o->data_dir, true) : NULL;
  if (run->whole) run->train = wf_dataset_take(run->whole, o->limit < 0 ? wf_dataset_count(run->whole) : o->limit);
  return wf_error_peek().status;
}

static wf_status make_model(train_run *run) {
  const train_options *o = run->options;
  wf_manual_seed((uint64_t)o->seed);
  run->model = train_model_cnn();
  if (run->model && o->load_path) wf_module_load(run->model, o->load_path);
  return wf_error_peek().status;
}

static wf_status make_optimizer(train_run *run) {
  wf_tensors params = wf_module_parameters(run->model);
  run->optimizer =
      run->options->adamw ? wf_adamw_new(params, run->options->lr, NULL) : wf_sgd_new(params, run->options->lr, NULL);
  wf_module_list_free(params);
  return wf_error_peek().status;
}

/* ---- the run --------------------------------------------------------------------------------------------------------------------------- */

static void free_run(train_run *run) {
  wf_report_free(run->report);
  wf_optimizer_free(run->optimizer);
  wf_module_free(run->model);
  wf_dataset_free(run->train);
  wf_dataset_free(run->whole);
  wf_dataset_free(run->test);
}

static wf_status train_and_evaluate(train_run *run) {
  wf_status status = WF_OK;
  if (!run->options->evaluate_only) status = train_epochs(run);
  if (!status && !interrupted()) status = train_evaluate(run);
  return status;
}

static int run_all(train_run *run) {
  const train_options *o = run->options;
  if (wf_device_open(o->device) || open_data(run)) return fail_with_error("train", EXIT_MISUSE);
  if (run->train && o->epochs && wf_dataset_count(run->train) < o->batch) /* a batch that isn't full is left out */
    return misuse("train", "%lld images don't fill a batch of %lld: a larger --limit, or a smaller --batch",
                  (long long)wf_dataset_count(run->train), (long long)o->batch);
  if (make_model(run)) return fail_with_error("train", EXIT_MISUSE);
  if (wf_module_to(run->model, o->device)) return fail_with_error("train", EXIT_FAILED);
  if (make_optimizer(run) || wf_trace_start(WF_TRACE_FULL)) return fail_with_error("train", EXIT_FAILED);
  run->report = wf_report_new("weft train");
  if (!run->report) return fail_with_error("train", EXIT_FAILED);
  catch_interrupt();
  if (train_and_evaluate(run)) return fail_with_error("train", EXIT_FAILED);
  if (o->save_path && wf_module_save(run->model, o->save_path)) return fail_with_error("train", EXIT_FAILED);
  wf_trace_stop();
  if (train_report(run)) return fail_with_error("train", EXIT_FAILED);
  return EXIT_FINE;
}

int command_train(int argc, char **argv) {
  static const struct argp argp = {option_table,
                                   parse,
                                   NULL,
                                   "Train a model and account for every byte that moved.\vExample:\n"
                                   "  weft train --device sim --pipeline prefetch --report report.html",
                                   NULL,
                                   NULL,
                                   NULL};
  argp_err_exit_status = EXIT_MISUSE;
  train_options o = {.device = wf_sim(0),
                     .pipeline = WF_PIPELINE_PREFETCH,
                     .epochs = 1,
                     .batch = 128,
                     .workers = 1,
                     .limit = -1,
                     .lr = 2e-3,
                     .adamw = true,
                     .linear = true};
  argp_parse(&argp, argc, argv, 0, NULL, &o);
  o.progress = isatty(STDERR_FILENO) && !o.json;
  if (o.threads && wf_set_num_threads((int)o.threads)) return fail_with_error("train", EXIT_MISUSE);
  int code = check_distinct(&o);
  if (!code) code = check_outputs(&o);
  if (code) return code;
  train_run run = {.options = &o, .test_accuracy = -1};
  code = run_all(&run);
  free_run(&run);
  return code;
}
