/* The plan of matrix products, for the operators that are made of it. */
#ifndef WF_OP_MATMUL_H
#define WF_OP_MATMUL_H

#include <weft/linalg.h>
#include "op/network.h"

/* A tensor seen as matrices: [batch…, rows, columns], broadcast dims with stride 0. t NULL: absent. */
typedef struct wf__factor {
  const wf_tensor *t;
  wf__layout layout;
} wf__factor;

wf__factor wf__factor_of(const wf_tensor *t);
/* out := alpha · a @ b + beta · addend (absent: out as it was). Shapes and dtypes are checked by the caller. */
wf_status wf__product(wf__factor out, wf__factor a, wf__factor b, wf__factor addend, wf_scalar beta, wf_scalar alpha);
/* What is refused of the dtypes of batches, in PyTorch's order; factors without elements may have any. */
wf_status wf__check_batched_dtypes(const wf_tensor *a, const wf_tensor *b);
/* a [batch…, m, k] @ b [batch…, k, n] with broadcasting, recorded; inner sizes and dtypes are checked by the caller; b's dtype is the result's. Handed out. */
wf_tensor *wf__batched_product(const wf_tensor *a, const wf_tensor *b);

#endif
