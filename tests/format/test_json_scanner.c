/* The streaming JSON scanner: what is read of good and of damaged text, in one piece and across the buffer's end. */
#include "test.h"

#include <stdlib.h>

#include "base/host.h"
#include "format/json_scanner.h"

typedef struct scan {
  wf__input *input;
  wf__scanner s;
} scan;

static scan open_bytes(const char *bytes, size_t n) {
  scan r = {.input = wf__input_memory(bytes, n, "test")};
  assert_non_null(r.input);
  assert_ok(wf__scanner_open(&r.s, r.input));
  return r;
}

static scan open_text(const char *text) { return open_bytes(text, strlen(text)); }

static void close_scan(scan *r) {
  wf__scanner_close(&r->s);
  wf__input_close(r->input);
}

static void string_is(scan *r, const char *expected) {
  assert_int_equal(wf__scan_value(&r->s), WF__JSON_STRING);
  assert_int_equal(r->s.size, strlen(expected));
  assert_memory_equal(r->s.text, expected, r->s.size);
}

static void key_is(scan *r, const char *expected) {
  assert_int_equal(wf__scan_key(&r->s), WF__JSON_STRING);
  assert_int_equal(r->s.size, strlen(expected));
  assert_memory_equal(r->s.text, expected, r->s.size);
}

static void reads_keys_values_and_ends(void **state) {
  scan r = open_text(" { \"a\" : 1 , \"b\":[true,false,null,\"x\",-2.5e3,{}], \"c\":{} } ");
  assert_int_equal(wf__scan_value(&r.s), WF__JSON_OBJECT);
  key_is(&r, "a");
  assert_int_equal(wf__scan_value(&r.s), WF__JSON_NUMBER);
  assert_true(WF__SCAN_IS(&r.s, "1"));
  key_is(&r, "b");
  const wf__json_type in_list[] = {WF__JSON_ARRAY,  WF__JSON_TRUE,   WF__JSON_FALSE, WF__JSON_NULL, WF__JSON_STRING,
                                   WF__JSON_NUMBER, WF__JSON_OBJECT, WF__JSON_CLOSE, WF__JSON_CLOSE};
  for (size_t i = 0; i < sizeof in_list / sizeof *in_list; i++) assert_int_equal(wf__scan_value(&r.s), in_list[i]);
  key_is(&r, "c");
  assert_true(wf__scan_skip(&r.s, wf__scan_value(&r.s)));
  assert_int_equal(wf__scan_key(&r.s), WF__JSON_CLOSE);
  assert_true(wf__scan_at_end(&r.s));
  assert_int_equal(wf__scan_value(&r.s), WF__JSON_END);
  close_scan(&r);
}

static void decodes_escapes_and_keeps_unknown_ones(void **state) {
  scan r = open_text("[\"a\\n\\\"\\\\\\/\\u00e9\\ud83d\\ude00\", \"C:\\dir\\q\", \"\\ud800x\", \"\\u12\"]");
  assert_int_equal(wf__scan_value(&r.s), WF__JSON_ARRAY);
  string_is(&r, "a\n\"\\/\xc3\xa9\xf0\x9f\x98\x80");
  string_is(&r, "C:\\dir\\q");
  string_is(&r, "\xef\xbf\xbdx"); /* half of a pair */
  string_is(&r, "\\u12");
  close_scan(&r);
}

static void reads_what_real_traces_write_wrongly(void **state) {
  const char text[] = "[\"a\tb\nc\x01\", NaN, -Infinity, inf, \"nul\0l\" 7 , ]";
  scan r = open_bytes(text, sizeof text - 1);
  assert_int_equal(wf__scan_value(&r.s), WF__JSON_ARRAY);
  string_is(&r, "a\tb\nc\x01");
  for (int i = 0; i < 3; i++) assert_int_equal(wf__scan_value(&r.s), WF__JSON_NULL);
  assert_int_equal(wf__scan_value(&r.s), WF__JSON_STRING);
  assert_int_equal(r.s.size, 5);
  assert_memory_equal(r.s.text, "nul\0l", 5);
  assert_int_equal(wf__scan_value(&r.s), WF__JSON_NUMBER); /* the comma is missing */
  assert_int_equal(wf__scan_value(&r.s), WF__JSON_CLOSE);
  close_scan(&r);
}

static void tells_damage_and_goes_on_at_the_next_element(void **state) {
  const char *const damaged[] = {"{\"name\": \"say \"hi\" now\", \"x\": 1}", "{\"a\": 1, b: 2}", "{\"a\" 1}",
                                 "{\"a\": [1, \"x\"y\"]}", "{\"a\": @}"};
  for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
    char text[256];
    snprintf(text, sizeof text, "[%s,\n  {\"good\": 1}]", damaged[i]);
    scan r = open_text(text);
    assert_int_equal(wf__scan_value(&r.s), WF__JSON_ARRAY);
    assert_int_equal(wf__scan_value(&r.s), WF__JSON_OBJECT);
    wf__json_type type;
    while ((type = wf__scan_key(&r.s)) == WF__JSON_STRING && wf__scan_skip(&r.s, wf__scan_value(&r.s))) {}
    assert_int_not_equal(type, WF__JSON_CLOSE); /* it was seen */
    assert_true(wf__scan_resync(&r.s));
    assert_int_equal(wf__scan_value(&r.s), WF__JSON_OBJECT);
    key_is(&r, "good");
    close_scan(&r);
  }
}

/* Each token at each place around the end of the buffer of 1 MiB. */
static void reads_the_same_across_the_end_of_its_buffer(void **state) {
  const size_t room = (size_t)1 << 20;
  const char tail[] = "\"k\\u00e9y\"  :  \"v\\\\\\n\"  ,\"n\":123456.789 ,\"o\":{\"p\":[ 1 ,2]}}";
  char *text = malloc(room + sizeof tail);
  assert_non_null(text);
  for (size_t cut = 0; cut <= sizeof tail; cut++) {
    size_t lead = room - cut;
    memset(text, ' ', lead);
    text[0] = '{';
    memcpy(text + lead, tail, sizeof tail);
    scan r = open_bytes(text, lead + sizeof tail - 1);
    assert_int_equal(wf__scan_value(&r.s), WF__JSON_OBJECT);
    key_is(&r, "k\xc3\xa9y");
    string_is(&r, "v\\\n");
    key_is(&r, "n");
    assert_int_equal(wf__scan_value(&r.s), WF__JSON_NUMBER);
    assert_true(WF__SCAN_IS(&r.s, "123456.789"));
    key_is(&r, "o");
    assert_true(wf__scan_skip(&r.s, wf__scan_value(&r.s)));
    assert_int_equal(wf__scan_key(&r.s), WF__JSON_CLOSE);
    assert_true(wf__scan_at_end(&r.s));
    close_scan(&r);
  }
  free(text);
}

static char *repeated(const char *part, size_t times, const char *behind) {
  size_t n = strlen(part), m = strlen(behind);
  char *text = malloc(n * times + m + 1);
  assert_non_null(text);
  for (size_t i = 0; i < times; i++) memcpy(text + i * n, part, n);
  memcpy(text + n * times, behind, m + 1);
  return text;
}

static void passes_a_million_levels_without_a_stack(void **state) {
  char *open = repeated("[{\"a\":", 500000, ""), *shut = repeated("}]", 500000, ""), *text;
  text = malloc(strlen(open) + strlen(shut) + 3);
  sprintf(text, "%s1%s", open, shut);
  scan r = open_text(text);
  assert_true(wf__scan_skip(&r.s, wf__scan_value(&r.s)));
  assert_true(wf__scan_at_end(&r.s));
  close_scan(&r);
  r = open_text(open);
  assert_false(wf__scan_skip(&r.s, wf__scan_value(&r.s)));
  close_scan(&r);
  free(open), free(shut), free(text);
}

static void reads_numbers_of_any_length_and_refuses_texts_longer_than_its_buffer(void **state) {
  char *digits = repeated("7", 100000, "] ");
  scan r = open_text(digits);
  int64_t value;
  assert_int_equal(wf__scan_value(&r.s), WF__JSON_NUMBER);
  assert_int_equal(r.s.size, 100000);
  assert_false(wf__json_to_int(r.s.text, r.s.size, &value));
  assert_false(wf__json_to_ns(r.s.text, r.s.size, &value));
  assert_int_equal(wf__scan_value(&r.s), WF__JSON_CLOSE);
  close_scan(&r);
  free(digits);
  char *text = repeated("x", (size_t)3 << 20, "\", 5]");
  text[0] = '[', text[1] = '"';
  r = open_text(text);
  assert_int_equal(wf__scan_value(&r.s), WF__JSON_ARRAY);
  assert_int_equal(wf__scan_value(&r.s), WF__JSON_BAD);
  close_scan(&r);
  r = open_text(text); /* what isn't wanted may be as long as it likes */
  assert_true(wf__scan_skip(&r.s, wf__scan_value(&r.s)));
  close_scan(&r);
  free(text);
}

static void converts_times_to_whole_nanoseconds(void **state) {
  const struct {
    const char *text;
    int64_t ns;
    bool good;
  } rows[] = {{"0", 0, true},
              {"12.3456", 12345, true},
              {"12.3", 12300, true},
              {"5130947515374.077", 5130947515374077, true},
              {"1682725898236567", 1682725898236567000, true},
              {"-0.5", -500, true},
              {"68.0", 68000, true},
              {"1e3", 1000000, true},
              {"1.5E2", 150000, true},
              {".5", 0, false},
              {"-", 0, false},
              {"", 0, false},
              {"9999999999999999", 0, false},
              {"1e300", 0, false},
              {"12.3x", 0, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int64_t ns = -1;
    assert_int_equal(wf__json_to_ns(rows[i].text, strlen(rows[i].text), &ns), rows[i].good);
    if (rows[i].good) assert_int_equal(ns, rows[i].ns);
  }
}

static void converts_whole_numbers(void **state) {
  const struct {
    const char *text;
    int64_t value;
    bool good;
  } rows[] = {{"-7", -7, true},
              {"9223372036854775807", INT64_MAX, true},
              {"-9223372036854775808", INT64_MIN, true},
              {"9223372036854775808", 0, false},
              {"2.75", 2, true},
              {"1e3", 1000, true},
              {"x", 0, false},
              {"-", 0, false},
              {"12x", 0, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int64_t value = -1;
    assert_int_equal(wf__json_to_int(rows[i].text, strlen(rows[i].text), &value), rows[i].good);
    if (rows[i].good) assert_int_equal(value, rows[i].value);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_keys_values_and_ends),
      cmocka_unit_test(decodes_escapes_and_keeps_unknown_ones),
      cmocka_unit_test(reads_what_real_traces_write_wrongly),
      cmocka_unit_test(tells_damage_and_goes_on_at_the_next_element),
      cmocka_unit_test(reads_the_same_across_the_end_of_its_buffer),
      cmocka_unit_test(passes_a_million_levels_without_a_stack),
      cmocka_unit_test(reads_numbers_of_any_length_and_refuses_texts_longer_than_its_buffer),
      cmocka_unit_test(converts_times_to_whole_nanoseconds),
      cmocka_unit_test(converts_whole_numbers),
  };
  return cmocka_run_group_tests_name("format/json_scanner", tests, NULL, NULL);
}
