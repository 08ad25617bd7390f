/* Dry runs read from folders that are made here: whose memory it is, whether it fits, and why a run can't be judged. What is
 * expected is added up by hand from what the folder was made of. */
#include "audit/dry_folder.h"
#include "base/host.h"

/* A weight, its gradient, two states, an activation of 6 MiB while the gradient is there already. */
static void train_one_step(int step, wf_block *weight, bool looked) {
  static wf_block *states[2];
  wf_block *shift =
      maker_alloc(&m, (size_t)(step - 1) * 64 * 1024 + 512, 0, MODEL); /* so that places differ between steps */
  wf_block *activation = maker_alloc(&m, 6 * MIB, 0, MODEL), *gradient = maker_alloc(&m, 4 * MIB, 0, BACKWARD);
  maker_free(&m, activation, BACKWARD);
  for (int i = 0; i < 2 && step == 1; i++) states[i] = maker_alloc(&m, 4 * MIB, 0, OPTIMIZER);
  maker_free(&m, maker_alloc(&m, 4 * MIB, 0, OPTIMIZER), OPTIMIZER);
  if (looked) {
    saw("parameter", weight, 4 * MIB);
    saw("gradient", gradient, 4 * MIB);
    saw("optimizer", states[0], 4 * MIB);
    saw("optimizer", states[1], 4 * MIB);
  }
  step_ended(step);
  maker_free(&m, gradient, TRAIN);
  maker_free(&m, shift, TRAIN);
}

static void the_peak_is_divided_by_whose_it_is(void **state) {
  begin_process(7, 0);
  wf_block *weight = maker_alloc(&m, 4 * MIB, 0, TRAIN);
  for (int i = 1; i <= 3; i++) train_one_step(i, weight, i == 1);
  end_process(7, "steps", "", 3);
  wf_dry_run *run = read_run(&gib, 1, 0);
  const wf__dry_detail *d = &run->detail;
  assert_int_equal(wf_dry_judge(run), WF_DRY_FINE);
  /* From step 2 on: weight 4, states 8, activation 6, gradient 4, the block of 64 KiB and more. The third step has the largest of these. */
  assert_int_equal(d->role_bytes[WF__DRY_PARAMETERS], 4 * MIB);
  assert_int_equal(d->role_bytes[WF__DRY_OPTIMIZER], 8 * MIB);
  assert_int_equal(d->role_bytes[WF__DRY_GRADIENTS], 4 * MIB); /* nobody looked in that step */
  assert_int_equal(d->role_bytes[WF__DRY_FORWARD], 6 * MIB + 2 * 64 * 1024 + 512);
  assert_int_equal(d->role_bytes[WF__DRY_BACKWARD], 0);
  assert_int_equal(d->view.history.peak, 22 * MIB + 2 * 64 * 1024 + 512);
  assert_int_equal(d->steps.n, 4);
  assert_int_equal(d->steps.at[0].peak,
                   22 * MIB - 4 * MIB + 2 * MIB + 512); /* weight, gradient, states, the step's own 4 MiB */
  assert_int_equal(d->steps.at[2].end, 16 * MIB + 2 * 64 * 1024 + 512);
  wf_dry_free(run);
}

static void each_device_gets_an_answer_of_its_own(void **state) {
  static const wf_dry_device devices[] = {
      {"1GiB", 1 << 30, 64 << 20, 8, 0}, {"enough", 124 << 20, 64 << 20, 8, 0}, {"little", 123 << 20, 64 << 20, 9, 0}};
  begin_process(7, 0);
  maker_alloc(&m, 20 * MIB, 0, TRAIN);
  maker_alloc(&m, 40 * MIB, 0, MODEL);
  end_process(7, "exit", "", 0);
  wf_dry_run *run = read_run(devices, 3, 0);
  assert_int_equal(run->answers[0].fit, WF__DRY_FITS);
  assert_int_equal(run->answers[1].fit,
                   WF__DRY_FITS); /* 60 MiB are left, and two segments of 20 and 40 are asked for */
  assert_int_equal(run->answers[2].fit, WF__DRY_FITS_NOT);
  assert_int_equal(run->answers[1].needs, 60 * MIB);
  assert_false(run->answers[1].other_kind);
  assert_true(run->answers[2].other_kind);
  assert_int_equal(wf_dry_judge(run), WF_DRY_BROKEN);
  char *text = wf_dry_text(run, 80);
  assert_non_null(strstr(text, "me/model.py:30 forward")); /* who asked in vain */
  wf_report_release(text);
  wf_dry_free(run);
}

/* A recorded run is asked again, for devices that it didn't run as. */
static void other_devices_than_it_ran_as_are_judged_by_its_history(void **state) {
  static const wf_dry_device too_small[] = {{"100MiB", 100 << 20, 64 << 20, 9, 0}},
                             context[] = {{"1GiB", 1 << 30, 1000 << 20, 8, 0}},
                             just[] = {{"124MiB", 124 << 20, 64 << 20, 8, 0}};
  begin_process(7, 0);
  maker_alloc(&m, 60 * MIB, 0, TRAIN);
  end_process(7, "exit", "", 0);
  wf_dry_run *run = read_run(too_small, 1, -1);
  assert_int_equal(run->answers[0].fit, WF__DRY_FITS_NOT);
  assert_int_equal(wf_dry_judge(run), WF_DRY_BROKEN);
  assert_true(run->answers[0].other_kind);
  char *text = wf_dry_text(run, 80), *json = wf_dry_json(run, 0);
  assert_non_null(strstr(text, "Dry run as t4 with 1.00 GiB"));
  assert_null(strstr(text, "It ended there"));
  assert_non_null(strstr(json, "\"ran_as_this\":false"));
  wf_report_release(text);
  wf_report_release(json);
  wf_dry_free(run);
  run = read_run(context, 1, -1); /* the same memory, of which 24 MiB are left */
  assert_int_equal(run->answers[0].fit, WF__DRY_FITS_NOT);
  wf_dry_free(run);
  run = read_run(just, 1, -1);
  assert_int_equal(run->answers[0].fit, WF__DRY_FITS);
  wf_dry_free(run);
  run = read_run(&gib, 1, -1);
  text = wf_dry_text(run, 80), json = wf_dry_json(run, 0);
  assert_non_null(strstr(text, "Dry run as 1GiB"));
  assert_non_null(strstr(json, "\"ran_as_this\":true"));
  wf_report_release(text);
  wf_report_release(json);
  wf_dry_free(run);
}

static void running_out_of_memory_is_an_answer(void **state) {
  static const wf_dry_device devices[] = {{"64MiB", 64 << 20, 0, 8, 0}, {"more", 1 << 30, 0, 8, 0}};
  begin_process(7, 64 * MIB);
  ran_as(&devices[0]);
  maker_alloc(&m, 40 * MIB, 0, TRAIN);
  assert_null(maker_alloc(&m, 40 * MIB, 0, MODEL));
  end_process(7, "oom", "OutOfMemoryError: CUDA out of memory.", 0);
  wf_dry_run *run = read_run(devices, 2, 1);
  assert_int_equal(run->answers[0].fit, WF__DRY_FITS_NOT);
  assert_int_equal(run->answers[1].fit, WF__DRY_FIT_UNKNOWN); /* nobody knows what would have come */
  assert_int_equal(wf_dry_judge(run), WF_DRY_BROKEN);
  wf_dry_free(run);
}

/* Whatever the program did then (a smaller batch, its own message and an exit): it asked for more than there is. */
static void one_that_was_caught_is_one_all_the_same(void **state) {
  static const wf_dry_device devices[] = {{"1GiB", 1 << 30, 0, 8, 0}, {"64MiB", 64 << 20, 0, 8, 0}};
  begin_process(7, 64 * MIB);
  ran_as(&devices[1]);
  maker_alloc(&m, 40 * MIB, 0, TRAIN);
  assert_null(maker_alloc(&m, 40 * MIB, 0, MODEL));
  end_process(7, "exit", "", 0);
  for (int status = 0; status < 2; status++) {
    wf_dry_run *run = read_run(&devices[1], 1, status);
    assert_int_equal(run->answers[0].fit, WF__DRY_FITS_NOT);
    assert_int_equal(run->answers[0].needs, 80 * MIB);
    assert_int_equal(wf_dry_judge(run), WF_DRY_BROKEN);
    char *text = wf_dry_text(run, 200);
    assert_non_null(strstr(text, "the program caught that"));
    assert_non_null(strstr(text, "It caught that; with --mem 1TiB"));
    wf_report_release(text);
    wf_dry_free(run);
  }
  wf_dry_run *run = read_run(devices, 2, 0);
  assert_int_equal(run->answers[0].fit, WF__DRY_FIT_UNKNOWN); /* where it would have got what it asked for */
  assert_int_equal(run->answers[1].fit, WF__DRY_FITS_NOT);
  wf_dry_free(run);
}

static void processes_that_share_a_device_share_its_memory(void **state) {
  static const wf_dry_device devices[] = {{"300MiB", 300 << 20, 100 << 20, 8, 0},
                                          {"250MiB", 250 << 20, 100 << 20, 8, 0}};
  for (int pid = 7; pid < 9; pid++) {
    begin_process(pid, 0);
    ran_as(&devices[0]);
    maker_alloc(&m, 40 * MIB, 0, TRAIN);
    end_process(pid, "exit", "", 0);
  }
  wf_dry_run *run = read_run(devices, 2, 0);
  assert_int_equal(run->places.n, 2);
  assert_int_equal(run->answers[0].fit, WF__DRY_FITS); /* twice 100 for the driver and 40 */
  assert_int_equal(run->answers[0].room, 60 * MIB);    /* 300 - 100 - (100 + 40) */
  char *text = wf_dry_text(run, 200);
  assert_non_null(strstr(text, "; 1 device used by 2 of 2 processes"));
  assert_non_null(strstr(text, "  2 processes share this GPU, each"));
  wf_report_release(text);
  assert_int_equal(run->answers[1].fit, WF__DRY_FITS_NOT);
  wf_dry_free(run);
}

/* A worker that crashed, and one that was killed, though the process that started them went on to its end. */
static void a_run_is_judged_if_all_its_processes_are(void **state) {
  static const char *const how[] = {"exit", "status", NULL};
  void *none = NULL;
  for (int i = 0; i < 3; i++) {
    char path[128], text[1024];
    begin_process(7, 0);
    maker_alloc(&m, 40 * MIB, 0, TRAIN);
    end_process(7, "exit", "", 0);
    begin_process(8, 0);
    maker_alloc(&m, 20 * MIB, 0, TRAIN);
    row("malloc", "cudaMalloc", 0, 3, 1, 20 << 20);
    row("malloc", "cudaHostAlloc", 0, 3, 1, 20 << 20);
    end_process(8, how[i] ? how[i] : "", "exit status 1", 0);
    snprintf(path, sizeof path, "%s/snapshot.8.pickle", folder);
    if (!how[i]) assert_int_equal(unlink(path), 0);
    wf_dry_run *run = read_run(&gib, 1, 0);
    const char *why = wf__dry_why_not(run, text);
    assert_int_equal(wf_dry_judge(run), i ? WF_DRY_UNJUDGED : WF_DRY_FINE);
    assert_int_equal(run->answers[0].fit, i ? WF__DRY_FIT_UNKNOWN : WF__DRY_FITS);
    char *report = wf_dry_text(run, 80);
    assert_int_equal(strstr(report, " not known\n") != NULL, i > 0); /* the process that is spoken of had its end */
    wf_report_release(report);
    if (i == 1) assert_non_null(strstr(why, "Process 8 ended by exit status 1. What"));
    if (i == 2) assert_non_null(strstr(why, "Process 8 (train.py --lr 0.1) asked for 20.00 MiB of a GPU"));
    wf_dry_free(run);
    tear_down(&none);
    set_up(&none);
  }
}

/* Each sees one device, its number 0; of the machine's they are two. */
static void processes_with_a_device_each_share_nothing(void **state) {
  static const wf_dry_device device = {"150MiB", 150 << 20, 100 << 20, 8, 0};
  for (int pid = 7; pid < 9; pid++) {
    begin_process(pid, 0);
    fprintf(
        events,
        "{\"kind\":\"device\",\"name\":\"t4\",\"numbers\":\"%d\",\"major\":8,\"minor\":0,\"memory\":%d,\"context\":%d}\n",
        pid - 7, 150 << 20, 100 << 20);
    maker_alloc(&m, 40 * MIB, 0, TRAIN);
    end_process(pid, "exit", "", 0);
  }
  wf_dry_run *run = read_run(&device, 1, 0);
  assert_int_equal(run->answers[0].fit, WF__DRY_FITS);
  assert_int_equal(run->answers[0].room, 50 * MIB);
  char *text = wf_dry_text(run, 200);
  assert_non_null(strstr(text, "; 2 devices used by 2 of 2 processes"));
  wf_report_release(text);
  wf_dry_free(run);
}

static void put_status(int status) {
  char path[128];
  snprintf(path, sizeof path, "%s/launch.jsonl", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "{\"kind\":\"status\",\"count\":%d}\n", status);
  fclose(file);
}

/* Its events finished at the end only, and what the side stream used was kept until then: the second run of the same program. */
static void a_second_run_gives_the_other_end_of_the_bracket(void **state) {
  static char first[sizeof folder];
  for (int late = 0; late < 2; late++) {
    if (late) {
      memcpy(first, folder, sizeof folder);
      strcpy(folder, "weft-dry-XXXXXX");
      assert_non_null(mkdtemp(folder));
    }
    begin_process(7, 0);
    for (int i = 0; i < 4; i++) {
      wf_block *block = maker_alloc(&m, 20 * MIB, 0, TRAIN);
      assert_ok(wf_block_record_stream(m.allocator, block, 5));
      maker_free(&m, block, TRAIN);
      if (!late) m.passed[5] = m.marks;
    }
    end_process(7, "exit", "", 0);
  }
  wf_dry_options o = wf_dry_defaults();
  o.devices = &gib;
  o.device_count = 1;
  o.exit_status = 0;
  o.late_folder = folder;
  wf_dry_run *run = wf_dry_read(first, &o);
  assert_non_null(run);
  assert_true(wf_dry_wants_late_run(run));
  assert_int_equal(run->places.at[0].reserved, 20 * MIB);
  assert_int_equal(run->late_reserved, 80 * MIB);
  char *text = wf_dry_text(run, 80);
  assert_non_null(strstr(text, "Memory is shared between streams: 20.00 MiB are reserved"));
  assert_null(strstr(text, "the second run"));
  wf_report_release(text);
  wf_dry_free(run);
  put_status(137); /* in the second run's folder: what it reserved until then is no bracket */
  run = wf_dry_read(first, &o);
  assert_non_null(run);
  char *json = wf_dry_json(run, 0);
  assert_non_null(strstr(json, "\"late_failure\":\"The program was ended by signal 9."));
  wf_report_release(json);
  text = wf_dry_text(run, 200);
  assert_non_null(
      strstr(text, "the second run, whose events finish only when they are waited for: The program was ended"));
  wf_report_release(text);
  wf_dry_free(run);
  assert_int_equal(tear_down(state), 0);
  memcpy(folder, first, sizeof folder);
}

static void bounds_are_kept_or_broken(void **state) {
  static const struct {
    double pageable, syncs;
    wf_dry_verdict verdict;
  } cases[] = {{1, 1, WF_DRY_FINE}, {0, 1, WF_DRY_BROKEN}, {1, 0.5, WF_DRY_BROKEN}, {2, 3, WF_DRY_FINE}};
  begin_process(7, 0);
  maker_alloc(&m, 60 * MIB, 0, TRAIN);
  put_training_rows();
  end_process(7, "steps", "", 6);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    wf_dry_options o = wf_dry_defaults();
    o.devices = &gib;
    o.device_count = 1;
    o.exit_status = 0;
    o.search = false;
    o.max_pageable = cases[i].pageable;
    o.max_syncs_per_step = cases[i].syncs;
    wf_dry_run *run = wf_dry_read(folder, &o);
    assert_int_equal(wf_dry_judge(run), cases[i].verdict);
    wf_dry_free(run);
  }
}

/* Memory that NCCL asks the driver for is no segment of PyTorch's. */
static void memory_beside_the_allocator_counts(void **state) {
  begin_process(7, 0);
  maker_alloc(&m, 60 * MIB, 0, TRAIN);
  row("malloc", "cudaMalloc", 0, 3, 1, 60 << 20);
  row("malloc", "cudaMalloc", 0, 4, 1, 30 << 20);
  end_process(7, "exit", "", 0);
  wf_dry_run *run = read_run(&gib, 1, 0);
  assert_int_equal(run->places.at[0].outside, 30 * MIB);
  assert_int_equal(run->answers[0].room, (1024 - 64 - 30) * MIB);
  wf_dry_free(run);
}

static void one_row(const char *text) {
  FILE *file = open_rows("roles", 7);
  fprintf(file, "%s\n", text);
  fclose(file);
}

/* The reason and the exit status of a run whose Python wrote but these rows. */
static void expect_reason(const char *python, const char *end, int status, const char *says) {
  void *none = NULL;
  char text[1024];
  one_row(python);
  one_row(end);
  wf_dry_run *run = read_run(&gib, 1, status);
  const char *why = wf__dry_why_not(run, text);
  assert_non_null(why);
  if (!strstr(why, says)) print_error("'%s' in: %s\n", says, why);
  assert_non_null(strstr(why, says));
  assert_int_equal(wf_dry_judge(run), WF_DRY_UNJUDGED);
  wf_dry_free(run);
  tear_down(&none);
  set_up(&none);
}

/* A program that fails for want of values is told from one that fails. */
static void an_exception_after_values_were_read_says_so(void **state) {
  for (int reads = 0; reads < 2; reads++) {
    void *none = NULL;
    char text[1024];
    begin_process(7, 0);
    maker_alloc(&m, 60 * MIB, 0, TRAIN);
    if (reads) row("read", "device memory read as zeros", 0, 5, 1, 4);
    end_process(7, "exception", "ZeroDivisionError: float division by zero", 0);
    wf_dry_run *run = read_run(&gib, 1, 1);
    const char *why = wf__dry_why_not(run, text);
    assert_non_null(strstr(why, "ZeroDivisionError"));
    assert_int_equal(strstr(why, "values of the GPU, which are zeros here") != NULL, reads);
    wf_dry_free(run);
    tear_down(&none);
    set_up(&none);
  }
}

static void what_cant_be_judged_says_why(void **state) {
  static const char end[] = "{\"kind\":\"end\",\"ended\":\"exit\"}";
  expect_reason(
      "{\"kind\":\"python\",\"state\":\"no torch\",\"torch\":null,\"found\":false,\"executable\":\"/bin/py\"}", end, 1,
      "No torch in this Python: /bin/py");
  expect_reason("{\"kind\":\"python\",\"state\":\"no torch\",\"torch\":null,\"found\":true}", end, 0,
                "never imported torch");
  expect_reason("{\"kind\":\"python\",\"state\":\"cpu\",\"torch\":\"2.9.0+cpu\",\"executable\":\"/bin/py\"}", "", 2,
                "2.9.0+cpu of /bin/py is built without CUDA");
  expect_reason("{\"kind\":\"python\",\"state\":\"rocm\",\"torch\":\"2.9.0+rocm6\"}", "", 2, "ROCm");
  expect_reason("{\"kind\":\"python\",\"state\":\"cuda\",\"torch\":\"2.15.0\"}", end, 0,
                "asked for no memory of a GPU");
  expect_reason("{\"kind\":\"python\",\"state\":\"cuda\",\"torch\":\"2.15.0\"}",
                "{\"kind\":\"end\",\"ended\":\"exception\",\"text\":\"ValueError: not enough boxes\"}", 1,
                "ValueError: not enough boxes");
  expect_reason("{\"kind\":\"python\",\"state\":\"cuda\",\"torch\":\"2.15.0\"}", "", 139, "signal 11");
  expect_reason("{\"kind\":\"python\",\"state\":\"cuda\",\"argv\":[\"a.py\",\"b\"]}",
                "{\"kind\":\"code\",\"architectures\":\"sm_80\"}", 0,
                "Process 7 (a.py b) used a GPU, and was ended before");
  expect_reason("", "", 0, "couldn't be recorded (the file of its rows is empty)");
  expect_reason("{\"kind\":\"python\",\"state\":\"no torch\",\"found\":true}", end, 2,
                "ended with status 2 before it imported torch");
  expect_reason(
      "{\"kind\":\"hidden\",\"text\":\"CUDA_VISIBLE_DEVICES=3\",\"count\":1}\n{\"kind\":\"python\",\"state\":\"cuda\"}",
      end, 0, "saw no GPU: CUDA_VISIBLE_DEVICES=3 leaves it none of those that there are (1, numbered");
  expect_reason("{\"kind\":\"python\",\"state\":\"cuda\",\"torch\":\"2.15.0\"}", end, 3, "status 3");
}

static void a_folder_without_a_run_is_refused(void **state) {
  wf_dry_options o = wf_dry_defaults();
  o.devices = &gib;
  o.device_count = 1;
  assert_null(wf_dry_read(folder, &o));
  assert_int_equal(wf_error_take().status, WF_VALUE);
  assert_null(wf_dry_read("/no/such/folder", &o));
  assert_int_equal(wf_error_take().status, WF_IO);
}

static void damaged_rows_are_passed_over_and_counted(void **state) {
  begin_process(7, 0);
  maker_alloc(&m, 60 * MIB, 0, TRAIN);
  row("sync", "cudaDeviceSynchronize", 0, 6, 2, 0);
  fprintf(events, "{\"kind\":\"sync\",\"what\":\"cuda\n{\"kind\":\"nonsense\",\"count\":[1,{\"a\":2}]}\n");
  row("sync", "cudaDeviceSynchronize", 0, 6, 3, 0);
  fprintf(events, "{\"kind\":\"sync\",\"what\":");
  end_process(7, "exit", "", 0);
  wf_dry_run *run = read_run(&gib, 1, 0);
  assert_true(run->damaged > 0);
  assert_true(run->counts.syncs >= 2);
  wf_dry_free(run);
}

static void check_width(const char *text) {
  for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
    size_t n = 0;
    for (const char *c = line; *c && *c != '\n'; c++) n += (*c & 0xc0) != 0x80;
    if (n > 80) print_error("%zu columns: %.*s\n", n, (int)strcspn(line, "\n"), line);
    assert_true(n <= 80);
  }
}

static void the_report_is_eighty_columns_wide(void **state) {
  static const wf_dry_device devices[] = {{"1GiB", 1 << 30, 64 << 20, 8, 0}, {"123.456MiB", 123 << 20, 64 << 20, 9, 0}};
  char page[128];
  begin_process(7, 0);
  wf_block *weight = maker_alloc(&m, 4 * MIB, 0, TRAIN);
  for (int i = 1; i <= 3; i++) train_one_step(i, weight, true);
  maker_alloc(&m, 60 * MIB, 0, MODEL);
  put_training_rows();
  row("copy", "Memcpy HtoD (Pageable -> Device) through a name that is longer than any line has room for", 3, 123456, 7,
      1 << 30);
  fprintf(
      events,
      "{\"kind\":\"limit\",\"what\":\"cusolverDnXsyevBatched_bufferSize\",\"text\":\"a grüne Wiese of words that goes on\",\"count\":3}\n");
  fprintf(
      events,
      "{\"kind\":\"read\",\"file\":\"/u/me/with a very long path/and another folder/of/train_the_model.py\",\"line\":12,"
      "\"function\":\"a_function_with_a_long_name_that_says_it_all\",\"count\":2,\"bytes\":8}\n");
  end_process(7, "steps", "", 6);
  wf_dry_run *run = read_run(devices, 2, 0);
  char *text = wf_dry_text(run, 80), *json = wf_dry_json(run, 0);
  assert_non_null(text);
  assert_non_null(json);
  check_width(text);
  assert_non_null(strstr(text, "grüne Wiese"));
  snprintf(page, sizeof page, "%s/page.html", folder);
  assert_ok(wf_dry_write_html(run, page));
  assert_int_equal(access(page, R_OK), 0);
  wf_report_release(text);
  wf_report_release(json);
  wf_dry_free(run);
}

/* As the command leaves it that started the program. */
static void put_launch(void) {
  char path[128];
  snprintf(path, sizeof path, "%s/launch.jsonl", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "{\"kind\":\"command\",\"text\":\"python 'my file.py'\"}\n");
  for (int i = 0; i < 2; i++)
    fprintf(file,
            "{\"kind\":\"asked\",\"name\":\"%dMiB\\u001b\",\"memory\":%d,\"context\":%d,\"major\":8,\"minor\":0}\n",
            200 - 100 * i, (200 - 100 * i) << 20, 10 << 20);
  fprintf(file, "{\"kind\":\"status\",\"count\":0}\n");
  fclose(file);
}

static void what_was_asked_when_it_ran_is_asked_again(void **state) {
  wf_dry_options o = wf_dry_defaults();
  char text[1024];
  put_launch();
  begin_process(7, 0);
  maker_alloc(&m, 120 * MIB, 0, TRAIN);
  end_process(7, "exit", "", 0);
  wf_dry_run *run = wf_dry_read(folder, &o);
  assert_int_equal(run->options.device_count, 2);
  assert_string_equal(run->devices[1].name, "100MiB?"); /* as terminals show it */
  assert_int_equal(run->answers[0].room, 190 * MIB);
  assert_int_equal(run->answers[1].fit, WF__DRY_FITS_NOT);
  assert_int_equal(run->options.exit_status, 0);
  assert_string_equal(wf__dry_command(run), "python 'my file.py'");
  wf_dry_free(run);
  o.context_bytes = 50 << 20;
  o.exit_status = 3;
  run = wf_dry_read(folder, &o);
  assert_int_equal(run->answers[0].room, 150 * MIB);
  assert_non_null(strstr(wf__dry_why_not(run, text), "status 3"));
  wf_dry_free(run);
  o.devices = (const wf_dry_device[]){
      {"300MiB", 300 << 20, -1, 0, 0}}; /* what the driver takes as on the one that it ran as: 64 MiB */
  o.device_count = 1;
  o.context_bytes = -1;
  run = wf_dry_read(folder, &o);
  assert_int_equal(run->answers[0].room, 236 * MIB);
  wf_dry_free(run);
}

static void no_memory_is_an_error_and_leaks_nothing(void **state) {
  wf_dry_options o = wf_dry_defaults();
  o.search = false;
  put_launch(); /* whose devices count where none are named */
  begin_process(7, 0);
  wf_block *weight = maker_alloc(&m, 4 * MIB, 0, TRAIN);
  train_one_step(1, weight, true);
  put_training_rows();
  end_process(7, "steps", "", 1);
  wf__fault_at(INT64_MAX);
  wf_dry_free(wf_dry_read(folder, &o));
  int64_t all = wf__fault_count();
  assert_true(all > 20);
  for (int64_t k = 1; k <= all; k += all / 200 + 1) {
    wf__fault_at(k);
    wf_dry_run *run = wf_dry_read(folder, &o);
    wf__fault_at(0);
    if (run) print_error("allocation %lld of %lld\n", (long long)k, (long long)all);
    assert_null(run);
    assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
  }
}

static const struct CMUnitTest tests[] = {
    DRY_TEST(the_peak_is_divided_by_whose_it_is),
    DRY_TEST(each_device_gets_an_answer_of_its_own),
    DRY_TEST(other_devices_than_it_ran_as_are_judged_by_its_history),
    DRY_TEST(running_out_of_memory_is_an_answer),
    DRY_TEST(one_that_was_caught_is_one_all_the_same),
    DRY_TEST(processes_that_share_a_device_share_its_memory),
    DRY_TEST(a_run_is_judged_if_all_its_processes_are),
    DRY_TEST(processes_with_a_device_each_share_nothing),
    DRY_TEST(a_second_run_gives_the_other_end_of_the_bracket),
    DRY_TEST(bounds_are_kept_or_broken),
    DRY_TEST(memory_beside_the_allocator_counts),
    DRY_TEST(an_exception_after_values_were_read_says_so),
    DRY_TEST(what_cant_be_judged_says_why),
    DRY_TEST(a_folder_without_a_run_is_refused),
    DRY_TEST(damaged_rows_are_passed_over_and_counted),
    DRY_TEST(the_report_is_eighty_columns_wide),
    DRY_TEST(what_was_asked_when_it_ran_is_asked_again),
    DRY_TEST(no_memory_is_an_error_and_leaks_nothing),
};

WF_TEST_MAIN("audit/dry_judge", tests)
