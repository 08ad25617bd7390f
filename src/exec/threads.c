/* How many threads kernels use, and the loop that splits work over them. The number is one atomic: read once a loop. */
#include "exec/threads.h"

#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>

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

void wf__parallel_aligned(int64_t n, int64_t grain, int64_t align, wf__range_fn fn, void *context) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  int64_t ranges = (n + grain - 1) / grain;
  if (ranges > 1 && !omp_in_parallel()) {
    int most = wf_num_threads();
    if (ranges > most) ranges = most;
  } else {
    ranges = 1;
  }
  if (ranges == 1) {
    fn(context, 0, n);
    return;
  }
  int64_t step = (n + ranges - 1) / ranges;
  step = (step + align - 1) / align * align;
#pragma omp parallel num_threads((int)ranges)
  {
    /* The runtime may give fewer threads than asked for; every range runs all the same. */
    for (int64_t i = omp_get_thread_num(); i * step < n; i += omp_get_num_threads()) {
      int64_t begin = i * step, end = begin + step < n ? begin + step : n;
      fn(context, begin, end);
    }
  }
}

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
