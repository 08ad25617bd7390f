/* Batch normalisation and its derivative in plain C, channel by channel, for the float dtypes and any strides; statistics in double. */
#include <math.h>

#include "kernel/neural.h"
#include "kernel/tables.h"
#include "kernel/ref/ref_types.h"

#define CHANNELS(plan, i) ((plan)->shape[i][1])

/* Element c of a vector operand; `absent` when there is none. */
static double vector_at(const wf_plan *plan, int i, int64_t c, double absent) {
  const wf_operand *o = &plan->operand[i];
  return o->data ? wf__scalar_double(wf__scalar_load((wf_dtype)o->dtype, (char *)o->data + c * o->stride[0])) : absent;
}
static void vector_set(const wf_plan *plan, int i, int64_t c, double value) {
  const wf_operand *o = &plan->operand[i];
  if (o->data) wf__scalar_store(wf_float(value), (wf_dtype)o->dtype, (char *)o->data + c * o->stride[0]);
}
/* Row `row` of the stats in operand i. */
static double stat_at(const wf_plan *plan, int i, int row, int64_t c) {
  const wf_operand *o = &plan->operand[i];
  return wf__scalar_double(
      wf__scalar_load((wf_dtype)o->dtype, (char *)o->data + row * o->stride[0] + c * o->stride[1]));
}
static void stat_set(const wf_plan *plan, int i, int row, int64_t c, double value) {
  const wf_operand *o = &plan->operand[i];
  wf__scalar_store(wf_float(value), (wf_dtype)o->dtype, (char *)o->data + row * o->stride[0] + c * o->stride[1]);
}

/* mean, squares: of this channel; squares < 0: take the running values. */
static void finish_channel(const wf_plan *plan, int64_t c, double mean, double squares, int64_t count) {
  double variance = squares / (double)count;
  if (!plan->param.norm.training) {
    mean = vector_at(plan, 2, c, 0);
    variance = vector_at(plan, 3, c, 1);
  } else {
    double m = plan->param.norm.momentum;
    vector_set(plan, 2, c, m * mean + (1 - m) * vector_at(plan, 2, c, 0));
    vector_set(plan, 3, c, m * (squares / (double)(count - 1)) + (1 - m) * vector_at(plan, 3, c, 0));
  }
  double inverse = 1 / sqrt(variance + plan->param.norm.eps), scale = inverse * vector_at(plan, 5, c, 1);
  stat_set(plan, 1, 0, c, mean);
  stat_set(plan, 1, 1, c, inverse);
  stat_set(plan, 1, 2, c, scale);
  stat_set(plan, 1, 3, c, vector_at(plan, 6, c, 0) - mean * scale);
}

void wf__norm_finish_stats(const wf_plan *plan, const double *mean, const double *squares, int64_t count) {
  for (int64_t c = 0; c < CHANNELS(plan, 4); c++)
    finish_channel(plan, c, mean ? mean[c] : 0, squares ? squares[c] : 0, count);
}

void wf__norm_finish_backward(const wf_plan *plan, const double *sum, const double *product, int64_t count,
                              float *slope, float *offset) {
  for (int64_t c = 0; c < CHANNELS(plan, 4); c++) {
    double inverse = stat_at(plan, 5, 1, c), scale = stat_at(plan, 5, 2, c);
    vector_set(plan, 1, c, product[c] * inverse);
    vector_set(plan, 2, c, sum[c]);
    bool training = plan->param.norm.training;
    slope[c] = training ? (float)(scale * inverse * inverse * product[c] / (double)count) : 0;
    offset[c] = training ? (float)(scale * sum[c] / (double)count) : 0;
  }
}

/* ---- the loops ------------------------------------------------------------------------------------------------------------ */

/* The i-th place of a channel in operand o, in bytes from the channel's first. */
static int64_t place(const wf_plan *plan, int o, int64_t i) {
  int64_t offset = 0;
  for (int d = plan->rank[o] - 1; d >= 0; d--) {
    if (d == 1) continue;
    offset += i % plan->shape[o][d] * plan->operand[o].stride[d];
    i /= plan->shape[o][d];
  }
  return offset;
}
static int64_t places(const wf_plan *plan, int o) {
  int64_t n = 1;
  for (int d = 0; d < plan->rank[o]; d++) n *= d == 1 ? 1 : plan->shape[o][d];
  return n;
}
#define CHANNEL(o, c) ((char *)plan->operand[o].data + (c)*plan->operand[o].stride[1])

#define LOOPS(NAME, T, ACC, LOAD, STORE)                                                                             \
  static void batch_##NAME(const wf_plan *plan, int64_t c) {                                                         \
    int64_t n = places(plan, 4);                                                                                     \
    double mean = 0, squares = 0;                                                                                    \
    if (plan->param.norm.training) {                                                                                 \
      for (int64_t i = 0; i < n; i++) mean += (double)LOAD(WF__AT(T, CHANNEL(4, c), place(plan, 4, i)));             \
      mean /= (double)n;                                                                                             \
      for (int64_t i = 0; i < n; i++) {                                                                              \
        double d = (double)LOAD(WF__AT(T, CHANNEL(4, c), place(plan, 4, i))) - mean;                                 \
        squares += d * d;                                                                                            \
      }                                                                                                              \
    }                                                                                                                \
    finish_channel(plan, c, mean, squares, n);                                                                       \
    ACC scale = (ACC)stat_at(plan, 1, 2, c), shift = (ACC)stat_at(plan, 1, 3, c);                                    \
    for (int64_t i = 0; i < n; i++) {                                                                                \
      ACC t = LOAD(WF__AT(T, CHANNEL(4, c), place(plan, 4, i))) * scale + shift;                                     \
      WF__AT(T, CHANNEL(0, c), place(plan, 0, i)) = STORE(plan->param.norm.relu && t <= 0 ? 0 : t);                  \
    }                                                                                                                \
  }                                                                                                                  \
  /* the gradient behind the relu at place i */                                                                      \
  static double gradient_##NAME(const wf_plan *plan, int64_t c, int64_t i, ACC x) {                                  \
    ACC t = x * (ACC)stat_at(plan, 5, 2, c) + (ACC)stat_at(plan, 5, 3, c);                                           \
    if (plan->param.norm.relu && t <= 0) return 0;                                                                   \
    return (double)LOAD(WF__AT(T, CHANNEL(3, c), place(plan, 3, i)));                                                \
  }                                                                                                                  \
  static void batch_backward_##NAME(const wf_plan *plan, int64_t c) {                                                \
    int64_t n = places(plan, 4);                                                                                     \
    double mean = stat_at(plan, 5, 0, c), inverse = stat_at(plan, 5, 1, c), scale = stat_at(plan, 5, 2, c);          \
    double sum = 0, product = 0;                                                                                     \
    for (int64_t i = 0; i < n; i++) {                                                                                \
      ACC x = LOAD(WF__AT(T, CHANNEL(4, c), place(plan, 4, i)));                                                     \
      double g = gradient_##NAME(plan, c, i, x);                                                                     \
      sum += g;                                                                                                      \
      product += g * ((double)x - mean);                                                                             \
    }                                                                                                                \
    vector_set(plan, 1, c, product *inverse);                                                                        \
    vector_set(plan, 2, c, sum);                                                                                     \
    if (!plan->operand[0].data) return;                                                                              \
    bool training = plan->param.norm.training;                                                                       \
    double slope = training ? inverse * inverse * product / (double)n : 0, offset = training ? sum / (double)n : 0;  \
    for (int64_t i = 0; i < n; i++) {                                                                                \
      ACC x = LOAD(WF__AT(T, CHANNEL(4, c), place(plan, 4, i)));                                                     \
      double g = gradient_##NAME(plan, c, i, x);                                                                     \
      WF__AT(T, CHANNEL(0, c), place(plan, 0, i)) = STORE((ACC)(scale * (g - ((double)x - mean) * slope - offset))); \
    }                                                                                                                \
  }
WF__REF_FLOATS(LOOPS)
#undef LOOPS

typedef void (*channel_fn)(const wf_plan *plan, int64_t c);

void wf__ref_norm_batch(const wf_plan *plan, int64_t begin, int64_t end) {
#define ENTRY(NAME, ...) [WF_##NAME] = batch_##NAME,
  static const channel_fn table[WF_DTYPE_COUNT] = {WF__REF_FLOATS(ENTRY)};
#undef ENTRY
  for (int64_t c = begin; c < end; c++) table[plan->operand[4].dtype](plan, c);
}

void wf__ref_norm_batch_backward(const wf_plan *plan, int64_t begin, int64_t end) {
#define ENTRY(NAME, ...) [WF_##NAME] = batch_backward_##NAME,
  static const channel_fn table[WF_DTYPE_COUNT] = {WF__REF_FLOATS(ENTRY)};
#undef ENTRY
  for (int64_t c = begin; c < end; c++) table[plan->operand[4].dtype](plan, c);
}

/* The loops above take any strides: no plain form of the kernels for consecutive channels. */
void wf__norm_ref(wf__kernels *table) { (void)table; }
