/* The table of kernels of one instruction set. ref/ fills every entry; each *.isa.c file then replaces those that it has better. */
#ifndef WF_KERNEL_TABLES_H
#define WF_KERNEL_TABLES_H

#include "base/cpu.h"
#include "kernel/kernel.h"

/* n consecutive elements of one dtype to another. dst and src are apart, or the same address when the element sizes are equal. */
typedef void (*wf__convert_fn)(void *dst, const void *src, int64_t n);
/* Elements of 2^k bytes, k the index in the table. `stride` is in bytes and may be 0 or negative. */
typedef void (*wf__gather_fn)(void *dst, const void *src, int64_t stride, int64_t n);
typedef void (*wf__scatter_fn)(void *dst, int64_t stride, const void *src, int64_t n);
/* dst[r][c] := src[c][r] for `rows` x `cols` elements of the destination; both fastest dims are consecutive, row strides in bytes.
 * stream: store past the cache; dst and its stride must then be multiples of 64. */
typedef void (*wf__transpose_fn)(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, int64_t rows, int64_t cols, bool stream);

#define WF__ELEMENT_SIZES 5 /* 1, 2, 4, 8, 16 bytes */

typedef struct wf__kernels {
  wf__convert_fn convert[WF_DTYPE_COUNT][WF_DTYPE_COUNT]; /* [from][to]; equal dtypes: a plain move */
  wf__gather_fn gather[WF__ELEMENT_SIZES];
  wf__scatter_fn scatter[WF__ELEMENT_SIZES];
  wf__transpose_fn transpose[WF__ELEMENT_SIZES];
  /* Copies bytes with stores past the cache. */
  void (*stream)(void *dst, const void *src, int64_t bytes);
  /* Fills bytes with the 64 bytes of `pattern`, its first byte at dst. stream: past the cache. */
  void (*fill)(void *dst, const void *pattern, int64_t bytes, bool stream);
} wf__kernels;

/* One line for each file of ref/ and its *.isa.c twin: wf__<group>_ref and wf__<group>_<isa> fill their part of the table.
 * R: only in ref/. */
#define WF__KERNEL_GROUPS(X, R) X(convert) X(move)

/* The table for the best instruction set that may be used. Never NULL. */
const wf__kernels *wf__kernels_now(void);
/* The table of one instruction set; the caller makes sure that the CPU has it. */
const wf__kernels *wf__kernels_of(wf__isa isa);

#endif
