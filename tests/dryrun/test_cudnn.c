/* The stand-in's cuDNN: where the weights of a recurrent network lie, against sums by hand. PyTorch takes views of its buffer by these. */
#include "test.h"

int cudnnCreateRNNDescriptor(void **handle);
int cudnnDestroyRNNDescriptor(void *handle);
int cudnnSetRNNDescriptor_v8(void *n, int algorithm, int cell, int bias, int direction, int input_mode, int type,
                             int precision, int math, int input, int hidden, int projection, int layers, void *dropout,
                             unsigned flags);
int cudnnGetRNNWeightSpaceSize(void *handle, void *n, size_t *bytes);
int cudnnGetRNNWeightParams(void *handle, void *n, int layer, size_t bytes, char *weights, int number, void *matrix,
                            char **at, void *bias, char **bias_at);
int cudnnCreateRNNDataDescriptor(void **handle);
int cudnnDestroyRNNDataDescriptor(void *handle);
int cudnnSetRNNDataDescriptor(void *s, int type, int layout, int steps, int batch, int width, const int *lengths,
                              void *padding);
int cudnnGetRNNTempSpaceSizes(void *handle, void *n, int mode, void *s, size_t *work, size_t *reserve);
int cudnnCreateTensorDescriptor(void **handle);
int cudnnDestroyTensorDescriptor(void *handle);
int cudnnGetTensorNdDescriptor(void *t, int room, int *type, int *dims, int *size, int *stride);
int cudnnBackendGetAttribute(void *descriptor, int attribute, int type, int64_t room, int64_t *count, void *elements);

int cudnnGetConvolutionForwardAlgorithm_v7(void *handle, void *x, void *w, void *convolution, void *y, int asked,
                                           int *given, void *results);
int cudnnFindConvolutionBackwardDataAlgorithmEx(void *handle, void *w, void *w_at, void *dy, void *dy_at,
                                                void *convolution, void *dx, void *dx_at, int asked, int *given,
                                                void *results, void *work, size_t bytes);

enum { LSTM = 2, GRU = 3, TWO_BIASES = 2, ONE_WAY = 0, BOTH_WAYS = 1, FLOAT = 0, HALF = 2 };

static void *network(int cell, int direction, int type, int input, int hidden, int projection, int layers) {
  void *n;
  assert_int_equal(cudnnCreateRNNDescriptor(&n), 0);
  cudnnSetRNNDescriptor_v8(n, 0, cell, TWO_BIASES, direction, 0, type, type, 0, input, hidden, projection, layers, NULL,
                           0);
  return n;
}

static void an_lstm_has_four_gates_and_two_biases(void **state) {
  void *n = network(LSTM, BOTH_WAYS, FLOAT, 3, 5, 0, 2);
  size_t bytes;
  cudnnGetRNNWeightSpaceSize(NULL, n, &bytes);
  /* Two layers and directions: 4 gates of 5 x 3 and 5 x 5, then of 5 x 10 and 5 x 5; each of the four with 2 x 4 x 5 biases. */
  assert_int_equal(bytes, 4 * (2 * (4 * 15 + 4 * 25) + 2 * (4 * 50 + 4 * 25) + 4 * 40));
  cudnnDestroyRNNDescriptor(n);
}

static void matrices_come_before_biases_layer_after_layer(void **state) {
  void *n = network(GRU, ONE_WAY, HALF, 3, 5, 0, 2), *matrix;
  char buffer[2048], *at, *bias;
  int type, dims, size[3], stride[3];
  cudnnCreateTensorDescriptor(&matrix);
  cudnnGetRNNWeightParams(NULL, n, 0, sizeof buffer, buffer, 4, matrix, &at, NULL, NULL);
  assert_int_equal(at - buffer, 2 * (3 * 15 + 25));
  cudnnGetTensorNdDescriptor(matrix, 3, &type, &dims, size, stride);
  assert_int_equal(dims, 3);
  assert_int_equal(size[1], 5);
  assert_int_equal(size[2], 5);
  cudnnGetRNNWeightParams(NULL, n, 1, sizeof buffer, buffer, 1, NULL, &at, NULL, &bias);
  assert_int_equal(at - buffer, 2 * (3 * 15 + 3 * 25 + 25));
  assert_int_equal(bias - buffer, 2 * (3 * 15 + 9 * 25 + 6 * 5 + 5)); /* behind the first layer's six */
  cudnnDestroyTensorDescriptor(matrix);
  cudnnDestroyRNNDescriptor(n);
}

static void a_projection_is_the_last_matrix_and_has_no_bias(void **state) {
  void *n = network(LSTM, ONE_WAY, FLOAT, 3, 5, 2, 1);
  char buffer[2048], *at, *bias;
  size_t bytes;
  cudnnGetRNNWeightSpaceSize(NULL, n, &bytes);
  assert_int_equal(bytes, 4 * (4 * 15 + 4 * 10 + 10 + 40));
  cudnnGetRNNWeightParams(NULL, n, 0, sizeof buffer, buffer, 8, NULL, &at, NULL, &bias);
  assert_int_equal(at - buffer, 4 * (4 * 15 + 4 * 10));
  assert_null(bias);
  cudnnDestroyRNNDescriptor(n);
}

static void a_network_beyond_all_memory_is_refused(void **state) {
  enum { BAD_PARAMETER = 2000, TRAINING = 1, HUGE_SIZE = 2000000000 };
  void *n = network(LSTM, BOTH_WAYS, FLOAT, HUGE_SIZE, HUGE_SIZE, 0, 3),
       *small = network(LSTM, ONE_WAY, FLOAT, 3, 5, 0, 1), *s;
  char *at;
  size_t bytes = 7, reserve = 7;
  assert_int_equal(cudnnGetRNNWeightSpaceSize(NULL, n, &bytes), BAD_PARAMETER);
  assert_int_equal(cudnnGetRNNWeightParams(NULL, n, 5, 7, NULL, 0, NULL, &at, NULL, NULL), BAD_PARAMETER);
  cudnnCreateRNNDataDescriptor(&s);
  cudnnSetRNNDataDescriptor(s, FLOAT, 0, HUGE_SIZE, HUGE_SIZE, 3, NULL, NULL);
  assert_int_equal(cudnnGetRNNTempSpaceSizes(NULL, small, TRAINING, s, &bytes, &reserve), BAD_PARAMETER);
  assert_int_equal(bytes + reserve, 14);
  cudnnDestroyRNNDataDescriptor(s);
  cudnnDestroyRNNDescriptor(small);
  cudnnDestroyRNNDescriptor(n);
}

static void every_graph_has_one_plan_without_work_space(void **state) {
  enum { CONFIGURATIONS = 202, WORK_SPACE = 402, NOTES = 1303, INT64 = 3, DESCRIPTOR = 15, NOTE = 11 };
  int64_t count = 7, bytes = 7;
  cudnnBackendGetAttribute(NULL, CONFIGURATIONS, DESCRIPTOR, 0, &count, NULL);
  assert_int_equal(count, 1);
  cudnnBackendGetAttribute(NULL, WORK_SPACE, INT64, 1, &count, &bytes);
  assert_int_equal(count, 1);
  assert_int_equal(bytes, 0);
  cudnnBackendGetAttribute(NULL, NOTES, NOTE, 0, &count, NULL);
  assert_int_equal(count, 0);
}

/* As cudnn_cnn.h has it: algorithm, status, time, memory, determinism, type of arithmetic, three more. */
typedef struct performance {
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math, reserved[3];
} performance;

static void the_older_calls_have_one_algorithm_that_repeats(void **state) {
  performance all[2];
  int given = 7;
  memset(all, 0x55, sizeof all);
  assert_int_equal(cudnnGetConvolutionForwardAlgorithm_v7(NULL, NULL, NULL, NULL, NULL, 2, &given, all), 0);
  assert_int_equal(given, 1);
  assert_int_equal(all[0].status, 0);
  assert_int_equal(all[0].memory, 0);
  assert_int_equal(all[0].determinism, 1);
  assert_int_equal(all[1].status, 0x55555555);
  memset(all, 0x55, sizeof all);
  assert_int_equal(cudnnFindConvolutionBackwardDataAlgorithmEx(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1,
                                                               &given, all, NULL, 0),
                   0);
  assert_int_equal(all[0].status + (int)all[0].memory, 0);
  assert_int_not_equal(cudnnGetConvolutionForwardAlgorithm_v7(NULL, NULL, NULL, NULL, NULL, 0, &given, all), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_lstm_has_four_gates_and_two_biases),
      cmocka_unit_test(matrices_come_before_biases_layer_after_layer),
      cmocka_unit_test(a_projection_is_the_last_matrix_and_has_no_bias),
      cmocka_unit_test(a_network_beyond_all_memory_is_refused),
      cmocka_unit_test(every_graph_has_one_plan_without_work_space),
      cmocka_unit_test(the_older_calls_have_one_algorithm_that_repeats),
  };
  return cmocka_run_group_tests_name("dryrun cudnn", tests, NULL, NULL);
}
