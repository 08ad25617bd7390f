/* The normal form of a copy: what decides how it is done, whoever asks. */
#ifndef WF_COPY_FORM_H
#define WF_COPY_FORM_H

#include <weft/sys/plan.h>

/* Brings the operands of a COPY plan into normal form (the third and fourth, factors and shifts of a scaled copy, have equal strides): dims of size 1 are dropped, the rest ordered by the destination's
 * stride (fastest last; equal strides by the source's), and neighbours merged that are consecutive in every operand. Dims in which the
 * destination doesn't move (a fill of an expanded tensor) are dropped when there is no source. Sizes of 0 stay. */
void wf__copy_form(wf_plan *plan);
/* Whether a plan in normal form is one run of consecutive bytes on both sides, of one dtype. */
bool wf__copy_is_run(const wf_plan *plan);

#endif
