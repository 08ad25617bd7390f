/* JSON as it is written: punctuation, escapes, numbers, misuse. Expected texts are what RFC 8259 and Python's json.dumps give. */
#include "test.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/host.h"
#include "format/json_writer.h"

static wf__json json;
static wf__text text;

static void begin(int indent) {
  wf__text_release(&text);
  wf__json_begin(&json, &text, NULL, indent);
}
static const char *done(void) {
  assert_ok(wf__json_end(&json));
  return text.data;
}

static void write_document(void) {
  wf__json_object(&json);
  wf__json_member_string(&json, "a", "x");
  wf__json_key(&json, "b");
  wf__json_array(&json);
  wf__json_int(&json, -1);
  wf__json_bool(&json, true);
  wf__json_null(&json);
  wf__json_array(&json);
  wf__json_array_end(&json);
  wf__json_object(&json);
  wf__json_object_end(&json);
  wf__json_array_end(&json);
  wf__json_member_double(&json, "c", 0.5);
  wf__json_member_bool(&json, "d", false);
  wf__json_member_string(&json, "e", NULL);
  wf__json_object_end(&json);
}

static void punctuates_nested_values(void **state) {
  begin(0);
  write_document();
  assert_string_equal(done(), "{\"a\":\"x\",\"b\":[-1,true,null,[],{}],\"c\":0.5,\"d\":false,\"e\":null}");
  begin(2);
  write_document();
  assert_string_equal(
      done(),
      "{\n  \"a\": \"x\",\n  \"b\": [\n    -1,\n    true,\n    null,\n    [],\n    {}\n  ],\n  \"c\": 0.5,\n"
      "  \"d\": false,\n  \"e\": null\n}");
}

static const char *string(const char *value, bool for_html) {
  begin(0);
  json.for_html = for_html;
  wf__json_string(&json, value);
  return done();
}

static void escapes_what_json_forbids(void **state) {
  assert_string_equal(string("q\" b\\ s/ \b\f\n\r\t \x01\x1f\x7f", false),
                      "\"q\\\" b\\\\ s/ \\b\\f\\n\\r\\t \\u0001\\u001f\x7f\"");
  assert_string_equal(string("größe 木 🜁", false), "\"größe 木 🜁\"");
  assert_string_equal(string("</script><!--", false), "\"</script><!--\"");
  assert_string_equal(string("</script><!--", true), "\"\\u003c/script>\\u003c!--\"");
}

static void replaces_bytes_that_are_not_utf8(void **state) {
  assert_string_equal(string("a\xff"
                             "b",
                             false),
                      "\"a\xef\xbf\xbd"
                      "b\"");
  assert_string_equal(string("\xc3", false), "\"\xef\xbf\xbd\"");                                 /* cut off */
  assert_string_equal(string("\xc0\xaf", false), "\"\xef\xbf\xbd\xef\xbf\xbd\"");                 /* overlong */
  assert_string_equal(string("\xed\xa0\x80", false), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""); /* surrogate */
  assert_string_equal(string("\xf4\x90\x80\x80", false),
                      "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""); /* too large */
  assert_string_equal(string("\xf4\x8f\xbf\xbf", false), "\"\xf4\x8f\xbf\xbf\"");
}

static const char *number(double value) {
  begin(0);
  wf__json_double(&json, value);
  return done();
}

static void writes_the_shortest_number_that_reads_back(void **state) {
  assert_string_equal(number(0.1), "0.1");
  assert_string_equal(number(1.0 / 3), "0.3333333333333333");
  assert_string_equal(number(5e-324), "4.94065645841247e-324");
  assert_string_equal(number(DBL_MAX), "1.7976931348623157e+308");
  assert_string_equal(number(-0.0), "-0");
  assert_string_equal(number(469), "469");
  assert_string_equal(number(1e22), "1e+22");
  uint64_t x = 88172645463325252u;
  for (int i = 0; i < 20000; i++) {
    double value;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    memcpy(&value, &x, sizeof value);
    if (isfinite(value)) assert_true(strtod(number(value), NULL) == value);
  }
}

static void writes_null_for_what_is_no_number(void **state) {
  assert_string_equal(number(NAN), "null");
  assert_string_equal(number(INFINITY), "null");
  assert_string_equal(number(-INFINITY), "null");
}

static void writes_a_point_in_any_locale(void **state) {
  const char *const names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "ps_AF.UTF-8"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (setlocale(LC_NUMERIC, names[i])) {
      assert_string_equal(number(-2.5e-9), "-2.5e-09");
      assert_string_equal(number(1.25), "1.25");
    }
  setlocale(LC_NUMERIC, "C");
}

static const char *decimal(int64_t value, int digits) {
  begin(0);
  wf__json_decimal(&json, value, digits);
  return done();
}

static void writes_integers_and_decimals_exactly(void **state) {
  assert_string_equal(decimal(1234567, 3), "1234.567");
  assert_string_equal(decimal(7, 3), "0.007");
  assert_string_equal(decimal(-1500, 3), "-1.500");
  assert_string_equal(decimal(INT64_MIN, 3), "-9223372036854775.808");
  begin(0);
  wf__json_int(&json, INT64_MIN);
  assert_string_equal(done(), "-9223372036854775808");
}

static void refuses_what_does_not_fit(void **state) {
  begin(0);
  wf__json_object(&json);
  wf__json_int(&json, 1);
  assert_int_equal(wf__json_end(&json), WF_RUNTIME);
  assert_error(WF_RUNTIME, "JSON writer: a value in an object needs a key");
  begin(0);
  wf__json_array(&json);
  wf__json_object_end(&json);
  assert_int_equal(wf__json_end(&json), WF_RUNTIME);
  assert_error(WF_RUNTIME, "JSON writer: an end that doesn't fit its begin");
  begin(0);
  wf__json_array(&json);
  wf__json_key(&json, "a");
  assert_int_equal(wf__json_end(&json), WF_RUNTIME);
  assert_error(WF_RUNTIME, "JSON writer: a key belongs into an object, before its value");
  begin(0);
  wf__json_array(&json);
  assert_int_equal(wf__json_end(&json), WF_RUNTIME);
  assert_error(WF_RUNTIME, "JSON writer: the value isn't complete");
  begin(0);
  wf__json_int(&json, 1);
  wf__json_int(&json, 2);
  assert_int_equal(wf__json_end(&json), WF_RUNTIME);
  assert_error(WF_RUNTIME, "JSON writer: a second value at the top");
  begin(0);
  for (int i = 0; i < WF__JSON_DEPTH + 1; i++) wf__json_array(&json);
  assert_int_equal(wf__json_end(&json), WF_RUNTIME);
  assert_error(WF_RUNTIME, "JSON writer: nested too deeply");
}

static void reports_a_stream_that_is_full(void **state) {
  FILE *full = fopen("/dev/full", "w");
  assert_non_null(full);
  setvbuf(full, NULL, _IONBF, 0);
  wf__json_begin(&json, NULL, full, 0);
  wf__json_array(&json);
  for (int i = 0; i < 5000; i++) wf__json_int(&json, i);
  wf__json_array_end(&json);
  assert_int_equal(wf__json_end(&json), WF_IO);
  assert_error(WF_IO, "JSON output: can't be written: No space left on device");
  fclose(full);
}

static void writes_long_documents_to_a_stream(void **state) {
  FILE *file = tmpfile();
  wf__json_begin(&json, NULL, file, 0);
  wf__json_array(&json);
  for (int i = 0; i < 5000; i++) wf__json_int(&json, 1000 + i);
  wf__json_array_end(&json);
  assert_ok(wf__json_end(&json));
  assert_int_equal(ftell(file), 2 + 5000 * 4 + 4999);
  fclose(file);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(punctuates_nested_values),
    cmocka_unit_test(escapes_what_json_forbids),
    cmocka_unit_test(replaces_bytes_that_are_not_utf8),
    cmocka_unit_test(writes_the_shortest_number_that_reads_back),
    cmocka_unit_test(writes_null_for_what_is_no_number),
    cmocka_unit_test(writes_a_point_in_any_locale),
    cmocka_unit_test(writes_integers_and_decimals_exactly),
    cmocka_unit_test(refuses_what_does_not_fit),
    cmocka_unit_test(reports_a_stream_that_is_full),
    cmocka_unit_test(writes_long_documents_to_a_stream),
};
WF_TEST_MAIN("format/json_writer", tests)
