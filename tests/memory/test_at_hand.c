/* Small blocks that threads keep at hand before a pool: that no lock is needed, that the pool's figures are what the user sees, that
 * everything comes back, and the limit on what a pool keeps. */
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/host.h"
#include "memory/at_hand.h"
#include "memory/pool.h"

#define HAND ((size_t)64 << 10)

typedef struct driver {
  int segments, most; /* most: how many the driver has */
} driver;

static bool get(void *context, size_t bytes, uintptr_t *address) {
  driver *d = context;
  if (d->segments == d->most) return false;
  *address = (uintptr_t)wf__segment_get(bytes);
  d->segments += *address != 0;
  return *address != 0;
}
static void give(void *context, uintptr_t address, size_t bytes) {
  ((driver *)context)->segments--;
  wf__segment_give((void *)address, bytes);
}

static struct wf__pool *open_pool(driver *d) {
  *d = (driver){0, 1000};
  wf_allocator_driver table = {.context = d, .get = get, .give = give};
  struct wf__pool *pool = wf__pool_new(&table, NULL);
  assert_non_null(pool);
  wf__pool_keep_at_hand(pool, HAND);
  return pool;
}

static wf_block *take(struct wf__pool *pool, size_t bytes) {
  wf_block *block = wf__pool_alloc(pool, bytes, 0, "owner");
  assert_non_null(block);
  return block;
}

static wf_allocator_stats stats_of(struct wf__pool *pool) {
  wf_allocator_stats s;
  wf__pool_stats(pool, &s);
  return s;
}

typedef struct visit {
  struct wf__pool *pool;
  wf_block *expected;
  int turns, allocated;
  size_t free_bytes;
} visit;

/* The walk holds the lock, which isn't recursive. */
static void take_and_free_under_the_lock(const wf_block_view *view, void *context) {
  visit *v = context;
  wf_block *block = wf__pool_alloc(v->pool, 1000, 0, NULL);
  assert_ptr_equal(block, v->expected);
  wf__pool_free(v->pool, block);
  v->turns++;
}

static void a_block_at_hand_is_taken_and_freed_without_the_lock(void **state) {
  driver d;
  struct wf__pool *pool = open_pool(&d);
  wf_block *block = take(pool, 1000);
  wf__pool_free(pool, block);
  visit v = {.pool = pool, .expected = block};
  wf__pool_walk(pool, take_and_free_under_the_lock, &v);
  assert_true(v.turns >= 2);
  wf__pool_close(pool);
}

static void figures_of_one_thread_are_exact(void **state) {
  driver d;
  struct wf__pool *pool = open_pool(&d);
  wf_block *a = take(pool, 1000), *b = take(pool, 3000);
  wf__pool_free(pool, a); /* at hand now */
  wf_allocator_stats s = stats_of(pool);
  assert_int_equal(s.allocated_bytes[0].current, 3072);
  assert_int_equal(s.allocated_bytes[0].peak, 4096);
  assert_int_equal(s.allocated_bytes[1].freed, 1024);
  assert_int_equal(s.requested_bytes[0].current, 3000);
  assert_int_equal(s.active_bytes[0].current, 3072);
  a = take(pool, 600);
  wf_block *c = take(pool, 600); /* from the pool: the first two were 1024 and 3072 */
  s = stats_of(pool);
  assert_int_equal(s.allocation[0].current, 3);
  assert_int_equal(s.allocation[0].allocated, 4);
  assert_int_equal(s.allocation[0].freed, 1);
  assert_int_equal(s.allocated_bytes[0].peak, 1024 + 3072 + 1024);
  assert_int_equal(s.requested_bytes[0].peak, 600 + 3000 + 600);
  wf__pool_free(pool, a);
  wf__pool_free(pool, b);
  wf__pool_free(pool, c);
  wf__pool_reset_peak(pool);
  s = stats_of(pool);
  assert_int_equal(s.allocated_bytes[0].current, 0);
  assert_int_equal(s.allocated_bytes[0].peak, 0);
  a = take(pool, 3072);
  wf__pool_free(pool, a);
  s = stats_of(pool);
  assert_int_equal(s.allocated_bytes[0].peak, 3072);
  assert_int_equal(s.allocated_bytes[2].peak, 0);
  assert_int_equal(s.allocated_bytes[0].allocated, s.allocated_bytes[0].freed);
  wf__pool_close(pool);
}

static void count_blocks(const wf_block_view *view, void *context) {
  visit *v = context;
  v->allocated += view->state == WF_BLOCK_ALLOCATED;
  if (view->state != WF_BLOCK_FREE) return;
  v->free_bytes += view->size;
  assert_null(view->owner);
  assert_int_equal(view->requested, 0);
}

static void a_walk_shows_what_is_at_hand_as_free(void **state) {
  driver d;
  struct wf__pool *pool = open_pool(&d);
  wf_block *a = take(pool, 100), *b = take(pool, 100);
  wf__pool_free(pool, a);
  visit v = {.pool = pool};
  wf__pool_walk(pool, count_blocks, &v);
  assert_int_equal(v.allocated, 1);
  assert_int_equal(v.free_bytes, (2 << 20) - 512);
  wf__pool_free(pool, b);
  wf__pool_close(pool);
}

static void no_more_than_the_bound_is_at_hand_whatever_is_freed(void **state) {
  driver d;
  struct wf__pool *pool = open_pool(&d);
  wf_block *held[600];
  for (int i = 0; i < 600; i++) held[i] = take(pool, 1 + (size_t)i * 61 % 40000);
  size_t most = 0;
  for (int i = 0; i < 600; i++) {
    wf__pool_free(pool, held[i]);
    const wf__hand *h = wf__self.memory;
    if (h->bytes > most) most = h->bytes;
  }
  assert_true(most <= HAND && most > HAND / 2);
  assert_int_equal(stats_of(pool).allocated_bytes[0].current, 0);
  wf__pool_empty(pool);
  assert_int_equal(d.segments, 0);
  assert_int_equal(stats_of(pool).reserved_bytes[0].current, 0);
  wf__pool_close(pool);
}

typedef struct handover {
  struct wf__pool *pool;
  wf_block **block;
  int n;
  pthread_barrier_t *meet; /* NULL: ends at once */
  size_t at_hand;
} handover;

static void *free_all(void *context) {
  handover *h = context;
  for (int i = 0; i < h->n; i++) wf__pool_free(h->pool, h->block[i]);
  if (!h->meet) return NULL;
  pthread_barrier_wait(h->meet); /* the other one empties the pool */
  pthread_barrier_wait(h->meet);
  wf__pool_free(h->pool, take(h->pool, 512)); /* notices */
  h->at_hand = ((const wf__hand *)wf__self.memory)->bytes;
  pthread_barrier_wait(h->meet); /* it looks at what is left */
  pthread_barrier_wait(h->meet);
  return NULL;
}

/* R104. The thread's very first call frees a block that another one took. */
static void what_another_thread_freed_comes_back_when_it_ends(void **state) {
  driver d;
  struct wf__pool *pool = open_pool(&d);
  wf_block *held[300];
  for (int i = 0; i < 300; i++) held[i] = take(pool, 700);
  handover h = {.pool = pool, .block = held, .n = 300};
  pthread_t thread;
  pthread_create(&thread, NULL, free_all, &h);
  pthread_join(thread, NULL);
  wf_allocator_stats s = stats_of(pool);
  assert_int_equal(s.allocation[0].current, 0);
  assert_int_equal(s.allocation[0].freed, 300);
  assert_int_equal(s.allocated_bytes[0].peak, 300 * 1024);
  wf__pool_empty(pool);
  assert_int_equal(d.segments, 0);
  wf__pool_close(pool);
}

static void threads_empty_their_hands_at_their_next_call_after_somebody_asked(void **state) {
  driver d;
  struct wf__pool *pool = open_pool(&d);
  wf_block *held[20];
  for (int i = 0; i < 20; i++) held[i] = take(pool, 700);
  pthread_barrier_t meet;
  pthread_barrier_init(&meet, NULL, 2);
  handover h = {.pool = pool, .block = held, .n = 20, .meet = &meet};
  pthread_t thread;
  pthread_create(&thread, NULL, free_all, &h);
  pthread_barrier_wait(&meet);
  wf__pool_empty(pool);
  assert_int_equal(d.segments, 1); /* the other thread's blocks lie in it */
  pthread_barrier_wait(&meet);
  pthread_barrier_wait(&meet);
  assert_int_equal(h.at_hand, 512);
  assert_int_equal(stats_of(pool).allocation[0].current, 0);
  pthread_barrier_wait(&meet);
  pthread_join(thread, NULL);
  pthread_barrier_destroy(&meet);
  wf__pool_empty(pool);
  assert_int_equal(d.segments, 0);
  wf__pool_close(pool);
}

static void what_is_at_hand_goes_back_before_a_request_fails(void **state) {
  driver d;
  struct wf__pool *pool = open_pool(&d);
  wf__pool_free(pool, take(pool, 512));
  d.most = 1; /* the small segment, pinned by the block at hand */
  wf_block *large = take(pool, 5 << 20);
  wf_allocator_stats s = stats_of(pool);
  assert_int_equal(s.reserved_bytes[1].current, 0);
  assert_int_equal(s.ooms, 0);
  assert_null(wf__pool_alloc(pool, 30 << 20, 0, NULL));
  assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
  assert_int_equal(stats_of(pool).ooms, 1);
  wf__pool_free(pool, large);
  wf__pool_close(pool);
}

static void a_pool_that_is_closed_and_one_that_follows_do_not_mix(void **state) {
  driver d, e;
  struct wf__pool *first = open_pool(&d), *second = open_pool(&e);
  wf__pool_free(first, take(first, 512));
  wf_block *b = take(second, 512); /* this thread's hand is the second pool's now */
  assert_int_equal(stats_of(first).allocation[0].current, 0);
  wf__pool_free(second, b);
  wf__pool_close(second);
  wf_block *a = take(first, 512);
  wf__pool_free(first, a);
  assert_int_equal(stats_of(first).allocation[0].allocated, 2);
  wf__pool_close(first);
  assert_int_equal(d.segments + e.segments, 0);
}

typedef struct ending {
  struct wf__pool *pool;
  pthread_barrier_t meet;
  _Atomic int tid; /* of the thread that ends, once it is about to */
} ending;

static void *use_and_end(void *context) {
  ending *e = context;
  wf__pool_free(e->pool, take(e->pool, 512));
  pthread_barrier_wait(&e->meet); /* it has a hand */
  pthread_barrier_wait(&e->meet); /* the pool is locked */
  atomic_store(&e->tid, (int)syscall(SYS_gettid));
  return NULL;
}

static bool sleeps(int tid) {
  char path[64], state = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  FILE *file = fopen(path, "r");
  bool known = file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
  if (file) fclose(file);
  return known && state == 'S';
}

/* Under the pool's lock, which a thread that ends waits for with its hand. */
static void let_one_end(const wf_block_view *view, void *context) {
  ending *e = context;
  (void)view;
  if (e->tid) return;
  pthread_barrier_wait(&e->meet);
  while (!atomic_load(&e->tid) || !sleeps(e->tid)) usleep(1000);
}

/* The thread has only been woken when the pool is closed: had the pool not waited for it, it would find memory that is gone, which the
 * sanitizer of threads sees. */
static void a_pool_is_closed_only_after_the_hands_of_threads_that_end(void **state) {
  driver d;
  ending e = {.pool = open_pool(&d)};
  pthread_t ends;
  pthread_barrier_init(&e.meet, NULL, 2);
  pthread_create(&ends, NULL, use_and_end, &e);
  pthread_barrier_wait(&e.meet);
  wf__pool_walk(e.pool, let_one_end, &e);
  wf__pool_close(e.pool);
  pthread_join(ends, NULL);
  pthread_barrier_destroy(&e.meet);
  assert_int_equal(d.segments, 0);
}

static void no_more_than_the_limit_is_kept_and_the_oldest_goes_first(void **state) {
  driver d;
  struct wf__pool *pool = open_pool(&d);
  wf__pool_set_cache_limit(pool, (size_t)50 << 20);
  wf_block *a = take(pool, 20 << 20), *b = take(pool, 22 << 20), *c = take(pool, 24 << 20);
  uintptr_t newest = wf_block_address(c);
  wf__pool_free(pool, a);
  wf__pool_free(pool, take(pool, 40 << 20));
  assert_int_equal(stats_of(pool).reserved_bytes[0].current, (40 + 22 + 24) << 20); /* the 20 have gone */
  wf__pool_free(pool, b);
  assert_int_equal(stats_of(pool).reserved_bytes[0].current, (22 + 24) << 20);
  wf__pool_free(pool, c);
  assert_int_equal(stats_of(pool).reserved_bytes[0].current, (22 + 24) << 20);
  wf__pool_set_cache_limit(pool, (size_t)30 << 20);
  assert_int_equal(stats_of(pool).reserved_bytes[0].current, 24 << 20);
  c = take(pool, 24 << 20);
  assert_int_equal(wf_block_address(c), newest);
  wf__pool_set_cache_limit(pool, 0);
  wf__pool_free(pool, c);
  assert_int_equal(d.segments, 0);
  wf__pool_close(pool);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_block_at_hand_is_taken_and_freed_without_the_lock),
    cmocka_unit_test(figures_of_one_thread_are_exact),
    cmocka_unit_test(a_walk_shows_what_is_at_hand_as_free),
    cmocka_unit_test(no_more_than_the_bound_is_at_hand_whatever_is_freed),
    cmocka_unit_test(what_another_thread_freed_comes_back_when_it_ends),
    cmocka_unit_test(threads_empty_their_hands_at_their_next_call_after_somebody_asked),
    cmocka_unit_test(what_is_at_hand_goes_back_before_a_request_fails),
    cmocka_unit_test(a_pool_that_is_closed_and_one_that_follows_do_not_mix),
    cmocka_unit_test(a_pool_is_closed_only_after_the_hands_of_threads_that_end),
    cmocka_unit_test(no_more_than_the_limit_is_kept_and_the_oldest_goes_first),
};
WF_TEST_MAIN("memory/at_hand", tests)
