/* What a program that runs dry leaves behind: the file of what happened, whether it ends by itself or by a signal, and what its children can do. Expected
 * values are what the programs here do, counted by hand. */
#define _GNU_SOURCE
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "dryrun/cuda_runtime_calls.h"
#include "dryrun/dry_program.h"
#include "test.h"

/* Of cuBLAS and of the stand-in itself, as far as they are used. */
void weft_dry_step(void);
int weft_dry_steps(void);
int cublasCreate_v2(void **handle);
int cublasSgemm_v2(void *handle, int, int, int, int, int, const float *, const float *, int, const float *, int,
                   const float *, float *, int);

#define MIB ((size_t)1 << 20)

enum { INITIALIZATION_ERROR = 3 }; /* cudaErrorInitializationError */

static char folder[256];

/* The row of the child's file with that kind and name, NULL: none. */
static json_t *row(json_t *rows, const char *kind, const char *what, int step) {
  size_t i;
  json_t *r;
  json_array_foreach(rows, i, r) {
    const char *k = json_string_value(json_object_get(r, "kind")), *w = json_string_value(json_object_get(r, "what"));
    if (!strcmp(k, kind) && (!what || (w && !strcmp(w, what))) &&
        (step < 0 || json_integer_value(json_object_get(r, "step")) == step))
      return r;
  }
  return NULL;
}

static json_t *run_child(const char *what, int *status) {
  char path[512], line[8192];
  pid_t child = fork();
  if (!child) execl("/proc/self/exe", "child", what, NULL);
  waitpid(child, status, 0);
  snprintf(path, sizeof path, "%s/events.%d.jsonl", folder, (int)child);
  struct stat found;
  FILE *file = !stat(path, &found) && S_ISREG(found.st_mode) ? fopen(path, "r") : NULL;
  json_t *rows = json_array();
  while (file && fgets(line, sizeof line, file)) {
    json_t *r = json_loads(line, 0, NULL);
    assert_non_null(r);
    json_array_append_new(rows, r);
  }
  if (file) fclose(file);
  unlink(path);
  return rows;
}

static void expect(json_t *rows, const char *kind, const char *what, int step, int64_t count, int64_t bytes) {
  json_t *r = row(rows, kind, what, step);
  if (!r) fail_msg("no row %s %s", kind, what);
  assert_int_equal(json_integer_value(json_object_get(r, "count")), count);
  assert_int_equal(json_integer_value(json_object_get(r, "bytes")), bytes);
}

static void what_happened_is_written_down_by_kind_and_step(void **state) {
  int status;
  json_t *rows = run_child("work", &status);
  assert_int_equal(status, 0);
  json_t *run = row(rows, "run", NULL, -1);
  assert_ptr_equal(run, json_array_get(rows, 0));
  assert_string_equal(json_string_value(json_object_get(run, "ended")), "exit");
  assert_int_equal(json_integer_value(json_object_get(run, "steps")), 1);
  expect(rows, "malloc", "cudaMalloc", 0, 2, 6 * (int64_t)MIB);
  expect(rows, "free", "cudaFree", 1, 1, 4 * (int64_t)MIB);
  expect(rows, "copy", "Memcpy HtoD (Pageable -> Device)", 0, 3, 300);
  expect(rows, "copy", "Memcpy HtoD (Pinned -> Device)", 0, 1, 100);
  expect(rows, "copy", "Memcpy DtoH (Device -> Pageable)", 1, 1, 50);
  expect(rows, "copy", "Memcpy DtoD (Device -> Device)", 1, 1, 60);
  expect(rows, "read", NULL, 1, 1, 50);
  expect(rows, "sync", "cudaDeviceSynchronize", 1, 1, 0);
  expect(rows, "launch", "my_kernel", 1, 3, 0); /* one by itself, two by launches of a graph */
  expect(rows, "limit", "cudaCtxResetPersistingL2Cache", 1, 1, 0);
  assert_true(json_is_true(json_object_get(row(rows, "copy", "Memcpy HtoD (Pageable -> Device)", 0), "blocking")));
  assert_true(json_is_false(json_object_get(row(rows, "copy", "Memcpy HtoD (Pinned -> Device)", 0), "blocking")));
  json_decref(rows);
}

static atomic_bool stop;
static void *allocate_all_the_time(void *unused) {
  struct {
    int type, device;
    void *on_device, *on_host;
  } attributes;
  while (!atomic_load(&stop)) {
    void *a, *stream;
    cudaMalloc(&a, 4 * MIB);
    cudaStreamCreate(&stream);
    cudaPointerGetAttributes(&attributes, a);
    cudaStreamDestroy(stream);
    cudaFree(a);
  }
  return NULL;
}

/* As a worker that loads data asks whether its memory is pinned. */
static void a_child_is_answered_whatever_other_threads_did_at_the_fork(void **state) {
  enum { FORKS = 200 };
  pthread_t thread;
  void *used;
  assert_int_equal(cudaStreamCreate(&used), 0);
  pthread_create(&thread, NULL, allocate_all_the_time, NULL);
  int answered = 0;
  for (int i = 0; i < FORKS; i++) {
    int status = 1;
    pid_t child = fork();
    if (!child) {
      void *stream;
      char attributes[64];
      alarm(10);
      bool right = !cudaPointerGetAttributes(attributes, &stream) && cudaStreamCreate(&stream) == INITIALIZATION_ERROR;
      _exit(right ? 0 : 1);
    }
    waitpid(child, &status, 0);
    answered += status == 0;
    if (status) break;
  }
  atomic_store(&stop, true);
  pthread_join(thread, NULL);
  assert_int_equal(answered, FORKS);
}

static void what_was_counted_is_there_after_exit_without_destructors(void **state) {
  int status;
  json_t *rows = run_child("leave", &status);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 7);
  assert_string_equal(json_string_value(json_object_get(row(rows, "run", NULL, -1), "ended")), "exit");
  expect(rows, "malloc", "cudaMalloc", 1, 1, 4 * (int64_t)MIB);
  expect(rows, "limit", "cublas", 1, 3,
         0); /* its kernels aren't known: three calls that launch some, none that prepares */
  json_decref(rows);
}

static void sizes_that_were_read_are_told_from_values(void **state) {
  int status;
  json_t *rows = run_child("select", &status);
  assert_int_equal(status, 0);
  expect(rows, "read", "device memory read as zeros", 0, 5, 4 + 64 + 4 + 1 + 4);
  expect(rows, "read", "size read as zero", 0, 1, 8);
  expect(rows, "read", "test read as true", 0, 1, 1);
  expect(rows, "limit", "sizes that depend on values", 0, 1, 0);
  json_decref(rows);
}

static void each_of_the_first_steps_is_there_after_a_kill(void **state) {
  int status;
  json_t *rows = run_child("kill", &status);
  assert_true(WIFSIGNALED(status));
  assert_string_equal(json_string_value(json_object_get(row(rows, "run", NULL, -1), "ended")), "running");
  for (int i = 0; i < 5; i++) expect(rows, "malloc", "cudaMalloc", i, 1, 2 * (int64_t)MIB);
  json_decref(rows);
}

static void a_child_in_its_parents_memory_writes_nothing(void **state) {
  int status;
  json_decref(run_child("share", &status));
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void the_exit_status_stays_even_if_writing_blocks(void **state) {
  int status;
  json_decref(run_child("late", &status));
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 9);
}

/* A pipe that nobody reads stands where the file of events belongs: opening it blocks. */
static void a_signal_ends_the_process_even_if_writing_blocks(void **state) {
  int status;
  json_decref(run_child("block", &status));
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGALRM);
}

/* The C++ library's demangler, found by name in the program: here it does what a library's constructors do in another thread while this one waits for the
 * loader. */
__attribute__((visibility("default"))) char *__cxa_demangle(const char *symbol, char *buffer, size_t *bytes,
                                                            int *status);
char *__cxa_demangle(const char *symbol, char *buffer, size_t *bytes, int *status) {
  static char function;
  __cudaRegisterFunction(__cudaRegisterFatBinary(NULL), &function, NULL, "_Zother");
  return strdup("shown");
}

static void names_are_made_while_others_register_kernels(void **state) {
  int status;
  json_t *rows = run_child("name", &status);
  assert_int_equal(status, 0);
  expect(rows, "launch", "shown", 0, 2, 0);
  json_decref(rows);
}

/* Two devices. What comes out is what the programming guide says of CUDA_VISIBLE_DEVICES, and PyTorch's own reading of it: a list ends at its first
 * entry that names none, one that names one twice is empty, numbers are read as strtoul does. */
static void the_program_sees_the_devices_that_are_named(void **state) {
  static const struct {
    const char *list;
    int count, first; /* as they are numbered on the machine */
  } cases[] = {
      {"0", 1, 0},
      {"1", 1, 1},
      {"1,0", 2, 1},
      {"0,1,2", 2, 0},
      {"0, 1", 2, 0},
      {"3", 0, 0},
      {"1,3,0", 1, 1},
      {"", 0, 0},
      {"-1", 0, 0},
      {"1,-1,0", 1, 1},
      {"0,0", 0, 0},
      {"none", 0, 0},
      {"1gpu,0x", 2, 1},
      {"0,,1", 1, 0},
      {"GPU-77656674-2064-7279-2072-756e202e2e01", 1, 1},
      {"GPU-77656674-2064-7279-2072-756e202e2e01,GPU-77656674-2064-7279-2072-756e202e2e00", 2, 1},
      {"GPU-77656674-2064-7279-2072-756e202e2e01,0", 1, 1},
      {"GPU-7765", 0, 0}, /* of which there are two */
      {"GPU-8865", 0, 0},
      {"GPU-", 0, 0},
      {"MIG-77656674", 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int status;
    setenv("CUDA_VISIBLE_DEVICES", cases[i].list, 1);
    json_decref(run_child("visible", &status));
    if (WEXITSTATUS(status) != cases[i].count * 16 + cases[i].first) print_error("\"%s\"\n", cases[i].list);
    assert_int_equal(WEXITSTATUS(status), cases[i].count * 16 + cases[i].first);
  }
  setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
  int status;
  json_t *rows = run_child("leave", &status);
  unsetenv("CUDA_VISIBLE_DEVICES");
  assert_string_equal(json_string_value(json_object_get(row(rows, "device", NULL, -1), "numbers")), "1,0");
  json_decref(rows);
}

/* A child of a process that did nothing with a GPU begins anew, with the devices that it chooses. */
static void a_forked_child_is_a_process_of_its_own(void **state) {
  int status;
  json_decref(run_child("fork", &status));
  assert_int_equal(status, 0);
}

/* Of one that did something, the real driver says "initialization error". */
static void a_child_of_one_that_used_a_gpu_can_use_none(void **state) {
  int status;
  json_decref(run_child("late fork", &status));
  assert_int_equal(status, 0);
  json_decref(run_child("fork after a question", &status));
  assert_int_equal(status, 0);
}

/* The device is a T4, 7.5. */
static void launches_without_code_say_what_there_is(void **state) {
  int status;
  json_t *rows = run_child("uncoded", &status);
  assert_int_equal(status, 0);
  expect(rows, "launch", "kernel", 0, 2, 0);
  expect(rows, "uncoded", "sm_86 sm_90 compute_90", 0, 2, 0);
  json_decref(rows);
}

__attribute__((unused)) static void a_host_that_touches_device_memory_is_told_so(void **state) {
  int status;
  json_t *rows = run_child("touch", &status);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGSEGV);
  assert_string_equal(json_string_value(json_object_get(row(rows, "run", NULL, -1), "ended")), "signal 11");
  assert_non_null(row(rows, "limit", "device memory touched by the host", -1));
  json_decref(rows);
}

static void child_works(void) {
  extern int cudaCtxResetPersistingL2Cache(void);
  char host[100] = {0}, function = 0;
  void *a, *b, *pinned, *stream, *graph, *exec;
  __cudaRegisterFunction(__cudaRegisterFatBinary(NULL), &function, NULL, "my_kernel");
  cudaMalloc(&a, 4 * MIB);
  cudaMalloc(&b, 2 * MIB);
  cudaHostAlloc(&pinned, 100, 0);
  cudaStreamCreate(&stream);
  for (int i = 0; i < 3; i++) cudaMemcpyAsync(a, host, 100, 1, stream);
  cudaMemcpyAsync(a, pinned, 100, 1, stream);
  weft_dry_step();
  cudaMemcpy(host, (char *)a + 4096, 50, 2);
  cudaMemcpy(b, a, 60, 3);
  cudaDeviceSynchronize();
  cudaLaunchKernel(&function, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, stream);
  cudaStreamBeginCapture(stream, 0);
  cudaLaunchKernel(&function, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, stream);
  cudaGraphLaunch(exec, stream);
  cudaFree(a);
  cudaCtxResetPersistingL2Cache();
}

/* Ends as Python's os._exit does, in the middle of its second step. */
static void child_leaves(void) {
  void *a, *handle;
  weft_dry_step();
  cudaMalloc(&a, 4 * MIB);
  cublasCreate_v2(&handle);
  for (int i = 0; i < 3; i++) cublasSgemm_v2(handle, 0, 0, 1, 1, 1, NULL, a, 1, a, 1, NULL, a, 1);
  _exit(7);
}

/* Killed where nothing can be written any more: what was counted until the last step's end is there. */
static void child_is_killed(void) {
  void *a;
  for (int i = 0; i < 5; i++) {
    cudaMalloc(&a, 2 * MIB);
    weft_dry_step();
  }
  raise(SIGKILL);
}

/* Its child ends in its memory, as Python's subprocess does where the program can't be started. */
static void child_shares_its_memory(void) {
  void *a;
  cudaMalloc(&a, 4 * MIB);
  pid_t child = vfork();
  if (!child) _exit(0);
  char path[512];
  snprintf(path, sizeof path, "%s/events.%d.jsonl", getenv("WEFT_DRY_DIR"), (int)child);
  int status = 0;
  waitpid(child, &status, 0);
  _exit(access(path, F_OK) ? 0 : 1);
}

static void child_blocks_and_leaves(void) {
  char path[512];
  void *a;
  cudaMalloc(&a, 4 * MIB);
  snprintf(path, sizeof path, "%s/events.%d.jsonl", getenv("WEFT_DRY_DIR"), (int)getpid());
  if (!mkfifo(path, 0600)) _exit(9);
}

static void child_blocks(void) {
  char path[512];
  void *a;
  cudaMalloc(&a, 4 * MIB);
  snprintf(path, sizeof path, "%s/events.%d.jsonl", getenv("WEFT_DRY_DIR"), (int)getpid());
  if (!mkfifo(path, 0600)) raise(SIGTERM);
}

/* A sum, one that counts what a mask selects, one of all(), one that ands element by element; after each something is read. */
static void child_selects(void) {
  char sum, selection, all, each, host[64];
  void *a;
  __cudaRegisterFunction(__cudaRegisterFatBinary(NULL), &sum, NULL, "_ZN2at6native13reduce_kernelE");
  __cudaRegisterFunction(__cudaRegisterFatBinary(NULL), &selection, NULL, "_ZN3cub23DeviceSelectSweepKernelE");
  __cudaRegisterFunction(__cudaRegisterFatBinary(NULL), &all, NULL, "_ZN2at6native15and_kernel_cudaE");
  __cudaRegisterFunction(__cudaRegisterFatBinary(NULL), &each, NULL, "_ZN2at6native23logical_and_kernel_cudaE");
  cudaMalloc(&a, 64);
  cudaLaunchKernel(&sum, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL);
  cudaMemcpy(host, a, 4, 2);
  cudaLaunchKernel(&selection, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL);
  cudaMemcpy(host, a, 8, 2);
  cudaMemcpy(host, a, 64, 2); /* no size */
  cudaLaunchKernel(&all, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL);
  cudaMemcpy(host, a, 1, 2);
  if (host[0] != 1) _exit(9);
  cudaMemcpy(host, a, 4, 2); /* several at a time */
  if (host[0] != 0) _exit(9);
  cudaLaunchKernel(&each, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL);
  cudaMemcpy(host, a, 1, 2);
  if (host[0] != 0) _exit(9);
  cudaLaunchKernel(&sum, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL);
  cudaMemcpy(host, a, 4, 2);
}

static void child_names(void) {
  static char function;
  alarm(20); /* if it waits for itself */
  __cudaRegisterFunction(__cudaRegisterFatBinary(NULL), &function, NULL, "_Zmine");
  for (int i = 0; i < 2; i++) cudaLaunchKernel(&function, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL);
}

/* A module as the compiler lays it out (fatbinary_section.h, fatbinary.h): builds of 4 bytes for 9.0, 8.6, 9.0 again and PTX of 9.0. */
static void child_has_no_code(void) {
  static const struct {
    uint16_t kind;
    uint32_t architecture;
  } builds[] = {{2, 90}, {2, 86}, {2, 90}, {1, 90}};
  static struct {
    uint32_t magic;
    uint16_t version, bytes;
    uint64_t entries_bytes;
    struct {
      uint16_t kind, version;
      uint32_t bytes;
      uint64_t code_bytes;
      uint32_t compressed_bytes, options;
      uint16_t minor, major;
      uint32_t architecture;
      uint64_t code;
    } builds[4];
  } file = {.magic = 0xba55ed50, .version = 1, .bytes = 16, .entries_bytes = sizeof file.builds};
  static struct {
    int magic, version;
    const void *data, *linked;
  } module = {0x466243b1, 1, &file, NULL};
  static char function;
  for (int i = 0; i < 4; i++) {
    file.builds[i].kind = builds[i].kind;
    file.builds[i].architecture = builds[i].architecture;
    file.builds[i].bytes = offsetof(__typeof__(file.builds[0]), code);
    file.builds[i].code_bytes = 8;
  }
  __cudaRegisterFunction(__cudaRegisterFatBinary(&module), &function, NULL, "kernel");
  for (int i = 0; i < 2; i++) cudaLaunchKernel(&function, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL);
}

static void child_sees(void) {
  char bus[32] = "";
  int count = 0, first = 1;
  bool none = cudaGetDeviceCount(&count) == 100; /* cudaErrorNoDevice */
  if (count) cudaDeviceGetPCIBusId(bus, sizeof bus, 0), sscanf(bus, "0000:%x", &first);
  _exit(none == !count ? count * 16 + first - 1 : 255);
}

/* What all calls that order work answer, with these or, if NULL, with some of its own; -1: not all the same. */
static int answer_of_order(void *stream, void *event) {
  bool own = !stream;
  int stream_made = own ? cudaStreamCreate(&stream) : 0, event_made = own ? cudaEventCreate(&event) : 0;
  int recorded = cudaEventRecord(event, stream);
  int all[] = {own ? stream_made : recorded, own ? event_made : recorded,   cudaEventSynchronize(event),
               cudaEventQuery(event),        cudaStreamSynchronize(stream), cudaStreamQuery(stream),
               cudaDeviceSynchronize()};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i] != recorded) return -1;
  return recorded;
}

/* Its child's rows say what the grandchild did. What there is of memory is a question that makes a context, too. */
static void child_forks(bool allocates, bool asks) {
  void *a = NULL, *b;
  size_t left, total;
  bool late = allocates || asks;
  char path[512], line[8192];
  int count = 0, status = 1;
  void *stream = NULL, *event = NULL;
  weft_dry_step();
  if (allocates) cudaMalloc(&a, 2 * MIB);
  if (allocates) cudaStreamCreate(&stream);
  if (allocates) cudaEventCreate(&event);
  if (asks) cudaMemGetInfo(&left, &total);
  pid_t child = fork();
  if (!child) {
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    int expected = late ? INITIALIZATION_ERROR : 0;
    bool right = cudaMalloc(&b, 4 * MIB) == expected && cudaMemset(late ? a : b, 0, 4) == expected;
    right &= cudaMemGetInfo(&left, &total) == expected && cudaHostAlloc(&b, 16, 0) == expected;
    right &= answer_of_order(stream, event) == expected && answer_of_order(NULL, NULL) == expected;
    right &= weft_dry_steps() == 0 && !cudaGetDeviceCount(&count) && count == (late ? 2 : 1);
    _exit(right ? 0 : 1);
  }
  waitpid(child, &status, 0);
  snprintf(path, sizeof path, "%s/events.%d.jsonl", getenv("WEFT_DRY_DIR"), (int)child);
  FILE *file = fopen(path, "r");
  bool said = false;
  while (file && fgets(line, sizeof line, file))
    said |= strstr(line, late ? "CUDA in a forked process"
                              : "\"malloc\",\"what\":\"cudaMalloc\",\"device\":0,\"step\":0") != NULL;
  if (file) fclose(file);
  unlink(path);
  _exit(status || !said);
}

static void child_touches(void) {
  volatile char *a;
  cudaMalloc((void **)&a, 4 * MIB);
  a[5] = 1;
}

int main(int count, char **arguments) {
  if (!getenv("WEFT_DRY_DIR")) restart(arguments);
  if (count > 1 || !strcmp(arguments[0], "child")) {
    if (!strcmp(arguments[count - 1], "work")) child_works();
    if (!strcmp(arguments[count - 1], "touch")) child_touches();
    if (!strcmp(arguments[count - 1], "select")) child_selects();
    if (!strcmp(arguments[count - 1], "block")) child_blocks();
    if (!strcmp(arguments[count - 1], "leave")) child_leaves();
    if (!strcmp(arguments[count - 1], "kill")) child_is_killed();
    if (!strcmp(arguments[count - 1], "share")) child_shares_its_memory();
    if (!strcmp(arguments[count - 1], "late")) child_blocks_and_leaves();
    if (!strcmp(arguments[count - 1], "name")) child_names();
    if (!strcmp(arguments[count - 1], "uncoded")) child_has_no_code();
    if (!strcmp(arguments[count - 1], "visible")) child_sees();
    if (!strcmp(arguments[count - 1], "fork")) child_forks(false, false);
    if (!strcmp(arguments[count - 1], "late fork")) child_forks(true, false);
    if (!strcmp(arguments[count - 1], "fork after a question")) child_forks(false, true);
    return 0;
  }
  snprintf(folder, sizeof folder, "%s", getenv("WEFT_DRY_DIR"));
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_happened_is_written_down_by_kind_and_step),
      cmocka_unit_test(sizes_that_were_read_are_told_from_values),
      cmocka_unit_test(a_child_is_answered_whatever_other_threads_did_at_the_fork),
      cmocka_unit_test(names_are_made_while_others_register_kernels),
      cmocka_unit_test(launches_without_code_say_what_there_is),
      cmocka_unit_test(the_program_sees_the_devices_that_are_named),
      cmocka_unit_test(a_forked_child_is_a_process_of_its_own),
      cmocka_unit_test(a_child_of_one_that_used_a_gpu_can_use_none),
      cmocka_unit_test(a_signal_ends_the_process_even_if_writing_blocks),
      cmocka_unit_test(what_was_counted_is_there_after_exit_without_destructors),
      cmocka_unit_test(each_of_the_first_steps_is_there_after_a_kill),
      cmocka_unit_test(a_child_in_its_parents_memory_writes_nothing),
      cmocka_unit_test(the_exit_status_stays_even_if_writing_blocks),
#ifndef __SANITIZE_ADDRESS__ /* whose own handler ends the process */
      cmocka_unit_test(a_host_that_touches_device_memory_is_told_so),
#endif
  };
  int failed = cmocka_run_group_tests_name("dryrun endings", tests, NULL, NULL);
  remove_folder();
  return failed;
}
