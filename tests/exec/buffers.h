/* Operands for tests of plans: a buffer of elements with a shape and a layout. */
#ifndef WF_TESTS_EXEC_BUFFERS_H
#define WF_TESTS_EXEC_BUFFERS_H

#include <stdlib.h>

#include "base/convert.h"
#include "exec/exec.h"
#include "test.h"

typedef struct buffer {
  void *bytes;
  wf_dtype dtype;
  int rank;
  int64_t size[6], stride[6]; /* in elements */
  int64_t room;               /* elements in all */
} buffer;

static uint32_t buffer_seed = 1;
static inline int next(int below) {
  buffer_seed = buffer_seed * 1664525u + 1013904223u;
  return (int)((buffer_seed >> 8) % (uint32_t)below);
}

/* order: the dims, outermost first; NULL row-major. gap: elements left between rows of the innermost dim. */
static inline buffer buffer_new(wf_dtype dtype, int rank, const int64_t *size, const int *order, int64_t gap) {
  buffer b = {.dtype = dtype, .rank = rank, .room = 1};
  for (int i = rank - 1; i >= 0; i--) {
    int d = order ? order[i] : i;
    b.size[d] = size[d];
    b.stride[d] = b.room;
    b.room = b.room * size[d] + (i == rank - 1 ? gap : 0);
  }
  b.bytes = aligned_alloc(128, (size_t)(b.room * 8 / 128 + 1) * 128);
  memset(b.bytes, 0x5a, (size_t)(b.room * 8 / 128 + 1) * 128);
  return b;
}
static inline void buffer_free(buffer *b) { free(b->bytes); }

static inline int64_t buffer_numel(const buffer *b) {
  int64_t n = 1;
  for (int d = 0; d < b->rank; d++) n *= b->size[d];
  return n;
}
/* Address of the i-th element in row-major order. */
static inline void *buffer_at(const buffer *b, int64_t i) {
  int64_t offset = 0;
  for (int d = b->rank - 1; d >= 0; d--) {
    offset += i % b->size[d] * b->stride[d];
    i /= b->size[d];
  }
  return (char *)b->bytes + offset * (int64_t)wf_dtype_size(b->dtype);
}
static inline double buffer_get(const buffer *b, int64_t i) {
  return wf__scalar_double(wf__scalar_load(b->dtype, buffer_at(b, i)));
}
static inline void buffer_set(buffer *b, int64_t i, double value) {
  wf__scalar_store(wf_dtype_is_float(b->dtype) ? wf_float(value) : wf_int((int64_t)value), b->dtype, buffer_at(b, i));
}
/* Multiples of 1/4 from -2 to 2. */
static inline void buffer_fill(buffer *b) {
  for (int64_t i = 0; i < buffer_numel(b); i++) buffer_set(b, i, (next(17) - 8) / 4.0);
}

static inline void set_operand(wf_plan *plan, int i, const buffer *b) {
  if (!b) {
    plan->operand[i] = (wf_operand){0};
    return;
  }
  plan->operand[i] = (wf_operand){.data = b->bytes, .dtype = b->dtype};
  plan->rank[i] = (uint8_t)b->rank;
  for (int d = 0; d < b->rank; d++) {
    plan->operand[i].stride[d] = b->stride[d] * (int64_t)wf_dtype_size(b->dtype);
    plan->shape[i][d] = b->size[d];
  }
}

/* Runs the plan with the workspace that it asks for. */
static inline wf_status run_with_workspace(wf_plan *plan) {
  size_t bytes = wf__exec_workspace(plan);
  void *scratch = bytes ? aligned_alloc(128, (bytes + 127) / 128 * 128) : NULL;
  plan->operand[plan->operands].data = scratch;
  wf_status status = wf__exec(plan);
  plan->operand[plan->operands].data = NULL;
  free(scratch);
  return status;
}

static inline double buffer_dot(const buffer *a, const buffer *b) {
  double sum = 0;
  for (int64_t i = 0; i < buffer_numel(a); i++) sum += buffer_get(a, i) * buffer_get(b, i);
  return sum;
}

/* Largest difference between equal elements, and where it is allowed to be at most `limit`. */
static inline void assert_close(const buffer *a, const buffer *b, double limit) {
  for (int64_t i = 0; i < buffer_numel(a); i++) {
    double x = buffer_get(a, i), y = buffer_get(b, i), d = x > y ? x - y : y - x;
    if (!(d <= limit)) print_error("element %lld: %.9g and %.9g\n", (long long)i, x, y);
    assert_true(d <= limit);
  }
}

#endif
