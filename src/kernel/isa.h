/* What every *.isa.c file needs: names that carry the instruction set, and loops that the compiler vectorises.
 *
 * A file is compiled once for each of base (SSE2), avx2 (with FMA and F16C) and avx512 (F, BW, VL, DQ); inside, WF_ISA_<set> is 1.
 * External names go through WFK() so that the three copies can stand in one library. Each file exports one function that puts its
 * kernels into the table (kernel/tables.h). Nothing else of it may be called: the CPU may lack the instructions. */
#ifndef WF_KERNEL_ISA_H
#define WF_KERNEL_ISA_H

#include <stdint.h>
#include <string.h>

#define WFK_JOIN(name, isa) name##_##isa
#define WFK_EXPAND(name, isa) WFK_JOIN(name, isa)
/* WFK(wf__x) is wf__x_avx2 and so on. */
#define WFK(name) WFK_EXPAND(name, WF_ISA)

/* Before a loop whose operands are the same array or apart: pointwise loops in place. Without it the compiler tests for overlap at run
 * time and takes the scalar loop exactly when the operation is in place. */
#if defined(__clang__)
#define WF__VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define WF__VECTOR_LOOP _Pragma("GCC ivdep")
#endif

#if defined(__FMA__)
#define WF__FMAF(a, b, c) __builtin_fmaf((a), (b), (c))
#define WF__FMA(a, b, c) __builtin_fma((a), (b), (c))
#else
#define WF__FMAF(a, b, c) ((a) * (b) + (c))
#define WF__FMA(a, b, c) ((a) * (b) + (c))
#endif

#endif
