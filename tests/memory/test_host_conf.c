/* What WEFT_CPU_MEMORY may say. */
#include "test.h"

#include <unistd.h>

#include "memory/host_conf.h"

static wf__host_conf parsed(const char *text) {
  wf__host_conf conf;
  assert_ok(wf__host_conf_parse(text, &conf));
  return conf;
}

static void by_default_a_quarter_of_the_memory_may_be_cached(void **state) {
  const char *const nothing[] = {NULL, ""};
  size_t total = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(parsed(nothing[i]).cache, total / 4);
    assert_int_equal(parsed(nothing[i]).at_hand, 1 << 20);
  }
}

static void reads_both_keys_in_any_order(void **state) {
  wf__host_conf conf = parsed("thread=256KiB,cache=4GiB");
  assert_int_equal(conf.cache, (size_t)4 << 30);
  assert_int_equal(conf.at_hand, 256 << 10);
  assert_int_equal(parsed("cache=0").cache, 0);
  assert_int_equal(parsed("cache=0").at_hand, 1 << 20);
  assert_true(parsed("cache=unlimited").cache == SIZE_MAX);
  assert_int_equal(parsed("thread=0").at_hand, 0);
}

static void refuses_what_it_does_not_understand(void **state) {
  static const struct {
    const char *text, *expected;
  } cases[] = {
      {"cash=1GiB", "WEFT_CPU_MEMORY: an unknown key in 'cash=1GiB'"},
      {"cache", "WEFT_CPU_MEMORY: an unknown key in 'cache'"},
      {"cache=1GiB,", "WEFT_CPU_MEMORY: an unknown key in 'cache=1GiB,'"},
      {"cache=1GiB,cache=2GiB", "WEFT_CPU_MEMORY: a key that comes twice in 'cache=1GiB,cache=2GiB'"},
      {"cache=", "WEFT_CPU_MEMORY: a size that can't be read in 'cache='"},
      {"cache=-1", "WEFT_CPU_MEMORY: a size that can't be read in 'cache=-1'"},
      {"cache=1 GiB", "WEFT_CPU_MEMORY: a size that can't be read in 'cache=1 GiB'"},
      {"thread=2GiB", "WEFT_CPU_MEMORY: a size that can't be read in 'thread=2GiB'"},
      {"thread=unlimited", "WEFT_CPU_MEMORY: a size that can't be read in 'thread=unlimited'"},
  };
  wf__host_conf conf;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(wf__host_conf_parse(cases[i].text, &conf), WF_VALUE);
    assert_error(WF_VALUE, cases[i].expected);
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(by_default_a_quarter_of_the_memory_may_be_cached),
    cmocka_unit_test(reads_both_keys_in_any_order),
    cmocka_unit_test(refuses_what_it_does_not_understand),
};
WF_TEST_MAIN("memory/host_conf", tests)
