/* Streams and events as callers may misuse them: nothing given, an error pending, things of which there is only one. */
#include "test.h"

#include <weft/memory.h>
#include <weft/tensor.h>
#include "device/device.h"

static void says_what_was_not_given(void **state) {
  wf_event *e = wf_event_new(wf_cpu(), true);
  wf_stream *s = wf_stream_default(wf_cpu());
  double ms;
  assert_int_equal(wf_event_record(NULL, s), WF_VALUE);
  assert_error(WF_VALUE, "no event given");
  assert_int_equal(wf_event_record(e, NULL), WF_VALUE);
  assert_error(WF_VALUE, "no stream given");
  assert_int_equal(wf_stream_wait(s, NULL), WF_VALUE);
  assert_error(WF_VALUE, "no event given");
  assert_int_equal(wf_stream_sync(NULL), WF_VALUE);
  assert_error(WF_VALUE, "no stream given");
  assert_int_equal(wf_event_sync(NULL), WF_VALUE);
  assert_error(WF_VALUE, "no event given");
  assert_int_equal(wf_event_elapsed_ms(e, NULL, &ms), WF_VALUE);
  assert_error(WF_VALUE, "no event given");
  assert_null(wf_stream_set(NULL));
  assert_error(WF_VALUE, "no stream given");
  assert_true(wf_event_query(NULL) && wf_stream_query(NULL));
  wf_event_free(NULL);
  wf_stream_free(NULL);
  wf_event_free(e);
}

static void makes_nothing_while_an_error_is_pending_but_waits(void **state) {
  wf_stream *s = wf_stream_new(wf_sim(0), 0);
  wf_event *e = wf_event_new(wf_sim(0), false);
  wf_device_parse("nonsense", &(wf_device){0});
  assert_null(wf_stream_new(wf_cpu(), 0));
  assert_null(wf_event_new(wf_cpu(), false));
  assert_null(wf_stream_current(wf_cpu()));
  assert_int_equal(wf_event_record(e, s), WF_RUNTIME);
  assert_int_equal(wf_stream_wait(s, e), WF_RUNTIME);
  assert_int_equal(wf_stream_sync(s), WF_RUNTIME);
  assert_int_equal(wf_event_sync(e), WF_RUNTIME);
  assert_int_equal(wf_device_sync(wf_sim(0)), WF_RUNTIME);
  assert_int_equal(wf_memory_empty_cache(wf_sim(0)), WF_RUNTIME);
  wf_event_free(e);
  wf_stream_free(s);
  assert_error(WF_RUNTIME, "Expected one of cpu, sim, cuda device type at start of device string: nonsense");
}

static void keeps_the_default_stream(void **state) {
  wf_stream *s = wf_stream_default(wf_sim(0));
  wf_stream_free(s);
  assert_ptr_equal(wf_stream_default(wf_sim(0)), s);
  assert_ok(wf_stream_sync(s));
}

static void setting_a_stream_returns_the_one_before(void **state) {
  wf_stream *first = wf_stream_default(wf_sim(0)), *second = wf_stream_new(wf_sim(0), 0),
            *cpu = wf_stream_new(wf_cpu(), 0);
  assert_ptr_equal(wf_stream_set(second), first);
  assert_ptr_equal(wf_stream_set(cpu), wf_stream_default(wf_cpu())); /* each device has its own */
  assert_ptr_equal(wf_stream_current(wf_sim(0)), second);
  assert_ptr_equal(wf_stream_set(first), second);
  wf_stream_free(second);
  wf_stream_free(cpu);
  assert_ptr_equal(wf_stream_current(wf_cpu()), wf_stream_default(wf_cpu()));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(says_what_was_not_given),
      cmocka_unit_test(makes_nothing_while_an_error_is_pending_but_waits),
      cmocka_unit_test(keeps_the_default_stream),
      cmocka_unit_test(setting_a_stream_returns_the_one_before),
  };
  return cmocka_run_group_tests_name("device/stream", tests, NULL, NULL);
}
