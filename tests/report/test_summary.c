/* What a ledger adds up to. Expected sums are those of the made-up run's description, times the number of steps. */
#include "test.h"

#include "report/findings.h"
#include "sample_run.h"

#define STEPS 10
#define US SAMPLE_US

static wf__summary sums;
static wf_report *report;

static int make(void **state) {
  report = sample_report(STEPS, false);
  return !report || wf__summary_make(report, &sums);
}

static int release(void **state) {
  wf__summary_release(&sums);
  wf_report_free(report);
  return 0;
}

static void stage_is(size_t i, const char *name, int64_t host_us, int64_t wait_us, int64_t device_us) {
  assert_string_equal(sums.stages[i].name, name);
  assert_int_equal(sums.stages[i].host_ns, STEPS * host_us * US);
  assert_int_equal(sums.stages[i].wait_ns, STEPS * wait_us * US);
  assert_int_equal(sums.stages[i].device_ns, STEPS * device_us * US);
}

static void adds_up_stages_in_the_order_of_a_step(void **state) {
  assert_int_equal(sums.stage_count, 5);
  stage_is(0, "load", 500, 60, 0); /* the main thread's 100 and the worker's 400 */
  stage_is(1, "copy", 0, 0, 40);   /* staging is the host's work, inside the worker's zone */
  stage_is(3, "backward", 300, 0, 300);
  stage_is(4, "optimizer", 100, 0, 100);
  assert_string_equal(sums.stages[2].name, "forward");
  assert_int_equal(sums.stages[2].device_ns, STEPS * 200 * US + 3 * 10 * US); /* three steps copy for 10 us */
  assert_int_equal(wf__stage_work(&sums.stages[0]), STEPS * 440 * US);
}

static void an_inner_zone_has_its_time_for_itself(void **state) {
  wf_ledger_row rows[] = {{.kind = WF_EVENT_ZONE, .op = "load", .module = "", .zone = "", .count = 2, .ns = 100},
                          {.kind = WF_EVENT_ZONE, .op = "copy", .module = "", .zone = "load", .count = 2, .ns = 30},
                          {.kind = WF_EVENT_ZONE, .op = "load", .module = "", .zone = "load", .count = 1, .ns = 10},
                          {.kind = WF_EVENT_WAIT, .op = "x", .module = "", .zone = "copy", .count = 1, .ns = 5}};
  wf_report *r = wf_report_new("zones");
  wf__summary s;
  assert_ok(wf_report_add_ledger(r, rows, 4));
  assert_ok(wf__summary_make(r, &s));
  assert_int_equal(s.stage_count, 2);
  assert_int_equal(wf__stage_work(&s.stages[0]), 70);
  assert_int_equal(wf__stage_work(&s.stages[1]), 25);
  wf__summary_release(&s);
  wf_report_free(r);
}

static void adds_up_copies_by_kind_and_by_site(void **state) {
  assert_int_equal(sums.kind_count, 3);
  assert_int_equal(sums.kinds[0].kind, WF_EVENT_COPY);
  assert_true(sums.kinds[0].implicit);
  assert_int_equal(sums.kinds[0].count, 3);
  assert_int_equal(sums.kinds[1].kind, WF_EVENT_STAGE);
  assert_int_equal(sums.kinds[2].kind, WF_EVENT_H2D);
  assert_int_equal(sums.kinds[2].bytes_written, STEPS * SAMPLE_BATCH_BYTES);
  assert_int_equal(sums.move_count, 3);
  assert_int_equal(sums.moves[0].kind, WF_EVENT_H2D); /* largest time first */
  assert_int_equal(sums.moves[0].ns, STEPS * 40 * US);
  assert_non_null(strstr(sums.moves[0].site, "sample_run.h:"));
  assert_string_equal(sums.moves[2].module, "net.flatten");
  assert_int_equal(sums.implicit_count, 3);
  assert_int_equal(sums.implicit_bytes, 3 * 4096);
}

static void adds_up_waits_operators_and_devices(void **state) {
  assert_int_equal(sums.wait_count, 2);
  assert_string_equal(sums.waits[0].what, "item");
  assert_int_equal(sums.waits[0].ns, STEPS * 300 * US);
  assert_string_equal(sums.waits[1].stage, "load");
  assert_int_equal(sums.wait_ns, STEPS * 360 * US);
  assert_int_equal(sums.operator_count, 4);
  assert_string_equal(sums.operators[0].op, "conv2d_backward");
  assert_int_equal(sums.operators[0].count, 4 * STEPS);
  assert_int_equal(sums.device_count, 1);
  assert_int_equal(sums.devices[0].compute_ns, STEPS * 600 * US + 3 * 10 * US);
  assert_int_equal(sums.devices[0].transfer_ns, STEPS * 40 * US);
}

static void says_first_what_matters(void **state) {
  wf__findings f;
  wf__findings_make(report, &sums, &f);
  assert_int_equal(f.n, 4);
  assert_string_equal(f.at[0].text, "sim:0 (emulated) computes 60.3 % of the time and transfers 4.0 %.");
  assert_int_equal(f.at[1].level, WF__FINDING_NOTE);
  assert_non_null(strstr(f.at[1].text, "Waits for data take 6.0 % of the run, at sample_run.h:"));
  assert_int_equal(f.at[2].level, WF__FINDING_BAD);
  assert_non_null(strstr(f.at[2].text, "for item at sample_run.h:"));
  assert_int_equal(f.at[3].level, WF__FINDING_GOOD);
  assert_non_null(strstr(f.at[3].text, "before that 3 wrote 12.00 KiB"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(adds_up_stages_in_the_order_of_a_step),
    cmocka_unit_test(an_inner_zone_has_its_time_for_itself),
    cmocka_unit_test(adds_up_copies_by_kind_and_by_site),
    cmocka_unit_test(adds_up_waits_operators_and_devices),
    cmocka_unit_test(says_first_what_matters),
};

int main(void) { return cmocka_run_group_tests_name("report/summary", tests, make, release); }
