/* The steps of a training, and from which on it is in its steady state. */
#ifndef WF_AUDIT_TRAINING_STEPS_H
#define WF_AUDIT_TRAINING_STEPS_H

#include "audit/kineto.h"

typedef struct wf__span {
  int64_t start, end;
} wf__span;

typedef struct wf__steps {
  wf__span *at; /* by time; they don't overlap */
  uint32_t n;
  uint32_t warm;   /* the first so many are warm-up */
  int64_t median;  /* ns of a steady step */
  wf__span steady; /* the steady steps with what is between them; without steps, the whole trace */
  char source[96]; /* what they were told by: "ProfilerStep#"; "" without steps */
} wf__steps;

/* Told by, in this order: ProfilerStep#N; a numbered annotation (step#0, step#1 …); Optimizer.step; the loader's __next__; an
 * annotation that came three times and more and takes half of the time. Warm-up are the first steps, at most half, that take more than 1.25 times the median of
 * the second half; a last one of less than half of the median was cut short and is left out. Errors: WF_NO_MEMORY. */
wf_status wf__steps_find(wf__kineto *k, wf__steps *steps);
void wf__steps_release(wf__steps *steps);
/* The step that a time lies in, or -1. */
int64_t wf__step_at(const wf__steps *steps, int64_t time);
static inline bool wf__is_steady(const wf__steps *s, int64_t time) {
  return time >= s->steady.start && time < s->steady.end;
}
static inline int64_t wf__steady_ns(const wf__steps *s) {
  return s->steady.end > s->steady.start ? s->steady.end - s->steady.start : 1;
}
/* Steady steps; 0 when there are no steps. */
static inline uint32_t wf__steady_steps(const wf__steps *s) { return s->n - s->warm; }

#endif
