/* Result types. A tensor of rank 1 or more decides the kind and the width; one of rank 0 and a plain number can only raise the kind. */
#include "base/convert.h"
#include "op/op.h"

void wf__promote_tensor(wf__promotion *p, const wf_tensor *t) {
  wf_dtype *slot = t->layout.ndim ? &p->dim : &p->zero;
  *slot = wf_promote_types(*slot, (wf_dtype)t->dtype);
}

void wf__promote_number(wf__promotion *p, wf_scalar s) {
  if (s.kind == WF_SCALAR_NONE) return;
  wf_dtype d = s.kind == WF_SCALAR_BOOL ? WF_BOOL : s.kind == WF_SCALAR_INT ? WF_I64 : WF_F32;
  p->wrapped = wf_promote_types(p->wrapped, d);
}

void wf__promote_arg(wf__promotion *p, wf__operand_arg arg) {
  if (arg.tensor) wf__promote_tensor(p, arg.tensor);
  else wf__promote_number(p, arg.scalar);
}

static wf_dtype combine(wf_dtype high, wf_dtype low) {
  if (wf_dtype_is_float(high)) return high;
  if (high == WF_BOOL || wf_dtype_is_float(low)) return wf_promote_types(high, low);
  return high ? high : low;
}

wf_dtype wf__promoted(const wf__promotion *p) { return combine(p->dim, combine(p->zero, p->wrapped)); }

wf_scalar wf__number_as(wf_scalar s, wf_dtype dtype) {
  unsigned char element[8];
  if (s.kind == WF_SCALAR_NONE) return s;
  wf__scalar_store(s, dtype, element);
  return wf__scalar_load(dtype, element);
}

wf_scalar wf__known_number(wf__operand_arg arg) {
  const wf_tensor *t = arg.tensor;
  if (!t) return arg.scalar;
  if (t->layout.ndim || wf__device_of(t)->id.type != WF_DEVICE_CPU) return wf_no_scalar();
  return wf__scalar_load((wf_dtype)t->dtype, wf__data(t));
}

/* ---- public ------------------------------------------------------------------------------------------------------------ */

wf_dtype wf_result_type(const wf_tensor *a, const wf_tensor *b) {
  wf__promotion p = {0};
  if (a) wf__promote_tensor(&p, a);
  if (b) wf__promote_tensor(&p, b);
  return wf__promoted(&p);
}

wf_dtype wf_result_type_scalar(const wf_tensor *a, wf_scalar b) {
  wf__promotion p = {0};
  if (a) wf__promote_tensor(&p, a);
  wf__promote_number(&p, b);
  return wf__promoted(&p);
}

/* ---- entries of the table ------------------------------------------------------------------------------------------------ */

const char *wf__op_result_type(wf__operand_arg tensor, wf__operand_arg other) {
  wf__promotion p = {0};
  wf__promote_arg(&p, tensor);
  wf__promote_arg(&p, other);
  return wf_dtype_name(wf__promoted(&p));
}

const char *wf__op_promote_types(wf_dtype type1, wf_dtype type2) {
  return wf_dtype_name(wf_promote_types(type1, type2));
}

wf_scalar wf__op_can_cast(wf_dtype from, wf_dtype to) { return wf_bool(wf_can_cast(from, to)); }
