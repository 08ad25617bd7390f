/* GPUs for which a program has no code. */
#include "audit/dry_folder.h"

/* A run as 8.0 of a PyTorch that was built for these, with a kernel that found code or not. */
static wf_dry_run *run_with_code(const char *built_for, const char *uncoded, const wf_dry_device *asked) {
  static const wf_dry_device own = {"1GiB", 1 << 30, 64 << 20, 8, 0};
  begin_process(7, 0);
  ran_as(&own);
  fprintf(roles, "{\"kind\":\"code\",\"architectures\":\"%s\"}\n", built_for);
  maker_alloc(&m, 60 * MIB, 0, TRAIN);
  row("launch", "add", 0, 12, 1, 0);
  if (uncoded) row("uncoded", uncoded, 0, 12, 1, 0);
  end_process(7, "exit", "", 0);
  return read_run(asked, 1, 0);
}

/* What NVIDIA's guide says of binary and PTX compatibility: machine code on later minor versions of its own major one, PTX on all that is later. */
static void a_gpu_without_code_cant_run_it(void **state) {
  static const struct {
    const char *built_for;
    int major, minor;
    bool runs;
  } cases[] = {
      {"sm_75 sm_80 sm_90", 7, 0, false},
      {"sm_75 sm_80 sm_90", 7, 5, true},
      {"sm_80", 8, 9, true},
      {"sm_86", 8, 9, true},
      {"sm_86 sm_90", 8, 0, true}, /* as which it ran, and found code */
      {"sm_80 sm_90", 12, 0, false},
      {"sm_80 compute_90", 12, 0, true},
      {"compute_90", 8, 9, false},
      {"sm_90a", 9, 0, true},
      {"sm_90a compute_90a", 10, 0, false},
      {"sm_100f", 10, 3, true},
      {"sm_100f compute_100f", 12, 0, false},
      {"sm_120", 12, 1, true},
      {"", 7, 0, true}, /* not known */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    void *none = NULL;
    wf_dry_device asked = {"asked", 1 << 30, 64 << 20, cases[i].major, cases[i].minor};
    wf_dry_run *run = run_with_code(cases[i].built_for, NULL, &asked);
    if (run->answers[0].no_code == cases[i].runs) print_error("%s on %d\n", cases[i].built_for, cases[i].major);
    assert_int_equal(run->answers[0].no_code, !cases[i].runs);
    assert_int_equal(wf_dry_judge(run), cases[i].runs ? WF_DRY_FINE : WF_DRY_BROKEN);
    wf_dry_free(run);
    tear_down(&none);
    set_up(&none);
  }
}

static void what_has_code_for_others_is_named(void **state) {
  static const wf_dry_device own = {"1GiB", 1 << 30, 64 << 20, 8, 0}, older = {"old", 1 << 30, 64 << 20, 7, 0};
  void *none = NULL;
  wf_dry_run *run = run_with_code("sm_80 sm_90a compute_120", NULL, &older);
  char *text = wf_dry_text(run, 200), *json = wf_dry_json(run, 0);
  assert_non_null(strstr(text, "CAN'T RUN"));
  assert_non_null(strstr(text, "PyTorch 2.15.0+cu132 has it for 8.0, 9.0a, PTX of 12.0."));
  assert_non_null(strstr(json, "\"fits\":\"no\",\"cant_run\":\"there is no code for compute capability 7.0"));
  wf_report_release(text);
  wf_report_release(json);
  wf_dry_free(run);
  tear_down(&none);
  set_up(&none);
  run = run_with_code("sm_80", "sm_90 compute_90", &own); /* an extension that was built for another */
  text = wf_dry_text(run, 200);
  assert_non_null(strstr(text, "/u/me/train.py:12 launches has it for 9.0, PTX of 9.0."));
  assert_non_null(strstr(text, "it takes a build of that library for 8.0"));
  assert_int_equal(wf_dry_judge(run), WF_DRY_BROKEN);
  wf_report_release(text);
  wf_dry_free(run);
}

static const struct CMUnitTest tests[] = {
    DRY_TEST(a_gpu_without_code_cant_run_it),
    DRY_TEST(what_has_code_for_others_is_named),
};

WF_TEST_MAIN("audit/dry_code", tests)
