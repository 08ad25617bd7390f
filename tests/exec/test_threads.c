/* Splitting of loops over the team. */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <weft/trace.h>

#include "exec/threads.h"

typedef struct seen {
  atomic_int count[1000];
  atomic_int calls;
  int64_t align;
  atomic_int misaligned;
} seen;

static void mark(void *context, int64_t begin, int64_t end) {
  seen *s = context;
  atomic_fetch_add(&s->calls, 1);
  if (begin % s->align) atomic_fetch_add(&s->misaligned, 1);
  for (int64_t i = begin; i < end; i++) atomic_fetch_add(&s->count[i], 1);
}

static void nest(void *context, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) wf__parallel(10, 1, mark, context);
}

static void every_index_is_visited_once_for_any_number_of_threads(void **state) {
  (void)state;
  for (int threads = 1; threads <= 7; threads++) {
    assert_ok(wf_set_num_threads(threads));
    for (int64_t n = 0; n <= 1000; n += 37) {
      seen s = {.align = 16};
      wf__parallel_aligned(n, 20, 16, mark, &s);
      for (int64_t i = 0; i < 1000; i++) assert_int_equal(s.count[i], i < n);
      assert_int_equal(s.misaligned, 0);
      assert_true(s.calls <= threads);
    }
  }
}

static void work_below_the_grain_stays_in_one_piece(void **state) {
  (void)state;
  assert_ok(wf_set_num_threads(4));
  seen s = {.align = 1};
  wf__parallel(1000, 1000, mark, &s);
  assert_int_equal(s.calls, 1);
}

static void a_loop_inside_a_team_runs_on_its_own_thread(void **state) {
  (void)state;
  assert_ok(wf_set_num_threads(3));
  seen s = {.align = 1};
  wf__parallel(6, 1, nest, &s);
  assert_int_equal(s.calls, 6);
  assert_int_equal(s.count[9], 6);
}

static void fewer_threads_than_one_are_refused(void **state) {
  (void)state;
  assert_ok(wf_set_num_threads(2));
  assert_int_equal(wf_set_num_threads(0), WF_VALUE);
  assert_error(WF_VALUE, "set_num_threads expects a positive integer");
  assert_int_equal(wf_num_threads(), 2);
}

/* Another thread than the caller's needs so many ms, as if it had to wait for a core. */
typedef struct late {
  pthread_t caller;
  int ms;
  atomic_int calls;
} late;

static void sleep_ms(int ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL); }

static void come_late(void *context, int64_t begin, int64_t end) {
  (void)begin, (void)end;
  late *l = context;
  atomic_fetch_add(&l->calls, 1);
  if (!pthread_equal(pthread_self(), l->caller)) sleep_ms(l->ms);
}

static void work_for_ms(void *context, int64_t begin, int64_t end) {
  (void)context, (void)begin, (void)end;
  sleep_ms(5);
}

static int ranges_of_a_loop(int ms) {
  late l = {.caller = pthread_self(), .ms = ms};
  wf__parallel(100, 1, come_late, &l);
  return l.calls;
}

static void work_for(int64_t ms) {
  int64_t start = wf_clock_ns();
  while (wf_clock_ns() - start < ms * 1000000) wf__parallel(100, 1, work_for_ms, NULL);
}

/* Where the machine is busy loops wait by themselves as well. What they rest for is worked off first; and all is done again, up to TRIES times,
 * if something came in between. */
#define TRIES 20

static bool comes_late(int threads) {
  assert_ok(wf_set_num_threads(threads));
  for (int i = 0; i < 400; i++) {
    if (ranges_of_a_loop(40) == threads) return true;
    work_for(5);
  }
  return false;
}

static bool rests_in_halves(void) { return comes_late(4) && ranges_of_a_loop(40) == 2 && ranges_of_a_loop(0) == 1; }

static void a_team_that_kept_a_loop_waiting_rests_in_halves(void **state) {
  (void)state;
  int tries = 0;
  while (tries < TRIES && !rests_in_halves()) tries++;
  assert_in_range(tries, 0, TRIES - 1);
}

static bool rests_for_eight_times(void) {
  if (!comes_late(2)) return false;
  work_for(100); /* of 320 */
  if (ranges_of_a_loop(0) != 1) return false;
  int64_t start = wf_clock_ns();
  while (ranges_of_a_loop(0) == 1)
    if (wf_clock_ns() - start > 1000000000) return false;
    else work_for(5);
  return true;
}

static void a_team_is_tried_again_after_eight_times_what_was_lost(void **state) {
  (void)state;
  int tries = 0;
  while (tries < TRIES && !rests_for_eight_times()) tries++;
  assert_in_range(tries, 0, TRIES - 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_index_is_visited_once_for_any_number_of_threads),
    cmocka_unit_test(work_below_the_grain_stays_in_one_piece),
    cmocka_unit_test(a_loop_inside_a_team_runs_on_its_own_thread),
    cmocka_unit_test(fewer_threads_than_one_are_refused),
    cmocka_unit_test(a_team_that_kept_a_loop_waiting_rests_in_halves),
    cmocka_unit_test(a_team_is_tried_again_after_eight_times_what_was_lost),
};
WF_TEST_MAIN("exec/threads", tests)
