/* The order of samples in an epoch: a pure function of (count, shuffle, seed, epoch). */
#ifndef WF_DATA_SAMPLER_H
#define WF_DATA_SAMPLER_H
#include "base/host.h"
/* A fresh array of `count` indices; NULL on error. */
int64_t *wf__sample_order(int64_t count, bool shuffle, uint64_t seed, int64_t epoch);
#endif
