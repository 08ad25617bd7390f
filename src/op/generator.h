/* Taking numbers from the process-wide generator. */
#ifndef WF_OP_GENERATOR_H
#define WF_OP_GENERATOR_H

#include <weft/random.h>

/* Sets `counters` counters aside and returns where they begin. */
wf_random_state wf__random_take(uint64_t counters);
/* The state as autograd keeps it for checkpoints: seed, offset. */
void wf__random_read(uint64_t state[2]);
void wf__random_write(const uint64_t state[2]);

#endif
