/* cuDNN's recurrent networks: where weights lie in their buffer, which PyTorch takes views of, and the sizes of work space.
 *
 * The weights' layout is the documented one. Work space isn't documented: given is what backward needs at least, and the report says so. */
#include "dryrun/stand_in.h"

enum { MOST_DIMS = 8, BAD_PARAMETER = 2000 /* of cudnnStatus_t */ };
enum { RELU, TANH, LSTM, GRU }; /* cudnnRNNMode_t */
enum { NO_BIAS, INPUT_BIAS, DOUBLE_BIAS, RECURRENT_BIAS };

typedef struct tensor {
  int type, dims;
  int size[MOST_DIMS], stride[MOST_DIMS];
} tensor;

typedef struct network {
  int cell, bias, directions, type;
  int64_t input, hidden, projection, layers;
} network;

typedef struct sequences {
  int64_t steps, batch;
} sequences;

/* cudnnDataType_t. */
static int64_t bytes_of(int type) {
  enum { DOUBLE = 1, HALF = 2, BFLOAT16 = 9 };
  return type == DOUBLE ? 8 : type == HALF || type == BFLOAT16 ? 2 : 4;
}

static int create(void **handle, size_t bytes) {
  *handle = wf__dry_handle_new(DRY_PLAIN, bytes);
  return *handle ? DRY_OK : DRY_NO_MEMORY;
}

/* ---- descriptors ---- */

DRY_API int cudnnCreateTensorDescriptor(void **handle) { return create(handle, sizeof(tensor)); }
DRY_API int cudnnDestroyTensorDescriptor(void *handle) { return wf__dry_handle_free(handle), DRY_OK; }
DRY_API int cudnnSetTensorNdDescriptor(tensor *t, int type, int dims, const int *size, const int *stride) {
  t->type = type;
  t->dims = dims < MOST_DIMS ? dims : MOST_DIMS;
  for (int i = 0; i < t->dims; i++) t->size[i] = size[i], t->stride[i] = stride[i];
  return DRY_OK;
}
DRY_API int cudnnGetTensorNdDescriptor(const tensor *t, int room, int *type, int *dims, int *size, int *stride) {
  *type = t->type;
  *dims = t->dims;
  for (int i = 0; i < room && i < t->dims; i++) size[i] = t->size[i], stride[i] = t->stride[i];
  return DRY_OK;
}

DRY_API int cudnnCreateRNNDescriptor(void **handle) { return create(handle, sizeof(network)); }
DRY_API int cudnnDestroyRNNDescriptor(void *handle) { return wf__dry_handle_free(handle), DRY_OK; }
DRY_API int cudnnSetRNNDescriptor_v8(network *n, int algorithm, int cell, int bias, int direction, int input_mode,
                                     int type, int precision, int math, int input, int hidden, int projection,
                                     int layers, void *dropout, unsigned flags) {
  *n = (network){cell, bias, direction + 1, type, input, hidden, projection, layers};
  return DRY_OK;
}

DRY_API int cudnnCreateRNNDataDescriptor(void **handle) { return create(handle, sizeof(sequences)); }
DRY_API int cudnnDestroyRNNDataDescriptor(void *handle) { return wf__dry_handle_free(handle), DRY_OK; }
DRY_API int cudnnSetRNNDataDescriptor(sequences *s, int type, int layout, int steps, int batch, int width,
                                      const int *lengths, void *padding) {
  *s = (sequences){steps, batch};
  return DRY_OK;
}

/* ---- weights: of each layer and direction all matrices, those of the input first; behind all of them the biases ---- */

static int gates_of(const network *n) { return n->cell == LSTM ? 4 : n->cell == GRU ? 3 : 1; }
static int64_t output_of(const network *n) {
  return n->projection > 0 && n->projection < n->hidden ? n->projection : n->hidden;
}
static bool has_projection(const network *n) { return n->cell == LSTM && output_of(n) != n->hidden; }
static int64_t input_of(const network *n, int64_t pseudo_layer) {
  return pseudo_layer < n->directions ? n->input : output_of(n) * n->directions;
}

static int64_t matrices_of(const network *n, int64_t pseudo_layer) {
  int64_t own = wf__dry_times(gates_of(n) * n->hidden, input_of(n, pseudo_layer) + output_of(n));
  return wf__dry_plus(own, has_projection(n) ? wf__dry_times(output_of(n), n->hidden) : 0);
}
static int64_t biases_of_layer(const network *n) {
  int sets = n->bias == NO_BIAS ? 0 : n->bias == DOUBLE_BIAS ? 2 : 1;
  return sets * gates_of(n) * n->hidden;
}
static int64_t all_matrices(const network *n) {
  int64_t all = 0;
  for (int64_t i = 0; i < n->layers * n->directions; i++) all = wf__dry_plus(all, matrices_of(n, i));
  return all;
}

static int64_t bytes_of_weights(const network *n) {
  int64_t biases = wf__dry_times(n->layers * n->directions, biases_of_layer(n));
  return wf__dry_times(wf__dry_plus(all_matrices(n), biases), bytes_of(n->type));
}

DRY_API int cudnnGetRNNWeightSpaceSize(void *handle, const network *n, size_t *bytes) {
  int64_t all = bytes_of_weights(n);
  if (all == INT64_MAX) return BAD_PARAMETER;
  *bytes = (size_t)all;
  return DRY_OK;
}

static void describe(tensor *t, int type, int64_t rows, int64_t columns) {
  if (t) *t = (tensor){type, 3, {1, (int)rows, (int)columns}, {(int)(rows * columns), (int)columns, 1}};
}

/* Offset of a matrix in its layer's part, in elements, and its shape; false: there is none of that number. */
static bool matrix_at(const network *n, int layer, int number, int64_t *offset, int64_t *rows, int64_t *columns) {
  int64_t gates = gates_of(n), of_input = n->hidden * input_of(n, layer), of_state = n->hidden * output_of(n);
  bool state = number >= gates, last = number == 2 * gates;
  if (number > 2 * gates || (last && !has_projection(n))) return false;
  *rows = last ? output_of(n) : n->hidden;
  *columns = last ? n->hidden : state ? output_of(n) : input_of(n, layer);
  *offset = state ? gates * of_input + (number - gates) * of_state : number * of_input;
  return true;
}

DRY_API int cudnnGetRNNWeightParams(void *handle, const network *n, int layer, size_t bytes, const char *weights,
                                    int number, tensor *matrix, void **matrix_address, tensor *bias,
                                    void **bias_address) {
  int64_t offset, rows, columns, gates = gates_of(n), element = bytes_of(n->type);
  if (matrix_address) *matrix_address = NULL;
  if (bias_address) *bias_address = NULL;
  if (bytes_of_weights(n) == INT64_MAX) return BAD_PARAMETER;
  if (!matrix_at(n, layer, number, &offset, &rows, &columns)) return DRY_OK;
  for (int i = 0; i < layer; i++) offset += matrices_of(n, i);
  describe(matrix, n->type, rows, columns);
  if (matrix_address) *matrix_address = (void *)((uintptr_t)weights + (uintptr_t)(offset * element));
  bool both = n->bias == DOUBLE_BIAS, is_state = number >= gates;
  if (number == 2 * gates || n->bias == NO_BIAS || (!both && is_state != (n->bias == RECURRENT_BIAS))) return DRY_OK;
  int64_t at = all_matrices(n) + layer * biases_of_layer(n) + (both ? number : number % gates) * n->hidden;
  describe(bias, n->type, n->hidden, 1);
  if (bias_address) *bias_address = (void *)((uintptr_t)weights + (uintptr_t)(at * element));
  return DRY_OK;
}

/* ---- work space ---- */

/* What backward needs of each step, in numbers a hidden unit: gates, for LSTM the cell's state before and after tanh, for GRU the state's part of the
 * candidate. */
static int64_t kept_of(const network *n) { return n->cell == LSTM ? 6 : n->cell == GRU ? 4 : 1; }

DRY_API int cudnnGetRNNTempSpaceSizes(void *handle, const network *n, int mode, const sequences *s, size_t *work,
                                      size_t *reserve) {
  enum { TRAINING = 1 };
  int64_t units = wf__dry_times(wf__dry_times(s->steps, s->batch), n->directions * bytes_of(n->type));
  int64_t kept = wf__dry_times(wf__dry_times(units, n->layers), n->hidden * kept_of(n));
  int64_t between = wf__dry_times(wf__dry_times(units, n->layers - 1), output_of(n));
  int64_t all = wf__dry_plus(kept, between), now = wf__dry_times(units, n->hidden * gates_of(n));
  if (all == INT64_MAX || now == INT64_MAX) return BAD_PARAMETER;
  *work = (size_t)now;
  if (reserve) *reserve = mode == TRAINING ? (size_t)all : 0;
  wf__dry_limit("cudnnGetRNNTempSpaceSizes",
                "work space of cuDNN's recurrent networks is estimated: what backward needs at least");
  return DRY_OK;
}
