/* Optimiser steps for every CPU: the loops of optim_loops.h with the C library's fused operations. */
#include <math.h>

#include "kernel/isa.h"
#include "kernel/tables.h"

#define T float
#define FUSED(x, y, z) fmaf((x), (y), (z))
#define ROOT(x) sqrtf(x)
#define STEP(name) name##_f32
#include "kernel/optim_loops.h"
#undef T
#undef FUSED
#undef ROOT
#undef STEP

#define T double
#define FUSED(x, y, z) fma((x), (y), (z))
#define ROOT(x) sqrt(x)
#define STEP(name) name##_f64
#include "kernel/optim_loops.h"

void wf__optim_ref(wf__kernels *table) {
  const wf__optim_fn f32[] = {sgd_f32, adam_f32, adamw_f32}, f64[] = {sgd_f64, adam_f64, adamw_f64};
  for (int op = WF__OPTIM_SGD; op <= WF__OPTIM_ADAMW; op++) {
    table->optim[WF__CLASS_F32][op] = f32[op];
    table->optim[WF__CLASS_F64][op] = f64[op];
  }
}
