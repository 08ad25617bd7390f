/* Random numbers from Philox by element index: no state, so any split over threads and devices gives the same. Each element has 64 random
 * bits, whatever its dtype and distribution: half a counter. */
#include <math.h>

#include "base/convert.h"
#include "base/rng.h"
#include "kernel/tables.h"

#define PI 3.14159265358979323846

/* The two words of element i. */
static void words_of(const wf__random_args *a, int64_t i, uint32_t word[2]) {
  uint32_t four[4];
  wf__philox(a->seed, a->offset + (uint64_t)i / 2, 0, four);
  word[0] = four[2 * (i & 1)];
  word[1] = four[2 * (i & 1) + 1];
}

static void put(const wf__random_args *a, void *block, int64_t k, wf_scalar value) {
  wf__scalar_store(value, a->dtype, (char *)block + k * (int64_t)wf_dtype_size(a->dtype));
}

/* In [0, 1) with as many bits as the dtype's mantissa holds, so that no rounding makes a 1. */
static double unit_of(wf_dtype dtype, const uint32_t word[2]) {
  switch (dtype) {
    case WF_F16: return (double)(word[0] >> 21) * 0x1p-11;
    case WF_BF16: return (double)(word[0] >> 24) * 0x1p-8;
    case WF_F32: return wf__unit_float(word[0]);
    default: return wf__unit_double(word[0], word[1]);
  }
}

static void uniform(const wf__random_args *a, const double *probability, void *block, int64_t first, int64_t n) {
  (void)probability;
  for (int64_t k = 0; k < n; k++) {
    uint32_t word[2];
    words_of(a, first + k, word);
    char *element = (char *)block + k * (int64_t)wf_dtype_size(a->dtype);
    put(a, block, k, wf_float(a->low + unit_of(a->dtype, word) * (a->high - a->low)));
    /* Scaling may round up to the end of the range, which doesn't belong to it. */
    if (wf__scalar_load(a->dtype, element).as.f >= a->high) put(a, block, k, wf_float(a->low));
  }
}

/* Box and Muller's cosine branch: both words make one number. The logarithm's argument is never zero. */
static void normal(const wf__random_args *a, const double *probability, void *block, int64_t first, int64_t n) {
  (void)probability;
  for (int64_t k = 0; k < n; k++) {
    uint32_t word[2];
    words_of(a, first + k, word);
    double radius = sqrt(-2 * log(((double)word[0] + 1) * 0x1p-32)), angle = 2 * PI * ((double)word[1] * 0x1p-32);
    put(a, block, k, wf_float(a->low + a->high * (radius * cos(angle))));
  }
}

static void bernoulli(const wf__random_args *a, const double *probability, void *block, int64_t first, int64_t n) {
  for (int64_t k = 0; k < n; k++) {
    uint32_t word[2];
    words_of(a, first + k, word);
    double p = probability ? probability[k] : a->low;
    put(a, block, k, wf_int(wf__unit_double(word[0], word[1]) < p));
  }
}

/* The high half of a 128-bit product spreads 64 bits over the span evenly enough for any span below 2^32 and well beyond. */
static void integer(const wf__random_args *a, const double *probability, void *block, int64_t first, int64_t n) {
  (void)probability;
  for (int64_t k = 0; k < n; k++) {
    uint32_t word[2];
    words_of(a, first + k, word);
    uint64_t bits = (uint64_t)word[0] << 32 | word[1];
    uint64_t number = a->span ? (uint64_t)((unsigned __int128)bits * a->span >> 64) : bits;
    put(a, block, k, wf_int((int64_t)((uint64_t)a->first_integer + number)));
  }
}

void wf__random_ref(wf__kernels *table) {
  table->random[WF__RANDOM_UNIFORM] = uniform;
  table->random[WF__RANDOM_NORMAL] = normal;
  table->random[WF__RANDOM_BERNOULLI] = bernoulli;
  table->random[WF__RANDOM_INT] = integer;
}
