/* weft bench: what suites share. */
#ifndef WEFT_TOOLS_BENCH_H
#define WEFT_TOOLS_BENCH_H

#include <regex.h>

#include "weft.h"

/* Timed runs of a case, of which the median counts: as a rule, and at most. */
#define BENCH_RUNS 15
#define BENCH_MOST_RUNS 999

/* One figure. limit: what the machine could do at best, in the same unit; 0 when there is no such figure. by_memcpy: what memcpy reached
 * beside it; 0 likewise. */
typedef struct bench_row {
  const char *name, *unit;
  double value, limit, by_memcpy;
  bool lower_is_better, emulated;
} bench_row;

typedef struct bench {
  const char *suite;
  bool json;
  const char *filter_text; /* NULL: every case */
  regex_t filter;
  int threads, runs;
  bool warm;            /* copy: the same buffers every time, instead of rotating ones */
  int64_t random, seed; /* copy: so many random layouts instead of the named cases; 0 for none */
  int printed;
} bench;

/* Whether the case is asked for; none is once bench_stopped(). */
bool bench_wants(const bench *b, const char *name);
/* Ctrl-C was pressed, or nobody gets what is printed: the case that is being measured is given up. */
bool bench_stopped(void);
/* Prints a row at once. */
void bench_print(bench *b, bench_row row);
/* A line for people: nothing under --json. */
void bench_note(const bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Median of n values, which it sorts. */
double bench_median(double *values, int n);

/* Suites. Return false with the error pending when they can't run, or without one when they were stopped. */
bool bench_loader(bench *b);
bool bench_alloc(bench *b);
bool bench_micro(bench *b);
bool bench_copy(bench *b);
bool bench_random(bench *b);

#endif
