/* Indexing, sorting and running sums: sizes, strides, elements and error texts as torch 2.15 gives them for the same expressions, where m is
 * arange(6.).reshape(2, 3), z arange(24.).reshape(2, 3, 4), zt z.permute(2, 0, 1), v [3, -1, 2, -1, 5], v3 [10, 20, 30], v3row [[10, 20, 30]],
 * twos, twos1 and twos3 full of 2 with sizes [2, 2], [2] and [2, 3], number 7, none zeros(0), mask m > 2, mask3 [True, False, True];
 * integers: i2 [1, 0], i3 [0, 1, 2], i22 [[0, 1], [1, 1]], same [1, 1], minus -1, minus1 [-1], zero [0], three [3], six [6], tall zeros(3, 1),
 * one 1. Derivatives by finite differences. */
#include "op/geometry.h"

#include <weft/weft.h>

#include "base/host.h"
#include "gradcheck.h"
#include "op/op.h"

#define L(...) \
  ((wf_tensors){(wf_tensor *[]){__VA_ARGS__}, (int)(sizeof((wf_tensor *[]){__VA_ARGS__}) / sizeof(wf_tensor *))})

static wf_tensor *m, *z, *zt, *v, *v3, *v3row, *twos, *twos1, *twos3, *number, *none, *mask, *mask3;
static wf_tensor *i2, *i3, *i22, *same, *minus, *minus1, *zero, *three, *six, *tall, *one;
static wf_scope fixture;

static wf_tensor *floats(wf_dims size, const double *at) {
  float data[32];
  int64_t n = 1;
  for (int i = 0; i < size.n; i++) n *= size.at[i];
  for (int64_t i = 0; i < n; i++) data[i] = at ? (float)at[i] : (float)i;
  return wf_from_data(data, size, WF_F32);
}
static wf_tensor *longs(wf_dims size, const int64_t *at) { return wf_from_data(at, size, WF_I64); }

static int make(void **state) {
  const double two[] = {2, 2, 2, 2, 2, 2}, tens[] = {10, 20, 30};
  const int64_t zeros[3] = {0};
  const bool truths[] = {true, false, true};
  fixture = wf_scope_begin();
  m = floats(WF_SHAPE(2, 3), NULL);
  z = floats(WF_SHAPE(2, 3, 4), NULL);
  zt = wf_permute(z, WF_SHAPE(2, 0, 1));
  v = floats(WF_SHAPE(5), (const double[]){3, -1, 2, -1, 5});
  v3 = floats(WF_SHAPE(3), tens);
  v3row = floats(WF_SHAPE(1, 3), tens);
  twos = floats(WF_SHAPE(2, 2), two);
  twos1 = floats(WF_SHAPE(2), two);
  twos3 = floats(WF_SHAPE(2, 3), two);
  number = floats(WF_SHAPE0, (const double[]){7});
  none = floats(WF_SHAPE(0), NULL);
  mask = wf_gt_scalar(m, wf_int(2));
  mask3 = wf_from_data(truths, WF_SHAPE(3), WF_BOOL);
  i2 = longs(WF_SHAPE(2), (const int64_t[]){1, 0});
  i3 = longs(WF_SHAPE(3), (const int64_t[]){0, 1, 2});
  i22 = longs(WF_SHAPE(2, 2), (const int64_t[]){0, 1, 1, 1});
  same = longs(WF_SHAPE(2), (const int64_t[]){1, 1});
  minus = longs(WF_SHAPE0, (const int64_t[]){-1});
  minus1 = longs(WF_SHAPE(1), (const int64_t[]){-1});
  zero = longs(WF_SHAPE(1), zeros);
  three = longs(WF_SHAPE(1), (const int64_t[]){3});
  six = longs(WF_SHAPE(1), (const int64_t[]){6});
  tall = longs(WF_SHAPE(3, 1), zeros);
  one = longs(WF_SHAPE0, (const int64_t[]){1});
  return wf_error_peek().status;
}

static int drop(void **state) {
  wf_scope_end(fixture, NULL);
  return 0;
}

static void brackets_choose_by_tensors_and_masks(void **state) {
  wf_scope scope = wf_scope_begin();
  assert_geometry(wf_index(m, L(i2)), "[2, 3] [3, 1] +0");
  assert_elements(wf_index(m, L(i2)), 3, 4, 5, 0, 1, 2);
  assert_geometry(wf_index(m, L(NULL, i2)), "[2, 2] [2, 1] +0");
  assert_elements(wf_index(m, L(NULL, i2)), 1, 0, 4, 3);
  assert_geometry(wf_index(m, L(i2, i22)), "[2, 2] [2, 1] +0");
  assert_elements(wf_index(m, L(i2, i22)), 3, 1, 4, 1);
  assert_geometry(wf_index(z, L(i2, NULL, i2)), "[2, 3] [3, 1] +0");
  assert_elements(wf_index(z, L(i2, NULL, i2)), 13, 17, 21, 0, 4, 8);
  assert_geometry(wf_index(zt, L(NULL, i2)), "[4, 2, 3] [1, 4, 8] +0");
  assert_geometry(wf_index(zt, L(i2)), "[2, 2, 3] [6, 3, 1] +0");
  assert_geometry(wf_index(z, L(NULL, wf_t(i22))), "[2, 2, 2, 4] [16, 4, 8, 1] +0");
  assert_geometry(wf_index(m, L(mask)), "[3] [1] +0");
  assert_elements(wf_index(m, L(mask)), 3, 4, 5);
  assert_geometry(wf_index(z, L(NULL, mask3)), "[2, 2, 4] [8, 4, 1] +0");
  assert_elements(wf_index(z, L(NULL, mask3)), 0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23);
  assert_geometry(wf_index(m, L(minus)), "[3] [1] +0");
  assert_elements(wf_index(m, L(minus)), 3, 4, 5);
  assert_refused(wf_index(m, L(NULL, three)), WF_INDEX, "index 3 is out of bounds for dimension 0 with size 3");
  assert_refused(wf_index(m, L(i2, i2, i2)), WF_INDEX, "too many indices for tensor of dimension 2 (got 3)");
  assert_refused(wf_index(m, L(v)), WF_INDEX, "tensors used as indices must be long, int, byte or bool tensors");
  assert_refused(
      wf_index(m, L(mask3)), WF_INDEX,
      "The shape of the mask [3] at index 0 does not match the shape of the indexed tensor [2, 3] at index 0");
  assert_refused(wf_index(z, L(i2, i3)), WF_INDEX,
                 "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]");
  wf_scope_end(scope, NULL);
}

static void brackets_write_and_add(void **state) {
  wf_scope scope = wf_scope_begin();
  assert_geometry(wf_index_put(m, L(i2), v3, false), "[2, 3] [3, 1] +0");
  assert_elements(wf_index_put(m, L(i2), v3, false), 10, 20, 30, 10, 20, 30);
  assert_elements(wf_index_put(m, L(NULL, same), wf_t(twos), true), 0, 5, 2, 3, 8, 5);
  assert_elements(wf_index_put(m, L(mask), number, false), 0, 1, 2, 7, 7, 7);
  assert_elements(wf_index_put(m, L(same), twos3, true), 0, 1, 2, 7, 8, 9);
  assert_refused(wf_index_put(m, L(i2), i2, false), WF_RUNTIME,
                 "shape mismatch: value tensor of shape [2] cannot be broadcast to indexing result of shape [2, 3]");
  assert_refused(wf_index_put(m, L(i2), v, false), WF_RUNTIME,
                 "shape mismatch: value tensor of shape [5] cannot be broadcast to indexing result of shape [2, 3]");
  wf_scope_end(scope, NULL);
}

static void entries_of_one_dim_are_selected_added_copied_and_filled(void **state) {
  wf_scope scope = wf_scope_begin();
  assert_geometry(wf_index_select(m, 1, i2), "[2, 2] [2, 1] +0");
  assert_elements(wf_index_select(m, 1, i2), 1, 0, 4, 3);
  assert_geometry(wf_index_select(zt, 0, i2), "[2, 2, 3] [6, 3, 1] +0");
  assert_geometry(wf_index_select(number, 0, zero), "[] [] +0");
  assert_elements(wf_index_select(number, 0, zero), 7);
  assert_refused(wf_index_select(m, 0, three), WF_INDEX, "index out of range in self");
  assert_refused(wf_index_select(m, 0, minus), WF_INDEX, "index out of range in self");
  assert_refused(wf_index_select(m, 0, i22), WF_INDEX, "index_select(): Index is supposed to be a vector");
  assert_refused(wf_index_select(m, 0, v), WF_RUNTIME, "index_select(): Expected dtype int32 or int64 for index");
  assert_refused(wf_index_select(number, 0, i2), WF_RUNTIME,
                 "index_select(): Index to scalar can have only 1 value, got 2 value(s)");
  assert_geometry(wf_index_add(m, 0, same, twos3, wf_int(1)), "[2, 3] [3, 1] +0");
  assert_elements(wf_index_add(m, 0, same, twos3, wf_int(1)), 0, 1, 2, 7, 8, 9);
  assert_elements(wf_index_add(m, 1, i2, twos, wf_float(-0.5)), -1, 0, 2, 2, 3, 5);
  assert_geometry(wf_index_add(wf_t(m), 1, i2, wf_t(twos3), wf_int(1)), "[3, 2] [2, 1] +0");
  assert_refused(wf_index_add(m, 0, three, v3row, wf_int(1)), WF_RUNTIME,
                 "index 3 is out of bounds for dimension 0 with size 2");
  assert_refused(
      wf_index_add(m, 0, i2, twos, wf_int(1)), WF_RUNTIME,
      "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = [2, 3] source.shape = [2, 2]");
  assert_refused(wf_index_add(m, 0, i2, v3row, wf_int(1)), WF_RUNTIME,
                 "index_add_(): Number of indices (2) should be equal to source.size(dim): (1), for dim: 0");
  assert_elements(wf_index_copy(m, 0, i2, twos3), 2, 2, 2, 2, 2, 2);
  assert_elements(wf_index_copy(m, 1, same, twos), 0, 2, 2, 3, 2, 5);
  assert_refused(wf_index_copy(m, 0, three, v3row), WF_INDEX,
                 "index_copy_(): index 3 is out of bounds for dimension 0 with size 2");
  assert_refused(
      wf_index_copy(m, 0, i2, twos), WF_RUNTIME,
      "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: 3 at dimension 0 and source slice shape: 2 at dimension 0.");
  assert_refused(wf_index_copy(m, 0, i2, v3row), WF_INDEX,
                 "index_copy_(): Number of indices (2) should be equal to source.size(dim) (1)");
  assert_refused(
      wf_index_copy(m, 0, i2, v), WF_INDEX,
      "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source dimensionality (1), destination dimensionality (2)");
  assert_elements(wf_index_fill(m, 1, minus1, wf_float(9)), 0, 1, 9, 3, 4, 9);
  assert_refused(wf_index_fill(m, 1, three, wf_float(9)), WF_INDEX,
                 "index 3 is out of bounds for dimension 1 with size 3");
  assert_refused(wf_index_fill(m, 1, v, wf_float(9)), WF_INDEX, "index_fill_(): Expected dtype int64 for index.");
  assert_refused(wf_index_fill(m, 1, i22, wf_float(9)), WF_RUNTIME, "Index has to be a vector/scalar");
  wf_scope_end(scope, NULL);
}

static void gather_scatter_and_take_have_an_index_for_each_element(void **state) {
  wf_scope scope = wf_scope_begin();
  assert_geometry(wf_gather(m, 1, i22), "[2, 2] [2, 1] +0");
  assert_elements(wf_gather(m, 1, i22), 0, 1, 4, 4);
  assert_geometry(wf_gather(m, 0, wf_t(i22)), "[2, 2] [2, 1] +0");
  assert_elements(wf_gather(m, 0, wf_t(i22)), 0, 4, 3, 4);
  assert_geometry(wf_gather(zt, 0, wf_unsqueeze(i22, 0)), "[1, 2, 2] [4, 2, 1] +0");
  assert_elements(wf_gather(zt, 0, wf_unsqueeze(i22, 0)), 0, 5, 13, 17);
  assert_refused(wf_gather(m, 1, three), WF_RUNTIME,
                 "Index tensor must have the same number of dimensions as input tensor");
  assert_refused(wf_gather(m, 1, wf_unsqueeze(three, 0)), WF_RUNTIME,
                 "index 3 is out of bounds for dimension 1 with size 3");
  assert_refused(
      wf_gather(m, 1, tall), WF_RUNTIME,
      "Size does not match at dimension 0 expected index [3, 1] to be no larger than self [2, 3] apart from dimension 1");
  assert_refused(wf_gather(m, 1, twos), WF_RUNTIME, "gather(): Expected dtype int32/int64 for index");
  assert_geometry(wf_scatter(m, 1, i22, wf_neg(m)), "[2, 3] [3, 1] +0");
  assert_elements(wf_scatter(m, 1, i22, wf_neg(m)), 0, -1, 2, 3, -4, 5);
  assert_geometry(wf_scatter_add(wf_t(m), 0, i22, wf_t(wf_neg(m))), "[3, 2] [2, 1] +0");
  assert_elements(wf_scatter_add(wf_t(m), 0, i22, wf_t(wf_neg(m))), 0, 3, 0, -3, 2, 5);
  assert_elements(wf_scatter_value(m, 0, i22, wf_float(9)), 9, 1, 2, 9, 9, 5);
  assert_elements(wf_scatter_add(m, 1, i22, wf_neg(m)), 0, 0, 2, 3, -3, 5);
  assert_refused(wf_scatter(m, 0, i22, i22), WF_RUNTIME, "scatter(): Expected self.dtype to be equal to src.dtype");
  assert_refused(
      wf_scatter(m, 1, tall, wf_t(m)), WF_RUNTIME,
      "Expected index [3, 1] to be no larger than self [2, 3] apart from dimension 1 and to be no larger size than src [3, 2]");
  assert_refused(wf_scatter_value(m, 1, tall, wf_int(1)), WF_RUNTIME,
                 "Expected index [3, 1] to be no larger than self [2, 3] apart from dimension 1");
  assert_refused(wf_scatter_value(m, 1, i2, wf_int(1)), WF_RUNTIME,
                 "Index tensor must have the same number of dimensions as self tensor");
  assert_geometry(wf_take(wf_t(m), wf_t(i22)), "[2, 2] [2, 1] +0");
  assert_elements(wf_take(wf_t(m), wf_t(i22)), 0, 3, 3, 3);
  assert_elements(wf_take(zt, minus1), 23);
  assert_refused(wf_take(m, six), WF_INDEX, "out of range: tried to access index 6 on a tensor of 6 elements.");
  assert_refused(wf_take(none, six), WF_INDEX, "take(): tried to take from an empty tensor");
  assert_refused(wf_take(m, v), WF_RUNTIME, "take(): Expected a long tensor for index, but got Float");
  wf_scope_end(scope, NULL);
}

static void masks_select_and_scatter_in_order(void **state) {
  wf_scope scope = wf_scope_begin();
  assert_geometry(wf_masked_select(m, mask), "[3] [1] +0");
  assert_elements(wf_masked_select(m, mask), 3, 4, 5);
  assert_elements(wf_masked_select(m, mask3), 0, 2, 3, 5);
  assert_elements(wf_masked_select(v3, mask), 10, 20, 30);
  assert_elements(wf_masked_select(wf_t(m), wf_t(mask)), 3, 4, 5);
  assert_refused(wf_masked_select(m, i2), WF_RUNTIME, "masked_select: expected BoolTensor for mask");
  assert_refused(wf_masked_select(v, mask3), WF_RUNTIME,
                 "The size of tensor a (3) must match the size of tensor b (5) at non-singleton dimension 0");
  assert_geometry(wf_masked_scatter(m, mask, wf_t(wf_neg(m))), "[2, 3] [3, 1] +0");
  assert_elements(wf_masked_scatter(m, mask, wf_t(wf_neg(m))), 0, 1, 2, 0, -3, -1);
  assert_elements(wf_masked_scatter(v3, mask, m), 10, 20, 30, 0, 1, 2);
  assert_refused(wf_masked_scatter(m, mask, twos1), WF_RUNTIME,
                 "Number of elements of source < number of ones in mask");
  assert_refused(wf_masked_scatter(m, mask, i2), WF_RUNTIME,
                 "masked_scatter: expected self and source to have same dtypes but gotFloat and Long");
  assert_refused(wf_masked_scatter(m, i2, m), WF_RUNTIME,
                 "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1");
  assert_geometry(wf_nonzero(m), "[5, 2] [1, 5] +0");
  assert_elements(wf_nonzero(m), 0, 1, 0, 2, 1, 0, 1, 1, 1, 2);
  assert_geometry(wf_nonzero(number), "[1, 0] [1, 1] +0");
  assert_geometry(wf_nonzero(wf_t(mask)), "[3, 2] [1, 3] +0");
  assert_elements(wf_nonzero(wf_t(mask)), 0, 1, 1, 1, 2, 1);
  assert_geometry(wf_nonzero(none), "[0, 1] [1, 0] +0");
  wf_scope_end(scope, NULL);
}

static void embedding_reads_rows_and_one_hot_writes_them(void **state) {
  wf_scope scope = wf_scope_begin();
  assert_geometry(wf_embedding(wf_t(i22), m, WF_NONE), "[2, 2, 3] [6, 3, 1] +0");
  assert_elements(wf_embedding(wf_t(i22), m, WF_NONE), 0, 1, 2, 3, 4, 5, 3, 4, 5, 3, 4, 5);
  assert_elements(wf_embedding(i2, wf_t(m), WF_NONE), 1, 4, 0, 3);
  assert_geometry(wf_embedding(one, m, WF_NONE), "[3] [1] +0");
  assert_elements(wf_embedding(one, m, WF_NONE), 3, 4, 5);
  assert_refused(wf_embedding(three, m, WF_NONE), WF_INDEX, "index out of range in self");
  assert_refused(wf_embedding(minus1, m, WF_NONE), WF_INDEX, "index out of range in self");
  assert_refused(
      wf_embedding(v, m, WF_NONE), WF_RUNTIME,
      "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got torch.FloatTensor instead (while checking arguments for embedding)");
  assert_refused(wf_embedding(i2, v, WF_NONE), WF_RUNTIME, "'weight' must be 2-D");
  assert_geometry(wf_one_hot(i2, -1), "[2, 2] [2, 1] +0");
  assert_elements(wf_one_hot(i2, -1), 0, 1, 1, 0);
  assert_geometry(wf_one_hot(i22, 3), "[2, 2, 3] [6, 3, 1] +0");
  assert_elements(wf_one_hot(i22, 3), 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0);
  assert_refused(wf_one_hot(i2, 1), WF_RUNTIME, "Class values must be smaller than num_classes.");
  assert_refused(wf_one_hot(minus1, -1), WF_RUNTIME, "Class values must be non-negative.");
  assert_refused(wf_one_hot(v, -1), WF_RUNTIME, "one_hot is only applicable to index tensor of type LongTensor.");
  wf_scope_end(scope, NULL);
}

static void running_sums_and_orders_go_along_a_dim(void **state) {
  wf_scope scope = wf_scope_begin();
  assert_geometry(wf_cumsum(m, 1, WF_DTYPE_NONE), "[2, 3] [3, 1] +0");
  assert_elements(wf_cumsum(m, 1, WF_DTYPE_NONE), 0, 1, 3, 3, 7, 12);
  assert_geometry(wf_cumsum(wf_t(m), 0, WF_DTYPE_NONE), "[3, 2] [2, 1] +0");
  assert_elements(wf_cumsum(wf_t(m), 0, WF_DTYPE_NONE), 0, 3, 1, 7, 3, 12);
  assert_elements(wf_cumsum(mask, 0, WF_DTYPE_NONE), 0, 0, 0, 1, 1, 1);
  assert_elements(wf_cumsum(v, -1, WF_I32), 3, 2, 4, 3, 8);
  assert_elements(wf_cumprod(v, 0, WF_DTYPE_NONE), 3, -3, -6, 6, 30);
  assert_elements(wf_cumprod(number, 0, WF_DTYPE_NONE), 7);
  assert_refused(wf_cumsum(m, 2, WF_DTYPE_NONE), WF_INDEX,
                 "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
  assert_geometry(wf_sort(v, -1, false, true).values, "[5] [1] +0");
  assert_elements(wf_sort(v, -1, false, true).values, -1, -1, 2, 3, 5);
  assert_geometry(wf_sort(v, 0, false, true).indices, "[5] [1] +0");
  assert_elements(wf_sort(v, 0, false, true).indices, 1, 3, 2, 0, 4);
  assert_elements(wf_argsort(v, 0, true, true), 4, 0, 2, 1, 3);
  assert_geometry(wf_sort(zt, 1, false, false).indices, "[4, 2, 3] [1, 12, 4] +0");
  assert_geometry(wf_sort(wf_slice(zt, 0, 0, 4, 2), 1, false, false).values, "[2, 2, 3] [1, 6, 2] +0");
  assert_geometry(wf_topk(m, 2, 1, true, true).values, "[2, 2] [2, 1] +0");
  assert_elements(wf_topk(m, 2, 1, true, true).values, 2, 1, 5, 4);
  assert_elements(wf_topk(m, 1, 0, false, true).indices, 0, 0, 0);
  assert_geometry(wf_topk(zt, 2, 0, true, true).values, "[2, 2, 3] [6, 3, 1] +0");
  assert_refused(wf_argsort(m, 2, false, false), WF_INDEX,
                 "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
  assert_refused(wf_topk(m, 4, 1, true, true).values, WF_RUNTIME, "selected index k out of range");
  assert_refused(wf_topk(m, -1, 1, true, true).values, WF_RUNTIME, "selected index k out of range");
  wf_scope_end(scope, NULL);
}

/* ---- in place ------------------------------------------------------------------------------------------------------------------------- */

static void writing_in_place_counts_versions_and_refuses_shared_memory(void **state) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = wf_ones(WF_SHAPE(5), NULL), *at = longs(WF_SHAPE(5), (const int64_t[]){1, 1, 1, 1, 1});
  const char *refusal =
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. "
      "Please clone() the tensor before performing the operation.";
  assert_int_equal(wf_index_add_(x, 0, at, x, wf_int(1)), WF_RUNTIME); /* the same tensor as source */
  assert_error(WF_RUNTIME, refusal);
  assert_int_equal(wf_version_of(x), 0);
  assert_elements(wf_index_add(x, 0, at, x, wf_int(1)), 1, 6, 1, 1, 1);
  assert_ok(wf_index_add_(x, 0, at, wf_clone(x, WF_FORMAT_PRESERVE), wf_int(1)));
  assert_ok(wf_scatter_value_(x, 0, zero, wf_float(9)));
  assert_ok(wf_index_fill_(x, 0, minus1, wf_float(8)));
  assert_ok(wf_index_copy_(x, 0, i2, twos1));
  assert_ok(wf_index_put_(x, L(three), number, true));
  assert_ok(wf_scatter_add_(x, 0, i3, v3));
  assert_int_equal(wf_version_of(x), 6);
  assert_elements(wf_clone(x, WF_FORMAT_PRESERVE), 12, 22, 31, 8, 8);
  assert_int_equal(wf_index_fill_(x, 0, six, wf_float(1)), WF_INDEX);
  assert_error(WF_INDEX, "index 6 is out of bounds for dimension 0 with size 5");
  assert_int_equal(wf_version_of(x), 6);
  wf_tensor *leaf = wf_ones(WF_SHAPE(5), NULL);
  assert_ok(wf_requires_grad_(leaf, true));
  assert_int_equal(wf_index_fill_(leaf, 0, zero, wf_float(1)), WF_RUNTIME);
  assert_error(WF_RUNTIME, "a leaf Variable that requires grad is being used in an in-place operation.");
  wf_tensor *narrow = wf_to(zero, WF_I32);
#define IS_A_LEAF(call)               \
  assert_int_equal(call, WF_RUNTIME); \
  assert_error(WF_RUNTIME, "a leaf Variable that requires grad is being used in an in-place operation.")
  IS_A_LEAF(wf_index_add_(leaf, 9, i2, number, wf_int(1))); /* before anything is said of the dim */
  IS_A_LEAF(wf_index_copy_(leaf, 9, i2, number));
  IS_A_LEAF(wf_index_fill_(leaf, 9, narrow, wf_int(1)));
  IS_A_LEAF(wf_scatter_(leaf, 9, narrow, number));
  IS_A_LEAF(wf_scatter_add_(leaf, 9, narrow, number));
  wf_tensor *wide = wf_expand(v3, WF_SHAPE(2, 3)), *ten = wf_full(WF_SHAPE0, wf_float(10), NULL);
  assert_ok(wf_index_put_(wide, L(zero), ten, false)); /* PyTorch only warns here */
  assert_ok(wf_index_fill_(wide, 1, zero, wf_float(4)));
  assert_elements(wf_clone(v3, WF_FORMAT_PRESERVE), 4, 10, 10);
  assert_int_equal(wf_index_copy_(wide, 0, narrow, x), WF_RUNTIME); /* the first of three refusals, as in PyTorch */
  assert_error(
      WF_RUNTIME,
      "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
      "Please clone() the tensor before performing the operation.");
  wf_scope_end(scope, NULL);
}

/* PyTorch's answers, each with a road of its own for tensors without elements. */
static void dims_of_size_0_have_nothing_to_find(void **state) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *none1 = wf_zeros(WF_SHAPE(0), NULL), *none2 = wf_zeros(WF_SHAPE(0, 3), NULL),
            *thin = wf_zeros(WF_SHAPE(3, 0), NULL), *row = wf_ones(WF_SHAPE(1, 3), NULL),
            *one = wf_ones(WF_SHAPE(1), NULL);
  wf_tensor *nine = longs(WF_SHAPE(1), (const int64_t[]){9}), *first = longs(WF_SHAPE(1), (const int64_t[]){0});
  assert_refused(wf_index_select(none1, 0, first), WF_INDEX, "index out of range in self");
  assert_refused(wf_index_select(none2, 0, first), WF_RUNTIME,
                 "index_select(): self indexing axis dim should be positive");
  assert_refused(wf_index_select(thin, 0, nine), WF_RUNTIME, "INDICES element is out of DATA bounds, id=9 axis_dim=3");
  assert_geometry(wf_index_select(thin, 0, first), "[1, 0] [1, 1] +0");
  assert_int_equal(wf_index_add_(none1, 0, first, one, wf_int(1)), WF_INDEX);
  assert_error(WF_INDEX, "index out of range in self");
  assert_ok(wf_index_add_(none2, 0, nine, row, wf_int(1)));
  assert_ok(wf_index_add_(none2, 0, nine, row, wf_int(2)));
  assert_int_equal(wf_index_copy_(none2, 0, first, row), WF_RUNTIME);
  assert_error(
      WF_RUNTIME,
      "setStorage: sizes [1, 3], strides [0, 1], storage offset 0, and itemsize 4 requiring a storage size of 12 are out of "
      "bounds for storage of size 0");
  assert_int_equal(wf_index_fill_(none1, 0, nine, wf_int(1)), WF_RUNTIME);
  assert_error(
      WF_RUNTIME,
      "setStorage: sizes [1], strides [0], storage offset 0, and itemsize 4 requiring a storage size of 4 are out of bounds "
      "for storage of size 0");
  wf_tensor *window = wf_slice(wf_ones(WF_SHAPE(4), NULL), 0, 0, 0, 1); /* with room behind it */
  assert_int_equal(wf_index_fill_(window, 0, nine, wf_int(1)), WF_INDEX);
  assert_error(WF_INDEX, "index 9 is out of bounds for dimension 0 with size 0");
  assert_int_equal(wf_index_copy_(window, 0, first, one), WF_INDEX);
  assert_error(WF_INDEX, "index_copy_(): index 0 is out of bounds for dimension 0 with size 0");
  assert_ok(wf_index_fill_(thin, 0, nine, wf_int(1)));
  assert_refused(wf_index(none2, L(first)), WF_INDEX, "index is out of bounds for dimension with size 0");
  wf_scope_end(scope, NULL);
}

static void one_number_under_one_mask_is_filled_in_whatever_its_dtype(void **state) {
  wf_scope scope = wf_scope_begin();
  wf_tensor_options o = wf_tensor_defaults();
  o.dtype = WF_BOOL;
  wf_tensor *x = wf_zeros(WF_SHAPE(2, 3), NULL),
            *columns = wf_from_data((const bool[]){true, false, true}, WF_SHAPE(3), WF_BOOL),
            *rows = wf_from_data((const bool[]){false, true}, WF_SHAPE(2), WF_BOOL), *bits = wf_zeros(WF_SHAPE(2), &o);
  wf_tensor *half = wf_full(WF_SHAPE(1, 1), wf_float(0.5), NULL), *wide = wf_to(half, WF_F64);
  assert_ok(wf_index_put_(x, L(NULL, columns), wide, false));
  assert_elements_of(x, 0.5, 0, 0.5, 0.5, 0, 0.5);
  assert_ok(wf_index_put_(x, L(rows), longs(WF_SHAPE(1), (const int64_t[]){7}), false));
  assert_elements_of(x, 0.5, 0, 0.5, 7, 7, 7);
  assert_int_equal(wf_version_of(x), 2);
  assert_ok(wf_index_put_(bits, L(rows), half, false)); /* true, as every number but 0 */
  assert_elements_of(bits, 0, 1);
  assert_elements_of(wf_index_put(bits, L(rows), wf_zeros(WF_SHAPE0, NULL), false), 0, 0);
  o.dtype = WF_U8;
  assert_int_equal(wf_index_put_(wf_zeros(WF_SHAPE(2), &o), L(rows), wf_neg(half), false), WF_RUNTIME);
  assert_error(WF_RUNTIME, "value cannot be converted to type uint8_t without overflow");
  assert_int_equal(wf_index_put_(x, L(rows, columns), wf_select(wide, 0, 0), false), WF_RUNTIME); /* two masks */
  assert_error(
      WF_RUNTIME,
      "Index put requires the source and destination dtypes match, got Float for the destination and Double for the source.");
  assert_int_equal(wf_index_put_(x, L(rows), wide, true), WF_RUNTIME);
  wf_error_take();
  wf_scope_end(scope, NULL);
}

static void a_filled_copy_has_the_strides_of_a_clone(void **state) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *turned = wf_t(wf_ones(WF_SHAPE(3, 4), NULL));
  assert_geometry(wf_index_fill(turned, 0, zero, wf_int(2)), "[4, 3] [1, 4] +0");
  assert_geometry(wf_index_add(turned, 0, zero, wf_ones(WF_SHAPE(1, 3), NULL), wf_int(1)), "[4, 3] [3, 1] +0");
  wf_tensor *number = wf_full(WF_SHAPE0, wf_float(3), NULL);
  assert_ok(wf__op_index_fill_(number, 0, zero, wf__tensor_arg(number))); /* by itself: it is read first */
  wf_scope_end(scope, NULL);
}

/* 10000 additions at places of a linear congruential sequence. */
static void repeated_indices_lose_no_addition(void **state) {
  static int64_t at[10000], amount[10000], expected[100], out[2][100];
  uint32_t seed = 5;
  int before = wf_num_threads();
  for (int i = 0; i < 10000; i++) {
    seed = seed * 1664525u + 1013904223u;
    at[i] = (seed >> 8) % 100;
    expected[at[i]] += amount[i] = i % 7;
  }
  wf_scope scope = wf_scope_begin();
  wf_tensor_options o = wf_tensor_defaults();
  o.dtype = WF_I64;
  assert_ok(wf_set_num_threads(8));
  wf_tensor *x = wf_zeros(WF_SHAPE(100), &o), *y = wf_clone(x, WF_FORMAT_PRESERVE);
  wf_tensor *index = longs(WF_SHAPE(10000), at), *values = longs(WF_SHAPE(10000), amount);
  assert_ok(wf_index_put_(x, L(index), values, true));
  assert_ok(wf_scatter_add_(y, 0, index, values));
  assert_ok(wf_to_host(x, out[0], sizeof out[0]));
  assert_ok(wf_to_host(y, out[1], sizeof out[1]));
  assert_memory_equal(out[0], expected, sizeof expected);
  assert_memory_equal(out[1], expected, sizeof expected);
  wf_set_num_threads(before);
  wf_scope_end(scope, NULL);
}

/* ---- derivatives ------------------------------------------------------------------------------------------------------------------------ */

static wf_tensor *squared(wf_tensor *x) { return wf_mul(x, x); }
static wf_tensor *bracket_of(wf_tensor *const *in, void *context) {
  wf_tensor *y = squared(in[0]), *masked = wf_slice(wf_index(y, L(mask)), 0, 0, 2, 1);
  return wf_cat(L(wf_index(y, L(same, i22)), wf_index(y, L(NULL, i2)), wf_unsqueeze(masked, 0)), 0);
}
static wf_tensor *put_of(wf_tensor *const *in, void *context) {
  return squared(wf_add(wf_index_put(in[0], L(i2), in[1], false), wf_index_put(in[0], L(same), in[1], true)));
}
static wf_tensor *put_in_place_of(wf_tensor *const *in, void *context) {
  wf_tensor *y = squared(in[0]);
  wf_index_put_(wf_slice(y, 1, 0, 2, 1), L(zero), wf_slice(wf_slice(in[1], 1, 0, 2, 1), 0, 0, 1, 1), false);
  return squared(y);
}
static wf_tensor *dim_of(wf_tensor *const *in, void *context) {
  wf_tensor *a = wf_index_add(wf_index_select(squared(in[0]), 0, same), 1, i3, in[1], wf_float(-1.5));
  return squared(wf_index_fill(wf_index_copy(a, 0, zero, wf_slice(in[1], 0, 1, 2, 1)), 1, minus1, wf_float(2)));
}
static wf_tensor *scatter_of(wf_tensor *const *in, void *context) {
  wf_tensor *narrow = wf_slice(in[1], 1, 0, 2, 1), *row = wf_slice(narrow, 0, 0, 1, 1),
            *once = wf_slice(i22, 0, 0, 1, 1);
  wf_tensor *added = wf_scatter_add(wf_scatter(squared(in[0]), 1, once, row), 1, i22, narrow);
  return squared(wf_scatter_value(added, 0, once, wf_float(3)));
}
static wf_tensor *gather_of(wf_tensor *const *in, void *context) {
  wf_tensor *y = squared(in[0]);
  return wf_mul(wf_gather(y, 1, i22), wf_take(wf_t(y), i22));
}
static wf_tensor *masks_of(wf_tensor *const *in, void *context) {
  return wf_masked_select(squared(wf_masked_scatter(in[0], mask, squared(in[1]))), mask3);
}
static wf_tensor *table_of(wf_tensor *const *in, void *context) { return squared(wf_embedding(i22, in[0], WF_NONE)); }
static wf_tensor *sort_of(wf_tensor *const *in, void *context) {
  wf_tensor *y = squared(in[0]);
  return wf_mul(wf_slice(wf_sort(y, 1, true, false).values, 1, 0, 2, 1), wf_topk(y, 2, 1, false, true).values);
}
static wf_tensor *sums_of(wf_tensor *const *in, void *context) {
  return wf_mul(wf_cumsum(squared(in[0]), 1, WF_DTYPE_NONE), in[1]);
}
static wf_tensor *products_of(wf_tensor *const *in, void *context) { return wf_cumprod(in[0], 1, WF_DTYPE_NONE); }

static void derivatives_agree_with_difference_quotients(void **state) {
  static const double with_zeros[] = {1.5, 0, 2, 0.5, 3, 0, 1, 0};
  const gradcheck_input two[] = {{WF_SHAPE(2, 3), NULL}, {WF_SHAPE(2, 3), NULL}},
                        zeros[] = {{WF_SHAPE(2, 4), with_zeros}};
  gradcheck_twice("index", bracket_of, NULL, two, 1);
  gradcheck_twice("index_put", put_of, NULL, two, 2);
  gradcheck_twice("index_put_ of a view", put_in_place_of, NULL, two, 2);
  gradcheck_twice("index_select, index_add, index_copy, index_fill", dim_of, NULL, two, 2);
  gradcheck_twice("scatter, scatter_add", scatter_of, NULL, two, 2);
  gradcheck_twice("gather, take", gather_of, NULL, two, 1);
  gradcheck_twice("masked_select, masked_scatter", masks_of, NULL, two, 2);
  gradcheck_twice("embedding", table_of, NULL, two, 1);
  gradcheck_twice("sort, topk", sort_of, NULL, two, 1);
  gradcheck_twice("cumsum", sums_of, NULL, two, 2);
  gradcheck_twice("cumprod", products_of, NULL, two, 1);
  gradcheck("cumprod with zeros", products_of, NULL, zeros, 1);
}

static void the_padding_of_an_embedding_gets_no_gradient(void **state) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *weight = wf_clone(m, WF_FORMAT_PRESERVE);
  assert_ok(wf_requires_grad_(weight, true));
  assert_ok(wf_backward(wf_sum(wf_embedding(i22, weight, -2)), NULL, NULL));
  assert_elements(wf_grad(weight), 0, 0, 0, 3, 3, 3);
  wf_scope_end(scope, NULL);
}

/* ---- accelerators, memory that runs out ----------------------------------------------------------------------------------------------------- */

static void a_device_finds_an_index_out_of_range_when_it_is_waited_for(void **state) {
  wf_scope scope = wf_scope_begin();
  wf_device sim = wf_sim(0);
  wf_tensor *x = wf_to_device(m, sim, false), *good = wf_to_device(i2, sim, false),
            *truth = wf_to_device(mask, sim, false);
  assert_elements(wf_index(x, L(NULL, good)), 1, 0, 4, 3);
  assert_elements(wf_index(x, L(truth)), 3, 4, 5);
  assert_elements(wf_sort(x, 1, true, true).indices, 2, 1, 0, 2, 1, 0);
  assert_elements(wf_flip(x, WF_SHAPE(1)), 2, 1, 0, 5, 4, 3);
  assert_elements(wf_pad(x, WF_SHAPE(1, 0), WF_PAD_REFLECT, wf_no_scalar()), 1, 0, 1, 2, 4, 3, 4, 5);
  assert_non_null(wf_index_select(x, 0, wf_to_device(three, sim, false)));
  assert_int_not_equal(wf_device_sync(sim), WF_OK);
  assert_non_null(strstr(wf_error_take().text, "index out of range in self"));
  wf_scope_end(scope, NULL);
}

static void a_failed_allocation_leaves_nothing_behind(void **state) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = wf_clone(m, WF_FORMAT_PRESERVE);
  assert_ok(wf_requires_grad_(x, true));
  for (int64_t k = 1, failed = 1; failed; k++) {
    wf_scope inner = wf_scope_begin();
    wf__fault_at(k);
    wf_tensor *a = wf_index(x, L(NULL, i3)), *b = a ? wf_index_put(a, L(i2), v3, false) : NULL,
              *c = b ? wf_scatter_add(b, 1, i22, m) : NULL;
    wf_tensor *d = c ? wf_masked_scatter(c, mask, x) : NULL,
              *e = d ? wf_cumprod(wf_index_add(d, 0, same, twos3, wf_int(2)), 1, WF_DTYPE_NONE) : NULL;
    wf_tensor *f = e ? wf_take(wf_t(wf_embedding(i2, wf_topk(e, 2, 1, true, true).values, WF_NONE)), i22) : NULL;
    wf_status back = f ? wf_backward(wf_sum(f), NULL, NULL) : wf_error_peek().status;
    wf__fault_at(0);
    wf_error error = wf_error_take();
    failed = error.status != WF_OK;
    if (failed && error.status != WF_NO_MEMORY) print_error("%s\n", error.text);
    assert_true(!failed || error.status == WF_NO_MEMORY);
    assert_true((back != WF_OK) == failed);
    wf_scope_end(inner, NULL);
  }
  wf_scope_end(scope, NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(brackets_choose_by_tensors_and_masks),
    cmocka_unit_test(brackets_write_and_add),
    cmocka_unit_test(entries_of_one_dim_are_selected_added_copied_and_filled),
    cmocka_unit_test(gather_scatter_and_take_have_an_index_for_each_element),
    cmocka_unit_test(masks_select_and_scatter_in_order),
    cmocka_unit_test(embedding_reads_rows_and_one_hot_writes_them),
    cmocka_unit_test(running_sums_and_orders_go_along_a_dim),
    cmocka_unit_test(writing_in_place_counts_versions_and_refuses_shared_memory),
    cmocka_unit_test(dims_of_size_0_have_nothing_to_find),
    cmocka_unit_test(one_number_under_one_mask_is_filled_in_whatever_its_dtype),
    cmocka_unit_test(a_filled_copy_has_the_strides_of_a_clone),
    cmocka_unit_test(repeated_indices_lose_no_addition),
    cmocka_unit_test(derivatives_agree_with_difference_quotients),
    cmocka_unit_test(the_padding_of_an_embedding_gets_no_gradient),
    cmocka_unit_test(a_device_finds_an_index_out_of_range_when_it_is_waited_for),
    cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
};

int main(void) { return cmocka_run_group_tests_name("op/index", tests, make, drop); }
