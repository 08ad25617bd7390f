/* Calls into libraries that split their work over OpenMP threads themselves. They use the calling thread's own setting, which belongs to
 * the program around Weft: it is set to wf_num_threads() for the call and put back. */
#ifndef WF_EXEC_TEAM_H
#define WF_EXEC_TEAM_H

#include <omp.h>
#include <weft/base.h>

static inline int wf__team_enter(void) {
  int was = omp_get_max_threads(), now = wf_num_threads();
  if (was != now) omp_set_num_threads(now);
  return was;
}
static inline void wf__team_leave(int was) {
  if (was != omp_get_max_threads()) omp_set_num_threads(was);
}

#endif
