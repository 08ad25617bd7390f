/* Comparisons and bitwise operators: tensor against tensor or number. No derivatives. */
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

#define FORMS(name, OP, rule_, allow_, kernel_)                                                             \
  static const wf__pw_def name##_def = {                                                                    \
      .op = WF__PW_##OP, .inputs = 2, .rule = WF__PW_##rule_, .allow = WF__PW_##allow_, .kernel = kernel_}; \
  wf_tensor *wf__op_##name(wf_tensor *self, wf__operand_arg other) {                                        \
    WF__OP(#name, NULL);                                                                                    \
    return make(#name, &name##_def, self, other);                                                           \
  }                                                                                                         \
  wf_status wf__op_##name##_(wf_tensor *self, wf__operand_arg other) {                                      \
    WF__OP(#name "_", wf__self.pending);                                                                    \
    return change(#name "_", &name##_def, self, other);                                                     \
  }                                                                                                         \
  wf_tensor *wf_##name(const wf_tensor *a, const wf_tensor *b) {                                            \
    WF__OP(#name, NULL);                                                                                    \
    return make(#name, &name##_def, a, wf__tensor_arg(b));                                                  \
  }                                                                                                         \
  wf_tensor *wf_##name##_scalar(const wf_tensor *a, wf_scalar b) {                                          \
    WF__OP(#name, NULL);                                                                                    \
    return make(#name, &name##_def, a, wf__number_arg(b));                                                  \
  }                                                                                                         \
  wf_status wf_##name##_(wf_tensor *self, const wf_tensor *other) {                                         \
    WF__OP(#name "_", wf__self.pending);                                                                    \
    return change(#name "_", &name##_def, self, wf__tensor_arg(other));                                     \
  }                                                                                                         \
  wf_status wf_##name##_scalar_(wf_tensor *self, wf_scalar other) {                                         \
    WF__OP(#name "_", wf__self.pending);                                                                    \
    return change(#name "_", &name##_def, self, wf__number_arg(other));                                     \
  }                                                                                                         \
  wf_status wf_##name##_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b) {                      \
    WF__OP(#name, wf__self.pending);                                                                        \
    return fill(#name, &name##_def, dst, a, wf__tensor_arg(b));                                             \
  }

FORMS(eq, EQ, TRUTH, ANY, "eq_cpu")
FORMS(ne, NE, TRUTH, ANY, "ne_cpu")
FORMS(lt, LT, TRUTH, ANY, "lt_cpu")
FORMS(le, LE, TRUTH, ANY, "le_cpu")
FORMS(gt, GT, TRUTH, ANY, "gt_cpu")
FORMS(ge, GE, TRUTH, ANY, "ge_cpu")
FORMS(bitwise_and, BITWISE_AND, COMMON, ONLY_INT, "bitwise_and_cpu")
FORMS(bitwise_or, BITWISE_OR, COMMON, ONLY_INT, "bitwise_or_cpu")
FORMS(bitwise_xor, BITWISE_XOR, COMMON, ONLY_INT, "bitwise_xor_cpu")

/* Truth of tensors of any dtype. */
#define LOGICAL(name, OP)                                                                                              \
  static const wf__pw_def name##_def = {.op = WF__PW_##OP, .inputs = 2, .rule = WF__PW_TRUTH, .kernel = #name "_cpu"}; \
  wf_tensor *wf_##name(const wf_tensor *a, const wf_tensor *b) {                                                       \
    WF__OP(#name, NULL);                                                                                               \
    return make(#name, &name##_def, a, wf__tensor_arg(b));                                                             \
  }                                                                                                                    \
  wf_status wf_##name##_(wf_tensor *self, const wf_tensor *other) {                                                    \
    WF__OP(#name "_", wf__self.pending);                                                                               \
    return change(#name "_", &name##_def, self, wf__tensor_arg(other));                                                \
  }                                                                                                                    \
  wf_status wf_##name##_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b) {                                 \
    WF__OP(#name, wf__self.pending);                                                                                   \
    return fill(#name, &name##_def, dst, a, wf__tensor_arg(b));                                                        \
  }

LOGICAL(logical_and, LOGICAL_AND)
LOGICAL(logical_or, LOGICAL_OR)
LOGICAL(logical_xor, LOGICAL_XOR)
