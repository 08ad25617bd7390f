/* How many threads kernels use, and the loop that splits work over them. The number is one atomic: read once a loop. */
#include "exec/threads.h"

#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <weft/trace.h>

#include "base/cpu.h"
#include "base/error.h"

#define MOST_THREADS 1024

static atomic_int threads; /* 0: not decided yet */

static int decide(void) {
  const char *asked = getenv("OMP_NUM_THREADS");
  long n = asked ? strtol(asked, NULL, 10) : 0; /* of a list for nested levels, the first counts */
  if (n < 1) n = wf__cpu_cores();
  return n > MOST_THREADS ? MOST_THREADS : (int)n;
}

int wf_num_threads(void) {
  int n = atomic_load_explicit(&threads, memory_order_relaxed);
  if (n) return n;
  int unset = 0, fresh = decide();
  return atomic_compare_exchange_strong(&threads, &unset, fresh) ? fresh : unset;
}

wf_status wf_set_num_threads(int n) {
  if (wf__self.pending) return wf__self.pending;
  WF__CHECK(n >= 1, WF_VALUE, "set_num_threads expects a positive integer");
  atomic_store(&threads, n > MOST_THREADS ? MOST_THREADS : n);
  return WF_OK;
}

/* ---- threads that come late ------------------------------------------------------------------------------------------------ */

/* A thread of the team that has used up its time where other programs want the cores, or that is woken on the core of the one that wakes it,
 * waits milliseconds for its turn, and all others with it. A loop that waited longer for them than it worked itself would have been as fast on
 * half as many threads; so the next ones take half, until REST times the time that was lost has been worked so. Then the whole team is tried
 * again, which costs an eighth at most. Two cores (Zen 5), 32 MiB copied each time, on average (docs/decisions.md has more): where the program
 * sleeps for 20 ms in between 6.0 ms before and 1.5 since, where another program is busy 3.8 and 1.8; on one thread 1.3. */
#define LATE_NS 1000000 /* to wake a thread that slept takes a tenth of this */
#define REST 8

static __thread struct {
  int most;     /* threads meanwhile */
  int64_t left; /* nanoseconds of work; none: the whole team */
} rest __attribute__((tls_model("initial-exec")));

static void note_times(int most, int64_t worked, int64_t waited) {
  if (rest.left > 0) rest.left -= worked;
  if (waited < LATE_NS || waited < worked) return;
  rest.most = most / 2;
  rest.left = REST * waited;
}

/* ---- loops ----------------------------------------------------------------------------------------------------------------- */

/* Returns the time at which the calling thread had done its own part. */
static int64_t run_ranges(int64_t n, int64_t step, int threads, wf__range_fn fn, void *context) {
  int64_t done = 0;
#pragma omp parallel num_threads(threads)
  {
    /* The runtime may give fewer threads than asked for; every range runs all the same. */
    for (int64_t i = omp_get_thread_num(); i * step < n; i += omp_get_num_threads()) {
      int64_t begin = i * step, end = begin + step < n ? begin + step : n;
      fn(context, begin, end);
    }
    if (omp_get_thread_num() == 0) done = wf_clock_ns();
  }
  return done;
}

void wf__parallel_aligned(int64_t n, int64_t grain, int64_t align, wf__range_fn fn, void *context) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  int64_t ranges = (n + grain - 1) / grain;
  int most = ranges > 1 && !omp_in_parallel() ? wf_num_threads() : 1;
  if (most == 1 || ranges == 1) {
    fn(context, 0, n);
    return;
  }
  if (rest.left > 0 && most > rest.most) most = rest.most;
  if (ranges > most) ranges = most;
  int64_t step = (n + ranges - 1) / ranges;
  step = (step + align - 1) / align * align;
  int64_t start = wf_clock_ns();
  if (ranges > 1) {
    int64_t done = run_ranges(n, step, (int)ranges, fn, context);
    note_times(most, done - start, wf_clock_ns() - done);
  } else {
    fn(context, 0, n);
    note_times(most, wf_clock_ns() - start, 0);
  }
}

/* ---- the team -------------------------------------------------------------------------------------------------------------- */

static __thread bool has_team __attribute__((tls_model("initial-exec")));

void wf__team_used(void) { has_team = true; }

void wf__team_release(void) {
  if (WF__LIKELY(!has_team)) return;
  has_team = false;
  omp_pause_resource_all(omp_pause_soft);
}

void wf__parallel(int64_t n, int64_t grain, wf__range_fn fn, void *context) {
  wf__parallel_aligned(n, grain, 1, fn, context);
}
