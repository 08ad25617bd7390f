/* Distinct strings by number. */
#include "test.h"

#include "base/host.h"
#include "format/string_set.h"

static void the_same_bytes_have_the_same_number(void **state) {
  wf__string_set s = {0};
  uint32_t a = wf__string_set_add(&s, "alpha", 5), b = wf__string_set_add(&s, "beta", 4);
  assert_int_equal(wf__string_set_add(&s, "", 0), 0);
  assert_int_equal(a, 1);
  assert_int_equal(b, 2);
  assert_int_equal(wf__string_set_add(&s, "alphabet", 5), a);
  assert_int_equal(wf__string_set_add(&s, "alpha\0x", 7), 3); /* zero bytes count */
  assert_string_equal(wf__string_set_text(&s, b), "beta");
  assert_int_equal(wf__string_set_size(&s, 3), 7);
  assert_string_equal(wf__string_set_text(&s, 99), "");
  assert_int_equal(wf__string_set_size(&s, 99), 0);
  wf__string_set_release(&s);
}

static void many_strings_keep_their_numbers_while_the_set_grows(void **state) {
  wf__string_set s = {0};
  char text[32];
  for (uint32_t i = 1; i <= 50000; i++) {
    int n = snprintf(text, sizeof text, "%u/%u", i * 7919u, i);
    assert_int_equal(wf__string_set_add(&s, text, (size_t)n), i);
  }
  for (uint32_t i = 50000; i > 7; i -= 7) {
    int n = snprintf(text, sizeof text, "%u/%u", i * 7919u, i);
    assert_int_equal(wf__string_set_add(&s, text, (size_t)n), i);
    assert_string_equal(wf__string_set_text(&s, i), text);
  }
  assert_int_equal(s.count, 50001);
  wf__string_set_release(&s);
}

static void without_host_memory_nothing_changes(void **state) {
  for (int64_t k = 1;; k++) {
    wf__string_set s = {0};
    char text[16];
    uint32_t failed = 0;
    wf__fault_at(k);
    for (uint32_t i = 0; i < 300; i++)
      if (wf__string_set_add(&s, text, (size_t)snprintf(text, sizeof text, "s%u", i)) == UINT32_MAX) failed++;
    bool hit = wf__fault_count() >= k;
    wf__fault_at(0);
    assert_int_equal(failed > 0, hit);
    assert_int_equal(wf_error_take().status, hit ? WF_NO_MEMORY : WF_OK);
    for (uint32_t i = 0; i < s.count; i++)
      assert_int_equal(wf__string_set_add(&s, wf__string_set_text(&s, i), wf__string_set_size(&s, i)), i);
    wf__string_set_release(&s);
    if (!hit) break;
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_same_bytes_have_the_same_number),
    cmocka_unit_test(many_strings_keep_their_numbers_while_the_set_grows),
    cmocka_unit_test(without_host_memory_nothing_changes),
};

WF_TEST_MAIN("format/string_set", tests)
