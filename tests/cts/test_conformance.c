/* What the library counts on from every device. Runs for each device that this process finds, and for the backend that authors copy.
 * Whether work is late here depends on the device; tests that need it to be late are in backend/test_sim.c. */
#include "cts/device_under_test.h"

#include <pthread.h>
#include <unistd.h>

#include "backend/null/null_backend.h"

static wf__device *devices[32];
static int device_count;
static wf__device *d; /* the one that is being tested */

static void each_device(void (*test)(void)) {
  for (int i = 0; i < device_count; i++) {
    d = devices[i];
    test();
    if (d->backend->device_sync(d->state) != WF_OK) fail_msg("%s: %s", d->backend->name, wf_error_peek().text);
  }
}
/* A test and its cmocka form, which runs it for each device. */
#define TEST(name)                                             \
  static void name##_here(void);                               \
  static void name(void **state) { each_device(name##_here); } \
  static void name##_here(void)

static bool has_kernels(void) { return d->backend != &wf__null_backend; }

/* ---- memory -------------------------------------------------------------------------------------------------------- */

TEST(gives_aligned_memory_that_does_not_overlap) {
  enum { COUNT = 40 };
  wf__memory m[COUNT];
  for (int i = 0; i < COUNT; i++) m[i] = device_memory(d, 1 + i * i * 37);
  for (int i = 0; i < COUNT; i++) {
    assert_int_equal((uintptr_t)m[i].address % 128, 0);
    for (int j = 0; j < i; j++) {
      uintptr_t a = (uintptr_t)m[i].address, b = (uintptr_t)m[j].address;
      assert_true(a + (size_t)(1 + i * i * 37) * 4 <= b || b + (size_t)(1 + j * j * 37) * 4 <= a);
    }
  }
  for (int i = 0; i < COUNT; i++) wf__memory_free(&m[i]);
}

TEST(keeps_device_memory_out_of_the_hosts_reach_unless_it_says_otherwise) {
  wf__memory m = device_memory(d, 16);
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  ssize_t written = write(ends[1], m.address, 1); /* the system reads a byte there, or says that it can't */
  assert_int_equal(written, d->backend->host_access ? 1 : -1);
  wf__memory p = pinned_memory(d, 16);
  assert_int_equal(write(ends[1], p.address, 1), 1);
  close(ends[0]);
  close(ends[1]);
  wf__memory_free(&m);
  wf__memory_free(&p);
}

TEST(reuses_freed_memory_on_its_stream_and_not_on_another) {
  wf__memory a = device_memory(d, 3000);
  void *address = a.address;
  wf_stream *other = wf_stream_new(d->id, 0);
  wf__memory_free(&a);
  wf__memory b;
  assert_ok(wf__memory_new(d, false, 12000, other, &b));
  if (d->backend->asynchronous) assert_ptr_not_equal(b.address, address);
  wf__memory_free(&b);
  wf__memory c = device_memory(d, 3000);
  assert_ptr_equal(c.address, address);
  wf__memory_free(&c);
  wf_stream_free(other);
}

TEST(frees_memory_that_another_stream_used_once_that_stream_is_done) {
  wf_stream *other = wf_stream_new(d->id, 0);
  wf__memory a = device_memory(d, 5000);
  void *address = a.address;
  assert_ok(wf__memory_record_stream(&a, other));
  wf__memory_free(&a);
  assert_ok(wf_stream_sync(other));
  wf__memory b = device_memory(d, 5000);
  assert_ptr_equal(b.address, address);
  wf__memory_free(&b);
  wf_stream_free(other);
}

TEST(counts_pinned_bytes_up_and_down) {
  wf_allocator_stats before, during, after;
  assert_ok(wf_memory_stats(d->id, true, &before));
  wf__memory p = pinned_memory(d, 1024);
  assert_ok(wf_memory_stats(d->id, true, &during));
  assert_int_equal(during.active_bytes[0].current - before.active_bytes[0].current, 4096);
  wf__memory_free(&p);
  assert_ok(wf_memory_stats(d->id, true, &after));
  assert_int_equal(after.active_bytes[0].current, before.active_bytes[0].current);
}

TEST(reports_true_sizes_of_pinned_memory) {
  size_t bytes = ((size_t)1 << 25) + 4096;
  wf_allocator_stats before, during;
  wf__pool_empty(wf__memory_pool(d, true));
  assert_ok(wf_memory_stats(d->id, true, &before));
  wf__memory p = pinned_memory(d, (int64_t)bytes / 4);
  assert_ok(wf_memory_stats(d->id, true, &during));
  assert_int_equal(during.requested_bytes[0].current - before.requested_bytes[0].current, bytes);
  size_t reserved = (size_t)(during.reserved_bytes[0].current - before.reserved_bytes[0].current);
  assert_in_range(reserved, bytes, bytes + ((size_t)2 << 20));
  wf__memory_free(&p);
}

TEST(recovers_from_running_out_of_memory) {
  wf__memory held = device_memory(d, 1000), m;
  wf__memory_set_owner(&held, "conformance");
  size_t too_much = wf_device_total_memory(d->id) + 1;
  if (too_much == 1) too_much = (size_t)1 << 52;
  assert_int_equal(wf__memory_new(d, false, too_much, d->default_stream, &m), WF_NO_MEMORY);
  assert_null(m.address);
  wf_error e = wf_error_take();
  assert_int_equal(e.status, WF_NO_MEMORY);
  if (d->id.type != WF_DEVICE_CPU) assert_non_null(strstr(e.hint, "1 block by conformance"));
  if (has_kernels()) {
    fill(d, &held, 1000, 3);
    expect_all(d, &held, 1000, 3);
  }
  wf__memory_free(&held);
}

/* ---- copies -------------------------------------------------------------------------------------------------------- */

static const int64_t sizes[] = {1, 3, 1000, 65536, 524288, 524289, 3000001};
#define SIZES (int)(sizeof sizes / sizeof *sizes)

TEST(moves_pageable_memory_there_and_back) {
  for (int i = 0; i < SIZES; i++) {
    int64_t n = sizes[i];
    int32_t *there = counted(n, i), *back = calloc((size_t)n, 4);
    wf__memory m = device_memory(d, n);
    upload(d, &m, there, n);
    int32_t first = there[0], last = there[n - 1];
    memset(there, 0xff, (size_t)n * 4); /* a pageable source is the caller's again as soon as the call returns */
    assert_ok(move(d, WF_DEVICE_TO_HOST, back, m.address, n, false, false)); /* and the destination is complete then */
    assert_int_equal(back[0], first);
    assert_int_equal(back[n - 1], last);
    for (int64_t k = 0; k < n; k++)
      if (back[k] != i + (int32_t)k) fail_msg("size %lld: element %lld is %d", (long long)n, (long long)k, back[k]);
    wf__memory_free(&m);
    free(there);
    free(back);
  }
}

TEST(moves_pinned_memory_there_and_back) {
  for (int i = 0; i < SIZES; i++) {
    int64_t n = sizes[i];
    wf__memory there = pinned_memory(d, n), back = pinned_memory(d, n), m = device_memory(d, n);
    int32_t *t = there.address, *b = back.address;
    for (int64_t k = 0; k < n; k++) t[k] = (int32_t)k - i;
    assert_ok(move(d, WF_HOST_TO_DEVICE, m.address, t, n, true, false));
    assert_ok(move(d, WF_DEVICE_TO_HOST, b, m.address, n, true, false));
    wf_event *e = wf_event_new(d->id, false);
    assert_ok(wf_event_record(e, d->default_stream));
    assert_ok(wf_event_sync(e));
    for (int64_t k = 0; k < n; k++)
      if (b[k] != (int32_t)k - i) fail_msg("size %lld: element %lld is %d", (long long)n, (long long)k, b[k]);
    wf_event_free(e);
    wf__memory_free(&there);
    wf__memory_free(&back);
    wf__memory_free(&m);
  }
}

TEST(a_blocking_transfer_is_complete_on_return) {
  int64_t n = 1000000;
  wf__memory m = device_memory(d, n), p = pinned_memory(d, n);
  int32_t *host = p.address, *source = counted(n, 5);
  upload(d, &m, source, n);
  memset(host, 0, (size_t)n * 4);
  assert_ok(move(d, WF_DEVICE_TO_HOST, host, m.address, n, true, true));
  assert_memory_equal(host, source, (size_t)n * 4);
  free(source);
  wf__memory_free(&m);
  wf__memory_free(&p);
}

TEST(moves_bytes_within_the_device) {
  int64_t n = 700000;
  wf__memory a = device_memory(d, n), b = device_memory(d, n);
  int32_t *source = counted(n, -9), *back = calloc((size_t)n, 4);
  upload(d, &a, source, n);
  assert_ok(move(d, WF_DEVICE_TO_DEVICE, b.address, a.address, n, false, false));
  assert_ok(move(d, WF_DEVICE_TO_HOST, back, b.address, n, false, false));
  assert_memory_equal(back, source, (size_t)n * 4);
  free(source);
  free(back);
  wf__memory_free(&a);
  wf__memory_free(&b);
}

TEST(refuses_a_transfer_whose_sides_lie_elsewhere) {
  if (d->backend->host_access) return;
  wf__memory m = device_memory(d, 4), n = device_memory(d, 4);
  int32_t host[4] = {1, 2, 3, 4};
  assert_int_equal(move(d, WF_HOST_TO_DEVICE, host, host, 4, false, false), WF_DEVICE);
  wf_error_take();
  assert_int_equal(move(d, WF_HOST_TO_DEVICE, m.address, n.address, 4, false, false), WF_DEVICE);
  wf_error_take();
  assert_int_equal(move(d, WF_DEVICE_TO_HOST, m.address, n.address, 4, false, false), WF_DEVICE);
  wf_error_take();
  assert_int_equal(move(d, WF_DEVICE_TO_DEVICE, m.address, host, 4, false, false), WF_DEVICE);
  wf_error_take();
  wf__memory_free(&m);
  wf__memory_free(&n);
}

TEST(refuses_a_kernel_on_host_memory) {
  if (d->backend->host_access) return;
  int32_t host[4] = {1, 2, 3, 4};
  wf_plan p = plan_over(host, NULL, 4);
  p.scalar[0] = wf_int(9);
  assert_int_equal(wf__launch(d, &p), WF_DEVICE);
  assert_non_null(strstr(wf_error_take().hint, "in host memory"));
  assert_ok(wf_device_sync(d->id));
  assert_int_equal(host[0], 1);
}

TEST(moves_nothing_for_no_bytes) { assert_ok(move(d, WF_HOST_TO_DEVICE, NULL, NULL, 0, false, true)); }

/* ---- order --------------------------------------------------------------------------------------------------------- */

TEST(runs_a_streams_work_in_order) {
  if (!has_kernels()) return;
  enum { STEPS = 200, N = 5000 };
  wf__memory x = device_memory(d, N), snapshot = device_memory(d, N), sum = pinned_memory(d, STEPS);
  for (int i = 0; i < STEPS; i++) {
    fill(d, &x, N, i);
    copy(d, &snapshot, &x, N);
    assert_ok(
        move(d, WF_DEVICE_TO_HOST, (int32_t *)sum.address + i, (char *)snapshot.address + 4 * (N - 1), 1, true, false));
  }
  assert_ok(wf_stream_sync(d->default_stream));
  assert_true(wf_stream_query(d->default_stream));
  for (int i = 0; i < STEPS; i++) assert_int_equal(((int32_t *)sum.address)[i], i);
  wf__memory_free(&x);
  wf__memory_free(&snapshot);
  wf__memory_free(&sum);
}

TEST(takes_more_work_than_a_queue_holds) {
  if (!has_kernels()) return;
  wf__memory x = device_memory(d, 64);
  for (int i = 0; i < 5000; i++) fill(d, &x, 64, i);
  expect_all(d, &x, 64, 4999);
  wf__memory_free(&x);
}

TEST(orders_streams_by_events) {
  if (!has_kernels()) return;
  enum { ROUNDS = 50, N = 200000 };
  wf_stream *a = wf_stream_new(d->id, 0), *b = wf_stream_new(d->id, -1);
  wf_event *written = wf_event_new(d->id, false), *read = wf_event_new(d->id, false);
  wf__memory x = device_memory(d, N), y = device_memory(d, N), seen = pinned_memory(d, ROUNDS);
  assert_ok(wf_device_sync(d->id));
  for (int i = 0; i < ROUNDS; i++) {
    wf_stream_set(a);
    assert_ok(wf_stream_wait(a, read)); /* in the first round never recorded: no wait */
    fill(d, &x, N, i);
    assert_ok(wf_event_record(written, a));
    wf_stream_set(b);
    assert_ok(wf_stream_wait(b, written));
    copy(d, &y, &x, N);
    assert_ok(wf_event_record(read, b));
    assert_ok(move(d, WF_DEVICE_TO_HOST, (int32_t *)seen.address + i, (char *)y.address + 4 * (N - 1), 1, true, false));
  }
  wf_stream_set(d->default_stream);
  assert_ok(wf_stream_sync(b));
  for (int i = 0; i < ROUNDS; i++) assert_int_equal(((int32_t *)seen.address)[i], i);
  wf_event_free(written);
  wf_event_free(read);
  wf_stream_free(a);
  wf_stream_free(b);
  wf__memory_free(&x);
  wf__memory_free(&y);
  wf__memory_free(&seen);
}

TEST(an_event_done_means_that_all_before_it_is_done) {
  if (!has_kernels()) return;
  int64_t n = 1000000;
  wf__memory x = device_memory(d, n), p = pinned_memory(d, n);
  int32_t *host = p.address;
  memset(host, 0, (size_t)n * 4);
  wf_event *e = wf_event_new(d->id, false);
  fill(d, &x, n, 11);
  assert_ok(move(d, WF_DEVICE_TO_HOST, host, x.address, n, true, false));
  assert_ok(wf_event_record(e, d->default_stream));
  while (!wf_event_query(e)) usleep(100);
  assert_int_equal(host[0], 11);
  assert_int_equal(host[n - 1], 11);
  wf_event_free(e);
  wf__memory_free(&x);
  wf__memory_free(&p);
}

TEST(treats_events_that_were_never_recorded_as_done) {
  wf_event *a = wf_event_new(d->id, true), *b = wf_event_new(d->id, true), *untimed = wf_event_new(d->id, false);
  assert_true(wf_event_query(a));
  assert_ok(wf_event_sync(a));
  assert_ok(wf_stream_wait(d->default_stream, a));
  double ms = -1;
  assert_int_equal(wf_event_elapsed_ms(a, b, &ms), WF_VALUE);
  assert_error(WF_VALUE, "Both events must be recorded before calculating elapsed time.");
  assert_ok(wf_event_record(a, d->default_stream));
  assert_int_equal(wf_event_elapsed_ms(a, b, &ms), WF_VALUE);
  assert_error(WF_VALUE, "Both events must be recorded before calculating elapsed time.");
  assert_ok(wf_event_record(untimed, d->default_stream));
  assert_ok(wf_event_sync(untimed));
  assert_int_equal(wf_event_elapsed_ms(a, untimed, &ms), WF_VALUE);
  assert_error(WF_VALUE, "Both events must be created with argument 'enable_timing=True'.");
  assert_true(ms == -1);
  wf_event_free(a);
  wf_event_free(b);
  wf_event_free(untimed);
}

TEST(measures_time_between_events) {
  wf_event *a = wf_event_new(d->id, true), *b = wf_event_new(d->id, true);
  assert_ok(wf_event_record(a, d->default_stream));
  assert_ok(wf_event_sync(a));
  usleep(3000);
  assert_ok(wf_event_record(b, d->default_stream));
  assert_ok(wf_event_sync(b));
  double ms = 0;
  assert_ok(wf_event_elapsed_ms(a, b, &ms));
  assert_true(ms >= 3 && ms < 3000);
  assert_ok(wf_event_elapsed_ms(b, a, &ms));
  assert_true(ms <= -3);
  wf_event_free(a);
  wf_event_free(b);
}

TEST(refuses_to_record_an_event_of_another_device) {
  wf_device elsewhere = d->id.type == WF_DEVICE_CPU ? wf_sim(0) : wf_cpu();
  wf_event *e = wf_event_new(elsewhere, false);
  assert_int_equal(wf_event_record(e, d->default_stream), WF_RUNTIME);
  assert_non_null(strstr(wf_error_take().text, "does not match recording stream's device type"));
  assert_ok(wf_stream_wait(d->default_stream, e)); /* waiting for it is allowed */
  wf_event_free(e);
}

TEST(lets_go_of_pending_events_and_streams) {
  if (!has_kernels()) return;
  wf__memory x = device_memory(d, 100000);
  assert_ok(wf_device_sync(d->id));
  wf_stream *s = wf_stream_new(d->id, 0);
  wf_event *e = wf_event_new(d->id, true);
  wf_stream *before = wf_stream_set(s);
  assert_ptr_equal(before, d->default_stream);
  for (int i = 0; i < 20; i++) fill(d, &x, 100000, i);
  assert_ok(wf_event_record(e, s));
  wf_event_free(e);
  wf_stream_free(s); /* waits, and stops being the current one */
  assert_ptr_equal(wf_stream_current(d->id), d->default_stream);
  expect_all(d, &x, 100000, 19);
  wf__memory_free(&x);
}

TEST(gives_ids_of_freed_streams_to_new_ones) {
  wf_stream *a = wf_stream_new(d->id, 0), *b = wf_stream_new(d->id, 0);
  assert_int_not_equal(a->id, 0);
  assert_int_not_equal(b->id, a->id);
  uint32_t id = a->id;
  wf_stream_free(a);
  a = wf_stream_new(d->id, 0);
  assert_int_equal(a->id, id);
  wf_stream_free(a);
  wf_stream_free(b);
}

static void *current_in_a_thread(void *device) {
  wf_stream *s = wf_stream_new(((wf__device *)device)->id, 0);
  wf_stream_set(s);
  bool own = wf_stream_current(((wf__device *)device)->id) == s;
  wf_stream_free(s);
  return own ? device : NULL;
}

TEST(keeps_a_current_stream_for_each_thread) {
  pthread_t thread;
  void *result;
  assert_int_equal(pthread_create(&thread, NULL, current_in_a_thread, d), 0);
  assert_int_equal(pthread_join(thread, &result), 0);
  assert_ptr_equal(result, d);
  assert_ptr_equal(wf_stream_current(d->id), d->default_stream);
}

/* ---- faults -------------------------------------------------------------------------------------------------------- */

TEST(reports_a_plan_without_a_kernel_at_the_launch_or_the_next_wait) {
  wf__memory x = device_memory(d, 8);
  wf_plan p = plan_over(x.address, NULL, 8);
  p.family = 999;
  p.tag.op = "no_such_operator";
  wf_status status = wf__launch(d, &p);
  if (!status) status = wf_device_sync(d->id);
  assert_int_equal(status, WF_NOT_IMPLEMENTED);
  assert_int_equal(wf_error_take().status, WF_NOT_IMPLEMENTED);
  assert_ok(wf_device_sync(d->id)); /* once */
  if (has_kernels()) {
    fill(d, &x, 8, 4);
    expect_all(d, &x, 8, 4);
  }
  wf__memory_free(&x);
}

static void add_device(wf_device id) {
  wf__device *device = wf__device_get(id);
  if (!device) fail_msg("%s", wf_error_peek().text);
  devices[device_count++] = device;
}

static int find_devices(void **state) {
  if (!wf_device_count(WF_DEVICE_CUDA)) assert_ok(wf_backend_register(&wf__null_backend));
  for (int type = 0; type < WF__DEVICE_TYPES; type++)
    for (int i = 0; i < wf_device_count((wf_device_type)type); i++) add_device((wf_device){(wf_device_type)type, i});
  return 0;
}

static int close_devices(void **state) {
  wf__devices_close();
  return 0;
}

int main(void) {
  setenv("WEFT_SIM", "mem=1GiB,devices=2", 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gives_aligned_memory_that_does_not_overlap),
      cmocka_unit_test(keeps_device_memory_out_of_the_hosts_reach_unless_it_says_otherwise),
      cmocka_unit_test(reuses_freed_memory_on_its_stream_and_not_on_another),
      cmocka_unit_test(frees_memory_that_another_stream_used_once_that_stream_is_done),
      cmocka_unit_test(counts_pinned_bytes_up_and_down),
      cmocka_unit_test(reports_true_sizes_of_pinned_memory),
      cmocka_unit_test(recovers_from_running_out_of_memory),
      cmocka_unit_test(moves_pageable_memory_there_and_back),
      cmocka_unit_test(moves_pinned_memory_there_and_back),
      cmocka_unit_test(a_blocking_transfer_is_complete_on_return),
      cmocka_unit_test(moves_bytes_within_the_device),
      cmocka_unit_test(refuses_a_transfer_whose_sides_lie_elsewhere),
      cmocka_unit_test(refuses_a_kernel_on_host_memory),
      cmocka_unit_test(moves_nothing_for_no_bytes),
      cmocka_unit_test(runs_a_streams_work_in_order),
      cmocka_unit_test(takes_more_work_than_a_queue_holds),
      cmocka_unit_test(orders_streams_by_events),
      cmocka_unit_test(an_event_done_means_that_all_before_it_is_done),
      cmocka_unit_test(treats_events_that_were_never_recorded_as_done),
      cmocka_unit_test(measures_time_between_events),
      cmocka_unit_test(refuses_to_record_an_event_of_another_device),
      cmocka_unit_test(lets_go_of_pending_events_and_streams),
      cmocka_unit_test(gives_ids_of_freed_streams_to_new_ones),
      cmocka_unit_test(keeps_a_current_stream_for_each_thread),
      cmocka_unit_test(reports_a_plan_without_a_kernel_at_the_launch_or_the_next_wait),
  };
  return cmocka_run_group_tests_name("cts/conformance", tests, find_devices, close_devices);
}
