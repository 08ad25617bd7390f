/* Memory of a device as its caching allocator sees it. */
#ifndef WEFT_MEMORY_H
#define WEFT_MEMORY_H

#include <weft/device.h>
#include <weft/sys/allocator.h>

WF_EXTERN_C_BEGIN

typedef struct wf_tensor wf_tensor; /* weft/tensor.h */

/** Statistics of the device's allocator; of pinned host memory when `pinned`. wf_allocator_stats_each names them as PyTorch does. Of
 *  cpu `active` is the same as `allocation`, and peaks of small sizes are, with several threads, what they were at most.
 *  Errors: WF_DEVICE when it can't be opened. */
WF_API wf_status wf_memory_stats(wf_device device, bool pinned, wf_allocator_stats *stats);
/** Sets every peak of the device's statistics to the present value. */
WF_API wf_status wf_memory_reset_peak(wf_device device);
/** Gives cached, unused segments back, after waiting for deferred frees. Sync. Other threads give back what they keep at hand of
 *  cpu (at most 1 MiB each) when they next make or free a tensor. */
WF_API wf_status wf_memory_empty_cache(wf_device device);
/** At most so many bytes that nobody uses are kept from now on: the oldest whole segments go back first. SIZE_MAX: no limit, the
 *  default of accelerators; of cpu it is a quarter of the machine's memory, or what WEFT_CPU_MEMORY says. */
WF_API wf_status wf_memory_set_cache_limit(wf_device device, size_t bytes);
/** At most this share (0 to 1) of the device's memory may be reserved. */
WF_API wf_status wf_memory_set_fraction(wf_device device, double fraction);
/** The tensor's memory is used on `stream` as well: freeing waits for what is queued there by then. */
WF_API wf_status wf_record_stream(wf_tensor *tensor, wf_stream *stream);
/** Walks the allocator's blocks; see wf_allocator_walk. */
WF_API wf_status wf_memory_walk(wf_device device, bool pinned, void (*fn)(const wf_block_view *, void *),
                                void *context);

WF_EXTERN_C_END
#endif
