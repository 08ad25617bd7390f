/* Many results at a time: a row of them stays in L1 while the input goes by in its own order, or short stretches of it turned round.
 *
 * Sums are double (int64 for integers). f64 moves them to a second level with compensation (Neumaier's sum) every LEVEL rows, of which several at
 * a time are added pairwise before. f32 needs none: what doubles lose is far below its own last place. */
#include <math.h>
#include <string.h>

#include "base/convert.h"
#include "exec/reduce_job.h"

#define RESULTS WF__ROW_RESULTS
#define TOGETHER 8 /* rows that are cast at a time */
#define LEVEL 256
#define LINE 64

typedef wf__reduce_job job;

/* What a block of results has so far. */
typedef struct sums {
  union {
    double f[RESULTS];
    int64_t i[RESULTS];
    char best[RESULTS * 8]; /* extremes, of the class's type */
  } total __attribute__((aligned(64)));
  char place[RESULTS * 8] __attribute__((aligned(64))); /* integers as wide */
  double value[RESULTS], second[RESULTS];               /* the second level */
  int64_t rows;                                         /* since the totals moved */
} sums;

static bool is_extreme(const job *j) { return j->kind == WF__REDUCE_MAX || j->kind == WF__REDUCE_MIN; }
static bool gives_integers(const job *j) { return j->is_integer || j->kind == WF__REDUCE_COUNT; }
static bool has_levels(const job *j) {
  return j->class == WF__CLASS_F64 &&
         (j->kind == WF__REDUCE_SUM || j->kind == WF__REDUCE_SUM_ABS || j->kind == WF__REDUCE_SUM_SQUARE);
}

/* Extremes begin with the first row. */
static void begin_sums(const job *j, sums *s, int64_t cols) {
  bool product = j->kind == WF__REDUCE_PROD;
  s->rows = 0;
  if (!is_extreme(j) && !product) memset(&s->total, 0, (size_t)cols * 8);
  for (int64_t c = 0; c < cols && product; c++)
    if (j->is_integer) s->total.i[c] = 1;
    else s->total.f[c] = 1;
  if (!has_levels(j)) return;
  memset(s->value, 0, (size_t)cols * 8);
  memset(s->second, 0, (size_t)cols * 8);
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

static void count_rows(const job *j, sums *s, int64_t rows, int64_t cols) {
  s->rows += rows;
  if (s->rows >= LEVEL && has_levels(j)) move_totals(s, cols);
}

/* ---- rows -------------------------------------------------------------------------------------------------------------------- */

/* `rows` rows of elements as the kernel reads them, which are numbered from `first` on. */
static void take(const job *j, sums *s, const char *x, int64_t stride, int64_t first, int64_t rows, int64_t cols) {
  if (j->has_index) j->kernels->places[j->class][j->kind](&s->total, s->place, x, stride, first, rows, cols);
  else j->kernels->rows[j->class][j->kind](&s->total, x, stride, rows, cols);
}

/* `rows` rows of the input: where they are, or cast a few at a time. */
static void take_rows(const job *j, sums *s, const char *src, int64_t stride, int64_t rows, int64_t cols, bool begins) {
  char block[TOGETHER * RESULTS * 8] __attribute__((aligned(64))), spare[RESULTS * 8];
  bool casts = wf__casts(&j->cast);
  for (int64_t r = 0, now; r < rows; r += now) {
    const char *from = src + r * stride;
    now = casts && rows - r > TOGETHER ? TOGETHER : rows - r;
    for (int64_t k = 0; k < now && casts; k++)
      wf__cast_into(&j->cast, block + k * cols * j->wide, from + k * stride, spare, cols);
    const char *x = casts ? block : from;
    if (begins && r == 0 && is_extreme(j)) { /* the first row is the best so far */
      memcpy(s->total.best, x, (size_t)(cols * j->wide));
      if (j->has_index) memset(s->place, 0, (size_t)(cols * j->wide));
    }
    take(j, s, x, casts ? cols * j->wide : stride, r, now, cols);
  }
}

/* j->n rows of one element each from short stretches, `pitch` bytes apart. */
static void turn(const job *j, char *tile, int64_t pitch, const char *src, int64_t cols) {
  int64_t to[WF__TURNED];
  if (j->n >= 2 && j->n <= 4 && j->col_stride[1] == j->n * j->size) {
    for (int64_t r = 0; r < j->n; r++) to[r] = r * pitch;
    j->kernels->deinterleave[j->log_size](tile, to, src, cols, (int)j->n);
  } else {
    j->kernels->transpose[j->log_size](tile, pitch, src, j->col_stride[1], j->n, cols);
  }
}

/* The piece of rows that the walk stands at, and on to the next. */
static const char *next_rows(const job *j, const char *input, wf__cursor *at, int64_t *piece, int64_t *rows) {
  int64_t first = *piece * j->piece;
  const char *src = input + (at->at[1] - j->reduced.base[1]) + first * j->stride;
  *rows = j->n - first < j->piece ? j->n - first : j->piece;
  if (++*piece == j->pieces) {
    *piece = 0;
    wf__walk_next(&j->reduced, at);
  }
  return src;
}

static void sum_rows(const job *j, char *input, int64_t cols, sums *s, int64_t begin, int64_t end) {
  char tile[WF__TURNED * (RESULTS * 8 + LINE)] __attribute__((aligned(LINE)));
  bool turned = j->form == WF__ROWS_TURNED;
  wf__cursor at;
  int64_t piece = begin % j->pieces, rows, pitch = (cols * j->size + LINE - 1) / LINE * LINE + LINE;
  wf__walk_seek(&j->reduced, begin / j->pieces, &at);
  for (int64_t unit = begin; unit < end; unit++) {
    const char *src = next_rows(j, input, &at, &piece, &rows);
    if (turned) turn(j, tile, pitch, src, cols);
    take_rows(j, s, turned ? tile : src, turned ? pitch : j->stride, rows, cols, unit == begin);
    count_rows(j, s, rows, cols);
  }
}

/* ---- stretches --------------------------------------------------------------------------------------------------------------- */

/* Stretches of j->n elements, j->col_stride[1] bytes apart. */
static void add_each(const job *j, sums *s, const char *src, int64_t cols) {
  char block[TOGETHER * RESULTS * 8] __attribute__((aligned(64))), spare[TOGETHER * RESULTS * 8];
  int64_t step = j->col_stride[1], together = TOGETHER * RESULTS / j->n;
  if (!wf__casts(&j->cast)) {
    j->kernels->add_each[j->class](&s->total, src, step, cols, j->n);
    return;
  }
  for (int64_t c = 0; c < cols; c += together) {
    int64_t now = cols - c < together ? cols - c : together, pieces = step == j->n * j->size ? 1 : now;
    for (int64_t k = 0; k < pieces; k++) /* one piece when they follow each other */
      wf__cast_into(&j->cast, block + k * j->n * j->wide, src + (c + k) * step, spare, now / pieces * j->n);
    j->kernels->add_each[j->class]((char *)&s->total + c * 8, block, j->n * j->wide, now, j->n);
  }
}

static void sum_stretches(const job *j, char *input, int64_t cols, sums *s, int64_t begin, int64_t end) {
  wf__cursor at;
  wf__walk_seek(&j->reduced, begin, &at);
  for (int64_t unit = begin; unit < end; unit++, wf__walk_next(&j->reduced, &at)) {
    add_each(j, s, input + (at.at[1] - j->reduced.base[1]), cols);
    count_rows(j, s, TOGETHER, cols); /* each was added pairwise */
  }
}

/* ---- results ----------------------------------------------------------------------------------------------------------------- */

static void run_units(const job *j, char *input, int64_t cols, sums *s, int64_t begin, int64_t end) {
  begin_sums(j, s, cols);
  (j->form == WF__ROWS_STRETCHES ? sum_stretches : sum_rows)(j, input, cols, s, begin, end);
  if (has_levels(j)) move_totals(s, cols);
}

void wf__reduce_by_rows(const job *j, char *input, int64_t cols, wf__reduce_state *state, int64_t begin, int64_t end) {
  sums s;
  char best[RESULTS * 8] __attribute__((aligned(64)));
  bool integers = gives_integers(j);
  run_units(j, input, cols, &s, begin, end);
  const void *values = has_levels(j) ? (void *)s.value : (void *)&s.total;
  if (is_extreme(j)) {
    j->kernels->convert[wf__class_dtype[j->class]][integers ? WF_I64 : WF_F64](best, &s.total, cols);
    values = best;
  }
  for (int64_t c = 0; c < cols; c++) {
    state[c] = (wf__reduce_state){.index = is_extreme(j) ? 0 : INT64_MAX};
    if (integers) state[c].integer = ((const int64_t *)values)[c];
    else state[c].value = ((const double *)values)[c];
  }
  for (int64_t c = 0; c < cols && has_levels(j); c++) state[c].second = s.second[c];
}

static void set_places(const job *j, const sums *s, int64_t cols, int64_t *place) {
  static const wf_dtype dtypes[] = {[1] = WF_U8, [2] = WF_I16, [4] = WF_I32, [8] = WF_I64};
  j->kernels->convert[dtypes[j->wide]][WF_I64](place, s->place, cols);
}

/* Logarithms of sums of exponentials of short stretches: as softmax takes columns, but for their greatest, among which NaN counts here. */
static void log_sums(const job *j, char *input, int64_t cols, double *value) {
  static const wf__pointwise_args no_numbers = {.f = {1, 1, 1, 1}};
  char tile[WF__TURNED * (RESULTS * 8 + LINE)] __attribute__((aligned(LINE))), block[WF__TURNED * RESULTS * 8];
  char best[RESULTS * 8] __attribute__((aligned(LINE))), top[RESULTS * 8], sum[RESULTS * 8], spare[RESULTS * 8];
  double tops[RESULTS];
  wf_dtype wide = wf__class_dtype[j->class];
  int64_t row = cols * j->wide, stride = (cols * j->size + LINE - 1) / LINE * LINE + LINE;
  bool casts = wf__casts(&j->cast);
  const void *x = casts ? block : tile;
  turn(j, tile, stride, input, cols);
  for (int64_t r = 0; r < j->n && casts; r++) wf__cast_into(&j->cast, block + r * row, tile + r * stride, spare, cols);
  if (casts) stride = row;
  memcpy(best, x, (size_t)row);
  j->kernels->rows[j->class][WF__REDUCE_MAX](best, x, stride, j->n, cols);
  memcpy(top, best, (size_t)row);
  memset(sum, 0, (size_t)row);
  j->kernels->softmax[j->class][WF__SOFTMAX].take_columns(top, sum, &x, &stride, j->n, cols);
  j->kernels->pointwise[j->class][WF__PW_LOG](sum, (const void *[]){sum}, cols, &no_numbers);
  j->kernels->convert[wide][WF_F64](tops, best, cols);
  j->kernels->convert[wide][WF_F64](value, sum, cols);
  for (int64_t c = 0; c < cols; c++) value[c] = isfinite(tops[c]) ? tops[c] + value[c] : tops[c];
}

void wf__row_values_of(const job *j, char *input, int64_t cols, wf__row_values *values) {
  sums s;
  if (j->kind == WF__REDUCE_LOGSUMEXP) {
    log_sums(j, input, cols, (double *)(void *)values->value);
    values->dtype = WF_F64;
    return;
  }
  run_units(j, input, cols, &s, 0, j->units);
  values->dtype = is_extreme(j) ? wf__class_dtype[j->class] : gives_integers(j) ? WF_I64 : WF_F64;
  memcpy(values->value, &s.total, (size_t)cols * wf_dtype_size(values->dtype));
  if (j->has_index) set_places(j, &s, cols, values->place);
  if (!has_levels(j)) return;
  double *sum = (double *)(void *)values->value;
  for (int64_t c = 0; c < cols; c++) sum[c] = s.value[c] + s.second[c];
}
