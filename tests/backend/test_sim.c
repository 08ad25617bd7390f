/* The emulated accelerator where it must be late: kernels and links are slowed by its model, so that what is queued is still pending
 * when the test looks. */
#include "backend/slow_sim.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double cpu_ms(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
         (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-3;
}

/* ---- opening ------------------------------------------------------------------------------------------------------- */

static void ends_a_process_with_work_still_queued(void **state) { /* first, while there is one thread to fork */
  int64_t begin = wf_clock_ns();
  pid_t child = fork();
  if (!child) {
    setenv("WEFT_SIM", "kernel_us=50000,link=100KB/s", 1);
    wf__device *d = wf__device_get(wf_sim(0));
    if (!d) _exit(3);
    wf__memory x = device_memory(d, 1000000), y = device_memory(d, 10), p = pinned_memory(d, 1000000);
    for (int i = 0; i < 200; i++) fill(d, &y, 10, i);
    wf_stream_set(wf_stream_new(d->id, 0));
    (void)move(d, WF_HOST_TO_DEVICE, x.address, p.address, 1000000, true, false); /* 40 seconds */
    exit(7);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 7);
  assert_true(ms_since(begin) < 20000);
}

static void refuses_settings_that_it_does_not_understand(void **state) {
  wf__devices_close();
  setenv("WEFT_SIM", "mem=16GiB,speed=fast", 1);
  assert_int_equal(wf_device_open(wf_sim(0)), WF_VALUE);
  assert_non_null(strstr(wf_error_peek().hint, "kernel_us=200"));
  assert_error(WF_VALUE, "WEFT_SIM: unknown key 'speed'");
  start("mem=32MiB"); /* and works once they are mended */
}

static void has_as_many_devices_as_asked(void **state) {
  start("devices=3,mem=32MiB");
  assert_int_equal(wf_device_count(WF_DEVICE_SIM), 3);
  assert_ok(wf_device_open(wf_sim(2)));
  assert_int_equal(wf_device_open(wf_sim(3)), WF_DEVICE);
  assert_error(WF_DEVICE, "device sim:3 isn't there");
  assert_int_equal(wf_device_total_memory(wf_sim(2)), (size_t)32 << 20);
}

static void says_that_it_is_emulated(void **state) {
  start("mem=64MiB,link=pcie3x16,kernel_us=200");
  char text[200];
  assert_true(wf_device_is_emulated(wf_sim(0)));
  assert_false(wf_device_is_emulated(wf_cpu()));
  assert_string_equal(wf_device_describe(wf_sim(0), text, sizeof text),
                      "emulated: 64 MiB, link pcie3x16 (12.32 GB/s, 8 us), kernels of 200 us");
  assert_string_equal(wf_device_describe(wf_cpu(), text, sizeof text), "cpu");
  start("mem=1.5GiB");
  assert_string_equal(wf_device_describe(wf_sim(0), text, sizeof text),
                      "emulated: 1.5 GiB, transfers as fast as this host copies");
}

/* ---- emulated times ------------------------------------------------------------------------------------------------ */

PATIENT_TEST(kernels_occupy_their_stream_asleep) {
  wf__device *d = start("kernel_us=%d", 10000 * slower);
  bool in_time = true;
  wf__memory x = device_memory(d, 100);
  wf_event *a = wf_event_new(d->id, true), *b = wf_event_new(d->id, true);
  fill(d, &x, 100, 0);
  assert_ok(wf_device_sync(d->id));
  double cpu = cpu_ms();
  int64_t begin = wf_clock_ns();
  assert_ok(wf_event_record(a, d->default_stream));
  for (int i = 0; i < 20; i++) fill(d, &x, 100, i);
  assert_ok(wf_event_record(b, d->default_stream));
  in_time &= !wf_event_query(b) && ms_since(begin) < 100 * slower; /* queued, not run */
  assert_ok(wf_event_sync(b));
  double ms;
  assert_ok(wf_event_elapsed_ms(a, b, &ms));
  assert_true(ms >= 200 * slower);
  in_time &= ms < 300 * slower;
  assert_true(cpu_ms() - cpu < 100);
  wf_event_free(a);
  wf_event_free(b);
  expect_all(d, &x, 100, 19);
  wf__memory_free(&x);
  return in_time;
}

PATIENT_TEST(transfers_take_what_the_link_model_says) {
  wf__device *d = start("link=%dKB/s+%dms", 100000 / slower, 5 * slower);
  bool in_time = true;
  int64_t n = 500000; /* 2 MB: 20 ms and 5 more */
  wf__memory x = device_memory(d, n), p = pinned_memory(d, n);
  wf_event *e[3];
  for (int i = 0; i < 3; i++) e[i] = wf_event_new(d->id, true);
  assert_ok(wf_event_record(e[0], d->default_stream));
  assert_ok(move(d, WF_HOST_TO_DEVICE, x.address, p.address, n, true, false));
  assert_ok(wf_event_record(e[1], d->default_stream));
  assert_ok(move(d, WF_DEVICE_TO_HOST, p.address, x.address, n / 2, true, false));
  assert_ok(wf_event_record(e[2], d->default_stream));
  assert_ok(wf_event_sync(e[2]));
  double up, down;
  assert_ok(wf_event_elapsed_ms(e[0], e[1], &up));
  assert_ok(wf_event_elapsed_ms(e[1], e[2], &down));
  assert_true(up >= 25 * slower && down >= 15 * slower);
  in_time &= up < 40 * slower && down < 25 * slower;
  for (int i = 0; i < 3; i++) wf_event_free(e[i]);
  wf__memory_free(&x);
  wf__memory_free(&p);
  return in_time;
}

PATIENT_TEST(kernels_and_both_directions_overlap) {
  wf__device *d = start("link=%dKB/s,kernel_us=%d", 40000 / slower, 50000 * slower);
  bool in_time = true;
  int64_t n = 1000000; /* 4 MB: 100 ms */
  wf__memory x = device_memory(d, n), y = device_memory(d, n), z = device_memory(d, 8), p = pinned_memory(d, n),
             q = pinned_memory(d, n);
  wf_stream *up = wf_stream_new(d->id, 0), *down = wf_stream_new(d->id, 0);
  int64_t begin = wf_clock_ns();
  fill(d, &z, 8, 1);
  fill(d, &z, 8, 2); /* 100 ms in all */
  wf_stream_set(up);
  assert_ok(move(d, WF_HOST_TO_DEVICE, x.address, p.address, n, true, false));
  wf_stream_set(down);
  assert_ok(move(d, WF_DEVICE_TO_HOST, q.address, y.address, n, true, false));
  wf_stream_set(d->default_stream);
  in_time &= ms_since(begin) < 60 * slower;
  assert_ok(wf_device_sync(d->id));
  double ms = ms_since(begin);
  assert_true(ms >= 100 * slower);
  in_time &= ms < 190 * slower; /* one after the other would be 300, two of three 200 */
  wf_stream_free(up);
  wf_stream_free(down);
  wf__memory_free(&x);
  wf__memory_free(&y);
  wf__memory_free(&z);
  wf__memory_free(&p);
  wf__memory_free(&q);
  return in_time;
}

/* ---- host memory --------------------------------------------------------------------------------------------------- */

PATIENT_TEST(only_pageable_destinations_are_complete_on_return) {
  wf__device *d = start("link=1GB/s+%dms", 30 * slower);
  bool in_time = true;
  int64_t n = 1000;
  wf__memory x = device_memory(d, n), p = pinned_memory(d, n);
  int32_t *source = counted(n, 0), *pageable = calloc((size_t)n, 4), *pinned = p.address;
  upload(d, &x, source, n);
  memset(pinned, 0, (size_t)n * 4);
  assert_ok(move(d, WF_DEVICE_TO_HOST, pinned, x.address, n, true, false));
  in_time &= pinned[n - 1] == 0; /* not there yet */
  assert_ok(wf_stream_sync(d->default_stream));
  assert_memory_equal(pinned, source, (size_t)n * 4);
  assert_ok(move(d, WF_DEVICE_TO_HOST, pageable, x.address, n, false, false));
  assert_memory_equal(pageable, source, (size_t)n * 4);
  free(source);
  free(pageable);
  wf__memory_free(&x);
  wf__memory_free(&p);
  return in_time;
}

PATIENT_TEST(a_pageable_source_blocks_only_until_it_is_staged) {
  wf__device *d = start("link=%dKB/s", 20000 / slower);
  bool in_time = true;
  int64_t n = 1000000; /* 4 MB: 200 ms on the link, two staging buffers */
  wf__memory x = device_memory(d, n);
  int32_t *source = counted(n, 3);
  int64_t begin = wf_clock_ns();
  upload(d, &x, source, n);
  in_time &= ms_since(begin) < 150 * slower && !wf_stream_query(d->default_stream);
  memset(source, 0, (size_t)n * 4);
  int32_t *back = calloc((size_t)n, 4);
  assert_ok(move(d, WF_DEVICE_TO_HOST, back, x.address, n, false, false));
  for (int64_t i = 0; i < n; i++)
    if (back[i] != i + 3) fail_msg("element %lld is %d", (long long)i, back[i]);
  assert_true(ms_since(begin) >= 400 * slower);
  free(source);
  free(back);
  wf__memory_free(&x);
  return in_time;
}

PATIENT_TEST(a_pinned_block_in_flight_goes_to_nobody_else) {
  wf__device *d = start("link=%dKB/s", 20000 / slower);
  bool in_time = true;
  int64_t n = 100000; /* 20 ms */
  wf__memory x = device_memory(d, n), p = pinned_memory(d, n);
  void *first = p.address;
  for (int64_t i = 0; i < n; i++) ((int32_t *)p.address)[i] = 42;
  assert_ok(move(d, WF_HOST_TO_DEVICE, x.address, p.address, n, true, false));
  assert_ok(wf__memory_record_stream(&p, d->default_stream));
  wf__memory_free(&p);
  wf__memory q = pinned_memory(d, n);
  in_time &= q.address != first;
  memset(q.address, 0, (size_t)n * 4);
  expect_all(d, &x, n, 42);
  wf__memory r = pinned_memory(d, n); /* the copy is done */
  if (in_time) assert_ptr_equal(r.address, first);
  wf__memory_free(&q);
  wf__memory_free(&r);
  wf__memory_free(&x);
  return in_time;
}

/* ---- order --------------------------------------------------------------------------------------------------------- */

PATIENT_TEST(memory_used_on_another_stream_waits_for_it) {
  wf__device *d = start("kernel_us=%d", 20000 * slower);
  bool in_time = true;
  wf_stream *other = wf_stream_new(d->id, 0);
  wf__memory a = device_memory(d, 1000), target = device_memory(d, 1000);
  void *address = a.address;
  fill(d, &a, 1000, 7);
  assert_ok(wf_device_sync(d->id));
  wf_stream_set(other);
  for (int i = 0; i < 3; i++) copy(d, &target, &a, 1000);
  wf_stream_set(d->default_stream);
  assert_ok(wf__memory_record_stream(&a, other));
  wf__memory_free(&a);
  wf_allocator_stats stats;
  assert_ok(wf_memory_stats(d->id, false, &stats));
  int64_t active = stats.active_bytes[0].current;
  wf__memory b = device_memory(d, 1000);
  in_time &= b.address != address;
  assert_ok(wf_stream_sync(other));
  expect_all(d, &target, 1000, 7);
  wf__memory c = device_memory(d, 1000);
  if (in_time) assert_ptr_equal(c.address, address);
  assert_ok(wf_memory_stats(d->id, false, &stats));
  if (in_time) assert_int_equal(stats.active_bytes[0].current, active + 4096);
  wf__memory_free(&b);
  wf__memory_free(&c);
  wf__memory_free(&target);
  wf_stream_free(other);
  return in_time;
}

PATIENT_TEST(without_a_record_memory_is_reused_in_stream_order) {
  wf__device *d = start("kernel_us=%d", 5000 * slower);
  bool in_time = true;
  wf__memory a = device_memory(d, 1000), seen = device_memory(d, 1000);
  void *address = a.address;
  fill(d, &a, 1000, 1);
  copy(d, &seen, &a, 1000);
  wf__memory_free(&a); /* still used by what is queued */
  wf__memory b = device_memory(d, 1000);
  assert_ptr_equal(b.address, address);
  in_time &= !wf_stream_query(d->default_stream);
  fill(d, &b, 1000, 2);
  expect_all(d, &seen, 1000, 1);
  expect_all(d, &b, 1000, 2);
  wf__memory_free(&b);
  wf__memory_free(&seen);
  return in_time;
}

static void memory_goes_back_to_the_device_when_no_work_can_use_it(void **state) {
  wf__device *d = start("kernel_us=10000");
  int64_t n = (int64_t)3 << 20; /* a segment of its own */
  wf__memory a = device_memory(d, n);
  for (int i = 0; i < 4; i++) fill(d, &a, n, i);
  wf__memory_free(&a);
  assert_ok(wf_memory_empty_cache(d->id));
  assert_true(wf_stream_query(d->default_stream));
  wf_allocator_stats stats;
  assert_ok(wf_memory_stats(d->id, false, &stats));
  assert_int_equal(stats.reserved_bytes[0].current, 0);
}

PATIENT_TEST(a_wait_keeps_to_the_record_that_was_the_last_when_it_was_queued) {
  wf__device *d = start("kernel_us=%d", 15000 * slower);
  bool in_time = true;
  wf_stream *slow = wf_stream_new(d->id, 0), *quick = wf_stream_new(d->id, 0), *waits = wf_stream_new(d->id, -1);
  wf__memory x = device_memory(d, 10), seen = device_memory(d, 10);
  fill(d, &x, 10, 0);
  assert_ok(wf_device_sync(d->id));
  wf_event *e = wf_event_new(d->id, false);
  wf_stream_set(slow);
  fill(d, &x, 10, 1);
  fill(d, &x, 10, 2);
  assert_ok(wf_event_record(e, slow));
  wf_stream_set(waits);
  assert_ok(wf_stream_wait(waits, e));
  copy(d, &seen, &x, 10);
  assert_ok(wf_event_record(e, quick)); /* done at once; the wait above is for the other record */
  assert_ok(wf_event_sync(e));
  in_time &= !wf_stream_query(slow);
  wf_stream_set(d->default_stream);
  assert_ok(wf_stream_sync(waits));
  expect_all(d, &seen, 10, 2);
  wf_event_free(e);
  wf_stream_free(slow);
  wf_stream_free(quick);
  wf_stream_free(waits);
  wf__memory_free(&x);
  wf__memory_free(&seen);
  return in_time;
}

PATIENT_TEST(streams_take_turns_and_high_priority_goes_first) {
  wf__device *d = start("kernel_us=%d", 10000 * slower);
  bool in_time = true;
  wf_stream *s[3] = {wf_stream_new(d->id, 0), wf_stream_new(d->id, 0), wf_stream_new(d->id, -1)};
  wf__memory x = device_memory(d, 10);
  wf_event *done[3][3];
  for (int i = 0; i < 3; i++) {
    wf_stream_set(s[i]);
    for (int k = 0; k < 3; k++) {
      fill(d, &x, 10, 1);
      done[i][k] = wf_event_new(d->id, true);
      assert_ok(wf_event_record(done[i][k], s[i]));
    }
  }
  wf_stream_set(d->default_stream);
  assert_ok(wf_device_sync(d->id));
  double ms[3][3];
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) assert_ok(wf_event_elapsed_ms(done[0][0], done[i][k], &ms[i][k]));
  in_time &= ms[2][2] < ms[0][1]; /* all of the high stream before the second of a normal one */
  in_time &=
      ms[0][0] < ms[1][0] && ms[1][0] < ms[0][1] && ms[0][1] < ms[1][1] && ms[1][1] < ms[0][2] && ms[0][2] < ms[1][2];
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) wf_event_free(done[i][k]);
  for (int i = 0; i < 3; i++) wf_stream_free(s[i]);
  wf__memory_free(&x);
  return in_time;
}

static void events_order_streams_of_two_devices(void **state) {
  wf__device *a = start("devices=2,mem=64MiB,kernel_us=5000"), *b = wf__device_get(wf_sim(1));
  int64_t n = 1000;
  wf__memory x = device_memory(a, n), y = device_memory(b, n);
  wf_event *written = wf_event_new(a->id, false);
  fill(a, &x, n, 5);
  fill(a, &x, n, 6);
  assert_ok(wf_event_record(written, a->default_stream));
  assert_ok(wf_stream_wait(b->default_stream, written));
  assert_ok(move(b, WF_DEVICE_TO_DEVICE, y.address, x.address, n, false, false));
  expect_all(b, &y, n, 6);
  wf_plan p = plan_over(y.address, x.address, n);
  assert_int_equal(wf__launch(b, &p), WF_DEVICE); /* a kernel has no peer access */
  assert_non_null(strstr(wf_error_take().hint, "on another device"));
  wf_event_free(written);
  wf__memory_free(&x);
  wf__memory_free(&y);
}

/* ---- threads ------------------------------------------------------------------------------------------------------- */

typedef struct job {
  wf__device *device;
  pthread_t thread;
  int number;
  void *address;
} job;

static void *stage_in_a_thread(void *argument) {
  job *j = argument;
  wf__device *d = j->device;
  wf_stream *own = wf_stream_new(d->id, 0);
  wf_stream_set(own);
  int64_t n = 2500000; /* five pieces */
  wf__memory x = device_memory(d, n);
  for (int round = 0; round < 3; round++) {
    int32_t *there = counted(n, j->number * 1000 + round), *back = calloc((size_t)n, 4);
    upload(d, &x, there, n);
    assert_ok(move(d, WF_DEVICE_TO_HOST, back, x.address, n, false, false));
    assert_memory_equal(back, there, (size_t)n * 4);
    free(there);
    free(back);
  }
  wf__memory_free(&x);
  wf_stream_free(own);
  return NULL;
}

static void threads_share_the_staging_buffers(void **state) {
  wf__device *d = start("mem=1GiB");
  job jobs[4];
  for (int i = 0; i < 4; i++) {
    jobs[i] = (job){.device = d, .number = i};
    assert_int_equal(pthread_create(&jobs[i].thread, NULL, stage_in_a_thread, &jobs[i]), 0);
  }
  for (int i = 0; i < 4; i++) pthread_join(jobs[i].thread, NULL);
}

static void *ask_in_a_thread(void *argument) {
  job *j = argument;
  wf_stream *own = wf_stream_new(j->device->id, 0);
  wf_stream_set(own);
  wf__memory m = device_memory(j->device, 1000);
  j->address = m.address;
  wf__memory_free(&m);
  wf_stream_free(own);
  return NULL;
}

PATIENT_TEST(a_thread_never_gets_memory_that_anothers_stream_still_uses) {
  wf__device *d = start("kernel_us=%d", 20000 * slower);
  bool in_time = true;
  wf_stream *own = wf_stream_new(d->id, 0);
  wf_stream_set(own);
  wf__memory a = device_memory(d, 1000);
  void *address = a.address;
  for (int i = 0; i < 3; i++) fill(d, &a, 1000, i);
  wf__memory_free(&a);
  job j = {.device = d};
  assert_int_equal(pthread_create(&j.thread, NULL, ask_in_a_thread, &j), 0);
  pthread_join(j.thread, NULL);
  in_time &= j.address != address;
  wf_stream_free(own);
  return in_time;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ends_a_process_with_work_still_queued),
      cmocka_unit_test(refuses_settings_that_it_does_not_understand),
      cmocka_unit_test(has_as_many_devices_as_asked),
      cmocka_unit_test(says_that_it_is_emulated),
      cmocka_unit_test(kernels_occupy_their_stream_asleep),
      cmocka_unit_test(transfers_take_what_the_link_model_says),
      cmocka_unit_test(kernels_and_both_directions_overlap),
      cmocka_unit_test(only_pageable_destinations_are_complete_on_return),
      cmocka_unit_test(a_pageable_source_blocks_only_until_it_is_staged),
      cmocka_unit_test(a_pinned_block_in_flight_goes_to_nobody_else),
      cmocka_unit_test(memory_used_on_another_stream_waits_for_it),
      cmocka_unit_test(without_a_record_memory_is_reused_in_stream_order),
      cmocka_unit_test(memory_goes_back_to_the_device_when_no_work_can_use_it),
      cmocka_unit_test(a_wait_keeps_to_the_record_that_was_the_last_when_it_was_queued),
      cmocka_unit_test(streams_take_turns_and_high_priority_goes_first),
      cmocka_unit_test(events_order_streams_of_two_devices),
      cmocka_unit_test(threads_share_the_staging_buffers),
      cmocka_unit_test(a_thread_never_gets_memory_that_anothers_stream_still_uses),
  };
  return cmocka_run_group_tests_name("backend/sim", tests, NULL, close_devices);
}
