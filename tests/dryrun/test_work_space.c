/* Work space that libraries are asked for: what is answered, and that the report is told of all that isn't known. */
#include <jansson.h>

#include "dryrun/dry_program.h"
#include "test.h"

int cufftMakePlan1d(int handle, int n, int type, int batch, size_t *work);
int cufftMakePlan3d(int handle, int nx, int ny, int nz, int type, size_t *work);
int cufftXtMakePlanMany(int handle, int rank, long long *n, long long *in, long long in_stride, long long in_distance,
                        int in_type, long long *out, long long out_stride, long long out_distance, int out_type,
                        long long batch, size_t *work, int type);
int cusparseSpGEMM_workEstimation(void *handle, int a, int b, void *alpha, void *left, void *right, void *beta, void *c,
                                  int type, int algorithm, void *descriptor, size_t *bytes, void *buffer);
int cusparseSpGEMM_compute(void *handle, int a, int b, void *alpha, void *left, void *right, void *beta, void *c,
                           int type, int algorithm, void *descriptor, size_t *bytes, void *buffer);
int cusparseSpMM_bufferSize(void *handle, int a, int b, void *alpha, void *left, void *right, void *beta, void *c,
                            int type, int algorithm, size_t *bytes);
int cusolverDnSgetrf_bufferSize(void *handle, int m, int n, void *a, int stride, int *elements);
int cusolverDnXgeqrf_bufferSize(void *handle, void *parameters, int64_t m, int64_t n, int type, void *a, int64_t stride,
                                int tau_type, void *tau, int compute_type, size_t *on_device, size_t *on_host);
int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void *handle, int mode, int operations, void *x, void *z,
                                                             void *y, void *scale, void *activation, size_t *bytes);
void weft_dry_step(void);

enum { SINGLE = 0x29, DOUBLE = 0x69, HALF_DATA = 6, SINGLE_DATA = 4, DOUBLE_DATA = 5 };

/* The row of a limit; NULL: it wasn't said. */
static json_t *limit(const char *what) {
  char path[1024], line[4096];
  json_t *found = NULL;
  weft_dry_step();
  snprintf(path, sizeof path, "%s/events.%d.jsonl", getenv("WEFT_DRY_DIR"), (int)getpid());
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) {
    json_t *row = json_loads(line, 0, NULL);
    const char *kind = json_string_value(json_object_get(row, "kind")),
               *name = json_string_value(json_object_get(row, "what"));
    if (!found && !strcmp(kind, "limit") && !strcmp(name, what)) found = json_incref(row);
    json_decref(row);
  }
  if (file) fclose(file);
  return found;
}

static void assert_limit(const char *what, int64_t count, int64_t bytes) {
  json_t *row = limit(what);
  assert_non_null(row);
  assert_int_equal(json_integer_value(json_object_get(row, "count")), count);
  assert_int_equal(json_integer_value(json_object_get(row, "bytes")), bytes);
  json_decref(row);
}

/* "In the worst case 8*batch*n[0]*..*n[rank-1] complex elements, in the best 1*…": cuFFT's documentation. */
static void a_transform_asks_for_one_to_eight_times_its_elements(void **state) {
  long long n[] = {10, 20};
  size_t work = 7;
  assert_int_equal(cufftMakePlan1d(1, 1000, SINGLE, 4, &work), 0);
  assert_int_equal(work, 1000 * 4 * 8);
  assert_int_equal(cufftMakePlan3d(1, 10, 11, 12, DOUBLE, &work), 0);
  assert_int_equal(work, 10 * 11 * 12 * 16);
  assert_int_equal(cufftXtMakePlanMany(1, 2, n, NULL, 1, 1, 0, NULL, 1, 1, 0, 3, &work, SINGLE_DATA), 0);
  assert_int_equal(work, 10 * 20 * 3 * 8);
  cufftXtMakePlanMany(1, 2, n, NULL, 1, 1, 0, NULL, 1, 1, 0, 3, &work, DOUBLE_DATA);
  assert_int_equal(work, 10 * 20 * 3 * 16);
  cufftXtMakePlanMany(1, 2, n, NULL, 1, 1, 0, NULL, 1, 1, 0, 3, &work, HALF_DATA);
  assert_int_equal(work, 10 * 20 * 3 * 4);
  assert_limit("cuFFT", 5, 8 * 1000 * 4 * 8);
}

/* A plan of 2^21 in each of three dims has 2^63 elements. */
static void sizes_beyond_all_memory_are_refused(void **state) {
  enum { INVALID_SIZE = 8 };
  long long n[] = {1 << 21, 1 << 21, 1 << 21};
  size_t work = 7;
  assert_int_equal(cufftMakePlan3d(1, 1 << 21, 1 << 21, 1 << 21, SINGLE, &work), INVALID_SIZE);
  assert_int_equal(cufftMakePlan1d(1, 1 << 30, DOUBLE, 1 << 30, &work), INVALID_SIZE); /* 2^60 elements of 16 bytes */
  assert_int_equal(cufftXtMakePlanMany(1, 3, n, NULL, 1, 1, 0, NULL, 1, 1, 0, 1 << 21, &work, SINGLE_DATA),
                   INVALID_SIZE);
  assert_int_equal(work, 7);
  assert_limit("cuFFT", 5, 8 * 1000 * 4 * 8); /* those before */
}

static void sizes_that_are_not_known_are_zero_and_said(void **state) {
  size_t bytes = 7, host = 7;
  int elements = 7;
  cusparseSpMM_bufferSize(NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, &bytes);
  assert_int_equal(bytes, 0);
  assert_limit("cusparseSpMM_bufferSize", 1, 0);
  cusolverDnSgetrf_bufferSize(NULL, 64, 64, NULL, 64, &elements);
  cusolverDnSgetrf_bufferSize(NULL, 64, 64, NULL, 64, &elements);
  assert_int_equal(elements, 0);
  assert_limit("cusolverDnSgetrf_bufferSize", 2, 0);
  bytes = 7;
  cusolverDnXgeqrf_bufferSize(NULL, NULL, 64, 64, 0, NULL, 64, 0, NULL, 0, &bytes, &host);
  assert_int_equal(bytes + host, 0);
  assert_limit("cusolverDnXgeqrf_bufferSize", 1, 0);
  bytes = 7;
  cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, &bytes);
  assert_int_equal(bytes, 0);
  assert_limit("cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize", 1, 0);
}

/* These ask for a size by a name that says nothing of sizes. */
static void products_of_sparse_matrices_are_said_too(void **state) {
  size_t bytes = 7;
  cusparseSpGEMM_workEstimation(NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, &bytes, NULL);
  assert_int_equal(bytes, 0);
  assert_limit("cusparseSpGEMM_workEstimation", 1, 0);
  bytes = 7;
  cusparseSpGEMM_compute(NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, &bytes, NULL);
  assert_int_equal(bytes, 0);
  assert_limit("cusparseSpGEMM_compute", 1, 0);
}

int main(int count, char **arguments) {
  if (!getenv("WEFT_DRY_DIR")) restart(arguments);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_transform_asks_for_one_to_eight_times_its_elements),
      cmocka_unit_test(sizes_beyond_all_memory_are_refused),
      cmocka_unit_test(sizes_that_are_not_known_are_zero_and_said),
      cmocka_unit_test(products_of_sparse_matrices_are_said_too),
  };
  int failed = cmocka_run_group_tests_name("dryrun work space", tests, NULL, NULL);
  remove_folder();
  return failed;
}
