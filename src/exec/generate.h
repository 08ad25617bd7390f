/* Writing numbers that depend on their index: what ranges and random draws share. */
#ifndef WF_EXEC_GENERATE_H
#define WF_EXEC_GENERATE_H

#include <weft/sys/plan.h>

#define WF__GENERATE_BLOCK 512 /* most elements that are asked for at a time: 4 KiB of f64 */

/* Writes elements [first, first + n), row-major over the plan's sizes, to consecutive places. Runs on any thread of the team. */
typedef void (*wf__generate_fn)(const void *context, void *block, int64_t first, int64_t n);
/* Fills operand 0 of the plan, whatever its strides, split over the team. */
void wf__generate(const wf_plan *plan, wf__generate_fn fn, const void *context);

#endif
