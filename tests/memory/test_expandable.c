/* Expandable segments by arithmetic: pages of 2 MiB in the small pool, of 20 MiB in the large one, in address space of 9/8 of the
 * device's memory. */
#include "test.h"

#include "base/error.h"
#include "memory/fake_driver.h"

#define MIB ((size_t)1 << 20)

static void a_segment_grows_by_whole_pages_and_blocks_lie_end_to_end(void **state) {
  fake_driver d = {.limit = 800 * MIB};
  wf_allocator *a = fake_allocator(&d, "expandable_segments:True");
  wf_block *x = wf_block_new(a, 3 * MIB, 0), *y = wf_block_new(a, 30 * MIB, 0);
  assert_int_equal(d.gets, 0);
  assert_int_equal(d.space_count, 1);
  assert_int_equal(d.spaces[0].bytes, 900 * MIB); /* 45 pages */
  assert_int_equal(d.used, 40 * MIB);
  assert_int_equal(wf_block_address(y), wf_block_address(x) + 3 * MIB);
  wf_block *small = wf_block_new(a, 1, 0);
  assert_int_equal(d.space_count, 2);
  assert_int_equal(d.used, 42 * MIB);
  /* 3 MiB free in front of a used block: the first page can't go, nor is anything split by the statistics */
  wf_block_free(a, x);
  wf_allocator_stats s;
  wf_allocator_get_stats(a, &s);
  assert_int_equal(s.inactive_split[0].current, 0);
  assert_int_equal(s.segment[0].current, 0);
  assert_int_equal(s.device_alloc, 3);
  wf_allocator_empty_cache(a);
  assert_int_equal(d.unmaps, 0);
  fake_check(a, &d);
  /* all of it free: every page goes, and the space with the last one */
  wf_block_free(a, y);
  wf_block_free(a, small);
  wf_allocator_empty_cache(a);
  assert_int_equal(d.used, 0);
  assert_int_equal(d.space_count, 0);
  fake_check(a, &d);
  wf_allocator_free(a);
}

/* Blocks [0,25) free, [25,30) used: of the pages [0,20) and [20,40), only the first is free as a whole. */
static void whole_pages_inside_a_free_block_go_and_the_rest_stays(void **state) {
  fake_driver d = {.limit = 400 * MIB};
  wf_allocator *a = fake_allocator(&d, "expandable_segments:True");
  wf_block *x = wf_block_new(a, 25 * MIB, 0), *y = wf_block_new(a, 15 * MIB, 0);
  uintptr_t base = wf_block_address(x);
  wf_block_free(a, x);
  wf_allocator_empty_cache(a);
  assert_int_equal(d.unmaps, 1);
  assert_int_equal(d.used, 20 * MIB);
  assert_int_equal(wf_block_address(wf_block_new(a, 5 * MIB, 0)), base + 20 * MIB);
  assert_int_equal(wf_block_address(wf_block_new(a, 5 * MIB, 0)), base); /* the hole gets its page again */
  assert_int_equal(d.used, 40 * MIB);
  fake_check(a, &d);
  wf_block_free(a, y);
  wf_allocator_free(a);
  assert_int_equal(d.used, 0);
}

/* A request that begins a segment takes three records: of the block, of what it was cut from, and of the space without memory. Whatever
 * number is left over, there must be one for each. */
static void every_segment_has_records_for_all_of_its_blocks(void **state) {
  fake_driver d = {.limit = 800 * MIB};
  wf_allocator *a = fake_allocator(&d, "expandable_segments:True");
  for (int before = 0; before < 3; before++) /* and one record less to begin with */
    assert_non_null(wf_block_new(a, 3 * MIB, 100));
  for (uint64_t stream = 1; stream < 34; stream++) assert_non_null(wf_block_new(a, 3 * MIB, stream));
  fake_check(a, &d);
  wf_allocator_free(a);
  assert_int_equal(d.used, 0);
}

static void count_warning(wf_log_level level, const char *text, void *context) {
  assert_int_equal(level, WF_LOG_WARNING);
  assert_string_equal(text, "expandable_segments not supported on this platform");
  ++*(int *)context;
}

static void a_driver_without_address_space_warns_and_uses_ordinary_segments(void **state) {
  fake_driver d = {0};
  wf_allocator_driver driver = {.context = &d, .get = fake_get, .give = fake_give};
  int warnings = 0;
  wf_log_set(count_warning, &warnings);
  wf_allocator *a = wf_allocator_new(&driver, &(wf_allocator_options){.conf = "expandable_segments:True"});
  wf_log_set(NULL, NULL);
  assert_int_equal(warnings, 1);
  assert_non_null(wf_block_new(a, 100, 0));
  assert_int_equal(d.gets, 1);
  wf_allocator_free(a);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_segment_grows_by_whole_pages_and_blocks_lie_end_to_end),
    cmocka_unit_test(whole_pages_inside_a_free_block_go_and_the_rest_stays),
    cmocka_unit_test(every_segment_has_records_for_all_of_its_blocks),
    cmocka_unit_test(a_driver_without_address_space_warns_and_uses_ordinary_segments),
};

WF_TEST_MAIN("memory/expandable", tests)
