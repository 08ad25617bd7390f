/* Results that the caller gives: dtypes, sizes, memory in common. Values and refusals are PyTorch's out=; where PyTorch
 * reads what it has overwritten, the result here is the one of separate memory. */
#include "op/geometry.h"

#include <math.h>
#include <weft/weft.h>
#include "base/host.h"

#define INTERNAL_OVERLAP                                                                                              \
  "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please " \
  "clone() the tensor before performing the operation."
#define PARTIAL_OVERLAP                                                                                                    \
  "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. " \
  "Please clone() the tensor before performing the operation."

static wf_scope scope;
static wf_tensor *x, *whole; /* [[0, 1, 2], [3, 4, 5]] in float32 and int16 */

static int open_scope(void **state) {
  (void)state;
  scope = wf_scope_begin();
  x = wf_from_data((const float[]){0, 1, 2, 3, 4, 5}, WF_SHAPE(2, 3), WF_F32);
  whole = wf_to(x, WF_I16);
  return 0;
}

static int end_scope(void **state) {
  (void)state;
  wf_error_take();
  wf_scope_end(scope, NULL);
  return 0;
}

static wf_tensor *room(wf_dtype dtype, wf_dims size) {
  wf_tensor_options o = wf_tensor_defaults();
  o.dtype = dtype;
  return wf_full(size, wf_int(dtype != WF_BOOL), &o);
}
#define NONE WF_DTYPE_NONE
#define FIRST WF_SHAPE(0)
#define REFUSED(call, kind, text)   \
  do {                              \
    assert_int_equal(call, (kind)); \
    assert_error((kind), (text));   \
  } while (0)

/* ---- reductions --------------------------------------------------------------------------------------------------------------------- */

static void a_given_result_keeps_its_strides_and_its_neighbours(void **state) {
  (void)state;
  wf_tensor *line = room(WF_F32, WF_SHAPE(6)), *every = wf_slice(line, 0, 0, 4, 2);
  assert_ok(wf_sum_into(every, x, WF_SHAPE(1), false, NONE));
  assert_elements_of(line, 3, 1, 12, 1, 1, 1);
  assert_int_equal(wf_version_of(line), 1);
  assert_ok(wf_amax_into(wf_slice(line, 0, 3, 6, 1), x, FIRST, false));
  assert_elements_of(line, 3, 1, 12, 3, 4, 5);
  assert_ok(wf_mean_into(wf_as_strided(line, WF_SHAPE(2, 1), WF_SHAPE(3, 7), 1), x, WF_SHAPE(1), true, NONE));
  assert_elements_of(line, 3, 1, 12, 3, 4, 5);
}

/* R038 */
static void a_sum_into_every_second_row_leaves_the_rows_between(void **state) {
  (void)state;
  wf_tensor *ones = room(WF_I16, WF_SHAPE(2, 4, 2)), *square = room(WF_I16, WF_SHAPE(4, 4));
  assert_ok(wf_sum_into(wf_slice(square, 0, 0, WF_NONE, 2), ones, WF_SHAPE(2), false, NONE));
  assert_elements_of(square, 2, 2, 2, 2, 1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1);
}

static void another_size_makes_room_and_what_fails_changes_nothing(void **state) {
  (void)state;
  wf_tensor *empty = wf_empty(WF_SHAPE(0), NULL), *more = room(WF_F32, WF_SHAPE(4)),
            *turned = wf_t(room(WF_F32, WF_SHAPE(3, 1)));
  assert_ok(wf_sum_into(empty, x, FIRST, false, NONE));
  assert_string_equal(geometry_text(empty), "[3] [1] +0");
  assert_elements_of(empty, 3, 5, 7);
  assert_ok(wf_sum_into(more, x, WF_SHAPE0, true, NONE));
  assert_string_equal(geometry_text(more), "[1, 1] [1, 1] +0");
  assert_elements_of(more, 15);
  assert_ok(wf_amin_into(turned, x, FIRST, true));
  assert_string_equal(geometry_text(turned), "[1, 3] [1, 1] +0");
  assert_elements_of(turned, 0, 1, 2);
  REFUSED(wf_sum_into(more, x, WF_SHAPE(5), false, NONE), WF_INDEX,
          "Dimension out of range (expected to be in range of [-2, 1], but got 5)");
  REFUSED(wf_amax_into(more, whole, FIRST, false), WF_RUNTIME,
          "Expected the dtype for input and out to match, but got Short for input's dtype and Float for out's dtype.");
  assert_string_equal(geometry_text(more), "[1, 1] [1, 1] +0");
  assert_ok(wf_prod_into(more, wf_empty(WF_SHAPE(0, 2), NULL), 0, false, NONE));
  assert_elements_of(more, 1, 1);
}

static void each_reduction_has_its_rule_for_the_dtype(void **state) {
  (void)state;
  wf_tensor *f32 = room(WF_F32, WF_SHAPE(3)), *f64 = room(WF_F64, WF_SHAPE(3)), *i16 = room(WF_I16, WF_SHAPE(3)),
            *i64 = room(WF_I64, WF_SHAPE(3)), *b = room(WF_BOOL, WF_SHAPE(3)), *u8 = room(WF_U8, WF_SHAPE(3));
  assert_ok(wf_sum_into(f64, x, FIRST, false, NONE));
  assert_elements_of(f64, 3, 5, 7);
  assert_ok(wf_sum_into(i16, whole, FIRST, false, NONE));
  assert_elements_of(i16, 3, 5, 7);
  REFUSED(wf_sum_into(i16, whole, FIRST, false, WF_I32), WF_RUNTIME,
          "Expected out tensor to have dtype int, but got short int instead");
  assert_ok(wf_prod_into(b, x, 0, false, NONE));
  assert_elements_of(b, 0, 1, 1);
  assert_ok(wf_mean_into(f64, x, FIRST, false, NONE));
  assert_elements_of(f64, 1.5, 2.5, 3.5);
  REFUSED(wf_mean_into(i64, x, FIRST, false, NONE), WF_RUNTIME,
          "result type Float can't be cast to the desired output type Long");
  REFUSED(wf_mean_into(f32, x, FIRST, false, WF_F64), WF_RUNTIME,
          "Expected out tensor to have dtype double, but got float instead");
  REFUSED(wf_any_into(f32, x, FIRST, false), WF_RUNTIME, "any only supports bool tensor for result, got: Float");
  assert_ok(wf_all_into(u8, x, FIRST, false));
  assert_elements_of(u8, 0, 1, 1);
  assert_ok(wf_any_into(b, whole, WF_SHAPE(0), false));
  assert_elements_of(b, 1, 1, 1);
  assert_ok(wf_argmax_into(i64, x, 0, false));
  assert_elements_of(i64, 1, 1, 1);
  REFUSED(wf_argmin_into(i16, x, 0, false), WF_RUNTIME,
          "Expected out tensor to have dtype long int, but got short int instead");
  assert_ok(wf_var_into(f64, x, FIRST, wf_no_scalar(), false));
  assert_elements_of(f64, 4.5, 4.5, 4.5);
  assert_ok(wf_std_into(f64, x, FIRST, wf_no_scalar(), false));
  assert_elements_of(f64, sqrt(4.5), sqrt(4.5), sqrt(4.5));
  REFUSED(wf_norm_into(f64, x, wf_no_scalar(), FIRST, false), WF_RUNTIME,
          "Expected out tensor to have dtype float, but got double instead");
  assert_ok(wf_norm_into(f32, x, wf_int(1), FIRST, false));
  assert_elements_of(f32, 3, 5, 7);
  REFUSED(wf_logsumexp_into(i16, x, FIRST, false), WF_RUNTIME,
          "logsumexp(): Expected floating point type for result tensor, but got: Short");
  assert_ok(wf_logsumexp_into(f64, wf_zeros(WF_SHAPE(2, 3), NULL), FIRST, false));
  assert_elements_of(f64, log(2), log(2), log(2));
}

static void a_result_within_the_input_is_right_all_the_same(void **state) {
  (void)state;
  wf_tensor *copy = wf_clone(x, WF_FORMAT_PRESERVE);
  assert_ok(wf_sum_into(wf_select(copy, 0, 0), copy, FIRST, false, NONE));
  assert_elements_of(copy, 3, 5, 7, 3, 4, 5);
  copy = wf_clone(x, WF_FORMAT_PRESERVE);
  assert_ok(wf_sum_into(wf_slice(copy, 1, 1, 2, 1), copy, WF_SHAPE(1), true, NONE));
  assert_elements_of(copy, 0, 3, 2, 3, 12, 5);
  assert_ok(wf_amax_into(copy, copy, FIRST, false)); /* also where the input itself is resized */
  assert_string_equal(geometry_text(copy), "[3] [1] +0");
  assert_elements_of(copy, 3, 12, 5);
  REFUSED(wf_sum_into(wf_expand(room(WF_F32, WF_SHAPE(1)), WF_SHAPE(3)), x, FIRST, false, NONE), WF_RUNTIME,
          INTERNAL_OVERLAP);
}

static void gradients_are_refused(void **state) {
  (void)state;
  wf_tensor *leaf = wf_clone(x, WF_FORMAT_PRESERVE), *out = room(WF_F32, WF_SHAPE(3));
  assert_ok(wf_requires_grad_(leaf, true));
#define NO_GRAD(name)                                                                                            \
  name "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments " \
       "requires grad."
  REFUSED(wf_sum_into(out, leaf, FIRST, false, NONE), WF_RUNTIME, NO_GRAD("sum"));
  REFUSED(wf_norm_into(out, leaf, wf_no_scalar(), FIRST, false), WF_RUNTIME, NO_GRAD("linalg_vector_norm"));
  REFUSED(wf_cat_into(out, (wf_tensors){&leaf, 1}, 0), WF_RUNTIME, NO_GRAD("cat"));
  REFUSED(wf_stack_into(out, (wf_tensors){&leaf, 1}, 0), WF_RUNTIME, NO_GRAD("stack"));
  REFUSED(wf_amin_into(leaf, x, FIRST, false), WF_RUNTIME, NO_GRAD("amin"));
  REFUSED(wf_sum_into(NULL, x, FIRST, false, NONE), WF_TYPE, "sum(): argument 'out' must be Tensor, not None");
  bool was = wf_grad_set_enabled(false);
  assert_ok(wf_sum_into(out, leaf, FIRST, false, NONE));
  wf_grad_set_enabled(was);
  assert_elements_of(out, 3, 5, 7);
}

/* ---- values and indices ----------------------------------------------------------------------------------------------------------------- */

/* [[3, 1, 2], [4, 6, 5]]: each operator over its rows, with what PyTorch gives for out=. topk takes two. */
typedef wf_status (*two_results)(wf_tensor *values, wf_tensor *indices, const wf_tensor *self);
static wf_status max_of(wf_tensor *v, wf_tensor *i, const wf_tensor *t) { return wf_max_dim_into(v, i, t, 1, false); }
static wf_status min_of(wf_tensor *v, wf_tensor *i, const wf_tensor *t) { return wf_min_dim_into(v, i, t, 1, true); }
static wf_status sort_of(wf_tensor *v, wf_tensor *i, const wf_tensor *t) { return wf_sort_into(v, i, t, 1, false); }
static wf_status topk_of(wf_tensor *v, wf_tensor *i, const wf_tensor *t) {
  return wf_topk_into(v, i, t, 2, 1, true, true);
}

static const struct {
  const char *name;
  two_results run;
  int n; /* results of a row; 0: without that dim */
  double values[6], indices[6];
} pairs[] = {{"max", max_of, 0, {3, 6}, {0, 1}},
             {"min", min_of, 1, {1, 4}, {1, 0}},
             {"sort", sort_of, 3, {1, 2, 3, 4, 5, 6}, {1, 2, 0, 0, 2, 1}},
             {"topk", topk_of, 2, {3, 2, 6, 5}, {0, 2, 1, 2}}};
#define PAIRS 4

static wf_tensor *rows_of(wf_dtype dtype) {
  return wf_to(wf_from_data((const float[]){3, 1, 2, 4, 6, 5}, WF_SHAPE(2, 3), WF_F32), dtype);
}

static wf_tensor *room_for(int p, wf_dtype dtype) {
  return room(dtype, pairs[p].n ? WF_SHAPE(2, pairs[p].n) : WF_SHAPE(2));
}

static void pair_holds(int p, const wf_tensor *values, const wf_tensor *indices) {
  double got[16];
  int64_t n = pairs[p].n ? 2 * pairs[p].n : 2;
  assert_int_equal(elements_of(values, got), n);
  assert_memory_equal(got, pairs[p].values, (size_t)n * sizeof *got);
  assert_int_equal(elements_of(indices, got), n);
  assert_memory_equal(got, pairs[p].indices, (size_t)n * sizeof *got);
}

static void extremes_and_orders_go_to_two_given_results(void **state) {
  (void)state;
  for (int p = 0; p < PAIRS; p++) {
    two_results run = pairs[p].run;
    wf_tensor *rows = rows_of(WF_F32), *v = room_for(p, WF_F32), *i = room_for(p, WF_I64);
    assert_ok(run(v, i, rows));
    pair_holds(p, v, i);
    assert_int_equal(wf_version_of(v), 1);
    assert_int_equal(wf_version_of(i), 1);
    assert_ok(run(v = room(WF_F32, WF_SHAPE(0)), i = room(WF_I64, WF_SHAPE(7)), rows)); /* resized */
    pair_holds(p, v, i);
    v = room(WF_F32, WF_SHAPE(4, 3)), i = room(WF_I64, WF_SHAPE(3, 4)); /* every second row, and columns */
    wf_tensor *v2 = wf_slice(v, 0, 0, 4, 2), *i2 = wf_slice(wf_t(i), 0, 1, 3, 1);
    v2 = pairs[p].n ? wf_slice(v2, 1, 0, pairs[p].n, 1) : wf_select(v2, 1, 1);
    i2 = pairs[p].n ? wf_slice(i2, 1, 0, pairs[p].n, 1) : wf_select(i2, 1, 1);
    assert_ok(run(v2, i2, rows));
    pair_holds(p, v2, i2);
    double all[16];
    elements_of(v, all);
    for (int e = 0; e < 3; e++) assert_true(all[3 + e] == 1 && all[9 + e] == 1);
  }
}

static void two_given_results_may_lie_in_the_input_and_in_each_other(void **state) {
  (void)state;
  for (int p = 0; p < PAIRS; p++) {
    two_results run = pairs[p].run;
    int64_t n = pairs[p].n ? pairs[p].n : 1;
    wf_tensor *rows = rows_of(WF_F32), *v = wf_slice(rows, 1, 3 - n, 3, 1), *i = room_for(p, WF_I64);
    if (!pairs[p].n) v = wf_select(v, 1, 0);
    assert_ok(run(v, i, rows));
    pair_holds(p, v, i);
    rows = rows_of(WF_F32);
    assert_ok(run(rows, i, rows)); /* resized itself */
    pair_holds(p, rows, i);
    rows = rows_of(WF_I64), v = room_for(p, WF_I64), i = wf_slice(rows, 1, 0, n, 1);
    if (!pairs[p].n) i = wf_select(i, 1, 0);
    assert_ok(run(v, i, rows));
    pair_holds(p, v, i);
    double got[16];
    i = room_for(p, WF_I64);
    assert_ok(run(i, i, rows_of(WF_I64)));
    int64_t count = elements_of(i, got);
    assert_memory_equal(got, pairs[p].indices, (size_t)count * sizeof *got);
  }
}

static void two_given_results_are_refused_in_the_order_of_pytorch(void **state) {
  (void)state;
  for (int p = 0; p < PAIRS; p++) {
    two_results run = pairs[p].run;
    wf_tensor *rows = rows_of(WF_F32), *v = room(WF_F32, WF_SHAPE(5)), *i = room(WF_I64, WF_SHAPE(5)),
              *line = wf_select(x, 0, 0);
    REFUSED(run(room(WF_F64, WF_SHAPE(5)), room(WF_I32, WF_SHAPE(9)), line), WF_INDEX,
            "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
    REFUSED(run(room(WF_F64, WF_SHAPE(5)), room(WF_I32, WF_SHAPE(9)), rows), WF_RUNTIME,
            "Expected out tensor to have dtype float, but got double instead");
    REFUSED(run(v, room(WF_I32, WF_SHAPE(9)), rows), WF_RUNTIME,
            "Expected out tensor to have dtype long int, but got int instead");
    wf_tensor *spread = wf_expand(room(WF_I64, WF_SHAPE(1)), wf_sizes(room_for(p, WF_I64)));
    REFUSED(run(v, spread, rows), WF_RUNTIME, INTERNAL_OVERLAP);
    assert_string_equal(geometry_text(v), "[5] [1] +0"); /* it had been given its sizes by then */
    assert_elements_of(v, 1, 1, 1, 1, 1);
    assert_int_equal(wf_version_of(v), 0);
    char text[200];
    snprintf(
        text, sizeof text,
        "%s(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad.",
        pairs[p].name);
    wf_tensor *leaf = rows_of(WF_F32);
    assert_ok(wf_requires_grad_(leaf, true));
    REFUSED(run(v, i, leaf), WF_RUNTIME, text);
    REFUSED(run(leaf, i, rows), WF_RUNTIME, text);
    snprintf(text, sizeof text, "%s(): argument 'out' must be Tensor, not None", pairs[p].name);
    REFUSED(run(v, NULL, rows), WF_TYPE, text);
  }
  wf_tensor *v = room(WF_F64, WF_SHAPE(2)), *i = room(WF_I64, WF_SHAPE(2));
  REFUSED(wf_topk_into(v, i, x, 9, 1, true, true), WF_RUNTIME, "selected index k out of range");
  REFUSED(wf_max_dim_into(v, i, wf_empty(WF_SHAPE(2, 0), NULL), 1, false), WF_INDEX,
          "max(): Expected reduction dim 1 to have non-zero size.");
  v = room(WF_F32, WF_SHAPE(2));
  assert_ok(wf_topk_into(v, i, x, 0, 1, true, true));
  assert_string_equal(geometry_text(v), "[2, 0] [1, 1] +0");
  wf_tensor *turned = wf_t(wf_contiguous(wf_t(rows_of(WF_F32)), WF_FORMAT_CONTIGUOUS)),
            *empty = room(WF_F32, WF_SHAPE(0));
  assert_ok(wf_sort_into(empty, i, turned, 1, true)); /* laid out as its input */
  assert_string_equal(geometry_text(empty), "[2, 3] [1, 2] +0");
  assert_elements_of(empty, 3, 2, 1, 6, 5, 4);
}

/* ---- joins ------------------------------------------------------------------------------------------------------------------------------ */

static void cat_and_stack_convert_on_the_way_and_keep_strides(void **state) {
  (void)state;
  wf_tensor *both[] = {x, whole};
  wf_tensors list = {both, 2};
  wf_tensor *turned = wf_t(room(WF_F64, WF_SHAPE(3, 4))), *empty = wf_empty(WF_SHAPE(0), NULL);
  assert_ok(wf_cat_into(turned, list, 0));
  assert_string_equal(geometry_text(turned), "[4, 3] [1, 4] +0");
  assert_elements_of(turned, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5);
  assert_ok(wf_stack_into(empty, list, -1));
  assert_string_equal(geometry_text(empty), "[2, 3, 2] [6, 2, 1] +0");
  assert_elements_of(empty, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5);
  wf_tensor *image = wf_contiguous(wf_ones(WF_SHAPE(1, 2, 3, 3), NULL), WF_FORMAT_CHANNELS_LAST),
            *images[] = {image, image};
  wf_tensor *fresh = wf_empty(WF_SHAPE(0), NULL), *rows = wf_empty(WF_SHAPE(1, 4, 3, 3), NULL);
  assert_ok(wf_cat_into(fresh, (wf_tensors){images, 2}, 1));
  assert_string_equal(geometry_text(fresh), "[1, 4, 3, 3] [36, 1, 12, 4] +0"); /* as a new result */
  assert_ok(wf_cat_into(rows, (wf_tensors){images, 2}, 1));
  assert_string_equal(geometry_text(rows), "[1, 4, 3, 3] [36, 9, 3, 1] +0");
}

static void cat_and_stack_refuse_what_they_would_overwrite(void **state) {
  (void)state;
  wf_tensor *space = room(WF_F32, WF_SHAPE(2, 2, 3)), *both[] = {wf_select(space, 0, 0), x};
  wf_tensors list = {both, 2};
  REFUSED(wf_stack_into(space, list, 0), WF_RUNTIME, PARTIAL_OVERLAP);
  REFUSED(wf_cat_into(x, list, 0), WF_RUNTIME, PARTIAL_OVERLAP);
  assert_string_equal(geometry_text(x), "[2, 3] [3, 1] +0"); /* PyTorch resizes it first */
  REFUSED(wf_cat_into(wf_expand(room(WF_F32, WF_SHAPE(1)), WF_SHAPE(4, 3)), list, 0), WF_RUNTIME, INTERNAL_OVERLAP);
  REFUSED(wf_cat_into(room(WF_I64, WF_SHAPE(4, 3)), list, 0), WF_TYPE,
          "torch.cat(): input types can't be cast to the desired output type Long");
  REFUSED(wf_stack_into(room(WF_BOOL, WF_SHAPE(2, 2, 3)), list, 0), WF_TYPE,
          "torch.cat(): input types can't be cast to the desired output type Bool");
  REFUSED(wf_cat_into(x, (wf_tensors){NULL, 0}, 0), WF_VALUE, "torch.cat(): expected a non-empty list of Tensors");
  REFUSED(wf_stack_into(x, (wf_tensors){NULL, 0}, 0), WF_RUNTIME, "stack expects a non-empty TensorList");
  wf_tensor *grid = room(WF_F32, WF_SHAPE(4, 3)), *column = wf_slice(grid, 1, 0, 1, 1), *columns[] = {column, column};
  assert_ok(wf_copy_(column, wf_view(wf_arange(wf_int(5), wf_int(9), wf_int(1), NULL), WF_SHAPE(4, 1)), false));
  assert_ok(wf_cat_into(wf_slice(grid, 1, 0, 2, 1), (wf_tensors){columns, 2},
                        1)); /* with gaps PyTorch can't tell; right here */
  assert_elements_of(grid, 5, 5, 1, 6, 6, 1, 7, 7, 1, 8, 8, 1);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------------------------------- */

static void products_go_to_any_strides_and_over_their_own_factors(void **state) {
  (void)state;
  wf_tensor *a = x, *b = wf_reshape(wf_arange(wf_float(0), wf_float(12), wf_int(1), NULL), WF_SHAPE(3, 4));
  wf_tensor *turned = wf_t(room(WF_F32, WF_SHAPE(4, 2))), *empty = wf_empty(WF_SHAPE(0), NULL);
  assert_ok(wf_mm_into(turned, a, b));
  assert_string_equal(geometry_text(turned), "[2, 4] [1, 2] +0");
  assert_elements_of(turned, 20, 23, 26, 29, 56, 68, 80, 92);
  wf_tensor *square = wf_reshape(wf_arange(wf_float(0), wf_float(9), wf_int(1), NULL), WF_SHAPE(3, 3));
  wf_tensor *batch = wf_unsqueeze(wf_clone(square, WF_FORMAT_PRESERVE), 0);
  assert_ok(wf_bmm_into(batch, batch, batch));
  assert_elements_of(batch, 15, 18, 21, 42, 54, 66, 69, 90, 111);
  assert_ok(wf_mm_into(square, square, square)); /* PyTorch gives 0 here */
  assert_elements_of(square, 15, 18, 21, 42, 54, 66, 69, 90, 111);
  wf_tensor *sum = wf_ones(WF_SHAPE(2, 4), NULL);
  assert_ok(wf_addmm_into(sum, sum, a, b, wf_int(1), wf_int(1)));
  assert_elements_of(sum, 21, 24, 27, 30, 57, 69, 81, 93);
  assert_ok(wf_addmm_into(empty, wf_ones(WF_SHAPE(4), NULL), a, b, wf_int(2), wf_int(1)));
  assert_elements_of(empty, 22, 25, 28, 31, 58, 70, 82, 94);
  REFUSED(wf_mm_into(room(WF_F64, WF_SHAPE(2, 4)), a, b), WF_RUNTIME,
          "Expected out tensor to have dtype float, but got double instead");
  REFUSED(wf_mm_into(wf_expand(room(WF_F32, WF_SHAPE(1)), WF_SHAPE(2, 4)), a, b), WF_RUNTIME, INTERNAL_OVERLAP);
  REFUSED(wf_mm_into(turned, a, a), WF_RUNTIME, "mm: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
}

static void entries_are_taken_to_a_tensor_that_lies_apart(void **state) {
  (void)state;
  wf_tensor *swap = wf_from_data((const int64_t[]){1, 0}, WF_SHAPE(2), WF_I64),
            *each = wf_from_data((const int64_t[]){1, 0, 1}, WF_SHAPE(1, 3), WF_I64);
  wf_tensor *turned = wf_t(room(WF_F32, WF_SHAPE(3, 2))), *empty = wf_empty(WF_SHAPE(0), NULL);
  assert_ok(wf_index_select_into(turned, x, 0, swap));
  assert_string_equal(geometry_text(turned), "[2, 3] [1, 2] +0");
  assert_elements_of(turned, 3, 4, 5, 0, 1, 2);
  assert_ok(wf_gather_into(empty, x, 0, each));
  assert_string_equal(geometry_text(empty), "[1, 3] [3, 1] +0");
  assert_elements_of(empty, 3, 1, 5);
  wf_tensor *beyond = wf_from_data((const int64_t[]){9}, WF_SHAPE(1), WF_I64), *line = room(WF_F32, WF_SHAPE(2));
  REFUSED(wf_index_select_into(line, wf_select(x, 0, 0), 0, beyond), WF_INDEX, "index out of range in self");
  assert_string_equal(geometry_text(line), "[2] [1] +0"); /* as before, though the result has one element */
  REFUSED(wf_index_select_into(x, x, 0, swap), WF_RUNTIME, PARTIAL_OVERLAP);
  REFUSED(wf_gather_into(x, x, 0, each), WF_RUNTIME, PARTIAL_OVERLAP);
  REFUSED(wf_index_select_into(room(WF_F64, WF_SHAPE(2, 3)), x, 0, swap), WF_RUNTIME,
          "index_select(): self and result must have the same scalar type");
  REFUSED(wf_gather_into(room(WF_F64, WF_SHAPE(1, 3)), x, 0, each), WF_RUNTIME,
          "Expected out tensor to have dtype float, but got double instead");
  assert_elements_of(x, 0, 1, 2, 3, 4, 5);
}

static void running_sums_may_run_over_their_input(void **state) {
  (void)state;
  wf_tensor *f64 = room(WF_F64, WF_SHAPE(2, 3));
  assert_ok(wf_cumsum_into(f64, whole, 0, NONE));
  assert_elements_of(f64, 0, 1, 2, 3, 5, 7);
  assert_ok(wf_cumprod_into(whole, whole, 0, NONE));
  assert_elements_of(whole, 0, 1, 2, 0, 4, 10);
  assert_ok(wf_cumsum_into(x, x, 1, NONE));
  assert_elements_of(x, 0, 1, 3, 3, 7, 12);
  REFUSED(wf_cumsum_into(x, x, 0, WF_F64), WF_RUNTIME,
          "Expected out tensor to have dtype double, but got float instead");
  REFUSED(wf_cumsum_into(room(WF_BOOL, WF_SHAPE(2, 3)), x, 0, NONE), WF_NOT_IMPLEMENTED,
          "\"cumsum_out_cpu\" not implemented for 'Bool'");
}

static void elementwise_forms_with_numbers_are_written_too(void **state) {
  (void)state;
  wf_tensor *to = room(WF_F32, WF_SHAPE(2, 3)), *f64 = room(WF_F64, WF_SHAPE(2, 3)),
            *i64 = room(WF_I64, WF_SHAPE(2, 3));
  assert_ok(wf_add_scalar_into(to, x, wf_int(2)));
  assert_elements_of(to, 2, 3, 4, 5, 6, 7);
  assert_ok(wf_sub_scalar_into(f64, x, wf_float(0.5)));
  assert_elements_of(f64, -0.5, 0.5, 1.5, 2.5, 3.5, 4.5);
  assert_ok(wf_mul_scalar_into(to, x, wf_int(3)));
  assert_elements_of(to, 0, 3, 6, 9, 12, 15);
  assert_ok(wf_div_scalar_into(to, whole, wf_int(2)));
  assert_elements_of(to, 0, 0.5, 1, 1.5, 2, 2.5);
  assert_ok(wf_remainder_scalar_into(i64, whole, wf_int(2)));
  assert_elements_of(i64, 0, 1, 0, 1, 0, 1);
  assert_ok(wf_pow_scalar_into(f64, x, wf_int(2)));
  assert_elements_of(f64, 0, 1, 4, 9, 16, 25);
  assert_ok(wf_pow_into(to, x, x));
  assert_elements_of(to, 1, 1, 4, 27, 256, 3125);
  assert_ok(wf_lerp_into(to, x, wf_add_scalar(x, wf_int(1)), wf_float(0.5)));
  assert_elements_of(to, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5);
  assert_ok(wf_addcmul_into(to, x, x, x, wf_int(2)));
  assert_elements_of(to, 0, 3, 10, 21, 36, 55);
  assert_ok(wf_addcdiv_into(to, x, x, wf_ones(WF_SHAPE(3), NULL), wf_no_scalar()));
  assert_elements_of(to, 0, 2, 4, 6, 8, 10);
  wf_tensor *b = wf_gt_scalar(x, wf_int(2)), *truth = room(WF_BOOL, WF_SHAPE(2, 3));
  assert_ok(wf_where_into(to, b, x, whole));
  assert_elements_of(to, 0, 1, 2, 3, 4, 5);
  assert_ok(wf_where_into(to, b, x, wf_neg(x)));
  assert_elements_of(to, 0, -1, -2, 3, 4, 5);
  REFUSED(wf_where_into(f64, b, x, whole), WF_RUNTIME, "Expected out type to be Float but got Double");
  assert_ok(wf_le_scalar_into(truth, whole, wf_float(2.5)));
  assert_elements_of(truth, 1, 1, 1, 0, 0, 0);
  assert_ok(wf_bitwise_xor_scalar_into(i64, whole, wf_int(1)));
  assert_elements_of(i64, 1, 0, 3, 2, 5, 4);
  assert_ok(wf_clamp_into(x, x, wf_int(1), wf_int(4)));
  assert_elements_of(x, 1, 1, 2, 3, 4, 4);
  REFUSED(wf_clamp_into(f64, x, wf_int(1), wf_no_scalar()), WF_RUNTIME, "Found dtype Double but expected Float");
  REFUSED(wf_pow_scalar_into(i64, x, wf_int(2)), WF_RUNTIME,
          "result type Float can't be cast to the desired output type Long");
  REFUSED(wf_add_scalar_into(i64, x, wf_int(2)), WF_RUNTIME,
          "result type Float can't be cast to the desired output type Long");
}

/* All in this test is what torch 2.15 gives and says. */
static void a_given_result_takes_the_sizes_whatever_its_dtype(void **state) {
  (void)state;
  wf_tensor *turned = wf_t(wf_reshape(x, WF_SHAPE(3, 2))); /* [2, 3], strides 1, 2: no single run with x */
  wf_tensor *wide = room(WF_F64, WF_SHAPE(2)), *narrow = room(WF_F32, WF_SHAPE0), *truth = room(WF_I64, WF_SHAPE(7));
  wf_tensor *wider = wf_to(x, WF_F64);
  assert_ok(wf_add_into(wide, x, turned));
  assert_elements_of(wide, 0, 3, 6, 4, 7, 10);
  assert_int_equal(wf_stride(wide, 0), 3);
  assert_ok(wf_mul_into(narrow, turned, wider));
  assert_elements_of(narrow, 0, 2, 8, 3, 12, 25);
  assert_int_equal(wf_stride(narrow, 0), 1);
  assert_ok(wf_eq_into(truth, x, turned));
  assert_elements_of(truth, 1, 0, 0, 0, 0, 1);
}

static void a_given_result_that_is_read_keeps_its_sizes(void **state) {
  (void)state;
  wf_tensor *one = wf_full(WF_SHAPE(1), wf_int(5), NULL);
  REFUSED(wf_add_into(one, one, x), WF_RUNTIME, "output with shape [1] doesn't match the broadcast shape [2, 3]");
  assert_elements_of(one, 5);
  assert_int_equal(wf_version_of(one), 0);
}

static void a_given_result_may_grow_into_what_is_read(void **state) {
  (void)state;
  enum { N = 40 };
  wf_tensor *line = wf_arange(wf_int(0), wf_int(2 * N * N), wf_int(1), &(wf_tensor_options){.dtype = WF_F32});
  wf_tensor *read = wf_as_strided(line, WF_SHAPE(N, N), WF_SHAPE(1, N), 7), *dst = wf_narrow(line, 0, 0, 2);
  float got[N * N];
  assert_ok(wf_add_into(dst, wf_zeros(WF_SHAPE(N, N), NULL), read));
  assert_ok(wf_to_host(dst, got, sizeof got));
  for (int i = 0; i < N * N; i++) assert_float_equal(got[i], 7 + i / N + i % N * N, 0);
}

static void what_is_refused_of_a_given_result_comes_in_pytorchs_order(void **state) {
  (void)state;
  wf_tensor *f64 = room(WF_F64, WF_SHAPE(2, 3)), *b = room(WF_BOOL, WF_SHAPE(1)), *rows[] = {x, wf_select(x, 0, 0)};
  REFUSED(wf_floor_into(f64, x), WF_RUNTIME, "Found dtype Double but expected Float");
  REFUSED(wf_bitwise_not_into(f64, x), WF_RUNTIME, "Found dtype Double but expected Float");
  REFUSED(wf_exp_into(room(WF_I64, WF_SHAPE(2, 3)), x), WF_RUNTIME,
          "result type Float can't be cast to the desired output type Long");
  REFUSED(wf_add_into(wf_expand(b, WF_SHAPE(2, 3)), x, x), WF_RUNTIME, INTERNAL_OVERLAP);
  REFUSED(wf_cat_into(b, (wf_tensors){rows, 2}, 0), WF_TYPE,
          "torch.cat(): input types can't be cast to the desired output type Bool");
  REFUSED(wf_cat_into(wf_narrow(x, 0, 0, 1), (wf_tensors){rows, 2}, 0), WF_RUNTIME,
          "Tensors must have same number of dimensions: got 2 and 1");
  REFUSED(wf_amax_into(f64, x, WF_SHAPE(7), false), WF_RUNTIME,
          "Expected the dtype for input and out to match, but got Float for input's dtype and Double for out's dtype.");
}

/* Each allocation of these calls fails once: results keep what they had, and their sizes. */
static void a_failed_allocation_changes_no_result(void **state) {
  (void)state;
  wf_tensor *rows[] = {x, x}, *swap = wf_from_data((const int64_t[]){1, 0}, WF_SHAPE(2), WF_I64);
  wf_tensor *mask = wf_from_data((const bool[]){true, false, true}, WF_SHAPE(3), WF_BOOL),
            *half = wf_full(WF_SHAPE0, wf_float(0.5), NULL);
  bool failed = true;
  for (int64_t k = 1; failed; k++) {
    wf_scope inner = wf_scope_begin();
    wf_tensor *within = wf_clone(x, WF_FORMAT_PRESERVE), *small = wf_clone(wf_select(x, 0, 1), WF_FORMAT_PRESERVE),
              *square = wf_mm(wf_t(x), x), *filled = wf_clone(x, WF_FORMAT_PRESERVE);
    wf_tensor *all[] = {within, small, square, filled};
    double before[4][16], after[16];
    for (int i = 0; i < 4; i++) elements_of(all[i], before[i]);
    wf__fault_at(k);
    wf_status done[] = {wf_sum_into(wf_select(within, 0, 0), within, FIRST, false, NONE), WF_OK, WF_OK, WF_OK};
    if (!done[0]) done[1] = wf_cat_into(small, (wf_tensors){rows, 2}, 0);
    if (!done[0] && !done[1]) done[2] = wf_mm_into(square, square, square);
    if (!done[0] && !done[1] && !done[2])
      done[3] = wf_index_put_(filled, (wf_tensors){(wf_tensor *[]){NULL, mask}, 2}, half, false);
    wf__fault_at(0);
    wf_error error = wf_error_take();
    failed = error.status != WF_OK;
    assert_true(!failed || error.status == WF_NO_MEMORY);
    for (int i = 0; i < 4; i++) {
      if (!failed || !done[i]) continue; /* the one that failed */
      int64_t n = elements_of(all[i], after);
      assert_int_equal(n, i == 1 ? 3 : i == 2 ? 9 : 6);
      assert_memory_equal(after, before[i], (size_t)n * sizeof *after);
      assert_int_equal(wf_version_of(all[i]), 0);
    }
    wf_scope_end(inner, NULL);
  }
  assert_ok(wf_index_select_into(x, wf_neg(x), 0, swap)); /* and everything still works */
  assert_elements_of(x, -3, -4, -5, 0, -1, -2);
}

static void a_failed_allocation_changes_neither_of_two_results(void **state) {
  (void)state;
  bool failed = true;
  for (int64_t k = 1; failed; k++) {
    wf_scope inner = wf_scope_begin();
    wf_tensor *rows = rows_of(WF_I64), *within = wf_slice(rows, 1, 0, 1, 1), *small = room(WF_I64, WF_SHAPE(1));
    wf__fault_at(k);
    wf_status first = wf_topk_into(within, small, rows, 3, 1, false, true); /* both get other sizes */
    wf__fault_at(0);
    failed = wf_error_take().status != WF_OK;
    assert_int_equal(failed, first != WF_OK);
    if (failed) {
      assert_elements_of(rows, 3, 1, 2, 4, 6, 5);
      assert_elements_of(within, 3, 4);
      assert_elements_of(small, 1);
      assert_int_equal(wf_version_of(rows) + wf_version_of(small), 0);
    } else {
      assert_elements_of(within, 1, 2, 3, 4, 5, 6);
      assert_elements_of(small, 1, 2, 0, 0, 2, 1);
    }
    wf_scope_end(inner, NULL);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scope, end_scope)
  const struct CMUnitTest tests[] = {
      TEST(a_given_result_keeps_its_strides_and_its_neighbours),
      TEST(a_sum_into_every_second_row_leaves_the_rows_between),
      TEST(another_size_makes_room_and_what_fails_changes_nothing),
      TEST(each_reduction_has_its_rule_for_the_dtype),
      TEST(a_result_within_the_input_is_right_all_the_same),
      TEST(gradients_are_refused),
      TEST(extremes_and_orders_go_to_two_given_results),
      TEST(two_given_results_may_lie_in_the_input_and_in_each_other),
      TEST(two_given_results_are_refused_in_the_order_of_pytorch),
      TEST(a_failed_allocation_changes_neither_of_two_results),
      TEST(cat_and_stack_convert_on_the_way_and_keep_strides),
      TEST(cat_and_stack_refuse_what_they_would_overwrite),
      TEST(products_go_to_any_strides_and_over_their_own_factors),
      TEST(entries_are_taken_to_a_tensor_that_lies_apart),
      TEST(running_sums_may_run_over_their_input),
      TEST(a_given_result_takes_the_sizes_whatever_its_dtype),
      TEST(a_given_result_that_is_read_keeps_its_sizes),
      TEST(a_given_result_may_grow_into_what_is_read),
      TEST(what_is_refused_of_a_given_result_comes_in_pytorchs_order),
      TEST(elementwise_forms_with_numbers_are_written_too),
      TEST(a_failed_allocation_changes_no_result),
  };
  return cmocka_run_group_tests_name("op/into", tests, NULL, NULL);
}
