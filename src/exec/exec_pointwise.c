/* Pointwise operators: from a plan to a kernel and the road of each operand to it.
 *
 * Kernels exist per operator and class. A small plan over consecutive elements that the kernel takes as they are is run at once; all others
 * become a job for the loops of pointwise_run.c. */
#include <string.h>

#include "base/convert.h"
#include "exec/families.h"
#include "exec/pointwise_job.h"
#include "exec/threads.h"

typedef wf__pw_job job;
typedef wf__pw_input input;

/* ---- names and refusals ----------------------------------------------------------------------------------------------------- */

static const char *kernel_name(int op, char buffer[48]) {
  switch (op) { /* where PyTorch's name isn't <operator>_cpu */
    case WF__PW_FLOOR: return "floor_vml_cpu";
    case WF__PW_CEIL: return "ceil_vml_cpu";
    case WF__PW_ROUND: return "round_vml_cpu";
    case WF__PW_TRUNC: return "trunc_vml_cpu";
    case WF__PW_GELU:
    case WF__PW_GELU_TANH: return "GeluKernelImpl";
    case WF__PW_LERP: return "lerp_kernel_tensor";
    case WF__PW_ADDCMUL: return "addcmul_cpu_out";
    case WF__PW_ADDCDIV: return "addcdiv_cpu_out";
    case WF__PW_CLAMP_TENSOR: return "clamp_cpu";
    case WF__PW_POW:
    case WF__PW_POW_SCALAR_EXP:
    case WF__PW_POW_SCALAR_BASE: return "pow";
    default: break;
  }
  static const char *const names[] = {
#define WF_X(NAME, arity) #NAME,
      WF__POINTWISE_OPS(WF_X)
#undef WF_X
  };
  char *p = buffer;
  for (const char *s = names[op]; *s; s++) *p++ = *s >= 'A' && *s <= 'Z' ? (char)(*s - 'A' + 'a') : *s;
  memcpy(p, "_cpu", 5);
  return buffer;
}

/* Operators on integers that PyTorch refuses for bool. */
static bool refuses_bool(int op) {
  switch (op) {
    case WF__PW_NEG:
    case WF__PW_ABS:
    case WF__PW_FLOOR:
    case WF__PW_CEIL:
    case WF__PW_ROUND:
    case WF__PW_TRUNC:
    case WF__PW_RELU:
    case WF__PW_HARDTANH:
    case WF__PW_DIV_TRUNC:
    case WF__PW_DIV_FLOOR:
    case WF__PW_FMOD:
    case WF__PW_REMAINDER:
    case WF__PW_POW:
    case WF__PW_POW_SCALAR_EXP:
    case WF__PW_POW_SCALAR_BASE:
    case WF__PW_ADDCMUL:
    case WF__PW_CLAMP:
    case WF__PW_CLAMP_TENSOR: return true;
    default: return false;
  }
}

/* ---- the plan --------------------------------------------------------------------------------------------------------------- */

/* bool computes in i64: what is neither 0 nor 1 must become so first. */
static wf__class class_of(wf_dtype compute) {
  switch (compute) {
    case WF_F64: return WF__CLASS_F64;
    case WF_I32: return WF__CLASS_I32;
    case WF_I16: return WF__CLASS_I16;
    case WF_I8: return WF__CLASS_I8;
    case WF_U8: return WF__CLASS_U8;
    default: return wf_dtype_is_float(compute) ? WF__CLASS_F32 : WF__CLASS_I64;
  }
}

static int log_of(size_t size) { return __builtin_ctz((unsigned)size); }

static bool is_one_element(const wf_plan *plan, const wf_operand *o) {
  for (int d = 0; d < plan->ndim; d++)
    if (plan->size[d] > 1 && o->stride[d]) return false;
  return true;
}

/* One number as the second operand beside halves, given as such or in a tensor of any dtype: PyTorch multiplies and divides by it in f32, as by
 * lerp's weight when that is a number. Everything else is rounded first. */
static bool is_wide_number(const wf_plan *plan, int k) {
  int op = plan->op;
  bool scales = op == WF__PW_MUL || op == WF__PW_DIV || op == WF__PW_DIV_TRUNC || op == WF__PW_DIV_FLOOR;
  const wf_operand *o = &plan->operand[k + 1];
  bool number = k + 1 >= plan->operands || !o->data;
  return op == WF__PW_LERP ? k == 2 && number : scales && k == 1 && (number || is_one_element(plan, o));
}

/* The number in place of input k, as an element of what the kernel reads. */
static void set_number(input *in, wf_scalar number, wf_dtype as, wf_dtype wide) {
  char element[8];
  in->missing = number.kind == WF_SCALAR_NONE;
  wf__scalar_store(number, as, element);
  wf__scalar_store(wf__scalar_load(as, element), wide, in->number);
}

static void set_input(job *j, const wf_plan *plan, int k) {
  input *in = &j->in[k];
  const wf_operand *o = &plan->operand[k + 1];
  wf_dtype compute = (wf_dtype)plan->compute, wide = j->wide;
  bool is_mask = wf__pointwise_is_mask(plan->op, k);
  bool through_compute = wide != compute && !(j->class == WF__CLASS_F32 && is_wide_number(plan, k));
  in->cast = (wf__cast){NULL, NULL};
  in->missing = false;
  in->log_wide = is_mask ? 0 : log_of(wf_dtype_size(wide));
  in->present = k + 1 < plan->operands && o->data;
  if (!in->present) {
    if (is_mask) set_number(in, plan->scalar[k + 1], WF_BOOL, WF_BOOL);
    else set_number(in, plan->scalar[k + 1], through_compute || wide == WF_I64 ? compute : wide, wide);
    return;
  }
  in->size = (int64_t)wf_dtype_size(o->dtype);
  in->log_size = log_of((size_t)in->size);
  if (is_mask) {
    if (o->dtype != WF_BOOL && o->dtype != WF_U8) in->cast.to_class = j->kernels->convert[o->dtype][WF_BOOL];
    return;
  }
  bool skip = o->dtype == compute || (!through_compute && wide != compute);
  if (!skip) in->cast.to_compute = j->kernels->convert[o->dtype][compute];
  wf_dtype now = skip ? o->dtype : compute;
  if (now != wide) in->cast.to_class = j->kernels->convert[now][wide];
}

static void set_output(job *j, const wf_plan *plan, int op) {
  wf_dtype out = plan->operand[0].dtype, compute = (wf_dtype)plan->compute;
  j->out_size = (int64_t)wf_dtype_size(out);
  j->out_log = log_of((size_t)j->out_size);
  j->from_class = j->from_compute = NULL;
  if (wf__pointwise_gives_bool(op)) {
    if (out != WF_BOOL && out != WF_U8) j->from_compute = j->kernels->convert[WF_BOOL][out];
  } else {
    if (j->wide != compute) j->from_class = j->kernels->convert[j->wide][compute];
    if (compute != out) j->from_compute = j->kernels->convert[compute][out];
  }
  j->has_result_copy = j->from_class || j->from_compute;
}

static void set_args(wf__pointwise_args *args, wf__class class, const wf_plan *plan) {
  bool is_integer = class != WF__CLASS_F32 && class != WF__CLASS_F64;
  for (int i = 0; i < 4; i++) {
    wf_scalar s = plan->scalar[i];
    args->given[i] = s.kind != WF_SCALAR_NONE;
    args->f[i] = 1;
    args->i[i] = 1;
    if (!args->given[i]) continue;
    args->f[i] = class == WF__CLASS_F32 ? (double)(float)wf__scalar_double(s) : wf__scalar_double(s);
    args->i[i] = wf__scalar_int(s);
    if (!is_integer || plan->compute == WF_BOOL) continue;
    char element[8]; /* integer bounds and values are numbers of the tensor's own dtype */
    wf__scalar_store(wf_int(args->i[i]), (wf_dtype)plan->compute, element);
    args->i[i] = wf__scalar_int(wf__scalar_load((wf_dtype)plan->compute, element));
  }
}

static double input_double(const job *j, int k) { return wf__scalar_double(wf__scalar_load(j->wide, j->in[k].number)); }
static int64_t input_int(const job *j, int k) { return wf__scalar_int(wf__scalar_load(j->wide, j->in[k].number)); }

/* An operand that is one number needn't be read: x + y, x - y and x · y are p x + q then, rounded once as well. -0 adds nothing, not even a sign. */
static void fold_number(job *j, const wf_plan *plan, int op) {
  wf__pointwise_args *a = &j->args;
  bool is_product = op == WF__PW_MUL, is_sum = op == WF__PW_ADD || op == WF__PW_SUB;
  bool is_float = j->class == WF__CLASS_F32 || j->class == WF__CLASS_F64;
  if (!is_product && !(is_sum && a->f[0] == 1 && a->i[0] == 1)) return;
  if (j->in[1].present || !j->in[0].present || plan->compute == WF_BOOL) return;
  double f = is_float ? input_double(j, 1) : 0;
  int64_t i = is_float ? 0 : input_int(j, 1);
  j->fn = j->kernels->pointwise[j->class][WF__PW_AFFINE];
  j->inputs = 1;
  a->f[0] = is_product ? f : 1;
  a->f[1] = is_product ? -0.0 : op == WF__PW_ADD ? f : -f;
  a->i[0] = is_product ? i : 1;
  a->i[1] = is_product ? 0 : op == WF__PW_ADD ? i : (int64_t)(0 - (uint64_t)i);
}

static bool divides_integers(wf__class class, int op) {
  return class != WF__CLASS_F32 && class != WF__CLASS_F64 &&
         (op == WF__PW_DIV_TRUNC || op == WF__PW_DIV_FLOOR || op == WF__PW_FMOD || op == WF__PW_REMAINDER);
}

static wf_status fail_division(void) { return wf__fail(WF_RUNTIME, "ZeroDivisionError"); }

/* Looks for a zero among the divisors before anything is written: one thread. */
static wf_status check_divisors(const job *j, const wf_plan *plan) {
  const input *in = &j->in[1];
  if (!in->present) return memcmp(in->number, (const char[8]){0}, wf_dtype_size(j->wide)) ? WF_OK : fail_division();
  wf__walk walk;
  wf__cursor at;
  wf_plan divisor = {.ndim = plan->ndim};
  memcpy(divisor.size, plan->size, sizeof divisor.size);
  divisor.operand[0] = plan->operand[2];
  for (int d = 0; d < plan->ndim; d++)
    if (divisor.operand[0].stride[d] == 0) divisor.size[d] = 1;
  int last = plan->ndim - 1;
  int64_t n = last >= 0 ? divisor.size[last] : 1, stride = last >= 0 ? plan->operand[2].stride[last] : in->size;
  wf__walk_of(&walk, &divisor, 1, last >= 0 ? 1u << last : 0);
  wf__walk_seek(&walk, 0, &at);
  wf__pw_blocks b;
  wf__reduce_fn take = j->kernels->reduce[j->class][WF__REDUCE_COUNT];
  for (int64_t row = 0; row < walk.count; row++, wf__walk_next(&walk, &at))
    for (int64_t i = 0; i < n; i += WF__PW_BLOCK) {
      int64_t count = n - i < WF__PW_BLOCK ? n - i : WF__PW_BLOCK;
      wf__reduce_state others = {.integer = 0};
      take(&others, wf__pw_load(j, 1, at.at[0] + i * stride, stride, &b, count), count, 0, 0, 0);
      if (others.integer < count) return fail_division();
    }
  return WF_OK;
}

/* ---- running ------------------------------------------------------------------------------------------------------------------ */

/* The class whose kernels take elements of the dtype as they are, plus one; 0: they are cast first. */
static const uint8_t own_class[WF_DTYPE_COUNT] = {
    [WF_F32] = 1 + WF__CLASS_F32, [WF_F64] = 1 + WF__CLASS_F64, [WF_I64] = 1 + WF__CLASS_I64,
    [WF_I32] = 1 + WF__CLASS_I32, [WF_I16] = 1 + WF__CLASS_I16, [WF_I8] = 1 + WF__CLASS_I8,
    [WF_U8] = 1 + WF__CLASS_U8};

/* Whether the operand is a run of elements of that dtype. */
static inline bool is_run(const wf_plan *plan, int o, wf_dtype dtype, int64_t item) {
  const wf_operand *operand = &plan->operand[o];
  return operand->data && operand->dtype == dtype &&
         (plan->ndim == 0 || operand->stride[0] == item || plan->size[0] == 1);
}

static inline bool has_numbers(const wf_plan *plan) {
  return plan->scalar[0].kind || plan->scalar[1].kind || plan->scalar[2].kind || plan->scalar[3].kind;
}

/* A small plan without casts, numbers in place of operands or gaps: the kernel and nothing else. False when it isn't one. */
static bool run_at_once(const wf_plan *plan) {
  static const wf__pointwise_args no_numbers = {.f = {1, 1, 1, 1}, .i = {1, 1, 1, 1}};
  int op = plan->op, inputs = wf__pointwise_arity[op], own = own_class[plan->compute];
  int64_t count = plan->ndim ? plan->size[0] : 1;
  if (!own || plan->ndim > 1 || count == 0 || count > WF__GRAIN || plan->operands <= inputs) return false;
  wf__class class = (wf__class)(own - 1);
  wf__pointwise_fn fn = wf__kernels_now()->pointwise[class][op];
  if (!fn || divides_integers(class, op)) return false;
  wf_dtype dtype = (wf_dtype)plan->compute;
  int64_t item = (int64_t)wf_dtype_size(dtype);
  bool truth = wf__pointwise_gives_bool(op);
  if (!is_run(plan, 0, truth ? WF_BOOL : dtype, truth ? 1 : item)) return false;
  const void *in[WF__PW_INPUTS] = {NULL};
  for (int k = 0; k < inputs; k++) {
    bool mask = wf__pointwise_is_mask(op, k);
    if (!is_run(plan, k + 1, mask ? WF_BOOL : dtype, mask ? 1 : item)) return false;
    in[k] = plan->operand[k + 1].data;
  }
  wf__pointwise_args args;
  bool numbers = has_numbers(plan);
  if (numbers) set_args(&args, class, plan);
  fn(plan->operand[0].data, in, count, numbers ? &args : &no_numbers);
  return true;
}

/* Apart from the entry, since the job takes half a KiB of stack. */
__attribute__((noinline)) static wf_status run_job(const wf_plan *plan) {
  char name[48];
  const wf__kernels *kernels = wf__kernels_now();
  wf__class class = class_of((wf_dtype)plan->compute);
  int op = plan->op;
  if (plan->compute == WF_BOOL) {
    if (refuses_bool(op)) return wf__no_kernel(kernel_name(op, name), WF_BOOL);
    if (op == WF__PW_BITWISE_NOT) op = WF__PW_LOGICAL_NOT; /* ~1 isn't 0 in i64 */
  }
  if (op == WF__PW_POW_SCALAR_EXP && class >= WF__CLASS_I64 && wf__scalar_int(plan->scalar[0]) == 2) op = WF__PW_SQUARE;
  wf__pointwise_fn fn = kernels->pointwise[class][op];
  if (!fn) return wf__no_kernel(kernel_name(op, name), (wf_dtype)plan->compute);
  int64_t count = 1;
  for (int d = 0; d < plan->ndim; d++) count *= plan->size[d];
  if (count == 0) return WF_OK;
  job j;
  j.kernels = kernels;
  j.fn = fn;
  j.class = class;
  j.wide = wf__class_dtype[class];
  j.inputs = wf__pointwise_arity[op];
  for (int k = 0; k < j.inputs; k++) set_input(&j, plan, k);
  set_output(&j, plan, op);
  set_args(&j.args, class, plan);
  fold_number(&j, plan, op);
  if (divides_integers(class, op)) WF__TRY(check_divisors(&j, plan));
  wf__pw_run(&j, plan, count);
  return WF_OK;
}

/* Halves change or lose their sign as the bit that it is. */
static bool is_sign_of_halves(const wf_plan *plan) {
  const wf_operand *out = &plan->operand[0], *in = &plan->operand[1];
  return (plan->op == WF__PW_NEG || plan->op == WF__PW_ABS) && (plan->compute == WF_F16 || plan->compute == WF_BF16) &&
         out->dtype == plan->compute && in->dtype == plan->compute && in->data;
}

static wf_status run_signs(const wf_plan *plan) {
  wf_plan bits = *plan;
  bits.op = plan->op == WF__PW_NEG ? WF__PW_BITWISE_XOR : WF__PW_BITWISE_AND;
  bits.compute = WF_I16;
  bits.operands = 2;
  bits.operand[0].dtype = bits.operand[1].dtype = WF_I16;
  bits.scalar[2] = wf_int(plan->op == WF__PW_NEG ? INT16_MIN : INT16_MAX);
  return run_job(&bits);
}

wf_status wf__exec_pointwise(const wf_plan *plan) {
  if (plan->op >= WF__PW_COUNT || plan->compute >= WF_DTYPE_COUNT)
    return wf__no_kernel("pointwise_cpu", (wf_dtype)plan->compute);
  if (run_at_once(plan)) return WF_OK;
  return is_sign_of_halves(plan) ? run_signs(plan) : run_job(plan);
}
