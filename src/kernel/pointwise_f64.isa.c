/* Pointwise operators on f64: what hardware does exactly, and what is made of e^x. Other functions stay the C library's, in ref/. */
#include <math.h>

#include "kernel/lanes.h"
#include "kernel/math_f64.h"
#include "kernel/tables.h"

#define T double
#define FUSED(x, y, z) WF__FMA((x), (y), (z))
#define ROOT(x) __builtin_sqrt(x)
#define ABSOLUTE(x) __builtin_fabs(x)
#define WF__BUILTIN(name) __builtin_##name
#define LOOP(name) name##_f64
#include "kernel/pointwise_loops.h"

#define V wf__f64s
#define N (WF__LANES / 2)
#define FORM(name) name##_f64
#define EXP(v) wf__exp_f64s(v)
#include "kernel/pointwise_lanes.h"

LANES_UNARY(EXP, wf__exp_f64s(x))
LANES_UNARY(EXPM1, wf__expm1_f64s(x))

/* e^2a - 1 over e^2a + 1; beyond 20 it is 1. */
static inline V tanh_of(V x) {
  const V zero = {0}, most = zero + 20.0;
  V a = wf__min_f64(most, (V)((wf__i64s)x & INT64_MAX)), e = wf__expm1_f64s(a + a), t = e / (e + 2.0); /* NaN stays */
  return (V)((wf__i64s)t | ((wf__i64s)x & INT64_MIN));
}
LANES_UNARY(TANH, tanh_of(x))

static void ELU_f64(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {
  const double *s = in[0], scale = a->f[1], input_scale = a->f[2], steep = a->f[0] * scale;
  double *d = out;
  for (int64_t i = 0; i < n; i += N) {
    int64_t left = n - i;
    V x = left < N ? wf__load_part_f64(s + i, left, 0) : wf__load_f64(s + i);
    V y = wf__choose_f64(x > (V){0}, x * scale, wf__expm1_f64s(x * input_scale) * steep);
    if (left < N) wf__store_part_f64(d + i, y, left);
    else wf__store_f64(d + i, y);
  }
}

static void general_power_f64(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {
  const double *s = in[0], e = a->f[0];
  double *d = out;
  for (int64_t i = 0; i < n; i++) d[i] = pow(s[i], e);
}

void WFK(wf__pointwise_f64)(wf__kernels *table) {
  exact_f64(table->pointwise[WF__CLASS_F64]);
#define WF_OP(NAME) table->pointwise[WF__CLASS_F64][WF__PW_##NAME] = NAME##_f64;
  /* clang-format off */
  WF_OP(EXP) WF_OP(EXPM1) WF_OP(SIGMOID) WF_OP(SILU) WF_OP(GELU_TANH) WF_OP(TANH) WF_OP(ELU)
#undef WF_OP
  /* clang-format on */
}
