/* Comparing memory snapshots, made by driving the allocator policy: what grew, what is left over, what fragmented. */
#include "test.h"

#include <math.h>
#include <unistd.h>
#include <weft/audit.h>

#include "snapshot_maker.h"

static const char path[] = "weft-check.pickle";
static wf_check_row rows[WF_METRIC_COUNT];

/* `mib` live at once, of which `kept` stay. */
static wf_snapshot *record(int mib, int kept) {
  maker m;
  wf_block *blocks[256] = {0};
  maker_open(&m, "", 0, WF_TIES_AGE);
  for (int i = 0; i < mib; i++) blocks[i] = maker_alloc(&m, 1 << 20, 0, 0);
  for (int i = mib - 1; i >= 0; i--)
    if (i >= kept) {
      maker_free(&m, blocks[i], 0);
      blocks[i] = NULL;
    }
  maker_write(&m, path);
  wf_snapshot *s = wf_snapshot_read(path, NULL);
  assert_non_null(s);
  assert_int_equal(wf_recording_of(path), WF_RECORDING_SNAPSHOT);
  for (int i = 0; i < mib; i++)
    if (blocks[i]) maker_free(&m, blocks[i], 0);
  maker_close(&m);
  unlink(path);
  return s;
}

static int compare(wf_snapshot *before, wf_snapshot *after, const wf_check_limits *limits) {
  int worse = wf_check_snapshots(before, after, limits, rows);
  wf_snapshot_free(before);
  wf_snapshot_free(after);
  return worse;
}

static void the_same_history_is_fine(void **state) {
  assert_int_equal(compare(record(40, 4), record(40, 4), NULL), 0);
  assert_true(rows[WF_METRIC_PEAK_MEMORY].after == 40 << 20);
  assert_true(rows[WF_METRIC_END_MEMORY].after == 4 << 20);
  assert_true(rows[WF_METRIC_PEAK_RESERVED].after >= 40 << 20);
  assert_int_equal(rows[WF_METRIC_PEAK_MEMORY].verdict, WF_VERDICT_FINE);
  assert_int_equal(rows[WF_METRIC_THROUGHPUT].verdict, WF_VERDICT_UNKNOWN);
}

static void a_higher_peak_and_what_is_left_over_are_worse(void **state) {
  compare(record(40, 4), record(60, 4), NULL);
  assert_int_equal(rows[WF_METRIC_PEAK_MEMORY].verdict, WF_VERDICT_WORSE);
  assert_int_equal(rows[WF_METRIC_PEAK_RESERVED].verdict, WF_VERDICT_WORSE);
  assert_int_equal(rows[WF_METRIC_END_MEMORY].verdict, WF_VERDICT_FINE);
  assert_int_equal(compare(record(40, 4), record(40, 6), NULL), 1);
  assert_int_equal(rows[WF_METRIC_END_MEMORY].verdict, WF_VERDICT_WORSE);
  assert_int_equal(compare(record(40, 6), record(40, 4), NULL), 0);
  assert_int_equal(rows[WF_METRIC_END_MEMORY].verdict, WF_VERDICT_BETTER);
}

static void bounds_hold_whatever_was_before(void **state) {
  wf_check_limits limits = wf_check_defaults();
  limits.most[WF_METRIC_PEAK_RESERVED] = 1 << 20;
  assert_int_equal(compare(record(40, 4), record(40, 4), &limits), 1);
  limits.most[WF_METRIC_PEAK_RESERVED] = 1 << 30;
  assert_int_equal(compare(record(40, 4), record(40, 4), &limits), 0);
}

static void other_files_are_no_snapshots(void **state) {
  FILE *file = fopen(path, "w");
  fputs("{\"traceEvents\": []}", file);
  fclose(file);
  assert_int_equal(wf_recording_of(path), WF_RECORDING_TRACE);
  file = fopen(path, "w");
  fputs("hello", file);
  fclose(file);
  assert_int_equal(wf_recording_of(path), WF_RECORDING_OTHER);
  unlink(path);
  assert_int_equal(wf_recording_of(path), WF_RECORDING_OTHER);
  assert_int_equal(wf_error_peek().status, WF_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_history_is_fine),
      cmocka_unit_test(a_higher_peak_and_what_is_left_over_are_worse),
      cmocka_unit_test(bounds_hold_whatever_was_before),
      cmocka_unit_test(other_files_are_no_snapshots),
  };
  return cmocka_run_group_tests_name("audit/snapshot_check", tests, NULL, NULL);
}
