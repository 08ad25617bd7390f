/* What a device's caching allocator does with a few tensors: what is reserved, what of it is allocated, and why. */
#include <stdio.h>
#include <weft/weft.h>

#define MIB 1048576.0

static void show(const char *what) {
  wf_allocator_stats s;
  if (wf_memory_stats(wf_cpu(), false, &s) != WF_OK) return;
  printf("%-24s allocated %5.3f MiB (peak %5.3f), reserved %2.0f MiB in %d segments\n", what,
         (double)s.allocated_bytes[0].current / MIB, (double)s.allocated_bytes[0].peak / MIB,
         (double)s.reserved_bytes[0].current / MIB, (int)s.segment[0].current);
}

static void show_block(const wf_block_view *block, void *context) {
  static const char *const states[] = {"allocated", "pending", "free"};
  (void)context;
  if (block->large)
    printf("  at %7zu: %8zu bytes %s\n", (size_t)(block->address - block->segment_address), block->size,
           states[block->state]);
}

static wf_tensor *floats(int64_t count) {
  static const float values[2 << 20];
  return wf_from_data(values, WF_SHAPE(count), WF_F32);
}

int main(void) {
  wf_tensor *small = floats(1000); /* 4000 bytes: a block of 4096 in the small pool */
  show("4000 bytes");
  wf_tensor *large = floats(2 << 20); /* 8 MiB: a block in the large pool */
  show("and 8 MiB");
  wf_free(large);
  show("the 8 MiB freed"); /* the segment stays for whoever asks next */
  large = floats(3 << 19); /* 6 MiB fit into it */
  show("6 MiB instead");
  wf_memory_walk(wf_cpu(), false, show_block, NULL);
  wf_memory_empty_cache(wf_cpu()); /* each segment holds something, so none goes */
  show("empty_cache");
  wf_free(large);
  wf_memory_empty_cache(wf_cpu()); /* the large one is unused now */
  show("freed, and empty_cache");
  wf_free(small);
  wf_error error = wf_error_take();
  if (error.status) fprintf(stderr, "%s\n", error.text);
  return error.status != WF_OK;
}
