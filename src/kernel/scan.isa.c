/* Cumulative sums and products: f32 in double, halves (as f32) in f32, integers in their own width, where they wrap. */
#include "kernel/isa.h"
#include "kernel/tables.h"

#define T float
#define KEPT double
#define NAME(x) x##_f32
#include "kernel/scan_loops.h"
#undef T
#undef KEPT
#undef NAME

#define T float
#define KEPT float
#define NAME(x) x##_half
#include "kernel/scan_loops.h"
#undef T
#undef KEPT
#undef NAME

#define T double
#define KEPT double
#define NAME(x) x##_f64
#include "kernel/scan_loops.h"
#undef T
#undef KEPT
#undef NAME

#define T int64_t
#define KEPT uint64_t
#define NAME(x) x##_i64
#include "kernel/scan_loops.h"
#undef T
#undef KEPT
#undef NAME

#define T int32_t
#define KEPT uint32_t
#define NAME(x) x##_i32
#include "kernel/scan_loops.h"
#undef T
#undef KEPT
#undef NAME

#define T int16_t
#define KEPT uint32_t
#define NAME(x) x##_i16
#include "kernel/scan_loops.h"
#undef T
#undef KEPT
#undef NAME

#define T uint8_t
#define KEPT uint32_t
#define NAME(x) x##_u8
#include "kernel/scan_loops.h"
#undef T
#undef KEPT
#undef NAME

void WFK(wf__scan)(wf__kernels *table) {
#define WF_SCAN(DTYPE, suffix)                    \
  table->cumulate[WF_##DTYPE][0] = sums_##suffix; \
  table->cumulate[WF_##DTYPE][1] = products_##suffix;
  WF_SCAN(F32, f32)
  WF_SCAN(F16, half)
  WF_SCAN(BF16, half)
  WF_SCAN(F64, f64)
  WF_SCAN(I64, i64)
  WF_SCAN(BOOL, i64)
  WF_SCAN(I32, i32)
  WF_SCAN(I16, i16)
  WF_SCAN(I8, u8)
  WF_SCAN(U8, u8)
#undef WF_SCAN
}
