/* A folder as a dry run leaves it, made by hand. For tests that read one. */
#ifndef WF_TEST_DRY_FOLDER_H
#define WF_TEST_DRY_FOLDER_H

#define _GNU_SOURCE
#include <unistd.h>

#include "audit/dry_parts.h"
#include "audit/snapshot_maker.h"
#include "test.h"
#include <weft/report.h>

#define MIB ((uint64_t)1 << 20)
enum { TRAIN = 1, MODEL, OPTIMIZER, DDP, MODEL_IN_DDP, AVERAGE, OWN_BACKWARD, AGAIN, BACKWARD = 0 }; /* stacks */

static char folder[64];
static maker m;
static FILE *events, *roles;

static inline FILE *open_rows(const char *kind, int pid) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s.%d.jsonl", folder, kind, pid);
  FILE *file = fopen(path, "a");
  assert_non_null(file);
  return file;
}

static const wf_dry_device gib = {"1GiB", 1 << 30, 64 << 20, 8, 0};

/* What the process saw; the last row counts. */
static inline void ran_as(const wf_dry_device *d) {
  fprintf(
      events,
      "{\"kind\":\"device\",\"name\":\"t4\",\"count\":1,\"major\":%d,\"minor\":%d,\"memory\":%lld,\"context\":%lld}\n",
      d->major, d->minor, (long long)d->memory_bytes, (long long)d->context_bytes);
}

/* A process that began to record, as a device of 1 GiB; end_process writes what it did. */
static inline void begin_process(int pid, uint64_t limit) {
  static const maker_frame train[] = {{"main", "/u/me/train.py", 12}},
                           model[] = {{"forward", "/u/me/model.py", 30}, {"main", "/u/me/train.py", 14}},
                           optimizer[] = {{"step", "/lib/python3/dist-packages/torch/optim/adamw.py", 200},
                                          {"main", "/u/me/train.py", 16}},
                           ddp[] = {{"forward", "/lib/torch/nn/modules/linear.py", 134},
                                    {"_pre_forward", "/lib/torch/nn/parallel/distributed.py", 1797},
                                    {"main", "/u/me/train.py", 14}},
                           average[] = {{"deepcopy", "/usr/lib/python3.11/copy.py", 153},
                                        {"__init__", "/lib/torch/optim/swa_utils.py", 240},
                                        {"main", "/u/me/train.py", 13}},
                           backward[] = {{"backward", "/u/me/model.py", 50},
                                         {"apply", "/lib/torch/autograd/function.py", 315}},
                           again[] = {{"forward", "/u/me/model.py", 30},
                                      {"backward", "/lib/torch/utils/checkpoint.py", 297},
                                      {"apply", "/lib/torch/autograd/function.py", 315}};
  maker_open(&m, NULL, limit, WF_TIES_AGE);
  maker_add_stack(&m, train, 1);
  maker_add_stack(&m, model, 2);
  maker_add_stack(&m, optimizer, 2);
  maker_add_stack(&m, ddp + 1, 2);
  maker_add_stack(&m, ddp, 3);
  maker_add_stack(&m, average, 3);
  maker_add_stack(&m, backward, 2);
  maker_add_stack(&m, again, 3);
  events = open_rows("events", pid);
  roles = open_rows("roles", pid);
  fprintf(
      events,
      "{\"kind\":\"run\",\"pid\":%d,\"argv\":[\"train.py\",\"--lr\",\"0.1\"],\"runtime\":13020,\"ended\":\"exit\"}\n",
      pid);
  ran_as(&gib);
  fprintf(
      roles,
      "{\"kind\":\"python\",\"torch\":\"2.15.0+cu132\",\"cuda\":\"13.2\",\"state\":\"cuda\",\"executable\":\"/bin/python\"}\n");
}

static inline void end_process(int pid, const char *how, const char *text, int steps) {
  char path[128];
  fprintf(roles, "{\"kind\":\"end\",\"ended\":\"%s\",\"text\":\"%s\",\"steps\":%d,\"time_us\":%lld}\n", how, text,
          steps, (long long)m.time_us);
  snprintf(path, sizeof path, "%s/snapshot.%d.pickle", folder, pid);
  maker_write(&m, path);
  maker_close(&m);
  fclose(events);
  fclose(roles);
}

static inline void asked_for(int64_t bytes, int times) {
  fprintf(events, "{\"kind\":\"workspace\",\"what\":\"%lld\",\"count\":%d,\"bytes\":%lld}\n", (long long)bytes, times,
          (long long)bytes * times);
}

static inline void saw(const char *role, const wf_block *block, uint64_t bytes) {
  fprintf(
      roles,
      "{\"kind\":\"role\",\"role\":\"%s\",\"device\":0,\"address\":%llu,\"bytes\":%llu,\"module\":\"Net.a\",\"time_us\":%lld}\n",
      role, (unsigned long long)wf_block_address(block), (unsigned long long)bytes, (long long)m.time_us);
}

static inline void step_ended(int step) {
  fprintf(roles, "{\"kind\":\"step\",\"step\":%d,\"time_us\":%lld}\n", step, (long long)m.time_us);
}

static inline void row(const char *kind, const char *what, int step, int line, int count, int64_t bytes) {
  fprintf(
      events,
      "{\"kind\":\"%s\",\"what\":\"%s\",\"device\":0,\"step\":%d,\"file\":\"/u/me/train.py\",\"line\":%d,\"function\":\"main\","
      "\"count\":%d,\"bytes\":%lld}\n",
      kind, what, step, line, count, (long long)bytes);
}

/* Steps 0 and 1 warm up. Line 5 copies its pageable batch in each step, line 6 reads a value, line 9 did something once. */
static inline void put_training_rows(void) {
  for (int step = 0; step < 6; step++) {
    row("copy", "Memcpy HtoD (Pageable -> Device)", step, 5, 1, 1 << 20);
    row("copy", "Memcpy DtoH (Device -> Pageable)", step, 6, 1, 4);
    row("sync", "cudaStreamSynchronize", step, 6, 1, 0);
    row("launch", step % 2 ? "gemm" : "relu", step, 7, 50, 0);
  }
  row("copy", "Memcpy HtoD (Pageable -> Device)", 0, 9, 100, 100 << 20);
  row("malloc", "cudaMalloc", 0, 9, 3, 60 << 20);
}

static inline int set_up(void **state) {
  snprintf(folder, sizeof folder, "weft-dry-XXXXXX");
  return !mkdtemp(folder);
}

static inline int tear_down(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

static inline wf_dry_run *read_run(const wf_dry_device *devices, int n, int exit_status) {
  wf_dry_options o = wf_dry_defaults();
  o.devices = devices;
  o.device_count = n;
  o.exit_status = exit_status;
  o.search = false;
  wf_dry_run *run = wf_dry_read(folder, &o);
  if (!run) print_error("%s\n", wf_error_peek().text);
  assert_non_null(run);
  return run;
}

#define DRY_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
