/* What the report of a dry run says of ends that are easily misread. Each folder is made here. */
#include "audit/dry_folder.h"

/* Its allocator was bypassed, or has no history: the driver was asked for memory all the same. */
static void memory_without_a_history_is_no_want_of_a_gpu(void **state) {
  static const char *const says[] = {"empty: by PYTORCH_NO_CUDA_MEMORY_CACHING", "couldn't be had, for"};
  char path[128], text[1024];
  begin_process(7, 0);
  row("malloc", "cudaMalloc", 0, 3, 1, 20 << 20);
  end_process(7, "exit", "", 0);
  snprintf(path, sizeof path, "%s/snapshot.7.pickle", folder);
  for (int i = 0; i < 2; i++) {
    wf_dry_run *run = read_run(&gib, 1, 0);
    const char *why = wf__dry_why_not(run, text);
    assert_non_null(why);
    assert_non_null(strstr(why, says[i]));
    assert_int_equal(wf_dry_judge(run), WF_DRY_UNJUDGED);
    wf_dry_free(run);
    if (!i) assert_int_equal(unlink(path), 0);
  }
}

/* Each had all that it asked for, one after the other; on a GPU they may ask at a time. */
static void processes_that_may_be_too_large_together_ended_nowhere(void **state) {
  static const wf_dry_device device = {"250MiB", 250 << 20, 100 << 20, 8, 0};
  for (int pid = 7; pid < 9; pid++) {
    begin_process(pid, 0);
    ran_as(&device);
    maker_alloc(&m, 40 * MIB, 0, TRAIN);
    end_process(pid, "exit", "", 0);
  }
  wf_dry_run *run = read_run(&device, 1, 0);
  assert_int_equal(run->answers[0].fit, WF__DRY_FITS_NOT); /* twice 100 and 40 */
  char *text = wf_dry_text(run, 200);
  assert_null(strstr(text, "ended there"));
  wf_report_release(text);
  wf_dry_free(run);
}

/* A program that trains, then one that evaluates: the second finds what the first gave back. */
static void processes_one_after_the_other_share_nothing(void **state) {
  static const wf_dry_device device = {"150MiB", 150 << 20, 100 << 20, 8, 0};
  for (int together = 0; together < 2; together++) {
    void *none = NULL;
    for (int pid = 7; pid < 9; pid++) {
      begin_process(pid, 0);
      ran_as(&device);
      if (pid == 8 && !together) m.time_us += 1000000;
      maker_alloc(&m, 40 * MIB, 0, TRAIN);
      m.time_us += 500000;
      end_process(pid, "exit", "", 0);
    }
    wf_dry_run *run = read_run(&device, 1, 0);
    assert_int_equal(run->answers[0].fit, together ? WF__DRY_FITS_NOT : WF__DRY_FITS);
    assert_int_equal(run->answers[0].room, together ? 0 : 50 * MIB);
    char *text = wf_dry_text(run, 200);
    assert_true(!strstr(text, "processes share this GPU") == !together);
    wf_report_release(text);
    wf_dry_free(run);
    tear_down(&none);
    set_up(&none);
  }
}

static void what_comes_behind_the_last_step_is_in_none(void **state) {
  begin_process(7, 0);
  maker_free(&m, maker_alloc(&m, 20 * MIB, 0, TRAIN), TRAIN);
  step_ended(1);
  maker_alloc(&m, 40 * MIB, 0, TRAIN);
  end_process(7, "exit", "", 1);
  wf_dry_run *run = read_run(&gib, 1, 0);
  char *text = wf_dry_text(run, 200);
  assert_non_null(strstr(text, "At its peak it holds 40.00 MiB, behind the last step (most"));
  wf_report_release(text);
  wf_dry_free(run);
}

/* A sixteenth of a GiB, and of two: there it isn't known what would have come. */
static void a_program_that_lets_itself_have_less_is_told_so(void **state) {
  static const wf_dry_device devices[] = {{"2GiB", (int64_t)2 << 30, 64 << 20, 8, 0},
                                          {"1GiB", 1 << 30, 64 << 20, 8, 0}};
  begin_process(7, 64 * MIB);
  fprintf(roles, "{\"kind\":\"fraction\",\"device\":0,\"text\":\"0.5\"}\n");
  fprintf(roles, "{\"kind\":\"fraction\",\"device\":0,\"text\":\"0.0625\"}\n");
  fprintf(roles, "{\"kind\":\"fraction\",\"device\":1,\"text\":\"1.0\"}\n");
  maker_alloc(&m, 40 * MIB, 0, TRAIN);
  assert_null(maker_alloc(&m, 40 * MIB, 0, MODEL));
  end_process(7, "oom", "OutOfMemoryError: CUDA out of memory.", 0);
  wf_dry_run *run = read_run(devices, 2, 1);
  assert_int_equal(run->answers[0].fit, WF__DRY_FIT_UNKNOWN);
  assert_int_equal(run->answers[0].room, 128 * MIB);
  assert_int_equal(run->answers[1].fit, WF__DRY_FITS_NOT);
  assert_int_equal(run->answers[1].room, 64 * MIB);
  char *text = wf_dry_text(run, 200), *json = wf_dry_json(run, 0);
  assert_non_null(strstr(text, "no more than 64.00 MiB of it: per_process_memory_fraction is 0.0625"));
  assert_null(strstr(text, "--mem 1TiB"));
  assert_non_null(strstr(json, "\"memory_fraction\":0.0625"));
  wf_report_release(text);
  wf_report_release(json);
  wf_dry_free(run);
}

static void find_end(void *context, const char *text) {
  size_t n = strlen(text);
  if (n > 3000 && !strcmp(text + n - 8, " the end")) *(bool *)context = true;
}

static void what_is_not_known_is_said_to_its_end_however_long(void **state) {
  bool found = false;
  begin_process(7, 0);
  fprintf(roles, "{\"kind\":\"note\",\"text\":\"%03000d and this is the end\"}\n", 0);
  maker_alloc(&m, 40 * MIB, 0, TRAIN);
  end_process(7, "exit", "", 0);
  wf_dry_run *run = read_run(&gib, 1, 0);
  assert_ok(wf__dry_each_limit(run, find_end, &found));
  assert_true(found);
  wf_dry_free(run);
}

static const struct CMUnitTest tests[] = {
    DRY_TEST(memory_without_a_history_is_no_want_of_a_gpu),
    DRY_TEST(processes_that_may_be_too_large_together_ended_nowhere),
    DRY_TEST(processes_one_after_the_other_share_nothing),
    DRY_TEST(what_comes_behind_the_last_step_is_in_none),
    DRY_TEST(a_program_that_lets_itself_have_less_is_told_so),
    DRY_TEST(what_is_not_known_is_said_to_its_end_however_long),
};

WF_TEST_MAIN("audit/dry_sentences", tests)
