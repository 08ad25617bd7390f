/* Counter-based random numbers: Philox4x32-10. A draw is a pure function of (seed, counter), so any split over threads, devices
 * and workers gives the same numbers. */
#ifndef WF_BASE_RNG_H
#define WF_BASE_RNG_H
#include <stdint.h>
/* Four 32-bit words for counter (offset, subsequence) under `seed`. */
void wf__philox(uint64_t seed, uint64_t offset, uint64_t subsequence, uint32_t out[4]);
/* Uniform in [0, 1) with 24 and 53 bits. */
static inline float wf__unit_float(uint32_t w) { return (float)(w >> 8) * 0x1p-24f; }
static inline double wf__unit_double(uint32_t hi, uint32_t lo) {
  return (double)(((uint64_t)hi << 21) | (lo >> 11)) * 0x1p-53;
}
#endif
