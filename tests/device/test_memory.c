/* Memory of a device through its pool: where it comes from, who is said to hold it, what statistics say. The host is the device
 * here; what depends on streams is in cts/. */
#include "test.h"

#include <stdio.h>
#include <sys/sysinfo.h>
#include <weft/memory.h>
#include "base/host.h"
#include "device/device.h"

static wf__memory memory_of(size_t bytes) {
  wf__device *cpu = wf__device_get(wf_cpu());
  wf__memory m;
  assert_ok(wf__memory_new(cpu, false, bytes, wf__stream_now(cpu), &m));
  return m;
}

static void gives_aligned_memory_and_counts_it(void **state) {
  wf_allocator_stats before, during, after;
  assert_ok(wf_memory_stats(wf_cpu(), false, &before));
  wf__memory m = memory_of(1000);
  assert_int_equal((uintptr_t)m.address % 128, 0);
  memset(m.address, 7, 1000);
  assert_ok(wf_memory_stats(wf_cpu(), false, &during));
  assert_int_equal(during.allocated_bytes[0].current - before.allocated_bytes[0].current, 1024); /* rounded to 512 */
  assert_int_equal(during.requested_bytes[0].current - before.requested_bytes[0].current, 1000);
  wf__memory_free(&m);
  assert_null(m.address);
  assert_ok(wf_memory_stats(wf_cpu(), false, &after));
  assert_int_equal(after.allocated_bytes[0].current, before.allocated_bytes[0].current);
}

static void gives_nothing_for_no_bytes(void **state) {
  wf__memory m = memory_of(0);
  assert_null(m.address);
  assert_null(m.block);
  wf__memory_free(&m);
}

static void reuses_freed_memory_at_once(void **state) {
  wf__memory a = memory_of(4096);
  void *address = a.address;
  wf__memory_free(&a);
  wf__memory b = memory_of(4096);
  assert_ptr_equal(b.address, address);
  wf__memory_free(&b);
}

static void find_owner(const wf_block_view *view, void *context) {
  if (view->state == WF_BLOCK_ALLOCATED && view->owner && !strcmp(view->owner, "conv2d"))
    *(size_t *)context += view->size;
}

static void remembers_who_holds_a_block(void **state) {
  wf__memory m = memory_of(5000);
  wf__memory_set_owner(&m, "conv2d");
  size_t bytes = 0;
  assert_ok(wf_memory_walk(wf_cpu(), false, find_owner, &bytes));
  assert_int_equal(bytes, 5120);
  wf__memory_free(&m);
}

static void says_what_pytorch_says_when_the_host_is_out_of_memory(void **state) {
  wf__device *cpu = wf__device_get(wf_cpu());
  wf__memory m;
  size_t bytes = (size_t)1 << 52;
  assert_int_equal(wf__memory_new(cpu, false, bytes, wf__stream_now(cpu), &m), WF_NO_MEMORY);
  assert_null(m.address);
  assert_error(WF_NO_MEMORY,
               "DefaultCPUAllocator: can't allocate memory: you tried to allocate 4503599627370496 bytes. "
               "Error code 12 (Cannot allocate memory)");
  m = memory_of(64);
  wf__memory_free(&m);
}

/* Whether the kernel promises any amount of memory (vm.overcommit_memory = 1). */
static bool kernel_promises_anything(void) {
  FILE *file = fopen("/proc/sys/vm/overcommit_memory", "r");
  int mode = file ? fgetc(file) : '1';
  if (file) fclose(file);
  return mode == '1';
}

static void refuses_at_once_what_the_machine_does_not_have(void **state) {
  struct sysinfo machine;
  if (kernel_promises_anything() || sysinfo(&machine)) skip();
  size_t there = (size_t)(machine.totalram + machine.totalswap) * machine.mem_unit;
  wf__device *cpu = wf__device_get(wf_cpu());
  wf__memory m;
  assert_int_equal(wf__memory_new(cpu, false, there + there / 4, wf__stream_now(cpu), &m), WF_NO_MEMORY);
  wf_error_take();
  m = memory_of(64);
  wf__memory_free(&m);
}

static void survives_every_failed_allocation(void **state) {
  wf__device *cpu = wf__device_get(wf_cpu());
  for (int64_t k = 1; k < 20; k++) {
    assert_ok(wf_memory_empty_cache(wf_cpu()));
    wf__fault_at(k);
    wf__memory m;
    wf_status status = wf__memory_new(cpu, false, (size_t)3 << 20, wf__stream_now(cpu), &m);
    bool hit = wf__fault_count() >= k;
    wf__fault_at(0);
    if (status == WF_OK) wf__memory_free(&m);
    else assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
    wf__memory again = memory_of((size_t)3 << 20);
    wf__memory_free(&again);
    if (!hit) return;
  }
}

static void absurd_sizes_fail_and_leave_the_allocator_usable(void **state) {
  static const struct {
    size_t bytes;
    const char *digits;
  } cases[] = {{281474972520448u, "281474972520448"},
               {SIZE_MAX - 8, "18446744073709551607"},
               {SIZE_MAX, "18446744073709551615"},
               {SIZE_MAX - 511, "18446744073709551104"},
               {(size_t)1 << 60, "1152921504606846976"}};
  wf__device *cpu = wf__device_get(wf_cpu());
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    wf__memory m;
    char text[256];
    assert_int_equal(wf__memory_new(cpu, false, cases[i].bytes, wf__stream_now(cpu), &m), WF_NO_MEMORY);
    snprintf(text, sizeof text,
             "DefaultCPUAllocator: can't allocate memory: you tried to allocate %s bytes. "
             "Error code 12 (Cannot allocate memory)",
             cases[i].digits);
    assert_error(WF_NO_MEMORY, text);
    m = memory_of(100);
    memset(m.address, 1, 100);
    wf__memory_free(&m);
  }
}

static void a_failing_request_gives_the_cache_back_first(void **state) {
  wf_allocator_stats before, after;
  wf__memory a = memory_of((size_t)30 << 20), b = memory_of(700), m;
  wf__memory_free(&a);
  wf__memory_free(&b); /* at hand: its segment goes too */
  assert_ok(wf_memory_stats(wf_cpu(), false, &before));
  assert_true(before.reserved_bytes[0].current >= 32 << 20);
  wf__device *cpu = wf__device_get(wf_cpu());
  assert_int_equal(wf__memory_new(cpu, false, (size_t)1 << 52, wf__stream_now(cpu), &m), WF_NO_MEMORY);
  wf_error_take();
  assert_ok(wf_memory_stats(wf_cpu(), false, &after));
  assert_int_equal(after.reserved_bytes[0].current, 0);
  assert_int_equal(after.alloc_retries - before.alloc_retries, 1);
  assert_int_equal(after.ooms - before.ooms, 1);
}

static void empty_cache_and_the_limit_give_memory_back(void **state) {
  wf_allocator_stats s;
  wf__memory a = memory_of((size_t)30 << 20), small = memory_of(700);
  wf__memory_free(&a);
  wf__memory_free(&small);
  assert_ok(wf_memory_empty_cache(wf_cpu()));
  assert_ok(wf_memory_stats(wf_cpu(), false, &s));
  assert_int_equal(s.reserved_bytes[0].current, 0);
  assert_ok(wf_memory_set_cache_limit(wf_cpu(), (size_t)25 << 20));
  a = memory_of((size_t)30 << 20);
  wf__memory_free(&a);
  assert_ok(wf_memory_stats(wf_cpu(), false, &s));
  assert_int_equal(s.reserved_bytes[0].current, 0);
  assert_ok(wf_memory_set_cache_limit(wf_cpu(), SIZE_MAX));
}

typedef struct named {
  int count, found;
} named;
static void find_names(const char *key, int64_t value, void *context) {
  static const struct {
    const char *key;
    int64_t value;
  } expected[] = {{"active.all.current", 4},
                  {"allocated_bytes.all.peak", 77},
                  {"allocation.small_pool.freed", 5},
                  {"reserved_bytes.large_pool.allocated", 99},
                  {"oversize_segments.current", 3},
                  {"num_alloc_retries", 6},
                  {"max_split_size", 123},
                  {"num_ooms", 8},
                  {"num_device_free", 2}};
  named *n = context;
  n->count++;
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
    if (!strcmp(key, expected[i].key)) {
      assert_int_equal(value, expected[i].value);
      n->found++;
    }
}

/* Nine figures of three pools and two without pools, four values each, six counters and max_split_size: what torch.cuda.memory_stats has
 * besides figures of private pools. */
static void statistics_go_by_pytorchs_names(void **state) {
  wf_allocator_stats s = {
      .alloc_retries = 6, .ooms = 8, .device_free = 2, .max_split_size = 123, .oversize_segments.current = 3};
  s.active[0].current = 4;
  s.allocated_bytes[0].peak = 77;
  s.allocation[1].freed = 5;
  s.reserved_bytes[2].allocated = 99;
  named n = {0};
  wf_allocator_stats_each(&s, find_names, &n);
  assert_int_equal(n.count, 9 * 3 * 4 + 2 * 4 + 7);
  assert_int_equal(n.found, 9);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gives_aligned_memory_and_counts_it),
      cmocka_unit_test(gives_nothing_for_no_bytes),
      cmocka_unit_test(reuses_freed_memory_at_once),
      cmocka_unit_test(remembers_who_holds_a_block),
      cmocka_unit_test(refuses_at_once_what_the_machine_does_not_have),
      cmocka_unit_test(says_what_pytorch_says_when_the_host_is_out_of_memory),
      cmocka_unit_test(survives_every_failed_allocation),
      cmocka_unit_test(absurd_sizes_fail_and_leave_the_allocator_usable),
      cmocka_unit_test(a_failing_request_gives_the_cache_back_first),
      cmocka_unit_test(empty_cache_and_the_limit_give_memory_back),
      cmocka_unit_test(statistics_go_by_pytorchs_names),
  };
  return cmocka_run_group_tests_name("device/memory", tests, NULL, NULL);
}
