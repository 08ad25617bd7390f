/* A recording over time: lanes, flat segments, runs, bars, views, memory curves. */
#include "test.h"

#include "report/timeline.h"
#include "sample_run.h"

static wf_report *with_events(const wf_trace_event *events, size_t n, int64_t end) {
  wf_report *r = wf_report_new("made up");
  assert_ok(wf_report_add_events(r, events, n));
  assert_ok(wf_report_span(r, 0, end));
  return r;
}

static wf_trace_event stretch(wf_event_kind kind, const char *op, int64_t start, int64_t end) {
  return (wf_trace_event){
      .kind = kind, .thread = 7, .op = op, .module = "", .zone = "", .start_ns = start, .end_ns = end};
}

static void segment_is(const wf__segment *s, const char *name, int64_t start, int64_t end, int64_t whole) {
  assert_string_equal(s->name, name);
  assert_int_equal(s->start, start);
  assert_int_equal(s->end, end);
  assert_int_equal(s->whole, whole);
}

static void an_inner_stretch_interrupts_the_outer_one(void **state) {
  const wf_trace_event events[] = {stretch(WF_EVENT_ZONE, "load", 0, 100), stretch(WF_EVENT_WAIT, "loader", 20, 50),
                                   stretch(WF_EVENT_ZONE, "copy", 50, 80), stretch(WF_EVENT_WAIT, "device", 60, 70),
                                   stretch(WF_EVENT_ZONE, "forward", 100, 150)};
  wf_report *r = with_events(events, 5, 200);
  wf__timeline t;
  assert_ok(wf__timeline_make(r, &t));
  assert_int_equal(t.lanes.n, 1);
  assert_string_equal(t.lanes.at[0].name, "thread 7");
  assert_int_equal(t.segment_count, 7);
  segment_is(&t.segment[0], "load", 0, 20, 100);
  segment_is(&t.segment[1], "loader", 20, 50, 0);
  assert_int_equal(t.segment[1].type, WF__SEGMENT_WAIT);
  segment_is(&t.segment[2], "copy", 50, 60, 30);
  segment_is(&t.segment[3], "device", 60, 70, 0);
  segment_is(&t.segment[4], "copy", 70, 80, 30);
  segment_is(&t.segment[5], "load", 80, 100, 100);
  segment_is(&t.segment[6], "forward", 100, 150, 0);
  assert_int_equal(t.step, 0);
  wf__timeline_release(&t);
  wf_report_free(r);
}

static void a_device_works_in_runs_of_a_stage(void **state) {
  wf_trace_event e[5];
  for (int i = 0; i < 5; i++) {
    e[i] = stretch(WF_EVENT_KERNEL, "add", 1000 * i, 1000 * i + 600);
    e[i].device = wf_sim(0);
    e[i].zone = i < 2 ? "forward" : "backward";
  }
  e[4].start_ns = 500000, e[4].end_ns = 500100; /* after a long pause */
  wf_report *r = with_events(e, 5, 600000);
  wf__timeline t;
  assert_ok(wf__timeline_make(r, &t));
  assert_int_equal(t.segment_count, 3);
  segment_is(&t.segment[0], "forward", 0, 1600, 0);
  assert_int_equal(t.segment[0].busy, 1200);
  segment_is(&t.segment[1], "backward", 2000, 3600, 0);
  segment_is(&t.segment[2], "backward", 500000, 500100, 0);
  assert_int_equal(t.op_count, 5);
  wf__timeline_release(&t);
  wf_report_free(r);
}

static void a_run_has_lanes_for_threads_and_streams(void **state) {
  wf_report *r = sample_report(20, true);
  wf__timeline t;
  assert_ok(wf__timeline_make(r, &t));
  assert_int_equal(t.lanes.n, 4);
  assert_false(t.lanes.at[0].on_device);
  assert_int_equal(t.lanes.at[1].number, 2);
  assert_string_equal(t.lanes.at[2].name, "default stream");
  assert_string_equal(t.lanes.at[3].name, "stream 1");
  assert_int_equal(t.ops_found, 20 * 11 + 3);
  assert_int_equal(t.op_count, t.ops_found);
  wf__timeline_release(&t);
  wf_report_free(r);
}

/* 4,690 steps: too many for single segments and operations. */
static void a_long_run_becomes_bars_whose_sums_hold(void **state) {
  wf_report *r = sample_report(4690, true);
  wf__timeline t;
  assert_ok(wf__timeline_make(r, &t));
  assert_true(t.segments_found > WF__SEGMENTS_MAX);
  assert_true(t.segment_count <= WF__SEGMENTS_MAX);
  assert_int_equal(t.step, (int64_t)4690 * SAMPLE_STEP / WF__BARS + 1);
  int64_t backward = 0, item = 0;
  for (size_t i = 0; i < t.segment_count; i++) {
    const wf__segment *s = &t.segment[i];
    assert_true(s->busy > 0 && s->busy <= s->end - s->start);
    if (s->lane == 0 && !strcmp(s->name, "backward")) backward += s->busy;
    if (s->lane == 0 && !strcmp(s->name, "item")) item += s->busy;
  }
  assert_in_range(backward, (int64_t)4690 * 300 * SAMPLE_US - 4690 * 4,
                  (int64_t)4690 * 300 * SAMPLE_US); /* rounded down */
  assert_in_range(item, (int64_t)4690 * 300 * SAMPLE_US - 4690 * 4, (int64_t)4690 * 300 * SAMPLE_US);
  assert_int_equal(t.ops_found, 4690 * 11 + 3);
  assert_true(t.view_count >= 2 && t.op_count <= WF__OPS_MAX);
  for (int i = 1; i < t.view_count; i++) assert_int_equal(t.view[i].first, t.view[i - 1].first + t.view[i - 1].n);
  wf__timeline_release(&t);
  wf_report_free(r);
}

static void shows_the_slowest_step(void **state) {
  sample_run run = sample_events(1000);
  /* step 500 takes 5 ms more */
  for (size_t i = 0; i < run.n; i++)
    if (run.event[i].start_ns >= SAMPLE_START + (int64_t)500 * SAMPLE_STEP) {
      run.event[i].start_ns += 5 * SAMPLE_STEP;
      run.event[i].end_ns += 5 * SAMPLE_STEP;
    }
  wf_report *r = wf_report_new("slow");
  assert_ok(wf_report_add_events(r, run.event, run.n));
  wf__timeline t;
  assert_ok(wf__timeline_make(r, &t));
  int at = -1;
  for (int i = 0; i < t.view_count; i++)
    if (!strcmp(t.view[i].label, "Slowest step")) at = i;
  assert_true(at >= 0);
  int64_t end_of_499 = SAMPLE_START + (int64_t)499 * SAMPLE_STEP + 700 * SAMPLE_US;
  assert_in_range(t.view[at].start, end_of_499 - SAMPLE_STEP, end_of_499 + 6 * SAMPLE_STEP);
  assert_true(t.view[at].end > end_of_499 + 5 * SAMPLE_STEP);
  wf__timeline_release(&t);
  wf_report_free(r);
  free(run.event);
}

static void a_memory_curve_loses_no_peak(void **state) {
  wf_trace_event e[4];
  const int64_t allocated[] = {100, 900, 100, 40}, start[] = {100000, 300000, 300001, 599999};
  for (int i = 0; i < 4; i++) {
    e[i] = stretch(i < 2 ? WF_EVENT_ALLOC : WF_EVENT_FREE, "conv", start[i], start[i]);
    e[i].device = wf_sim(0);
    e[i].allocated = allocated[i];
    e[i].reserved = 2000;
    e[i].bytes_written = i == 0 ? 30 : 800;
  }
  wf_report *r = with_events(e, 4, 600000);
  wf__timeline t;
  assert_ok(wf__timeline_make(r, &t));
  assert_int_equal(t.memory_count, 1);
  const wf__memory_curve *c = &t.memory[0];
  assert_int_equal(c->peak_allocated, 900);
  assert_int_equal(c->peak_at, 300000);
  assert_int_equal(c->allocated[0], 70); /* before the first event: what it found */
  assert_int_equal(c->allocated[100], 100);
  assert_int_equal(c->allocated[299], 100);
  assert_int_equal(c->allocated[300], 900);
  assert_int_equal(c->allocated[301], 100);
  assert_int_equal(c->allocated[WF__MEMORY_STEPS - 1], 100);
  assert_int_equal(c->reserved[5], 2000);
  assert_int_equal(t.lanes.n, 0);
  wf__timeline_release(&t);
  wf_report_free(r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_inner_stretch_interrupts_the_outer_one),
    cmocka_unit_test(a_device_works_in_runs_of_a_stage),
    cmocka_unit_test(a_run_has_lanes_for_threads_and_streams),
    cmocka_unit_test(a_long_run_becomes_bars_whose_sums_hold),
    cmocka_unit_test(shows_the_slowest_step),
    cmocka_unit_test(a_memory_curve_loses_no_peak),
};
WF_TEST_MAIN("report/timeline", tests)
