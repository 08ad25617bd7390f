/* Max and average pooling and their derivatives in plain C, for any strides. Planes of channels are independent of each other. */
#include <math.h>

#include "kernel/neural.h"
#include "kernel/tables.h"
#include "kernel/ref/ref_types.h"

#define STRIDE(i, d) (plan->operand[i].stride[d])
#define SIZE(i, d) (plan->shape[i][d])
#define PLANE(i, n, c) ((char *)plan->operand[i].data + (n)*STRIDE(i, 0) + (c)*STRIDE(i, 1))
#define PLACE(T, plane, i, h, w) WF__AT(T, plane, (h)*STRIDE(i, 2) + (w)*STRIDE(i, 3))

typedef void (*plane_fn)(const wf_plan *plan, int64_t n, int64_t c);

static void planes(const wf_plan *plan, const plane_fn *table, int64_t begin, int64_t end) {
  plane_fn fn = table[plan->operand[0].dtype];
  for (int64_t i = begin; i < end; i++) fn(plan, i / SIZE(0, 1), i % SIZE(0, 1));
}

/* ---- maximum ------------------------------------------------------------------------------------------------------------ */

static void store_index(const wf_plan *plan, char *plane, int64_t oh, int64_t ow, int64_t in_input, int64_t in_window) {
  if (plan->operand[1].dtype == WF_U8) PLACE(uint8_t, plane, 1, oh, ow) = (uint8_t)in_window;
  else PLACE(int64_t, plane, 1, oh, ow) = in_input;
}

/* Where in the input's plane the maximum of output (oh, ow) lies. */
static void locate(const wf_plan *plan, const char *plane, int64_t oh, int64_t ow, int64_t *h, int64_t *w) {
  const wf_conv_param *p = &plan->param.conv;
  if (plan->operand[2].dtype != WF_U8) {
    int64_t i = PLACE(int64_t, plane, 2, oh, ow);
    *h = i / SIZE(0, 3);
    *w = i % SIZE(0, 3);
    return;
  }
  int64_t i = PLACE(uint8_t, plane, 2, oh, ow);
  *h = oh * p->stride[0] - p->padding[0] + i / p->kernel[1] * p->dilation[0];
  *w = ow * p->stride[1] - p->padding[1] + i % p->kernel[1] * p->dilation[1];
}

#define NEVER(v) false
#define MAX_LOOPS(NAME, T, WIDE, LOAD, IS_NAN, LEAST)                                                                  \
  static void max_window_##NAME(const wf_plan *plan, const char *in, char *out, char *index, int64_t oh, int64_t ow) { \
    const wf_conv_param *p = &plan->param.conv;                                                                        \
    int64_t h0 = oh * p->stride[0] - p->padding[0], w0 = ow * p->stride[1] - p->padding[1], at = -1, at_window = 0;    \
    T best = LEAST;                                                                                                    \
    for (int64_t kh = 0; kh < p->kernel[0]; kh++)                                                                      \
      for (int64_t kw = 0; kw < p->kernel[1]; kw++) {                                                                  \
        int64_t h = h0 + kh * p->dilation[0], w = w0 + kw * p->dilation[1];                                            \
        if (h < 0 || w < 0 || h >= SIZE(2, 2) || w >= SIZE(2, 3)) continue;                                            \
        T element = PLACE(T, in, 2, h, w);                                                                             \
        if (at >= 0 && !((WIDE)LOAD(element) > (WIDE)LOAD(best)) && !IS_NAN((WIDE)LOAD(element))) continue;            \
        best = element;                                                                                                \
        at = h * SIZE(2, 3) + w;                                                                                       \
        at_window = kh * p->kernel[1] + kw;                                                                            \
      }                                                                                                                \
    PLACE(T, out, 0, oh, ow) = best;                                                                                   \
    if (index) store_index(plan, index, oh, ow, at < 0 ? 0 : at, at_window);                                           \
  }                                                                                                                    \
  static void max_##NAME(const wf_plan *plan, int64_t n, int64_t c) {                                                  \
    char *index = plan->operand[1].data ? PLANE(1, n, c) : NULL;                                                       \
    for (int64_t oh = 0; oh < SIZE(0, 2); oh++)                                                                        \
      for (int64_t ow = 0; ow < SIZE(0, 3); ow++)                                                                      \
        max_window_##NAME(plan, PLANE(2, n, c), PLANE(0, n, c), index, oh, ow);                                        \
  }
#define MAX_FLOAT(NAME, T, ACC, LOAD, STORE) MAX_LOOPS(NAME, T, ACC, LOAD, isnan, STORE(-INFINITY))
#define MAX_INT(NAME, T, ACC, LOAD, STORE) MAX_LOOPS(NAME, T, int64_t, (T), NEVER, 0)
WF__REF_FLOATS(MAX_FLOAT)
WF__REF_INTS(MAX_INT)

/* Windows may overlap: sums are made in the element's own type, one addition after the other, as PyTorch does. */
#define MAX_BACKWARD(NAME, T, ACC, LOAD, STORE)                                \
  static void max_backward_##NAME(const wf_plan *plan, int64_t n, int64_t c) { \
    char *in = PLANE(0, n, c), *out = PLANE(1, n, c), *index = PLANE(2, n, c); \
    for (int64_t h = 0; h < SIZE(0, 2); h++)                                   \
      for (int64_t w = 0; w < SIZE(0, 3); w++) PLACE(T, in, 0, h, w) = 0;      \
    for (int64_t oh = 0; oh < SIZE(1, 2); oh++)                                \
      for (int64_t ow = 0; ow < SIZE(1, 3); ow++) {                            \
        int64_t h, w;                                                          \
        locate(plan, index, oh, ow, &h, &w);                                   \
        if (h < 0 || w < 0 || h >= SIZE(0, 2) || w >= SIZE(0, 3)) continue;    \
        T *to = &PLACE(T, in, 0, h, w);                                        \
        *to = STORE((ACC)LOAD(*to) + (ACC)LOAD(PLACE(T, out, 1, oh, ow)));     \
      }                                                                        \
  }
WF__REF_FLOATS(MAX_BACKWARD)

/* ---- average ------------------------------------------------------------------------------------------------------------ */

/* The window of output (oh, ow), cut to the input, and what its sum is divided by. */
typedef struct window {
  int64_t h0, h1, w0, w1, divisor;
} window;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static window window_of(const wf_conv_param *p, int64_t height, int64_t width, int64_t oh, int64_t ow) {
  window v = {.h0 = oh * p->stride[0] - p->padding[0], .w0 = ow * p->stride[1] - p->padding[1]};
  v.h1 = least(v.h0 + p->kernel[0], height + p->padding[0]);
  v.w1 = least(v.w0 + p->kernel[1], width + p->padding[1]);
  v.divisor = (v.h1 - v.h0) * (v.w1 - v.w0);
  v.h0 = most(v.h0, 0);
  v.w0 = most(v.w0, 0);
  v.h1 = least(v.h1, height);
  v.w1 = least(v.w1, width);
  if (p->divisor) v.divisor = p->divisor;
  else if (!p->count_include_pad) v.divisor = (v.h1 - v.h0) * (v.w1 - v.w0);
  return v;
}

#define AVG_LOOPS(NAME, T, ACC, LOAD, STORE, SUM)                                        \
  static void avg_##NAME(const wf_plan *plan, int64_t n, int64_t c) {                    \
    char *out = PLANE(0, n, c), *in = PLANE(1, n, c);                                    \
    for (int64_t oh = 0; oh < SIZE(0, 2); oh++)                                          \
      for (int64_t ow = 0; ow < SIZE(0, 3); ow++) {                                      \
        window v = window_of(&plan->param.conv, SIZE(1, 2), SIZE(1, 3), oh, ow);         \
        SUM sum = 0;                                                                     \
        for (int64_t h = v.h0; h < v.h1; h++)                                            \
          for (int64_t w = v.w0; w < v.w1; w++) sum += (SUM)LOAD(PLACE(T, in, 1, h, w)); \
        bool empty = v.h0 >= v.h1 || v.w0 >= v.w1;                                       \
        PLACE(T, out, 0, oh, ow) = STORE((ACC)(empty ? 0 : sum / (SUM)v.divisor));       \
      }                                                                                  \
  }                                                                                      \
  static void avg_backward_##NAME(const wf_plan *plan, int64_t n, int64_t c) {           \
    char *in = PLANE(0, n, c), *out = PLANE(1, n, c);                                    \
    for (int64_t h = 0; h < SIZE(0, 2); h++)                                             \
      for (int64_t w = 0; w < SIZE(0, 3); w++) PLACE(T, in, 0, h, w) = 0;                \
    for (int64_t oh = 0; oh < SIZE(1, 2); oh++)                                          \
      for (int64_t ow = 0; ow < SIZE(1, 3); ow++) {                                      \
        window v = window_of(&plan->param.conv, SIZE(0, 2), SIZE(0, 3), oh, ow);         \
        if (v.h0 >= v.h1 || v.w0 >= v.w1) continue;                                      \
        ACC share = LOAD(PLACE(T, out, 1, oh, ow)) / (ACC)v.divisor;                     \
        for (int64_t h = v.h0; h < v.h1; h++)                                            \
          for (int64_t w = v.w0; w < v.w1; w++) {                                        \
            T *to = &PLACE(T, in, 0, h, w);                                              \
            *to = STORE((ACC)LOAD(*to) + share);                                         \
          }                                                                              \
      }                                                                                  \
  }
#define AVG_FLOAT(NAME, T, ACC, LOAD, STORE) AVG_LOOPS(NAME, T, ACC, LOAD, STORE, double)
WF__REF_FLOATS(AVG_FLOAT)
AVG_LOOPS(I64, int64_t, int64_t, (int64_t), (int64_t), int64_t)

/* ---- tables -------------------------------------------------------------------------------------------------------------- */

#define ENTRY_MAX(NAME, ...) [WF_##NAME] = max_##NAME,
#define ENTRY_MAX_BACKWARD(NAME, ...) [WF_##NAME] = max_backward_##NAME,
#define ENTRY_AVG(NAME, ...) [WF_##NAME] = avg_##NAME,
#define ENTRY_AVG_BACKWARD(NAME, ...) [WF_##NAME] = avg_backward_##NAME,

void wf__ref_pool_max(const wf_plan *plan, int64_t begin, int64_t end) {
  static const plane_fn table[WF_DTYPE_COUNT] = {WF__REF_FLOATS(ENTRY_MAX) WF__REF_INTS(ENTRY_MAX)};
  planes(plan, table, begin, end);
}
void wf__ref_pool_max_backward(const wf_plan *plan, int64_t begin, int64_t end) {
  static const plane_fn table[WF_DTYPE_COUNT] = {WF__REF_FLOATS(ENTRY_MAX_BACKWARD)};
  planes(plan, table, begin, end);
}
void wf__ref_pool_avg(const wf_plan *plan, int64_t begin, int64_t end) {
  static const plane_fn table[WF_DTYPE_COUNT] = {WF__REF_FLOATS(ENTRY_AVG) ENTRY_AVG(I64)};
  planes(plan, table, begin, end);
}
void wf__ref_pool_avg_backward(const wf_plan *plan, int64_t begin, int64_t end) {
  static const plane_fn table[WF_DTYPE_COUNT] = {WF__REF_FLOATS(ENTRY_AVG_BACKWARD) ENTRY_AVG_BACKWARD(I64)};
  planes(plan, table, begin, end);
}

/* The loops above take any strides: no plain form of the kernels for consecutive channels. */
void wf__pool_ref(wf__kernels *table) { (void)table; }
