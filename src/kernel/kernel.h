/* Pure loops: pointers, counts and strides in; no memory, I/O, globals or threads. exec/ cuts a plan into such loops.
 *
 * ref/ is complete, plain C, always linked, and the oracle of the tests. *.isa.c files are compiled once per instruction set
 * (base, avx2, avx512), every external name through WFK(); later instruction sets replace earlier entries of the table. */
#ifndef WF_KERNEL_KERNEL_H
#define WF_KERNEL_KERNEL_H

#include <weft/sys/plan.h>

/* ---- operators of each family (plan.op) ---------------------------------------------------------------------------- */

/* X(NAME, arity). Pointwise: value operands; scalars in plan.scalar[]. */
#define WF__POINTWISE_OPS(X)                                                                                            \
  X(NEG, 1) X(ABS, 1) X(SIGN, 1) X(SQUARE, 1) X(SQRT, 1) X(RSQRT, 1) X(RECIPROCAL, 1) X(EXP, 1) X(EXPM1, 1) X(LOG, 1)     \
  X(LOG1P, 1) X(LOG2, 1) X(SIN, 1) X(COS, 1) X(TAN, 1) X(ATAN, 1) X(TANH, 1) X(SIGMOID, 1) X(ERF, 1) X(FLOOR, 1)         \
  X(CEIL, 1) X(ROUND, 1) X(TRUNC, 1) X(ISNAN, 1) X(ISINF, 1) X(ISFINITE, 1) X(LOGICAL_NOT, 1) X(BITWISE_NOT, 1)          \
  X(RELU, 1) X(GELU, 1) X(GELU_TANH, 1) X(SILU, 1) X(LEAKY_RELU, 1) X(ELU, 1) X(SOFTPLUS, 1) X(HARDTANH, 1)              \
  X(CLAMP, 1) X(POW_SCALAR_EXP, 1) X(POW_SCALAR_BASE, 1) X(AFFINE, 1)                                                     \
  X(ADD, 2) X(SUB, 2) X(MUL, 2) X(DIV, 2) X(DIV_TRUNC, 2) X(DIV_FLOOR, 2) X(FMOD, 2) X(REMAINDER, 2) X(POW, 2)           \
  X(ATAN2, 2) X(MAXIMUM, 2) X(MINIMUM, 2) X(EQ, 2) X(NE, 2) X(LT, 2) X(LE, 2) X(GT, 2) X(GE, 2) X(LOGICAL_AND, 2)        \
  X(LOGICAL_OR, 2) X(LOGICAL_XOR, 2) X(BITWISE_AND, 2) X(BITWISE_OR, 2) X(BITWISE_XOR, 2) X(THRESHOLD_BACKWARD, 2)       \
  X(SIGMOID_BACKWARD, 2) X(TANH_BACKWARD, 2) X(GELU_BACKWARD, 2) X(GELU_TANH_BACKWARD, 2) X(SILU_BACKWARD, 2)            \
  X(ELU_BACKWARD, 2) X(SOFTPLUS_BACKWARD, 2) X(LEAKY_RELU_BACKWARD, 2) X(HARDTANH_BACKWARD, 2)                            \
  X(WHERE, 3) X(LERP, 3) X(ADDCMUL, 3) X(ADDCDIV, 3) X(CLAMP_TENSOR, 3) X(MASKED_FILL, 2)

typedef enum wf__pointwise_op {
#define WF_X(NAME, arity) WF__PW_##NAME,
  WF__POINTWISE_OPS(WF_X)
#undef WF_X
  WF__PW_COUNT
} wf__pointwise_op;

#define WF__REDUCE_OPS(X)                                                                                              \
  X(SUM) X(MEAN) X(PROD) X(AMAX) X(AMIN) X(ARGMAX) X(ARGMIN) X(MAX_INDEX) X(MIN_INDEX) X(ANY) X(ALL) X(VAR) X(STD)       \
  X(NORM) X(COUNT_NONZERO) X(LOGSUMEXP)
typedef enum wf__reduce_op {
#define WF_X(NAME) WF__RED_##NAME,
  WF__REDUCE_OPS(WF_X)
#undef WF_X
  WF__RED_COUNT
} wf__reduce_op;

typedef enum wf__range_op { WF__RANGE_ARANGE, WF__RANGE_LINSPACE, WF__RANGE_EYE } wf__range_op;
typedef enum wf__random_op { WF__RANDOM_UNIFORM, WF__RANDOM_NORMAL, WF__RANDOM_BERNOULLI, WF__RANDOM_INT } wf__random_op;
typedef enum wf__conv_op { WF__CONV_FORWARD, WF__CONV_BACKWARD_DATA, WF__CONV_BACKWARD_WEIGHT } wf__conv_op;
typedef enum wf__pool_op { WF__POOL_MAX, WF__POOL_MAX_BACKWARD, WF__POOL_AVG, WF__POOL_AVG_BACKWARD } wf__pool_op;
typedef enum wf__norm_op { WF__NORM_BATCH, WF__NORM_BATCH_BACKWARD, WF__NORM_LAYER, WF__NORM_LAYER_BACKWARD } wf__norm_op;
typedef enum wf__softmax_op { WF__SOFTMAX, WF__LOG_SOFTMAX, WF__SOFTMAX_BACKWARD, WF__LOG_SOFTMAX_BACKWARD } wf__softmax_op;
typedef enum wf__loss_op { WF__LOSS_NLL, WF__LOSS_NLL_BACKWARD, WF__LOSS_CROSS_ENTROPY, WF__LOSS_CROSS_ENTROPY_BACKWARD } wf__loss_op;
typedef enum wf__optim_op { WF__OPTIM_SGD, WF__OPTIM_ADAM, WF__OPTIM_ADAMW } wf__optim_op;
typedef enum wf__index_op { WF__INDEX_SELECT, WF__INDEX_GATHER, WF__INDEX_SCATTER, WF__INDEX_ADD } wf__index_op;
typedef enum wf__scan_op { WF__SCAN_CUMSUM, WF__SCAN_CUMPROD, WF__SCAN_SORT, WF__SCAN_TOPK } wf__scan_op;

#endif
