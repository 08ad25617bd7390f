/* arange and linspace, number for number as PyTorch computes them on an x86 with FMA.
 *
 * arange: PyTorch's vector loop takes two vectors of 32 bytes at a time: each vector starts from a number that is rounded to the dtype and
 * adds multiples of the step to it; what is left at the end, and tensors with gaps, take start + i · step. linspace counts from its start in
 * the first half and from its end in the second. Every product and sum is one fused rounding, in double for f32 and f64 of arange, in f32
 * for halves. fma is the C library's: the same on every CPU. */
#include <math.h>

#include "base/convert.h"
#include "kernel/tables.h"

#define VECTOR_BYTES 32

static double round_to(wf_dtype dtype, double x) {
  char element[8];
  wf__scalar_store(wf_float(x), dtype, element);
  return wf__scalar_load(dtype, element).as.f;
}

/* x · y + z, rounded once to the type that PyTorch accumulates the dtype in. */
static double fused(bool narrow, double x, double y, double z) {
  return narrow ? (double)fmaf((float)x, (float)y, (float)z) : fma(x, y, z);
}

static double arange_at(const wf__range_args *a, int64_t i) {
  int64_t lanes = VECTOR_BYTES / (int64_t)wf_dtype_size(a->dtype);
  bool narrow = wf_dtype_size(a->dtype) == 2;
  double start = narrow ? (float)a->start : a->start, step = narrow ? (float)a->step : a->step;
  if (a->has_gaps || i >= a->count / (2 * lanes) * (2 * lanes)) return fused(narrow, step, (double)i, start);
  double base = round_to(a->dtype, fused(narrow, step, (double)(i / lanes * lanes), start));
  return fused(narrow, (double)(i % lanes), step, base);
}

static double linspace_at(const wf__range_args *a, int64_t i) {
  if (a->count == 1) return a->start;
  bool narrow = a->dtype != WF_F64;
  double start = round_to(a->dtype, a->start), end = round_to(a->dtype, a->end);
  double step =
      narrow ? (double)(((float)end - (float)start) / (float)(a->count - 1)) : (end - start) / (double)(a->count - 1);
  return i < a->count / 2 ? fused(narrow, step, (double)i, start)
                          : fused(narrow, -step, (double)(a->count - 1 - i), end);
}

/* Integers: the step in double, the sum cut off. */
static double linspace_integer_at(const wf__range_args *a, int64_t i) {
  if (a->count == 1) return a->start;
  double start = trunc(a->start), end = trunc(a->end), step = (end - start) / (double)(a->count - 1);
  return i < a->count / 2 ? fma(step, (double)i, start) : fma(-step, (double)(a->count - 1 - i), end);
}

static void put(const wf__range_args *a, void *block, int64_t k, wf_scalar value) {
  wf__scalar_store(value, a->dtype, (char *)block + k * (int64_t)wf_dtype_size(a->dtype));
}

static void arange(const wf__range_args *a, void *block, int64_t first, int64_t n) {
  bool is_float = wf_dtype_is_float(a->dtype);
  for (int64_t k = 0; k < n; k++) {
    uint64_t integer = (uint64_t)a->first_integer + (uint64_t)a->step_integer * (uint64_t)(first + k);
    put(a, block, k, is_float ? wf_float(arange_at(a, first + k)) : wf_int((int64_t)integer));
  }
}

static void linspace(const wf__range_args *a, void *block, int64_t first, int64_t n) {
  bool is_float = wf_dtype_is_float(a->dtype);
  for (int64_t k = 0; k < n; k++)
    put(a, block, k, wf_float(is_float ? linspace_at(a, first + k) : linspace_integer_at(a, first + k)));
}

static void eye(const wf__range_args *a, void *block, int64_t first, int64_t n) {
  for (int64_t k = 0; k < n; k++) put(a, block, k, wf_int((first + k) / a->columns == (first + k) % a->columns));
}

void wf__range_ref(wf__kernels *table) {
  table->range[WF__RANGE_ARANGE] = arange;
  table->range[WF__RANGE_LINSPACE] = linspace;
  table->range[WF__RANGE_EYE] = eye;
}
