/* The event stream from emitting to reading: sums by site, single events, limits, threads that come and go. */
#define _GNU_SOURCE
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/host.h"
#include "trace/recorder.h"

static const char site_a, site_b;

static wf_trace_event event(wf_event_kind kind, const char *op, const void *site, int64_t bytes, int64_t start,
                            int64_t end) {
  return (wf_trace_event){.kind = kind,
                          .op = op,
                          .site = site,
                          .bytes_read = bytes,
                          .bytes_written = 2 * bytes,
                          .start_ns = start,
                          .end_ns = end};
}

static void emit(wf_event_kind kind, const char *op, const void *site, int64_t bytes, int64_t start, int64_t end) {
  wf_trace_event e = event(kind, op, site, bytes, start, end);
  wf__trace_emit(&e);
}

static void adds_up_events_of_one_site_and_operator(void **state) {
  assert_ok(wf_trace_start(WF_TRACE_LEDGER));
  for (int i = 0; i < 5; i++) emit(WF_EVENT_COPY, "contiguous", &site_a, 100, 1000, 1030);
  emit(WF_EVENT_COPY, "contiguous", &site_b, 7, 0, 1000);
  emit(WF_EVENT_CAST, "contiguous", &site_a, 1, 0, 1);
  wf_trace_stop();
  emit(WF_EVENT_COPY, "contiguous", &site_a, 100, 1000, 1030); /* after the stop: not counted */
  size_t n;
  wf_ledger_row *rows = wf_ledger_rows(&n);
  assert_int_equal(n, 3);
  assert_ptr_equal(rows[0].site, &site_b); /* largest time first */
  assert_int_equal(rows[0].ns, 1000);
  assert_ptr_equal(rows[1].site, &site_a);
  assert_int_equal(rows[1].kind, WF_EVENT_COPY);
  assert_string_equal(rows[1].op, "contiguous");
  assert_int_equal(rows[1].count, 5);
  assert_int_equal(rows[1].bytes_read, 500);
  assert_int_equal(rows[1].bytes_written, 1000);
  assert_int_equal(rows[1].ns, 150);
  assert_int_equal(rows[2].kind, WF_EVENT_CAST);
  wf_trace_release(rows);
  wf_trace_event *events = wf_trace_events(&n);
  assert_non_null(events);
  assert_int_equal(n, 0);
  wf_trace_release(events);
}

static void merges_equal_texts_at_two_addresses(void **state) {
  char one[] = "clone", two[] = "clone";
  assert_ok(wf_trace_start(WF_TRACE_LEDGER));
  emit(WF_EVENT_COPY, one, &site_a, 1, 0, 1);
  emit(WF_EVENT_COPY, two, &site_a, 2, 0, 1);
  size_t n;
  wf_ledger_row *rows = wf_ledger_rows(&n);
  assert_int_equal(n, 1);
  assert_int_equal(rows[0].bytes_read, 3);
  wf_trace_release(rows);
  wf_trace_stop();
}

static void keeps_asked_and_implicit_copies_apart(void **state) {
  assert_ok(wf_trace_start(WF_TRACE_LEDGER));
  wf_trace_event e = event(WF_EVENT_COPY, "conv2d", &site_a, 8, 0, 1);
  e.implicit = true;
  wf__trace_emit(&e);
  e.kind = WF_EVENT_CAST;
  wf__trace_emit(&e);
  e.bytes_written = 0; /* nothing moved: no copy */
  wf__trace_emit(&e);
  e.kind = WF_EVENT_PACK, e.bytes_written = 8; /* a library's own packing isn't an implicit copy */
  wf__trace_emit(&e);
  e.kind = WF_EVENT_COPY, e.implicit = false;
  wf__trace_emit(&e);
  assert_int_equal(wf_ledger_implicit_copies(), 2);
  size_t n;
  wf_ledger_row *rows = wf_ledger_rows(&n);
  assert_int_equal(n, 4);
  wf_trace_release(rows);
  wf_trace_stop();
  assert_int_equal(wf_ledger_implicit_copies(), 2);
  assert_ok(wf_trace_start(WF_TRACE_LEDGER));
  assert_int_equal(wf_ledger_implicit_copies(), 0);
  wf_trace_stop();
}

static void counts_thousands_of_different_rows(void **state) {
  static const char sites[5000];
  assert_ok(wf_trace_start(WF_TRACE_LEDGER));
  for (int round = 0; round < 3; round++)
    for (int i = 0; i < 5000; i++) emit(WF_EVENT_FILL, "fill_", &sites[i], i, 0, i);
  size_t n;
  wf_ledger_row *rows = wf_ledger_rows(&n);
  assert_int_equal(n, 5000);
  for (size_t i = 0; i < n; i++) {
    int64_t k = (const char *)rows[i].site - sites;
    assert_int_equal(k, 4999 - (int64_t)i); /* sorted by time, which is 3 k */
    assert_int_equal(rows[i].count, 3);
    assert_int_equal(rows[i].bytes_read, 3 * k);
  }
  wf_trace_release(rows);
  wf_trace_stop();
}

static void keeps_single_events_in_order_of_time(void **state) {
  assert_ok(wf_trace_start(WF_TRACE_FULL));
  emit(WF_EVENT_KERNEL, "add", &site_a, 1, 50, 60);
  emit(WF_EVENT_ZONE, "forward", &site_a, 0, 10, 100);
  emit(WF_EVENT_KERNEL, "mul", &site_a, 1, 10, 20);
  wf_trace_stop();
  size_t n;
  wf_trace_event *events = wf_trace_events(&n);
  assert_int_equal(n, 3);
  assert_string_equal(events[0].op, "forward"); /* starts with mul, but encloses it */
  assert_string_equal(events[1].op, "mul");
  assert_string_equal(events[2].op, "add");
  assert_int_equal(events[0].thread, wf__thread_number());
  assert_string_equal(events[0].module, "");
  wf_trace_release(events);
  assert_int_equal(wf_trace_dropped(), 0);
}

static void says_how_many_events_it_could_not_keep(void **state) {
  assert_ok(wf_trace_set_limit(1));
  assert_ok(wf_trace_start(WF_TRACE_FULL));
  for (int i = 0; i < WF__EVENTS_PER_CHUNK + 17; i++) emit(WF_EVENT_KERNEL, "add", &site_a, 1, i, i + 1);
  wf_trace_stop();
  size_t n;
  wf_trace_event *events = wf_trace_events(&n);
  assert_int_equal(n, WF__EVENTS_PER_CHUNK);
  wf_trace_release(events);
  assert_int_equal(wf_trace_dropped(), 17);
  wf_ledger_row *rows = wf_ledger_rows(&n);
  assert_int_equal(n, 1);
  assert_int_equal(rows[0].count, WF__EVENTS_PER_CHUNK + 17);
  wf_trace_release(rows);
  assert_int_equal(wf_trace_set_limit(0), WF_VALUE);
  assert_error(WF_VALUE, "a recording must keep at least 1 event, got a limit of 0");
  assert_ok(wf_trace_set_limit(1 << 20));
  assert_int_equal(wf_trace_start((wf_trace_level)3), WF_VALUE);
  assert_error(WF_VALUE, "trace level must be 0 (off), 1 (ledger) or 2 (full), got 3");
}

/* Sums stay complete, and no error is left behind, when each allocation of recording fails in turn. */
static void loses_no_sum_when_memory_is_out(void **state) {
  static const char sites[3000];
  for (int k = 1; k <= 12; k++) {
    assert_ok(wf_trace_start(WF_TRACE_FULL));
    wf__fault_at(k);
    for (int i = 0; i < 3000; i++) emit(WF_EVENT_COPY, "clone", &sites[i], 4, 0, 1);
    wf__fault_at(0);
    wf_trace_stop();
    assert_int_equal(wf_error_peek().status, WF_OK);
    size_t n;
    wf_ledger_row *rows = wf_ledger_rows(&n);
    int64_t count = 0, bytes = 0, written = 0;
    for (size_t i = 0; i < n; i++)
      count += rows[i].count, bytes += rows[i].bytes_read, written += rows[i].bytes_written;
    assert_int_equal(count, 3000);
    assert_int_equal(bytes, 12000);
    assert_int_equal(written, 24000);
    wf_trace_release(rows);
    wf_trace_event *events = wf_trace_events(&n);
    assert_int_equal((int64_t)n + wf_trace_dropped(), 3000);
    wf_trace_release(events);
  }
}

#define PER_THREAD 4000
static _Atomic int ready;

static void *record_some(void *numbers) {
  atomic_fetch_add(&ready, 1);
  for (int i = 0; i < PER_THREAD; i++) emit(WF_EVENT_H2D, "to", &site_a, 3, i, i + 2);
  *(uint32_t *)numbers = wf__thread_number();
  return NULL;
}

static void sums_over_threads_that_have_ended(void **state) {
  assert_ok(wf_trace_start(WF_TRACE_FULL));
  uint32_t number[12];
  for (int round = 0; round < 3; round++) {
    pthread_t thread[4];
    for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, record_some, &number[4 * round + i]);
    /* reading while they write must give whole entries */
    for (int i = 0; i < 20; i++) {
      size_t n;
      wf_trace_event *events = wf_trace_events(&n);
      for (size_t k = 0; k < n; k++) assert_int_equal(events[k].end_ns - events[k].start_ns, 2);
      wf_trace_release(events);
    }
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
  }
  wf_trace_stop();
  size_t n;
  wf_ledger_row *rows = wf_ledger_rows(&n);
  assert_int_equal(n, 1);
  assert_int_equal(rows[0].count, 12 * PER_THREAD);
  assert_int_equal(rows[0].bytes_read, 36 * PER_THREAD);
  assert_int_equal(rows[0].ns, 24 * PER_THREAD);
  wf_trace_release(rows);
  wf_trace_event *events = wf_trace_events(&n);
  assert_int_equal(n, 12 * PER_THREAD);
  int per[12] = {0};
  for (size_t k = 0; k < n; k++)
    for (int i = 0; i < 12; i++) per[i] += events[k].thread == number[i];
  for (int i = 0; i < 12; i++) assert_int_equal(per[i], PER_THREAD);
  wf_trace_release(events);
  int buffers = 0;
  wf__recorders_lock();
  for (wf__recorder *r = wf__recorders_next(NULL); r; r = wf__recorders_next(r)) buffers++;
  wf__recorders_unlock();
  assert_in_range(buffers, 1, 5); /* later threads went on in the buffers of earlier ones */
}

static void *start_again_and_again(void *stop) {
  while (!atomic_load((_Atomic int *)stop)) emit(WF_EVENT_KERNEL, "add", &site_a, 1, 0, 1);
  return NULL;
}

static void starts_from_nothing_while_threads_record(void **state) {
  _Atomic int stop = 0;
  pthread_t thread[3];
  for (int i = 0; i < 3; i++) pthread_create(&thread[i], NULL, start_again_and_again, &stop);
  for (int i = 0; i < 200; i++) {
    assert_ok(wf_trace_start(i % 2 ? WF_TRACE_FULL : WF_TRACE_LEDGER));
    size_t n;
    wf_ledger_row *rows = wf_ledger_rows(&n);
    for (size_t k = 0; k < n; k++) assert_string_equal(rows[k].op, "add");
    wf_trace_release(rows);
  }
  wf_trace_stop();
  atomic_store(&stop, 1);
  for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
  assert_ok(wf_trace_start(WF_TRACE_FULL));
  size_t n;
  wf_ledger_row *rows = wf_ledger_rows(&n);
  assert_int_equal(n, 0);
  wf_trace_release(rows);
  wf_trace_stop();
}

static void *named(void *number) {
  pthread_setname_np(pthread_self(), "loader 3");
  emit(WF_EVENT_KERNEL, "add", &site_a, 1, 0, 1);
  *(uint32_t *)number = wf__thread_number();
  return NULL;
}

static void remembers_the_names_of_threads(void **state) {
  assert_ok(wf_trace_start(WF_TRACE_LEDGER));
  emit(WF_EVENT_KERNEL, "add", &site_a, 1, 0, 1);
  assert_string_equal(wf_trace_thread_name(wf__thread_number()), "main");
  uint32_t number;
  pthread_t thread;
  pthread_create(&thread, NULL, named, &number);
  pthread_join(thread, NULL);
  assert_string_equal(wf_trace_thread_name(number), "loader 3");
  assert_string_equal(wf_trace_thread_name(UINT32_MAX), "");
  wf_trace_stop();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(adds_up_events_of_one_site_and_operator),
      cmocka_unit_test(merges_equal_texts_at_two_addresses),
      cmocka_unit_test(keeps_asked_and_implicit_copies_apart),
      cmocka_unit_test(counts_thousands_of_different_rows),
      cmocka_unit_test(keeps_single_events_in_order_of_time),
      cmocka_unit_test(says_how_many_events_it_could_not_keep),
      cmocka_unit_test(loses_no_sum_when_memory_is_out),
      cmocka_unit_test(sums_over_threads_that_have_ended),
      cmocka_unit_test(starts_from_nothing_while_threads_record),
      cmocka_unit_test(remembers_the_names_of_threads),
  };
  return cmocka_run_group_tests_name("trace/recorder", tests, NULL, NULL);
}
