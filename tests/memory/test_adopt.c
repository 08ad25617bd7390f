/* Taking over segments that exist already, as histories recorded from the middle need it. */
#include "test.h"

#include "base/host.h"
#include "memory/fake_driver.h"

#define MIB ((size_t)1 << 20)

/* The driver must know the segment, as it will get it back. */
static uintptr_t given_before(fake_driver *d, size_t bytes) {
  uintptr_t address = 0;
  assert_true(fake_get(d, bytes, &address));
  d->gets = 0;
  return address;
}

static void the_gaps_between_used_blocks_are_free_blocks(void **state) {
  fake_driver d = {0};
  wf_allocator *a = fake_allocator(&d, NULL);
  uintptr_t at = given_before(&d, 20 * MIB);
  wf_adopted_block blocks[] = {{2 * MIB, 3 * MIB, 3 * MIB - 7}, {5 * MIB, MIB, MIB}};
  wf_adopted_segment segment = {
      .address = at, .size = 20 * MIB, .stream = 4, .large = true, .blocks = blocks, .block_count = 2};
  wf_block *out[2];
  assert_ok(wf_allocator_adopt(a, &segment, out));
  fake_check(a, &d);
  wf_allocator_stats s;
  wf_allocator_get_stats(a, &s);
  assert_int_equal(s.requested_bytes[2].current, 4 * MIB - 7);
  assert_int_equal(s.inactive_split_bytes[2].current, 16 * MIB);
  assert_int_equal(wf_block_address(out[1]), at + 5 * MIB);
  assert_int_equal(wf_block_address(wf_block_new(a, 3 * MIB, 4)), at + 6 * MIB); /* the gap of 2 MiB is too small */
  wf_block_free(a, out[0]);
  assert_int_equal(wf_block_address(wf_block_new(a, 5 * MIB, 4)), at);
  assert_int_equal(d.gets, 0);
  fake_check(a, &d);
  wf_allocator_free(a);
  assert_int_equal(d.out_count, 0);
}

static void an_expandable_segment_can_grow_behind_its_mapped_part(void **state) {
  fake_driver d = {0};
  wf_allocator *a = fake_allocator(&d, "expandable_segments:True");
  uintptr_t at = 0;
  assert_true(fake_reserve(&d, 20 * MIB + ((size_t)1 << 50), &at)); /* the space that is taken to follow */
  assert_true(fake_map(&d, at, 20 * MIB));
  wf_adopted_segment segment = {.address = at, .size = 20 * MIB, .large = true, .expandable = true};
  assert_ok(wf_allocator_adopt(a, &segment, NULL));
  fake_check(a, &d);
  assert_int_equal(wf_block_address(wf_block_new(a, 30 * MIB, 0)), at);
  assert_int_equal(d.used, 40 * MIB);
  assert_int_equal(d.space_count, 1);
  fake_check(a, &d);
  wf_allocator_free(a);
  assert_int_equal(d.used, 0);
}

static void blocks_that_do_not_fit_are_refused_and_nothing_changes(void **state) {
  static const wf_adopted_block misfits[][2] = {
      {{0, 1024, 1}, {512, 512, 1}},           /* overlap */
      {{0, 512, 1}, {2 * MIB - 512, 1024, 1}}, /* beyond the end */
      {{0, 512, 1}, {SIZE_MAX - 511, 1024, 1}},
      {{0, 512, 1}, {1024, 0, 0}},
  };
  fake_driver d = {0};
  wf_allocator *a = fake_allocator(&d, NULL);
  wf_block *out[2];
  for (size_t i = 0; i < sizeof misfits / sizeof *misfits; i++) {
    wf_adopted_segment segment = {.address = 1 << 20, .size = 2 * MIB, .blocks = misfits[i], .block_count = 2};
    assert_int_equal(wf_allocator_adopt(a, &segment, out), WF_VALUE);
    assert_error(WF_VALUE, "the blocks don't fit into the segment of 2097152 bytes");
  }
  fake_check(a, &d);
  wf_adopted_segment good = {
      .address = 1 << 20, .size = 2 * MIB, .blocks = (wf_adopted_block[]){{0, 512, 1}}, .block_count = 1};
  wf__fault_at(1);
  assert_int_equal(wf_allocator_adopt(a, &good, out), WF_NO_MEMORY);
  wf__fault_at(0);
  wf_error_take();
  fake_check(a, &d);
  wf_allocator_free(a);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_gaps_between_used_blocks_are_free_blocks),
    cmocka_unit_test(an_expandable_segment_can_grow_behind_its_mapped_part),
    cmocka_unit_test(blocks_that_do_not_fit_are_refused_and_nothing_changes),
};

WF_TEST_MAIN("memory/adopt", tests)
