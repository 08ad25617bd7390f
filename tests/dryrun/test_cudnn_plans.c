/* The stand-in's plans of cuDNN over a library that stands for the program's own: what is passed on to it, and what isn't. */
#include <dlfcn.h>
#include <jansson.h>
#include <sys/wait.h>

#include "dryrun/dry_program.h"
#include "test.h"

int cudnnBackendCreateDescriptor(int type, void **descriptor);
int cudnnBackendDestroyDescriptor(void *descriptor);
int cudnnBackendSetAttribute(void *descriptor, int attribute, int type, int64_t count, const void *elements);
int cudnnBackendFinalize(void *descriptor);
int cudnnBackendGetAttribute(void *descriptor, int attribute, int type, int64_t room, int64_t *count, void *elements);
int cudnnBackendExecute(void *handle, void *plan, void *pack);

/* cudnnBackendDescriptorType_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t. */
enum { HEURISTICS = 4, PLAN = 5, GRAPH = 15, TENSOR = 17, DEVICE = 38 };
enum {
  MODE_OF_HEURISTICS = 200,
  GRAPH_OF_HEURISTICS,
  CONFIGURATIONS,
  HANDLE_OF_PLAN = 400,
  CONFIGURATION_OF_PLAN,
  WORK_SPACE,
  OPERATIONS = 801,
  TYPE_OF_TENSOR = 901,
  SIZES_OF_TENSOR,
  HANDLE_OF_DEVICE = 2701
};
enum { HANDLE = 0, DATA_TYPE = 1, INT64 = 3, MODE = 8, DESCRIPTOR = 15 };

static struct {
  const char *(*calls)(void), *(*device)(void);
  void (*forget)(void);
} fake;

static void *made(int type) {
  void *descriptor;
  assert_int_equal(cudnnBackendCreateDescriptor(type, &descriptor), 0);
  return descriptor;
}
static void set(void *descriptor, int attribute, int type, const void *element) {
  assert_int_equal(cudnnBackendSetAttribute(descriptor, attribute, type, 1, element), 0);
}

static void the_device_is_described_by_its_attributes(void **state) {
  void *d = made(DEVICE);
  json_t *device = json_loads(fake.device(), 0, NULL);
  assert_non_null(device);
  /* A T4 has 40 multiprocessors of capability 7.5 with 64 KiB of shared memory, 1024 threads and 16 blocks each; 1 GiB is the test's own. */
  assert_int_equal(json_integer_value(json_object_get(device, "deviceVer")), 750);
  assert_int_equal(json_integer_value(json_object_get(device, "multiProcessorCount")), 40);
  assert_int_equal(json_integer_value(json_object_get(device, "maxSharedMemoryPerBlockOptin")), 65536);
  assert_int_equal(json_integer_value(json_object_get(device, "maxThreadsPerSM")), 1024);
  assert_int_equal(json_integer_value(json_object_get(device, "maxCtasPerSM")), 16);
  assert_int_equal(json_integer_value(json_object_get(device, "totalGlobalMem")), 1 << 30);
  assert_int_equal(json_integer_value(json_array_get(json_object_get(device, "maxGridSize"), 1)), 65535);
  assert_string_equal(json_string_value(json_object_get(device, "deviceName")), "Tesla T4");
  json_decref(device);
  cudnnBackendDestroyDescriptor(d);
}

/* In a process of its own, since the device is described once. */
static void child_is_described_by_a_file(void) {
  void *d = made(DEVICE);
  json_t *device = json_loads(fake.device(), 0, NULL);
  assert_non_null(device);
  assert_int_equal(json_integer_value(json_object_get(device, "deviceVer")), 860);
  assert_string_equal(json_string_value(json_object_get(device, "deviceName")), "The \"best\" \\");
  json_decref(device);
  cudnnBackendDestroyDescriptor(d);
}

static void a_title_may_have_any_characters(void **state) {
  int status;
  pid_t child = fork();
  if (!child) {
    setenv("WEFT_DRY_GPU", "own", 1);
    setenv("WEFT_DRY_TITLE", "The \"best\" \\", 1);
    setenv("WEFT_DRY_ATTRIBUTES", "16=10,75=8,76=6", 1);
    execl("/proc/self/exe", "described", (char *)NULL);
    _exit(2);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void heuristics_are_asked_for_that_device(void **state) {
  int mode = 0;
  void *h = made(HEURISTICS), *graph = made(GRAPH);
  fake.forget();
  set(h, GRAPH_OF_HEURISTICS, DESCRIPTOR, &graph);
  set(h, MODE_OF_HEURISTICS, MODE, &mode);
  assert_int_equal(cudnnBackendFinalize(h), 0);
  /* What the library itself sets while it is asked (the last line) goes by as it is. */
  assert_string_equal(fake.calls(), "set 4 204\nset 4 201\nset 4 200\nfinalize 4 0\nset 4 201\n");
  cudnnBackendDestroyDescriptor(h);
  cudnnBackendDestroyDescriptor(graph);
}

static void a_plan_has_the_librarys_work_space_and_no_handle(void **state) {
  void *plan = made(PLAN), *configuration = made(3), *handle = NULL;
  int64_t count = 0, bytes = 0;
  fake.forget();
  set(plan, HANDLE_OF_PLAN, HANDLE, &handle);
  set(plan, CONFIGURATION_OF_PLAN, DESCRIPTOR, &configuration);
  assert_int_equal(cudnnBackendFinalize(plan), 0);
  assert_string_equal(fake.calls(), "set 5 407\nset 5 401\nfinalize 5 0\n");
  assert_int_equal(cudnnBackendGetAttribute(plan, WORK_SPACE, INT64, 1, &count, &bytes), 0);
  assert_int_equal(bytes, 262972560);
  fake.forget();
  assert_int_equal(cudnnBackendExecute(NULL, plan, NULL), 0);
  assert_string_equal(fake.calls(), "");
  cudnnBackendDestroyDescriptor(plan);
  cudnnBackendDestroyDescriptor(configuration);
}

static void a_device_by_handle_is_the_same_device(void **state) {
  void *d = made(DEVICE), *handle = NULL;
  char before[4096];
  snprintf(before, sizeof before, "%s", fake.device());
  fake.forget();
  set(d, HANDLE_OF_DEVICE, HANDLE, &handle);
  assert_string_equal(fake.calls(), "set 38 2702\n");
  assert_string_equal(fake.device(), before);
  cudnnBackendDestroyDescriptor(d);
}

static void tensor(int type, int64_t elements) {
  void *t = made(TENSOR);
  set(t, TYPE_OF_TENSOR, DATA_TYPE, &type);
  set(t, SIZES_OF_TENSOR, INT64, &elements);
  assert_int_equal(cudnnBackendFinalize(t), 0);
  cudnnBackendDestroyDescriptor(t);
}

/* Asks for the work space of an operation with so many elements of two types. */
static int64_t work_space_of_an_operation(int64_t halves, int64_t doubles) {
  enum { HALF = 2, DOUBLE = 1 };
  void *graph = made(GRAPH), *operation = made(10), *plan = made(PLAN);
  int64_t count = 0, bytes = 7;
  tensor(HALF, halves);
  tensor(DOUBLE, doubles);
  set(graph, OPERATIONS, DESCRIPTOR, &operation);
  assert_int_equal(cudnnBackendGetAttribute(plan, WORK_SPACE, INT64, 1, &count, &bytes), 0);
  return bytes;
}

/* In a process of its own, since the library is looked at once. */
static void child_asks_for_work_space(void) {
  assert_int_equal(work_space_of_an_operation(1000, 100), 0);
  assert_int_equal(work_space_of_an_operation(5000, 100), 0);
  assert_int_equal(work_space_of_an_operation(10, 10), 0);
  assert_string_equal(fake.calls(), "");
}

/* The row of the limit that a child left; NULL: none. */
static json_t *limit_of(pid_t child) {
  char path[1024], line[4096];
  json_t *row = NULL;
  snprintf(path, sizeof path, "%s/events.%d.jsonl", getenv("WEFT_DRY_DIR"), (int)child);
  FILE *file = fopen(path, "r");
  while (file && !row && fgets(line, sizeof line, file)) {
    row = json_loads(line, 0, NULL);
    const char *what = json_string_value(json_object_get(row, "what"));
    if (what && !strcmp(what, "cuDNN")) break;
    json_decref(row);
    row = NULL;
  }
  if (file) fclose(file);
  return row;
}

static void a_library_of_9_7_is_not_asked_and_the_largest_operation_is_told(void **state) {
  int status;
  pid_t child = fork();
  if (!child) {
    setenv("FAKE_CUDNN_VERSION", "90700", 1);
    execl("/proc/self/exe", "child", (char *)NULL);
    _exit(2);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  json_t *row = limit_of(child);
  assert_non_null(row);
  assert_int_equal(json_integer_value(json_object_get(row, "count")), 3);
  assert_int_equal(json_integer_value(json_object_get(row, "bytes")), 5000 * 2 + 100 * 8);
  json_decref(row);
}

static bool load_fake(void) {
  void *library = dlopen(WF_FAKE_CUDNN, RTLD_NOW | RTLD_GLOBAL);
  if (!library) return false;
  fake.calls = (const char *(*)(void))dlsym(library, "fake_cudnn_calls");
  fake.device = (const char *(*)(void))dlsym(library, "fake_cudnn_device");
  fake.forget = (void (*)(void))dlsym(library, "fake_cudnn_forget");
  return fake.calls && fake.device && fake.forget;
}

int main(int count, char **arguments) {
  setenv("FAKE_CUDNN_VERSION", "90800", 0);
  if (!getenv("WEFT_DRY_DIR")) restart(arguments);
  if (!load_fake()) return 1;
  if (!strcmp(arguments[0], "child")) return child_asks_for_work_space(), 0;
  if (!strcmp(arguments[0], "described")) return child_is_described_by_a_file(), 0;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_device_is_described_by_its_attributes),
      cmocka_unit_test(a_title_may_have_any_characters),
      cmocka_unit_test(heuristics_are_asked_for_that_device),
      cmocka_unit_test(a_plan_has_the_librarys_work_space_and_no_handle),
      cmocka_unit_test(a_device_by_handle_is_the_same_device),
      cmocka_unit_test(a_library_of_9_7_is_not_asked_and_the_largest_operation_is_told),
  };
  int failed = cmocka_run_group_tests_name("dryrun cudnn plans", tests, NULL, NULL);
  remove_folder();
  return failed;
}
