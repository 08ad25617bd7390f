/* Scaled copies of images against arithmetic of single elements, in every layout. */
#include "test.h"

#include <string.h>
#include <weft/weft.h>
#include "base/convert.h"
#include "tensor/tensor.h"

static const double scales[8] = {0.5, -0.25, 0.125, 2, 1.5, -1, 0.0625, 3};
static const double shifts[8] = {1, -2, 0.5, 0, -0.25, 4, 8, -1};

static void *data_of(wf_tensor *t) { return wf__data(t); }

static wf_tensor *factors(const double *numbers, int n) {
  wf_tensor *t = wf_empty(WF_SHAPE(n), NULL);
  for (int i = 0; i < n; i++) ((float *)data_of(t))[i] = (float)numbers[i % 8];
  return t;
}

/* Bytes that follow a rule, as [n,h,w,c] or as [n,c,h,w] in memory, seen as [n,c,h,w]. */
static uint8_t byte_at(int64_t n, int64_t c, int64_t h, int64_t w) {
  return (uint8_t)(n * 31 + c * 57 + h * 7 + w * 3);
}

/* The same as that dtype holds it. */
static int number_at(wf_dtype dtype, int64_t n, int64_t c, int64_t h, int64_t w) {
  uint8_t byte = byte_at(n, c, h, w);
  return dtype == WF_I8 ? (int8_t)byte : byte;
}

static wf_tensor *pictures(wf_dtype dtype, int64_t N, int64_t C, int64_t H, int64_t W, bool channels_last) {
  wf_tensor_options o = wf_tensor_defaults();
  o.dtype = dtype;
  wf_tensor *t = channels_last ? wf_permute(wf_empty(WF_SHAPE(N, H, W, C), &o), WF_SHAPE(0, 3, 1, 2))
                               : wf_empty(WF_SHAPE(N, C, H, W), &o);
  for (int64_t n = 0; n < N; n++)
    for (int64_t c = 0; c < C; c++)
      for (int64_t h = 0; h < H; h++)
        for (int64_t w = 0; w < W; w++) {
          int64_t at = n * wf_stride(t, 0) + c * wf_stride(t, 1) + h * wf_stride(t, 2) + w * wf_stride(t, 3);
          wf__scalar_store(wf_int(number_at(dtype, n, c, h, w)), dtype,
                           (char *)data_of(t) + at * (int64_t)wf_dtype_size(dtype));
        }
  return t;
}

static void check(wf_dtype from, wf_dtype to, int64_t N, int64_t C, int64_t H, int64_t W, bool channels_last,
                  wf_memory_format format) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = pictures(from, N, C, H, W, channels_last);
  wf_tensor *y = wf_scale_shift_channels(x, factors(scales, (int)C), factors(shifts, (int)C), 1, to, format);
  assert_non_null(y);
  assert_int_equal(wf_dtype_of(y), to);
  if (format != WF_FORMAT_PRESERVE) assert_true(wf_is_contiguous(y, format));
  for (int64_t n = 0; n < N; n++)
    for (int64_t c = 0; c < C; c++)
      for (int64_t h = 0; h < H; h++)
        for (int64_t w = 0; w < W; w++) {
          char expected[8];
          float value = (float)number_at(from, n, c, h, w) * (float)scales[c % 8] + (float)shifts[c % 8];
          int64_t at = n * wf_stride(y, 0) + c * wf_stride(y, 1) + h * wf_stride(y, 2) + w * wf_stride(y, 3);
          wf__scalar_store(wf_float((double)value), to, expected);
          if (memcmp((char *)data_of(y) + at * (int64_t)wf_dtype_size(to), expected, wf_dtype_size(to)))
            fail_msg("%s to %s, [%d,%d,%d,%d] wrong at %d,%d,%d,%d", wf_dtype_name(from), wf_dtype_name(to), (int)N,
                     (int)C, (int)H, (int)W, (int)n, (int)c, (int)h, (int)w);
        }
  wf_scope_end(scope, NULL);
}

static void every_layout_gets_the_factors_of_its_channels(void **state) {
  (void)state;
  const int64_t sizes[][4] = {{2, 3, 5, 7},  {1, 3, 40, 33}, {2, 1, 9, 9}, {2, 4, 31, 17},
                              {1, 8, 12, 5}, {3, 2, 1, 64},  {1, 5, 3, 1}, {2, 3, 130, 140}};
  const wf_dtype from[] = {WF_U8, WF_I32, WF_F32}, to[] = {WF_F32, WF_BF16, WF_F16};
  for (int s = 0; s < 8; s++)
    for (int f = 0; f < 3; f++)
      for (int t = 0; t < 3; t++)
        for (int last = 0; last < 2; last++) {
          const int64_t *z = sizes[s];
          check(from[f], to[t], z[0], z[1], z[2], z[3], last, WF_FORMAT_CONTIGUOUS);
          check(from[f], to[t], z[0], z[1], z[2], z[3], last, WF_FORMAT_CHANNELS_LAST);
          check(from[f], to[t], z[0], z[1], z[2], z[3], last, WF_FORMAT_PRESERVE);
        }
}

/* Columns that would meet in one place of the cache are brought side by side before they are turned. */
static void many_channels_are_scaled_once(void **state) {
  (void)state;
  const wf_dtype from[] = {WF_U8, WF_I8, WF_F16, WF_BF16, WF_I32, WF_F32, WF_I64, WF_F64};
  const int64_t sizes[][4] = {{1, 64, 5, 224}, {1, 256, 16, 32}, {2, 128, 3, 130}, {1, 4, 32, 65}};
  for (int s = 0; s < 4; s++)
    for (int f = 0; f < 8; f++) {
      const int64_t *z = sizes[s];
      check(from[f], WF_F32, z[0], z[1], z[2], z[3], true, WF_FORMAT_CONTIGUOUS);
      check(from[f], WF_BF16, z[0], z[1], z[2], z[3], true, WF_FORMAT_CONTIGUOUS);
      check(from[f], WF_F32, z[0], z[1], z[2], z[3], false, WF_FORMAT_CHANNELS_LAST);
    }
}

static void large_pictures_go_past_the_cache_unharmed(void **state) {
  (void)state;
  for (int last = 0; last < 2; last++) {
    check(WF_U8, WF_F32, 4, 3, 256, 255, last, WF_FORMAT_CONTIGUOUS);
    check(WF_U8, WF_BF16, 8, 3, 256, 255, last, WF_FORMAT_CHANNELS_LAST);
  }
}

/* Every element against its own byte, factor and place. */
static void check_turned(const int64_t *size, const int *order, int dim, wf_memory_format format) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *memory = wf_empty(wf_dims_of(size, 4), &(wf_tensor_options){.dtype = WF_U8});
  for (int64_t i = 0; i < wf_numel(memory); i++) ((uint8_t *)data_of(memory))[i] = (uint8_t)(i * 37 + i / 251);
  wf_tensor *x = wf_permute(memory, WF_SHAPE(order[0], order[1], order[2], order[3]));
  int C = (int)wf_size(x, dim);
  wf_tensor *y = wf_scale_shift_channels(x, factors(scales, C), factors(shifts, C), dim, WF_F32, format);
  assert_non_null(y);
  for (int64_t i = 0; i < wf_numel(x); i++) {
    int64_t rest = i, from = 0, to = 0, c = 0;
    for (int d = 3; d >= 0; d--) {
      int64_t at = rest % wf_size(x, d);
      rest /= wf_size(x, d);
      from += at * wf_stride(x, d);
      to += at * wf_stride(y, d);
      if (d == dim) c = at;
    }
    float want = (float)((uint8_t *)data_of(x))[from] * (float)scales[c % 8] + (float)shifts[c % 8];
    if (((float *)data_of(y))[to] != want)
      fail_msg("[%d,%d,%d,%d] by dims %d%d%d%d, channels in dim %d, format %d: element %d is %g, not %g", (int)size[0],
               (int)size[1], (int)size[2], (int)size[3], order[0], order[1], order[2], order[3], dim, (int)format,
               (int)i, (double)((float *)data_of(y))[to], (double)want);
  }
  wf_scope_end(scope, NULL);
}

static void channels_may_be_any_dim_of_any_order_of_dims(void **state) {
  (void)state;
  const int64_t sizes[][4] = {{7, 2, 5, 3}, {2, 2, 2, 2}, {1, 40, 9, 6}, {2, 33, 9, 40}};
  for (int s = 0; s < 4; s++)
    for (int k = 0; k < 256; k++) {
      const int order[4] = {k & 3, k >> 2 & 3, k >> 4 & 3, k >> 6};
      if ((1 << order[0] | 1 << order[1] | 1 << order[2] | 1 << order[3]) != 15) continue;
      for (int dim = 0; dim < 4; dim++)
        for (int format = WF_FORMAT_CONTIGUOUS; format <= WF_FORMAT_CHANNELS_LAST; format++)
          check_turned(sizes[s], order, dim, (wf_memory_format)format);
    }
}

static void the_gradient_is_scaled_by_channel(void **state) {
  (void)state;
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = wf_ones(WF_SHAPE(2, 3, 4), NULL);
  assert_ok(wf_requires_grad_(x, true));
  wf_tensor *y = wf_scale_shift_channels(x, factors(scales, 3), factors(shifts, 3), -2, WF_F32, WF_FORMAT_PRESERVE);
  assert_ok(wf_backward(wf_sum(y), NULL, NULL));
  for (int i = 0; i < 24; i++) assert_true(((float *)data_of(wf_grad(x)))[i] == (float)scales[i / 4 % 3]);
  wf_scope_end(scope, NULL);
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = wf_ones(WF_SHAPE(2, 3, 4), NULL), *three = factors(scales, 3), *two = factors(scales, 2);
  assert_null(wf_scale_shift_channels(x, two, three, 1, WF_F32, WF_FORMAT_PRESERVE));
  assert_int_equal(wf_error_take().status, WF_RUNTIME);
  assert_null(wf_scale_shift_channels(x, three, three, 3, WF_F32, WF_FORMAT_PRESERVE));
  assert_int_equal(wf_error_take().status, WF_INDEX);
  assert_null(wf_scale_shift_channels(x, three, three, 1, WF_F64, WF_FORMAT_PRESERVE));
  assert_int_equal(wf_error_take().status, WF_TYPE);
  assert_null(wf_scale_shift_channels(x, three, three, 1, WF_F32, WF_FORMAT_CHANNELS_LAST));
  assert_int_equal(wf_error_take().status, WF_RUNTIME);
  wf_scope_end(scope, NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_layout_gets_the_factors_of_its_channels),
    cmocka_unit_test(many_channels_are_scaled_once),
    cmocka_unit_test(large_pictures_go_past_the_cache_unharmed),
    cmocka_unit_test(channels_may_be_any_dim_of_any_order_of_dims),
    cmocka_unit_test(the_gradient_is_scaled_by_channel),
    cmocka_unit_test(what_does_not_fit_is_refused),
};
WF_TEST_MAIN("op/affine", tests)
