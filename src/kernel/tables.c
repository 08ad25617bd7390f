/* Builds the tables, once, lowest instruction set first: each starts as a copy of the one below it. What fills a table is compiled for that
 * instruction set like the kernels themselves, so tables beyond the CPU's stay copies. */
#include "kernel/tables.h"

#include <pthread.h>
#include <stdatomic.h>

#define WF_NOTHING(name)
#define WF_GROUP(name) void wf__##name##_ref(wf__kernels *table);
WF__KERNEL_GROUPS(WF_GROUP, WF_GROUP, WF_NOTHING)
#undef WF_GROUP
#if defined(__x86_64__)
#define WF_GROUP(name)                        \
  void wf__##name##_base(wf__kernels *table); \
  void wf__##name##_avx2(wf__kernels *table); \
  void wf__##name##_avx512(wf__kernels *table);
WF__KERNEL_GROUPS(WF_GROUP, WF_NOTHING, WF_GROUP)
#undef WF_GROUP
#endif

const wf_dtype wf__class_dtype[WF__PW_CLASSES] = {
    [WF__CLASS_F32] = WF_F32, [WF__CLASS_F64] = WF_F64, [WF__CLASS_I64] = WF_I64, [WF__CLASS_I32] = WF_I32,
    [WF__CLASS_I16] = WF_I16, [WF__CLASS_I8] = WF_I8,   [WF__CLASS_U8] = WF_U8};
const uint8_t wf__pointwise_arity[WF__PW_COUNT] = {
#define WF_X(NAME, arity) arity,
    WF__POINTWISE_OPS(WF_X)
#undef WF_X
};

static wf__kernels tables[WF__ISA_AVX512 + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void build(void) {
#define WF_GROUP(name) wf__##name##_ref(&tables[WF__ISA_REF]);
  WF__KERNEL_GROUPS(WF_GROUP, WF_GROUP, WF_NOTHING)
#undef WF_GROUP
  for (int isa = WF__ISA_BASE; isa <= WF__ISA_AVX512; isa++) tables[isa] = tables[WF__ISA_REF];
#if defined(__x86_64__)
#define WF_GROUP(name) wf__##name##_base(&tables[WF__ISA_BASE]);
  WF__KERNEL_GROUPS(WF_GROUP, WF_NOTHING, WF_GROUP)
#undef WF_GROUP
  tables[WF__ISA_AVX2] = tables[WF__ISA_BASE];
#define WF_GROUP(name) wf__##name##_avx2(&tables[WF__ISA_AVX2]);
  if (wf__cpu_isa() >= WF__ISA_AVX2) {
    WF__KERNEL_GROUPS(WF_GROUP, WF_NOTHING, WF_GROUP)
  }
#undef WF_GROUP
  tables[WF__ISA_AVX512] = tables[WF__ISA_AVX2];
#define WF_GROUP(name) wf__##name##_avx512(&tables[WF__ISA_AVX512]);
  if (wf__cpu_isa() >= WF__ISA_AVX512) {
    WF__KERNEL_GROUPS(WF_GROUP, WF_NOTHING, WF_GROUP)
  }
#undef WF_GROUP
#endif
}

const wf__kernels *wf__kernels_of(wf__isa isa) {
  pthread_once(&once, build);
  return &tables[isa];
}

/* Asked for by every plan: one load once it is known. */
const wf__kernels *wf__kernels_now(void) {
  static const wf__kernels *_Atomic now;
  const wf__kernels *kernels = atomic_load_explicit(&now, memory_order_acquire);
  if (kernels) return kernels;
  kernels = wf__kernels_of(wf__cpu_isa());
  atomic_store_explicit(&now, kernels, memory_order_release);
  return kernels;
}
