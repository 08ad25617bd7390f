/* What a reduction remembers between blocks. Partial results of separate stretches merge in a fixed order, so that the result doesn't
 * depend on how many threads there were. Floats are accumulated in double, whatever the class. */
#ifndef WF_KERNEL_REDUCE_STATE_H
#define WF_KERNEL_REDUCE_STATE_H

#include "kernel/kernel.h"

/* What is done with each element; several operators share one. */
typedef enum wf__reduce_kind {
  WF__REDUCE_SUM,
  WF__REDUCE_SUM_ABS,
  WF__REDUCE_SUM_SQUARE,
  WF__REDUCE_SUM_POWER, /* sum of |x| ^ p */
  WF__REDUCE_PROD,
  WF__REDUCE_MAX, /* with the lowest index of it; NaN is above everything */
  WF__REDUCE_MIN, /* the same; NaN is below everything */
  WF__REDUCE_MAX_ABS,
  WF__REDUCE_MIN_ABS,
  WF__REDUCE_COUNT,   /* of elements that aren't zero */
  WF__REDUCE_MOMENTS, /* mean and sum of squared deviations */
  WF__REDUCE_LOGSUMEXP,
  WF__REDUCE_KINDS
} wf__reduce_kind;

typedef struct wf__reduce_state {
  double value;    /* sum, product, extreme, mean, greatest exponent */
  double second;   /* what the sum lost to rounding; sum of squared deviations; sum of exponentials */
  int64_t integer; /* the value when the class is i64, and the count of COUNT */
  int64_t index;   /* of the extreme; INT64_MAX before the first element */
  int64_t count;   /* elements seen: kept by MOMENTS */
} wf__reduce_state;

void wf__reduce_begin(wf__reduce_kind kind, wf__reduce_state *state);
/* state := state and then `other`. is_integer: the class is i64. */
void wf__reduce_merge(wf__reduce_kind kind, bool is_integer, wf__reduce_state *state, const wf__reduce_state *other);
/* The operator's result from its state over `count` elements; parameter: scalar[0] of VAR, STD and NORM. For is_integer results and
 * ANY, ALL, COUNT_NONZERO it is *integer, else the return value. */
double wf__reduce_end(wf__reduce_op op, const wf__reduce_state *state, int64_t count, double parameter,
                      int64_t *integer);

#endif
