/* Faults of layouts that other tensor libraries had: views that read or write elsewhere, writes that meet their own reads, sizes that wrap.
 * Each expected value is arithmetic, or PyTorch's refusal. R002 and so on number faults that were seen in other libraries; those whose
 * operator has a file of its own are tested there. */
#include "op/geometry.h"
#include "scoped.h"

#include <weft/copy.h>
#include <weft/create.h>
#include <weft/index.h>
#include <weft/join.h>
#include <weft/math.h>
#include <weft/reduce.h>
#include <weft/view.h>
#include "backend/slow_sim.h"

#define INTERNAL_OVERLAP                                                                                              \
  "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please " \
  "clone() the tensor before performing the operation."
#define PARTIAL_OVERLAP                                                                                                    \
  "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. " \
  "Please clone() the tensor before performing the operation."

static wf_tensor *counting(wf_dims size, double first) {
  int64_t n = 1;
  for (int i = 0; i < size.n; i++) n *= size.at[i];
  wf_tensor *t = wf_arange(wf_float(first), wf_float(first + (double)n), wf_int(1), NULL);
  return wf_view(t, size);
}

static wf_tensor *floats(int64_t n, const float *data) { return wf_from_data(data, wf_dims_of(&n, 1), WF_F32); }
#define F(...) floats(sizeof(float[]){__VA_ARGS__} / sizeof(float), (const float[]){__VA_ARGS__})

static bool same_elements(const wf_tensor *a, const wf_tensor *b) {
  return wf_item(wf_all(wf_eq(a, b), WF_SHAPE0, false)).as.i;
}

/* ---- windows ------------------------------------------------------------------------------------------------------------------------ */

/* R002 */
static void a_window_at_the_end_of_the_integers_is_refused(void **state) {
  (void)state;
  wf_tensor *one = F(1);
  const int64_t sizes[][2] = {{4096, 0}, {2, 1}, {1, 0}};
  for (int i = 0; i < 3; i++) {
    char text[120];
    snprintf(text, sizeof text, "Storage size calculation overflowed with sizes=[%lld] and strides=[%lld]",
             (long long)sizes[i][0], (long long)sizes[i][1]);
    assert_refused(wf_as_strided(one, wf_dims_of(&sizes[i][0], 1), wf_dims_of(&sizes[i][1], 1), INT64_MAX), WF_RUNTIME,
                   text);
  }
  assert_refused(wf_as_strided(one, WF_SHAPE0, WF_SHAPE0, INT64_MAX), WF_RUNTIME,
                 "Storage size calculation overflowed with sizes=[]");
  assert_null(wf_as_strided(one, WF_SHAPE(3), WF_SHAPE(INT64_MAX / 2), 0));
  wf_error_take();
  assert_null(wf_as_strided(one, WF_SHAPE(2), WF_SHAPE(1), 0));
  wf_error_take();
  assert_geometry(wf_as_strided(one, WF_SHAPE(0, 9), WF_SHAPE(5, 7), 100), "[0, 9] [5, 7] +100");
}

/* R004 */
static void sizes_and_strides_of_different_length_are_refused(void **state) {
  (void)state;
  wf_tensor *t = F(1, 2, 3);
  assert_refused(wf_as_strided(t, WF_SHAPE(1, 0), WF_SHAPE0, 1), WF_RUNTIME, "mismatch in length of strides and shape");
  assert_refused(wf_as_strided(t, WF_SHAPE(1), WF_SHAPE(1, 1), 0), WF_RUNTIME,
                 "mismatch in length of strides and shape");
  assert_int_equal(wf_as_strided_(t, WF_SHAPE(1, 0), WF_SHAPE0, 1), WF_RUNTIME);
  assert_error(WF_RUNTIME, "mismatch in length of strides and shape");
  assert_string_equal(geometry_text(t), "[3] [1] +0");
}

/* R005 */
static void a_scatter_from_a_wild_window_changes_nothing(void **state) {
  (void)state;
  wf_tensor *target = counting(WF_SHAPE(4, 4), 0), *before = wf_clone(target, WF_FORMAT_PRESERVE);
  wf_tensor *source = wf_full(WF_SHAPE(2, 2), wf_float(10), NULL);
  const char *text = "Storage size calculation overflowed with sizes=[2, 2] and strides=[2, 1]";
  wf_tensor *window = wf_as_strided(source, WF_SHAPE(2, 2), WF_SHAPE(2, 1), INT64_MAX);
  assert_null(window);
  assert_int_equal(wf_copy_(wf_as_strided(target, WF_SHAPE(2, 2), WF_SHAPE(2, 1), INT64_MAX), source, false),
                   WF_RUNTIME);
  assert_error(WF_RUNTIME, text);
  assert_true(same_elements(target, before));
}

/* R007 */
static void an_unknown_size_beside_a_zero_is_refused_where_it_is_ambiguous(void **state) {
  (void)state;
  wf_tensor *empty = wf_empty(WF_SHAPE(1, 0), NULL);
  assert_refused(
      wf_reshape(empty, WF_SHAPE(-1, 0)), WF_RUNTIME,
      "cannot reshape tensor of 0 elements into shape [-1, 0] because the unspecified dimension size -1 can be any "
      "value and is ambiguous");
  assert_refused(
      wf_view(empty, WF_SHAPE(0, -1)), WF_RUNTIME,
      "cannot reshape tensor of 0 elements into shape [0, -1] because the unspecified dimension size -1 can be any "
      "value and is ambiguous");
  assert_geometry(wf_reshape(empty, WF_SHAPE(2, -1)), "[2, 0] [1, 1] +0");
  assert_geometry(wf_view(empty, WF_SHAPE(-1, 3)), "[0, 3] [3, 1] +0");
}

/* R010 */
static void dims_that_lie_apart_do_not_merge(void **state) {
  (void)state;
  wf_tensor *part = wf_slice(counting(WF_SHAPE(2, 6, 4), 0), 1, 0, 3, 1);
  assert_string_equal(geometry_text(part), "[2, 3, 4] [24, 4, 1] +0");
  assert_refused(
      wf_view(part, WF_SHAPE(6, 4)), WF_RUNTIME,
      "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
      "contiguous subspaces). Use .reshape(...) instead.");
  wf_tensor *copy = wf_reshape(part, WF_SHAPE(6, 4));
  assert_string_equal(geometry_text(copy), "[6, 4] [4, 1] +0");
  assert_elements_of(wf_select(copy, 1, 0), 0, 4, 8, 24, 28, 32);
}

/* R011 */
static void an_end_counted_from_behind_goes_with_an_index(void **state) {
  (void)state;
  wf_tensor *x = wf_ones(WF_SHAPE(10, 10), NULL);
  wf_tensor *part = wf_select(wf_slice(x, 0, 0, -1, 1), 1, 0);
  assert_string_equal(geometry_text(part), "[9] [10] +0");
  assert_elements_of(part, 1, 1, 1, 1, 1, 1, 1, 1, 1);
  wf_tensor *inner = wf_slice(wf_slice(x, 0, 1, -1, 1), 1, 1, -1, 1);
  assert_string_equal(geometry_text(inner), "[8, 8] [10, 1] +11");
  assert_ok(wf_copy_(inner, wf_slice(wf_slice(x, 0, 1, -1, 1), 1, 1, -1, 1), false)); /* the same view on both sides */
  assert_true(same_elements(x, wf_ones(WF_SHAPE(10, 10), NULL)));
}

/* R013 */
static void elements_of_a_transposed_tensor_come_in_logical_order(void **state) {
  (void)state;
  wf_tensor *t = wf_t(counting(WF_SHAPE(2, 3), 1));
  assert_null(wf_view(t, WF_SHAPE(-1)));
  wf_error_take();
  assert_elements_of(wf_reshape(t, WF_SHAPE(-1)), 1, 4, 2, 5, 3, 6);
  float rows[6];
  assert_ok(wf_to_host(t, rows, sizeof rows));
  const float expected[6] = {1, 4, 2, 5, 3, 6};
  assert_memory_equal(rows, expected, sizeof rows);
}

/* R014 */
static void a_leading_offset_is_applied_once_also_on_a_device(void **state) {
  (void)state;
  wf_tensor *host = counting(WF_SHAPE(2, 3, 4), 0);
  wf_tensor *both[] = {host, wf_to_device(host, wf_sim(0), false)};
  for (int i = 0; i < 2; i++) {
    wf_tensor *part = wf_slice(wf_slice(wf_slice(both[i], 0, 1, WF_NONE, 1), 1, 1, WF_NONE, 1), 2, 2, WF_NONE, 1);
    assert_string_equal(geometry_text(part), "[1, 2, 2] [12, 4, 1] +18");
    assert_elements_of(part, 18, 19, 22, 23);
    assert_true(wf_item_double(wf_select(wf_select(wf_select(part, 0, 0), 0, 1), 0, 1)) == 23);
  }
}

/* R016 */
static void a_copy_has_row_major_strides_also_in_dims_of_one(void **state) {
  (void)state;
  wf_tensor *turned = wf_t(wf_zeros(WF_SHAPE(4096, 1), NULL));
  assert_string_equal(geometry_text(turned), "[1, 4096] [1, 1] +0");
  assert_geometry(wf_clone(turned, WF_FORMAT_CONTIGUOUS), "[1, 4096] [4096, 1] +0");
  assert_geometry(wf_clone(turned, WF_FORMAT_PRESERVE), "[1, 4096] [1, 1] +0");
  assert_ptr_equal(wf_contiguous(turned, WF_FORMAT_CONTIGUOUS), turned);
  wf_tensor *column = wf_t(wf_slice(wf_zeros(WF_SHAPE(4096, 2), NULL), 1, 0, 1, 1));
  assert_string_equal(geometry_text(column), "[1, 4096] [1, 2] +0");
  assert_geometry(wf_contiguous(column, WF_FORMAT_CONTIGUOUS), "[1, 4096] [4096, 1] +0");
}

/* R017 */
static void a_write_into_a_view_lands_at_its_offset(void **state) {
  (void)state;
  wf_tensor *x = F(1, 0);
  assert_ok(wf_copy_(wf_slice(x, 0, 1, 2, 1), F(35), false));
  assert_elements_of(x, 1, 35);
  wf_tensor *wide = wf_zeros(WF_SHAPE(3, 4), NULL);
  assert_ok(wf_fill_(wf_select(wf_slice(wide, 1, 1, 4, 2), 0, 2), wf_float(7)));
  assert_elements_of(wide, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 7);
}

/* R020, R047 */
static void arithmetic_and_sums_follow_strides(void **state) {
  (void)state;
  wf_tensor *twice = wf_mul_scalar(wf_t(counting(WF_SHAPE(4, 3), 0)), wf_int(2));
  assert_elements_of(twice, 0, 6, 12, 18, 2, 8, 14, 20, 4, 10, 16, 22);
  assert_true(wf_item_double(wf_sum(twice)) == 132);
  assert_elements_of(wf_sum_dims(twice, WF_SHAPE(0), false, WF_DTYPE_NONE), 6, 24, 42, 60);
  assert_elements_of(wf_sum_dims(twice, WF_SHAPE(1), false, WF_DTYPE_NONE), 36, 42 + 2, 52);
  assert_true(wf_item_double(wf_sum(wf_t(counting(WF_SHAPE(3, 4), 1)))) == 78);
  assert_true(wf_item_double(wf_sum(wf_permute(counting(WF_SHAPE(2, 3, 4), 1), WF_SHAPE(2, 1, 0)))) == 300);
}

/* ---- writes that meet ----------------------------------------------------------------------------------------------------------------- */

/* x[:, 1:] := x[:, :-1]: refused, or as through a temporary. Ten times, since a race doesn't show each time. */
static void shift_rows(wf_device device) {
  wf_tensor *start = wf_reshape(wf_arange(wf_int(0), wf_int(512 * 10 * 140), wf_int(1), NULL), WF_SHAPE(512, 10, 140));
  for (int round = 0; round < 10; round++) {
    wf_tensor *x = wf_to_with(start, &(wf_to_options){.device = &device, .copy = true});
    wf_tensor *wanted =
        wf_cat((wf_tensors){(wf_tensor *[]){wf_slice(start, 1, 0, 1, 1), wf_slice(start, 1, 0, 9, 1)}, 2}, 1);
    wf_status status = wf_copy_(wf_slice(x, 1, 1, 10, 1), wf_slice(x, 1, 0, 9, 1), false);
    wf_error_take();
    if (status) wanted = start;
    assert_true(same_elements(wf_to_device(x, wf_cpu(), false), wanted));
  }
  wf_tensor *rows = wf_to_device(wf_zeros(WF_SHAPE(5000, 100), NULL), device, false);
  assert_int_equal(wf_copy_(wf_slice(rows, 0, 0, -500, 1), wf_slice(rows, 0, 500, WF_NONE, 1), false), WF_RUNTIME);
  assert_error(WF_RUNTIME, PARTIAL_OVERLAP);
}

/* R022, on the host and on a device */
static void shifting_within_a_tensor_is_refused_or_right(void **state) {
  (void)state;
  shift_rows(wf_cpu());
}

static void shifting_within_a_tensor_of_a_slow_device_is_too(void **state) {
  (void)state;
  start("mem=256MiB,kernel_us=200,link=pcie3x16");
  shift_rows(wf_sim(0));
}

/* R023 */
static void a_division_by_ones_own_neighbours_is_refused(void **state) {
  (void)state;
  wf_tensor *x = F(10, 11, 12, 13, 14, 13, 12, 11);
  wf_tensor *behind = wf_slice(x, 0, 1, WF_NONE, 1), *before = wf_slice(x, 0, 0, -1, 1);
  assert_int_equal(wf_div_(behind, before), WF_RUNTIME);
  assert_error(WF_RUNTIME, PARTIAL_OVERLAP);
  assert_elements_of(x, 10, 11, 12, 13, 14, 13, 12, 11);
  assert_elements_of(wf_div(behind, before), 11.f / 10, 12.f / 11, 13.f / 12, 14.f / 13, 13.f / 14, 12.f / 13,
                     11.f / 12);
}

/* R024, R025, R032 */
static void writing_to_an_expanded_tensor_is_refused_but_filling_it_is_not(void **state) {
  (void)state;
  wf_tensor *angle = wf_full(WF_SHAPE(1), wf_float(0.785398163), NULL);
  assert_int_equal(wf_cos_(wf_expand(angle, WF_SHAPE(3))), WF_RUNTIME);
  assert_error(WF_RUNTIME, INTERNAL_OVERLAP);
  assert_true(wf_item_double(angle) == (double)0.785398163f);
  wf_tensor *one = F(1), *ten = wf_expand(one, WF_SHAPE(10)), *digits = counting(WF_SHAPE(10), 0);
  assert_int_equal(wf_copy_(ten, digits, false), WF_RUNTIME);
  assert_error(WF_RUNTIME, INTERNAL_OVERLAP);
  assert_int_equal(wf_copy_(ten, wf_full(WF_SHAPE(10), wf_float(4), NULL), false), WF_RUNTIME);
  assert_error(WF_RUNTIME, INTERNAL_OVERLAP);
  assert_int_equal(wf_add_scalar_(ten, wf_int(1)), WF_RUNTIME);
  assert_error(WF_RUNTIME, INTERNAL_OVERLAP);
  assert_int_equal(wf_add_into(ten, digits, digits), WF_RUNTIME);
  assert_error(WF_RUNTIME, INTERNAL_OVERLAP);
  assert_elements_of(one, 1);
  assert_ok(wf_fill_(ten, wf_float(5)));
  assert_elements_of(one, 5);
  assert_ok(wf_zero_(ten));
  assert_elements_of(one, 0);
  assert_int_equal(wf_add_scalar_(wf_expand(wf_ones(WF_SHAPE(1, 1), NULL), WF_SHAPE(4, 5)), wf_int(1)), WF_RUNTIME);
  assert_error(WF_RUNTIME, INTERNAL_OVERLAP);
  assert_ok(wf_add_scalar_(wf_expand(one, WF_SHAPE(0, 1)), wf_int(1)));
  assert_ok(wf_add_scalar_(wf_as_strided(one, WF_SHAPE(1), WF_SHAPE(0), 0), wf_int(3)));
  assert_elements_of(one, 3);
  wf_tensor *row = F(1, 2);
  assert_int_equal(wf_add_(wf_expand(row, WF_SHAPE(2, 2)), counting(WF_SHAPE(2, 2), 1)), WF_RUNTIME);
  assert_error(WF_RUNTIME, INTERNAL_OVERLAP);
  assert_elements_of(row, 1, 2);
}

/* R029 */
static void a_clone_between_overlapping_views_is_made(void **state) {
  (void)state;
  wf_tensor *x = counting(WF_SHAPE(4), 0);
  assert_ok(wf_copy_(wf_slice(x, 0, 1, WF_NONE, 1), wf_clone(wf_slice(x, 0, 0, -1, 1), WF_FORMAT_PRESERVE), false));
  assert_elements_of(x, 0, 0, 1, 2);
}

/* R035 */
static void adding_a_tensor_to_itself_by_index_is_refused(void **state) {
  (void)state;
  wf_tensor *x = wf_ones(WF_SHAPE(5), NULL), *ones = wf_to(wf_ones(WF_SHAPE(5), NULL), WF_I64);
  assert_int_equal(wf_index_add_(x, 0, ones, x, wf_int(1)), WF_RUNTIME);
  assert_error(WF_RUNTIME, PARTIAL_OVERLAP);
  assert_elements_of(x, 1, 1, 1, 1, 1);
  assert_elements_of(wf_index_add(x, 0, ones, x, wf_int(1)), 1, 6, 1, 1, 1);
}

/* R036 */
static void stores_in_reverse_order_go_to_their_places(void **state) {
  (void)state;
  wf_tensor *values = F(10, 8, 6, 4, 2, 0);
  wf_tensor *down = wf_arange(wf_int(5), wf_int(-1), wf_int(-1), NULL);
  wf_tensor *x = wf_zeros(WF_SHAPE(6), NULL), *y = wf_zeros(WF_SHAPE(6), NULL);
  assert_ok(wf_index_add_(x, 0, down, values, wf_int(1)));
  assert_elements_of(x, 0, 2, 4, 6, 8, 10);
  assert_ok(wf_index_put_(y, (wf_tensors){&down, 1}, values, true));
  assert_elements_of(y, 0, 2, 4, 6, 8, 10);
  assert_refused(wf_slice(x, 0, WF_NONE, WF_NONE, -1), WF_RUNTIME,
                 "slice step must be positive"); /* no strides are negative */
  wf_tensor *zeros = wf_zeros(WF_SHAPE(6), NULL);
  assert_ok(wf_add_(wf_flip(zeros, WF_SHAPE(0)), values)); /* a copy took it */
  assert_elements_of(zeros, 0, 0, 0, 0, 0, 0);
}

/* R038 */
static void a_result_that_skips_rows_leaves_the_rows_between(void **state) {
  (void)state;
  wf_tensor *ones = wf_to(wf_ones(WF_SHAPE(2, 4), NULL), WF_I16),
            *square = wf_to(wf_ones(WF_SHAPE(4, 4), NULL), WF_I16);
  assert_ok(wf_add_into(wf_slice(square, 0, 0, WF_NONE, 2), ones, ones));
  assert_elements_of(square, 2, 2, 2, 2, 1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1);
}

/* ---- formats ------------------------------------------------------------------------------------------------------------------------------ */

/* R040 */
static void a_copy_that_preserves_packs_rows_that_were_skipped(void **state) {
  (void)state;
  wf_tensor *rows = wf_slice(counting(WF_SHAPE(5, 5), 0), 0, 0, WF_NONE, 2);
  assert_string_equal(geometry_text(rows), "[3, 5] [10, 1] +0");
  wf_tensor *copy = wf_clone(rows, WF_FORMAT_PRESERVE);
  assert_string_equal(geometry_text(copy), "[3, 5] [5, 1] +0");
  assert_elements_of(wf_select(copy, 0, 1), 10, 11, 12, 13, 14);
}

/* R043 */
static void an_idle_reshape_of_a_batch_of_one_keeps_channels_last(void **state) {
  (void)state;
  wf_tensor *x = wf_contiguous(counting(WF_SHAPE(1, 2, 3, 4), 0), WF_FORMAT_CHANNELS_LAST);
  assert_string_equal(geometry_text(x), "[1, 2, 3, 4] [24, 1, 8, 2] +0");
  wf_tensor *same[] = {wf_view(x, WF_SHAPE(1, 2, 3, 4)), wf_reshape(x, WF_SHAPE(1, 2, 3, 4))};
  for (int i = 0; i < 2; i++) {
    assert_string_equal(geometry_text(same[i]), "[1, 2, 3, 4] [2, 1, 8, 2] +0");
    assert_true(wf_is_contiguous(same[i], WF_FORMAT_CHANNELS_LAST));
    assert_false(wf_is_contiguous(same[i], WF_FORMAT_CONTIGUOUS));
    assert_ptr_equal(wf_contiguous(same[i], WF_FORMAT_CHANNELS_LAST), same[i]);
    assert_true(same_elements(same[i], x));
  }
  wf_tensor *again = wf_unsqueeze(wf_select(x, 0, 0), 0);
  assert_true(wf_is_contiguous(again, WF_FORMAT_CHANNELS_LAST));
  assert_ptr_equal(wf_contiguous(again, WF_FORMAT_CHANNELS_LAST), again);
  assert_true(same_elements(again, x));
}

/* R045 */
static void operands_with_stride_0_are_repeated(void **state) {
  (void)state;
  wf_tensor *x = wf_as_strided(counting(WF_SHAPE(6), 1), WF_SHAPE(2, 3), WF_SHAPE(3, 0), 0),
            *zeros = wf_zeros(WF_SHAPE(2, 3), NULL);
  assert_elements_of(wf_add(x, zeros), 1, 1, 1, 4, 4, 4);
  assert_elements_of(wf_add(zeros, x), 1, 1, 1, 4, 4, 4);
}

/* ---- sizes --------------------------------------------------------------------------------------------------------------------------------- */

/* R048, R050 */
static void counts_of_elements_and_bytes_do_not_wrap(void **state) {
  (void)state;
  const int64_t huge = INT64_C(1) << 61, wide = INT64_C(1) << 40, half = INT64_C(1) << 31;
  wf_tensor_options f64 = wf_tensor_defaults();
  f64.dtype = WF_F64;
  assert_refused(wf_ones(WF_SHAPE(2, 2, 1, huge), NULL), WF_RUNTIME,
                 "Storage size calculation overflowed with sizes=[2, 2, 1, 2305843009213693952]");
  assert_refused(wf_expand(F(1), WF_SHAPE(2, 2, 1, huge)), WF_RUNTIME, "numel: integer multiplication overflow");
  assert_refused(wf_empty(WF_SHAPE(half, half), &f64), WF_RUNTIME,
                 "Storage size calculation overflowed with sizes=[2147483648, 2147483648]");
  assert_refused(wf_empty(WF_SHAPE(wide, wide, 0), NULL), WF_RUNTIME,
                 "Storage size calculation overflowed with sizes=[1099511627776, 1099511627776, 0]");
  assert_refused(wf_empty(WF_SHAPE(0, wide, wide), NULL), WF_RUNTIME, "Stride calculation overflowed");
  assert_geometry(wf_empty(WF_SHAPE(wide, 0, wide), NULL),
                  "[1099511627776, 0, 1099511627776] [1099511627776, 1099511627776, 1] +0");
  wf_tensor *grown = F(1, 2);
  assert_int_equal(wf_resize_(grown, WF_SHAPE(huge, 4), WF_FORMAT_CONTIGUOUS), WF_RUNTIME);
  wf_error_take();
  assert_elements_of(grown, 1, 2);
}

/* R052 */
static void absurd_requests_fail_and_the_next_one_succeeds(void **state) {
  (void)state;
  const int64_t absurd[] = {INT64_C(281474972520448), INT64_MAX, INT64_MAX - 8, INT64_MAX - 127};
  wf_tensor_options u8 = wf_tensor_defaults();
  u8.dtype = WF_U8;
  for (int i = 0; i < 4; i++) {
    assert_null(wf_empty(wf_dims_of(&absurd[i], 1), &u8));
    wf_error e = wf_error_take();
    assert_int_equal(e.status, WF_NO_MEMORY);
    if (i == 0) assert_non_null(strstr(e.text, "you tried to allocate 281474972520448 bytes"));
    assert_elements(wf_ones(WF_SHAPE(3), NULL), 1, 1, 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      SCOPED(a_window_at_the_end_of_the_integers_is_refused),
      SCOPED(sizes_and_strides_of_different_length_are_refused),
      SCOPED(a_scatter_from_a_wild_window_changes_nothing),
      SCOPED(an_unknown_size_beside_a_zero_is_refused_where_it_is_ambiguous),
      SCOPED(dims_that_lie_apart_do_not_merge),
      SCOPED(an_end_counted_from_behind_goes_with_an_index),
      SCOPED(elements_of_a_transposed_tensor_come_in_logical_order),
      SCOPED(a_leading_offset_is_applied_once_also_on_a_device),
      SCOPED(a_copy_has_row_major_strides_also_in_dims_of_one),
      SCOPED(a_write_into_a_view_lands_at_its_offset),
      SCOPED(arithmetic_and_sums_follow_strides),
      SCOPED(shifting_within_a_tensor_is_refused_or_right),
      SCOPED(shifting_within_a_tensor_of_a_slow_device_is_too),
      SCOPED(a_division_by_ones_own_neighbours_is_refused),
      SCOPED(writing_to_an_expanded_tensor_is_refused_but_filling_it_is_not),
      SCOPED(a_clone_between_overlapping_views_is_made),
      SCOPED(adding_a_tensor_to_itself_by_index_is_refused),
      SCOPED(stores_in_reverse_order_go_to_their_places),
      SCOPED(a_result_that_skips_rows_leaves_the_rows_between),
      SCOPED(a_copy_that_preserves_packs_rows_that_were_skipped),
      SCOPED(an_idle_reshape_of_a_batch_of_one_keeps_channels_last),
      SCOPED(operands_with_stride_0_are_repeated),
      SCOPED(counts_of_elements_and_bytes_do_not_wrap),
      SCOPED(absurd_requests_fail_and_the_next_one_succeeds),
  };
  return cmocka_run_group_tests_name("op/seen_layout", tests, NULL, close_devices);
}
