/* What a call may not do: take memory from malloc, or a lock. Both are counted by standing in for them, so that whoever calls them counts,
 * libraries too. Under sanitizers, which do the same, there is nothing to count. */
#define _GNU_SOURCE
#include "test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <weft/weft.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define COUNTED 0
#endif
#endif
#ifndef COUNTED
#define COUNTED 1
#endif

static atomic_int allocations, locks;

#if COUNTED
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

void *malloc(size_t bytes) {
  atomic_fetch_add(&allocations, 1);
  return __libc_malloc(bytes);
}
void *calloc(size_t n, size_t bytes) {
  atomic_fetch_add(&allocations, 1);
  return __libc_calloc(n, bytes);
}
void *realloc(void *old, size_t bytes) {
  atomic_fetch_add(&allocations, 1);
  return __libc_realloc(old, bytes);
}
int pthread_mutex_lock(pthread_mutex_t *mutex) {
  static int (*_Atomic next)(pthread_mutex_t *);
  if (!next) next = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
  atomic_fetch_add(&locks, 1);
  return next(mutex);
}
int pthread_mutex_trylock(pthread_mutex_t *mutex) {
  static int (*_Atomic next)(pthread_mutex_t *);
  if (!next) next = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_trylock");
  atomic_fetch_add(&locks, 1);
  return next(mutex);
}
#endif

static wf_tensor *x, *y, *z, *leaf;

static void view(void) { wf_free(wf_view(x, WF_SHAPE(-1))); }
static void transpose(void) { wf_free(wf_transpose(x, 0, 1)); }
static void slice(void) { wf_free(wf_slice(x, 0, 1, 3, 1)); }
static void select_one(void) { wf_free(wf_select(x, 0, 1)); }
static void permute(void) { wf_free(wf_permute(x, WF_SHAPE(1, 0))); }
static void expand(void) { wf_free(wf_expand(z, WF_SHAPE(5, 4, 4))); }
static void unsqueeze(void) { wf_free(wf_unsqueeze(x, 0)); }
static void detach(void) { wf_free(wf_detach(x)); }
static void data(void) { wf_free(wf_data_of(x)); }
static void empty(void) { wf_free(wf_empty(WF_SHAPE(4, 4), NULL)); }
static void zeros(void) { wf_free(wf_zeros(WF_SHAPE(4, 4), NULL)); }
static void clone_it(void) { wf_free(wf_clone(x, WF_FORMAT_PRESERVE)); }
static void add(void) { wf_free(wf_add(x, y)); }
static void add_number(void) {
  wf_tensor *turned = wf_transpose(x, 0, 1);
  wf_free(wf_add_scalar(turned, wf_float(2)));
  wf_free(turned);
}
static void add_in_place(void) { assert_ok(wf_add_(x, y)); }
static void mm(void) { wf_free(wf_mm(x, y)); }
static void sum(void) { wf_free(wf_sum(x)); }
static void copy(void) { assert_ok(wf_copy_(x, y, false)); }
static void view_under_gradients(void) { wf_free(wf_view(leaf, WF_SHAPE(-1))); }
static void mul_under_gradients(void) { wf_free(wf_mul(leaf, y)); }
static void in_a_scope(void) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *sum = wf_add(wf_mul(x, y), x);
  wf_scope_end(scope, wf_transpose(sum, 0, 1));
}
static void given_back(void) {
  wf_scope scope = wf_scope_begin();
  in_a_scope();
  wf_scope_end(scope, NULL);
}

static const struct {
  const char *name;
  void (*call)(void);
} calls[] = {{"view", view},
             {"transpose", transpose},
             {"slice", slice},
             {"select", select_one},
             {"permute", permute},
             {"expand", expand},
             {"unsqueeze", unsqueeze},
             {"detach", detach},
             {"data", data},
             {"empty", empty},
             {"zeros", zeros},
             {"clone", clone_it},
             {"add", add},
             {"add of a number to a transposed tensor", add_number},
             {"add_", add_in_place},
             {"mm", mm},
             {"sum", sum},
             {"copy_", copy},
             {"view under gradients", view_under_gradients},
             {"mul under gradients", mul_under_gradients},
             {"a scope", given_back}};

static int make_tensors(void **state) {
  (void)state;
  x = wf_ones(WF_SHAPE(4, 4), NULL);
  y = wf_zeros(WF_SHAPE(4, 4), NULL);
  z = wf_ones(WF_SHAPE(1, 4, 4), NULL);
  leaf = wf_ones(WF_SHAPE(4, 4), NULL);
  wf_requires_grad_(leaf, true);
  return wf_error_peek().status;
}
static int free_tensors(void **state) {
  (void)state;
  wf_free(x);
  wf_free(y);
  wf_free(z);
  wf_free(leaf);
  return 0;
}

static void after_the_first_times_no_call_takes_memory_or_a_lock(void **state) {
  (void)state;
  if (!COUNTED) skip();
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    wf_scope scope = wf_scope_begin();
    for (int k = 0; k < 3; k++) calls[i].call();
    int allocated = allocations, locked = locks;
    for (int k = 0; k < 100; k++) calls[i].call();
    allocated = allocations - allocated;
    locked = locks - locked;
    wf_scope_end(scope, NULL);
    if (allocated || locked) fail_msg("100 times %s: %d allocations, %d locks", calls[i].name, allocated, locked);
  }
}

/* What was counted above must be able to show. */
static void allocations_and_locks_are_counted(void **state) {
  (void)state;
  if (!COUNTED) skip();
  int allocated = allocations, locked = locks;
  wf_tensor *large = wf_empty(WF_SHAPE(1 << 20), NULL), *more[300];
  for (int i = 0; i < 300; i++) more[i] = wf_view(large, WF_SHAPE(-1));
  for (int i = 0; i < 300; i++) wf_free(more[i]);
  wf_free(large);
  assert_true(allocations > allocated);
  assert_true(locks > locked);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(after_the_first_times_no_call_takes_memory_or_a_lock),
    cmocka_unit_test(allocations_and_locks_are_counted),
};
int main(void) { return cmocka_run_group_tests_name("op/call_cost", tests, make_tensors, free_tensors); }
