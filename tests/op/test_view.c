/* Views: sizes, strides and offsets as torch 2.15 gave them, sharing of storage and versions, refusals in PyTorch's words. */
#include "op/geometry.h"

#include <weft/autograd.h>
#include <weft/create.h>
#include <weft/trace.h>
#include <weft/view.h>
#include "base/host.h"
#include "op/call_forms.h"
#include "tensor/tensor.h"

/* What most tests look at: z [2, 3, 4] of 0 to 23, number [], empty [0, 3], ones_in [1, 2, 1, 3]. */
static wf_tensor *z, *number, *empty, *with_ones;

static int make(void **state) {
  (void)state;
  float data[24];
  for (int i = 0; i < 24; i++) data[i] = (float)i;
  z = wf_from_data(data, WF_SHAPE(2, 3, 4), WF_F32);
  number = wf_from_data(data + 7, WF_SHAPE0, WF_F32);
  empty = wf_from_data(NULL, WF_SHAPE(0, 3), WF_F32);
  with_ones = wf_from_data(data, WF_SHAPE(1, 2, 1, 3), WF_F32);
  return !with_ones;
}

static int drop(void **state) {
  (void)state;
  wf_tensor *all[] = {z, number, empty, with_ones};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(all[i]->refs, 1); /* nothing leaks a reference of the base */
    wf_free(all[i]);
  }
  return 0;
}

static void view_and_reshape_give_pytorchs_strides(void **state) {
  (void)state;
  assert_geometry(wf_view(z, WF_SHAPE(6, 4)), "[6, 4] [4, 1] +0");
  assert_geometry(wf_view(z, WF_SHAPE(-1)), "[24] [1] +0");
  assert_geometry(wf_view(number, WF_SHAPE(1, 1)), "[1, 1] [1, 1] +0");
  assert_geometry(wf_view_as(z, z), "[2, 3, 4] [12, 4, 1] +0");
  wf_scope s = wf_scope_begin();
  wf_tensor *turned = wf_transpose(z, 0, 1), *part = wf_slice(z, 1, 0, 2, 1);
  assert_geometry(wf_view(turned, WF_SHAPE(3, 2, 2, 2)), "[3, 2, 2, 2] [4, 12, 2, 1] +0");
  assert_geometry(wf_reshape(turned, WF_SHAPE(3, 2, -1, 2)), "[3, 2, 2, 2] [4, 12, 2, 1] +0");
  assert_refused(
      wf_view(turned, WF_SHAPE(6, 4)), WF_RUNTIME,
      "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
      "subspaces). Use .reshape(...) instead.");
  assert_false(wf_shares_storage(wf_reshape(turned, WF_SHAPE(6, 4)), z));
  assert_true(wf_shares_storage(wf_reshape(part, WF_SHAPE(2, 8)), z));
  assert_elements(wf_reshape(turned, WF_SHAPE(24)), 0, 1, 2, 3, 12, 13, 14, 15, 4, 5, 6, 7, 16, 17, 18, 19, 8, 9, 10,
                  11, 20, 21, 22, 23);
  assert_refused(wf_view(z, WF_SHAPE(5, -1)), WF_RUNTIME, "shape '[5, -1]' is invalid for input of size 24");
  assert_refused(wf_reshape_as(z, empty), WF_RUNTIME, "shape '[0, 3]' is invalid for input of size 24");
  wf_scope_end(s, NULL);
}

static void dims_that_only_look_mergeable_are_not_merged(void **state) {
  (void)state; /* [2, 6, 4][:, :3] asked as [6, 4] */
  float data[48];
  for (int i = 0; i < 48; i++) data[i] = (float)i;
  wf_scope s = wf_scope_begin();
  wf_tensor *part = wf_slice(wf_from_data(data, WF_SHAPE(2, 6, 4), WF_F32), 1, 0, 3, 1);
  assert_string_equal(geometry_text(part), "[2, 3, 4] [24, 4, 1] +0");
  assert_null(wf_view(part, WF_SHAPE(6, 4)));
  wf_error_take();
  assert_geometry(wf_reshape(part, WF_SHAPE(6, 4)), "[6, 4] [4, 1] +0");
  assert_elements(wf_select(wf_reshape(part, WF_SHAPE(6, 4)), 1, 0), 0, 4, 8, 24, 28, 32);
  wf_scope_end(s, NULL);
}

static void a_reshape_that_copies_is_an_implicit_copy(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  wf_tensor *turned = wf_transpose(z, 0, 1);
  wf_copy_policy was = wf_copy_policy_set(WF_COPY_FORBID);
  assert_non_null(wf_reshape(z, WF_SHAPE(24)));
  assert_null(wf_reshape(turned, WF_SHAPE(24)));
  assert_int_equal(wf_error_take().status, WF_RUNTIME);
  wf_copy_policy_set(was);
  wf_scope_end(s, NULL);
}

static void flatten_and_unflatten(void **state) {
  (void)state;
  assert_geometry(wf_flatten(z, -2, -1), "[2, 12] [12, 1] +0");
  assert_geometry(wf_flatten(number, 0, -1), "[1] [1] +0");
  assert_geometry(wf_flatten(empty, 0, -1), "[0] [1] +0");
  wf_tensor *same = wf_flatten(z, 1, 1);
  assert_ptr_equal(same, z);
  wf_free(same);
  assert_refused(wf_flatten(z, 2, 1), WF_RUNTIME, "flatten() has invalid args: start_dim cannot come after end_dim");
  assert_refused(wf_flatten(number, 1, 0), WF_INDEX,
                 "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
  assert_geometry(wf_unflatten(z, 2, WF_SHAPE(-1, 2)), "[2, 3, 2, 2] [12, 4, 2, 1] +0");
  assert_geometry(wf_unflatten(z, 2, WF_SHAPE(4, -1, 1)), "[2, 3, 4, 1, 1] [12, 4, 1, 1, 1] +0");
  assert_geometry(wf_unflatten(empty, 0, WF_SHAPE(3, 0)), "[3, 0, 3] [3, 3, 1] +0");
  assert_refused(wf_unflatten(z, 2, WF_SHAPE0), WF_RUNTIME, "unflatten: sizes must be non-empty");
  assert_refused(wf_unflatten(z, 2, WF_SHAPE(-1, 3)), WF_RUNTIME,
                 "unflatten: Provided sizes [-1, 3] don't multiply up to the size of dim 2 (4) in the input tensor");
  assert_refused(wf_unflatten(z, 2, WF_SHAPE(-1, -1)), WF_RUNTIME,
                 "unflatten got an unexpected error:\nonly one dimension can be inferred");
  assert_refused(wf_unflatten(z, 2, WF_SHAPE(2, -3)), WF_RUNTIME,
                 "unflatten got an unexpected error:\ninvalid shape dimension -3 at index 1 of shape [2, -3]");
  assert_refused(wf_unflatten(number, 0, WF_SHAPE(1)), WF_RUNTIME,
                 "unflatten got an unexpected error:\nDimension specified as 0 but tensor has no dimensions");
  assert_refused(wf_unflatten(z, 9, WF_SHAPE(2)), WF_INDEX,
                 "Dimension out of range (expected to be in range of [-3, 2], but got 9)");
}

static void transpose_permute_movedim(void **state) {
  (void)state;
  assert_geometry(wf_transpose(z, 0, -1), "[4, 3, 2] [1, 4, 12] +0");
  assert_geometry(wf_transpose(number, 0, -1), "[] [] +0");
  assert_refused(wf_transpose(z, 5, 3), WF_INDEX,
                 "Dimension out of range (expected to be in range of [-3, 2], but got 5)");
  assert_geometry(wf_t(empty), "[3, 0] [1, 3] +0");
  assert_geometry(wf_t(number), "[] [] +0");
  assert_refused(wf_t(z), WF_RUNTIME, "t() expects a tensor with <= 2 dimensions, but self is 3D");
  assert_geometry(wf_permute(z, WF_SHAPE(0, -1, 1)), "[2, 4, 3] [12, 1, 4] +0");
  assert_geometry(wf_permute(number, WF_SHAPE0), "[] [] +0");
  assert_refused(
      wf_permute(z, WF_SHAPE(0, 1)), WF_RUNTIME,
      "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
      "dimensions i.e. input.dim() = 3 is not equal to len(dims) = 2");
  assert_refused(wf_permute(z, WF_SHAPE(0, -3, 1)), WF_RUNTIME, "permute(): duplicate dims are not allowed.");
  assert_refused(wf_permute(z, WF_SHAPE(0, 0, 7)), WF_RUNTIME, "permute(): duplicate dims are not allowed.");
  assert_refused(wf_permute(z, WF_SHAPE(0, 1, 5)), WF_INDEX,
                 "Dimension out of range (expected to be in range of [-3, 2], but got 5)");
  assert_geometry(wf_movedim(z, WF_SHAPE(0, 1), WF_SHAPE(2, 0)), "[3, 4, 2] [4, 1, 12] +0");
  assert_geometry(wf_movedim(z, WF_SHAPE(0), WF_SHAPE(-1)), "[3, 4, 2] [4, 1, 12] +0");
  assert_geometry(wf_movedim(number, WF_SHAPE(0), WF_SHAPE(-1)), "[] [] +0");
  assert_geometry(wf_movedim(z, WF_SHAPE0, WF_SHAPE0), "[2, 3, 4] [12, 4, 1] +0");
  assert_refused(wf_movedim(z, WF_SHAPE(0, -3), WF_SHAPE(0, 1)), WF_RUNTIME,
                 "movedim: repeated dim in `source` ([0, -3])");
  assert_refused(wf_movedim(z, WF_SHAPE(0, 1), WF_SHAPE(-1, 2)), WF_RUNTIME,
                 "movedim: repeated dim in `destination` ([-1, 2])");
  assert_refused(
      wf_movedim(z, WF_SHAPE(0), WF_SHAPE(0, 2)), WF_RUNTIME,
      "movedim: Invalid source or destination dims: source ([0] dims) should contain the same number of dims as destination "
      "([0, 2] dims)");
}

static void squeeze_and_unsqueeze(void **state) {
  (void)state;
  int64_t none;
  assert_geometry(wf_squeeze(with_ones, WF_SHAPE0), "[2, 3] [3, 1] +0");
  assert_geometry(wf_squeeze(with_ones, WF_SHAPE(0)), "[2, 1, 3] [3, 3, 1] +0");
  assert_geometry(wf_squeeze(with_ones, WF_SHAPE(1)), "[1, 2, 1, 3] [6, 3, 3, 1] +0");
  assert_geometry(wf_squeeze(with_ones, WF_SHAPE(0, -2)), "[2, 3] [3, 1] +0");
  assert_geometry(wf__call_squeeze(with_ones, (wf__ints){{&none, 0}, false, NULL}), "[1, 2, 1, 3] [6, 3, 3, 1] +0");
  assert_geometry(wf__call_squeeze(with_ones, wf__no_ints()), "[2, 3] [3, 1] +0");
  assert_geometry(wf_squeeze(number, WF_SHAPE(-1)), "[] [] +0");
  assert_refused(wf_squeeze(with_ones, WF_SHAPE(0, -4)), WF_RUNTIME,
                 "dim 0 appears multiple times in the list of dims");
  assert_refused(wf_squeeze(number, WF_SHAPE(1)), WF_INDEX,
                 "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
  assert_geometry(wf_unsqueeze(z, 3), "[2, 3, 4, 1] [12, 4, 1, 1] +0");
  assert_geometry(wf_unsqueeze(z, -4), "[1, 2, 3, 4] [24, 12, 4, 1] +0");
  assert_geometry(wf_unsqueeze(empty, 0), "[1, 0, 3] [0, 3, 1] +0");
  assert_geometry(wf_unsqueeze(number, -1), "[1] [1] +0");
  assert_refused(wf_unsqueeze(z, 4), WF_INDEX,
                 "Dimension out of range (expected to be in range of [-4, 3], but got 4)");
}

static void slice_and_narrow(void **state) {
  (void)state;
  assert_geometry(wf_slice(z, 1, -100, 100, 2), "[2, 2, 4] [12, 8, 1] +0");
  assert_geometry(wf_slice(z, 1, 2, 1, 1), "[2, 0, 4] [12, 4, 1] +8");
  assert_geometry(wf_slice(z, 1, 5, 9, 1), "[2, 0, 4] [12, 4, 1] +12");
  assert_geometry(wf_slice(z, 1, WF_NONE, WF_NONE, (int64_t)1 << 62), "[2, 1, 4] [12, 0, 1] +0");
  assert_geometry(wf_slice(empty, 0, 1, 5, 1), "[0, 3] [3, 1] +0");
  assert_geometry(wf_slice(z, -1, INT64_MIN + 1, INT64_MAX, INT64_MAX), "[2, 3, 1] [12, 4, 9223372036854775807] +0");
  assert_refused(wf_slice(number, 7, 0, 1, 0), WF_INDEX, "slice() cannot be applied to a 0-dim tensor.");
  assert_refused(wf_slice(z, 0, 0, 1, 0), WF_RUNTIME, "slice step must be positive");
  assert_refused(wf_slice(z, 7, 0, 1, 0), WF_INDEX,
                 "Dimension out of range (expected to be in range of [-3, 2], but got 7)");
  assert_geometry(wf_narrow(z, 1, 3, 0), "[2, 0, 4] [12, 4, 1] +12");
  assert_geometry(wf_narrow(z, 1, -1, 1), "[2, 1, 4] [12, 4, 1] +8");
  assert_refused(wf_narrow(number, 0, 0, 0), WF_RUNTIME, "narrow() cannot be applied to a 0-dim tensor.");
  assert_refused(wf_narrow(z, 9, 0, -1), WF_RUNTIME, "narrow(): length must be non-negative.");
  assert_refused(wf_narrow(z, 1, 4, 0), WF_INDEX, "start out of range (expected to be in range of [-3, 3], but got 4)");
  assert_refused(wf_narrow(z, 1, -1, 2), WF_RUNTIME, "start (2) + length (2) exceeds dimension size (3).");
  assert_refused(wf_narrow(z, 1, 1, INT64_MAX), WF_RUNTIME,
                 "start (1) + length (9223372036854775807) exceeds dimension size (3).");
}

static void select_diagonal_unfold(void **state) {
  (void)state;
  assert_geometry(wf_select(z, 1, -1), "[2, 4] [12, 1] +8");
  assert_refused(wf_select(number, 5, 0), WF_INDEX, "select() cannot be applied to a 0-dim tensor.");
  assert_refused(wf_select(z, 1, 3), WF_INDEX,
                 "select(): index 3 out of range for tensor of size [2, 3, 4] at dimension 1");
  assert_geometry(wf_diagonal(z, 1, 2, 0), "[3, 1] [4, 13] +12");
  assert_geometry(wf_diagonal(z, -1, 2, 0), "[3, 2] [4, 13] +1");
  assert_geometry(wf_diagonal(z, INT64_MIN, 0, 1), "[4, 0] [1, 16] +0");
  assert_geometry(wf_diagonal(z, (int64_t)1 << 62, 0, 1), "[4, 0] [1, 16] +0");
  assert_geometry(wf_diagonal(empty, 0, 0, 1), "[0] [4] +0");
  assert_refused(wf_diagonal(z, 0, 1, -2), WF_RUNTIME, "diagonal dimensions cannot be identical 1, -2");
  assert_refused(wf_diagonal(number, 0, 0, 1), WF_INDEX,
                 "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
  assert_geometry(wf_unfold(z, 2, 2, 3), "[2, 3, 1, 2] [12, 4, 3, 1] +0");
  assert_geometry(wf_unfold(z, -1, 2, 1), "[2, 3, 3, 2] [12, 4, 1, 1] +0");
  assert_geometry(wf_unfold(z, 2, 0, 1), "[2, 3, 5, 0] [12, 4, 1, 1] +0");
  assert_geometry(wf_unfold(number, 0, 1, 1), "[1] [1] +0");
  assert_geometry(wf_unfold(empty, 0, 0, 1), "[1, 3, 0] [3, 1, 3] +0");
  assert_refused(wf_unfold(z, 0, -1, 0), WF_RUNTIME, "size is -1 but must be >= 0");
  assert_refused(wf_unfold(z, 0, 3, 0), WF_RUNTIME, "maximum size for tensor at dimension 0 is 2 but size is 3");
  assert_refused(wf_unfold(z, 0, 1, 0), WF_RUNTIME, "step is 0 but must be > 0");
}

static void expand_and_as_strided(void **state) {
  (void)state;
  assert_geometry(wf_expand(with_ones, WF_SHAPE(2, -1, 2, 5, 3)), "[2, 1, 2, 5, 3] [0, 6, 3, 0, 1] +0");
  assert_geometry(wf_broadcast_to(number, WF_SHAPE(2, 2)), "[2, 2] [0, 0] +0");
  assert_geometry(wf_as_strided(z, WF_SHAPE(0), WF_SHAPE(1), 1000), "[0] [1] +1000");
  assert_geometry(wf_as_strided(z, WF_SHAPE(1), WF_SHAPE(9), WF_NONE), "[1] [9] +0");
  wf_tensor *row = wf_select(z, 0, 1);
  assert_geometry(wf_as_strided(row, WF_SHAPE(2), WF_SHAPE(1), WF_NONE), "[2] [1] +12");
  assert_geometry(wf_as_strided(row, WF_SHAPE(24), WF_SHAPE(1), 0), "[24] [1] +0"); /* only the storage bounds it */
  wf_free(row);
  assert_refused(wf_as_strided(z, WF_SHAPE(1, 0), WF_SHAPE0, 1), WF_RUNTIME, "mismatch in length of strides and shape");
  assert_refused(wf_as_strided(z, WF_SHAPE(-1), WF_SHAPE(-1), -5), WF_RUNTIME,
                 "as_strided: Negative strides are not supported at the moment, got strides: [-1]");
  assert_refused(wf_as_strided(z, WF_SHAPE(0), WF_SHAPE(1), -5), WF_RUNTIME, "Tensor: invalid storage offset -5");
  assert_refused(
      wf_as_strided(z, WF_SHAPE(2), WF_SHAPE(1), 23), WF_RUNTIME,
      "setStorage: sizes [2], strides [1], storage offset 23, and itemsize 4 requiring a storage size of 100 are out of bounds for "
      "storage of size 96");
  assert_refused(wf_as_strided(z, WF_SHAPE(4096), WF_SHAPE(0), INT64_MAX), WF_RUNTIME,
                 "Storage size calculation overflowed with sizes=[4096] and strides=[0]");
  assert_refused(wf_as_strided(z, WF_SHAPE0, WF_SHAPE0, INT64_MAX), WF_RUNTIME,
                 "Storage size calculation overflowed with sizes=[]");
  assert_refused(wf_as_strided(z, WF_SHAPE(2, 2), WF_SHAPE(2, 1), INT64_MAX), WF_RUNTIME,
                 "Storage size calculation overflowed with sizes=[2, 2] and strides=[2, 1]");
  assert_refused(wf_as_strided(z, WF_SHAPE((int64_t)1 << 32, (int64_t)1 << 32), WF_SHAPE(0, 0), 0), WF_RUNTIME,
                 "numel: integer multiplication overflow");
  assert_refused(wf_as_strided(z, WF_SHAPE(-1, 0), WF_SHAPE(2, 1), 0), WF_RUNTIME,
                 "numel: integer multiplication overflow");
}

/* "[2, 2, 4] [12, 4, 1] +0; …" of a list, which is freed. */
static const char *list_text(wf_tensors list) {
  static char text[1000];
  text[0] = 0;
  for (int i = 0; i < list.n; i++) sprintf(text + strlen(text), "%s%s", i ? "; " : "", geometry_text(list.at[i]));
  wf_tensors_free(list);
  return text;
}

static void lists_of_pieces(void **state) {
  (void)state;
  assert_string_equal(list_text(wf_split(z, 2, 1)), "[2, 2, 4] [12, 4, 1] +0; [2, 1, 4] [12, 4, 1] +8");
  assert_string_equal(list_text(wf_split(z, (int64_t)1 << 62, 1)), "[2, 3, 4] [12, 4, 1] +0");
  assert_string_equal(list_text(wf_split(empty, 0, 0)), "[0, 3] [3, 1] +0");
  assert_string_equal(list_text(wf_split_with_sizes(z, WF_SHAPE(0, 3, 0), 1)),
                      "[2, 0, 4] [12, 4, 1] +0; [2, 3, 4] [12, 4, 1] +0; [2, 0, 4] [12, 4, 1] +12");
  assert_string_equal(list_text(wf_split_with_sizes(empty, WF_SHAPE0, 0)), ""); /* a list of none */
  assert_string_equal(list_text(wf_chunk(z, 2, 1)), "[2, 2, 4] [12, 4, 1] +0; [2, 1, 4] [12, 4, 1] +8");
  assert_string_equal(list_text(wf_chunk(z, 9, 1)),
                      "[2, 1, 4] [12, 4, 1] +0; [2, 1, 4] [12, 4, 1] +4; [2, 1, 4] [12, 4, 1] +8");
  assert_string_equal(list_text(wf_chunk(empty, 3, 0)), "[0, 3] [3, 1] +0; [0, 3] [3, 1] +0; [0, 3] [3, 1] +0");
  assert_string_equal(list_text(wf_tensor_split(z, 3, 2)),
                      "[2, 3, 2] [12, 4, 1] +0; [2, 3, 1] [12, 4, 1] +2; [2, 3, 1] [12, 4, 1] +3");
  assert_string_equal(
      list_text(wf_tensor_split_at(z, WF_SHAPE(3, 1, -1, 9), 2)),
      "[2, 3, 3] [12, 4, 1] +0; [2, 3, 0] [12, 4, 1] +3; [2, 3, 2] [12, 4, 1] +1; [2, 3, 1] [12, 4, 1] +3; [2, 3, 0] [12, "
      "4, 1] +4");
  assert_string_equal(list_text(wf_unbind(z, 1)), "[2, 4] [12, 1] +0; [2, 4] [12, 1] +4; [2, 4] [12, 1] +8");
  assert_string_equal(list_text(wf_unbind(empty, 1)), "[0] [3] +0; [0] [3] +1; [0] [3] +2");
}

static void lists_are_refused_in_pytorchs_words(void **state) {
  (void)state;
  assert_refused(wf_split(number, -1, 5).at, WF_RUNTIME, "split expects at least a 1-dimensional tensor");
  assert_refused(wf_split(z, -1, 9).at, WF_RUNTIME, "split expects split_size be non-negative, but got split_size=-1");
  assert_refused(wf_split(z, 0, 0).at, WF_RUNTIME,
                 "split_size can only be 0 if dimension size is 0, but got dimension size of 2");
  assert_refused(wf_split_with_sizes(z, WF_SHAPE(4, -1), 1).at, WF_RUNTIME,
                 "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=[4, -1]");
  assert_refused(
      wf_split_with_sizes(z, WF_SHAPE(1, 1), -2).at, WF_RUNTIME,
      "split_with_sizes expects split_sizes to sum exactly to 3 (input tensor's size at dimension -2), but got split_sizes=[1, 1]");
  assert_refused(wf_chunk(z, 0, 9).at, WF_RUNTIME, "chunk expects `chunks` to be greater than 0, got: 0");
  assert_refused(wf_chunk(number, -1, 0).at, WF_RUNTIME, "chunk expects at least a 1-dimensional tensor");
  assert_refused(wf_tensor_split(number, 0, 9).at, WF_RUNTIME,
                 "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  assert_refused(wf_tensor_split(z, 0, 9).at, WF_INDEX,
                 "Dimension out of range (expected to be in range of [-3, 2], but got 9)");
  assert_refused(wf_tensor_split(z, -2, 1).at, WF_RUNTIME, "number of sections must be larger than 0, got -2");
  assert_refused(wf_unbind(number, 0).at, WF_INDEX, "Dimension specified as 0 but tensor has no dimensions");
}

static void a_view_of_other_elements_needs_strides_that_divide(void **state) {
  (void)state; /* torch.zeros(2, 4).view(dtype) */
  wf_scope s = wf_scope_begin();
  wf_tensor *m = wf_zeros(WF_SHAPE(2, 4), NULL), *column = wf_as_strided(m, WF_SHAPE(2, 2), WF_SHAPE(3, 1), 0);
  assert_geometry(wf_view_dtype(m, WF_F64), "[2, 2] [2, 1] +0");
  assert_geometry(wf_view_dtype(m, WF_I32), "[2, 4] [4, 1] +0");
  assert_geometry(wf_view_dtype(m, WF_F16), "[2, 8] [8, 1] +0");
  assert_geometry(wf_view_dtype(wf_slice(m, 0, 1, 2, 1), WF_U8), "[1, 16] [16, 1] +16");
  assert_geometry(wf_view_dtype(number, WF_I32), "[] [] +0");
  assert_refused(wf_view_dtype(number, WF_F64), WF_RUNTIME,
                 "self.dim() cannot be 0 to view Float as Double (different element sizes)");
  assert_refused(wf_view_dtype(wf_t(m), WF_I8), WF_RUNTIME,
                 "self.stride(-1) must be 1 to view Float as Char (different element sizes), but got 4");
  assert_refused(wf_view_dtype(empty, WF_F64), WF_RUNTIME,
                 "self.size(-1) must be divisible by 2 to view Float as Double (different element sizes), but got 3");
  assert_refused(
      wf_view_dtype(wf_slice(m, 1, 1, 3, 1), WF_F64), WF_RUNTIME,
      "self.storage_offset() must be divisible by 2 to view Float as Double (different element sizes), but got 1");
  assert_refused(wf_view_dtype(column, WF_F64), WF_RUNTIME,
                 "self.stride(0) must be divisible by 2 to view Float as Double (different element sizes), but got 3");
  wf_scope_end(s, NULL);
}

static void views_share_storage_and_version_and_data_only_storage(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  wf_tensor *view = wf_view(z, WF_SHAPE(24)), *detached = wf_detach(z), *data = wf_data_of(z),
            *bytes = wf_view_dtype(z, WF_U8);
  wf_tensor *inner = wf_slice(wf_alias(view), 0, 1, 3, 1);
  float *at = wf_tensor_map(inner, WF_WRITE);
  at[0] = 100;
  wf_tensor_unmap(inner);
  wf_tensor *sharing[] = {z, view, detached, bytes, inner};
  for (int i = 0; i < 5; i++) {
    assert_true(wf_shares_storage(z, sharing[i]));
    assert_int_equal(wf_version_of(sharing[i]), 1);
  }
  assert_true(wf_shares_storage(z, data));
  assert_int_equal(wf_version_of(data), 0);
  assert_ptr_equal(inner->base, z); /* the base of a view of a view is what isn't a view */
  assert_null(detached->base);
  assert_null(bytes->base);
  assert_elements(wf_narrow(data, 2, 1, 1), 100, 5, 9, 13, 17, 21);
  wf_scope_end(s, NULL);
}

static void changes_of_geometry_in_place_count_as_changes(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  wf_tensor *y = wf_view(with_ones, WF_SHAPE(1, 2, 1, 3));
  assert_ok(wf_squeeze_(y, WF_SHAPE0));
  assert_string_equal(geometry_text(y), "[2, 3] [3, 1] +0");
  assert_ok(wf_t_(y));
  assert_string_equal(geometry_text(y), "[3, 2] [1, 3] +0");
  assert_ok(wf_unsqueeze_(y, 0));
  assert_string_equal(geometry_text(y), "[1, 3, 2] [3, 1, 3] +0");
  assert_ok(wf_transpose_(y, 0, 2));
  assert_string_equal(geometry_text(y), "[2, 3, 1] [3, 1, 3] +0");
  assert_ok(wf_squeeze_(y, WF_SHAPE(0))); /* nothing to drop: counts all the same */
  assert_ok(wf_as_strided_(y, WF_SHAPE(2), WF_SHAPE(3), 1));
  assert_string_equal(geometry_text(y), "[2] [3] +1");
  assert_int_equal(wf_version_of(with_ones), 6);
  assert_string_equal(geometry_text(with_ones), "[1, 2, 1, 3] [6, 3, 3, 1] +0");
  assert_refused(wf_unsqueeze_(y, 3) == WF_OK, WF_INDEX,
                 "Dimension out of range (expected to be in range of [-2, 1], but got 3)");
  assert_refused(
      wf_as_strided_(y, WF_SHAPE(20), WF_SHAPE(3), 1) == WF_OK, WF_RUNTIME,
      "setStorage: sizes [20], strides [3], storage offset 1, and itemsize 4 requiring a storage size of 236 are out of bounds for "
      "storage of size 24");
  assert_string_equal(geometry_text(y), "[2] [3] +1");
  assert_int_equal(wf_version_of(y), 6);
  wf_tensor *cube = wf_view(z, WF_SHAPE(2, 3, 4));
  assert_refused(wf_t_(cube) == WF_OK, WF_RUNTIME, "t_() expects a tensor with <= 2 dimensions, but self is 3D");
  wf_scope_end(s, NULL);
}

static void resize_grows_the_storage_and_never_shrinks_it(void **state) {
  (void)state; /* x = torch.zeros(2, 3); x.resize_(…) */
  const wf_memory_format none = WF_FORMAT_PRESERVE;
  wf_scope s = wf_scope_begin();
  wf_tensor *x = wf_zeros(WF_SHAPE(2, 3), NULL);
  assert_ok(wf_resize_(x, WF_SHAPE(2, 3), none));
  assert_int_equal(wf_version_of(x), 0);
  assert_ok(wf_resize_(x, WF_SHAPE(4, 4), none));
  assert_string_equal(geometry_text(x), "[4, 4] [4, 1] +0");
  assert_int_equal(wf_storage_nbytes(x), 64);
  assert_int_equal(wf_version_of(x), 1);
  assert_ok(wf_resize_(x, WF_SHAPE(0, 1 << 20), none));
  assert_int_equal(wf_storage_nbytes(x), 64);
  assert_ok(wf_resize_(x, WF_SHAPE(2, 3, 2, 1), WF_FORMAT_CHANNELS_LAST));
  assert_string_equal(geometry_text(x), "[2, 3, 2, 1] [6, 1, 3, 3] +0");
  assert_ok(wf_resize_(x, WF_SHAPE(2, 3, 2, 1), none)); /* equal sizes: the strides stay */
  assert_string_equal(geometry_text(x), "[2, 3, 2, 1] [6, 1, 3, 3] +0");
  assert_ok(wf_resize_(x, WF_SHAPE(2, 3, 2, 1), WF_FORMAT_CONTIGUOUS)); /* unless a format is given */
  assert_string_equal(geometry_text(x), "[2, 3, 2, 1] [6, 2, 1, 1] +0");
  assert_int_equal(wf_version_of(x), 3);
  wf_tensor *part = wf_slice(x, 0, 1, 2, 1);
  assert_ok(wf_resize_(part, WF_SHAPE(20), none));
  assert_string_equal(geometry_text(part), "[20] [1] +6");
  assert_int_equal(wf_storage_nbytes(x), 104);
  assert_refused(wf_resize_(x, WF_SHAPE(2, -1), none) == WF_OK, WF_RUNTIME, "numel: integer multiplication overflow");
  assert_refused(wf_resize_(x, WF_SHAPE((int64_t)1 << 62), none) == WF_OK, WF_RUNTIME,
                 "Storage size calculation overflowed with sizes=[4611686018427387904]");
  assert_refused(wf_resize_(x, WF_SHAPE(0, (int64_t)1 << 40, (int64_t)1 << 40), none) == WF_OK, WF_RUNTIME,
                 "Stride calculation overflowed");
  assert_refused(wf_resize_(x, WF_SHAPE(2, 3), WF_FORMAT_CHANNELS_LAST) == WF_OK, WF_RUNTIME,
                 "required rank 4 tensor to use channels_last format");
  assert_refused(wf__call_resize_(x, WF_SHAPE(2, 3), WF_FORMAT_PRESERVE) == WF_OK, WF_RUNTIME,
                 "Unsupported memory formatPreserve");
  wf_tensor_options grad = wf_tensor_defaults();
  grad.requires_grad = true;
  assert_refused(wf_resize_(wf_zeros(WF_SHAPE(2), &grad), WF_SHAPE(2), none) == WF_OK, WF_RUNTIME,
                 "cannot resize variables that require grad");
  float foreign[2] = {1, 2};
  wf_tensor *f = wf_from_memory(foreign, sizeof foreign, WF_SHAPE(2), WF_SHAPE0, WF_F32, NULL, NULL);
  assert_ok(wf_resize_(f, WF_SHAPE(1), none));
  assert_refused(wf_resize_(f, WF_SHAPE(3), none) == WF_OK, WF_RUNTIME,
                 "Trying to resize storage that is not resizable");
  assert_string_equal(geometry_text(f), "[1] [1] +0");
  wf_scope_end(s, NULL);
}

static void set_takes_over_storage_and_geometry(void **state) {
  (void)state; /* x = torch.arange(6.).reshape(2, 3); y = torch.arange(10.); x.set_(y, …) */
  wf_scope s = wf_scope_begin();
  float data[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  wf_tensor *x = wf_from_data(data, WF_SHAPE(2, 3), WF_F32), *y = wf_from_data(data, WF_SHAPE(10), WF_F32);
  assert_ok(wf_set_(x, y, 2, WF_SHAPE(2, 2), WF_SHAPE(3, 1)));
  assert_string_equal(geometry_text(x), "[2, 2] [3, 1] +2");
  assert_true(wf_shares_storage(x, y));
  assert_int_equal(wf_version_of(x), 1);
  assert_int_equal(wf_version_of(y), 0);
  assert_elements_of(x, 2, 3, 5, 6);
  assert_ok(wf_set_(x, wf_slice(y, 0, 2, 5, 1), 1, WF_SHAPE(2), WF_SHAPE(2)));
  assert_string_equal(geometry_text(x), "[2] [2] +3");
  assert_ok(wf_set_to_(x, wf_slice(y, 0, 2, 5, 1)));
  assert_string_equal(geometry_text(x), "[3] [1] +2");
  assert_ok(wf_set_(x, y, 2, WF_SHAPE(20), WF_SHAPE0)); /* no bounds check: the storage grows */
  assert_int_equal(wf_storage_nbytes(y), 88);
  assert_refused(wf_set_(x, y, -2, WF_SHAPE(2), WF_SHAPE0) == WF_OK, WF_RUNTIME, "Tensor: invalid storage offset -2");
  assert_refused(wf_set_(x, y, 0, WF_SHAPE(2), WF_SHAPE(1, 1)) == WF_OK, WF_RUNTIME,
                 "unequal size length (1) and stride length (2)");
  assert_refused(wf_set_(x, y, 0, WF_SHAPE(2), WF_SHAPE(-1)) == WF_OK, WF_RUNTIME,
                 "Storage size calculation overflowed with sizes=[2] and strides=[-1]");
  wf_tensor *integers = wf_from_data((int32_t[]){1}, WF_SHAPE(1), WF_I32);
  assert_refused(wf_set_to_(x, integers) == WF_OK, WF_RUNTIME,
                 "Could not set tensor of type int to a tensor of type float");
  wf_scope_end(s, NULL);
}

static void leaves_that_require_grad_keep_their_geometry(void **state) {
  (void)state;
  static const char text[] = "a leaf Variable that requires grad is being used in an in-place operation.";
  wf_tensor_options grad = wf_tensor_defaults();
  grad.requires_grad = true;
  wf_tensor *leaf = wf_zeros(WF_SHAPE(2, 3), &grad);
  assert_refused(wf_t_(leaf) == WF_OK, WF_RUNTIME, text);
  assert_refused(wf_unsqueeze_(leaf, 7) == WF_OK, WF_RUNTIME, text);
  assert_refused(wf_as_strided_(leaf, WF_SHAPE(2), WF_SHAPE(1), 0) == WF_OK, WF_RUNTIME, text);
  assert_refused(wf_set_to_(leaf, z) == WF_OK, WF_RUNTIME, text);
  assert_string_equal(geometry_text(leaf), "[2, 3] [3, 1] +0");
  wf_free(leaf);
}

static void names_of_derivatives_are_pytorchs(void **state) {
  (void)state;
  wf_scope s = wf_scope_begin();
  wf_tensor_options grad = wf_tensor_defaults();
  grad.requires_grad = true;
  wf_tensor *x = wf_zeros(WF_SHAPE(2, 3, 4), &grad), *m = wf_zeros(WF_SHAPE(2, 3), &grad);
  const struct {
    const char *name;
    wf_tensor *result;
  } rows[] = {
      {"ViewBackward0", wf_view(x, WF_SHAPE(24))},
      {"ViewBackward0", wf_reshape(x, WF_SHAPE(24))},
      {"UnsafeViewBackward0", wf_reshape(wf_t(m), WF_SHAPE(6))},
      {"ViewBackward0", wf_unflatten(x, 2, WF_SHAPE(2, 2))},
      {"TransposeBackward0", wf_transpose(x, 1, 1)},
      {"PermuteBackward0", wf_permute(x, WF_SHAPE(2, 0, 1))},
      {"PermuteBackward0", wf_movedim(x, WF_SHAPE(0), WF_SHAPE(1))},
      {"TBackward0", wf_t(m)},
      {"SliceBackward0", wf_narrow(x, 0, 0, 1)},
      {"SelectBackward0", wf_select(x, 0, 1)},
      {"ExpandBackward0", wf_expand_as(x, x)},
      {"SqueezeBackward0", wf_squeeze(x, WF_SHAPE0)},
      {"SqueezeBackward1", wf_squeeze(x, WF_SHAPE(1))},
      {"SqueezeBackward2", wf_squeeze(x, WF_SHAPE(0, 1))},
      {"UnsqueezeBackward0", wf_unsqueeze(x, 0)},
      {"DiagonalBackward0", wf_diagonal(x, 0, 0, 1)},
      {"UnfoldBackward0", wf_unfold(x, 0, 1, 1)},
      {"SplitBackward0", wf_chunk(x, 2, 0).at[1]},
      {"SplitWithSizesBackward0", wf_split_with_sizes(x, WF_SHAPE(1, 1), 0).at[0]},
      {"SliceBackward0", wf_tensor_split(x, 2, 0).at[0]},
      {"UnbindBackward0", wf_unbind(x, 0).at[0]},
      {"AsStridedBackward0", wf_as_strided(x, WF_SHAPE(2), WF_SHAPE(1), 0)},
      {"AliasBackward0", wf_alias(x)},
      {"", wf_detach(x)},
      {"", wf_view_dtype(x, WF_I32)},
      {"", wf_data_of(x)},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_string_equal(wf_grad_fn_name(rows[i].result), rows[i].name);
  wf_scope_end(s, NULL);
}

/* Fails each allocation of each operator in turn: no result, no reference and no memory may be lost. */
static void failing_any_allocation_loses_nothing(void **state) {
  (void)state;
  wf_tensor_options grad = wf_tensor_defaults();
  grad.requires_grad = true;
  wf_tensor *x = wf_zeros(WF_SHAPE(2, 3, 4), &grad);
  wf_allocator_stats before, after;
  assert_ok(wf_memory_stats(wf_cpu(), false, &before));
  int refs = x->refs;
  for (int64_t k = 1, reached = 1; reached; k++) {
    wf__fault_at(k);
    wf_scope s = wf_scope_begin();
    wf_view(x, WF_SHAPE(24));
    wf_reshape(wf_transpose(x, 0, 1), WF_SHAPE(24));
    wf_split(x, 1, 1);
    wf_split_with_sizes(x, WF_SHAPE(1, 2), 1);
    wf_unbind(x, 2);
    wf_tensor_split(x, 3, 2);
    wf_as_strided(wf_expand(wf_select(x, 0, 1), WF_SHAPE(5, 3, 4)), WF_SHAPE(3), WF_SHAPE(1), 0);
    wf_diagonal(wf_unfold(x, 2, 2, 1), 0, 0, 1);
    wf_tensor *y = wf_data_of(x);
    wf_transpose_(y, 0, 1);
    wf_resize_(y, WF_SHAPE(5, 5, 5), WF_FORMAT_PRESERVE);
    wf_scope_end(s, NULL);
    reached = wf__fault_count() >= k;
    wf__fault_at(0);
    assert_int_equal(wf_error_take().status, reached ? WF_NO_MEMORY : WF_OK);
    assert_int_equal(x->refs, refs);
    assert_string_equal(geometry_text(x), "[2, 3, 4] [12, 4, 1] +0");
  }
  wf_free(x);
  assert_ok(wf_memory_stats(wf_cpu(), false, &after));
  assert_int_equal(after.allocation[0].current, before.allocation[0].current - 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)
static const struct CMUnitTest tests[] = {
    TEST(view_and_reshape_give_pytorchs_strides),
    TEST(dims_that_only_look_mergeable_are_not_merged),
    TEST(a_reshape_that_copies_is_an_implicit_copy),
    TEST(flatten_and_unflatten),
    TEST(transpose_permute_movedim),
    TEST(squeeze_and_unsqueeze),
    TEST(slice_and_narrow),
    TEST(select_diagonal_unfold),
    TEST(expand_and_as_strided),
    TEST(lists_of_pieces),
    TEST(lists_are_refused_in_pytorchs_words),
    TEST(a_view_of_other_elements_needs_strides_that_divide),
    TEST(views_share_storage_and_version_and_data_only_storage),
    TEST(changes_of_geometry_in_place_count_as_changes),
    TEST(resize_grows_the_storage_and_never_shrinks_it),
    TEST(set_takes_over_storage_and_geometry),
    TEST(leaves_that_require_grad_keep_their_geometry),
    TEST(names_of_derivatives_are_pytorchs),
    TEST(failing_any_allocation_loses_nothing),
};
WF_TEST_MAIN("op/view", tests)
