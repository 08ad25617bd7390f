/* CPU features, cores, caches. */
#define _GNU_SOURCE
#include "base/cpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/log.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static wf__isa best;
static bool amd;
static size_t
    cache_bytes; /* asked for once: on a virtual machine each CPUID instruction is a trap of tens of microseconds */

static const char *const names[] = {"ref", "base", "avx2", "avx512"};

#if defined(__x86_64__)
/* clang 14 has no name for this feature. */
static bool has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

static wf__isa detect(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    return WF__ISA_AVX512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c()) return WF__ISA_AVX2;
  return WF__ISA_BASE;
#else
  return WF__ISA_REF;
#endif
}

static bool is_amd(void) {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd");
#else
  return false;
#endif
}

static size_t largest_cache(void) {
  long n = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (n <= 0) n = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return n > 0 ? (size_t)n : (size_t)8 << 20;
}

static void init(void) {
  best = detect();
  amd = is_amd();
  cache_bytes = largest_cache();
  const char *cap = getenv("WEFT_CPU_MAX");
  if (!cap) return;
  int i = WF__ISA_REF;
  while (i <= WF__ISA_AVX512 && strcmp(cap, names[i])) i++;
  if (i > WF__ISA_AVX512)
    wf__log(WF_LOG_WARNING, "WEFT_CPU_MAX is '%.40s', none of ref, base, avx2, avx512: ignored", cap);
  else if ((wf__isa)i < best) best = (wf__isa)i;
}

wf__isa wf__cpu_isa(void) {
  pthread_once(&once, init);
  return best;
}

const char *wf__cpu_isa_name(wf__isa isa) { return (unsigned)isa < sizeof names / sizeof *names ? names[isa] : "?"; }

bool wf__cpu_is_amd(void) {
  pthread_once(&once, init);
  return amd;
}

int wf__cpu_cores(void) {
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set) && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? (int)n : 1;
}

size_t wf__cpu_cache_bytes(void) {
  pthread_once(&once, init);
  return cache_bytes;
}
