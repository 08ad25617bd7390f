/* The table of kernels of one instruction set. ref/ fills every entry; each *.isa.c file then replaces those that it has better. */
#ifndef WF_KERNEL_TABLES_H
#define WF_KERNEL_TABLES_H

#include "base/cpu.h"
#include "kernel/kernel.h"
#include "kernel/reduce_state.h"

/* n consecutive elements of one dtype to another. dst and src are apart, or the same address when the element sizes are equal. */
typedef void (*wf__convert_fn)(void *dst, const void *src, int64_t n);
/* out[i] := in[i] · factor[step i] + shift[step i], step 0 or 1; rounded after each operation. out and in are apart or the same. */
typedef void (*wf__scale_fn)(float *out, const float *in, const float *factor, const float *shift, int64_t n,
                             int64_t step);
/* Elements of 2^k bytes, k the index in the table. `stride` is in bytes and may be 0 or negative. */
typedef void (*wf__gather_fn)(void *dst, const void *src, int64_t stride, int64_t n);
typedef void (*wf__scatter_fn)(void *dst, int64_t stride, const void *src, int64_t n);
/* dst[r][c] := src[c][r] for `rows` x `cols` elements of the destination; both fastest dims are consecutive, row strides in bytes. */
typedef void (*wf__transpose_fn)(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, int64_t rows,
                                 int64_t cols);
/* The same with places listed: row r of the destination begins at dst + to[r], row c of the source at src + from[c] (bytes). */
typedef void (*wf__transpose_at_fn)(void *dst, const int64_t *to, const void *src, const int64_t *from, int64_t rows,
                                    int64_t cols);
/* The same with whole lines stored past the cache, and elements converted on the way; dst and dst_stride are multiples of 64, 2^k is the
 * destination's element size, and wf__stream_fence has to follow. */
typedef struct wf__lines_how {
  wf__convert_fn convert; /* NULL: elements stay as they are */
  int64_t from_size;      /* bytes of an element of the source */
  int64_t lines;          /* that are stored together of each of the destination's rows: 1, 2 or 4 */
  int64_t
      staged; /* elements that are read together of each of the source's rows: whole lines of the destination's type */
  bool ahead; /* whether lines of the source are asked for while those before are stored, */
  const char *next; /* and where the source of the next such block begins, NULL: unknown */
  char *stage;      /* on a line: lines · 64 / 2^k rows of wf__lines_pitch(staged · 2^k) bytes */
} wf__lines_how;
typedef void (*wf__transpose_lines_fn)(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, int64_t rows,
                                       int64_t cols, const wf__lines_how *how);
/* Bytes between rows of a stage: not in one place of the cache. */
static inline int64_t wf__lines_pitch(int64_t bytes) { return bytes % 512 ? bytes : bytes + 64; }
/* Between one row of n groups of k elements and k rows of n elements, row j at to[j] or from[j] bytes; k is 2, 3 or 4. */
typedef void (*wf__deinterleave_fn)(void *dst, const int64_t *to, const void *src, int64_t n, int k);
/* deinterleave_lines stores whole lines past the cache, on which each row has to begin; a fence has to follow, as behind `stream`. */
typedef void (*wf__interleave_fn)(void *dst, const void *src, const int64_t *from, int64_t n, int k);

#define WF__ELEMENT_SIZES 5 /* 1, 2, 4, 8, 16 bytes */

/* What kernels compute in. Halves: f32. Integers and bool: i64, of which stores keep the low bits; pointwise operators and sums, extremes
 * and counts have narrow integers as well, with the same results in one step. */
typedef enum wf__class {
  WF__CLASS_F32,
  WF__CLASS_F64,
  WF__CLASS_I64,
  WF__CLASSES,
  WF__CLASS_I32 = WF__CLASSES,
  WF__CLASS_I16,
  WF__CLASS_I8,
  WF__CLASS_U8,
  WF__PW_CLASSES
} wf__class;
/* The dtype that a class is named after. */
extern const wf_dtype wf__class_dtype[WF__PW_CLASSES];
/* Value operands of each operator; in[] holds no more. */
extern const uint8_t wf__pointwise_arity[WF__PW_COUNT];
/* The plan's scalars in both forms; absent ones have `given` false and the value 1. */
typedef struct wf__pointwise_args {
  double f[4];
  int64_t i[4];
  bool given[4];
} wf__pointwise_args;
/* out[i] := op(in[0][i], in[1][i], in[2][i]) for n consecutive elements of the class's type; masks are bytes; operators whose result is bool
 * (wf__pointwise_gives_bool) write bytes. out may be the same array as an input. CLAMP_TENSOR: in[1], in[2] may be NULL. */
typedef void (*wf__pointwise_fn)(void *out, const void *const *in, int64_t n, const wf__pointwise_args *args);
static inline bool wf__pointwise_gives_bool(int op) {
  return (op >= WF__PW_ISNAN && op <= WF__PW_LOGICAL_NOT) || (op >= WF__PW_EQ && op <= WF__PW_LOGICAL_XOR);
}
/* Whether in[k] is a mask of bytes. */
static inline bool wf__pointwise_is_mask(int op, int k) {
  return (op == WF__PW_WHERE && k == 0) || (op == WF__PW_MASKED_FILL && k == 1);
}

/* f32 with consecutive channels. Not in ref/, where the loops of kernel/neural.h take any strides: NULL there.
 * pool_max: out[c] := the greatest place[i][c], index[c] := number[i] of the first such (index may be NULL). pool_spread: place[i][c] := (add: +=) grad[c]
 * where index[c] is number[i], else 0. stats: mean, inverse deviation, scale, shift of each channel.
 * norm_sums: sum of (x - origin) and of its square. norm_map: y := x · scale + shift, then relu.
 * norm_back_sums: sum of g and of g · (x - mean), g being dy behind the relu. norm_back_map: dx := g · scale - (x - mean) · slope - offset. */
typedef void (*wf__pool_max_fn)(float *out, uint8_t *index, const float *const *place, const uint8_t *number,
                                int places, int64_t channels);
typedef void (*wf__pool_spread_fn)(float *const *place, const uint8_t *number, int places, const float *grad,
                                   const uint8_t *index, int64_t channels, bool add);
typedef void (*wf__norm_sums_fn)(const float *x, int64_t rows, int64_t channels, const float *origin, float *sum,
                                 float *square);
typedef void (*wf__norm_map_fn)(const float *x, float *y, int64_t rows, int64_t channels, const float *scale,
                                const float *shift, bool relu);
typedef void (*wf__norm_back_sums_fn)(const float *x, const float *dy, int64_t rows, int64_t channels,
                                      const float *const stats[4], bool relu, float *sum, float *product);
typedef void (*wf__norm_back_map_fn)(const float *x, const float *dy, float *dx, int64_t rows, int64_t channels,
                                     const float *const stats[4], bool relu, const float *slope, const float *offset);

/* Takes n consecutive elements of the class's type into the state. Their indices are first, first + step, …; step 0: indices don't count. */
typedef void (*wf__reduce_fn)(wf__reduce_state *state, const void *x, int64_t n, int64_t first, int64_t step,
                              double parameter);
/* `rows` rows of n elements, `stride` bytes apart, are taken into n results: result[i] goes on with x[0][i], x[1][i], …. Extremes are of the
 * class's type, of which NaN is more extreme than all; counts and what integers give are int64_t, the rest is double. Sums of stretches instead:
 * result[r] += x[r][0] + x[r][1] + …. */
typedef void (*wf__rows_fn)(void *result, const void *x, int64_t stride, int64_t rows, int64_t n);
/* Extremes with the numbers of their rows, which count from `first`: place[i] is an integer as wide as the class's type. The first of equals stays. */
typedef void (*wf__places_fn)(void *best, void *place, const void *x, int64_t stride, int64_t first, int64_t rows,
                              int64_t n);

/* `runs` runs of n elements side by side; strides in bytes, between runs and between elements. out and in are apart or the same. */
typedef struct wf__runs {
  void *out;
  const void *in;
  int64_t runs, n, out_run, out_step, in_run, in_step;
} wf__runs;
/* Cumulative sums or products of each run, which go on from carry[run]: of f32 and f64 a double, of halves, whose elements are f32 here, a float, of
 * i64 and bool, whose elements are i64, a uint64_t, of narrower integers a uint32_t. Integers wrap. */
typedef void (*wf__cumulate_fn)(const wf__runs *runs, void *carry);

/* Numbers that depend on their index alone. */
typedef struct wf__range_args {
  wf_dtype dtype;
  double start, end, step;
  int64_t first_integer, step_integer; /* start and step of an integer dtype */
  int64_t count, columns;              /* elements in all; of a row of eye */
  bool has_gaps;                       /* the elements aren't consecutive in memory */
} wf__range_args;
/* Writes elements [first, first + n) to consecutive places. */
typedef void (*wf__range_kernel_fn)(const wf__range_args *args, void *block, int64_t first, int64_t n);
typedef struct wf__random_args {
  wf_dtype dtype;
  uint64_t seed, offset;
  double low, high;      /* NORMAL: mean and deviation; BERNOULLI: low is the probability */
  int64_t first_integer; /* INT: lowest number, */
  uint64_t span;         /* and how many there are, 0 for 2^64 */
} wf__random_args;
/* The same with the probabilities of BERNOULLI for these elements, NULL when all are equal. */
typedef void (*wf__random_kernel_fn)(const wf__random_args *args, const double *probability, void *block, int64_t first,
                                     int64_t n);

/* Hyperparameters of one step; step_size is lr over the first bias correction. */
typedef struct wf__optim_args {
  double lr, beta1, beta2, eps, weight_decay, momentum, dampening, step_size, root_of_correction2;
  bool nesterov, maximize, first;
} wf__optim_args;
/* n consecutive elements of the class's type; state[0 … 2] are operands 1 to 3 of the plan, NULL when absent. */
typedef void (*wf__optim_fn)(const wf__optim_args *args, void *param, void *const *state, const void *gradient,
                             int64_t n);

/* softmax by vectors. Not in ref/, whose wf__ref_softmax takes whole plans: NULL there. in[]: the forward's input, or gradient and result.
 * What a stretch or each column has so far is (top, sum), which begin as (-inf, 0); the backward has no use for top.
 * row: a whole row at once, NULL for the backward; keep: n elements to work in, which may be out; next: what is read after this row, or NULL.
 * finish: sums into the factors that map takes, NULL when they are. map: top and factor are one for all elements, or one for each.
 * stream: store past the cache; wf__stream_fence has to follow. */
typedef struct wf__softmax_kernels {
  void (*row)(void *out, const void *in, void *keep, int64_t n, const void *next, bool stream);
  void (*take)(void *top, void *sum, const void *const *in, int64_t n);
  void (*take_columns)(void *top, void *sum, const void *const *in, const int64_t *stride, int64_t rows, int64_t cols);
  void (*finish)(void *sum, int64_t n);
  void (*map)(void *out, const void *const *in, int64_t n, const void *top, const void *factor, bool each, bool stream);
} wf__softmax_kernels;

/* out [m, n] := a [m, k] @ b [k, n] for few multiplications; n is a multiple of 4. Rows of out and b are consecutive; steps are in elements; out is apart from
 * both. Not in ref/, where the loops of wf__ref_matmul take any strides: NULL there, with the same sums in the same order. */
typedef void (*wf__small_product_fn)(void *out, int64_t out_row, const void *a, int64_t a_row, int64_t a_column,
                                     const void *b, int64_t b_row, int64_t m, int64_t n, int64_t k);

typedef struct wf__kernels {
  wf__convert_fn convert[WF_DTYPE_COUNT][WF_DTYPE_COUNT]; /* [from][to]; equal dtypes: a plain move */
  wf__scale_fn scale;
  wf__gather_fn gather[WF__ELEMENT_SIZES];
  wf__scatter_fn scatter[WF__ELEMENT_SIZES];
  wf__transpose_fn transpose[WF__ELEMENT_SIZES];
  wf__transpose_lines_fn transpose_lines[WF__ELEMENT_SIZES];
  wf__transpose_at_fn transpose_at[WF__ELEMENT_SIZES];
  wf__deinterleave_fn deinterleave[WF__ELEMENT_SIZES], deinterleave_lines[WF__ELEMENT_SIZES];
  wf__interleave_fn interleave[WF__ELEMENT_SIZES];
  /* n runs of `unit` bytes, whatever their number, at equal distances on both sides. */
  void (*move_units)(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, int64_t n, int64_t unit);
  /* Copies bytes, whole lines of dst past the cache; wf__stream_fence has to follow, once, after the last of them. */
  void (*stream)(void *dst, const void *src, int64_t bytes);
  /* Fills bytes with the 64 bytes of `pattern`, its first byte at dst. stream: past the cache; wf__stream_fence has to follow. */
  void (*fill)(void *dst, const void *pattern, int64_t bytes, bool stream);
  wf__pointwise_fn pointwise[WF__PW_CLASSES][WF__PW_COUNT]; /* NULL: not defined for the class */
  wf__pool_max_fn pool_max;
  wf__pool_spread_fn pool_spread;
  wf__norm_sums_fn norm_sums;
  wf__norm_map_fn norm_map;
  wf__norm_back_sums_fn norm_back_sums;
  wf__norm_back_map_fn norm_back_map;
  wf__reduce_fn reduce[WF__PW_CLASSES][WF__REDUCE_KINDS]; /* NULL: not defined for the class */
  wf__rows_fn rows[WF__PW_CLASSES][WF__REDUCE_KINDS];     /* NULL: not by rows */
  wf__rows_fn add_each[WF__PW_CLASSES];
  wf__places_fn places[WF__PW_CLASSES][WF__REDUCE_KINDS]; /* of MAX and MIN */
  wf__cumulate_fn cumulate[WF_DTYPE_COUNT][2];            /* sums, products */
  wf__softmax_kernels softmax[WF__CLASSES][WF__LOG_SOFTMAX_BACKWARD + 1];
  wf__small_product_fn small_product[WF__CLASSES]; /* NULL for i64 */
  wf__range_kernel_fn range[WF__RANGE_EYE + 1];
  wf__random_kernel_fn random[WF__RANDOM_INT + 1];
  wf__optim_fn optim[WF__CLASSES][WF__OPTIM_ADAMW + 1]; /* NULL for i64 */
} wf__kernels;

/* One line for each file of ref/ and its *.isa.c twin: wf__<group>_ref and wf__<group>_<isa> fill their part of the table.
 * R: only in ref/. I: only in *.isa.c, over entries of another file of ref/. */
/* clang-format off */
#define WF__KERNEL_GROUPS(X, R, I) \
  X(convert) X(move) R(pointwise_float) X(pointwise_int) I(pointwise_f32) I(pointwise_f64) X(pool) X(norm) X(reduce) X(scan) I(softmax) \
  R(range) R(random) X(optim) I(transpose) I(interleave) I(small_product)
/* clang-format on */

/* Makes stores past the cache visible in order with what follows. Once per thread and piece of work, not per row: it waits for memory. */
static inline void wf__stream_fence(void) {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

/* The table for the best instruction set that may be used. Never NULL. */
const wf__kernels *wf__kernels_now(void);
/* The table of one instruction set; the caller makes sure that the CPU has it. */
const wf__kernels *wf__kernels_of(wf__isa isa);

#endif
