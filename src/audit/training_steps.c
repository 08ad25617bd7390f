/* Finds steps among annotations, and tells warm-up from the steady state. */
#include "audit/training_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"

#define WARM 1.25   /* times the median */
#define PARTIAL 0.5 /* of it */
#define SERIES_MAX 256

/* Annotations of one name, or of one name with a running number. */
typedef struct series {
  uint32_t stem; /* a name */
  size_t size;   /* so much of it counts */
  wf__meaning meaning;
  bool numbered;
  uint16_t row;
  uint32_t n;
  int64_t total, first_start, last_end;
  bool overlaps;
} series;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Length of a name without its running number; the whole when it has none. */
static size_t stem_size(const wf__name *name) {
  size_t n = name->size;
  while (n && is_digit(name->text[n - 1])) n--;
  return n ? n : name->size;
}

static bool same_series(const wf__kineto *k, const series *s, uint32_t name, size_t size, uint16_t row) {
  const wf__name *a = &k->names.at[s->stem], *b = &k->names.at[name];
  return s->row == row && s->size == size && !memcmp(a->text, b->text, size);
}

static bool may_mark_steps(wf__meaning meaning) {
  return meaning == WF__MEANS_NOTHING || meaning == WF__MEANS_PROFILER_STEP || meaning == WF__MEANS_OPTIMIZER_STEP ||
         meaning == WF__MEANS_LOADER;
}

/* All series, in the order in which they come; the first SERIES_MAX. */
static int find_series(const wf__kineto *k, series *all) {
  int n = 0;
  for (uint32_t i = 0; i < k->n; i++) {
    const wf__event *e = &k->events[k->order[i]];
    if (e->cat != WF__CAT_ANNOTATION || !may_mark_steps(wf__event_meaning(k, e))) continue;
    size_t size = stem_size(&k->names.at[e->name]);
    int at = 0;
    while (at < n && !same_series(k, &all[at], e->name, size, e->lane)) at++;
    if (at == n) {
      if (n == SERIES_MAX) continue;
      all[n++] = (series){
          .stem = e->name, .size = size, .row = e->lane, .meaning = wf__event_meaning(k, e), .first_start = e->start};
    }
    series *s = &all[at];
    if (s->n && e->start < s->last_end) s->overlaps = true;
    if (e->name != s->stem) s->numbered = true;
    s->n++;
    s->total += e->dur;
    s->last_end = wf__event_end(e);
  }
  return n;
}

/* How well a series marks steps: the kind first, then the time it takes. 0: not at all. */
static int rank_of(const series *s) {
  if (s->meaning == WF__MEANS_PROFILER_STEP) return s->overlaps ? 0 : 5;
  if (s->n < 2 || s->overlaps) return 0;
  if (s->meaning == WF__MEANS_OPTIMIZER_STEP) return 3;
  if (s->meaning == WF__MEANS_LOADER) return 2;
  if (s->numbered) return 4;
  /* Something else that repeats: only when the run consists of it. */
  return s->n >= 3 && s->total >= (s->last_end - s->first_start) / 2;
}

static const series *best_series(const series *all, int n) {
  const series *best = NULL;
  for (int i = 0; i < n; i++) {
    int rank = rank_of(&all[i]), have = best ? rank_of(best) : 0;
    if (rank > have || (rank && rank == have && all[i].total > best->total)) best = &all[i];
  }
  return best;
}

/* Begin and end of step i, by what its mark stands for. */
static void place_step(wf__steps *steps, const series *s, const wf__kineto *k, const wf__event *mark) {
  wf__span *step = &steps->at[steps->n++];
  *step = (wf__span){mark->start, wf__event_end(mark)};
  if (s->meaning == WF__MEANS_OPTIMIZER_STEP) step->start = steps->n > 1 ? steps->at[steps->n - 2].end : k->start;
  if (s->meaning == WF__MEANS_LOADER) {
    step->end = k->end;
    if (steps->n > 1) steps->at[steps->n - 2].end = step->start;
  }
}

static int by_length(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* The median length of steps from `first` on; `room` for n numbers. */
static int64_t median_from(const wf__steps *steps, uint32_t first, int64_t *room) {
  uint32_t n = steps->n - first;
  for (uint32_t i = 0; i < n; i++) room[i] = steps->at[first + i].end - steps->at[first + i].start;
  qsort(room, n, sizeof *room, by_length);
  return n % 2 ? room[n / 2] : (room[n / 2 - 1] + room[n / 2]) / 2;
}

static wf_status judge_warmth(wf__steps *steps) {
  int64_t *room = wf__malloc(steps->n * sizeof *room);
  if (!room) return WF_NO_MEMORY;
  /* The profiler may have been stopped inside of the last. */
  const wf__span *last = &steps->at[steps->n - 1];
  if (steps->n > 1 && (double)(last->end - last->start) < PARTIAL * (double)median_from(steps, 0, room)) steps->n--;
  int64_t usual = median_from(steps, steps->n / 2, room);
  while (steps->warm < (steps->n + 1) / 2 && steps->n - steps->warm > 1 &&
         (double)(steps->at[steps->warm].end - steps->at[steps->warm].start) > WARM * (double)usual)
    steps->warm++;
  steps->median = median_from(steps, steps->warm, room);
  steps->steady = (wf__span){steps->at[steps->warm].start, steps->at[steps->n - 1].end};
  wf__release(room);
  return WF_OK;
}

wf_status wf__steps_find(wf__kineto *k, wf__steps *steps) {
  *steps = (wf__steps){.steady = {k->start, k->end}};
  series *all = wf__malloc(SERIES_MAX * sizeof *all);
  if (!all) return WF_NO_MEMORY;
  const series *s = best_series(all, find_series(k, all));
  wf_status status = WF_OK;
  if (s) {
    steps->at = wf__malloc(s->n * sizeof *steps->at);
    status = steps->at ? WF_OK : WF_NO_MEMORY;
    const wf__row *row = &k->rows[s->row];
    for (uint32_t i = row->first; !status && i < row->first + row->n; i++) {
      const wf__event *e = &k->events[k->order[i]];
      if (e->cat != WF__CAT_ANNOTATION) continue;
      size_t size = stem_size(&k->names.at[e->name]);
      if (same_series(k, s, e->name, size, e->lane)) place_step(steps, s, k, e);
    }
    int shown = s->size < sizeof steps->source ? (int)s->size : (int)sizeof steps->source - 1;
    snprintf(steps->source, sizeof steps->source, "%.*s", shown, k->names.at[s->stem].text);
    if (!status) status = judge_warmth(steps);
  }
  wf__release(all);
  return status;
}

void wf__steps_release(wf__steps *steps) {
  wf__release(steps->at);
  *steps = (wf__steps){0};
}

int64_t wf__step_at(const wf__steps *steps, int64_t time) {
  uint32_t low = 0, high = steps->n;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (steps->at[middle].end <= time) low = middle + 1;
    else high = middle;
  }
  return low < steps->n && steps->at[low].start <= time ? (int64_t)low : -1;
}
