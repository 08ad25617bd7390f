/* The caching-allocator policy by arithmetic, under failing host memory, and by random calls against what is obvious: nothing
 * overlaps, blocks tile their segments, the best fit is the smallest that is large enough, statistics are the sums of a walk. */
#include "test.h"

#include "base/host.h"
#include "memory/fake_driver.h"

#define MIB ((size_t)1 << 20)

static wf_allocator_stats stats_of(const wf_allocator *a) {
  wf_allocator_stats s;
  wf_allocator_get_stats(a, &s);
  return s;
}

/* R107. */
static void requests_of_one_byte_and_513_count_514_and_1536_bytes(void **state) {
  fake_driver d = {0};
  wf_allocator *a = fake_allocator(&d, NULL);
  wf_block *x = wf_block_new(a, 1, 0), *y = wf_block_new(a, 513, 0);
  wf_allocator_stats s = stats_of(a);
  assert_int_equal(s.requested_bytes[0].current, 514);
  assert_int_equal(s.allocated_bytes[0].current, 512 + 1024);
  wf_allocator_reset_peak(a);
  assert_int_equal(stats_of(a).requested_bytes[0].peak, 514);
  wf_block_free(a, x);
  wf_block_free(a, y);
  s = stats_of(a);
  assert_int_equal(s.requested_bytes[0].current, 0);
  assert_int_equal(s.requested_bytes[0].peak, 514);
  assert_int_equal(s.requested_bytes[0].allocated, 514);
  wf_allocator_reset_peak(a);
  assert_int_equal(stats_of(a).requested_bytes[0].peak, 0);
  assert_int_equal(stats_of(a).requested_bytes[0].freed, 514);
  wf_allocator_reset_accumulated(a);
  s = stats_of(a);
  assert_int_equal(s.requested_bytes[0].allocated, 0);
  assert_int_equal(s.requested_bytes[0].freed, 0);
  assert_int_equal(s.device_alloc, 0);
  assert_int_equal(s.reserved_bytes[0].current, 2 * MIB);
  wf_allocator_free(a);
  assert_int_equal(d.out_count, 0);
}

/* R094. One segment of 32 MiB cut in four; the free quarters 0 and 2 add up to 16 MiB, but no piece of it fits. */
static void free_bytes_in_pieces_do_not_serve_a_request_until_they_join(void **state) {
  fake_driver d = {.limit = 32 * MIB};
  wf_allocator *a = fake_allocator(&d, "large_segment_size_mb:32");
  wf_block *quarter[4];
  for (int i = 0; i < 4; i++) quarter[i] = wf_block_new(a, 8 * MIB, 0);
  assert_int_equal(d.gets, 1);
  wf_block_free(a, quarter[0]);
  wf_block_free(a, quarter[2]);
  assert_null(wf_block_new(a, 16 * MIB, 0));
  assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
  wf_allocator_stats s = stats_of(a);
  assert_int_equal(s.inactive_split_bytes[0].current, 16 * MIB);
  assert_int_equal(s.inactive_split[0].current, 2);
  assert_int_equal(s.ooms, 1);
  uintptr_t first = d.out[0].address;
  wf_block_free(a, quarter[1]);
  wf_block *joined = wf_block_new(a, 16 * MIB, 0);
  assert_int_equal(wf_block_address(joined), first);
  fake_check(a, &d);
  wf_allocator_free(a);
}

static void a_block_used_on_another_stream_is_reused_only_after_that_stream_passed(void **state) {
  fake_driver d = {0};
  wf_allocator *a = fake_allocator(&d, NULL);
  wf_block *x = wf_block_new(a, 3000, 1);
  uintptr_t where = wf_block_address(x);
  assert_ok(wf_block_record_stream(a, x, 2));
  assert_ok(wf_block_record_stream(a, x, 2)); /* twice is once */
  assert_ok(wf_block_record_stream(a, x, 1)); /* its own stream doesn't count */
  wf_block_free(a, x);
  assert_int_equal(d.marks, 1);
  wf_block *y = wf_block_new(a, 3000, 1);
  assert_int_not_equal(wf_block_address(y), where);
  fake_check(a, &d);
  fake_pass(&d, 2);
  wf_block *z = wf_block_new(a, 3000, 1);
  assert_int_equal(wf_block_address(z), where);
  assert_int_equal(d.retired, 1);
  wf_allocator_free(a);
}

static void without_events_a_driver_frees_at_once(void **state) {
  fake_driver d = {0};
  wf_allocator_driver driver = {.context = &d, .get = fake_get, .give = fake_give};
  wf_allocator *a = wf_allocator_new(&driver, NULL);
  wf_block *x = wf_block_new(a, 100, 0);
  assert_ok(wf_block_record_stream(a, x, 5));
  wf_block_free(a, x);
  assert_int_equal(stats_of(a).active[0].current, 0);
  wf_allocator_free(a);
  driver.record = fake_record; /* but not query and wait */
  assert_null(wf_allocator_new(&driver, NULL));
  assert_int_equal(wf_error_take().status, WF_VALUE);
}

static void marks_still_out_are_waited_for_when_the_allocator_ends(void **state) {
  fake_driver d = {0};
  wf_allocator *a = fake_allocator(&d, NULL);
  wf_block *x = wf_block_new(a, 100, 0);
  assert_ok(wf_block_record_stream(a, x, 1));
  assert_ok(wf_block_record_stream(a, x, 2));
  wf_block_free(a, x);
  wf_allocator_free(a);
  assert_int_equal(d.waits, 2);
  assert_int_equal(d.retired, d.marks);
  assert_int_equal(d.out_count, 0);
}

static void no_bytes_are_no_block_and_an_absurd_request_says_so(void **state) {
  fake_driver d = {0};
  wf_allocator *a = fake_allocator(&d, NULL);
  assert_null(wf_block_new(a, 0, 0));
  assert_int_equal(wf_error_peek().status, WF_OK);
  assert_null(wf_block_new(a, (size_t)1 << 60, 0));
  assert_error(WF_NO_MEMORY, "CUDA out of memory. Tried to allocate more than 1EB memory.");
  assert_null(wf_block_new(a, SIZE_MAX, 0));
  assert_error(WF_NO_MEMORY, "CUDA out of memory. Tried to allocate more than 1EB memory.");
  assert_int_equal(d.gets, 0);
  assert_non_null(wf_block_new(a, 1, 0));
  wf_allocator_free(a);
}

static void a_fraction_outside_0_to_1_is_refused_and_changes_nothing(void **state) {
  fake_driver d = {.limit = 100 * MIB};
  wf_allocator *a = fake_allocator(&d, NULL);
  assert_int_equal(wf_allocator_set_fraction(a, 1.5), WF_VALUE);
  assert_error(WF_VALUE, "Invalid fraction value: 1.5. Allowed range: 0~1");
  assert_int_equal(wf_allocator_set_fraction(a, -1), WF_VALUE);
  assert_error(WF_VALUE, "Invalid fraction value: -1.0. Allowed range: 0~1");
  assert_int_equal(wf_allocator_set_fraction(a, 0.0 / 0.0), WF_VALUE);
  wf_error_take();
  assert_non_null(wf_block_new(a, 90 * MIB, 0));
  wf_allocator_free(a);
}

static void the_fraction_may_stand_in_the_configuration(void **state) {
  fake_driver d = {.limit = 100 * MIB};
  wf_allocator *a = fake_allocator(&d, "per_process_memory_fraction:0.5");
  assert_null(wf_block_new(a, 60 * MIB, 0));
  wf_error_take();
  assert_int_equal(d.gets, 0); /* the driver isn't even asked */
  assert_non_null(wf_block_new(a, 50 * MIB, 0));
  wf_allocator_free(a);
}

static void another_device_is_named_in_the_error(void **state) {
  fake_driver d = {.limit = 64 * MIB};
  wf_allocator_driver driver = {.context = &d, .get = fake_get, .give = fake_give};
  wf_allocator_options options = {.device_name = "sim", .device_index = 1, .total_bytes = 64 * MIB};
  wf_allocator *a = wf_allocator_new(&driver, &options);
  wf_block *x = wf_block_new(a, 30 * MIB, 0);
  assert_null(wf_block_new(a, 35 * MIB, 0));
  assert_error(
      WF_NO_MEMORY,
      "sim out of memory. Tried to allocate 36.00 MiB. sim 1 has a total capacity of 64.00 MiB of which 34.00 MiB is free. "
      "Of the allocated memory 30.00 MiB is allocated by Weft, and 0 bytes is reserved by Weft but unallocated. "
      "If reserved but unallocated memory is large try setting WEFT_ALLOC_CONF=max_split_size_mb:128 to avoid fragmentation.");
  wf_block_free(a, x);
  wf_allocator_free(a);
}

/* The observer gets the driver's context, whose first member is the fake driver. */
typedef struct observed {
  fake_driver driver;
  char log[400];
} observed;

static void observe(void *context, const wf_allocator_event *e) {
  char *log = ((observed *)context)->log;
  snprintf(log + strlen(log), 400 - strlen(log), "%c%zu@%d ", "AFCSGMUO"[e->action], e -> size, (int)e -> stream);
}

static void everything_that_happens_is_observed_in_order(void **state) {
  observed o = {.driver.limit = 8 * MIB};
  wf_allocator_driver driver = {.context = &o,
                                .get = fake_get,
                                .give = fake_give,
                                .record = fake_record,
                                .query = fake_query,
                                .wait = fake_wait,
                                .observe = observe};
  wf_allocator *a = wf_allocator_new(&driver, NULL);
  wf_block *x = wf_block_new(a, 700, 3);
  assert_ok(wf_block_record_stream(a, x, 1));
  wf_block_free(a, x);
  assert_null(wf_block_new(a, 9 * MIB, 3));
  wf_error_take();
  wf_allocator_free(a);
  assert_string_equal(o.log, "S2097152@3 A700@3 F700@3 C700@3 G2097152@3 O9437184@3 ");
}

/* ---- failing host memory --------------------------------------------------------------------------------------------- */

/* A bit of everything; what fails is skipped over. */
static void scenario(wf_allocator *a, fake_driver *d) {
  wf_block *held[60] = {0};
  for (int i = 0; i < 60; i++) {
    if (i % 20 == 10) (void)wf_allocator_pool_begin(a, 7, 1);
    held[i] = wf_block_new(a, (size_t)(i + 1) * 70000, (uint64_t)(i % 3));
    if (held[i]) (void)wf_block_record_stream(a, held[i], (uint64_t)(i % 5));
    wf_error_take();
    if (i % 20 == 19 && wf_allocator_pool_end(a, 7) == WF_OK) assert_ok(wf_allocator_pool_release(a, 7));
    wf_error_take(); /* it wasn't begun */
    if (i % 4 == 3) {
      wf_block_free(a, held[i - 2]);
      held[i - 2] = NULL;
    }
    if (i % 16 == 0) fake_pass(d, (uint64_t)(i % 5));
    fake_check(a, d);
  }
  wf_allocator_empty_cache(a);
  for (int i = 0; i < 60; i++) wf_block_free(a, held[i]);
  wf_allocator_empty_cache(a);
  fake_check(a, d);
  assert_int_equal(d->used, 0);
}

static void fail_each_allocation_in_turn(const char *conf) {
  int64_t needed = 1;
  for (int64_t k = 0; k <= needed; k++) { /* k 0: nothing fails, and tells how many there are */
    fake_driver d = {.limit = 200 * MIB};
    wf__fault_at(k);
    wf_allocator *a = fake_allocator(&d, conf);
    if (a) scenario(a, &d);
    else assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
    if (!k) needed = wf__fault_count();
    wf__fault_at(0);
    wf_allocator_free(a);
    assert_int_equal(d.out_count + d.space_count, 0);
    assert_int_equal(d.marks, d.retired);
  }
  assert_true(needed > 5);
}

static void whichever_allocation_of_the_host_fails_everything_stays_valid(void **state) {
  fail_each_allocation_in_turn("max_split_size_mb:32,garbage_collection_threshold:0.5,per_process_memory_fraction:0.9");
  fail_each_allocation_in_turn("expandable_segments:True");
}

/* ---- random calls ------------------------------------------------------------------------------------------------------ */

typedef struct live {
  wf_block *block;
  size_t asked;
  uint64_t stream;
} live;

typedef struct fit {
  size_t want, best;
  uint64_t stream;
  bool large;
  uintptr_t at_best[64];
  int count;
} fit;

/* The smallest free block of the stream and pool that is large enough, by looking at all. */
static void look_for_fit(const wf_block_view *v, void *context) {
  fit *f = context;
  if (v->state != WF_BLOCK_FREE || v->stream != f->stream || v->large != f->large || v->size < f->want ||
      v->size > f->best)
    return;
  if (v->size < f->best) f->count = 0;
  f->best = v->size;
  if (f->count < 64) f->at_best[f->count++] = v->address;
}

static uint32_t draw(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

static size_t draw_size(uint32_t *seed) {
  uint32_t kind = draw(seed) % 8;
  if (kind < 4) return 1 + draw(seed) % 5000;
  if (kind < 6) return 1 + draw(seed) % (1 << 20);
  return 1 + draw(seed) % (13 << 20);
}

static void take_one(wf_allocator *a, fake_driver *d, live *slot, uint32_t *seed) {
  slot->asked = draw_size(seed);
  slot->stream = draw(seed) % 3;
  size_t want = (slot->asked + 511) / 512 * 512;
  fit f = {.want = want, .best = SIZE_MAX, .stream = slot->stream, .large = want > MIB};
  wf_allocator_walk(a, look_for_fit, &f);
  int gets = d->gets;
  slot->block = wf_block_new(a, slot->asked, slot->stream);
  if (!slot->block) {
    assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
    return;
  }
  assert_true(wf_block_size(slot->block) >= want);
  wf_block_set_owner(slot->block, slot);
  if (!f.count) return; /* pending blocks may have become free in the call, or a new segment was needed */
  assert_int_equal(d->gets, gets);
  bool found = false;
  for (int i = 0; i < f.count; i++) found |= f.at_best[i] == wf_block_address(slot->block);
  assert_true(found);
}

enum { LIVE = 120 };

/* One call. With `streams`, blocks are used on others as well, so the best fit isn't known beforehand. */
static void random_call(wf_allocator *a, fake_driver *d, live *slot, uint32_t *seed, bool streams) {
  if (!slot->block && !streams) {
    take_one(a, d, slot, seed);
  } else if (!slot->block) {
    slot->block = wf_block_new(a, draw_size(seed), draw(seed) % 3);
    wf_error_take();
  } else {
    for (uint32_t n = streams ? draw(seed) % 3 : 0; n; n--)
      assert_ok(wf_block_record_stream(a, slot->block, draw(seed) % 5));
    wf_block_free(a, slot->block);
    slot->block = NULL;
  }
}

static void random_pool_call(wf_allocator *a, uint32_t *seed) {
  uint64_t pool = draw(seed) % 3;
  switch (draw(seed) % 4) {
    case 0: (void)wf_allocator_pool_begin(a, pool, draw(seed) % 3); break;
    case 1: (void)wf_allocator_pool_end(a, pool); break;
    case 2: (void)wf_allocator_pool_release(a, pool); break;
    default: wf_allocator_empty_pool(a, pool);
  }
  wf_error_take(); /* half of them come at the wrong time */
}

static void play_at_random(uint32_t seed, size_t limit, const char *conf, bool streams) {
  fake_driver d = {.limit = limit};
  wf_allocator *a = fake_allocator(&d, conf);
  live held[LIVE] = {0};
  for (int i = 0; i < 3000; i++) {
    random_call(a, &d, &held[draw(&seed) % LIVE], &seed, streams);
    if (draw(&seed) % 20 == 0) fake_pass(&d, draw(&seed) % 5);
    if (draw(&seed) % 500 == 0) wf_allocator_empty_cache(a);
    if (streams && draw(&seed) % 50 == 0) random_pool_call(a, &seed);
    fake_check(a, &d);
  }
  for (int i = 0; i < LIVE; i++) wf_block_free(a, held[i].block);
  for (uint64_t pool = 0; pool < 3; pool++) {
    (void)wf_allocator_pool_end(a, pool);
    wf_error_take();
    while (wf_allocator_pool_release(a, pool) == WF_OK) {}
    wf_error_take();
  }
  wf_allocator_empty_cache(a);
  fake_check(a, &d);
  assert_int_equal(d.used, 0);
  assert_true(d.gives > 10 || d.unmaps > 10);
  wf_allocator_free(a);
  assert_int_equal(d.space_count, 0);
  assert_int_equal(d.marks, d.retired);
}

static void random_calls_keep_every_promise(void **state) {
  static const char *const confs[] = {NULL, "expandable_segments:True",
                                      "max_split_size_mb:20,garbage_collection_threshold:0.4",
                                      "roundup_power2_divisions:4,expandable_segments:True,max_split_size_mb:24"};
  for (uint32_t round = 0; round < 3; round++) play_at_random(77 + round, (200 + 200 * round) * MIB, NULL, false);
  for (uint32_t round = 0; round < 8; round++)
    play_at_random(99 + round, (200 + 50 * round) * MIB, confs[round % 4], true);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(requests_of_one_byte_and_513_count_514_and_1536_bytes),
    cmocka_unit_test(free_bytes_in_pieces_do_not_serve_a_request_until_they_join),
    cmocka_unit_test(a_block_used_on_another_stream_is_reused_only_after_that_stream_passed),
    cmocka_unit_test(without_events_a_driver_frees_at_once),
    cmocka_unit_test(marks_still_out_are_waited_for_when_the_allocator_ends),
    cmocka_unit_test(no_bytes_are_no_block_and_an_absurd_request_says_so),
    cmocka_unit_test(a_fraction_outside_0_to_1_is_refused_and_changes_nothing),
    cmocka_unit_test(the_fraction_may_stand_in_the_configuration),
    cmocka_unit_test(another_device_is_named_in_the_error),
    cmocka_unit_test(everything_that_happens_is_observed_in_order),
    cmocka_unit_test(whichever_allocation_of_the_host_fails_everything_stays_valid),
    cmocka_unit_test(random_calls_keep_every_promise),
};

WF_TEST_MAIN("memory/policy", tests)
