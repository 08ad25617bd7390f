/* Paragraphs of a terminal's width. */
#include "test.h"

#include "report/columns.h"

static void wrapped_is(const char *mark, size_t indent, const char *text, size_t columns, const char *expected) {
  wf__text out = {0};
  wf__put_wrapped(&out, mark, indent, text, columns);
  assert_string_equal(out.data, expected);
  wf__text_release(&out);
}

static void counts_characters_not_bytes(void **state) {
  assert_int_equal(wf__columns_of(""), 0);
  assert_int_equal(wf__columns_of("12.0 µs"), 7);
  assert_int_equal(wf__columns_of("\xf0\x9f\x98\x80"), 1);
}

static void breaks_lines_between_words(void **state) {
  wrapped_is("-", 2, "one two three", 9, "- one two\n  three\n");
  wrapped_is("", 0, "one two", 7, "one two\n");
  wrapped_is("", 0, "one two", 6, "one\ntwo\n");
  wrapped_is("", 0, "µµµ µµµ", 7, "µµµ µµµ\n"); /* seven columns, though thirteen bytes */
  wrapped_is(">", 2, "", 9, "> \n");
}

static void WF_PRINTF(4, 5)
    sentence_is(const char *mark, size_t columns, const char *expected, const char *format, ...) {
  wf__text out = {0};
  va_list args;
  va_start(args, format);
  wf__put_sentence(&out, mark, columns, format, args);
  va_end(args);
  assert_false(out.status);
  assert_string_equal(out.data, expected);
  wf__text_release(&out);
}

static void begins_a_sentence_s_lines_where_its_mark_ends(void **state) {
  sentence_is("→ ", 9, "→ one two\n  three\n", "%s %s three", "one", "two"); /* the mark has two columns, four bytes */
  sentence_is("", 9, "a?[1m ?b\n", "%s",
              "a\x1b[1m \xff"
              "b");
  sentence_is("- ", 9, "- \n", "%s", "");
}

static void cuts_no_sentence(void **state) {
  char words[4001], expected[4002];
  for (size_t i = 0; i < 4000; i++) words[i] = i % 8 == 7 ? ' ' : 'x', expected[i] = i % 80 == 79 ? '\n' : words[i];
  words[3999] = 0, expected[3999] = '\n', expected[4000] = 0;
  sentence_is("", 79, expected, "%s", words);
}

static void keeps_a_number_with_its_percent_sign_and_long_words_whole(void **state) {
  wrapped_is("", 0, "it is 12.5 % of it", 9, "it is\n12.5 % of\nit\n");
  wrapped_is("", 2, "a verylongword b", 8, "  a\n  verylongword\n  b\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_characters_not_bytes),
      cmocka_unit_test(breaks_lines_between_words),
      cmocka_unit_test(begins_a_sentence_s_lines_where_its_mark_ends),
      cmocka_unit_test(cuts_no_sentence),
      cmocka_unit_test(keeps_a_number_with_its_percent_sign_and_long_words_whole),
  };
  return cmocka_run_group_tests_name("report/columns", tests, NULL, NULL);
}
