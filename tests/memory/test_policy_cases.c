/* Faults that other caching allocators had, each as the smallest history that shows it. R… is its number in the list of faults seen in
 * the wild; others of the list are in test_policy.c, test_pool.c, test_at_hand.c and tests/audit/test_history.c. */
#include "test.h"

#include "memory/fake_driver.h"

#define MIB ((size_t)1 << 20)

static wf_allocator_stats stats_of(const wf_allocator *a) {
  wf_allocator_stats s;
  wf_allocator_get_stats(a, &s);
  return s;
}

/* R090. All the memory is one pending block, the request larger than it: only the whole segment given back lets the driver serve it. */
static void the_last_resort_waits_for_pending_blocks_and_gives_their_segments_back(void **state) {
  fake_driver d = {.limit = 64 * MIB};
  wf_allocator *a = fake_allocator(&d, NULL);
  wf_block *x = wf_block_new(a, 40 * MIB, 1);
  assert_ok(wf_block_record_stream(a, x, 2));
  wf_block_free(a, x);
  wf_block *y = wf_block_new(a, 60 * MIB, 1);
  assert_non_null(y);
  assert_int_equal(d.waits, 1);
  assert_int_equal(d.gives, 1);
  assert_int_equal(stats_of(a).alloc_retries, 1);
  assert_int_equal(stats_of(a).ooms, 0);
  fake_check(a, &d);
  wf_allocator_free(a);
  assert_int_equal(d.out_count, 0);
}

/* R092. A cached block above the split limit lies in a segment that grows: its pages can be unmapped, never handed back as a whole segment. */
static void under_a_split_limit_blocks_of_growing_segments_are_unmapped(void **state) {
  fake_driver d = {.limit = 800 * MIB};
  wf_allocator *a = fake_allocator(&d, "expandable_segments:True,max_split_size_mb:500");
  wf_block_free(a, wf_block_new(a, 550 * MIB, 1));
  int served = 0;
  while (wf_block_new(a, 110 * MIB, 2)) served++; /* another stream, which the cached block can't serve */
  assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
  assert_int_equal(served, 7);
  assert_int_equal(d.gives, 0);
  assert_true(d.unmaps >= 1);
  fake_check(a, &d);
  wf_allocator_free(a);
  assert_int_equal(d.used, 0);
  assert_int_equal(d.space_count, 0);
}

/* R097, and the next. */
static void a_request_in_a_private_pool_may_have_what_the_default_pools_cached(void **state) {
  fake_driver d = {.limit = 80 * MIB};
  wf_allocator *a = fake_allocator(&d, NULL);
  wf_block_free(a, wf_block_new(a, 60 * MIB, 0));
  assert_ok(wf_allocator_pool_begin(a, 7, 0));
  wf_block *x = wf_block_new(a, 70 * MIB, 0);
  assert_non_null(x);
  assert_int_equal(d.gives, 1);
  fake_check(a, &d);
  wf_allocator_free(a);
}

static void but_not_what_a_private_pool_in_use_has_cached(void **state) {
  fake_driver d = {.limit = 80 * MIB};
  wf_allocator *a = fake_allocator(&d, NULL);
  assert_ok(wf_allocator_pool_begin(a, 7, 0));
  wf_block_free(a, wf_block_new(a, 60 * MIB, 0));
  assert_null(wf_block_new(a, 70 * MIB, 0));
  assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
  assert_int_equal(d.gives, 0);
  fake_check(a, &d);
  wf_allocator_free(a);
}

/* R100. PyTorch's streams keep their free blocks apart for good. What makes room for half of everything is that the segments of both go back. */
static void memory_freed_on_two_streams_serves_a_request_of_half_of_it(void **state) {
  enum { BLOCKS = 1000 };
  fake_driver d = {.limit = BLOCKS / 4 * 2 * MIB};
  wf_allocator *a = fake_allocator(&d, NULL);
  wf_block *blocks[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) assert_non_null(blocks[i] = wf_block_new(a, MIB / 2, 1 + i % 2));
  assert_int_equal(d.used, d.limit);
  for (int i = 0; i < BLOCKS; i++) wf_block_free(a, blocks[i]);
  assert_non_null(wf_block_new(a, d.limit / 2, 1));
  assert_int_equal(d.gives, BLOCKS / 4);
  fake_check(a, &d);
  wf_allocator_free(a);
}

static void none_is_negative(const wf_allocator *a) {
  wf_allocator_stats s = stats_of(a);
  const wf_stat *each = (const wf_stat *)(const void *)&s; /* every wf_stat comes before the counters */
  for (size_t i = 0; i < offsetof(wf_allocator_stats, alloc_retries) / sizeof(wf_stat); i++)
    assert_true(each[i].current >= 0 && each[i].allocated >= 0 && each[i].freed >= 0);
}

/* R105. */
static void statistics_never_go_below_zero_and_end_there(void **state) {
  static const char *const confs[] = {NULL, "expandable_segments:True", "max_split_size_mb:32"};
  for (size_t i = 0; i < 3; i++) {
    fake_driver d = {0};
    wf_allocator *a = fake_allocator(&d, confs[i]);
    wf_block *quarter[4];
    for (int k = 0; k < 4; k++) quarter[k] = wf_block_new(a, 4 * MIB, 0);
    static const int order[] = {0, 2, 1};
    for (int k = 0; k < 3; k++) {
      wf_block_free(a, quarter[order[k]]);
      none_is_negative(a);
    }
    wf_allocator_empty_cache(a); /* one block still holds the segment */
    none_is_negative(a);
    wf_block_free(a, quarter[3]);
    none_is_negative(a);
    wf_allocator_empty_cache(a);
    wf_allocator_stats s = stats_of(a);
    for (int pool = 0; pool < 3; pool++) {
      assert_int_equal(s.reserved_bytes[pool].current, 0);
      assert_int_equal(s.active_bytes[pool].current, 0);
      assert_int_equal(s.inactive_split[pool].current, 0);
      assert_int_equal(s.inactive_split_bytes[pool].current, 0);
    }
    wf_allocator_free(a);
  }
}

typedef struct seen {
  wf_allocator_event at[16];
  int n;
} seen;

static seen everything;
static void note_all(void *context, const wf_allocator_event *event) { everything.at[everything.n++ % 16] = *event; }

static wf_allocator *watched(fake_driver *d) {
  everything.n = 0;
  wf_allocator_driver driver = {.context = d,
                                .get = fake_get,
                                .give = fake_give,
                                .record = fake_record,
                                .query = fake_query,
                                .wait = fake_wait,
                                .observe = note_all};
  return wf_allocator_new(&driver, NULL);
}

/* R110. */
static void every_event_names_the_pool_of_its_memory(void **state) {
  fake_driver d = {0};
  wf_allocator *a = watched(&d);
  wf_block *outside = wf_block_new(a, 100, 0);
  assert_ok(wf_allocator_pool_begin(a, 5, 0));
  wf_block *inside = wf_block_new(a, 100, 0);
  assert_ok(wf_allocator_pool_end(a, 5));
  wf_block_free(a, inside);
  wf_block_free(a, outside);
  assert_ok(wf_allocator_pool_release(a, 5));
  wf_allocator_empty_cache(a);
  static const bool private[] = {false, false, true, true, true, true, false, false, false, true};
  assert_int_equal(everything.n, 10);
  for (int i = 0; i < 10; i++) {
    assert_int_equal(everything.at[i].private_pool, private[i]);
    assert_int_equal(everything.at[i].pool, private[i] ? 5 : 0);
  }
  wf_allocator_free(a);
}

/* R111. Whoever leaves out that a free was requested still hears that it was completed, with the same place and size. */
static void a_deferred_free_is_reported_when_requested_and_when_completed(void **state) {
  fake_driver d = {0};
  wf_allocator *a = watched(&d);
  wf_block *x = wf_block_new(a, 700, 1);
  uintptr_t where = wf_block_address(x);
  assert_ok(wf_block_record_stream(a, x, 2));
  wf_block_free(a, x);
  assert_int_equal(everything.n, 3);
  assert_int_equal(everything.at[2].action, WF_ACTION_FREE_REQUESTED);
  fake_pass(&d, 2);
  wf_block_new(a, 100, 1);
  assert_int_equal(everything.at[3].action, WF_ACTION_FREE_COMPLETED);
  for (int i = 2; i < 4; i++) {
    assert_int_equal(everything.at[i].address, where);
    assert_int_equal(everything.at[i].size, 700);
    assert_int_equal(everything.at[i].stream, 1);
  }
  wf_allocator_free(a);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_last_resort_waits_for_pending_blocks_and_gives_their_segments_back),
    cmocka_unit_test(under_a_split_limit_blocks_of_growing_segments_are_unmapped),
    cmocka_unit_test(a_request_in_a_private_pool_may_have_what_the_default_pools_cached),
    cmocka_unit_test(but_not_what_a_private_pool_in_use_has_cached),
    cmocka_unit_test(memory_freed_on_two_streams_serves_a_request_of_half_of_it),
    cmocka_unit_test(statistics_never_go_below_zero_and_end_there),
    cmocka_unit_test(every_event_names_the_pool_of_its_memory),
    cmocka_unit_test(a_deferred_free_is_reported_when_requested_and_when_completed),
};

WF_TEST_MAIN("memory/policy_cases", tests)
