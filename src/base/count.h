/* Reference counts. Atomic, but for what costs: an atomic addition takes 8 ns, whoever else there is.
 *
 * While the process has one thread, as libc knows, counts are added to as plain numbers: what libstdc++ does in shared_ptr. Whoever starts
 * a thread passes on everything that was done before. And a count of 1 is the caller's own: nobody else can add to it. */
#ifndef WF_BASE_COUNT_H
#define WF_BASE_COUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__has_include) && !defined(__SANITIZE_THREAD__)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define WF__ONE_THREAD (__libc_single_threaded != 0)
#endif
#endif
#ifndef WF__ONE_THREAD
#define WF__ONE_THREAD false
#endif

#define WF__COUNT(NAME, COUNT, T)                                                                                \
  static inline void wf__count_up##NAME(COUNT *count, T n) {                                                     \
    if (WF__ONE_THREAD)                                                                                          \
      atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + n, memory_order_relaxed); \
    else atomic_fetch_add_explicit(count, n, memory_order_relaxed);                                              \
  }                                                                                                              \
  /* True when nothing is left. */                                                                               \
  static inline bool wf__count_down##NAME(COUNT *count, T n) {                                                   \
    T now = atomic_load_explicit(count, memory_order_acquire);                                                   \
    if (now == n) return true;                                                                                   \
    if (!WF__ONE_THREAD) return atomic_fetch_sub_explicit(count, n, memory_order_acq_rel) == n;                  \
    atomic_store_explicit(count, now - n, memory_order_relaxed);                                                 \
    return false;                                                                                                \
  }
WF__COUNT(, atomic_int, int)
WF__COUNT(_short, _Atomic uint32_t, uint32_t)
WF__COUNT(_wide, _Atomic uint64_t, uint64_t)
#undef WF__COUNT

#endif
