/* What WEFT_SIM may say. */
#include "test.h"

#include "backend/sim/sim_settings.h"

static wf__sim_settings parsed(const char *text) {
  wf__sim_settings s;
  char error[256] = "";
  if (!wf__sim_parse(text, &s, error, sizeof error)) fail_msg("%s", error);
  return s;
}

static void refused(const char *text, const char *expected) {
  wf__sim_settings s = {.devices = 77};
  char error[256] = "";
  assert_false(wf__sim_parse(text, &s, error, sizeof error));
  assert_string_equal(error, expected);
  assert_int_equal(s.devices, 77);
}

static void without_settings_there_is_one_device_and_no_model(void **state) {
  const char *const nothing[] = {NULL, ""};
  for (int i = 0; i < 2; i++) {
    wf__sim_settings s = parsed(nothing[i]);
    assert_int_equal(s.memory, (size_t)16 << 30);
    assert_int_equal(s.devices, 1);
    assert_true(s.link_bytes_per_ns == 0);
    assert_int_equal(s.kernel_ns, 0);
    assert_int_equal(s.fail_launch + s.fail_copy + s.fail_alloc, 0);
  }
}

static void reads_sizes_in_both_kinds_of_units(void **state) {
  static const struct {
    const char *text;
    size_t bytes;
  } cases[] = {{"mem=16GiB", (size_t)16 << 30}, {"mem=64MiB", (size_t)64 << 20}, {"mem=1.5GiB", (size_t)3 << 29},
               {"mem=80GB", 80000000000},       {"mem=500MB", 500000000},        {"mem=4194304", 4194304},
               {"mem=4194304B", 4194304},       {"mem=4096KiB", 4194304}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(parsed(cases[i].text).memory, cases[i].bytes);
}

static void knows_links_by_name_and_by_figures(void **state) {
  wf__sim_settings s = parsed("link=pcie3x16");
  assert_string_equal(s.link_name, "pcie3x16");
  assert_true(s.link_bytes_per_ns > 12 && s.link_bytes_per_ns < 13); /* of 15.75 on the wire */
  double ratio = parsed("link=pcie4x16").link_bytes_per_ns / s.link_bytes_per_ns;
  assert_true(ratio > 1.99 && ratio < 2.01);
  ratio = parsed("link=pcie5x16").link_bytes_per_ns / parsed("link=pcie5x4").link_bytes_per_ns;
  assert_true(ratio > 3.99 && ratio < 4.01);
  s = parsed("link=12GB/s+10us");
  assert_true(s.link_bytes_per_ns == 12);
  assert_int_equal(s.link_latency_ns, 10000);
  s = parsed("link=250MB/s");
  assert_true(s.link_bytes_per_ns == 0.25);
  assert_int_equal(s.link_latency_ns, 0);
  assert_int_equal(parsed("link=1.5TB/s+800ns").link_latency_ns, 800);
}

static void reads_all_keys(void **state) {
  wf__sim_settings s =
      parsed("mem=2GiB,devices=2,link=pcie3x16,fault=launch:100,fault=copy:3,fault=alloc:2,kernel_us=0.5");
  assert_int_equal(s.memory, (size_t)2 << 30);
  assert_int_equal(s.devices, 2);
  assert_int_equal(s.kernel_ns, 500);
  assert_int_equal(s.fail_launch, 100);
  assert_int_equal(s.fail_copy, 3);
  assert_int_equal(s.fail_alloc, 2);
}

static void says_which_setting_it_does_not_understand(void **state) {
  refused("memory=16GiB", "WEFT_SIM: unknown key 'memory'");
  refused("mem=16GiB,bogus", "WEFT_SIM: unknown key 'bogus'");
  refused("me=1", "WEFT_SIM: unknown key 'me'");
  refused("=3", "WEFT_SIM: unknown key ''");
  refused(",", "WEFT_SIM: unknown key ''");
  refused("mem=2GiB,", "WEFT_SIM: unknown key ''");
  refused("mem=2GiB,,devices=2", "WEFT_SIM: unknown key ''");
  refused("mem=2GiB,devices=2,mem=2GiB", "WEFT_SIM: mem comes twice");
  refused("fault=copy:1,fault=copy:2", "WEFT_SIM: bad value 'copy:2' for fault");
  refused("mem", "WEFT_SIM: bad value '' for mem");
  refused("mem=", "WEFT_SIM: bad value '' for mem");
  refused("mem=16 GiB", "WEFT_SIM: bad value '16 GiB' for mem");
  refused("mem=16gib", "WEFT_SIM: bad value '16gib' for mem");
  refused("mem=-1GiB", "WEFT_SIM: bad value '-1GiB' for mem");
  refused("mem=inf", "WEFT_SIM: bad value 'inf' for mem");
  refused("mem=1MiB", "WEFT_SIM: bad value '1MiB' for mem");
  refused("mem=1e300", "WEFT_SIM: bad value '1e300' for mem");
  refused("devices=0", "WEFT_SIM: bad value '0' for devices");
  refused("devices=17", "WEFT_SIM: bad value '17' for devices");
  refused("devices=1.5", "WEFT_SIM: bad value '1.5' for devices");
  refused("link=pcie2x16", "WEFT_SIM: bad value 'pcie2x16' for link");
  refused("link=pcie3x12", "WEFT_SIM: bad value 'pcie3x12' for link");
  refused("link=pcie3x16+1us", "WEFT_SIM: bad value 'pcie3x16+1us' for link");
  refused("link=12", "WEFT_SIM: bad value '12' for link");
  refused("link=12GB/s+10", "WEFT_SIM: bad value '12GB/s+10' for link");
  refused("link=0GB/s", "WEFT_SIM: bad value '0GB/s' for link");
  refused("kernel_us=2ms", "WEFT_SIM: bad value '2ms' for kernel_us");
  refused("fault=launch", "WEFT_SIM: bad value 'launch' for fault");
  refused("fault=launch:0", "WEFT_SIM: bad value 'launch:0' for fault");
  refused("fault=wait:1", "WEFT_SIM: bad value 'wait:1' for fault");
}

static void takes_any_bytes_without_harm(void **state) {
  uint64_t seed = 12345;
  static const char alphabet[] = "mem=16GiB,link=pcie3x16+us/sfault:devices kernel_us0.\x80\xff";
  for (int i = 0; i < 20000; i++) {
    char text[200];
    size_t n = 0;
    while (n < sizeof text - 1) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      if (seed >> 58 == 0) break;
      text[n++] = alphabet[(seed >> 33) % (sizeof alphabet - 1)];
    }
    text[n] = 0;
    wf__sim_settings s;
    char error[64];
    if (!wf__sim_parse(text, &s, error, sizeof error))
      assert_true(strlen(error) < sizeof error && !strncmp(error, "WEFT_SIM: ", 10));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_settings_there_is_one_device_and_no_model),
      cmocka_unit_test(reads_sizes_in_both_kinds_of_units),
      cmocka_unit_test(knows_links_by_name_and_by_figures),
      cmocka_unit_test(reads_all_keys),
      cmocka_unit_test(says_which_setting_it_does_not_understand),
      cmocka_unit_test(takes_any_bytes_without_harm),
  };
  return cmocka_run_group_tests_name("backend/sim_settings", tests, NULL, NULL);
}
