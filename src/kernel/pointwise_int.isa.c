/* Pointwise operators on integers of each width. Arithmetic wraps: in the element's own width, or in 32 bits of which the low ones are kept. */
#include "kernel/isa.h"
#include "kernel/tables.h"

#define T int64_t
#define BITS uint64_t
#define LOOP(name) name##_i64
#include "kernel/pointwise_int_loops.h"
#undef T
#undef BITS
#undef LOOP

/* By floats that hold the operands exactly: a quotient that isn't whole lies further from the next integer than it is rounded by. */
#define QUOTIENT(x, y) ((y) == -1 ? (int32_t)(0 - (uint32_t)(x)) : (int32_t)((double)(x) / ((y) == -1 ? 1 : (y))))
#define T int32_t
#define BITS uint32_t
#define LOOP(name) name##_i32
#include "kernel/pointwise_int_loops.h"
#undef T
#undef BITS
#undef LOOP

#undef QUOTIENT
#define QUOTIENT(x, y) ((int32_t)((float)(x) / (float)(y)))
#define T int16_t
#define BITS uint32_t
#define LOOP(name) name##_i16
#include "kernel/pointwise_int_loops.h"
#undef T
#undef BITS
#undef LOOP

#define T int8_t
#define BITS uint32_t
#define LOOP(name) name##_i8
#include "kernel/pointwise_int_loops.h"
#undef T
#undef BITS
#undef LOOP

#define T uint8_t
#define BITS uint32_t
#define LOOP(name) name##_u8
#include "kernel/pointwise_int_loops.h"
#undef T
#undef BITS
#undef LOOP

void WFK(wf__pointwise_int)(wf__kernels *table) {
  put_i64(table->pointwise[WF__CLASS_I64]);
  put_i32(table->pointwise[WF__CLASS_I32]);
  put_i16(table->pointwise[WF__CLASS_I16]);
  put_i8(table->pointwise[WF__CLASS_I8]);
  put_u8(table->pointwise[WF__CLASS_U8]);
}
