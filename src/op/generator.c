/* The process-wide generator: a seed, and how far the numbers under it have been used up. */
#include "op/generator.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static wf_random_state state = {67280421310721u, 0}; /* PyTorch's default seed */

wf_random_state wf__random_take(uint64_t counters) {
  pthread_mutex_lock(&lock);
  wf_random_state taken = state;
  state.offset += counters;
  pthread_mutex_unlock(&lock);
  return taken;
}

wf_random_state wf_random_get_state(void) { return wf__random_take(0); }

void wf_random_set_state(wf_random_state given) {
  pthread_mutex_lock(&lock);
  state = given;
  pthread_mutex_unlock(&lock);
}

wf_status wf_manual_seed(uint64_t seed) {
  wf_random_set_state((wf_random_state){seed, 0});
  return WF_OK;
}

uint64_t wf_initial_seed(void) { return wf_random_get_state().seed; }

void wf__random_read(uint64_t out[2]) {
  wf_random_state now = wf_random_get_state();
  out[0] = now.seed;
  out[1] = now.offset;
}
void wf__random_write(const uint64_t in[2]) { wf_random_set_state((wf_random_state){in[0], in[1]}); }
