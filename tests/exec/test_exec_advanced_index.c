/* Indexing by several tensors, by masks, and nonzero as plans, against the rule written out with plain arrays. */
#include "buffers.h"

#include "kernel/indexing.h"
#include "kernel/kernel.h"

#define A 3 /* table [A, B, C]; the plan walks [n, B]: indices into dims 0 and 2, dim 1 whole */
#define B 4
#define C 5

static buffer table_of(wf_dtype dtype) {
  static const int orders[][3] = {{0, 1, 2}, {2, 0, 1}, {1, 2, 0}};
  buffer b = buffer_new(dtype, 3, (int64_t[]){A, B, C}, orders[next(3)], next(2));
  for (int64_t i = 0; i < A * B * C; i++) buffer_set(&b, i, next(9));
  return b;
}

static wf_plan index_plan(int op, const buffer *table, const buffer *list, const buffer *first, const buffer *second,
                          int64_t n) {
  wf_plan p = {.family = WF_FAMILY_INDEX, .op = (uint16_t)op, .operands = 4, .outputs = 1, .ndim = 2, .size = {n, B}};
  bool put = op == WF__INDEX_PUT;
  int64_t size = (int64_t)wf_dtype_size(table->dtype);
  p.operand[put ? 0 : 1] = (wf_operand){table->bytes, table->dtype, {0, table->stride[1] * size}};
  p.operand[put ? 1 : 0] = (wf_operand){list->bytes, list->dtype, {list->stride[0] * size, list->stride[1] * size}};
  p.operand[2] = (wf_operand){first->bytes, first->dtype, {first->stride[0] * (int64_t)wf_dtype_size(first->dtype)}};
  p.operand[3] =
      (wf_operand){second->bytes, second->dtype, {second->stride[0] * (int64_t)wf_dtype_size(second->dtype)}};
  const int64_t shapes[2][3] = {{A, table->stride[0] * size, 0}, {C, table->stride[2] * size, 2}};
  memcpy(p.shape[2], shapes[0], sizeof shapes[0]);
  memcpy(p.shape[3], shapes[1], sizeof shapes[1]);
  p.param.index.flag2 = true;
  return p;
}

static void several_indices_read_add_and_write(void **state) {
  static const wf_dtype dtypes[] = {WF_F64, WF_F32, WF_F16, WF_I64, WF_I16, WF_U8};
  for (int trial = 0; trial < 150; trial++) {
    wf_dtype dtype = dtypes[trial % 6];
    int64_t n = 1 + next(9);
    bool put = next(2), add = next(2);
    buffer table = table_of(dtype), list = buffer_new(dtype, 2, (int64_t[]){n, B}, NULL, next(2));
    buffer first = buffer_new(next(2) ? WF_I32 : WF_I64, 1, &n, NULL, 0), second = buffer_new(WF_I64, 1, &n, NULL, 0);
    double values[A * B * C];
    for (int64_t i = 0; i < A * B * C; i++) values[i] = buffer_get(&table, i);
    for (int64_t i = 0; i < n * B; i++) buffer_set(&list, i, next(9));
    for (int64_t i = 0; i < n; i++) {
      buffer_set(&first, i, next(2 * A) - A);
      buffer_set(&second, i, next(2 * C) - C);
    }
    wf_plan p = index_plan(put ? WF__INDEX_PUT : WF__INDEX_GET, &table, &list, &first, &second, n);
    p.param.index.flag = add;
    assert_ok(wf__exec(&p));
    for (int64_t i = 0; i < n; i++) {
      int64_t a = (int64_t)buffer_get(&first, i), c = (int64_t)buffer_get(&second, i);
      if (a < 0) a += A;
      if (c < 0) c += C;
      for (int64_t b = 0; b < B; b++) {
        double *place = &values[(a * B + b) * C + c], element = buffer_get(&list, i * B + b);
        if (!put) assert_float_equal(element, *place, 0);
        else *place = add ? *place + element : element;
      }
    }
    for (int64_t i = 0; i < A * B * C; i++) assert_float_equal(buffer_get(&table, i), values[i], 0);
    buffer *all[] = {&table, &list, &first, &second};
    for (int i = 0; i < 4; i++) buffer_free(all[i]);
  }
}

static void an_index_out_of_range_is_refused_before_anything_is_written(void **state) {
  static const struct {
    int how;
    wf_status kind;
    const char *text;
  } ways[] = {{WF__REFUSE_DEFAULT, WF_RUNTIME, "index 5 is out of bounds for dimension 2 with size 5"},
              {WF__REFUSE_BRACKET, WF_INDEX, "index 5 is out of bounds for dimension 2 with size 5"},
              {WF__REFUSE_SELF, WF_INDEX, "index out of range in self"},
              {WF__REFUSE_COPY, WF_INDEX, "index_copy_(): index 5 is out of bounds for dimension 2 with size 5"},
              {WF__REFUSE_TAKE, WF_INDEX, "out of range: tried to access index 5 on a tensor of 5 elements."}};
  buffer table = table_of(WF_F32), list = buffer_new(WF_F32, 2, (int64_t[]){2, B}, NULL, 0);
  buffer first = buffer_new(WF_I64, 1, (int64_t[]){2}, NULL, 0),
         second = buffer_new(WF_I64, 1, (int64_t[]){2}, NULL, 0);
  for (int64_t i = 0; i < 2; i++) buffer_set(&first, i, 0), buffer_set(&second, i, i ? C : 0);
  for (int64_t i = 0; i < 2 * B; i++) buffer_set(&list, i, 77);
  for (int i = 0; i < 5; i++) {
    wf_plan p = index_plan(WF__INDEX_PUT, &table, &list, &first, &second, 2);
    p.param.index.step = ways[i].how;
    assert_int_equal(wf__exec(&p), ways[i].kind);
    assert_error(ways[i].kind, ways[i].text);
  }
  for (int64_t i = 0; i < A * B * C; i++) assert_true(buffer_get(&table, i) < 77);
  buffer_set(&second, 1, -1);
  wf_plan p = index_plan(WF__INDEX_PUT, &table, &list, &first, &second, 2);
  p.param.index.flag2 = false;
  assert_int_equal(wf__exec(&p), WF_RUNTIME);
  assert_error(WF_RUNTIME, "index -1 is out of bounds for dimension 2 with size 5");
  buffer *all[] = {&table, &list, &first, &second};
  for (int i = 0; i < 4; i++) buffer_free(all[i]);
}

static wf_plan masked_plan(int op, const buffer *table, const buffer *flat, const buffer *mask, int64_t count) {
  wf_plan p = {
      .family = WF_FAMILY_INDEX, .op = (uint16_t)op, .operands = 3, .outputs = 1, .ndim = 3, .size = {A, B, C}};
  set_operand(&p, op == WF__INDEX_MASKED_GET ? 1 : 0, table);
  set_operand(&p, op == WF__INDEX_MASKED_GET ? 0 : 1, flat);
  set_operand(&p, 2, mask);
  p.param.index.count = count;
  return p;
}

static void masks_and_nonzero_go_through_elements_in_order(void **state) {
  for (int trial = 0; trial < 60; trial++) {
    buffer table = table_of(trial % 2 ? WF_I32 : WF_F64), mask = table_of(WF_BOOL),
           room = buffer_new(table.dtype, 1, (int64_t[]){A * B * C}, NULL, 0);
    buffer places = buffer_new(WF_I64, 2, (int64_t[]){A * B * C, 3}, NULL, 0);
    for (int64_t i = 0; i < A * B * C; i++) buffer_set(&mask, i, next(3) == 0);
    wf_plan get = masked_plan(WF__INDEX_MASKED_GET, &table, &room, &mask, 0);
    assert_ok(wf__exec(&get));
    wf_plan nonzero = {
        .family = WF_FAMILY_INDEX, .op = WF__INDEX_NONZERO, .operands = 2, .outputs = 1, .ndim = 3, .size = {A, B, C}};
    set_operand(&nonzero, 0, &places);
    set_operand(&nonzero, 1, &mask);
    assert_ok(wf__exec(&nonzero));
    int64_t count = 0;
    for (int64_t i = 0; i < A * B * C; i++) {
      if (!buffer_get(&mask, i)) continue;
      assert_float_equal(buffer_get(&room, count), buffer_get(&table, i), 0);
      assert_float_equal((buffer_get(&places, 3 * count) * B + buffer_get(&places, 3 * count + 1)) * C +
                             buffer_get(&places, 3 * count + 2),
                         (double)i, 0);
      buffer_set(&room, count, (double)(100 + count));
      count++;
    }
    if (count) {
      wf_plan few = masked_plan(WF__INDEX_MASKED_PUT, &table, &room, &mask, count - 1);
      assert_int_equal(wf__exec(&few), WF_RUNTIME);
      assert_error(WF_RUNTIME, "Number of elements of source < number of ones in mask");
    }
    wf_plan put = masked_plan(WF__INDEX_MASKED_PUT, &table, &room, &mask, count);
    assert_ok(wf__exec(&put));
    for (int64_t i = 0, k = 0; i < A * B * C; i++) {
      if (buffer_get(&mask, i)) assert_float_equal(buffer_get(&table, i), (double)(100 + k++), 0);
      else assert_true(buffer_get(&table, i) < 9);
    }
    buffer *all[] = {&table, &mask, &room, &places};
    for (int i = 0; i < 4; i++) buffer_free(all[i]);
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(several_indices_read_add_and_write),
    cmocka_unit_test(an_index_out_of_range_is_refused_before_anything_is_written),
    cmocka_unit_test(masks_and_nonzero_go_through_elements_in_order),
};
WF_TEST_MAIN("exec/exec_advanced_index", tests)
