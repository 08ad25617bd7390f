/* What the error says when memory has run out: PyTorch's sentence, for "CUDA" character for character. Other devices are named in
 * the same places, and the settings are those that Weft reads. */
#include <stdio.h>
#include <string.h>

#include "memory/policy.h"

#define SIZE_TEXT 32

/* "512 bytes", "1.50 KiB", "20.00 MiB": a unit is kept up to 1024 of it. */
static const char *size_text(size_t bytes, char text[SIZE_TEXT]) {
  static const char *const units[] = {"KiB", "MiB", "GiB"};
  if (bytes <= 1024) {
    snprintf(text, SIZE_TEXT, "%zu bytes", bytes);
    return text;
  }
  double value = (double)bytes / 1024;
  int unit = 0;
  for (size_t limit = (size_t)1 << 20; unit < 2 && bytes > limit; limit <<= 10, unit++) value /= 1024;
  snprintf(text, SIZE_TEXT, "%.2f %s", value, units[unit]);
  return text;
}

wf_status wf__fail_out_of_memory(const wf_allocator *a, const wf__request *request) {
  bool cuda = strcmp(a->device_name, "CUDA") == 0;
  const char *library = cuda ? "PyTorch" : "Weft";
  size_t allocated = (size_t)a->stats.allocated_bytes[0].current;
  char size[SIZE_TEXT], total[SIZE_TEXT], left[SIZE_TEXT], allowed[SIZE_TEXT], used[SIZE_TEXT], unused[SIZE_TEXT];
  char capacity[160] = "", limit[64] = "";
  if (a->total)
    snprintf(capacity, sizeof capacity, " %.64s %d has a total capacity of %s of which %s is free.",
             cuda ? "GPU" : a->device_name, a->device_index, size_text(a->total, total),
             size_text(a->total > a->reserved ? a->total - a->reserved : 0, left));
  if (a->has_fraction) snprintf(limit, sizeof limit, "%s allowed; ", size_text(a->allowed, allowed));
  const char *advice = cuda ? " If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True "
                              "to avoid fragmentation.  See documentation for Memory Management  "
                              "(https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)"
                            : " If reserved but unallocated memory is large try setting WEFT_ALLOC_CONF=max_split_size_mb:128 "
                              "to avoid fragmentation.";
  return wf__fail(WF_NO_MEMORY,
                  "%s out of memory. Tried to allocate %s.%s %sOf the allocated memory %s is allocated by %s, and %s is reserved by %s "
                  "but unallocated.%s",
                  a->device_name, size_text(request->segment, size), capacity, limit, size_text(allocated, used), library,
                  size_text(a->reserved - allocated, unused), library, advice);
}
