/* Powers: tensor to number, tensor to tensor, number to tensor; square. */
#include <weft/copy.h>
#include "base/convert.h"
#include "op/op.h"

/* ---- derivatives ----------------------------------------------------------------------------------------------------------- */

/* g · e · x^(e - 1) for a number e. */
static wf_tensor *base_gradient(wf_tensor *g, wf_tensor *x, wf_scalar e) {
  if (wf__scalar_double(e) == 0) return wf__zeros_of(g);
  wf_scalar less = e.kind == WF_SCALAR_FLOAT ? wf_float(e.as.f - 1) : wf_int(e.as.i - 1);
  return wf_mul(g, wf_mul_scalar(wf_pow_scalar(x, less), e));
}

/* The same for a tensor e; 0 where e is 0. */
static wf_tensor *base_gradient_tensor(wf_tensor *g, wf_tensor *x, wf_tensor *e) {
  wf_tensor *slope = wf_mul(e, wf_pow(x, wf_sub_scalar(e, wf_int(1))));
  return wf_mul(g, wf_masked_fill(slope, wf_eq_scalar(e, wf_int(0)), wf_int(0)));
}

/* Where the numbers of a power have the base as it was given; [0] has it as an element. */
#define BASE_GIVEN 3

/* g · r · log(base) with the base in r's dtype, 0 where the base is 0 and the exponent isn't negative: the limit. */
static wf_tensor *exponent_gradient(wf_tensor *g, wf__operand_arg base, wf_tensor *e, wf_tensor *r) {
  wf_tensor *flat = wf_ge_scalar(e, wf_int(0));
  if (base.tensor) {
    flat = wf_logical_and(wf_eq_scalar(base.tensor, wf_int(0)), flat);
    wf_tensor *log = wf_log(wf_to(base.tensor, (wf_dtype)r->dtype));
    return wf_mul(g, wf_masked_fill(wf_mul(r, log), flat, wf_int(0)));
  }
  double b = wf__scalar_double(base.scalar);
  wf_tensor *slope = wf_mul_scalar(r, wf_float(b > 0    ? __builtin_log(b)
                                               : b == 0 ? -__builtin_inf()
                                                        : __builtin_nan("")));
  return wf_mul(g, b == 0 ? wf_masked_fill(slope, flat, wf_int(0)) : slope);
}

static wf_status number_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  out[0] = base_gradient(grad[0], wf__saved_get(node, 0), wf__numbers(node)[0]);
  return wf__self.pending;
}

static wf_status tensor_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf_tensor *e = wf__saved_get(node, 1);
  if (wf__node_wants(node, 0)) out[0] = base_gradient_tensor(grad[0], wf__saved_get(node, 0), e);
  if (wf__node_wants(node, 1)) out[1] = exponent_gradient(grad[0], wf__kept(node, 0), e, wf__kept_result(node));
  return wf__self.pending;
}

static wf_status to_tensor_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  wf__operand_arg base = wf__number_arg(wf__numbers(node)[BASE_GIVEN]);
  out[0] = exponent_gradient(grad[0], base, wf__saved_get(node, 0), wf__kept_result(node));
  return wf__self.pending;
}

static const wf__node_class number_class = {"PowBackward0", number_apply, NULL};
static const wf__node_class tensor_class = {"PowBackward1", tensor_apply, NULL};
static const wf__node_class to_tensor_class = {"PowBackward2", to_tensor_apply, NULL};

/* ---- definitions -------------------------------------------------------------------------------------------------------------- */

/* The kernel has the exponent as an element, but for wide floats, whose powers take a double. */
static wf_status check_exponent(const wf_scalar *number, wf_dtype compute) {
  return compute == WF_F32 || compute == WF_F64 ? WF_OK : wf__scalar_check_fits(number[0], compute);
}

/* The exponent takes part in promotion as a second operand though the kernel has it as a parameter. */
static const wf__pw_def number_def = {.op = WF__PW_POW_SCALAR_EXP,
                                      .inputs = 1,
                                      .rule = WF__PW_COMMON,
                                      .check = check_exponent,
                                      .kernel = "pow",
                                      .derivative = &number_class,
                                      .keep = {WF__FOR_0},
                                      .promotes_number = true};
static const wf__pw_def to_tensor_def = {.op = WF__PW_POW_SCALAR_BASE,
                                         .inputs = 1,
                                         .rule = WF__PW_COMMON,
                                         .allow = WF__PW_NO_BOOL,
                                         .kernel = "pow",
                                         .row_major = true,
                                         .derivative = &to_tensor_class,
                                         .keep = {WF__FOR_0},
                                         .keep_result = WF__FOR_0,
                                         .promotes_number = true};
static const wf__pw_def tensor_def = {.op = WF__PW_POW,
                                      .inputs = 2,
                                      .rule = WF__PW_COMMON,
                                      .allow = WF__PW_NO_BOOL,
                                      .kernel = "pow",
                                      .derivative = &tensor_class,
                                      .keep = {WF__FOR_ALL, WF__FOR_ALL},
                                      .keep_result = WF__FOR_1};

/* bool to a bool number is allowed, though bool has no powers: a copy, or ones. */
static const wf__pw_def truth_def = {.op = WF__PW_BITWISE_OR, .inputs = 2, .rule = WF__PW_COMMON, .parameters = true};

static wf_status check_integer_power(wf__operand_arg self, wf_scalar exponent) {
  wf__promotion p = {0};
  wf__promote_arg(&p, self);
  wf__promote_number(&p, exponent);
  if (wf_dtype_is_float(wf__promoted(&p))) return WF_OK;
  WF__CHECK(exponent.as.i >= 0, WF_RUNTIME, "Integers to negative integer powers are not allowed.");
  return WF_OK;
}

typedef struct call {
  const wf__pw_def *def; /* NULL: error */
  wf__operand_arg in[2];
  wf_scalar number[4];
} call;

static call pow_call(const wf_tensor *self, wf__operand_arg exponent) {
  call c = {.in = {wf__tensor_arg(self), exponent}};
  if (wf__require_tensors("pow", &self, 1)) return c;
  if (!exponent.tensor && exponent.scalar.kind == WF_SCALAR_NONE) {
    wf__fail(WF_TYPE, "pow(): argument 'exponent' must be Tensor, not NoneType");
    return c;
  }
  c.number[0] = exponent.scalar;
  if (!exponent.tensor && check_integer_power(c.in[0], exponent.scalar)) return c;
  c.def = exponent.tensor ? &tensor_def : &number_def;
  if (self->dtype == WF_BOOL && !exponent.tensor && exponent.scalar.kind == WF_SCALAR_BOOL) {
    c.def = &truth_def;
    c.in[1] = wf__number_arg(wf_bool(!exponent.scalar.as.i));
  }
  return c;
}

static wf_tensor *pow_new(call c) { return c.def ? wf__pw(c.def, c.in, c.number) : NULL; }
static wf_status pow_over(call c) {
  const wf_tensor *inputs[] = {c.in[0].tensor, c.in[1].tensor};
  return c.def ? wf__pw_inplace(c.def, c.in, c.number) : wf__refused_over(inputs[0], inputs, 2);
}

/* ---- public --------------------------------------------------------------------------------------------------------------------- */

wf_tensor *wf__op_pow(wf_tensor *self, wf__operand_arg exponent) {
  WF__OP("pow", NULL);
  return pow_new(pow_call(self, exponent));
}

wf_status wf__op_pow_(wf_tensor *self, wf__operand_arg exponent) {
  WF__OP("pow_", wf__self.pending);
  return pow_over(pow_call(self, exponent));
}

wf_tensor *wf_pow(const wf_tensor *self, const wf_tensor *exponent) {
  WF__OP("pow", NULL);
  return pow_new(pow_call(self, wf__tensor_arg(exponent)));
}

wf_tensor *wf_pow_scalar(const wf_tensor *self, wf_scalar exponent) {
  WF__OP("pow", NULL);
  return pow_new(pow_call(self, wf__number_arg(exponent)));
}

wf_status wf_pow_(wf_tensor *self, const wf_tensor *exponent) {
  WF__OP("pow_", wf__self.pending);
  return pow_over(pow_call(self, wf__tensor_arg(exponent)));
}

wf_status wf_pow_scalar_(wf_tensor *self, wf_scalar exponent) {
  WF__OP("pow_", wf__self.pending);
  return pow_over(pow_call(self, wf__number_arg(exponent)));
}

/* A base is an element of the dtype that is computed in: halves round it, beyond their range to infinity. */
static wf_scalar base_of(wf_scalar self, wf__operand_arg exponent) {
  wf__promotion p = {0};
  wf__promote_arg(&p, exponent);
  wf__promote_number(&p, self);
  return wf_dtype_is_float(wf__promoted(&p)) ? wf__number_as(self, wf__promoted(&p)) : self;
}

static wf_status pow_into(call c, wf_tensor *dst) {
  return c.def ? wf__pw_into("pow", c.def, dst, c.in, c.number) : wf__self.pending;
}

wf_status wf_pow_into(wf_tensor *dst, const wf_tensor *self, const wf_tensor *exponent) {
  WF__OP("pow", wf__self.pending);
  return pow_into(pow_call(self, wf__tensor_arg(exponent)), dst);
}

wf_status wf_pow_scalar_into(wf_tensor *dst, const wf_tensor *self, wf_scalar exponent) {
  WF__OP("pow", wf__self.pending);
  return pow_into(pow_call(self, wf__number_arg(exponent)), dst);
}

wf_tensor *wf_scalar_pow(wf_scalar self, const wf_tensor *exponent) {
  WF__OP("pow", NULL);
  const wf__operand_arg in = wf__tensor_arg(exponent);
  if (wf__require_tensors("pow", &exponent, 1)) return NULL;
  const wf_scalar number[4] = {base_of(self, in), [BASE_GIVEN] = self};
  return wf__pw(&to_tensor_def, &in, number);
}

wf_tensor *wf_square(const wf_tensor *self) {
  WF__OP("square", NULL);
  return pow_new(pow_call(self, wf__number_arg(wf_int(2))));
}

wf_status wf_square_(wf_tensor *self) {
  WF__OP("square_", wf__self.pending);
  return pow_over(pow_call(self, wf__number_arg(wf_int(2))));
}
