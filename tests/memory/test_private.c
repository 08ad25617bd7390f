/* Private pools: who is routed where, what is kept apart, and when it goes back. */
#include "test.h"

#include "memory/fake_driver.h"

#define MIB ((size_t)1 << 20)

static void begin_and_end_out_of_turn_are_refused_in_the_words_of_pytorch(void **state) {
  fake_driver d = {0};
  wf_allocator *a = fake_allocator(&d, NULL);
  assert_ok(wf_allocator_pool_begin(a, 5, 0));
  assert_int_equal(wf_allocator_pool_begin(a, 5, 1), WF_RUNTIME);
  assert_error(WF_RUNTIME, "beginAllocateToPool: already recording to mempool_id");
  assert_ok(wf_allocator_pool_end(a, 5));
  assert_int_equal(wf_allocator_pool_end(a, 5), WF_RUNTIME);
  assert_error(WF_RUNTIME, "endAllocatePool: not currently recording to mempool_id");
  assert_ok(wf_allocator_pool_release(a, 5));
  assert_int_equal(wf_allocator_pool_release(a, 5), WF_RUNTIME);
  wf_error_take();
  wf_allocator_free(a);
}

static void only_requests_of_the_begun_stream_are_routed(void **state) {
  fake_driver d = {0};
  wf_allocator *a = fake_allocator(&d, NULL);
  wf_block *x = wf_block_new(a, 3 * MIB, 0);
  uintptr_t cached = wf_block_address(x);
  wf_block_free(a, x);
  assert_ok(wf_allocator_pool_begin(a, 1, 0));
  wf_block *y = wf_block_new(a, 3 * MIB, 0); /* the cached block isn't for it */
  assert_int_equal(d.gets, 2);
  wf_block *z = wf_block_new(a, 3 * MIB, 1); /* another stream: default pools */
  assert_int_equal(d.gets, 3);
  uintptr_t mine = wf_block_address(y);
  wf_block_free(a, y);
  assert_ok(wf_allocator_pool_end(a, 1));
  assert_int_equal(wf_block_address(wf_block_new(a, 3 * MIB, 0)), cached); /* and the private one isn't for others */
  assert_int_not_equal(mine, cached);
  wf_block_free(a, z);
  fake_check(a, &d);
  wf_allocator_free(a);
}

/* 40 MiB in all: 20 lie free in a private pool. Out of reach for a request of the default pool until the pool has no user. */
static void a_free_private_segment_goes_back_once_the_pool_has_no_user(void **state) {
  fake_driver d = {.limit = 40 * MIB};
  wf_allocator *a = fake_allocator(&d, NULL);
  assert_ok(wf_allocator_pool_begin(a, 1, 0));
  wf_block_free(a, wf_block_new(a, 20 * MIB, 0));
  assert_ok(wf_allocator_pool_end(a, 1));
  assert_null(wf_block_new(a, 30 * MIB, 0));
  assert_error(
      WF_NO_MEMORY,
      "CUDA out of memory. Tried to allocate 30.00 MiB. GPU 0 has a total capacity of 40.00 MiB of which 20.00 MiB is free. "
      "Of the allocated memory 20.00 MiB is allocated by PyTorch, with 20.00 MiB allocated in private pools (e.g., CUDA Graphs), "
      "and 0 bytes is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  "
      "(https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)");
  wf_allocator_empty_pool(a, 1); /* in use: nothing happens */
  assert_int_equal(d.gives, 0);
  assert_ok(wf_allocator_pool_release(a, 1));
  assert_non_null(wf_block_new(a, 30 * MIB, 0));
  assert_int_equal(d.gives, 1);
  fake_check(a, &d);
  wf_allocator_free(a);
}

static void of_two_begun_pools_the_later_one_serves_and_then_the_earlier(void **state) {
  fake_driver d = {0};
  wf_allocator *a = fake_allocator(&d, NULL);
  assert_ok(wf_allocator_pool_begin(a, 1, 0));
  wf_block *first = wf_block_new(a, 100, 0);
  assert_ok(wf_allocator_pool_begin(a, 2, 0));
  wf_block *second = wf_block_new(a, 100, 0);
  assert_ok(wf_allocator_pool_end(a, 2));
  wf_block *third = wf_block_new(a, 100, 0);
  assert_int_equal(wf_block_address(third), wf_block_address(first) + 512);
  assert_int_not_equal(wf_block_address(second), wf_block_address(third) + 512);
  assert_int_equal(d.gets, 2);
  wf_allocator_free(a);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(begin_and_end_out_of_turn_are_refused_in_the_words_of_pytorch),
    cmocka_unit_test(only_requests_of_the_begun_stream_are_routed),
    cmocka_unit_test(a_free_private_segment_goes_back_once_the_pool_has_no_user),
    cmocka_unit_test(of_two_begun_pools_the_later_one_serves_and_then_the_earlier),
};

WF_TEST_MAIN("memory/private", tests)
