/* The stand-in driver under many threads at once, which share what can be shared: at the end every count is what it is by arithmetic. ThreadSanitizer
 * watches it as well. */
#define _GNU_SOURCE
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "dryrun/cuda_runtime_calls.h"
#include "dryrun/dry_program.h"
#include "test.h"

/* Of cuBLAS and of the stand-in itself, as far as they are used. */
int cublasCreate_v2(void **handle);
int cublasSgemm_v2(void *handle, int, int, int, int, int, const float *, const float *, int, const float *, int,
                   const float *, float *, int);
void weft_dry_step(void);

enum { THREADS = 8, ROUNDS = 150, KERNELS = 10, PAGE = 2 << 20, SMALL = 512, HTOD = 1, DTOH = 2, NOT_READY = 600 };

static struct {
  void *stream[2], *event[2]; /* of each device, used by all of its threads */
  char kernel[THREADS][KERNELS], shared_kernel;
} common;
static pthread_barrier_t begin;
static atomic_int wrong;

static void must(bool holds) {
  if (!holds) atomic_fetch_add(&wrong, 1);
}

static void register_kernel(const char *host, const char *name) {
  static int image;
  char copy[32];
  snprintf(copy, sizeof copy, "%s", name);
  __cudaRegisterFunction(__cudaRegisterFatBinary(&image), host, NULL, strdup(copy));
}

static void launch(const void *function, void *stream) {
  must(!cudaLaunchKernel(function, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, stream));
}

/* Memory of both kinds, copies either way. */
static void move(void *stream, int round) {
  void *a, *b, *pinned;
  char bytes[100] = "from the host", back[100] = "";
  struct {
    int type, device;
    void *on_device, *on_host;
  } attributes;
  must(!cudaMalloc(&a, (size_t)(1 + round % 5) * PAGE));
  must(!cudaMalloc(&b, SMALL));
  must(!cudaHostAlloc(&pinned, 4096, 0));
  must(!cudaPointerGetAttributes(&attributes, a) && attributes.type == 2 && attributes.on_device == a);
  must(!cudaMemcpy(a, bytes, sizeof bytes, HTOD));
  must(!cudaMemcpyAsync(b, pinned, 30, HTOD, stream));
  must(!cudaMemcpy(back, a, sizeof back, DTOH));
  must(!memcmp(back, bytes, sizeof back) ||
       !memcmp(back, (char[100]){0}, sizeof back)); /* another thread's kernel ran */
  must(!cudaMemsetAsync(a, 0, PAGE, stream));
  must(!cudaFreeHost(pinned));
  must(!cudaFree(b));
  must(!cudaFree(a));
}

/* Two launches into a graph that is launched twice. */
static void capture(void *stream) {
  void *graph, *exec;
  must(!cudaStreamBeginCapture(stream, 0));
  launch(&common.shared_kernel, stream);
  launch(&common.shared_kernel, stream);
  must(!cudaStreamEndCapture(stream, &graph));
  must(!cudaGraphInstantiate(&exec, graph, 0));
  must(!cudaGraphLaunch(exec, stream));
  must(!cudaGraphLaunch(exec, stream));
  must(!cudaGraphDestroy(graph));
  must(!cudaGraphExecDestroy(exec));
}

static void wait_for_one_another(void *stream, int device) {
  void *event;
  must(!cudaEventCreate(&event));
  must(!cudaEventRecord(event, stream));
  must(!cudaStreamWaitEvent(common.stream[device], event, 0));
  must(!cudaEventRecord(common.event[device], common.stream[device]));
  must(!cudaStreamWaitEvent(stream, common.event[device], 0));
  int code = cudaEventQuery(event);
  must(!code || code == NOT_READY);
  must(!cudaStreamSynchronize(stream));
  must(!cudaEventQuery(event));
  must(!cudaEventDestroy(event));
}

static void *work(void *argument) {
  int number = (int)(intptr_t)argument, device = number % 2;
  void *handle = NULL, *stream;
  pthread_barrier_wait(&begin);
  must(!cudaSetDevice(device));
  must(!cublasCreate_v2(&handle) && handle);
  for (int i = 0; i < KERNELS; i++) {
    char name[32];
    snprintf(name, sizeof name, "kernel_%d_%d", number, i);
    register_kernel(&common.kernel[number][i], name);
  }
  for (int round = 0; round < ROUNDS; round++) {
    must(!cudaStreamCreate(&stream));
    move(stream, round);
    launch(&common.kernel[number][round % KERNELS], stream);
    launch(&common.shared_kernel, common.stream[device]);
    capture(stream);
    wait_for_one_another(stream, device);
    must(!cublasSgemm_v2(handle, 0, 0, 1, 1, 1, NULL, NULL, 1, NULL, 1, NULL, NULL, 1));
    must(!cudaStreamDestroy(stream));
  }
  return NULL;
}

/* Of all rows with that kind and name. */
static void expect(const json_t *rows, const char *kind, const char *what, int64_t count, int64_t bytes) {
  int64_t counted = 0, moved = 0;
  size_t i;
  json_t *r;
  json_array_foreach(rows, i, r) {
    if (strcmp(json_string_value(json_object_get(r, "kind")), kind)) continue;
    if (strcmp(json_string_value(json_object_get(r, "what")), what)) continue;
    counted += json_integer_value(json_object_get(r, "count"));
    moved += json_integer_value(json_object_get(r, "bytes"));
  }
  if (counted != count || moved != bytes)
    fail_msg("%s %s: %lld times, %lld bytes", kind, what, (long long)counted, (long long)moved);
}

static json_t *what_was_counted(void) {
  char path[512], line[8192];
  weft_dry_step(); /* writes it down */
  snprintf(path, sizeof path, "%s/events.%d.jsonl", getenv("WEFT_DRY_DIR"), (int)getpid());
  FILE *file = fopen(path, "r");
  json_t *rows = json_array();
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) json_array_append_new(rows, json_loads(line, 0, NULL));
  fclose(file);
  return rows;
}

static size_t left_on(int device) {
  size_t left, total;
  cudaSetDevice(device);
  cudaMemGetInfo(&left, &total);
  return left;
}

static void what_many_threads_do_is_all_counted_and_all_given_back(void **state) {
  enum { ALL = THREADS * ROUNDS };
  pthread_t threads[THREADS];
  size_t left[2];
  for (int device = 0; device < 2; device++) {
    left[device] = left_on(device);
    cudaStreamCreate(&common.stream[device]);
    cudaEventCreate(&common.event[device]);
  }
  register_kernel(&common.shared_kernel, "shared");
  pthread_barrier_init(&begin, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(atomic_load(&wrong), 0);
  for (int device = 0; device < 2; device++) assert_int_equal(left_on(device), left[device]);
  json_t *rows = what_was_counted();
  expect(rows, "malloc", "cudaMalloc", 2 * ALL,
         (int64_t)THREADS * (ROUNDS / 5) * (1 + 2 + 3 + 4 + 5) * PAGE + ALL * SMALL);
  expect(rows, "copy", "Memcpy HtoD (Pageable -> Device)", ALL, ALL * 100);
  expect(rows, "copy", "Memcpy HtoD (Pinned -> Device)", ALL, ALL * 30);
  expect(rows, "copy", "Memcpy DtoH (Device -> Pageable)", ALL, ALL * 100);
  expect(rows, "fill", "Memset (Device)", ALL, (int64_t)ALL * PAGE);
  expect(rows, "sync", "cudaStreamSynchronize", ALL, 0);
  expect(rows, "launch", "shared", ALL * (1 + 2 * 2), 0);
  for (int i = 0; i < THREADS * KERNELS; i++) {
    char name[32];
    snprintf(name, sizeof name, "kernel_%d_%d", i / KERNELS, i % KERNELS);
    expect(rows, "launch", name, ROUNDS / KERNELS, 0);
  }
  json_decref(rows);
}

int main(int count, char **arguments) {
  if (!getenv("WEFT_DRY_DIR")) restart(arguments);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_many_threads_do_is_all_counted_and_all_given_back),
  };
  int failed = cmocka_run_group_tests_name("dryrun threads", tests, NULL, NULL);
  remove_folder();
  return failed;
}
