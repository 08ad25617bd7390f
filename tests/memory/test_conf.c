/* Grammar, checks and texts of the allocator's settings. Expected texts and bucket tables are what torch 2.15 says to
 * torch._C._accelerator_setAllocatorSettings(text), and what its AcceleratorAllocatorConfig::roundup_power2_divisions(size) answers
 * afterwards for sizes of 2^20, 2^21, … (called through ctypes). Rows marked "own" differ on purpose. */
#include "test.h"

#include "memory/conf.h"

static void a_bad_setting_is_refused_in_the_words_of_pytorch(void **state) {
  static const struct {
    const char *conf;
    wf_status status;
    const char *text;
  } rows[] = {
      {"max_split_size_mb:19", WF_VALUE, "CachingAllocator option max_split_size_mb too small, must be >= 20"},
      {"large_segment_size_mb:64,max_split_size_mb:32", WF_VALUE,
       "CachingAllocator option max_split_size_mb too small, must be >= 64"},
      {"max_split_size_mb:32,large_segment_size_mb:64", WF_VALUE,
       "CachingAllocator option max_split_size_mb too small, must be >= 64"},
      {"large_segment_size_mb:12,max_split_size_mb:11", WF_VALUE,
       "CachingAllocator option max_split_size_mb too small, must be >= 12"},
      {"max_non_split_rounding_mb:19", WF_VALUE,
       "CachingAllocator option max_non_split_rounding_mb too small, must be >= 20"},
      {"large_segment_size_mb:10", WF_VALUE, "CachingAllocator option large_segment_size_mb must be > 10 MB"},
      {"garbage_collection_threshold:1.0", WF_VALUE, "garbage_collect_threshold is invalid, set it in (0.0, 1.0)"},
      {"garbage_collection_threshold:0", WF_VALUE, "garbage_collect_threshold is invalid, set it in (0.0, 1.0)"},
      {"garbage_collection_threshold:nan", WF_VALUE, "garbage_collect_threshold is invalid, set it in (0.0, 1.0)"},
      {"per_process_memory_fraction:1.5", WF_VALUE, "per_process_memory_fraction is invalid, set it in [0.0, 1.0]"},
      {"roundup_power2_divisions:3", WF_VALUE, "For roundups, the divisions has to be power of 2 "},
      {"roundup_power2_divisions:0", WF_VALUE, "For roundups, the divisions has to be power of 2 "},
      {"roundup_power2_divisions:[256:1,512:3]", WF_VALUE,
       "For roundups, the divisions has to be power of 2 or 0 to disable roundup "},
      {"roundup_power2_divisions:[3:1]", WF_VALUE, "For roundups, the intervals have to be power of 2 "},
      {"roundup_power2_divisions:[0:4]", WF_VALUE, "For roundups, the intervals have to be power of 2 "},
      {"roundup_power2_divisions:[64:8,", WF_RUNTIME,
       "Expected closing bracket ']' in ConfigTokenizer but reached end of config"},
      {"roundup_power2_divisions:[64:8", WF_RUNTIME, "Index out of bounds in ConfigTokenizer"},
      {"roundup_power2_divisions:[64", WF_RUNTIME, "Index out of bounds in ConfigTokenizer"},
      {"expandable_segments:true", WF_VALUE, "Expected 'True' or 'False' at index 2 in ConfigTokenizer but got 'true'"},
      {"backend:native,release_lock_on_cudamalloc:1", WF_VALUE,
       "Expected 'True' or 'False' at index 6 in ConfigTokenizer but got '1'"},
      {"backend:foo", WF_VALUE, "Unknown allocator backend, options are native and cudaMallocAsync"},
      {"backend:cudaMallocAsync", WF_RUNTIME,
       "Allocator backend parsed at runtime != allocator backend parsed at load time, cudaMallocAsync != native"},
      {"pinned_num_register_threads:3", WF_VALUE, "Number of register threads has to be power of 2, got 3"},
      {"pinned_num_register_threads:256", WF_VALUE,
       "Number of register threads should be less than or equal to 128, got 256"},
      {"pinned_reserve_segment_size_mb:0", WF_VALUE, "Pinned reserve segment size has to be greater than 0"},
      {"max_split_size_mb", WF_RUNTIME, "Index out of bounds in ConfigTokenizer"},
      {"max_split_size_mb:", WF_RUNTIME, "Index out of bounds in ConfigTokenizer"},
      {"max_split_size_mb:abc", WF_VALUE, "stoull"},
      {"max_split_size_mb:99999999999999999999", WF_VALUE, "stoull"},
      {"garbage_collection_threshold:x", WF_VALUE, "stod"},
      {"bogus:1", WF_VALUE, "Unrecognized key 'bogus' in Accelerator allocator config."},
      {",", WF_VALUE, "Unrecognized key ',' in Accelerator allocator config."},
      {"max_split_size_mb=64", WF_VALUE, "Unrecognized key 'max_split_size_mb=64' in Accelerator allocator config."},
      /* own: torch reads the number and ignores what follows, or takes any separator for the right one */
      {"max_split_size_mb:20abc", WF_VALUE, "stoull"},
      {"max_split_size_mb:-5", WF_VALUE, "stoull"},
      {"max_split_size_mb,64", WF_VALUE, "Error parsing CachingAllocator settings, expected :"},
      {"max_split_size_mb:64:128", WF_VALUE, "Error parsing CachingAllocator settings, expected ,"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    wf__conf conf;
    assert_int_equal(wf__conf_parse(&conf, rows[i].conf), rows[i].status);
    assert_error(rows[i].status, rows[i].text);
  }
}

static void good_settings_are_read(void **state) {
  wf__conf c;
  assert_ok(wf__conf_parse(&c, NULL));
  assert_true(c.max_split == WF__NO_LIMIT && c.large_segment == 20 << 20 && c.max_non_split_rounding == 20 << 20);
  assert_true(c.garbage_collection == 0 && c.fraction < 0);
  assert_ok(wf__conf_parse(&c, " max_split_size_mb : 64 , garbage_collection_threshold:0.8,\n"));
  assert_true(c.max_split == 64 << 20 && c.garbage_collection == 0.8);
  assert_ok(wf__conf_parse(&c, "large_segment_size_mb:12,max_non_split_rounding_mb:15,max_split_size_mb:15"));
  assert_true(c.large_segment == 12 << 20 && c.max_non_split_rounding == 15 << 20 && c.max_split == 15 << 20);
  assert_ok(wf__conf_parse(&c, "max_split_size_mb:64,max_split_size_mb:32,per_process_memory_fraction:0.25"));
  assert_true(c.max_split == 32 << 20 && c.fraction == 0.25);
  assert_ok(wf__conf_parse(
      &c,
      "backend:native,expandable_segments:False,pinned_use_background_threads:True,pinned_num_register_threads:8,"
      "graph_capture_record_stream_reuse:False,pinned_max_cached_size_mb:16,pinned_max_round_threshold_mb:3"));
}

static void divisions_fill_the_buckets_as_in_pytorch(void **state) {
  static const struct {
    const char *conf;
    uint32_t bucket[WF__ROUNDUP_BUCKETS];
  } rows[] = {
      {"roundup_power2_divisions:8", {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}},
      {"roundup_power2_divisions:[]", {0}},
      {"roundup_power2_divisions:[>:4]", {0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}},
      {"roundup_power2_divisions:[64:8,256:4,1024:2,>:1]", {8, 8, 8, 8, 8, 8, 8, 0, 4, 0, 2, 1, 1, 1, 1, 1}},
      {"roundup_power2_divisions:[1:2,4:8]", {2, 0, 8}},
      {"roundup_power2_divisions:[>:4,64:8]", {8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 4}},
      {"roundup_power2_divisions:[64:8,1:2,>:16]", {2, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16}},
      {"roundup_power2_divisions:[131072:2]", {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}},
      {"roundup_power2_divisions:8,roundup_power2_divisions:[2:4]", {4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}},
      {"roundup_power2_divisions:[4:2,2:4,16:8]", {2, 4, 2, 0, 8}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    wf__conf conf;
    assert_ok(wf__conf_parse(&conf, rows[i].conf));
    assert_memory_equal(conf.roundup, rows[i].bucket, sizeof conf.roundup);
  }
}

/* 1200 bytes lie between 1024 and 2048; four steps are 256 bytes each, which is below 512, so only multiples of 512 count there. */
static void sizes_round_up_to_512_or_to_a_division_of_a_power_of_two(void **state) {
  wf__conf c;
  assert_ok(wf__conf_parse(&c, ""));
  assert_int_equal(wf__round_size(&c, 1), 512);
  assert_int_equal(wf__round_size(&c, 512), 512);
  assert_int_equal(wf__round_size(&c, 513), 1024);
  assert_int_equal(wf__round_size(&c, ((size_t)1 << 20) + 1), (1 << 20) + 512);
  assert_ok(wf__conf_parse(&c, "roundup_power2_divisions:4"));
  assert_int_equal(wf__round_size(&c, 1200), 1536);
  assert_int_equal(wf__round_size(&c, 2048), 2048);
  assert_int_equal(wf__round_size(&c, 4097), 5120);
  assert_int_equal(wf__round_size(&c, 1200 << 10), 1280 << 10);
  assert_int_equal(wf__round_size(&c, 1793 << 10), 2048 << 10);
}

static void segments_are_2_mib_20_mib_or_a_multiple_of_2_mib(void **state) {
  wf__conf c;
  assert_ok(wf__conf_parse(&c, ""));
  const size_t mib = 1 << 20;
  assert_int_equal(wf__segment_size(&c, 512), 2 * mib);
  assert_int_equal(wf__segment_size(&c, mib), 2 * mib);
  assert_int_equal(wf__segment_size(&c, mib + 512), 20 * mib);
  assert_int_equal(wf__segment_size(&c, 10 * mib - 512), 20 * mib);
  assert_int_equal(wf__segment_size(&c, 10 * mib), 10 * mib);
  assert_int_equal(wf__segment_size(&c, 10 * mib + 512), 12 * mib);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_bad_setting_is_refused_in_the_words_of_pytorch),
    cmocka_unit_test(good_settings_are_read),
    cmocka_unit_test(divisions_fill_the_buckets_as_in_pytorch),
    cmocka_unit_test(sizes_round_up_to_512_or_to_a_division_of_a_power_of_two),
    cmocka_unit_test(segments_are_2_mib_20_mib_or_a_multiple_of_2_mib),
};

WF_TEST_MAIN("memory/conf", tests)
