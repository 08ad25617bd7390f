/* What this CPU can do, capped by WEFT_CPU_MAX=ref|base|avx2|avx512, and how many threads kernels use. */
#ifndef WF_BASE_CPU_H
#define WF_BASE_CPU_H
#include <weft/base.h>
typedef enum wf__isa { WF__ISA_REF = 0, WF__ISA_BASE = 1, WF__ISA_AVX2 = 2, WF__ISA_AVX512 = 3 } wf__isa;
/* The best instruction set that may be used. */
wf__isa wf__cpu_isa(void);
const char *wf__cpu_isa_name(wf__isa isa);
/* Memory is written and fetched ahead in other ways than on Intel's. */
bool wf__cpu_is_amd(void);
/* Cores that this process may run on. */
int wf__cpu_cores(void);
/* Bytes of the largest cache; streaming stores pay beyond it. */
size_t wf__cpu_cache_bytes(void);
#endif
