/* The broadcasting iterator: strides of results against PyTorch's (iterator_rows.h), plans against a listing of every element. */
#include "test.h"

#include <stdlib.h>
#include "tensor/iterator.h"

typedef struct operand {
  int ndim;
  int64_t size[6], stride[6];
} operand;
typedef struct row {
  int operands;
  operand operand[3];
  int64_t result_stride[6];
} row;
static const row rows[] = {
#include "iterator_rows.h"
};
#define ROWS (sizeof rows / sizeof *rows)

static wf_tensor *tensor_of(const operand *o, wf_dtype dtype) {
  wf__layout l;
  assert_ok(wf__layout_strided(&l, wf_dims_of(o->size, o->ndim), wf_dims_of(o->stride, o->ndim), 0));
  wf_tensor *t = wf__tensor_empty(wf__device_get(wf_cpu()), dtype, &l);
  assert_non_null(t);
  return t;
}

static wf_tensor *sized(wf_dims size, wf_dtype dtype) {
  wf_tensor *t = wf__tensor_empty_sized(wf__device_get(wf_cpu()), dtype, size);
  assert_non_null(t);
  return t;
}

static wf__iter binary(wf_tensor *out, wf_tensor *a, wf_tensor *b) {
  return (wf__iter){.outputs = 1, .operands = 3, .tensor = {out, a, b}, .dtype = {WF_F32}};
}

/* Byte address of element k (row-major over the shape) of an operand that broadcasts to it. */
static char *address_in(const wf_tensor *t, const int64_t *shape, int ndim, int64_t k) {
  char *at = wf__data(t);
  for (int d = ndim - 1; d >= 0; d--) {
    int64_t i = k % shape[d];
    k /= shape[d];
    int own = d - (ndim - t->layout.ndim);
    if (own >= 0 && t->layout.size[own] != 1) at += i * t->layout.stride[own] * (int64_t)wf__itemsize(t);
  }
  return at;
}

typedef struct visit {
  char *at[4];
} visit;
static int by_address(const void *x, const void *y) { return memcmp(x, y, sizeof(visit)); }

/* The plan must visit exactly the tuples of addresses that the shape's elements have. */
static void assert_plan_visits_all(const wf__iter *it, const wf_plan *plan) {
  int64_t numel = 1, planned = 1;
  for (int d = 0; d < it->ndim; d++) numel *= it->shape[d];
  for (int d = 0; d < plan->ndim; d++) planned *= plan->size[d];
  assert_int_equal(planned, numel);
  visit *expected = calloc((size_t)numel + 1, sizeof *expected), *found = calloc((size_t)numel + 1, sizeof *found);
  for (int64_t k = 0; k < numel; k++) {
    for (int i = 0; i < it->operands; i++) {
      expected[k].at[i] = address_in(it->tensor[i], it->shape, it->ndim, k);
      char *at = plan->operand[i].data;
      int64_t rest = k;
      for (int d = plan->ndim - 1; d >= 0; d--) {
        at += rest % plan->size[d] * plan->operand[i].stride[d];
        rest /= plan->size[d];
      }
      found[k].at[i] = at;
    }
  }
  qsort(expected, (size_t)numel, sizeof *expected, by_address);
  qsort(found, (size_t)numel, sizeof *found, by_address);
  assert_memory_equal(found, expected, (size_t)numel * sizeof *found + 1);
  free(expected);
  free(found);
}

static void results_have_pytorchs_strides_and_plans_visit_each_element_once(void **state) {
  (void)state;
  for (size_t r = 0; r < ROWS; r++) {
    wf__iter it = {.outputs = 1, .operands = 1 + rows[r].operands, .dtype = {WF_F32}};
    for (int i = 0; i < rows[r].operands; i++)
      it.tensor[1 + i] = tensor_of(&rows[r].operand[i], rows[r].operands == 3 && i == 0 ? WF_BOOL : WF_F32);
    wf_plan plan;
    assert_ok(wf__iter_build(&it, &plan));
    assert_int_equal(it.made, 1);
    wf_dims stride = wf_strides(it.tensor[0]);
    for (int d = 0; d < stride.n; d++)
      if (stride.at[d] != rows[r].result_stride[d]) fail_msg("row %zu: stride %d is %ld", r, d, (long)stride.at[d]);
    assert_plan_visits_all(&it, &plan);
    for (int i = 0; i <= rows[r].operands; i++) wf__tensor_release(it.tensor[i]);
  }
}

static void operands_alike_become_one_run(void **state) {
  (void)state;
  wf_tensor *a = sized(WF_SHAPE(4, 5, 6), WF_F32), *b = sized(WF_SHAPE(4, 5, 6), WF_F64);
  wf__iter it = binary(NULL, a, b);
  wf_plan plan;
  assert_ok(wf__iter_build(&it, &plan));
  assert_int_equal(plan.ndim, 1);
  assert_int_equal(plan.size[0], 120);
  assert_int_equal(plan.operand[1].stride[0], 4);
  assert_int_equal(plan.operand[2].stride[0], 8);
  assert_int_equal(plan.operands, 3);
  assert_int_equal(plan.outputs, 1);
  for (int i = 0; i < 3; i++) wf__tensor_release(it.tensor[i]);
}

static void a_row_that_broadcasts_leaves_two_dims_fastest_last(void **state) {
  (void)state;
  wf_tensor *a = sized(WF_SHAPE(4, 5, 6), WF_F32), *b = sized(WF_SHAPE(6), WF_F32);
  wf__iter it = binary(NULL, a, b);
  wf_plan plan;
  assert_ok(wf__iter_build(&it, &plan));
  assert_int_equal(plan.ndim, 2);
  assert_int_equal(plan.size[0], 20);
  assert_int_equal(plan.size[1], 6);
  assert_int_equal(plan.operand[2].stride[0], 0);
  assert_int_equal(plan.operand[2].stride[1], 4);
  for (int i = 0; i < 3; i++) wf__tensor_release(it.tensor[i]);
}

static void a_number_is_an_operand_of_rank_0(void **state) {
  (void)state; /* torch: torch.empty(3, 1).t() has strides (1, 1); + itself gives (3, 1), + 1 gives (1, 1) */
  const operand column = {2, {1, 3}, {1, 1}};
  wf_tensor *a = tensor_of(&column, WF_F32);
  wf_plan plan;
  wf__iter it = binary(NULL, a, a);
  assert_ok(wf__iter_build(&it, &plan));
  assert_int_equal(wf_stride(it.tensor[0], 0), 3);
  wf__tensor_release(it.tensor[0]);
  it = binary(NULL, a, NULL);
  assert_ok(wf__iter_build(&it, &plan));
  assert_int_equal(wf_stride(it.tensor[0], 0), 1);
  assert_null(plan.operand[2].data);
  wf__tensor_release(it.tensor[0]);
  wf__tensor_release(a);
}

static void rank_0_stays_rank_0(void **state) {
  (void)state;
  wf_tensor *a = sized(WF_SHAPE0, WF_F32);
  wf__iter it = binary(NULL, a, NULL);
  wf_plan plan;
  assert_ok(wf__iter_build(&it, &plan));
  assert_int_equal(plan.ndim, 0);
  assert_int_equal(it.tensor[0]->layout.ndim, 0);
  wf__tensor_release(it.tensor[0]);
  wf__tensor_release(a);
}

static void reduced_dims_come_first_among_the_fast_ones(void **state) {
  (void)state;
  wf_tensor *out = sized(WF_SHAPE(1, 5), WF_F32), *in = sized(WF_SHAPE(4, 5), WF_F32);
  wf__iter it = {.outputs = 1, .operands = 2, .tensor = {out, in}, .reduction = true};
  wf_plan plan;
  assert_ok(wf__iter_build(&it, &plan));
  assert_int_equal(plan.ndim, 2);
  assert_int_equal(plan.size[0], 5); /* the kept dim outside, the reduced one inside */
  assert_int_equal(plan.size[1], 4);
  assert_int_equal(plan.operand[0].stride[1], 0);
  assert_int_equal(plan.operand[1].stride[1], 20);
  it.linear = true;
  assert_ok(wf__iter_build(&it, &plan));
  assert_int_equal(plan.size[0], 4);
  assert_int_equal(plan.operand[0].stride[0], 0);
  wf__tensor_release(out);
  wf__tensor_release(in);
}

static wf_tensor *window(const wf_tensor *base, wf_dims size, wf_dims stride, int64_t offset) {
  wf__layout l;
  assert_ok(wf__layout_strided(&l, size, stride, offset));
  return wf__tensor_alias(base, (wf_dtype)base->dtype, &l);
}

static void writing_through_overlaps_is_refused_in_pytorchs_words(void **state) {
  (void)state;
  static const char within[] =
      "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
      "Please clone() the tensor before performing the operation.";
  static const char partial[] =
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
      "location. Please clone() the tensor before performing the operation.";
  wf_tensor *base = sized(WF_SHAPE(8), WF_F32);
  wf_tensor *expanded = window(base, WF_SHAPE(3), WF_SHAPE(0), 0), *head = window(base, WF_SHAPE(7), WF_SHAPE(1), 0);
  wf_tensor *tail = window(base, WF_SHAPE(7), WF_SHAPE(1), 1), *same = window(base, WF_SHAPE(7), WF_SHAPE(1), 0);
  wf_plan plan;
  wf__iter it = binary(expanded, expanded, NULL);
  assert_int_equal(wf__iter_build(&it, &plan), WF_RUNTIME);
  assert_error(WF_RUNTIME, within);
  it = binary(tail, tail, head);
  assert_int_equal(wf__iter_build(&it, &plan), WF_RUNTIME);
  assert_error(WF_RUNTIME, partial);
  it.no_overlap_check = true;
  assert_ok(wf__iter_build(&it, &plan));
  it = binary(head, head, same); /* the same elements in the same order are fine */
  assert_ok(wf__iter_build(&it, &plan));
  wf_tensor *square = sized(WF_SHAPE(4, 4), WF_F32), *turned = window(square, WF_SHAPE(4, 4), WF_SHAPE(1, 4), 0);
  it = binary(square, square, turned);
  assert_int_equal(wf__iter_build(&it, &plan), WF_RUNTIME);
  assert_error(WF_RUNTIME, partial);
  wf_tensor *all[] = {base, expanded, head, tail, same, square, turned};
  for (int i = 0; i < 7; i++) wf__tensor_release(all[i]);
}

static void shapes_that_do_not_fit_are_refused(void **state) {
  (void)state;
  wf_tensor *row = sized(WF_SHAPE(3), WF_F32), *matrix = sized(WF_SHAPE(2, 3), WF_F32),
            *four = sized(WF_SHAPE(4), WF_F32);
  wf_plan plan;
  wf__iter it = binary(row, row, matrix);
  assert_int_equal(wf__iter_build(&it, &plan), WF_RUNTIME);
  assert_error(WF_RUNTIME, "output with shape [3] doesn't match the broadcast shape [2, 3]");
  it = binary(NULL, matrix, four);
  assert_int_equal(wf__iter_build(&it, &plan), WF_RUNTIME);
  assert_error(WF_RUNTIME, "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1");
  assert_null(it.tensor[0]);
  wf__tensor_release(row);
  wf__tensor_release(matrix);
  wf__tensor_release(four);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(results_have_pytorchs_strides_and_plans_visit_each_element_once),
    cmocka_unit_test(operands_alike_become_one_run),
    cmocka_unit_test(a_row_that_broadcasts_leaves_two_dims_fastest_last),
    cmocka_unit_test(a_number_is_an_operand_of_rank_0),
    cmocka_unit_test(rank_0_stays_rank_0),
    cmocka_unit_test(reduced_dims_come_first_among_the_fast_ones),
    cmocka_unit_test(writing_through_overlaps_is_refused_in_pytorchs_words),
    cmocka_unit_test(shapes_that_do_not_fit_are_refused),
};
WF_TEST_MAIN("tensor/iterator", tests)
