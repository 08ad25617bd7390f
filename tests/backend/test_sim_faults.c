/* The emulated accelerator when something fails, and what it reports of what it did. */
#include "backend/slow_sim.h"

#include "base/host.h"

/* ---- faults -------------------------------------------------------------------------------------------------------- */

static void a_failed_launch_surfaces_at_the_next_wait_and_once(void **state) {
  wf__device *d = start("fault=launch:3");
  wf__memory x = device_memory(d, 100);
  for (int i = 1; i <= 5; i++) fill(d, &x, 100, i); /* none of the calls fails */
  assert_int_equal(wf_stream_sync(d->default_stream), WF_DEVICE);
  assert_non_null(strstr(wf_error_peek().hint, "failed on sim:0 some time after"));
  assert_error(WF_DEVICE, "sim:0: a kernel failed (fault injected by WEFT_SIM)");
  assert_ok(wf_stream_sync(d->default_stream));
  expect_all(d, &x, 100, 5);
  wf__memory_free(&x);
}

static void a_fault_stays_while_an_error_is_pending(void **state) {
  wf__device *d = start("fault=launch:1");
  wf__memory x = device_memory(d, 100);
  fill(d, &x, 100, 1);
  wf__fail(WF_INDEX, "something else");
  assert_int_equal(wf_device_sync(d->id), WF_INDEX);
  assert_error(WF_INDEX, "something else");
  assert_int_equal(wf_device_sync(d->id), WF_DEVICE);
  wf_error_take();
  assert_ok(wf_device_sync(d->id));
  wf__memory_free(&x);
}

static void waiting_for_an_event_surfaces_a_fault(void **state) {
  wf__device *d = start("fault=copy:2");
  wf__memory x = device_memory(d, 100), p = pinned_memory(d, 100);
  wf_event *e = wf_event_new(d->id, false);
  ((int32_t *)p.address)[0] = 1;
  assert_ok(move(d, WF_HOST_TO_DEVICE, x.address, p.address, 100, true, false));
  assert_ok(wf_stream_sync(d->default_stream));
  ((int32_t *)p.address)[0] = 2;
  assert_ok(move(d, WF_HOST_TO_DEVICE, x.address, p.address, 100, true, false)); /* moves nothing */
  assert_ok(wf_event_record(e, d->default_stream));
  assert_int_equal(wf_event_sync(e), WF_DEVICE);
  assert_error(WF_DEVICE, "sim:0: a copy failed (fault injected by WEFT_SIM)");
  int32_t value;
  assert_ok(move(d, WF_DEVICE_TO_HOST, &value, x.address, 1, false, false));
  assert_int_equal(value, 1);
  wf_event_free(e);
  wf__memory_free(&x);
  wf__memory_free(&p);
}

static void a_copy_to_pageable_memory_reports_its_fault_itself(void **state) {
  wf__device *d = start("fault=copy:1");
  wf__memory x = device_memory(d, 100);
  int32_t host[100];
  assert_int_equal(move(d, WF_DEVICE_TO_HOST, host, x.address, 100, false, false), WF_DEVICE);
  wf_error_take();
  assert_ok(wf_device_sync(d->id));
  wf__memory_free(&x);
}

static void says_who_holds_the_memory_when_there_is_no_more(void **state) {
  wf__device *d = start("mem=64MiB");
  wf__memory weights = device_memory(d, (int64_t)5 << 20), small[3], m;
  wf__memory_set_owner(&weights, "linear");
  for (int i = 0; i < 3; i++) {
    small[i] = device_memory(d, 100000);
    wf__memory_set_owner(&small[i], "relu");
  }
  assert_int_equal(wf__memory_new(d, false, (size_t)60 << 20, d->default_stream, &m), WF_NO_MEMORY);
  wf_error e = wf_error_take();
  assert_non_null(strstr(e.text, "Tried to allocate 60.00 MiB"));
  assert_non_null(strstr(e.hint, "held at this moment: 20.00 MiB in 1 block by linear; 1.15 MiB in 3 blocks by relu."));
  wf__memory_free(&weights);
  assert_ok(wf__memory_new(d, false, (size_t)36 << 20, d->default_stream, &m)); /* 36 + 20 of the relus' segment fit */
  fill(d, &m, 1000, 8);
  expect_all(d, &m, 1000, 8);
  wf__memory_free(&m);
  for (int i = 0; i < 3; i++) wf__memory_free(&small[i]);
}

static void a_failed_segment_is_asked_for_again(void **state) {
  wf__device *d = start("fault=alloc:1");
  wf__memory m;
  wf_status status = wf__memory_new(d, false, 4096, d->default_stream, &m);
  if (status) assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
  if (!status) wf__memory_free(&m);
  assert_ok(wf__memory_new(d, false, 4096, d->default_stream, &m));
  wf__memory_free(&m);
}

/* Everything that allocates, once. Stops at the first failure, frees what there is. */
static void use_everything(void) {
  wf__memory x = {0}, p = {0};
  static int32_t host[600000];
  wf__device *d = wf__device_get(wf_sim(0));
  if (!d) return;
  wf_stream *s = wf_stream_new(d->id, 0);
  wf_stream_set(s ? s : d->default_stream);
  wf_event *e = wf_event_new(d->id, false);
  (void)(wf__memory_new(d, false, sizeof host, wf__stream_now(d), &x) ||
         wf__memory_new(d, true, sizeof host, wf__stream_now(d), &p) ||
         move(d, WF_HOST_TO_DEVICE, x.address, host, 600000, false, false) ||
         move(d, WF_DEVICE_TO_HOST, p.address, x.address, 600000, true, false) ||
         move(d, WF_DEVICE_TO_HOST, host, x.address, 600000, false, false) || wf_event_record(e, wf__stream_now(d)) ||
         wf_stream_wait(d->default_stream, e) || wf__memory_record_stream(&x, d->default_stream) ||
         wf__memory_record_stream(&p, wf__stream_now(d)));
  for (int i = 0; i < 40 && x.address && !wf__self.pending; i++) {
    wf_plan plan = plan_over(x.address, NULL, 1000);
    plan.scalar[0] = wf_int(i);
    wf__launch(d, &plan);
  }
  wf__memory_free(&x);
  wf__memory_free(&p);
  wf_event_free(e);
  wf_stream_free(s);
}

static void survives_every_failed_allocation(void **state) {
  setenv("WEFT_SIM", "mem=64MiB", 1);
  wf_stream_set(wf__device_get(wf_cpu())->default_stream); /* what a thread keeps is made */
  int64_t k = 1;
  for (bool hit = true; hit; k++) {
    wf__devices_close();
    wf__fault_at(k);
    use_everything();
    hit = wf__fault_count() >= k;
    wf__fault_at(0);
    if (wf_error_peek().status) assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
    use_everything();
    if (wf_error_peek().status) fail_msg("after failure %lld: %s", (long long)k, wf_error_peek().text);
  }
  assert_in_range(k, 15, 200);
}

/* ---- accounting ---------------------------------------------------------------------------------------------------- */

static wf_ledger_row sum_of(const wf_ledger_row *rows, size_t n, wf_event_kind kind) {
  wf_ledger_row sum = {0};
  for (size_t i = 0; i < n; i++) {
    if (rows[i].kind != kind || rows[i].device.type != WF_DEVICE_SIM) continue;
    sum.count += rows[i].count;
    sum.bytes_read += rows[i].bytes_read;
    sum.bytes_written += rows[i].bytes_written;
    sum.ns += rows[i].ns;
  }
  return sum;
}

static void every_move_and_wait_is_an_event(void **state) {
  wf__device *d = start("link=1GB/s+2ms,kernel_us=3000");
  wf__memory x = device_memory(d, 1000), p = pinned_memory(d, 1000);
  int32_t host[1000] = {0};
  assert_ok(wf_trace_start(WF_TRACE_FULL));
  upload(d, &x, host, 1000);
  assert_ok(move(d, WF_HOST_TO_DEVICE, x.address, p.address, 500, true, false));
  fill(d, &x, 1000, 1);
  assert_ok(move(d, WF_DEVICE_TO_HOST, host, x.address, 250, false, false));
  assert_ok(wf_device_sync(d->id));
  wf_trace_stop();
  size_t n;
  wf_ledger_row *rows = wf_ledger_rows(&n);
  wf_ledger_row h2d = sum_of(rows, n, WF_EVENT_H2D), d2h = sum_of(rows, n, WF_EVENT_D2H),
                stage = sum_of(rows, n, WF_EVENT_STAGE);
  wf_ledger_row kernel = sum_of(rows, n, WF_EVENT_KERNEL), wait = sum_of(rows, n, WF_EVENT_WAIT);
  assert_int_equal(h2d.count, 2);
  assert_int_equal(h2d.bytes_read, 6000);
  assert_int_equal(h2d.bytes_written, 6000);
  assert_int_equal(d2h.count, 1);
  assert_int_equal(d2h.bytes_written, 1000);
  assert_int_equal(stage.count, 2);
  assert_int_equal(stage.bytes_read, 5000);
  assert_int_equal(kernel.count, 1);
  assert_int_equal(kernel.bytes_written, 4000);
  assert_true(h2d.ns >= 4000000 && d2h.ns >= 2000000 && kernel.ns >= 3000000);
  assert_int_equal(wait.count, 2); /* for the pageable destination, and wf_device_sync */
  assert_true(wait.ns > 0);
  wf_trace_release(rows);
  wf__memory_free(&x);
  wf__memory_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_failed_launch_surfaces_at_the_next_wait_and_once),
      cmocka_unit_test(a_fault_stays_while_an_error_is_pending),
      cmocka_unit_test(waiting_for_an_event_surfaces_a_fault),
      cmocka_unit_test(a_copy_to_pageable_memory_reports_its_fault_itself),
      cmocka_unit_test(says_who_holds_the_memory_when_there_is_no_more),
      cmocka_unit_test(a_failed_segment_is_asked_for_again),
      cmocka_unit_test(survives_every_failed_allocation),
      cmocka_unit_test(every_move_and_wait_is_an_event),
  };
  return cmocka_run_group_tests_name("backend/sim_faults", tests, NULL, close_devices);
}
