/* A plan as text. */
#ifndef WF_KERNEL_PLAN_PRINT_H
#define WF_KERNEL_PLAN_PRINT_H

#include <weft/sys/plan.h>

/* Writes the plan on one line, "pointwise add f32 [2,3]: f32(12,4) := f32(12,4), f32(0,4), 0.5": family, operator, dtype of arithmetic, sizes,
 * each operand's dtype and byte strides (outputs before the sign, "-" for an absent one), then the numbers that were given. At most `size`
 * bytes with the end; returns the bytes that the whole text needs without it, as snprintf does. */
size_t wf__plan_print(const wf_plan *plan, char *buffer, size_t size);

#endif
