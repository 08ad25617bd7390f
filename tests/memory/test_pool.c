/* The pool: the policy behind a lock. Arithmetic of one small and one large request, frees from inside a driver's callback, and
 * threads that take and free at once. */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/host.h"
#include "memory/pool.h"

typedef struct host_driver {
  struct wf__pool *pool;
  _Atomic int segments;
  wf_block *free_during_get; /* freed from inside the callback */
} host_driver;

static bool host_get(void *context, size_t bytes, uintptr_t *address) {
  host_driver *d = context;
  *address = (uintptr_t)wf__segment_get(bytes);
  if (!*address) return false;
  atomic_fetch_add(&d->segments, 1);
  if (d->free_during_get) wf__pool_free(d->pool, d->free_during_get);
  d->free_during_get = NULL;
  return true;
}
static void host_give(void *context, uintptr_t address, size_t bytes) {
  atomic_fetch_sub(&((host_driver *)context)->segments, 1);
  wf__segment_give((void *)address, bytes);
}

static struct wf__pool *open_pool(host_driver *d) {
  wf_allocator_driver driver = {.context = d, .get = host_get, .give = host_give};
  d->pool = wf__pool_new(&driver, NULL);
  assert_non_null(d->pool);
  return d->pool;
}

static void small_requests_share_a_segment_of_2_mib(void **state) {
  host_driver d = {0};
  struct wf__pool *pool = open_pool(&d);
  wf_block *a = wf__pool_alloc(pool, 1, 0, NULL), *b = wf__pool_alloc(pool, 513, 0, NULL);
  assert_int_equal(wf_block_size(a), 512);
  assert_int_equal(wf_block_size(b), 1024);
  assert_int_equal(wf_block_address(b) - wf_block_address(a), 512);
  memset((void *)wf_block_address(b), 7, 1024);
  wf_allocator_stats s;
  wf__pool_stats(pool, &s);
  assert_int_equal(s.requested_bytes[1].current, 514);
  assert_int_equal(s.allocated_bytes[0].current, 1536);
  assert_int_equal(s.reserved_bytes[1].current, 2 << 20);
  assert_int_equal(s.inactive_split_bytes[1].current, (2 << 20) - 1536);
  wf__pool_free(pool, a);
  wf__pool_free(pool, b);
  assert_int_equal(d.segments, 1);
  wf__pool_empty(pool);
  assert_int_equal(d.segments, 0);
  wf__pool_stats(pool, &s);
  assert_int_equal(s.reserved_bytes[0].current, 0);
  wf__pool_close(pool);
}

static void a_block_freed_by_the_driver_during_a_request_is_free_afterwards(void **state) {
  host_driver d = {0};
  struct wf__pool *pool = open_pool(&d);
  wf_block *a = wf__pool_alloc(pool, 4096, 0, NULL);
  d.free_during_get = a;
  wf_block *b = wf__pool_alloc(pool, 30 << 20, 0, NULL);
  assert_non_null(b);
  wf_allocator_stats s;
  wf__pool_stats(pool, &s);
  assert_int_equal(s.allocation[1].current, 0);
  assert_int_equal(s.allocation[2].current, 1);
  wf__pool_free(pool, b);
  wf__pool_close(pool);
  assert_int_equal(d.segments, 0);
}

enum { THREADS = 4, ROUNDS = 4000, HELD = 16 };

/* Each thread writes its mark over whole blocks and finds it again before it frees them. */
static void *take_and_free(void *context) {
  struct wf__pool *pool = context;
  static _Atomic unsigned number;
  unsigned seed = 1 + atomic_fetch_add(&number, 1);
  unsigned char mark = (unsigned char)seed;
  wf_block *held[HELD] = {0};
  for (int i = 0; i < ROUNDS; i++) {
    seed = seed * 1664525u + 1013904223u;
    wf_block **slot = &held[(seed >> 8) % HELD];
    if (*slot) {
      const unsigned char *p = (const unsigned char *)wf_block_address(*slot);
      if (p[0] != mark || p[wf_block_size(*slot) - 1] != mark) return "overwritten";
      wf__pool_free(pool, *slot);
      *slot = NULL;
    } else {
      *slot = wf__pool_alloc(pool, 1 + (seed >> 12) % 20000, 0, NULL);
      if (!*slot) return "no block";
      memset((void *)wf_block_address(*slot), mark, wf_block_size(*slot));
    }
  }
  for (int i = 0; i < HELD; i++) wf__pool_free(pool, held[i]);
  return NULL;
}

static void threads_that_take_and_free_at_once_never_share_a_block(void **state) {
  host_driver d = {0};
  struct wf__pool *pool = open_pool(&d);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, take_and_free, pool);
  for (int i = 0; i < THREADS; i++) {
    void *problem;
    pthread_join(threads[i], &problem);
    assert_null(problem);
  }
  wf_allocator_stats s;
  wf__pool_stats(pool, &s);
  assert_int_equal(s.allocation[0].current, 0);
  assert_int_equal(s.allocation[0].allocated, s.allocation[0].freed);
  assert_int_equal(s.allocated_bytes[0].current, 0);
  assert_int_equal(s.inactive_split[0].current, 0);
  wf__pool_close(pool);
  assert_int_equal(d.segments, 0);
}

/* R101. */
static void blocks_of_each_power_of_two_begin_at_multiples_of_512_bytes(void **state) {
  host_driver d = {0};
  struct wf__pool *pool = open_pool(&d);
  wf_block *held[14 * 64];
  int n = 0;
  for (size_t bytes = 8; bytes <= 65536; bytes *= 2)
    for (int i = 0; i < 64; i++) assert_non_null(held[n++] = wf__pool_alloc(pool, bytes, 0, NULL));
  assert_int_equal(n, 14 * 64);
  for (int i = 0; i < n; i++) assert_int_equal(wf_block_address(held[i]) % 512, 0);
  for (int i = 0; i < n; i++) wf__pool_free(pool, held[i]);
  wf__pool_close(pool);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(small_requests_share_a_segment_of_2_mib),
    cmocka_unit_test(a_block_freed_by_the_driver_during_a_request_is_free_afterwards),
    cmocka_unit_test(threads_that_take_and_free_at_once_never_share_a_block),
    cmocka_unit_test(blocks_of_each_power_of_two_begin_at_multiples_of_512_bytes),
};

WF_TEST_MAIN("memory/pool", tests)
