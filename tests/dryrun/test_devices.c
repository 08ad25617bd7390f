/* The GPUs by name. */
#include <weft/dry.h>

#include "test.h"

static void each_is_found_by_its_name_and_no_other(void **state) {
  const wf_gpu *all;
  int n = wf_gpu_list(&all);
  (void)state;
  assert_true(n >= 10);
  for (int i = 0; i < n; i++) assert_ptr_equal(wf_gpu_find(all[i].name), &all[i]);
  assert_ptr_equal(wf_gpu_find("A100-80"), wf_gpu_find("a100-80"));
  assert_null(wf_gpu_find("a100"));
  assert_null(wf_gpu_find(""));
  assert_null(wf_gpu_find(NULL));
}

/* Figures that anybody may look up: capability and what is sold as "GB". */
static void figures_agree_with_the_data_sheets(void **state) {
  static const struct {
    const char *name;
    int major, minor, gb;
  } sheets[] = {{"b200", 10, 0, 192},   {"h200", 9, 0, 141},   {"h100", 9, 0, 80}, {"a100-80", 8, 0, 80},
                {"l40s", 8, 9, 48},     {"a100-40", 8, 0, 40}, {"t4", 7, 5, 16},   {"v100-32", 7, 0, 32},
                {"rtx4090", 8, 9, 24},  {"rtx3090", 8, 6, 24}, {"a10", 8, 6, 24},  {"l4", 8, 9, 24},
                {"rtx5090", 12, 0, 32}, {"a6000", 8, 6, 48}};
  (void)state;
  for (size_t i = 0; i < sizeof sheets / sizeof *sheets; i++) {
    const wf_gpu *g = wf_gpu_find(sheets[i].name);
    assert_non_null(g);
    assert_int_equal(g->major, sheets[i].major);
    assert_int_equal(g->minor, sheets[i].minor);
    /* GB are sold as 2^30 or 10^9 bytes; the driver, and ECC on boards with GDDR, take up to a tenth. */
    assert_true(g->memory_bytes <= (int64_t)sheets[i].gb << 30);
    assert_true(g->memory_bytes >= (int64_t)(0.90 * sheets[i].gb * 1e9));
    assert_true(wf_gpu_room(g) > 0 && wf_gpu_room(g) < g->memory_bytes);
  }
}

static void the_largest_is_the_first(void **state) {
  const wf_gpu *all;
  int n = wf_gpu_list(&all);
  (void)state;
  for (int i = 1; i < n; i++) assert_true(all[i - 1].memory_bytes >= all[i].memory_bytes);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_is_found_by_its_name_and_no_other),
    cmocka_unit_test(figures_agree_with_the_data_sheets),
    cmocka_unit_test(the_largest_is_the_first),
};

WF_TEST_MAIN("dryrun/devices", tests)
