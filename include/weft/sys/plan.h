/* For authors of backends and kernels: a plan is one piece of work on data, ready to run. It owns nothing and can be copied
 * with `=`. All its pointers are in operand[]: a backend with its own address space translates exactly those. */
#ifndef WEFT_SYS_PLAN_H
#define WEFT_SYS_PLAN_H

#include <weft/dtype.h>

WF_EXTERN_C_BEGIN

#define WF_SYS_ABI 1
#define WF_PLAN_OPERANDS 8

/** Kernel families. A backend that lacks a (family, operator, dtypes) declines with WF_NOT_IMPLEMENTED. */
typedef enum wf_family {
  WF_FAMILY_COPY = 1, /* operand 0 := operand 1, cast if dtypes differ; a fill when operand 1 is absent (scalar[0]) */
  WF_FAMILY_POINTWISE, /* operand 0 := f(operand 1 …); `compute` is the dtype of arithmetic; operands are cast on load, store */
  WF_FAMILY_REDUCE, /* operand 0 (stride 0 in reduced dims) := reduction of operand 1; index results in operand 2 */
  WF_FAMILY_RANDOM, /* operand 0 := draws; seed and offset in param.random */
  WF_FAMILY_RANGE,  /* operand 0 := arange, linspace, eye */
  WF_FAMILY_MATMUL, /* operand 0 [b,m,n] := beta·operand 0 + alpha·operand 1 [b,m,k] @ operand 2 [b,k,n] (+ operand 3 bias) */
  WF_FAMILY_CONV,    /* convolution and its two derivatives: param.conv */
  WF_FAMILY_POOL,    /* pooling and its derivatives: param.conv holds kernel, stride, padding */
  WF_FAMILY_NORM,    /* batch norm, layer norm and derivatives */
  WF_FAMILY_SOFTMAX, /* softmax, log_softmax over one dim and derivatives */
  WF_FAMILY_LOSS,    /* nll and cross-entropy and derivatives */
  WF_FAMILY_INDEX,   /* gather, scatter, index_select, embedding */
  WF_FAMILY_SCAN,    /* cumsum, cumprod, sort, topk: along one dim */
  WF_FAMILY_OPTIM    /* one fused optimiser step on one parameter */
} wf_family;

/** One tensor of a plan, in the plan's common sizes unless the family says otherwise. */
typedef struct wf_operand {
  void *data; /* first element; NULL: absent */
  wf_dtype dtype;
  int64_t stride[WF_MAX_DIMS]; /* bytes; 0 broadcasts */
} wf_operand;

/** Who caused the work, carried to wherever it runs. */
typedef struct wf_tag {
  const void *site; /* outermost public call's return address; NULL while not tracing */
  const char *op;   /* innermost operator; static string */
  uint32_t module;  /* id of the module path, 0 none */
  uint16_t kind;    /* wf_event_kind */
  bool implicit;    /* a copy that nobody asked for */
  uint8_t zone;     /* id of the zone (stage) in which it was started, 0 none */
  wf_device device; /* where it runs, for what a kernel records itself (PACK) */
  uint32_t stream;
  int64_t bytes_read;
  int64_t bytes_written;
} wf_tag;

/** Parameters of convolution and pooling. Sizes of the operands are in `shape`, since they differ: [operand][dim]. */
typedef struct wf_conv_param {
  int64_t kernel[3], stride[3], padding[3], dilation[3], output_padding[3];
  int64_t groups;
  int32_t spatial; /* 1, 2 or 3 */
  bool ceil_mode, count_include_pad, transposed;
  int64_t divisor; /* avg_pool2d's divisor_override, 0 none */
} wf_conv_param;

/** One piece of work on data. It owns nothing. */
typedef struct wf_plan {
  uint16_t family;  /* wf_family */
  uint16_t op;      /* number of the operation within the family (kernel/kernel.h) */
  uint8_t operands; /* how many of operand[] are used */
  uint8_t outputs;  /* the first so many are written */
  uint8_t ndim;     /* of size[]; dims are ordered fastest LAST */
  uint8_t compute;  /* wf_dtype in which a pointwise operator or a reduction computes */
  int64_t size[WF_MAX_DIMS];
  wf_operand operand[WF_PLAN_OPERANDS];
  wf_scalar scalar[4];
  union {
    struct {
      uint64_t seed, offset;
    } random;
    wf_conv_param conv;
    struct {
      int64_t m, n, k;
      bool bias_first;
    } matmul;
    struct {
      int32_t dim;
      int32_t dims;
      bool training, relu;
      double eps, momentum, extra;
    } norm;
    struct {
      int64_t dim, count, step;
      bool flag, flag2;
    } index;
    struct {
      double beta1, beta2, eps, weight_decay, momentum, dampening;
      int64_t step;
      bool nesterov, maximize, amsgrad, first;
    } optim;
  } param;
  /* Families whose operands differ in shape (CONV, POOL, NORM, LOSS, INDEX, MATMUL) put each operand's own sizes here. */
  int64_t shape[WF_PLAN_OPERANDS][6];
  uint8_t rank[WF_PLAN_OPERANDS];
  wf_tag tag;
} wf_plan;

WF_EXTERN_C_END
#endif
