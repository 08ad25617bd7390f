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

/* Bytes of free blocks in private pools: reserved, but out of reach for everybody else. */
static size_t private_bytes(const wf_allocator *a) {
  size_t bytes = 0;
  for (const wf__private_pool *p = a->pools; p; p = p->next) {
    const wf__free_set *free[] = {&p->small.free, &p->large.free};
    for (int i = 0; i < 2; i++)
      for (wf__order_node *n = wf__free_set_first(free[i]); n; n = wf__free_set_after(free[i], &n->key))
        bytes += wf__block_of(n)->size;
  }
  return bytes;
}

/* What may help against memory that is reserved but in pieces. */
static const char *advice(const wf_allocator *a, bool cuda) {
  if (cuda && a->conf.expandable)
    return " expandable_segments is enabled. If instead the process is running out of virtual address space (VSZ), expandable segments "
           "may be over-reserving VA (each segment reserves ~9/8 of device memory, times the number of streams); reduce it via "
           "PYTORCH_CUDA_ALLOC_CONF expandable_segments_reserve / expandable_segments_reserve_by_class.";
  if (cuda)
    return " If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid "
           "fragmentation.  See documentation for Memory Management  "
           "(https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)";
  if (a->conf.expandable) return "";
  return a->driver.reserve
             ? " If reserved but unallocated memory is large try setting WEFT_ALLOC_CONF=expandable_segments:True to avoid "
               "fragmentation."
             : " If reserved but unallocated memory is large try setting WEFT_ALLOC_CONF=max_split_size_mb:128 to avoid "
               "fragmentation.";
}

wf_status wf__fail_out_of_memory(const wf_allocator *a, const wf__request *request) {
  bool cuda = strcmp(a->device_name, "CUDA") == 0;
  const char *library = cuda ? "PyTorch" : "Weft";
  size_t apart = private_bytes(a), allocated = (size_t)a->stats.allocated_bytes[0].current + apart;
  char size[SIZE_TEXT], total[SIZE_TEXT], left[SIZE_TEXT], allowed[SIZE_TEXT], used[SIZE_TEXT], hidden[SIZE_TEXT],
      unused[SIZE_TEXT];
  char capacity[160] = "", limit[64] = "", private_pools[96] = "";
  if (a->total)
    snprintf(capacity, sizeof capacity, " %.64s %d has a total capacity of %s of which %s is free.",
             cuda ? "GPU" : a->device_name, a->device_index, size_text(a->total, total),
             size_text(a->total > a->reserved ? a->total - a->reserved : 0, left));
  if (a->has_fraction) snprintf(limit, sizeof limit, "%s allowed; ", size_text(a->allowed, allowed));
  if (apart)
    snprintf(private_pools, sizeof private_pools, "with %s allocated in private pools (e.g., CUDA Graphs), ",
             size_text(apart, hidden));
  return wf__fail(
      WF_NO_MEMORY,
      "%s out of memory. Tried to allocate %s.%s %sOf the allocated memory %s is allocated by %s, %sand %s is reserved by "
      "%s but unallocated.%s",
      a->device_name, size_text(request->segment, size), capacity, limit, size_text(allocated, used), library,
      private_pools, size_text(a->reserved - allocated, unused), library, advice(a, cuda));
}
