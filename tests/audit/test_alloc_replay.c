/* Recorded histories played again: exactly where everything is known, and what is said where it isn't. */
#define _GNU_SOURCE
#include "test.h"

#include <sys/mman.h>
#include <unistd.h>

#include "audit/random_play.h"
#include "audit/replay_search.h"
#include "base/host.h"

static char path[64];
static int file;

/* A file in memory. */
static int set_up(void **state) {
  file = memfd_create("snapshot", 0);
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  return file < 0;
}
static int tear_down(void **state) { return close(file); }

static wf_snapshot *record(const char *conf, uint64_t limit, wf_allocator_ties ties, uint32_t seed,
                           bool from_the_middle) {
  static truth t[CHECKS];
  maker m;
  maker_open(&m, conf, limit, ties);
  int n = play(&m, t, seed);
  m.skip = from_the_middle ? t[n / 2].events : 0;
  for (int i = 0; i < n; i++) free(t[i].walk.views);
  maker_write(&m, path);
  maker_close(&m);
  wf_snapshot *s = wf_snapshot_read(path, NULL);
  assert_non_null(s);
  return s;
}

static wf_replay *replay(const wf_snapshot *s, const wf_replay_options *o) {
  wf_replay *r = wf_replay_history(s, o);
  if (!r) print_error("%s\n", wf_error_peek().text);
  assert_non_null(r);
  return r;
}

static const char *const confs[] = {"", "expandable_segments:True", "max_split_size_mb:20",
                                    "roundup_power2_divisions:8"};

static void a_whole_history_is_played_exactly(void **state) {
  for (uint32_t i = 0; i < 12; i++) {
    static const wf_allocator_ties ties[] = {WF_TIES_ADDRESS, WF_TIES_AGE, WF_TIES_BLOCK};
    wf_snapshot *s = record(confs[i % 4], 0, ties[i / 4], 71 + i, false);
    wf_replay *r = replay(s, NULL);
    if (!wf__replay_exact(&r->follow))
      print_error("'%s', ties %u: %u of %u, %u calls of the driver, first at %u\n", confs[i % 4], ties[i / 4],
                  r->follow.same, r->follow.placed, r->follow.other_driver, r->follow.first_difference);
    assert_true(wf__replay_exact(&r->follow));
    assert_int_equal(r->follow.same, r->follow.placed);
    assert_true(r->follow.placed > 1000);
    assert_int_equal(r->guessed, 0);
    assert_true(r->from_start);
    /* free to do as it likes it comes to the same figures */
    assert_int_equal(r->rows.at[0].free_run.peak_allocated, r->recorded_peak);
    assert_int_equal(r->rows.at[0].free_run.peak_reserved, r->recorded_reserved);
    wf_replay_free(r);
    wf_snapshot_free(s);
  }
}

static void refusals_of_the_driver_are_found_in_what_was_given_back(void **state) {
  for (uint32_t i = 0; i < 4; i++) {
    wf_snapshot *s = record(confs[i], 700 * MIB, WF_TIES_AGE, 91 + i, false);
    wf_replay *r = replay(s, NULL);
    if (!wf__replay_exact(&r->follow))
      print_error("'%s': %u of %u, %u calls of the driver, first at %u\n", confs[i], r->follow.same, r->follow.placed,
                  r->follow.other_driver, r->follow.first_difference);
    assert_true(wf__replay_exact(&r->follow));
    assert_true(r->follow.failures > 0);
    assert_true(r->memory_seen);
    assert_int_equal(r->memory, 700 * MIB);
    wf_replay_free(r);
    wf_snapshot_free(s);
  }
}

/* As cuDNN's benchmark leaves it: work space tried, the cache emptied, and less asked for, all in one line. Served from what was cached, the last request
 * would need no segment. */
static wf_snapshot *emptied_in_one_line(uint64_t reserved_before) {
  static const maker_frame line = {"train", "a.py", 1};
  maker m;
  maker_open(&m, "", 0, WF_TIES_AGE);
  maker_add_stack(&m, &line, 1);
  if (reserved_before) maker_free(&m, maker_alloc(&m, reserved_before, 0, 0), 0);
  wf_allocator_empty_cache(m.allocator);
  maker_free(&m, maker_alloc(&m, 50 * MIB, 0, 1), 1);
  wf_allocator_empty_cache(m.allocator);
  maker_alloc(&m, 40 * MIB, 0, 1);
  maker_write(&m, path);
  maker_close(&m);
  wf_snapshot *s = wf_snapshot_read(path, NULL);
  assert_non_null(s);
  return s;
}

static void a_cache_emptied_where_memory_was_left_is_told_from_a_request_without(void **state) {
  static const struct {
    uint64_t before, had;
    bool known; /* that 50 and 40 MiB could be had at a time */
  } cases[] = {{0, 0, false}, {0, 80 * MIB, false}, {0, 90 * MIB, true}, {90 * MIB, 0, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    wf_snapshot *s = emptied_in_one_line(cases[i].before);
    wf_replay_options o = {.device = -1, .recorded_memory = (int64_t)cases[i].had};
    wf_replay *r = replay(s, &o);
    assert_int_equal(wf__replay_exact(&r->follow), cases[i].known);
    if (cases[i].known) assert_int_equal(r->rows.at[0].free_run.gave, cases[i].before ? 2 : 1);
    wf_replay_free(r);
    wf_snapshot_free(s);
  }
}

static void a_share_of_memory_is_none_where_the_memory_is_said(void **state) {
  static const char *const recorded[] = {"per_process_memory_fraction:0.5",
                                         "max_split_size_mb:200,per_process_memory_fraction:0.5",
                                         "per_process_memory_fraction:0.5,max_split_size_mb:200"};
  for (int i = 0; i < 3; i++) {
    maker m;
    maker_open(&m, recorded[i], 0, WF_TIES_AGE);
    assert_ok(wf_allocator_set_fraction(m.allocator, 1));
    maker_alloc(&m, 60 * MIB, 0, 0);
    maker_write(&m, path);
    maker_close(&m);
    wf_snapshot *s = wf_snapshot_read(path, NULL);
    wf_replay_options o = {.device = -1, .memory = 64 * MIB, .recorded_memory = 64 * MIB};
    wf_replay *r = replay(s, &o);
    assert_string_equal(r->recorded_conf, i ? "max_split_size_mb:200" : "");
    assert_int_equal(r->rows.at[0].needs, 60 * MIB);
    assert_false(r->rows.at[0].limited.failures);
    wf_replay_free(r);
    wf_snapshot_free(s);
  }
}

static void a_history_from_the_middle_is_played_but_for_lengths_that_cannot_be_seen(void **state) {
  for (uint32_t i = 0; i < 4; i++) {
    wf_snapshot *s = record(confs[i], 0, WF_TIES_ADDRESS, 111 + i, true);
    wf_replay *r = replay(s, NULL);
    assert_false(r->from_start);
    assert_true(r->follow.placed > 300);
    bool expandable = i == 1; /* the space between mapped parts isn't recorded */
    assert_int_equal(r->expandable_start, expandable);
    assert_true(r->follow.same >= r->follow.placed * (expandable ? 70 : 95) / 100);
    if (i == 0) assert_true(wf__replay_exact(&r->follow));
    wf_replay_free(r);
    wf_snapshot_free(s);
  }
}

/* Eight blocks of 12 MiB, every other one freed, then one of 24 MiB: the default settings need a segment more than expandable ones. */
static wf_snapshot *swiss_cheese(uint64_t limit) {
  maker m;
  maker_open(&m, "", limit, WF_TIES_AGE);
  wf_block *b[8];
  for (int i = 0; i < 8; i++) b[i] = maker_alloc(&m, 12 * MIB, 0, 0);
  for (int i = 0; i < 8; i += 2) maker_free(&m, b[i], 0);
  for (int i = 0; i < 2; i++) maker_alloc(&m, 24 * MIB, 0, 0);
  maker_write(&m, path);
  maker_close(&m);
  wf_snapshot *s = wf_snapshot_read(path, NULL);
  assert_non_null(s);
  return s;
}

static void the_least_memory_and_the_settings_that_need_less_are_found(void **state) {
  wf_snapshot *s = swiss_cheese(0);
  wf_replay_options o = {.device = -1, .search = true, .memory = (int64_t)(112 * MIB)};
  wf_replay *r = replay(s, &o);
  assert_true(wf__replay_exact(&r->follow));
  assert_int_equal(r->rows.at[0].free_run.peak_reserved, (8 * 12 + 2 * 24) * MIB);
  /* giving back the four free ones of 12 MiB makes room for two of 24: all 96 MiB are in use at the end */
  assert_int_equal(r->rows.at[0].needs, 96 * MIB);
  assert_false(r->rows.at[0].limited.failures);
  assert_int_equal(r->rows.at[0].limited.gave, 4);
  assert_int_equal(r->best, 0);
  wf_replay_free(r);
  o = (wf_replay_options){.device = -1, .memory = (int64_t)(90 * MIB)};
  r = replay(s, &o);
  assert_int_equal(r->rows.at[0].limited.failures, 1);
  assert_int_equal(r->rows.at[0].limited.first_failure,
                   15); /* the eighth block: the segment of each is an event, too */
  wf_replay_free(r);
  wf_snapshot_free(s);
}

static void a_request_that_failed_is_asked_for_again(void **state) {
  wf_snapshot *s = swiss_cheese(100 * MIB);
  wf_replay_options o = {.device = -1, .memory = (int64_t)(200 * MIB)};
  wf_replay *r = replay(s, NULL);
  assert_true(wf__replay_exact(&r->follow));
  assert_int_equal(r->follow.failures, 0); /* four segments of 12 MiB go back for each pair */
  wf_replay_free(r);
  wf_snapshot_free(s);
  s = swiss_cheese(90 * MIB);
  r = replay(s, NULL);
  assert_int_equal(r->follow.failures, 1);
  assert_int_equal(r->memory, 90 * MIB);
  assert_int_equal(r->rows.at[0].limited.failures, 1);
  wf_replay_free(r);
  r = replay(s, &o);
  assert_int_equal(r->rows.at[0].limited.served, 1);
  assert_int_equal(r->rows.at[0].limited.failures, 0);
  wf_replay_free(r);
  wf_snapshot_free(s);
}

static void what_cannot_be_played_is_refused(void **state) {
  static const char *const bad[] = {"max_split_size_mb:1"};
  wf_snapshot *s = swiss_cheese(0);
  assert_null(wf_replay_history(s, &(wf_replay_options){.device = -1, .confs = bad, .conf_count = 1}));
  assert_error(WF_VALUE, "CachingAllocator option max_split_size_mb too small, must be >= 20");
  assert_null(wf_replay_history(s, &(wf_replay_options){.device = 3}));
  assert_int_equal(wf_error_take().status, WF_VALUE);
  wf_snapshot_free(s);
}

static void without_host_memory_it_fails_and_leaks_nothing(void **state) {
  wf_snapshot *s = swiss_cheese(90 * MIB);
  for (int64_t k = 1;; k++) {
    wf__fault_at(k);
    wf_replay *r = wf_replay_history(s, NULL);
    char *text = r ? wf_replay_text(r, 80) : NULL, *json = text ? wf_replay_json(r, 2) : NULL;
    bool hit = wf__fault_count() >= k;
    wf__fault_at(0);
    assert_int_equal(json == NULL, hit);
    assert_int_equal(wf_error_take().status, hit ? WF_NO_MEMORY : WF_OK);
    wf__release(text);
    wf__release(json);
    wf_replay_free(r);
    if (!hit) break;
  }
  wf_snapshot_free(s);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_whole_history_is_played_exactly),
    cmocka_unit_test(refusals_of_the_driver_are_found_in_what_was_given_back),
    cmocka_unit_test(a_cache_emptied_where_memory_was_left_is_told_from_a_request_without),
    cmocka_unit_test(a_share_of_memory_is_none_where_the_memory_is_said),
    cmocka_unit_test(a_history_from_the_middle_is_played_but_for_lengths_that_cannot_be_seen),
    cmocka_unit_test(the_least_memory_and_the_settings_that_need_less_are_found),
    cmocka_unit_test(a_request_that_failed_is_asked_for_again),
    cmocka_unit_test(what_cannot_be_played_is_refused),
    cmocka_unit_test(without_host_memory_it_fails_and_leaks_nothing),
};

int main(void) { return cmocka_run_group_tests_name("audit/alloc_replay", tests, set_up, tear_down); }
