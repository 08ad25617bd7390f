/* Joining and rearranging: sizes, strides, elements and error texts as torch 2.15 gives them for the same expressions, where m is
 * arange(6.).reshape(2, 3), z arange(24.).reshape(2, 3, 4), zt z.permute(2, 0, 1), img arange(16.).reshape(1, 4, 2, 2), cl img in
 * channels_last, v [3, -1, 2, -1, 5], number 7, none zeros(0), i2 [1, 0]. Derivatives by finite differences. */
#include "op/geometry.h"

#include <weft/weft.h>

#include "base/host.h"
#include "gradcheck.h"

#define L(...) \
  ((wf_tensors){(wf_tensor *[]){__VA_ARGS__}, (int)(sizeof((wf_tensor *[]){__VA_ARGS__}) / sizeof(wf_tensor *))})

static wf_tensor *m, *z, *zt, *img, *cl, *v, *number, *none, *i2;
static wf_scope fixture;

static wf_tensor *floats(wf_dims size, const double *at) {
  float data[32];
  int64_t n = 1;
  for (int i = 0; i < size.n; i++) n *= size.at[i];
  for (int64_t i = 0; i < n; i++) data[i] = at ? (float)at[i] : (float)i;
  return wf_from_data(data, size, WF_F32);
}

static int make(void **state) {
  fixture = wf_scope_begin();
  m = floats(WF_SHAPE(2, 3), NULL);
  z = floats(WF_SHAPE(2, 3, 4), NULL);
  zt = wf_permute(z, WF_SHAPE(2, 0, 1));
  img = floats(WF_SHAPE(1, 4, 2, 2), NULL);
  cl = wf_contiguous(img, WF_FORMAT_CHANNELS_LAST);
  v = floats(WF_SHAPE(5), (const double[]){3, -1, 2, -1, 5});
  number = floats(WF_SHAPE0, (const double[]){7});
  none = floats(WF_SHAPE(0), NULL);
  i2 = wf_from_data((const int64_t[]){1, 0}, WF_SHAPE(2), WF_I64);
  return wf_error_peek().status;
}

static int drop(void **state) {
  wf_scope_end(fixture, NULL);
  return 0;
}

static void cat_joins_in_place_and_skips_old_empty_tensors(void **state) {
  wf_scope scope = wf_scope_begin();
  assert_geometry(wf_cat(L(m, m), 0), "[4, 3] [3, 1] +0");
  assert_elements(wf_cat(L(m, m), 0), 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5);
  assert_geometry(wf_cat(L(m, m), -1), "[2, 6] [6, 1] +0");
  assert_elements(wf_cat(L(m, m), -1), 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5);
  assert_geometry(wf_cat(L(none, m, m), 1), "[2, 6] [6, 1] +0");
  assert_elements(wf_cat(L(none, m, m), 1), 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5);
  assert_geometry(wf_cat(L(none, none), 0), "[0] [1] +0");
  assert_geometry(wf_cat(L(zt, zt), 1), "[4, 4, 3] [12, 3, 1] +0");
  assert_geometry(wf_cat(L(cl, cl), 2), "[1, 4, 4, 2] [32, 1, 8, 4] +0");
  assert_geometry(wf_cat(L(cl, img), 2), "[1, 4, 4, 2] [32, 8, 2, 1] +0");
  assert_geometry(wf_cat(L(wf_t(m), wf_slice(m, 1, 0, 2, 1)), 0), "[5, 2] [2, 1] +0");
  assert_elements(wf_cat(L(wf_t(m), wf_slice(m, 1, 0, 2, 1)), 0), 0, 3, 1, 4, 2, 5, 0, 1, 3, 4);
  assert_refused(
      wf_cat(L(m, wf_t(m)), 0), WF_RUNTIME,
      "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 2 for tensor number 1 in the list.");
  assert_refused(wf_cat(L(m, v), 0), WF_RUNTIME, "Tensors must have same number of dimensions: got 2 and 1");
  assert_refused(wf_cat(L(m, m), 2), WF_INDEX,
                 "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
  assert_refused(wf_cat(L(m, number), 0), WF_RUNTIME, "zero-dimensional tensor (at position 1) cannot be concatenated");
  assert_refused(wf_cat((wf_tensors){NULL, 0}, 0), WF_VALUE, "torch.cat(): expected a non-empty list of Tensors");
  wf_scope_end(scope, NULL);
}

static void cat_promotes(void **state) {
  wf_scope scope = wf_scope_begin();
  wf_tensor_options o = wf_tensor_defaults();
  o.dtype = WF_F64;
  wf_tensor *both = wf_cat(L(i2, v), 0), *none64 = wf_zeros(WF_SHAPE(0), &o);
  assert_int_equal(wf_dtype_of(both), WF_F32);
  assert_elements(both, 1, 0, 3, -1, 2, -1, 5);
  assert_int_equal(wf_dtype_of(wf_cat(L(none64, v), 0)), WF_F64); /* skipped, but it has a say in the dtype */
  wf_scope_end(scope, NULL);
}

static void stack_has_the_strides_of_a_split_cat(void **state) {
  wf_scope scope = wf_scope_begin();
  assert_geometry(wf_stack(L(m, m), 0), "[2, 2, 3] [6, 3, 1] +0");
  assert_elements(wf_stack(L(m, m), 0), 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5);
  assert_geometry(wf_stack(L(m, m), 1), "[2, 2, 3] [6, 3, 1] +0");
  assert_elements(wf_stack(L(m, m), 1), 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5);
  assert_geometry(wf_stack(L(m, wf_neg(m)), -1), "[2, 3, 2] [6, 2, 1] +0");
  assert_elements(wf_stack(L(m, wf_neg(m)), -1), 0, 0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5);
  assert_geometry(wf_stack(L(number, number), 0), "[2] [1] +0");
  assert_elements(wf_stack(L(number, number), 0), 7, 7);
  assert_geometry(wf_stack(L(zt, zt), 1), "[4, 2, 2, 3] [12, 6, 3, 1] +0");
  assert_geometry(wf_stack(L(cl, cl), 0), "[2, 1, 4, 2, 2] [16, 4, 1, 8, 4] +0");
  assert_geometry(wf_stack(L(cl, cl), 1), "[1, 2, 4, 2, 2] [8, 4, 1, 16, 8] +0");
  assert_geometry(wf_stack(L(cl, cl), 3), "[1, 4, 2, 2, 2] [4, 1, 16, 8, 4] +0");
  assert_geometry(wf_stack(L(cl, cl), 4), "[1, 4, 2, 2, 2] [32, 8, 4, 2, 1] +0");
  wf_tensor *thin = wf_permute(wf_ones(WF_SHAPE(3, 3, 3, 1), NULL), WF_SHAPE(0, 3, 1, 2));
  assert_geometry(wf_stack(L(thin, thin), 4),
                  "[3, 1, 3, 3, 2] [18, 1, 6, 2, 1] +0"); /* as [3, 1, 3, 3, 1], in channels_last_3d */
  assert_refused(wf_stack(L(m, v), 0), WF_RUNTIME,
                 "stack expects each tensor to be equal size, but got [2, 3] at entry 0 and [5] at entry 1");
  assert_refused(wf_stack(L(m, m), 3), WF_INDEX,
                 "Dimension out of range (expected to be in range of [-3, 2], but got 3)");
  assert_refused(wf_stack((wf_tensors){NULL, 0}, 0), WF_RUNTIME, "stack expects a non-empty TensorList");
  wf_scope_end(scope, NULL);
}

static void flip_turns_dims_round_and_keeps_strides(void **state) {
  wf_scope scope = wf_scope_begin();
  assert_geometry(wf_flip(m, WF_SHAPE(0)), "[2, 3] [3, 1] +0");
  assert_elements(wf_flip(m, WF_SHAPE(0)), 3, 4, 5, 0, 1, 2);
  assert_elements(wf_flip(m, WF_SHAPE(-1, 0)), 5, 4, 3, 2, 1, 0);
  assert_geometry(wf_flip(wf_t(m), WF_SHAPE(0)), "[3, 2] [1, 3] +0");
  assert_elements(wf_flip(wf_t(m), WF_SHAPE(0)), 2, 5, 1, 4, 0, 3);
  assert_geometry(wf_flip(zt, WF_SHAPE(1)), "[4, 2, 3] [1, 12, 4] +0");
  assert_geometry(wf_flip(wf_slice(m, 1, 0, 3, 2), WF_SHAPE(1)), "[2, 2] [2, 1] +0");
  assert_elements(wf_flip(wf_slice(m, 1, 0, 3, 2), WF_SHAPE(1)), 2, 0, 5, 3);
  assert_geometry(wf_flip(wf_expand(v, WF_SHAPE(2, 5)), WF_SHAPE(0)), "[2, 5] [5, 1] +0");
  assert_geometry(wf_flip(number, WF_SHAPE0), "[] [] +0");
  assert_elements(wf_flip(number, WF_SHAPE0), 7);
  assert_refused(wf_flip(m, WF_SHAPE(0, -2)), WF_RUNTIME, "dim 0 appears multiple times in the list of dims");
  assert_refused(wf_flip(m, WF_SHAPE(2)), WF_INDEX,
                 "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
  wf_scope_end(scope, NULL);
}

static void roll_moves_elements_on_in_dims_and_in_the_flattened_tensor(void **state) {
  wf_scope scope = wf_scope_begin();
  assert_geometry(wf_roll(m, WF_SHAPE(1), WF_SHAPE(1)), "[2, 3] [3, 1] +0");
  wf_tensor *thin = wf_permute(wf_reshape(v, WF_SHAPE(5, 1, 1, 1)), WF_SHAPE(1, 2, 0, 3));
  assert_elements(wf_roll(m, WF_SHAPE(1), WF_SHAPE(1)), 2, 0, 1, 5, 3, 4);
  assert_geometry(wf_roll(thin, WF_SHAPE(1), WF_SHAPE(2)), "[1, 1, 5, 1] [5, 5, 1, 1] +0");
  assert_geometry(wf_roll(cl, WF_SHAPE(1), WF_SHAPE(2)), "[1, 4, 2, 2] [16, 1, 8, 4] +0");
  assert_geometry(wf_roll(cl, WF_SHAPE(2), WF_SHAPE(2)),
                  "[1, 4, 2, 2] [16, 4, 2, 1] +0"); /* one of the two pieces is empty */
  assert_elements(wf_roll(m, WF_SHAPE(-1, 4), WF_SHAPE(0, 1)), 5, 3, 4, 2, 0, 1);
  assert_elements(wf_roll(m, WF_SHAPE(1, 1), WF_SHAPE(1, 1)), 1, 2, 0, 4, 5, 3);
  assert_geometry(wf_roll(m, WF_SHAPE(4), WF_SHAPE0), "[2, 3] [3, 1] +0");
  assert_elements(wf_roll(m, WF_SHAPE(4), WF_SHAPE0), 2, 3, 4, 5, 0, 1);
  assert_geometry(wf_roll(wf_t(m), WF_SHAPE(-1), WF_SHAPE0), "[3, 2] [2, 1] +0");
  assert_elements(wf_roll(wf_t(m), WF_SHAPE(-1), WF_SHAPE0), 3, 1, 4, 2, 5, 0);
  assert_elements(wf_roll(wf_slice(v, 0, 0, 5, 2), WF_SHAPE(7), WF_SHAPE0), 5, 3, 2);
  assert_geometry(wf_roll(zt, WF_SHAPE(1), WF_SHAPE(0)), "[4, 2, 3] [6, 3, 1] +0");
  assert_geometry(wf_roll(cl, WF_SHAPE(1), WF_SHAPE(1)), "[1, 4, 2, 2] [16, 1, 8, 4] +0");
  assert_refused(wf_roll(m, WF_SHAPE0, WF_SHAPE0), WF_RUNTIME, "`shifts` required");
  assert_refused(wf_roll(m, WF_SHAPE(1, 2), WF_SHAPE(1)), WF_RUNTIME,
                 "shifts and dimensions must align. shifts: 2, dims:1");
  assert_refused(wf_roll(number, WF_SHAPE(1), WF_SHAPE(0)), WF_INDEX,
                 "Dimension specified as 0 but tensor has no dimensions");
  wf_scope_end(scope, NULL);
}

static void repeat_and_repeat_interleave_are_row_major(void **state) {
  wf_scope scope = wf_scope_begin();
  assert_geometry(wf_repeat(m, WF_SHAPE(2, 2)), "[4, 6] [6, 1] +0");
  assert_elements(wf_repeat(m, WF_SHAPE(2, 2)), 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5);
  assert_geometry(wf_repeat(wf_t(m), WF_SHAPE(2, 1, 2)), "[2, 3, 4] [12, 4, 1] +0");
  assert_elements(wf_repeat(wf_t(m), WF_SHAPE(2, 1, 2)), 0, 3, 0, 3, 1, 4, 1, 4, 2, 5, 2, 5, 0, 3, 0, 3, 1, 4, 1, 4, 2,
                  5, 2, 5);
  assert_geometry(wf_repeat(m, WF_SHAPE(0, 1)), "[0, 3] [3, 1] +0");
  assert_geometry(wf_repeat(number, WF_SHAPE(3)), "[3] [1] +0");
  assert_elements(wf_repeat(number, WF_SHAPE(3)), 7, 7, 7);
  assert_geometry(wf_repeat(cl, WF_SHAPE(1, 1, 1, 1)), "[1, 4, 2, 2] [16, 4, 2, 1] +0");
  assert_refused(wf_repeat(m, WF_SHAPE(2)), WF_RUNTIME,
                 "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  assert_refused(wf_repeat(m, WF_SHAPE(-1, 1)), WF_RUNTIME,
                 "Trying to create tensor with negative dimension -2: [-2, 3]");
  assert_geometry(wf_repeat_interleave(m, 2, 1), "[2, 6] [6, 1] +0");
  assert_elements(wf_repeat_interleave(m, 2, 1), 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5);
  assert_geometry(wf_repeat_interleave(wf_t(m), 2, WF_NONE), "[12] [1] +0");
  assert_elements(wf_repeat_interleave(wf_t(m), 2, WF_NONE), 0, 0, 3, 3, 1, 1, 4, 4, 2, 2, 5, 5);
  assert_geometry(wf_repeat_interleave_each(m, i2, 0), "[1, 3] [3, 1] +0");
  assert_elements(wf_repeat_interleave_each(m, i2, 0), 0, 1, 2);
  assert_refused(wf_repeat_interleave(m, -1, 0), WF_RUNTIME, "Repeats must be non-negative");
  assert_refused(
      wf_repeat_interleave_each(m, i2, 1), WF_RUNTIME,
      "repeats must have the same size as input along dim, but got repeats.size(0) = 2 and input.size(1) = 3");
  wf_scope_end(scope, NULL);
}

static void triangles_are_row_major(void **state) {
  wf_scope scope = wf_scope_begin();
  assert_geometry(wf_tril(z, 0), "[2, 3, 4] [12, 4, 1] +0");
  assert_elements(wf_tril(z, 0), 0, 0, 0, 0, 4, 5, 0, 0, 8, 9, 10, 0, 12, 0, 0, 0, 16, 17, 0, 0, 20, 21, 22, 0);
  assert_elements(wf_triu(m, 1), 0, 1, 2, 0, 0, 5);
  assert_elements(wf_tril(m, -5), 0, 0, 0, 0, 0, 0);
  assert_elements(wf_triu(m, -1), 0, 1, 2, 3, 4, 5);
  assert_geometry(wf_tril(wf_t(m), 0), "[3, 2] [2, 1] +0");
  assert_elements(wf_tril(wf_t(m), 0), 0, 0, 1, 4, 2, 5);
  assert_refused(wf_tril(v, 0), WF_RUNTIME, "tril: input tensor must have at least 2 dimensions");
  wf_scope_end(scope, NULL);
}

static void pad_fills_crops_mirrors_repeats_and_goes_round(void **state) {
  wf_scope scope = wf_scope_begin();
  assert_geometry(wf_pad(m, WF_SHAPE(1, 2), WF_PAD_CONSTANT, wf_float(9)), "[2, 6] [6, 1] +0");
  assert_elements(wf_pad(m, WF_SHAPE(1, 2), WF_PAD_CONSTANT, wf_float(9)), 9, 0, 1, 2, 9, 9, 9, 3, 4, 5, 9, 9);
  assert_elements(wf_pad(m, WF_SHAPE(1, 0, 0, 1), WF_PAD_CONSTANT, wf_no_scalar()), 0, 0, 1, 2, 0, 3, 4, 5, 0, 0, 0, 0);
  assert_geometry(wf_pad(m, WF_SHAPE(-1, 1), WF_PAD_CONSTANT, wf_no_scalar()), "[2, 3] [3, 1] +0");
  assert_elements(wf_pad(m, WF_SHAPE(-1, 1), WF_PAD_CONSTANT, wf_no_scalar()), 1, 2, 0, 4, 5, 0);
  assert_geometry(wf_pad(wf_t(m), WF_SHAPE(-1, 0), WF_PAD_CONSTANT, wf_no_scalar()), "[3, 1] [1, 3] +0");
  assert_elements(wf_pad(wf_t(m), WF_SHAPE(-1, 0), WF_PAD_CONSTANT, wf_no_scalar()), 3, 4, 5);
  assert_geometry(wf_pad(cl, WF_SHAPE(1, 1), WF_PAD_CONSTANT, wf_no_scalar()), "[1, 4, 2, 4] [32, 1, 16, 4] +0");
  assert_geometry(wf_pad(m, WF_SHAPE(2, 1), WF_PAD_REFLECT, wf_no_scalar()), "[2, 6] [6, 1] +0");
  assert_elements(wf_pad(m, WF_SHAPE(2, 1), WF_PAD_REFLECT, wf_no_scalar()), 2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4);
  assert_geometry(wf_pad(m, WF_SHAPE(1, 2), WF_PAD_REPLICATE, wf_no_scalar()), "[2, 6] [6, 1] +0");
  assert_elements(wf_pad(m, WF_SHAPE(1, 2), WF_PAD_REPLICATE, wf_no_scalar()), 0, 0, 1, 2, 2, 2, 3, 3, 4, 5, 5, 5);
  assert_geometry(wf_pad(m, WF_SHAPE(3, 1), WF_PAD_CIRCULAR, wf_no_scalar()), "[2, 7] [7, 1] +0");
  assert_elements(wf_pad(m, WF_SHAPE(3, 1), WF_PAD_CIRCULAR, wf_no_scalar()), 0, 1, 2, 0, 1, 2, 0, 3, 4, 5, 3, 4, 5, 3);
  assert_elements(wf_pad(m, WF_SHAPE(-1, 1), WF_PAD_REPLICATE, wf_no_scalar()), 1, 2, 2, 4, 5, 5);
  assert_elements(wf_pad(m, WF_SHAPE(-1, 1), WF_PAD_REFLECT, wf_no_scalar()), 1, 2, 1, 4, 5, 4);
  assert_elements(wf_pad(m, WF_SHAPE(-1, 1), WF_PAD_CIRCULAR, wf_no_scalar()), 1, 2, 1, 4, 5, 4);
  assert_elements(wf_pad(z, WF_SHAPE(1, 1, 2, 0), WF_PAD_REFLECT, wf_no_scalar()), 9, 8, 9, 10, 11, 10, 5, 4, 5, 6, 7,
                  6, 1, 0, 1, 2, 3, 2, 5, 4, 5, 6, 7, 6, 9, 8, 9, 10, 11, 10, 21, 20, 21, 22, 23, 22, 17, 16, 17, 18,
                  19, 18, 13, 12, 13, 14, 15, 14, 17, 16, 17, 18, 19, 18, 21, 20, 21, 22, 23, 22);
  assert_geometry(wf_pad(cl, WF_SHAPE(1, 1, 1, 1), WF_PAD_REFLECT, wf_no_scalar()), "[1, 4, 4, 4] [64, 1, 16, 4] +0");
  assert_geometry(wf_pad(cl, WF_SHAPE(1, 1, 1, 1), WF_PAD_CIRCULAR, wf_no_scalar()), "[1, 4, 4, 4] [64, 16, 4, 1] +0");
  assert_refused(wf_pad(m, WF_SHAPE(1), WF_PAD_CONSTANT, wf_no_scalar()), WF_RUNTIME,
                 "Padding length must be divisible by 2");
  assert_refused(
      wf_pad(m, WF_SHAPE(0, 0, 0, 0, 0, 0), WF_PAD_CONSTANT, wf_no_scalar()), WF_RUNTIME,
      "Padding length should be less than or equal to two times the input dimension but got padding length 6 and input of dimension 2");
  assert_refused(wf_pad(m, WF_SHAPE(-2, -2), WF_PAD_CONSTANT, wf_no_scalar()), WF_RUNTIME,
                 "narrow(): length must be non-negative.");
  assert_refused(
      wf_pad(m, WF_SHAPE(3, 0), WF_PAD_REFLECT, wf_no_scalar()), WF_RUNTIME,
      "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding (3, 0) at dimension 1 of input [2, 3]");
  assert_refused(wf_pad(m, WF_SHAPE(4, 0), WF_PAD_CIRCULAR, wf_no_scalar()), WF_RUNTIME,
                 "Padding value causes wrapping around more than once.");
  assert_refused(wf_pad(m, WF_SHAPE(1, 0), WF_PAD_REFLECT, wf_float(1)), WF_RUNTIME,
                 "Padding mode \"reflect\" doesn't take in value argument");
  assert_refused(
      wf_pad(z, WF_SHAPE(1, 1, 4, 0), WF_PAD_REFLECT, wf_no_scalar()), WF_RUNTIME,
      "Argument #6: Padding size should be less than the corresponding input dimension, but got: padding (4, 0) at dimension 1 of input [2, 3, 4]");
  wf_scope_end(scope, NULL);
}

/* ---- derivatives ------------------------------------------------------------------------------------------------------------------------ */

static wf_tensor *cat_of(wf_tensor *const *in, void *context) {
  return wf_cat(L(in[0], wf_mul(in[1], in[1]), in[0]), 1);
}
static wf_tensor *stack_of(wf_tensor *const *in, void *context) {
  return wf_stack(L(wf_t(in[1]), wf_mul(in[0], in[0])), 1);
}
static wf_tensor *flip_of(wf_tensor *const *in, void *context) { return wf_mul(wf_flip(in[0], WF_SHAPE(0, 1)), in[0]); }
static wf_tensor *roll_of(wf_tensor *const *in, void *context) {
  return wf_mul(wf_roll(wf_roll(in[0], WF_SHAPE(1, -1), WF_SHAPE(0, 1)), WF_SHAPE(2), WF_SHAPE0), in[0]);
}
static wf_tensor *repeat_of(wf_tensor *const *in, void *context) {
  return wf_repeat(wf_mul(in[0], in[0]), WF_SHAPE(2, 1, 3));
}
static wf_tensor *interleave_of(wf_tensor *const *in, void *context) {
  return wf_repeat_interleave(wf_repeat_interleave_each(wf_mul(in[0], in[0]), i2, 0), 2, 1);
}
static wf_tensor *triangles_of(wf_tensor *const *in, void *context) {
  return wf_mul(wf_tril(in[0], 0), wf_triu(in[0], -1));
}
static wf_tensor *constant_of(wf_tensor *const *in, void *context) {
  wf_tensor *wide = wf_pad(in[0], WF_SHAPE(1, -1, -1, 2), WF_PAD_CONSTANT, wf_float(2));
  return wf_mul(wide, wide);
}
static wf_tensor *edges_of(wf_tensor *const *in, void *context) {
  wf_tensor *x = wf_mul(in[0], in[0]);
  wf_tensor *mirrored = wf_pad(x, WF_SHAPE(2, 1), WF_PAD_REFLECT, wf_no_scalar());
  wf_tensor *repeated = wf_pad(x, WF_SHAPE(2, 1), WF_PAD_REPLICATE, wf_no_scalar());
  return wf_cat(L(mirrored, repeated, wf_pad(x, WF_SHAPE(3, -1), WF_PAD_CIRCULAR, wf_no_scalar())), 1);
}

static void derivatives_agree_with_difference_quotients(void **state) {
  const gradcheck_input wide[] = {{WF_SHAPE(2, 3), NULL}, {WF_SHAPE(2, 3), NULL}},
                        mixed[] = {{WF_SHAPE(2, 3), NULL}, {WF_SHAPE(3, 2), NULL}};
  gradcheck_twice("cat", cat_of, NULL, wide, 2);
  gradcheck_twice("stack", stack_of, NULL, mixed, 2);
  gradcheck_twice("flip", flip_of, NULL, wide, 1);
  gradcheck_twice("roll", roll_of, NULL, wide, 1);
  gradcheck_twice("repeat", repeat_of, NULL, wide, 1);
  gradcheck_twice("repeat_interleave", interleave_of, NULL, wide, 1);
  gradcheck_twice("tril, triu", triangles_of, NULL, wide, 1);
  gradcheck_twice("pad", constant_of, NULL, wide, 1);
  gradcheck_twice("pad by index", edges_of, NULL, wide, 1);
}

/* ---- rank at the limit, memory that runs out --------------------------------------------------------------------------------------------- */

/* Dims 13 to 15 of 16 have size 2; dims 4 to 15 but 7 are doubled: 2^14 elements whose place has the bits of dims 4 to 6, 8 to 12, and two
 * for each of the last three. */
static void repeat_of_many_dims_needs_no_more_dims_than_there_are(void **state) {
  wf_scope scope = wf_scope_begin();
  int64_t size[16], twice[16];
  for (int i = 0; i < 16; i++) size[i] = i >= 13 ? 2 : 1, twice[i] = i >= 4 && i != 7 ? 2 : 1;
  wf_tensor *y = wf_repeat(floats(wf_dims_of(size, 16), NULL), wf_dims_of(twice, 16));
  static float out[1 << 14];
  assert_int_equal(wf_numel(y), 1 << 14);
  assert_ok(wf_to_host(y, out, sizeof out));
  for (int i = 0; i < 1 << 14; i++) assert_float_equal(out[i], (i & 1) + (i >> 2 & 1) * 2 + (i >> 4 & 1) * 4, 0);
  wf_scope_end(scope, NULL);
}

static void a_failed_allocation_leaves_nothing_behind(void **state) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = wf_clone(m, WF_FORMAT_PRESERVE);
  assert_ok(wf_requires_grad_(x, true));
  for (int64_t k = 1, failed = 1; failed; k++) {
    wf_scope inner = wf_scope_begin();
    wf__fault_at(k);
    wf_tensor *a = wf_cat(L(x, m, x), 0), *b = a ? wf_pad(a, WF_SHAPE(1, 1), WF_PAD_REFLECT, wf_no_scalar()) : NULL;
    wf_tensor *c = b ? wf_roll(b, WF_SHAPE(1, 2), WF_SHAPE(0, 1)) : NULL, *d = c ? wf_stack(L(c, c), 0) : NULL;
    wf_tensor *e = d ? wf_repeat_interleave_each(wf_tril(wf_flip(d, WF_SHAPE(0)), 0), i2, 0) : NULL;
    wf__fault_at(0);
    wf_error error = wf_error_take();
    failed = error.status != WF_OK;
    if (failed && error.status != WF_NO_MEMORY) print_error("%s\n", error.text);
    assert_true(!failed || error.status == WF_NO_MEMORY);
    assert_true(failed == !e);
    wf_scope_end(inner, NULL);
  }
  wf_scope_end(scope, NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(cat_joins_in_place_and_skips_old_empty_tensors),
    cmocka_unit_test(cat_promotes),
    cmocka_unit_test(stack_has_the_strides_of_a_split_cat),
    cmocka_unit_test(flip_turns_dims_round_and_keeps_strides),
    cmocka_unit_test(roll_moves_elements_on_in_dims_and_in_the_flattened_tensor),
    cmocka_unit_test(repeat_and_repeat_interleave_are_row_major),
    cmocka_unit_test(triangles_are_row_major),
    cmocka_unit_test(pad_fills_crops_mirrors_repeats_and_goes_round),
    cmocka_unit_test(derivatives_agree_with_difference_quotients),
    cmocka_unit_test(repeat_of_many_dims_needs_no_more_dims_than_there_are),
    cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
};

int main(void) { return cmocka_run_group_tests_name("op/join", tests, make, drop); }
