/* Cumulations of every instruction set against ref/, whose order they share, and the selection of the first few against the sort. */
#include "test.h"

#include <math.h>
#include "guarded.h"
#include "kernel/indexing.h"
#include "kernel/tables.h"

static void check_runs(int isa, wf_dtype dtype, int product, int64_t runs, int64_t n, bool neighbours, uint64_t *seed) {
  bool is_half = dtype == WF_F16 || dtype == WF_BF16;
  wf_dtype wide = is_half ? WF_F32 : dtype == WF_BOOL ? WF_I64 : dtype;
  int64_t size = (int64_t)wf_dtype_size(wide), gap = neighbours ? 0 : 3;
  int64_t run = neighbours ? size : (n + gap) * size, step = neighbours ? runs * size : size;
  size_t bytes = (size_t)(runs * (n + gap) * size);
  guarded in = guarded_new(bytes, (size_t)size), got = guarded_new(bytes, (size_t)size), want = guarded_new(bytes, 0);
  char carry[2][300 * 8];
  random_fill(in.data, wide, runs * (n + gap), seed);
  memset(got.data, 7, bytes);
  memset(want.data, 7, bytes);
  memset(carry, 0, sizeof carry);
  wf__runs r = {.in = in.data, .runs = runs, .n = n, .in_run = run, .in_step = step, .out_run = run, .out_step = step};
  for (int part = 0; part < 2; part++) { /* the second goes on from the first */
    r.out = got.data;
    wf__kernels_of((wf__isa)isa)->cumulate[dtype][product](&r, carry[0]);
    r.out = want.data;
    wf__kernels_of(WF__ISA_REF)->cumulate[dtype][product](&r, carry[1]);
    for (int64_t i = 0; i < (int64_t)bytes / size; i++) {
      wf_scalar a = wf__scalar_load(wide, got.data + i * size), b = wf__scalar_load(wide, want.data + i * size);
      double u = wf__scalar_double(a), v = wf__scalar_double(b);
      if (!(u == v || (u != u && v != v)))
        fail_msg("%s, %d runs of %d: %g, not %g", wf_dtype_name(dtype), (int)runs, (int)n, u, v);
    }
  }
  assert_true(guarded_intact(&got));
  guarded_free(&in);
  guarded_free(&got);
  guarded_free(&want);
}

static void every_instruction_set_cumulates_as_ref_does(void **state) {
  (void)state;
  uint64_t seed = 31;
  static const int64_t counts[] = {1, 3, 8, 13, 270}, lengths[] = {1, 2, 7, 40};
  for (int isa = WF__ISA_BASE; isa <= (int)best_isa(); isa++)
    for (int dtype = WF_DTYPE_NONE + 1; dtype < WF_DTYPE_COUNT; dtype++)
      for (int c = 0; c < 5; c++)
        for (int l = 0; l < 4; l++)
          for (int k = 0; k < 4; k++) check_runs(isa, (wf_dtype)dtype, k / 2, counts[c], lengths[l], k % 2, &seed);
}

/* Many equal elements, NaN and zeros of both signs among them. */
static void the_selected_are_the_first_of_the_sorted(void **state) {
  (void)state;
  uint64_t seed = 5;
  enum { N = 150, LENGTHS = 8 };
  static const int64_t lengths[LENGTHS] = {1, 2, 3, 10, 16, 17, 60, N};
  for (int dtype = WF_DTYPE_NONE + 1; dtype < WF_DTYPE_COUNT; dtype++)
    for (int l = 0; l < LENGTHS; l++)
      for (int64_t n = lengths[l], k = 1; k <= n; k += n < 20 ? 1 : 9)
        for (int descending = 0; descending < 2; descending++) {
          char x[N * 8];
          int64_t size = (int64_t)wf_dtype_size((wf_dtype)dtype);
          for (int64_t i = 0; i < n; i++) {
            uint64_t draw = random_next(&seed) % 40;
            wf_scalar v = draw == 0 ? wf_float(NAN) : draw == 1 ? wf_float(-0.0) : wf_int((int64_t)draw % 12 - 5);
            if (!wf_dtype_is_float((wf_dtype)dtype)) v = wf_int((int64_t)draw % 12);
            wf__scalar_store(v, (wf_dtype)dtype, x + i * size);
          }
          wf__sort_entry some[N], all[N], spare[N];
          wf__ref_select((wf_dtype)dtype, x, size, n, descending, k, some);
          wf__ref_sort_keys((wf_dtype)dtype, x, size, n, descending, all);
          const wf__sort_entry *sorted = wf__ref_sort(all, spare, n, (int)size);
          for (int64_t i = 0; i < k; i++) assert_int_equal(some[i].at, sorted[i].at);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_instruction_set_cumulates_as_ref_does),
    cmocka_unit_test(the_selected_are_the_first_of_the_sorted),
};
WF_TEST_MAIN("kernel/scan", tests)
