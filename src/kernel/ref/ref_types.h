/* Element types as the reference loops of ref/ see them: how an element is kept, in what it is computed, and the way between.
 * Halves compute in f32 and are rounded once; integers compute in 64 bits and keep their low bits, which is what wrapping does. */
#ifndef WF_KERNEL_REF_TYPES_H
#define WF_KERNEL_REF_TYPES_H

#include "base/convert.h"

/* X(NAME, stored type, computing type, load, store) */
#define WF__REF_FLOATS(X)                                    \
  X(F16, uint16_t, float, wf__f16_to_f32, wf__f32_to_f16)    \
  X(BF16, uint16_t, float, wf__bf16_to_f32, wf__f32_to_bf16) \
  X(F32, float, float, (float), (float))                     \
  X(F64, double, double, (double), (double))
#define WF__REF_INTS(X)                            \
  X(U8, uint8_t, uint64_t, (uint64_t), (uint8_t))  \
  X(I8, int8_t, uint64_t, (uint64_t), (int8_t))    \
  X(I16, int16_t, uint64_t, (uint64_t), (int16_t)) \
  X(I32, int32_t, uint64_t, (uint64_t), (int32_t)) \
  X(I64, int64_t, uint64_t, (uint64_t), (int64_t))

/* A scalar argument in a computing type. */
static inline float wf__ref_number_float(wf_scalar s) { return (float)wf__scalar_double(s); }
static inline double wf__ref_number_double(wf_scalar s) { return wf__scalar_double(s); }
static inline uint64_t wf__ref_number_uint64_t(wf_scalar s) { return (uint64_t)wf__scalar_int(s); }

/* The element at a byte offset. */
#define WF__AT(T, base, bytes) (*(T *)((char *)(base) + (bytes)))

#endif
