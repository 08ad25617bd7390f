/* Gathers, scatters, transposes, streaming copies and fills of every instruction set against index arithmetic. */
#include "test.h"

#include "guarded.h"
#include "kernel/tables.h"

static void bytes_fill(char *p, size_t n, uint64_t *seed) {
  for (size_t i = 0; i < n; i++) p[i] = (char)random_next(seed);
}

static void gather_and_scatter_move_exactly_the_elements_asked_for(void **state) {
  (void)state;
  uint64_t seed = 7;
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++)
    for (int k = 0; k < WF__ELEMENT_SIZES; k++)
      for (int64_t n = 0; n < 300; n += n < 70 ? 3 : 41)
        for (int64_t step = 0; step < 5; step++) {
          size_t size = (size_t)1 << k;
          int64_t stride = step * (int64_t)size;
          size_t span = n ? (size_t)((n - 1) * stride) + size : 0;
          guarded spread = guarded_new(span, size), packed = guarded_new((size_t)n * size, 3 * size);
          bytes_fill(spread.data, span, &seed);
          wf__kernels_of((wf__isa)isa)->gather[k](packed.data, spread.data, stride, n);
          for (int64_t i = 0; i < n; i++)
            assert_memory_equal(packed.data + i * (int64_t)size, spread.data + i * stride, size);
          assert_true(guarded_intact(&packed));
          if (step > 0) {
            char *before = malloc(span + 1);
            bytes_fill(packed.data, (size_t)n * size, &seed);
            memcpy(before, spread.data, span);
            wf__kernels_of((wf__isa)isa)->scatter[k](spread.data, stride, packed.data, n);
            for (size_t b = 0; b < span; b++) {
              size_t i = b / (size_t)stride, within = b % (size_t)stride;
              assert_int_equal(spread.data[b], within < size ? packed.data[i * size + within] : before[b]);
            }
            free(before);
          }
          assert_true(guarded_intact(&spread));
          guarded_free(&spread);
          guarded_free(&packed);
        }
}

static void check_transpose(int isa, int k, int64_t rows, int64_t cols, int64_t gap, uint64_t *seed) {
  int64_t size = (int64_t)1 << k;
  int64_t dst_stride = cols * size + gap * size, src_stride = rows * size + gap * size;
  guarded dst = guarded_new((size_t)(rows * dst_stride), (size_t)size);
  guarded src = guarded_new((size_t)(cols * src_stride), (size_t)(gap * size));
  bytes_fill(src.data, src.bytes, seed);
  char *before = malloc(dst.bytes + 1);
  memcpy(before, dst.data, dst.bytes);
  wf__kernels_of((wf__isa)isa)->transpose[k](dst.data, dst_stride, src.data, src_stride, rows, cols);
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t c = 0; c < cols; c++)
      if (memcmp(dst.data + r * dst_stride + c * size, src.data + c * src_stride + r * size, (size_t)size))
        fail_msg("%s, %d bytes, %d x %d: wrong at %d, %d", wf__cpu_isa_name((wf__isa)isa), (int)size, (int)rows,
                 (int)cols, (int)r, (int)c);
    int64_t used = cols * size;
    assert_memory_equal(dst.data + r * dst_stride + used, before + r * dst_stride + used, (size_t)(dst_stride - used));
  }
  assert_true(guarded_intact(&dst));
  free(before);
  guarded_free(&dst);
  guarded_free(&src);
}

static void transposes_agree_with_index_arithmetic_at_every_size(void **state) {
  (void)state;
  uint64_t seed = 99;
  const int64_t edges[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100};
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++)
    for (int k = 0; k < WF__ELEMENT_SIZES; k++)
      for (int r = 0; r < 18; r++)
        for (int c = 0; c < 18; c++) check_transpose(isa, k, edges[r], edges[c], (r + c) % 3, &seed);
}

typedef struct lines_case {
  int64_t rows, cols, lines, staged;
  bool ahead, has_next;
  int64_t from_size, size;
  wf__convert_fn convert; /* NULL: moved as they are */
} lines_case;

/* Against index arithmetic, elements converted by ref/; what lies between the destination's rows and behind the stage stays as it is. */
static void check_lines(int isa, const lines_case *c, const char *values, wf__convert_fn by_ref) {
  int64_t src_stride = c->rows * c->from_size + c->from_size, dst_stride = (c->cols * c->size + 127) / 64 * 64;
  int64_t strip = c->lines * 64 / c->size;
  guarded dst = guarded_new((size_t)(c->rows * dst_stride), 0);
  guarded src = guarded_new((size_t)(c->cols * src_stride), (size_t)c->from_size);
  guarded stage = guarded_new((size_t)(strip * wf__lines_pitch(c->staged * c->size)), 0);
  memcpy(src.data, values, src.bytes);
  memset(dst.data, 0x3c, dst.bytes);
  wf__lines_how how = {.convert = c->convert,
                       .from_size = c->from_size,
                       .lines = c->lines,
                       .staged = c->staged,
                       .ahead = c->ahead,
                       .next = c->has_next ? src.data : NULL,
                       .stage = stage.data};
  int k = __builtin_ctz((unsigned)c->size);
  wf__kernels_of((wf__isa)isa)->transpose_lines[k](dst.data, dst_stride, src.data, src_stride, c->rows, c->cols, &how);
  wf__stream_fence();
  for (int64_t row = 0; row < c->rows; row++) {
    for (int64_t col = 0; col < c->cols; col++) {
      char expected[16];
      by_ref(expected, src.data + col * src_stride + row * c->from_size, c->convert ? 1 : c->size);
      if (memcmp(dst.data + row * dst_stride + col * c->size, expected, (size_t)c->size))
        fail_msg("%s, %d to %d bytes, %d x %d, %d lines, %d staged: wrong at %d, %d", wf__cpu_isa_name((wf__isa)isa),
                 (int)c->from_size, (int)c->size, (int)c->rows, (int)c->cols, (int)c->lines, (int)c->staged, (int)row,
                 (int)col);
    }
    for (int64_t b = c->cols * c->size; b < dst_stride; b++) assert_int_equal(dst.data[row * dst_stride + b], 0x3c);
  }
  assert_true(guarded_intact(&dst) && guarded_intact(&src) && guarded_intact(&stage));
  guarded_free(&dst);
  guarded_free(&src);
  guarded_free(&stage);
}

static lines_case random_lines_case(int64_t from_size, int64_t size, uint64_t *seed) {
  lines_case c = {.from_size = from_size, .size = size};
  c.rows = 1 + (int64_t)(random_next(seed) % (random_next(seed) % 4 ? 40 : 200));
  c.cols = 1 + (int64_t)(random_next(seed) % (random_next(seed) % 4 ? 80 : 300));
  c.lines = 1 << random_next(seed) % 3;
  c.staged = (64 << random_next(seed) % 4) / size;
  c.ahead = random_next(seed) % 2;
  c.has_next = random_next(seed) % 2;
  return c;
}

static void move_bytes(void *dst, const void *src, int64_t bytes) { memcpy(dst, src, (size_t)bytes); }

static void whole_lines_are_transposed_at_every_size(void **state) {
  (void)state;
  uint64_t seed = 63;
  char *values = malloc(300 * 201 * 16);
  bytes_fill(values, 300 * 201 * 16, &seed);
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++)
    for (int k = 0; k < WF__ELEMENT_SIZES; k++)
      for (int i = 0; i < 60; i++) {
        lines_case c = random_lines_case(1 << k, 1 << k, &seed);
        check_lines(isa, &c, values, move_bytes);
      }
  free(values);
}

static void whole_lines_are_converted_between_all_dtypes_on_the_way(void **state) {
  (void)state;
  uint64_t seed = 64;
  char *values = malloc(300 * 201 * 8);
  for (int from = 1; from < WF_DTYPE_COUNT; from++) {
    random_fill(values, (wf_dtype)from, 300 * 201, &seed);
    for (int to = 1; to < WF_DTYPE_COUNT; to++)
      for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++)
        for (int i = 0; i < 6 && from != to; i++) {
          int64_t from_size = (int64_t)wf_dtype_size((wf_dtype)from), size = (int64_t)wf_dtype_size((wf_dtype)to);
          lines_case c = random_lines_case(from_size, size, &seed);
          c.convert = wf__kernels_of((wf__isa)isa)->convert[from][to];
          check_lines(isa, &c, values, wf__kernels_of(WF__ISA_REF)->convert[from][to]);
        }
  }
  free(values);
}

/* A permutation of n places, `apart` bytes between neighbours. */
static void shuffled_places(int64_t *place, int64_t n, int64_t apart, uint64_t *seed) {
  for (int64_t i = 0; i < n; i++) place[i] = i * apart;
  for (int64_t i = n - 1; i > 0; i--) {
    int64_t j = (int64_t)(random_next(seed) % (uint64_t)(i + 1)), t = place[i];
    place[i] = place[j];
    place[j] = t;
  }
}

static void check_transpose_at(int isa, int k, int64_t rows, int64_t cols, uint64_t *seed) {
  int64_t size = (int64_t)1 << k, to[100], from[100], gap = 3;
  shuffled_places(to, rows, cols * size + gap, seed);
  shuffled_places(from, cols, rows * size + gap, seed);
  guarded dst = guarded_new((size_t)(rows * (cols * size + gap)), (size_t)(size * 3));
  guarded src = guarded_new((size_t)(cols * (rows * size + gap)), (size_t)size);
  bytes_fill(src.data, src.bytes, seed);
  memset(dst.data, 0x3c, dst.bytes);
  wf__kernels_of((wf__isa)isa)->transpose_at[k](dst.data, to, src.data, from, rows, cols);
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t c = 0; c < cols; c++)
      if (memcmp(dst.data + to[r] + c * size, src.data + from[c] + r * size, (size_t)size))
        fail_msg("%s, %d bytes, %d x %d: wrong at %d, %d", wf__cpu_isa_name((wf__isa)isa), (int)size, (int)rows,
                 (int)cols, (int)r, (int)c);
    for (int64_t b = 0; b < gap; b++) assert_int_equal(dst.data[to[r] + cols * size + b], 0x3c);
  }
  assert_true(guarded_intact(&dst));
  guarded_free(&dst);
  guarded_free(&src);
}

static void transposes_between_listed_places_touch_nothing_else(void **state) {
  (void)state;
  uint64_t seed = 31;
  const int64_t edges[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100};
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++)
    for (int k = 0; k < WF__ELEMENT_SIZES; k++)
      for (int r = 0; r < 16; r++)
        for (int c = 0; c < 16; c++) check_transpose_at(isa, k, edges[r], edges[c], &seed);
}

static void check_alternating(int isa, int log, int k, int64_t n, uint64_t *seed) {
  int64_t size = (int64_t)1 << log, place[4];
  const wf__kernels *kernels = wf__kernels_of((wf__isa)isa);
  shuffled_places(place, k, n * size, seed);
  guarded rows = guarded_new((size_t)(k * n * size), (size_t)size);
  guarded groups = guarded_new((size_t)(k * n * size), (size_t)(3 * size));
  bytes_fill(groups.data, groups.bytes, seed);
  kernels->deinterleave[log](rows.data, place, groups.data, n, k);
  for (int64_t i = 0; i < n; i++)
    for (int j = 0; j < k; j++)
      assert_memory_equal(rows.data + place[j] + i * size, groups.data + (i * k + j) * size, (size_t)size);
  bytes_fill(rows.data, rows.bytes, seed);
  kernels->interleave[log](groups.data, rows.data, place, n, k);
  for (int64_t i = 0; i < n; i++)
    for (int j = 0; j < k; j++)
      assert_memory_equal(groups.data + (i * k + j) * size, rows.data + place[j] + i * size, (size_t)size);
  assert_true(guarded_intact(&rows) && guarded_intact(&groups));
  guarded_free(&rows);
  guarded_free(&groups);
}

/* Rows on lines, as whole lines of them go past the cache. */
static void check_split_onto_lines(int isa, int log, int k, int64_t n, uint64_t *seed) {
  int64_t size = (int64_t)1 << log, row = (n * size + 63) / 64 * 64, place[4];
  shuffled_places(place, k, row, seed);
  guarded rows = guarded_new((size_t)(k * row), 0), groups = guarded_new((size_t)(k * n * size), (size_t)(3 * size));
  bytes_fill(groups.data, groups.bytes, seed);
  memset(rows.data, 0x3c, rows.bytes);
  wf__kernels_of((wf__isa)isa)->deinterleave_lines[log](rows.data, place, groups.data, n, k);
  wf__stream_fence();
  for (int j = 0; j < k; j++) {
    for (int64_t i = 0; i < n; i++)
      assert_memory_equal(rows.data + place[j] + i * size, groups.data + (i * k + j) * size, (size_t)size);
    for (int64_t b = n * size; b < row; b++) assert_int_equal(rows.data[place[j] + b], 0x3c);
  }
  assert_true(guarded_intact(&rows) && guarded_intact(&groups));
  guarded_free(&rows);
  guarded_free(&groups);
}

static void rows_are_split_and_joined_element_by_element(void **state) {
  (void)state;
  uint64_t seed = 77;
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++)
    for (int log = 0; log < WF__ELEMENT_SIZES; log++)
      for (int k = 2; k <= 4; k++)
        for (int64_t n = 1; n < 300; n += n < 20 ? 1 : 13) {
          check_alternating(isa, log, k, n, &seed);
          check_split_onto_lines(isa, log, k, n, &seed);
        }
}

static void short_runs_of_any_length_move_whole(void **state) {
  (void)state;
  uint64_t seed = 41;
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++)
    for (int64_t unit = 1; unit < 2500; unit += unit < 150 ? 1 : 291)
      for (int64_t n = 1; n < 8; n += 3) {
        int64_t to = unit + unit % 3, from = unit + unit % 5;
        guarded dst = guarded_new((size_t)(n * to), 1), src = guarded_new((size_t)((n - 1) * from + unit), 2);
        bytes_fill(src.data, src.bytes, &seed);
        memset(dst.data, 0x3c, dst.bytes);
        wf__kernels_of((wf__isa)isa)->move_units(dst.data, to, src.data, from, n, unit);
        for (int64_t i = 0; i < n; i++) {
          assert_memory_equal(dst.data + i * to, src.data + i * from, (size_t)unit);
          for (int64_t b = unit; b < to; b++) assert_int_equal(dst.data[i * to + b], 0x3c);
        }
        assert_true(guarded_intact(&dst));
        guarded_free(&dst);
        guarded_free(&src);
      }
}

static void streaming_copies_and_fills_stay_inside_their_bytes(void **state) {
  (void)state;
  uint64_t seed = 5;
  char pattern[64] __attribute__((aligned(64)));
  for (int isa = WF__ISA_REF; isa <= (int)best_isa(); isa++)
    for (int64_t n = 0; n < 700; n += 13)
      for (size_t offset = 0; offset < 64; offset += 7) {
        const wf__kernels *k = wf__kernels_of((wf__isa)isa);
        guarded dst = guarded_new((size_t)n, offset), src = guarded_new((size_t)n, (offset * 3) % 64);
        bytes_fill(src.data, (size_t)n, &seed);
        k->stream(dst.data, src.data, n);
        assert_memory_equal(dst.data, src.data, (size_t)n);
        assert_true(guarded_intact(&dst));
        bytes_fill(pattern, 64, &seed);
        k->fill(dst.data, pattern, n, n % 2);
        for (int64_t i = 0; i < n; i++) assert_int_equal(dst.data[i], pattern[i % 64]);
        assert_true(guarded_intact(&dst));
        guarded_free(&dst);
        guarded_free(&src);
      }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(gather_and_scatter_move_exactly_the_elements_asked_for),
    cmocka_unit_test(transposes_agree_with_index_arithmetic_at_every_size),
    cmocka_unit_test(whole_lines_are_transposed_at_every_size),
    cmocka_unit_test(whole_lines_are_converted_between_all_dtypes_on_the_way),
    cmocka_unit_test(transposes_between_listed_places_touch_nothing_else),
    cmocka_unit_test(rows_are_split_and_joined_element_by_element),
    cmocka_unit_test(short_runs_of_any_length_move_whole),
    cmocka_unit_test(streaming_copies_and_fills_stay_inside_their_bytes),
};
WF_TEST_MAIN("kernel/move", tests)
