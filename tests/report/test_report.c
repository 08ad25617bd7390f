/* The outputs of a report: text, JSON, HTML, Chrome trace; files whole or not at all; every allocation failing in turn.
 * `report_test_report --write FOLDER` writes report.html, report.json and trace.json of the made-up run, for the test in a browser. */
#include "test.h"

#include <dirent.h>
#include <unistd.h>

#include "base/host.h"
#include "report/html.h"
#include "report/units.h"
#include "sample_run.h"

static char folder[64];

static int make_folder(void **state) {
  strcpy(folder, "weft-report-XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) { return rmdir(folder); }

static const char *in_folder(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static char *contents(const char *path) {
  wf__text text = {0};
  char buffer[4096];
  size_t n;
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  while ((n = fread(buffer, 1, sizeof buffer, file)) > 0) wf__text_append(&text, buffer, n);
  fclose(file);
  return wf__text_take(&text);
}

static int entries(void) {
  DIR *d = opendir(folder);
  int n = 0;
  while (readdir(d)) n++;
  closedir(d);
  return n - 2;
}

static void contains(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("it doesn't contain: %s", part);
}

static void writes_numbers_as_people_read_them(void **state) {
  char t[WF__UNIT_TEXT], d[2 * WF__UNIT_TEXT];
  assert_string_equal(wf__count_text(0, t), "0");
  assert_string_equal(wf__count_text(999, t), "999");
  assert_string_equal(wf__count_text(-1234567, t), "-1,234,567");
  assert_string_equal(wf__bytes_text(1023, t), "1023 B");
  assert_string_equal(wf__bytes_text(1024, t), "1.00 KiB");
  assert_string_equal(wf__bytes_text(1048575, t), "1.00 MiB");
  assert_string_equal(wf__bytes_text(192675840, t), "183.75 MiB");
  assert_string_equal(wf__time_text(0, t), "0 s");
  assert_string_equal(wf__time_text(1500, t), "1.5 µs");
  assert_string_equal(wf__time_text(999999, t), "1.00 ms");
  assert_string_equal(wf__time_text(11760000000, t), "11.760 s");
  assert_string_equal(wf__share_text(1, 3, t), "33.3 %");
  assert_string_equal(wf__share_text(1, 0, t), "-");
  assert_string_equal(wf__rate_text(3000, 2000, t), "1.50 GB/s");
  assert_string_equal(wf__number_text(0.89412, WF_REPORT_SHARE, t), "89.41 %");
  assert_string_equal(wf__number_text(5102.4, WF_REPORT_NUMBER, t), "5,102");
  assert_string_equal(wf__number_text(0.2931, WF_REPORT_NUMBER, t), "0.2931");
  assert_string_equal(wf__number_text(1e300, WF_REPORT_BYTES, t), "1e+300");
  assert_string_equal(wf__label_text("images_per_s", t), "images/s");
  assert_string_equal(wf__label_text("peak_rss_bytes", t), "peak rss");
  assert_string_equal(wf__device_text(wf_sim(0), true, d), "pinned host memory of sim:0 (emulated)");
}

static void the_text_fits_80_columns_and_has_every_part(void **state) {
  wf_report *r = sample_report(469, true);
  char *text = wf_report_text(r);
  assert_non_null(text);
  contains(text, "\nwall time 469.00 ms   test accuracy 89.41 %   images/s 128,000\n");
  contains(text, "\n  load                                0.206   44.0 %    0.206         -    0.028\n");
  contains(text, "\n  backward                            0.281   60.0 %    0.141     0.141        -\n");
  contains(text, "\n  sim:0 (emulated)                                     11.00 MiB       20.00 MiB\n");
  contains(text, "\n  h2d     asked                469  179.54 MiB  179.54 MiB  18.76 ms  20.07 GB/s\n");
  contains(text, "\n  copy    IMPLICIT               3   12.00 KiB   12.00 KiB   30.0 µs   0.82 GB/s\n");
  contains(text, " item                          469 140.70 ms   30.0 %\n");
  contains(text, "\n    in net.flatten\n");
  contains(text, "\n- sim:0 (emulated) computes 60.0 % of the time and transfers 4.0 %.\n");
  for (const char *line = text; *line;) {
    size_t n = strcspn(line, "\n"), width = 0;
    for (size_t i = 0; i < n; i++) width += ((unsigned char)line[i] & 0xc0) != 0x80;
    if (width > 80) fail_msg("%zu columns: %.*s", width, (int)n, line);
    line += n + (line[n] == '\n');
  }
  wf_report_release(text);
  wf_report_free(r);
}

static void json_has_the_keys_and_sums(void **state) {
  wf_report *r = sample_report(10, false);
  char *json = wf_report_json(r, 0);
  assert_non_null(json);
  contains(json,
           "\"test_accuracy\":0.8941,\"images_per_s\":128000,\"implicit_copies\":0,\"peak_rss_bytes\":200000000,");
  contains(json, "\"peak_allocated_bytes\":11534336,\"peak_reserved_bytes\":20971520,\"wall_seconds\":0.01,");
  contains(json,
           "\"stages\":{\"load\":{\"seconds\":0.0044,\"share\":0.44,\"wait_seconds\":0.0006,\"host_seconds\":0.0044,"
           "\"device_seconds\":0,\"count\":20},");
  contains(json,
           "\"op\":\"h2d\",\"module\":\"\",\"device\":\"sim:0\",\"kind\":\"h2d\",\"asked\":true,\"count\":10,"
           "\"bytes_read\":4014080,\"bytes_written\":4014080,\"seconds\":0.0004}");
  contains(
      json,
      "\"kind\":\"copy\",\"asked\":false,\"count\":3,\"bytes_read\":12288,\"bytes_written\":12288,\"seconds\":3e-05}");
  contains(json, "\"what\":\"item\",\"stage\":\"\",\"count\":10,\"seconds\":0.003}");
  contains(json, "{\"device\":\"sim:0\",\"pinned\":true,\"peak_allocated_bytes\":4194304,");
  contains(json, "\"metrics\":{\"loss\":[[0,2.3],[1,");
  contains(json, "\"config\":{\"model\":\"cnn\",\"device\":\"sim:0\",\"pipeline\":\"prefetch\"}");
  wf_report_release(json);
  wf_report_free(r);
}

static void the_page_has_its_numbers_without_the_script(void **state) {
  wf_report *r = sample_report(469, true);
  assert_ok(wf_report_fact(r, "note", "<img src=x onerror=\"alert('1')\"> & more"));
  assert_ok(wf_report_write_html(r, in_folder("r.html")));
  assert_int_equal(entries(), 1);
  char *page = contents(in_folder("r.html"));
  contains(page, "<dt>images/s</dt><dd>128,000</dd>");
  contains(
      page,
      "<div class=\"tile good\"><dt>implicit copies</dt><dd>0</dd><dd class=\"note\">3 in the whole recording</dd>");
  contains(page, "&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt; &amp; more");
  assert_null(strstr(page, "<img"));
  contains(page, "<td class=\"n\" data-v=\"188260352\">179.54 MiB</td>");
  contains(page, "net.fc&lt;/script&gt;");
  contains(page, "net.fc\\u003c/script>"); /* in the data, where it could end the script */
  contains(page, "Shown: all 5,628 stretches of stages; all 5,162 single operations.");
  assert_null(strstr(page, "http"));
  assert_true(strlen(page) < 600000);
  wf__release(page);
  unlink(in_folder("r.html"));
  wf_report_free(r);
}

static void the_trace_has_an_event_a_line_of_the_recording(void **state) {
  wf_report *r = sample_report(5, true);
  assert_ok(wf_report_write_trace(r, in_folder("t.json")));
  char *trace = contents(in_folder("t.json"));
  contains(trace,
           "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":101,\"tid\":0,\"args\":{\"name\":\"sim:0 (emulated)\"}}");
  contains(trace, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":101,\"tid\":2,\"args\":{\"name\":\"stream 1\"}}");
  contains(
      trace,
      "{\"ph\":\"X\",\"name\":\"h2d\",\"pid\":101,\"tid\":2,\"cat\":\"copy\",\"ts\":430.000,\"dur\":40.000,"
      "\"args\":{\"kind\":\"h2d\",\"bytes\":401408,\"bytes_read\":401408,\"implicit\":false,\"site\":\"sample_run.h:");
  contains(trace, "\"name\":\"wait: item\",\"pid\":1,\"tid\":1,\"cat\":\"wait\",\"ts\":700.000,\"dur\":300.000,");
  contains(trace,
           "{\"ph\":\"C\",\"name\":\"memory: sim:0 (emulated)\",\"pid\":101,\"tid\":0,\"ts\":310.000,"
           "\"args\":{\"allocated\":9437184,\"reserved\":20971520}}");
  int complete = 0, counters = 0;
  for (const char *at = trace; (at = strstr(at, "\"ph\":\"")); at++) {
    complete += at[6] == 'X';
    counters += at[6] == 'C';
  }
  assert_int_equal(complete, 5 * 18 + 3);
  assert_int_equal(counters, 5 * 2);
  wf__release(trace);
  unlink(in_folder("t.json"));
  wf_report_free(r);
}

static void an_empty_report_is_one_all_the_same(void **state) {
  wf_report *r = wf_report_new("nothing");
  char *text = wf_report_text(r), *json = wf_report_json(r, 2);
  contains(text, "The host never waits.");
  contains(json, "\"stages\": {}");
  assert_ok(wf_report_write_html(r, in_folder("r.html")));
  assert_ok(wf_report_write_trace(r, in_folder("t.json")));
  assert_int_equal(entries(), 2);
  unlink(in_folder("r.html"));
  unlink(in_folder("t.json"));
  wf_report_release(text);
  wf_report_release(json);
  wf_report_free(r);
  wf_report_free(NULL);
  wf_report_release(NULL);
}

static void a_path_that_cannot_be_written_is_an_error(void **state) {
  wf_report *r = sample_report(2, true);
  assert_int_equal(wf_report_write_html(r, "no-such-folder/r.html"), WF_IO);
  assert_error(WF_IO, "no-such-folder/r.html: can't be written: No such file or directory");
  assert_int_equal(wf_report_write_trace(r, "no-such-folder/t.json"), WF_IO);
  assert_error(WF_IO, "no-such-folder/t.json: can't be written: No such file or directory");
  assert_int_equal(wf_report_write_html(r, "/dev/full"), WF_IO);
  assert_error(WF_IO, "/dev/full: can't be written: No space left on device");
  assert_int_equal(wf_report_write_trace(r, "/dev/full"), WF_IO);
  assert_error(WF_IO, "/dev/full: can't be written: No space left on device");
  assert_int_equal(entries(), 0);
  wf_report_free(r);
}

static void collects_what_was_recorded(void **state) {
  assert_ok(wf_trace_start(WF_TRACE_FULL));
  wf_zone_begin("forward");
  wf_zone_end();
  wf_trace_stop();
  wf_report *r = wf_report_new("collected");
  assert_ok(wf_report_collect(r));
  assert_int_equal(r->event_count, 1);
  assert_int_equal(r->row_count, 1);
  assert_true(r->end_ns > r->start_ns);
  assert_true(wf__report_number(r, "peak_rss_bytes")->value > 1e6);
  assert_true(wf__report_number(r, "implicit_copies")->value == 0);
  assert_int_equal(wf_report_span(r, 5, 4), WF_VALUE);
  assert_error(WF_VALUE, "a run can't end (4 ns) before it starts (5 ns)");
  wf_report_free(r);
}

typedef wf_status (*output)(wf_report *r);
static wf_status as_text(wf_report *r) {
  char *text = wf_report_text(r);
  wf_report_release(text);
  return text ? WF_OK : WF_NO_MEMORY;
}
static wf_status as_json(wf_report *r) {
  char *text = wf_report_json(r, 0);
  wf_report_release(text);
  return text ? WF_OK : WF_NO_MEMORY;
}
static wf_status as_html(wf_report *r) { return wf_report_write_html(r, in_folder("r.html")); }
static wf_status as_trace(wf_report *r) { return wf_report_write_trace(r, in_folder("t.json")); }

static void no_failure_of_memory_leaves_anything_behind(void **state) {
  const output outputs[] = {as_text, as_json, as_html, as_trace};
  for (int i = 0; i < 4; i++)
    for (int k = 1;; k++) {
      wf__fault_at(k);
      wf_report *r = sample_report(3, true);
      wf_status status = r ? outputs[i](r) : WF_NO_MEMORY;
      wf_report_free(r);
      bool hit = wf__fault_count() >= k;
      wf__fault_at(0);
      if (status && entries()) fail_msg("output %d, allocation %d: %s leaves a file", i, k, wf_error_peek().text);
      unlink(in_folder("r.html"));
      unlink(in_folder("t.json"));
      if (!hit) {
        assert_ok(status);
        break;
      }
      /* interning a site's name may fail without harm: the name stays empty */
      wf_error e = wf_error_take();
      assert_true(e.status == (status ? WF_NO_MEMORY : WF_OK));
    }
}

static int write_for_browser(const char *to) {
  wf_report *r = sample_report(469, true);
  snprintf(folder, sizeof folder, "%s", to);
  char *json = wf_report_json(r, 1);
  FILE *file = fopen(in_folder("report.json"), "w");
  if (!file || !json) return 1;
  fputs(json, file);
  fclose(file);
  wf_report_release(json);
  int failed = wf_report_write_html(r, in_folder("report.html")) || wf_report_write_trace(r, in_folder("trace.json"));
  wf_report_free(r);
  return failed;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(writes_numbers_as_people_read_them),
    cmocka_unit_test(the_text_fits_80_columns_and_has_every_part),
    cmocka_unit_test(json_has_the_keys_and_sums),
    cmocka_unit_test_setup_teardown(the_page_has_its_numbers_without_the_script, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(the_trace_has_an_event_a_line_of_the_recording, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(an_empty_report_is_one_all_the_same, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(a_path_that_cannot_be_written_is_an_error, make_folder, remove_folder),
    cmocka_unit_test(collects_what_was_recorded),
    cmocka_unit_test_setup_teardown(no_failure_of_memory_leaves_anything_behind, make_folder, remove_folder),
};

int main(int argc, char **argv) {
  if (argc == 3 && !strcmp(argv[1], "--write")) return write_for_browser(argv[2]);
  return cmocka_run_group_tests_name("report/report", tests, NULL, NULL);
}
