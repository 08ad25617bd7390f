/* Scopes and references: who holds what, seen by when the memory of a tensor over foreign memory goes. */
#include "test.h"

#include <pthread.h>
#include <stdlib.h>
#include "base/host.h"
#include "tensor/tensor.h"

static _Atomic int freed;
static void count_free(void *data, void *context) {
  (void)data;
  (void)context;
  freed++;
}

static float memory[4];
static wf_tensor *counted(void) {
  return wf_from_memory(memory, sizeof memory, WF_SHAPE(4), WF_SHAPE0, WF_F32, count_free, NULL);
}

static int start(void **state) {
  (void)state;
  freed = 0;
  return 0;
}

static void without_a_scope_the_caller_owns_each_result(void **state) {
  (void)state;
  wf_tensor *t = counted();
  wf_retain(t);
  wf_free(t);
  assert_int_equal(freed, 0);
  wf_free(t);
  assert_int_equal(freed, 1);
  wf_free(NULL);
}

static void a_scope_gives_back_all_but_its_result(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  counted();
  wf_tensor *kept = counted();
  counted();
  assert_ptr_equal(wf_scope_end(s, kept), kept);
  assert_int_equal(freed, 2);
  wf_free(kept);
  assert_int_equal(freed, 3);
}

static void a_result_moves_to_the_scope_outside(void **state) {
  (void)state;
  wf_scope outer = wf_scope_begin(), inner = wf_scope_begin();
  wf_tensor *t = counted();
  wf_scope_end(inner, t);
  assert_int_equal(freed, 0);
  wf_scope_end(outer, NULL);
  assert_int_equal(freed, 1);
}

static void ending_a_scope_ends_those_left_open_inside(void **state) {
  (void)state;
  wf_scope outer = wf_scope_begin();
  counted();
  wf_scope_begin();
  counted();
  wf_scope_begin();
  wf_tensor *t = counted();
  assert_ptr_equal(wf_scope_end(outer, t), t);
  assert_int_equal(freed, 2);
  wf_free(t);
  assert_int_equal(freed, 3);
}

static void an_argument_passed_through_gets_a_reference(void **state) {
  (void)state;
  wf_tensor *argument = counted();
  wf_scope s = wf_scope_begin();
  wf_tensor *result = wf_scope_end(s, argument);
  wf_free(result);
  assert_int_equal(freed, 0);
  wf_free(argument);
  assert_int_equal(freed, 1);
}

static void free_takes_the_innermost_scopes_reference_first(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  wf_tensor *t = counted();
  wf_retain(t);
  wf_free(t); /* the scope's */
  assert_int_equal(freed, 0);
  wf_scope_end(s, NULL);
  assert_int_equal(freed, 0);
  wf_free(t); /* ours */
  assert_int_equal(freed, 1);
}

static void free_leaves_the_outer_scopes_reference_alone(void **state) {
  (void)state;
  wf_scope outer = wf_scope_begin();
  wf_tensor *t = counted();
  wf_retain(t);
  wf_scope inner = wf_scope_begin();
  wf_free(t); /* ours: the innermost scope holds none */
  wf_scope_end(inner, NULL);
  assert_int_equal(freed, 0);
  wf_scope_end(outer, NULL);
  assert_int_equal(freed, 1);
}

static void a_tensor_given_twice_is_held_twice(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  wf_tensor *t = counted();
  counted();
  wf__give(wf_retain(t)); /* as contiguous() does of a contiguous tensor */
  wf_free(t);
  assert_int_equal(freed, 0);
  wf_free(t);
  assert_int_equal(freed, 1);
  wf_scope_end(s, NULL);
  assert_int_equal(freed, 2);
}

static void random_orders_of_frees_leave_nothing_behind(void **state) {
  (void)state;
  srand(7);
  int made = 0;
  for (int round = 0; round < 200; round++) {
    wf_tensor *live[64];
    int n = 0;
    wf_scope s = wf_scope_begin();
    for (int step = 0; step < 300; step++) {
      if (n < 64 && (n == 0 || rand() % 2)) {
        live[n++] = counted();
        made++;
      } else {
        int i = rand() % n;
        int before = freed;
        wf_free(live[i]);
        assert_int_equal(freed, before + 1);
        live[i] = live[--n];
      }
    }
    wf_scope_end(s, NULL);
    assert_int_equal(freed, made);
  }
}

static void with_an_error_pending_a_scope_ends_and_returns_nothing(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  wf_tensor *t = counted();
  assert_null(wf_from_data(NULL, WF_SHAPE(2), WF_F32));
  assert_null(counted()); /* operators do nothing now */
  assert_null(wf_scope_end(s, t));
  assert_int_equal(freed, 1);
  assert_error(WF_VALUE, "from_data: no data given for 2 elements");
}

static void lists_belong_to_the_scope_with_their_array(void **state) {
  (void)state;
  for (int explicitly = 0; explicitly < 2; explicitly++) {
    freed = 0;
    wf_tensor *a = counted(), *b = counted();
    wf_scope s = wf_scope_begin();
    wf_tensor **array = wf__malloc(2 * sizeof *array);
    array[0] = a;
    array[1] = b;
    wf_tensors list = wf__give_list(array, 2);
    assert_int_equal(list.n, 2);
    if (explicitly) {
      wf_tensors_free(list);
      assert_int_equal(freed, 2);
    }
    wf_scope_end(s, NULL);
    assert_int_equal(freed, 2);
  }
  wf_tensor **array = wf__malloc(sizeof *array);
  array[0] = counted();
  wf_tensors_free(wf__give_list(array, 1));
  assert_int_equal(freed, 3);
}

static void *scope_left_open(void *unused) {
  wf_scope_begin();
  counted();
  counted();
  return unused;
}
static void *free_it(void *tensor) {
  wf_free(tensor);
  return NULL;
}

static void threads_free_what_others_made_and_what_they_leave_open(void **state) {
  (void)state;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, scope_left_open, NULL), 0);
  pthread_join(thread, NULL);
  assert_int_equal(freed, 2);
  wf_tensor *t = counted();
  assert_int_equal(pthread_create(&thread, NULL, free_it, t), 0);
  pthread_join(thread, NULL);
  assert_int_equal(freed, 3);
}

/* Fails each allocation in turn; whatever happens the memory's owner gets it back exactly when a tensor was made. */
static void failing_any_allocation_leaks_nothing(void **state) {
  (void)state;
  for (int64_t k = 1;; k++) {
    freed = 0;
    wf__fault_at(k);
    wf_scope s = wf_scope_begin();
    int made = 0;
    for (int i = 0; i < 300; i++) made += counted() != NULL;
    bool failed = wf_error_peek().status != WF_OK;
    wf_scope_end(s, NULL);
    bool reached = wf__fault_count() >= k;
    wf__fault_at(0);
    assert_int_equal(freed, made);
    assert_int_equal(failed, reached);
    if (!reached) break;
    assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
  }
}

#define TEST(name) cmocka_unit_test_setup(name, start)
static const struct CMUnitTest tests[] = {
    TEST(without_a_scope_the_caller_owns_each_result),  TEST(a_scope_gives_back_all_but_its_result),
    TEST(a_result_moves_to_the_scope_outside),          TEST(ending_a_scope_ends_those_left_open_inside),
    TEST(an_argument_passed_through_gets_a_reference),  TEST(free_takes_the_innermost_scopes_reference_first),
    TEST(free_leaves_the_outer_scopes_reference_alone), TEST(a_tensor_given_twice_is_held_twice),
    TEST(random_orders_of_frees_leave_nothing_behind),  TEST(with_an_error_pending_a_scope_ends_and_returns_nothing),
    TEST(lists_belong_to_the_scope_with_their_array),   TEST(threads_free_what_others_made_and_what_they_leave_open),
    TEST(failing_any_allocation_leaks_nothing),
};
WF_TEST_MAIN("tensor/scope", tests)
