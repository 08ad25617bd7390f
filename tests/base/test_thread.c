/* What runs when a thread ends. The functions registered here are those of the whole process: nothing else of the library is used. */
#include "test.h"

#include <pthread.h>
#include "base/thread.h"

#define SLOTS 8

static int ended[SLOTS], renewed;

static void **slot_of(int i) {
  void **const slots[SLOTS] = {(void **)&wf__self.record, &wf__self.scope,   &wf__self.slabs,    &wf__self.memory,
                               &wf__self.trace,           &wf__self.streams, &wf__self.backward, &wf__self.modes};
  return slots[i];
}

static void set(int i, void *value, void (*fn)(void *)) {
  *slot_of(i) = value;
  wf__thread_at_exit(slot_of(i), fn);
}

static void count(void *value) { __atomic_fetch_add((int *)value, 1, __ATOMIC_RELAXED); }

static void *set_all(void *unused) {
  for (int i = 0; i < SLOTS; i++) set(i, &ended[i], count);
  return unused;
}

static void run(void *(*fn)(void *)) {
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, fn, NULL), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
}

static void every_slot_has_a_function_that_runs_once(void **state) {
  (void)state;
  memset(ended, 0, sizeof ended);
  run(set_all);
  for (int i = 0; i < SLOTS; i++) assert_int_equal(ended[i], 1);
}

static void *set_one(void *unused) {
  for (int again = 0; again < 3; again++) set(4, &ended[4], count);
  return unused;
}

static void registering_again_and_slots_that_are_empty_change_nothing(void **state) {
  (void)state;
  memset(ended, 0, sizeof ended);
  run(set_one);
  for (int i = 0; i < SLOTS; i++) assert_int_equal(ended[i], i == 4);
}

static void renew_the_first(void *value) {
  (void)value;
  set(0, &renewed, count);
}

static void *set_the_last(void *unused) {
  set(SLOTS - 1, &ended[SLOTS - 1], renew_the_first);
  return unused;
}

static void what_a_function_sets_anew_ends_as_well(void **state) {
  (void)state;
  renewed = 0;
  run(set_the_last);
  assert_int_equal(renewed, 1);
}

static void threads_may_end_while_others_register(void **state) {
  (void)state;
  enum { THREADS = 8, ROUNDS = 50 };
  memset(ended, 0, sizeof ended);
  for (int r = 0; r < ROUNDS; r++) {
    pthread_t thread[THREADS];
    for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_create(&thread[t], NULL, set_all, NULL), 0);
    for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_join(thread[t], NULL), 0);
  }
  for (int i = 0; i < SLOTS; i++) assert_int_equal(ended[i], THREADS * ROUNDS);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_slot_has_a_function_that_runs_once),
    cmocka_unit_test(registering_again_and_slots_that_are_empty_change_nothing),
    cmocka_unit_test(what_a_function_sets_anew_ends_as_well),
    cmocka_unit_test(threads_may_end_while_others_register),
};

WF_TEST_MAIN("base/thread", tests)
