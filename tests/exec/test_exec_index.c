/* Selecting, gathering, scattering and adding by index as plans, against the rule written out with plain arrays. */
#include "buffers.h"

#include "kernel/kernel.h"

/* table [rows, 5] or, with dim 1, [5, rows] turned; the plan walks [n, 5] or [5, n] */
static wf_plan plan_of(int op, int dim, const buffer *a, const buffer *b, const buffer *index, int64_t n,
                       int64_t count) {
  wf_plan p = {.family = WF_FAMILY_INDEX, .op = (uint16_t)op, .operands = 3, .outputs = 1, .ndim = 2};
  p.size[dim] = n;
  p.size[1 - dim] = 5;
  p.param.index.dim = dim;
  p.param.index.count = count;
  set_operand(&p, 0, a);
  set_operand(&p, 1, b);
  set_operand(&p, 2, index);
  if (index->rank == 1) {
    int64_t stride = p.operand[2].stride[0];
    p.operand[2].stride[0] = p.operand[2].stride[1] = 0;
    p.operand[2].stride[dim] = stride;
  }
  return p;
}

/* Element (i along dim, j across) of a matrix. */
static int64_t at(const buffer *b, int dim, int64_t i, int64_t j) {
  return dim == 0 ? i * b->size[1] + j : j * b->size[1] + i;
}

static buffer matrix(wf_dtype dtype, int dim, int64_t along) {
  static const int turned[2] = {1, 0};
  int64_t size[2] = {5, 5};
  size[dim] = along;
  return buffer_new(dtype, 2, size, next(2) ? turned : NULL, next(2));
}

static void every_operation_follows_its_rule(void **state) {
  static const wf_dtype dtypes[] = {WF_F64, WF_F32, WF_BF16, WF_I64, WF_I16, WF_U8};
  for (int trial = 0; trial < 120; trial++) {
    wf_dtype dtype = dtypes[trial % 6];
    int dim = next(2), op = next(4);
    int64_t count = 1 + next(6), n = 1 + next(8);
    bool to_table = op == WF__INDEX_ADD || op == WF__INDEX_SCATTER,
         vector = op == WF__INDEX_SELECT || op == WF__INDEX_ADD;
    buffer table = matrix(dtype, dim, count), list = matrix(dtype, dim, n), index,
           expected = to_table ? matrix(dtype, dim, count) : list;
    index = vector ? buffer_new(WF_I64, 1, (int64_t[]){n}, NULL, 0) : matrix(next(2) ? WF_I32 : WF_I64, dim, n);
    double values[64];
    for (int64_t i = 0; i < buffer_numel(&table); i++) buffer_set(&table, i, next(9));
    for (int64_t i = 0; i < buffer_numel(&list); i++) buffer_set(&list, i, next(9));
    for (int64_t i = 0; i < buffer_numel(&index); i++) buffer_set(&index, i, next((int)count));
    for (int64_t i = 0; i < buffer_numel(&table); i++) values[i] = buffer_get(&table, i);
    wf_plan p = plan_of(op, dim, to_table ? &table : &list, to_table ? &list : &table, &index, n, count);
    p.scalar[0] = wf_int(2);
    assert_ok(wf__exec(&p));
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < 5; j++) {
        int64_t where = (int64_t)buffer_get(&index, vector ? i : at(&index, dim, i, j)),
                in_table = at(&table, dim, where, j);
        double element = buffer_get(&list, at(&list, dim, i, j));
        if (op == WF__INDEX_ADD) values[in_table] += 2 * element;
        else if (op == WF__INDEX_SCATTER) values[in_table] = element;
        else assert_float_equal(element, values[in_table], 0);
      }
    for (int64_t i = 0; i < buffer_numel(&table); i++) assert_float_equal(buffer_get(&table, i), values[i], 0);
    if (to_table) buffer_free(&expected);
    buffer_free(&table);
    buffer_free(&list);
    buffer_free(&index);
  }
}

static void an_index_out_of_range_is_refused_before_anything_is_written(void **state) {
  buffer table = buffer_new(WF_F32, 2, (int64_t[]){4, 5}, NULL, 0),
         list = buffer_new(WF_F32, 2, (int64_t[]){2, 5}, NULL, 0);
  buffer index = buffer_new(WF_I64, 1, (int64_t[]){2}, NULL, 0),
         wide = buffer_new(WF_I64, 2, (int64_t[]){2, 5}, NULL, 0);
  buffer_fill(&list);
  for (int64_t i = 0; i < 10; i++) buffer_set(&wide, i, i == 9 ? -3 : 0);
  buffer_set(&index, 0, 1);
  buffer_set(&index, 1, 4);
  double before = buffer_get(&list, 0);
  wf_plan p = plan_of(WF__INDEX_SELECT, 0, &list, &table, &index, 2, 4),
          q = plan_of(WF__INDEX_GATHER, 0, &list, &table, &wide, 2, 4);
  assert_int_equal(wf__exec(&p), WF_INDEX);
  assert_error(WF_INDEX, "index out of range in self");
  assert_int_equal(wf__exec(&q), WF_RUNTIME);
  assert_error(WF_RUNTIME, "index -3 is out of bounds for dimension 0 with size 4");
  assert_float_equal(buffer_get(&list, 0), before, 0);
  buffer *all[] = {&table, &list, &index, &wide};
  for (int i = 0; i < 4; i++) buffer_free(all[i]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_operation_follows_its_rule),
    cmocka_unit_test(an_index_out_of_range_is_refused_before_anything_is_written),
};
WF_TEST_MAIN("exec/exec_index", tests)
