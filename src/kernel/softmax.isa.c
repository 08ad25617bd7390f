/* softmax, log_softmax and their derivatives on f32 and f64: rows and columns, by the exponentials of lanes.h. */
#include <math.h>

#include "kernel/lanes.h"
#include "kernel/tables.h"

#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed between static functions only */
#endif

#define T float
#define V wf__f32s
#define LANES WF__LANES
#define NAME(x) x##_f32
#define TYPE(x) x##_f32
#define EXP(v) wf__exp_f32s(v)
#define LOG(s) logf(s)
#define CHOOSE(mask, a, b) wf__choose_f32((mask), (a), (b))
#include "kernel/softmax_loops.h"
#undef T
#undef V
#undef LANES
#undef NAME
#undef TYPE
#undef EXP
#undef LOG
#undef CHOOSE

#define T double
#define V wf__f64s
#define LANES (WF__LANES / 2)
#define NAME(x) x##_f64
#define TYPE(x) x##_f64
#define EXP(v) wf__exp_f64s(v)
#define LOG(s) log(s)
#define CHOOSE(mask, a, b) wf__choose_f64((mask), (a), (b))
#include "kernel/softmax_loops.h"

void WFK(wf__softmax)(wf__kernels *table) {
  fill_f32(table->softmax[WF__CLASS_F32]);
  fill_f64(table->softmax[WF__CLASS_F64]);
}
