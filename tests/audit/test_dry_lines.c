/* What single lines of a dry run do: in the steady state or once, what is wrong with it, which of them read a size. */
#include "audit/dry_folder.h"

static const wf__dry_line *line_of(const wf_dry_run *run, int kind, int64_t number) {
  for (size_t i = 0; i < run->lines.n; i++)
    if (run->lines.at[i].sum.kind == kind && run->lines.at[i].sum.line == number) return &run->lines.at[i];
  return NULL;
}

static void lines_are_judged_by_the_steady_state(void **state) {
  begin_process(7, 0);
  maker_alloc(&m, 60 * MIB, 0, TRAIN);
  put_training_rows();
  end_process(7, "steps", "", 6);
  wf_dry_run *run = read_run(&gib, 1, 0);
  assert_int_equal(run->warm, 2);
  assert_int_equal(run->steady, 4);
  assert_true(run->counts.pageable == 1 && run->counts.syncs == 1 && run->counts.launches == 50 &&
              run->counts.driver_allocations == 0);
  const wf__dry_line *upload = line_of(run, WF__DRY_COPY, 5), *once = line_of(run, WF__DRY_COPY, 9),
                     *wait = line_of(run, WF__DRY_SYNC, 6);
  assert_true(upload->per_step == 1 && upload->sum.count == 6);
  assert_non_null(strstr(upload->remedy, "pin_memory=True"));
  assert_null(once->problem); /* the model goes to the device but once */
  assert_non_null(strstr(wait->problem, "a value is read"));
  assert_null(line_of(run, WF__DRY_COPY, 6)->problem);               /* said of the wait already */
  assert_int_equal(line_of(run, WF__DRY_LAUNCH, 7)->sum.count, 300); /* whatever kernels they are */
  wf_dry_free(run);
}

/* Line 6 reads its first value in step 3, by memory that is kept for the next ones; line 7 pins anew all the time. */
static void memory_that_is_asked_for_once_is_not_asked_for_in_the_steady_state(void **state) {
  begin_process(7, 0);
  maker_alloc(&m, 60 * MIB, 0, TRAIN);
  put_training_rows();
  row("malloc", "cudaHostAlloc", 3, 6, 1, 512);
  row("malloc", "cudaHostAlloc", 3, 7, 1, 1 << 20);
  row("malloc", "cudaHostAlloc", 5, 7, 1, 1 << 20);
  row("malloc", "cudaMalloc", 4, 7, 2, 4 << 20);
  end_process(7, "steps", "", 6);
  wf_dry_run *run = read_run(&gib, 1, 0);
  const wf__dry_line *once = line_of(run, WF__DRY_MALLOC, 6), *again = line_of(run, WF__DRY_MALLOC, 7);
  assert_null(once->problem);
  assert_true(once->sum.count == 1 && once->per_step == 0);
  assert_non_null(strstr(again->problem, "pinned in the steady state"));
  assert_true(again->per_step == 0.5);
  assert_true(run->counts.driver_allocations == 0.5); /* of line 7 what it pins */
  wf_dry_free(run);
}

/* What a line copies says why it waits for a stream; who waits for the whole device means it. */
static void a_wait_for_the_device_is_the_programs_own(void **state) {
  begin_process(7, 0);
  maker_alloc(&m, 60 * MIB, 0, TRAIN);
  row("copy", "Memcpy HtoD (Pageable -> Device)", 0, 5, 3, 3 << 20);
  row("sync", "cudaStreamSynchronize", 0, 5, 3, 0);
  row("sync", "cudaDeviceSynchronize", 0, 5, 2, 0);
  end_process(7, "exit", "", 0);
  wf_dry_run *run = read_run(&gib, 1, 0);
  int found = 0;
  for (size_t i = 0; i < run->lines.n; i++) {
    const wf__dry_line *l = &run->lines.at[i];
    if (l->sum.kind != WF__DRY_SYNC) continue;
    found++;
    assert_non_null(strstr(l->problem, l->sum.count == 2 ? "by itself" : "an upload waits"));
  }
  assert_int_equal(found, 2);
  wf_dry_free(run);
}

/* Lines whose reading decides a size come first, however often others read. */
static void sizes_that_were_read_are_marked(void **state) {
  begin_process(7, 0);
  maker_alloc(&m, 60 * MIB, 0, TRAIN);
  row("read", "device memory read as zeros", 0, 5, 100, 400);
  row("read", "device memory read as zeros", 0, 6, 1, 4);
  row("read", "size read as zero", 0, 6, 1, 8);
  end_process(7, "exit", "", 0);
  wf_dry_run *run = read_run(&gib, 1, 0);
  char *text = wf_dry_text(run, 80);
  const char *size = strstr(text, "2 times  me/train.py:6 main (a size)\n"),
             *value = strstr(text, "100 times  me/train.py:5 main\n");
  assert_non_null(size);
  assert_non_null(value);
  assert_true(size < value);
  wf_report_release(text);
  wf_dry_free(run);
}

static void without_steps_all_of_it_counts(void **state) {
  begin_process(7, 0);
  maker_alloc(&m, 60 * MIB, 0, TRAIN);
  row("copy", "Memcpy HtoD (Pageable -> Device)", 0, 5, 3, 3 << 20);
  row("sync", "cudaDeviceSynchronize", 0, 6, 2, 0);
  end_process(7, "exit", "", 0);
  wf_dry_run *run = read_run(&gib, 1, 0);
  assert_true(run->steady == 0 && run->counts.pageable == 3 && run->counts.syncs == 2);
  assert_non_null(strstr(line_of(run, WF__DRY_SYNC, 6)->problem, "by itself"));
  wf_dry_free(run);
}

static const struct CMUnitTest tests[] = {
    DRY_TEST(lines_are_judged_by_the_steady_state),
    DRY_TEST(memory_that_is_asked_for_once_is_not_asked_for_in_the_steady_state),
    DRY_TEST(a_wait_for_the_device_is_the_programs_own),
    DRY_TEST(sizes_that_were_read_are_marked),
    DRY_TEST(without_steps_all_of_it_counts),
};

WF_TEST_MAIN("audit/dry_lines", tests)
