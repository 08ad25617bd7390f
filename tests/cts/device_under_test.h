/* What tests of devices share: memory on a device, plans that fill and copy it, and reading it back. Elements are int32. */
#ifndef WF_TESTS_DEVICE_UNDER_TEST_H
#define WF_TESTS_DEVICE_UNDER_TEST_H

#include "test.h"

#include <stdlib.h>

#include <weft/device.h>
#include <weft/memory.h>
#include "device/device.h"
#include "memory/pool.h"

static inline wf__memory device_memory(wf__device *d, int64_t n) {
  wf__memory m;
  assert_ok(wf__memory_new(d, false, (size_t)n * 4, wf__stream_now(d), &m));
  return m;
}
static inline wf__memory pinned_memory(wf__device *d, int64_t n) {
  wf__memory m;
  assert_ok(wf__memory_new(d, true, (size_t)n * 4, wf__stream_now(d), &m));
  return m;
}

static inline wf_plan plan_over(void *dst, void *src, int64_t n) {
  wf_plan p = {.family = WF_FAMILY_COPY, .operands = src ? 2 : 1, .outputs = 1, .ndim = 1, .size = {n}};
  p.operand[0] = (wf_operand){.data = dst, .dtype = WF_I32, .stride = {4}};
  p.operand[1] = (wf_operand){.data = src, .dtype = src ? WF_I32 : WF_DTYPE_NONE, .stride = {4}};
  p.tag.bytes_read = src ? n * 4 : 0;
  p.tag.bytes_written = n * 4;
  return p;
}

/* m[0 … n) := value, on the current stream. */
static inline void fill(wf__device *d, const wf__memory *m, int64_t n, int32_t value) {
  wf_plan p = plan_over(m->address, NULL, n);
  p.scalar[0] = wf_int(value);
  assert_ok(wf__launch(d, &p));
}
/* dst[0 … n) := src[0 … n) by a kernel, on the current stream. */
static inline void copy(wf__device *d, const wf__memory *dst, const wf__memory *src, int64_t n) {
  wf_plan p = plan_over(dst->address, src->address, n);
  assert_ok(wf__launch(d, &p));
}

static inline wf_status move(wf__device *d, wf_direction direction, void *dst, const void *src, int64_t n, bool pinned,
                             bool blocking) {
  wf_transfer t = {.direction = direction, .dst = dst, .src = src, .bytes = (size_t)n * 4, .host_pinned = pinned};
  return wf__transfer(d, &t, blocking);
}
static inline void upload(wf__device *d, const wf__memory *dst, const int32_t *src, int64_t n) {
  assert_ok(move(d, WF_HOST_TO_DEVICE, dst->address, src, n, false, false));
}

/* All n elements are `value`; reads them on the current stream. */
static inline void expect_all(wf__device *d, const wf__memory *m, int64_t n, int32_t value) {
  int32_t *host = malloc((size_t)n * 4);
  memset(host, 0x5a, (size_t)n * 4);
  assert_ok(move(d, WF_DEVICE_TO_HOST, host, m->address, n, false, false));
  for (int64_t i = 0; i < n; i++)
    if (host[i] != value) fail_msg("element %lld is %d, not %d", (long long)i, host[i], value);
  free(host);
}

static inline int32_t *counted(int64_t n, int32_t from) {
  int32_t *host = malloc((size_t)n * 4);
  for (int64_t i = 0; i < n; i++) host[i] = from + (int32_t)i;
  return host;
}

#endif
