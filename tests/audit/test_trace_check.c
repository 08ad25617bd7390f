/* Comparing traces: what may get worse by how much, and what can't be told. */
#include "trace_maker.h"

#include <math.h>

/* Steps of that length, each with so many contiguous copies and, in the first, this peak of memory. */
static wf_audit *run(double step, int copies, int64_t peak) {
  char args[128];
  maker_begin();
  for (int i = 0; i < 4; i++) {
    char name[32];
    snprintf(name, sizeof name, "ProfilerStep#%d", i);
    maker_annotation(name, i * step, step);
    for (int c = 0; c < copies; c++) {
      maker_op("aten::contiguous", i * step + 10 * c, 8);
      maker_copy(i * step + 10 * c + 1, 5, "[10]", "[1]", "[2]", "float", "float");
    }
  }
  if (peak) {
    snprintf(args, sizeof args, "\"Total Allocated\": %lld, \"Bytes\": 64, \"Device Type\": 1, \"Device Id\": 0",
             (long long)peak);
    wf__text_printf(
        &maker_text,
        ", {\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": 1, \"ts\": 3, "
        "\"args\": {%s}}",
        args);
  }
  wf_audit *audit = maker_audit();
  assert_non_null(audit);
  return audit;
}

static wf_check_row rows[WF_METRIC_COUNT];

static int compare(wf_audit *before, wf_audit *after, const wf_check_limits *limits) {
  int worse = wf_check_traces(before, after, limits, rows);
  wf_audit_free(before);
  wf_audit_free(after);
  return worse;
}

static void the_same_run_is_fine(void **state) {
  assert_int_equal(compare(run(1000, 2, 4096), run(1000, 2, 4096), NULL), 0);
  assert_true(rows[WF_METRIC_THROUGHPUT].before == 1000);
  assert_true(rows[WF_METRIC_CONTIGUOUS].after == 2);
  assert_true(rows[WF_METRIC_COPY_BYTES].after == 80);
  assert_true(rows[WF_METRIC_PEAK_MEMORY].after == 4096);
  for (int i = 0; i < WF_METRIC_COUNT; i++)
    assert_int_equal(rows[i].verdict, i >= WF_METRIC_IDLE ? WF_VERDICT_UNKNOWN : WF_VERDICT_FINE);
}

static void a_change_within_the_limit_is_fine_and_beyond_it_is_worse(void **state) {
  assert_int_equal(compare(run(1000, 0, 100000), run(1029, 0, 104900), NULL), 0);
  assert_int_equal(compare(run(1000, 0, 100000), run(1040, 0, 105100), NULL), 2);
  assert_int_equal(rows[WF_METRIC_THROUGHPUT].verdict, WF_VERDICT_WORSE);
  assert_int_equal(rows[WF_METRIC_PEAK_MEMORY].verdict, WF_VERDICT_WORSE);
  assert_int_equal(compare(run(1000, 0, 100000), run(900, 0, 50000), NULL), 0);
  assert_int_equal(rows[WF_METRIC_THROUGHPUT].verdict, WF_VERDICT_BETTER);
  assert_int_equal(rows[WF_METRIC_PEAK_MEMORY].verdict, WF_VERDICT_BETTER);
}

static void one_copy_more_is_worse_even_where_there_was_none(void **state) {
  assert_int_equal(compare(run(1000, 0, 0), run(1000, 1, 0), NULL), 3); /* contiguous, copies, bytes */
  assert_int_equal(compare(run(1000, 3, 0), run(1000, 4, 0), NULL), 3);
  assert_int_equal(compare(run(1000, 4, 0), run(1000, 3, 0), NULL), 0);
}

static void limits_and_bounds_are_the_callers(void **state) {
  wf_check_limits limits = wf_check_defaults();
  for (int i = 0; i < WF_METRIC_COUNT; i++) limits.change[i] = NAN;
  assert_int_equal(compare(run(1000, 1, 0), run(2000, 9, 0), &limits), 0);
  assert_int_equal(rows[WF_METRIC_COPIES].verdict, WF_VERDICT_UNJUDGED);
  limits.most[WF_METRIC_CONTIGUOUS] = 9;
  assert_int_equal(compare(run(1000, 1, 0), run(2000, 9, 0), &limits), 0);
  assert_int_equal(rows[WF_METRIC_CONTIGUOUS].verdict, WF_VERDICT_FINE);
  limits.most[WF_METRIC_CONTIGUOUS] = 8;
  limits.most[WF_METRIC_THROUGHPUT] = 501; /* it must do no less */
  assert_int_equal(compare(run(1000, 1, 0), run(2000, 9, 0), &limits), 2);
  limits.most[WF_METRIC_PEAK_MEMORY] = 1 << 30; /* the trace doesn't say: that can't pass */
  assert_int_equal(compare(run(1000, 1, 0), run(2000, 9, 0), &limits), 3);
}

static void what_one_trace_does_not_say_is_not_judged(void **state) {
  assert_int_equal(compare(run(1000, 0, 100), run(1000, 0, 0), NULL), 0);
  assert_int_equal(rows[WF_METRIC_PEAK_MEMORY].verdict, WF_VERDICT_UNKNOWN);
  assert_string_equal(wf_metric_name(WF_METRIC_PEAK_MEMORY), "peak-memory");
  assert_null(wf_metric_name(WF_METRIC_COUNT));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_run_is_fine),
      cmocka_unit_test(a_change_within_the_limit_is_fine_and_beyond_it_is_worse),
      cmocka_unit_test(one_copy_more_is_worse_even_where_there_was_none),
      cmocka_unit_test(limits_and_bounds_are_the_callers),
      cmocka_unit_test(what_one_trace_does_not_say_is_not_judged),
  };
  return cmocka_run_group_tests_name("audit/trace_check", tests, NULL, NULL);
}
