/* Convolution and its two derivatives in plain C, for every dtype but bool and any strides. Floats are summed in double and rounded once,
 * so that these loops can judge the libraries. */
#include "kernel/neural.h"
#include "kernel/ref/ref_types.h"

/* Operand i as bytes: its first element and strides. */
#define DATA(i) ((char *)plan->operand[i].data)
#define STRIDE(i, d) (plan->operand[i].stride[d])
#define SIZE(i, d) (plan->shape[i][d])

/* Outputs o and kernel places k meet at input place o · stride + k · dilation - padding. */
static inline int64_t input_place(const wf_conv_param *c, int d, int64_t o, int64_t k) {
  return o * c->stride[d] + k * c->dilation[d] - c->padding[d];
}

/* The output whose window has the input place `i` at kernel place `k`; -1 none. */
static inline int64_t output_place(const wf_conv_param *c, int d, int64_t i, int64_t k, int64_t outputs) {
  int64_t scaled = i + c->padding[d] - k * c->dilation[d];
  if (scaled < 0 || scaled % c->stride[d]) return -1;
  int64_t o = scaled / c->stride[d];
  return o < outputs ? o : -1;
}

#define LOOPS(NAME, T, ACC, LOAD, STORE, SUM)                                                                          \
  static SUM input_sum_##NAME(const wf_plan *plan, const char *in, const char *weight, int64_t channels, int64_t oh,   \
                              int64_t ow) {                                                                            \
    const wf_conv_param *c = &plan->param.conv;                                                                        \
    SUM sum = 0;                                                                                                       \
    for (int64_t ci = 0; ci < channels; ci++)                                                                          \
      for (int64_t kh = 0; kh < SIZE(2, 2); kh++)                                                                      \
        for (int64_t kw = 0; kw < SIZE(2, 3); kw++) {                                                                  \
          int64_t ih = input_place(c, 0, oh, kh), iw = input_place(c, 1, ow, kw);                                      \
          if (ih < 0 || iw < 0 || ih >= SIZE(1, 2) || iw >= SIZE(1, 3)) continue;                                      \
          sum += (SUM)LOAD(WF__AT(T, in, ci * STRIDE(1, 1) + ih * STRIDE(1, 2) + iw * STRIDE(1, 3))) *                 \
                 (SUM)LOAD(WF__AT(T, weight, ci * STRIDE(2, 1) + kh * STRIDE(2, 2) + kw * STRIDE(2, 3)));              \
        }                                                                                                              \
    return sum;                                                                                                        \
  }                                                                                                                    \
  static void forward_##NAME(const wf_plan *plan, int64_t n, int64_t co) {                                             \
    int64_t channels = SIZE(2, 1), group = co / (SIZE(2, 0) / plan->param.conv.groups);                                \
    const char *in = DATA(1) + n * STRIDE(1, 0) + group * channels * STRIDE(1, 1),                                     \
               *weight = DATA(2) + co * STRIDE(2, 0);                                                                  \
    char *out = DATA(0) + n * STRIDE(0, 0) + co * STRIDE(0, 1);                                                        \
    SUM bias = DATA(3) ? (SUM)LOAD(WF__AT(T, DATA(3), co * STRIDE(3, 0))) : 0;                                         \
    for (int64_t oh = 0; oh < SIZE(0, 2); oh++)                                                                        \
      for (int64_t ow = 0; ow < SIZE(0, 3); ow++)                                                                      \
        WF__AT(T, out, oh *STRIDE(0, 2) + ow * STRIDE(0, 3)) =                                                         \
            STORE((ACC)(bias + input_sum_##NAME(plan, in, weight, channels, oh, ow)));                                 \
  }                                                                                                                    \
  /* out, weight: at the first output channel of the group, weight also at the input channel */                        \
  static SUM output_sum_##NAME(const wf_plan *plan, const char *out, const char *weight, int64_t channels, int64_t ih, \
                               int64_t iw) {                                                                           \
    const wf_conv_param *c = &plan->param.conv;                                                                        \
    SUM sum = 0;                                                                                                       \
    for (int64_t co = 0; co < channels; co++)                                                                          \
      for (int64_t kh = 0; kh < SIZE(2, 2); kh++)                                                                      \
        for (int64_t kw = 0; kw < SIZE(2, 3); kw++) {                                                                  \
          int64_t oh = output_place(c, 0, ih, kh, SIZE(1, 2)), ow = output_place(c, 1, iw, kw, SIZE(1, 3));            \
          if (oh < 0 || ow < 0) continue;                                                                              \
          sum += (SUM)LOAD(WF__AT(T, out, co * STRIDE(1, 1) + oh * STRIDE(1, 2) + ow * STRIDE(1, 3))) *                \
                 (SUM)LOAD(WF__AT(T, weight, co * STRIDE(2, 0) + kh * STRIDE(2, 2) + kw * STRIDE(2, 3)));              \
        }                                                                                                              \
    return sum;                                                                                                        \
  }                                                                                                                    \
  static void backward_data_##NAME(const wf_plan *plan, int64_t n, int64_t ci) {                                       \
    int64_t channels = SIZE(2, 0) / plan->param.conv.groups, group = ci / SIZE(2, 1);                                  \
    const char *out = DATA(1) + n * STRIDE(1, 0) + group * channels * STRIDE(1, 1);                                    \
    const char *weight = DATA(2) + group * channels * STRIDE(2, 0) + ci % SIZE(2, 1) * STRIDE(2, 1);                   \
    char *in = DATA(0) + n * STRIDE(0, 0) + ci * STRIDE(0, 1);                                                         \
    SUM bias = DATA(3) ? (SUM)LOAD(WF__AT(T, DATA(3), ci * STRIDE(3, 0))) : 0;                                         \
    for (int64_t ih = 0; ih < SIZE(0, 2); ih++)                                                                        \
      for (int64_t iw = 0; iw < SIZE(0, 3); iw++)                                                                      \
        WF__AT(T, in, ih *STRIDE(0, 2) + iw * STRIDE(0, 3)) =                                                          \
            STORE((ACC)(bias + output_sum_##NAME(plan, out, weight, channels, ih, iw)));                               \
  }                                                                                                                    \
  static SUM window_sum_##NAME(const wf_plan *plan, const char *out, const char *in, int64_t kh, int64_t kw) {         \
    const wf_conv_param *c = &plan->param.conv;                                                                        \
    SUM sum = 0;                                                                                                       \
    for (int64_t oh = 0; oh < SIZE(2, 2); oh++)                                                                        \
      for (int64_t ow = 0; ow < SIZE(2, 3); ow++) {                                                                    \
        int64_t ih = input_place(c, 0, oh, kh), iw = input_place(c, 1, ow, kw);                                        \
        if (ih < 0 || iw < 0 || ih >= SIZE(3, 2) || iw >= SIZE(3, 3)) continue;                                        \
        sum += (SUM)LOAD(WF__AT(T, out, oh * STRIDE(2, 2) + ow * STRIDE(2, 3))) *                                      \
               (SUM)LOAD(WF__AT(T, in, ih * STRIDE(3, 2) + iw * STRIDE(3, 3)));                                        \
      }                                                                                                                \
    return sum;                                                                                                        \
  }                                                                                                                    \
  static void backward_weight_##NAME(const wf_plan *plan, int64_t co, int64_t ci) {                                    \
    int64_t group = co / (SIZE(0, 0) / plan->param.conv.groups);                                                       \
    const char *out = DATA(2) + co * STRIDE(2, 1), *in = DATA(3) + (group * SIZE(0, 1) + ci) * STRIDE(3, 1);           \
    for (int64_t kh = 0; kh < SIZE(0, 2); kh++)                                                                        \
      for (int64_t kw = 0; kw < SIZE(0, 3); kw++) {                                                                    \
        SUM sum = 0;                                                                                                   \
        for (int64_t n = 0; n < SIZE(3, 0); n++)                                                                       \
          sum += window_sum_##NAME(plan, out + n * STRIDE(2, 0), in + n * STRIDE(3, 0), kh, kw);                       \
        WF__AT(T, DATA(0), co *STRIDE(0, 0) + ci * STRIDE(0, 1) + kh * STRIDE(0, 2) + kw * STRIDE(0, 3)) =             \
            STORE((ACC)sum);                                                                                           \
      }                                                                                                                \
  }                                                                                                                    \
  static void backward_bias_##NAME(const wf_plan *plan, int64_t co, int64_t unused) {                                  \
    SUM sum = 0;                                                                                                       \
    for (int64_t n = 0; n < SIZE(2, 0); n++)                                                                           \
      for (int64_t oh = 0; oh < SIZE(2, 2); oh++)                                                                      \
        for (int64_t ow = 0; ow < SIZE(2, 3); ow++)                                                                    \
          sum += (SUM)LOAD(                                                                                            \
              WF__AT(T, DATA(2), n * STRIDE(2, 0) + co * STRIDE(2, 1) + oh * STRIDE(2, 2) + ow * STRIDE(2, 3)));       \
    WF__AT(T, DATA(1), co *STRIDE(1, 0)) = STORE((ACC)sum);                                                            \
  }
#define FLOAT_LOOPS(NAME, T, ACC, LOAD, STORE) LOOPS(NAME, T, ACC, LOAD, STORE, double)
#define INT_LOOPS(NAME, T, ACC, LOAD, STORE) LOOPS(NAME, T, ACC, LOAD, STORE, ACC)
WF__REF_FLOATS(FLOAT_LOOPS)
WF__REF_INTS(INT_LOOPS)
#undef LOOPS
#undef FLOAT_LOOPS
#undef INT_LOOPS

typedef void (*piece_fn)(const wf_plan *plan, int64_t first, int64_t second);

/* Piece i of a range is the pair (i / inner, i % inner). */
#define RANGE(name, inner)                                                       \
  void wf__ref_conv_##name(const wf_plan *plan, int64_t begin, int64_t end) {    \
    static const piece_fn pieces[WF_DTYPE_COUNT] = {                             \
        [WF_F16] = name##_F16, [WF_BF16] = name##_BF16, [WF_F32] = name##_F32,   \
        [WF_F64] = name##_F64, [WF_U8] = name##_U8,     [WF_I8] = name##_I8,     \
        [WF_I16] = name##_I16, [WF_I32] = name##_I32,   [WF_I64] = name##_I64};  \
    piece_fn piece = pieces[plan->operand[0].dtype];                             \
    for (int64_t i = begin; i < end; i++) piece(plan, i / (inner), i % (inner)); \
  }
RANGE(forward, SIZE(0, 1))
RANGE(backward_data, SIZE(0, 1))
RANGE(backward_weight, SIZE(0, 1))
RANGE(backward_bias, 1)
