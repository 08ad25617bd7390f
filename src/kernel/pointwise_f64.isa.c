/* Pointwise operators on f64: what hardware does exactly; exp by math_f64.h. Other functions stay the C library's, in ref/. */
#include <math.h>

#include "kernel/math_f64.h"
#include "kernel/tables.h"

#define T double
#define FUSED(x, y, z) WF__FMA((x), (y), (z))
#define ROOT(x) __builtin_sqrt(x)
#define ABSOLUTE(x) __builtin_fabs(x)
#define WF__BUILTIN(name) __builtin_##name
#define LOOP(name) name##_f64
#include "kernel/pointwise_loops.h"

UNARY(EXP, wf__exp(x))

static void general_power_f64(void *out, const void *const *in, int64_t n, const wf__pointwise_args *a) {
  const double *s = in[0], e = a->f[0];
  double *d = out;
  for (int64_t i = 0; i < n; i++) d[i] = pow(s[i], e);
}

void WFK(wf__pointwise_f64)(wf__kernels *table) {
  exact_f64(table->pointwise[WF__CLASS_F64]);
  table->pointwise[WF__CLASS_F64][WF__PW_EXP] = EXP_f64;
}
