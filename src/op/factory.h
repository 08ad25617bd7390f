/* What the factories share: a new tensor from options, and plans that fill one from nothing. */
#ifndef WF_OP_FACTORY_H
#define WF_OP_FACTORY_H

#include <weft/create.h>
#include "tensor/tensor.h"

/* Options with NULL resolved; dtype `inferred` where none is given. Checks requires_grad. */
wf_status wf__factory_options(const wf_tensor_options *given, wf_dtype inferred, wf_tensor_options *out);
/* New tensor of `size` by resolved options, elements undefined. Caller's reference. */
wf_tensor *wf__factory_sized(wf_dims size, const wf_tensor_options *options);
/* The same for a layout. */
wf_tensor *wf__factory_laid_out(const wf__layout *layout, const wf_tensor_options *options);
/* Hands a filled tensor out: sets requires_grad. NULL passes through. */
wf_tensor *wf__factory_give(wf_tensor *t, const wf_tensor_options *options);
/* Fills t with `value` if its dtype can hold it. On error t is released. Returns t. */
wf_tensor *wf__filled(wf_tensor *t, wf_scalar value);
/* Runs a plan that writes t, in t's own order of dims. The caller has set family, op, scalars and param, and operands behind the first with
 * their number if there are any. */
wf_status wf__launch_on(wf_tensor *t, wf_plan *plan);

#endif
