/* einsum: values by arithmetic and from PyTorch, its refusals in PyTorch's words, gradients by differences. Thousands of random equations lie in
 * replay/random. */
#include "gradcheck.h"
#include "op/geometry.h"
#include "scoped.h"

#include <weft/weft.h>
#include "base/host.h"

static wf_tensor *a, *b, *v; /* [2, 3], [3, 2], [2] */

static int open_with_operands(void **state) {
  open_scope(state);
  a = wf_from_data((const float[]){1, 2, 3, 4, 5, 6}, WF_SHAPE(2, 3), WF_F32);
  b = wf_from_data((const float[]){1, 0, 2, 1, 0, 3}, WF_SHAPE(3, 2), WF_F32);
  v = wf_from_data((const float[]){2, -1}, WF_SHAPE(2), WF_F32);
  return 0;
}

#define EINSUM(equation, ...) \
  wf_einsum(equation,         \
            (wf_tensors){(wf_tensor *[]){__VA_ARGS__}, sizeof((wf_tensor *[]){__VA_ARGS__}) / sizeof(wf_tensor *)})

static void products_are_summed_over_the_letters_that_go(void **state) {
  (void)state;
  assert_elements_of(EINSUM("ij,jk->ik", a, b), 5, 11, 14, 23);
  assert_elements_of(EINSUM("ij,jk", a, b), 5, 11, 14, 23);
  assert_elements_of(EINSUM(" ij , jk -> ki ", a, b), 5, 14, 11, 23);
  assert_elements_of(EINSUM("ij,jk,k->i", a, b, v), -1, 5);
  assert_elements_of(EINSUM("i,j->ij", v, v), 4, -2, -2, 1);
  assert_elements_of(EINSUM("ij,ij->i", a, a), 14, 77);
  assert_elements_of(EINSUM("ij,ij->ij", a, a), 1, 4, 9, 16, 25, 36);
  assert_elements_of(EINSUM("ij,ij", a, a), 91);
  assert_elements_of(EINSUM("ij,jk,lk->", a, b, wf_unsqueeze(v, 0)), 2 * (5 + 14) - (11 + 23));
}

static void one_operand_is_permuted_summed_and_its_diagonal_taken(void **state) {
  (void)state;
  wf_tensor *square = wf_mm(a, b); /* 5 11, 14 23 */
  assert_elements_of(EINSUM("ij->ji", a), 1, 4, 2, 5, 3, 6);
  assert_string_equal(geometry_text(EINSUM("ij->ji", a)), "[3, 2] [1, 3] +0"); /* a view */
  assert_elements_of(EINSUM("ij->", a), 21);
  assert_elements_of(EINSUM("ij->j", a), 5, 7, 9);
  assert_elements_of(EINSUM("ii", square), 28);
  assert_elements_of(EINSUM("ii->i", square), 5, 23);
  assert_elements_of(EINSUM("ii,i->", square, v), -13);
  assert_elements_of(EINSUM("BA", a), 1, 4, 2, 5, 3, 6); /* without an arrow letters are in order */
  assert_elements_of(EINSUM("", wf_sum(a)), 21);
}

static void an_ellipsis_stands_for_the_dims_without_letters(void **state) {
  (void)state;
  wf_tensor *both[] = {a, a}, *pair = wf_stack((wf_tensors){both, 2}, 0);
  assert_elements_of(EINSUM("...ij,...jk->...ik", pair, b), 5, 11, 14, 23, 5, 11, 14, 23);
  assert_string_equal(geometry_text(EINSUM("i...->...i", pair)), "[2, 3, 2] [3, 1, 6] +0");
  assert_elements_of(EINSUM("...j->...", a), 6, 15);
  assert_elements_of(EINSUM("...j->j", pair), 10, 14, 18); /* what isn't behind the arrow is summed */
  assert_elements_of(EINSUM("...,...", a, wf_from_data((const float[]){1, 0, 2}, WF_SHAPE(3), WF_F32)), 1, 0, 6, 4, 0,
                     12);
}

static void sizes_of_one_broadcast_and_none_give_zeros(void **state) {
  (void)state;
  wf_tensor *row = wf_from_data((const float[]){1, 2}, WF_SHAPE(1, 2), WF_F32);
  assert_elements_of(EINSUM("ij,jk->ik", a, row), 6, 12, 15, 30);
  assert_elements_of(EINSUM("ij,jk->ik", wf_zeros(WF_SHAPE(2, 0), NULL), wf_zeros(WF_SHAPE(0, 2), NULL)), 0, 0, 0, 0);
  assert_string_equal(geometry_text(EINSUM("ij,k", wf_zeros(WF_SHAPE(2, 0), NULL), v)), "[2, 0, 2] [2, 2, 1] +0");
}

/* As PyTorch's bmm, which einsum is made of. */
static void batches_without_elements_may_have_any_dtypes(void **state) {
  (void)state;
  wf_tensor *ints = wf_to(wf_ones(WF_SHAPE(2, 3, 0), NULL), WF_I32),
            *longs = wf_to(wf_ones(WF_SHAPE(2, 0, 2), NULL), WF_I64);
  wf_tensor *y = wf_bmm(ints, longs), *z = wf_matmul(wf_to(ints, WF_BOOL), wf_to(longs, WF_BOOL));
  assert_int_equal(wf_dtype_of(y), WF_I64);
  assert_elements_of(y, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  assert_int_equal(wf_dtype_of(z), WF_BOOL);
  assert_elements_of(z, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  ints = wf_to(wf_ones(WF_SHAPE(2, 3, 1), NULL), WF_BOOL), longs = wf_to(wf_ones(WF_SHAPE(2, 1, 2), NULL), WF_I64);
  assert_refused(wf_bmm(ints, longs), WF_NOT_IMPLEMENTED, "\"bmm\" not implemented for 'Bool'");
  assert_refused(wf_bmm(wf_to(ints, WF_I64), wf_to(longs, WF_BOOL)), WF_RUNTIME,
                 "expected scalar type Long but found Bool");
}

static void refuses_in_the_words_of_pytorch(void **state) {
  (void)state;
  static const struct {
    const char *equation, *text;
  } cases[] = {
      {"ij,jk", "subscript j has size 2 for operand 1 which does not broadcast with previously seen size 3"},
      {"ijk,ij",
       "the number of subscripts in the equation (3) does not match the number of dimensions (2) for operand 0 and no "
       "ellipsis was given"},
      {"ij,...ijk",
       "the number of subscripts in the equation (3) is more than the number of dimensions (2) for operand 1"},
      {"ij,ij,k", "fewer operands were provided than specified in the equation"},
      {"ij", "more operands were provided than specified in the equation"},
      {"ij,ij->ik", "output subscript k does not appear in the equation for any input operand"},
      {"ij,ij->ii", "output subscript i appears more than once in the output"},
      {"i1,ij", "invalid subscript given at index 1 in the equation string, subscripts must be in [a-zA-Z]"},
      {"ij,ij->i$", "invalid subscript given at index 8 in the equation string, subscripts must be in [a-zA-Z]"},
      {"ij,ij->i,j", "invalid subscript given at index 8 in the equation string, subscripts must be in [a-zA-Z]"},
      {"ij,i..", "found '.' for operand 1 that is not part of any ellipsis"},
      {"ij,i. ..", "found '.' for operand 1 that is not part of any ellipsis"},
      {"...i...,ij", "found '.' for operand 0 for which an ellipsis was already found"},
      {"ij,ij->i..", "found '.' for output that is not part of any ellipsis (...)"},
      {"ij,ij->...i...", "found '.' for output but an ellipsis (...) was already found"},
      {"ii,ij", "subscript i is repeated for operand 0 but the sizes don't match, 3 != 2"},
      {"i...,j...i",
       "dimension 1 covered by ellipsis in operand 1has size 4 which does not broadcast with previously seen "
       "ellipsis with size 3 for the respective dimension"},
  };
  char text[300];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    wf_tensor *second = strstr(cases[i].equation, "j...i") ? wf_ones(WF_SHAPE(1, 4, 2), NULL) : a;
    snprintf(text, sizeof text, "einsum(): %s", cases[i].text);
    assert_refused(EINSUM(cases[i].equation, a, second), WF_RUNTIME, text);
  }
  assert_refused(wf_einsum("ij", (wf_tensors){NULL, 0}), WF_VALUE,
                 "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
                 "subscripts list");
  assert_refused(EINSUM("ij,jk", a, NULL), WF_TYPE, "einsum(): argument 'operands' must be Tensor, not None");
  assert_refused(EINSUM("ij,jk", a, wf_to(b, WF_F64)), WF_RUNTIME, "expected scalar type Float but found Double");
  assert_refused(EINSUM("ij,jk", wf_to(a, WF_BOOL), wf_to(b, WF_BOOL)), WF_NOT_IMPLEMENTED,
                 "\"bmm\" not implemented for 'Bool'");
  assert_refused(EINSUM("abcdefg,hijklmn,opqrstu->", wf_ones(WF_SHAPE(1, 1, 1, 1, 1, 1, 1), NULL),
                        wf_ones(WF_SHAPE(1, 1, 1, 1, 1, 1, 1), NULL), wf_ones(WF_SHAPE(1, 1, 1, 1, 1, 1, 1), NULL)),
                 WF_RUNTIME, "tensors have at most 16 dimensions, but got 21");
}

static void gradients_are_those_of_pytorch(void **state) {
  (void)state;
  wf_tensor *all[] = {a, b, v};
  for (int i = 0; i < 3; i++) assert_ok(wf_requires_grad_(all[i], true));
  wf_tensor *weights = wf_from_data((const float[]){1, 10}, WF_SHAPE(2), WF_F32);
  assert_ok(wf_backward(wf_sum(wf_mul(wf_einsum("ij,jk,k->i", (wf_tensors){all, 3}), weights)), NULL, NULL));
  assert_elements_of(wf_grad(a), 2, 3, -3, 20, 30, -30);
  assert_elements_of(wf_grad(b), 82, -41, 104, -52, 126, -63);
  assert_elements_of(wf_grad(v), 145, 241);
}

static wf_tensor *equation_of(wf_tensor *const *in, void *context) {
  const char *equation = context;
  int n = 1;
  for (const char *at = equation; *at && *at != '-'; at++) n += *at == ',';
  return wf_einsum(equation, (wf_tensors){(wf_tensor **)in, n});
}

static void gradients_follow_differences_also_twice(void **state) {
  (void)state;
  const gradcheck_input two[] = {{WF_SHAPE(2, 3, 2), NULL}, {WF_SHAPE(2, 2, 3), NULL}},
                        square[] = {{WF_SHAPE(3, 3, 2), NULL}};
  gradcheck_twice("einsum of batches", equation_of, "bij,bjk->kbi", two, 2);
  gradcheck_twice("einsum with an ellipsis", equation_of, "...ij,...jk", two, 2);
  gradcheck_twice("einsum of a diagonal", equation_of, "iij->ji", square, 1);
}

static void a_failed_allocation_leaves_nothing(void **state) {
  (void)state;
  wf_tensor *result = NULL;
  for (int64_t k = 1; !result; k++) {
    wf__fault_at(k);
    result = EINSUM("ij,jk,k->i", a, b, v);
    wf__fault_at(0);
    if (!result) assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
  }
  assert_elements_of(result, -1, 5);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_with_operands, end_scope)
  const struct CMUnitTest tests[] = {
      TEST(products_are_summed_over_the_letters_that_go),
      TEST(one_operand_is_permuted_summed_and_its_diagonal_taken),
      TEST(an_ellipsis_stands_for_the_dims_without_letters),
      TEST(sizes_of_one_broadcast_and_none_give_zeros),
      TEST(batches_without_elements_may_have_any_dtypes),
      TEST(refuses_in_the_words_of_pytorch),
      TEST(gradients_are_those_of_pytorch),
      TEST(gradients_follow_differences_also_twice),
      TEST(a_failed_allocation_leaves_nothing),
  };
  return cmocka_run_group_tests_name("op/einsum", tests, NULL, NULL);
}
