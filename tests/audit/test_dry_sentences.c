/* What the report of a dry run says of ends that are easily misread. Each folder is made here. */
#include "audit/dry_folder.h"

/* Its allocator was bypassed, or what it recorded couldn't be written: the driver was asked for memory all the same. */
static void memory_without_a_history_is_no_want_of_a_gpu(void **state) {
  static const char *const says[] = {"empty: by PYTORCH_NO_CUDA_MEMORY_CACHING", "couldn't be had or written"};
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

static const struct CMUnitTest tests[] = {
    DRY_TEST(memory_without_a_history_is_no_want_of_a_gpu),
};

WF_TEST_MAIN("audit/dry_sentences", tests)
