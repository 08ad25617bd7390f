/* Histories are made whole from their end: whatever the policy did while the maker recorded it, every state comes out as it was. */
#define _GNU_SOURCE
#include "test.h"

#include <sys/mman.h>
#include <unistd.h>

#include "audit/memory_layout.h"
#include "audit/random_play.h"
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

static const wf__piece *piece_at(const wf__layout *l, uint64_t address) {
  for (size_t i = 0; i < l->pieces.n; i++)
    if (l->pieces.at[i].address == address) return &l->pieces.at[i];
  return NULL;
}

/* Every block and hole where it was. Blocks made before the recording may have been up to 1 MiB longer than can be seen. */
static void compare(const wf__history *h, const truth *t, size_t skip) {
  wf__layout l;
  uint32_t state = (uint32_t)(t->events - skip);
  assert_ok(wf__layout_make(&l, h, state));
  assert_int_equal(l.stray, 0);
  size_t inexact = 0, at_start = 0;
  for (size_t i = 0; i < h->blocks.n; i++) at_start += h->blocks.at[i].born == 0;
  for (size_t i = 0; i < t->walk.n; i++) {
    const wf_block_view *v = &t->walk.views[i];
    const wf__piece *p = piece_at(&l, v->address);
    if (!p && skip) { /* the front of a hole that seems to reach further back */
      inexact++;
      continue;
    }
    assert_non_null(p);
    assert_int_equal(p->life == WF__NO_LIFE, v->state == WF_BLOCK_FREE);
    if (skip && p->size != v->size) inexact++;
    else assert_int_equal(p->size, v->size);
    if (p->life == WF__NO_LIFE) continue;
    assert_int_equal(p->pending, v->state == WF_BLOCK_PENDING);
    assert_int_equal(h->blocks.at[p->life].requested, v->requested);
  }
  assert_true(inexact <= 2 * at_start);
  wf__sums sums = wf__sums_at(h, state);
  assert_int_equal(sums.reserved, t->stats.reserved_bytes[0].current);
  assert_int_equal(sums.blocks, t->stats.allocation[0].current);
  assert_int_equal(sums.requested <= sums.allocated, true);
  if (!skip) {
    assert_int_equal(sums.allocated, t->stats.allocated_bytes[0].current);
    assert_int_equal(sums.active, t->stats.active_bytes[0].current);
  }
  wf__layout_release(&l);
}

static void check_history(const char *conf, uint64_t limit, uint32_t seed, bool from_the_middle) {
  static truth t[CHECKS];
  maker m;
  maker_open(&m, conf, limit, WF_TIES_AGE);
  int n = play(&m, t, seed), first = from_the_middle ? n / 2 : 0;
  m.skip = from_the_middle ? t[first].events : 0;
  maker_write(&m, path);
  wf_snapshot *s = wf_snapshot_read(path, NULL);
  assert_non_null(s);
  wf__history h;
  assert_ok(wf__history_make(&h, s, 0));
  assert_int_equal(h.n, m.event_count - m.skip);
  assert_int_equal(h.unmatched, 0);
  for (int i = first; i < n; i++) compare(&h, &t[i], m.skip);
  if (!from_the_middle) {
    assert_int_equal(h.peak, t[n - 1].stats.allocated_bytes[0].peak);
    assert_int_equal(h.reserved_peak, t[n - 1].stats.reserved_bytes[0].peak);
    assert_int_equal(wf__sums_at(&h, h.peak_state).allocated, h.peak);
    assert_int_equal(wf__sums_at(&h, 0).reserved, 0);
  }
  for (int i = 0; i < n; i++) free(t[i].walk.views);
  wf__history_release(&h);
  wf_snapshot_free(s);
  maker_close(&m);
}

static const char *const confs[] = {"", "expandable_segments:True", "max_split_size_mb:20",
                                    "roundup_power2_divisions:8"};

static void every_state_of_a_whole_history_is_found_again(void **state) {
  for (uint32_t i = 0; i < 4; i++) check_history(confs[i], 0, 11 + i, false);
}

static void states_are_found_when_memory_was_short_and_frees_were_deferred(void **state) {
  for (uint32_t i = 0; i < 4; i++) check_history(confs[i], 700 * MIB, 31 + i, false);
}

static void a_history_from_the_middle_begins_with_what_was_there(void **state) {
  for (uint32_t i = 0; i < 4; i++) check_history(confs[i], 0, 51 + i, true);
}

/* R108. Three blocks and one free in the step in which the recording begins; a block that is older has no stack. */
static void the_first_step_of_a_recording_is_whole(void **state) {
  maker m;
  maker_open(&m, "", 0, WF_TIES_AGE);
  int line = maker_add_stack(&m, &(maker_frame){"step", "train.py", 7}, 1);
  m.paused = true;
  maker_alloc(&m, 5000, 0, 0);
  m.paused = false;
  maker_alloc(&m, 1000, 0, line);
  wf_block *freed = maker_alloc(&m, 2000, 0, line);
  maker_alloc(&m, 3000, 0, line);
  maker_free(&m, freed, line);
  maker_write(&m, path);
  maker_close(&m);
  wf_snapshot *s = wf_snapshot_read(path, NULL);
  assert_non_null(s);
  wf__history h;
  assert_ok(wf__history_make(&h, s, 0));
  int actions[WF__SNAP_OTHER + 1] = {0}, at_end = 0, without_stack = 0;
  for (uint32_t i = 0; i < h.n; i++) actions[h.events[i].action]++;
  assert_int_equal(actions[WF__SNAP_ALLOC], 3);
  assert_int_equal(actions[WF__SNAP_FREE_REQUESTED], 1);
  assert_int_equal(actions[WF__SNAP_FREE_COMPLETED], 1);
  for (size_t i = 0; i < h.blocks.n; i++) {
    bool there = wf__allocated_at(&h.blocks.at[i], h.n);
    at_end += there && h.blocks.at[i].stack != 0;
    without_stack += there && h.blocks.at[i].stack == 0;
  }
  assert_int_equal(at_end, 2);
  assert_int_equal(without_stack, 1);
  wf__history_release(&h);
  wf_snapshot_free(s);
}

static void without_host_memory_it_fails_and_leaks_nothing(void **state) {
  maker m;
  static truth t[CHECKS];
  maker_open(&m, "", 0, WF_TIES_AGE);
  int n = play(&m, t, 3);
  for (int i = 0; i < n; i++) free(t[i].walk.views);
  maker_write(&m, path);
  maker_close(&m);
  for (int64_t k = 1;; k++) {
    wf__fault_at(k);
    wf__history h = {0};
    wf_snapshot *s = wf_snapshot_read(path, NULL);
    wf_status status = s ? wf__history_make(&h, s, 0) : WF_NO_MEMORY;
    wf__layout l = {0};
    if (!status) status = wf__layout_make(&l, &h, h.n / 2);
    bool hit = wf__fault_count() >= k;
    wf__fault_at(0);
    assert_int_equal(status, hit ? WF_NO_MEMORY : WF_OK);
    assert_int_equal(wf_error_take().status, hit ? WF_NO_MEMORY : WF_OK);
    wf__layout_release(&l);
    wf__history_release(&h);
    wf_snapshot_free(s);
    if (!hit) break;
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_state_of_a_whole_history_is_found_again),
    cmocka_unit_test(states_are_found_when_memory_was_short_and_frees_were_deferred),
    cmocka_unit_test(a_history_from_the_middle_begins_with_what_was_there),
    cmocka_unit_test(the_first_step_of_a_recording_is_whole),
    cmocka_unit_test(without_host_memory_it_fails_and_leaks_nothing),
};

int main(void) { return cmocka_run_group_tests_name("audit/history", tests, set_up, tear_down); }
