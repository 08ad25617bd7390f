/* weft bench: finds the suite, prints its rows. */
#include "bench.h"

#include <argp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_THREADS = 't', KEY_WARM = 256, KEY_RUNS, KEY_RANDOM, KEY_SEED };

typedef struct options {
  bench bench;
  const char *suite;
} options;

/* Threads of kernels that a suite runs on. */
typedef enum suite_threads {
  THREADS_AS_EVERYWHERE, /* OMP_NUM_THREADS, else the cores */
  THREADS_OF_A_CORE,     /* OMP_NUM_THREADS, else one: its figures are a core's */
  THREADS_NONE           /* it runs no kernels */
} suite_threads;

typedef struct suite {
  const char *name;
  bool (*run)(bench *);
  suite_threads threads;
  int runs; /* unless told */
} suite;

static bool run_copy(bench *b) { return b->random ? bench_random(b) : bench_copy(b); }

static const suite suites[] = {{"micro", bench_micro, THREADS_OF_A_CORE, BENCH_RUNS},
                               {"copy", run_copy, THREADS_OF_A_CORE, BENCH_RUNS},
                               {"alloc", bench_alloc, THREADS_NONE, BENCH_RUNS},
                               {"loader", bench_loader, THREADS_AS_EVERYWHERE, 3}};
#define SUITES ((int)(sizeof suites / sizeof *suites))
#define SUITE_NAMES "micro, copy, alloc, loader"

static const struct argp_option option_table[] = {
    {"filter", 'f', "RE", 0, "only the cases whose name matches RE", 0},
    {"json", 'j', NULL, 0, "print one JSON array", 0},
    {"threads", KEY_THREADS, "N", 0,
     "threads of kernels (default OMP_NUM_THREADS, else 1 for micro and copy, the cores for loader)", 0},
    {"runs", KEY_RUNS, "N", 0, "timed runs of a case (default 15; loader 3)", 0},
    {NULL, 0, NULL, 0, "Suite copy:", 1},
    {"warm", KEY_WARM, NULL, 0, "the same buffers every time, as programs that time libtorch do", 1},
    {"random", KEY_RANDOM, "N", 0, "N random layouts instead of the named cases", 1},
    {"seed", KEY_SEED, "S", 0, "which random layouts (default 0)", 1},
    {0}};

static void parse_number(struct argp_state *state, const char *name, const char *arg, int64_t least, int64_t most,
                         int64_t *value) {
  if (!parse_int(arg, least, most, value))
    argp_failure(state, EXIT_MISUSE, 0, "--%s takes a whole number from %lld to %lld, not '%s'", name, (long long)least,
                 (long long)most, arg);
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  options *o = state->input;
  int64_t number = 0;
  switch (key) {
    case 'f':
      if (regcomp(&o->bench.filter, arg, REG_EXTENDED | REG_NOSUB))
        argp_failure(state, EXIT_MISUSE, 0, "'%s' is no regular expression", arg);
      o->bench.filter_text = arg;
      return 0;
    case 'j': o->bench.json = true; return 0;
    case KEY_THREADS:
      parse_number(state, "threads", arg, 1, MOST_THREADS, &number);
      o->bench.threads = (int)number;
      return 0;
    case KEY_RUNS:
      parse_number(state, "runs", arg, 1, BENCH_MOST_RUNS, &number);
      o->bench.runs = (int)number;
      return 0;
    case KEY_WARM: o->bench.warm = true; return 0;
    case KEY_RANDOM: parse_number(state, "random", arg, 1, 1000000, &o->bench.random); return 0;
    case KEY_SEED: parse_number(state, "seed", arg, 0, INT64_MAX, &o->bench.seed); return 0;
    case ARGP_KEY_ARG:
      if (o->suite) argp_error(state, "one suite at a time");
      o->suite = arg;
      return 0;
    case ARGP_KEY_END:
      if (!o->suite) argp_error(state, "which suite? There are: " SUITE_NAMES);
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

bool bench_stopped(void) { return interrupted() || ferror(stdout); }

bool bench_wants(const bench *b, const char *name) {
  return !bench_stopped() && (!b->filter_text || !regexec(&b->filter, name, 0, NULL, 0));
}

void bench_note(const bench *b, const char *format, ...) {
  if (b->json) return;
  va_list args;
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  fflush(stdout);
}

/* The row's value as a share of another, above 1 when it is better. */
static double share(const bench_row *r, double of) { return r->lower_is_better ? of / r->value : r->value / of; }

static void print_json_share(const char *name, const bench_row *r, double of) {
  if (of > 0) printf("\"%s\": %.6g, \"%s_ratio\": %.4f, ", name, of, name, share(r, of));
  else printf("\"%s\": null, \"%s_ratio\": null, ", name, name);
}

static void print_json(const bench *b, const bench_row *r) {
  printf("%s\n  {\"suite\": \"%s\", \"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"better\": \"%s\", ",
         b->printed ? "," : "[", b->suite, r->name, r->value, r->unit, r->lower_is_better ? "lower" : "higher");
  print_json_share("limit", r, r->limit);
  if (r->by_memcpy > 0) print_json_share("memcpy", r, r->by_memcpy);
  printf("\"threads\": %d, \"emulated\": %s}", b->threads, r->emulated ? "true" : "false");
}

static void print_line(const bench *b, const bench_row *r) {
  bool has_memcpy = r->by_memcpy > 0, has_limit = r->limit > 0 && !b->random;
  int width = b->random ? 44 : 30;
  if (!b->printed)
    printf("%-*s %12s %-10s%s%s\n", width, "case", "value", "unit", has_memcpy ? "  of memcpy" : "",
           has_limit ? "  of the limit" : "");
  printf("%-*s %12.1f %-10s", width, r->name, r->value, r->unit);
  if (has_memcpy) printf(" %10.2f", share(r, r->by_memcpy));
  if (has_limit) printf(" %13.2f", share(r, r->limit));
  puts(r->emulated ? "  (emulated)" : "");
}

void bench_print(bench *b, bench_row r) {
  if (b->json) print_json(b, &r);
  else print_line(b, &r);
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

/* Options that the suite has no use for would be silently without effect. */
static int check_options(const bench *b, const suite *s) {
  if (s->run != run_copy && (b->warm || b->random))
    return misuse("bench", "--warm and --random are for the suite copy, not for '%s'", s->name);
  if (b->warm && b->random) return misuse("bench", "--random measures cold: leave --warm away");
  if (b->seed >= 0 && !b->random) return misuse("bench", "--seed chooses random layouts: add --random N");
  if (s->threads == THREADS_NONE && b->threads)
    return misuse("bench", "the suite %s runs no kernels: leave --threads away", s->name);
  return EXIT_FINE;
}

static void fill_in(bench *b, const suite *s) {
  bool one = s->threads == THREADS_NONE || (s->threads == THREADS_OF_A_CORE && !getenv("OMP_NUM_THREADS"));
  b->suite = s->name;
  if (!b->threads) b->threads = one ? 1 : wf_num_threads();
  if (!b->runs) b->runs = s->runs;
  if (b->seed < 0) b->seed = 0;
}

/* The exit status of a suite that has run. */
static int outcome(const bench *b, bool good) {
  if (interrupted()) return say_interrupted("bench");
  if (bench_stopped()) return EXIT_FAILED; /* main says why */
  /* A setting of the environment that is none is misuse. */
  if (!good) return fail_with_error("bench", wf_error_peek().status == WF_VALUE ? EXIT_MISUSE : EXIT_FAILED);
  if (b->printed) return EXIT_FINE;
  return misuse("bench", "no case matches '%s'; 'weft bench %s' runs all of them, by name", b->filter_text, b->suite);
}

int command_bench(int argc, char **argv) {
  static const struct argp argp = {
      option_table,
      parse,
      "SUITE",
      "Measure. Suites:\n"
      "  micro    ns of calls on small tensors\n"
      "  copy     GB/s of copies, casts and operators that memory bounds, beside memcpy\n"
      "  alloc    ns of a cached allocate and free on the allocator policy, 10,000 other blocks in use\n"
      "  loader   images/s of the four pipelines on the emulated accelerator\v"
      "A figure is the median of its runs. copy measures cold: buffers rotate through four times the last-level cache. The limit "
      "is the better of memcpy and a copy by streaming stores, both measured between the runs.\n\n"
      "Examples:\n"
      "  weft bench copy --filter transpose\n"
      "  weft bench copy --random 100 --seed 7\n"
      "  WEFT_SIM=link=pcie3x16,kernel_us=50 weft bench loader --json",
      NULL,
      NULL,
      NULL};
  argp_err_exit_status = EXIT_MISUSE;
  options o = {.bench.seed = -1};
  argp_parse(&argp, argc, argv, 0, NULL, &o);
  const suite *s = NULL;
  for (int i = 0; i < SUITES; i++)
    if (!strcmp(o.suite, suites[i].name)) s = &suites[i];
  if (!s) return misuse("bench", "there is no suite '%s'; there are: " SUITE_NAMES, o.suite);
  int code = check_options(&o.bench, s);
  if (code) return code;
  fill_in(&o.bench, s);
  catch_interrupt();
  bool good = !wf_set_num_threads(o.bench.threads) && s->run(&o.bench);
  if (o.bench.json) puts(o.bench.printed ? "\n]" : "[]");
  return outcome(&o.bench, good);
}
