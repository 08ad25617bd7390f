/* weft bench: finds the suite, prints its rows. */
#include "bench.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
  bench bench;
  const char *suite;
} options;

static const struct argp_option option_table[] = {{"filter", 'f', "RE", 0, "only the cases whose name matches RE", 0},
                                                  {"json", 'j', NULL, 0, "print one JSON array", 0},
                                                  {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  options *o = state->input;
  switch (key) {
    case 'f':
      if (regcomp(&o->bench.filter, arg, REG_EXTENDED | REG_NOSUB))
        argp_failure(state, EXIT_MISUSE, 0, "'%s' is no regular expression", arg);
      o->bench.filtered = true;
      return 0;
    case 'j': o->bench.json = true; return 0;
    case ARGP_KEY_ARG:
      if (o->suite) argp_error(state, "one suite at a time");
      o->suite = arg;
      return 0;
    case ARGP_KEY_END:
      if (!o->suite) argp_error(state, "which suite? There is: loader");
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

bool bench_wants(const bench *b, const char *name) { return !b->filtered || !regexec(&b->filter, name, 0, NULL, 0); }

void bench_print(bench *b, bench_row r) {
  double ratio = r.limit > 0 ? (r.lower_is_better ? r.limit / r.value : r.value / r.limit) : 0;
  if (b->json) {
    printf("%s\n  {\"suite\": \"%s\", \"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"better\": \"%s\", ",
           b->printed ? "," : "[", b->suite, r.name, r.value, r.unit, r.lower_is_better ? "lower" : "higher");
    if (r.limit > 0) printf("\"limit\": %.6g, \"limit_ratio\": %.4f, ", r.limit, ratio);
    else printf("\"limit\": null, \"limit_ratio\": null, ");
    printf("\"emulated\": %s}", r.emulated ? "true" : "false");
  } else {
    if (!b->printed) printf("%-34s %12s %-10s %s\n", "case", "value", "unit", "of the limit");
    printf("%-34s %12.1f %-10s", r.name, r.value, r.unit);
    if (r.limit > 0) printf(" %.2f", ratio);
    puts(r.emulated ? "  (emulated)" : "");
  }
  fflush(stdout);
  b->printed++;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_median(double *values, int n) {
  qsort(values, (size_t)n, sizeof *values, ascending);
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

int command_bench(int argc, char **argv) {
  static const struct argp argp = {option_table,
                                   parse,
                                   "SUITE",
                                   "Measure. Suites:\n"
                                   "  loader   images/s of the four pipelines on the emulated accelerator\v"
                                   "Example:\n  WEFT_SIM=link=pcie3x16,kernel_us=50 weft bench loader --json",
                                   NULL,
                                   NULL,
                                   NULL};
  argp_err_exit_status = EXIT_MISUSE;
  options o = {0};
  argp_parse(&argp, argc, argv, 0, NULL, &o);
  if (strcmp(o.suite, "loader")) return misuse("bench", "there is no suite '%s'; there is: loader", o.suite);
  o.bench.suite = o.suite;
  bool good = bench_loader(&o.bench);
  if (o.bench.json) puts(o.bench.printed ? "\n]" : "[]");
  return good ? EXIT_FINE : fail_with_error("bench", EXIT_FAILED);
}
