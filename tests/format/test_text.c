/* Growing texts. */
#include "test.h"

#include "base/host.h"
#include "format/text.h"

static void grows_as_needed(void **state) {
  wf__text t = {0};
  for (int i = 0; i < 10000; i++) wf__text_printf(&t, "%d,", i % 10);
  assert_int_equal(t.size, 20000);
  assert_memory_equal(t.data + 19980, "0,1,2,3,4,5,6,7,8,9,", 20);
  assert_int_equal(t.data[20000], 0);
  wf__text_release(&t);
  assert_null(t.data);
}

static void prints_what_is_longer_than_its_first_buffer(void **state) {
  wf__text t = {0};
  wf__text_put(&t, "<");
  wf__text_printf(&t, "%0700d|", 7);
  wf__text_repeat(&t, '-', 3);
  wf__text_repeat(&t, '-', -1);
  assert_int_equal(t.size, 1 + 701 + 3);
  assert_string_equal(t.data + 700, "7|---");
  char *text = wf__text_take(&t);
  assert_int_equal(strlen(text), 705);
  wf__release(text);
}

static void an_empty_text_is_an_empty_string(void **state) {
  wf__text t = {0};
  char *text = wf__text_take(&t);
  assert_string_equal(text, "");
  wf__release(text);
}

static void what_terminals_would_obey_becomes_question_marks(void **state) {
  const struct {
    const char *before, *after;
  } rows[] = {{"forward", "forward"},
              {"", ""},
              {"gr\u00fc\u00df \u20ac \U0001F600", "gr\u00fc\u00df \u20ac \U0001F600"},
              {"a\tb\nc\x7f", "a?b?c?"},
              {"\x1b[31mred\x1b]0;title\a", "?[31mred?]0;title?"},
              {"\xc2\x9b"
               "31m",
               "??31m"},            /* the control sequence introducer in one character */
              {"\u00a0", "\u00a0"}, /* the first that isn't a control character */
              {"\x9b\xff\xc3(",
               "??"
               "?("},                  /* no UTF-8 */
              {"\xed\xa0\x80", "???"}, /* half of a pair */
              {"cut \xe2\x82", "cut ??"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[64];
    snprintf(text, sizeof text, "%s", rows[i].before);
    assert_ptr_equal(wf__text_plain(text), text);
    assert_string_equal(text, rows[i].after);
  }
  assert_null(wf__text_plain(NULL));
}

static void the_first_failure_of_memory_stays(void **state) {
  wf__text t = {0};
  wf__text_put(&t, "a");
  wf__fault_at(1);
  wf__text_repeat(&t, 'b', 1000);
  wf__text_put(&t, "c");
  wf__fault_at(0);
  assert_int_equal(t.status, WF_NO_MEMORY);
  assert_string_equal(t.data, "a");
  assert_null(wf__text_take(&t));
  assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(grows_as_needed),
    cmocka_unit_test(prints_what_is_longer_than_its_first_buffer),
    cmocka_unit_test(an_empty_text_is_an_empty_string),
    cmocka_unit_test(what_terminals_would_obey_becomes_question_marks),
    cmocka_unit_test(the_first_failure_of_memory_stays),
};
WF_TEST_MAIN("format/text", tests)
