/* Random programs of views and copies, seeds fixed: see view_program.h. The fuzz target runs more of them. */
#include "test.h"

#include "op/view_program.h"

#define PROGRAMS 40000

static void random_programs_of_views_and_copies_show_the_elements_that_coordinates_say(void **state) {
  (void)state;
  static view_program p;
  for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
    uint8_t bytes[120];
    uint64_t z = seed * 0x9E3779B97F4A7C15u + 1;
    for (size_t i = 0; i < sizeof bytes; i++) {
      z ^= z << 13, z ^= z >> 7, z ^= z << 17;
      bytes[i] = (uint8_t)(z >> 32);
    }
    run_program(&p, bytes, 20 + seed % 100);
    if (p.fault[0]) fail_msg("program of seed %llu: %s", (unsigned long long)seed, p.fault);
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_programs_of_views_and_copies_show_the_elements_that_coordinates_say),
};
WF_TEST_MAIN("op/view_programs", tests)
