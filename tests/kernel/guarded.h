/* Buffers whose surroundings tell when a kernel writes beside its range, and random contents that hold the hard cases. */
#ifndef WF_TESTS_KERNEL_GUARDED_H
#define WF_TESTS_KERNEL_GUARDED_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <weft/dtype.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include "base/convert.h"
#include "base/cpu.h"

#define GUARD_BYTES 256
#define GUARD_VALUE 0xA5

typedef struct guarded {
  unsigned char *whole;
  char *data; /* `offset` bytes past a 64-byte boundary */
  size_t bytes;
} guarded;

static inline guarded guarded_new(size_t bytes, size_t offset) {
  guarded g = {.bytes = bytes};
  size_t total = bytes + 2 * GUARD_BYTES + 64;
  g.whole = aligned_alloc(64, (total + 63) / 64 * 64);
  memset(g.whole, GUARD_VALUE, total);
  g.data = (char *)g.whole + GUARD_BYTES + offset;
  return g;
}

static inline bool guarded_intact(const guarded *g) {
  const unsigned char *p = g->whole, *data = (const unsigned char *)g->data;
  for (; p < data; p++)
    if (*p != GUARD_VALUE) return false;
  for (p = data + g->bytes; p < data + g->bytes + GUARD_BYTES / 2; p++)
    if (*p != GUARD_VALUE) return false;
  return true;
}

static inline void guarded_free(guarded *g) { free(g->whole); }

/* xorshift64*: the tests need the same numbers everywhere. */
static inline uint64_t random_next(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * 0x2545F4914F6CDD1Dull;
}

/* Random bits for integers; floats are a mix of small numbers, halves between integers, huge ones, infinities, NaN, zeros, subnormals. */
static inline double random_number(uint64_t *state) {
  uint64_t r = random_next(state);
  double unit = (double)(r >> 11) * 0x1p-53;
  switch (r % 16) {
    case 0: return r & 256 ? 0.0 : -0.0;
    case 1: return (double)(int64_t)(r >> 40) - 8388608 + 0.5;
    case 2: return r & 256 ? INFINITY : -INFINITY;
    case 3: return NAN;
    case 4: return (unit - 0.5) * 0x1p40;
    case 5: return (unit - 0.5) * 0x1p70;
    case 6: return (unit - 0.5) * 1e-40;
    case 7: return (unit - 0.5) * 1e-7;
    case 8: return (unit - 0.5) * 65536 * 2.01;
    default: return (unit - 0.5) * 600;
  }
}

static inline void random_fill(void *data, wf_dtype dtype, int64_t n, uint64_t *state) {
  for (int64_t i = 0; i < n; i++) {
    char *element = (char *)data + i * (int64_t)wf_dtype_size(dtype);
    if (wf_dtype_is_float(dtype)) wf__scalar_store(wf_float(random_number(state)), dtype, element);
    else if (dtype == WF_BOOL) *(uint8_t *)element = random_next(state) & 1;
    else wf__scalar_store(wf_int((int64_t)random_next(state) >> random_next(state) % 56), dtype, element);
  }
}

/* The best instruction set of this CPU, whatever WEFT_CPU_MAX says, and found without the library. */
static inline wf__isa best_isa(void) {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  bool f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C); /* clang 14 has no name for this feature */
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    return WF__ISA_AVX512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && f16c) return WF__ISA_AVX2;
  return WF__ISA_BASE;
#else
  return WF__ISA_REF;
#endif
}

#endif
