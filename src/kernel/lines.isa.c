/* Stores past the cache for those who make their results block by block. */
#include "kernel/lanes.h"
#include "kernel/tables.h"

#define LINE 64

static inline void store_line(char *dst, const char *src) {
  for (int64_t i = 0; i < LINE; i += 4 * WF__LANES)
    wf__stream_f32((float *)(dst + i), wf__load((const float *)(src + i)));
}

static void past_cache(void *dst, const void *src, int64_t bytes) {
  char *d = dst;
  const char *s = src;
  int64_t head = (int64_t)(-(uintptr_t)d % LINE), i = head < bytes ? head : bytes;
  if (i) memcpy(d, s, (size_t)i);
  for (; i + LINE <= bytes; i += LINE) store_line(d + i, s + i);
  if (i < bytes) memcpy(d + i, s + i, (size_t)(bytes - i));
}

static void drain(void) {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

void WFK(wf__lines)(wf__kernels *table) {
  table->past_cache = past_cache;
  table->drain = drain;
}
