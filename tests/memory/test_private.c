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

typedef struct pool_figures {
  int pools;
  uint64_t id;
  wf_stat reserved[3];
} pool_figures;

static void note_figures(uint64_t pool, const wf_stat reserved_bytes[3], void *context) {
  pool_figures *f = context;
  f->pools++;
  f->id = pool;
  memcpy(f->reserved, reserved_bytes, sizeof f->reserved);
}

/* In MiB: of all, the small and the large pool. */
static void figures_are(const wf_allocator *a, const int64_t expected[3][4]) {
  pool_figures f = {0};
  wf_allocator_pool_stats_each(a, note_figures, &f);
  assert_int_equal(f.pools, 1);
  assert_int_equal(f.id, 7);
  for (int pool = 0; pool < 3; pool++) {
    const wf_stat *s = &f.reserved[pool];
    assert_int_equal(s->current, expected[pool][0] << 20);
    assert_int_equal(s->peak, expected[pool][1] << 20);
    assert_int_equal(s->allocated, expected[pool][2] << 20);
    assert_int_equal(s->freed, expected[pool][3] << 20);
  }
}

/* Segments: 20 MiB for 3 MiB, 2 MiB for 1000 bytes, 30 MiB as asked for. PyTorch 2.15 gives these figures for the same calls. */
static void what_each_pool_reserves_is_counted_and_outlives_it(void **state) {
  fake_driver d = {0};
  wf_allocator *a = fake_allocator(&d, NULL);
  pool_figures none = {0};
  assert_ok(wf_allocator_pool_begin(a, 7, 0));
  wf_allocator_pool_stats_each(a, note_figures, &none); /* no memory yet */
  assert_int_equal(none.pools, 0);
  wf_block *x = wf_block_new(a, 3 * MIB, 0), *y = wf_block_new(a, 1000, 0);
  figures_are(a, (int64_t[3][4]){{22, 22, 22, 0}, {2, 2, 2, 0}, {20, 20, 20, 0}});
  wf_block_free(a, wf_block_new(a, 30 * MIB, 0));
  assert_ok(wf_allocator_pool_end(a, 7));
  wf_block *other = wf_block_new(a, 5 * MIB, 0); /* of the default pools */
  figures_are(a, (int64_t[3][4]){{52, 52, 52, 0}, {2, 2, 2, 0}, {50, 50, 50, 0}});
  fake_check(a, &d);
  wf_allocator_reset_accumulated(a);
  figures_are(a, (int64_t[3][4]){{52, 52, 0, 0}, {2, 2, 0, 0}, {50, 50, 0, 0}});
  wf_block_free(a, x);
  wf_block_free(a, y);
  assert_ok(wf_allocator_pool_release(a, 7));
  wf_allocator_empty_cache(a);
  figures_are(a, (int64_t[3][4]){{0, 52, 0, 52}, {0, 2, 0, 2}, {0, 50, 0, 50}});
  wf_allocator_reset_peak(a);
  figures_are(a, (int64_t[3][4]){{0, 0, 0, 52}, {0, 0, 0, 2}, {0, 0, 0, 50}});
  assert_ok(wf_allocator_pool_begin(a, 7, 0)); /* the number again: the figures go on */
  wf_block_free(a, wf_block_new(a, 1000, 0));
  assert_ok(wf_allocator_pool_end(a, 7));
  figures_are(a, (int64_t[3][4]){{2, 2, 2, 52}, {2, 2, 2, 2}, {0, 0, 0, 50}});
  wf_block_free(a, other);
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
    cmocka_unit_test(what_each_pool_reserves_is_counted_and_outlives_it),
    cmocka_unit_test(only_requests_of_the_begun_stream_are_routed),
    cmocka_unit_test(a_free_private_segment_goes_back_once_the_pool_has_no_user),
    cmocka_unit_test(of_two_begun_pools_the_later_one_serves_and_then_the_earlier),
};

WF_TEST_MAIN("memory/private", tests)
