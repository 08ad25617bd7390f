/* Random numbers: one generator for the process, counter-based. What a call draws depends on the seed and on the calls before it alone: it
 * is the same on every device, for every number of threads and every layout. */
#ifndef WEFT_RANDOM_H
#define WEFT_RANDOM_H

#include <weft/tensor.h>

WF_EXTERN_C_BEGIN

/* ---- the generator: (seed, offset). A call that draws n numbers moves the offset by (n + 1) / 2, rounded down; wf_randperm by n. ---- */

/** Starts the generator anew from `seed`. Any thread. Without it the seed is 67280421310721. */
WF_API wf_status wf_manual_seed(uint64_t seed);
/** The seed in use. */
WF_API uint64_t wf_initial_seed(void);
/** The generator's state, to be set again later: seed and offset. */
typedef struct wf_random_state {
  uint64_t seed, offset;
} wf_random_state;
/** Reads the state. */
WF_API wf_random_state wf_random_get_state(void);
/** Sets the state. */
WF_API void wf_random_set_state(wf_random_state state);

/* ---- new tensors; options NULL: all defaults ------------------------------------------------------------------------------------ */

/** New tensor of numbers uniform in [0, 1). Errors: WF_NOT_IMPLEMENTED for a dtype that isn't floating point. */
WF_API wf_tensor *wf_rand(wf_dims size, const wf_tensor_options *options);
/** New tensor of normal numbers, mean 0 and deviation 1. Errors as above. */
WF_API wf_tensor *wf_randn(wf_dims size, const wf_tensor_options *options);
/** New tensor of integers uniform in [low, high); int64 unless a dtype is given. Errors: WF_RUNTIME for an empty range, or one that the
 *  dtype can't hold. */
WF_API wf_tensor *wf_randint(int64_t low, int64_t high, wf_dims size, const wf_tensor_options *options);
/** New tensor [n]: a permutation of 0 to n - 1; int64 unless a dtype is given. Errors: WF_RUNTIME when n is negative or the dtype can't
 *  count so far. */
WF_API wf_tensor *wf_randperm(int64_t n, const wf_tensor_options *options);
/** New contiguous tensor of self's size: 1 with probability self[i], else 0. No gradient flows to self (zeros do). Errors:
 *  WF_NOT_IMPLEMENTED for a dtype that isn't floating point; WF_RUNTIME for a probability outside of 0 to 1. */
WF_API wf_tensor *wf_bernoulli(const wf_tensor *self);

/* ---- in place: version +1. Errors: WF_RUNTIME for a leaf that requires grad, and for memory that self shows twice ----------------- */

/** Numbers uniform in [low, high). Errors: WF_RUNTIME for bounds that the dtype can't hold or in the wrong order. */
WF_API wf_status wf_uniform_(wf_tensor *self, double low, double high);
/** Normal numbers. Errors: WF_RUNTIME for a negative deviation. */
WF_API wf_status wf_normal_(wf_tensor *self, double mean, double deviation);
/** 1 with that probability, else 0; any dtype. Errors: WF_RUNTIME for a probability outside of 0 to 1. */
WF_API wf_status wf_bernoulli_(wf_tensor *self, double probability);

WF_EXTERN_C_END
#endif
