/* The table of torch.cuda.memory_summary: below is what PyTorch 2.15 prints for these statistics. */
#include "test.h"

#include <weft/sys/allocator.h>

static const char *const printed =
    "|===========================================================================|\n"
    "|                  PyTorch CUDA memory summary, device ID 3                 |\n"
    "|---------------------------------------------------------------------------|\n"
    "|            CUDA OOMs: 12           |        cudaMalloc retries: 345       |\n"
    "|===========================================================================|\n"
    "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n"
    "|---------------------------------------------------------------------------|\n"
    "| Allocated memory      |   2303 KiB |   2304 KiB |   2304 MiB |    768 GiB |\n"
    "|       from large pool |   1535 KiB |   1536 KiB |   1536 MiB |    512 GiB |\n"
    "|       from small pool |    767 KiB |    768 KiB |    768 MiB |    256 GiB |\n"
    "|---------------------------------------------------------------------------|\n"
    "| Active memory         |   4607 KiB |   4608 KiB |   4608 MiB |   1536 GiB |\n"
    "|       from large pool |   3071 KiB |   3072 KiB |   3072 MiB |   1024 GiB |\n"
    "|       from small pool |   1535 KiB |   1536 KiB |   1536 MiB |    512 GiB |\n"
    "|---------------------------------------------------------------------------|\n"
    "| Requested memory      |   6911 KiB |   6912 KiB |   6912 MiB |   2304 GiB |\n"
    "|       from large pool |   4607 KiB |   4608 KiB |   4608 MiB |   1536 GiB |\n"
    "|       from small pool |   2303 KiB |   2304 KiB |   2304 MiB |    768 GiB |\n"
    "|---------------------------------------------------------------------------|\n"
    "| GPU reserved memory   |  11519 KiB |  11520 KiB |  11520 MiB |   3840 GiB |\n"
    "|       from large pool |   7679 KiB |   7680 KiB |   7680 MiB |   2560 GiB |\n"
    "|       from small pool |   3839 KiB |   3840 KiB |   3840 MiB |   1280 GiB |\n"
    "|---------------------------------------------------------------------------|\n"
    "| Non-releasable memory |  16127 KiB |  16128 KiB |  16128 MiB |   5376 GiB |\n"
    "|       from large pool |  10751 KiB |  10752 KiB |  10752 MiB |   3584 GiB |\n"
    "|       from small pool |   5375 KiB |   5376 KiB |   5376 MiB |   1792 GiB |\n"
    "|---------------------------------------------------------------------------|\n"
    "| Allocations           |       3    |    3213    |  749997    |     750 K  |\n"
    "|       from large pool |       2    |    2142    |  499998    |     500 K  |\n"
    "|       from small pool |       1    |    1071    |  249999    |     250 K  |\n"
    "|---------------------------------------------------------------------------|\n"
    "| Active allocs         |       6    |    6426    |    1499 K  |    1500 K  |\n"
    "|       from large pool |       4    |    4284    |     999 K  |    1000 K  |\n"
    "|       from small pool |       2    |    2142    |     499 K  |     500 K  |\n"
    "|---------------------------------------------------------------------------|\n"
    "| GPU reserved segments |      33    |   35343    |    8249 K  |    8250 K  |\n"
    "|       from large pool |      22    |   23562    |    5499 K  |    5500 K  |\n"
    "|       from small pool |      11    |   11781    |    2749 K  |    2750 K  |\n"
    "|---------------------------------------------------------------------------|\n"
    "| Non-releasable allocs |    2100    |    2249 K  |  524997 K  |  525000 K  |\n"
    "|       from large pool |    1400    |    1499 K  |  349998 K  |  350000 K  |\n"
    "|       from small pool |     700    |     749 K  |  174999 K  |  175000 K  |\n"
    "|---------------------------------------------------------------------------|\n"
    "| Oversize allocations  |       0    |  749999    |     750 K  |     750 M  |\n"
    "|---------------------------------------------------------------------------|\n"
    "| Oversize GPU segments |       1    |       2    |       3    |   12345 M  |\n"
    "|===========================================================================|\n";

static wf_stat stat(int64_t current, int64_t peak, int64_t allocated, int64_t freed) {
  return (wf_stat){current, peak, allocated, freed};
}

/* Figures at the edges of units: [0] all, [1] small, [2] large. */
static wf_allocator_stats made_up(void) {
  wf_allocator_stats s = {.ooms = 12, .alloc_retries = 345};
  wf_stat *const bytes[] = {s.allocated_bytes, s.active_bytes, s.requested_bytes, s.reserved_bytes,
                            s.inactive_split_bytes};
  wf_stat *const counts[] = {s.allocation, s.active, s.segment, s.inactive_split};
  static const int64_t of_bytes[] = {1, 2, 3, 5, 7}, of_counts[] = {1, 2, 11, 700}, of_pools[] = {3, 1, 2};
  for (int pool = 0; pool < 3; pool++) {
    for (int i = 0; i < 5; i++) {
      int64_t n = of_bytes[i] * of_pools[pool];
      bytes[i][pool] =
          stat(786431 * n, 786432 * n, (786432 << 10) * n, (INT64_C(805306368) << 10) * n / 3 + of_bytes[i]);
    }
    for (int i = 0; i < 4; i++) {
      int64_t n = of_counts[i] * of_pools[pool];
      counts[i][pool] = stat(n, 1071 * n, 249999 * n, 250000 * n);
    }
  }
  s.oversize_allocations = stat(0, 749999, 750000, 750000999);
  s.oversize_segments = stat(1, 2, 3, 12345678901);
  return s;
}

static void the_table_is_pytorchs(void **state) {
  wf_allocator_stats s = made_up();
  char text[8192];
  assert_int_equal(wf_allocator_summary(&s, 3, false, text, sizeof text), strlen(printed));
  assert_string_equal(text, printed);
}

static void the_short_one_leaves_pools_out(void **state) {
  wf_allocator_stats s = made_up();
  char text[8192], expected[8192] = "";
  for (const char *line = printed; *line; line = strchr(line, '\n') + 1) {
    size_t n = (size_t)(strchr(line, '\n') + 1 - line);
    if (!strstr(line, "from ") || strstr(line, "from ") > line + n) strncat(expected, line, n);
  }
  wf_allocator_summary(&s, 3, true, text, sizeof text);
  assert_string_equal(text, expected);
}

static void what_has_no_room_is_cut_off(void **state) {
  wf_allocator_stats s = made_up();
  char text[100];
  memset(text, 'x', sizeof text);
  assert_int_equal(wf_allocator_summary(&s, 3, false, text, 90), strlen(printed));
  assert_int_equal(strlen(text), 89);
  assert_memory_equal(text, printed, 89);
  assert_int_equal(text[90], 'x');
  assert_int_equal(wf_allocator_summary(&s, 3, false, NULL, 0), strlen(printed));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_table_is_pytorchs),
    cmocka_unit_test(the_short_one_leaves_pools_out),
    cmocka_unit_test(what_has_no_room_is_cut_off),
};

WF_TEST_MAIN("memory/stats_table", tests)
