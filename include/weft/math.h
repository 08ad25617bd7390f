/* Pointwise operators: arithmetic, functions of one number, comparisons, choices, activations.
 *
 * Unless said otherwise: operands broadcast; dtypes are promoted by PyTorch's rules (a tensor of rank 0 or a number raises the kind, not the
 * width); the result is new, its strides follow the operands'; no wait for the device; differentiable. In every form:
 *   wf_x      returns the result; NULL on error
 *   wf_x_     writes it over self (version + 1); self keeps dtype and shape, or the call is refused
 *   wf_x_into writes it to dst, which is resized if its shape differs; no gradients are recorded, and none may be required
 * Errors: WF_RUNTIME for shapes that don't broadcast, devices that differ, memory that overlaps, results that self's dtype can't hold,
 * a leaf that requires grad changed in place; WF_NOT_IMPLEMENTED for dtypes without a kernel. A failed call changes nothing. */
#ifndef WEFT_MATH_H
#define WEFT_MATH_H

#include <weft/tensor.h>

WF_EXTERN_C_BEGIN

/* ---- result types ------------------------------------------------------------------------------------------------------- */

/** The dtype in which an operator of a and b computes (torch.result_type). NULL counts as absent. */
WF_API wf_dtype wf_result_type(const wf_tensor *a, const wf_tensor *b);
/** The same with a number for the second operand. */
WF_API wf_dtype wf_result_type_scalar(const wf_tensor *a, wf_scalar b);

/* ---- one operand ---------------------------------------------------------------------------------------------------------- */

/** -self. bool is refused (WF_NOT_IMPLEMENTED). New. */
WF_API wf_tensor *wf_neg(const wf_tensor *self);
/** |self|. bool is refused. New. */
WF_API wf_tensor *wf_abs(const wf_tensor *self);
/** -1, 0 or 1; NaN stays NaN. Gradient: 0. New. */
WF_API wf_tensor *wf_sign(const wf_tensor *self);
/** Self · self. bool gives int64. New. */
WF_API wf_tensor *wf_square(const wf_tensor *self);
/** Square root. Integers give float32. New. */
WF_API wf_tensor *wf_sqrt(const wf_tensor *self);
/** 1 / sqrt(self). Integers give float32. New. */
WF_API wf_tensor *wf_rsqrt(const wf_tensor *self);
/** 1 / self. Integers give float32. New. */
WF_API wf_tensor *wf_reciprocal(const wf_tensor *self);
/** E to the self. Integers give float32. New. */
WF_API wf_tensor *wf_exp(const wf_tensor *self);
/** Exp(self) - 1, exact near 0. Integers give float32. New. */
WF_API wf_tensor *wf_expm1(const wf_tensor *self);
/** Natural logarithm. Integers give float32. New. */
WF_API wf_tensor *wf_log(const wf_tensor *self);
/** Log(1 + self), exact near 0. Integers give float32. New. */
WF_API wf_tensor *wf_log1p(const wf_tensor *self);
/** Logarithm to base 2. Integers give float32. New. */
WF_API wf_tensor *wf_log2(const wf_tensor *self);
/** Sine. Integers give float32. New. */
WF_API wf_tensor *wf_sin(const wf_tensor *self);
/** Cosine. Integers give float32. New. */
WF_API wf_tensor *wf_cos(const wf_tensor *self);
/** Tangent. Integers give float32. New. */
WF_API wf_tensor *wf_tan(const wf_tensor *self);
/** Arc tangent. Integers give float32. New. */
WF_API wf_tensor *wf_atan(const wf_tensor *self);
/** Hyperbolic tangent. Integers give float32. New. */
WF_API wf_tensor *wf_tanh(const wf_tensor *self);
/** 1 / (1 + exp(-self)). Integers give float32. New. */
WF_API wf_tensor *wf_sigmoid(const wf_tensor *self);
/** Error function. Integers give float32. New. */
WF_API wf_tensor *wf_erf(const wf_tensor *self);
/** Greatest whole number not above self. Integers are copied, bool is refused. Gradient: 0. New. */
WF_API wf_tensor *wf_floor(const wf_tensor *self);
/** Least whole number not below self. Integers are copied, bool is refused. Gradient: 0. New. */
WF_API wf_tensor *wf_ceil(const wf_tensor *self);
/** Nearest whole number, halves to even. Integers are copied, bool is refused. Gradient: 0. New. */
WF_API wf_tensor *wf_round(const wf_tensor *self);
/** Self without its fraction. Integers are copied, bool is refused. Gradient: 0. New. */
WF_API wf_tensor *wf_trunc(const wf_tensor *self);
/** Whether an element is NaN. Gives bool. No gradient. New. */
WF_API wf_tensor *wf_isnan(const wf_tensor *self);
/** Whether an element is infinite. Gives bool. No gradient. New. */
WF_API wf_tensor *wf_isinf(const wf_tensor *self);
/** Whether an element is finite. Gives bool. No gradient. New. */
WF_API wf_tensor *wf_isfinite(const wf_tensor *self);
/** Whether an element is 0. Gives bool. No gradient. New. */
WF_API wf_tensor *wf_logical_not(const wf_tensor *self);
/** Bits turned over; bool is negated. Integers and bool only. No gradient. New. */
WF_API wf_tensor *wf_bitwise_not(const wf_tensor *self);

/** wf_neg over self. In place. */
WF_API wf_status wf_neg_(wf_tensor *self);
/** wf_abs over self. In place. */
WF_API wf_status wf_abs_(wf_tensor *self);
/** wf_sign over self. In place. */
WF_API wf_status wf_sign_(wf_tensor *self);
/** wf_square over self. In place. */
WF_API wf_status wf_square_(wf_tensor *self);
/** wf_sqrt over self. In place. */
WF_API wf_status wf_sqrt_(wf_tensor *self);
/** wf_rsqrt over self. In place. */
WF_API wf_status wf_rsqrt_(wf_tensor *self);
/** wf_reciprocal over self. In place. */
WF_API wf_status wf_reciprocal_(wf_tensor *self);
/** wf_exp over self. In place. */
WF_API wf_status wf_exp_(wf_tensor *self);
/** wf_expm1 over self. In place. */
WF_API wf_status wf_expm1_(wf_tensor *self);
/** wf_log over self. In place. */
WF_API wf_status wf_log_(wf_tensor *self);
/** wf_log1p over self. In place. */
WF_API wf_status wf_log1p_(wf_tensor *self);
/** wf_log2 over self. In place. */
WF_API wf_status wf_log2_(wf_tensor *self);
/** wf_sin over self. In place. */
WF_API wf_status wf_sin_(wf_tensor *self);
/** wf_cos over self. In place. */
WF_API wf_status wf_cos_(wf_tensor *self);
/** wf_tan over self. In place. */
WF_API wf_status wf_tan_(wf_tensor *self);
/** wf_atan over self. In place. */
WF_API wf_status wf_atan_(wf_tensor *self);
/** wf_tanh over self. In place. */
WF_API wf_status wf_tanh_(wf_tensor *self);
/** wf_sigmoid over self. In place. */
WF_API wf_status wf_sigmoid_(wf_tensor *self);
/** wf_erf over self. In place. */
WF_API wf_status wf_erf_(wf_tensor *self);
/** wf_floor over self. In place. */
WF_API wf_status wf_floor_(wf_tensor *self);
/** wf_ceil over self. In place. */
WF_API wf_status wf_ceil_(wf_tensor *self);
/** wf_round over self. In place. */
WF_API wf_status wf_round_(wf_tensor *self);
/** wf_trunc over self. In place. */
WF_API wf_status wf_trunc_(wf_tensor *self);
/** wf_isnan over self. In place. */
WF_API wf_status wf_isnan_(wf_tensor *self);
/** wf_isinf over self. In place. */
WF_API wf_status wf_isinf_(wf_tensor *self);
/** wf_isfinite over self. In place. */
WF_API wf_status wf_isfinite_(wf_tensor *self);
/** wf_logical_not over self. In place. */
WF_API wf_status wf_logical_not_(wf_tensor *self);
/** wf_bitwise_not over self. In place. */
WF_API wf_status wf_bitwise_not_(wf_tensor *self);

/** wf_neg to dst. In place. */
WF_API wf_status wf_neg_into(wf_tensor *dst, const wf_tensor *self);
/** wf_abs to dst. In place. */
WF_API wf_status wf_abs_into(wf_tensor *dst, const wf_tensor *self);
/** wf_sign to dst. In place. */
WF_API wf_status wf_sign_into(wf_tensor *dst, const wf_tensor *self);
/** wf_sqrt to dst. In place. */
WF_API wf_status wf_sqrt_into(wf_tensor *dst, const wf_tensor *self);
/** wf_rsqrt to dst. In place. */
WF_API wf_status wf_rsqrt_into(wf_tensor *dst, const wf_tensor *self);
/** wf_reciprocal to dst. In place. */
WF_API wf_status wf_reciprocal_into(wf_tensor *dst, const wf_tensor *self);
/** wf_exp to dst. In place. */
WF_API wf_status wf_exp_into(wf_tensor *dst, const wf_tensor *self);
/** wf_expm1 to dst. In place. */
WF_API wf_status wf_expm1_into(wf_tensor *dst, const wf_tensor *self);
/** wf_log to dst. In place. */
WF_API wf_status wf_log_into(wf_tensor *dst, const wf_tensor *self);
/** wf_log1p to dst. In place. */
WF_API wf_status wf_log1p_into(wf_tensor *dst, const wf_tensor *self);
/** wf_log2 to dst. In place. */
WF_API wf_status wf_log2_into(wf_tensor *dst, const wf_tensor *self);
/** wf_sin to dst. In place. */
WF_API wf_status wf_sin_into(wf_tensor *dst, const wf_tensor *self);
/** wf_cos to dst. In place. */
WF_API wf_status wf_cos_into(wf_tensor *dst, const wf_tensor *self);
/** wf_tan to dst. In place. */
WF_API wf_status wf_tan_into(wf_tensor *dst, const wf_tensor *self);
/** wf_atan to dst. In place. */
WF_API wf_status wf_atan_into(wf_tensor *dst, const wf_tensor *self);
/** wf_tanh to dst. In place. */
WF_API wf_status wf_tanh_into(wf_tensor *dst, const wf_tensor *self);
/** wf_sigmoid to dst. In place. */
WF_API wf_status wf_sigmoid_into(wf_tensor *dst, const wf_tensor *self);
/** wf_erf to dst. In place. */
WF_API wf_status wf_erf_into(wf_tensor *dst, const wf_tensor *self);
/** wf_floor to dst. In place. */
WF_API wf_status wf_floor_into(wf_tensor *dst, const wf_tensor *self);
/** wf_ceil to dst. In place. */
WF_API wf_status wf_ceil_into(wf_tensor *dst, const wf_tensor *self);
/** wf_round to dst. In place. */
WF_API wf_status wf_round_into(wf_tensor *dst, const wf_tensor *self);
/** wf_trunc to dst. In place. */
WF_API wf_status wf_trunc_into(wf_tensor *dst, const wf_tensor *self);
/** wf_isnan to dst. In place. */
WF_API wf_status wf_isnan_into(wf_tensor *dst, const wf_tensor *self);
/** wf_isinf to dst. In place. */
WF_API wf_status wf_isinf_into(wf_tensor *dst, const wf_tensor *self);
/** wf_isfinite to dst. In place. */
WF_API wf_status wf_isfinite_into(wf_tensor *dst, const wf_tensor *self);
/** wf_logical_not to dst. In place. */
WF_API wf_status wf_logical_not_into(wf_tensor *dst, const wf_tensor *self);
/** wf_bitwise_not to dst. In place. */
WF_API wf_status wf_bitwise_not_into(wf_tensor *dst, const wf_tensor *self);

/* ---- two operands ----------------------------------------------------------------------------------------------------------- */

/** How a quotient is made whole. */
typedef enum wf_rounding { WF_ROUND_NONE = 0, WF_ROUND_TRUNC = 1, WF_ROUND_FLOOR = 2 } wf_rounding;

/** a + b; of bools, or. New. */
WF_API wf_tensor *wf_add(const wf_tensor *a, const wf_tensor *b);
/** The same with a number. New. */
WF_API wf_tensor *wf_add_scalar(const wf_tensor *a, wf_scalar b);
/** wf_add over self. In place. */
WF_API wf_status wf_add_(wf_tensor *self, const wf_tensor *other);
/** The same with a number. In place. */
WF_API wf_status wf_add_scalar_(wf_tensor *self, wf_scalar other);
/** wf_add to dst. In place. */
WF_API wf_status wf_add_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** wf_add_scalar to dst. In place. */
WF_API wf_status wf_add_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b);
/** a + alpha · b, alpha kind none: 1. Errors: WF_RUNTIME for a fractional alpha with integers. New. */
WF_API wf_tensor *wf_add_scaled(const wf_tensor *a, const wf_tensor *b, wf_scalar alpha);
/** wf_add_scaled over self. In place. */
WF_API wf_status wf_add_scaled_(wf_tensor *self, const wf_tensor *other, wf_scalar alpha);
/** a - b; bools are refused. New. */
WF_API wf_tensor *wf_sub(const wf_tensor *a, const wf_tensor *b);
/** The same with a number. New. */
WF_API wf_tensor *wf_sub_scalar(const wf_tensor *a, wf_scalar b);
/** wf_sub over self. In place. */
WF_API wf_status wf_sub_(wf_tensor *self, const wf_tensor *other);
/** The same with a number. In place. */
WF_API wf_status wf_sub_scalar_(wf_tensor *self, wf_scalar other);
/** wf_sub to dst. In place. */
WF_API wf_status wf_sub_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** wf_sub_scalar to dst. In place. */
WF_API wf_status wf_sub_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b);
/** a - alpha · b, alpha kind none: 1. Errors: WF_RUNTIME for a fractional alpha with integers. New. */
WF_API wf_tensor *wf_sub_scaled(const wf_tensor *a, const wf_tensor *b, wf_scalar alpha);
/** wf_sub_scaled over self. In place. */
WF_API wf_status wf_sub_scaled_(wf_tensor *self, const wf_tensor *other, wf_scalar alpha);
/** b - a; bools are refused. New. */
WF_API wf_tensor *wf_rsub(const wf_tensor *a, const wf_tensor *b);
/** The same with a number. New. */
WF_API wf_tensor *wf_rsub_scalar(const wf_tensor *a, wf_scalar b);
/** b - alpha · a, alpha kind none: 1. Errors: WF_RUNTIME for a fractional alpha with integers. New. */
WF_API wf_tensor *wf_rsub_scaled(const wf_tensor *a, const wf_tensor *b, wf_scalar alpha);
/** a · b; of bools, and. New. */
WF_API wf_tensor *wf_mul(const wf_tensor *a, const wf_tensor *b);
/** The same with a number. New. */
WF_API wf_tensor *wf_mul_scalar(const wf_tensor *a, wf_scalar b);
/** wf_mul over self. In place. */
WF_API wf_status wf_mul_(wf_tensor *self, const wf_tensor *other);
/** The same with a number. In place. */
WF_API wf_status wf_mul_scalar_(wf_tensor *self, wf_scalar other);
/** wf_mul to dst. In place. */
WF_API wf_status wf_mul_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** wf_mul_scalar to dst. In place. */
WF_API wf_status wf_mul_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b);
/** a / b, a true quotient: integers give float32. New. */
WF_API wf_tensor *wf_div(const wf_tensor *a, const wf_tensor *b);
/** The same with a number. New. */
WF_API wf_tensor *wf_div_scalar(const wf_tensor *a, wf_scalar b);
/** wf_div over self. In place. */
WF_API wf_status wf_div_(wf_tensor *self, const wf_tensor *other);
/** The same with a number. In place. */
WF_API wf_status wf_div_scalar_(wf_tensor *self, wf_scalar other);
/** wf_div to dst. In place. */
WF_API wf_status wf_div_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** wf_div_scalar to dst. In place. */
WF_API wf_status wf_div_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b);
/** a / b rounded to a whole number. Integers stay integers; dividing them by zero is an error (WF_RUNTIME "ZeroDivisionError", nothing
 *  is written). Gradient: 0. New. */
WF_API wf_tensor *wf_div_rounded(const wf_tensor *a, const wf_tensor *b, wf_rounding mode);
/** The same with a number. New. */
WF_API wf_tensor *wf_div_rounded_scalar(const wf_tensor *a, wf_scalar b, wf_rounding mode);
/** floor(a / b), as wf_div_rounded; has no derivative: backward through it fails. New. */
WF_API wf_tensor *wf_floor_divide(const wf_tensor *a, const wf_tensor *b);
/** The same with a number. New. */
WF_API wf_tensor *wf_floor_divide_scalar(const wf_tensor *a, wf_scalar b);
/** wf_floor_divide over self. In place. */
WF_API wf_status wf_floor_divide_(wf_tensor *self, const wf_tensor *other);
/** The same with a number. In place. */
WF_API wf_status wf_floor_divide_scalar_(wf_tensor *self, wf_scalar other);
/** wf_floor_divide to dst. In place. */
WF_API wf_status wf_floor_divide_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** wf_floor_divide_scalar to dst. In place. */
WF_API wf_status wf_floor_divide_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b);
/** Remainder with the sign of a. Integers by zero: an error. New. */
WF_API wf_tensor *wf_fmod(const wf_tensor *a, const wf_tensor *b);
/** The same with a number. New. */
WF_API wf_tensor *wf_fmod_scalar(const wf_tensor *a, wf_scalar b);
/** wf_fmod over self. In place. */
WF_API wf_status wf_fmod_(wf_tensor *self, const wf_tensor *other);
/** The same with a number. In place. */
WF_API wf_status wf_fmod_scalar_(wf_tensor *self, wf_scalar other);
/** wf_fmod to dst. In place. */
WF_API wf_status wf_fmod_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** wf_fmod_scalar to dst. In place. */
WF_API wf_status wf_fmod_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b);
/** Remainder with the sign of b. Integers by zero: an error. New. */
WF_API wf_tensor *wf_remainder(const wf_tensor *a, const wf_tensor *b);
/** The same with a number. New. */
WF_API wf_tensor *wf_remainder_scalar(const wf_tensor *a, wf_scalar b);
/** wf_remainder over self. In place. */
WF_API wf_status wf_remainder_(wf_tensor *self, const wf_tensor *other);
/** The same with a number. In place. */
WF_API wf_status wf_remainder_scalar_(wf_tensor *self, wf_scalar other);
/** wf_remainder to dst. In place. */
WF_API wf_status wf_remainder_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** wf_remainder_scalar to dst. In place. */
WF_API wf_status wf_remainder_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b);
/** self to the exponent. Integers to a negative number: an error (WF_RUNTIME). New. */
WF_API wf_tensor *wf_pow(const wf_tensor *self, const wf_tensor *exponent);
/** The same for one number. New. */
WF_API wf_tensor *wf_pow_scalar(const wf_tensor *self, wf_scalar exponent);
/** The number self to each exponent. New. */
WF_API wf_tensor *wf_scalar_pow(wf_scalar self, const wf_tensor *exponent);
/** wf_pow over self. In place. */
WF_API wf_status wf_pow_(wf_tensor *self, const wf_tensor *exponent);
/** wf_pow_scalar over self. In place. */
WF_API wf_status wf_pow_scalar_(wf_tensor *self, wf_scalar exponent);
/** wf_pow to dst. In place. */
WF_API wf_status wf_pow_into(wf_tensor *dst, const wf_tensor *self, const wf_tensor *exponent);
/** wf_pow_scalar to dst. In place. */
WF_API wf_status wf_pow_scalar_into(wf_tensor *dst, const wf_tensor *self, wf_scalar exponent);
/** Angle of the point (b, a), in radians; integers give float32. New. */
WF_API wf_tensor *wf_atan2(const wf_tensor *a, const wf_tensor *b);
/** wf_atan2 over self. In place. */
WF_API wf_status wf_atan2_(wf_tensor *self, const wf_tensor *other);
/** wf_atan2 to dst. In place. */
WF_API wf_status wf_atan2_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** The greater of a and b; NaN if either is. Equal ones share the gradient. New. */
WF_API wf_tensor *wf_maximum(const wf_tensor *a, const wf_tensor *b);
/** wf_maximum to dst. In place. */
WF_API wf_status wf_maximum_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** The lesser of a and b; NaN if either is. Equal ones share the gradient. New. */
WF_API wf_tensor *wf_minimum(const wf_tensor *a, const wf_tensor *b);
/** wf_minimum to dst. In place. */
WF_API wf_status wf_minimum_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);

/* ---- comparisons and bits: no gradients ------------------------------------------------------------------------------------------ */

/** a = b, as bool. New. */
WF_API wf_tensor *wf_eq(const wf_tensor *a, const wf_tensor *b);
/** The same with a number. New. */
WF_API wf_tensor *wf_eq_scalar(const wf_tensor *a, wf_scalar b);
/** wf_eq over self. In place. */
WF_API wf_status wf_eq_(wf_tensor *self, const wf_tensor *other);
/** The same with a number. In place. */
WF_API wf_status wf_eq_scalar_(wf_tensor *self, wf_scalar other);
/** wf_eq to dst. In place. */
WF_API wf_status wf_eq_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** wf_eq_scalar to dst. In place. */
WF_API wf_status wf_eq_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b);
/** a ≠ b, as bool. New. */
WF_API wf_tensor *wf_ne(const wf_tensor *a, const wf_tensor *b);
/** The same with a number. New. */
WF_API wf_tensor *wf_ne_scalar(const wf_tensor *a, wf_scalar b);
/** wf_ne over self. In place. */
WF_API wf_status wf_ne_(wf_tensor *self, const wf_tensor *other);
/** The same with a number. In place. */
WF_API wf_status wf_ne_scalar_(wf_tensor *self, wf_scalar other);
/** wf_ne to dst. In place. */
WF_API wf_status wf_ne_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** wf_ne_scalar to dst. In place. */
WF_API wf_status wf_ne_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b);
/** a < b, as bool. New. */
WF_API wf_tensor *wf_lt(const wf_tensor *a, const wf_tensor *b);
/** The same with a number. New. */
WF_API wf_tensor *wf_lt_scalar(const wf_tensor *a, wf_scalar b);
/** wf_lt over self. In place. */
WF_API wf_status wf_lt_(wf_tensor *self, const wf_tensor *other);
/** The same with a number. In place. */
WF_API wf_status wf_lt_scalar_(wf_tensor *self, wf_scalar other);
/** wf_lt to dst. In place. */
WF_API wf_status wf_lt_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** wf_lt_scalar to dst. In place. */
WF_API wf_status wf_lt_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b);
/** a ≤ b, as bool. New. */
WF_API wf_tensor *wf_le(const wf_tensor *a, const wf_tensor *b);
/** The same with a number. New. */
WF_API wf_tensor *wf_le_scalar(const wf_tensor *a, wf_scalar b);
/** wf_le over self. In place. */
WF_API wf_status wf_le_(wf_tensor *self, const wf_tensor *other);
/** The same with a number. In place. */
WF_API wf_status wf_le_scalar_(wf_tensor *self, wf_scalar other);
/** wf_le to dst. In place. */
WF_API wf_status wf_le_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** wf_le_scalar to dst. In place. */
WF_API wf_status wf_le_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b);
/** a > b, as bool. New. */
WF_API wf_tensor *wf_gt(const wf_tensor *a, const wf_tensor *b);
/** The same with a number. New. */
WF_API wf_tensor *wf_gt_scalar(const wf_tensor *a, wf_scalar b);
/** wf_gt over self. In place. */
WF_API wf_status wf_gt_(wf_tensor *self, const wf_tensor *other);
/** The same with a number. In place. */
WF_API wf_status wf_gt_scalar_(wf_tensor *self, wf_scalar other);
/** wf_gt to dst. In place. */
WF_API wf_status wf_gt_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** wf_gt_scalar to dst. In place. */
WF_API wf_status wf_gt_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b);
/** a ≥ b, as bool. New. */
WF_API wf_tensor *wf_ge(const wf_tensor *a, const wf_tensor *b);
/** The same with a number. New. */
WF_API wf_tensor *wf_ge_scalar(const wf_tensor *a, wf_scalar b);
/** wf_ge over self. In place. */
WF_API wf_status wf_ge_(wf_tensor *self, const wf_tensor *other);
/** The same with a number. In place. */
WF_API wf_status wf_ge_scalar_(wf_tensor *self, wf_scalar other);
/** wf_ge to dst. In place. */
WF_API wf_status wf_ge_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** wf_ge_scalar to dst. In place. */
WF_API wf_status wf_ge_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b);
/** Bits set in both; integers and bool only. New. */
WF_API wf_tensor *wf_bitwise_and(const wf_tensor *a, const wf_tensor *b);
/** The same with a number. New. */
WF_API wf_tensor *wf_bitwise_and_scalar(const wf_tensor *a, wf_scalar b);
/** wf_bitwise_and over self. In place. */
WF_API wf_status wf_bitwise_and_(wf_tensor *self, const wf_tensor *other);
/** The same with a number. In place. */
WF_API wf_status wf_bitwise_and_scalar_(wf_tensor *self, wf_scalar other);
/** wf_bitwise_and to dst. In place. */
WF_API wf_status wf_bitwise_and_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** wf_bitwise_and_scalar to dst. In place. */
WF_API wf_status wf_bitwise_and_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b);
/** Bits set in either; integers and bool only. New. */
WF_API wf_tensor *wf_bitwise_or(const wf_tensor *a, const wf_tensor *b);
/** The same with a number. New. */
WF_API wf_tensor *wf_bitwise_or_scalar(const wf_tensor *a, wf_scalar b);
/** wf_bitwise_or over self. In place. */
WF_API wf_status wf_bitwise_or_(wf_tensor *self, const wf_tensor *other);
/** The same with a number. In place. */
WF_API wf_status wf_bitwise_or_scalar_(wf_tensor *self, wf_scalar other);
/** wf_bitwise_or to dst. In place. */
WF_API wf_status wf_bitwise_or_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** wf_bitwise_or_scalar to dst. In place. */
WF_API wf_status wf_bitwise_or_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b);
/** Bits set in one of the two; integers and bool only. New. */
WF_API wf_tensor *wf_bitwise_xor(const wf_tensor *a, const wf_tensor *b);
/** The same with a number. New. */
WF_API wf_tensor *wf_bitwise_xor_scalar(const wf_tensor *a, wf_scalar b);
/** wf_bitwise_xor over self. In place. */
WF_API wf_status wf_bitwise_xor_(wf_tensor *self, const wf_tensor *other);
/** The same with a number. In place. */
WF_API wf_status wf_bitwise_xor_scalar_(wf_tensor *self, wf_scalar other);
/** wf_bitwise_xor to dst. In place. */
WF_API wf_status wf_bitwise_xor_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** wf_bitwise_xor_scalar to dst. In place. */
WF_API wf_status wf_bitwise_xor_scalar_into(wf_tensor *dst, const wf_tensor *a, wf_scalar b);
/** Whether both are not 0, as bool. New. */
WF_API wf_tensor *wf_logical_and(const wf_tensor *a, const wf_tensor *b);
/** wf_logical_and over self. In place. */
WF_API wf_status wf_logical_and_(wf_tensor *self, const wf_tensor *other);
/** wf_logical_and to dst. In place. */
WF_API wf_status wf_logical_and_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** Whether either is not 0, as bool. New. */
WF_API wf_tensor *wf_logical_or(const wf_tensor *a, const wf_tensor *b);
/** wf_logical_or over self. In place. */
WF_API wf_status wf_logical_or_(wf_tensor *self, const wf_tensor *other);
/** wf_logical_or to dst. In place. */
WF_API wf_status wf_logical_or_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);
/** Whether one of the two is not 0, as bool. New. */
WF_API wf_tensor *wf_logical_xor(const wf_tensor *a, const wf_tensor *b);
/** wf_logical_xor over self. In place. */
WF_API wf_status wf_logical_xor_(wf_tensor *self, const wf_tensor *other);
/** wf_logical_xor to dst. In place. */
WF_API wf_status wf_logical_xor_into(wf_tensor *dst, const wf_tensor *a, const wf_tensor *b);

/* ---- choices and mixtures ---------------------------------------------------------------------------------------------------------- */

/** self where the condition (bool or uint8) holds, other elsewhere. New. */
WF_API wf_tensor *wf_where(const wf_tensor *condition, const wf_tensor *self, const wf_tensor *other);
/** wf_where to dst, of the result's dtype. In place. */
WF_API wf_status wf_where_into(wf_tensor *dst, const wf_tensor *condition, const wf_tensor *self,
                               const wf_tensor *other);
/** self with `value` where the bool mask holds; keeps self's dtype, which must be able to hold the value. New. */
WF_API wf_tensor *wf_masked_fill(const wf_tensor *self, const wf_tensor *mask, wf_scalar value);
/** The same with the value from a tensor of rank 0. New. */
WF_API wf_tensor *wf_masked_fill_tensor(const wf_tensor *self, const wf_tensor *mask, const wf_tensor *value);
/** wf_masked_fill over self. In place. */
WF_API wf_status wf_masked_fill_(wf_tensor *self, const wf_tensor *mask, wf_scalar value);
/** self + weight · (end - self); all of one floating-point dtype. New. */
WF_API wf_tensor *wf_lerp(const wf_tensor *self, const wf_tensor *end, wf_scalar weight);
/** The same with a tensor of weights. New. */
WF_API wf_tensor *wf_lerp_tensor(const wf_tensor *self, const wf_tensor *end, const wf_tensor *weight);
/** wf_lerp over self. In place. */
WF_API wf_status wf_lerp_(wf_tensor *self, const wf_tensor *end, wf_scalar weight);
/** wf_lerp to dst. In place. */
WF_API wf_status wf_lerp_into(wf_tensor *dst, const wf_tensor *self, const wf_tensor *end, wf_scalar weight);
/** self + value · tensor1 · tensor2; value kind none: 1. New. */
WF_API wf_tensor *wf_addcmul(const wf_tensor *self, const wf_tensor *tensor1, const wf_tensor *tensor2,
                             wf_scalar value);
/** wf_addcmul over self. In place. */
WF_API wf_status wf_addcmul_(wf_tensor *self, const wf_tensor *tensor1, const wf_tensor *tensor2, wf_scalar value);
/** wf_addcmul to dst. In place. */
WF_API wf_status wf_addcmul_into(wf_tensor *dst, const wf_tensor *self, const wf_tensor *tensor1,
                                 const wf_tensor *tensor2, wf_scalar value);
/** self + value · tensor1 / tensor2; value kind none: 1. Two integer tensors: an error. New. */
WF_API wf_tensor *wf_addcdiv(const wf_tensor *self, const wf_tensor *tensor1, const wf_tensor *tensor2,
                             wf_scalar value);
/** wf_addcdiv over self. In place. */
WF_API wf_status wf_addcdiv_(wf_tensor *self, const wf_tensor *tensor1, const wf_tensor *tensor2, wf_scalar value);
/** wf_addcdiv to dst. In place. */
WF_API wf_status wf_addcdiv_into(wf_tensor *dst, const wf_tensor *self, const wf_tensor *tensor1,
                                 const wf_tensor *tensor2, wf_scalar value);
/** self limited to [min, max]; a bound of kind none is absent, one must be there. The most wins where the bounds cross. New. */
WF_API wf_tensor *wf_clamp(const wf_tensor *self, wf_scalar min, wf_scalar max);
/** The same with tensors for bounds, of which one may be NULL. New. */
WF_API wf_tensor *wf_clamp_tensor(const wf_tensor *self, const wf_tensor *min, const wf_tensor *max);
/** wf_clamp over self. In place. */
WF_API wf_status wf_clamp_(wf_tensor *self, wf_scalar min, wf_scalar max);
/** wf_clamp to dst, of the result's dtype. In place. */
WF_API wf_status wf_clamp_into(wf_tensor *dst, const wf_tensor *self, wf_scalar min, wf_scalar max);

/* ---- activations: floating point only, but relu and hardtanh ------------------------------------------------------------------------- */

/** max(self, 0). bool is refused. New. */
WF_API wf_tensor *wf_relu(const wf_tensor *self);
/** wf_relu over self. In place. */
WF_API wf_status wf_relu_(wf_tensor *self);
/** self · Φ(self). approximate: NULL or "none" for the exact form, "tanh". New. */
WF_API wf_tensor *wf_gelu(const wf_tensor *self, const char *approximate);
/** self · sigmoid(self). New. */
WF_API wf_tensor *wf_silu(const wf_tensor *self);
/** wf_silu over self. In place. */
WF_API wf_status wf_silu_(wf_tensor *self);
/** self where positive, negative_slope · self elsewhere. New. */
WF_API wf_tensor *wf_leaky_relu(const wf_tensor *self, double negative_slope);
/** wf_leaky_relu over self. In place. */
WF_API wf_status wf_leaky_relu_(wf_tensor *self, double negative_slope);
/** self where positive, alpha · (exp(self) - 1) elsewhere. New. */
WF_API wf_tensor *wf_elu(const wf_tensor *self, double alpha);
/** wf_elu over self. In place. */
WF_API wf_status wf_elu_(wf_tensor *self, double alpha);
/** log(1 + exp(beta · self)) / beta; self where beta · self exceeds the threshold. New. */
WF_API wf_tensor *wf_softplus(const wf_tensor *self, double beta, double threshold);
/** self limited to [min_val, max_val]. Errors: WF_VALUE when min_val > max_val. New. */
WF_API wf_tensor *wf_hardtanh(const wf_tensor *self, wf_scalar min_val, wf_scalar max_val);
/** wf_hardtanh over self. In place. */
WF_API wf_status wf_hardtanh_(wf_tensor *self, wf_scalar min_val, wf_scalar max_val);

/** self · scale + shift in a floating dtype (WF_DTYPE_NONE: self's, or float32), in one pass over self: images of bytes to normalised
 *  numbers. New, laid out as self. grad: to self. Errors: WF_TYPE for a dtype that isn't floating. Not in PyTorch. */
WF_API wf_tensor *wf_scale_shift(const wf_tensor *self, double scale, double shift, wf_dtype dtype);
/** self · scale[c] + shift[c], c being the index along `dim`, in the layout that `format` gives (PRESERVE: self's own): one pass from the bytes of
 *  decoded pictures to what a network takes. For u8 [n,h,w,c] pass wf_permute(x, WF_SHAPE(0, 3, 1, 2)), dim 1, CONTIGUOUS for [n,c,h,w] or
 *  CHANNELS_LAST. scale, shift [c] on self's device, of any dtype; used as float32, and constants: no gradient goes to them. dtype: float32 (WF_DTYPE_NONE),
 *  bfloat16 or float16; computed in float32, rounded once. New. grad: to self. Errors: WF_TYPE for another dtype; WF_INDEX for a dim that
 *  isn't there; WF_RUNTIME for factors of another size or that require grad, for a format of another rank, and for several devices. Not in PyTorch. */
WF_API wf_tensor *wf_scale_shift_channels(const wf_tensor *self, const wf_tensor *scale, const wf_tensor *shift,
                                          int64_t dim, wf_dtype dtype, wf_memory_format format);

WF_EXTERN_C_END
#endif
