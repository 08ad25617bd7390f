/* Many sums or extremes at a time: a row of them stays in L1 while the input goes by in its own order.
 *
 * Totals are double (int64 for integers). f64 moves them to a second level with compensation (Neumaier's sum) every LEVEL rows, of which eight at
 * a time are added pairwise before. f32 needs none: what doubles lose is far below its own last place. */
#include <math.h>
#include <string.h>

#include "base/convert.h"
#include "exec/reduce_job.h"

#define RESULTS WF__ROW_RESULTS
#define TOGETHER 8 /* rows that the kernel adds pairwise */
#define LEVEL 256

typedef union totals {
  double f[RESULTS];
  int64_t i[RESULTS];
} totals __attribute__((aligned(64)));

typedef struct sums {
  totals total;
  double value[RESULTS], second[RESULTS];
  int64_t rows; /* since the totals moved */
} sums;

static void begin_sums(sums *s, int64_t cols) {
  memset(&s->total, 0, (size_t)cols * 8);
  memset(s->value, 0, (size_t)cols * 8);
  memset(s->second, 0, (size_t)cols * 8);
  s->rows = 0;
}

static void move_totals(sums *s, int64_t cols) {
  for (int64_t c = 0; c < cols; c++) {
    double a = s->value[c], b = s->total.f[c], sum = a + b;
    double lost = fabs(a) >= fabs(b) ? (a - sum) + b : (b - sum) + a;
    if (isfinite(sum)) s->second[c] += lost;
    s->value[c] = sum;
    s->total.f[c] = 0;
  }
  s->rows = 0;
}

static void end_sums(const wf__reduce_job *j, sums *s, int64_t cols, wf__reduce_state *state) {
  if (j->class == WF__CLASS_F64) move_totals(s, cols);
  for (int64_t c = 0; c < cols; c++) {
    state[c] = (wf__reduce_state){.index = INT64_MAX};
    if (j->is_integer) state[c].integer = s->total.i[c];
    else if (j->class == WF__CLASS_F32) state[c].value = s->total.f[c];
    else state[c].value = s->value[c], state[c].second = s->second[c];
  }
}

static void count_rows(const wf__reduce_job *j, sums *s, int64_t rows, int64_t cols) {
  s->rows += rows;
  if (s->rows >= LEVEL && j->class == WF__CLASS_F64) move_totals(s, cols);
}

/* Hands `rows` rows of the input to a kernel: where they are, or cast a few at a time. */
static void take_rows(const wf__reduce_job *j, wf__rows_fn take, void *into, const char *src, int64_t rows,
                      int64_t cols) {
  char block[TOGETHER * RESULTS * 8] __attribute__((aligned(64))), spare[RESULTS * 8];
  if (!wf__casts(&j->cast)) {
    take(into, src, j->stride, rows, cols);
    return;
  }
  for (int64_t r = 0; r < rows; r += TOGETHER) {
    int64_t now = rows - r < TOGETHER ? rows - r : TOGETHER;
    for (int64_t k = 0; k < now; k++)
      wf__cast_into(&j->cast, block + k * cols * j->wide, src + (r + k) * j->stride, spare, cols);
    take(into, block, cols * j->wide, now, cols);
  }
}

/* The piece of rows that the walk stands at, and on to the next. */
static const char *next_rows(const wf__reduce_job *j, const char *input, wf__cursor *at, int64_t *piece,
                             int64_t *rows) {
  int64_t first = *piece * j->piece;
  const char *src = input + (at->at[1] - j->reduced.base[1]) + first * j->stride;
  *rows = j->n - first < j->piece ? j->n - first : j->piece;
  if (++*piece == j->pieces) {
    *piece = 0;
    wf__walk_next(&j->reduced, at);
  }
  return src;
}

void wf__sums_by_rows(const wf__reduce_job *j, char *input, int64_t cols, wf__reduce_state *state, int64_t begin,
                      int64_t end) {
  sums s;
  wf__cursor at;
  int64_t piece = begin % j->pieces, rows;
  begin_sums(&s, cols);
  wf__walk_seek(&j->reduced, begin / j->pieces, &at);
  for (int64_t unit = begin; unit < end; unit++) {
    const char *src = next_rows(j, input, &at, &piece, &rows);
    take_rows(j, j->kernels->add_rows[j->class], &s.total, src, rows, cols);
    count_rows(j, &s, rows, cols);
  }
  end_sums(j, &s, cols, state);
}

/* One element as a state. */
static double value_at(const wf__reduce_job *j, const char *row, int64_t c, int64_t *integer) {
  wf_scalar s = wf__scalar_load(wf__class_dtype[j->class], row + c * j->wide);
  *integer = j->is_integer ? wf__scalar_int(s) : 0;
  return j->is_integer ? 0 : wf__scalar_double(s);
}

void wf__extremes_by_rows(const wf__reduce_job *j, char *input, int64_t cols, wf__reduce_state *state, int64_t begin,
                          int64_t end) {
  char best[RESULTS * 8] __attribute__((aligned(64)));
  wf__cursor at;
  int64_t piece = begin % j->pieces, rows;
  wf__rows_fn take = (j->kind == WF__REDUCE_MAX ? j->kernels->most_rows : j->kernels->least_rows)[j->class];
  wf__walk_seek(&j->reduced, begin / j->pieces, &at);
  for (int64_t unit = begin; unit < end; unit++) {
    const char *src = next_rows(j, input, &at, &piece, &rows);
    if (unit == begin) { /* the first row is the best so far */
      char spare[RESULTS * 8];
      if (wf__casts(&j->cast)) wf__cast_into(&j->cast, best, src, spare, cols);
      else memcpy(best, src, (size_t)(cols * j->wide));
    }
    take_rows(j, take, best, src, rows, cols);
  }
  for (int64_t c = 0; c < cols; c++) {
    state[c] = (wf__reduce_state){.index = 0};
    state[c].value = value_at(j, best, c, &state[c].integer);
  }
}

/* Stretches of j->n elements, j->col_stride[1] bytes apart. */
static void add_each(const wf__reduce_job *j, sums *s, const char *src, int64_t cols) {
  char block[TOGETHER * RESULTS * 8] __attribute__((aligned(64))), spare[TOGETHER * RESULTS * 8];
  int64_t step = j->col_stride[1], together = TOGETHER * RESULTS / j->n;
  if (!wf__casts(&j->cast)) {
    j->kernels->add_each[j->class](&s->total, src, step, cols, j->n);
    return;
  }
  for (int64_t c = 0; c < cols; c += together) {
    int64_t now = cols - c < together ? cols - c : together;
    bool follow = step == j->n * j->size;
    if (follow) wf__cast_into(&j->cast, block, src + c * step, spare, now * j->n);
    for (int64_t k = 0; k < now && !follow; k++)
      wf__cast_into(&j->cast, block + k * j->n * j->wide, src + (c + k) * step, spare, j->n);
    j->kernels->add_each[j->class]((char *)&s->total + c * 8, block, j->n * j->wide, now, j->n);
  }
}

void wf__sums_of_stretches(const wf__reduce_job *j, char *input, int64_t cols, wf__reduce_state *state, int64_t begin,
                           int64_t end) {
  sums s;
  wf__cursor at;
  begin_sums(&s, cols);
  wf__walk_seek(&j->reduced, begin, &at);
  for (int64_t unit = begin; unit < end; unit++, wf__walk_next(&j->reduced, &at)) {
    add_each(j, &s, input + (at.at[1] - j->reduced.base[1]), cols);
    count_rows(j, &s, TOGETHER, cols); /* each was added pairwise */
  }
  end_sums(j, &s, cols, state);
}
