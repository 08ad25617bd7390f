/* weft bench: what suites share. */
#ifndef WEFT_TOOLS_BENCH_H
#define WEFT_TOOLS_BENCH_H

#include <regex.h>

#include "weft.h"

/* One figure. limit: what the machine could do at best, in the same unit; 0 when there is no such figure. */
typedef struct bench_row {
  const char *name, *unit;
  double value, limit;
  bool lower_is_better, emulated;
} bench_row;

typedef struct bench {
  const char *suite;
  bool json, filtered;
  regex_t filter;
  int printed;
} bench;

/* Whether the case is asked for. */
bool bench_wants(const bench *b, const char *name);
/* Prints a row at once. */
void bench_print(bench *b, bench_row row);
/* Median of n values, which it sorts. */
double bench_median(double *values, int n);

/* Suites. Return false with the error pending when they can't run. */
bool bench_loader(bench *b);

#endif
