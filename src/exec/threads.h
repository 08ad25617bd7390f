/* The one team of threads that kernels on host memory are split over (OpenMP's; a second team beside it measured 1.5 times slower). */
#ifndef WF_EXEC_THREADS_H
#define WF_EXEC_THREADS_H

#include <weft/base.h>

/* Elements below which a loop of cheap arithmetic isn't worth a team: PyTorch's grain, so that results split alike. */
#define WF__GRAIN 32768

/* Works on [begin, end). Runs on any thread of the team: no error records, no thread-local state; failures go into the context. */
typedef void (*wf__range_fn)(void *context, int64_t begin, int64_t end);

/* Cuts [0, n) into at most wf_num_threads() even ranges of at least `grain` and calls fn for each, returning when all are done. Serial on
 * the calling thread when one range is left or when called from inside a team. n 0: nothing. */
void wf__parallel(int64_t n, int64_t grain, wf__range_fn fn, void *context);
/* The same with every inner boundary on a multiple of `align`, so that two threads never write to one cache line. */
void wf__parallel_aligned(int64_t n, int64_t grain, int64_t align, wf__range_fn fn, void *context);
/* Gives up this thread's team if it ran a plan since it last did. For a thread that hands its work to another: OpenMP lets the waiting
 * threads of a team sleep at once as soon as all teams together outnumber the cores, and each loop then begins by waking them (the CNN of
 * `weft train` on the emulator: 150 us a kernel on 2 cores, 0.86 of the host's images/s instead of 0.97). */
void wf__team_release(void);
/* Notes that this thread may have a team now. */
void wf__team_used(void);

#endif
