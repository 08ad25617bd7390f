/* Arithmetic of two inputs, of which the second may be a number; the first as well for rsub and pow. */
#include <string.h>

#include "base/convert.h"
#include "op/op.h"

static const wf_scalar none = {WF_SCALAR_NONE, {0}};

/* self is a tensor and other is something. */
static wf_status check_args(const char *name, const wf_tensor *self, wf__operand_arg other) {
  WF__CHECK(self, WF_TYPE, "%s(): argument 'input' (position 1) must be Tensor, not NoneType", name);
  WF__CHECK(other.tensor || other.scalar.kind, WF_TYPE,
            "%s(): argument 'other' (position 2) must be Tensor, not NoneType", name);
  return WF_OK;
}

static wf_dtype common_dtype(wf__operand_arg a, wf__operand_arg b) {
  wf__promotion p = {0};
  wf__promote_arg(&p, a);
  wf__promote_arg(&p, b);
  return wf__promoted(&p);
}

/* ---- add, sub, rsub: with a factor ---------------------------------------------------------------------------------------- */

static bool is_one(wf_scalar s) {
  return s.kind == WF_SCALAR_NONE || (s.kind == WF_SCALAR_FLOAT ? s.as.f == 1 : s.as.i == 1);
}
static wf_scalar negated(wf_scalar s) {
  if (s.kind == WF_SCALAR_NONE) return wf_int(-1);
  return s.kind == WF_SCALAR_FLOAT ? wf_float(-s.as.f) : wf_int((int64_t) - (uint64_t)s.as.i);
}

static wf_tensor *scaled(wf_tensor *g, wf_scalar factor) { return is_one(factor) ? g : wf_mul_scalar(g, factor); }

static wf_status add_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  if (wf__node_wants(node, 0)) out[0] = grad[0];
  if (wf__node_wants(node, 1)) out[1] = scaled(grad[0], wf__numbers(node)[0]);
  return wf__self.pending;
}

static wf_status sub_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  if (wf__node_wants(node, 0)) out[0] = grad[0];
  if (wf__node_wants(node, 1)) out[1] = wf_mul_scalar(grad[0], negated(wf__numbers(node)[0]));
  return wf__self.pending;
}

static const wf__node_class add_class = {"AddBackward0", add_apply, NULL};
static const wf__node_class sub_class = {"SubBackward0", sub_apply, NULL};
static const wf__node_class rsub_class = {"RsubBackward0", sub_apply, NULL};
static const wf__node_class rsub_number_class = {"RsubBackward1", sub_apply, NULL};

static wf_status check_kind(wf_scalar alpha, wf_dtype common) {
  WF__CHECK(alpha.kind != WF_SCALAR_BOOL || common == WF_BOOL, WF_RUNTIME,
            "Boolean alpha only supported for Boolean results.");
  WF__CHECK(alpha.kind != WF_SCALAR_FLOAT || wf_dtype_is_float(common), WF_RUNTIME,
            "For integral input tensors, argument alpha must not be a floating point number.");
  return WF_OK;
}

/* What is subtracted is added with the factor's negative, which is what has to fit. */
static wf_status check_alpha(const wf_scalar *number, wf_dtype common) {
  if (number[0].kind == WF_SCALAR_NONE) return WF_OK;
  WF__TRY(check_kind(number[0], common));
  return wf__scalar_check_fits(number[0], common);
}

static wf_status check_minus_alpha(const wf_scalar *number, wf_dtype common) {
  if (number[0].kind == WF_SCALAR_NONE) return WF_OK;
  WF__TRY(check_kind(number[0], common));
  return wf__scalar_check_fits(negated(number[0]), common);
}

/* A factor of bools is true or false; one that isn't an integer is left to check_alpha. */
static wf_scalar truth(wf_scalar s) { return s.kind == WF_SCALAR_INT ? wf_int(s.as.i != 0) : s; }

#define LINEAR(OP, check_, kernel_, cls)                                                                           \
  {                                                                                                                \
    .op = WF__PW_##OP, .inputs = 2, .rule = WF__PW_COMMON, .check = check_, .kernel = kernel_, .derivative = &cls, \
    .wide_numbers = true                                                                                           \
  }
static const wf__pw_def add_def = LINEAR(ADD, check_alpha, "add_stub", add_class);
static const wf__pw_def sub_def = LINEAR(SUB, check_minus_alpha, "sub_stub", sub_class);
static const wf__pw_def rsub_def = LINEAR(SUB, check_minus_alpha, "sub_stub", rsub_class);
static const wf__pw_def rsub_number_def = LINEAR(SUB, check_minus_alpha, "sub_stub", rsub_number_class);

static bool is_bool(wf__operand_arg a) {
  return a.tensor ? a.tensor->dtype == WF_BOOL : a.scalar.kind == WF_SCALAR_BOOL;
}

static wf_status check_sub(wf__operand_arg a, wf__operand_arg b) {
  WF__CHECK(
      !is_bool(a) || !is_bool(b), WF_NOT_IMPLEMENTED,
      "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.");
  WF__CHECK(
      !is_bool(a) && !is_bool(b), WF_NOT_IMPLEMENTED,
      "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
      "`logical_not()` operator instead.");
  return WF_OK;
}

typedef struct linear {
  const char *name;
  const wf__pw_def *def;
  wf__operand_arg in[2];
  wf_scalar number[4];
} linear;

/* A call of add, sub or rsub, checked; def NULL on error. */
static linear linear_call(const char *name, const wf__pw_def *def, const wf_tensor *self, wf__operand_arg other,
                          wf_scalar alpha) {
  linear l = {.name = name, .in = {wf__tensor_arg(self), other}, .number = {alpha}};
  if (check_args(name, self, other)) return l;
  if (def != &add_def && check_sub(l.in[0], other)) return l;
  if (alpha.kind && common_dtype(l.in[0], other) == WF_BOOL) l.number[0] = truth(alpha);
  if (def == &rsub_def) {
    if (!other.tensor) def = &rsub_number_def;
    l.in[0] = other;
    l.in[1] = wf__tensor_arg(self);
  }
  l.def = def;
  return l;
}

static wf_tensor *linear_new(linear l) { return l.def ? wf__pw(l.def, l.in, l.number) : NULL; }
static wf_status linear_over(linear l) {
  const wf_tensor *inputs[] = {l.in[0].tensor, l.in[1].tensor};
  return l.def ? wf__pw_inplace(l.def, l.in, l.number) : wf__refused_over(inputs[0], inputs, 2);
}
static wf_status linear_into(linear l, wf_tensor *dst) {
  return l.def ? wf__pw_into(l.name, l.def, dst, l.in, l.number) : wf__self.pending;
}

/* Two tensors and no factor: nothing but bools needs a look beforehand. */
static bool needs_no_check(const wf__pw_def *def, const wf_tensor *a, const wf_tensor *b) {
  return a && b && (def == &add_def || (def == &sub_def && a->dtype != WF_BOOL && b->dtype != WF_BOOL));
}

static wf_tensor *unscaled_new(const char *name, const wf__pw_def *def, const wf_tensor *a, const wf_tensor *b) {
  const wf__operand_arg in[] = {wf__tensor_arg(a), wf__tensor_arg(b)};
  if (WF__LIKELY(needs_no_check(def, a, b))) return wf__pw(def, in, NULL);
  return linear_new(linear_call(name, def, a, in[1], none));
}

static wf_status unscaled_over(const char *name, const wf__pw_def *def, const wf_tensor *a, const wf_tensor *b) {
  const wf__operand_arg in[] = {wf__tensor_arg(a), wf__tensor_arg(b)};
  if (WF__LIKELY(needs_no_check(def, a, b))) return wf__pw_inplace(def, in, NULL);
  return linear_over(linear_call(name, def, a, in[1], none));
}

#define LINEAR_FORMS(name)                                                                 \
  wf_tensor *wf__op_##name(wf_tensor *self, wf__operand_arg other, wf_scalar alpha) {      \
    WF__OP(#name, NULL);                                                                   \
    return linear_new(linear_call(#name, &name##_def, self, other, alpha));                \
  }                                                                                        \
  wf_tensor *wf_##name(const wf_tensor *a, const wf_tensor *b) {                           \
    WF__OP(#name, NULL);                                                                   \
    return unscaled_new(#name, &name##_def, a, b);                                         \
  }                                                                                        \
  wf_tensor *wf_##name##_scaled(const wf_tensor *a, const wf_tensor *b, wf_scalar alpha) { \
    WF__OP(#name, NULL);                                                                   \
    return linear_new(linear_call(#name, &name##_def, a, wf__tensor_arg(b), alpha));       \
  }                                                                                        \
  wf_tensor *wf_##name##_scalar(const wf_tensor *a, wf_scalar b) {                         \
    WF__OP(#name, NULL);                                                                   \
    return linear_new(linear_call(#name, &name##_def, a, wf__number_arg(b), none));        \
  }

#define LINEAR_CHANGES(name)                                                                     \
  wf_status wf__op_##name##_(wf_tensor *self, wf__operand_arg other, wf_scalar alpha) {          \
    WF__OP(#name "_", wf__self.pending);                                                         \
    return linear_over(linear_call(#name "_", &name##_def, self, other, alpha));                 \
  }                                                                                              \
  wf_status wf_##name##_(wf_tensor *self, const wf_tensor *other) {                              \
    WF__OP(#name "_", wf__self.pending);                                                         \
    return unscaled_over(#name "_", &name##_def, self, other);                                   \
  }                                                                                              \
  wf_status wf_##name##_scaled_(wf_tensor *self, const wf_tensor *other, wf_scalar alpha) {      \
    WF__OP(#name "_", wf__self.pending);                                                         \
    return linear_over(linear_call(#name "_", &name##_def, self, wf__tensor_arg(other), alpha)); \
  }                                                                                              \
  wf_status wf_##name##_scalar_(wf_tensor *self, wf_scalar other) {                              \
    WF__OP(#name "_", wf__self.pending);                                                         \
    return linear_over(linear_call(#name "_", &name##_def, self, wf__number_arg(other), none));  \
  }                                                                                              \
  wf_status wf_##name##_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b) {           \
    WF__OP(#name, wf__self.pending);                                                             \
    return linear_into(linear_call(#name, &name##_def, a, wf__tensor_arg(b), none), dst);        \
  }                                                                                              \
  wf_status wf_##name##_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b) {           \
    WF__OP(#name, wf__self.pending);                                                             \
    return linear_into(linear_call(#name, &name##_def, a, wf__number_arg(b), none), dst);        \
  }

LINEAR_FORMS(add)
LINEAR_CHANGES(add)
LINEAR_FORMS(sub)
LINEAR_CHANGES(sub)
LINEAR_FORMS(rsub)

/* ---- the plain ones ------------------------------------------------------------------------------------------------------------ */

static wf_tensor *plain_new(const char *name, const wf__pw_def *def, const wf_tensor *self, wf__operand_arg other) {
  const wf__operand_arg in[] = {wf__tensor_arg(self), other};
  return check_args(name, self, other) ? NULL : wf__pw(def, in, NULL);
}

static wf_status plain_over(const char *name, const wf__pw_def *def, wf_tensor *self, wf__operand_arg other) {
  const wf__operand_arg in[] = {wf__tensor_arg(self), other};
  WF__TRY(check_args(name, self, other));
  return wf__pw_inplace(def, in, NULL);
}

static wf_status plain_into(const char *name, const wf__pw_def *def, wf_tensor *dst, const wf_tensor *self,
                            wf__operand_arg other) {
  const wf__operand_arg in[] = {wf__tensor_arg(self), other};
  WF__TRY(check_args(name, self, other));
  return wf__pw_into(name, def, dst, in, NULL);
}

/* Public forms of an operator whose second operand is a tensor or a number; DEF(other) chooses the definition. */
#define PLAIN_FORMS(name, DEF)                                                             \
  wf_tensor *wf_##name(const wf_tensor *a, const wf_tensor *b) {                           \
    WF__OP(#name, NULL);                                                                   \
    return plain_new(#name, DEF(wf__tensor_arg(b)), a, wf__tensor_arg(b));                 \
  }                                                                                        \
  wf_tensor *wf_##name##_scalar(const wf_tensor *a, wf_scalar b) {                         \
    WF__OP(#name, NULL);                                                                   \
    return plain_new(#name, DEF(wf__number_arg(b)), a, wf__number_arg(b));                 \
  }                                                                                        \
  wf_status wf_##name##_(wf_tensor *self, const wf_tensor *other) {                        \
    WF__OP(#name "_", wf__self.pending);                                                   \
    return plain_over(#name "_", DEF(wf__tensor_arg(other)), self, wf__tensor_arg(other)); \
  }                                                                                        \
  wf_status wf_##name##_scalar_(wf_tensor *self, wf_scalar other) {                        \
    WF__OP(#name "_", wf__self.pending);                                                   \
    return plain_over(#name "_", DEF(wf__number_arg(other)), self, wf__number_arg(other)); \
  }                                                                                        \
  wf_status wf_##name##_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b) {     \
    WF__OP(#name, wf__self.pending);                                                       \
    return plain_into(#name, DEF(wf__tensor_arg(b)), dst, a, wf__tensor_arg(b));           \
  }                                                                                        \
  wf_status wf_##name##_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b) {     \
    WF__OP(#name, wf__self.pending);                                                       \
    return plain_into(#name, DEF(wf__number_arg(b)), dst, a, wf__number_arg(b));           \
  }

#define PLAIN_ENTRIES(name, DEF)                                       \
  wf_tensor *wf__op_##name(wf_tensor *self, wf__operand_arg other) {   \
    WF__OP(#name, NULL);                                               \
    return plain_new(#name, DEF(other), self, other);                  \
  }                                                                    \
  wf_status wf__op_##name##_(wf_tensor *self, wf__operand_arg other) { \
    WF__OP(#name "_", wf__self.pending);                               \
    return plain_over(#name "_", DEF(other), self, other);             \
  }

/* ---- mul ------------------------------------------------------------------------------------------------------------------------ */

static wf_status mul_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  if (wf__node_wants(node, 0)) out[0] = wf__mul(grad[0], wf__kept(node, 1));
  if (wf__node_wants(node, 1)) out[1] = wf__mul(grad[0], wf__kept(node, 0));
  return wf__self.pending;
}
static const wf__node_class mul_class = {"MulBackward0", mul_apply, NULL};
static const wf__pw_def mul_def = {.op = WF__PW_MUL,
                                   .inputs = 2,
                                   .rule = WF__PW_COMMON,
                                   .kernel = "mul_cpu",
                                   .derivative = &mul_class,
                                   .keep = {WF__FOR_1, WF__FOR_0},
                                   .wide_numbers = true};
#define MUL_DEF(other) (&mul_def)
PLAIN_FORMS(mul, MUL_DEF)
PLAIN_ENTRIES(mul, MUL_DEF)

/* ---- div ------------------------------------------------------------------------------------------------------------------------ */

static wf_status div_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf__operand_arg other = wf__kept(node, 1);
  if (wf__node_wants(node, 0)) out[0] = wf__div(grad[0], other);
  if (wf__node_wants(node, 1)) out[1] = wf_mul(wf_neg(grad[0]), wf__div(wf__div(wf__saved_get(node, 0), other), other));
  return wf__self.pending;
}

static wf_status zero_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  for (int i = 0; i < 2; i++)
    if (wf__node_wants(node, i)) out[i] = wf__zeros_of(grad[0]);
  return wf__self.pending;
}

static wf_status no_derivative_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  return wf__fail(WF_RUNTIME, "derivative for aten::floor_divide is not implemented");
}

static const wf__node_class div_class = {"DivBackward0", div_apply, NULL};
static const wf__node_class div_mode_class = {"DivBackward2", zero_apply, NULL};
static const wf__node_class floor_divide_class = {"NotImplemented", no_derivative_apply, NULL};
static const wf__pw_def div_def = {.op = WF__PW_DIV,
                                   .inputs = 2,
                                   .rule = WF__PW_FLOATING,
                                   .kernel = "div_true_cpu",
                                   .derivative = &div_class,
                                   .keep = {WF__FOR_1, WF__FOR_0 | WF__FOR_1},
                                   .wide_numbers = true};
#define WHOLE(OP, kernel_, cls)                                                                        \
  {                                                                                                    \
    .op = WF__PW_##OP, .inputs = 2, .rule = WF__PW_COMMON, .allow = WF__PW_NO_BOOL, .kernel = kernel_, \
    .derivative = &cls                                                                                 \
  }
static const wf__pw_def div_trunc_def = WHOLE(DIV_TRUNC, "div_trunc_cpu", div_mode_class);
static const wf__pw_def div_floor_def = WHOLE(DIV_FLOOR, "div_floor_cpu", div_mode_class);
static const wf__pw_def floor_divide_def = WHOLE(DIV_FLOOR, "div_floor_cpu", floor_divide_class);

#define DIV_DEF(other) (&div_def)
PLAIN_FORMS(div, DIV_DEF)
#define FLOOR_DIVIDE_DEF(other) (&floor_divide_def)
PLAIN_FORMS(floor_divide, FLOOR_DIVIDE_DEF)
PLAIN_ENTRIES(floor_divide, FLOOR_DIVIDE_DEF)

/* NULL on error. */
static const wf__pw_def *div_by_mode(const char *mode) {
  if (!mode) return &div_def;
  if (!strcmp(mode, "trunc")) return &div_trunc_def;
  if (!strcmp(mode, "floor")) return &div_floor_def;
  wf__fail(WF_RUNTIME, "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'", mode);
  return NULL;
}

wf_tensor *wf__op_div(wf_tensor *self, wf__operand_arg other, const char *rounding_mode) {
  WF__OP("div", NULL);
  const wf__pw_def *def = div_by_mode(rounding_mode);
  return def ? plain_new("div", def, self, other) : NULL;
}

wf_status wf__op_div_(wf_tensor *self, wf__operand_arg other, const char *rounding_mode) {
  WF__OP("div_", wf__self.pending);
  const wf__pw_def *def = div_by_mode(rounding_mode);
  return def ? plain_over("div_", def, self, other)
             : wf__refused_over(self, (const wf_tensor *[]){self, other.tensor}, 2);
}

static const char *mode_name(wf_rounding mode) {
  return mode == WF_ROUND_TRUNC ? "trunc" : mode == WF_ROUND_FLOOR ? "floor" : NULL;
}

wf_tensor *wf_div_rounded(const wf_tensor *a, const wf_tensor *b, wf_rounding mode) {
  WF__OP("div", NULL);
  return plain_new("div", div_by_mode(mode_name(mode)), a, wf__tensor_arg(b));
}

wf_tensor *wf_div_rounded_scalar(const wf_tensor *a, wf_scalar b, wf_rounding mode) {
  WF__OP("div", NULL);
  return plain_new("div", div_by_mode(mode_name(mode)), a, wf__number_arg(b));
}

/* ---- fmod, remainder --------------------------------------------------------------------------------------------------------------- */

static wf_tensor *minus_quotient(wf__node *node, wf_tensor *g, wf_rounding mode) {
  return wf_mul(wf_neg(g), wf_div_rounded(wf__saved_get(node, 0), wf__saved_get(node, 1), mode));
}
static wf_status fmod_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  if (wf__node_wants(node, 0)) out[0] = grad[0];
  if (wf__node_wants(node, 1)) out[1] = minus_quotient(node, grad[0], WF_ROUND_TRUNC);
  return wf__self.pending;
}
static wf_status remainder_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  if (wf__node_wants(node, 0)) out[0] = grad[0];
  if (wf__node_wants(node, 1)) out[1] = minus_quotient(node, grad[0], WF_ROUND_FLOOR);
  return wf__self.pending;
}

#define MODULO(name, OP, prefix)                                                              \
  static const wf__node_class name##_number_class = {prefix "Backward0", name##_apply, NULL}; \
  static const wf__node_class name##_class = {prefix "Backward1", name##_apply, NULL};        \
  static const wf__pw_def name##_number_def = WHOLE(OP, #name "_cpu", name##_number_class);   \
  static const wf__pw_def name##_def = {.op = WF__PW_##OP,                                    \
                                        .inputs = 2,                                          \
                                        .rule = WF__PW_COMMON,                                \
                                        .allow = WF__PW_NO_BOOL,                              \
                                        .kernel = #name "_cpu",                               \
                                        .derivative = &name##_class,                          \
                                        .keep = {WF__FOR_1, WF__FOR_1}};
MODULO(fmod, FMOD, "Fmod")
MODULO(remainder, REMAINDER, "Remainder")
#define FMOD_DEF(other) ((other).tensor ? &fmod_def : &fmod_number_def)
#define REMAINDER_DEF(other) ((other).tensor ? &remainder_def : &remainder_number_def)
PLAIN_FORMS(fmod, FMOD_DEF)
PLAIN_ENTRIES(fmod, FMOD_DEF)
PLAIN_FORMS(remainder, REMAINDER_DEF)
PLAIN_ENTRIES(remainder, REMAINDER_DEF)

/* ---- atan2, maximum, minimum: tensors only -------------------------------------------------------------------------------------------- */

static wf_status atan2_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf_tensor *y = wf__saved_get(node, 0), *x = wf__saved_get(node, 1);
  wf_tensor *square = wf_add(wf_mul(y, y), wf_mul(x, x)); /* 0 where both are: no direction, no gradient */
  wf_tensor *scale = wf_masked_fill(wf_reciprocal(square), wf_eq_scalar(square, wf_int(0)), wf_int(0));
  if (wf__node_wants(node, 0)) out[0] = wf_mul(wf_mul(grad[0], x), scale);
  if (wf__node_wants(node, 1)) out[1] = wf_mul(wf_mul(grad[0], wf_neg(y)), scale);
  return wf__self.pending;
}

/* The greater (or lesser) one gets the gradient, each half of it where they are equal. */
static wf_tensor *winner_gradient(wf_tensor *g, wf_tensor *self, wf_tensor *other, wf_tensor *loses) {
  return wf_masked_fill(wf_where(wf_eq(self, other), wf_div_scalar(g, wf_int(2)), g), loses, wf_int(0));
}
static wf_status maximum_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf_tensor *a = wf__saved_get(node, 0), *b = wf__saved_get(node, 1);
  if (wf__node_wants(node, 0)) out[0] = winner_gradient(grad[0], a, b, wf_lt(a, b));
  if (wf__node_wants(node, 1)) out[1] = winner_gradient(grad[0], a, b, wf_gt(a, b));
  return wf__self.pending;
}
static wf_status minimum_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf_tensor *a = wf__saved_get(node, 0), *b = wf__saved_get(node, 1);
  if (wf__node_wants(node, 0)) out[0] = winner_gradient(grad[0], a, b, wf_gt(a, b));
  if (wf__node_wants(node, 1)) out[1] = winner_gradient(grad[0], a, b, wf_lt(a, b));
  return wf__self.pending;
}

#define BOTH(name, OP, rule_, node_name)                                               \
  static const wf__node_class name##_class = {node_name, name##_apply, NULL};          \
  static const wf__pw_def name##_def = {.op = WF__PW_##OP,                             \
                                        .inputs = 2,                                   \
                                        .rule = WF__PW_##rule_,                        \
                                        .kernel = #name "_cpu",                        \
                                        .derivative = &name##_class,                   \
                                        .keep = {WF__FOR_ALL, WF__FOR_ALL}};           \
  wf_tensor *wf_##name(const wf_tensor *a, const wf_tensor *b) {                       \
    WF__OP(#name, NULL);                                                               \
    return plain_new(#name, &name##_def, a, wf__tensor_arg(b));                        \
  }                                                                                    \
  wf_status wf_##name##_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b) { \
    WF__OP(#name, wf__self.pending);                                                   \
    return plain_into(#name, &name##_def, dst, a, wf__tensor_arg(b));                  \
  }
BOTH(atan2, ATAN2, FLOATING, "Atan2Backward0")
BOTH(maximum, MAXIMUM, COMMON, "MaximumBackward0")
BOTH(minimum, MINIMUM, COMMON, "MinimumBackward0")

wf_status wf_atan2_(wf_tensor *self, const wf_tensor *other) {
  WF__OP("atan2_", wf__self.pending);
  return plain_over("atan2_", &atan2_def, self, wf__tensor_arg(other));
}
