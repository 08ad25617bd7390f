/* Pure loops: pointers, counts and strides in; no memory, I/O, globals or threads. exec/ cuts a plan into such loops.
 *
 * ref/ is complete, plain C, always linked, and the oracle of the tests. *.isa.c files are compiled once per instruction set
 * (base, avx2, avx512), every external name through WFK(); later instruction sets replace earlier entries of the table. */
#ifndef WF_KERNEL_KERNEL_H
#define WF_KERNEL_KERNEL_H

#include <weft/sys/plan.h>

/* ---- operators of each family (plan.op) ---------------------------------------------------------------------------- */

/* X(NAME, arity). Pointwise: operand 0 := op(operand 1 … operand arity), in the dtype plan.compute; each operand is cast to it on load.
 * Halves compute in f32 and are rounded once. The result is cast to operand 0's dtype; what ISNAN … LOGICAL_NOT, EQ … GE and LOGICAL_*
 * give is bool whatever `compute` is. An operand 1 to 3 that is absent (data NULL) is the number in scalar[its index].
 *   ADD, SUB            scalar[0] alpha (absent: 1): operand 1 ± alpha · operand 2
 *   AFFINE              scalar[0] · x + scalar[1]
 *   CLAMP, HARDTANH     scalar[0] least, scalar[1] most; absent: no bound. NaN stays NaN, a NaN bound makes NaN
 *   CLAMP_TENSOR        operand 2 least, operand 3 most; absent in both forms: no bound
 *   POW_SCALAR_EXP      x ^ scalar[0];  POW_SCALAR_BASE  scalar[0] ^ x
 *   LEAKY_RELU          scalar[0] slope
 *   ELU                 scalar[0] alpha, scalar[1] scale (absent: 1), scalar[2] input scale (absent: 1)
 *   SOFTPLUS            scalar[0] beta, scalar[1] threshold
 *   LERP                operand 3 weight;  ADDCMUL, ADDCDIV  scalar[0] value (absent: 1)
 *   WHERE               operand 1 condition (read as bool), operand 2 where it holds, operand 3 else
 *   MASKED_FILL         operand 2 mask (read as bool), scalar[0] value
 *   *_BACKWARD          operand 1 gradient of the result; operand 2 the input, but the result for SIGMOID and TANH;
 *                       THRESHOLD scalar[0] threshold; the others have their forward's scalars; ELU: scalar[3] true when operand 2
 *                       is the result
 * Integer division and remainder by zero: WF_RUNTIME "ZeroDivisionError", before anything is written. */
/* clang-format off */
#define WF__POINTWISE_OPS(X) \
  X(NEG, 1) X(ABS, 1) X(SIGN, 1) X(SQUARE, 1) X(SQRT, 1) X(RSQRT, 1) X(RECIPROCAL, 1) X(EXP, 1) X(EXPM1, 1) X(LOG, 1) \
  X(LOG1P, 1) X(LOG2, 1) X(SIN, 1) X(COS, 1) X(TAN, 1) X(ATAN, 1) X(TANH, 1) X(SIGMOID, 1) X(ERF, 1) X(FLOOR, 1) \
  X(CEIL, 1) X(ROUND, 1) X(TRUNC, 1) X(ISNAN, 1) X(ISINF, 1) X(ISFINITE, 1) X(LOGICAL_NOT, 1) X(BITWISE_NOT, 1) \
  X(RELU, 1) X(GELU, 1) X(GELU_TANH, 1) X(SILU, 1) X(LEAKY_RELU, 1) X(ELU, 1) X(SOFTPLUS, 1) X(HARDTANH, 1) \
  X(CLAMP, 1) X(POW_SCALAR_EXP, 1) X(POW_SCALAR_BASE, 1) X(AFFINE, 1) \
  X(ADD, 2) X(SUB, 2) X(MUL, 2) X(DIV, 2) X(DIV_TRUNC, 2) X(DIV_FLOOR, 2) X(FMOD, 2) X(REMAINDER, 2) X(POW, 2) \
  X(ATAN2, 2) X(MAXIMUM, 2) X(MINIMUM, 2) X(EQ, 2) X(NE, 2) X(LT, 2) X(LE, 2) X(GT, 2) X(GE, 2) X(LOGICAL_AND, 2) \
  X(LOGICAL_OR, 2) X(LOGICAL_XOR, 2) X(BITWISE_AND, 2) X(BITWISE_OR, 2) X(BITWISE_XOR, 2) X(THRESHOLD_BACKWARD, 2) \
  X(SIGMOID_BACKWARD, 2) X(TANH_BACKWARD, 2) X(GELU_BACKWARD, 2) X(GELU_TANH_BACKWARD, 2) X(SILU_BACKWARD, 2) \
  X(ELU_BACKWARD, 2) X(SOFTPLUS_BACKWARD, 2) X(LEAKY_RELU_BACKWARD, 2) X(HARDTANH_BACKWARD, 2) \
  X(WHERE, 3) X(LERP, 3) X(ADDCMUL, 3) X(ADDCDIV, 3) X(CLAMP_TENSOR, 3) X(MASKED_FILL, 2)
/* clang-format on */

typedef enum wf__pointwise_op {
#define WF_X(NAME, arity) WF__PW_##NAME,
  WF__POINTWISE_OPS(WF_X)
#undef WF_X
      WF__PW_COUNT
} wf__pointwise_op;

/* Operand 0 (byte stride 0 in the reduced dims) := reduction of operand 1 cast to `compute`. Nothing to reduce gives the neutral element
 * (NaN for MEAN, VAR, STD; fronts refuse it for AMAX, AMIN and the indices).
 *   ARGMAX, ARGMIN        operand 0 (i64) is the index of the first extreme; NaN counts as the most extreme
 *   MAX_INDEX, MIN_INDEX  operand 0 the extreme, operand 2 (i64, laid out over the plan's sizes as operand 0 is) its index
 *   VAR, STD              scalar[0] correction;  NORM  scalar[0] p (±inf allowed)
 *   ANY, ALL              operand 0 bool or u8;  COUNT_NONZERO  operand 0 i64
 * An index counts through the reduced dims in the plan's order, row-major: fronts build such plans in the tensor's own order of dims. */
/* clang-format off */
#define WF__REDUCE_OPS(X) \
  X(SUM) X(MEAN) X(PROD) X(AMAX) X(AMIN) X(ARGMAX) X(ARGMIN) X(MAX_INDEX) X(MIN_INDEX) X(ANY) X(ALL) X(VAR) X(STD) \
  X(NORM) X(COUNT_NONZERO) X(LOGSUMEXP)
/* clang-format on */
typedef enum wf__reduce_op {
#define WF_X(NAME) WF__RED_##NAME,
  WF__REDUCE_OPS(WF_X)
#undef WF_X
      WF__RED_COUNT
} wf__reduce_op;

/* Operand 0 in row-major order of the plan's sizes, which fronts leave unpermuted. ARANGE [n]: scalar[0] start, scalar[2] step.
 * LINSPACE [n]: scalar[0] start, scalar[1] end. EYE [n, m]. */
typedef enum wf__range_op { WF__RANGE_ARANGE, WF__RANGE_LINSPACE, WF__RANGE_EYE } wf__range_op;
/* Element i (row-major over the plan's sizes, which fronts leave unpermuted) is a function of (seed, offset, i) alone. n elements use
 * wf__random_counters(n) counters from `offset` on: elements 2 i and 2 i + 1 have two of the four words of counter i each. UNIFORM
 * scalar[0] low, scalar[1] high: [low, high). NORMAL scalar[0] mean, scalar[1] deviation. BERNOULLI scalar[0] probability, or operand 1 when present. INT scalar[0] low, scalar[1] high: [low, high).
 * BERNOULLI refuses a probability outside of 0 to 1 in operand 1: WF_RUNTIME "Expected p_in >= 0 && p_in <= 1 to be true, but got false.
 * (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)", two spaces before the bracket.
 * PERMUTATION [n]: 0 to n - 1 in random order; n counters, one for each place. Fronts give halves and floats no more than they count exactly. */
static inline uint64_t wf__random_counters(int64_t n) { return ((uint64_t)n + 1) / 2; }
typedef enum wf__random_op {
  WF__RANDOM_UNIFORM,
  WF__RANDOM_NORMAL,
  WF__RANDOM_BERNOULLI,
  WF__RANDOM_INT,
  WF__RANDOM_PERMUTATION
} wf__random_op;
/* SCALED: operand 0 := operand 1 · operand 2 + operand 3, in f32 and rounded once to operand 0's dtype; operands 2 and 3 are f32, moving along
 * one dim, in equal steps of 4 bytes. */
typedef enum wf__copy_op { WF__COPY_PLAIN, WF__COPY_SCALED } wf__copy_op;
typedef enum wf__conv_op { WF__CONV_FORWARD, WF__CONV_BACKWARD_DATA, WF__CONV_BACKWARD_WEIGHT } wf__conv_op;
typedef enum wf__pool_op { WF__POOL_MAX, WF__POOL_MAX_BACKWARD, WF__POOL_AVG, WF__POOL_AVG_BACKWARD } wf__pool_op;
typedef enum wf__norm_op {
  WF__NORM_BATCH,
  WF__NORM_BATCH_BACKWARD,
  WF__NORM_LAYER,
  WF__NORM_LAYER_BACKWARD
} wf__norm_op;
typedef enum wf__softmax_op {
  WF__SOFTMAX,
  WF__LOG_SOFTMAX,
  WF__SOFTMAX_BACKWARD,
  WF__LOG_SOFTMAX_BACKWARD
} wf__softmax_op;
typedef enum wf__loss_op {
  WF__LOSS_NLL,
  WF__LOSS_NLL_BACKWARD,
  WF__LOSS_CROSS_ENTROPY,
  WF__LOSS_CROSS_ENTROPY_BACKWARD
} wf__loss_op;
/* One parameter: operand 0 the parameter; 1 momentum buffer or exp_avg; 2 exp_avg_sq; 3 max_exp_avg_sq (amsgrad); 4 gradient. All of one
 * dtype and shape; absent ones have data NULL. scalar[0] learning rate; param.optim the rest: `step` counts from 1 (this step included),
 * `first` when the momentum buffer is new and takes the gradient as it is. */
typedef enum wf__optim_op { WF__OPTIM_SGD, WF__OPTIM_ADAM, WF__OPTIM_ADAMW } wf__optim_op;
typedef enum wf__index_op {
  WF__INDEX_SELECT, /* these four: kernel/neural.h; the others: kernel/indexing.h */
  WF__INDEX_GATHER,
  WF__INDEX_SCATTER,
  WF__INDEX_ADD,
  WF__INDEX_GET,
  WF__INDEX_PUT,
  WF__INDEX_NONZERO,
  WF__INDEX_MASKED_GET,
  WF__INDEX_MASKED_PUT
} wf__index_op;
typedef enum wf__scan_op { WF__SCAN_CUMSUM, WF__SCAN_CUMPROD, WF__SCAN_SORT, WF__SCAN_TOPK } wf__scan_op;

#endif
