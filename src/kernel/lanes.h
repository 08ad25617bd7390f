/* Vectors of f32 inside *.isa.c files, as wide as the instruction set has them. Comparisons give lanes of all ones or zeros. */
#ifndef WF_KERNEL_LANES_H
#define WF_KERNEL_LANES_H

#include "kernel/isa.h"

#if defined(__AVX512F__)
#define WF__LANES 16
#elif defined(__AVX2__)
#define WF__LANES 8
#else
#define WF__LANES 4
#endif

typedef float wf__f32s __attribute__((vector_size(4 * WF__LANES)));
typedef int32_t wf__i32s __attribute__((vector_size(4 * WF__LANES)));
typedef uint8_t wf__u8s __attribute__((vector_size(WF__LANES)));

static inline wf__f32s wf__load(const float *p) {
  wf__f32s v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline void wf__store(float *p, wf__f32s v) { memcpy(p, &v, sizeof v); }
/* `v` where the mask is set, zero elsewhere. */
static inline wf__f32s wf__where(wf__i32s mask, wf__f32s v) { return (wf__f32s)((wf__i32s)v & mask); }
static inline wf__f32s wf__choose(wf__i32s mask, wf__f32s a, wf__f32s b) {
  return (wf__f32s)(((wf__i32s)a & mask) | ((wf__i32s)b & ~mask));
}

#endif
