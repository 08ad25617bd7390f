/* Operators by name: serves replay, gradient checks, fuzzers and bindings. Built from op.def's schemas. */
#ifndef WEFT_CALL_H
#define WEFT_CALL_H

#include <weft/tensor.h>

WF_EXTERN_C_BEGIN

/** What an argument or a result is. */
typedef enum wf_value_kind {
  WF_VALUE_NONE = 0,
  WF_VALUE_TENSOR,
  WF_VALUE_TENSORS,
  WF_VALUE_SCALAR,
  WF_VALUE_DIMS,
  WF_VALUE_DTYPE,
  WF_VALUE_FORMAT,
  WF_VALUE_STRING,
  WF_VALUE_DOUBLES
} wf_value_kind;
/** One argument or result. Integers, floats and booleans are SCALAR. Lists are borrowed for the call. */
typedef struct wf_arg {
  const char *name; /* PyTorch's parameter name; NULL: the next tensor parameter, as in torch's positional form */
  wf_value_kind kind;
  union {
    wf_tensor *tensor; /* TENSOR; NULL: absent */
    wf_tensors tensors;
    wf_scalar scalar;
    wf_dims dims;
    wf_dtype dtype;
    wf_memory_format format;
    const char *string;
    struct {
      const double *at;
      int n;
    } doubles;
  } as;
} wf_arg;

/** Results of a call: at most three tensors, or a list, or one value. */
typedef struct wf_result {
  wf_value_kind kind; /* NONE for operators in place; TENSOR with `n` of tensor[]; TENSORS; SCALAR; STRING */
  int n;
  wf_tensor *tensor[4];
  wf_tensors tensors;
  wf_scalar scalar;
  const char *string;
} wf_result;

/** Calls operator `op` ("transpose", "add_") with arguments by name or position. Arguments left off have their defaults.
 *  Errors: WF_NOT_IMPLEMENTED when there is no such operator or parameter (text "no operator named …", "… has no parameter …"),
 *  else the operator's own. */
WF_API wf_status wf_call(const char *op, const wf_arg *args, int n, wf_result *result);

/** Schema of the i-th operator as text, "transpose(Tensor self, int dim0, int dim1) -> Tensor"; NULL past the last. */
WF_API const char *wf_op_schema(int i);
/** Whether there is an operator of that name ("add_" as well). */
WF_API bool wf_op_exists(const char *op);

WF_EXTERN_C_END
#endif
