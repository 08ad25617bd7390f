/* Each rule of the audit on a trace that has what it looks for, and on a twin that was corrected: the one finding, and silence. Every
 * trace has four steps of 1000 us; times and counts are those that the trace was made with. */
#include "trace_maker.h"

#define STEPS 4
#define STEP 1000.0

typedef struct row {
  const char *name;
  void (*step)(double at, int number, bool bad); /* the events of one step */
  const char *rule, *title;
  double per_step;  /* occurrences */
  double us;        /* time a step */
  int64_t bytes;    /* of all steps; -1: not known */
  const char *line; /* "": the trace has no stacks */
} row;

static const char view[] = "[2,4,16,16]", dense[] = "[1024,256,16,1]", strided[] = "[3072,16,192,1]";

/* A device that is busy all the time. */
static void busy(double at) { maker_kernel(at + 1, at + 3, STEP); }

/* `by` > clone > copy_ of a strided tensor to a dense one. */
static void cloned(double at, const char *by, const char *dtype) {
  maker_op(by, at + 105, 50);
  maker_op("aten::clone", at + 106, 48);
  maker_copy(at + 115, 35, view, dense, strided, dtype, dtype);
}

/* to > _to_copy > copy_ */
static void converted(double at, const char *to, const char *from) {
  maker_op("aten::to", at + 100, 40);
  maker_op("aten::_to_copy", at + 101, 38);
  maker_copy(at + 105, 25, view, dense, dense, to, from);
}

static void hidden_copy(double at, int number, bool bad) {
  maker_python("train.py(10): forward", "train.py:30", at + 90, 300);
  maker_python("<built-in method conv2d of type object>", "train.py:12", at + 95, 200);
  maker_op("aten::conv2d", at + 100, 150);
  if (!bad) return;
  cloned(at, "aten::contiguous", "float");
  maker_op("aten::empty_like", at + 107, 5);
}

static void matmul_copy(double at, int number, bool bad) {
  maker_op("aten::matmul", at + 100, 150);
  if (!bad) return;
  cloned(at, "aten::reshape", "c10::Half");
}

static void layout_copy(double at, int number, bool bad) {
  maker_python("train.py(10): forward", "train.py:30", at + 90, 300);
  maker_python("<built-in method contiguous of Tensor object at 0x0>", "train.py:14", at + 100, 60);
  if (!bad) return; /* it was contiguous already: the call leaves no operator */
  cloned(at, "aten::contiguous", "float");
}

static void broadcast_copy(double at, int number, bool bad) {
  maker_op("aten::linear", at + 100, 100);
  maker_op(bad ? "aten::addmm" : "aten::mm", at + 105, 90);
  if (bad) maker_copy(at + 110, 20, "[32,192]", "[192,1]", "[0,1]", "float", "float");
}

static void duplicate(double at, int number, bool bad) {
  maker_op("aten::relu", at + 50, 20);
  if (!bad) return;
  maker_op("aten::clone", at + 100, 40);
  maker_copy(at + 110, 25, view, dense, dense, "float", "float");
}

static void conversion(double at, int number, bool bad) {
  maker_op("aten::relu", at + 50, 20);
  if (bad) converted(at, "float", "unsigned char");
}

static void widening(double at, int number, bool bad) {
  maker_op("aten::add", at + 95, 60);
  if (bad) converted(at, "double", "float");
}

static void autocast(double at, int number, bool bad) {
  maker_op("aten::linear", at + 95, 60);
  if (bad) converted(at, "c10::BFloat16", "float");
}

static void plain_copy(double at, int number, bool bad) {
  maker_op("aten::relu", at + 50, 20);
  maker_copy(at + 100, bad ? 50 : 5, view, dense, dense, "float", "float"); /* 0.5 % of the time is no matter */
}

static void scalar_copies(double at, int number, bool bad) {
  if (bad) maker_op("aten::clone", at + 20, 40);
  if (bad) maker_copy(at + 25, 30, view, dense, dense, "float", "float");
  maker_op("aten::div", at + 100, 400);
  maker_op("aten::to", at + 101, 300);
  maker_op("aten::_to_copy", at + 102, 298);
  maker_copy(at + 110, 250, "[]", "[]", "[]", "float", "double");
}

static void device_layout_copy(double at, int number, bool bad) {
  busy(at);
  if (!bad) return;
  maker_op("aten::bmm", at + 100, 100);
  cloned(at, "aten::contiguous", "float");
  maker_launch("cudaLaunchKernel", at + 120, 5, "kernel", "direct_copy_kernel_cuda<float>", 7, at + 200, 70, -1);
}

static void device_copy(double at, int number, bool bad) {
  busy(at);
  maker_op("aten::cat", at + 100, 50);
  maker_launch("cudaMemcpyAsync", at + 110, 5, "gpu_memcpy", "Memcpy DtoD (Device -> Device)", 7, at + 200,
               bad ? 50 : 1, 1 << 20);
}

/* to > _to_copy > copy_ > cudaMemcpyAsync, and its transfer. */
static void moved(double at, const char *name, int stream, double dur, int64_t bytes) {
  maker_op("aten::to", at, 40);
  maker_op("aten::_to_copy", at + 1, 38);
  maker_copy(at + 2, 30, view, dense, dense, "float", "float");
  maker_launch("cudaMemcpyAsync", at + 3, 10, "gpu_memcpy", name, stream, at + 5, dur, bytes);
}

static void pageable_upload(double at, int number, bool bad) {
  busy(at);
  moved(at + 100, bad ? "Memcpy HtoD (Pageable -> Device)" : "Memcpy HtoD (Pinned -> Device)", 20, 80, 1 << 20);
}

static void pageable_download(double at, int number, bool bad) {
  busy(at);
  moved(at + 100, bad ? "Memcpy DtoH (Device -> Pageable)" : "Memcpy DtoH (Device -> Pinned)", 20, 80, 1 << 20);
}

static void small_transfers(double at, int number, bool bad) {
  busy(at);
  for (int i = 0; i < (bad ? 8 : 1); i++)
    moved(at + 100 + 50 * i, "Memcpy HtoD (Pinned -> Device)", 20, 2, 4096 + 512 * i);
}

static void transfer_loop(double at, int number, bool bad) {
  busy(at);
  for (int i = 0; i < (bad ? 6 : 1); i++) moved(at + 100 + 50 * i, "Memcpy HtoD (Pinned -> Device)", 20, 30, 1 << 20);
}

static void no_overlap(double at, int number, bool bad) {
  busy(at);
  moved(at + 100, "Memcpy HtoD (Pinned -> Device)", bad ? 7 : 20, 90, 1 << 24);
}

static void readback(double at, int number, bool bad) {
  busy(at);
  maker_python("train.py(10): step", "train.py:30", at + 90, 600);
  maker_python("<built-in method item of Tensor object at 0x0>", "train.py:21", at + 95, 400);
  if (!bad) return;
  maker_op("aten::item", at + 100, 380);
  maker_op("aten::_local_scalar_dense", at + 101, 378);
  maker_launch("cudaMemcpyAsync", at + 102, 8, "gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 7, at + 400, 2, 4);
  maker_call("cudaStreamSynchronize", at + 112, 340, 0);
}

static void explicit_sync(double at, int number, bool bad) {
  busy(at);
  if (bad) maker_call("cudaDeviceSynchronize", at + 112, 340, 0);
}

static void other_sync(double at, int number, bool bad) {
  busy(at);
  maker_op("mine::op", at + 100, 400);
  if (bad) maker_call("cudaEventSynchronize", at + 112, 340, 0);
}

/* Half of each step the device has nothing to do: no kernel is launched before the host is through. */
static void half_idle(double at, bool bad) {
  maker_kernel(at + 1, at + 3, bad ? 497 : 995);
  if (bad) maker_kernel(at + 960, at + 970, 30);
}

static void idle_in_python(double at, int number, bool bad) {
  half_idle(at, bad);
  if (bad) maker_python("train.py(44): log", "train.py:40", at + 500, 400);
}

static void idle_in_operator(double at, int number, bool bad) {
  half_idle(at, bad);
  if (bad) maker_op("aten::sort", at + 500, 400);
}

static void loader_wait(double at, int number, bool bad) {
  maker_annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at + 10, bad ? 300 : 5);
  maker_op("aten::relu", at + 500, 20);
}

static void steady_malloc(double at, int number, bool bad) {
  busy(at);
  maker_op("aten::empty", at + 100, 60);
  if (bad || number == 0) maker_call("cudaMalloc", at + 105, 50, 0);
}

static void steady_pinning(double at, int number, bool bad) {
  busy(at);
  maker_op("aten::pin_memory", at + 100, 60);
  if (bad || number == 0) maker_call("cudaHostAlloc", at + 105, 50, 0);
}

static const row rows[] = {
    {"hidden copy", hidden_copy, "hidden-copy", "aten::conv2d copies its input into another layout (aten::contiguous)",
     1, 50, 4 * 8192, "train.py:12"},
    {"copy of matmul", matmul_copy, "hidden-copy", "aten::matmul copies an operand", 1, 50, 4 * 4096, ""},
    {"contiguous", layout_copy, "layout-copy", "aten::contiguous copies a tensor that isn't contiguous", 1, 50,
     4 * 8192, "train.py:14"},
    {"bias", broadcast_copy, "broadcast-copy", "aten::addmm copies a broadcast operand", 1, 20, 4 * 32 * 192 * 4, ""},
    {"clone", duplicate, "clone", "clone() duplicates a tensor", 1, 40, 4 * 8192, ""},
    {"conversion", conversion, "dtype-copy", "a tensor is converted (unsigned char -> float)", 1, 40, 4 * 8192, ""},
    {"widening", widening, "dtype-copy", "aten::add widens a tensor to double (float -> double)", 1, 40, 4 * 16384, ""},
    {"autocast", autocast, "dtype-copy", "aten::linear casts its input for mixed precision", 1, 40, 4 * 4096, ""},
    {"copy_", plain_copy, "copy", "aten::copy_ copies a tensor as it is", 1, 50, 4 * 8192, ""},
    {"numbers of one element", scalar_copies, "clone", "clone() duplicates", 1, 40, 4 * 8192, ""},
    {"copy kernel", device_layout_copy, "hidden-copy", "aten::bmm copies an operand", 1, 70, 4 * 8192, ""},
    {"copy on the device", device_copy, "device-copy", "aten::cat copies on the device", 1, 50, 4 << 20, ""},
    {"pageable upload", pageable_upload, "pageable-transfer", "aten::to uploads from pageable memory", 1, 80, 4 << 20,
     ""},
    {"pageable download", pageable_download, "pageable-transfer", "aten::to downloads into pageable memory", 1, 80,
     4 << 20, ""},
    {"small transfers", small_transfers, "small-transfers", "aten::to moves pieces of less than 64 KiB", 8, 80,
     4 * (8 * 4096 + 512 * 28), ""},
    {"transfers in a loop", transfer_loop, "transfers-in-loop", "aten::to moves tensors one by one in a loop", 6, 180,
     24 << 20, ""},
    {"upload that could overlap", no_overlap, "no-overlap", "aten::to uploads on the stream that computes", 1, 90,
     4 << 24, ""},
    {"item", readback, "sync", "aten::item makes the host wait", 1, 348, -1, "train.py:21"},
    {"synchronize", explicit_sync, "sync", "cudaDeviceSynchronize is called by the program", 1, 340, -1, ""},
    {"operator that waits", other_sync, "sync", "mine::op calls cudaEventSynchronize", 1, 340, -1, ""},
    {"idle in Python", idle_in_python, "device-idle", "while the host is in Python", 1, 470, -1, "train.py:44"},
    {"idle in an operator", idle_in_operator, "device-idle", "while the host is in aten::sort", 1, 470, -1, ""},
    {"loader", loader_wait, "loader-wait", "the training waits for data", 1, 300, -1, ""},
    {"cudaMalloc", steady_malloc, "alloc-in-steady-state", "aten::empty calls cudaMalloc", 0.75, 37.5, -1, ""},
    {"pinning", steady_pinning, "alloc-in-steady-state", "aten::pin_memory pins memory", 0.75, 37.5, -1, ""},
};
#define ROWS (sizeof rows / sizeof *rows)

static wf_audit *make(const row *r, bool bad) {
  maker_begin();
  for (int i = 0; i < STEPS; i++) {
    char name[32];
    snprintf(name, sizeof name, "ProfilerStep#%d", i);
    maker_annotation(name, i * STEP, STEP);
    r->step(i * STEP, i, bad);
  }
  wf_audit *audit = maker_audit();
  assert_non_null(audit);
  return audit;
}

/* What is found of one kind; the number of findings of other rules to `others`. */
static const wf_finding *find(const wf_audit *audit, const char *rule, const char *title, int *others) {
  const wf_finding *all, *found = NULL;
  int64_t n = wf_audit_findings(audit, &all);
  *others = 0;
  for (int64_t i = 0; i < n; i++) {
    if (!found && !strcmp(all[i].rule, rule) && strstr(all[i].title, title)) found = &all[i];
    else {
      print_message("also [%s] %s\n", all[i].rule, all[i].title);
      ++*others;
    }
  }
  return found;
}

static void near(double got, double expected) {
  if (got < expected * 0.999 - 1e-9 || got > expected * 1.001 + 1e-9) fail_msg("came %g, expected %g", got, expected);
}

static void each_rule_finds_what_it_looks_for_and_nothing_else(void **state) {
  for (size_t i = 0; i < ROWS; i++) {
    const row *r = &rows[i];
    int others;
    wf_audit *audit = make(r, true);
    const wf_finding *f = find(audit, r->rule, r->title, &others);
    if (!f) fail_msg("%s: not found", r->name);
    if (others) fail_msg("%s: %d findings more", r->name, others);
    near(f->per_step, r->per_step);
    near((double)f->steady_ns / 1e3 / STEPS, r->us);
    near(f->share, r->us / STEP);
    assert_int_equal(f->bytes, r->bytes);
    assert_string_equal(f->line, r->line);
    assert_true(strlen(f->remedy) > 20);
    wf_audit_free(audit);
  }
}

static void each_corrected_twin_is_silent(void **state) {
  for (size_t i = 0; i < ROWS; i++) {
    int others;
    wf_audit *audit = make(&rows[i], false);
    find(audit, "", "", &others);
    if (others) fail_msg("%s, corrected: %d findings", rows[i].name, others);
    wf_audit_free(audit);
  }
}

/* ---- several rules at once ---------------------------------------------------------------------------------------- */

static void idle_while_loading(double at, int number, bool bad) {
  half_idle(at, bad);
  maker_annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 510, bad ? 400 : 4);
}

static void a_device_that_waits_for_the_loader_is_told_of_with_it(void **state) {
  const row r = {.name = "idle while loading", .step = idle_while_loading};
  int others;
  wf_audit *audit = make(&r, true);
  assert_non_null(find(audit, "device-idle", "while the host waits for the loader", &others));
  assert_non_null(find(audit, "loader-wait", "_SingleProcessDataLoaderIter", &others));
  assert_int_equal(others, 1);
  wf_audit_free(audit);
  audit = make(&r, false);
  find(audit, "", "", &others);
  assert_int_equal(others, 0);
  wf_audit_free(audit);
}

static void queued_work(double at, int number, bool bad) {
  maker_kernel(at + 1, at + 3, 497);
  maker_kernel(at + 5, at + 970, 30);
  maker_op("aten::sort", at + 500, 400);
}

static void a_gap_before_work_that_was_launched_in_time_is_not_the_hosts(void **state) {
  const row r = {.name = "queued", .step = queued_work};
  int others;
  wf_audit *audit = make(&r, true);
  find(audit, "", "", &others);
  assert_int_equal(others, 0);
  wf_audit_free(audit);
}

static void unlaunched_work(double at, int number, bool bad) {
  maker_device("kernel", "gemm", 7, at, 500, 0, -1);
  maker_op("aten::sort", at + 450, 500);
}

static void who_launched_need_not_be_known(void **state) {
  const row r = {.name = "no calls", .step = unlaunched_work};
  int others;
  wf_audit *audit = make(&r, true);
  const wf_finding *f = find(audit, "device-idle", "while the host is in aten::sort", &others);
  assert_non_null(f);
  near((double)f->steady_ns / 1e3, 3 * 500); /* the last has nothing behind it */
  assert_int_equal(others, 0);
  wf_audit_free(audit);
}

static void idle_in_free(double at, int number, bool bad) {
  half_idle(at, bad);
  if (bad) maker_call("cudaFree", at + 510, 440, 0);
}

static void a_device_that_waits_for_the_driver_is_told_of_with_it(void **state) {
  const row r = {.name = "idle in cudaFree", .step = idle_in_free};
  int others;
  wf_audit *audit = make(&r, true);
  const wf_finding *f = find(audit, "device-idle", "while the host calls cudaFree", &others);
  assert_non_null(f);
  near((double)f->steady_ns / 1e3 / STEPS, 470);
  assert_non_null(find(audit, "alloc-in-steady-state", "cudaFree is called", &others));
  assert_int_equal(others, 1);
  wf_audit_free(audit);
}

static void idle_after_wait(double at, int number, bool bad) {
  maker_kernel(at + 1, at + 3, bad ? 497 : 995);
  if (!bad) return;
  maker_op("aten::nonzero", at + 300, 210);
  maker_call("cudaStreamSynchronize", at + 310, 195, 0); /* ends with the kernel */
  maker_kernel(at + 960, at + 970, 30);
}

static void a_device_that_ran_dry_after_a_wait_is_told_of_with_it(void **state) {
  const row r = {.name = "idle after a wait", .step = idle_after_wait};
  int others;
  wf_audit *audit = make(&r, true);
  const wf_finding *f = find(audit, "device-idle", "after aten::nonzero made the host wait", &others);
  assert_non_null(f);
  near((double)f->steady_ns / 1e3 / STEPS, 470);
  f = find(audit, "sync", "aten::nonzero makes the host wait", &others);
  assert_non_null(f);
  near((double)f->steady_ns / 1e3 / STEPS, 195);
  assert_int_equal(others, 1);
  wf_audit_free(audit);
  audit = make(&r, false);
  find(audit, "", "", &others);
  assert_int_equal(others, 0);
  wf_audit_free(audit);
}

static void waiting_upload(double at, int number, bool bad) {
  busy(at);
  moved(at + 100, bad ? "Memcpy HtoD (Pageable -> Device)" : "Memcpy HtoD (Pinned -> Device)", 20, 20, 1 << 20);
  if (bad) maker_call("cudaStreamSynchronize", at + 114, 15, 0); /* inside of copy_ */
}

static void waiting_download(double at, int number, bool bad) {
  busy(at);
  moved(at + 100, bad ? "Memcpy DtoH (Device -> Pageable)" : "Memcpy DtoH (Device -> Pinned)", 20, 20, 1 << 20);
  if (bad) maker_call("cudaStreamSynchronize", at + 114, 15, 0);
}

static void transfers_that_wait_are_found_as_both(void **state) {
  const struct {
    row r;
    const char *title;
    double us; /* the download waits in its own call as well */
  } cases[] = {{{.step = waiting_upload}, "aten::to waits for its upload", 15},
               {{.step = waiting_download}, "aten::to fetches a tensor and waits", 25}};
  for (int i = 0; i < 2; i++) {
    int others;
    wf_audit *audit = make(&cases[i].r, true);
    const wf_finding *f = find(audit, "sync", cases[i].title, &others);
    assert_non_null(f);
    assert_int_equal(others, 1);
    near((double)f->steady_ns / 1e3 / STEPS, cases[i].us);
    assert_non_null(find(audit, "pageable-transfer", "", &others));
    wf_audit_free(audit);
    audit = make(&cases[i].r, false);
    find(audit, "", "", &others);
    assert_int_equal(others, 0);
    wf_audit_free(audit);
  }
}

/* ROCm calls the memory "Host" whatever it is; pageable memory gets a blocking call, which is the wait as well. */
static void rocm_step(double at, int number, bool bad) {
  maker_launch("hipLaunchKernel", at + 1, 2, "kernel", "Cijk_Ailk_Bljk", 0, at + 3, STEP, -1);
  maker_op("aten::to", at + 100, 90);
  maker_copy(at + 102, 80, view, dense, dense, "float", "float");
  maker_launch(bad ? "hipMemcpyWithStream" : "hipMemcpyAsync", at + 103, 60, "gpu_memcpy",
               "Memcpy HtoD (Host -> Device)", 1, at + 105, 50, 1 << 20);
  if (!bad) return;
  maker_op("aten::item", at + 300, 100);
  maker_op("aten::_local_scalar_dense", at + 301, 98);
  maker_launch("hipMemcpyWithStream", at + 303, 90, "gpu_memcpy", "Memcpy DtoH (Device -> Host)", 0, at + 390, 2, 4);
}

static void traces_of_rocm_are_read_alike(void **state) {
  const row r = {.name = "ROCm", .step = rocm_step};
  int others;
  wf_audit *audit = make(&r, true);
  const wf_finding *f = find(audit, "pageable-transfer", "aten::to uploads from pageable memory", &others);
  assert_non_null(f);
  assert_int_equal(f->bytes, 4 << 20);
  assert_int_equal(others, 2);
  f = find(audit, "sync", "aten::to waits for its upload", &others);
  assert_non_null(f);
  near((double)f->steady_ns / 1e3 / STEPS, 60);
  f = find(audit, "sync", "aten::item makes the host wait", &others);
  assert_non_null(f);
  near((double)f->steady_ns / 1e3 / STEPS, 90);
  char *json = wf_audit_json(audit, 0);
  assert_non_null(strstr(json, "\"kind\":\"rocm\""));
  wf_report_release(json);
  wf_audit_free(audit);
  audit = make(&r, false);
  find(audit, "", "", &others);
  assert_int_equal(others, 0);
  wf_audit_free(audit);
}

static void what_costs_most_comes_first(void **state) {
  maker_begin();
  for (int i = 0; i < STEPS; i++) {
    char name[32];
    snprintf(name, sizeof name, "ProfilerStep#%d", i);
    maker_annotation(name, i * STEP, STEP);
    hidden_copy(i * STEP, i, true);
    maker_op("aten::clone", i * STEP + 600, 200);
    maker_copy(i * STEP + 610, 180, view, dense, dense, "float", "float");
  }
  wf_audit *audit = maker_audit();
  const wf_finding *all;
  assert_int_equal(wf_audit_findings(audit, &all), 2);
  assert_string_equal(all[0].rule, "clone");
  assert_string_equal(all[1].rule, "hidden-copy");
  near(all[0].share, 0.2);
  wf_audit_free(audit);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_rule_finds_what_it_looks_for_and_nothing_else),
      cmocka_unit_test(each_corrected_twin_is_silent),
      cmocka_unit_test(a_device_that_waits_for_the_loader_is_told_of_with_it),
      cmocka_unit_test(a_gap_before_work_that_was_launched_in_time_is_not_the_hosts),
      cmocka_unit_test(who_launched_need_not_be_known),
      cmocka_unit_test(a_device_that_waits_for_the_driver_is_told_of_with_it),
      cmocka_unit_test(a_device_that_ran_dry_after_a_wait_is_told_of_with_it),
      cmocka_unit_test(transfers_that_wait_are_found_as_both),
      cmocka_unit_test(traces_of_rocm_are_read_alike),
      cmocka_unit_test(what_costs_most_comes_first),
  };
  return cmocka_run_group_tests_name("audit/rules", tests, NULL, NULL);
}
