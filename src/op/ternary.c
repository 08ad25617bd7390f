/* Operators of three inputs: where, masked_fill, lerp, addcmul, addcdiv. clamp is clamp.c. */
#include "base/convert.h"
#include "op/op.h"

/* Halves are computed with a weight or value of f32. */
static wf_status check_value(const wf_scalar *number, wf_dtype compute) {
  bool half = compute == WF_F16 || compute == WF_BF16;
  return number[0].kind ? wf__scalar_check_fits(number[0], half ? WF_F32 : compute) : WF_OK;
}

/* ---- where ---------------------------------------------------------------------------------------------------------------- */

static wf_status where_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const wf__operand_arg zero = wf__number_arg(wf_int(0)), g = wf__tensor_arg(grad[0]);
  wf_tensor *condition = wf__saved_get(node, 0);
  if (wf__node_wants(node, 1)) out[1] = wf__op_where(condition, g, zero);
  if (wf__node_wants(node, 2)) out[2] = wf__op_where(condition, zero, g);
  return wf__self.pending;
}
static const wf__node_class where_class = {"WhereBackward0", where_apply, NULL};
static const wf__pw_def where_def = {.op = WF__PW_WHERE,
                                     .inputs = 3,
                                     .rule = WF__PW_COMMON,
                                     .kernel = "where_cpu",
                                     .derivative = &where_class,
                                     .keep = {WF__FOR_1 | WF__FOR_2},
                                     .unpromoted = 1};

/* Numbers become elements of the result's dtype before the condition is looked at; a half by itself may become infinite: see wf__fill_check. */
static wf_status check_numbers(const wf__operand_arg *in) {
  wf__promotion p = {0};
  for (int i = 1; i < 3; i++) wf__promote_arg(&p, in[i]);
  wf_dtype common = wf__promoted(&p);
  for (int i = 1; i < 3 && common != WF_F16 && common != WF_BF16; i++)
    if (!in[i].tensor) WF__TRY(wf__scalar_check_fits(in[i].scalar, common));
  return WF_OK;
}

static wf_status check_where(const wf_tensor *condition, const wf__operand_arg *in) {
  WF__TRY(wf__require_tensors("where", &condition, 1));
  for (int i = 1; i < 3; i++)
    WF__CHECK(in[i].tensor || in[i].scalar.kind, WF_TYPE, "where(): argument '%s' must be Tensor, not NoneType",
              i == 1 ? "self" : "other");
  WF__TRY(check_numbers(in));
  WF__CHECK(condition->dtype == WF_BOOL || condition->dtype == WF_U8, WF_RUNTIME,
            "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
            wf__scalar_type_text((wf_dtype)condition->dtype));
  return WF_OK;
}

static wf_tensor *where(const wf_tensor *condition, wf__operand_arg self, wf__operand_arg other) {
  const wf__operand_arg in[] = {wf__tensor_arg(condition), self, other};
  return check_where(condition, in) ? NULL : wf__pw(&where_def, in, NULL);
}

wf_status wf_where_into(wf_tensor *dst, const wf_tensor *condition, const wf_tensor *self, const wf_tensor *other) {
  WF__OP("where", wf__self.pending);
  const wf__operand_arg in[] = {wf__tensor_arg(condition), wf__tensor_arg(self), wf__tensor_arg(other)};
  const wf_tensor *inputs[] = {condition, self, other};
  wf__promotion p = {0};
  WF__TRY(check_where(condition, in));
  WF__TRY(wf__into_given("where", dst, inputs, 3));
  wf__promote_tensor(&p, self);
  wf__promote_tensor(&p, other);
  WF__CHECK(wf__promoted(&p) == (wf_dtype)dst->dtype, WF_RUNTIME, "Expected out type to be %s but got %s",
            wf__scalar_type_text(wf__promoted(&p)), wf__scalar_type_text((wf_dtype)dst->dtype));
  return wf__pw_into("where", &where_def, dst, in, NULL);
}

wf_tensor *wf__op_where(wf_tensor *condition, wf__operand_arg self, wf__operand_arg other) {
  WF__OP("where", NULL);
  return where(condition, self, other);
}

wf_tensor *wf_where(const wf_tensor *condition, const wf_tensor *self, const wf_tensor *other) {
  WF__OP("where", NULL);
  return where(condition, wf__tensor_arg(self), wf__tensor_arg(other));
}

/* ---- masked_fill ------------------------------------------------------------------------------------------------------------ */

static wf_status masked_fill_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  if (wf__node_wants(node, 0)) out[0] = wf_masked_fill(grad[0], wf__saved_get(node, 1), wf_int(0));
  return wf__self.pending;
}
/* Looked at last, whether a number was given or a tensor that holds one. */
static wf_status check_fits(const wf_scalar *number, wf_dtype own) {
  return number[0].kind ? wf__scalar_check_fits(number[0], own) : WF_OK;
}

static const wf__node_class masked_fill_class = {"MaskedFillBackward0", masked_fill_apply, NULL};
static const wf__pw_def masked_fill_def = {.op = WF__PW_MASKED_FILL,
                                           .inputs = 2,
                                           .rule = WF__PW_OWN,
                                           .kernel = "masked_fill",
                                           .check = check_fits,
                                           .derivative = &masked_fill_class,
                                           .keep = {0, WF__FOR_0},
                                           .warns_only = true,
                                           .row_major = true};

/* With a tensor for the value the operator is a choice between it and self, in self's dtype. */
static wf_status fill_tensor_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf_tensor *mask = wf__saved_get(node, 1);
  if (wf__node_wants(node, 0)) out[0] = wf_masked_fill(grad[0], mask, wf_int(0));
  if (wf__node_wants(node, 2)) out[2] = wf_sum(wf__op_where(mask, wf__tensor_arg(grad[0]), wf__number_arg(wf_int(0))));
  return wf__self.pending;
}
static const wf__node_class fill_tensor_class = {"MaskedFillBackward1", fill_tensor_apply, NULL};
static const wf__pw_def fill_tensor_def = {.op = WF__PW_WHERE,
                                           .inputs = 3,
                                           .rule = WF__PW_OWN,
                                           .kernel = "masked_fill",
                                           .check = check_fits,
                                           .derivative = &fill_tensor_class,
                                           .keep = {0, WF__FOR_0 | WF__FOR_2},
                                           .warns_only = true,
                                           .row_major = true,
                                           .order = {3, 1, 2}};

static wf_status check_masked_fill(const wf_tensor *self, const wf_tensor *mask, wf__operand_arg value) {
  WF__CHECK(!value.tensor || value.tensor->layout.ndim == 0, WF_RUNTIME,
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
            value.tensor ? value.tensor->layout.ndim : 0);
  WF__CHECK(mask->dtype == WF_BOOL, WF_RUNTIME, "masked_fill_ only supports boolean masks, but got mask with dtype %s",
            wf__cpp_type_text((wf_dtype)mask->dtype));
  WF__CHECK(value.tensor || value.scalar.kind, WF_TYPE, "masked_fill(): argument 'value' must be Number, not NoneType");
  return WF_OK;
}

/* The number that is filled in, as far as it is known: 0.5 is true. */
static wf_scalar fitting(wf__operand_arg value, const wf_tensor *self) {
  wf_scalar number = wf__known_number(value);
  return number.kind && self && self->dtype == WF_BOOL ? wf__number_as(number, WF_BOOL) : number;
}

/* The mask is first where sizes don't fit. */
static wf_status check_sizes(const wf_tensor *self, const wf_tensor *mask) {
  const wf_tensor *tensors[] = {self, mask};
  int64_t size[WF_MAX_DIMS];
  int n;
  WF__TRY(wf__require_tensors("masked_fill", tensors, 2));
  return wf__broadcast(wf__layout_sizes(&mask->layout), wf__layout_sizes(&self->layout), size, &n);
}

static wf_tensor *masked_fill(const wf_tensor *self, const wf_tensor *mask, wf__operand_arg value) {
  const wf__operand_arg in[] = {wf__tensor_arg(self), wf__tensor_arg(mask), value};
  const wf_scalar number[4] = {fitting(value, self)};
  WF__TRY_OR(check_sizes(self, mask), NULL);
  WF__TRY_OR(check_masked_fill(self, mask, value), NULL);
  return value.tensor ? wf__pw(&fill_tensor_def, in, number) : wf__pw(&masked_fill_def, in, number);
}

static wf_status masked_fill_over(wf_tensor *self, const wf_tensor *mask, wf__operand_arg value) {
  const wf__operand_arg in[] = {wf__tensor_arg(self), wf__tensor_arg(mask), value};
  const wf_scalar number[4] = {fitting(value, self)};
  const wf_tensor *tensors[] = {self, mask, value.tensor};
  WF__TRY(wf__require_tensors("masked_fill", tensors, 2));
  if (check_masked_fill(self, mask, value)) return wf__refused_over(self, tensors, 3);
  return value.tensor ? wf__pw_inplace(&fill_tensor_def, in, number) : wf__pw_inplace(&masked_fill_def, in, number);
}

wf_tensor *wf__op_masked_fill(wf_tensor *self, wf_tensor *mask, wf__operand_arg value) {
  WF__OP("masked_fill", NULL);
  return masked_fill(self, mask, value);
}

wf_status wf__op_masked_fill_(wf_tensor *self, wf_tensor *mask, wf__operand_arg value) {
  WF__OP("masked_fill_", wf__self.pending);
  return masked_fill_over(self, mask, value);
}

wf_tensor *wf_masked_fill(const wf_tensor *self, const wf_tensor *mask, wf_scalar value) {
  WF__OP("masked_fill", NULL);
  return masked_fill(self, mask, wf__number_arg(value));
}

wf_tensor *wf_masked_fill_tensor(const wf_tensor *self, const wf_tensor *mask, const wf_tensor *value) {
  WF__OP("masked_fill", NULL);
  return masked_fill(self, mask, wf__tensor_arg(value));
}

wf_status wf_masked_fill_(wf_tensor *self, const wf_tensor *mask, wf_scalar value) {
  WF__OP("masked_fill_", wf__self.pending);
  return masked_fill_over(self, mask, wf__number_arg(value));
}

/* ---- lerp ----------------------------------------------------------------------------------------------------------------------- */

static wf_status lerp_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf__operand_arg weight = wf__kept(node, 2);
  if (wf__node_wants(node, 0)) {
    wf_tensor *rest = weight.tensor ? wf_rsub_scalar(weight.tensor, wf_int(1)) : NULL;
    out[0] = rest ? wf_mul(grad[0], rest) : wf_mul_scalar(grad[0], wf_float(1 - wf__scalar_double(weight.scalar)));
  }
  if (wf__node_wants(node, 1)) out[1] = wf__mul(grad[0], weight);
  if (wf__node_wants(node, 2)) out[2] = wf_mul(grad[0], wf_sub(wf__saved_get(node, 1), wf__saved_get(node, 0)));
  return wf__self.pending;
}
static const wf__node_class lerp_class = {"LerpBackward0", lerp_apply, NULL};
static const wf__node_class lerp_tensor_class = {"LerpBackward1", lerp_apply, NULL};
static const wf__pw_def lerp_def = {.op = WF__PW_LERP,
                                    .inputs = 3,
                                    .rule = WF__PW_OWN,
                                    .allow = WF__PW_ONLY_FLOAT,
                                    .kernel = "lerp_kernel_scalar",
                                    .parameters = true,
                                    .derivative = &lerp_class,
                                    .wide_numbers = true};
static const wf__pw_def lerp_tensor_def = {.op = WF__PW_LERP,
                                           .inputs = 3,
                                           .rule = WF__PW_COMMON,
                                           .allow = WF__PW_ONLY_FLOAT,
                                           .kernel = "lerp_kernel_tensor",
                                           .derivative = &lerp_tensor_class,
                                           .keep = {WF__FOR_2, WF__FOR_2, WF__FOR_0 | WF__FOR_1}};

static wf_status check_lerp(const wf_tensor *self, const wf_tensor *end, wf__operand_arg weight) {
  const wf_tensor *tensors[] = {self, end};
  WF__TRY(wf__require_tensors("lerp", tensors, 2));
  WF__CHECK(end->dtype == self->dtype, WF_RUNTIME, "expected dtype %s for `end` but got dtype %s",
            wf__cpp_type_text((wf_dtype)self->dtype), wf__cpp_type_text((wf_dtype)end->dtype));
  if (!weight.tensor) {
    WF__CHECK(weight.scalar.kind, WF_TYPE, "lerp(): argument 'weight' must be Number, not NoneType");
    return wf_dtype_is_float((wf_dtype)self->dtype) ? check_value(&weight.scalar, (wf_dtype)self->dtype) : WF_OK;
  }
  WF__CHECK(weight.tensor->dtype == self->dtype || !weight.tensor->layout.ndim, WF_RUNTIME,
            "expected dtype %s for `weight` but got dtype %s", wf__cpp_type_text((wf_dtype)self->dtype),
            wf__cpp_type_text((wf_dtype)weight.tensor->dtype));
  return WF_OK;
}

static wf_tensor *lerp(const wf_tensor *self, const wf_tensor *end, wf__operand_arg weight) {
  const wf__operand_arg in[] = {wf__tensor_arg(self), wf__tensor_arg(end), weight};
  return check_lerp(self, end, weight) ? NULL : wf__pw(weight.tensor ? &lerp_tensor_def : &lerp_def, in, NULL);
}

static wf_status lerp_over(wf_tensor *self, const wf_tensor *end, wf__operand_arg weight) {
  const wf__operand_arg in[] = {wf__tensor_arg(self), wf__tensor_arg(end), weight};
  const wf_tensor *tensors[] = {self, end, weight.tensor};
  if (check_lerp(self, end, weight)) return wf__refused_over(self, tensors, 3);
  return wf__pw_inplace(weight.tensor ? &lerp_tensor_def : &lerp_def, in, NULL);
}

wf_tensor *wf__op_lerp(wf_tensor *self, wf_tensor *end, wf__operand_arg weight) {
  WF__OP("lerp", NULL);
  return lerp(self, end, weight);
}

wf_status wf__op_lerp_(wf_tensor *self, wf_tensor *end, wf__operand_arg weight) {
  WF__OP("lerp_", wf__self.pending);
  return lerp_over(self, end, weight);
}

wf_tensor *wf_lerp(const wf_tensor *self, const wf_tensor *end, wf_scalar weight) {
  WF__OP("lerp", NULL);
  return lerp(self, end, wf__number_arg(weight));
}

wf_tensor *wf_lerp_tensor(const wf_tensor *self, const wf_tensor *end, const wf_tensor *weight) {
  WF__OP("lerp", NULL);
  return lerp(self, end, wf__tensor_arg(weight));
}

wf_status wf_lerp_(wf_tensor *self, const wf_tensor *end, wf_scalar weight) {
  WF__OP("lerp_", wf__self.pending);
  return lerp_over(self, end, wf__number_arg(weight));
}

wf_status wf_lerp_into(wf_tensor *dst, const wf_tensor *self, const wf_tensor *end, wf_scalar weight) {
  WF__OP("lerp", wf__self.pending);
  const wf__operand_arg in[] = {wf__tensor_arg(self), wf__tensor_arg(end), wf__number_arg(weight)};
  WF__TRY(check_lerp(self, end, in[2]));
  return wf__pw_into("lerp", &lerp_def, dst, in, NULL);
}

/* ---- addcmul, addcdiv ------------------------------------------------------------------------------------------------------------- */

static wf_tensor *with_value(wf_tensor *t, wf__node *node) {
  wf_scalar value = wf__numbers(node)[0];
  return value.kind ? wf_mul_scalar(t, value) : t;
}

static wf_status addcmul_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  if (wf__node_wants(node, 0)) out[0] = grad[0];
  if (wf__node_wants(node, 1)) out[1] = wf_mul(grad[0], with_value(wf__saved_get(node, 2), node));
  if (wf__node_wants(node, 2)) out[2] = wf_mul(grad[0], with_value(wf__saved_get(node, 1), node));
  return wf__self.pending;
}

static wf_status addcdiv_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf_tensor *below = wf__saved_get(node, 2);
  if (wf__node_wants(node, 0)) out[0] = grad[0];
  if (wf__node_wants(node, 1)) out[1] = wf_mul(grad[0], with_value(wf_reciprocal(below), node));
  if (wf__node_wants(node, 2))
    out[2] = wf_mul(wf_neg(grad[0]), with_value(wf_div(wf__saved_get(node, 1), wf_mul(below, below)), node));
  return wf__self.pending;
}

static const wf__node_class addcmul_class = {"AddcmulBackward0", addcmul_apply, NULL};
static const wf__node_class addcdiv_class = {"AddcdivBackward0", addcdiv_apply, NULL};
static const wf__pw_def addcmul_def = {.op = WF__PW_ADDCMUL,
                                       .inputs = 3,
                                       .rule = WF__PW_COMMON,
                                       .allow = WF__PW_NO_BOOL,
                                       .check = check_value,
                                       .kernel = "addcmul_cpu_out",
                                       .derivative = &addcmul_class,
                                       .keep = {0, WF__FOR_2, WF__FOR_1}};
static const wf__pw_def addcdiv_def = {.op = WF__PW_ADDCDIV,
                                       .inputs = 3,
                                       .rule = WF__PW_COMMON,
                                       .allow = WF__PW_ONLY_FLOAT,
                                       .check = check_value,
                                       .kernel = "addcdiv_cpu_out",
                                       .derivative = &addcdiv_class,
                                       .keep = {0, WF__FOR_2, WF__FOR_1 | WF__FOR_2}};

static wf_status check_addc(const char *name, const wf__pw_def *def, const wf_tensor *const *t) {
  WF__TRY(wf__require_tensors(name, t, 3));
  WF__CHECK(
      def == &addcmul_def || wf_dtype_is_float((wf_dtype)t[1]->dtype) || wf_dtype_is_float((wf_dtype)t[2]->dtype),
      WF_RUNTIME,
      "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of "
      "tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / "
      "tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future "
      "addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes.");
  return WF_OK;
}

static wf_tensor *addc(const char *name, const wf__pw_def *def, const wf_tensor *const *t, wf_scalar value) {
  const wf__operand_arg in[] = {wf__tensor_arg(t[0]), wf__tensor_arg(t[1]), wf__tensor_arg(t[2])};
  WF__TRY_OR(check_addc(name, def, t), NULL);
  const wf_scalar number[4] = {value};
  return wf__pw(def, in, number);
}

static wf_status addc_over(const char *name, const wf__pw_def *def, const wf_tensor *const *t, wf_scalar value) {
  const wf__operand_arg in[] = {wf__tensor_arg(t[0]), wf__tensor_arg(t[1]), wf__tensor_arg(t[2])};
  if (check_addc(name, def, t)) return wf__refused_over(t[0], t, 3);
  const wf_scalar number[4] = {value};
  return wf__pw_inplace(def, in, number);
}

static wf_status addc_into(const char *name, const wf__pw_def *def, wf_tensor *dst, const wf_tensor *const *t,
                           wf_scalar value) {
  const wf__operand_arg in[] = {wf__tensor_arg(t[0]), wf__tensor_arg(t[1]), wf__tensor_arg(t[2])};
  WF__TRY(check_addc(name, def, t));
  const wf_scalar number[4] = {value};
  return wf__pw_into(name, def, dst, in, number);
}

#define ADDC_FORMS(name)                                                                                             \
  wf_tensor *wf_##name(const wf_tensor *self, const wf_tensor *tensor1, const wf_tensor *tensor2, wf_scalar value) { \
    WF__OP(#name, NULL);                                                                                             \
    return addc(#name, &name##_def, (const wf_tensor *[]){self, tensor1, tensor2}, value);                           \
  }                                                                                                                  \
  wf_status wf_##name##_(wf_tensor *self, const wf_tensor *tensor1, const wf_tensor *tensor2, wf_scalar value) {     \
    WF__OP(#name "_", wf__self.pending);                                                                             \
    return addc_over(#name "_", &name##_def, (const wf_tensor *[]){self, tensor1, tensor2}, value);                  \
  }                                                                                                                  \
  wf_status wf_##name##_into(wf_tensor *dst, const wf_tensor *self, const wf_tensor *tensor1,                        \
                             const wf_tensor *tensor2, wf_scalar value) {                                            \
    WF__OP(#name, wf__self.pending);                                                                                 \
    return addc_into(#name, &name##_def, dst, (const wf_tensor *[]){self, tensor1, tensor2}, value);                 \
  }

ADDC_FORMS(addcmul)
ADDC_FORMS(addcdiv)
