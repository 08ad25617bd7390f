/* Zones, module paths, tags, waits, interned strings, names of sites, the copy policy. */
#define _GNU_SOURCE
#include "test.h"

#include <weft/weft.h>

#include "base/host.h"
#include "trace/recorder.h"

static wf_trace_event *only_events(size_t expected) {
  size_t n;
  wf_trace_event *events = wf_trace_events(&n);
  assert_int_equal(n, expected);
  return events;
}

static void gives_an_event_for_each_zone_that_ended(void **state) {
  char name[] = "forward";
  assert_ok(wf_trace_start(WF_TRACE_FULL));
  int64_t before = wf_clock_ns();
  wf_zone_begin(name);
  name[0] = 'F'; /* the name was copied */
  wf_zone_begin("conv");
  wf_zone_end();
  wf_zone_end();
  wf_zone_end(); /* one too many changes nothing */
  int64_t after = wf_clock_ns();
  wf_trace_stop();
  wf_trace_event *e = only_events(2);
  assert_string_equal(e[0].op, "forward");
  assert_string_equal(e[1].op, "conv");
  assert_true(e[0].start_ns >= before && e[0].start_ns <= e[1].start_ns && e[1].end_ns <= e[0].end_ns &&
              e[0].end_ns <= after);
  wf_trace_release(e);
}

static wf_trace_event find(const wf_trace_event *events, size_t n, const char *op) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(events[i].op, op)) return events[i];
  fail_msg("no event %s", op);
  return events[0];
}

static void marks_what_a_zone_starts_with_its_name(void **state) {
  assert_ok(wf_trace_start(WF_TRACE_FULL));
  wf_zone_begin("load");
  wf_tag before = wf__trace_tag(WF_EVENT_KERNEL, 0, 0);
  wf_zone_begin("copy");
  wf_tag inside = wf__trace_tag(WF_EVENT_H2D, 0, 0);
  wf_zone_end();
  wf_tag after = wf__trace_tag(WF_EVENT_D2H, 0, 0);
  wf_zone_end();
  wf_tag outside = wf__trace_tag(WF_EVENT_FILL, 0, 0);
  before.op = "before", inside.op = "inside", after.op = "after", outside.op = "outside";
  /* as if a device ran them later */
  wf_zone_begin("backward");
  wf__trace_ran(&before, wf_sim(0), 1, 1, 2);
  wf__trace_ran(&inside, wf_sim(0), 1, 2, 3);
  wf__trace_ran(&after, wf_sim(0), 1, 3, 4);
  wf__trace_ran(&outside, wf_sim(0), 1, 4, 5);
  wf_zone_end();
  wf_trace_stop();
  wf_trace_event *e = only_events(7);
  assert_string_equal(find(e, 7, "before").zone, "load");
  assert_string_equal(find(e, 7, "inside").zone, "copy");
  assert_string_equal(find(e, 7, "after").zone, "load");
  assert_string_equal(find(e, 7, "outside").zone, "");
  assert_string_equal(find(e, 7, "copy").zone, "load"); /* of a zone: the one around it */
  assert_string_equal(find(e, 7, "load").zone, "");
  wf_trace_release(e);
}

/* The zone has ended long before the device runs what it started. */
static void work_of_a_device_belongs_to_the_stage_that_started_it(void **state) {
  wf_tensor_options options = wf_tensor_defaults();
  options.device = wf_sim(0);
  wf_tensor *t = wf_zeros(WF_SHAPE(1000), &options);
  assert_ok(wf_device_sync(wf_sim(0)));
  assert_ok(wf_trace_start(WF_TRACE_LEDGER));
  wf_zone_begin("forward");
  wf_fill_(t, wf_float(1));
  wf_zone_end();
  wf_zone_begin("backward");
  assert_ok(wf_device_sync(wf_sim(0)));
  wf_zone_end();
  wf_trace_stop();
  wf_free(t);
  size_t n, fills = 0;
  wf_ledger_row *rows = wf_ledger_rows(&n);
  for (size_t i = 0; i < n; i++) {
    if (rows[i].kind == WF_EVENT_WAIT) assert_string_equal(rows[i].zone, "backward");
    if (rows[i].kind != WF_EVENT_FILL) continue;
    assert_int_equal(rows[i].device.type, WF_DEVICE_SIM);
    assert_string_equal(rows[i].zone, "forward");
    assert_int_equal(rows[i].bytes_written, 4000);
    fills++;
  }
  assert_int_equal(fills, 1);
  wf_trace_release(rows);
}

static void pairs_zones_across_a_start_and_a_stop(void **state) {
  wf_zone_begin("outside");
  assert_ok(wf_trace_start(WF_TRACE_FULL));
  wf_zone_begin("inside");
  wf_zone_end();
  wf_zone_begin("cut");
  wf_trace_stop();
  wf_zone_end();
  wf_zone_end(); /* of "outside", which began before the recording */
  wf_trace_event *e = only_events(1);
  assert_string_equal(e[0].op, "inside");
  wf_trace_release(e);
  wf_zone_begin("cut");
  assert_ok(wf_trace_start(WF_TRACE_FULL));
  wf_zone_end();
  wf_trace_release(only_events(0));
  wf_trace_stop();
}

static void counts_zones_deeper_than_it_keeps(void **state) {
  assert_ok(wf_trace_start(WF_TRACE_FULL));
  for (int i = 0; i < WF__ZONES_MAX + 10; i++) wf_zone_begin("deep");
  for (int i = 0; i < WF__ZONES_MAX + 10; i++) wf_zone_end();
  wf_zone_begin("next");
  wf_zone_end();
  wf_trace_stop();
  wf_trace_event *e = only_events(WF__ZONES_MAX + 1);
  assert_string_equal(e[WF__ZONES_MAX].op, "next");
  wf_trace_release(e);
}

static void joins_module_names_to_a_path(void **state) {
  wf_module_push("net");
  wf_module_push("conv1");
  wf_tag inner = wf__trace_tag(WF_EVENT_KERNEL, 0, 0);
  assert_string_equal(wf__trace_module_name(inner.module), "net.conv1");
  wf_module_pop();
  assert_string_equal(wf__trace_module_name(wf__self.module), "net");
  wf_module_push("conv1");
  assert_int_equal(wf__self.module, inner.module); /* the same path, the same number */
  wf_module_pop();
  wf_module_pop();
  wf_module_pop(); /* one too many changes nothing */
  assert_int_equal(wf__self.module, 0);
  assert_string_equal(wf__trace_module_name(0), "");
  assert_string_equal(wf__trace_module_name(UINT32_MAX), "");
}

static void keeps_pushes_and_pops_paired_when_paths_run_out(void **state) {
  char name[32];
  wf_module_push("net");
  uint32_t net = wf__self.module;
  for (int i = 0; i < 5000; i++) {
    snprintf(name, sizeof name, "layer%d", i);
    wf_module_push(name);
    wf_module_push("inner");
    wf_module_pop();
    wf_module_pop();
    assert_int_equal(wf__self.module, net);
  }
  wf_module_pop();
  assert_int_equal(wf__self.module, 0);
}

__attribute__((noinline)) static wf_tag inner_operator(void) {
  WF__ENTER("addmm");
  return wf__trace_tag(WF_EVENT_COPY, 10, 20);
}
__attribute__((noinline)) static wf_tag outer_operator(void) {
  WF__ENTER("linear");
  wf_tag tag = inner_operator();
  __asm__ volatile(""); /* no tail call */
  return tag;
}

static void names_the_users_line_and_the_innermost_operator(void **state) {
  assert_ok(wf_trace_start(WF_TRACE_FULL));
  int line = __LINE__ + 1;
  wf_tag tag = outer_operator();
  assert_string_equal(tag.op, "addmm");
  wf__trace_ran(&tag, wf_sim(1), 3, 5, 9);
  wf_trace_stop();
  wf_trace_event *e = only_events(1);
  assert_int_equal(e[0].kind, WF_EVENT_COPY);
  assert_int_equal(e[0].device.type, WF_DEVICE_SIM);
  assert_int_equal(e[0].device.index, 1);
  assert_int_equal(e[0].stream, 3);
  assert_int_equal(e[0].bytes_read, 10);
  assert_int_equal(e[0].bytes_written, 20);
  char expected[64], name[64], small[8];
  snprintf(expected, sizeof expected, "test_zone.c:%d", line);
  assert_string_equal(wf_site_name(e[0].site, name, sizeof name), expected);
  assert_string_equal(wf_site_name(e[0].site, name, sizeof name), expected); /* remembered */
  assert_string_equal(wf_site_name(e[0].site, small, sizeof small), "test_zo");
  wf_trace_release(e);
}

static void names_addresses_without_debug_information_by_their_library(void **state) {
  char name[64];
  assert_string_equal(wf_site_name(NULL, name, sizeof name), "?");
  wf_site_name((const char *)&cmocka_set_message_output + 1, name, sizeof name);
  if (!strstr(name, ".c:")) assert_non_null(strstr(name, "libcmocka.so"));
  assert_string_equal(wf_site_name((const void *)0x10, name, sizeof name), "0x10");
}

static void records_what_a_wait_was_for(void **state) {
  assert_ok(wf_trace_start(WF_TRACE_LEDGER));
  int64_t start = wf_clock_ns();
  wf__trace_wait("loader queue", wf_cpu(), start - 500);
  wf_trace_stop();
  size_t n;
  wf_ledger_row *rows = wf_ledger_rows(&n);
  assert_int_equal(n, 1);
  assert_int_equal(rows[0].kind, WF_EVENT_WAIT);
  assert_string_equal(rows[0].op, "loader queue");
  assert_true(rows[0].ns >= 500);
  wf_trace_release(rows);
}

static void interns_equal_strings_to_one_pointer(void **state) {
  char text[32];
  const char *first[3000];
  for (int i = 0; i < 3000; i++) {
    snprintf(text, sizeof text, "name %d", i);
    first[i] = wf__intern(text);
    assert_string_equal(first[i], text);
  }
  for (int i = 0; i < 3000; i++) {
    snprintf(text, sizeof text, "name %d", i);
    assert_ptr_equal(wf__intern(text), first[i]);
  }
}

static void sets_the_copy_policy_of_the_thread(void **state) {
  assert_int_equal(wf_copy_policy_set(WF_COPY_FORBID), WF_COPY_ALLOW);
  assert_int_equal(wf__self.copy_policy, WF_COPY_FORBID);
  assert_int_equal(wf_copy_policy_set((wf_copy_policy)7), WF_COPY_FORBID);
  assert_error(WF_VALUE, "copy policy must be 0 (allow), 1 (warn) or 2 (forbid), got 7");
  assert_int_equal(wf_copy_policy_set(WF_COPY_ALLOW), WF_COPY_FORBID);
}

static void names_every_kind(void **state) {
  assert_string_equal(wf_event_kind_name(WF_EVENT_H2D), "h2d");
  assert_string_equal(wf_event_kind_name(WF_EVENT_ZONE), "zone");
  for (int k = 0; k < WF_EVENT_KINDS; k++) assert_non_null(wf_event_kind_name((wf_event_kind)k));
  assert_string_equal(wf_event_kind_name(WF_EVENT_KINDS), "unknown");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gives_an_event_for_each_zone_that_ended),
      cmocka_unit_test(marks_what_a_zone_starts_with_its_name),
      cmocka_unit_test(work_of_a_device_belongs_to_the_stage_that_started_it),
      cmocka_unit_test(pairs_zones_across_a_start_and_a_stop),
      cmocka_unit_test(counts_zones_deeper_than_it_keeps),
      cmocka_unit_test(joins_module_names_to_a_path),
      cmocka_unit_test(keeps_pushes_and_pops_paired_when_paths_run_out),
      cmocka_unit_test(names_the_users_line_and_the_innermost_operator),
      cmocka_unit_test(names_addresses_without_debug_information_by_their_library),
      cmocka_unit_test(records_what_a_wait_was_for),
      cmocka_unit_test(interns_equal_strings_to_one_pointer),
      cmocka_unit_test(sets_the_copy_policy_of_the_thread),
      cmocka_unit_test(names_every_kind),
  };
  return cmocka_run_group_tests_name("trace/zone", tests, NULL, NULL);
}
