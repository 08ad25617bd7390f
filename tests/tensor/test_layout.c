/* Layout algebra: random geometries against slow references that list every element, PyTorch's own answers (layout_rows.h), and its
 * error texts. */
#include "test.h"

#include <stdlib.h>
#include "tensor/layout.h"

#define EITHER (-1)
typedef struct row {
  int ndim;
  int64_t size[6], stride[6], clone_stride[6];
  int suggested;
  int contiguous;
} row;
static const row rows[] = {
#include "layout_rows.h"
};

static uint64_t seed;
static int64_t draw(int64_t n) { /* 0 to n-1, splitmix64 */
  uint64_t z = (seed += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return (int64_t)((z ^ (z >> 31)) % (uint64_t)n);
}

/* Position in memory of element number `k` in row-major order. */
static int64_t position(const wf__layout *l, int64_t k) {
  int64_t at = l->offset;
  for (int d = l->ndim - 1; d >= 0; d--) {
    at += k % l->size[d] * l->stride[d];
    k /= l->size[d];
  }
  return at;
}

static wf__layout layout_of(int n, const int64_t *size, const int64_t *stride, int64_t offset) {
  wf__layout l;
  assert_ok(wf__layout_strided(&l, wf_dims_of(size, n), wf_dims_of(stride, n), offset));
  return l;
}

static void permute_randomly(wf__layout *l) {
  for (int i = l->ndim - 1; i > 0; i--) {
    int j = (int)draw(i + 1);
    int64_t size = l->size[i], stride = l->stride[i];
    l->size[i] = l->size[j];
    l->stride[i] = l->stride[j];
    l->size[j] = size;
    l->stride[j] = stride;
  }
}

static wf__layout random_layout(void) {
  int n = (int)draw(5);
  int64_t size[5], stride[5];
  for (int d = 0; d < n; d++) size[d] = draw(12) == 0 ? 0 : 1 + draw(4);
  wf__layout l;
  assert_ok(wf__layout_contiguous(&l, wf_dims_of(size, n), 1));
  if (draw(3) == 0) {
    for (int d = 0; d < n; d++) stride[d] = draw(3) ? draw(7) : l.stride[d];
    l = layout_of(n, size, stride, draw(3));
  }
  if (draw(2)) permute_randomly(&l);
  for (int d = 0; d < n; d++)
    if (l.size[d] == 1 && draw(2)) l.stride[d] = draw(9);
  return l;
}

static void row_major_strides_step_over_what_lies_behind(void **state) {
  (void)state;
  wf__layout l;
  assert_ok(wf__layout_contiguous(&l, WF_SHAPE(2, 0, 3), 4));
  const int64_t with_zero[] = {3, 3, 1};
  assert_memory_equal(l.stride, with_zero, sizeof with_zero);
  assert_int_equal(l.numel, 0);
  seed = 1;
  for (int round = 0; round < 500; round++) {
    int n = (int)draw(6);
    int64_t size[6];
    for (int d = 0; d < n; d++) size[d] = 1 + draw(4);
    assert_ok(wf__layout_contiguous(&l, wf_dims_of(size, n), 8));
    for (int64_t k = 0; k < l.numel; k++) assert_int_equal(position(&l, k), k);
    size_t nbytes;
    assert_ok(wf__layout_nbytes(&l, 8, &nbytes));
    assert_int_equal(nbytes, 8 * l.numel);
  }
}

static void bytes_needed_reach_the_last_element(void **state) {
  (void)state;
  seed = 2;
  for (int round = 0; round < 2000; round++) {
    wf__layout l = random_layout();
    int64_t last = -1;
    for (int64_t k = 0; k < l.numel; k++)
      if (position(&l, k) > last) last = position(&l, k);
    size_t nbytes;
    assert_ok(wf__layout_nbytes(&l, 4, &nbytes));
    assert_int_equal(nbytes, 4 * (last + 1));
  }
}

static void contiguous_means_that_positions_count_up(void **state) {
  (void)state;
  seed = 3;
  int yes = 0;
  for (int round = 0; round < 5000; round++) {
    wf__layout l = random_layout();
    l.offset = 0;
    bool expected = true;
    for (int64_t k = 0; k < l.numel; k++) expected &= position(&l, k) == k;
    assert_int_equal(wf__is_contiguous(&l, WF_FORMAT_CONTIGUOUS), expected);
    yes += expected;
  }
  assert_in_range(yes, 500, 4500);
}

static void dense_means_that_each_position_of_the_extent_is_taken_once(void **state) {
  (void)state;
  seed = 4;
  int yes = 0;
  for (int round = 0; round < 5000; round++) {
    wf__layout l = random_layout();
    l.offset = 0;
    bool expected = true, taken[1024] = {false};
    for (int64_t k = 0; k < l.numel; k++) {
      int64_t at = position(&l, k);
      expected &= at < l.numel && !taken[at];
      taken[at] = true;
    }
    assert_int_equal(wf__is_dense(&l), expected);
    yes += expected;
  }
  assert_in_range(yes, 500, 4500);
}

static void overlap_is_told_by_zero_strides_only(void **state) {
  (void)state;
  seed = 5;
  int seen[WF__OVERLAP_TOO_HARD + 1] = {0};
  for (int round = 0; round < 5000; round++) {
    wf__layout l = random_layout();
    bool twice = false, taken[1024] = {false}, zero = false;
    for (int64_t k = 0; k < l.numel; k++) {
      int64_t at = position(&l, k);
      twice |= taken[at];
      taken[at] = true;
    }
    for (int d = 0; d < l.ndim; d++) zero |= l.stride[d] == 0 && l.size[d] > 1;
    wf__overlap found = wf__overlap_within(&l);
    if (found == WF__OVERLAP_NO) assert_false(twice);
    if (found == WF__OVERLAP_YES) assert_true(twice);
    if (zero && l.numel) assert_int_equal(found, WF__OVERLAP_YES);
    seen[found]++;
  }
  assert_in_range(seen[WF__OVERLAP_NO], 100, 4900);
  assert_in_range(seen[WF__OVERLAP_YES], 100, 4900);
  assert_in_range(seen[WF__OVERLAP_TOO_HARD], 100, 4900);
}

/* Whether strides for `size` exist that walk the same positions in the same order, found by trying the only candidates. */
static bool view_by_listing(const wf__layout *l, int n, const int64_t *size, int64_t *stride) {
  int64_t inner = 1;
  for (int d = n - 1; d >= 0; d--) {
    stride[d] = size[d] > 1 ? position(l, inner) - position(l, 0) : 0;
    inner *= size[d];
  }
  wf__layout view = layout_of(n, size, stride, l->offset);
  for (int d = 0; d < n; d++) view.stride[d] = stride[d]; /* negative ones as they are */
  for (int64_t k = 0; k < l->numel; k++)
    if (position(&view, k) != position(l, k)) return false;
  return true;
}

/* Splits numel into up to five random factors. */
static int random_sizes(int64_t numel, int64_t *size) {
  int n = (int)draw(5);
  for (int d = 0; d < n; d++) {
    int64_t f;
    do f = 1 + draw(numel < 12 ? numel : 12);
    while (numel % f);
    size[d] = f;
    numel /= f;
  }
  if (numel > 1 || n == 0) size[n++] = numel;
  return n;
}

static void a_view_exists_exactly_when_some_strides_walk_the_same_elements(void **state) {
  (void)state;
  seed = 6;
  int yes = 0;
  for (int round = 0; round < 20000; round++) {
    wf__layout l = random_layout();
    if (l.numel == 0) continue;
    int64_t size[6], found[6], expected[6];
    int n = random_sizes(l.numel, size);
    bool fits = view_by_listing(&l, n, size, expected);
    assert_int_equal(wf__view_strides(&l, wf_dims_of(size, n), found), fits);
    for (int d = 0; fits && d < n; d++)
      if (size[d] > 1) assert_int_equal(found[d], expected[d]);
    yes += fits;
  }
  assert_in_range(yes, 2000, 18000);
}

static void views_of_nothing_keep_strides_of_equal_sizes_and_else_are_packed(void **state) {
  (void)state;
  int64_t stride[4];
  wf__layout l = layout_of(2, (int64_t[]){0, 3}, (int64_t[]){7, 2}, 0);
  assert_true(wf__view_strides(&l, WF_SHAPE(0, 3), stride));
  assert_int_equal(stride[0], 7);
  assert_int_equal(stride[1], 2);
  assert_true(
      wf__view_strides(&l, WF_SHAPE(2, 0, 5), stride)); /* torch.empty(0, 3).view(2, 0, 5).stride() == (5, 5, 1) */
  assert_int_equal(stride[0], 5);
  assert_int_equal(stride[1], 5);
  assert_int_equal(stride[2], 1);
}

static void pytorch_agrees_about_formats_and_copies(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const row *r = &rows[i];
    wf__layout l = layout_of(r->ndim, r->size, r->stride, 0), copy;
    for (int f = 0; f < 3; f++) {
      static const wf_memory_format formats[] = {WF_FORMAT_CONTIGUOUS, WF_FORMAT_CHANNELS_LAST,
                                                 WF_FORMAT_CHANNELS_LAST_3D};
      assert_int_equal(wf__is_contiguous(&l, formats[f]), r->contiguous >> f & 1);
    }
    if (r->suggested != EITHER) assert_int_equal(wf__suggest_format(&l), r->suggested);
    assert_ok(wf__layout_like(&l, WF_FORMAT_PRESERVE, 1, &copy));
    for (int d = 0; d < r->ndim; d++) assert_int_equal(copy.stride[d], r->clone_stride[d]);
  }
}

static void channels_last_strides_are_pytorchs(void **state) {
  (void)state;
  wf__layout l;
  assert_ok(wf__layout_contiguous(&l, WF_SHAPE(2, 3, 4, 5), 4));
  assert_ok(wf__layout_restride(&l, WF_FORMAT_CHANNELS_LAST));
  const int64_t rank4[] = {60, 1, 15, 3};
  assert_memory_equal(l.stride, rank4, sizeof rank4);
  assert_ok(wf__layout_contiguous(&l, WF_SHAPE(2, 3, 4, 5, 6), 4));
  assert_ok(wf__layout_restride(&l, WF_FORMAT_CHANNELS_LAST_3D));
  const int64_t rank5[] = {360, 1, 90, 18, 3};
  assert_memory_equal(l.stride, rank5, sizeof rank5);
  assert_ok(wf__layout_contiguous(&l, WF_SHAPE(2, 3, 0, 4), 4)); /* torch: (0, 1, 12, 3) */
  assert_ok(wf__layout_restride(&l, WF_FORMAT_CHANNELS_LAST));
  const int64_t empty[] = {0, 1, 12, 3};
  assert_memory_equal(l.stride, empty, sizeof empty);
  assert_int_equal(wf__layout_restride(&l, WF_FORMAT_CHANNELS_LAST_3D), WF_RUNTIME);
  assert_error(WF_RUNTIME, "required rank 5 tensor to use channels_last_3d format");
  assert_ok(wf__layout_contiguous(&l, WF_SHAPE(2, 3), 4));
  assert_int_equal(wf__layout_restride(&l, WF_FORMAT_CHANNELS_LAST), WF_RUNTIME);
  assert_error(WF_RUNTIME, "required rank 4 tensor to use channels_last format");
}

#define HUGE ((int64_t)1 << 40)
static void products_that_overflow_are_refused(void **state) {
  (void)state;
  wf__layout l;
  size_t nbytes;
  assert_int_equal(wf__layout_contiguous(&l, WF_SHAPE(HUGE, HUGE, 0), 4), WF_RUNTIME);
  assert_error(WF_RUNTIME, "Storage size calculation overflowed with sizes=[1099511627776, 1099511627776, 0]");
  assert_int_equal(wf__layout_contiguous(&l, WF_SHAPE((int64_t)1 << 31, (int64_t)1 << 31), 8), WF_RUNTIME);
  assert_error(WF_RUNTIME, "Storage size calculation overflowed with sizes=[2147483648, 2147483648]");
  assert_int_equal(wf__layout_contiguous(&l, WF_SHAPE(0, HUGE, HUGE), 4), WF_RUNTIME);
  assert_error(WF_RUNTIME, "Stride calculation overflowed");
  assert_ok(wf__layout_contiguous(&l, WF_SHAPE(HUGE, 0, HUGE), 4));
  const int64_t strides[] = {HUGE, HUGE, 1};
  assert_memory_equal(l.stride, strides, sizeof strides);
  assert_int_equal(wf__layout_contiguous(&l, WF_SHAPE(2, -3, -1), 4), WF_RUNTIME);
  assert_error(WF_RUNTIME, "Trying to create tensor with negative dimension -3: [2, -3, -1]");
  assert_int_equal(wf__layout_strided(&l, WF_SHAPE(HUGE, HUGE), WF_SHAPE(0, 0), 0), WF_RUNTIME);
  assert_error(WF_RUNTIME, "numel: integer multiplication overflow");
  assert_int_equal(wf__layout_strided(&l, WF_SHAPE(1, 0), WF_SHAPE0, 1), WF_RUNTIME);
  assert_error(WF_RUNTIME, "mismatch in length of strides and shape");
  assert_ok(wf__layout_strided(&l, WF_SHAPE(4096), WF_SHAPE(0), INT64_MAX));
  assert_int_equal(wf__layout_nbytes(&l, 4, &nbytes), WF_RUNTIME);
  assert_error(WF_RUNTIME, "Storage size calculation overflowed with sizes=[4096] and strides=[0]");
  assert_int_equal(wf__nbytes_strided(WF_SHAPE(2), WF_SHAPE(-1), 0, 4, &nbytes), WF_RUNTIME);
  assert_error(WF_RUNTIME, "Storage size calculation overflowed with sizes=[2] and strides=[-1]");
  int64_t many[WF_MAX_DIMS + 1] = {0};
  assert_int_equal(wf__layout_contiguous(&l, wf_dims_of(many, WF_MAX_DIMS + 1), 4), WF_RUNTIME);
  assert_error(WF_RUNTIME, "tensors have at most 16 dimensions, but got 17");
}

static void dims_wrap_once(void **state) {
  (void)state;
  int64_t d = -3;
  assert_ok(wf__wrap_dim(&d, 3, true));
  assert_int_equal(d, 0);
  d = -1;
  assert_ok(wf__wrap_dim(&d, 0, true));
  assert_int_equal(d, 0);
  d = 3;
  assert_int_equal(wf__wrap_dim(&d, 3, true), WF_INDEX);
  assert_error(WF_INDEX, "Dimension out of range (expected to be in range of [-3, 2], but got 3)");
  d = 1;
  assert_int_equal(wf__wrap_dim(&d, 0, true), WF_INDEX);
  assert_error(WF_INDEX, "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
  d = 0;
  assert_int_equal(wf__wrap_dim(&d, 0, false), WF_INDEX);
  assert_error(WF_INDEX, "Dimension specified as 0 but tensor has no dimensions");
}

static void one_size_may_be_left_to_infer(void **state) {
  (void)state;
  int64_t out[4];
  assert_ok(wf__infer_size(WF_SHAPE(2, -1), 6, out));
  assert_int_equal(out[1], 3);
  assert_ok(wf__infer_size(WF_SHAPE(2, -1), 0, out));
  assert_int_equal(out[1], 0);
  assert_ok(wf__infer_size(WF_SHAPE0, 1, out));
  assert_int_equal(wf__infer_size(WF_SHAPE(-1, 0), 0, out), WF_RUNTIME);
  assert_error(
      WF_RUNTIME,
      "cannot reshape tensor of 0 elements into shape [-1, 0] because the unspecified dimension size -1 can be any value "
      "and is ambiguous");
  assert_int_equal(wf__infer_size(WF_SHAPE(-1, -1, -2), 4, out), WF_RUNTIME);
  assert_error(WF_RUNTIME, "only one dimension can be inferred");
  assert_int_equal(wf__infer_size(WF_SHAPE(-2, -1, -1), 4, out), WF_RUNTIME);
  assert_error(WF_RUNTIME, "invalid shape dimension -2 at index 0 of shape [-2, -1, -1]");
  assert_int_equal(wf__infer_size(WF_SHAPE(4, -1), 6, out), WF_RUNTIME);
  assert_error(WF_RUNTIME, "shape '[4, -1]' is invalid for input of size 6");
  assert_int_equal(wf__infer_size(WF_SHAPE(-1, 0), 4, out), WF_RUNTIME);
  assert_error(WF_RUNTIME, "shape '[-1, 0]' is invalid for input of size 4");
  assert_int_equal(wf__infer_size(WF_SHAPE(((int64_t)1 << 62) + 1, 4), 4, out), WF_RUNTIME);
  assert_error(WF_RUNTIME,
               "shape '[4611686018427387905, 4]' is invalid for input of size 4"); /* the product wraps to 4 */
}

static void sizes_broadcast_from_the_right(void **state) {
  (void)state;
  int64_t out[4];
  int n;
  assert_ok(wf__broadcast(WF_SHAPE(2, 1, 5), WF_SHAPE(3, 1), out, &n));
  const int64_t expected[] = {2, 3, 5};
  assert_int_equal(n, 3);
  assert_memory_equal(out, expected, sizeof expected);
  assert_ok(wf__broadcast(WF_SHAPE(1), WF_SHAPE(0), out, &n));
  assert_int_equal(out[0], 0);
  assert_ok(wf__broadcast(WF_SHAPE0, WF_SHAPE0, out, &n));
  assert_int_equal(n, 0);
  assert_int_equal(wf__broadcast(WF_SHAPE(2, 3, 4), WF_SHAPE(2, 1, 5), out, &n), WF_RUNTIME);
  assert_error(WF_RUNTIME, "The size of tensor a (4) must match the size of tensor b (5) at non-singleton dimension 2");
  assert_int_equal(wf__broadcast(WF_SHAPE(2, 0), WF_SHAPE(2, 3), out, &n), WF_RUNTIME);
  assert_error(WF_RUNTIME, "The size of tensor a (0) must match the size of tensor b (3) at non-singleton dimension 1");
}

static void check_expand(wf_dims from, wf_dims to, wf_dims size, wf_dims stride) {
  wf__layout l, out;
  assert_ok(wf__layout_contiguous(&l, from, 4));
  assert_ok(wf__layout_expand(&l, to, "torch.FloatTensor", &out));
  assert_int_equal(out.ndim, size.n);
  assert_memory_equal(out.size, size.at, (size_t)size.n * 8);
  assert_memory_equal(out.stride, stride.at, (size_t)size.n * 8);
}

static void expanded_strides_are_pytorchs(void **state) {
  (void)state; /* torch.empty(from).expand(to): sizes and strides */
  check_expand(WF_SHAPE(1, 3, 1), WF_SHAPE(2, 1, 3, 5), WF_SHAPE(2, 1, 3, 5), WF_SHAPE(0, 3, 1, 0));
  check_expand(WF_SHAPE(1), WF_SHAPE(1, 1, 4, 5, 1), WF_SHAPE(1, 1, 4, 5, 1), WF_SHAPE(0, 0, 0, 0, 1));
  check_expand(WF_SHAPE0, WF_SHAPE(1, 1, 4, 1), WF_SHAPE(1, 1, 4, 1), WF_SHAPE(0, 0, 0, 0));
  check_expand(WF_SHAPE(0, 3), WF_SHAPE(1, 0, 3), WF_SHAPE(1, 0, 3), WF_SHAPE(0, 3, 1));
  check_expand(WF_SHAPE(3, 0), WF_SHAPE(1, -1, 0), WF_SHAPE(1, 3, 0), WF_SHAPE(3, 1, 1));
  check_expand(WF_SHAPE(1, 3), WF_SHAPE(0, 3), WF_SHAPE(0, 3), WF_SHAPE(0, 1));
}

static void expand_error(wf_dims from, wf_dims to, const char *text) {
  wf__layout l, out;
  assert_ok(wf__layout_contiguous(&l, from, 4));
  assert_int_equal(wf__layout_expand(&l, to, "torch.FloatTensor", &out), WF_RUNTIME);
  assert_error(WF_RUNTIME, text);
}

static void expand_refuses_what_pytorch_refuses(void **state) {
  (void)state;
  expand_error(
      WF_SHAPE(3, 1), WF_SHAPE(3),
      "expand(torch.FloatTensor{[3, 1]}, size=[3]): the number of sizes provided (1) must be greater or equal to the number of "
      "dimensions in the tensor (2)");
  expand_error(
      WF_SHAPE(3, 1), WF_SHAPE(4, 1),
      "The expanded size of the tensor (4) must match the existing size (3) at non-singleton dimension 0.  Target sizes: [4, 1].  "
      "Tensor sizes: [3, 1]");
  expand_error(WF_SHAPE(3), WF_SHAPE(-1, 3),
               "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension 0");
  expand_error(WF_SHAPE0, WF_SHAPE(2, -1), "numel: integer multiplication overflow");
  expand_error(WF_SHAPE(3), WF_SHAPE(-2, 3), "numel: integer multiplication overflow");
  expand_error(WF_SHAPE(1), WF_SHAPE(HUGE, HUGE), "numel: integer multiplication overflow");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(row_major_strides_step_over_what_lies_behind),
    cmocka_unit_test(bytes_needed_reach_the_last_element),
    cmocka_unit_test(contiguous_means_that_positions_count_up),
    cmocka_unit_test(dense_means_that_each_position_of_the_extent_is_taken_once),
    cmocka_unit_test(overlap_is_told_by_zero_strides_only),
    cmocka_unit_test(a_view_exists_exactly_when_some_strides_walk_the_same_elements),
    cmocka_unit_test(views_of_nothing_keep_strides_of_equal_sizes_and_else_are_packed),
    cmocka_unit_test(pytorch_agrees_about_formats_and_copies),
    cmocka_unit_test(channels_last_strides_are_pytorchs),
    cmocka_unit_test(products_that_overflow_are_refused),
    cmocka_unit_test(dims_wrap_once),
    cmocka_unit_test(one_size_may_be_left_to_infer),
    cmocka_unit_test(sizes_broadcast_from_the_right),
    cmocka_unit_test(expanded_strides_are_pytorchs),
    cmocka_unit_test(expand_refuses_what_pytorch_refuses),
};
WF_TEST_MAIN("tensor/layout", tests)
