/* Splitting of loops over the team. */
#include "test.h"

#include <stdatomic.h>
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_index_is_visited_once_for_any_number_of_threads),
    cmocka_unit_test(work_below_the_grain_stays_in_one_piece),
    cmocka_unit_test(a_loop_inside_a_team_runs_on_its_own_thread),
    cmocka_unit_test(fewer_threads_than_one_are_refused),
};
WF_TEST_MAIN("exec/threads", tests)
