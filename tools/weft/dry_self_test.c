/* weft dry-run --self-test: programs whose figures are known by arithmetic, run as any other. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dry_run.h"

enum { LINE_THAT_READS = 56 }; /* of self_test.py */

/* A figure of the report, by its path in the JSON, and what it must be. */
typedef struct expectation {
  const char *name, *what, *path;
  double value;
} expectation;

static const expectation expectations[] = {
    {"blocks", "three blocks of 4 MiB, two of them at a time", "peak.allocated_bytes", 8 << 20},
    {"training", "a weight of 4 MiB: its parameters", "peak.roles.parameters", 4 << 20},
    {"training", "its gradient", "peak.roles.gradients", 4 << 20},
    {"training", "its optimizer state", "peak.roles.optimizer_state", 8 << 20},
    {"training", "optimizer steps", "program.steps", 4},
    {"pageable", "uploads from pageable memory a step", "steady.pageable_copies", 1},
    {"pinned", "the same pinned", "steady.pageable_copies", 0},
    {"pinned", "waits a step", "steady.syncs", 0},
    {"value", "waits a step for one value that is read", "steady.syncs", 1},
    {"value", "the line that reads it", "values_read.0.site.line", LINE_THAT_READS},
    {"too_much", "out of memory, where it must be", "devices.0.fits", 0},
};

/* The number at "a.b.0.c"; "yes" and true are 1, other texts 0. NaN: not there. */
static double value_at(const json_t *at, const char *path) {
  char key[64];
  while (at && *path) {
    size_t n = strcspn(path, ".");
    snprintf(key, sizeof key, "%.*s", (int)n, path);
    at = json_is_array(at) ? json_array_get(at, (size_t)atoi(key)) : json_object_get(at, key);
    path += n + (path[n] == '.');
  }
  if (json_is_number(at)) return json_number_value(at);
  if (json_is_string(at)) return !strcmp(json_string_value(at), "yes");
  return json_is_boolean(at) ? json_is_true(at) : NAN;
}

/* Runs one case; the report as JSON, NULL after saying why not. */
static json_t *run_case(const char *python, const char *name) {
  const wf_gpu *gpu = wf_gpu_find("a100-40");
  wf_dry_device device = {gpu->name, gpu->memory_bytes, gpu->context_bytes, gpu->major, gpu->minor};
  wf_dry_options o = wf_dry_defaults();
  char *folder = dry_folder_make(), script[4096], *copy = strdup(python);
  json_t *document = NULL;
  if (!folder || !copy) return NULL;
  snprintf(script, sizeof script, "%s/python/self_test.py", folder);
  char *command[] = {copy, script, (char *)(uintptr_t)name, NULL};
  dry_launch launch = {.command = command,
                       .gpu = gpu,
                       .memory_bytes = device.memory_bytes,
                       .context_bytes = device.context_bytes,
                       .gpus = 1,
                       .quiet = true};
  o.devices = &device;
  o.device_count = 1;
  o.search = false;
  if (dry_launch_run(&launch, folder)) {
    wf_dry_run *run = wf_dry_read(folder, &o);
    char *text = run ? wf_dry_json(run, 0) : NULL;
    if (text) document = json_loads(text, 0, NULL);
    else fail_with_error("dry-run", EXIT_MISUSE);
    wf_report_release(text);
    wf_dry_free(run);
  }
  dry_folder_remove(folder);
  free(folder);
  free(copy);
  return document;
}

/* A program that crashed isn't right by chance. Running out of memory is what one of them is for. */
static const char *crash_of(const json_t *document) { return json_string_value(json_object_get(document, "why_not")); }

static bool check(const json_t *document, const expectation *e) {
  double value = value_at(document, e->path);
  bool good = !crash_of(document) && fabs(value - e->value) < 1e-9;
  printf("%-7s %-9s %s: %.10g", good ? "ok" : "NOT OK", e->name, e->what, value);
  if (!good) printf(", expected %.10g", e->value);
  putchar('\n');
  return good;
}

/* What this PyTorch imports of CUDA and the stand-in hasn't, by symbol; how many. */
static int say_missing(const json_t *document) {
  size_t i;
  json_t *limit;
  int missing = 0;
  json_array_foreach(json_object_get(document, "limits"), i, limit) {
    const char *text = json_string_value(limit);
    if (!text || !strstr(text, "PyTorch imports it")) continue;
    printf("missing %-9s %s\n", "", text);
    missing++;
  }
  return missing;
}

static void say_program(const json_t *document) {
  const json_t *program = json_object_get(document, "program");
  const char *torch = json_string_value(json_object_get(program, "torch"));
  const char *python = json_string_value(json_object_get(program, "python"));
  printf("PyTorch %s, Python %s\n", torch ? torch : "unknown", python ? python : "unknown");
}

static int conclude(int bad, int missing) {
  if (bad) printf("%d figures are wrong: don't trust dry runs with this PyTorch\n", bad);
  else if (missing) printf("all figures came out; programs that use what is missing can't be vouched for\n");
  else printf("all figures came out\n");
  return bad ? EXIT_FAILED : EXIT_FINE;
}

int dry_self_test(const char *python) {
  int bad = 0, missing = 0;
  json_t *document = NULL;
  for (size_t i = 0; i < sizeof expectations / sizeof *expectations && !interrupted(); i++) {
    const expectation *e = &expectations[i];
    if (!i || strcmp(e->name, expectations[i - 1].name)) {
      json_decref(document);
      document = run_case(python, e->name);
      if (!document) return EXIT_MISUSE;
      const char *why = crash_of(document);
      if (!i) say_program(document);
      if (why) printf("%-7s %-9s %s\n", "", e->name, why);
      if (!i) missing = say_missing(document);
    }
    bad += !check(document, e);
    fflush(stdout);
  }
  json_decref(document);
  if (interrupted()) return EXIT_INTERRUPTED;
  return conclude(bad, missing);
}
