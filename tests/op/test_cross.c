/* Cross products: values and refusals are PyTorch's (torch.cross and torch.linalg.cross). */
#include "gradcheck.h"
#include "op/geometry.h"
#include "scoped.h"

#include <weft/weft.h>

#define PARTIAL_OVERLAP                                                                                                    \
  "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. " \
  "Please clone() the tensor before performing the operation."

static wf_tensor *a, *b; /* [3, 4] */

static int open_with_operands(void **state) {
  open_scope(state);
  a = wf_from_data((const float[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, WF_SHAPE(3, 4), WF_F32);
  b = wf_from_data((const float[]){2, 0, 1, 3, 1, 1, 0, 2, 0, 3, 2, 1}, WF_SHAPE(3, 4), WF_F32);
  return 0;
}

#define PRODUCT -9, 8, 14, -16, 18, -6, 5, 32, -9, 2, -7, -16

static void multiplies_the_vectors_along_a_dim(void **state) {
  (void)state;
  wf_tensor *y = wf_cross(a, b, 0);
  assert_string_equal(geometry_text(y), "[3, 4] [4, 1] +0");
  assert_elements_of(y, PRODUCT);
  assert_elements_of(wf_cross(a, b, WF_NONE), PRODUCT); /* the first dim of 3 */
  wf_tensor *turned = wf_cross(wf_t(a), wf_contiguous(wf_t(b), WF_FORMAT_CONTIGUOUS), -1);
  assert_string_equal(geometry_text(turned), "[4, 3] [3, 1] +0");
  assert_elements_of(wf_t(turned), PRODUCT);
  wf_tensor *one = wf_slice(a, 1, 1, 2, 1); /* [3, 1]: 2, 6, 10 with each of b */
  assert_elements_of(wf_cross(one, b, 0), -10, 8, 12, -14, 20, -6, 6, 28, -10, 2, -6, -14);
  assert_geometry(wf_cross(wf_ones(WF_SHAPE(0, 3), NULL), wf_ones(WF_SHAPE(1, 3), NULL), -1), "[0, 3] [3, 1] +0");
}

static void integers_wrap_and_halves_round_each_product(void **state) {
  (void)state;
  wf_tensor *x = wf_from_data((const uint8_t[]){200, 7, 250}, WF_SHAPE(3), WF_U8),
            *y = wf_from_data((const uint8_t[]){3, 99, 128}, WF_SHAPE(3), WF_U8);
  assert_elements_of(wf_cross(x, y, 0), 210, 238, 67);
  wf_tensor *p = wf_from_data((const float[]){1.1f, 2.3f, -0.7f}, WF_SHAPE(3), WF_F32),
            *q = wf_from_data((const float[]){0.9f, -1.7f, 3.1f}, WF_SHAPE(3), WF_F32);
  wf_tensor *half = wf_cross(wf_to(p, WF_F16), wf_to(q, WF_F16), 0);
  assert_elements_of(wf_to(half, WF_F32), 5.94140625, -4.0390625, -3.939453125);
}

static void refuses_what_has_no_product(void **state) {
  (void)state;
  wf_tensor *t = wf_ones(WF_SHAPE(3, 4), NULL), *number = wf_ones(WF_SHAPE0, NULL), *row = wf_ones(WF_SHAPE(3), NULL);
  assert_refused(wf_cross(t, t, -1), WF_RUNTIME, "linalg.cross: inputs dimension -1 must have length 3. Got 4 and 4");
  assert_refused(wf_cross(wf_ones(WF_SHAPE(1, 4), NULL), t, 0), WF_RUNTIME,
                 "linalg.cross: inputs dimension 0 must have length 3. Got 1 and 3");
  assert_refused(wf_cross(t, row, 0), WF_RUNTIME, "linalg.cross: inputs must have the same number of dimensions.");
  assert_refused(wf_cross(t, t, 5), WF_INDEX, "Dimension out of range (expected to be in range of [-2, 1], but got 5)");
  assert_refused(wf_cross(number, number, -1), WF_INDEX, "Dimension specified as -1 but tensor has no dimensions");
  assert_refused(wf_cross(number, number, WF_NONE), WF_RUNTIME, "no dimension of size 3 in input");
  assert_refused(wf_cross(t, wf_ones(WF_SHAPE(3, 2), NULL), 0), WF_RUNTIME,
                 "The size of tensor a (4) must match the size of tensor b (2) at non-singleton dimension 1");
  assert_refused(wf_cross(t, wf_to(t, WF_F64), 0), WF_RUNTIME, "expected scalar type Float but found Double");
  assert_refused(wf_cross(wf_to(t, WF_BOOL), wf_to(t, WF_BOOL), 0), WF_NOT_IMPLEMENTED,
                 "\"cross\" not implemented for 'Bool'");
  assert_refused(wf_cross(t, NULL, 0), WF_TYPE, "linalg_cross(): argument 'other' must be Tensor, not None");
}

/* R028 */
static void a_product_into_one_of_its_inputs_is_refused_and_both_stay(void **state) {
  (void)state;
  wf_tensor *space = wf_zeros(WF_SHAPE(4, 4), NULL), *high = wf_slice(space, 0, 0, 3, 1),
            *low = wf_slice(space, 0, 1, 4, 1);
  assert_ok(wf_copy_(high, a, false));
  wf_tensor *written[] = {a, b, low, wf_view(a, WF_SHAPE(4, 3))}, *first[] = {a, a, high, a};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(wf_cross_into(written[i], first[i], b, 0), WF_RUNTIME);
    assert_error(WF_RUNTIME, PARTIAL_OVERLAP);
    assert_int_equal(wf_version_of(written[i]), i == 2 ? 1 : 0); /* the copy above */
  }
  assert_string_equal(geometry_text(written[3]), "[4, 3] [3, 1] +0");
  assert_elements_of(a, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
  assert_elements_of(b, 2, 0, 1, 3, 1, 1, 0, 2, 0, 3, 2, 1);
  assert_elements_of(low, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 0, 0);
}

static void a_given_result_keeps_its_strides_or_is_resized(void **state) {
  (void)state;
  wf_tensor *turned = wf_t(wf_zeros(WF_SHAPE(4, 3), NULL)), *empty = wf_empty(WF_SHAPE(0), NULL);
  assert_ok(wf_cross_into(turned, a, b, 0));
  assert_string_equal(geometry_text(turned), "[3, 4] [1, 3] +0");
  assert_elements_of(turned, PRODUCT);
  assert_int_equal(wf_version_of(turned), 1);
  assert_ok(wf_cross_into(empty, a, b, WF_NONE));
  assert_string_equal(geometry_text(empty), "[3, 4] [4, 1] +0");
  assert_elements_of(empty, PRODUCT);
  wf_tensor *grad = wf_ones(WF_SHAPE(3, 4), NULL);
  assert_int_equal(wf_cross_into(wf_to(a, WF_F64), a, b, 0), WF_RUNTIME);
  assert_error(WF_RUNTIME, "Expected out tensor to have dtype float, but got double instead");
  assert_ok(wf_requires_grad_(grad, true));
  assert_int_equal(wf_cross_into(turned, grad, b, 0), WF_RUNTIME);
  assert_error(WF_RUNTIME,
               "linalg_cross(): functions with out=... arguments don't support automatic differentiation, "
               "but one of the arguments requires grad.");
  assert_int_equal(wf_cross_into(wf_expand(wf_ones(WF_SHAPE(1), NULL), WF_SHAPE(3, 4)), a, b, 0), WF_RUNTIME);
  assert_error(WF_RUNTIME,
               "unsupported operation: more than one element of the written-to tensor refers to a single memory "
               "location. Please clone() the tensor before performing the operation.");
}

static wf_tensor *along(wf_tensor *const *in, void *dim) { return wf_cross(in[0], in[1], *(int64_t *)dim); }

static void gradients_of_both_inputs_follow_differences_also_twice(void **state) {
  (void)state;
  const gradcheck_input plain[] = {{WF_SHAPE(2, 3), NULL}, {WF_SHAPE(2, 3), NULL}},
                        wide[] = {{WF_SHAPE(3, 1, 2), NULL}, {WF_SHAPE(3, 4, 1), NULL}};
  int64_t last = -1, first = 0;
  gradcheck_twice("cross", along, &last, plain, 2);
  gradcheck_twice("cross of vectors that broadcast", along, &first, wide, 2);
  wf_tensor *x = wf_ones(WF_SHAPE(3), NULL);
  assert_ok(wf_requires_grad_(x, true));
  assert_string_equal(wf_grad_fn_name(wf_cross(x, x, 0)), "LinalgCrossBackward0");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_with_operands, end_scope)
  const struct CMUnitTest tests[] = {
      TEST(multiplies_the_vectors_along_a_dim),
      TEST(integers_wrap_and_halves_round_each_product),
      TEST(refuses_what_has_no_product),
      TEST(a_product_into_one_of_its_inputs_is_refused_and_both_stay),
      TEST(a_given_result_keeps_its_strides_or_is_resized),
      TEST(gradients_of_both_inputs_follow_differences_also_twice),
  };
  return cmocka_run_group_tests_name("op/cross", tests, NULL, NULL);
}
