/* WEFT_ALLOC_CONF reaches the allocator of an emulated accelerator, and a bad one keeps the device shut, in PyTorch's words. */
#include "test.h"

#include <stdlib.h>
#include <weft/memory.h>
#include "device/device.h"

static void a_bad_setting_keeps_the_device_shut_until_it_is_mended(void **state) {
  setenv("WEFT_SIM", "mem=64MiB", 1);
  setenv("WEFT_ALLOC_CONF", "max_split_size_mb:5", 1);
  assert_int_equal(wf_device_open(wf_sim(0)), WF_VALUE);
  assert_string_equal(wf_error_peek().hint,
                      "WEFT_ALLOC_CONF is 'max_split_size_mb:5'; docs/allocator.md lists its keys");
  assert_error(WF_VALUE, "CachingAllocator option max_split_size_mb too small, must be >= 20");
  wf_allocator_stats stats;
  assert_ok(wf_memory_stats(wf_cpu(), false, &stats)); /* the host doesn't look at it */
  setenv("WEFT_ALLOC_CONF", "roundup_power2_divisions:2", 1);
  assert_ok(wf_device_open(wf_sim(0)));
}

/* 5000 bytes lie between 4096 and 8192; with two divisions they become 6144, else 5120. */
static void the_setting_shapes_blocks_of_the_device_only(void **state) {
  wf_allocator_stats stats;
  for (int on_sim = 0; on_sim < 2; on_sim++) {
    wf__device *device = wf__device_get(on_sim ? wf_sim(0) : wf_cpu());
    wf__memory m;
    assert_ok(wf__memory_new(device, false, 5000, wf__stream_now(device), &m));
    assert_ok(wf_memory_stats(device->id, false, &stats));
    assert_int_equal(stats.allocated_bytes[0].current, on_sim ? 6144 : 5120);
    wf__memory_free(&m);
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_bad_setting_keeps_the_device_shut_until_it_is_mended),
    cmocka_unit_test(the_setting_shapes_blocks_of_the_device_only),
};

WF_TEST_MAIN("device/alloc_conf", tests)
