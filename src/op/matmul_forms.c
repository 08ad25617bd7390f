/* matmul and linear: the choice among the matrix products by rank. */
#include <weft/functional.h>
#include <weft/view.h>
#include "op/matmul.h"

/* t [batch…, k] as [·, k]. */
static wf_tensor *fold(const wf_tensor *t) { return wf_reshape(t, WF_SHAPE(-1, t->layout.size[t->layout.ndim - 1])); }

/* A folded result gets back the dims of `like` but the last, then `last` unless that is negative. */
static wf_tensor *unfold(const wf_tensor *t, const wf_tensor *like, int64_t last) {
  int64_t size[WF_MAX_DIMS];
  int n = like->layout.ndim - 1;
  for (int d = 0; d < n; d++) size[d] = like->layout.size[d];
  if (last >= 0) size[n++] = last;
  return wf_view(t, wf_dims_of(size, n));
}

/* Matrices in the last two dims; both ranks are 2 or more, one is 3 or more. */
static wf_tensor *batched(const wf_tensor *a, const wf_tensor *b) {
  const wf__layout *x = &a->layout, *y = &b->layout;
  int64_t batch[WF_MAX_DIMS], count = 1;
  int n = 0;
  WF__TRY_OR(wf__broadcast(wf_dims_of(x->size, x->ndim - 2), wf_dims_of(y->size, y->ndim - 2), batch, &n), NULL);
  for (int d = 0; d < n; d++) count *= batch[d];
  int64_t k = x->size[x->ndim - 1], rows = y->size[y->ndim - 2];
  if (k != rows) {
    wf__fail(WF_RUNTIME,
             "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: [%lld, %lld].",
             (long long)count, (long long)k, (long long)count, (long long)rows);
    return NULL;
  }
  WF__TRY_OR(wf__check_batched_dtypes(a, b), NULL);
  return wf__batched_product(a, b);
}

/* The row that a vector on the left stands for leaves the product in place, as in PyTorch: the result is no view, and counts a change. */
static wf_tensor *without_row(wf_tensor *product) {
  return product && !wf_squeeze_(product, WF_SHAPE(0)) ? product : NULL;
}

static wf_tensor *by_rank(const wf_tensor *a, const wf_tensor *b) {
  int x = a->layout.ndim, y = b->layout.ndim;
  if (x == 1 && y == 1) return wf_dot(a, b);
  if (x == 2 && y == 1) return wf_mv(a, b);
  if (x == 1 && y == 2) return without_row(wf_mm(wf_unsqueeze(a, 0), b));
  if (x == 2 && y == 2) return wf_mm(a, b);
  if (y == 1) return unfold(wf_mv(fold(a), b), a, -1);
  if (y == 2) return unfold(wf_mm(fold(a), b), a, b->layout.size[1]);
  if (x == 1) return wf_squeeze(batched(wf_unsqueeze(a, 0), b), WF_SHAPE(-2));
  return batched(a, b);
}

static wf_status at_least_one_dim(const char *name, const wf_tensor *a, const wf_tensor *b) {
  WF__CHECK(a->layout.ndim && b->layout.ndim, WF_RUNTIME,
            "both arguments to %s need to be at least 1D, but they are %dD and %dD", name, a->layout.ndim,
            b->layout.ndim);
  return WF_OK;
}

wf_tensor *wf_matmul(const wf_tensor *self, const wf_tensor *other) {
  WF__OP("matmul", NULL);
  WF__TRY_OR(wf__require("matmul", self, "input", 1), NULL);
  WF__TRY_OR(wf__require("matmul", other, "other", 2), NULL);
  WF__TRY_OR(at_least_one_dim("matmul", self, other), NULL);
  WF__TRY_OR(wf__check_same_device((const wf_tensor *[]){self, other}, 2), NULL);
  wf_scope scope = wf_scope_begin();
  return wf_scope_end(scope, by_rank(self, other));
}

/* The bias is the addend of the product: no pass of its own. */
static wf_tensor *with_bias(const wf_tensor *x, const wf_tensor *weight, const wf_tensor *bias) {
  wf_tensor *w = wf_t(weight);
  if (x->layout.ndim == 2) return wf_addmm(bias, x, w, wf_int(1), wf_int(1));
  if (x->layout.ndim == 1) return wf_squeeze(wf_addmm(bias, wf_unsqueeze(x, 0), w, wf_int(1), wf_int(1)), WF_SHAPE(0));
  wf_tensor *y = wf_addmm(bias, fold(x), w, wf_int(1), wf_int(1));
  return y ? unfold(y, x, y->layout.size[1]) : NULL;
}

wf_tensor *wf_linear(const wf_tensor *input, const wf_tensor *weight, const wf_tensor *bias) {
  WF__OP("linear", NULL);
  WF__TRY_OR(wf__require("linear", input, "input", 1), NULL);
  WF__TRY_OR(wf__require("linear", weight, "weight", 2), NULL);
  WF__TRY_OR(at_least_one_dim("linear", input, weight), NULL);
  wf_scope scope = wf_scope_begin();
  return wf_scope_end(scope, bias ? with_bias(input, weight, bias) : by_rank(input, wf_t(weight)));
}
