/* Comparisons and bitwise operators: tensor against tensor or number. Comparisons have a derivative in place only, where they turn a
 * float tensor into zeros and ones: it is 0. */
#include "op/op.h"

static wf_status check_args(const char *name, const wf_tensor *self, wf__operand_arg other) {
  WF__CHECK(self, WF_TYPE, "%s(): argument 'input' (position 1) must be Tensor, not NoneType", name);
  WF__CHECK(other.tensor || other.scalar.kind, WF_TYPE,
            "%s(): argument 'other' (position 2) must be Tensor, not NoneType", name);
  return WF_OK;
}

static wf_tensor *make(const char *name, const wf__pw_def *def, const wf_tensor *self, wf__operand_arg other) {
  const wf__operand_arg in[] = {wf__tensor_arg(self), other};
  return check_args(name, self, other) ? NULL : wf__pw(def, in, NULL);
}

static wf_status change(const char *name, const wf__pw_def *def, wf_tensor *self, wf__operand_arg other) {
  const wf__operand_arg in[] = {wf__tensor_arg(self), other};
  WF__TRY(check_args(name, self, other));
  return wf__pw_inplace(def, in, NULL);
}

static wf_status fill(const char *name, const wf__pw_def *def, wf_tensor *dst, const wf_tensor *self,
                      wf__operand_arg other) {
  const wf__operand_arg in[] = {wf__tensor_arg(self), other};
  WF__TRY(check_args(name, self, other));
  return wf__pw_into(name, def, dst, in, NULL);
}

static wf_status flat_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  for (int i = 0; i < 2; i++)
    if (wf__node_wants(node, i)) out[i] = wf__zeros_of(grad[0]);
  return wf__self.pending;
}

#define COMPARISON(name, OP, node_name)                                                                           \
  static const wf__node_class name##_class = {node_name, flat_apply, NULL};                                       \
  static const wf__pw_def name##_def = {                                                                          \
      .op = WF__PW_##OP, .inputs = 2, .rule = WF__PW_TRUTH, .kernel = #name "_cpu", .derivative = &name##_class}; \
  FORMS(name)

#define BITWISE(name, OP)                                                                                       \
  static const wf__pw_def name##_def = {                                                                        \
      .op = WF__PW_##OP, .inputs = 2, .rule = WF__PW_COMMON, .allow = WF__PW_ONLY_INT, .kernel = #name "_cpu"}; \
  FORMS(name)

#define FORMS(name)                                                                    \
  wf_tensor *wf__op_##name(wf_tensor *self, wf__operand_arg other) {                   \
    WF__OP(#name, NULL);                                                               \
    return make(#name, &name##_def, self, other);                                      \
  }                                                                                    \
  wf_status wf__op_##name##_(wf_tensor *self, wf__operand_arg other) {                 \
    WF__OP(#name "_", wf__self.pending);                                               \
    return change(#name "_", &name##_def, self, other);                                \
  }                                                                                    \
  wf_tensor *wf_##name(const wf_tensor *a, const wf_tensor *b) {                       \
    WF__OP(#name, NULL);                                                               \
    return make(#name, &name##_def, a, wf__tensor_arg(b));                             \
  }                                                                                    \
  wf_tensor *wf_##name##_scalar(const wf_tensor *a, wf_scalar b) {                     \
    WF__OP(#name, NULL);                                                               \
    return make(#name, &name##_def, a, wf__number_arg(b));                             \
  }                                                                                    \
  wf_status wf_##name##_(wf_tensor *self, const wf_tensor *other) {                    \
    WF__OP(#name "_", wf__self.pending);                                               \
    return change(#name "_", &name##_def, self, wf__tensor_arg(other));                \
  }                                                                                    \
  wf_status wf_##name##_scalar_(wf_tensor *self, wf_scalar other) {                    \
    WF__OP(#name "_", wf__self.pending);                                               \
    return change(#name "_", &name##_def, self, wf__number_arg(other));                \
  }                                                                                    \
  wf_status wf_##name##_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b) { \
    WF__OP(#name, wf__self.pending);                                                   \
    return fill(#name, &name##_def, dst, a, wf__tensor_arg(b));                        \
  }                                                                                    \
  wf_status wf_##name##_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b) { \
    WF__OP(#name, wf__self.pending);                                                   \
    return fill(#name, &name##_def, dst, a, wf__number_arg(b));                        \
  }

COMPARISON(eq, EQ, "EqBackward1")
COMPARISON(ne, NE, "NeBackward1")
COMPARISON(lt, LT, "LtBackward1")
COMPARISON(le, LE, "LeBackward1")
COMPARISON(gt, GT, "GtBackward1")
COMPARISON(ge, GE, "GeBackward1")
BITWISE(bitwise_and, BITWISE_AND)
BITWISE(bitwise_or, BITWISE_OR)
BITWISE(bitwise_xor, BITWISE_XOR)

/* Truth of tensors of any dtype. */
#define LOGICAL(name, OP)                                                                               \
  static const wf__pw_def name##_def = {                                                                \
      .op = WF__PW_##OP, .inputs = 2, .rule = WF__PW_TRUTH, .kernel = #name "_cpu", .untracked = true}; \
  wf_tensor *wf_##name(const wf_tensor *a, const wf_tensor *b) {                                        \
    WF__OP(#name, NULL);                                                                                \
    return make(#name, &name##_def, a, wf__tensor_arg(b));                                              \
  }                                                                                                     \
  wf_status wf_##name##_(wf_tensor *self, const wf_tensor *other) {                                     \
    WF__OP(#name "_", wf__self.pending);                                                                \
    return change(#name "_", &name##_def, self, wf__tensor_arg(other));                                 \
  }                                                                                                     \
  wf_status wf_##name##_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b) {                  \
    WF__OP(#name, wf__self.pending);                                                                    \
    return fill(#name, &name##_def, dst, a, wf__tensor_arg(b));                                         \
  }

LOGICAL(logical_and, LOGICAL_AND)
LOGICAL(logical_or, LOGICAL_OR)
LOGICAL(logical_xor, LOGICAL_XOR)
