/* Shuffling by counter-based draws, so that the order never depends on who draws when. */
#include "data/sampler.h"

#include "base/rng.h"

/* Keeps the loader's draws apart from those of wf_manual_seed with the same seed. */
#define SAMPLER_STREAM 0x73616d706c6572ull

/* Uniform in [0, n): the high half of a 64x64 product; the bias is below 2^-32 for any dataset that fits in memory. */
static int64_t draw_below(uint64_t n, uint64_t seed, int64_t epoch, int64_t i) {
  uint32_t word[4];
  wf__philox(seed ^ SAMPLER_STREAM, (uint64_t)i, (uint64_t)epoch, word);
  uint64_t bits = (uint64_t)word[0] << 32 | word[1];
  return (int64_t)(uint64_t)(((unsigned __int128)bits * n) >> 64);
}

int64_t *wf__sample_order(int64_t count, bool shuffle, uint64_t seed, int64_t epoch) {
  int64_t *order = wf__malloc((size_t)count * sizeof *order);
  if (!order) return NULL;
  for (int64_t i = 0; i < count; i++) order[i] = i;
  if (!shuffle) return order;
  for (int64_t i = count - 1; i > 0; i--) { /* Fisher and Yates */
    int64_t j = draw_below((uint64_t)i + 1, seed, epoch, i), kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
  return order;
}
