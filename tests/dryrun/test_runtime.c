/* The stand-in driver through the CUDA runtime's calls, as a C program would use them: memory, copies, streams, events, capture and graphs, errors.
 * Expected values are CUDA's documented behaviour and arithmetic. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "dryrun/cuda_runtime_calls.h"
#include "dryrun/dry_program.h"
#include "test.h"

/* The runtime's codes, as far as they are used. */
enum {
  OK = 0,
  INVALID_VALUE = 1,
  NO_MEMORY = 2,
  INVALID_DEVICE = 101,
  INVALID_HANDLE = 400,
  NOT_READY = 600,
  UNSUPPORTED_IN_CAPTURE = 900
};
int cublasCreate_v2(void **handle);
size_t weft_dry_known(const void *address, void *to, size_t bytes);
void weft_dry_put(const void *address, const void *data, size_t bytes);
long weft_dry_hold(int on);
int cusolverDnSgetrf_bufferSize(void *handle, int m, int n, float *a, int lda, int *work);

#define MIB ((size_t)1 << 20)
#define MEMORY 1073741824   /* WEFT_DRY_MEM of this program */
#define CONTEXT (300 * MIB) /* as set below, not the estimate of the GPU */

static size_t left_now(void) {
  size_t left, total;
  assert_int_equal(cudaMemGetInfo(&left, &total), OK);
  assert_int_equal(total, MEMORY);
  return left;
}

static void memory_is_the_device_s_less_the_context(void **state) { assert_int_equal(left_now(), MEMORY - CONTEXT); }

static void large_allocations_take_whole_pages_and_give_them_back(void **state) {
  void *a, *b;
  assert_int_equal(cudaMalloc(&a, 3 * MIB), OK);
  assert_int_equal(left_now(), MEMORY - CONTEXT - 4 * MIB);
  assert_int_equal(cudaMalloc(&b, 2 * MIB), OK);
  assert_int_equal(left_now(), MEMORY - CONTEXT - 6 * MIB);
  assert_int_equal((uintptr_t)a % (2 * MIB), 0);
  assert_true((char *)b >= (char *)a + 4 * MIB);
  assert_int_equal(cudaFree(a), OK);
  assert_int_equal(cudaFree(b), OK);
  assert_int_equal(left_now(), MEMORY - CONTEXT);
}

static void requests_just_below_a_mebibyte_are_given_back_as_they_were_taken(void **state) {
  void *a, *b;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(cudaMalloc(&a, MIB - 511), OK);
    assert_int_equal(cudaMalloc(&b, MIB - 1), OK);
    assert_int_equal(left_now(), MEMORY - CONTEXT - 2 * MIB); /* both in one page */
    assert_int_equal(cudaFree(a), OK);
    assert_int_equal(cudaFree(b), OK);
    assert_int_equal(left_now(), MEMORY - CONTEXT);
  }
}

static void peers_are_enabled_and_disabled_once(void **state) {
  enum { ALREADY = 704, NOT_ENABLED = 705 };
  assert_int_equal(cudaDeviceDisablePeerAccess(1), NOT_ENABLED);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(cudaDeviceEnablePeerAccess(1, 0), OK);
    assert_int_equal(cudaDeviceEnablePeerAccess(1, 0), ALREADY);
    assert_int_equal(cudaDeviceDisablePeerAccess(1), OK);
  }
  assert_int_equal(cudaDeviceEnablePeerAccess(0, 0), INVALID_DEVICE); /* itself */
  cudaGetLastError();
}

static void a_stream_and_a_pool_answer_for_their_own_device(void **state) {
  enum { RESERVED_NOW = 5 };
  void *stream, *pool, *own, *of_stream, *a;
  uint64_t used = 0;
  cudaSetDevice(1);
  cudaStreamCreate(&stream);
  cudaMalloc(&a, 4 * MIB);
  cuCtxGetCurrent(&own);
  cudaSetDevice(0);
  assert_int_equal(cuStreamGetCtx(stream, &of_stream), OK);
  assert_ptr_equal(of_stream, own);
  cudaDeviceGetDefaultMemPool(&pool, 1);
  cudaMemPoolGetAttribute(pool, RESERVED_NOW, &used);
  assert_int_equal(used, 4 * MIB);
  cudaFree(a);
  cudaStreamDestroy(stream);
}

static void the_lowest_gap_is_taken_again(void **state) {
  void *a, *b, *again;
  cudaMalloc(&a, 4 * MIB);
  cudaMalloc(&b, 4 * MIB);
  cudaFree(a);
  cudaMalloc(&again, 2 * MIB);
  assert_ptr_equal(again, a);
  cudaFree(again);
  cudaFree(b);
}

static void more_than_there_is_is_refused_and_takes_nothing(void **state) {
  void *a = &a;
  assert_int_equal(cudaMalloc(&a, (size_t)1 << 40), NO_MEMORY);
  assert_null(a);
  assert_int_equal(cudaMalloc(&a, SIZE_MAX), NO_MEMORY);
  assert_int_equal(cudaMalloc(&a, MEMORY - CONTEXT + 1), NO_MEMORY);
  assert_int_equal(cudaPeekAtLastError(), NO_MEMORY);
  assert_string_equal(cudaGetErrorName(cudaGetLastError()), "cudaErrorMemoryAllocation");
  assert_int_equal(cudaGetLastError(), OK);
  assert_int_equal(left_now(), MEMORY - CONTEXT);
  assert_int_equal(cudaMalloc(&a, MEMORY - CONTEXT), OK);
  assert_int_equal(left_now(), 0);
  cudaFree(a);
}

static void nothing_and_null_are_fine_and_strangers_are_refused(void **state) {
  void *a = &a;
  int here;
  assert_int_equal(cudaMalloc(&a, 0), OK);
  assert_null(a);
  assert_int_equal(cudaFree(NULL), OK);
  assert_int_equal(cudaFree(&here), INVALID_VALUE);
  assert_int_equal(cudaMalloc(NULL, 5), INVALID_VALUE);
  assert_int_equal(cudaSetDevice(2), INVALID_DEVICE);
  assert_int_equal(cudaSetDevice(-1), INVALID_DEVICE);
  assert_int_equal(cudaStreamSynchronize(&here), INVALID_HANDLE);
  assert_int_equal(cudaEventQuery(&here), INVALID_HANDLE);
  cudaGetLastError();
}

static void devices_have_memory_of_their_own(void **state) {
  int count, device;
  void *a;
  cudaGetDeviceCount(&count);
  assert_int_equal(count, 2);
  cudaSetDevice(1);
  cudaMalloc(&a, 10 * MIB);
  cudaSetDevice(0);
  assert_int_equal(left_now(), MEMORY - CONTEXT);
  cudaSetDevice(1);
  cudaGetDevice(&device);
  assert_int_equal(device, 1);
  assert_int_equal(left_now(), MEMORY - CONTEXT - 10 * MIB);
  struct {
    int type, device;
    void *on_device, *on_host;
  } attributes;
  assert_int_equal(cudaPointerGetAttributes(&attributes, (char *)a + 5), OK);
  assert_int_equal(attributes.type, 2);
  assert_int_equal(attributes.device, 1);
  cudaFree(a);
  cudaSetDevice(0);
}

static void the_host_reads_zeros_from_devices(void **state) {
  void *a;
  unsigned char host[64];
  memset(host, 7, sizeof host);
  cudaMalloc(&a, sizeof host);
  assert_int_equal(cudaMemcpy(a, host, sizeof host, 1), OK);
  assert_int_equal(cudaMemset(a, 3, sizeof host), OK);
  assert_int_equal(cudaMemcpy(host, a, 32, 2), OK);
  for (int i = 0; i < 64; i++) assert_int_equal(host[i], i < 32 ? 0 : 7);
  cudaFree(a);
}

static void what_was_just_uploaded_is_read_back_until_something_runs(void **state) {
  void *a, *b;
  int host[4] = {1, 2, 3, 4}, function = 0;
  cudaMalloc(&a, sizeof host);
  cudaMalloc(&b, sizeof host);
  cudaMemcpy(a, host, sizeof host, 1);
  cudaMemcpy(b, a, sizeof host, 3);
  cudaMemcpy(host, (int *)b + 1, 8, 2);
  assert_int_equal(host[0], 2);
  assert_int_equal(host[1], 3);
  weft_dry_hold(1); /* whoever launches vouches for what it writes */
  cudaLaunchKernel(&function, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, NULL);
  assert_int_equal(weft_dry_hold(0), 1);
  weft_dry_put((int *)b + 1, (int[]){7}, sizeof(int));
  weft_dry_put((int *)b + 2, NULL, sizeof(int));
  assert_int_equal(weft_dry_known(a, host, sizeof host), sizeof host);
  assert_int_equal(weft_dry_known((int *)b + 1, host, 8), 4); /* up to what isn't known */
  assert_int_equal(host[0], 7);
  cudaLaunchKernel(&function, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, NULL);
  assert_int_equal(weft_dry_known(a, host, sizeof host), 0);
  cudaMemcpy(host, b, 8, 2);
  assert_int_equal(host[0], 0);
  assert_int_equal(host[1], 0);
  cudaFree(a);
  cudaFree(b);
}

static void pinned_memory_is_real(void **state) {
  unsigned char *pinned, other[16] = {1, 2, 3};
  assert_int_equal(cudaHostAlloc((void **)&pinned, 16, 0), OK);
  assert_int_equal(cudaMemcpy(pinned, other, 16, 4), OK);
  assert_memory_equal(pinned, other, 16);
  assert_int_equal(cudaHostRegister(other, sizeof other, 0), OK);
  assert_int_not_equal(cudaHostRegister(other, sizeof other, 0), OK);
  assert_int_equal(cudaHostUnregister(other), OK);
  assert_int_not_equal(cudaHostUnregister(other), OK);
  assert_int_equal(cudaFreeHost(pinned), OK);
  cudaGetLastError();
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* As a watchdog's thread does, or a program that waits by itself: on a GPU the event would finish. */
static void who_does_nothing_but_ask_for_an_event_isn_t_kept_waiting_for_ever(void **state) {
  void *stream, *event, *a;
  cudaMalloc(&a, MIB);
  cudaStreamCreate(&stream);
  cudaEventCreate(&event);
  cudaEventRecord(event, stream);
  for (double began = seconds_now(); seconds_now() - began < 1.3;) { /* something else happens all the time */
    cudaMemset(a, 0, 10);
    assert_int_equal(cudaEventQuery(event), NOT_READY);
  }
  assert_int_equal(cudaStreamQuery(stream), NOT_READY);
  double began = seconds_now();
  while (cudaEventQuery(event) == NOT_READY) assert_true(seconds_now() - began < 10);
  assert_true(seconds_now() - began > 0.9);
  cudaEventRecord(event, stream);
  while (cudaStreamQuery(stream) == NOT_READY) assert_true(seconds_now() - began < 20);
  assert_int_equal(cudaEventQuery(event), OK);
  cudaEventDestroy(event);
  cudaStreamDestroy(stream);
  cudaFree(a);
  cudaGetLastError();
}

static void events_finish_late_when_asked_to(void **state) {
  void *a, *b, *event, *other;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaEventCreate(&event);
  cudaEventCreate(&other);
  assert_int_equal(cudaEventQuery(event), OK); /* never recorded */
  cudaEventRecord(event, a);
  assert_int_equal(cudaEventQuery(event), NOT_READY);
  cudaStreamWaitEvent(b, event, 0);
  cudaEventRecord(other, b);
  assert_int_equal(cudaEventQuery(other), NOT_READY);
  cudaStreamSynchronize(b); /* what b waited for is done as well */
  assert_int_equal(cudaEventQuery(other), OK);
  assert_int_equal(cudaEventQuery(event), OK);
  cudaEventRecord(event, a);
  assert_int_equal(cudaEventQuery(event), NOT_READY);
  cudaDeviceSynchronize();
  assert_int_equal(cudaEventQuery(event), OK);
  cudaEventRecord(event, a);
  cudaEventSynchronize(event);
  assert_int_equal(cudaEventQuery(event), OK);
  cudaEventDestroy(event);
  assert_int_equal(cudaEventQuery(event), INVALID_HANDLE);
  cudaEventDestroy(other);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
  cudaGetLastError();
}

static void a_stream_joins_a_capture_by_an_event(void **state) {
  void *a, *b, *event, *graph, *exec;
  int status;
  size_t nodes = 0;
  char function = 0;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaEventCreate(&event);
  assert_int_equal(cudaStreamBeginCapture(a, 0), OK);
  cudaEventRecord(event, a);
  cudaStreamWaitEvent(b, event, 0);
  cudaStreamIsCapturing(b, &status);
  assert_int_equal(status, 1);
  assert_int_equal(cudaStreamSynchronize(b), UNSUPPORTED_IN_CAPTURE);
  cudaLaunchKernel(&function, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, a);
  cudaLaunchKernel(&function, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, b);
  assert_int_equal(cudaStreamEndCapture(a, &graph), OK);
  cudaStreamIsCapturing(b, &status);
  assert_int_equal(status, 0);
  cudaGraphGetNodes(graph, NULL, &nodes);
  assert_int_equal(nodes, 2);
  assert_int_equal(cudaGraphInstantiate(&exec, graph, 0), OK);
  assert_int_equal(cudaGraphDestroy(graph), OK);
  assert_int_equal(cudaGraphLaunch(exec, b), OK);
  assert_int_equal(cudaGraphExecDestroy(exec), OK);
  assert_int_equal(cudaGraphLaunch(exec, b), INVALID_HANDLE);
  cudaEventDestroy(event);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
  cudaGetLastError();
}

static void an_event_of_a_capture_that_ended_takes_nobody_in(void **state) {
  void *a, *b, *event, *graph;
  int status = 1;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaEventCreate(&event);
  cudaStreamBeginCapture(a, 0);
  cudaEventRecord(event, a);
  cudaStreamEndCapture(a, &graph);
  cudaGraphDestroy(graph);
  assert_int_equal(cudaStreamWaitEvent(b, event, 0), OK);
  cudaStreamIsCapturing(b, &status);
  assert_int_equal(status, 0);
  cudaStreamBeginCapture(a, 0); /* another one, perhaps where the first graph was */
  cudaStreamWaitEvent(b, event, 0);
  cudaStreamIsCapturing(b, &status);
  assert_int_equal(status, 0);
  cudaStreamEndCapture(a, &graph);
  cudaGraphDestroy(graph);
  cudaEventDestroy(event);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}

static void a_graph_that_is_destroyed_is_captured_no_more(void **state) {
  void *stream, *graph;
  char function = 0;
  int status = 1;
  cudaStreamCreate(&stream);
  assert_int_equal(cudaGraphCreate(&graph, 0), OK);
  assert_int_equal(cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, 0), OK);
  assert_int_equal(cudaGraphDestroy(graph), OK);
  cudaStreamIsCapturing(stream, &status);
  assert_int_equal(status, 0);
  assert_int_equal(cudaLaunchKernel(&function, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, stream), OK);
  assert_int_equal(cudaStreamEndCapture(stream, &graph), INVALID_VALUE);
  cudaStreamDestroy(stream);
  cudaGetLastError();
}

static void impossible_launches_are_refused(void **state) {
  enum { INVALID_CONFIGURATION = 9 };
  char function = 0;
  assert_int_equal(cudaLaunchKernel(&function, (dim3){1, 1, 1}, (dim3){1025, 1, 1}, NULL, 0, NULL),
                   INVALID_CONFIGURATION);
  assert_int_equal(cudaLaunchKernel(&function, (dim3){0, 1, 1}, (dim3){32, 1, 1}, NULL, 0, NULL),
                   INVALID_CONFIGURATION);
  assert_int_equal(cudaLaunchKernel(&function, (dim3){1, 1, 65536}, (dim3){32, 1, 1}, NULL, 0, NULL),
                   INVALID_CONFIGURATION);
  cudaGetLastError();
}

static void attributes_are_those_of_the_device(void **state) {
  int major, minor, blocks;
  cudaDeviceGetAttribute(&major, 75, 0);
  cudaDeviceGetAttribute(&minor, 76, 0);
  assert_int_equal(major, 7); /* a T4 */
  assert_int_equal(minor, 5);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 256, 0);
  assert_int_equal(blocks, 4); /* 1024 threads a multiprocessor */
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 256, 31 * 1024);
  assert_int_equal(blocks, 2); /* 64 KiB of shared memory, 1 of them the system's for each block */
}

/* A fat binary by its documented layout: for each build its kind (1 PTX, 2 machine code) and its architecture. */
typedef struct fat_entry {
  uint16_t kind, version;
  uint32_t bytes;
  uint64_t code_bytes;
  uint32_t compressed, options;
  uint16_t minor, major;
  uint32_t architecture;
  char rest[32 + 8]; /* of the header, and the code */
} fat_entry;
typedef struct fat_binary {
  uint32_t magic;
  uint16_t version, bytes;
  uint64_t entries_bytes;
  fat_entry entries[3];
} fat_binary;
typedef struct fat_wrapper {
  int magic, version;
  const fat_binary *data;
  void *linked;
} fat_wrapper;
typedef struct function_attributes {
  size_t shared, constant, local;
  int threads_most, registers, ptx, binary, cache, shared_most, carveout, more[8];
} function_attributes;
int cudaFuncGetAttributes(function_attributes *attributes, const void *function);

static fat_entry build_of(int kind, unsigned architecture) {
  return (fat_entry){
      .kind = (uint16_t)kind, .version = 0x101, .bytes = 64, .code_bytes = 8, .architecture = architecture};
}

static void expect_code(const char *function, const fat_entry builds[3], int ptx, int binary) {
  fat_binary *fat = test_calloc(1, sizeof *fat);
  *fat = (fat_binary){0xba55ed50u, 1, 16, sizeof fat->entries, {builds[0], builds[1], builds[2]}};
  static fat_wrapper wrappers[8];
  static int used;
  fat_wrapper *w = &wrappers[used++];
  *w = (fat_wrapper){0x466243b1, 1, fat, NULL};
  function_attributes found = {0};
  __cudaRegisterFunction(__cudaRegisterFatBinary(w), function, NULL, "a_kernel");
  assert_int_equal(cudaFuncGetAttributes(&found, function), OK);
  test_free(fat);
  assert_int_equal(found.ptx, ptx);
  assert_int_equal(found.binary, binary);
}

/* The device is of 7.5. */
static void kernels_are_the_newest_build_that_runs_on_the_device(void **state) {
  static const char functions[4];
  expect_code(&functions[0], (fat_entry[]){build_of(2, 70), build_of(2, 75), build_of(2, 80)}, 75, 75);
  expect_code(&functions[1], (fat_entry[]){build_of(2, 70), build_of(2, 60), build_of(1, 90)}, 70, 70);
  expect_code(&functions[2], (fat_entry[]){build_of(1, 50), build_of(1, 60), build_of(2, 60)}, 60, 75);
  expect_code(&functions[3], (fat_entry[]){build_of(2, 90), build_of(2, 80), build_of(1, 80)}, 80, 80); /* none */
}

static void entry_points_are_found_by_name_in_their_newest_form(void **state) {
  extern int cuMemFree_v2(void *), cuMemMap(void *, size_t, size_t, uint64_t, unsigned long long);
  void *found;
  int status;
  assert_int_equal(cudaGetDriverEntryPointByVersion("cuMemFree", &found, 13000, 0, &status), OK);
  assert_ptr_equal(found, (void *)(uintptr_t)cuMemFree_v2);
  cudaGetDriverEntryPointByVersion("cuMemMap", &found, 13000, 0, &status);
  assert_ptr_equal(found, (void *)(uintptr_t)cuMemMap);
  assert_int_equal(status, 0);
  cudaGetDriverEntryPointByVersion("cuNoSuchThing", &found, 13000, 0, &status);
  assert_null(found);
  assert_int_equal(status, 1);
  cudaGetDriverEntryPointByVersion(NULL, &found, 13000, 0, &status);
  assert_null(found);
}

static void expandable_segments_count_what_is_mapped(void **state) {
  int cuMemAddressReserve(void **, size_t, size_t, void *, unsigned long long), cuMemAddressFree(void *, size_t);
  int cuMemCreate(uint64_t *, size_t, const void *, unsigned long long), cuMemRelease(uint64_t);
  int cuMemMap(void *, size_t, size_t, uint64_t, unsigned long long), cuMemUnmap(void *, size_t);
  int properties[8] = {1, 0, 1, 0};
  void *at;
  uint64_t physical;
  assert_int_equal(cuMemAddressReserve(&at, (size_t)1 << 36, 0, NULL, 0), OK);
  assert_int_equal(left_now(), MEMORY - CONTEXT);
  assert_int_equal(cuMemCreate(&physical, 20 * MIB, properties, 0), OK);
  assert_int_equal(cuMemMap(at, 20 * MIB, 0, physical, 0), OK);
  assert_int_equal(cuMemRelease(physical), OK); /* it lives on while it is mapped */
  assert_int_equal(left_now(), MEMORY - CONTEXT - 20 * MIB);
  assert_int_equal(cuMemUnmap(at, 20 * MIB), OK);
  assert_int_equal(left_now(), MEMORY - CONTEXT);
  assert_int_equal(cuMemAddressFree(at, (size_t)1 << 36), OK);
}

static void entries_of_the_table_write_their_results(void **state) {
  void *a = NULL, *b = NULL;
  int work = 77;
  assert_int_equal(cublasCreate_v2(&a), OK);
  assert_int_equal(cublasCreate_v2(&b), OK);
  assert_non_null(a);
  assert_ptr_not_equal(a, b);
  assert_int_equal(cusolverDnSgetrf_bufferSize(NULL, 4, 4, NULL, 4, &work), OK);
  assert_int_equal(work, 0);
}

int main(int count, char **arguments) {
  if (!getenv("WEFT_DRY_DIR")) restart(arguments);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_the_device_s_less_the_context),
      cmocka_unit_test(large_allocations_take_whole_pages_and_give_them_back),
      cmocka_unit_test(requests_just_below_a_mebibyte_are_given_back_as_they_were_taken),
      cmocka_unit_test(peers_are_enabled_and_disabled_once),
      cmocka_unit_test(a_stream_and_a_pool_answer_for_their_own_device),
      cmocka_unit_test(the_lowest_gap_is_taken_again),
      cmocka_unit_test(more_than_there_is_is_refused_and_takes_nothing),
      cmocka_unit_test(nothing_and_null_are_fine_and_strangers_are_refused),
      cmocka_unit_test(devices_have_memory_of_their_own),
      cmocka_unit_test(the_host_reads_zeros_from_devices),
      cmocka_unit_test(what_was_just_uploaded_is_read_back_until_something_runs),
      cmocka_unit_test(pinned_memory_is_real),
      cmocka_unit_test(events_finish_late_when_asked_to),
      cmocka_unit_test(who_does_nothing_but_ask_for_an_event_isn_t_kept_waiting_for_ever),
      cmocka_unit_test(a_stream_joins_a_capture_by_an_event),
      cmocka_unit_test(an_event_of_a_capture_that_ended_takes_nobody_in),
      cmocka_unit_test(a_graph_that_is_destroyed_is_captured_no_more),
      cmocka_unit_test(impossible_launches_are_refused),
      cmocka_unit_test(attributes_are_those_of_the_device),
      cmocka_unit_test(kernels_are_the_newest_build_that_runs_on_the_device),
      cmocka_unit_test(entry_points_are_found_by_name_in_their_newest_form),
      cmocka_unit_test(expandable_segments_count_what_is_mapped),
      cmocka_unit_test(entries_of_the_table_write_their_results),
  };
  int failed = cmocka_run_group_tests_name("dryrun runtime", tests, NULL, NULL);
  remove_folder();
  return failed;
}
