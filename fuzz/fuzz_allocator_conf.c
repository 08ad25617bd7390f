/* The allocator's configuration: any text gives a policy that serves, or WF_VALUE. */
#include "fuzz.h"

#include <weft/sys/allocator.h>

static bool get(void *context, size_t bytes, uintptr_t *address) {
  uintptr_t *next = context;
  if (bytes > (size_t)1 << 40) return false;
  *address = *next;
  *next += (bytes + 4095) / 4096 * 4096;
  return true;
}

static void give(void *context, uintptr_t address, size_t bytes) { (void)context, (void)address, (void)bytes; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *conf = fuzz_text(data, size);
  uintptr_t next = (uintptr_t)1 << 40;
  wf_allocator_driver driver = {.context = &next, .get = get, .give = give};
  wf_allocator_options options = wf_allocator_defaults();
  options.conf = conf;
  wf_allocator *allocator = wf_allocator_new(&driver, &options);
  if (allocator) {
    wf_block *small = wf_block_new(allocator, 1000, 0), *large = wf_block_new(allocator, (size_t)30 << 20, 0);
    must(!small || wf_block_size(small) >= 1000);
    must(!large || wf_block_size(large) >= (size_t)30 << 20);
    wf_block_free(allocator, small);
    wf_block_free(allocator, large);
    wf_allocator_free(allocator);
  } else {
    must(wf_error_peek().status == WF_VALUE || wf_error_peek().status == WF_RUNTIME);
  }
  wf_error_take();
  free(conf);
  return 0;
}
