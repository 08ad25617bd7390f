/* Which OpenBLAS runs, and with which kernels.
 *
 * OpenBLAS chooses its kernels from a list of CPU models. One that is newer than the library isn't in it and gets the oldest kernels,
 * whatever the CPU can do: a Xeon of model 207 ran 0.3.21 with SSE3 at 55 GFlop/s instead of 240. So where the choice ignores AVX2 or
 * AVX-512, it is made again when Weft is loaded, by the features that the CPU reports. OPENBLAS_CORETYPE, if the user set it, stands. */
#define _GNU_SOURCE
#include "exec/blas.h"

#ifdef WF_HAVE_OPENBLAS
#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"

/* Exported by builds that choose at run time, but in no header. */
void gotoblas_dynamic_init(void) __attribute__((weak));
void gotoblas_dynamic_quit(void) __attribute__((weak));

static bool core_is_one_of(const char *const *names) {
  const char *core = openblas_get_corename();
  for (; *names; names++)
    if (!strcmp(core, *names)) return true;
  return false;
}

__attribute__((constructor)) static void choose_core_by_features(void) {
  static const char *const with_avx512[] = {"SkylakeX", "Cooperlake", "SapphireRapids", "Zen",
                                            NULL}; /* Zen: its own choice for AMD */
  static const char *const with_avx2[] = {"Haswell",        "Zen", "Excavator", "SkylakeX", "Cooperlake",
                                          "SapphireRapids", NULL};
  if (!gotoblas_dynamic_init || !gotoblas_dynamic_quit || getenv("OPENBLAS_CORETYPE")) return;
  wf__isa isa = wf__cpu_isa();
  if (isa < WF__ISA_AVX2 || core_is_one_of(isa >= WF__ISA_AVX512 ? with_avx512 : with_avx2)) return;
  setenv("OPENBLAS_CORETYPE", isa >= WF__ISA_AVX512 ? "SkylakeX" : "Haswell", 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv("OPENBLAS_CORETYPE");
}

const char *wf__blas_core(void) { return openblas_get_corename(); }

const char *wf__blas_threading(void) {
  switch (openblas_get_parallel()) {
    case OPENBLAS_OPENMP: return "OpenMP";
    case OPENBLAS_THREAD: return "pthreads";
    default: return "sequential";
  }
}

#else

const char *wf__blas_core(void) { return "none"; }
const char *wf__blas_threading(void) { return "none"; }

#endif
