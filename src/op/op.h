/* What the arithmetic fronts share. A pointwise operator is a wf__pw_def (kernel, promotion, what its derivative keeps); wf__pw and its
 * siblings do the rest: promotion, checks, plan, launch, recording. Also declares the entries that only the table of operators calls. */
#ifndef WF_OP_OP_H
#define WF_OP_OP_H

#include <weft/math.h>
#include <weft/reduce.h>
#include "autograd/node.h"
#include "kernel/kernel.h"
#include "op/args.h"
#include "op/into.h"

/* ---- result types (promote.c) ------------------------------------------------------------------------------------------- */

/* The three classes of PyTorch's promotion: tensors of rank 1 or more, of rank 0, numbers. */
typedef struct wf__promotion {
  wf_dtype dim, zero, wrapped;
} wf__promotion;
void wf__promote_tensor(wf__promotion *p, const wf_tensor *t);
void wf__promote_number(wf__promotion *p, wf_scalar s);
void wf__promote_arg(wf__promotion *p, wf__operand_arg arg);
wf_dtype wf__promoted(const wf__promotion *p);
static inline wf_dtype wf__float_of(wf_dtype d) { return wf_dtype_is_float(d) ? d : WF_F32; }
/* The number as an element of `dtype` holds it: integers wrap, halves round. */
wf_scalar wf__number_as(wf_scalar s, wf_dtype dtype);
/* The number, or that in a tensor of rank 0 on the host. Kind NONE: a device has it, and nobody waits for that. */
wf_scalar wf__known_number(wf__operand_arg arg);

/* ---- pointwise operators (pointwise.c) ------------------------------------------------------------------------------------- */

typedef enum wf__pw_rule {
  WF__PW_COMMON,   /* computed and returned in the promoted dtype */
  WF__PW_FLOATING, /* the same, but integers become float32 */
  WF__PW_TRUTH,    /* computed in the promoted dtype, bool returned */
  WF__PW_OWN       /* in self's dtype, whatever the others are */
} wf__pw_rule;

typedef enum wf__pw_allow { WF__PW_ANY, WF__PW_NO_BOOL, WF__PW_ONLY_FLOAT, WF__PW_ONLY_INT } wf__pw_allow;

/* Bits of wf__pw_def.keep: which gradients need the tensor. */
#define WF__FOR_0 1
#define WF__FOR_1 2
#define WF__FOR_2 4
#define WF__FOR_ALL 7

#define WF__LIKE_SELF 1
#define WF__WHOLE_LIKE_SELF 2

typedef struct wf__pw_def {
  uint8_t op; /* wf__pointwise_op */
  uint8_t inputs;
  uint8_t rule, allow; /* wf__pw_rule, wf__pw_allow */
  wf_status (*check)(const wf_scalar *number,
                     wf_dtype compute); /* what is looked at once the operands fit; may be NULL */
  const char *kernel; /* names the kernel to refused dtypes: "fmod_cpu"; a text with a blank is the whole message */
  const wf__node_class *derivative; /* NULL: not differentiable. Edge i is input i */
  uint8_t keep[3];                  /* of each input: WF__FOR_* */
  uint8_t keep_result;
  bool wide_numbers;    /* numbers aren't rounded to a half dtype first */
  uint8_t unpromoted;   /* bit i: input i has no say in the dtype */
  bool cpp_names;       /* refused casts name dtypes as C++ does */
  bool promotes_number; /* number[0], [1] have a say in the dtype */
  bool row_major;       /* a new result is contiguous, whatever the operands are */
  uint8_t
      like_self; /* WF__LIKE_SELF: a new result has the strides of empty_like(self); WF__WHOLE_LIKE_SELF: that of integers */
  bool parameters;   /* numbers are parameters: they don't count as operands of rank 0 */
  bool joins_number; /* the strides are those of an operator with a number beside its inputs */
  bool warns_only;   /* in place on a tensor with internal overlap is allowed */
  bool untracked;    /* in place it escapes autograd: no refusal on leaves, the history stays */
  uint8_t order[3];  /* order[i]: operand that input i becomes; all 0: 1, 2, 3 */
} wf__pw_def;

/* in[inputs]; number[4] (may be NULL) are the plan's scalars, but for those that stand for an operand. New tensor in the scope. */
wf_tensor *wf__pw(const wf__pw_def *def, const wf__operand_arg *in, const wf_scalar *number);
/* The same written over in[0]'s tensor. */
wf_status wf__pw_inplace(const wf__pw_def *def, const wf__operand_arg *in, const wf_scalar *number);
/* After an argument of an operator in place was refused: PyTorch looks at `self` before its arguments, so a refusal of self takes its
 * place. Returns the pending status. */
wf_status wf__refused_over(const wf_tensor *self, const wf_tensor *const *inputs, int n);
/* Whether a fill of t with the number is refused: "value cannot be converted to type … without overflow". PyTorch lets one half or bfloat16 by
 * itself become infinite. */
wf_status wf__fill_check(const wf_tensor *t, wf_scalar value);
/* Warns where `self`, about to be written to by `op`, has several elements in one place, as PyTorch does instead of refusing. */
void wf__warn_of_overlap(const wf_tensor *self, const char *op, const char *example);
/* The same written to dst, which is resized when its shape differs. name: for texts. */
wf_status wf__pw_into(const char *name, const wf__pw_def *def, wf_tensor *dst, const wf__operand_arg *in,
                      const wf_scalar *number);
/* The bounds of a clamp in the dtype of its result, as its kernel wants them: one that is beyond bounds nothing, or is refused. Beside NaN,
 * which the result is then, the other may be anything. */
wf_status wf__clamp_numbers(wf_scalar min, wf_scalar max, wf_dtype result, wf_scalar number[4]);
/* Error unless every one of the n arguments is a tensor. */
wf_status wf__require_tensors(const char *name, const wf_tensor *const *tensors, int n);

/* ---- in derivatives ------------------------------------------------------------------------------------------------------------ */

/* Numbers of the plan at the time of recording: [i + 1] is the number given for input i. */
static inline const wf_scalar *wf__numbers(const wf__node *node) { return (const wf_scalar *)node->payload; }
/* Input i as it was: kept tensor or number. */
wf__operand_arg wf__kept(wf__node *node, int input);
/* The kept result. */
wf_tensor *wf__kept_result(wf__node *node);
/* g · x and friends for a tensor or number x. */
wf_tensor *wf__mul(const wf_tensor *g, wf__operand_arg x);
wf_tensor *wf__div(const wf_tensor *g, wf__operand_arg x);
/* t summed to `size` by the rules of broadcasting; t itself when it has it. */
wf_tensor *wf__sum_to(const wf_tensor *t, wf_dims size);
/* A copy in `format`, recorded; implicit: nobody asked for it. */
wf_tensor *wf__cloned(const wf_tensor *self, wf_memory_format format, bool implicit);
/* Zeros like t, cut off from everything. */
wf_tensor *wf__zeros_of(const wf_tensor *t);
/* t with `size` by broadcasting, after putting back dims of size 1 where `dims` (bits) were reduced away. */
wf_tensor *wf__unreduce(const wf_tensor *t, uint32_t dims, bool keepdim, wf_dims size);

/* ---- entries of the table of operators ------------------------------------------------------------------------------------------ */

const char *wf__op_result_type(wf__operand_arg tensor, wf__operand_arg other);
const char *wf__op_promote_types(wf_dtype type1, wf_dtype type2);
wf_scalar wf__op_can_cast(wf_dtype from, wf_dtype to);

wf_tensor *wf__op_add(wf_tensor *self, wf__operand_arg other, wf_scalar alpha);
wf_tensor *wf__op_sub(wf_tensor *self, wf__operand_arg other, wf_scalar alpha);
wf_tensor *wf__op_rsub(wf_tensor *self, wf__operand_arg other, wf_scalar alpha);
wf_tensor *wf__op_mul(wf_tensor *self, wf__operand_arg other);
wf_tensor *wf__op_div(wf_tensor *self, wf__operand_arg other, const char *rounding_mode);
wf_tensor *wf__op_floor_divide(wf_tensor *self, wf__operand_arg other);
wf_tensor *wf__op_fmod(wf_tensor *self, wf__operand_arg other);
wf_tensor *wf__op_remainder(wf_tensor *self, wf__operand_arg other);
wf_tensor *wf__op_pow(wf_tensor *self, wf__operand_arg exponent);
wf_status wf__op_add_(wf_tensor *self, wf__operand_arg other, wf_scalar alpha);
wf_status wf__op_sub_(wf_tensor *self, wf__operand_arg other, wf_scalar alpha);
wf_status wf__op_mul_(wf_tensor *self, wf__operand_arg other);
wf_status wf__op_div_(wf_tensor *self, wf__operand_arg other, const char *rounding_mode);
wf_status wf__op_floor_divide_(wf_tensor *self, wf__operand_arg other);
wf_status wf__op_fmod_(wf_tensor *self, wf__operand_arg other);
wf_status wf__op_remainder_(wf_tensor *self, wf__operand_arg other);
wf_status wf__op_pow_(wf_tensor *self, wf__operand_arg exponent);
wf_tensor *wf__op_where(wf_tensor *condition, wf__operand_arg self, wf__operand_arg other);
wf_tensor *wf__op_masked_fill(wf_tensor *self, wf_tensor *mask, wf__operand_arg value);
wf_status wf__op_masked_fill_(wf_tensor *self, wf_tensor *mask, wf__operand_arg value);
wf_tensor *wf__op_lerp(wf_tensor *self, wf_tensor *end, wf__operand_arg weight);
wf_status wf__op_lerp_(wf_tensor *self, wf_tensor *end, wf__operand_arg weight);
wf_tensor *wf__op_clamp(wf_tensor *self, wf__operand_arg min, wf__operand_arg max);
wf_status wf__op_clamp_(wf_tensor *self, wf__operand_arg min, wf__operand_arg max);
wf_tensor *wf__op_sum(wf_tensor *self, wf_dims dim, bool keepdim, wf_dtype dtype);
wf_tensor *wf__op_mean(wf_tensor *self, wf_dims dim, bool keepdim, wf_dtype dtype);
wf_tensor *wf__op_any(wf_tensor *self, wf__ints dim, bool keepdim);
wf_tensor *wf__op_all(wf_tensor *self, wf__ints dim, bool keepdim);
wf_value_index wf__op_max(wf_tensor *self, int64_t dim, bool keepdim);
wf_value_index wf__op_min(wf_tensor *self, int64_t dim, bool keepdim);
wf_tensor *wf__op_index_fill(wf_tensor *self, int64_t dim, wf_tensor *index, wf__operand_arg value);
wf_status wf__op_index_fill_(wf_tensor *self, int64_t dim, wf_tensor *index, wf__operand_arg value);
wf_tensor *wf__op_scatter(wf_tensor *self, int64_t dim, wf_tensor *index, wf__operand_arg src);
wf_status wf__op_scatter_(wf_tensor *self, int64_t dim, wf_tensor *index, wf__operand_arg src);
wf_status wf__op_backward(wf_tensor *self, wf_tensor *gradient, bool retain_graph, bool create_graph);
wf_tensors wf__op_autograd_grad(wf_tensors outputs, wf_tensors inputs, wf_tensors grad_outputs, bool retain_graph,
                                bool create_graph, bool allow_unused);
wf_status wf__op_set_grad_enabled(bool mode);
#define WF__COMPARISONS(X) X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(bitwise_and) X(bitwise_or) X(bitwise_xor)
#define WF_X(name)                                                  \
  wf_tensor *wf__op_##name(wf_tensor *self, wf__operand_arg other); \
  wf_status wf__op_##name##_(wf_tensor *self, wf__operand_arg other);
WF__COMPARISONS(WF_X)
#undef WF_X

#endif
